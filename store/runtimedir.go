package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// RuntimeDir returns the folder for owners' sockets, and makes it:
// $XDG_RUNTIME_DIR/pawl, or pawl-<uid> in the folder for temporary files.
func RuntimeDir() (string, error) {
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

// privateDir makes dir, or sees that it is a folder that only this user can enter.
// In a shared parent such as /tmp someone else may have made it before, to take the
// place of our sockets.
func privateDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return fileError(dir, err)
	}
	info, err := os.Lstat(dir) // not Stat: a link would be somebody's choice of a folder
	switch {
	case err != nil:
		return fileError(dir, err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder: remove it, or set XDG_RUNTIME_DIR to a folder of your own", dir)
	case !ownedByUser(info):
		return fmt.Errorf("%s belongs to another user: set XDG_RUNTIME_DIR to a folder of your own", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s can be entered by others: run `chmod 700 %[1]s`", dir)
	}
	return nil
}
