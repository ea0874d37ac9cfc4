package run

import "slices"

// open begins a turn.
func (s *State) open() {
	last := &s.Turn.TurnSummary // Add makes of it that of the new turn
	s.Turn = Turn{TurnSummary: TurnSummary{N: last.N, Reminders: last.Reminders, output: last.output}, Phase: Ready, owned: s.Turn.owned}
	s.reconfigured = false
	s.window.tooLong = false
}

func (s *State) applyPrompted(e Event, p Prompted) error {
	t := &s.Turn
	i := t.find(p.Answers)
	queued := indexWords(s.Queue, p.Queued)
	switch {
	case t.Open():
		return refuse("prompted in the middle of a turn")
	case p.Answers != "" && (i < 0 || !t.Calls[i].Question || t.Calls[i].Status == CallDone):
		return refuse("call %s is not an open question", p.Answers)
	case p.Answers == "" && t.open > t.kept():
		return refuse("prompted while a question is open")
	case len(p.Parts) == 0 && !p.Continue:
		return refuse("prompted without words")
	case p.Continue && t.N == 0:
		return refuse("nothing to continue")
	case p.Queued != "" && queued < 0:
		return refuse("queued message %q is not there", p.Queued)
	}
	if p.Queued != "" {
		s.Queue = slices.Delete(slices.Clone(s.Queue), queued, queued+1)
	}
	if p.Answers != "" {
		s.answer(e, i, p.Parts)
		return nil
	}
	parts := p.Parts
	if len(parts) == 0 {
		parts = []Part{Text(continueText)}
	}
	then := len(t.Interrupt.Then) > 0
	last := *t
	s.open()
	if t.Words = last.Words; last.open > 0 { // calls that the interrupt has kept, and what was decided on them since
		t.Calls, t.counts, t.hooks = last.Calls, last.counts, last.hooks
	}
	s.assign(len(p.Parts) == 0)
	if !then { // with Then, the returned messages have not been shown yet
		s.Returned = nil
	}
	t.prompt = s.say(User, parts)
	if len(p.Parts) > 0 {
		s.undelivered = append(slices.Clip(s.undelivered), t.prompt)
	}
	if s.task == "" {
		s.task = t.prompt
	}
	return nil
}

// answer begins a turn with the answer to the question of call i.
func (s *State) answer(e Event, i int, parts []Part) {
	t := &s.Turn
	last, planned := *t, s.planned()
	s.open()
	t.Calls, t.counts, t.hooks = last.Calls, last.counts, last.hooks
	t.Words, t.sharePlan = last.Words, planned
	t.prompt = s.lastID() // the message that asked
	if t.Phase = Calling; s.Created.External {
		// The agent's request for the call ended with its turn: the answer is part of the
		// next turn's message.
		t.Phase = Ready
		t.tell("The person answers: " + PlainText(parts))
	}
	s.settle(e, t.own(i), CallSettled{Call: t.Calls[i].ID, Outcome: Answered, Content: parts})
}

// continueText is the prompt of a turn that continues without words of the person.
const continueText = "Continue where you stopped."

func (s *State) applySaid(p Said) error {
	t := &s.Turn
	switch {
	case p.ID == "" || len(p.Parts) == 0:
		return refuse("words without an id or without words")
	case p.Delivery != Steer && p.Delivery != Queue:
		return refuse("words to be delivered %q", p.Delivery)
	case indexWords(s.Queue, p.ID) >= 0 || indexWords(t.Words, p.ID) >= 0 || indexWords(s.Returned, p.ID) >= 0:
		return refuse("message %q is there already", p.ID)
	case !t.Open():
		return refuse("said while no turn is open")
	}
	to := &t.Words
	switch {
	case t.Phase == Interrupting:
		to = &s.Returned
	case p.Delivery == Queue:
		to = &s.Queue
	}
	*to = append(slices.Clip(*to), Words{ID: p.ID, Parts: p.Parts})
	return nil
}

func (s *State) applyWithdrawn(p Withdrawn) error {
	if p.ID == "" {
		return refuse("withdrawn without an id")
	}
	if i := indexWords(s.Queue, p.ID); i >= 0 {
		s.Queue = slices.Delete(slices.Clone(s.Queue), i, i+1)
		return nil
	}
	if i := indexWords(s.Turn.Words, p.ID); i >= 0 && (s.Turn.Open() || s.Turn.open > 0) { // they wait for the answer to a question too
		s.Turn.Words = slices.Delete(slices.Clone(s.Turn.Words), i, i+1)
		return nil
	}
	t := &s.Turn
	if c, ok := t.Call(t.Received(p.ID)); ok && t.Open() && (c.Late || c.Status == CallNamed) && !c.Left {
		c := t.own(t.find(c.ID))
		if c.Left = true; c.Status == CallDone { // no one has read the answer
			s.decidedLate(c)
		}
		return nil
	}
	return refuse("message %q does not wait to be delivered", p.ID)
}

// Say returns the event that a message to the run becomes in s: the prompt of a new turn,
// the answer to its open question, or a message to the open turn. If all that the open turn does is to wait
// for an answer, it is the answer.
func Say(s State, id string, delivery Delivery, parts []Part) Payload {
	if q := s.Answerable(); len(q) > 0 && s.Turn.Open() && s.Turn.waitsForPerson() {
		return CallAnswered{Call: q[0].ID, Parts: parts}
	}
	if s.Turn.Open() {
		return Said{ID: id, Delivery: delivery, Parts: parts}
	}
	p := Prompted{Parts: parts}
	if q := s.Questions(); len(q) > 0 {
		p.Answers = q[0].ID
	}
	return p
}

// Pending returns the person's messages that the next request delivers.
func (t *Turn) Pending() []Words {
	return slices.DeleteFunc(slices.Clone(t.Words), func(w Words) bool { return w.own })
}

func indexWords(words []Words, id string) int {
	return slices.IndexFunc(words, func(w Words) bool { return w.ID == id })
}
