package run

import (
	"fmt"
	"strings"
	"time"
)

// A Submission is a result that was submitted and accepted.
type Submission struct {
	Call  CallID // that submitted it; empty: an answer of the model
	Value string // JSON; empty: nothing was submitted
}

// assignment is one task of the run and its progress. A turn that continues without a new
// prompt stays in the same assignment.
type assignment struct {
	n          int // 1, 2, …
	submission Submission
	problem    string // why the last answer is not the result; empty: it was not meant to be
}

// Assignment returns the number of the last assignment.
func (s State) Assignment() int { return s.assignment.n }

// Submission returns the result of the last assignment.
func (s State) Submission() Submission { return s.assignment.submission }

// assign begins an assignment, unless the turn continues one whose result is missing.
func (s *State) assign(continues bool) {
	if continues && !s.submitted() {
		return
	}
	s.assignment = assignment{n: s.assignment.n + 1}
}

// submitted reports whether the result of this assignment was submitted.
func (s *State) submitted() bool { return s.assignment.submission.Value != "" }

// owesOutput reports whether a result is required and not submitted yet.
func (s *State) owesOutput() bool { return s.Config.Output.Schema != "" && !s.submitted() }

// DefaultReminder is how long an agent has after each reminder unless the configuration says
// otherwise.
const DefaultReminder = 2 * time.Minute

// maxReminders is how often the model is reminded of the result in one assignment.
const maxReminders = 2

// remind returns the next reminder, or the end of the turn if there were enough.
func (s *State) remind() (Ended, Told) {
	a := &s.assignment
	if s.Turn.Reminders < maxReminders {
		text := Reminder(s.Config.Output)
		if a.problem != "" || s.Config.Output.Tool == "" {
			text = "Your answer must be JSON that fits the requested schema, and nothing else."
			for _, more := range []string{a.problem, "Answer again."} {
				if more != "" {
					text += " " + more
				}
			}
		}
		return Ended{}, Told{Reason: TellOutput, Text: text}
	}
	detail := fmt.Sprintf("no result was submitted after %d reminders.", s.Turn.Reminders)
	if tool := s.Config.Output.Tool; tool != "" {
		detail = fmt.Sprintf("no result was submitted with %s after %d reminders.", tool, s.Turn.Reminders)
	}
	if a.problem != "" {
		detail += " " + a.problem
	}
	if said := s.Said(); said != "" {
		detail += ` The agent said last: "` + shorten(strings.Join(strings.Fields(said), " "), maxSaid) + `"` // on one line; what shows it escapes
	}
	return Ended{End: EndFailed, Reason: "output_missing", Detail: detail}, Told{}
}

// Reminder is what an agent is told that has ended its turn without the result that is
// required of it, which a tool submits.
func Reminder(o Output) string {
	text := fmt.Sprintf("You must call the %s tool before finishing. Please call it now.", o.Tool)
	if o.Hint != "" {
		text += " " + o.Hint
	}
	return text
}

// maxSaid bounds the part of the last answer that the end of a turn without its result
// quotes, in bytes; the log has all of it.
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
