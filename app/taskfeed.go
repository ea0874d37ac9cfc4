package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"pawl/store"
	"pawl/task"
	"pawl/tasklog"
)

// TaskLog returns a task that can be read on.
func (w *Workspace) TaskLog(ctx context.Context, id task.ID) (tasklog.Log, error) {
	st, err := w.reading()
	if err != nil {
		return tasklog.Log{}, noTask(id, err)
	}
	return tasklog.Load(ctx, st, id)
}

// noTask makes the error of a workspace without a log that of a task that is not there.
func noTask(id task.ID, err error) error {
	if errors.Is(err, store.ErrNoRuns) {
		return fmt.Errorf("task %s: %w", id, store.ErrNoTask)
	}
	return err
}

// TaskEvents returns the history of a task after event number after, at most limit events; 0: all.
func (w *Workspace) TaskEvents(ctx context.Context, id task.ID, after int64, limit int) ([]task.Event, error) {
	st, err := w.reading()
	if err != nil {
		return nil, noTask(id, err)
	}
	return tasklog.Events(ctx, st, id, after, limit)
}

// TaskFeed returns the events of all tasks after a position, in the order in which they became
// durable, at most limit of them.
func (w *Workspace) TaskFeed(ctx context.Context, after int64, limit int) ([]tasklog.Entry, error) {
	st, err := w.reading()
	if errors.Is(err, store.ErrNoRuns) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return tasklog.Feed(ctx, st, after, limit)
}

// TaskFeedEnd returns the position of the last event of all tasks; 0: there was none.
func (w *Workspace) TaskFeedEnd(ctx context.Context) (int64, error) {
	st, err := w.reading()
	if errors.Is(err, store.ErrNoRuns) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return st.TaskFeedEnd(ctx)
}

// ChangedTasks returns the tasks that have changed after a position of the feed of all tasks,
// each once, also those that were removed; and the position up to which that is.
func (w *Workspace) ChangedTasks(ctx context.Context, after int64) (changed []task.ID, position int64, err error) {
	st, err := w.reading()
	if errors.Is(err, store.ErrNoRuns) {
		return nil, after, nil
	} else if err != nil {
		return nil, after, err
	}
	const most = 500 // entries that are read at once
	seen := map[string]bool{}
	for {
		entries, err := st.TaskFeed(ctx, after, most)
		if err != nil {
			return nil, after, err
		}
		for _, e := range entries {
			if after = e.Position; !seen[e.Task] {
				seen[e.Task] = true
				changed = append(changed, task.ID(e.Task))
			}
		}
		if len(entries) < most {
			return changed, after, nil
		}
	}
}

// TaskSummary returns the summary of a task.
func (w *Workspace) TaskSummary(ctx context.Context, id task.ID) (task.Summary, error) {
	st, err := w.reading()
	if err != nil {
		return task.Summary{}, noTask(id, err)
	}
	row, err := st.Task(ctx, string(id))
	if err != nil {
		return task.Summary{}, err
	}
	var sum task.Summary
	err = json.Unmarshal([]byte(row.Summary), &sum)
	return sum, err
}

// FollowTask yields the events of a task after event number after, and then what is new until
// ctx is done or the caller breaks off. When all there is was yielded, it yields an event
// without a payload, and so it does each time the caller should look again.
func (w *Workspace) FollowTask(ctx context.Context, id task.ID, after int64) iter.Seq2[task.Event, error] {
	return func(yield func(task.Event, error) bool) {
		for {
			events, err := w.TaskEvents(ctx, id, after, 0)
			for _, e := range events {
				if after = e.Seq; !yield(e, nil) {
					return
				}
			}
			if err != nil {
				if ctx.Err() == nil { // else the read was broken off
					yield(task.Event{}, err)
				}
				return
			}
			if !yield(task.Event{}, nil) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pollInbox):
			}
		}
	}
}
