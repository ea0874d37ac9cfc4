package forms

import (
	"context"
	"encoding/json"
	"time"

	"pawl/app"
	"pawl/output"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

// A ShownRun is a run as a person saw it, as JSON.
type ShownRun struct {
	Run        run.ID           `json:"run"`
	State      runlog.Condition `json:"state"`
	End        run.End          `json:"end,omitempty"` // of the last turn
	Model      string           `json:"model"`
	Mode       string           `json:"mode,omitempty"`
	Workspace  string           `json:"workspace"`
	Created    time.Time        `json:"created_at"`
	Updated    time.Time        `json:"updated_at"`
	Turns      int              `json:"turns"`
	Parent     run.ID           `json:"parent,omitempty"`
	AgentID    string           `json:"agent_id,omitempty"` // of a child run: its name within its parent
	ForkedFrom run.ID           `json:"forked_from,omitempty"`
	ForkedAt   int64            `json:"forked_at,omitempty"` // items up to this event were made in that run
	PID        int              `json:"pid,omitempty"`       // of the process that drives it
	ByHand     string           `json:"by_hand,omitempty"`   // the shell command that opens the conversation in the program of an external agent
	Items      []ItemForm       `json:"items"`
}

// An ItemForm is one thing that a person reads. Kind says which of the other fields it has.
type ItemForm struct {
	ID    string    `json:"id"`
	Kind  view.Kind `json:"kind"`
	Turn  int       `json:"turn"`  // 0: before the first
	Seq   int64     `json:"seq"`   // of the event that changed it last
	At    time.Time `json:"at"`    // of that event
	Final bool      `json:"final"` // it does not change any more
	Text  string    `json:"text,omitempty"`

	Message *MessageForm    `json:"message,omitempty"`
	Call    *CallForm       `json:"call,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"` // of a submission
	Note    *NoteForm       `json:"note,omitempty"`
	End     *EndForm        `json:"end,omitempty"`
}

type MessageForm struct {
	Kind   view.MessageKind  `json:"kind"`
	State  view.MessageState `json:"state"`
	Call   run.CallID        `json:"call,omitempty"` // the question that it answers
	By     string            `json:"by,omitempty"`
	Images int               `json:"images,omitempty"`
}

type CallForm struct {
	Call     run.CallID      `json:"call"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	Title    string          `json:"title"`
	State    view.CallState  `json:"state"`
	Decision *DecisionForm   `json:"decision,omitempty"`
	Outcome  run.Outcome     `json:"outcome,omitempty"`
	IsError  bool            `json:"is_error"`
	ExitCode *int            `json:"exit_code,omitempty"` // of a command that has ended
	Duration int64           `json:"duration_ms,omitempty"`
	Reason   string          `json:"reason,omitempty"`       // why it was refused, or the error, in a line
	Stored   int64           `json:"stored_bytes,omitempty"` // of the output, if the model has it by reference
	Files    []view.FileForm `json:"files"`
	Child    run.ID          `json:"child,omitempty"`  // the run that it started
	Result   string          `json:"result,omitempty"` // with --results
	Diff     string          `json:"diff,omitempty"`   // with --results: how a tool of an external agent's has changed files
}

type DecisionForm struct {
	Answer  run.Answer      `json:"answer"`
	Rule    string          `json:"rule,omitempty"`
	Source  string          `json:"source,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	By      string          `json:"by,omitempty"`
	Sandbox run.Confinement `json:"sandbox,omitempty"`
}

type NoteForm struct {
	Kind   view.NoteKind `json:"kind"`
	Detail string        `json:"detail,omitempty"`
	Call   run.CallID    `json:"call,omitempty"`
}

type EndForm struct {
	End      run.End         `json:"end"`
	Reason   string          `json:"reason,omitempty"`
	Detail   string          `json:"detail,omitempty"`
	Duration int64           `json:"duration_ms"`
	Steps    int             `json:"steps"`
	Usage    view.Usage      `json:"usage"`
	Files    []view.FileForm `json:"files"`
}

// ShowRun returns a run with these events, which lead to s, in that form; results says whether
// the results of calls are part of it. Only items that an event after after has made or changed are.
func ShowRun(ctx context.Context, w *app.Workspace, events []run.Event, s run.State, results bool, after int64) (ShownRun, error) {
	c := s.Created
	owner, driven, err := w.Owner(ctx, c.Run)
	if err != nil {
		return ShownRun{}, err
	}
	f := ShownRun{Run: c.Run, State: w.Condition(s, driven), Model: s.Config.Model, Mode: s.Config.Mode, Workspace: c.Workspace,
		Created: events[0].At, Updated: s.At, Turns: s.Turn.N, Parent: c.Parent, AgentID: c.AgentID, ForkedFrom: c.ForkedFrom, ForkedAt: c.ForkedAt, Items: []ItemForm{}}
	if !s.Turn.Open() {
		f.End = s.Turn.End.End
	}
	if driven {
		f.PID = owner.PID
	}
	k, _, _ := w.External(s.Config.Model)
	f.ByHand = k.ByHand(s.Conversation, c.Workspace)
	for _, i := range view.Items(events) {
		if i.Kind != view.KindRun && i.Seq > after {
			f.Items = append(f.Items, itemFormOf(i, results))
		}
	}
	return f, nil
}

func itemFormOf(i view.Item, results bool) ItemForm {
	f := ItemForm{ID: i.ID, Kind: i.Kind, Turn: i.Turn, Seq: i.Seq, At: i.At, Final: i.Final, Text: i.Text}
	if i.Kind == view.KindSubmission {
		f.Value, f.Text = json.RawMessage(i.Text), ""
	}
	if m := i.Message; m != nil {
		f.Message = &MessageForm{m.Kind, m.State, m.Call, m.By, m.Images}
	}
	if i.Call != nil {
		f.Call = callFormOf(i.Call, results)
	}
	if n := i.Note; n != nil {
		f.Note = &NoteForm{n.Kind, n.Detail, n.Call}
	}
	if e := i.End; e != nil {
		f.End = &EndForm{e.End, e.Reason, e.Detail, e.Duration.Milliseconds(), e.Steps, view.UsageOf(e.Usage), view.FileForms(e.Files)}
	}
	return f
}

func callFormOf(c *view.Call, results bool) *CallForm {
	f := &CallForm{Call: c.ID, Tool: c.Tool, Input: view.InputOf(c.Arguments), Title: c.Title(), State: c.State, Outcome: c.Outcome, IsError: c.IsError,
		ExitCode: c.ExitCode, Duration: c.Duration.Milliseconds(), Files: view.FileForms(c.Files), Child: c.Child}
	if d := c.Decision; d.Answer != "" {
		f.Decision = &DecisionForm{d.Answer, d.Rule, d.Source, d.Reason, d.By, d.Sandbox}
	}
	if c.IsError || c.Outcome == run.Refused {
		f.Reason = c.Reason()
	}
	if output.Delivery(c.Delivery).IsStored() {
		f.Stored = c.Size
	}
	if results {
		f.Result, f.Diff = c.Result, c.Diff
	}
	return f
}
