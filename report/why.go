package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/app"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
	"pawl/task"
	"pawl/view"
)

// A Why says where a run stands and what it waits for.
type Why struct {
	Run   run.ID
	State run.State
	Last  run.Event
	Owed  []string     // what the run owes now, a phrase each; questions to the person too
	Owner *store.Owner // the process that drives it; nil: none
	Task  *task.State  // that continues it; nil: it belongs to none

	under []run.State // the runs below it
	// answered: each of the run's own calls that needs a decision has one, which waits for a process to take it
	answered bool
	waits    bool       // it can only continue when a person has decided or answered something
	words    EventWords // of the events before the last one
}

// WhyOf says where a run stands: its last event, what it owes, who drives it.
func WhyOf(ctx context.Context, w *app.Workspace, id run.ID) (Why, error) {
	events, s, err := w.Load(ctx, id)
	if err != nil {
		return Why{}, err
	}
	y := Why{Run: id, State: s, Last: events[len(events)-1], Owed: []string{}}
	for _, e := range events {
		y.words.Remember(e.Payload)
	}
	y.answered = true
	for _, c := range s.Next() {
		words := owedWords(c)
		if d, ok := c.(run.Decide); ok {
			was, err := w.Stored(ctx, id, d.Call.ID)
			if err != nil {
				return y, err
			}
			if y.answered = y.answered && was != nil; was != nil {
				words = fmt.Sprintf("the decision of %s to be taken, %s: %s", was.By, was.Answer, view.Title(d.Call.Tool, d.Call.Arguments))
			}
		}
		y.Owed = append(y.Owed, words)
	}
	for _, q := range s.Questions() {
		y.Owed = append(y.Owed, "an answer: "+runlog.QuestionOf(q).Text)
	}
	below, err := w.Below(s)
	if err != nil {
		return y, err
	}
	for _, of := range below {
		for _, c := range runlog.Undecided(of) {
			y.Owed = append(y.Owed, fmt.Sprintf("a decision, for the sub-agent %s: may this run? %s", runlog.AgentOf(of), view.Title(c.Call.Tool, c.Call.Arguments)))
		}
		for _, q := range of.Answerable() {
			y.Owed = append(y.Owed, fmt.Sprintf("an answer, for the sub-agent %s: %s", runlog.AgentOf(of), runlog.QuestionOf(q).Text))
		}
	}
	owner, owned, err := w.Owner(ctx, id)
	y.under, y.waits = below, waits(s, below, owned)
	if owned {
		y.Owner = &owner
	}
	if err != nil {
		return y, err
	}
	y.Task, err = w.TaskOf(ctx, id)
	return y, err
}

// waits reports whether a run can only continue when a person has decided or answered something.
func waits(s run.State, below []run.State, driven bool) bool {
	return runlog.WaitsAmong(s, below) && (driven || !runlog.Asks(s))
}

// owedWords describes a command.
func owedWords(c run.Command) string {
	switch c := c.(type) {
	case run.Derive:
		if end, ok := c.Payload.(run.Ended); ok {
			return "the end of the turn: " + string(end.End)
		}
		return "an event that follows from the log: " + store.Type(c.Payload)
	case run.Inspect:
		return "an inspection of the call " + view.Title(c.Call.Tool, c.Call.Arguments)
	case run.Decide:
		return "a decision: may this run? " + view.Title(c.Call.Tool, c.Call.Arguments)
	case run.Perform:
		if c.Call.Status == run.CallRunning {
			return "the end of a call that has started: " + view.Title(c.Call.Tool, c.Call.Arguments)
		}
		return "the call " + view.Title(c.Call.Tool, c.Call.Arguments)
	case run.Request:
		text := fmt.Sprintf("a model request (%s, attempt %d)", c.Purpose, c.Attempt)
		if c.Wait > 0 {
			text += fmt.Sprintf(", %s after the last one failed", c.Wait.Round(100*time.Millisecond))
		}
		return text
	case run.ExternalTurn:
		return fmt.Sprintf("a turn of the external agent (attempt %d)", c.Attempt)
	}
	return c.Key()
}

// A WhyForm is the answer of runs why as JSON.
type WhyForm struct {
	Run    run.ID           `json:"run"`
	State  runlog.Condition `json:"state"`
	End    run.End          `json:"end,omitempty"` // of the last turn
	Reason string           `json:"reason,omitempty"`
	Text   string           `json:"text"` // the state in a sentence
	Last   LastEvent        `json:"last"`
	Owed   []string         `json:"owed"`
	PID    int              `json:"pid,omitempty"` // of the process that drives the run
	Next   string           `json:"next,omitempty"`
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
	w := WhyForm{Run: y.Run, State: runlog.ConditionOf(s, y.Owner != nil), Text: runlog.ConditionWords(s, y.Owner), Owed: y.Owed, Next: y.next(),
		Last: LastEvent{y.Last.Seq, y.Last.At, store.Type(y.Last.Payload), y.words.Of(y.Last)}}
	if !s.Turn.Open() {
		w.End, w.Reason = s.Turn.End.End, s.Turn.End.Reason
	}
	if y.Owner != nil {
		w.PID = y.Owner.PID
	}
	if y.answered && w.State == runlog.Waiting && runlog.NeedsApproval(s) && len(s.Answerable()) == 0 {
		w.Text = "waiting: it was decided, and no process has taken the decision yet"
	}
	switch {
	case undecidedAmong(y.under), y.waits && w.State != runlog.Waiting:
		w.State, w.Text = runlog.Waiting, runlog.WaitsBelow
	case w.State == runlog.Killed && servedAmong(s, y.under):
		w.Text = "left: what it waited for has come, and no process works on it"
	case w.State == runlog.Working:
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

// next is [Next]; for a run of a task it names the command that continues the task.
func (y Why) next() string {
	next := nextAmong(y.State, y.under)
	switch {
	case y.answered && len(runlog.Undecided(y.State)) > 0 && y.Owner == nil && y.Task == nil:
		return fmt.Sprintf("continue with `%s`", y.Continue())
	case y.Owner != nil && y.State.Turn.Open() && len(y.State.Answerable()) > 0:
		return fmt.Sprintf("answer it in process %d, which has the run open, or in the terminal agent: `pawl --resume %s`", y.Owner.PID, y.Run)
	case (runlog.NeedsApproval(y.State) || undecidedAmong(y.under)) && y.Owner != nil:
		return fmt.Sprintf("decide with `pawl runs decide %s`", y.Run)
	case y.Owner != nil && !y.State.Turn.Open() && len(y.State.Questions()) > 0:
		return fmt.Sprintf("answer it in process %d, which has the run open, or leave it there and answer with `pawl run --resume %s -p \"…\"`", y.Owner.PID, y.Run)
	case y.waits && y.Owner != nil:
		if open := runlog.QuestionsOf(y.under); len(open) > 0 { // the run is that process's, the one that asks is not
			return "answer with " + runlog.AnswerEach(open)
		}
	case y.Task == nil || next == "":
		return next
	case runlog.NeedsApproval(y.State) && !y.answered:
		return fmt.Sprintf("decide with `pawl runs decide %s`, then continue its task with `%s`", y.Run, y.Continue())
	}
	return fmt.Sprintf("continue its task with `%s`", y.Continue())
}

// Next is [nextCommand]; for a run that waits for runs below it, it says what those wait for.
func Next(w *app.Workspace, s run.State) string {
	below, err := w.Below(s)
	if err != nil {
		return nextCommand(s)
	}
	return nextAmong(s, below)
}

// nextAmong is [Next], given the runs below s and those below them.
func nextAmong(s run.State, below []run.State) string {
	id := s.Created.Run
	if runlog.NeedsApproval(s) || !runlog.WaitsAmong(s, below) {
		return nextCommand(s)
	}
	if len(runlog.Undecided(s)) > 0 || undecidedAmong(below) {
		return fmt.Sprintf("decide with `pawl runs decide %s`, then continue with `pawl run --resume %[1]s`", id)
	}
	open := runlog.QuestionsOf(below)
	if len(open) == 1 {
		return fmt.Sprintf("answer the sub-agent %s (%s) with `pawl run --resume %s -p \"…\"`", open[0].Agent, open[0].OneLine(), id)
	}
	return (&runlog.QuestionsError{Run: id, Questions: open}).Next()
}

// undecidedAmong reports whether a call of one of these runs needs a decision.
func undecidedAmong(below []run.State) bool {
	return slices.ContainsFunc(below, func(of run.State) bool { return len(runlog.Undecided(of)) > 0 })
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

// nextCommand returns the command that continues a run, in a sentence; empty if nothing is left to
// continue.
func nextCommand(s run.State) string {
	id := s.Created.Run
	switch end := s.Turn.End; {
	case s.Turn.Open() && len(s.Answerable()) > 0:
		return fmt.Sprintf("continue with `pawl run --resume %s`", id) // what was asked is gone with its process
	case runlog.NeedsApproval(s):
		return fmt.Sprintf("decide with `pawl runs decide %s`, or continue with a rule that allows it: `pawl run --resume %s --allow '…'`", id, id)
	case !s.Turn.Open() && len(runlog.Undecided(s)) > 0:
		return fmt.Sprintf("decide with `pawl runs decide %s`, then continue with `pawl run --resume %[1]s`", id)
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
