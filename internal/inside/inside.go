// Package inside does what package os does with files below a folder, and follows no link
// that leads out of it: what pawl removes, locks and writes in its state folder is there.
// The folder itself may be a link, as people move it to another disk.
package inside

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"pawl/internal/stable"
)

// in calls do with a folder and the name of a path in it.
func in(folder, path string, do func(root *os.Root, name string) error) error {
	name, err := filepath.Rel(folder, path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return do(root, name)
}

// OpenFile is [os.OpenFile].
func OpenFile(folder, path string, flag int, perm fs.FileMode) (f *os.File, err error) {
	err = in(folder, path, func(root *os.Root, name string) error {
		f, err = root.OpenFile(name, flag, perm)
		return err
	})
	return f, err
}

// OpenChecked opens a file of root for reading, if check has nothing against it. Opening a
// device can have an effect, so it is checked before, by what stat says ([os.Root.Stat] or
// [os.Root.Lstat]); opening a pipe does not wait for its writer if it became one since, and
// what was opened is checked again.
func OpenChecked(root *os.Root, name string, stat func(name string) (fs.FileInfo, error), check func(fs.FileInfo) error) (*os.File, error) {
	info, err := stat(name)
	if err == nil {
		err = check(info)
	}
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = check(info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadDir is [os.ReadDir].
func ReadDir(folder, path string) (entries []fs.DirEntry, err error) {
	f, err := OpenFile(folder, path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	entries, err = f.ReadDir(-1)
	stable.Sort(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Remove is [os.Remove].
func Remove(folder, path string) error {
	return in(folder, path, (*os.Root).Remove)
}

// RemoveAll is [os.RemoveAll].
func RemoveAll(folder, path string) error {
	err := in(folder, path, (*os.Root).RemoveAll)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Rename is [os.Rename].
func Rename(folder, from, to string) error {
	to, err := filepath.Rel(folder, to)
	if err != nil {
		return err
	}
	return in(folder, from, func(root *os.Root, name string) error { return root.Rename(name, to) })
}

// Real returns a path with its links followed if it is there: who replaces the file keeps the link.
func Real(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
