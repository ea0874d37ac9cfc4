package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"pawl/app"
	"pawl/run"
	"pawl/view"
)

// A result is how a turn came out, as --output json prints it. Its names are part
// of what scripts rely on.
type result struct {
	Type   string  `json:"type"` // result
	Run    run.ID  `json:"run"`
	End    run.End `json:"end"` // empty: the turn is open and waits for a person
	Reason string  `json:"reason"`
	Detail string  `json:"detail"`
	Text   string  `json:"text"` // the answer, or the account of a turn that ended early
	// Result is the submitted result of a run with an output schema; null: none.
	Result   json.RawMessage `json:"result,omitempty"`
	Question *app.Question   `json:"question,omitempty"`
	Usage    app.Usage       `json:"usage"` // of the turn
	Steps    int             `json:"steps"` // of the turn
	Turns    int             `json:"turns"` // of the run
	Model    string          `json:"model"`
	Denials  []app.Denial    `json:"denials"` // the calls that were refused in the turn
}

// resultOf returns how the run's last turn came out.
func resultOf(s run.State, denials []app.Denial) result {
	t := s.Turn
	r := result{Type: "result", Run: s.Created.Run, End: t.End.End, Reason: t.End.Reason, Detail: t.End.Detail,
		Text: s.Answer(), Usage: app.UsageOf(t.Usage), Steps: t.Steps, Turns: t.N, Model: s.Config.Model,
		Denials: append([]app.Denial{}, denials...)}
	if s.Config.Output.Schema != "" {
		r.Result = json.RawMessage("null")
		if v := s.Submission().Value; v != "" {
			r.Result = json.RawMessage(v)
		}
	}
	if t.Open() {
		r.End, r.Reason, r.Detail = "", "permission", view.WaitWords(s)
	}
	if q := s.Questions(); len(q) > 0 {
		asked := app.QuestionOf(q[0].Call)
		r.Question = &asked
	}
	return r
}

// next returns the command that continues a run, in a sentence; empty if nothing is left to
// continue.
func next(s run.State) string {
	id := s.Created.Run
	switch end := s.Turn.End; {
	case s.Turn.Open() && len(s.Next()) > 0 && !owesWork(s):
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
	case end.End == run.LoopStopped:
		return fmt.Sprintf("give it a hint with `pawl run --resume %s -p \"…\"`", id)
	case end.Reason == "max_cost":
		return fmt.Sprintf("continue with `pawl run --resume %s --max-cost …`", id)
	}
	return fmt.Sprintf("continue with `pawl run --resume %s`", id)
}

// owesWork reports whether something is owed that does not wait for a person's decision.
func owesWork(s run.State) bool {
	for _, c := range s.Next() {
		if _, ok := c.(run.Decide); !ok {
			return true
		}
	}
	return false
}
