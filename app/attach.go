package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"sync"
	"time"

	"pawl/run"
	"pawl/store"
	"pawl/view"
	"pawl/worker"
)

// An Attached is a run that another process drives, as a face of this one shows it and talks
// to it. What is said goes into the run's inbox, and the process that drives the run takes
// it from there. Its methods mean what those of [Session] mean; they return when the words
// are durable in the inbox, which is before the run has taken them.
type Attached struct {
	w  *Workspace
	id run.ID

	mu    sync.Mutex
	state run.State
}

// Attach returns a run that another process drives, in the state in which its log is now. If
// no process drives it, what is said waits in the inbox until one does: [Workspace.Resume]
// is what to use then.
func (w *Workspace) Attach(ctx context.Context, id run.ID) (*Attached, error) {
	_, s, err := w.Load(ctx, id)
	return &Attached{w: w, id: id, state: s}, err
}

// ID returns the run's id.
func (a *Attached) ID() run.ID { return a.id }

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

// Say says something to the agent as message id.
func (a *Attached) Say(ctx context.Context, id string, delivery run.Delivery, parts ...run.Part) error {
	_, err := a.w.Say(ctx, a.id, delivery, id, parts...)
	return err
}

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
		id = string(newRun(time.Now()))
	}
	if len(parts) != 1 || parts[0].Type != run.TextPart || parts[0].Attached != "" {
		return id, w.put(ctx, of, id, store.Message, worker.Message{Delivery: delivery, Parts: parts})
	}
	kind := store.Steer
	if delivery == run.Queue {
		kind = store.Queue
	}
	return id, w.send(ctx, of, store.Row{Key: id, Kind: kind, Payload: parts[0].Text})
}

// Withdraw takes back a message to a run that was not delivered yet, as [Session.Withdraw]
// does, whichever process drives it.
func (w *Workspace) Withdraw(ctx context.Context, of run.ID, id string) error {
	return w.send(ctx, of, store.Row{Key: "withdraw-" + id, Kind: store.Withdraw, Payload: id})
}

// Waits reports whether what was put into the inbox of a run, with the id of a message, still
// waits for a process that drives the run.
func (w *Workspace) Waits(ctx context.Context, of run.ID, id string) (bool, error) {
	st, err := w.reading()
	if err != nil {
		return false, noRuns(err)
	}
	_, taken, err := st.Answer(ctx, of, id)
	return !taken, err
}

// Withdraw takes back a message that was not delivered yet.
func (a *Attached) Withdraw(ctx context.Context, id string) error {
	return a.w.Withdraw(ctx, a.id, id)
}

// Configure changes the run's configuration from the next step on.
func (a *Attached) Configure(ctx context.Context, c run.ConfigChange) error {
	return a.w.Set(ctx, a.id, c)
}

// Decide answers a call that waits for a person, of the run or of one below it.
func (a *Attached) Decide(ctx context.Context, of run.ID, d worker.Decision) error {
	if of != a.id && d.Answer == run.Wait {
		a.Interrupt(waitBelow(d))
		return nil
	}
	_, err := a.w.Decide(ctx, of, d)
	return err
}

// Answer answers a question of a run below.
func (a *Attached) Answer(ctx context.Context, q Question, parts ...run.Part) error {
	return a.w.answerBelow(ctx, q, parts)
}

// Questions returns the questions that the runs below this one wait with.
func (a *Attached) Questions() ([]Question, error) { return a.w.questionsBelow(a.State()) }

// answerBelow answers the question of a run that the run above it waits for. It returns when that
// one has taken the answer, or no process drives it.
func (w *Workspace) answerBelow(ctx context.Context, q Question, parts []run.Part) error {
	key := "answer-" + rand.Text()
	if err := w.put(ctx, q.Run, key, store.Message, worker.Message{Delivery: run.Queue, Parts: parts}); err != nil {
		return err
	}
	for deadline := time.Now().Add(decidePatience); time.Now().Before(deadline); {
		waits, err := w.Waits(ctx, q.Run, key)
		if err != nil || !waits {
			return err
		}
		st, err := w.writing()
		if err != nil {
			return err
		}
		if _, driven, err := worker.DriverOf(ctx, st, q.Run); err != nil || !driven {
			return err
		}
		select {
		case <-time.After(pollInbox):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Approvals returns the calls that wait for a person, of the run and of those below it.
func (a *Attached) Approvals() ([]Approval, error) {
	return a.w.Approvals(context.Background(), a.id)
}

// Interrupt tells the process that drives the run to stop its turn.
func (a *Attached) Interrupt(f run.Interrupted) bool {
	return a.w.put(context.Background(), a.id, "stop-"+rand.Text(), store.Interrupt, worker.Stopping{Turn: f.Turn, By: f.By}) == nil
}

// Close does nothing: the run is the other process's.
func (a *Attached) Close() error { return nil }

// put puts a row with a JSON payload into the inbox of a run and wakes its owner.
func (w *Workspace) put(ctx context.Context, id run.ID, key string, kind store.Kind, payload any) error {
	b, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	return w.send(ctx, id, store.Row{Key: key, Kind: kind, Payload: string(b)})
}

// send puts a row into the inbox of a run and wakes its owner.
func (w *Workspace) send(ctx context.Context, id run.ID, row store.Row) error {
	st, err := w.writing()
	if err != nil {
		return err
	}
	if err := st.Put(ctx, id, row); err != nil {
		return err
	}
	worker.Wake(ctx, st, id)
	return nil
}
