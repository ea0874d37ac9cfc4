package storetest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"pawl/run"
	"pawl/store"
)

type memoryTask struct {
	row    store.TaskRow
	events []store.TaskEvent // only ever appended to
}

// AppendTask implements [store.Tasks].
func (m *Memory) AppendTask(ctx context.Context, t store.TaskAppend) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, "any"); err != nil {
		return err
	}
	err := m.perform(Op{Name: "append task", Task: t.Task}, func() error {
		if err := m.disk.checkTask(t); err != nil {
			return err
		}
		m.disk.appendTask(t)
		return nil
	})
	if err != nil {
		return fmt.Errorf("append task %s #%d: %w", t.Task, t.After+1, err)
	}
	return nil
}

// AppendWithTask implements [store.Tasks].
func (m *Memory) AppendWithTask(ctx context.Context, id run.ID, after int64, events []run.Event, t store.TaskAppend, taken ...store.Taken) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, id); err != nil {
		return err
	}
	err := m.perform(Op{Name: "append", Run: id, After: after, Events: events, Task: t.Task}, func() error {
		if err := m.disk.checkTask(t); err != nil {
			return err
		}
		if err := m.disk.append(id, after, events, taken); err != nil {
			return err
		}
		m.disk.appendTask(t)
		return nil
	})
	if err != nil {
		return fmt.Errorf("append %s #%d: %w", id, after+1, err)
	}
	return nil
}

func (d *disk) checkTask(t store.TaskAppend) error {
	if t.Task == "" || store.CheckID(run.ID(t.Task)) != nil {
		return store.ErrNoTask
	}
	have := int64(0)
	if k := d.tasks[t.Task]; k != nil {
		have = k.row.Seq
	}
	if have != t.After {
		return fmt.Errorf("%w: it has %d events", store.ErrTaskConflict, have)
	}
	if t.Check != nil {
		if err := t.Check(d.taskRow); err != nil {
			return err
		}
	}
	if s := t.Submission; s != nil && slices.ContainsFunc(d.submissions, func(o store.Submission) bool {
		return o.Run == s.Run && o.Tool == s.Tool && o.Assignment == s.Assignment
	}) {
		return store.ErrSubmitted
	}
	for _, id := range t.Runs {
		if other := d.taskOf[id]; other != "" && other != t.Task {
			return fmt.Errorf("run %s belongs to task %s", id, other)
		}
	}
	return nil
}

func (d *disk) taskRow(id string) (store.TaskRow, error) {
	k := d.tasks[id]
	if k == nil {
		return store.TaskRow{}, fmt.Errorf("task %s: %w", id, store.ErrNoTask)
	}
	return k.row, nil
}

func (d *disk) appendTask(t store.TaskAppend) {
	k := d.tasks[t.Task]
	if k == nil {
		k = &memoryTask{}
		d.tasks[t.Task] = k
	}
	created, seq, updated := k.row.Created, k.row.Seq, k.row.Updated
	for _, e := range t.Events {
		seq++
		e.Seq, e.At = seq, e.At.Round(0).UTC()
		k.events = append(k.events, e)
		d.feed = append(d.feed, store.FeedEntry{Position: int64(len(d.feed)) + 1, Task: t.Task, Event: e})
		if updated = e.At; seq == 1 {
			created = e.At
		}
	}
	if len(t.Events) > 0 {
		k.row = t.Row
		k.row.ID, k.row.Seq, k.row.Created, k.row.Updated = t.Task, seq, created, updated
	}
	for _, id := range t.Runs {
		d.taskOf[id] = t.Task
	}
	if t.Submission != nil {
		s := *t.Submission
		s.Task, s.At = t.Task, s.At.Round(0).UTC()
		d.submissions = append(d.submissions, s)
	}
}

// TaskEvents implements [store.Tasks].
func (m *Memory) TaskEvents(ctx context.Context, id string, after int64) iter.Seq2[store.TaskEvent, error] {
	return func(yield func(store.TaskEvent, error) bool) {
		k, err := m.task(ctx, id)
		for _, e := range k.events[min(max(after, 0), int64(len(k.events))):] {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(store.TaskEvent{}, err)
		}
	}
}

func (m *Memory) task(ctx context.Context, id string) (memoryTask, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, "any"); err != nil {
		return memoryTask{}, err
	}
	k := m.disk.tasks[id]
	if k == nil {
		return memoryTask{}, fmt.Errorf("task %s: %w", id, store.ErrNoTask)
	}
	return *k, nil
}

// Task implements [store.Tasks].
func (m *Memory) Task(ctx context.Context, id string) (store.TaskRow, error) {
	k, err := m.task(ctx, id)
	k.row.Labels = nil
	return k.row, err
}

// Tasks implements [store.Tasks].
func (m *Memory) Tasks(ctx context.Context, q store.TaskQuery) (rows []store.TaskRow, next string, err error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, "any"); err != nil {
		return nil, "", err
	}
	for _, k := range m.disk.tasks {
		r := k.row
		if len(q.Status) > 0 && !slices.Contains(q.Status, r.Status) || q.Label != "" && !slices.Contains(r.Labels, q.Label) ||
			q.Agent != "" && q.Agent != r.Agent || q.Owes && !r.Owes {
			continue
		}
		r.Labels = nil
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b store.TaskRow) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), b.Created.Compare(a.Created), strings.Compare(b.ID, a.ID))
	})
	if q.From != "" {
		i := slices.IndexFunc(rows, func(r store.TaskRow) bool { return r.ID == q.From })
		rows = rows[i+1:]
	}
	if q.Limit > 0 && len(rows) > q.Limit {
		rows = rows[:q.Limit]
		next = rows[q.Limit-1].ID
	}
	return rows, next, nil
}

// TaskFeed implements [store.Tasks].
func (m *Memory) TaskFeed(ctx context.Context, after int64, limit int) (feed []store.FeedEntry, err error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, "any"); err != nil {
		return nil, err
	}
	for _, f := range m.disk.feed {
		if f.Position > after && f.Task != "" && len(feed) < limit {
			feed = append(feed, f)
		}
	}
	return feed, nil
}

// TaskFeedEnd implements [store.Tasks].
func (m *Memory) TaskFeedEnd(ctx context.Context) (int64, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	return int64(len(m.disk.feed)), m.begin(ctx, "any")
}

// TaskOf implements [store.Tasks].
func (m *Memory) TaskOf(ctx context.Context, id run.ID) (string, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	return m.disk.taskOf[id], m.begin(ctx, id)
}

// Submitted implements [store.Tasks].
func (m *Memory) Submitted(ctx context.Context, id run.ID, tool string, assignment int) (found store.Submission, ok bool, err error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, id); err != nil {
		return found, false, err
	}
	for _, s := range m.disk.submissions {
		if s.Run == id && s.Tool == tool && (assignment == 0 && s.Assignment > found.Assignment || s.Assignment == assignment) {
			found, ok = s, true
		}
	}
	return found, ok, nil
}

// RemoveTask implements [store.Tasks].
func (m *Memory) RemoveTask(ctx context.Context, id string) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, "any"); err != nil {
		return err
	}
	if m.disk.tasks[id] == nil {
		return fmt.Errorf("remove task %s: %w", id, store.ErrNoTask)
	}
	delete(m.disk.tasks, id)
	for i, f := range m.disk.feed {
		if f.Task == id {
			m.disk.feed[i].Task = "" // the position stays taken
		}
	}
	m.disk.feed = append(m.disk.feed, store.FeedEntry{Position: int64(len(m.disk.feed)) + 1, Task: id})
	for r, task := range m.disk.taskOf {
		if task == id {
			delete(m.disk.taskOf, r)
		}
	}
	m.disk.submissions = slices.DeleteFunc(m.disk.submissions, func(s store.Submission) bool { return s.Task == id })
	return nil
}
