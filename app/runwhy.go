package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/inbox"
	"pawl/run"
	"pawl/store"
	"pawl/view"
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
	case undecidedAmong(y.under), y.waits && w.State != Waiting:
		w.State, w.Text = Waiting, WaitsBelow
	case w.State == Killed && servedAmong(s, y.under):
		w.Text = "left: what it waited for has come, and no process works on it"
	case w.State == Working:
		w.Next = fmt.Sprintf("wait, or stop it with `pawl runs stop %s`", y.Run)
	}
	return w
}

// Continue returns the command that continues the run.
func (y Why) Continue() string {
	if y.Task != nil {
		return y.Task.Advice()
	}
	return "pawl run --resume " + string(y.Run)
}

// next is [Workspace.Next]; for a run of a task it names the command that continues the task.
func (y Why) next() string {
	next := nextAmong(y.State, y.under)
	switch {
	case (NeedsApproval(y.State) || undecidedAmong(y.under)) && y.Owner != nil:
		return fmt.Sprintf("decide with `pawl runs decide %s`", y.Run)
	case y.Owner != nil && !y.State.Turn.Open() && len(y.State.Questions()) > 0:
		return fmt.Sprintf("answer it in process %d, which has the run open, or leave it there and answer with `pawl run --resume %s -p \"…\"`", y.Owner.PID, y.Run)
	case y.waits && y.Owner != nil:
		if open := questionsOf(y.under); len(open) > 0 { // the run is that process's, the one that asks is not
			return "answer with " + answerEach(open)
		}
	case y.Task == nil || next == "":
		return next
	case NeedsApproval(y.State):
		return fmt.Sprintf("decide with `pawl runs decide %s`, then continue its task with `%s`", y.Run, y.Continue())
	}
	return fmt.Sprintf("continue its task with `%s`", y.Continue())
}

// Next is [NextCommand]; for a run that waits for runs below it, it says what those wait for.
func (w *Workspace) Next(s run.State) string {
	below, err := w.below(s)
	if err != nil {
		return NextCommand(s)
	}
	return nextAmong(s, below)
}

// nextAmong is [Workspace.Next], given the runs below s and those below them.
func nextAmong(s run.State, below []run.State) string {
	id := s.Created.Run
	if NeedsApproval(s) || !waitsAmong(s, below) {
		return NextCommand(s)
	}
	if len(Undecided(s)) > 0 || undecidedAmong(below) {
		return fmt.Sprintf("decide with `pawl runs decide %s`, then continue with `pawl run --resume %[1]s`", id)
	}
	open := questionsOf(below)
	if len(open) == 1 {
		return fmt.Sprintf("answer the sub-agent %s (%s) with `pawl run --resume %s -p \"…\"`", open[0].Agent, view.OneLine(open[0].Text, maxAsked), id)
	}
	return (&QuestionsError{id, open}).next()
}

// LeftAbove returns the run above one in state s if it waits for that run, whose turn has ended, and no
// process drives it; otherwise "".
func (w *Workspace) LeftAbove(ctx context.Context, s run.State) (run.ID, error) {
	id := s.Created.Parent
	if id == "" || s.Turn.Open() || len(s.Questions()) > 0 {
		return "", nil
	}
	_, above, err := w.Load(ctx, id)
	if err != nil || !above.Turn.Open() {
		return "", err
	}
	if call, ok := above.Turn.Call(s.Created.ParentCall); !ok || call.Status != run.CallRunning {
		return "", nil
	}
	st, err := w.reading()
	if err != nil {
		return "", err
	}
	if _, driven, err := inbox.Driver(ctx, st, id); err != nil || driven {
		return "", err
	}
	return id, nil
}

// maxAsked bounds what is shown of a question in a sentence, in characters.
const maxAsked = 200

// undecidedAmong reports whether a call of one of these runs needs a decision.
func undecidedAmong(below []run.State) bool {
	return slices.ContainsFunc(below, func(of run.State) bool { return len(Undecided(of)) > 0 })
}

// servedAmong reports whether all that s owes are calls that wait for runs below it, and the turns of these have
// ended.
func servedAmong(s run.State, below []run.State) bool {
	ended := map[run.CallID]bool{}
	for _, child := range below {
		if child.Created.Parent == s.Created.Run {
			ended[child.Created.ParentCall] = child.Turn.N > 0 && !child.Turn.Open()
		}
	}
	owed := s.Next()
	return len(owed) > 0 && !slices.ContainsFunc(owed, func(c run.Command) bool {
		p, ok := c.(run.Perform)
		return !ok || !ended[p.Call.ID]
	})
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
