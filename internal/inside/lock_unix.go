//go:build unix && !solaris && !illumos && !aix

package inside

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Locked calls do while it holds the lock file of that name in a folder, which is made if it is missing. It waits for the
// lock if another goroutine or process holds it. The kernel releases it when the process ends.
func Locked(folder, name string, do func() error) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := OpenFile(folder, filepath.Join(folder, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // which frees the lock
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); {
		case err == nil:
			return do()
		case !errors.Is(err, syscall.EINTR):
			return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}
