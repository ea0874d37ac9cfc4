package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/task"
)

// A letter is requests on their way into the log that are recorded together.
type letter struct {
	requests []request.Request
	until    context.Context // if it has ended, the turn that begins with them is interrupted; nil: it does not end
	row      int64           // of the inbox that they come from; 0: none
	refused  error           // it could not be read
	task     task.Batch      // what is done to the run's task together with the events
	err      error
	done     chan struct{} // closed when it is recorded, or err says why not; nil for a row
}

// A mailbox holds the requests of this process's faces. Those of other processes come as rows of the inbox.
type mailbox struct {
	mu      sync.Mutex
	letters []*letter
	closed  bool
}

// ErrClosed says that a run was closed before what was wanted of it was recorded.
var ErrClosed = errors.New("the run was closed")

// Post hands requests to the run, which are recorded together or not at all: they are read in Run,
// which must be under way or be called. wait returns when they are durable; its error says why they
// were not recorded, or, if it is that of its context, that they still may be. If until has ended when
// they are read, the turn that begins with them is interrupted.
func (d *Runner) Post(until context.Context, requests ...request.Request) (wait func(context.Context) error) {
	return d.post(&letter{requests: requests, until: until}).wait
}

// PostForTask is Post of what is recorded together with actions on the task that the run
// belongs to: both are, or neither. If the task refuses one, that is the error of wait.
func (d *Runner) PostForTask(actions []task.Action, requests ...request.Request) (wait func(context.Context) error) {
	return d.post(&letter{requests: requests, task: task.Batch{Actions: actions}}).wait
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

// begins reports whether a letter says something to the agent: it waits while the turn before is being
// interrupted.
func (l *letter) begins() bool { return slices.ContainsFunc(l.requests, request.Request.Begins) }

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
		if l.begins() && hold {
			rest = append(rest, l)
			continue
		}
		wanted = append(wanted, d.meaning(l))
	}
	d.mail.letters = rest
	return wanted
}

// meaning returns what a letter means, as input of a step.
func (d *Runner) meaning(l *letter) func(run.State) []run.Payload {
	d.letters = append(d.letters, l)
	return func(s run.State) (payloads []run.Payload) {
		if l.err = cmp.Or(l.refused, l.task.Refused); l.err == nil {
			payloads, l.err = request.All(s, world{d}, l.requests...)
		}
		if l.row != 0 && l.err != nil {
			d.noteRefused(l)
		}
		if l.until != nil && l.until.Err() != nil && !s.Turn.Open() && slices.ContainsFunc(payloads, isPrompted) {
			payloads = append(payloads, StopOf(l.until).Interrupted)
		}
		return payloads
	}
}

func isPrompted(p run.Payload) bool { _, ok := p.(run.Prompted); return ok }

// noteRefused reports a request of another process that was refused, in case that process has gone.
func (d *Runner) noteRefused(l *letter) {
	d.w.debug("refused", "run", d.id, "row", l.row, "error", l.err)
	if len(l.requests) == 0 { // it could not be read
		d.notices = append(d.notices, fmt.Sprintf("what another process wants of the run is not done: %v", l.err))
	}
	for _, r := range l.requests {
		if _, ok := r.(request.Configure); ok {
			d.notices = append(d.notices, fmt.Sprintf("the configuration was not changed: %v", l.err))
		}
	}
}

// delivered tells the senders of the letters of a step that their events are durable, or
// that they cannot be written.
func (d *Runner) delivered(err error) {
	for _, l := range d.letters {
		if l.err == nil {
			l.err = err
		}
		if l.done != nil {
			close(l.done)
		}
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
	return slices.ContainsFunc(rows, func(r store.Row) bool {
		_, err := request.Decode(r.Kind, r.Payload)
		return !errors.Is(err, request.ErrUnknown) && !d.rows[r.ID]
	})
}
