package app

import (
	"context"
	"crypto/rand"
	"iter"
	"sync"
	"time"

	"pawl/approval"
	"pawl/inbox"
	"pawl/request"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

// An Attached is a run that another process drives, as a face of this one shows it and talks
// to it. What is said goes into the run's inbox, and the process that drives the run takes
// it from there. Its methods mean what those of [Session] mean; they return when the words
// are durable in the inbox, which is before the run has taken them.
type Attached struct {
	conversation
	mu    sync.Mutex
	state run.State
}

// Attach returns a run that another process drives, in the state in which its log is now. If
// no process drives it, what is said waits in the inbox until one does: [Workspace.Resume]
// is what to use then.
func (w *Workspace) Attach(ctx context.Context, id run.ID) (*Attached, error) {
	_, s, err := w.Load(ctx, id)
	a := &Attached{state: s}
	a.conversation = conversation{w, id, a}
	return a, err
}

// State returns the run's state after the last event that was read, for reading only.
func (a *Attached) State() run.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

// Follow yields the run's events after number after and what is new as it happens. It ends
// when no process drives the run any more.
func (a *Attached) Follow(ctx context.Context, after int64) iter.Seq2[view.Update, error] {
	return func(yield func(view.Update, error) bool) {
		for u, err := range a.w.Follow(ctx, a.id, after) {
			if err == nil && u.Event != nil {
				err = a.apply(*u.Event)
			}
			if !yield(u, err) || err != nil {
				return
			}
		}
	}
}

func (a *Attached) apply(e run.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Seq <= a.state.Seq {
		return nil
	}
	next, err := a.state.Apply(e)
	if err == nil {
		a.state = next
	}
	return err
}

// hand puts requests into the run's inbox. It does not wait until a message is taken, but until every other
// request is.
func (a *Attached) hand(ctx context.Context, key string, requests ...request.Request) error {
	for _, r := range requests {
		if say, ok := r.(request.Say); ok {
			if _, err := a.w.Say(ctx, a.id, say.Delivery, say.ID, say.Parts...); err != nil {
				return err
			}
			continue
		}
		if _, err := a.w.hand(ctx, a.id, key, r); err != nil {
			return err
		}
	}
	return nil
}

func (a *Attached) decide(ctx context.Context, d request.Decide) error {
	_, err := a.w.Decide(ctx, a.id, d)
	return err
}

func (a *Attached) attend(context.Context) error { return nil }

// Say says something to the agent of a run, whichever process drives it, as message id; empty:
// an id is made. It returns when that is durable in the run's inbox, where it waits until a
// process drives the run. A message with the id of one before has no effect. To a run of a task
// nothing is said that no process drives: the error is a [*TaskRunError].
func (w *Workspace) Say(ctx context.Context, of run.ID, delivery run.Delivery, id string, parts ...run.Part) (string, error) {
	if _, driven, err := w.Owner(ctx, of); err != nil {
		return "", err
	} else if !driven {
		if err := w.checkNoTask(ctx, of); err != nil {
			return "", err
		}
	}
	if id == "" {
		id = string(runlog.NewID(time.Now()))
	}
	return id, w.put(ctx, of, id, request.Say{ID: id, Delivery: delivery, Parts: parts})
}

// Withdraw takes back a message to a run that was not delivered yet, as [Session.Withdraw]
// does, whichever process drives it.
func (w *Workspace) Withdraw(ctx context.Context, of run.ID, id string) error {
	return w.put(ctx, of, "withdraw-"+id, request.Withdraw{ID: id})
}

// Approvals returns the calls that wait for a person, of the run and of those below it.
func (a *Attached) Approvals() ([]approval.Approval, error) {
	return a.w.Approvals(context.Background(), a.id)
}

// Interrupt tells the process that drives the run to stop its turn.
func (a *Attached) Interrupt(f run.Interrupted) bool {
	return a.w.put(context.Background(), a.id, "stop-"+rand.Text(), request.Interrupt{Turn: f.Turn, By: f.By, Then: f.Then}) == nil
}

// Close does nothing: the run is the other process's.
func (a *Attached) Close() error { return nil }

// hand hands a request to the owner of a run; see [inbox.Hand].
func (w *Workspace) hand(ctx context.Context, of run.ID, key string, r request.Request) (taken bool, err error) {
	st, err := w.writing()
	if err != nil {
		return false, err
	}
	return inbox.Hand(ctx, st, of, key, r)
}

// put puts a request into the inbox of a run and wakes its owner.
func (w *Workspace) put(ctx context.Context, of run.ID, key string, r request.Request) error {
	st, err := w.writing()
	if err != nil {
		return err
	}
	return inbox.Put(ctx, st, of, key, r)
}
