package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"pawl/run"
)

// File is the name of the database in its folder.
const File = "pawl.db"

// Options configure [Open].
type Options struct {
	// Version is that of this pawl. It is stored with every run it appends to, so that an
	// older pawl that cannot read the run can name the one that can.
	Version string
	// Key is a secret of this user's that is in no store. Only who has it can make logs that are continued; nil: whoever
	// can write the database.
	Key []byte
	// ReadOnly opens an existing database for reading, also on a read-only or full file
	// system: see [fileStore.openForReading]. Nothing is created, locked or migrated, and
	// methods that write return an error. Without a database the error is [ErrNoRuns].
	ReadOnly bool

	// Waiting, if set, is called when a write has waited for a second for another
	// process, with that process; once for each wait, from a goroutine of the store.
	Waiting func(*LockedError)

	// patience is after how long Waiting is called; for tests. 0: defaultPatience.
	patience time.Duration
	// fileSystem names the file system of a folder and says whether it is on the
	// network; for tests. Nil: the system is asked.
	fileSystem func(dir string) (name string, network bool, err error)
}

// A fileStore is the [Database] of one machine, in SQLite.
//
// Writers of all processes take turns by a file lock, because SQLite's own way of
// waiting sleeps: with 8 writers on one file the slowest of 100 appends took 34 to
// 54 ms (measured, November 2026). Inside this process concurrent writes are put
// into one transaction (see [fileStore.write]), so they share one sync of the disk.
//
// Nothing else in this process may open and close pawl.db while a store is open: the
// locks of SQLite are POSIX locks, and closing any descriptor of the file releases them.
// Copy the database with VACUUM INTO.
type fileStore struct {
	Tables
	dir  string
	path string // of the database file
	id   uint32 // of the database; see mark
	opt  Options

	writer    *writer     // nil if the store was opened for reading
	reader    *sql.DB     // connections for reading, opened when needed; see db
	frozen    fs.FileInfo // of the database, if it was opened as immutable
	replaced  []*sql.DB   // readers that were opened again since; see [fileStore.db]
	reopening sync.Mutex  // held while reader and frozen are replaced

	// turn is held while writer is used; Close keeps it.
	turn   chan struct{}
	closed chan struct{}
	close  func() error
	locked atomic.Pointer[LockedError] // set after Waiting was called, until the leader has the lock

	mu    sync.Mutex
	queue []*job // writes that are in no transaction yet
}

var _ Database = (*fileStore)(nil)

// Open opens the store in dir, the workspace's state folder. It creates the folder (0700)
// and the database (0600) if they do not exist, and migrates an older database; for one
// of a newer pawl the error is [ErrNewer].
func Open(dir string, opt Options) (Database, error) {
	s, err := openFile(dir, opt)
	if err != nil {
		return nil, err // not a nil *fileStore
	}
	return s, nil
}

// openFile is [Open] for this package.
func openFile(dir string, opt Options) (*fileStore, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if opt.patience == 0 {
		opt.patience = defaultPatience
	}
	s := &fileStore{
		dir: dir, path: filepath.Join(dir, File), opt: opt,
		turn: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	s.Tables = NewTables(Base{Name: s.path, DB: func() Querier { return s.db() }, Check: s.check, Fault: s.fault, Owner: s.Owner, Remove: s.Remove, key: opt.Key, head: s.head})
	s.close = sync.OnceValue(s.shut)
	open := s.open
	if opt.ReadOnly {
		open = func() error { return fileError(s.path, s.openForReading()) }
	}
	if err := open(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

func (s *fileStore) open() error {
	if err := makeDir(s.dir); err != nil {
		return fileError(s.dir, err)
	}
	if err := s.checkFileSystem(); err != nil {
		return err
	}
	if err := s.checkLost(); err != nil {
		return err
	}
	if err := createPrivate(s.path); err != nil {
		return fileError(s.path, err)
	}
	lock, err := openLock(filepath.Join(s.dir, "write.lock"))
	if err != nil {
		return fileError(filepath.Join(s.dir, "write.lock"), err)
	}
	s.writer, err = openWriter(s.path, lock)
	if err != nil {
		return errors.Join(fileError(s.path, err), lock.Close())
	}
	s.writer.key = s.opt.Key
	err = s.prepare()
	if err == nil {
		err = s.writer.conn.QueryRowContext(background, `PRAGMA application_id`).Scan(&s.writer.id)
		s.id = s.writer.id
	}
	if err == nil {
		err = makeDir(filepath.Join(s.dir, "locks"))
	}
	if err != nil {
		return errors.Join(fileError(s.path, err), s.writer.Close(s.opt.patience))
	}
	s.reader, err = openDB(s.path, url.Values{"_pragma": readerPragmas})
	if err != nil {
		return errors.Join(fileError(s.path, err), s.writer.Close(s.opt.patience))
	}
	s.reader.SetMaxOpenConns(maxReaders)
	s.reader.SetMaxIdleConns(maxReaders)
	return nil
}

// defaultPatience is how long another process may hold the lock before Waiting is called:
// far longer than a transaction takes.
const defaultPatience = time.Second

// openPatience is how many times Options.patience Open waits for another process that
// creates the database.
const openPatience = 10

// prepare initializes a new database. It takes the lock only for
// these, so that a stopped process that holds it does not block opening the store.
func (s *fileStore) prepare() error {
	if ready, err := s.writer.ready(); err != nil {
		return err
	} else if ready {
		return s.writer.remember()
	}
	unlock, err := s.writer.lock.AcquireWithin(openPatience * s.opt.patience)
	if err != nil {
		return err
	}
	return errors.Join(s.writer.useWAL(), s.writer.create(), s.writer.remember(), unlock())
}

// makeDir creates dir and its missing parents, and syncs the parent of each: an event is
// durable only if the path to it is.
func makeDir(dir string) error {
	switch info, err := os.Stat(dir); {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &os.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) { // another process may be faster
		return err
	}
	if f, err := os.Open(parent); err == nil {
		f.Sync() // some file systems cannot; SQLite does not insist either
		f.Close()
	}
	return nil
}

// createPrivate creates an empty database file that only this user can read; SQLite gives
// its -wal and -shm files the same mode. An existing file is not opened: see [fileStore].
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// maxReaders bounds the connections that read; each keeps up to 1 MB of pages.
const maxReaders = 4

// Pragmas of a connection: sqlite.org/pragma.html, read 2026-11-20. The busy
// time-out is for what the file lock does not cover: the sqlite3 command, and the
// recovery after a kill. No memory map: a failing disk would be a signal instead
// of an error.
var (
	writerPragmas = []string{
		"busy_timeout(10000)", "synchronous(FULL)", "cache_size(-2000)", "mmap_size(0)",
		"temp_store(MEMORY)",
		"fullfsync(1)", "checkpoint_fullfsync(1)", // macOS: fsync alone leaves the data in the drive's cache
	}
	readerPragmas = []string{"busy_timeout(10000)", "cache_size(-1000)", "mmap_size(0)", "temp_store(MEMORY)", "query_only(1)"}
)

func openDB(path string, params url.Values) (*sql.DB, error) {
	dsn := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: params.Encode()}
	return sql.Open("sqlite", dsn.String())
}

// Close waits for the current transaction and closes the database. Writes that wait for
// their turn return ErrClosed.
func (s *fileStore) Close() error { return s.close() }

func (s *fileStore) shut() error {
	close(s.closed)
	s.turn <- struct{}{}
	s.reopening.Lock()
	defer s.reopening.Unlock()
	err := s.reader.Close()
	for _, db := range s.replaced {
		err = errors.Join(err, db.Close())
	}
	if s.writer != nil {
		err = errors.Join(err, s.writer.Close(s.opt.patience))
	}
	return err
}

// check returns an error if a method must not run; every method begins with it.
func (s *fileStore) check(ctx context.Context, id run.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.closed:
		return ErrClosed
	default:
		return CheckID(id)
	}
}

// fault returns an error of the database as a [*FileError] or [*LockedError] if it is one.
func (s *fileStore) fault(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqlite3.SQLITE_BUSY && s.writer == nil {
		return s.lockedError()
	}
	return fileError(s.path, err)
}

func notFound(id run.ID) error { return fmt.Errorf("run %s: %w", id, ErrNotFound) }

// collect returns what scan makes of each row of a query; with an error what it made before.
func collect[T any](ctx context.Context, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, query string, args []any, scan func(row *sql.Rows, to *T) error) (all []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := scan(rows, &v); err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// scanValue scans a row with one column.
func scanValue[T any](row *sql.Rows, to *T) error { return row.Scan(to) }
