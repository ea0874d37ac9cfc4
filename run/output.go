package run

import "fmt"

// A Submission is a result that was handed in and accepted.
type Submission struct {
	Call  CallID // that handed it in; empty: an answer of the model
	Value string // JSON; empty: nothing was
}

// assignment is one thing that the run is asked for, with how far it has come. A
// turn that continues without new words stays in it.
type assignment struct {
	n          int // 1, 2, …
	submission Submission
	reminders  int
	problem    string // with the last answer that was to be the result
}

// Assignment returns the number of what the run was asked for last.
func (s State) Assignment() int { return s.assignment.n }

// Submission returns the result of the last assignment.
func (s State) Submission() Submission { return s.assignment.submission }

// assign begins an assignment, unless the turn continues with a result that is
// still missing.
func (s *State) assign(continues bool) {
	if continues && !s.submitted() {
		return
	}
	s.assignment = assignment{n: s.assignment.n + 1}
}

// submitted reports whether the result of this assignment was handed in.
func (s *State) submitted() bool { return s.assignment.submission.Value != "" }

// owesOutput reports whether a result is still to be handed in.
func (s *State) owesOutput() bool { return s.Config.Output.Schema != "" && !s.submitted() }

// maxReminders is how often in an assignment a run is reminded of its result.
const maxReminders = 2

// remind returns the next reminder, or the end of a turn that was reminded to no
// effect.
func (s *State) remind() (Ended, Told) {
	a := &s.assignment
	if a.reminders < maxReminders {
		text := fmt.Sprintf("You must call the %s tool before finishing. Please call it now.", s.Config.Output.Tool)
		if a.problem != "" || s.Config.Output.Tool == "" {
			text = "Your answer has to be JSON that fits the schema it was asked for with, and nothing else."
			for _, more := range []string{a.problem, "Answer again."} {
				if more != "" {
					text += " " + more
				}
			}
		}
		return Ended{}, Told{Reason: TellOutput, Text: text}
	}
	detail := fmt.Sprintf("no result was handed in after %d reminders.", a.reminders)
	if tool := s.Config.Output.Tool; tool != "" {
		detail = fmt.Sprintf("no result was handed in with %s after %d reminders.", tool, a.reminders)
	}
	if a.problem != "" {
		detail += " " + a.problem
	}
	if said := s.Answer(); said != "" {
		detail += fmt.Sprintf(" The agent said last: %q", shorten(said, maxSaid))
	}
	return Ended{End: EndFailed, Reason: "output_missing", Detail: detail}, Told{}
}

// maxSaid is how many bytes of the last words the end of a run without its result
// quotes; they are whole in the log.
const maxSaid = 500

func (s *State) applySubmitted(p Submitted) error {
	t := &s.Turn
	c, called := t.Call(p.Call)
	switch {
	case !t.Open() || t.Phase == Interrupting:
		return refuse("a submission while the turn is not at work")
	case !s.owesOutput() || p.Assignment != s.assignment.n:
		return refuse("a submission for assignment %d, which waits for none", p.Assignment)
	case p.Value == "":
		return refuse("a submission of nothing")
	case p.Call != "" && (!called || c.Status != CallRunning):
		return refuse("a submission by call %s, which does not run", p.Call)
	case p.Call == "" && t.Phase != Spoken:
		return refuse("a submission while the model has not spoken last")
	}
	s.assignment.submission = Submission{Call: p.Call, Value: p.Value}
	return nil
}
