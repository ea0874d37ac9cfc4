package app

import (
	"fmt"
	"strings"
	"time"

	"pawl/run"
	"pawl/store"
)

// A WhyForm is the answer of runs why as JSON.
type WhyForm struct {
	Run    run.ID    `json:"run"`
	State  Condition `json:"state"`
	End    run.End   `json:"end,omitempty"` // of the last turn
	Reason string    `json:"reason,omitempty"`
	Text   string    `json:"text"` // the state in a sentence
	Last   LastEvent `json:"last"`
	Owed   []string  `json:"owed"`
	PID    int       `json:"pid,omitempty"` // of the process that drives the run
	Next   string    `json:"next,omitempty"`
}

// A LastEvent is the last event of a run.
type LastEvent struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Type string    `json:"type"`
	Text string    `json:"text"` // what it is, in a line
}

// WhyFormOf returns y as JSON.
func WhyFormOf(y Why) WhyForm {
	s := y.State
	w := WhyForm{Run: y.Run, State: ConditionOf(s, y.Owner != nil), Text: ConditionWords(s, y.Owner), Owed: y.Owed, Next: y.next(),
		Last: LastEvent{y.Last.Seq, y.Last.At, store.Type(y.Last.Payload), y.words.Of(y.Last)}}
	if !s.Turn.Open() {
		w.End, w.Reason = s.Turn.End.End, s.Turn.End.Reason
	}
	if y.Owner != nil {
		w.PID = y.Owner.PID
	}
	switch {
	case y.below, y.waits && w.State != Waiting:
		w.State, w.Text = Waiting, WaitsBelow
	case w.State == Working:
		w.Next = fmt.Sprintf("wait, or stop it with `pawl runs stop %s`", y.Run)
	}
	return w
}

// Continue returns the command that continues the run.
func (y Why) Continue() string {
	if y.Task != nil {
		return TaskNext(*y.Task)
	}
	return "pawl run --resume " + string(y.Run)
}

// next is [NextCommand], of a run that belongs to a task with the command that continues that.
func (y Why) next() string {
	next := NextCommand(y.State)
	switch {
	case (NeedsApproval(y.State) || y.below) && y.Owner != nil:
		return fmt.Sprintf("decide with `pawl runs decide %s`", y.Run)
	case y.Task == nil || next == "":
		return next
	case NeedsApproval(y.State):
		return fmt.Sprintf("decide with `pawl runs decide %s`, then continue its task with `%s`", y.Run, y.Continue())
	}
	return fmt.Sprintf("continue its task with `%s`", y.Continue())
}

// NextCommand returns the command that continues a run, in a sentence; empty if nothing is left to
// continue.
func NextCommand(s run.State) string {
	id := s.Created.Run
	switch end := s.Turn.End; {
	case NeedsApproval(s):
		return fmt.Sprintf("decide with `pawl runs decide %s`, or continue with a rule that allows it: `pawl run --resume %s --allow '…'`", id, id)
	case s.Turn.Open():
		return fmt.Sprintf("continue with `pawl run --resume %s`", id)
	case end.End == run.Completed:
		return ""
	case end.Reason == string(run.ErrAuth):
		return fmt.Sprintf("see what is missing with `pawl doctor`, then continue with `pawl run --resume %s`", id)
	case end.Reason == string(run.ErrInvalid) && strings.Contains(end.Detail, "HTTP 404"):
		provider, _, _ := strings.Cut(s.Config.Model, "/")
		return fmt.Sprintf("see which models there are with `pawl models %s`, then continue with `pawl run --resume %s --model …`", provider, id)
	case end.End == run.Asked:
		return fmt.Sprintf("answer with `pawl run --resume %s -p \"…\"`", id)
	case end.Reason == "permission_required":
		return fmt.Sprintf("continue with `pawl run --resume %s --allow '…'`", id)
	case end.End == run.EndRefused, end.End == run.GuardrailStopped:
		return fmt.Sprintf("say it differently with `pawl run --resume %s -p \"…\"`", id)
	case end.End == run.EndInterrupted && s.Turn.Interrupt.Cause == run.ByWait:
		return fmt.Sprintf("say what to do instead with `pawl run --resume %s -p \"…\"`", id)
	case end.End == run.LoopStopped:
		return fmt.Sprintf("give it a hint with `pawl run --resume %s -p \"…\"`", id)
	case end.Reason == "max_cost":
		return fmt.Sprintf("continue with `pawl run --resume %s --max-cost …`", id)
	}
	return fmt.Sprintf("continue with `pawl run --resume %s`", id)
}
