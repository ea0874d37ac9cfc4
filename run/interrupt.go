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
		return "a permission was needed and nobody was there to give it"
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

// UnknownText is what the model is told of a call that started and whose outcome
// nobody knows, because the process that ran it is gone.
const UnknownText = "The outcome of this call is unknown: the process that ran it ended before it could tell. It may have happened, in part or whole, or not. Look before you repeat it."

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
		return Ended{End: LimitReached, Reason: "wall_clock", Detail: "this turn's time limit of " + s.Config.Limits.wall().String() + " is reached"}
	case ByPolicy:
		return Ended{End: EndFailed, Reason: "permission_required", Detail: f.because() + "; allow it with a rule, or run where somebody can answer"}
	case ByWait, ByPerson:
		return Ended{End: EndInterrupted, Reason: string(f.Cause), Detail: "interrupted; say what to do next"}
	}
	return Ended{End: EndInterrupted, Reason: string(f.Cause), Detail: "interrupted: " + f.because() + "; it can be continued"}
}

func (s *State) applyInterrupted(f Interrupted) error {
	t := &s.Turn
	switch {
	case !t.Open:
		return refuse("interrupted while no turn is open")
	case t.Interrupt.Cause != "":
		return refuse("interrupted already")
	case f.Cause == "":
		return refuse("an interrupt without a cause")
	case len(f.Partial) > 0 && !t.Request.Open:
		return refuse("a partial answer without a request")
	}
	if err := s.numbered(f.Partial); err != nil {
		return err
	}
	if f.Cause == ByWait {
		i := t.find(f.Call)
		if i < 0 || t.Calls[i].Status != CallIsAsked {
			return refuse("call %s does not wait for a decision", f.Call)
		}
	}
	if t.Request.Open && t.Request.Purpose == ForStep && meaningful(f.Partial) {
		s.say(Assistant, f.Partial)
		t.Calls = nil
		s.name(f.Partial)
	} else {
		s.calls += countCalls(f.Partial)
	}
	t.Request = InFlight{}
	if t.synth == synthNone {
		t.synth = synthFailed // no request follows an interrupt: the account is made from the log
	}
	f.Partial = nil
	t.Interrupt = f
	s.giveBack()
	t.Words = nil // a nudge is of no more use
	if len(t.Calls) == 0 || !t.unsettled() {
		t.Words = append(slices.Clip(t.Words), Words{Parts: []Part{Text(cutRequest(f))}, own: true})
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
