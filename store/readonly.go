package store

import (
	"cmp"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// ErrNoRuns is returned by Open with ReadOnly if there is no database.
var ErrNoRuns = errors.New("there are no runs in this folder yet")

// ErrForReading is the error of a method that writes, of a store that was opened with ReadOnly.
var ErrForReading = errors.New("the store was opened for reading only")

// openForReading opens a database that exists. It creates and locks nothing, and
// works on a read-only and on a full file system.
//
// There are three ways. While a process has the database open to write, there are a -wal
// file and, in the -shm file, its index: SQLite shares both. Without the -shm file, or if
// it cannot be used, no process of this machine has the database open: the index is made
// in memory, for which SQLite must be in exclusive mode and takes no locks. Without a
// -wal file there is no index, and the database is opened as immutable; [fileStore.db] opens
// it again when that is over.
func (s *fileStore) openForReading() error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return cmp.Or(s.checkLost(), ErrNoRuns)
	} else if err != nil {
		return err
	}
	if err := s.checkFileSystem(); err != nil {
		return err
	}
	r, err := s.tryReading()
	if err != nil {
		return err
	}
	s.reader, s.id, s.frozen = r.db, r.id, r.frozen
	return nil
}

// A readDB is a database that was opened for reading.
type readDB struct {
	db      *sql.DB
	version int
	id      uint32
	frozen  fs.FileInfo // of the database, if it was opened as immutable
}

func (s *fileStore) tryReading() (r readDB, err error) {
	frozen, err := os.Stat(s.path)
	if err != nil {
		return r, err
	}
	alone := url.Values{"mode": {"ro"}, "vfs": {"unix-none"}, "_pragma": {"locking_mode(EXCLUSIVE)"}}
	switch {
	case !hasContent(s.path + "-wal"):
		r, err = s.read(url.Values{"immutable": {"1"}})
		r.frozen = frozen
	case !hasContent(s.path + "-shm"):
		r, err = s.read(alone)
	default:
		r, err = s.read(url.Values{"mode": {"ro"}})
		if kind := faultKind(s.path, err); kind == ErrReadOnly || kind == ErrDiskFull {
			r, err = s.read(alone)
		}
	}
	switch {
	case err != nil:
		return r, s.fault(err)
	case r.version == 0:
		err = ErrNoRuns // it is being created
	default:
		err = checkVersion(s.path, r.version)
	}
	if err != nil {
		err = errors.Join(err, r.db.Close())
	}
	return r, err
}

func hasContent(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// read opens the database with the parameters and reads its version and id.
func (s *fileStore) read(params url.Values) (r readDB, err error) {
	// Not cache_size, which reads the database before locking_mode is set. A process that is
	// stopped while it has the database for itself, as for a moment in Close, is not
	// waited for any longer.
	timeout := "busy_timeout(" + strconv.FormatInt(max(1, s.opt.patience.Milliseconds()), 10) + ")"
	params["_pragma"] = append(params["_pragma"], timeout, "mmap_size(0)", "temp_store(MEMORY)")
	if r.db, err = openDB(s.path, params); err != nil {
		return r, err
	}
	err = r.db.QueryRow(`SELECT user_version, application_id FROM pragma_user_version, pragma_application_id`).Scan(&r.version, &r.id)
	if err != nil {
		err = errors.Join(err, r.db.Close())
	}
	return r, err
}

// checkLost returns an error if there is no database, or an empty one, where runs have been:
// their events were there, and a new database would hide that they are gone.
func (s *fileStore) checkLost() error {
	if hasContent(s.path) {
		return nil
	}
	link, err := os.Lstat(s.path)
	dangling := err == nil && link.Mode()&fs.ModeSymlink != 0
	locks, _ := os.ReadDir(filepath.Join(s.dir, "locks"))
	marked := slices.ContainsFunc(locks, func(e fs.DirEntry) bool {
		info, err := e.Info()
		return err == nil && info.Size() >= markSize
	})
	if marked || dangling || hasContent(s.path+"-wal") && err != nil {
		return &FileError{Kind: ErrLost, Path: s.path}
	}
	return nil
}

// db returns the database for reading. One that was opened as immutable is opened again
// when it has changed, or a process has begun to write to it: as immutable, SQLite would
// not see what is written, and what is being moved into the database could look damaged.
func (s *fileStore) db() *sql.DB {
	s.reopening.Lock()
	defer s.reopening.Unlock()
	if s.frozen == nil {
		return s.reader
	}
	now, err := os.Stat(s.path)
	if err == nil && os.SameFile(now, s.frozen) && now.Size() == s.frozen.Size() && now.ModTime().Equal(s.frozen.ModTime()) && !hasContent(s.path+"-wal") {
		return s.reader
	}
	r, err := s.tryReading()
	if err != nil {
		return s.reader // what is wrong is the error of the query
	}
	if r.id != s.id {
		r.db.Close() // it was replaced: this store ends as it began
		return s.reader
	}
	// A query of another goroutine may still use the one before: it is closed with the store.
	s.replaced = append(s.replaced, s.reader)
	s.reader.SetMaxIdleConns(0) // until then it holds no connection
	s.reader, s.frozen = r.db, r.frozen
	return s.reader
}

// lockedError returns who has the database for itself, as far as it is known.
func (s *fileStore) lockedError() error {
	locked := &LockedError{Path: s.path}
	f, err := openLockFile(filepath.Join(s.dir, "write.lock"), os.O_RDONLY)
	if err != nil {
		return locked
	}
	defer f.Close() // it was only read
	lock := &fileLock{f}
	if held, err := lock.Held(); err == nil && held {
		holder := lock.holder()
		locked.PID, locked.State = holder.PID, holder.State
	}
	return locked
}
