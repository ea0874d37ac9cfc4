package run

import (
	"errors"
	"fmt"
	"iter"
	"slices"
)

// ErrOrder means that an event cannot follow: it is late, repeated or out of order.
// The state is unchanged, and the effect that the event announces must not happen.
var ErrOrder = errors.New("run: event out of order")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOrder, fmt.Sprintf(format, args...))
}

// Apply returns the state after e, or s itself and an error that is [ErrOrder] if
// e cannot follow s.
func (s State) Apply(e Event) (State, error) {
	next := s
	next.Turn.owned, next.Turn.guard.shared = ownsNothing, true // s may be one of a batch, which owns its calls
	if err := next.apply(e); err != nil {
		return s, err
	}
	next.Turn.owned, next.Turn.guard.shared = ownsNothing, false
	return next, nil
}

// Replay returns the state after events, starting from nothing.
func Replay(events []Event) (State, error) {
	return ReplaySeq(func(yield func(Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	})
}

// ReplaySeq is [Replay] of events as they are read. It stops at the first error,
// of reading or of an event that cannot follow, and returns the state before it.
func ReplaySeq(events iter.Seq2[Event, error]) (State, error) {
	var s State
	s.Turn.owned = ownsAll
	for e, err := range events {
		if err == nil {
			err = s.apply(e)
		}
		if err != nil {
			s.Turn.owned = ownsNothing
			return s, fmt.Errorf("event %d: %w", s.Seq+1, err)
		}
	}
	s.Turn.owned = ownsNothing
	return s, nil
}

func (s *State) apply(e Event) error {
	if e.Seq != 0 && e.Seq != s.Seq+1 {
		return refuse("event %d after %d", e.Seq, s.Seq)
	}
	if _, ok := e.Payload.(Created); !ok && s.Created.Run == "" {
		return refuse("%T before the run was created", e.Payload)
	}
	if err := s.transition(e); err != nil {
		return err
	}
	s.Seq++
	s.At = e.At
	if s.Seq == s.Created.ForkedAt {
		s.inherited = s.calls
	}
	return nil
}

// transition applies e and counts the time since the last event. It changes nothing on error.
func (s *State) transition(e Event) error {
	t := &s.Turn
	n, driven, counted := t.N, s.Driven(e.At), e.At
	switch e.Payload.(type) {
	case nil:
		return refuse("an event without a payload")
	case Resumed:
		driven = t.driven
	case Configured: // perhaps by a process that does not drive the run
		driven, counted = t.driven, t.counted
	}
	if err := e.Payload.apply(s, e); err != nil {
		return err
	}
	t.TurnSummary.Add(e.Payload)
	s.Tally.Add(e.Payload)
	if t.counted = counted; t.N == n {
		t.driven = driven
	}
	return nil
}

func (s *State) applyCreated(p Created) error {
	switch err := p.Config.Validate(); {
	case s.Created.Run != "":
		return refuse("the run was created already")
	case p.Run == "":
		return refuse("a run without an id")
	case p.Depth > MaxDepth:
		return refuse("a run at depth %d: at most %d", p.Depth, MaxDepth)
	case err != nil:
		return refuse("configuration: %v", err)
	}
	s.Created = p
	s.Config = p.Config
	return nil
}

// MaxDepth is how many ancestors a run may have.
const MaxDepth = 4

func (s *State) applyConfigured(p Configured) error {
	c := p.Change.Apply(s.Config)
	if err := c.Validate(); err != nil {
		return refuse("configuration: %v", err)
	}
	if c.Output != s.Config.Output {
		// A new output is a new assignment: the submission and reminders were for the old one.
		s.assignment = assignment{n: s.assignment.n + 1}
	}
	if c.Model != s.Config.Model {
		s.malformed = 0 // those calls were of the other model
		s.Turn.unavailable = ""
	}
	s.reconfigured = s.reconfigured || !p.Change.names()
	s.Config = c
	s.window.asked = s.window.asked || p.Change.Compact
	return nil
}

func (s *State) applyTold(p Told) error {
	t := &s.Turn
	if p.Text == "" {
		return refuse("told without words")
	}
	if p.Reason == TellRepeated {
		c, err := t.change(p.Call)
		switch {
		case err != nil:
			return err
		case c.Status != CallDone:
			return refuse("call %s cannot be noted", p.Call)
		}
		c.note = ""
		c.Result.Content = append(slices.Clip(c.Result.Content), Text(p.Text))
		return nil
	}
	switch {
	case p.Reason == TellMode && (t.Phase != Ready && t.Phase != Spoken || s.modeNote() == ""):
		return refuse("told of a mode that the model knows, or in the middle of a step")
	case p.Reason == TellMode:
		s.planMode = s.Config.Mode == PlanMode
		t.tell(p.Text)
		return nil
	case t.Phase != Spoken:
		return refuse("told while the model has not spoken last")
	case p.Reason == TellOutput && !s.owesOutput():
		return refuse("reminded of a result that is not waited for")
	}
	if p.Reason == TellPromised {
		t.streaks[promised]++
	}
	t.tell(p.Text)
	t.Phase = Ready
	return nil
}

// tell queues a message of pawl's own for the next request.
func (t *Turn) tell(text string) {
	t.Words = append(slices.Clip(t.Words), Words{Parts: []Part{Text(text)}, own: true})
}

func (s *State) applySynthesized(p Synthesized) error {
	t := &s.Turn
	if t.Phase == Idle || t.Phase == Requesting || t.open > t.kept() || t.account == accountDone || p.Text == "" {
		return refuse("a synthesis where none is owed")
	}
	t.ending = p.End
	s.giveBack()
	s.flush() // the model has the calls and their results; the account is for the person
	t.made, t.account = p.Text, accountDone
	if t.Phase != Interrupting {
		t.Phase = Ending
	}
	return nil
}

func (s *State) applyEnded(p Ended) error {
	t := &s.Turn
	asked := p.End == Asked
	switch {
	case t.Phase == Idle:
		return refuse("ended while no turn is open")
	case t.Phase == Requesting:
		return refuse("ended while a request is under way")
	case t.Hooking(""):
		return refuse("ended while hooks run")
	case p.End == "":
		return refuse("an end without a name")
	case asked && (t.running > 0 || len(s.Questions()) == 0):
		return refuse("ended asked without an open question at rest")
	case !asked && t.open > t.kept():
		return refuse("ended while calls are open")
	}
	for i, c := range t.Calls {
		if t.keeps(c) {
			t.own(i).Left = true
		}
	}
	switch {
	case p.End != Completed && !asked:
		// It ended early: undelivered messages are returned to the person.
		s.giveBack()
	case p.End == Completed && len(t.Words) > 0:
		// It ended with a submission before these messages were delivered. The queue is
		// delivered next.
		queue := s.Queue
		s.Queue = nil
		s.giveBack()
		s.Queue = queue
	}
	if !asked {
		s.flush()
	}
	t.Phase = Idle
	return nil
}
