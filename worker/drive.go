package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pawl/run"
	"pawl/store"
)

// A flight is a command that is being performed.
type flight struct {
	key    string
	call   run.CallID // empty for a model request
	cancel context.CancelCauseFunc
	stream *stream  // of a model request
	leads  []string // where the paths of a call led when it was allowed
	args   arguments
	keeper *keeper // of its result; nil: it is not stored
}

// A landing is what came of a flight: a fact, checked and recorded by the loop.
type landing struct {
	key  string
	fact run.Fact
	// bySchema: the answer was asked for by the schema of the run's result.
	bySchema bool
	objects  bool // the answer is one object
	// aborted: the flight was ended by an interrupt, which tells the rest.
	aborted bool
}

// errDisk marks an error of the log: the run cannot go on in this process.
type errDisk struct{ err error }

func (e errDisk) Error() string { return e.err.Error() }
func (e errDisk) Unwrap() error { return e.err }

// stuckAfter is how long what was started has to tell what it did once the turn
// was interrupted; after that its outcome is unknown.
const stuckAfter = time.Second

// pollInbox is how often the inbox is looked at: the socket usually wakes the
// driver at once, and this is for those who could not reach it.
const pollInbox = 200 * time.Millisecond

// Run records the facts given (a prompt, an answer) and drives the run until it
// owes nothing that this process can do: the turn has ended, or it waits for a
// person. It returns the state then. When ctx is done the turn is interrupted
// with ctx's cause if that is a [Stop], else as a shutdown.
//
// An error means that the log cannot be written or that a fact was refused: the
// run can be taken up again by Open.
func (d *Driver) Run(ctx context.Context, facts ...run.Fact) (run.State, error) {
	now := d.w.now()
	d.since = now
	var batch []run.Event
	for _, f := range facts {
		batch = append(batch, run.Event{At: now, Fact: f})
	}
	stopped := context.AfterFunc(ctx, func() { d.Interrupt(stopOf(ctx)) })
	defer stopped()
	// What was decided or set while nobody drove the run counts before anything
	// follows: a call that somebody has allowed must not be refused first.
	given := len(batch)
	meanwhile, took := d.inbox(store.Decide, store.Configure)
	batch = append(batch, meanwhile...)
	for {
		if err := d.advance(batch, took, given); err != nil {
			d.abandon()
			return d.state, err
		}
		batch, took, given = nil, nil, 0
		if d.atRest() {
			// What was wanted meanwhile is in the inbox; nothing is lost by leaving
			// it there for whoever drives next, but words may go on now.
			rows, ids := d.inbox()
			if len(ids) == 0 {
				return d.state, nil
			}
			batch, took = rows, ids
			continue
		}
		batch, took = d.await()
	}
}

// A Stop is a cause for cancelling Run's context that says how the turn was
// interrupted.
type Stop struct{ Interrupted run.Interrupted }

func (s Stop) Error() string { return "interrupted: " + string(s.Interrupted.Cause) }

func stopOf(ctx context.Context) run.Interrupted {
	var s Stop
	if errors.As(context.Cause(ctx), &s) {
		return s.Interrupted
	}
	return run.Interrupted{Cause: run.ByShutdown}
}

// Interrupt stops the turn: nothing starts any more when it returns, and what
// runs has been told to stop. The record follows. It may be called from any
// goroutine, at any time; only the first counts, and after one with words, which begin
// a turn, the first that comes then.
func (d *Driver) Interrupt(f run.Interrupted) {
	d.mu.Lock()
	first := d.pending == nil
	switch {
	case first:
		d.pending = &f
	case len(d.pending.Then) > 0 && d.next == nil && f.Cause != run.ByWait:
		d.next = &f
	}
	d.cancel(Stop{f})
	d.mu.Unlock()
	if first {
		go d.env.Session.StopJobs("the turn was interrupted") // nothing that ran is left running
		d.show(View{Stopping: &f})
	}
	d.Wake()
}

// Wake makes the driver look at the inbox.
func (d *Driver) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// gateClosed reports whether an interrupt is wanted or recorded: nothing starts.
func (d *Driver) gateClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pending != nil
}

// advance records events, everything that follows from them by itself, and what
// is about to start, in one append; then it starts that. The first given events are
// the caller's, and must follow; the others may have come too late.
func (d *Driver) advance(batch []run.Event, took []int64, given int) error {
	s := d.state
	d.decided, d.leads = map[run.CallID]bool{}, map[run.CallID][]string{}
	var ready []run.Event
	if d.created != nil {
		ready = append(ready, run.Event{At: d.w.now(), Fact: *d.created})
	}
	record := func(e run.Event) error {
		next, err := s.Apply(e)
		if err != nil {
			return err
		}
		if s.Turn.Open && !next.Turn.Open && s.Turn.Interrupt.Cause != "" {
			d.stopped(s.Turn.Interrupt) // what is said with it may begin a turn in the same append
		}
		if !s.Turn.Open && next.Turn.Open {
			d.reopen()
		}
		s = next
		ready = append(ready, e)
		return nil
	}
	for i, e := range batch {
		if err := record(e); err != nil {
			if i >= given || isLate(e.Fact) {
				// Too late, or wanted by somebody who did not know: it is refused, and
				// what it told is dropped.
				d.w.debug("refused", "run", d.id, "fact", fmt.Sprintf("%T", e.Fact), "error", err)
				continue
			}
			return err
		}
	}
	var starts []run.Command
	for {
		if f, ok := d.wanted(s); ok {
			if err := record(run.Event{At: d.w.now(), Fact: f}); err != nil {
				return err
			}
			starts = slices.DeleteFunc(starts, func(c run.Command) bool {
				_, call := c.(run.Perform)
				return !call // a recorded start is settled by its own flight, which finds the gate closed
			})
			continue
		}
		f, start, err := d.follows(s)
		if err != nil {
			return err
		}
		if f == nil {
			break
		}
		if err := record(run.Event{At: d.w.now(), Fact: f}); err != nil {
			return err
		}
		if start != nil {
			starts = append(starts, start)
		}
	}
	if err := d.append(s, ready, took); err != nil {
		return err
	}
	d.launch(starts)
	return nil
}

// commit records events that need nothing of what follows.
func (d *Driver) commit(events []run.Event) error {
	if len(events) == 0 {
		return nil
	}
	s := d.state
	for _, e := range events {
		next, err := s.Apply(e)
		if err != nil {
			return err
		}
		s = next
	}
	return d.append(s, events, nil)
}

// append makes events durable, adopts the state after them, and shows them.
func (d *Driver) append(s run.State, events []run.Event, took []int64) error {
	if len(events) == 0 && len(took) == 0 {
		return nil
	}
	after := d.state.Seq
	if d.created != nil {
		after = 0
	}
	// Not the caller's context: an interrupt must not keep its own record from
	// the disk.
	var taken []store.Taken
	for _, id := range took {
		taken = append(taken, store.Taken{ID: id})
	}
	if err := d.w.Store.Append(context.Background(), d.id, after, events, taken...); err != nil {
		return errDisk{fmt.Errorf("the run stops here: its log cannot be written: %w", err)}
	}
	d.created = nil
	d.state = s
	for i := range events {
		events[i].Seq = after + int64(i) + 1
		d.show(View{Event: &events[i]})
	}
	return nil
}

// isLate reports whether a refused fact is one that came too late, as every
// landing may.
func isLate(f run.Fact) bool {
	switch f.(type) {
	case run.Prompted, run.QuestionAnswered, run.Configured:
		return false
	}
	return true
}

// stopped takes an interrupt as done: its turn is over. What was wanted since then is
// for the turn that its words begin, if it has any.
func (d *Driver) stopped(f run.Interrupted) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending = nil
	if len(f.Then) > 0 {
		d.pending = d.next
	}
	d.next = nil
}

// reopen opens the gate for a new turn. An interrupt that is pending stays so: it
// was meant for what is about to begin.
func (d *Driver) reopen() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending == nil && d.turn.Err() != nil {
		d.turn, d.cancel = context.WithCancelCause(context.Background())
	}
}

// wanted returns the interrupt that is to be recorded now.
func (d *Driver) wanted(s run.State) (run.Fact, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending == nil || !s.Turn.Open || s.Turn.Interrupt.Cause != "" || d.handing(s) {
		return nil, false
	}
	f := *d.pending
	if f.Cause == run.ByWait && !waits(s, f.Call) {
		// Somebody else has decided meanwhile; the word to stop stands.
		f.Cause, f.Call = run.ByPerson, ""
	}
	for _, fl := range d.flights {
		if fl.stream != nil {
			f.Partial = fl.stream.partial(s.NextCall())
		}
	}
	return f, true
}

// waits reports whether a call waits for a decision.
func waits(s run.State, id run.CallID) bool {
	for _, c := range s.Turn.Calls {
		if c.ID == id {
			return c.Status == run.CallIsAsked
		}
	}
	return false
}

// follows returns the next fact that can be recorded without waiting for
// anything, and what is to be started once it is durable; nil if there is none.
func (d *Driver) follows(s run.State) (run.Fact, run.Command, error) {
	closed := d.gateClosed()
	for _, c := range s.Next() {
		switch c := c.(type) {
		case run.Record:
			return c.Fact, nil, nil
		case run.Ask:
			return d.look(s, c.Call), nil, nil
		case run.Decide:
			if closed {
				continue
			}
			if f := d.decide(s, c.Call); f != nil {
				return f, nil, nil
			}
			closed = d.gateClosed() // deciding may have closed it
		case run.Perform:
			if d.handsIn(s, c.Call.Call) {
				if !closed || c.Call.Status == run.CallRuns {
					return d.handIn(s, c.Call), nil, nil
				}
				continue
			}
			if !closed && c.Call.Status == run.CallMay {
				if f := d.reconsider(s, c.Call); f != nil {
					return f, nil, nil
				}
				return run.CallStarted{Call: c.Call.ID, Attempt: c.Attempt}, c, nil
			}
		case run.Request:
			if closed || s.Turn.Request.Open || c.NotBefore.After(d.w.now()) {
				continue
			}
			return run.RequestStarted{Purpose: c.Purpose, Attempt: c.Attempt, Model: s.Config.Model, End: c.End}, c, nil
		case run.Drive:
			return nil, nil, errors.New("this run is of an external agent, which this pawl cannot drive")
		}
	}
	return nil, nil, nil
}

// launch starts what has been recorded as started, and cancels what is in flight
// and no longer owed.
func (d *Driver) launch(starts []run.Command) {
	owed := map[string]bool{}
	for _, c := range d.state.Next() {
		owed[c.Key()] = true
	}
	for key, f := range d.flights {
		if !owed[key] {
			f.cancel(errNotOwed)
			if f.stream != nil {
				delete(d.flights, key) // nobody waits for its answer
			}
		}
	}
	for _, c := range starts {
		ctx, cancel := context.WithCancelCause(d.turnContext())
		f := &flight{key: c.Key(), cancel: cancel}
		d.flights[f.key] = f
		switch c := c.(type) {
		case run.Perform:
			f.call = c.Call.ID
			f.leads, f.args, f.keeper = d.leads[c.Call.ID], d.arguments(c.Call.Call), d.keeper(c.Call)
			go d.perform(ctx, f, c.Call)
		case run.Request:
			clear(d.resolved) // the calls before it are settled
			f.stream = &stream{}
			d.request(ctx, f, c)
		}
	}
	if d.state.Turn.Interrupt.Cause != "" && d.state.Turn.Open && d.stuck == nil {
		d.stuck = time.NewTimer(stuckAfter)
	}
	if d.stuck != nil && (!d.state.Turn.Open || d.state.Turn.Interrupt.Cause == "") {
		d.stuck.Stop() // it was of a turn that is over; the next may have begun in the same append
		d.stuck = nil
	}
	if !d.state.Turn.Open && d.state.Turn.End.End != "" {
		d.stopped(run.Interrupted{}) // it was this turn's, also when it came too late for it
	}
}

var errNotOwed = errors.New("no longer owed")

func (d *Driver) turnContext() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.turn
}

// atRest reports whether nothing is under way and nothing is owed that this
// process can do.
func (d *Driver) atRest() bool {
	if !d.state.Turn.Open {
		return true
	}
	if len(d.flights) > 0 || d.gateClosed() {
		return false
	}
	for _, c := range d.state.Next() {
		if _, ok := c.(run.Decide); !ok {
			return false // a request that waits for its time
		}
	}
	return d.w.OnAsk == AskWait
}

// await waits until something happened and returns it as events.
func (d *Driver) await() ([]run.Event, []int64) {
	timer, stop := d.timer()
	defer stop()
	var stuck <-chan time.Time
	if d.stuck != nil {
		stuck = d.stuck.C
	}
	var wakes <-chan struct{}
	if d.listen != nil {
		wakes = d.listen.Wake()
	}
	select {
	case l := <-d.landed:
		return d.land(l), nil
	case <-d.wake:
		return nil, nil // an interrupt: advance records it
	case <-wakes:
		return d.inbox()
	case <-stuck:
		d.stuck = nil
		return d.giveUp(), nil
	case <-timer:
		if deadline := d.deadline(); !deadline.IsZero() && !d.w.now().Before(deadline) {
			d.Interrupt(run.Interrupted{Cause: run.ByTimeout})
			return nil, nil
		}
		return d.inbox()
	}
}

// deadline is when the turn's time is spent; zero if it is not limited or the turn
// is being stopped already. Time in which nobody drove the run does not count: a
// decision may come after a month.
func (d *Driver) deadline() time.Time {
	t := d.state.Deadline()
	if t.IsZero() || d.gateClosed() || d.state.Turn.Interrupt.Cause != "" {
		return time.Time{}
	}
	return t.Add(max(0, d.since.Sub(d.state.Turn.Started)))
}

// timer fires when the inbox is to be looked at, a request may be tried again, or
// the turn's time is spent.
func (d *Driver) timer() (<-chan time.Time, func()) {
	now := d.w.now()
	wait := pollInbox
	sooner := func(t time.Time) {
		if !t.IsZero() {
			wait = max(0, min(wait, t.Sub(now)))
		}
	}
	sooner(d.deadline())
	for _, c := range d.state.Next() {
		if r, ok := c.(run.Request); ok && !d.state.Turn.Request.Open && !d.gateClosed() {
			sooner(r.NotBefore)
		}
	}
	t := time.NewTimer(wait)
	return t.C, func() { t.Stop() }
}

// land takes in what came of a flight, and whatever else has come meanwhile: facts
// that become true together go in one append.
func (d *Driver) land(l landing) []run.Event {
	var events []run.Event
	for {
		// Unknown: it was left behind, and tells of a command that is over. Aborted: it
		// stays until the interrupt has taken what streamed; launch drops it.
		if f := d.flights[l.key]; f != nil && !l.aborted {
			f.cancel(nil)
			delete(d.flights, l.key)
			for _, fact := range d.meaning(l) {
				events = append(events, run.Event{At: d.w.now(), Fact: fact})
			}
		}
		select {
		case l = <-d.landed:
		default:
			return events
		}
	}
}

// meaning returns what came of a flight with what follows from it.
func (d *Driver) meaning(l landing) []run.Fact {
	reply, ok := l.fact.(run.Replied)
	switch {
	case ok && l.objects && d.state.Turn.Request.Purpose == run.ForStep:
		reply, also := d.chosen(d.state, reply)
		return append([]run.Fact{reply}, also...)
	case ok && l.objects:
		return []run.Fact{plainly(reply)}
	case ok && l.bySchema:
		if also := d.answered(d.state, reply); also != nil {
			return []run.Fact{reply, also}
		}
	}
	return []run.Fact{l.fact}
}

// giveUp settles as unknown what did not return in time after an interrupt.
func (d *Driver) giveUp() []run.Event {
	// It is as lost as if its process had died.
	lost := d.state.Lost()
	for i := range lost {
		lost[i].At = d.w.now()
	}
	// What is left behind may still land; its facts are refused.
	for key, f := range d.flights {
		f.cancel(errNotOwed)
		delete(d.flights, key)
	}
	return lost
}

// abandon stops what is under way because the log cannot be written.
func (d *Driver) abandon() {
	d.mu.Lock()
	d.cancel(errClosed)
	d.mu.Unlock()
	deadline := time.After(2 * stuckAfter)
	for len(d.flights) > 0 {
		select {
		case l := <-d.landed:
			delete(d.flights, l.key)
		case <-deadline:
			return
		}
	}
}
