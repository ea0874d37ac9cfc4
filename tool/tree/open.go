// Package tree opens and walks the folders of a workspace: no link is followed, so what is opened is in it, opening waits for nobody, and
// what git ignores is passed over.
//
// It changes nothing, and does not resolve paths that people or models give: package tool does.
package tree

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// ErrSwapped is what opening a path says when it is not what it was a moment ago.
var ErrSwapped = errors.New("it was replaced while it was being opened: try again")

// A NotRegularError says that something is no file with content.
type NotRegularError struct{ Mode fs.FileMode }

func (e *NotRegularError) Error() string {
	switch e.Mode.Type() {
	case fs.ModeDir:
		return "it is a folder: use list to see what is in it"
	case fs.ModeSymlink:
		return "it became a link while it was being opened: try again"
	case fs.ModeNamedPipe:
		return "it is a named pipe, not a file"
	case fs.ModeSocket:
		return "it is a socket, not a file"
	}
	return "it is a device, not a file"
}

// Descend opens a folder in dir, if it is one: no link is followed. The path
// was free of links when it was resolved, so one that is there now was put
// there in between.
func Descend(dir *os.Root, name string) (*os.Root, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, ErrSwapped
	}
	if !before.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	child, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := child.Stat(".")
	if err != nil || !os.SameFile(before, after) {
		child.Close()
		return nil, ErrSwapped
	}
	return child, nil
}

// OpenRegular opens a file in dir for reading, if it is a regular one; no link
// is followed. Opening never waits: a named pipe that nobody writes to would
// block for ever, so its kind is looked at first, and O_NONBLOCK covers what is
// swapped in between.
//
// A hard link to a file outside cannot be told from a file by its path, so it
// can be read. Writing through it is impossible: files are replaced, and the
// other name keeps its content. That is why write and edit do not refuse a file
// that has several names, as package managers (pnpm) and clones on one disk make
// them: the store that such a file is linked from stays as it is. A shell command
// writes in place and through the link, if somebody made it before; one in the
// sandbox can make none to what is outside.
func OpenRegular(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, &NotRegularError{before.Mode()}
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	after, err := f.Stat()
	if err != nil || !os.SameFile(before, after) {
		f.Close()
		return nil, nil, ErrSwapped
	}
	return f, after, nil
}

// InWords says in words what the system refused, without the operation's and
// the temporary file's name: who reads it knows which file it is about. The
// error can still be tested with [errors.Is].
func InWords(err error) error {
	for _, w := range []struct {
		is   error
		says string
	}{
		{syscall.ENOSPC, "the disk is full: free some space and try again"},
		{syscall.EDQUOT, "the disk quota is used up: free some space and try again"},
		{syscall.EROFS, "the file system is read-only"},
		{syscall.EIO, "the disk has an error (input/output error)"},
		{syscall.EMFILE, "too many files are open in this process"},
		{syscall.ENFILE, "too many files are open on this machine"},
		{syscall.ENAMETOOLONG, "a name in it is too long for the file system"},
		{syscall.ENOTDIR, "a part of the path is a file, not a folder"},
		{syscall.ELOOP, "its links lead in a circle"},
		{fs.ErrPermission, "permission denied: this user may not"},
		{fs.ErrNotExist, "it does not exist"},
	} {
		if errors.Is(err, w.is) {
			return &wordedError{w.says, err}
		}
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

type wordedError struct {
	says string
	err  error
}

func (e *wordedError) Error() string { return e.says }
func (e *wordedError) Unwrap() error { return e.err }

// Below returns the path of full relative to folder, if it is in it.
func Below(folder, full string) (rel string, ok bool) {
	if full == folder {
		return ".", true
	}
	if folder != "/" {
		folder += "/"
	}
	return strings.CutPrefix(full, folder)
}
