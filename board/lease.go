package board

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"pawl/run"
	"pawl/store"
	"pawl/task"
	"pawl/tasklog"
)

// Own makes the caller the driver of a task until the lease is released. The error is
// a [*store.OwnedError] if another process drives it. socket is the address that the driver
// listens on; it may be empty.
func (b Board) Own(ctx context.Context, id task.ID, socket string) (store.Lease, error) {
	tasks, err := b.ws.Tasks()
	if err != nil {
		return nil, err
	}
	return tasks.Store.Own(ctx, store.TaskLease(string(id)), socket)
}

// Attend marks a task as attended until the lease is released: a person watches it in this process, which
// continues it after an answer, wherever the answer is given. The error is a [*store.OwnedError] if another
// process attends to the task.
func (b Board) Attend(ctx context.Context, id task.ID) (store.Lease, error) {
	tasks, err := b.ws.Tasks()
	if err != nil {
		return nil, err
	}
	return tasks.Store.Own(ctx, attended(id), "")
}

// attended is the lease of Attend.
func attended(id task.ID) run.ID { return store.TaskLease(string(id)) + "-attended" }

// Served reports whether another process continues a task by itself: because it drives all tasks, or
// because it attends to this one; see Attend.
func (b Board) Served(ctx context.Context, id task.ID) (bool, error) {
	_, owned, err := b.Owner(ctx)
	if err != nil || owned {
		return owned, err
	}
	owner, owned, err := b.ws.Owner(ctx, attended(id))
	return owned && owner.PID != os.Getpid(), err
}

// restTime is how long the driver of a task that owes nothing may take to let go of it.
const restTime = 5 * time.Second

// ownAtRest is Own for a task that owes nothing, and waits for its driver to see that.
func (b Board) ownAtRest(ctx context.Context, id task.ID) (store.Lease, error) {
	wait, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	for {
		lease, err := b.Own(ctx, id, "")
		if err == nil || !errors.As(err, new(*store.OwnedError)) {
			return lease, err
		}
		select {
		case <-wait.Done():
			return nil, err
		case <-time.After(pollLog):
		}
	}
}

// OwnAll makes the caller the driver of all tasks of the workspace; see Own.
func (b Board) OwnAll(ctx context.Context, socket string) (store.Lease, error) {
	tasks, err := b.ws.Tasks()
	if err != nil {
		return nil, err
	}
	return tasks.Store.Own(ctx, tasklog.Board, socket)
}

// Owner returns the process that drives all tasks of the workspace, if there is one.
func (b Board) Owner(ctx context.Context) (store.Owner, bool, error) {
	return b.ws.Owner(ctx, tasklog.Board)
}

// Look finds out what tasks do now: see [task.Live].
func (b Board) Look(ctx context.Context, all []task.Summary) error {
	memory := sync.OnceValues(func() (map[run.ID]int64, error) { return b.memory(ctx) })
	for i := range all {
		s := &all[i]
		if s.Live = (task.Live{}); !s.Owes {
			continue
		}
		s.Undriven = true
		for _, lease := range []run.ID{tasklog.Board, store.TaskLease(string(s.ID)), s.Run} {
			if lease == "" { // the status does not name a run that has to be stopped
				continue
			}
			owner, driven, err := b.ws.Owner(ctx, lease)
			if err != nil {
				return err
			}
			if driven {
				s.Undriven, s.Queued = false, cmp.Or(s.Queued, owner.Waits)
			}
		}
		of, err := memory()
		if err != nil {
			return err
		}
		s.Memory = of[s.Run]
	}
	return nil
}

// memory returns how much memory the external agents of runs take, each with the runs below it, in bytes.
func (b Board) memory(ctx context.Context) (map[run.ID]int64, error) {
	all := map[run.ID]int64{}
	for id, n := range b.ws.AgentMemory() {
		for id != "" {
			all[id] += n
			r, err := b.ws.Run(ctx, id)
			if err != nil && !errors.Is(err, store.ErrNotFound) { // it was removed since
				return nil, err
			}
			id = r.Parent
		}
	}
	return all, nil
}

// Beside returns the other tasks whose workers are at work in the folder itself, if the worker of the task is, too.
func (b Board) Beside(ctx context.Context, id task.ID) (beside []task.ID, err error) {
	active, _, err := b.List(ctx, Query{Status: []string{string(task.Active)}})
	own := false
	for _, sum := range active {
		s, lerr := b.Load(ctx, sum.ID)
		switch {
		case lerr != nil || s.Copy != nil || s.Status.Name != task.Active: // it was removed, or has ended since
		case sum.ID == id:
			own = true
		default:
			beside = append(beside, sum.ID)
		}
	}
	if !own {
		beside = nil
	}
	return beside, err
}

// pollLog is how often the log of a task is read by who waits for what is new in it.
const pollLog = 50 * time.Millisecond
