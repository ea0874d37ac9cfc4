package run

import (
	"cmp"
	"slices"
)

// nextExternal owes what a run of an external agent needs: one coarse command a
// turn, and what the agent asks of pawl through its own tools.
func (s State) nextExternal() []Command {
	t := &s.Turn
	if t.Request.Open {
		owed := []Command{s.drive(t.Request.Attempt)}
		if t.unsettled() {
			owed = append(owed, s.nextCalls()...)
		}
		return slices.DeleteFunc(owed, func(c Command) bool { // a question does not end the agent's turn
			r, ok := c.(Record)
			return ok && isEnd(r.Fact)
		})
	}
	switch {
	case t.failure.End != "":
		return []Command{s.ending(t.failure)}
	case t.unsettled():
		return s.nextCalls()
	case t.after == afterWords:
		return []Command{s.drive(t.Request.Attempt + 1)}
	}
	return []Command{Record{Ended{End: Completed}}}
}

func isEnd(f Fact) bool {
	_, ok := f.(Ended)
	return ok
}

// drive restates the words that the agent is to be given: everything said to it
// since it last ended a turn.
func (s State) drive(attempt int) Drive {
	var words []Part
	for i := len(s.Messages) - 1; i >= 0 && s.Messages[i].Role == User; i-- {
		words = append(slices.Clone(s.Messages[i].Parts), words...)
	}
	for _, w := range s.Turn.Words {
		words = append(words, w.Parts...)
	}
	return Drive{Turn: s.Turn.N, Conversation: s.Conversation, Message: words, Attempt: attempt, NotBefore: s.Turn.Request.RetryAt}
}

func (s *State) applyDriveStarted(e Event, f DriveStarted) error {
	t := &s.Turn
	switch {
	case !t.Open || !s.Created.External || t.Request.Open:
		return refuse("an external turn where none is owed")
	case t.Interrupt.Cause != "" || t.unsettled():
		return refuse("an external turn after the interrupt or beside open calls")
	case f.Attempt != t.Request.Attempt+1:
		return refuse("attempt %d of an external turn after %d", f.Attempt, t.Request.Attempt)
	}
	if f.Conversation != "" {
		s.Conversation = f.Conversation
	}
	s.flush()
	t.Steps++
	t.Request.Open, t.Request.Attempt, t.Request.started = true, f.Attempt, e.At
	return nil
}

func (s *State) applyObserved(f Observed) error {
	t := &s.Turn
	if !t.Open || !s.Created.External {
		return refuse("observed outside an external turn")
	}
	if f.Conversation != "" {
		s.Conversation = f.Conversation
	}
	t.Usage, s.Usage = t.Usage.Add(f.Usage), s.Usage.Add(f.Usage)
	return nil
}

func (s *State) applyCallReceived(f CallReceived) error {
	t := &s.Turn
	switch {
	case !t.Open || !s.Created.External || !t.Request.Open || t.Interrupt.Cause != "":
		return refuse("a call from outside while no external turn is under way")
	case f.Call.ID != CallID("c_"+itoa(s.calls+1)):
		return refuse("a call that is not numbered on from c_%d", s.calls+1)
	}
	t.Calls = slices.Clone(t.Calls)
	s.name([]Part{{Type: CallPart, Call: &f.Call}})
	return nil
}

func (s *State) applyDriveEnded(f DriveEnded) error {
	t := &s.Turn
	if !t.Open || !s.Created.External || !t.Request.Open {
		return refuse("an external turn ended that was not under way")
	}
	t.Request = InFlight{}
	if f.Text != "" {
		s.say(Assistant, []Part{Text(f.Text)})
	}
	t.after = afterReply
	if f.Failed {
		t.failure = Ended{End: EndFailed, Reason: cmp.Or(string(f.Kind), "agent_failed"), Detail: f.Reason}
	}
	return nil
}
