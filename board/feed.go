package board

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

// Log returns a task that can be read on.
func (b Board) Log(ctx context.Context, id task.ID) (tasklog.Log, error) {
	tasks, err := b.ws.ReadTasks()
	if err != nil {
		return tasklog.Log{}, noTask(id, err)
	}
	return tasklog.Load(ctx, tasks.Store, id)
}

// noTask makes the error of a workspace without a log that of a task that is not there.
func noTask(id task.ID, err error) error {
	if errors.Is(err, store.ErrNoRuns) {
		return fmt.Errorf("task %s: %w", id, store.ErrNoTask)
	}
	return err
}

// Events returns the history of a task after event number after, at most limit events; 0: all.
func (b Board) Events(ctx context.Context, id task.ID, after int64, limit int) ([]task.Event, error) {
	tasks, err := b.ws.ReadTasks()
	if err != nil {
		return nil, noTask(id, err)
	}
	return tasklog.Events(ctx, tasks.Store, id, after, limit)
}

// Feed returns the events of all tasks after a position, in the order in which they became
// durable, at most limit of them.
func (b Board) Feed(ctx context.Context, after int64, limit int) ([]tasklog.Entry, error) {
	tasks, err := b.ws.ReadTasks()
	if errors.Is(err, store.ErrNoRuns) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return tasklog.Feed(ctx, tasks.Store, after, limit)
}

// FeedEnd returns the position of the last event of all tasks; 0: there was none.
func (b Board) FeedEnd(ctx context.Context) (int64, error) {
	tasks, err := b.ws.ReadTasks()
	if errors.Is(err, store.ErrNoRuns) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return tasks.Store.TaskFeedEnd(ctx)
}

// Changed returns the tasks that have changed after a position of the feed of all tasks,
// each once, also those that were removed; and the position up to which that is.
func (b Board) Changed(ctx context.Context, after int64) (changed []task.ID, position int64, err error) {
	tasks, err := b.ws.ReadTasks()
	if errors.Is(err, store.ErrNoRuns) {
		return nil, after, nil
	} else if err != nil {
		return nil, after, err
	}
	const most = 500 // entries that are read at once
	seen := map[string]bool{}
	for {
		entries, err := tasks.Store.TaskFeed(ctx, after, most)
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

// Summary returns the summary of a task.
func (b Board) Summary(ctx context.Context, id task.ID) (task.Summary, error) {
	tasks, err := b.ws.ReadTasks()
	if err != nil {
		return task.Summary{}, noTask(id, err)
	}
	row, err := tasks.Store.Task(ctx, string(id))
	if err != nil {
		return task.Summary{}, err
	}
	var sum task.Summary
	err = json.Unmarshal([]byte(row.Summary), &sum)
	return sum, err
}

// Follow yields the events of a task after event number after, and then what is new until
// ctx is done or the caller breaks off. When all there is was yielded, it yields an event
// without a payload, and so it does each time the caller should look again.
func (b Board) Follow(ctx context.Context, id task.ID, after int64) iter.Seq2[task.Event, error] {
	return func(yield func(task.Event, error) bool) {
		for {
			events, err := b.Events(ctx, id, after, 0)
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
			case <-time.After(pollLog):
			}
		}
	}
}
