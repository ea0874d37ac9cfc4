//go:build unix

package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// The modes, and how they are left: pasted text is marked, focus is reported, and keys
// that are ambiguous otherwise are sent as sequences, with the key of an American
// keyboard, so that Ctrl-C is found on a Russian one (flags 1 and 4 of
// sw.kovidgoyal.net/kitty/keyboard-protocol, read 2026-11-22). A terminal that does not
// know a mode ignores it.
const (
	enter = "\x1b[?2004h\x1b[?1004h\x1b[>5u"
	leave = "\x1b[<u\x1b[?1004l\x1b[?2004l"

	// What xterm and tmux have in place of the kitty protocol: modifyOtherKeys. It is
	// sent to these alone, because some terminals take it for underlined text.
	enterOtherKeys = "\x1b[>4;1m"
	leaveOtherKeys = "\x1b[>4m"
)

// replyWait is how long replies that are under way are awaited when the terminal is
// given back: its next reader would take them for typed text.
const replyWait = 100 * time.Millisecond

// A Reader reads a terminal.
type Reader struct {
	in, out *os.File
	events  chan Event
	wake    *os.File // a byte written here wakes the loop
	woken   *os.File
	resized chan os.Signal
	asked   atomic.Int32 // calls of Ask whose Done has not come
	cursors atomic.Int32 // cursor positions that were asked for, and the decoder does not know of
	slow    atomic.Bool
	patient atomic.Bool

	decoder decoder // owned by the loop, while one runs
	pending []Event // that the loop has not delivered
	err     error   // why input has ended; nil unless ended
	ended   bool

	mu      sync.Mutex // held by Pause, Resume and Close
	loop    *loop
	closed  bool
	signals sync.WaitGroup

	modes     sync.Mutex // guards what follows; held for a few system calls
	raw       *term.State
	otherKeys bool
}

// A loop is the goroutine that reads.
type loop struct{ stop, done chan struct{} }

// Start takes over a terminal: in is read, out is written. Both are the same terminal.
// The first event is a [Resize].
func Start(in, out *os.File) (*Reader, error) {
	if !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, errors.New("standard input and output must be a terminal")
	}
	woken, wake, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r := &Reader{in: in, out: out, events: make(chan Event, 64), wake: wake, woken: woken, resized: make(chan os.Signal, 1)}
	signal.Notify(r.resized, unix.SIGWINCH)
	r.signals.Go(func() {
		for range r.resized {
			r.wakeUp(resizeByte)
		}
	})
	if max(in.Fd(), woken.Fd()) >= unix.FD_SETSIZE {
		err = errors.New("too many open files")
	} else {
		err = r.Resume()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Events returns the channel of all events. It is closed by [Reader.Close], and when the
// terminal is gone (see [Reader.Err]). While it is not read, nothing is lost: the terminal
// waits.
func (r *Reader) Events() <-chan Event { return r.events }

// Err returns why [Reader.Events] was closed: nil after Close, io.EOF or another error if
// the terminal is gone. It must be called only after the channel is closed.
func (r *Reader) Err() error { return r.err }

// Slow says that the terminal is at the end of a line on which sequences arrive in
// pieces, such as ssh: Esc is reported after 25 ms instead of 2, unless the terminal has
// the kitty protocol. A Reader finds out by itself too, but takes the first sequence that
// is in pieces for Esc.
func (r *Reader) Slow() {
	r.slow.Store(true)
}

// Patient says whether an Esc that was not pressed would do harm: while it is set, Esc is reported
// after 250 ms, unless another key follows or the terminal has the kitty protocol, so that no pause
// below that tears a sequence.
func (r *Reader) Patient(is bool) { r.patient.Store(is) }

// Ask sends queries. The replies are events; after those that the terminal knows comes a
// Reply of kind [Done]. A terminal that answers Keyboard with flag 1 set sends Esc as a
// sequence, and Esc and sequences in pieces are told apart from then on.
func (r *Reader) Ask(queries ...Query) error {
	var b strings.Builder
	for _, q := range queries {
		switch q {
		case Cursor:
			r.cursors.Add(1)
			b.WriteString("\x1b[6n")
		case Version:
			b.WriteString("\x1b[>q")
		case Background:
			b.WriteString("\x1b]11;?\x1b\\")
		case Keyboard:
			b.WriteString("\x1b[?u")
		}
	}
	r.asked.Add(1)
	_, err := r.out.WriteString(b.String() + "\x1b[c") // every terminal says what it is
	return err
}

// Pause gives the terminal back as it was, for another program to use it. No event is
// delivered until Resume.
func (r *Reader) Pause() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.halt()
	r.awaitReplies()
	return r.Restore()
}

// Resume takes the terminal over again after Pause, or after the process was stopped and
// continued. The next event is a [Resize].
func (r *Reader) Resume() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.halt()
	if r.closed || r.ended {
		return errors.New("the terminal is closed")
	}
	if err := r.enter(); err != nil {
		return err
	}
	r.pending = append([]Event{r.size()}, r.pending...)
	r.run()
	return nil
}

// Close gives the terminal back as it was, and closes Events. It may be called several
// times. Deferred in the goroutine that may panic, it restores the terminal before the
// panic is printed.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	r.halt()
	r.awaitReplies()
	err := r.Restore()
	signal.Stop(r.resized)
	close(r.resized)
	r.signals.Wait()
	r.wake.Close()
	r.woken.Close()
	if !r.ended {
		close(r.events)
	}
	return err
}

// Restore gives the terminal back at once, without waiting for the goroutine that reads
// it. It may be called from any goroutine at any time, such as one that handles SIGTERM
// and then ends the process; Close does all that is left to do.
func (r *Reader) Restore() error {
	r.modes.Lock()
	defer r.modes.Unlock()
	if r.raw == nil {
		return nil
	}
	text := leave
	if r.otherKeys {
		text = leaveOtherKeys + leave
	}
	r.otherKeys = false
	_, err := r.out.WriteString(text)
	err = errors.Join(err, term.Restore(int(r.in.Fd()), r.raw))
	r.raw = nil
	return err
}

// enter sets the modes. If they were set, it sets them again: another process can have
// changed them while this one was stopped.
func (r *Reader) enter() error {
	r.modes.Lock()
	defer r.modes.Unlock()
	before, err := term.MakeRaw(int(r.in.Fd()))
	if err != nil {
		return fmt.Errorf("set the terminal to raw mode: %w", err)
	}
	text := enter
	if r.raw == nil {
		r.raw = before
	} else {
		text = "\x1b[<u" + text // flags are a stack
	}
	if r.otherKeys {
		text += enterOtherKeys
	}
	_, err = r.out.WriteString(text)
	return err
}

// reply does what follows from a reply of the terminal.
func (r *Reader) reply(e Reply) {
	switch e.Kind {
	case Done:
		if r.asked.Add(-1) < 0 {
			r.asked.Store(0) // another process asked
		}
	case Version:
		if !strings.HasPrefix(e.Text, "tmux") && !strings.HasPrefix(e.Text, "XTerm") {
			return
		}
		r.modes.Lock()
		defer r.modes.Unlock()
		if r.raw != nil && !r.otherKeys {
			r.otherKeys = true
			r.out.WriteString(enterOtherKeys)
		}
	}
}

// size returns how large the terminal is.
func (r *Reader) size() Event {
	width, height, err := term.GetSize(int(r.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	return Resize{Width: width, Height: height}
}

// What wakes the loop.
const (
	resizeByte = 'r'
	stopByte   = 's'
)

func (r *Reader) wakeUp(why byte) { r.wake.Write([]byte{why}) }

// run starts the loop, unless input has ended.
func (r *Reader) run() {
	if r.ended {
		return
	}
	r.loop = &loop{stop: make(chan struct{}), done: make(chan struct{})}
	go r.read(r.loop)
}

// halt ends the loop and waits for it.
func (r *Reader) halt() {
	if r.loop == nil {
		return
	}
	close(r.loop.stop)
	r.wakeUp(stopByte)
	<-r.loop.done
	r.loop = nil
}

// read delivers events until it is stopped or the terminal is gone.
func (r *Reader) read(l *loop) {
	defer close(l.done)
	b := make([]byte, 64<<10)
	for {
		for len(r.pending) > 0 {
			select {
			case r.events <- r.pending[0]:
				r.pending = r.pending[1:]
			case <-l.stop:
				return
			}
		}
		var timeout *unix.Timeval
		if at, ok := r.decoder.deadline(); ok {
			t := unix.NsecToTimeval(int64(max(0, time.Until(at))))
			timeout = &t
		}
		in, woken, err := r.wait(timeout)
		switch {
		case err != nil:
		case woken:
			var n int
			n, err = unix.Read(int(r.woken.Fd()), b)
			if bytes.IndexByte(b[:max(n, 0)], resizeByte) >= 0 {
				r.pending = append(r.pending, r.size())
			}
		case in:
			err = r.take(b)
		default:
			r.pending = append(r.pending, r.decoder.expire()...)
		}
		if err != nil && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			r.ended, r.err = true, err
			close(r.events)
			return
		}
		select {
		case <-l.stop:
			return
		default:
		}
	}
}

// wait waits until there is input, or the loop is woken up, or the time is over. It uses
// select because poll does not work on the terminals of macOS.
func (r *Reader) wait(timeout *unix.Timeval) (in, woken bool, err error) {
	var set unix.FdSet
	set.Set(int(r.in.Fd()))
	set.Set(int(r.woken.Fd()))
	if _, err := unix.Select(int(max(r.in.Fd(), r.woken.Fd()))+1, &set, nil, nil, timeout); err != nil {
		return false, false, err
	}
	return set.IsSet(int(r.in.Fd())), set.IsSet(int(r.woken.Fd())), nil
}

// take reads what is there.
func (r *Reader) take(b []byte) error {
	n, err := unix.Read(int(r.in.Fd()), b)
	switch {
	case err != nil:
		return err
	case n == 0:
		return io.EOF
	}
	r.decoder.cursor += int(r.cursors.Swap(0))
	r.decoder.slow = r.decoder.slow || r.slow.Load()
	r.decoder.patient = r.patient.Load()
	events := markTogether(r.decoder.feed(b[:n], time.Now()))
	for _, e := range events {
		if reply, ok := e.(Reply); ok {
			r.reply(reply)
		}
	}
	r.pending = append(r.pending, events...)
	return nil
}

// awaitReplies reads the replies that are under way, while no loop runs.
func (r *Reader) awaitReplies() {
	b := make([]byte, 4096)
	for until := time.Now().Add(replyWait); r.asked.Load() > 0 && !r.ended && time.Now().Before(until); {
		t := unix.NsecToTimeval(int64(max(0, time.Until(until))))
		in, woken, err := r.wait(&t)
		switch {
		case woken:
			unix.Read(int(r.woken.Fd()), b)
		case in:
			err = r.take(b)
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
	r.asked.Store(0)
}
