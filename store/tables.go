package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"pawl/run"
)

// Tables reads the tables of a store that is an SQL database, which have the same columns
// in each: [SQLite] has it, and package store/postgres. What is written is written by each
// in its own way, in the forms that a [Head], [EncodeEvents] and [AppendTask] make.
type Tables struct{ base Base }

// NewTables returns the tables of a store.
func NewTables(b Base) Tables { return Tables{b} }

// A Base is what [Tables] needs of the store whose tables it reads.
type Base struct {
	Name string // of the database, in errors
	// DB returns the database for reading; placeholders are as in SQLite: ?.
	DB func() Querier
	// Check returns an error if a method must not run: every method begins with it.
	Check func(ctx context.Context, id run.ID) error
	// Fault makes an error of the database one that a person can act on; nil stays nil.
	Fault  func(error) error
	Owner  func(ctx context.Context, id run.ID) (Owner, bool, error)
	Remove func(ctx context.Context, id run.ID) (removed []run.ID, err error)

	key []byte // as [Options].Key
	// head reads the head of a run; nil: its row says all there is to know.
	head func(id run.ID) (head, error)
}

// A Querier is a database for reading; [*sql.DB] is one.
type Querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(query string, args ...any) *sql.Row
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (s *Tables) db() Querier { return s.base.DB() }

func (s *Tables) check(ctx context.Context, id run.ID) error { return s.base.Check(ctx, id) }

func (s *Tables) fault(err error) error { return s.base.Fault(err) }

func (s *Tables) head(id run.ID) (head, error) {
	if s.base.head != nil {
		return s.base.head(id)
	}
	h, err := s.row(id)
	if err == sql.ErrNoRows {
		err = notFound(id)
	}
	return h, s.fault(err)
}

// row reads the row of a run; [sql.ErrNoRows] if there is none.
func (s *Tables) row(id run.ID) (head, error) {
	return scanHead(s.base.key, s.db().QueryRow(selectHead, string(id)).Scan)
}

const selectHead = `SELECT ` + headColumns + ` FROM runs WHERE id = ?`

// Recent returns the root runs, the one appended to last first, at most limit (0: all).
func (s *Tables) Recent(ctx context.Context, limit int) ([]Summary, error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	clauses := `WHERE parent = '' ORDER BY used DESC`
	var args []any
	if limit > 0 {
		clauses, args = clauses+` LIMIT ?`, []any{limit}
	}
	heads, err := s.heads(ctx, clauses, args...)
	return summaries(heads), err
}

// CheckRemoval returns an error if runs that are removed together, id and those below it, are
// needed: a [*NeededError]; or not there, unless it is known that the row of id is lost.
func CheckRemoval(tx Tx, id run.ID, all []run.ID, lost bool) error {
	now, err := ids(tx, belowQuery, id)
	if err != nil {
		return err
	}
	if len(now) == 0 && !lost {
		return rejection{ErrNotFound} // another process has removed it since
	}
	for _, child := range now {
		if !slices.Contains(all, child) {
			return rejection{fmt.Errorf("%w: it has started run %s", ErrConflict, child)}
		}
	}
	needed := &NeededError{Run: id}
	for _, id := range all {
		forks, err := ids(tx, forksQuery, id)
		if err != nil {
			return err
		}
		needed.addForks(forks, all)
		if found, err := tx.Find(neededByQuery, []any{string(id)}, &needed.Task); err != nil {
			return err
		} else if found {
			needed.Run = id
			return rejection{needed}
		}
	}
	if len(needed.Forks) > 0 {
		return rejection{needed}
	}
	return nil
}

// RemoveRun deletes all rows of a run.
func RemoveRun(tx Tx, id run.ID) error {
	for _, query := range []string{`DELETE FROM events WHERE run = ?`, `DELETE FROM inbox WHERE run = ?`, `DELETE FROM runs WHERE id = ?`,
		`DELETE FROM task_runs WHERE run = ?`, `DELETE FROM submissions WHERE run = ?`, `DELETE FROM served WHERE run = ?`} {
		if err := tx.Exec(query, string(id)); err != nil {
			return err
		}
	}
	return nil
}

func ids(tx Tx, query string, id run.ID) (all []run.ID, err error) {
	found, err := tx.Strings(query, string(id))
	for _, id := range found {
		all = append(all, run.ID(id))
	}
	return all, err
}

// A Tx is a transaction that writes.
type Tx interface {
	// Exec changes something. What is wrong with it may be the error of a later call, or of
	// the commit.
	Exec(query string, args ...any) error
	// Find reads one row into dest, and reports whether there is one.
	Find(query string, args []any, dest ...any) (bool, error)
	// Strings reads rows of one text.
	Strings(query string, args ...any) ([]string, error)
}

// AppendTask appends to the log of a task. No other transaction may append to any task
// meanwhile. After an error the transaction must be rolled back.
func AppendTask(tx Tx, t TaskAppend) error {
	w := taskWriter{tx, nil}
	h, err := w.taskHead(t)
	if err != nil {
		return err
	}
	return w.appendTask(t, h)
}

// RemoveTask removes a task; see [Tasks].
func RemoveTask(tx Tx, id string) error { return taskWriter{tx, nil}.removeTask(id) }

// CheckTaskID returns ErrNoTask unless id may name a task.
func CheckTaskID(id string) error { return checkTaskID(id) }

// An EventRow is an event as it is written.
type EventRow struct{ eventRow }

// EncodeEvents numbers the events from after+1 and encodes them.
func EncodeEvents(id run.ID, after int64, events []run.Event) ([]EventRow, error) {
	rows, err := encodeRows(id, after, events)
	out := make([]EventRow, len(rows))
	for i, r := range rows {
		out[i] = EventRow{r}
	}
	return out, err
}

// A Head is the row of a run, in the database of a server: its summary and the end of its chain.
type Head struct{ head }

// HeadColumns are the columns of a [Head].
const HeadColumns = headColumns

// NewHead returns the head of a run that does not exist yet.
func NewHead(id run.ID) *Head { return &Head{head{Summary: Summary{ID: id}, hash: noHash}} }

// Fields returns where to scan [HeadColumns] to.
func (h *Head) Fields() []any { return h.fields() }

// Check returns a [*ChainError] if the row was changed after it was written.
func (h *Head) Check() error {
	if h.checkSeal(nil); h.Damage != "" {
		return h.damage(true)
	}
	return nil
}

// Append takes the next event into account, and returns the columns run, seq, at, type,
// version, data and hash of its row.
func (h *Head) Append(r EventRow) []any {
	e := r.event
	h.hash = chainHash(h.hash, h.ID, e.Seq, toNano(e.At), r.typ, r.version, r.data)
	h.Add(e)
	return []any{string(h.ID), e.Seq, toNano(e.At), r.typ, r.version, r.data, h.hash}
}

// Hash returns the hash of the last event.
func (h *Head) Hash() []byte { return h.hash }

// Seal returns what [HeadColumns] are set to after an append: writer is the version of pawl that
// appends, and used rises with every append.
func (h *Head) Seal(writer string, used int64) []any {
	h.writer, h.used = writer, used
	return h.values(nil)
}
