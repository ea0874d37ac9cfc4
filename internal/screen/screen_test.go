package screen_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pawl/internal/screen"
	"pawl/internal/screen/screentest"
)

// A story is a random sequence of prints, live parts and resizes on one terminal. Characters of
// the live part are different from those of finished lines.
type story struct {
	*testing.T
	r        *rand.Rand
	terminal *screentest.Terminal
	screen   *screen.Screen
	out      bytes.Buffer // a frame that the terminal has not read yet
	finished []string
	now      time.Time
	seed     uint64
	steps    strings.Builder // to be read after a failure
	before   string          // what the terminal had at the last check
}

const (
	finishedPieces = "a b c d e f g h 0 1 2 3 日 本 語 ❤️ 👩‍👩‍👧 é x y"
	livePieces     = "~ ~ ~ ~ ~ ~ 〜 🌊 - - -"
	disputedPieces = livePieces + " ☁️ 🏳️‍🌈" // terminals disagree about the width of these
)

func newStory(t *testing.T, seed uint64, reflows bool) *story {
	s := &story{T: t, seed: seed, r: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(0, 0)}
	s.terminal = screentest.New(t, 5+s.r.IntN(80), 2+s.r.IntN(30))
	s.terminal.Reflows = reflows
	s.terminal.PushesTop, s.terminal.Keeps, s.terminal.ByRune = s.r.IntN(2) == 0, s.r.IntN(2) == 0, s.r.IntN(2) == 0
	s.screen = screen.New(&s.out, reflows)
	return s
}

func (s *story) text(pieces string, n int) string {
	all := strings.Fields(pieces)
	var b strings.Builder
	for range n {
		b.WriteString(all[s.r.IntN(len(all))])
	}
	return b.String()
}

// frame returns a random frame.
func (s *story) frame(cursor string) screen.Frame {
	width, height := s.terminal.Size()
	f := screen.Frame{Width: width, Height: height, Now: s.now}
	for range max(0, s.r.IntN(6)-3) {
		n := 1 + s.r.IntN(2*width)
		if s.r.IntN(4) == 0 {
			f.Above = append(f.Above, strings.Repeat("x", width)) // exactly as wide
		} else {
			f.Above = append(f.Above, s.text(finishedPieces, n))
		}
	}
	pieces := livePieces
	if cursor == "hidden" {
		pieces = disputedPieces
	}
	for range s.r.IntN(min(height+3, 12)) {
		f.Live = append(f.Live, s.text(pieces, 1+s.r.IntN(width+3))) // not empty: a part that scrolls off is seen
	}
	switch cursor {
	case "hidden":
		f.Cursor.Hidden = true
	case "below":
		f.Cursor.Row = len(f.Live)
	default:
		f.Cursor = screen.Cursor{Row: s.r.IntN(len(f.Live) + 1), Col: s.r.IntN(width)}
	}
	return f
}

// draw draws a frame, which the terminal reads later.
func (s *story) draw(f screen.Frame) {
	fmt.Fprintf(&s.steps, "draw %dx%d above %q live %q cursor %v\n", f.Width, f.Height, f.Above, f.Live, f.Cursor)
	s.finished = append(s.finished, f.Above...)
	if err := s.screen.Draw(f); err != nil {
		s.Fatal(err)
	}
}

// read makes the terminal read what was drawn.
func (s *story) read() {
	s.terminal.Write(s.out.Bytes())
	s.out.Reset()
}

func (s *story) resize() {
	width, height := s.terminal.Size()
	switch s.r.IntN(3) {
	case 0:
		width = 5 + s.r.IntN(80)
	case 1:
		height = 2 + s.r.IntN(30)
	default:
		width, height = max(5, width+s.r.IntN(7)-3), max(2, height+s.r.IntN(5)-2)
	}
	fmt.Fprintf(&s.steps, "resize %dx%d\n", width, height)
	s.terminal.Resize(width, height)
}

func (s *story) pass() { s.now = s.now.Add(time.Duration(s.r.IntN(1500)) * time.Millisecond) }

// stale reports whether rows of the live part have scrolled off.
func (s *story) stale() bool { return strings.ContainsAny(s.terminal.Scrollback(), "~〜🌊☁🏳-") }

// left returns what the terminal has without the live part and what is left of earlier ones.
func (s *story) left() string {
	var lines []string
	for line := range strings.Lines(s.terminal.Text()) {
		if l := strings.TrimLeft(line, strings.ReplaceAll(disputedPieces, " ", "")+" "); strings.TrimSpace(l) != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "")
}

// check compares what the terminal has, without live parts, with what was finished.
func (s *story) check() {
	s.Helper()
	var want strings.Builder
	for _, l := range s.finished {
		want.WriteString(l + "\n")
	}
	if got := s.left(); got != want.String() {
		s.Fatalf("seed %d: the terminal has\n%s\nwant\n%s\nafter\n%s\nand before\n%s", s.seed, s.terminal.Text(), want.String(), s.steps.String(), s.before)
	}
	s.before = s.terminal.Text()
}

// checkErased erases the live part and compares all that the terminal has with what was
// finished.
func (s *story) checkErased() {
	s.Helper()
	width, _ := s.terminal.Size()
	if err := s.screen.Erase(width); err != nil {
		s.Fatal(err)
	}
	s.read()
	s.check()
	if got := strings.TrimPrefix(s.terminal.Text(), "\n"); got != s.left() {
		s.Fatalf("seed %d: of the live part is left\n%s\nafter\n%s", s.seed, got, s.steps.String())
	}
}

// stories is how many random sequences each test goes through, for each kind of terminal.
const stories = 250

// Whatever is printed, drawn and resized: what is finished stands there once, and nothing else,
// unless a resize made the live part larger than the terminal.
func TestFinishedTextStandsThereOnce(t *testing.T) {
	t.Parallel()
	for _, cursor := range []string{"hidden", "below", "inside"} {
		for _, reflows := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s,reflows=%t", cursor, reflows), func(t *testing.T) {
				t.Parallel()
				overflowed := 0
				for seed := range uint64(stories) {
					s := newStory(t, seed, reflows)
					scrolled := false
					for range 12 {
						if s.r.IntN(3) == 0 {
							s.resize()
							scrolled = scrolled || s.stale() || s.terminal.Displaced
						} else {
							s.draw(s.frame(cursor))
							s.read()
							if !scrolled && s.stale() {
								t.Errorf("seed %d: a frame has scrolled a part of the live part off\n%s", seed, s.steps.String())
							}
						}
						s.check()
						s.pass()
					}
					if scrolled {
						overflowed++
					} else {
						s.checkErased()
					}
				}
				if overflowed > stories/2 {
					t.Errorf("in %d of %d stories the live part was too large: they show little", overflowed, stories)
				}
			})
		}
	}
}

// A resize that happens while a frame is on its way loses nothing that is finished. With a
// visible cursor there is one exception: the terminal must not become wider again while the
// first frame after it has become narrower is on its way.
func TestAResizeWhileAFrameIsOnItsWayLosesNothing(t *testing.T) {
	t.Parallel()
	for _, cursor := range []string{"hidden", "below", "inside"} {
		for _, reflows := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s,reflows=%t", cursor, reflows), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(stories) {
					s := newStory(t, seed, reflows)
					last := 0
					for range 12 {
						f := s.frame(cursor)
						s.draw(f)
						if s.r.IntN(3) == 0 && (f.Width >= last || cursor == "hidden") {
							s.resize()
						}
						s.read()
						s.check()
						s.pass()
						last = f.Width
					}
				}
			})
		}
	}
}

// Characters whose width terminals disagree about make the rows of the live part uncertain: of
// the live part something may remain after a resize, and nothing that is finished is lost.
func TestWidthsThatTerminalsDisagreeAboutLoseNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(stories) {
		s := newStory(t, seed, true)
		for range 12 {
			if s.r.IntN(3) == 0 {
				s.resize()
			} else {
				f := s.frame("hidden") // its lines have such characters
				f.Cursor = screen.Cursor{Row: s.r.IntN(len(f.Live) + 1), Col: s.r.IntN(f.Width)}
				s.draw(f)
				s.read()
			}
			s.check()
			s.pass()
		}
	}
}

// The cursor stands where it is wanted, in the column of the text, however the terminal counts.
func TestTheCursorStandsInItsLine(t *testing.T) {
	t.Parallel()
	for _, byRune := range []bool{false, true} {
		m := screentest.New(t, 40, 10)
		m.ByRune = byRune
		s := screen.New(m, true)
		text := "☁️ 👩‍👩‍👧 日本 é"
		f := screen.Frame{Width: 40, Height: 10, Live: []string{"above", text, "below"}, Cursor: screen.Cursor{Row: 1, Col: screen.Cells(text)}}
		if err := s.Draw(f); err != nil {
			t.Fatal(err)
		}
		if row, col := m.Cursor(); row != 1 || col != screen.Cells(text) || m.Hidden {
			t.Errorf("the cursor is at %d, %d, hidden: %t", row, col, m.Hidden)
		}
		f.Cursor.Hidden = true
		s.Draw(f)
		if !m.Hidden {
			t.Error("the cursor is not hidden")
		}
		f.Now, f.Width = f.Now.Add(1), 39
		m.Resize(39, 10)
		f.Cursor.Hidden = false
		s.Draw(f)
		if row, _ := m.Cursor(); row != 0 || !m.Hidden || !s.Unsettled(f.Now) {
			t.Errorf("after a resize the cursor is in row %d, hidden: %t", row, m.Hidden)
		}
		f.Now = f.Now.Add(time.Minute)
		s.Draw(f)
		if row, col := m.Cursor(); row != 1 || col != screen.Cells(text) || m.Hidden {
			t.Errorf("a minute later the cursor is at %d, %d", row, col)
		}
	}
}

// What has not changed is not written, and of what has changed only the lines from there on.
func TestOnlyWhatHasChangedIsWritten(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := screen.New(&out, true)
	f := screen.Frame{Width: 80, Height: 24, Live: []string{"one", "two", "three"}, Cursor: screen.Cursor{Row: 3}}
	for _, c := range []struct{ third, want string }{
		{"three", "one\r\ntwo\r\nthree\r\n\r"},
		{"three", ""},
		{"3", "\r\x1b[1A\x1b[J3\r\n\r"},
	} {
		out.Reset()
		f.Live[2] = c.third
		s.Draw(f)
		if got := strings.TrimSuffix(strings.TrimPrefix(out.String(), "\x1b[?2026h"), "\x1b[?2026l"); got != c.want {
			t.Errorf("wrote %q, want %q", got, c.want)
		}
	}
}

// After others have used the terminal the live part is drawn where the cursor is.
func TestForgottenLinesStay(t *testing.T) {
	t.Parallel()
	m := screentest.New(t, 20, 10)
	s := screen.New(m, false)
	f := screen.Frame{Width: 20, Height: 10, Live: []string{"~~", "~"}, Cursor: screen.Cursor{Row: 2}}
	s.Draw(f)
	fmt.Fprint(m, "[1]+ Stopped\r\n")
	s.Forget()
	f.Above = []string{"finished"}
	s.Draw(f)
	if err := s.Erase(20); err != nil {
		t.Fatal(err)
	}
	if got, want := m.Text(), "~~\n~\n[1]+ Stopped\nfinished\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A failed write is reported.
func TestAFailedWriteIsReported(t *testing.T) {
	t.Parallel()
	s := screen.New(brokenWriter{}, true)
	if err := s.Draw(screen.Frame{Width: 20, Height: 10, Live: []string{"x"}}); err == nil {
		t.Error("no error")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("input/output error") }

func TestTerminalsThatReflowAreKnown(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]bool{
		"TERM=xterm-256color":                            false,
		"TERM=xterm-256color XTERM_VERSION=XTerm(390)":   false,
		"TERM=xterm-256color VTE_VERSION=7600":           true,
		"TERM=screen-256color TMUX=/tmp/tmux-0/default":  true,
		"TERM=screen STY=1.x VTE_VERSION=7600":           false,
		"TERM=xterm-kitty":                               true,
		"TERM=xterm-256color TERM_PROGRAM=iTerm.app":     true,
		"TERM=xterm-256color TERM_PROGRAM=something-new": false,
		"TERM=linux": false,
	} {
		getenv := func(name string) string {
			for _, kv := range strings.Fields(env) {
				if v, ok := strings.CutPrefix(kv, name+"="); ok {
					return v
				}
			}
			return ""
		}
		if got := screen.Reflows(getenv); got != want {
			t.Errorf("%s: %t, want %t", env, got, want)
		}
	}
	for version, want := range map[string]bool{"tmux 3.5a": true, "VTE(7600)": true, "kitty(0.35.1)": true, "XTerm(390)": false, "": false} {
		if got := screen.ReflowsVersion(version); got != want {
			t.Errorf("%q: %t, want %t", version, got, want)
		}
	}
}

// BenchmarkFrame is what a frame costs in which a word is added to the text above the input, and how
// many bytes of it are written, compared with a frame that is drawn as a whole.
func BenchmarkFrame(b *testing.B) {
	for _, whole := range []bool{false, true} {
		b.Run(fmt.Sprintf("whole=%t", whole), func(b *testing.B) {
			var out bytes.Buffer
			s := screen.New(&out, true)
			f := screen.Frame{Width: 120, Height: 40, Cursor: screen.Cursor{Row: 10, Col: 20}}
			for range 8 {
				f.Live = append(f.Live, "\x1b[2m│\x1b[m a line of what a command prints: "+strings.Repeat("word ", 12))
			}
			f.Live = append(f.Live, "• ", "", "› what the person writes now", "", " model · 38% of context · 14.2k tokens · $0.026")
			written := 0
			for n := 0; b.Loop(); n++ {
				if f.Live[8] = f.Live[8] + "word "; len(f.Live[8]) > 110 {
					f.Live[8] = "• "
				}
				out.Reset()
				if whole {
					s = screen.New(&out, true)
				}
				s.Draw(f)
				written += out.Len()
			}
			b.ReportMetric(float64(written)/float64(b.N), "bytes/frame")
		})
	}
}

// With a hidden cursor nothing of a dead frame remains, however many frames are on their way when
// the size changes and however often it does, as long as the live part has room at every width.
func TestResizesWhileFramesAreOnTheirWayLeaveNothing(t *testing.T) {
	t.Parallel()
	for _, reflows := range []bool{true, false} {
		for _, known := range []bool{true, false} { // the screen knows what the terminal does
			t.Run(fmt.Sprintf("reflows=%t,known=%t", reflows, known), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(stories) {
					s := newStory(t, seed, reflows)
					s.screen.SetReflows(reflows == known)
					s.terminal.Resize(20+s.r.IntN(80), 24+s.r.IntN(20))
					// The screen is full: with blank rows below, tmux scrolls rows off that would have room.
					s.draw(screen.Frame{Width: 20, Height: 24, Above: strings.Split(strings.Repeat("first\n", 50)+"first", "\n"), Cursor: screen.Cursor{Hidden: true}})
					s.read()
					for range 8 {
						for range 1 + s.r.IntN(3) { // frames that are on their way
							f := s.frame("hidden")
							f.Live = f.Live[:min(len(f.Live), 4)] // at most 20 rows at the least width
							s.draw(f)
							s.now = s.now.Add(time.Duration(s.r.IntN(40)) * time.Millisecond)
						}
						for range s.r.IntN(4) {
							width := 20 + s.r.IntN(80)
							height := 24 + s.r.IntN(20)
							fmt.Fprintf(&s.steps, "resize %dx%d\n", width, height)
							s.terminal.Resize(width, height)
						}
						s.read()
						if s.stale() || s.terminal.Displaced {
							t.Fatalf("seed %d: a row of the live part has scrolled off\n%s\n%s", seed, s.terminal.Text(), s.steps.String())
						}
						s.check()
						s.pass()
					}
					s.checkErased()
				}
			})
		}
	}
}

// A live part that no longer fits after a resize has scrolled off in part before a program can know of
// the resize, and no program can take back what has scrolled off. Nothing else of it remains: what the screen
// draws afterwards adds no row, and a live part that fits leaves none.
func TestOfALivePartThatNoLongerFitsRemainsOnlyWhatTheTerminalHasScrolledOff(t *testing.T) {
	t.Parallel()
	for _, reflows := range []bool{true, false} {
		t.Run(fmt.Sprintf("reflows=%t", reflows), func(t *testing.T) {
			t.Parallel()
			left, whole := 0, 0 // stories in which something remained, and those in which nothing did
			for seed := range uint64(stories) {
				s := newStory(t, seed, reflows)
				width, height := 40+s.r.IntN(80), 12+s.r.IntN(40)
				s.terminal.Resize(width, height)
				s.draw(screen.Frame{Width: width, Height: height, Above: strings.Split(strings.Repeat("first\n", 60)+"first", "\n"), Cursor: screen.Cursor{Hidden: true}, Now: s.now})
				f := screen.Frame{Width: width, Height: height, Cursor: screen.Cursor{Hidden: true}, Now: s.now}
				for range 1 + s.r.IntN(height/2) { // what the terminal agent draws by itself
					f.Live = append(f.Live, strings.Repeat("~", 1+s.r.IntN(width)))
				}
				s.draw(f)
				s.read()

				width, height = 10+s.r.IntN(width-10), 4+s.r.IntN(height-4)
				fmt.Fprintf(&s.steps, "resize %dx%d\n", width, height)
				s.terminal.Resize(width, height)
				rows := 0
				for _, l := range f.Live {
					if reflows {
						rows += (len(l) + width - 1) / width
					} else {
						rows++
					}
				}
				scrolled := strings.Count(s.terminal.Scrollback(), "~")
				if rows <= height && scrolled > 0 {
					t.Fatalf("seed %d: %d rows fit into %d, and some have scrolled off\n%s\n%s", seed, rows, height, s.terminal.Text(), s.steps.String())
				}
				if scrolled > 0 {
					left++
				} else {
					whole++
				}
				for range 4 {
					f = screen.Frame{Width: width, Height: height, Live: []string{"-", "-"}, Cursor: screen.Cursor{Hidden: true}, Now: s.now}
					if s.r.IntN(2) == 0 {
						f.Above = []string{s.text(finishedPieces, 1+s.r.IntN(width))}
					}
					s.draw(f)
					s.read()
					s.pass()
				}
				if got := strings.Count(s.terminal.Text(), "~"); got != scrolled || strings.Contains(s.terminal.Scrollback(), "-") {
					t.Fatalf("seed %d: %d characters of the live part had scrolled off, and %d remain\n%s\n%s", seed, scrolled, got, s.terminal.Text(), s.steps.String())
				}
			}
			if left < 10 || whole < 10 {
				t.Errorf("in %d stories something remained, in %d nothing: one of these is not tried", left, whole)
			}
		})
	}
}
