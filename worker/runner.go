package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/task"
	"pawl/tool"
	"pawl/view"
)

// An operation is a command in flight.
type operation struct {
	key    string
	cancel context.CancelCauseFunc
	stream *stream // of a model request
	// recorded is sent to when a report of an external turn is durable. At most one report
	// is pending. nil for other operations.
	recorded chan struct{}
	leads    []string // where the paths of a call led when it was allowed
	args     arguments
	result   *resultWriter // stores the call's result; nil: it is not stored
}

// errDisk is an error of the log: the run cannot continue in this process.
type errDisk struct{ err error }

func (e errDisk) Error() string { return e.err.Error() }
func (e errDisk) Unwrap() error { return e.err }

// stuckAfter is how long running calls may take to stop after an interrupt; after that
// their outcome is unknown.
const stuckAfter = time.Second

// pollInbox is how often the inbox is read without a wake-up, for senders that could not
// reach the socket.
const pollInbox = 200 * time.Millisecond

// Run records the given events (a prompt, an answer) and drives the run until its turn
// has ended or waits for a person. It returns the state at that point. When ctx is done,
// the turn is interrupted: with ctx's cause if that is a [Stop], else as a shutdown.
//
// An error means that the log cannot be written or that a given event was refused. The
// run can then only be continued by Close and Open.
func (d *Runner) Run(ctx context.Context, given ...run.Payload) (run.State, error) {
	defer d.join()
	d.Attend()
	defer d.refuse()
	defer d.interruptAfter(ctx)()
	if !d.gateClosed() { // else parked operations find the gate closed
		d.core.Unpark()
	}
	resumed := d.fresh
	in := run.Input{Given: d.recovered(), Last: given}
	if d.created == nil {
		// Decisions and settings made while the run was not driven come first; the
		// caller's (a limit on the command line) override them.
		in.Wanted = d.inbox(request.Request.Settles)
	}
	in.Wanted = append(in.Wanted, d.openMail()...)
	for {
		if err := d.step(in); err != nil {
			d.abandon(in)
			return d.core.State, err
		}
		if resumed {
			resumed = false
			d.showRetry()
		}
		switch {
		case d.interrupted(), d.rulesChanged: // an interrupt arrived during the step; its rules may decide other calls
			d.rulesChanged = false
			in = run.Input{}
			continue
		case !d.atRest():
			if in = d.await(); d.heardBelow() {
				d.core.Unpark()
			}
			continue
		}
		in = run.Input{Wanted: d.wanted()} // a message that arrived meanwhile may begin a turn
		if len(in.Wanted) == 0 && d.leave() {
			return d.core.State, nil
		}
		d.Attend()
	}
}

// interruptAfter interrupts what is driven when ctx is done. Once stop has returned it does so no
// more: the next turn is not of this ctx.
func (d *Runner) interruptAfter(ctx context.Context) (stop func()) {
	interrupt := func() { d.Interrupt(StopOf(ctx).Interrupted) }
	if ctx.Err() != nil { // AfterFunc would interrupt later, from another goroutine
		interrupt()
		return func() {}
	}
	interrupted := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() { defer close(interrupted); interrupt() })
	return func() {
		if !unwatch() {
			<-interrupted
		}
	}
}

// showRetry says that a resumed run waits to retry a request: what has failed was shown by
// the process before it.
func (d *Runner) showRetry() {
	if at := d.core.RetryAt(); !at.IsZero() {
		wait := max(0, at.Sub(d.w.now())).Round(100 * time.Millisecond)
		d.feed.show(view.Update{Notice: fmt.Sprintf("%s; retrying in %s", d.core.State.Turn.Request.Reason, wait)})
	}
}

// interrupted reports whether an interrupt is pending.
func (d *Runner) interrupted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gate.Interrupt() != nil
}

// Attend says that the turn which is open or about to begin is driven: interrupts are
// accepted from now on, until Run returns. Run does it itself; the goroutine that calls Run
// may do it before. An interrupt that was accepted stays accepted.
func (d *Runner) Attend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gate.Interrupt() == nil {
		d.gate.Attend(d.core.State)
	}
}

// leave lets the gate accept no interrupt any more, unless one was accepted that is not
// recorded yet: it reports whether the run can be left.
func (d *Runner) leave() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gate.Interrupt() != nil {
		return false
	}
	d.gate = run.Gate{}
	return true
}

// refuse lets the gate accept no interrupt any more: a run that is not driven accepts none.
func (d *Runner) refuse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = run.Gate{}
}

// recovered returns the events that settle operations which were in flight when the run
// was last driven. Tools that can determine the outcome of their call are asked.
func (d *Runner) recovered() []run.Payload {
	if !d.fresh {
		if d.core.State.Turn.Open() { // this process left it to wait for a person: only time has passed
			return []run.Payload{run.Resumed{}}
		}
		return nil
	}
	d.fresh = false
	payloads := d.core.State.Recover()
	for i, p := range payloads {
		payloads[i] = d.reconcile(p)
	}
	return payloads
}

// reconcile asks the tool of a call with an unknown outcome for the outcome.
func (d *Runner) reconcile(p run.Payload) run.Payload {
	lost, ok := p.(run.CallSettled)
	if !ok || lost.Outcome != run.Unknown {
		return p
	}
	c, ok := d.core.State.Turn.Call(lost.Call)
	if !ok {
		return p
	}
	t, ok := d.tool(c.Tool)
	r, can := t.(tool.Reconciler)
	if !ok || !can {
		return p
	}
	env := d.env.ForCall()
	res, known := r.Reconcile(env, tool.Call{Run: d.id, ID: c.ID, Args: d.arguments(c.Call).json})
	if !known {
		return p
	}
	outcome := settled(c.ID, res)
	outcome.Tools = env.Changes()
	return outcome
}

// A Stop is a cancellation cause of Run's context that says how to interrupt the turn.
type Stop struct{ Interrupted run.Interrupted }

func (s Stop) Error() string { return "interrupted: " + string(s.Interrupted.Cause) }

// StopOf returns how the end of ctx interrupts a turn: as its cause says if that is a Stop,
// else as a shutdown.
func StopOf(ctx context.Context) Stop {
	if s, ok := errors.AsType[Stop](context.Cause(ctx)); ok {
		return s
	}
	return Stop{run.Interrupted{Cause: run.ByShutdown}}
}

// Interrupt stops the turn that is driven. When it returns nothing new starts, and running
// operations are cancelled; the interrupt is recorded later. It reports whether the
// interrupt was accepted: not if no turn is driven, if f names another turn, or if the
// turn was interrupted already. It may be called from any goroutine, at any time.
func (d *Runner) Interrupt(f run.Interrupted) bool {
	d.mu.Lock()
	counts := d.gate.Close(f)
	if counts {
		d.cancel(Stop{f})
		if d.metrics != nil {
			d.metrics.Stopping(d.w.now())
		}
	}
	d.mu.Unlock()
	if counts {
		go d.env.Session.StopJobs("the turn was interrupted") // stopping may take a while
		d.feed.show(view.Update{Stopping: &f})
		d.Wake()
	}
	return counts
}

// Wake makes the runner read the inbox.
func (d *Runner) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// gateClosed reports whether an interrupt is pending or recorded: nothing starts.
func (d *Runner) gateClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gate.Closed()
}

// step records the input, everything that follows from it, and what is about to start in
// one append; then it starts the operations.
func (d *Runner) step(in run.Input) error {
	d.mu.Lock()
	in.Interrupt, in.Closed = d.gate.Interrupt(), d.gate.Closed()
	d.mu.Unlock()
	var b run.Batch
	var events []run.Event
	env := d.env // what the batch judges calls by; further folders of its own count for the next
	for again := 0; ; again++ {
		clear(d.rules)
		clear(d.inspected)
		d.notices = d.notices[:0]
		var err error
		b, err = d.core.Step(d.w.now(), world{d}, in)
		if err == nil {
			events, err = d.append(b)
		}
		if errors.Is(err, errAgain) && again < maxAgain {
			continue // nothing was written
		}
		if err != nil {
			d.delivered(err)
			return err
		}
		break
	}
	for _, r := range b.Refused { // it came too late
		d.w.debug("refused", "run", d.id, "event", store.Type(r.Payload), "error", r.Err)
	}
	for _, e := range events {
		d.logged(e)
	}
	if d.metrics != nil {
		d.metrics.Recorded(d.State(), events)
	}
	left := leftChildren(d.core.State, events)
	cancel := d.core.Adopt(b, in)
	d.publish() // before the events are shown: who sees one finds it in State
	for i := range events {
		d.feed.show(view.Update{Event: &events[i]})
	}
	d.storeRules(events)
	for _, text := range d.notices {
		d.feed.show(view.Update{Notice: text})
	}
	d.delivered(nil)
	d.follow(b, in, cancel, env)
	for _, call := range left {
		d.interruptChild(call)
	}
	d.showWaiting()
	return nil
}

// logged writes to the diagnostics what is decided of a call and what comes of it, and interrupts:
// never arguments or results.
func (d *Runner) logged(e run.Event) {
	switch p := e.Payload.(type) {
	case run.CallDecided:
		d.w.debug("call decided", "run", d.id, "call", p.Call, "answer", p.Decision.Answer, "source", p.Decision.Source, "rule", p.Decision.Rule)
	case run.CallStarted:
		d.w.debug("call started", "run", d.id, "call", p.Call)
	case run.CallSettled:
		d.w.debug("call settled", "run", d.id, "call", p.Call, "outcome", p.Outcome)
	case run.Interrupted:
		d.w.debug("interrupted", "run", d.id, "cause", p.Cause)
	case run.Ended:
		d.w.debug("turn ended", "run", d.id, "end", p.End, "reason", p.Reason)
	}
}

// errAgain says that a step has to be made again, because the task of the run does not take what follows
// from it.
var errAgain = errors.New("the task does not take it")

// maxAgain bounds how often a step is made again.
const maxAgain = 1000

// append makes the events of a batch durable and returns them as they are in the log.
func (d *Runner) append(b run.Batch) ([]run.Event, error) {
	events, after := b.Events, d.core.State.Seq
	if d.created != nil && len(events) > 0 {
		after = 0
		created := run.Event{At: events[0].At, Payload: *d.created}
		events = append([]run.Event{created}, events...)
	}
	taken, forget := d.taken(events)
	if len(events) == 0 && len(taken) == 0 {
		return nil, nil
	}
	var again bool
	var err error
	if d.task != nil {
		again, err = d.task.Append(d.core.State, b.After(), events, d.batches(), taken)
	} else { // not in the caller's context: its cancellation must still be recorded
		err = d.w.Store.Append(context.Background(), d.id, after, events, taken...)
	}
	switch {
	case again:
		return nil, errAgain
	case err != nil:
		return nil, errDisk{fmt.Errorf("the log cannot be written, and the run was stopped: %w", err)}
	}
	forget()
	d.created = nil
	for i := range events {
		events[i].Seq = after + int64(i) + 1
	}
	return events, nil
}

// batches returns what is done to the task of the run together with the letters of the step.
func (d *Runner) batches() (batches []*task.Batch) {
	for _, l := range d.letters {
		if l.err == nil {
			batches = append(batches, &l.task)
		}
	}
	return batches
}

// follow acts on a batch that is durable: it updates the gate, starts the operations
// recorded as started, in env, and cancels those no longer owed.
func (d *Runner) follow(b run.Batch, in run.Input, cancel []string, env tool.Env) {
	s := &d.core.State
	d.mu.Lock()
	late := d.gate.Adopt(b)
	interrupted := d.gate.Closed()
	if interrupted {
		f := s.Turn.Interrupt
		if wanted := d.gate.Interrupt(); wanted != nil { // not recorded yet
			f = *wanted
		}
		d.cancel(Stop{f})
	} else if d.turn.Err() != nil {
		d.turn, d.cancel = context.WithCancelCause(context.Background())
	}
	turn := d.turn
	d.mu.Unlock()
	for _, f := range late {
		if len(f.Then) > 0 {
			d.feed.show(view.Update{Notice: "not delivered because the turn had ended: " + run.PlainText(f.Then)})
		}
	}
	if interrupted && s.Turn.Phase == run.Interrupting && d.stuck == nil {
		go d.env.Session.StopJobs("the turn was interrupted")
		d.stuck = time.NewTimer(stuckAfter)
	}
	if d.stuck != nil && s.Turn.Phase != run.Interrupting {
		d.stuck.Stop()
		d.stuck = nil
	}
	for _, c := range in.Done {
		op := d.ops[c.Key]
		if c.Parked {
			d.below.runs = nil
		}
		switch {
		case op == nil:
		case c.More:
			if op.recorded != nil {
				op.recorded <- struct{}{}
			}
		default:
			op.cancel(nil)
			delete(d.ops, c.Key)
		}
	}
	for _, c := range b.Start {
		ctx, cancel := context.WithCancelCause(turn)
		op := &operation{key: c.Key(), cancel: cancel}
		d.ops[op.key] = op
		switch c := c.(type) {
		case run.Perform:
			op.leads, op.args, op.result = d.leads(c.Call.ID), d.arguments(c.Call.Call), d.resultWriter(c.Call)
			go d.perform(ctx, env.ForCall(), op, c.Call)
		case run.Request:
			clear(d.resolved) // the calls before it are settled
			op.stream = &stream{}
			d.request(ctx, op, c)
		case run.ExternalTurn:
			clear(d.resolved)
			op.recorded = make(chan struct{}, 1)
			before, ended := d.agent, make(chan struct{})
			d.agent = ended
			go d.external(ctx, op, c, before, ended)
		}
	}
	for _, key := range cancel { // after the start: it may have been started just now
		op := d.ops[key]
		op.cancel(errNotOwed)
		if op.stream != nil || op.recorded != nil { // its answer is discarded
			delete(d.ops, key)
			d.core.Abandon(key)
		}
	}
}

var errNotOwed = errors.New("no longer owed")

// atRest reports whether nothing is under way and nothing is owed that this process
// can do: the turn has ended, or what is open waits for a person.
func (d *Runner) atRest() bool {
	return !d.core.State.Turn.Open() || !d.gateClosed() && d.core.Waits()
}

// await waits for the next input.
func (d *Runner) await() run.Input {
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
	case c := <-d.done:
		return d.completed(c)
	case <-d.wake:
		return run.Input{Wanted: d.wanted()}
	case <-wakes:
		return run.Input{Wanted: d.wanted()}
	case <-stuck:
		return d.leaveBehind()
	case <-timer:
		if at := d.deadline(); !at.IsZero() && !d.w.now().Before(at) {
			d.Interrupt(run.Interrupted{Cause: run.ByTimeout})
			return run.Input{}
		}
		return run.Input{Wanted: d.wanted()}
	}
}

// wanted returns what others want of the run: rows of the inbox, and letters.
func (d *Runner) wanted() []func(run.State) []run.Payload {
	return append(d.inbox(nil), d.openMail()...)
}

// showWaiting shows which calls wait for a person, when that has changed.
func (d *Runner) showWaiting() {
	waiting, calls := []run.CallID{}, []run.CallState{}
	for _, c := range d.core.State.Next() {
		if c, ok := c.(run.Decide); ok && d.asked[c.Call.ID] != "" && d.core.State.Turn.Open() {
			waiting, calls = append(waiting, c.Call.ID), append(calls, c.Call)
		}
	}
	if !slices.Equal(waiting, d.waiting) {
		d.waiting = waiting
		if d.task != nil {
			d.task.Waits(d.id, calls)
		}
		d.feed.show(view.Update{Waiting: waiting})
	}
}

// completed returns the end of an operation and all others that have ended by now, to be
// recorded in one append.
func (d *Runner) completed(c run.Completion) run.Input {
	in := run.Input{Done: []run.Completion{c}}
	for {
		select {
		case c = <-d.done:
			in.Done = append(in.Done, c)
		default:
			return in
		}
	}
}

// deadline returns when the turn reaches its time limit; zero if it has none or is being
// stopped already.
func (d *Runner) deadline() time.Time {
	if d.gateClosed() {
		return time.Time{}
	}
	return d.core.State.Deadline()
}

// timer fires when the inbox must be read, a request may be retried, or the turn reaches
// its time limit.
func (d *Runner) timer() (<-chan time.Time, func()) {
	now := d.w.now()
	wait := pollInbox
	for _, at := range []time.Time{d.deadline(), d.core.RetryAt()} {
		if !at.IsZero() {
			wait = max(0, min(wait, at.Sub(now)))
		}
	}
	t := time.NewTimer(wait)
	return t.C, func() { t.Stop() }
}

// leaveBehind abandons the operations that did not end in time after an interrupt. Their
// calls are settled as unknown; later results are discarded.
func (d *Runner) leaveBehind() run.Input {
	d.stuck = nil
	for key, op := range d.ops {
		op.cancel(errNotOwed)
		delete(d.ops, key)
		d.core.Abandon(key)
	}
	return run.Input{Given: d.core.State.LeaveBehind()}
}

// abandon cancels all operations because the log cannot be written, and waits for them
// for a while. Those that ended with in are not recorded.
func (d *Runner) abandon(in run.Input) {
	d.mu.Lock()
	d.cancel(errClosed)
	d.mu.Unlock()
	for _, c := range in.Done {
		if !c.More {
			delete(d.ops, c.Key)
		}
	}
	maps.DeleteFunc(d.ops, func(_ string, op *operation) bool { return op.stream != nil }) // a request that is cancelled reports nothing
	deadline := time.After(2 * stuckAfter)
	for len(d.ops) > 0 {
		select {
		case c := <-d.done:
			if !c.More {
				delete(d.ops, c.Key)
			}
		case <-deadline:
			return
		}
	}
}
