package run

import (
	"slices"
	"strings"
)

// The texts of an interrupt. They are part of the contract with the model, which
// has been seen to act well on exactly these words, and with whoever reads the
// log; tests name them.
const (
	// ByUser answers a call that had not started when the person interrupted, and
	// stands as a user message where there was no call.
	ByUser = "[Request interrupted by user]"

	byUserForTool = "[Request interrupted by user for tool use]"

	// RefusedByWait answers the call that the person refused with "wait".
	RefusedByWait = byUserForTool + "\n\n" +
		"The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."

	stopped = "The tool was stopped while it ran and may have done part of its work."

	// ShownAfterWait and ShownAfterInterrupt are what the person sees.
	ShownAfterWait      = "[Tool execution interrupted - waiting for user feedback]"
	ShownAfterInterrupt = "[Conversation interrupted]"
)

// personal reports whether the interrupt was a person's doing. One that was not
// says so, and does not put words into the person's mouth.
func (f Interrupted) personal() bool { return f.Cause == ByPerson || f.Cause == ByWait }

func (f Interrupted) because() string {
	switch f.Cause {
	case ByTimeout:
		return "the time limit was reached"
	case ByShutdown:
		return "pawl was shut down"
	case ByParent:
		return "the run that started this one was interrupted"
	case ByRequest:
		return "another program asked for it"
	case ByPolicy:
		return "an approval was needed and no one was there to give it"
	}
	return string(f.Cause)
}

// cutRequest is what the model is told of a request, or of a call that had not
// started, that an interrupt ended.
func cutRequest(f Interrupted) string {
	if f.personal() {
		return ByUser
	}
	return "[Request interrupted: " + f.because() + "]"
}

// CutText is what the model is told of a call that was stopped while it ran: how,
// and what is known of what it did.
func (f Interrupted) CutText(known string) string {
	head := byUserForTool
	if !f.personal() {
		head = "[Tool use interrupted: " + f.because() + "]"
	}
	text := head + "\n\n" + stopped
	if known != "" {
		text += "\n\n" + known
	}
	return text
}

// Shown is what the person sees once the turn has stopped; empty for an
// interrupt that was not theirs.
func (f Interrupted) Shown() string {
	switch f.Cause {
	case ByWait:
		return ShownAfterWait
	case ByPerson:
		return ShownAfterInterrupt
	}
	return ""
}

// end is how a turn ends after the interrupt.
func (f Interrupted) end(s State) Ended {
	switch f.Cause {
	case ByTimeout:
		return Ended{End: LimitReached, Reason: "wall_clock", Detail: "this turn's time limit of " + s.Config.Limits.InForce().Wall.String() + " is reached"}
	case ByPolicy:
		return Ended{End: EndFailed, Reason: "permission_required", Detail: f.because() + "; allow it with a rule, or run where someone can answer"}
	case ByWait, ByPerson:
		return Ended{End: EndInterrupted, Reason: string(f.Cause), Detail: "say what to do next"}
	}
	return Ended{End: EndInterrupted, Reason: string(f.Cause), Detail: f.because() + "; the run can be continued"}
}

func (s *State) applyInterrupted(p Interrupted) error {
	t := &s.Turn
	switch {
	case !t.Open():
		return refuse("interrupted while no turn is open")
	case p.Turn != 0 && p.Turn != t.N:
		return refuse("an interrupt of turn %d in turn %d", p.Turn, t.N)
	case p.Cause == "":
		return refuse("an interrupt without a cause")
	case t.Phase == Interrupting && len(t.Interrupt.Then) > 0:
		s.Returned = append(slices.Clip(s.Returned), Words{ID: "then_" + itoa(t.N), Parts: append(slices.Clip(t.Interrupt.Then), p.Then...)})
		t.Interrupt.Then = nil
		return nil
	case t.Phase == Interrupting:
		return refuse("interrupted already")
	case len(p.Partial) > 0 && t.Phase != Requesting:
		return refuse("a partial answer without a request")
	}
	if err := s.numbered(p.Partial); err != nil {
		return err
	}
	if c, ok := t.Call(p.Call); p.Cause == ByWait && (!ok || c.Status != CallIsInspected) {
		return refuse("call %s does not wait for a decision", p.Call)
	}
	s.spend(p.Usage)
	if t.Phase == Requesting && t.Request.Purpose == ForStep && meaningful(p.Partial) {
		if text := PlainText(p.Partial); strings.TrimSpace(text) != "" {
			t.text = s.Unfinished() + text
		}
		s.say(Assistant, p.Partial)
		t.forget()
		for _, part := range p.Partial {
			if part.Type == CallPart {
				s.name(*part.Call)
			}
		}
	} else {
		s.calls += countCalls(p.Partial)
	}
	s.stopAgent()
	t.Request = Operation{}
	if t.account == "" {
		t.account = accountFailed // no request follows an interrupt: the account is made from the log
	}
	p.Partial = nil
	t.Interrupt, t.Phase = p, Interrupting
	t.ending = p.end(*s)
	s.giveBack()
	t.Words = nil                          // words of pawl's own are of no more use
	if t.open == 0 || s.Created.External { // an external agent does not see the results of its calls any more
		t.tell(cutRequest(p))
	}
	return nil
}

// meaningful reports whether a partial answer is worth a message: thinking alone
// is not one that a provider takes back.
func meaningful(parts []Part) bool {
	for _, p := range parts {
		if p.Type == CallPart || p.Type == TextPart && strings.TrimSpace(p.Text) != "" {
			return true
		}
	}
	return false
}

// giveBack returns what was said while the agent worked to the person's input,
// where it is visible; it is never delivered by itself.
func (s *State) giveBack() {
	for _, w := range s.Turn.Words {
		if !w.own {
			s.Returned = append(slices.Clip(s.Returned), w)
		}
	}
	s.Returned = append(slices.Clip(s.Returned), s.Queue...)
	s.Turn.Words = slices.DeleteFunc(slices.Clone(s.Turn.Words), func(w Words) bool { return !w.own })
	s.Queue = nil
}
