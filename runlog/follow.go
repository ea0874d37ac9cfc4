package runlog

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"pawl/run"
	"pawl/view"
	"pawl/worker"
)

// Follow yields a run's events after number after and then, while a process drives the run,
// what is new as it happens; see [worker.Follow]. A run that this process drives is better
// followed by the methods of its session.
func (r Reader) Follow(ctx context.Context, id run.ID, after int64) iter.Seq2[view.Update, error] {
	st, err := r.open()
	if err != nil {
		return func(yield func(view.Update, error) bool) { yield(view.Update{}, NoRuns(err)) }
	}
	return worker.Follow(ctx, st, id, after)
}

// FollowChild yields the updates of a child run after event number after, and waits for one that
// has not begun. It ends when ctx is done: a child that waits for a person may be driven again.
func (r Reader) FollowChild(ctx context.Context, id run.ID, after int64) iter.Seq[view.Update] {
	return func(yield func(view.Update) bool) {
		for ctx.Err() == nil {
			for u, err := range r.Follow(ctx, id, after) {
				if err != nil {
					break // it may not be there yet; what it does is in its log
				}
				if u.Event != nil {
					after = u.Event.Seq
				}
				if !yield(u) {
					return
				}
			}
			select {
			case <-time.After(pollChild):
			case <-ctx.Done():
			}
		}
	}
}

// pollChild is how often a child run is looked for that has not begun.
const pollChild = 100 * time.Millisecond

// Waits reports whether what was put into the inbox of a run, with the id of a message, still
// waits for a process that drives the run.
func (r Reader) Waits(ctx context.Context, of run.ID, id string) (bool, error) {
	st, err := r.open()
	if err != nil {
		return false, NoRuns(err)
	}
	_, taken, err := st.Answer(ctx, of, id)
	return !taken, err
}

// FollowTree calls show for each update of a run in state s, and for those of the runs that its calls start
// from then on, and that these start. All that a child run does comes after the event that starts its call and
// before the one that settles it. When updates ends, the rest of the logs of the runs below is shown as far as
// it is written by then, unless ctx is done. show is called by one goroutine at a time, and not after
// FollowTree has returned. An error is one of updates.
func (r Reader) FollowTree(ctx context.Context, s run.State, updates iter.Seq2[view.Update, error], show func(run.ID, view.Update)) error {
	var showing sync.Mutex
	b := newBranch(r, s.Created.Run, func(id run.ID, u view.Update) {
		showing.Lock()
		defer showing.Unlock()
		show(id, u)
	})
	for _, c := range s.Turn.Calls {
		b.starts[c.Call.ID] = c.StartsChild()
	}
	var err error
	for u, e := range updates {
		if err = e; err != nil {
			break
		}
		b.take(ctx, u)
	}
	b.finishAll(ctx)
	return err
}

// A branch is a run that is followed, with those below it. It is used by one goroutine at a time.
type branch struct {
	runs Reader
	id   run.ID
	show func(run.ID, view.Update)

	last   int64               // the event that was shown last
	starts map[run.CallID]bool // calls that start runs
	below  map[run.CallID]*branch

	cancel context.CancelFunc // ends its goroutine; the first has none
	done   chan struct{}      // closed when that has ended
}

func newBranch(runs Reader, id run.ID, show func(run.ID, view.Update)) *branch {
	return &branch{runs: runs, id: id, show: show, starts: map[run.CallID]bool{}, below: map[run.CallID]*branch{}, done: make(chan struct{})}
}

// take shows an update, after all that came before it in the runs below.
func (b *branch) take(ctx context.Context, u view.Update) {
	var payload run.Payload
	if u.Event != nil {
		b.last, payload = u.Event.Seq, u.Event.Payload
	}
	switch f := payload.(type) {
	case run.CallDecided:
		if !f.Decision.Allows() {
			b.finish(ctx, f.Call)
		}
	case run.CallSettled:
		b.finish(ctx, f.Call)
	case run.Ended:
		if f.End != run.Asked {
			b.finishAll(ctx)
		}
	}
	b.show(b.id, u)
	switch f := payload.(type) {
	case run.CallInspected:
		c := run.CallState{Class: f.Class, Question: f.Question, Submits: f.Submits}
		b.starts[f.Call] = c.StartsChild()
	case run.CallStarted:
		if b.starts[f.Call] && b.below[f.Call] == nil {
			b.below[f.Call] = b.begin(ctx, run.ChildID(b.id, f.Call))
		}
	}
}

// begin follows a run below.
func (b *branch) begin(ctx context.Context, id run.ID) *branch {
	child := newBranch(b.runs, id, b.show)
	following, cancel := context.WithCancel(ctx)
	child.cancel = cancel
	go func() {
		defer close(child.done)
		for u := range b.runs.FollowChild(following, id, 0) {
			child.take(ctx, u)
		}
	}()
	return child
}

// finish shows the rest of the log of the run that a call has started, and of those below it.
func (b *branch) finish(ctx context.Context, call run.CallID) {
	child := b.below[call]
	if child == nil {
		return
	}
	delete(b.below, call)
	child.cancel()
	<-child.done
	for e, err := range b.runs.Events(ctx, child.id, child.last) {
		if err != nil {
			break // of a run that was not started; what cannot be read is told where it is driven
		}
		child.take(ctx, view.Update{Event: &e})
	}
	child.finishAll(ctx)
}

func (b *branch) finishAll(ctx context.Context) {
	for _, call := range slices.Sorted(maps.Keys(b.below)) {
		b.finish(ctx, call)
	}
}
