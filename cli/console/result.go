package console

import (
	"encoding/json"
	"strings"

	"pawl/approval"
	"pawl/cli/command"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

// A Result is how a turn came out, as --output json prints it. Its names are part
// of what scripts rely on.
type Result struct {
	Type     string           `json:"type"` // result
	Run      run.ID           `json:"run"`
	State    runlog.Condition `json:"state"`
	End      run.End          `json:"end,omitempty"` // left out: the turn is open and waits for a person
	Reason   string           `json:"reason,omitempty"`
	Detail   string           `json:"detail,omitempty"`
	ExitCode int              `json:"exit_code"`      // of pawl
	IsError  bool             `json:"is_error"`       // the turn has ended and is not done
	Text     string           `json:"text,omitempty"` // the answer, or the account of a turn that ended early
	// Result is the submitted result of a run with an output schema.
	Result   json.RawMessage   `json:"result,omitempty"`
	Question *runlog.Question  `json:"question,omitempty"`
	Usage    view.Usage        `json:"usage"`       // of the turn
	Duration int64             `json:"duration_ms"` // in which the turn was driven and did not wait for a person
	Steps    int               `json:"steps"`       // of the turn
	Turns    int               `json:"turns"`       // of the run
	Model    string            `json:"model"`
	Files    []view.FileForm   `json:"files"`   // that calls have changed in the turn
	Denials  []approval.Denial `json:"denials"` // the calls that were refused in the turn
}

// resultOf returns how the run's last turn came out.
func resultOf(s run.State, denials []approval.Denial, files []view.File) Result {
	t := s.Turn
	r := Result{Type: "result", Run: s.Created.Run, State: runlog.ConditionOf(s, false), End: t.End.End, Reason: t.End.Reason, Detail: t.End.Detail,
		ExitCode: command.ExitCode(s), IsError: !t.Open() && t.End.End != run.Completed && t.End.End != run.Asked,
		Text: s.Answer(), Usage: view.UsageOf(t.Usage), Duration: s.Driven(s.At).Milliseconds(), Steps: t.Steps, Turns: t.N, Model: s.Config.Model,
		Files: view.FileForms(files), Denials: append([]approval.Denial{}, denials...)}
	if v := s.Submission().Value; s.Config.Output.Schema != "" && v != "" {
		r.Result = json.RawMessage(v)
	}
	if t.Open() {
		r.State, r.End, r.Reason, r.Detail = runlog.Waiting, "", "permission", strings.TrimPrefix(ended(s), "waiting: ")
	}
	if q := s.Questions(); len(q) > 0 {
		asked := runlog.QuestionOf(q[0])
		r.Question = &asked
	}
	return r
}
