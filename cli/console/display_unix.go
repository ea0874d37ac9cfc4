//go:build unix

package console

import (
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// notifyContinued reports on c when the process runs again after it was stopped.
func notifyContinued(c chan<- os.Signal) { signal.Notify(c, unix.SIGCONT) }

// inForeground reports whether the process may read the terminal: one in the background
// would be stopped.
func inForeground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// pushLine lets a read of a terminal return what was typed of a line that is not finished: a terminal that
// stops reading whole lines hands over what it has.
func pushLine(f *os.File) {
	if !inForeground(f) {
		return
	}
	if mode, err := term.MakeRaw(int(f.Fd())); err == nil {
		_ = term.Restore(int(f.Fd()), mode) // it has just been set
	}
}

// awaitClosed returns a function that waits until no process reads a pipe or socket any more, and returns
// false at once if f is neither.
func awaitClosed(f *os.File) (wait func() bool) {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return func() bool { return false }
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}} // here: who waits may still do so when f is closed
	return func() bool { return pollClosed(fds) }
}

func pollClosed(fds []unix.PollFd) bool {
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
		case err != nil:
			return false
		case fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0:
			return true
		default:
			return false // POLLNVAL: it was closed here
		}
	}
}
