package keys

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// A terminal types into a decoder, and calls expire when its deadline is over, as a
// Reader does.
type terminal struct {
	decoder
	now    time.Time
	events []Event
}

func newTerminal() *terminal { return &terminal{now: start} }

// types lets text arrive.
func (d *terminal) types(text string) { d.events = append(d.events, d.feed([]byte(text), d.now)...) }

// waits lets time pass.
func (d *terminal) waits(t time.Duration) {
	until := d.now.Add(t)
	for {
		at, ok := d.deadline()
		if !ok || at.After(until) {
			break
		}
		d.now = at
		d.events = append(d.events, d.expire()...)
	}
	d.now = until
}

func (d *terminal) got() string {
	d.waits(time.Second)
	return show(d.events)
}

// show writes events: keys by their names, with what they type if that is something else.
func show(events []Event) string {
	var all []string
	for _, e := range events {
		switch e := e.(type) {
		case Key:
			if s := e.Name; e.Text == "" || e.Text == s {
				all = append(all, s)
			} else {
				all = append(all, fmt.Sprintf("%s=%q", s, e.Text))
			}
		case Paste:
			all = append(all, fmt.Sprintf("paste %q %d", e.Text, e.Dropped))
		default:
			all = append(all, strings.TrimPrefix(fmt.Sprintf("%T%+v", e, e), "keys."))
		}
	}
	return strings.Join(all, " ")
}

var sequences = []struct{ bytes, want string }{
	{"a", "a"}, {"A", "A"}, {" ", `space=" "`}, {"ä", "ä"}, {"漢", "漢"}, {"👍", "👍"}, {"é", "é"},
	{"\r", "enter"}, {"\n", "ctrl+j"}, {"\t", "tab"}, {"\x7f", "backspace"}, {"\b", "ctrl+h"}, {"\x00", "ctrl+space"},
	{"\x01", "ctrl+a"}, {"\x03", "ctrl+c"}, {"\x1a", "ctrl+z"}, {"\x1f", "ctrl+_"}, {"\x1c", `ctrl+\`},
	{"\x1b", "esc"}, {"\x1b\x1b", "esc esc"}, {"\x1bb", "alt+b"}, {"\x1b\x7f", "alt+backspace"}, {"\x1b\r", "alt+enter"}, {"\x1bä", "alt+ä"},
	{"\x1b[", "alt+["}, {"\x1bO", "alt+shift+o"}, {"\x1b]", "alt+]"}, {"\x1bP", "alt+shift+p"}, {"\x1b_", "alt+_"},
	{"\x1b[A", "up"}, {"\x1b[B", "down"}, {"\x1b[C", "right"}, {"\x1b[D", "left"}, {"\x1b[H", "home"}, {"\x1b[F", "end"},
	{"\x1bOA", "up"}, {"\x1bOH", "home"}, {"\x1bOP", "f1"}, {"\x1bOM", "enter"}, {"\x1b\x1b[D", "alt+left"}, {"\x1b\x1bOA", "alt+up"},
	{"\x1b[1;5D", "ctrl+left"}, {"\x1b[1;3C", "alt+right"}, {"\x1b[1;2A", "shift+up"}, {"\x1b[1;9D", "super+left"}, {"\x1b[1;7H", "ctrl+alt+home"},
	{"\x1b[1~", "home"}, {"\x1b[3~", "delete"}, {"\x1b[3;5~", "ctrl+delete"}, {"\x1b[4~", "end"}, {"\x1b[5~", "pgup"}, {"\x1b[6~", "pgdown"},
	{"\x1b[Z", "shift+tab"}, {"\x1b[15~", "f5"}, {"\x1b[24~", "f12"}, {"\x1b[1;2P", "shift+f1"}, {"\x1b[1;3R", "alt+f3"},
	{"\x1b[[A", "f1"}, {"\x1b[[E", "f5"}, {"\x1b[5$", "shift+pgup"}, {"\x1b[5^", "ctrl+pgup"}, {"\x1bOa", "ctrl+up"}, {"\x1b[a", "shift+up"},
	// The kitty protocol.
	{"\x1b[27u", "esc"}, {"\x1b[13;2u", "shift+enter"}, {"\x1b[13;5u", "ctrl+enter"}, {"\x1b[99;5u", "ctrl+c"}, {"\x1b[105;5u", "ctrl+i"}, {"\x1b[97;6u", "ctrl+shift+a"},
	{"\x1b[127;3u", "alt+backspace"}, {"\x1b[122;9u", "super+z"}, {"\x1b[9;2u", "shift+tab"}, {"\x1b[57414u", "enter"}, {"\x1b[57417;5u", "ctrl+left"}, {"\x1b[57404u", "5"},
	{"\x1b[99;69u", "ctrl+c"}, {"\x1b[1;133A", "ctrl+up"}, {"\x1b[97;1:3u", ""}, {"\x1b[228u", "ä"}, {"\x1b[97;;27u", "a"}, {"\x1b[128u", ""},
	{"\x1b[1089::99;5u", "ctrl+c"}, {"\x1b[1060:1092:97;6u", "ctrl+shift+a"}, // on a Russian keyboard
	{"\x1b[99::105;5u", "ctrl+c"}, {"\x1b[246::59;5u", "ctrl+ö"}, // Dvorak, German
	{"\x1b[45:95;6u", "ctrl+_"}, {"\x1b[44:60;4u", "alt+<"}, {"\x1b[97:65;6u", "ctrl+shift+a"},
	// modifyOtherKeys of xterm and tmux.
	{"\x1b[27;2;13~", "shift+enter"}, {"\x1b[27;5;9~", "ctrl+tab"}, {"\x1b[27;6;65~", "ctrl+shift+a"}, {"\x1b[27;2;32~", `space=" "`},
	// What is no key.
	{"\x1b[I", "Focus{In:true}"}, {"\x1b[O", "Focus{In:false}"},
	{"\x1b[?1u", "Reply{Kind:4 Row:0 Col:0 Text: Dark:false Flags:1}"},
	{"\x1bP>|tmux 3.5a\x1b\\", "Reply{Kind:2 Row:0 Col:0 Text:tmux 3.5a Dark:false Flags:0}"},
	{"\x1b]11;rgb:1111/1111/1111\x1b\\", "Reply{Kind:3 Row:0 Col:0 Text: Dark:true Flags:0}"},
	{"\x1b]11;rgb:ffff/ffff/ffff\x07", "Reply{Kind:3 Row:0 Col:0 Text: Dark:false Flags:0}"},
	{"\x1b[?2027;0$y", ""}, {"\x1b[?62;22c", "Reply{Kind:5 Row:0 Col:0 Text: Dark:false Flags:0}"},
	{"\x1b[12;40R", ""},                     // was not asked for
	{"\x1b[M !!", ""}, {"\x1b[<0;1;2M", ""}, // the mouse
	{"\x1b]52;c;YWJj\x07", ""}, {"\x1b_Gi=1;OK\x1b\\", ""}, // the clipboard, graphics
	{"\x1b]0;title\x18", ""}, {"\x1b[12\x18", "ctrl+x"}, // cancelled
	{"\x1b[1;", ""}, {"\x1b[12;3", ""}, {"\x1b]11;rgb", ""}, // never ended
	{"\xff", "\ufffd"}, {"\xe4", "\ufffd"}, {"\xe6\xbc", "\ufffd"}, {"\x9b", "\ufffd"}, {"\x1b[" + strings.Repeat("1", 300), strings.TrimSpace(strings.Repeat("1 ", 300+2-256))},
	{"\x1b[200~a\rb\x1b[201~c", `paste "a\nb" 0 c`}, {"\x1b[200~\x1b[201~", `paste "" 0`}, {"\x1b[201~", ""},
}

func TestSequencesAreKeys(t *testing.T) {
	t.Parallel()
	for _, c := range sequences {
		d := newTerminal()
		d.types(c.bytes)
		if got := d.got(); got != c.want {
			t.Errorf("%q: %s, want %s", c.bytes, got, c.want)
		}
	}
}

// On a slow line a sequence arrives in pieces, at most 25 ms apart.
func TestASequenceInPiecesIsTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range sequences {
		for _, pause := range []time.Duration{0, 3 * time.Millisecond, 24 * time.Millisecond} {
			d := newTerminal()
			d.slow, d.patient = true, pause == 3*time.Millisecond
			for i := range len(c.bytes) {
				d.types(c.bytes[i : i+1])
				if i < len(c.bytes)-1 {
					d.waits(pause)
				}
			}
			if got := d.got(); got != c.want {
				t.Errorf("%q, byte by byte every %v: %s, want %s", c.bytes, pause, got, c.want)
			}
		}
	}
}

func TestEscIsReportedWithinAMillisecond(t *testing.T) {
	t.Parallel()
	d := newTerminal()
	d.types("\x1b")
	if got := show(d.events); got != "" {
		t.Fatalf("at once: %s", got)
	}
	d.waits(time.Millisecond)
	if got := show(d.events); got != "esc" {
		t.Errorf("after 1 ms: %q, want esc", got)
	}
	d.types("b") // typed by a person, who is slower
	if got := d.got(); got != "esc b" {
		t.Errorf("got %s", got)
	}
}

// A terminal with the kitty protocol sends Esc as a sequence: a lone ESC is a beginning.
func TestWithTheKittyProtocolALoneEscIsABeginning(t *testing.T) {
	t.Parallel()
	d := newTerminal()
	d.types("\x1b[?1u")
	d.types("\x1b")
	d.waits(200 * time.Millisecond)
	d.types("[A")
	d.types("\x1b[27u")
	if got := show(d.events[1:]); got != "up esc" {
		t.Errorf("got %s, want up esc", got)
	}
}

// The first sequence in pieces shows that the line is slow. Its rest is not text.
func TestASlowLineIsNoticed(t *testing.T) {
	t.Parallel()
	d := newTerminal()
	for range 2 {
		d.types("\x1b")
		d.waits(20 * time.Millisecond)
		d.types("[1;")
		d.waits(20 * time.Millisecond)
		d.types("5D")
	}
	if got := d.got(); got != "esc ctrl+left ctrl+left" {
		t.Errorf("got %s", got)
	}
}

// Brackets that a person types after Esc are text.
func TestWhatIsTypedAfterEscIsText(t *testing.T) {
	t.Parallel()
	d := newTerminal()
	d.types("\x1b")
	d.waits(20 * time.Millisecond)
	d.types("[") // at the speed of a key that is held down
	d.waits(30 * time.Millisecond)
	d.types("A")
	if got := d.got(); got != "esc [ A" {
		t.Errorf("got %s", got)
	}
	if d.slow {
		t.Error("the line is taken for slow")
	}
}

// Where Esc stops all, a line may tear a sequence for as long as 250 ms without one being seen. What a person
// types after Esc is told apart as ever.
func TestAPatientDecoderTearsNoSequence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pieces []string
		pause  time.Duration
		want   string
	}{
		{[]string{"\x1b", "[A"}, 200 * time.Millisecond, "up"},
		{[]string{"\x1b", "[", "A"}, 200 * time.Millisecond, "up"},
		{[]string{"\x1b", "O", "B"}, 240 * time.Millisecond, "down"},
		{[]string{"\x1b", "[", "1", ";", "5", "D"}, 200 * time.Millisecond, "ctrl+left"},
		{[]string{"\x1b"}, 0, "esc"},
		{[]string{"\x1b", "b"}, 0, "alt+b"},
		{[]string{"\x1b", "b"}, 2 * time.Millisecond, "esc b"},
		{[]string{"\x1b", "y"}, 200 * time.Millisecond, "esc y"},
		{[]string{"\x1b", "\x1b"}, 100 * time.Millisecond, "esc esc"},
		{[]string{"\x1b", "\r"}, 100 * time.Millisecond, "esc enter"},
		{[]string{"\x1b", "\x1b", "[A"}, 100 * time.Millisecond, "esc up"},
		{[]string{"\x1b", "[A"}, 260 * time.Millisecond, "esc [ A"},
	} {
		d := newTerminal()
		d.patient = true
		for i, piece := range c.pieces {
			if i > 0 {
				d.waits(c.pause)
			}
			d.types(piece)
		}
		if got := d.got(); got != c.want {
			t.Errorf("%q every %v: %s, want %s", c.pieces, c.pause, got, c.want)
		}
	}
	d := newTerminal()
	d.patient = true
	d.types("\x1b")
	if d.waits(249 * time.Millisecond); len(d.events) > 0 {
		t.Errorf("%s came early", show(d.events))
	}
	if d.waits(time.Millisecond); show(d.events) != "esc" {
		t.Errorf("got %s after 250 ms", show(d.events))
	}
}

// A cursor position on the first row looks like f3 with a modifier.
func TestACursorPositionIsAReplyIfItWasAskedFor(t *testing.T) {
	t.Parallel()
	d := newTerminal()
	d.cursor = 2
	d.types("\x1b[1;2R\x1b[24;80R\x1b[1;2R")
	want := "Reply{Kind:1 Row:0 Col:1 Text: Dark:false Flags:0} Reply{Kind:1 Row:23 Col:79 Text: Dark:false Flags:0} shift+f3"
	if got := d.got(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A paste is one event however it arrives, and safe to show.
func TestAPasteIsOneEvent(t *testing.T) {
	t.Parallel()
	text := "one\r\ntwo\rthree\n\tfour \x1b[31mred\x1b[0m \x1b]0;title\x07 \x00\x08\x7f\x9b end \xff\xe4 漢\u202e\U000e0041字\u2028"
	want := "one\ntwo\nthree\n\tfour red ]0;title \ufffd end \ufffd\ufffd 漢字\n"
	for _, size := range []int{1, 2, 3, 7, 64, 4096} {
		d := newTerminal()
		for rest := "x" + pasteStart + text + pasteEnd + "\r"; rest != ""; {
			n := min(size, len(rest))
			d.types(rest[:n])
			rest = rest[n:]
		}
		if diff := cmp.Diff([]Event{Key{Name: "x", Text: "x"}, Paste{Text: want}, Key{Name: "enter"}}, d.events); diff != "" {
			t.Errorf("in pieces of %d (-want +got)\n%s", size, diff)
		}
	}
}

// A paste whose end never comes would swallow all keys.
func TestAPasteWithoutEndIsEndedByCtrlC(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"\x03": "ctrl+c z", "\x1b[99;5u": "ctrl+c z", "\x1b[27u": "esc z", "\x1b": "alt+z"} {
		d := newTerminal()
		d.types(pasteStart + "abc\x03")
		d.types("\x03\x1b[2")
		d.waits(time.Hour)
		d.types(typed)
		d.types("z")
		d.waits(time.Second)
		if got := d.got(); got != `paste "abc[2" 0 `+want {
			t.Errorf("%q: %s, want %s", typed, got, want)
		}
	}
}

func TestTheKeptPartOfAPasteIsBounded(t *testing.T) {
	t.Parallel()
	d := newTerminal()
	d.types(pasteStart)
	line := strings.Repeat("x", 1<<16-1) + "\n"
	for range 50 << 4 {
		d.types(line)
	}
	d.types(pasteEnd + "q")
	p, ok := d.events[0].(Paste)
	if !ok || len(p.Text) != MaxPaste || p.Dropped != 50<<20-MaxPaste {
		t.Errorf("%T, %d bytes kept, %d dropped", d.events[0], len(p.Text), p.Dropped)
	}
	if got := show(d.events[1:]); got != "q" {
		t.Errorf("after the paste: %s", got)
	}
}

func TestASequenceWithoutEndIsBounded(t *testing.T) {
	t.Parallel()
	d := newTerminal()
	for range 1000 {
		d.types("\x1b]52;c;" + strings.Repeat("A", 1<<12))
		if len(d.buf) > 2*maxSequence {
			t.Fatalf("%d bytes are kept", len(d.buf))
		}
	}
	d.types("\x1b\\a")
	if got := d.got(); got != "a" {
		t.Errorf("got %s", got)
	}
}

func TestCleanChangesNothingTwice(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "abc\n\tdef", "\x1b[31mred", "\x1b\x1b[3[3m1m", "\xff\xfe", "a\r\r\nb\u2029", "\u200d\u200e\u200b"} {
		once := Clean(text)
		if twice := Clean(once); twice != once {
			t.Errorf("%q: %q, then %q", text, once, twice)
		}
	}
}

// FuzzDecoder feeds any bytes, in any pieces, with any pauses.
func FuzzDecoder(f *testing.F) {
	for i, c := range sequences {
		f.Add([]byte(c.bytes), uint64(i))
	}
	f.Add([]byte(pasteStart+"a\x1b[201\x1b[201~b"), uint64(1))
	f.Fuzz(func(t *testing.T, input []byte, seed uint64) {
		whole, pieces, slow := newTerminal(), newTerminal(), newTerminal()
		whole.types(string(input))
		r := rand.New(rand.NewPCG(seed, 0))
		for rest := input; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			pieces.types(string(rest[:n]))
			slow.types(string(rest[:n]))
			slow.waits(time.Duration(r.IntN(40)) * time.Millisecond)
			rest = rest[n:]
		}
		if diff := cmp.Diff(whole.events, pieces.events); diff != "" {
			t.Errorf("in pieces (-whole +pieces)\n%s", diff)
		}
		whole.waits(time.Second)
		slow.waits(time.Second)
		for _, e := range append(whole.events, slow.events...) {
			text := ""
			switch e := e.(type) {
			case Key:
				text = e.Text + e.Name
				if e.Name == "" || strings.ContainsAny(text, "\n\t") {
					t.Errorf("key %+v", e)
				}
			case Paste:
				text = e.Text
			case Reply:
				text = e.Text
			}
			if !utf8.ValidString(text) || Clean(text) != text {
				t.Errorf("%#v is not safe to print", e)
			}
		}
		if len(whole.buf) > 0 && whole.paste == nil {
			t.Errorf("%q is kept for ever", whole.buf)
		}
	})
}

func BenchmarkPaste(b *testing.B) {
	line := strings.Repeat("x", 63) + "\n"
	chunk := []byte(strings.Repeat(line, 1024))
	b.SetBytes(int64(8 * len(chunk)))
	for b.Loop() {
		d := newTerminal()
		d.types(pasteStart)
		for range 8 {
			d.feed(chunk, d.now)
		}
		d.types(pasteEnd)
	}
}

// Keys that arrive in one piece were not typed one by one.
func TestKeysThatArriveTogetherAreMarked(t *testing.T) {
	t.Parallel()
	var d decoder
	var together []bool
	for _, piece := range []string{"y", "ye", "\x1b[A", "a\x1b[I"} {
		for _, e := range markTogether(d.feed([]byte(piece), start)) {
			if k, ok := e.(Key); ok {
				together = append(together, k.Together)
			}
		}
	}
	if diff := cmp.Diff([]bool{false, true, true, false, false}, together); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
