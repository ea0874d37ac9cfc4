package keys_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"pawl/internal/screen/screentest"
	"pawl/tui/keys"
)

// patience is how long a test waits for what must happen; it is not measured.
const patience = 2 * time.Minute

// A screen is the other end of a terminal: what it shows, and who types.
type screen struct {
	t   testing.TB
	pty screentest.Pty

	mu    sync.Mutex
	shown bytes.Buffer
	more  chan struct{}
}

func newScreen(t testing.TB) *screen {
	t.Helper()
	pty := screentest.NewPty(t, 80, 24)
	s := &screen{t: t, pty: pty, more: make(chan struct{}, 1)}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := pty.Master.Read(b)
			s.mu.Lock()
			s.shown.Write(b[:n])
			s.mu.Unlock()
			select {
			case s.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *screen) resize(width, height int) {
	s.t.Helper()
	s.pty.Resize(s.t, width, height)
}

func (s *screen) types(text string) {
	s.t.Helper()
	if _, err := s.pty.Master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// sees waits until the screen was sent text, and forgets what came before.
func (s *screen) sees(text string) {
	s.t.Helper()
	timeout := time.After(patience)
	for {
		s.mu.Lock()
		_, after, ok := bytes.Cut(s.shown.Bytes(), []byte(text))
		if ok {
			rest := bytes.Clone(after)
			s.shown.Reset()
			s.shown.Write(rest)
		}
		shown := s.shown.String()
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-s.more:
		case <-timeout:
			s.t.Fatalf("the screen was never sent %q; it has %q", text, shown)
		}
	}
}

func (s *screen) modes() unix.Termios {
	s.t.Helper()
	m, err := unix.IoctlGetTermios(int(s.pty.Tty.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return *m
}

// reads starts a reader, and takes its first event.
func (s *screen) reads() *keys.Reader {
	s.t.Helper()
	r, err := keys.Start(s.pty.Tty, s.pty.Tty)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { r.Close() })
	if got, want := s.next(r), (keys.Resize{Width: 80, Height: 24}); got != want {
		s.t.Fatalf("the first event is %+v, want %+v", got, want)
	}
	s.sees(entered)
	return r
}

const (
	entered = "\x1b[?2004h\x1b[?1004h\x1b[>5u"
	left    = "\x1b[<u\x1b[?1004l\x1b[?2004l"
)

func (s *screen) next(r *keys.Reader) keys.Event {
	s.t.Helper()
	select {
	case e, ok := <-r.Events():
		if !ok {
			s.t.Fatalf("there are no more events: %v", r.Err())
		}
		return e
	case <-time.After(patience):
		s.t.Fatal("there is no event")
	}
	return nil
}

// names reads n keys.
func (s *screen) names(r *keys.Reader, n int) string {
	s.t.Helper()
	var all []string
	for range n {
		k, ok := s.next(r).(keys.Key)
		if !ok {
			s.t.Fatalf("after %v comes no key", all)
		}
		all = append(all, k.Name)
	}
	return strings.Join(all, " ")
}

func TestKeysArriveAndTheTerminalIsRestored(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	before := s.modes()
	r := s.reads()
	if during := s.modes(); during == before {
		t.Error("the terminal is not in raw mode")
	}
	s.types("a\x03\x1b[A\x1bb\r")
	if got := s.names(r, 5); got != "a ctrl+c up alt+b enter" {
		t.Errorf("got %s", got)
	}
	s.types("\x1b")
	if got := s.names(r, 1); got != "esc" {
		t.Errorf("got %s", got)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, ok := <-r.Events(); ok || r.Err() != nil {
		t.Errorf("after Close there are events, or an error: %v", r.Err())
	}
	s.sees(left)
	if diff := cmp.Diff(before, s.modes()); diff != "" {
		t.Errorf("the terminal's modes (-before +after)\n%s", diff)
	}
}

// A machine that is busy can take longer for a piece than is waited for. So a sequence has
// several tries; see TestASequenceInPiecesIsTheSame for the exact times.
func TestSequencesThatArriveByteByByte(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	r := s.reads()
	r.Slow()
	for _, c := range []struct{ bytes, want string }{{"\x1b[1;5D", "ctrl+left"}, {"\x1bb", "alt+b"}, {"\x1b[A", "up"}, {"\x1bOH", "home"}, {"漢", "漢"}, {"\x1b[13;2u", "shift+enter"}} {
		got := ""
		for range 10 {
			for i := range len(c.bytes) {
				s.types(c.bytes[i : i+1])
			}
			s.types("\x04")
			got = ""
			for name := ""; name != "ctrl+d"; got += name {
				name = s.names(r, 1)
			}
			if got == c.want+"ctrl+d" {
				break
			}
		}
		if got != c.want+"ctrl+d" {
			t.Errorf("%q: %s, want %s", c.bytes, got, c.want)
		}
	}
}

func TestALargePasteIsOneEvent(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	r := s.reads()
	lines := strings.Repeat("a line of text\r", 10_000)
	typed := make(chan error, 1)
	go func() {
		_, err := s.pty.Master.WriteString("\x1b[200~" + lines + "\x1b[201~z")
		typed <- err
	}()
	if diff := cmp.Diff(keys.Event(keys.Paste{Text: strings.ReplaceAll(lines, "\r", "\n")}), s.next(r)); diff != "" {
		t.Error("the paste is another")
	}
	if got := s.names(r, 1); got != "z" {
		t.Errorf("got %s", got)
	}
	if err := <-typed; err != nil {
		t.Error(err)
	}
}

func TestAPasteOf50MBSaysWhatItDropped(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	r := s.reads()
	const size = 50 << 20
	typed := make(chan error, 1)
	go func() {
		_, err := s.pty.Master.WriteString("\x1b[200~" + strings.Repeat("0123456\r", size/8) + "\x1b[201~")
		typed <- err
	}()
	p, ok := s.next(r).(keys.Paste)
	if !ok || len(p.Text) != keys.MaxPaste || p.Dropped != size-keys.MaxPaste {
		t.Errorf("%d bytes are kept, %d dropped", len(p.Text), p.Dropped)
	}
	if err := <-typed; err != nil {
		t.Error(err)
	}
}

func TestNothingIsLostWhileEventsAreNotRead(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	r := s.reads()
	const n = 50_000
	go s.pty.Master.WriteString(strings.Repeat("ab", n/2))
	if got := s.names(r, 1); got != "a" {
		t.Fatal(got)
	}
	if err := r.Pause(); err != nil { // in the middle
		t.Fatal(err)
	}
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	got := 1
	for resized := false; got < n; {
		switch e := s.next(r).(type) {
		case keys.Key:
			if want := string("ab"[got%2]); e.Text != want {
				t.Fatalf("key %d is %q, want %q", got, e.Text, want)
			}
			got++
		case keys.Resize:
			if resized {
				t.Error("two resizes")
			}
			resized = true
		default:
			t.Fatalf("%T", e)
		}
	}
}

// Another program gets the terminal as it was before, reads it itself, and gives it back.
func TestPauseGivesTheTerminalToAnotherProgram(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	before := s.modes()
	r := s.reads()
	if err := r.Pause(); err != nil {
		t.Fatal(err)
	}
	s.sees(left)
	if diff := cmp.Diff(before, s.modes()); diff != "" {
		t.Errorf("the terminal's modes (-before +during)\n%s", diff)
	}
	s.types("for the other\n")
	b := make([]byte, 100)
	if n, err := s.pty.Tty.Read(b); err != nil || string(b[:n]) != "for the other\n" {
		t.Errorf("the other program reads %q, %v", b[:n], err)
	}
	s.resize(100, 30)
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	s.sees(entered)
	if got, want := s.next(r), (keys.Resize{Width: 100, Height: 30}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	s.types("k")
	if got := s.names(r, 1); got != "k" {
		t.Errorf("got %s", got)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, s.modes()); diff != "" {
		t.Errorf("the terminal's modes (-before +after)\n%s", diff)
	}
}

// After the process was stopped the shell has set modes of its own.
func TestResumeAfterAStopSetsTheModesAgain(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	before := s.modes()
	r := s.reads()
	during := s.modes()
	if err := unix.IoctlSetTermios(int(s.pty.Tty.Fd()), unix.TCSETS, &before); err != nil {
		t.Fatal(err)
	}
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	s.sees("\x1b[<u" + entered) // kitty's flags are a stack
	if diff := cmp.Diff(during, s.modes()); diff != "" {
		t.Errorf("the terminal's modes (-before +after)\n%s", diff)
	}
	r.Close()
	if diff := cmp.Diff(before, s.modes()); diff != "" {
		t.Errorf("the terminal's modes after Close (-want +got)\n%s", diff)
	}
}

// It runs alone, because all readers of the process get the signal.
func TestAResizeIsReported(t *testing.T) {
	s := newScreen(t)
	r := s.reads()
	s.resize(40, 10)
	if err := unix.Kill(os.Getpid(), unix.SIGWINCH); err != nil { // the terminal is not this process's own
		t.Fatal(err)
	}
	if got, want := s.next(r), (keys.Resize{Width: 40, Height: 10}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTheTerminalAnswersQueries(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	r := s.reads()
	if err := r.Ask(keys.Version, keys.Background, keys.Keyboard, keys.Cursor); err != nil {
		t.Fatal(err)
	}
	s.sees("\x1b[>q\x1b]11;?\x1b\\\x1b[?u\x1b[6n\x1b[c")
	s.types("\x1bP>|tmux 3.5a\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?0u\x1b[1;2R\x1b[?62c")
	for _, want := range []keys.Reply{{Kind: keys.Version, Text: "tmux 3.5a"}, {Kind: keys.Background, Dark: true}, {Kind: keys.Keyboard},
		{Kind: keys.Cursor, Col: 1}, {Kind: keys.Done}} {
		if got := s.next(r); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	s.sees("\x1b[>4;1m") // tmux has this in place of the kitty protocol
	r.Close()
	s.sees("\x1b[>4m" + left)
}

// A reply that comes when the terminal has been given back would be typed into the shell.
func TestRepliesThatAreUnderWayAreAwaited(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	r := s.reads()
	if err := r.Ask(keys.Version); err != nil {
		t.Fatal(err)
	}
	s.sees("\x1b[>q\x1b[c")
	s.types("\x1bP>|term\x1b\\\x1b[?62c")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(s.pty.Tty.Fd()), unix.TIOCINQ)
	if err != nil || n != 0 {
		t.Errorf("%d bytes are left in the terminal, %v", n, err)
	}
}

func TestATerminalThatIsGoneEndsTheEvents(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	r := s.reads()
	s.pty.Master.Close()
	select {
	case e, ok := <-r.Events():
		if ok {
			t.Errorf("got %+v", e)
		}
	case <-time.After(patience):
		t.Fatal("the events go on")
	}
	if err := r.Err(); !errors.Is(err, io.EOF) && !errors.Is(err, unix.EIO) {
		t.Errorf("the error is %v", err)
	}
	r.Close()
	if err := r.Resume(); err == nil {
		t.Error("it is resumed")
	}
}

func TestWhatIsNoTerminalIsRefused(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := keys.Start(r, w); err == nil || !strings.Contains(err.Error(), "must be a terminal") {
		t.Errorf("the error is %v", err)
	}
}

// A process that panics, or is terminated, restores its terminal before it ends.
func TestAPanicAndATerminationRestoreTheTerminal(t *testing.T) {
	if how := os.Getenv("PAWL_KEYS_TEST_END"); how != "" {
		endBy(how)
	}
	t.Parallel()
	for _, how := range []string{"panic", "terminate"} {
		s := newScreen(t)
		before := s.modes()
		cmd := exec.Command(os.Args[0], "-test.run=^TestAPanicAndATerminationRestoreTheTerminal$")
		cmd.Env = append(os.Environ(), "PAWL_KEYS_TEST_END="+how)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.pty.Tty, s.pty.Tty, s.pty.Tty
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s.sees(entered)
		if how == "panic" {
			s.types("p")
		} else if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("%s: the process has ended well", how)
		}
		s.sees(left)
		if how == "panic" {
			s.sees("panic: as asked for")
		}
		if diff := cmp.Diff(before, s.modes()); diff != "" {
			t.Errorf("%s: the terminal's modes (-before +after)\n%s", how, diff)
		}
	}
}

// endBy is the process of the test above.
func endBy(how string) {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, unix.SIGTERM)
	r, err := keys.Start(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	if how == "terminate" {
		<-terminated // its goroutine waits in Events meanwhile
		r.Restore()
		os.Exit(143)
	}
	defer r.Close()
	for e := range r.Events() {
		if k, ok := e.(keys.Key); ok && k.Name == "p" {
			panic("as asked for")
		}
	}
}

// From what a person types to the event.
func BenchmarkKey(b *testing.B) {
	for _, c := range []struct{ name, bytes string }{{"letter", "a"}, {"esc", "\x1b"}, {"esc_kitty", "\x1b[27u"}, {"arrow", "\x1b[A"}} {
		b.Run(c.name, func(b *testing.B) {
			s := newScreen(b)
			r := s.reads()
			for b.Loop() {
				s.types(c.bytes)
				<-r.Events()
			}
		})
	}
}
