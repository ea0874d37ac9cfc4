package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"pawl/run"
	"pawl/store"
	"pawl/task"
)

// A Want is what a face wants of a run: it returns the events that it means in the state
// in which they are recorded, or why they mean nothing there.
type Want func(run.State) ([]run.Payload, error)

// A letter is a want on its way into the log.
type letter struct {
	want   Want
	begins bool // it may begin a turn
	err    error
	// note returns what is done to the run's task together with the events; turn is the
	// number of a turn that they begin. nil: nothing.
	note    func(turn int) []task.Action
	refused error         // the task does not take it
	done    chan struct{} // closed when it is recorded, or err says why not
}

// A mailbox holds the wants of this process's faces. Those of other processes come as rows
// of the inbox.
type mailbox struct {
	mu      sync.Mutex
	letters []*letter
	closed  bool
}

// ErrClosed says that a run was closed before what was wanted of it was recorded.
var ErrClosed = errors.New("the run was closed")

// Post hands w to the run: it is read in Run, which must be under way or be called. wait
// returns when its events are durable; its error says why they were not recorded, or, if
// it is that of its context, that they still may be. A w that begins says something to the
// agent: it waits while the turn before is being interrupted.
func (d *Runner) Post(w Want, begins bool) (wait func(context.Context) error) {
	return d.post(&letter{want: w, begins: begins}).wait
}

// PostForTask is Post of what is recorded together with actions on the task that the run
// belongs to: both are, or neither. note is given the number of the turn that begins with it,
// if one does. If the task refuses one, that is the error of wait.
func (d *Runner) PostForTask(w Want, note func(turn int) []task.Action) (wait func(context.Context) error) {
	return d.post(&letter{want: w, begins: true, note: note}).wait
}

func (d *Runner) post(l *letter) *letter {
	l.done = make(chan struct{})
	d.mail.mu.Lock()
	if d.mail.closed {
		l.err = ErrClosed
		close(l.done)
	} else {
		d.mail.letters = append(d.mail.letters, l)
	}
	d.mail.mu.Unlock()
	d.Wake()
	return l
}

func (l *letter) wait(ctx context.Context) error {
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Decided returns the want of a person's answer to a call, as a row of the inbox means it.
func (d *Runner) Decided(a Decision) Want {
	return func(s run.State) ([]run.Payload, error) {
		if payloads := d.decided(s, a); len(payloads) > 0 {
			return payloads, nil
		}
		return nil, fmt.Errorf("call %s does not need approval: another answer was first, or its turn has ended", a.Call)
	}
}

// Configured returns the want of a change of the run's configuration.
func (d *Runner) Configured(c run.ConfigChange) Want {
	return func(s run.State) ([]run.Payload, error) {
		if err := d.checkChange(s, c); err != nil {
			return nil, err
		}
		return []run.Payload{run.Configured{Change: c}}, nil
	}
}

// openMail takes the letters that can be read now, as input of a step. They are taken with the
// append that follows; see [Runner.delivered].
func (d *Runner) openMail() []func(run.State) []run.Payload {
	d.mail.mu.Lock()
	defer d.mail.mu.Unlock()
	t := &d.core.State.Turn
	hold := t.Open() && (t.Phase == run.Interrupting || d.gateClosed())
	var wanted []func(run.State) []run.Payload
	var rest []*letter
	for _, l := range d.mail.letters {
		if l.begins && hold {
			rest = append(rest, l)
			continue
		}
		d.letters = append(d.letters, l)
		wanted = append(wanted, func(s run.State) []run.Payload { return l.read(s) })
	}
	d.mail.letters = rest
	return wanted
}

// read returns the events of a letter that can follow s.
func (l *letter) read(s run.State) []run.Payload {
	var payloads []run.Payload
	if l.err = l.refused; l.err == nil {
		payloads, l.err = l.want(s)
	}
	for _, p := range payloads {
		if _, ok := p.(run.Interrupted); ok {
			continue // the runner has rules of its own for these
		}
		next, err := s.Apply(run.Event{At: s.At, Payload: p})
		if err != nil {
			l.err = err
			return nil
		}
		s = next
	}
	return payloads
}

// delivered tells the senders of the letters of a step that their events are durable, or
// that they cannot be written.
func (d *Runner) delivered(err error) {
	for _, l := range d.letters {
		if l.err == nil {
			l.err = err
		}
		close(l.done)
	}
	d.letters = nil
}

// returnMail ends the wait of all senders when the run is closed.
func (d *Runner) returnMail() {
	d.mail.mu.Lock()
	defer d.mail.mu.Unlock()
	d.mail.closed = true
	d.letters = append(d.letters, d.mail.letters...)
	d.mail.letters = nil
	d.delivered(ErrClosed)
}

// HasMail reports whether something was posted that Run has not read yet.
func (d *Runner) HasMail() bool {
	d.mail.mu.Lock()
	defer d.mail.mu.Unlock()
	return len(d.mail.letters) > 0
}

// Await waits, between two calls of Run, until Run has something to do: something was
// posted, another process wants something, the rules have changed on which a call waits, or a
// parked call may go on. Its error is that of ctx.
func (d *Runner) Await(ctx context.Context) error {
	waiter := &waiter{id: d.id, parked: len(d.core.Parked()) > 0, told: make(chan struct{}, 1)}
	if d.core.State.Turn.Open() {
		waiter.version = &d.w.Authorizer.Versions(d.id)[0]
	}
	d.w.enter(waiter)
	defer d.w.leave(waiter)
	var wakes <-chan struct{}
	if d.listen != nil {
		wakes = d.listen.Wake()
	}
	for !d.HasMail() && !d.hasRows() && !d.heardBelow() && !waiter.rules.Load() {
		select {
		case <-d.wake:
		case <-wakes:
		case <-waiter.told:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// hasRows reports whether there are rows in the inbox that Run would offer to the run.
func (d *Runner) hasRows() bool {
	if d.created != nil {
		return false
	}
	rows, err := d.w.Store.Inbox(context.Background(), d.id)
	if err != nil {
		d.w.debug("inbox", "run", d.id, "error", err)
	}
	return slices.ContainsFunc(rows, func(r store.Row) bool { return !d.rows[r.ID] && d.want(r) != nil })
}
