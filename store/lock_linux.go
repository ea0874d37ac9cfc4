package store

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// On Linux the locks are open file description locks: fcntl(2), "Open file
// description locks (non-POSIX)", read 2026-11-20. They conflict between two
// openings in one process, which plain POSIX locks do not.

func (l *fileLock) Lock() error { return l.control(unix.F_OFD_SETLKW, unix.F_WRLCK) }

func (l *fileLock) TryLock() (bool, error) {
	err := l.control(unix.F_OFD_SETLK, unix.F_WRLCK)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, err
}

func (l *fileLock) Held() (bool, error) {
	lock := wholeFile(unix.F_WRLCK)
	err := unix.FcntlFlock(l.file.Fd(), unix.F_OFD_GETLK, &lock)
	return err == nil && lock.Type != unix.F_UNLCK, err
}

func (l *fileLock) Unlock() error { return l.control(unix.F_OFD_SETLK, unix.F_UNLCK) }

// wholeFile is a lock from offset 0 with length 0, which means up to any end.
func wholeFile(typ int16) unix.Flock_t { return unix.Flock_t{Type: typ, Whence: io.SeekStart} }

func (l *fileLock) control(cmd int, typ int16) error {
	lock := wholeFile(typ)
	for {
		err := unix.FcntlFlock(l.file.Fd(), cmd, &lock)
		if err != unix.EINTR {
			return err
		}
	}
}
