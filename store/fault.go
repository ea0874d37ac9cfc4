package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The kinds of a [FileError], for errors.Is.
var (
	ErrDiskFull   = errors.New("the disk is full")
	ErrFileLimit  = errors.New("the limit on the size of files is reached")
	ErrIO         = errors.New("the disk reported an error")
	ErrLocked     = errors.New("another program has it locked")
	ErrReadOnly   = errors.New("it cannot be written")
	ErrCorrupt    = errors.New("it is damaged")
	ErrNewer      = errors.New("it was written by a newer pawl")
	ErrUnreleased = errors.New("it was written by an unreleased pawl")
	ErrLost       = errors.New("it is missing or empty beside the logs of runs")
	ErrNetworkFS  = errors.New("it is on a network file system")
	ErrReplaced   = errors.New("it was deleted or replaced while it was open")
	ErrAway       = errors.New("the database server cannot be reached")
)

// A FileError is what is wrong with a file, in a sentence for the person who repairs it.
type FileError struct {
	Kind error  // one of the sentinels above
	Path string // the file or folder, or the address of a database server
	Err  error  // what the system said; may be nil
}

// advice says what to do about each kind.
var advice = map[error]string{
	ErrDiskFull: "free some space there and start again; what was recorded is kept",
	ErrFileLimit: "this process has a limit on the size of files; raise it with `ulimit -f unlimited` and start again; " +
		"what was recorded is kept",
	ErrIO: "the system log (`dmesg`) may say more; what was recorded before is kept: start again when the disk works, " +
		"and check the run with `pawl runs verify`",
	ErrLocked: "it is not pawl: end its transaction, as in a `sqlite3` that is open or a backup that runs, and start again; " +
		"what was recorded is kept",
	ErrReadOnly: "make the folder and its files writable for this user, or choose another state folder",
	ErrCorrupt: "save what can be read with `pawl runs recover`, which leaves this file as it is; " +
		"or move pawl.db, pawl.db-wal and pawl.db-shm away to start with a new database",
	ErrNewer:      "use that pawl, or a newer one",
	ErrUnreleased: "move it away, with pawl.db-wal, pawl.db-shm and the folder locks beside it, and a new one is made; the version that wrote it can still read it",
	ErrLost:       "restore it from a backup; or, if its runs are not needed, move pawl.db-wal, pawl.db-shm and the folder locks beside it away, and a new one is made",
	ErrReplaced: "earlier events are in the old file, and no more can be recorded; " +
		"restore the state folder, if possible, and start again",
	ErrAway: "what was recorded before is kept; what was being recorded is there as a whole or not at all: " +
		"start again when the server answers",
	ErrNetworkFS: "locks and shared memory do not hold there and the log could be damaged; " +
		"put the state folder on a local disk",
}

// serverAdvice says it where Path is the address of a server and advice would name files of this machine.
var serverAdvice = map[error]string{
	ErrCorrupt: "the other runs and tasks can be used as before; to have this one back, restore the database from a backup",
}

// ofServer reports whether the name of a database is the address of a server.
func ofServer(name string) bool { return strings.Contains(name, "://") }

func (e *FileError) Error() string {
	s := e.Path + ": " + e.Kind.Error()
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	if special := serverAdvice[e.Kind]; special != "" && ofServer(e.Path) {
		return s + ": " + special
	}
	return s + ": " + advice[e.Kind]
}

func (e *FileError) Unwrap() []error { return []error{e.Kind, e.Err} }

// fileError returns err as a [*FileError] if it is a fault of the file at path, otherwise
// err with the path.
func fileError(path string, err error) error {
	if err == nil || errors.As(err, new(*FileError)) || errors.As(err, new(*LockedError)) {
		return err
	}
	if kind := faultKind(path, err); kind != nil {
		if e, ok := errors.AsType[*sqlite.Error](err); ok && operations[e.Code()] != "" {
			err = fmt.Errorf("%s: %w", operations[e.Code()], err)
		}
		return &FileError{Kind: kind, Path: path, Err: err}
	}
	return fmt.Errorf("%s: %w", path, err)
}

// FileFault returns an error about the file or folder at path as a [*FileError], if it is one
// of its kinds; nil stays nil.
func FileFault(path string, err error) error { return fileError(path, err) }

// operations names what SQLite was doing, for the result codes that tell.
var operations = map[int]string{
	sqlite3.SQLITE_IOERR_READ:       "reading",
	sqlite3.SQLITE_IOERR_SHORT_READ: "reading less than there should be",
	sqlite3.SQLITE_IOERR_WRITE:      "writing",
	sqlite3.SQLITE_IOERR_FSYNC:      "syncing",
	sqlite3.SQLITE_IOERR_DIR_FSYNC:  "syncing the folder",
	sqlite3.SQLITE_IOERR_TRUNCATE:   "truncating",
	sqlite3.SQLITE_IOERR_SHMSIZE:    "making the -shm file",
	sqlite3.SQLITE_IOERR_SHMMAP:     "mapping the -shm file",
}

// faultKind maps an error of SQLite or the system to a kind; nil if it is another error.
// Result codes: sqlite.org/rescode.html, read 2026-11-20.
func faultKind(path string, err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_FULL:
			return ErrDiskFull
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
			return ErrReadOnly
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return ErrCorrupt
		case sqlite3.SQLITE_BUSY:
			return ErrLocked
		case sqlite3.SQLITE_IOERR:
			// SQLite says "full" for a write only, and not when the shared-memory
			// file or a sync hits the end of the disk.
			switch {
			case diskFull(path):
				return ErrDiskFull
			case e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ, e.Code() == sqlite3.SQLITE_IOERR_CORRUPTFS:
				return ErrCorrupt
			case (e.Code() == sqlite3.SQLITE_IOERR_WRITE || e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE) && atSizeLimit(path):
				return ErrFileLimit
			}
			return ErrIO
		}
		return nil
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ErrDiskFull
	case errors.Is(err, syscall.EFBIG):
		return ErrFileLimit
	case errors.Is(err, syscall.EIO):
		return ErrIO
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return ErrReadOnly
	}
	return nil
}
