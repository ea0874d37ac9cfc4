package run

import "slices"

// open begins a turn.
func (s *State) open(e Event) {
	s.Turn = Turn{N: s.Turn.N + 1, Open: true, Started: e.At, after: afterWords, own: s.Turn.own}
	s.Turn.Usage.Priced = true
	if s.Turn.N == 1 {
		s.Usage.Priced = true // of nothing, all prices are known
	}
	s.window.tooLong = false
}

func (s *State) applyPrompted(e Event, f Prompted) error {
	switch {
	case s.Turn.Open:
		return refuse("prompted in the middle of a turn")
	case s.Turn.unsettled():
		return refuse("prompted while a question is open")
	case len(f.Parts) == 0 && !f.Continue:
		return refuse("prompted without words")
	case f.Continue && s.Turn.N == 0:
		return refuse("nothing to continue")
	}
	if i := indexWords(s.Queue, f.Queued); f.Queued != "" {
		if i < 0 {
			return refuse("queued message %q is not there", f.Queued)
		}
		s.Queue = slices.Delete(slices.Clone(s.Queue), i, i+1)
	}
	parts := f.Parts
	if len(parts) == 0 {
		parts = []Part{Text(ContinueText)}
	}
	then := len(s.Turn.Interrupt.Then) > 0
	s.open(e)
	s.assign(f.Continue && len(f.Parts) == 0)
	if !then { // nobody has seen yet what came back to the input
		s.Returned = nil
	}
	s.Turn.prompt = s.say(User, parts)
	if s.task == "" {
		s.task = s.Turn.prompt
	}
	return nil
}

// ContinueText is what the model is told when the person says no more than
// "go on".
const ContinueText = "Continue where you stopped."

func (s *State) applyQuestionAnswered(e Event, f QuestionAnswered) error {
	if s.Turn.Open {
		return refuse("answered in the middle of a turn")
	}
	i := s.Turn.find(f.Call)
	if i < 0 || !s.Turn.Calls[i].Question || s.Turn.Calls[i].Status == CallDone {
		return refuse("call %s is no open question", f.Call)
	}
	calls, words, planned := slices.Clone(s.Turn.Calls), s.Turn.Words, s.planned()
	s.open(e)
	s.Turn.Calls, s.Turn.Words, s.Turn.goesOn = calls, words, planned
	s.Turn.prompt = s.lastID() // the message that asked
	s.settle(e, i, CallSettled{Call: f.Call, Outcome: Answered, Content: []Part{Text(f.Text)}})
	return nil
}

func (s *State) applySteered(f Steered) error {
	if err := s.fresh(f.ID, f.Parts); err != nil {
		return err
	}
	if !s.Turn.Open {
		return refuse("steered while no turn is open")
	}
	if s.Turn.Interrupt.Cause != "" {
		s.Returned = append(s.Returned, Words{ID: f.ID, Parts: f.Parts})
		return nil
	}
	s.Turn.Words = append(slices.Clip(s.Turn.Words), Words{ID: f.ID, Parts: f.Parts})
	return nil
}

func (s *State) applyQueued(f Queued) error {
	if err := s.fresh(f.ID, f.Parts); err != nil {
		return err
	}
	if !s.Turn.Open {
		return refuse("queued while no turn is open")
	}
	if s.Turn.Interrupt.Cause != "" {
		s.Returned = append(s.Returned, Words{ID: f.ID, Parts: f.Parts})
		return nil
	}
	s.Queue = append(slices.Clip(s.Queue), Words{ID: f.ID, Parts: f.Parts})
	return nil
}

// fresh checks something said while the agent works.
func (s *State) fresh(id string, parts []Part) error {
	switch {
	case id == "" || len(parts) == 0:
		return refuse("words without an id or without words")
	case indexWords(s.Queue, id) >= 0 || indexWords(s.Turn.Words, id) >= 0 || indexWords(s.Returned, id) >= 0:
		return refuse("message %q is there already", id)
	}
	return nil
}

func (s *State) applyWithdrawn(f Withdrawn) error {
	if f.ID == "" {
		return refuse("withdrawn without an id")
	}
	if i := indexWords(s.Queue, f.ID); i >= 0 {
		s.Queue = slices.Delete(slices.Clone(s.Queue), i, i+1)
		return nil
	}
	if i := indexWords(s.Turn.Words, f.ID); i >= 0 && s.Turn.Open {
		s.Turn.Words = slices.Delete(slices.Clone(s.Turn.Words), i, i+1)
		return nil
	}
	return refuse("message %q does not wait to be delivered", f.ID)
}

func indexWords(words []Words, id string) int {
	return slices.IndexFunc(words, func(w Words) bool { return w.ID == id })
}
