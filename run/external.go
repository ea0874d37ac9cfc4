package run

import "slices"

// agentCutText is sent to an external agent after the process of its last turn was
// killed. The message of that turn is not simply sent again.
const agentCutText = "The last turn was cut off because the process that ran it ended. Part of what was asked may be done: look before you repeat anything, then finish the work."

// nextExternal is Next for a run of an external agent: one external turn at a time, and
// the calls that the agent makes through pawl's tools.
func (s State) nextExternal() []Command {
	t := &s.Turn
	calls := func() []Command {
		// A question does not end the agent's turn.
		return slices.DeleteFunc(s.nextCalls(), func(c Command) bool { return isEnd(c) })
	}
	switch {
	case t.Phase == Requesting && t.open == 0:
		return []Command{s.externalTurn(t.Request.Attempt)}
	case t.Phase == Requesting:
		return append([]Command{s.externalTurn(t.Request.Attempt)}, calls()...)
	case t.open > 0:
		return s.nextOrphans()
	case t.Hooking(""):
		return nil
	case s.submitted() && t.ending.End != EndInterrupted:
		return []Command{s.finish(s.submittedEnd())}
	case t.Phase == Ending:
		return []Command{s.finish(t.ending)}
	case t.Phase == Spoken && len(t.Words) == 0 && s.owesOutput():
		end, told := s.remind()
		if end.End != "" {
			return []Command{s.finish(end)}
		}
		return []Command{Derive{told}}
	case t.Phase == Spoken && len(t.Words) == 0:
		return []Command{Derive{Ended{End: Completed}}}
	}
	if over := s.spent(); over.End != "" {
		return []Command{s.finish(over)}
	}
	return []Command{s.externalTurn(t.Request.Attempt + 1)}
}

// submittedEnd is the end of a turn whose result was submitted, with a warning if the agent
// failed after that.
func (s *State) submittedEnd() Ended {
	end := Ended{End: Completed}
	if e := s.Turn.ending; s.Turn.Phase == Ending && e.End != Completed && e.Reason != string(ErrAborted) {
		end.Detail = "the result was submitted; after that the agent failed: " + e.Detail
	}
	return end
}

// nextOrphans settles the calls of an external turn that has ended: the agent no longer
// waits for their results. Running calls are no longer owed, so the worker cancels and
// settles them. A question stays open: the next turn delivers its answer. So does a call
// that is Late: the turn waits for its decision.
func (s State) nextOrphans() []Command {
	t := &s.Turn
	over := t.Phase == Ending || s.submitted()
	var owed []Command
	late := 0
	for i, c := range t.Calls {
		switch {
		case c.Status == CallDone || c.Question:
		case c.Late && !over && c.Status == CallRunning:
			owed = append(owed, Perform{*c, c.Attempt})
			late++
		case c.Late && !over && c.Status == CallAllowed:
			if t.mayStart(i) && t.running < s.Config.parallel() {
				owed = append(owed, Perform{*c, c.Attempt + 1})
			}
			late++
		case c.Late && !over && c.Status == CallIsInspected && c.Problem == "":
			if late++; !t.Hooking(c.ID) { // a model that is asked about it is cancelled: the agent is away, and a person decides
				owed = append(owed, Decide{*c})
			}
		case c.Status == CallRunning:
		default:
			owed = append(owed, Derive{settledAs(c.ID, NotRun, "The call was not run: the agent's turn was over before it started.")})
		}
	}
	if len(owed) > 0 || late > 0 || t.running > 0 || t.Hooking("") {
		return owed // the hooks of a report that the agent no longer waits for are cancelled
	}
	if over {
		for _, c := range s.Questions() {
			owed = append(owed, Derive{settledAs(c.ID, NotRun, "The question was not answered: the agent's turn was over.")})
		}
		return owed
	}
	return []Command{Derive{Ended{End: Asked, Reason: "question", Detail: "answer the question to continue"}}}
}

// decidedLate queues the decision on a Late call, for which the agent does not wait any more, for the next
// external turn. If the call was
// allowed, the agent makes it once more, and that is allowed without another decision.
func (s *State) decidedLate(c *CallState) {
	t := &s.Turn
	request := "\nThe request was: " + shorten(c.Arguments, 2000)
	if c.Outcome != OK {
		t.tell("The person has answered your request for permission: no. " + PlainText(c.Result.Content) + request)
		return
	}
	s.late = append(slices.Clip(s.late), c.Key)
	t.tell("The person has answered your request for permission: yes. Do it now, exactly as you asked, and finish the work." + request)
}

// keeps reports whether the interrupt of the turn leaves a call open: the agent is told of the decision on it in the
// turn that follows.
func (t *Turn) keeps(c *CallState) bool {
	return c.Late && c.Problem == "" && (c.Status == CallIsInspected || c.Status == CallAllowed) && t.Interrupt.Cause.postpones()
}

// kept returns how many calls the interrupt of the turn leaves open.
func (t *Turn) kept() (n int) {
	for _, c := range t.Calls[min(t.first, len(t.Calls)):] {
		if t.keeps(c) {
			n++
		}
	}
	return n
}

// AllowedLate reports whether a call with this key was allowed when the agent no longer
// waited for it, and has not been made since.
func (s State) AllowedLate(key string) bool { return slices.Contains(s.late, key) }

// Heard returns the messages that an external agent has been given, and its own.
func (s State) Heard() []Message {
	return slices.DeleteFunc(slices.Clone(s.Messages), func(m Message) bool {
		return m.Role == User && number(CallID(m.ID)) > s.heard
	})
}

func isEnd(c Command) bool {
	d, ok := c.(Derive)
	if !ok {
		return false
	}
	_, ok = d.Payload.(Ended)
	return ok
}

// externalTurn returns the turn that is owed: its message is everything said to the
// agent that it has not received yet.
func (s State) externalTurn(attempt int) ExternalTurn {
	t := &s.Turn
	var words []Part
	for i := len(s.Messages) - 1; i >= 0; i-- {
		m := &s.Messages[i]
		if m.Role != User {
			continue
		}
		if number(CallID(m.ID)) <= s.heard {
			break
		}
		words = append(slices.Clone(m.Parts), words...)
	}
	if t.Phase != Requesting { // otherwise they are for the next turn
		for _, w := range t.Words {
			words = append(words, w.Parts...)
		}
	}
	notices := 0 // that an agent was cut off, again and again, is said once, after the rest
	for _, p := range words {
		if p.Text == agentCutText {
			notices++
		}
	}
	words = slices.DeleteFunc(words, func(p Part) bool {
		if p.Text == agentCutText {
			notices--
		}
		return p.Text == agentCutText && notices > 0
	})
	step := t.Steps
	if t.Request.Attempt == 0 {
		step++
	}
	return ExternalTurn{Turn: t.N, Step: step, Conversation: s.Conversation, Message: words, Attempt: attempt, Wait: t.Request.Wait}
}

func (s *State) applyObserved(p Observed) error {
	switch t := &s.Turn; {
	case !t.Open():
		return refuse("observed while no turn is open")
	case !s.Created.External && (t.Phase != Requesting || p.Conversation != "" || len(p.Notices)+len(p.Parts) > 0 || p.Usage != Usage{}):
		return refuse("a report of an external agent in a run without one")
	}
	if p.Conversation != "" {
		s.Conversation = p.Conversation
	}
	r := &s.Turn.Request
	if len(p.Notices) > 0 {
		return nil // they are pawl's
	}
	r.observed, r.worked = true, r.worked || len(p.Parts) > 0 || p.Usage != Usage{}
	return nil
}

// stopAgent records that the external turn in progress was cut off. If the agent had begun to work it has received its
// message; otherwise the message is sent again: a program names its conversation before the message is stored in it.
func (s *State) stopAgent() {
	if s.Turn.Request.worked {
		s.heard = s.messages
	}
}

// agentReplied applies the reply that ends an external turn.
func (s *State) agentReplied(p Replied, text string) {
	t := &s.Turn
	s.heard = s.messages
	if text != "" {
		s.say(Assistant, p.Parts)
		t.text = text
	}
	t.reply = reply{stop: p.Stop}
	t.Phase = Spoken
}
