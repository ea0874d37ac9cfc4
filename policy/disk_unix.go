//go:build unix && !solaris && !illumos && !aix

package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"pawl/internal/inside"
)

func signatureOf(info fs.FileInfo) signature {
	sig := signature{found: true, size: info.Size(), modified: info.ModTime().UnixNano(), mode: info.Mode()}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		sig.device, sig.inode, sig.owner = uint64(s.Dev), s.Ino, int(s.Uid)
		sig.change = changeTime(s)
	}
	return sig
}

// locked runs do while nobody else, in this process or another, runs anything under
// the lock of the same folder. The kernel frees it with the process.
func locked(dir string, do func() error) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := inside.OpenFile(dir, filepath.Join(dir, "permissions.lock"), os.O_RDWR|os.O_CREATE, 0o600)
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
