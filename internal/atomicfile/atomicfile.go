// Package atomicfile replaces whole files, so that whoever reads one sees the old content
// or the new and nothing between.
//
// Durability is the caller's choice. With Sync, content and names are on the disk when a
// function returns nil: the file is fsynced before the rename, and its directory after
// it, as are the parents of directories that were created. Without, only atomicity holds
// as long as the system runs; after a loss of power the file may be old, new or empty.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// A Sync says whether to wait for the disk.
type Sync bool

// The two choices; see the package comment.
const (
	Durable Sync = true
	NoSync  Sync = false
)

// tempPattern is the name, for [os.CreateTemp], of files that are not complete. A process
// that is killed may leave one.
const tempPattern = ".new-*"

// Write replaces the file by one with the content, readable by its owner alone. It creates
// missing directories. After an error the file is as it was.
func Write(file string, content []byte, sync Sync) error {
	return write(file, content, sync, os.Rename)
}

// Create is Write for a file that must not exist: of several processes that create it at the
// same time one succeeds, and the others get an error that is [fs.ErrExist].
func Create(file string, content []byte, sync Sync) error {
	return write(file, content, sync, func(temp, file string) error {
		err := os.Link(temp, file)
		if err == nil {
			return os.Remove(temp)
		}
		return err
	})
}

// Once returns the content of a file that content makes when it is missing: of several processes that do it at the same
// time one creates the file, and all read it. A file that others than its owner can read is an [*ExposedError].
func Once(file string, content func() []byte) ([]byte, error) {
	for {
		info, err := os.Stat(file)
		switch {
		case err == nil && info.Mode().Perm()&0o077 != 0:
			return nil, &ExposedError{file, info.Mode().Perm()}
		case err == nil:
			return Read(file)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		if err := Create(file, content(), Durable); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// An ExposedError says that a file with a secret can be read by others.
type ExposedError struct {
	File string
	Mode fs.FileMode
}

func (e *ExposedError) Error() string {
	return fmt.Sprintf("%s can be read by others (mode %04o): remove it, and a new one is made", e.File, e.Mode)
}

// write writes a temporary file and lets put give it its name.
func write(file string, content []byte, sync Sync, put func(temp, file string) error) error {
	dir := filepath.Dir(file)
	if err := MkdirAll(dir, sync); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, tempPattern) // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && bool(sync) {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = put(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	if sync {
		return SyncDir(dir)
	}
	return nil
}

// creating is held while directories are created, so that no goroutine takes a directory
// for durable that another has created and not fsynced yet.
var creating sync.Mutex

// MkdirAll creates a directory and its missing parents, for their owner alone, and fsyncs
// the parent of each that it creates. A directory that exists is taken for durable.
func MkdirAll(dir string, sync Sync) error {
	if sync {
		creating.Lock()
		defer creating.Unlock()
	}
	return mkdirAll(dir, sync)
}

func mkdirAll(dir string, sync Sync) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := mkdirAll(filepath.Dir(dir), sync); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, e := os.Stat(dir); e == nil && info.IsDir() {
			err = nil // another process was faster
		}
	}
	if err == nil && bool(sync) {
		err = SyncDir(filepath.Dir(dir))
	}
	return err
}

// syncFailed says which directory could not be fsynced.
func syncFailed(dir string, err error) error { return fmt.Errorf("sync directory %s: %w", dir, err) }

// Open is [os.Open] of a file that is not a named pipe, which would wait for who writes into it.
func Open(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		f.Close() // it was only looked at
		return nil, &fs.PathError{Op: "open", Path: file, Err: errors.New("it is a named pipe; remove it")}
	}
	return f, nil
}

// Read is [os.ReadFile] of a file as of [Open].
func Read(file string) ([]byte, error) {
	f, err := Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	return io.ReadAll(f)
}
