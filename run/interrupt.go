package run

import (
	"slices"
	"strings"
)

// The texts of an interrupt. They are a fixed contract with models, which respond well to
// exactly these words, and with readers of the log; tests name them.
const (
	// ByUser is the result of a call that had not started when the person interrupted,
	// and the user message where there was no call.
	ByUser = "[Request interrupted by user]"

	byUserForTool = "[Request interrupted by user for tool use]"

	// RefusedByWait is the result of the call that the person refused with "wait".
	RefusedByWait = byUserForTool + "\n\n" +
		"The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."

	stopped = "The tool was stopped while it ran and may have done part of its work."

	// ShownAfterWait and ShownAfterInterrupt are what the person sees.
	ShownAfterWait      = "[Tool execution interrupted - waiting for user feedback]"
	ShownAfterInterrupt = "[Conversation interrupted]"
)

// personal reports whether a person interrupted. Other interrupts name their cause.
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
		return "an approval was needed in non-interactive use"
	case ByPause:
		return "the task was paused"
	}
	return string(f.Cause)
}

// postpones reports whether the work only stops for now, for a reason that has nothing to do with it: what an
// external agent has asked a person for permission to do is asked until it is answered.
func (c Cause) postpones() bool { return c == ByShutdown || c == ByPause }

// NotRunText tells the model that an interrupt ended a request, or a call that had not
// started.
func (f Interrupted) NotRunText() string {
	if f.personal() {
		return ByUser
	}
	return "[Request interrupted: " + f.because() + "]"
}

// CutText is the result of a call that was stopped while it ran. known is what is known
// of its effect, and may be empty.
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

// Shown is the message to the person once the turn has stopped; empty for an interrupt
// that was not a person's.
func (f Interrupted) Shown() string {
	switch f.Cause {
	case ByWait:
		return ShownAfterWait
	case ByPerson:
		return ShownAfterInterrupt
	}
	return ""
}

// end returns how a turn ends after the interrupt.
func (f Interrupted) end(s State) Ended {
	switch f.Cause {
	case ByTimeout:
		return Ended{End: LimitReached, Reason: "wall_clock", Detail: "the time limit (" + s.Config.Limits.InForce().Wall.String() + ") is reached"}
	case ByPolicy:
		what := "a call"
		if c, ok := s.Turn.Call(f.Call); ok {
			what = strings.TrimSpace(c.Tool + " " + subject(c.Arguments))
		}
		return Ended{End: EndFailed, Reason: "permission_required", Detail: what + " needs approval, and no one can give it here; allow it with a rule, or run where someone can answer"}
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
		return nil
	case t.Phase == Interrupting:
		return refuse("interrupted already")
	case len(p.Partial) > 0 && t.Phase != Requesting:
		return refuse("a partial answer without a request")
	}
	if err := s.numbered(p.Partial); err != nil {
		return err
	}
	if c, ok := t.Call(p.Call); p.Cause == ByWait && p.Call != "" && (!ok || c.Status != CallIsInspected) {
		return refuse("call %s does not wait for a decision", p.Call)
	}
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
	t.Phase = Interrupting
	t.ending = p.end(*s)
	s.giveBack()
	t.Words = nil                          // messages of pawl's own are obsolete
	if t.open == 0 || s.Created.External { // an external agent no longer reads the results of its calls
		t.tell(p.NotRunText())
	}
	return nil
}

// meaningful reports whether a partial answer can be kept as a message: providers do not
// accept one that is thinking alone.
func meaningful(parts []Part) bool {
	for _, p := range parts {
		if p.Type == CallPart || p.Type == TextPart && strings.TrimSpace(p.Text) != "" {
			return true
		}
	}
	return false
}

// giveBack moves undelivered messages of the person to Returned.
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
