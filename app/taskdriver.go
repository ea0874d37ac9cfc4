package app

import (
	"context"
	"errors"
	"os"
	"time"

	"pawl/inbox"
	"pawl/run"
	"pawl/store"
	"pawl/task"
)

// Board is the lease of the process that drives all tasks of a workspace, such as a server.
const Board run.ID = "board"

// changed wakes the processes that drive a task after it was changed.
func (w *Workspace) changed(ctx context.Context, st store.Store, id task.ID) func(task.State, error) (task.State, error) {
	return func(s task.State, err error) (task.State, error) {
		if err == nil {
			w.taskChanged(id)
			inbox.Wake(ctx, st, store.TaskLease(string(id)))
			inbox.Wake(ctx, st, Board)
		}
		return s, err
	}
}

// OwnTask makes the caller the driver of a task until the lease is released. The error is
// a [*store.OwnedError] if another process drives it. socket is the address that the driver
// listens on; it may be empty.
func (w *Workspace) OwnTask(ctx context.Context, id task.ID, socket string) (store.Lease, error) {
	st, err := w.writing()
	if err != nil {
		return nil, err
	}
	return st.Own(ctx, store.TaskLease(string(id)), socket)
}

// AttendTask marks a task as attended until the lease is released: a person watches it in this process, which
// continues it after an answer, wherever the answer is given. The error is a [*store.OwnedError] if another
// process attends to the task.
func (w *Workspace) AttendTask(ctx context.Context, id task.ID) (store.Lease, error) {
	st, err := w.writing()
	if err != nil {
		return nil, err
	}
	return st.Own(ctx, attended(id), "")
}

// attended is the lease of AttendTask.
func attended(id task.ID) run.ID { return store.TaskLease(string(id)) + "-attended" }

// ServedTask reports whether another process continues a task by itself: because it drives all tasks, or
// because it attends to this one; see AttendTask.
func (w *Workspace) ServedTask(ctx context.Context, id task.ID) (bool, error) {
	_, owned, err := w.BoardOwner(ctx)
	if err != nil || owned {
		return owned, err
	}
	owner, owned, err := w.Owner(ctx, attended(id))
	return owned && owner.PID != os.Getpid(), err
}

// restTime is how long the driver of a task that owes nothing may take to let go of it.
const restTime = 5 * time.Second

// ownAtRest is OwnTask for a task that owes nothing, and waits for its driver to see that.
func (w *Workspace) ownAtRest(ctx context.Context, id task.ID) (store.Lease, error) {
	wait, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	for {
		lease, err := w.OwnTask(ctx, id, "")
		if err == nil || !errors.As(err, new(*store.OwnedError)) {
			return lease, err
		}
		select {
		case <-wait.Done():
			return nil, err
		case <-time.After(pollInbox):
		}
	}
}

// OwnBoard makes the caller the driver of all tasks of the workspace; see OwnTask.
func (w *Workspace) OwnBoard(ctx context.Context, socket string) (store.Lease, error) {
	st, err := w.writing()
	if err != nil {
		return nil, err
	}
	return st.Own(ctx, Board, socket)
}

// BoardOwner returns the process that drives all tasks of the workspace, if there is one.
func (w *Workspace) BoardOwner(ctx context.Context) (store.Owner, bool, error) {
	return w.Owner(ctx, Board)
}

// ListenForTasks returns a socket through which other processes say that a task has changed;
// nil if there can be none.
func (w *Workspace) ListenForTasks() *store.Listener {
	if _, err := w.driver(); err != nil {
		return nil
	}
	s, err := w.load()
	if err != nil || s.sockets == "" {
		return nil
	}
	l, err := store.Listen(s.sockets)
	if err != nil {
		return nil
	}
	return l
}

// OnTaskChange calls f after a task was changed in this process; f must not block.
func (w *Workspace) OnTaskChange(f func(task.ID)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taskWatchers = append(w.taskWatchers, f)
}

func (w *Workspace) taskChanged(id task.ID) {
	w.mu.Lock()
	watchers := w.taskWatchers
	w.mu.Unlock()
	for _, f := range watchers {
		f(id)
	}
}
