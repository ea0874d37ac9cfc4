package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pawl/store"
)

// Dir creates the folder for owners' sockets and returns it:
// $XDG_RUNTIME_DIR/pawl, or pawl-<uid> in the folder for temporary files.
func Dir() (string, error) {
	parent, name := os.Getenv("XDG_RUNTIME_DIR"), "pawl"
	if parent == "" {
		parent, name = os.TempDir(), fmt.Sprintf("pawl-%d", os.Getuid())
	}
	dir := filepath.Join(parent, name)
	if err := privateDir(dir); err != nil {
		return "", err
	}
	return dir, nil
}

// privateDir creates dir, or checks that it is a folder that only this user can access. In
// a shared parent such as /tmp another user may have created it to intercept connections.
func privateDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
		return store.FileFault(dir, err) // nil: it was made
	}
	info, err := os.Lstat(dir) // not Stat: a symbolic link may be of another user
	switch {
	case err != nil:
		return store.FileFault(dir, err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder: remove it, or set XDG_RUNTIME_DIR to a folder of your own", dir)
	case !ownedByUser(info):
		return fmt.Errorf("%s belongs to another user: set XDG_RUNTIME_DIR to a folder of your own", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s is accessible to other users: run `chmod 700 %[1]s`", dir)
	}
	return nil
}
