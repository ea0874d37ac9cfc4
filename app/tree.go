package app

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"pawl/run"
	"pawl/view"
)

// FollowTree calls show for each update of a run in state s, and for those of the runs that its calls start
// from then on, and that these start. All that a child run does comes after the event that starts its call and
// before the one that settles it. When updates ends, the rest of the logs of the runs below is shown as far as
// it is written by then, unless ctx is done. show is called by one goroutine at a time, and not after
// FollowTree has returned. An error is one of updates.
func (w *Workspace) FollowTree(ctx context.Context, s run.State, updates iter.Seq2[view.Update, error], show func(run.ID, view.Update)) error {
	var showing sync.Mutex
	b := newBranch(w, s.Created.Run, func(id run.ID, u view.Update) {
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
	w    *Workspace
	id   run.ID
	show func(run.ID, view.Update)

	last   int64               // the event that was shown last
	starts map[run.CallID]bool // calls that start runs
	below  map[run.CallID]*branch

	cancel context.CancelFunc // ends its goroutine; the first has none
	done   chan struct{}      // closed when that has ended
}

func newBranch(w *Workspace, id run.ID, show func(run.ID, view.Update)) *branch {
	return &branch{w: w, id: id, show: show, starts: map[run.CallID]bool{}, below: map[run.CallID]*branch{}, done: make(chan struct{})}
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
	child := newBranch(b.w, id, b.show)
	following, cancel := context.WithCancel(ctx)
	child.cancel = cancel
	go func() {
		defer close(child.done)
		for u := range b.w.FollowChild(following, id, 0) {
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
	for e, err := range b.w.Events(ctx, child.id, child.last) {
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
