//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package store

import (
	"errors"

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

func (l *fileLock) Unlock() error { return l.flock(unix.LOCK_UN) }

func (l *fileLock) flock(how int) error {
	for {
		err := unix.Flock(int(l.file.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}
