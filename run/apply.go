package run

import (
	"errors"
	"fmt"
	"iter"
)

// ErrOrder is the refusal of an event that cannot follow: too late, twice, or
// out of order. Nothing has changed; an effect that was about to follow from the
// event must not happen.
var ErrOrder = errors.New("run: event out of order")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOrder, fmt.Sprintf(format, args...))
}

// Apply returns the state after e, or s itself and an error that is [ErrOrder] if
// e cannot follow s.
func (s State) Apply(e Event) (State, error) {
	if e.Seq != 0 && e.Seq != s.Seq+1 {
		return s, refuse("event %d after %d", e.Seq, s.Seq)
	}
	next := s
	if err := next.apply(e); err != nil {
		return s, err
	}
	next.Seq++
	next.At = e.At
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
	s.Turn.own = true // nobody else has this state: what Apply would copy first is written in place
	for e, err := range events {
		if err == nil && e.Seq != 0 && e.Seq != s.Seq+1 {
			err = refuse("event %d after %d", e.Seq, s.Seq)
		}
		if err == nil {
			err = s.apply(e)
		}
		if err != nil {
			s.Turn.own = false
			return s, fmt.Errorf("event %d: %w", s.Seq+1, err)
		}
		s.Seq++
		s.At = e.At
	}
	s.Turn.own = false
	return s, nil
}

func (s *State) apply(e Event) error {
	if _, ok := e.Fact.(Created); !ok && s.Created.Run == "" {
		return refuse("%T before the run was created", e.Fact)
	}
	switch f := e.Fact.(type) {
	case Created:
		return s.applyCreated(f)
	case Configured:
		s.applyConfigured(f)
		return nil
	case Prompted:
		return s.applyPrompted(e, f)
	case QuestionAnswered:
		return s.applyQuestionAnswered(e, f)
	case Steered:
		return s.applySteered(f)
	case Queued:
		return s.applyQueued(f)
	case Withdrawn:
		return s.applyWithdrawn(f)
	case RequestStarted:
		return s.applyRequestStarted(e, f)
	case RequestFailed:
		return s.applyRequestFailed(e, f)
	case RequestLost:
		return s.applyRequestLost(e)
	case Replied:
		return s.applyReplied(e, f)
	case PlanOpened:
		return s.applyPlanOpened(f)
	case StepChosen:
		return s.applyStepChosen(f)
	case StepRefused:
		return s.applyStepRefused(f)
	case CallReceived:
		return s.applyCallReceived(f)
	case CallAsked:
		return s.applyCallAsked(f)
	case CallAllowed:
		return s.applyCallAllowed(f)
	case CallRefused:
		return s.applyCallRefused(e, f)
	case DecisionVoided:
		return s.applyDecisionVoided(f)
	case CallStarted:
		return s.applyCallStarted(e, f)
	case CallLost:
		return s.applyCallLost(f)
	case CallSettled:
		return s.applyCallSettled(e, f)
	case CallNoted:
		return s.applyCallNoted(f)
	case Nudged:
		return s.applyNudged(f)
	case Submitted:
		return s.applySubmitted(f)
	case SubmissionRefused:
		return s.applySubmissionRefused(f)
	case Reminded:
		return s.applyReminded(f)
	case Interrupted:
		return s.applyInterrupted(f)
	case Compacted:
		return s.applyCompacted(f)
	case Synthesized:
		return s.applySynthesized(f)
	case Ended:
		return s.applyEnded(f)
	case DriveStarted:
		return s.applyDriveStarted(e, f)
	case Observed:
		return s.applyObserved(f)
	case DriveEnded:
		return s.applyDriveEnded(f)
	}
	return refuse("unknown fact %T", e.Fact)
}

func (s *State) applyCreated(f Created) error {
	switch {
	case s.Created.Run != "":
		return refuse("the run was created already")
	case f.Run == "":
		return refuse("a run without an id")
	}
	s.Created = f
	s.Config = f.Config
	return nil
}

func (s *State) applyConfigured(f Configured) {
	if f.Config.Output != s.Config.Output {
		// Another result is asked for: what was handed in, and the reminders, were of
		// the other.
		s.handing = handing{assignment: s.handing.assignment + 1}
	}
	if f.Config.Model != s.Config.Model {
		s.malformed = 0 // that was the other model's
	}
	s.Config = f.Config
}

func (s *State) applySynthesized(f Synthesized) error {
	t := &s.Turn
	if !t.Open || t.Request.Open || t.unsettled() || t.synth == synthDone || f.Text == "" {
		return refuse("a synthesis where none is owed")
	}
	t.ending = f.End
	s.giveBack()
	s.synthesis(f.Text)
	return nil
}

func (s *State) applyEnded(f Ended) error {
	t := &s.Turn
	switch {
	case !t.Open:
		return refuse("ended while no turn is open")
	case t.Request.Open:
		return refuse("ended while a request is under way")
	case f.End == "":
		return refuse("an end without a name")
	case f.End == Asked && (len(s.questions()) == 0 || t.running() > 0):
		return refuse("ended asked without an open question at rest")
	case f.End != Asked && t.unsettled():
		return refuse("ended while calls are open")
	}
	switch {
	case f.End != Completed && f.End != Asked:
		// It ended early: what was said meanwhile goes back to the input.
		s.giveBack()
	case f.End == Completed && len(t.Words) > 0:
		// It ended with what was handed in. Nobody has read these words; what is queued
		// is delivered next.
		queue := s.Queue
		s.Queue = nil
		s.giveBack()
		s.Queue = queue
	}
	if f.End != Asked {
		s.flush()
	}
	t.Open = false
	t.End = f
	return nil
}
