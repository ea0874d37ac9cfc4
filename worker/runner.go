package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
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
	result   *resultWriter   // stores the call's result; nil: it is not stored
	asking   sync.Mutex      // held while the call waits for an answer
	answers  chan []run.Part // to what it asks
	detached chan struct{}   // of a call: gets a value when its [run.CallDetached] is durable
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
func (r *Runner) Run(ctx context.Context, given ...run.Payload) (run.State, error) {
	defer r.join()
	r.Attend()
	defer r.refuse()
	defer r.interruptAfter(ctx)()
	if !r.gateClosed() { // else parked operations find the gate closed
		r.core.Unpark()
	}
	resumed := r.fresh
	in := run.Input{Given: r.recovered(), Done: r.late, Last: given}
	r.late = nil
	if r.created == nil {
		// Decisions and settings made while the run was not driven come first; the
		// caller's (a limit on the command line) override them.
		in.Wanted = r.inbox(request.Request.Settles)
	}
	in.Wanted = append(in.Wanted, r.openMail()...)
	for {
		if err := r.step(in); err != nil {
			r.abandon(in)
			return r.core.State, err
		}
		if resumed {
			resumed = false
			r.showRetry()
		}
		switch {
		case r.interrupted(), r.rulesChanged: // an interrupt arrived during the step; its rules may decide other calls
			r.rulesChanged = false
			in = run.Input{}
			continue
		case !r.atRest():
			if in = r.await(); r.heardBelow() {
				r.core.Unpark()
			}
			continue
		}
		in = run.Input{Wanted: r.wanted()} // a message that arrived meanwhile may begin a turn
		if len(in.Wanted) == 0 && r.leave() {
			return r.core.State, nil
		}
		r.Attend()
	}
}

// interruptAfter interrupts what is driven when ctx is done. Once stop has returned it does so no
// more: the next turn is not of this ctx.
func (r *Runner) interruptAfter(ctx context.Context) (stop func()) {
	interrupt := func() { r.Interrupt(StopOf(ctx).Interrupted) }
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
func (r *Runner) showRetry() {
	if at := r.core.RetryAt(); !at.IsZero() {
		wait := max(0, at.Sub(r.w.now())).Round(100 * time.Millisecond)
		r.feed.show(view.Update{Notice: fmt.Sprintf("%s; retrying in %s", r.core.State.Turn.Request.Reason, wait)})
	}
}

// interrupted reports whether an interrupt is pending.
func (r *Runner) interrupted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gate.Interrupt() != nil
}

// Attend says that the turn which is open or about to begin is driven: interrupts are
// accepted from now on, until Run returns. Run does it itself; the goroutine that calls Run
// may do it before. An interrupt that was accepted stays accepted.
func (r *Runner) Attend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gate.Interrupt() == nil {
		r.gate.Attend(r.core.State)
	}
}

// leave lets the gate accept no interrupt any more, unless one was accepted that is not
// recorded yet: it reports whether the run can be left.
func (r *Runner) leave() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gate.Interrupt() != nil {
		return false
	}
	r.gate = run.Gate{}
	return true
}

// refuse lets the gate accept no interrupt any more: a run that is not driven accepts none.
func (r *Runner) refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = run.Gate{}
}

// recovered returns the events that settle operations which were in flight when the run
// was last driven. Tools that can determine the outcome of their call are asked.
func (r *Runner) recovered() []run.Payload {
	if !r.fresh {
		if r.core.State.Turn.Open() { // this process left it to wait for a person: only time has passed
			return []run.Payload{run.Resumed{}}
		}
		return nil
	}
	r.fresh = false
	payloads := r.core.State.Recover()
	for i, p := range payloads {
		payloads[i] = r.reconcile(p)
	}
	return payloads
}

// reconcile asks the tool of a call with an unknown outcome for the outcome.
func (r *Runner) reconcile(p run.Payload) run.Payload {
	lost, ok := p.(run.CallSettled)
	if !ok || lost.Outcome != run.Unknown {
		return p
	}
	c, ok := r.core.State.Turn.Call(lost.Call)
	if !ok {
		return p
	}
	t, ok := r.tool(c.Tool)
	reconciler, can := t.(tool.Reconciler)
	if !ok || !can {
		return p
	}
	env := r.env.ForCall()
	res, known := reconciler.Reconcile(env, tool.Call{Run: r.id, ID: c.ID, Args: r.arguments(c.Call).json})
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
func (r *Runner) Interrupt(f run.Interrupted) bool {
	r.mu.Lock()
	counts := r.gate.Close(f)
	if counts {
		r.cancel(Stop{f})
		if r.metrics != nil {
			r.metrics.Stopping(r.w.now())
		}
	}
	r.mu.Unlock()
	if counts {
		go r.env.Session.StopJobs("the turn was interrupted") // stopping may take a while
		r.feed.show(view.Update{Stopping: &f})
		r.Wake()
	}
	return counts
}

// Wake makes the runner read the inbox.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// gateClosed reports whether an interrupt is pending or recorded: nothing starts.
func (r *Runner) gateClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gate.Closed()
}

// step records the input, everything that follows from it, and what is about to start in
// one append; then it starts the operations.
func (r *Runner) step(in run.Input) error {
	r.mu.Lock()
	in.Interrupt, in.Closed = r.gate.Interrupt(), r.gate.Closed() || r.closing
	r.mu.Unlock()
	var b run.Batch
	var events []run.Event
	env := r.env // what the batch judges calls by; further folders of its own count for the next
	for again := 0; ; again++ {
		clear(r.rules)
		clear(r.inspected)
		r.notices = r.notices[:0]
		var err error
		b, err = r.core.Step(r.w.now(), world{r}, in)
		if err == nil {
			events, err = r.append(b)
		}
		if errors.Is(err, errAgain) && again < maxAgain {
			continue // nothing was written
		}
		if err != nil {
			r.delivered(err)
			return err
		}
		break
	}
	for _, late := range b.Refused {
		r.w.debug("refused", "run", r.id, "event", store.Type(late.Payload), "error", late.Err)
	}
	for _, e := range events {
		r.logged(e)
	}
	if r.metrics != nil {
		r.metrics.Recorded(r.State(), events)
	}
	left := leftChildren(r.core.State, events)
	cancel := r.core.Adopt(b, in)
	r.publish() // before the events are shown: who sees one finds it in State
	for i := range events {
		r.feed.show(view.Update{Event: &events[i]})
	}
	r.storeRules(events)
	for _, text := range r.notices {
		r.feed.show(view.Update{Notice: text})
	}
	r.delivered(nil)
	r.follow(b, in, cancel, env)
	for _, call := range left {
		r.interruptChild(call)
	}
	r.showWaiting()
	return nil
}

// logged writes to the diagnostics what is decided of a call and what comes of it, and interrupts:
// never arguments or results.
func (r *Runner) logged(e run.Event) {
	switch p := e.Payload.(type) {
	case run.CallDecided:
		r.w.debug("call decided", "run", r.id, "call", p.Call, "answer", p.Decision.Answer, "source", p.Decision.Source, "rule", p.Decision.Rule)
	case run.CallStarted:
		r.w.debug("call started", "run", r.id, "call", p.Call)
	case run.CallSettled:
		r.w.debug("call settled", "run", r.id, "call", p.Call, "outcome", p.Outcome)
	case run.Interrupted:
		r.w.debug("interrupted", "run", r.id, "cause", p.Cause)
	case run.Ended:
		r.w.debug("turn ended", "run", r.id, "end", p.End, "reason", p.Reason)
	}
}

// errAgain says that a step has to be made again, because the task of the run does not take what follows
// from it.
var errAgain = errors.New("the task does not take it")

// maxAgain bounds how often a step is made again.
const maxAgain = 1000

// append makes the events of a batch durable and returns them as they are in the log.
func (r *Runner) append(b run.Batch) ([]run.Event, error) {
	events, after := b.Events, r.core.State.Seq
	if r.created != nil && len(events) > 0 {
		after = 0
		created := run.Event{At: events[0].At, Payload: *r.created}
		events = append([]run.Event{created}, events...)
	}
	taken, forget := r.taken(events)
	if len(events) == 0 && len(taken) == 0 {
		return nil, nil
	}
	var again bool
	var err error
	if r.task != nil {
		again, err = r.task.Append(r.core.State, b.After(), events, r.batches(), taken)
	} else { // not in the caller's context: its cancellation must still be recorded
		err = r.w.Store.Append(context.Background(), r.id, after, events, taken...)
	}
	switch {
	case again:
		return nil, errAgain
	case err != nil:
		return nil, errDisk{fmt.Errorf("the log cannot be written, and the run was stopped: %w", err)}
	}
	forget()
	r.created = nil
	for i := range events {
		events[i].Seq = after + int64(i) + 1
	}
	return events, nil
}

// batches returns what is done to the task of the run together with the letters of the step.
func (r *Runner) batches() (batches []*task.Batch) {
	for _, l := range r.letters {
		if l.err == nil {
			batches = append(batches, &l.task)
		}
	}
	return batches
}

// follow acts on a batch that is durable: it updates the gate, starts the operations
// recorded as started, in env, and cancels those no longer owed.
func (r *Runner) follow(b run.Batch, in run.Input, cancel []string, env tool.Env) {
	s := &r.core.State
	r.mu.Lock()
	late := r.gate.Adopt(b)
	interrupted := r.gate.Closed()
	if interrupted {
		f := s.Turn.Interrupt
		if wanted := r.gate.Interrupt(); wanted != nil { // not recorded yet
			f = *wanted
		}
		r.cancel(Stop{f})
	} else if r.turn.Err() != nil {
		r.turn, r.cancel = context.WithCancelCause(context.Background())
	}
	turn := r.turn
	r.mu.Unlock()
	for _, f := range late {
		if len(f.Then) > 0 {
			r.feed.show(view.Update{Notice: "not delivered because the turn had ended: " + run.PlainText(f.Then)})
		}
	}
	if interrupted && s.Turn.Phase == run.Interrupting && r.stuck == nil {
		go r.env.Session.StopJobs("the turn was interrupted")
		r.stuck = time.NewTimer(stuckAfter)
	}
	if r.stuck != nil && s.Turn.Phase != run.Interrupting {
		r.stuck.Stop()
		r.stuck = nil
	}
	for _, e := range b.Events {
		if f, ok := e.Payload.(run.CallAnswered); ok && len(f.Parts) > 0 {
			c, _ := s.Turn.Call(f.Call)
			if op := r.ops[run.Perform{Call: c, Attempt: c.Attempt}.Key()]; op != nil {
				op.answers <- f.Parts
			}
		}
	}
	for _, c := range in.Done {
		op := r.ops[c.Key]
		if c.Parked {
			r.below.runs = nil
		}
		switch {
		case op == nil:
		case c.More:
			if op.recorded != nil {
				op.recorded <- struct{}{}
			}
			if _, is := c.Events[0].(run.CallDetached); is {
				op.detached <- struct{}{}
			}
		default:
			op.cancel(nil)
			delete(r.ops, c.Key)
		}
	}
	for _, c := range b.Start {
		ctx, cancel := context.WithCancelCause(turn)
		op := &operation{key: c.Key(), cancel: cancel}
		r.ops[op.key] = op
		switch c := c.(type) {
		case run.Perform:
			op.answers, op.detached = make(chan []run.Part, 1), make(chan struct{}, 1)
			op.leads, op.args, op.result = r.leads(c.Call.ID), r.arguments(c.Call.Call), r.resultWriter(c.Call)
			go r.perform(ctx, env.ForCall(), op, c.Call)
		case run.Hook:
			if c.Point == run.JudgeModel {
				r.judgeCall(ctx, op, c)
				break
			}
			go r.runHooks(ctx, op, c, r.moment(*s, c))
		case run.Request:
			clear(r.resolved) // the calls before it are settled
			op.stream = &stream{}
			r.request(ctx, op, c)
		case run.ExternalTurn:
			clear(r.resolved)
			op.recorded = make(chan struct{}, 1)
			before, ended := r.agent, make(chan struct{})
			r.agent = ended
			go r.external(ctx, op, c, before, ended)
		}
	}
	for _, key := range cancel { // after the start: it may have been started just now
		op := r.ops[key]
		op.cancel(errNotOwed)
		if op.stream != nil || op.recorded != nil { // its answer is discarded
			delete(r.ops, key)
			r.core.Abandon(key)
		}
	}
}

var errNotOwed = errors.New("no longer owed")

// atRest reports whether nothing is under way and nothing is owed that this process
// can do: the turn has ended, or what is open waits for a person.
func (r *Runner) atRest() bool {
	return !r.core.State.Turn.Open() || !r.gateClosed() && r.core.Waits()
}

// await waits for the next input.
func (r *Runner) await() run.Input {
	timer, stop := r.timer()
	defer stop()
	var stuck <-chan time.Time
	if r.stuck != nil {
		stuck = r.stuck.C
	}
	var wakes <-chan struct{}
	if r.listen != nil {
		wakes = r.listen.Wake()
	}
	select {
	case c := <-r.done:
		return r.completed(c)
	case <-r.wake:
		return run.Input{Wanted: r.wanted()}
	case <-wakes:
		return run.Input{Wanted: r.wanted()}
	case <-stuck:
		return r.leaveBehind()
	case <-timer:
		if at := r.deadline(); !at.IsZero() && !r.w.now().Before(at) {
			r.Interrupt(run.Interrupted{Cause: run.ByTimeout})
			return run.Input{}
		}
		return run.Input{Wanted: r.wanted()}
	}
}

// wanted returns what others want of the run: rows of the inbox, and letters.
func (r *Runner) wanted() []func(run.State) []run.Payload {
	return append(r.inbox(nil), r.openMail()...)
}

// showWaiting shows which calls wait for a person, when that has changed.
func (r *Runner) showWaiting() {
	waiting, calls := []run.CallID{}, []run.CallState{}
	for _, c := range r.core.State.Next() {
		if c, ok := c.(run.Decide); ok && r.asked[c.Call.ID] != "" && r.core.State.Turn.Open() {
			waiting, calls = append(waiting, c.Call.ID), append(calls, c.Call)
		}
	}
	if !slices.Equal(waiting, r.waiting) {
		r.waiting = waiting
		if r.task != nil {
			r.task.Waits(r.id, calls)
		}
		r.feed.show(view.Update{Waiting: waiting})
	}
}

// completed returns the end of an operation and all others that have ended by now, to be
// recorded in one append.
func (r *Runner) completed(c run.Completion) run.Input {
	in := run.Input{Done: []run.Completion{c}}
	for {
		select {
		case c = <-r.done:
			in.Done = append(in.Done, c)
		default:
			return in
		}
	}
}

// deadline returns when the turn reaches its time limit; zero if it has none or is being
// stopped already.
func (r *Runner) deadline() time.Time {
	if r.gateClosed() {
		return time.Time{}
	}
	return r.core.State.Deadline()
}

// timer fires when the inbox must be read, a request may be retried, or the turn reaches
// its time limit.
func (r *Runner) timer() (<-chan time.Time, func()) {
	now := r.w.now()
	wait := pollInbox
	for _, at := range []time.Time{r.deadline(), r.core.RetryAt()} {
		if !at.IsZero() {
			wait = max(0, min(wait, at.Sub(now)))
		}
	}
	t := time.NewTimer(wait)
	return t.C, func() { t.Stop() }
}

// leaveBehind abandons the operations that did not end in time after an interrupt. Their
// calls are settled as unknown; later results are discarded.
func (r *Runner) leaveBehind() run.Input {
	r.stuck = nil
	for key, op := range r.ops {
		op.cancel(errNotOwed)
		delete(r.ops, key)
		r.core.Abandon(key)
	}
	return run.Input{Given: r.core.State.LeaveBehind()}
}

// abandon cancels all operations because the log cannot be written, and waits for them
// for a while. Those that ended with in are not recorded.
func (r *Runner) abandon(in run.Input) {
	r.mu.Lock()
	r.cancel(errClosed)
	r.mu.Unlock()
	for _, c := range in.Done {
		if !c.More {
			delete(r.ops, c.Key)
		}
	}
	maps.DeleteFunc(r.ops, func(_ string, op *operation) bool { return op.stream != nil }) // a request that is cancelled reports nothing
	deadline := time.After(2 * stuckAfter)
	for len(r.ops) > 0 {
		select {
		case c := <-r.done:
			if !c.More {
				delete(r.ops, c.Key)
			}
		case <-deadline:
			return
		}
	}
}
