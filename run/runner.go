package run

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A World answers the questions of a [Runner] while it makes a [Batch]. The answers
// become events. Its methods must not block for long: anything slow is an operation (see
// [Batch].Start). They must have no effects, because the batch may not be appended.
type World interface {
	// Inspect returns what a call would do.
	Inspect(s State, c Call) CallInspected
	// Decide returns [CallDecided] or [Interrupted], [HookStarted] if hooks come first, or nil when a person has to
	// decide.
	Decide(s State, c CallState) Payload
	// Recheck checks an allowed call again that is about to start, because time may have
	// passed since the decision: nil if it may start, else [CallDecided] with a refusal
	// or [ApprovalInvalidated].
	Recheck(s State, c CallState) Payload
	// Submit returns the result that a call submits, as JSON, or what is wrong with it.
	Submit(s State, c CallState) (value string, problem string)
	// Partial returns what has arrived of the answer to the request in flight, its calls
	// numbered from next, and its usage as far as known.
	Partial(next int) ([]Part, Usage)
	// Jobs returns the background jobs that are running, oldest first.
	Jobs() []Job
	// Hooks returns the hooks that a point has, as they are named in [HookStarted]; none in most runs. Those before
	// a call, and before a person is asked about one, begin by a [HookStarted] that Decide returns.
	Hooks(s State, at Hook) []string
}

// A Runner is the pure part of a driver. From the state, the operations in flight and its
// input it decides which events are appended next, what is started after they are
// durable, and what is cancelled. It has no effects itself. Use it like this:
//
//	for {
//		b, err := r.Step(now, world, in)  // check
//		// append b.Events durably
//		cancel := r.Adopt(b, in)          // adopt
//		// cancel the operations named, start those of b.Start
//		if len(b.Events) == 0 {
//			// wait for the end of an operation, for r.RetryAt, or for other input
//		}
//		in = …
//	}
//
// The example is a complete driver. A batch that could not be appended is dropped: the
// runner is as it was before the step.
//
// A Runner is not safe for concurrent use.
type Runner struct {
	State State // after the last batch that was adopted

	ops    map[string]bool // keys of the operations in flight
	parked map[string]bool // keys of operations that wait for a person in another run
	wait   struct {        // of the owed request that must not be sent yet
		key   string
		until time.Time
	}
	grace struct { // of the external turn whose agent has submitted its result
		key   string
		until time.Time
	}
	reminder struct { // the last one, and until when the result has to be submitted
		key   string
		until time.Time
	}
}

// An Input is what arrived since the last step.
type Input struct {
	// Given must follow from the state: a refusal is an error.
	Given []Payload
	// Done are operations that have ended, each with what it appends.
	Done []Completion
	// Wanted are the requests of others: each returns the events that it means in the
	// state at that point. An event that cannot follow goes into [Batch].Refused.
	Wanted []func(State) []Payload
	// Last must follow after all of these: a refusal is an error.
	Last []Payload
	// Interrupt is the pending interrupt; nil if none. See [Gate.Interrupt].
	Interrupt *Interrupted
	// Closed reports that the [Gate] is closed: nothing starts.
	Closed bool
}

// A Completion is the end of an operation: its key and the events it leads to.
type Completion struct {
	Key    string
	Events []Payload
	// Parked reports that it waits for a person (a child run that asks). It has no
	// events, is still owed, and is started again after [Runner.Unpark].
	Parked bool
	// More reports that it is still in flight, and has Events to append.
	More bool
}

// A Batch is one step: its Events go to the log in one append.
type Batch struct {
	Events []Event
	// Start are the operations to start once Events are durable: [Perform], [Hook], [Request]
	// and [ExternalTurn].
	Start     []Command
	Refused   []Refusal
	state     State        // after Events
	owed      []Command    // by it
	interrupt *Interrupted // of the input, if it was recorded or is obsolete
}

// After returns the state after the batch's events.
func (b Batch) After() State { return b.state }

// A Refusal is an event that could not follow.
type Refusal struct {
	Payload Payload
	Err     error
}

// NewRunner returns a Runner that continues from s.
func NewRunner(s State) *Runner {
	return &Runner{State: s, ops: map[string]bool{}, parked: map[string]bool{}}
}

// Step returns the batch that follows from the state and in at the time now. Of r it
// changes only when an owed request may be sent and when an agent must have ended; the
// rest changes with Adopt. An error
// means that an event of in.Given or in.Last, or one of the World's, cannot follow.
func (r *Runner) Step(now time.Time, w World, in Input) (Batch, error) {
	m := maker{now: now, world: w, in: in, r: r, s: r.State}
	m.s.Turn.guard.shared = true
	if err := m.record(in.Given...); err != nil {
		return Batch{}, err
	}
	if m.aborted() {
		// The interrupt is recorded first, because it keeps the partial answer.
		if err := m.interruptWanted(); err != nil {
			return Batch{}, err
		}
	}
	for _, c := range in.Done {
		if r.ops[c.Key] { // otherwise it was abandoned
			m.offer(c.Events)
		}
	}
	for _, want := range in.Wanted {
		m.offer(want(m.s))
	}
	if err := m.record(in.Last...); err != nil {
		return Batch{}, err
	}
	for again := true; again; {
		var err error
		if again, err = m.follow(); err != nil {
			return Batch{}, err
		}
	}
	m.wake()
	// A request that was interrupted in the same batch is not sent. A call that was
	// recorded as started is settled by its operation, which finds the gate closed.
	m.b.Start = slices.DeleteFunc(m.b.Start, func(c Command) bool {
		_, call := c.(Perform)
		return !call && !owes(m.b.owed, c.Key())
	})
	m.s.Turn.owned, m.s.Turn.guard.shared = ownsNothing, false
	m.b.state = m.s
	return m.b, nil
}

// Adopt continues from b, whose events are durable, and in, the input of its step. It
// returns the keys of operations to cancel, because they are no longer owed. Operations
// of b.Start may be among them: start those first.
func (r *Runner) Adopt(b Batch, in Input) (cancel []string) {
	for _, c := range in.Done {
		if c.Parked && r.ops[c.Key] {
			r.parked[c.Key] = true
		}
		if !c.More {
			delete(r.ops, c.Key)
		}
	}
	for _, c := range b.Start {
		r.ops[c.Key()] = true
		delete(r.parked, c.Key())
	}
	r.State = b.state
	for key := range r.ops {
		if !owes(b.owed, key) {
			cancel = append(cancel, key)
		}
	}
	return cancel
}

// owes reports whether the operation of that key is among commands.
func owes(commands []Command, key string) bool {
	return slices.ContainsFunc(commands, func(c Command) bool { return c.Key() == key })
}

// Unpark allows parked operations to start again.
func (r *Runner) Unpark() { clear(r.parked) }

// Parked returns the calls whose operations are parked.
func (r *Runner) Parked() []*CallState {
	return slices.DeleteFunc(slices.Clone(r.State.Turn.Calls), func(c *CallState) bool {
		return !r.parked[Perform{*c, c.Attempt}.Key()]
	})
}

// Waits reports whether no operation is in flight and everything owed waits for a person:
// decisions and parked operations.
func (r *Runner) Waits() bool {
	if len(r.ops) > 0 {
		return false
	}
	for _, c := range r.State.Next() {
		if _, decide := c.(Decide); !decide && !r.parked[c.Key()] {
			return false
		}
	}
	return true
}

// Abandon forgets an operation in flight: its completion will be ignored.
func (r *Runner) Abandon(key string) { delete(r.ops, key) }

// Busy reports whether an operation is in flight.
func (r *Runner) Busy() bool { return len(r.ops) > 0 }

// Aside reports whether hooks are in flight that nothing waits for.
func (r *Runner) Aside() bool { return len(r.State.aside) > 0 }

// RetryAt returns when the owed request may be sent; zero if it may be sent now or none
// is owed.
func (r *Runner) RetryAt() time.Time {
	for _, c := range r.State.Next() {
		if c.Key() == r.wait.key && !r.ops[r.wait.key] {
			return r.wait.until
		}
	}
	return time.Time{}
}

// A maker makes one batch.
type maker struct {
	now   time.Time
	world World
	in    Input
	r     *Runner
	s     State
	b     Batch
	fresh map[CallID]bool // decided by a rule in this batch
	ended []CallID        // calls that were settled in it, and whose hooks were not looked for yet
}

// record records payloads up to one that cannot follow.
func (m *maker) record(payloads ...Payload) error {
	for _, p := range payloads {
		switch f := p.(type) {
		case RequestFailed:
			f.RetryAfter = m.s.retryAfter(m.now, f)
			f.Again = m.s.Turn.Phase == Requesting && m.s.again(f)
			p = f
		case Ended:
			f.Driven = m.s.Driven(m.now)
			p = f
		}
		e := Event{At: m.now.UTC().Round(0), Payload: p} // without the monotonic clock, as it is read back
		if err := m.s.apply(e); err != nil {
			return err
		}
		if f, ok := p.(CallSettled); ok {
			m.ended = append(m.ended, f.Call)
		}
		e.Seq = m.s.Seq
		m.b.Events = append(m.b.Events, e)
	}
	return nil
}

// offer records the payloads that can follow, and refuses the others.
func (m *maker) offer(payloads []Payload) {
	for _, p := range payloads {
		err := error(nil)
		if f, ok := p.(Interrupted); ok {
			if err = m.interrupt(f); m.s.Turn.Phase == Interrupting {
				m.in.Closed = true
			}
		} else {
			err = m.record(p)
		}
		if err != nil {
			m.b.Refused = append(m.b.Refused, Refusal{p, err})
		}
	}
}

// follow records the pending interrupt, or else what can be recorded at once of what is
// owed. It reports whether more may follow.
func (m *maker) follow() (bool, error) {
	if m.interrupted() {
		return true, m.interruptWanted()
	}
	if err := m.hooksDue(); err != nil {
		return false, err
	}
	progress := false
	m.b.owed = m.s.Next()
	for _, c := range m.b.owed {
		n := len(m.b.Events)
		err := m.perform(c)
		switch {
		case errors.Is(err, ErrOrder) && progress:
			return true, nil // what was owed has changed since
		case err != nil:
			return false, fmt.Errorf("%s: %w", c.Key(), err)
		}
		progress = progress || len(m.b.Events) > n
	}
	return progress || m.interrupted(), nil
}

// aborted reports whether the pending interrupt has cancelled the request in flight.
func (m *maker) aborted() bool {
	return m.interrupted() && m.s.Turn.Phase == Requesting && slices.ContainsFunc(m.in.Done, func(c Completion) bool {
		return slices.ContainsFunc(c.Events, func(p Payload) bool {
			f, ok := p.(RequestFailed)
			return ok && f.Kind == ErrAborted
		})
	})
}

// interrupted reports whether an interrupt of the open turn is pending.
func (m *maker) interrupted() bool {
	f := m.in.Interrupt
	return f != nil && m.s.Turn.Open() && (f.Turn == 0 || f.Turn == m.s.Turn.N)
}

func (m *maker) interruptWanted() error {
	f := m.in.Interrupt
	m.in.Interrupt, m.b.interrupt = nil, f
	return m.interrupt(*f)
}

func (m *maker) interrupt(f Interrupted) error {
	if f.Turn != 0 && f.Turn != m.s.Turn.N {
		return nil // its turn is over
	}
	if t := &m.s.Turn; t.Phase == Interrupting && len(t.Interrupt.Then) == 0 {
		if len(f.Then) == 0 {
			return nil
		}
		id := "then_" + itoa(t.N) + "_" + itoa(int(m.s.Seq))
		return m.record(Said{ID: id, Delivery: Steer, Parts: f.Then}) // Apply returns these words to the person
	}
	f.Turn = m.s.Turn.N
	if c, ok := m.s.Turn.Call(f.Call); f.Cause == ByWait && f.Call != "" && (!ok || c.Status != CallIsInspected) {
		// Another answer has decided on the call meanwhile; the interrupt counts.
		f.Cause, f.Call = ByPerson, ""
	}
	if m.s.Turn.Phase == Requesting && m.flying() {
		f.Partial, f.Usage = m.world.Partial(m.s.NextCall())
	}
	return m.record(f)
}

// wake starts parked operations that are no longer owed, so that they can be cancelled
// and settled like those in flight.
func (m *maker) wake() {
	t := &m.s.Turn
	if t.running == 0 || t.Phase == Calling || t.Phase == Requesting {
		return // what runs is owed
	}
	for _, c := range t.Calls {
		p := Perform{*c, c.Attempt}
		if key := p.Key(); c.Status == CallRunning && c.Class == Resumable && !m.r.ops[key] && !m.starting(key) {
			m.start(p)
		}
	}
}

// flying reports whether the request of the state is in flight, not about to be started
// by this batch.
func (m *maker) flying() bool {
	for _, c := range m.s.Next() {
		if m.r.ops[c.Key()] {
			return true
		}
	}
	return false
}

// perform records the events of a command that are known now, and adds the operation that
// it starts to the batch.
func (m *maker) perform(c Command) error {
	switch c := c.(type) {
	case Derive:
		if end, ok := c.Payload.(Ended); ok && m.s.Turn.Phase != Interrupting {
			if begun, err := m.hooksAtEnd(end); begun || err != nil {
				return err
			}
			end.Jobs = m.world.Jobs()
			return m.record(end)
		}
		return m.record(c.Payload)
	case Inspect:
		return m.record(m.world.Inspect(m.s, c.Call))
	case Decide:
		if m.in.Closed || !m.s.Turn.Open() {
			return nil
		}
		return m.decide(c.Call)
	case Perform:
		if c.Call.Status == CallRunning && c.Call.Class == Resumable && !m.r.ops[c.Key()] && !m.r.parked[c.Key()] && !m.starting(c.Key()) {
			m.start(c) // it was parked
		}
		if m.in.Closed || c.Call.Status != CallAllowed {
			return nil
		}
		if c.Call.Submits {
			return m.submit(c)
		}
		if !m.fresh[c.Call.ID] && c.Call.Handle == "" { // one that was detached is not made again, only asked for
			if p := m.world.Recheck(m.s, c.Call); p != nil {
				return m.record(p)
			}
		}
		started := CallStarted{Call: c.Call.ID, Attempt: c.Attempt}
		if c.Call.spawns() && c.Call.Reserved == (Limits{}) {
			started.Reserved = m.s.reservation(m.now)
		}
		return m.begin(c, started)
	case Hook:
		// The driver has recorded its start, or a process before this one has.
		if (c.Point == SessionEnd || c.Point == JudgeModel && !m.in.Closed) && !m.r.ops[c.Key()] && !m.starting(c.Key()) {
			m.start(c)
		}
	case Request:
		if begun, err := m.hooksBefore(c.Purpose, c.Attempt); begun || err != nil {
			return err
		}
		return m.request(c, c.Wait, RequestStarted{Purpose: c.Purpose, Attempt: c.Attempt, Model: m.s.Config.Model, End: c.End})
	case ExternalTurn:
		if m.overstays(c.Key()) {
			return m.record(RequestFailed{Kind: ErrAborted, Reason: "the agent was stopped: it was still running " + submissionGrace.String() + " after its result was accepted"})
		}
		return m.request(c, c.Wait, RequestStarted{Purpose: ForAgent, Attempt: c.Attempt, Model: m.s.Config.Model})
	}
	return nil
}

// request begins a request that is owed, unless its time is over or has not come.
func (m *maker) request(c Command, wait time.Duration, started RequestStarted) error {
	if m.reminderOver(started.Purpose) {
		f := RequestFailed{Kind: ErrTimeout, Reason: fmt.Sprintf("no result was submitted within %v of reminder %d", m.s.reminder(), m.s.Turn.Reminders), Reminder: true}
		if m.s.Turn.Phase == Requesting {
			_, f.Usage = m.world.Partial(m.s.NextCall())
			return m.record(f)
		}
		return m.record(started, f)
	}
	if m.s.Turn.Phase == Requesting || m.waits(c.Key(), wait) {
		return nil
	}
	return m.begin(c, started)
}

// begin records that an operation starts, and adds it to the batch.
func (m *maker) begin(c Command, started Payload) error {
	if err := m.record(started); err != nil {
		return err
	}
	m.start(c)
	return nil
}

// submissionGrace is how long an external agent may keep running after its result was
// accepted.
const submissionGrace = 30 * time.Second

// overstays reports whether the agent of the external turn in flight has had its time to
// end since its result was accepted. It is measured from when this process first saw that.
func (m *maker) overstays(key string) bool {
	if m.in.Closed || m.s.Turn.Phase != Requesting || !m.s.submitted() {
		return false
	}
	if m.r.grace.key != key {
		m.r.grace.key, m.r.grace.until = key, m.now.Add(submissionGrace)
	}
	return !m.now.Before(m.r.grace.until)
}

// reminder returns how long the agent has to submit the result after a reminder; no limit if it is
// negative.
func (s *State) reminder() time.Duration { return cmp.Or(s.Config.Reminder, DefaultReminder) }

// reminderOver reports whether a request ends because the time to submit the result after the
// last reminder is over: the one in flight, or the one that is owed, which is then not sent.
// The time is measured from when this process first saw that a request is owed after it.
func (m *maker) reminderOver(p Purpose) bool {
	a, limit := m.s.assignment, m.s.reminder()
	if m.in.Closed || m.s.Turn.Reminders == 0 || !m.s.owesOutput() || limit < 0 || p != ForStep && p != ForAgent {
		return false
	}
	if key := fmt.Sprintf("%d.%d", a.n, m.s.Turn.Reminders); m.r.reminder.key != key || m.s.Turn.Hooking("") {
		m.r.reminder.key, m.r.reminder.until = key, m.now.Add(limit)
	}
	return !m.now.Before(m.r.reminder.until)
}

func (m *maker) start(c Command) { m.b.Start = append(m.b.Start, c) }

func (m *maker) starting(key string) bool {
	return slices.ContainsFunc(m.b.Start, func(c Command) bool { return c.Key() == key })
}

// waits reports whether the owed request must not be sent yet. The wait is measured from
// when this process first saw the request owed, so that a change of the clock cannot
// prolong it.
func (m *maker) waits(key string, wait time.Duration) bool {
	if m.in.Closed {
		return true
	}
	if wait <= 0 {
		return false
	}
	if m.r.wait.key != key {
		left := min(wait, max(0, wait-m.now.Sub(m.s.Turn.Request.failedAt)))
		m.r.wait.key, m.r.wait.until = key, m.now.Add(left)
	}
	return m.now.Before(m.r.wait.until)
}

func (m *maker) decide(c CallState) error {
	if c.Submits {
		return m.record(CallDecided{Call: c.ID, Decision: Decision{Answer: Allow, Source: "default", Reason: "submitting the result is the task"}})
	}
	p := m.world.Decide(m.s, c)
	switch p := p.(type) {
	case nil:
		// A person may take their time: that of a reminded agent begins again after it.
		m.r.reminder.until = m.now.Add(m.s.reminder())
		return nil
	case Interrupted:
		m.in.Closed = true
		m.in.Interrupt = &p // running calls are settled by the worker
		return nil
	case HookStarted:
		return m.begin(m.s.nextHook(Hook{Point: p.Point, Call: p.Call}), p)
	case CallDecided:
		if m.fresh == nil {
			m.fresh = map[CallID]bool{}
		}
		m.fresh[c.ID] = true
	}
	return m.record(p)
}

// submit runs a call that submits the result, once hooks have looked at it. It has no effect outside the log, so all
// its events go into this batch.
func (m *maker) submit(c Perform) error {
	if begun, err := m.hook(Hook{Point: TaskCompleted, Call: c.Call.ID}); begun || err != nil {
		return err
	}
	if err := m.record(CallStarted{Call: c.Call.ID, Attempt: c.Attempt}); err != nil {
		return err
	}
	value, problem := m.world.Submit(m.s, c.Call)
	if reason, refused := m.s.Turn.refused(c.Call.ID); refused && problem == "" {
		problem = "The result was not accepted: a hook of the person refused it: " + reason
	}
	if problem != "" {
		return m.record(CallSettled{Call: c.Call.ID, Outcome: Failed, IsError: true, Content: []Part{Text(problem)}})
	}
	return m.record(Submitted{Assignment: m.s.Assignment(), Call: c.Call.ID, Value: value},
		CallSettled{Call: c.Call.ID, Outcome: OK, Content: []Part{Text("The result was accepted. No further work is needed.")}})
}
