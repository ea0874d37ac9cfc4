package cli

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"pawl/app"
	"pawl/run"
	"pawl/view"
)

// A showForm is a run as a person saw it, as JSON.
type showForm struct {
	Run        run.ID        `json:"run"`
	State      app.Condition `json:"state"`
	End        run.End       `json:"end,omitempty"` // of the last turn
	Model      string        `json:"model"`
	Mode       string        `json:"mode,omitempty"`
	Workspace  string        `json:"workspace"`
	Created    time.Time     `json:"created_at"`
	Updated    time.Time     `json:"updated_at"`
	Turns      int           `json:"turns"`
	Parent     run.ID        `json:"parent,omitempty"`
	ForkedFrom run.ID        `json:"forked_from,omitempty"`
	ForkedAt   int64         `json:"forked_at,omitempty"` // items up to this event were made in that run
	PID        int           `json:"pid,omitempty"`       // of the process that drives it
	Items      []itemForm    `json:"items"`
}

// An itemForm is one thing that a person reads. Kind says which of the other fields it has.
type itemForm struct {
	ID    string    `json:"id"`
	Kind  view.Kind `json:"kind"`
	Turn  int       `json:"turn"`  // 0: before the first
	Seq   int64     `json:"seq"`   // of the event that changed it last
	At    time.Time `json:"at"`    // of that event
	Final bool      `json:"final"` // it does not change any more
	Text  string    `json:"text,omitempty"`

	Message *messageForm    `json:"message,omitempty"`
	Call    *callForm       `json:"call,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"` // of a submission
	Note    *noteForm       `json:"note,omitempty"`
	End     *endForm        `json:"end,omitempty"`
}

type messageForm struct {
	Kind   view.MessageKind  `json:"kind"`
	State  view.MessageState `json:"state"`
	Call   run.CallID        `json:"call,omitempty"` // the question that it answers
	By     string            `json:"by,omitempty"`
	Images int               `json:"images,omitempty"`
}

type callForm struct {
	Call     run.CallID      `json:"call"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	Title    string          `json:"title"`
	State    view.CallState  `json:"state"`
	Decision *decisionForm   `json:"decision,omitempty"`
	Outcome  run.Outcome     `json:"outcome,omitempty"`
	IsError  bool            `json:"is_error"`
	ExitCode int             `json:"exit_code,omitempty"` // of a command that did not succeed
	Duration int64           `json:"duration_ms,omitempty"`
	Reason   string          `json:"reason,omitempty"`       // why it was refused, or the error, in a line
	Stored   int64           `json:"stored_bytes,omitempty"` // of the output, if the model has it by reference
	Files    []fileForm      `json:"files"`
	Child    run.ID          `json:"child,omitempty"`  // the run that it started
	Result   string          `json:"result,omitempty"` // with --results
}

type decisionForm struct {
	Answer  run.Answer      `json:"answer"`
	Rule    string          `json:"rule,omitempty"`
	Source  string          `json:"source,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	By      string          `json:"by,omitempty"`
	Sandbox run.Confinement `json:"sandbox,omitempty"`
}

type noteForm struct {
	Kind   view.NoteKind `json:"kind"`
	Detail string        `json:"detail,omitempty"`
	Call   run.CallID    `json:"call,omitempty"`
}

type endForm struct {
	End      run.End    `json:"end"`
	Reason   string     `json:"reason,omitempty"`
	Detail   string     `json:"detail,omitempty"`
	Duration int64      `json:"duration_ms"`
	Steps    int        `json:"steps"`
	Usage    app.Usage  `json:"usage"`
	Files    []fileForm `json:"files"`
}

// showJSON prints a run as one object. A damaged log is printed up to the damage; the error
// follows.
func (inv *invocation) showJSON(ctx context.Context, ws *app.Workspace, id run.ID, results bool) error {
	events, s, damage := ws.Load(ctx, id)
	if len(events) == 0 {
		return damage
	}
	owner, driven, err := ws.Owner(ctx, id)
	if err != nil {
		return err
	}
	c := s.Created
	f := showForm{Run: id, State: app.ConditionOf(s, driven), Model: s.Config.Model, Mode: s.Config.Mode, Workspace: c.Workspace,
		Created: events[0].At, Updated: s.At, Turns: s.Turn.N, Parent: c.Parent, ForkedFrom: c.ForkedFrom, ForkedAt: c.ForkedAt, Items: []itemForm{}}
	if !s.Turn.Open() {
		f.End = s.Turn.End.End
	}
	if driven {
		f.PID = owner.PID
	}
	for _, i := range view.Items(events) {
		if i.Kind != view.KindRun {
			f.Items = append(f.Items, formOfItem(i, results))
		}
	}
	return errors.Join(inv.encode(f), damage)
}

func formOfItem(i view.Item, results bool) itemForm {
	f := itemForm{ID: i.ID, Kind: i.Kind, Turn: i.Turn, Seq: i.Seq, At: i.At, Final: i.Final, Text: i.Text}
	if i.Kind == view.KindSubmission {
		f.Value, f.Text = json.RawMessage(i.Text), ""
	}
	if m := i.Message; m != nil {
		f.Message = &messageForm{m.Kind, m.State, m.Call, m.By, m.Images}
	}
	if i.Call != nil {
		f.Call = formOfCall(i.Call, results)
	}
	if n := i.Note; n != nil {
		f.Note = &noteForm{n.Kind, n.Detail, n.Call}
	}
	if e := i.End; e != nil {
		f.End = &endForm{e.End, e.Reason, e.Detail, e.Duration.Milliseconds(), e.Steps, app.UsageOf(e.Usage), fileForms(e.Files)}
	}
	return f
}

func formOfCall(c *view.Call, results bool) *callForm {
	f := &callForm{Call: c.ID, Tool: c.Tool, Input: app.InputOf(c.Arguments), Title: c.Title(), State: c.State, Outcome: c.Outcome, IsError: c.IsError,
		ExitCode: c.ExitCode, Duration: c.Duration.Milliseconds(), Files: fileForms(c.Files), Child: c.Child}
	if d := c.Decision; d.Answer != "" {
		f.Decision = &decisionForm{d.Answer, d.Rule, d.Source, d.Reason, d.By, d.Sandbox}
	}
	if c.IsError || c.Outcome == run.Refused {
		f.Reason = c.Reason()
	}
	if stored(c) {
		f.Stored = c.Size
	}
	if results {
		f.Result = c.Result
	}
	return f
}
