package store

import (
	"context"
	"database/sql"
	"fmt"

	"pawl/run"
)

// eventRow is an event as it is written, without its place in the log.
type eventRow struct {
	event   run.Event // with its number and its time in UTC
	typ     string
	version int
	data    []byte
}

// encodeRows numbers the events from after+1 and encodes them.
func encodeRows(id run.ID, after int64, events []run.Event) ([]eventRow, error) {
	rows := make([]eventRow, len(events))
	for i, e := range events {
		e.Seq, e.At = after+int64(i)+1, e.At.UTC()
		typ, version, data, err := encode(e)
		if err != nil {
			return nil, fmt.Errorf("append %s #%d: %w", id, e.Seq, err)
		}
		rows[i] = eventRow{e, typ, version, data}
	}
	return rows, nil
}

// Append implements [Store].
func (s *fileStore) Append(ctx context.Context, id run.ID, after int64, events []run.Event, taken ...Taken) error {
	return s.append(ctx, id, after, events, nil, taken)
}

// append is Append, with t in the same transaction unless it is nil.
func (s *fileStore) append(ctx context.Context, id run.ID, after int64, events []run.Event, t *TaskAppend, taken []Taken) error {
	if err := s.check(ctx, id); err != nil {
		return err
	}
	rows, err := encodeRows(id, after, events) // outside the transaction, to keep it short
	if err != nil {
		return err
	}
	err = s.write(ctx, func(w *writer) error { return w.append(id, after, rows, t, taken, s.opt.Version) })
	if err != nil {
		return fmt.Errorf("append %s #%d: %w", id, after+1, err)
	}
	return nil
}

func (w *writer) append(id run.ID, after int64, rows []eventRow, t *TaskAppend, taken []Taken, version string) error {
	head, err := w.head(id)
	switch {
	case err != nil:
		return err
	case head.Damage != "":
		return rejection{head.damage(false)}
	case head.Seq != after:
		return rejection{fmt.Errorf("%w: it has %d events", ErrConflict, head.Seq)}
	}
	// Everything that can reject the job comes before the first change.
	for _, t := range taken {
		var one int
		err := w.row(`SELECT 1 FROM inbox WHERE id = ? AND run = ? AND taken IS NULL`, []any{t.ID, string(id)}, &one)
		if err == sql.ErrNoRows {
			return rejection{fmt.Errorf("%w: %d", ErrTaken, t.ID)}
		} else if err != nil {
			return err
		}
	}
	if t != nil {
		tasks := taskWriter{w, w.key}
		task, err := tasks.taskHead(*t)
		if err != nil {
			return err
		}
		if err := tasks.appendTask(*t, task); err != nil {
			return err
		}
	}

	for _, r := range rows {
		e := r.event
		head.hash = chainHash(head.hash, id, e.Seq, toNano(e.At), r.typ, r.version, r.data)
		_, err := w.exec(`INSERT INTO events (run, seq, at, type, version, data, hash) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			string(id), e.Seq, toNano(e.At), r.typ, r.version, string(r.data), head.hash)
		if err != nil {
			return err
		}
		head.Add(e)
	}
	for _, t := range taken {
		_, err := w.exec(`UPDATE inbox SET taken = ?, payload = '', answer = ? WHERE id = ?`, head.Seq, t.Answer, t.ID)
		if err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		return nil
	}
	head.ID, head.writer = id, version
	if head.Root == "" {
		if head.Root, err = w.rootOf(head.Summary); err != nil {
			return err
		}
	}
	return w.use(head)
}

// use writes the row of a run that was appended to, and notes its end.
func (w *writer) use(head head) error {
	if err := w.row(`SELECT ifnull(max(used), 0) + 1 FROM runs`, nil, &head.used); err != nil {
		return err
	}
	if last, ok := readMark(w.lock.file, w.id); ok {
		head.used = max(head.used, last.used+1) // it rises even if the database has lost transactions
	}
	w.marks = append(w.marks, mark{head.ID, w.id, head.used, head.Seq, head.hash})
	return w.setHead(head)
}

// rootOf returns the root of a new run: that of its parent, or the run itself.
func (w *writer) rootOf(s Summary) (root run.ID, err error) {
	if s.Parent == "" {
		return s.ID, nil
	}
	err = w.row(`SELECT root FROM runs WHERE id = ?`, []any{string(s.Parent)}, &root)
	if err == sql.ErrNoRows { // the parent is not in this store
		return s.Parent, nil
	}
	return root, err
}
