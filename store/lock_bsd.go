//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package store

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// The BSDs and macOS have no open file description locks; flock(2) locks belong to
// the opening of the file too.

func (l *fileLock) Lock() error { return l.flock(unix.LOCK_EX) }

func (l *fileLock) TryLock() (bool, error) {
	err := l.flock(unix.LOCK_EX | unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Held asks with fcntl(2): the kernel keeps both kinds of lock of a file in one list.
func (l *fileLock) Held() (bool, error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err := unix.FcntlFlock(l.file.Fd(), unix.F_GETLK, &lock)
	return err == nil && lock.Type != unix.F_UNLCK, err
}

func (l *fileLock) Unlock() error { return l.flock(unix.LOCK_UN) }

func (l *fileLock) flock(how int) error {
	for {
		err := unix.Flock(int(l.file.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}
