package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pawl/run"
	"pawl/store"
)

// Append implements [store.Store].
//
// A process that has lost the run's lease, or whose lease has ended, gets ErrConflict.
func (s *Store) Append(ctx context.Context, id run.ID, after int64, events []run.Event, taken ...store.Taken) error {
	return s.append(ctx, id, after, events, nil, taken)
}

// AppendWithTask implements [store.Tasks].
func (s *Store) AppendWithTask(ctx context.Context, id run.ID, after int64, events []run.Event, t store.TaskAppend, taken ...store.Taken) error {
	if err := store.CheckTaskID(t.Task); err != nil {
		return err
	}
	return s.append(ctx, id, after, events, &t, taken)
}

// append is Append, with t in the same transaction unless it is nil.
func (s *Store) append(ctx context.Context, id run.ID, after int64, events []run.Event, t *store.TaskAppend, taken []store.Taken) error {
	if err := s.checkWrite(ctx, id); err != nil {
		return err
	}
	rows, err := store.EncodeEvents(id, after, events)
	if err != nil {
		return err
	}
	var hash []byte // of the last event
	err = s.transact(ctx, func(tx *tx) (err error) {
		hash, err = s.appendIn(tx, id, after, rows, t, taken)
		return err
	})
	if errors.Is(err, store.ErrAway) && len(rows) > 0 && hash != nil && s.isWritten(ctx, id, after+int64(len(rows)), hash) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("append %s #%d: %w", id, after+1, conflict(err))
	}
	return nil
}

// isWritten reports whether an event is in the log, which its hash identifies, as soon as the server
// answers again. If it does not in time, or there is no such event, nothing is known.
func (s *Store) isWritten(ctx context.Context, id run.ID, seq int64, hash []byte) bool {
	var have []byte
	err := s.transact(ctx, func(tx *tx) error {
		_, err := tx.Find(`SELECT hash FROM events WHERE run = ? AND seq = ?`, []any{string(id), seq}, &have)
		return err
	})
	return err == nil && bytes.Equal(have, hash)
}

func (s *Store) appendIn(tx *tx, id run.ID, after int64, rows []store.EventRow, t *store.TaskAppend, taken []store.Taken) (hash []byte, err error) {
	head, owner := store.NewHead(id), ""
	var used int64
	waiting := map[int64]bool{}
	tx.ask(selectHead+` FOR UPDATE`, []any{string(id)}, func(row pgx.Row) error { return scanHead(row, head) })
	// The row is locked: who takes over an ended lease waits for this transaction.
	tx.ask(`SELECT token FROM leases WHERE run = ? AND until > clock_timestamp() FOR SHARE`, []any{string(id)}, func(row pgx.Row) error { return row.Scan(&owner) })
	tx.ask(`SELECT nextval('appends')`, nil, func(row pgx.Row) error { return row.Scan(&used) })
	for _, k := range taken {
		tx.ask(`SELECT id FROM inbox WHERE id = ? AND run = ? AND taken IS NULL`, []any{k.ID, string(id)}, func(row pgx.Row) error {
			var found int64
			err := row.Scan(&found)
			waiting[found] = err == nil
			return err
		})
	}
	if err := tx.flush(); err != nil {
		return nil, err
	}
	if head.Seq > 0 {
		if err := head.Check(); err != nil {
			return nil, err
		}
	}
	if mine := s.token(id); owner != mine {
		return nil, lost(mine != "")
	}
	if head.Seq != after {
		return nil, fmt.Errorf("%w: it has %d events", store.ErrConflict, head.Seq)
	}
	for _, k := range taken {
		if !waiting[k.ID] {
			return nil, fmt.Errorf("%w: %d", store.ErrTaken, k.ID)
		}
	}
	if t != nil {
		if err := appendTask(tx, *t); err != nil {
			return nil, err
		}
	}
	for _, r := range rows {
		tx.Exec(`INSERT INTO events (run, seq, at, type, version, data, hash) VALUES (?, ?, ?, ?, ?, ?, ?)`, head.Append(r)...)
	}
	for _, k := range taken {
		tx.Exec(`UPDATE inbox SET taken = ?, payload = '', answer = ? WHERE id = ?`, head.Seq, k.Answer, k.ID)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	if head.Root == "" {
		if err := rootOf(tx, head); err != nil {
			return nil, err
		}
	}
	return head.Hash(), tx.Exec(setHead, head.Seal(s.opt.Version, used)...)
}

var (
	selectHead = `SELECT ` + store.HeadColumns + ` FROM runs WHERE id = ?`
	setHead    = func() string {
		names := strings.Split(store.HeadColumns, ", ")
		var set []string
		for _, name := range names {
			set = append(set, name+` = excluded.`+name)
		}
		return `INSERT INTO runs (` + store.HeadColumns + `) VALUES (?` + strings.Repeat(`, ?`, len(names)-1) + `) ON CONFLICT (id) DO UPDATE SET ` + strings.Join(set, `, `)
	}()
)

func scanHead(row pgx.Row, h *store.Head) error {
	fields := h.Fields()
	for i, f := range fields {
		if to, ok := f.(*string); ok {
			fields[i] = text{to}
		}
	}
	return row.Scan(fields...)
}

// rootOf sets the root of a new run: that of its parent, or the run itself. The runs that it
// comes from are not removed meanwhile.
func rootOf(tx *tx, h *store.Head) error {
	h.Root = h.ID
	if h.Forked != "" {
		tx.Exec(`SELECT 1 FROM runs WHERE id = ? FOR KEY SHARE`, string(h.Forked))
	}
	if h.Parent == "" {
		return nil
	}
	found, err := tx.Find(`SELECT root FROM runs WHERE id = ? FOR KEY SHARE`, []any{string(h.Parent)}, &h.Root)
	if !found {
		h.Root = h.Parent // it is not in this store
	}
	return err
}

// conflict makes an error of a unique key what it means: another transaction was first.
func conflict(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || e.Code != "23505" {
		return err
	}
	switch e.TableName {
	case "events", "runs":
		return fmt.Errorf("%w (%s)", store.ErrConflict, e.Message)
	case "submissions":
		return fmt.Errorf("%w (%s)", store.ErrSubmitted, e.Message)
	}
	return err
}

// AppendTask implements [store.Tasks].
func (s *Store) AppendTask(ctx context.Context, t store.TaskAppend) error {
	if err := s.checkWrite(ctx, anyRun); err != nil {
		return err
	}
	if err := store.CheckTaskID(t.Task); err != nil {
		return err
	}
	if err := s.transact(ctx, func(tx *tx) error { return appendTask(tx, t) }); err != nil {
		return fmt.Errorf("append task %s #%d: %w", t.Task, t.After+1, conflict(err))
	}
	return nil
}

func appendTask(tx *tx, t store.TaskAppend) error {
	lockTasks(tx)
	if err := store.AppendTask(tx, t); err != nil {
		return err
	}
	return notify(tx, store.TaskLease(t.Task))
}

// lockTasks keeps other transactions from writing to the tables of tasks; they can be read.
func lockTasks(tx *tx) { tx.Exec(`LOCK TABLE task_feed IN EXCLUSIVE MODE`) }

// RemoveTask implements [store.Tasks].
func (s *Store) RemoveTask(ctx context.Context, id string) error {
	if err := s.checkWrite(ctx, anyRun); err != nil {
		return err
	}
	err := s.transact(ctx, func(tx *tx) error {
		lockTasks(tx)
		tx.Exec(`DELETE FROM task_files WHERE task = ?`, id)
		return store.RemoveTask(tx, id)
	})
	if err != nil {
		return fmt.Errorf("remove task %s: %w", id, err)
	}
	return nil
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, id run.ID, row store.Row) error {
	if err := s.checkWrite(ctx, id); err != nil {
		return err
	}
	if row.Key == "" {
		return fmt.Errorf("put to %s: %w", id, store.ErrNoKey)
	}
	if row.At.IsZero() {
		row.At = time.Now()
	}
	err := s.transact(ctx, func(tx *tx) error {
		found, err := tx.Find(`SELECT 1 FROM runs WHERE id = ? FOR KEY SHARE`, []any{string(id)}, new(int))
		if err == nil && !found {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		tx.Exec(`INSERT INTO inbox (run, key, kind, payload, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			string(id), row.Key, row.Kind, row.Payload, row.At.UnixNano())
		return notify(tx, id)
	})
	if err != nil {
		return fmt.Errorf("put to %s: %w", id, err)
	}
	return nil
}

// Remove implements [store.Database].
func (s *Store) Remove(ctx context.Context, id run.ID) (removed []run.ID, err error) {
	if removed, err = s.remove(ctx, id); err != nil {
		return nil, fmt.Errorf("remove run %s: %w", id, err)
	}
	return removed, nil
}

func (s *Store) remove(ctx context.Context, id run.ID) (removed []run.ID, err error) {
	if err := s.checkWrite(ctx, id); err != nil {
		return nil, err
	}
	all, err := s.Removable(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		lease, err := s.Own(ctx, one, "")
		if err != nil {
			return nil, err
		}
		defer lease.Release()
	}
	locked := slices.Sorted(slices.Values(all)) // in one order, so that no two wait for each other
	return all, s.transact(ctx, func(tx *tx) error {
		for _, one := range locked {
			tx.Exec(`SELECT 1 FROM runs WHERE id = ? FOR UPDATE`, string(one))
			tx.Exec(`DELETE FROM run_rules WHERE run = ?`, string(one))
		}
		lockTasks(tx)
		if err := store.CheckRemoval(tx, id, all, false); err != nil {
			return err
		}
		for _, one := range all {
			if err := store.RemoveRun(tx, one); err != nil {
				return err
			}
			removeOutputs(tx, `run = ?`, string(one))
		}
		return nil
	})
}

// Usage returns what the tables occupy, with their indexes.
func (s *Store) Usage(ctx context.Context) (u store.Usage, err error) {
	if err := s.check(ctx, anyRun); err != nil {
		return u, err
	}
	err = s.db.QueryRowContext(ctx, `SELECT sum(pg_total_relation_size(c)) FROM unnest(ARRAY['runs', 'events', 'inbox', 'leases', 'task_events', 'tasks', `+
		`'task_labels', 'task_runs', 'submissions', 'task_feed']::regclass[]) AS t(c)`).Scan(&u.Log)
	return u, s.fault(err)
}

// Compact does nothing: the server gives room back by itself, to be used for other rows.
func (s *Store) Compact(ctx context.Context) error { return s.checkWrite(ctx, anyRun) }

// Tidy removes leases that have ended longer than age before now, and the files of tasks that a killed import has left. It frees
// no bytes that could be counted.
func (s *Store) Tidy(ctx context.Context, age time.Duration, _ time.Time) (freed int64, err error) {
	if err := s.checkWrite(ctx, anyRun); err != nil {
		return 0, err
	}
	return 0, s.transact(ctx, func(tx *tx) error {
		// A task that is imported has its files, and a lease, before it is in the log.
		tx.Exec(`DELETE FROM task_files f WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = f.task) AND NOT EXISTS (SELECT 1 FROM leases WHERE run = 'task-' || f.task)`)
		return tx.Exec(`DELETE FROM leases WHERE until < clock_timestamp() - ?::bigint * interval '1 microsecond'`, age.Microseconds())
	})
}
