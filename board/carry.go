package board

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"pawl/run"
	"pawl/store"
	"pawl/task"
)

// A Rest is how a task was left by [Driver.Carry].
type Rest struct {
	// Seq is the number of the task's last event.
	Seq int64
	// Parked: its run waits for a person. It continues when the task is carried again after the answer.
	Parked bool
}

// A FolderError says that a task works in another folder than the process that would carry it.
type FolderError struct {
	Task      task.ID
	Of, Works string
}

func (e *FolderError) Error() string {
	return fmt.Sprintf("task %s works in %s, and this process in %s: all workers need the same folder, and the same state folder", e.Task, e.Of, e.Works)
}

// Carry drives one task until nothing is left to do for it, or ctx is done, as a shutdown. Unlike
// [Driver.Drive] it does not stay with a run that waits for a person. It waits for as long as
// another process drives the task. The error is [store.ErrNoTask] if there is none, a [*FolderError] if it is of another folder,
// and [store.ErrNewer] or a [*store.UnreadableError] if a newer pawl has written to it.
func (d *Driver) Carry(ctx context.Context, id task.ID) (Rest, error) {
	ctx, end := shutdownWith(ctx)
	defer end()
	// A process that is cut off from the store leaves the task to others.
	asking, cancel := context.WithTimeoutCause(ctx, reachTime, store.ErrAway)
	defer cancel()
	s, err := d.board.Load(asking, id)
	if err != nil && asking.Err() != nil {
		err = context.Cause(asking)
	}
	if err != nil {
		return Rest{}, err
	}
	if of := s.Created.Workspace; of != d.board.ws.Dir && d.board.ws.Repository() == "" {
		return Rest{}, &FolderError{id, of, d.board.ws.Dir}
	}
	position, err := d.board.FeedEnd(ctx)
	if err != nil {
		return Rest{}, err
	}
	lease, err := d.ownWhenFree(ctx, id)
	if err != nil {
		return Rest{}, err
	}
	defer lease.Release()                           // it ends by itself
	if s, err = d.board.Load(ctx, id); err != nil { // as who had it before has left it
		return Rest{}, err
	}
	if _, err := d.board.ws.EndLeftAgents(ctx); err != nil {
		return Rest{}, err
	}
	if err := d.board.ready(ctx, s); err != nil {
		return Rest{}, err
	}
	driving, stop := context.WithCancel(ctx)
	defer stop()
	go d.kickChanged(driving, position)
	c := &card{Driver: d, id: id, priority: s.Priority, lease: lease, letsGo: true}
	c.drive(driving)
	if c.lost {
		return Rest{}, errLost
	}
	if c.newer != nil {
		return Rest{}, c.newer
	}
	d.board.left(ctx, id)
	return Rest{c.log.State.Seq, c.parked}, context.Cause(ctx)
}

// left saves the copy of a task, which is not driven any more, for the machine that continues it.
func (b Board) left(ctx context.Context, id task.ID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	if c := b.ws.Copy(id); c.Exists() {
		if err := c.Save(ctx); err != nil {
			b.ws.Log().Warn("the copy of a task is not saved", "task", id, "error", err)
		}
	}
}

// reachTime is how long the store may take to say what a task is.
const reachTime = 5 * time.Second

// saveTime bounds how long a worker that is drained may take to save a copy.
const saveTime = 30 * time.Second

// ownWhenFree is [Board.Own] once no other process drives the task.
func (d *Driver) ownWhenFree(ctx context.Context, id task.ID) (store.Lease, error) {
	for {
		lease, err := d.board.Own(ctx, id, "")
		if !errors.As(err, new(*store.OwnedError)) {
			return lease, err
		}
		select {
		case <-time.After(pollTasks):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// kickChanged tells those who wait for changes of tasks of them, from a position of the feed on, until ctx
// is done.
func (d *Driver) kickChanged(ctx context.Context, position int64) {
	for ctx.Err() == nil {
		changed, now, err := d.board.Changed(ctx, position)
		if err == nil {
			position = now
		}
		for _, id := range changed {
			d.kicks.kick(id)
		}
		d.sleep(ctx, nil)
	}
}

// A Call is a task that somebody has to carry.
type Call struct {
	task.Summary
	// Answered: its run waits, and something was said to it.
	Answered bool
}

// Watch calls out the tasks that have something to be done, each time they change, until ctx is done; at first all of
// them. One process watches a workspace at a time, as the owner of all its tasks (see [Board.Owner]): Watch waits until it
// is that one. A call whose error is not nil is repeated.
func (b Board) Watch(ctx context.Context, call func(context.Context, Call) error) {
	for ctx.Err() == nil {
		lease, err := b.OwnAll(ctx, "")
		if err == nil {
			err = b.watch(ctx, call)
			err = errors.Join(err, lease.Release())
		}
		if err != nil && ctx.Err() == nil && !errors.As(err, new(*store.OwnedError)) {
			b.ws.Log().Warn("tasks cannot be watched", "error", err)
		}
		select {
		case <-time.After(pollLead):
		case <-ctx.Done():
		}
	}
}

// pollLead is how often it is looked whether this process is still, or can become, the one that watches.
const pollLead = time.Second

// watch is Watch for the owner, until it is not any more.
func (b Board) watch(ctx context.Context, call func(context.Context, Call) error) error {
	log := &backlog{board: b}
	answered := map[run.ID]time.Time{}
	var looked time.Time
	tick := time.NewTicker(pollTasks)
	defer tick.Stop()
	for {
		now := time.Now()
		if now.Sub(looked) >= pollLead {
			owner, owned, err := b.Owner(ctx)
			if err != nil || !owned || owner.PID != os.Getpid() {
				return err
			}
			looked = now
		}
		if _, err := log.read(ctx, now, nil, func(task.ID) bool { return false }); err != nil {
			return err
		}
		for _, sum := range log.sorted() {
			if err := call(ctx, Call{Summary: sum}); err != nil {
				return err
			}
			delete(log.owing, sum.ID)
		}
		if err := b.callAnswered(ctx, now, answered, call); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// repeatCall is when a task is called out again whose run has not taken what was said to it.
const repeatCall = 5 * time.Second

// callAnswered calls out the tasks that own runs which something was said to and no process drives. answered has the
// runs and when they were called out.
func (b Board) callAnswered(ctx context.Context, now time.Time, answered map[run.ID]time.Time, call func(context.Context, Call) error) error {
	tasks, err := b.ws.ReadTasks()
	if errors.Is(err, store.ErrNoRuns) {
		return nil
	} else if err != nil {
		return err
	}
	said, err := tasks.Store.Inboxes(ctx)
	if err != nil || len(said) == 0 {
		clear(answered)
		return err
	}
	owing, _, err := b.List(ctx, Query{Owes: true})
	if err != nil {
		return err
	}
	for id := range answered {
		if !slices.Contains(said, id) {
			delete(answered, id)
		}
	}
	for _, id := range said {
		if now.Sub(answered[id]) < repeatCall {
			continue
		}
		_, driven, err := b.ws.Owner(ctx, id)
		if err != nil {
			return err
		}
		if driven {
			continue
		}
		r, err := tasks.Store.Run(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		} else if err != nil {
			return err
		}
		answered[id] = now
		if i := slices.IndexFunc(owing, func(s task.Summary) bool { return s.Run == r.Root }); i >= 0 {
			if err := call(ctx, Call{owing[i], true}); err != nil {
				return fmt.Errorf("task %s: %w", owing[i].ID, err)
			}
		}
	}
	return nil
}
