// Package tasklog keeps the logs of tasks in a store. What an action or a result means for a task is decided
// in package task; here it becomes durable: alone, or in the same append as the events of a run that it
// follows from.
package tasklog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/store"
	"pawl/task"
)

// A Log is a task as it was read from the store.
type Log struct {
	State task.State
	store store.Store
}

// Load reads a task; [store.ErrNoTask] if there is no such task.
func Load(ctx context.Context, st store.Store, id task.ID) (Log, error) {
	l := Log{store: st}
	return l, l.Read(ctx, id)
}

// Read applies what is new in the log of the task.
func (l *Log) Read(ctx context.Context, id task.ID) error {
	for row, err := range l.store.TaskEvents(ctx, string(id), l.State.Seq) {
		if err != nil {
			return err
		}
		e, err := decode(id, row)
		if err != nil {
			return err
		}
		if l.State, err = l.State.Apply(e); err != nil {
			return fmt.Errorf("task %s: event %d: the log is inconsistent: %w", id, row.Seq, err)
		}
	}
	return nil
}

func decode(id task.ID, row store.TaskEvent) (task.Event, error) {
	p, known, err := task.Decode(row.Type, row.Version, []byte(row.Data))
	switch {
	case err != nil:
		return task.Event{}, fmt.Errorf("task %s: event %d (%s): %w: %w", id, row.Seq, row.Type, store.ErrCorrupt, err)
	case !known:
		return task.Event{}, fmt.Errorf("task %s: event %d (%s, version %d) cannot be read: %w", id, row.Seq, row.Type, row.Version, store.ErrNewer)
	}
	return task.Event{Seq: row.Seq, At: row.At, Run: row.Run, By: row.By, Payload: p}, nil
}

// Events returns the events of a task after the number, at most limit of them; 0: all.
func Events(ctx context.Context, st store.Store, id task.ID, after int64, limit int) ([]task.Event, error) {
	var events []task.Event
	for row, err := range st.TaskEvents(ctx, string(id), after) {
		if err != nil {
			return events, err
		}
		e, err := decode(id, row)
		if err != nil {
			return events, err
		}
		if events = append(events, e); len(events) == limit {
			break
		}
	}
	return events, nil
}

// An Entry is an event of a task in the feed of all tasks; see [store.Tasks].
type Entry struct {
	Position int64
	Task     task.ID
	Event    task.Event // without a payload: the task was removed
}

// Feed returns the events of all tasks after a position, at most limit of them.
func Feed(ctx context.Context, st store.Store, after int64, limit int) ([]Entry, error) {
	rows, err := st.TaskFeed(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	feed := make([]Entry, len(rows))
	for i, row := range rows {
		feed[i] = Entry{Position: row.Position, Task: task.ID(row.Task)}
		if row.Event.Seq == 0 {
			continue
		}
		if feed[i].Event, err = decode(feed[i].Task, row.Event); err != nil {
			return feed[:i], err
		}
	}
	return feed, nil
}

// Do does something to a task and returns it when that is durable. If another writer was first, it is
// done to the task as that has left it. The error says why it is not possible: see
// [task.State.Do].
func Do(ctx context.Context, st store.Store, id task.ID, by string, a task.Action) (task.State, error) {
	l := Log{store: st}
	return l.do(ctx, id, by, a)
}

// do is Do for a task that was read before: only what is new in its log is read.
func (l *Log) do(ctx context.Context, id task.ID, by string, a task.Action) (task.State, error) {
	for {
		if err := l.Read(ctx, id); err != nil {
			if _, create := a.(task.Created); !create || !errors.Is(err, store.ErrNoTask) {
				return l.State, err
			}
		}
		if _, create := a.(task.Created); create && l.State.Seq > 0 {
			return l.State, fmt.Errorf("task %s is there already", id)
		}
		b := l.batch(id)
		if err := b.do(by, a); err != nil || len(b.events) == 0 {
			return l.State, err
		}
		t, err := b.append()
		if err != nil {
			return l.State, err
		}
		err = l.store.AppendTask(ctx, t)
		if err == nil {
			return b.state, nil
		}
		if wrong, ok := errors.AsType[*task.InputError](err); ok { // of the check, without what the store was doing
			return l.State, wrong
		}
		if !errors.Is(err, store.ErrTaskConflict) {
			return l.State, err
		}
	}
}

// A batch is what is about to be appended to the log of a task.
type batch struct {
	now    time.Time
	before task.State
	state  task.State // after events
	events []task.Event
	store.TaskAppend
}

func (l Log) batch(id task.ID) *batch {
	return &batch{now: time.Now().UTC().Round(0), before: l.State, state: l.State, TaskAppend: store.TaskAppend{Task: string(id)}}
}

// do adds the events of an action; see [task.State.Do].
func (b *batch) do(by string, a task.Action) error {
	events, err := b.state.Do(by, a)
	if err != nil {
		return err
	}
	for _, e := range events {
		e.At = b.now
		if b.state, err = b.state.Apply(e); err != nil {
			return err
		}
		b.events = append(b.events, e)
	}
	return nil
}

// append returns the batch in the form of the store.
func (b *batch) append() (store.TaskAppend, error) {
	b.After = b.before.Seq
	for _, e := range b.events {
		typ, version, data, err := task.Encode(e.Payload)
		if err != nil {
			return b.TaskAppend, err
		}
		b.Events = append(b.Events, store.TaskEvent{At: e.At, Type: typ, Version: version, Run: e.Run, By: e.By, Data: string(data)})
		switch p := e.Payload.(type) {
		case task.PlanningStarted, task.AgentStarted, task.AgentHandoffStarted:
			b.Runs = append(b.Runs, e.Run)
		case task.Created:
			b.Check = dependencyCheck(task.ID(b.Task), p.DependsOn)
		case task.Edited:
			if p.DependsOn != nil {
				b.Check = dependencyCheck(task.ID(b.Task), *p.DependsOn)
			}
		}
	}
	var err error
	b.Row, err = rowOf(b.state)
	return b.TaskAppend, err
}

// rowOf returns what a list is selected by and shows of a task.
func rowOf(s task.State) (store.TaskRow, error) {
	sum := s.Summary()
	data, err := json.Marshal(sum)
	return store.TaskRow{Status: string(sum.Status), Agent: sum.Agent, Run: sum.Run, Priority: sum.Priority, Owes: sum.Owes, Labels: sum.Labels, Summary: string(data)}, err
}

// Import returns the state of a task after events that were recorded elsewhere, which are its whole log, and what appends
// them to a store.
func Import(id task.ID, events []store.TaskEvent) (s task.State, t store.TaskAppend, err error) {
	t = store.TaskAppend{Task: string(id), Events: events}
	for i, row := range events {
		e, err := decode(id, row)
		if err == nil && row.Seq != int64(i)+1 {
			err = fmt.Errorf("task %s: event %d is missing", id, i+1)
		}
		if err == nil {
			if s, err = s.Apply(e); err != nil {
				err = fmt.Errorf("task %s: event %d does not follow from those before it: %w", id, row.Seq, err)
			}
		}
		if err != nil {
			return s, t, err
		}
	}
	if s.Created.Task != id {
		return s, t, fmt.Errorf("task %s: its log is that of another task, %q", id, s.Created.Task)
	}
	t.Row, err = rowOf(s)
	return s, t, err
}

// dependencyCheck returns a check that the tasks that a task is to depend on exist, and that none
// of them depends on it. It is made in the transaction of the change: of two changes that
// would close a cycle together, the second finds it.
func dependencyCheck(id task.ID, on []task.ID) func(row func(string) (store.TaskRow, error)) error {
	return func(row func(string) (store.TaskRow, error)) error {
		wrong := func(what string) error {
			return &task.InputError{What: "depends_on: " + what, Fields: map[string]string{"depends_on": what}}
		}
		var failed error
		dependsOn := func(other task.ID) []task.ID {
			var sum task.Summary
			r, err := row(string(other))
			switch {
			case err == nil:
				err = json.Unmarshal([]byte(r.Summary), &sum)
			case errors.Is(err, store.ErrNoTask) && slices.Contains(on, other):
				err = wrong(fmt.Sprintf("there is no task %s", other))
			case errors.Is(err, store.ErrNoTask): // removed since
				err = nil
			}
			failed = cmp.Or(failed, err)
			return sum.DependsOn
		}
		ring := cycle(id, on, dependsOn)
		if failed != nil || ring == nil {
			return failed
		}
		names := make([]string, len(ring))
		for i, c := range ring {
			names[i] = string(c)
		}
		return wrong("the dependencies would be a cycle: " + strings.Join(names, " → "))
	}
}

// cycle returns a cycle that the dependencies of a task would close, from the task to itself;
// nil if there is none. of returns the dependencies of another task.
func cycle(id task.ID, on []task.ID, of func(task.ID) []task.ID) []task.ID {
	seen := map[task.ID]bool{}
	var walk func(path, on []task.ID) []task.ID
	walk = func(path, on []task.ID) []task.ID {
		for _, next := range on {
			to := append(path[:len(path):len(path)], next)
			if next == id {
				return to
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if found := walk(to, of(next)); found != nil {
				return found
			}
		}
		return nil
	}
	return walk([]task.ID{id}, on)
}
