package store

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"pawl/run"
)

// A job is one caller's part of a transaction.
type job struct {
	ctx context.Context
	do  func(*writer) error
	// done is closed when the job's outcome is in err: durable, or not written.
	done chan struct{}
	err  error
}

// A rejection is an error of one job, found before it wrote anything. The transaction
// continues without the job; any other error rolls it back.
type rejection struct{ error }

func (r rejection) Unwrap() error { return r.error }

// write runs do inside a transaction and returns when it is durable. Jobs that
// arrive while another transaction is being synced wait in the queue, and the next
// leader puts all of them into one transaction.
//
// When ctx is done, the job is removed from the queue unless a transaction has it. If
// Options.Waiting was called because another process holds the lock, the error is a
// [*LockedError] that wraps the context's.
func (s *fileStore) write(ctx context.Context, do func(*writer) error) error {
	if s.writer == nil {
		return ErrForReading
	}
	j := &job{ctx: ctx, do: do, done: make(chan struct{})}
	s.mu.Lock()
	s.queue = append(s.queue, j)
	s.mu.Unlock()

	select {
	case <-j.done:
		return j.err
	case s.turn <- struct{}{}:
		if isDone(j) {
			<-s.turn
			return j.err
		}
		// The leader works for all jobs of the queue. It is a goroutine of its own if this
		// caller's context may end while it waits for the file lock.
		// Close waits for the turn, hence for the leader.
		if ctx.Done() == nil {
			s.writeQueue()
			return j.err
		}
		go s.writeQueue()
		select {
		case <-j.done:
			return j.err
		case <-ctx.Done():
		}
	case <-ctx.Done():
	case <-s.closed:
	}
	if s.takeBack(j) {
		switch err, locked := ctx.Err(), s.locked.Load(); {
		case err == nil:
			return ErrClosed
		case locked != nil:
			return &LockedError{locked.Path, locked.PID, locked.State, err}
		default:
			return err
		}
	}
	<-j.done // a leader has it
	return j.err
}

// whileLocked runs do while no process writes, outside of a transaction.
func (s *fileStore) whileLocked(ctx context.Context, do func(*writer) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return ErrClosed
	}
	defer func() { <-s.turn }()
	unlock, err := s.writer.lock.AcquireWithin(s.opt.patience)
	if err != nil {
		return fileError(s.dir, err)
	}
	return errors.Join(s.fault(do(s.writer)), unlock())
}

func isDone(j *job) bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// takeBack takes j out of the queue; false if a leader has it.
func (s *fileStore) takeBack(j *job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, q := range s.queue {
		if q == j {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
			return true
		}
	}
	return false
}

// writeQueue is the leader: it takes the file lock, writes the jobs in the queue at that
// time, and releases the turn. When the store is closed it stops waiting for the lock.
func (s *fileStore) writeQueue() {
	defer func() { <-s.turn }()
	unlock, err := s.writer.lock.Acquire(s.closed, s.opt.patience, func(locked *LockedError) {
		s.locked.Store(locked)
		if s.opt.Waiting != nil {
			s.opt.Waiting(locked)
		}
	})
	s.locked.Store(nil)
	s.mu.Lock()
	jobs := s.queue
	s.queue = nil
	s.mu.Unlock()
	if err == nil {
		s.commit(jobs)
		err = unlock()
	} else if errors.As(err, new(*LockedError)) {
		err = ErrClosed
	}
	for _, j := range jobs {
		if err != nil && j.err == nil {
			j.err = fileError(s.dir, err)
		}
		close(j.done)
	}
}

// commit runs the jobs in one transaction and sets their errors. If that fails
// for a reason that may be one job's alone (a value too big for a row), each
// gets a transaction of its own.
func (s *fileStore) commit(jobs []*job) {
	var live []*job
	for _, j := range jobs {
		if j.err = j.ctx.Err(); j.err == nil {
			live = append(live, j)
		}
	}
	if len(live) == 0 {
		return
	}
	err := s.writer.transact(live)
	if err == nil {
		return
	}
	if len(live) == 1 {
		live[0].err = s.fault(err)
		return
	}
	for _, j := range live {
		if err := s.writer.transact([]*job{j}); err != nil {
			j.err = s.fault(err)
		}
	}
}

// A writer is the only connection that writes, with its statements. It may be used only
// while holding the store's turn.
type writer struct {
	dir  string
	path string
	id   uint32    // of the database
	key  []byte    // as [Options].Key
	lock *fileLock // held around every transaction
	db   *sql.DB
	conn *sql.Conn
	stmt map[string]*sql.Stmt
	// files are the files at path with each of sideFiles when they were opened: every
	// commit checks that they are still there.
	files []os.FileInfo
	marks []mark // to be written after the commit
}

// sideFiles are SQLite's, beside the database. Both exist for as long as it is open.
var sideFiles = []string{"", "-wal", "-shm"}

// remember records the files at the paths.
func (w *writer) remember() error {
	for _, suffix := range sideFiles[len(w.files):] {
		info, err := os.Stat(w.path + suffix)
		if err != nil {
			return err
		}
		w.files = append(w.files, info)
	}
	return nil
}

// inPlace returns ErrReplaced unless the files are still at their paths. A commit to a
// deleted file is lost with the process.
func (w *writer) inPlace() error {
	for i, was := range w.files {
		path := w.path + sideFiles[i]
		if info, err := os.Stat(path); err != nil || !os.SameFile(was, info) {
			return &FileError{Kind: ErrReplaced, Path: path, Err: err}
		}
	}
	return nil
}

// background is used for all SQL: a context that can be cancelled costs a goroutine per
// statement, and a transaction that has begun is always finished.
var background = context.Background()

func openWriter(path string, lock *fileLock) (*writer, error) {
	// Before it is opened: if it is replaced in between, no commit succeeds.
	file, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	db, err := openDB(path, url.Values{"_pragma": writerPragmas})
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(background)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &writer{dir: filepath.Dir(path), path: path, lock: lock, db: db, conn: conn, stmt: map[string]*sql.Stmt{}, files: []os.FileInfo{file}}, nil
}

// useWAL makes a new database a WAL database, whose pages Compact can give back.
func (w *writer) useWAL() error {
	_, err := w.conn.ExecContext(background, `PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL`)
	return err
}

// Close also moves the -wal file into the database if no other process has it open. It
// holds the lock meanwhile; if it does not get the lock within patience, another process
// has the database open and nothing is moved.
func (w *writer) Close(patience time.Duration) error {
	unlock, err := w.lock.AcquireWithin(patience)
	if errors.As(err, new(*LockedError)) {
		err = nil
	}
	for _, stmt := range w.stmt {
		err = errors.Join(err, stmt.Close())
	}
	err = errors.Join(err, w.conn.Close(), w.db.Close())
	if unlock != nil {
		err = errors.Join(err, unlock())
	}
	return errors.Join(err, w.lock.Close())
}

// transact runs the jobs in one transaction. Rejections are the jobs' own; on an
// error nothing was written.
func (w *writer) transact(jobs []*job) (err error) {
	if _, err := w.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			// SQLite may have rolled back already, as for a full disk; then this
			// says so, and there is nothing to do about it.
			w.exec(`ROLLBACK`)
		}
	}()
	w.marks = w.marks[:0]
	for _, j := range jobs {
		j.err = nil
		if err := j.do(w); err != nil {
			if r, ok := errors.AsType[rejection](err); ok {
				j.err = r.error
				continue
			}
			return err
		}
	}
	if err := w.inPlace(); err != nil {
		return err
	}
	if _, err = w.exec(`COMMIT`); err == nil {
		w.setMarks()
	}
	return err
}

// prepared returns the statement for query, which is prepared once.
func (w *writer) prepared(query string) (*sql.Stmt, error) {
	if stmt := w.stmt[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := w.conn.PrepareContext(background, query)
	if err != nil {
		return nil, err
	}
	w.stmt[query] = stmt
	return stmt, nil
}

func (w *writer) exec(query string, args ...any) (sql.Result, error) {
	stmt, err := w.prepared(query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(background, args...)
}

// row reads one row into dest; sql.ErrNoRows if there is none.
func (w *writer) row(query string, args []any, dest ...any) error {
	stmt, err := w.prepared(query)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(background, args...).Scan(dest...)
}

// Exec implements [Tx].
func (w *writer) Exec(query string, args ...any) error {
	_, err := w.exec(query, args...)
	return err
}

// Strings implements [Tx].
func (w *writer) Strings(query string, args ...any) ([]string, error) {
	return collect(background, w.conn, query, args, scanValue[string])
}

// Find implements [Tx].
func (w *writer) Find(query string, args []any, dest ...any) (found bool, err error) {
	err = w.row(query, args, dest...)
	if err == sql.ErrNoRows {
		return false, nil
	}
	return err == nil, err
}

// exists reports whether the run exists.
func (w *writer) exists(id run.ID) (bool, error) {
	return w.Find(`SELECT 1 FROM runs WHERE id = ?`, []any{string(id)}, new(int))
}
