package run

import (
	"fmt"
	"slices"
)

// A Submission is a result that was handed in and accepted.
type Submission struct {
	Call  CallID // that handed it in; empty: an answer of the model
	Value string // JSON; empty: nothing was
}

// handing is how far the run has come with the result of its assignment.
type handing struct {
	assignment int // 1, 2, …: what the run is asked for; going on without words stays in it
	submission Submission
	reminders  int
	problem    string // with the last answer that was to be the result
}

// Assignment numbers what the run was asked for last.
func (s State) Assignment() int { return s.handing.assignment }

// Submission returns the result of the last assignment.
func (s State) Submission() Submission { return s.handing.submission }

// assign begins an assignment. A turn without words of the person's own goes on
// with what is not handed in yet.
func (s *State) assign(goesOn bool) {
	if goesOn && s.handing.submission.Value == "" {
		return
	}
	s.handing = handing{assignment: s.handing.assignment + 1}
}

// owesOutput reports whether a result is still to be handed in.
func (s *State) owesOutput() bool {
	return s.Config.Output.Schema != "" && s.handing.submission.Value == ""
}

// maxReminders is how often in an assignment a run is reminded of its result.
const maxReminders = 2

// reminder owes the next reminder.
func (s *State) reminder() Command {
	text := fmt.Sprintf("You must call the %s tool before finishing. Please call it now.", s.Config.Output.Tool)
	if s.handing.problem != "" {
		text = "Your answer has to be JSON that fits the schema it was asked for with, and nothing else. " + s.handing.problem + " Answer again."
	}
	return Record{Reminded{N: s.handing.reminders + 1, Text: text}}
}

// outputMissing is the end of a turn that was reminded in vain.
func (s *State) outputMissing() Ended {
	detail := fmt.Sprintf("no result that fits was handed in after %d reminders.", maxReminders)
	if s.handing.problem != "" {
		detail += " " + s.handing.problem
	}
	if said := s.Answer(); said != "" {
		detail += fmt.Sprintf(" It said last: %q", shorten(said, maxSaid))
	}
	return Ended{End: EndFailed, Reason: "output_missing", Detail: detail}
}

// maxSaid is how many bytes of the last words the end of a run without its result
// quotes; they are whole in the log.
const maxSaid = 500

func (s *State) applySubmitted(f Submitted) error {
	t := &s.Turn
	i := t.find(f.Call)
	switch {
	case !t.Open || t.Request.Open || t.Interrupt.Cause != "":
		return refuse("a submission while the turn is not at work")
	case !s.owesOutput() || f.Assignment != s.handing.assignment:
		return refuse("a submission for assignment %d, which waits for none", f.Assignment)
	case f.Value == "":
		return refuse("a submission of nothing")
	case f.Call != "" && (i < 0 || t.Calls[i].Status != CallRuns):
		return refuse("a submission by call %s, which does not run", f.Call)
	case f.Call == "" && (t.unsettled() || t.after != afterReply):
		return refuse("a submission while the model has not spoken last")
	}
	s.handing.submission = Submission{Call: f.Call, Value: f.Value}
	return nil
}

func (s *State) applySubmissionRefused(f SubmissionRefused) error {
	t := &s.Turn
	switch {
	case !t.Open || t.Request.Open || t.unsettled() || t.after != afterReply || !s.owesOutput():
		return refuse("a submission refused where none was looked at")
	case f.Problem == "":
		return refuse("a submission refused without a word")
	}
	s.handing.problem = f.Problem
	return nil
}

func (s *State) applyReminded(f Reminded) error {
	t := &s.Turn
	switch {
	case !t.Open || t.Request.Open || t.Interrupt.Cause != "" || t.unsettled() || t.after != afterReply || !s.owesOutput():
		return refuse("reminded of a result that is not waited for")
	case f.N != s.handing.reminders+1 || f.Text == "":
		return refuse("reminder %d after %d", f.N, s.handing.reminders)
	}
	s.handing.reminders, s.handing.problem = f.N, ""
	t.Words = append(slices.Clip(t.Words), Words{Parts: []Part{Text(f.Text)}, own: true})
	t.after = afterWords
	return nil
}
