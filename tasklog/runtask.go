package tasklog

import (
	"context"
	"errors"
	"log/slog"

	"pawl/inbox"
	"pawl/metrics"
	"pawl/run"
	"pawl/store"
	"pawl/task"
)

// Tasks are the tasks of a store for those who drive their runs, or submit results for them.
type Tasks struct {
	Store store.Store
	// Files is the folder of the files that are attached to tasks, with one for each task, unless the store is [SharedFiles].
	Files string
	// Check returns an error for the agent if what it submits for a task cannot be used here
	// (an agent that does not exist); nil: all can.
	Check func(task.Output) error
	// Changed is called after a task was changed by a run; it must not block. nil: no one is
	// told.
	Changed func(task.ID)
	// Log is for diagnostics, never file contents or keys; nil: none.
	Log *slog.Logger
	// Metrics counts what is submitted from outside of runs; nil: nothing is counted.
	Metrics *metrics.Metrics
}

// Board is the lease of the process that drives all tasks, such as a server.
const Board run.ID = "board"

// Do is [Do]; it wakes the processes that drive the task.
func (t *Tasks) Do(ctx context.Context, id task.ID, by string, a task.Action) (task.State, error) {
	s, err := Do(ctx, t.Store, id, by, a)
	if err == nil {
		if t.Changed != nil {
			t.Changed(id)
		}
		inbox.Wake(ctx, t.Store, store.TaskLease(string(id)))
		inbox.Wake(ctx, t.Store, Board)
	}
	return s, err
}

// A RunTask is the task that a run belongs to: its log is written together with that of the run.
// It is not safe for concurrent use.
type RunTask struct {
	*Tasks
	id  task.ID // empty: it was removed
	log Log     // as it was at the last append
	// What the run submits, by the call: each is read once, and the task says once why it does
	// not take it.
	submitted map[run.CallID]*submitted
}

// Of returns the task that a run belongs to; nil: none.
func (t *Tasks) Of(ctx context.Context, id run.ID) (*RunTask, error) {
	of, err := t.Store.TaskOf(ctx, id)
	if err != nil || of == "" {
		return nil, err
	}
	l, err := Load(ctx, t.Store, task.ID(of))
	switch {
	case errors.Is(err, store.ErrNoTask):
		return nil, nil // it was removed since
	case err != nil:
		return nil, err
	}
	return &RunTask{Tasks: t, id: task.ID(of), log: l}, nil
}

// maxConflicts bounds how often an append is made again because others write to the task at the same time.
const maxConflicts = 1000

// Append makes events of the run durable together with what they and the batches mean for the task. before
// and after are the states of the run; the first event of a new run is in both. If the task does not
// take a batch, which says so then, or a result, nothing is written and again is true: the step is to be
// made again.
func (t *RunTask) Append(before, after run.State, events []run.Event, batches []*task.Batch, taken []store.Taken) (again bool, err error) {
	ctx := context.Background() // not the caller's: its cancellation must still be recorded
	id := before.Created.Run
	last := after.Seq - int64(len(events))
	alone := func() (bool, error) { return false, t.Store.Append(ctx, id, last, events, taken...) }
	if t.id == "" {
		return alone()
	}
	for conflicts := 0; ; {
		// What others have done is known first: a refusal on what was true before would be wrong.
		if err := t.log.Read(ctx, t.id); errors.Is(err, store.ErrNoTask) {
			t.id = "" // it was removed: the run continues without it
			return alone()
		} else if err != nil {
			return false, err
		}
		c := consequences{RunTask: t, batch: t.log.batch(t.id), run: id, s: before, after: after, calls: map[run.CallID]called{}}
		err := c.all(batches, events)
		switch {
		case errors.Is(err, errRefused):
			return true, nil
		case err != nil:
			// A fact of a run that its task cannot take is a mistake in pawl. The run's log
			// counts: it continues, and the task's driver sees that the run has ended.
			if t.Log != nil {
				t.Log.Error("the task of the run was not updated", "run", id, "task", t.id, "error", err)
			}
			return alone()
		case len(c.batch.events) == 0:
			return alone()
		}
		add, err := c.append()
		if err != nil {
			return false, err
		}
		err = t.Store.AppendWithTask(ctx, id, last, events, add, taken...)
		switch {
		case err == nil:
			clear(t.submitted)
			t.changedTo(c.state)
			return false, nil
		case errors.Is(err, store.ErrTaskConflict), errors.Is(err, store.ErrSubmitted):
			if conflicts++; conflicts > maxConflicts {
				return false, err // unreachable unless the two logs were changed by hand: what conflicts is not there
			}
		default:
			return false, err
		}
	}
}

func (t *RunTask) changedTo(s task.State) {
	t.log.State = s
	if t.Changed != nil {
		t.Changed(t.id)
	}
}

// Card returns the task as it was at the last append.
func (t *RunTask) Card() task.State { return t.log.State }

// Waits records that calls of a run wait for a person. What fails is told to the log alone: the run does
// not depend on it.
func (t *RunTask) Waits(id run.ID, calls []run.CallState) {
	for _, c := range calls {
		if t.id == "" {
			return
		}
		fact := task.PermissionRequested{Call: c.ID, Tool: c.Tool, Arguments: clip(c.Arguments)}
		s, err := t.log.do(context.Background(), t.id, "", task.Note{Run: id, Fact: fact})
		if err == nil {
			t.changedTo(s)
		} else if t.Log != nil {
			t.Log.Debug("task", "run", id, "task", t.id, "error", err)
		}
	}
}

// A submitted is a result that a call of the run submits.
type submitted struct {
	output task.Output
	err    error // why it is not taken
}

// Takes reads a result that a call of the run submits in s, and returns why the task does not take it, for
// the agent; "" if it may: that is certain when it is appended.
func (t *RunTask) Takes(s run.State, c run.CallState, value string) string {
	r, ok := t.log.State.Run(s.Created.Run)
	if t.id == "" || !ok || r.Kind == "" {
		return ""
	}
	sub := t.result(c.ID, r.Kind, value)
	switch e, ok := errors.AsType[*task.SubmissionError](sub.err); {
	case ok:
		return e.Error() + ". Nothing more is to be done: end your turn."
	case sub.err != nil:
		return sub.err.Error()
	}
	return ""
}

// result returns the result that a call submits, which is read once.
func (t *RunTask) result(id run.CallID, k task.Kind, value string) *submitted {
	sub := t.submitted[id]
	if sub == nil {
		sub = &submitted{}
		sub.output, sub.err = t.read(k, value)
		if t.submitted == nil {
			t.submitted = map[run.CallID]*submitted{}
		}
		t.submitted[id] = sub
	}
	return sub
}
