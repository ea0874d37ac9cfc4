//go:build unix

package editor

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock waits until no other process has the file locked. A file system without locks is
// used without.
func lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS):
			return nil
		default:
			return err
		}
	}
}
