package screentest

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A Pty is a terminal of the system: what is drawn on Tty is read from Master, and what is written to
// Master is typed. Both are closed when the test ends.
type Pty struct{ Master, Tty *os.File }

// NewPty returns a terminal of a size. A test for which there is none is skipped.
func NewPty(t testing.TB, width, height int) Pty {
	t.Helper()
	missing := func(err error) {
		if err != nil {
			t.Helper()
			t.Skipf("this test needs a pseudo-terminal: %v", err)
		}
	}
	// Non-blocking, so that Close ends a Read of it.
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	missing(err)
	p := Pty{Master: os.NewFile(uintptr(fd), "/dev/ptmx")}
	t.Cleanup(func() { p.Master.Close() })
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	missing(errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)))
	p.Tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	missing(err)
	t.Cleanup(func() { p.Tty.Close() })
	p.Resize(t, width, height)
	return p
}

// Resize changes the size of the terminal.
func (p Pty) Resize(t testing.TB, width, height int) {
	t.Helper()
	raw, err := p.Master.SyscallConn() // Fd would make it blocking
	if err == nil {
		failed := raw.Control(func(fd uintptr) {
			err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)})
		})
		err = errors.Join(err, failed)
	}
	if err != nil {
		t.Fatal(err)
	}
}
