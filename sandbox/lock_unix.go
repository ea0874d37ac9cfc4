//go:build unix

package sandbox

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks a file until it is closed, also by the end of the process.
func lockFile(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// tryLockFile fails if another process has the file locked.
func tryLockFile(f *os.File) error { return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) }

// shareFile locks a file as others may that share it. It fails if one has it for itself.
func shareFile(f *os.File) error { return flock(f, syscall.LOCK_SH|syscall.LOCK_NB) }

// isLocked reports whether an error of these says that another process has it locked.
func isLocked(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }

func unlockFile(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		raw, err := f.SyscallConn()
		if err != nil {
			return err
		}
		var flockErr error
		if err := raw.Control(func(fd uintptr) { flockErr = syscall.Flock(int(fd), how) }); err != nil {
			return err
		}
		if !errors.Is(flockErr, syscall.EINTR) {
			return flockErr
		}
	}
}
