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
func (r *Runner) Post(until context.Context, requests ...request.Request) (wait func(context.Context) error) {
	return r.post(&letter{requests: requests, until: until}).wait
}

// PostForTask is Post of what is recorded together with actions on the task that the run
// belongs to: both are, or neither. If the task refuses one, that is the error of wait.
func (r *Runner) PostForTask(actions []task.Action, requests ...request.Request) (wait func(context.Context) error) {
	return r.post(&letter{requests: requests, task: task.Batch{Actions: actions}}).wait
}

func (r *Runner) post(l *letter) *letter {
	l.done = make(chan struct{})
	r.mail.mu.Lock()
	if r.mail.closed {
		l.err = ErrClosed
		close(l.done)
	} else {
		r.mail.letters = append(r.mail.letters, l)
	}
	r.mail.mu.Unlock()
	r.Wake()
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
func (r *Runner) openMail() []func(run.State) []run.Payload {
	r.mail.mu.Lock()
	defer r.mail.mu.Unlock()
	t := &r.core.State.Turn
	hold := t.Open() && (t.Phase == run.Interrupting || r.gateClosed())
	var wanted []func(run.State) []run.Payload
	var rest []*letter
	for _, l := range r.mail.letters {
		if l.begins() && hold {
			rest = append(rest, l)
			continue
		}
		wanted = append(wanted, r.meaning(l))
	}
	r.mail.letters = rest
	return wanted
}

// meaning returns what a letter means, as input of a step.
func (r *Runner) meaning(l *letter) func(run.State) []run.Payload {
	r.letters = append(r.letters, l)
	return func(s run.State) (payloads []run.Payload) {
		if l.err = cmp.Or(l.refused, l.task.Refused); l.err == nil {
			payloads, l.err = request.All(s, world{r}, l.requests...)
		}
		if l.row != 0 && l.err != nil {
			r.noteRefused(l)
		}
		if l.until != nil && l.until.Err() != nil && !s.Turn.Open() && slices.ContainsFunc(payloads, isPrompted) {
			payloads = append(payloads, StopOf(l.until).Interrupted)
		}
		return payloads
	}
}

func isPrompted(p run.Payload) bool { _, ok := p.(run.Prompted); return ok }

// noteRefused reports a request of another process that was refused, in case that process has gone.
func (r *Runner) noteRefused(l *letter) {
	r.w.debug("refused", "run", r.id, "row", l.row, "error", l.err)
	if len(l.requests) == 0 { // it could not be read
		r.notices = append(r.notices, fmt.Sprintf("what another process wants of the run is not done: %v", l.err))
	}
	for _, wanted := range l.requests {
		if _, ok := wanted.(request.Configure); ok {
			r.notices = append(r.notices, fmt.Sprintf("the configuration was not changed: %v", l.err))
		}
	}
}

// delivered tells the senders of the letters of a step that their events are durable, or
// that they cannot be written.
func (r *Runner) delivered(err error) {
	for _, l := range r.letters {
		if l.err == nil {
			l.err = err
		}
		if l.done != nil {
			close(l.done)
		}
	}
	r.letters = nil
}

// returnMail ends the wait of all senders when the run is closed.
func (r *Runner) returnMail() {
	r.mail.mu.Lock()
	defer r.mail.mu.Unlock()
	r.mail.closed = true
	r.letters = append(r.letters, r.mail.letters...)
	r.mail.letters = nil
	r.delivered(ErrClosed)
}

// HasMail reports whether something was posted that Run has not read yet.
func (r *Runner) HasMail() bool {
	r.mail.mu.Lock()
	defer r.mail.mu.Unlock()
	return len(r.mail.letters) > 0
}

// Await waits, between two calls of Run, until Run has something to do: something was
// posted, another process wants something, the rules have changed on which a call waits, or a
// parked call may go on. Its error is that of ctx.
func (r *Runner) Await(ctx context.Context) error {
	waiter := &waiter{id: r.id, parked: len(r.core.Parked()) > 0, told: make(chan struct{}, 1)}
	if r.core.State.Turn.Open() {
		waiter.version = &r.w.Authorizer.Versions(r.id)[0]
	}
	r.w.enter(waiter)
	defer r.w.leave(waiter)
	var wakes <-chan struct{}
	if r.listen != nil {
		wakes = r.listen.Wake()
	}
	for !r.HasMail() && !r.hasRows() && !r.heardBelow() && !waiter.rules.Load() {
		select {
		case c := <-r.done: // hooks that nothing waits for
			r.late = append(r.late, c)
			return nil
		case <-r.wake:
		case <-wakes:
		case <-waiter.told:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// hasRows reports whether there are rows in the inbox that Run would offer to the run.
func (r *Runner) hasRows() bool {
	if r.created != nil {
		return false
	}
	rows, err := r.w.Store.Inbox(context.Background(), r.id)
	if err != nil {
		r.w.debug("inbox", "run", r.id, "error", err)
	}
	return slices.ContainsFunc(rows, func(row store.Row) bool {
		_, err := request.Decode(row.Kind, row.Payload)
		return !errors.Is(err, request.ErrUnknown) && !r.rows[row.ID]
	})
}
