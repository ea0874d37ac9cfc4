package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"

	"pawl/run"
)

// A Unit is what moves together from one store to another: whole conversations, and the task that they belong to.
type Unit struct {
	Task string // empty: none
	Runs []Moved
	// TaskEvents are those of the task.
	TaskEvents iter.Seq2[TaskEvent, error]
}

// Moved is what is stored of a run, but for its row, which follows from the events.
type Moved struct {
	Run  run.ID `json:"id"`
	Root run.ID `json:"root"`
	Seq  int64  `json:"events"`
	Hash []byte `json:"hash"` // of the last event
	// Events may be ranged over more than once.
	Events      iter.Seq2[Record, error] `json:"-"`
	Inbox       []MovedRow               `json:"-"`
	Submissions []Submission             `json:"-"`
}

// A Record is an event in the form that its hash was made of.
type Record struct {
	Seq     int64  `json:"seq"`
	At      int64  `json:"at"` // nanoseconds since 1970
	Type    string `json:"type"`
	Version int    `json:"version"`
	Data    string `json:"data"` // JSON, byte for byte
	Hash    []byte `json:"hash"`
}

// Event returns the event of a record that comes after another one in the log of a run; prev is the hash of that, nil for the
// first. The error says what is wrong with it.
func (r Record) Event(id run.ID, prev []byte) (run.Event, error) {
	if prev == nil {
		prev = noHash
	}
	if !bytes.Equal(r.Hash, chainHash(prev, id, r.Seq, r.At, r.Type, r.Version, []byte(r.Data))) {
		return run.Event{}, &ChainError{Run: id, Seq: r.Seq, What: changedEvent}
	}
	e, err := Decode(r.Seq, fromNano(r.At), r.Type, r.Version, []byte(r.Data))
	if u, ok := errors.AsType[*UnreadableError](err); ok {
		u.Run = id
	}
	return e, err
}

// A MovedRow is a row of an inbox. One that was taken is moved too: a request that is repeated has no effect and gets the
// same answer.
type MovedRow struct {
	Key     string `json:"key"`
	Kind    string `json:"kind"`
	Payload string `json:"payload,omitempty"`
	At      int64  `json:"at"` // nanoseconds since 1970
	Taken   *int64 `json:"taken,omitempty"`
	Answer  string `json:"answer,omitempty"`
}

// TaskHash returns the hash of an event of a task, after the one whose hash is prev, nil for the first, in a store
// without a key: histories in two stores are the same if their hashes are.
func TaskHash(prev []byte, id string, e TaskEvent) []byte {
	if prev == nil {
		prev = noHash
	}
	return taskHash(prev, id, e)
}

// End returns the number and the hash of the last event of a run; ErrNotFound if there is no such run.
func (s *Tables) End(ctx context.Context, id run.ID) (seq int64, hash []byte, err error) {
	h, err := s.lookup(ctx, id)
	if err == nil && h.Damage != "" {
		err = h.damage(ofServer(s.base.Name))
	}
	return h.Seq, h.hash, err
}

// TaskRuns returns the runs of a task.
func (s *Tables) TaskRuns(ctx context.Context, id string) ([]run.ID, error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	return s.ids(ctx, `SELECT task_runs.run FROM task_runs JOIN runs ON runs.id = task_runs.run WHERE task = ? ORDER BY created, run`, id)
}

// Unit returns conversations with their task as they are at one moment: what is appended later is not in it.
func (s *Tables) Unit(ctx context.Context, task string, roots ...run.ID) (u Unit, err error) {
	const attempts = 20 // of a run at work, which appends some times in a second
	last, err := s.unit(ctx, task, roots)
	for range attempts {
		if err != nil {
			return last.Unit, err
		}
		before := last
		last, err = s.unit(ctx, task, roots)
		same := func(a, b Moved) bool { return a.Run == b.Run && bytes.Equal(a.Hash, b.Hash) }
		if err == nil && before.taskSeq == last.taskSeq && slices.EqualFunc(before.Runs, last.Runs, same) {
			return last.Unit, nil
		}
	}
	return last.Unit, fmt.Errorf("%w again and again while it was read: %s %s", ErrConflict, task, joinIDs(roots))
}

type unitAt struct {
	Unit
	taskSeq int64
}

func (s *Tables) unit(ctx context.Context, task string, roots []run.ID) (u unitAt, err error) {
	if u.Task = task; task != "" {
		row, err := s.Task(ctx, task)
		if err != nil {
			return u, err
		}
		u.taskSeq = row.Seq
		u.TaskEvents = func(yield func(TaskEvent, error) bool) {
			for e, err := range s.TaskEvents(ctx, task, 0) {
				if err == nil && e.Seq > row.Seq || !yield(e, err) {
					return
				}
			}
		}
	}
	for _, root := range roots {
		runs, err := s.Conversation(ctx, root)
		if err == nil && (len(runs) == 0 || runs[0].ID != root) {
			err = notFound(root)
		}
		for _, sum := range runs {
			var m Moved
			if err == nil {
				m, err = s.moved(ctx, sum.ID)
			}
			u.Runs = append(u.Runs, m)
		}
		if err != nil {
			return u, err
		}
	}
	return u, nil
}

func (s *Tables) moved(ctx context.Context, id run.ID) (m Moved, err error) {
	h, err := s.lookup(ctx, id)
	if err != nil {
		return m, err
	}
	if h.Damage != "" {
		return m, h.damage(ofServer(s.base.Name))
	}
	m = Moved{Run: id, Root: h.Root, Seq: h.Seq, Hash: h.hash, Events: s.records(ctx, h)}
	if m.Inbox, err = collect(ctx, s.db(), `SELECT key, kind, payload, at, taken, answer FROM inbox WHERE run = ? ORDER BY id`, []any{string(id)},
		func(row *sql.Rows, to *MovedRow) error {
			return row.Scan(&to.Key, &to.Kind, &to.Payload, &to.At, &to.Taken, &to.Answer)
		}); err != nil {
		return m, s.fault(err)
	}
	m.Submissions, err = collect(ctx, s.db(), selectSubmissions+`WHERE run = ? ORDER BY tool, assignment`, []any{string(id)},
		func(row *sql.Rows, to *Submission) error { return row.Scan(to.fields()...) })
	return m, s.fault(err)
}

// records yields the events of a run up to the last that its head knows. It does not check them: who imports them does.
func (s *Tables) records(ctx context.Context, h head) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		const page = 100
		for seq := int64(0); seq < h.Seq; {
			found, err := collect(ctx, s.db(), `SELECT seq, at, type, version, data, hash FROM events WHERE run = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
				[]any{string(h.ID), seq, h.Seq, page}, func(row *sql.Rows, to *Record) error {
					return row.Scan(&to.Seq, &to.At, &to.Type, &to.Version, &to.Data, &to.Hash)
				})
			if err == nil && len(found) == 0 {
				err = &ChainError{Run: h.ID, Seq: seq + 1, What: "is missing", Server: ofServer(s.base.Name)}
			}
			if err != nil {
				yield(Record{}, s.fault(err))
				return
			}
			for _, r := range found {
				if seq = r.Seq; !yield(r, nil) {
					return
				}
			}
		}
	}
}

// Import implements [Database].
func (s *fileStore) Import(ctx context.Context, runs []Moved, t *TaskAppend) error {
	if err := s.check(ctx, anyRun); err != nil {
		return err
	}
	return s.write(ctx, func(w *writer) error {
		tasks, last := taskWriter{w, w.key}, taskHead{}
		if t != nil { // before the first change, as it may be a rejection
			var err error
			if last, err = tasks.taskHead(*t); err != nil {
				return err
			}
		}
		for _, m := range runs {
			if h, err := w.head(m.Run); err != nil {
				return err
			} else if h.Seq > 0 || h.Damage != "" {
				return fmt.Errorf("%w: run %s is there", ErrConflict, m.Run)
			}
			h := head{Summary: Summary{ID: m.Run}, hash: noHash, writer: s.opt.Version}
			err := h.importRun(w, m)
			if err == nil {
				err = w.use(h)
			}
			if err != nil {
				return err
			}
		}
		if t == nil {
			return nil
		}
		return tasks.appendTask(*t, last)
	})
}

// ImportRun writes a run but for its row, and takes its events into account.
func (h *Head) ImportRun(tx Tx, m Moved) error { return h.importRun(tx, m) }

func (h *head) importRun(tx Tx, m Moved) error {
	h.Root = m.Root
	for r, err := range m.Events {
		var e run.Event
		if err == nil {
			e, err = r.Event(m.Run, h.hash)
		}
		if err == nil && r.Seq != h.Seq+1 {
			err = &ChainError{Run: m.Run, Seq: h.Seq + 1, What: "is missing"}
		}
		if err == nil {
			err = tx.Exec(`INSERT INTO events (run, seq, at, type, version, data, hash) VALUES (?, ?, ?, ?, ?, ?, ?)`,
				string(m.Run), r.Seq, r.At, r.Type, r.Version, r.Data, r.Hash)
		}
		if err != nil {
			return err
		}
		h.Add(e)
		h.hash = r.Hash
	}
	if h.Seq != m.Seq || !bytes.Equal(h.hash, m.Hash) {
		return &ChainError{Run: m.Run, Seq: m.Seq, What: changedEnd}
	}
	for _, r := range m.Inbox {
		if err := tx.Exec(`INSERT INTO inbox (run, key, kind, payload, at, taken, answer) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			string(m.Run), r.Key, r.Kind, r.Payload, r.At, r.Taken, r.Answer); err != nil {
			return err
		}
	}
	for _, sub := range m.Submissions {
		if err := addSubmission(tx, sub, sub.Task); err != nil {
			return err
		}
	}
	return nil
}
