package forms

import (
	"cmp"
	"encoding/json"
	"reflect"
	"time"

	"pawl/approval"
	"pawl/internal/build"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/view"
)

// streamVersion is the version of the vocabulary of docs/stream-json.md. It changes when a
// reader of the old one would misunderstand the new one; what is only added keeps it.
const streamVersion = 2

// An EventLine is an event as a line of JSON; its data is described in docs/events.md, but for
// what docs/json.md says of names and units.
type EventLine struct {
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
	Type    string    `json:"type"`
	Version int       `json:"version"`
	Data    object    `json:"data"`
}

// Lines makes lines of the events of one run, in their order. It remembers calls, so that a
// line about one says which tool it is, and how long it took.
type Lines struct{ calls map[run.CallID]*call }

type call struct {
	tool    string
	started time.Time
}

// From makes l one that continues after the events that led to s.
func (l *Lines) From(s run.State) {
	for _, c := range s.Turn.Calls {
		l.call(c.ID).tool = c.Tool
	}
}

func (l *Lines) call(id run.CallID) *call {
	if l.calls == nil {
		l.calls = map[run.CallID]*call{}
	}
	if l.calls[id] == nil {
		l.calls[id] = &call{}
	}
	return l.calls[id]
}

// Event returns an event as a line.
func (l *Lines) Event(e run.Event) EventLine {
	line := EventLine{e.Seq, e.At, store.Type(e.Payload), store.Version(e.Payload), dialectObject(reflect.ValueOf(e.Payload))}
	for _, c := range view.CallsOf(e.Payload) {
		l.call(c.ID).tool = c.Tool
	}
	add := func(name string, value any) { line.Data = append(line.Data, member{name, value}) }
	tool := func(id run.CallID) {
		if t := l.call(id).tool; t != "" {
			add("tool", t)
		}
	}
	switch f := e.Payload.(type) {
	case run.CallInspected:
		l.call(f.Call).tool = cmp.Or(f.Tool, l.call(f.Call).tool)
	case run.CallDecided:
		tool(f.Call)
	case run.CallStarted:
		l.call(f.Call).started = e.At
		tool(f.Call)
	case run.CallSettled:
		tool(f.Call)
		if !f.IsError { // else it is there
			add("is_error", false)
		}
		if at := l.call(f.Call).started; !at.IsZero() {
			add("duration_ms", max(0, milliseconds(e.At.Sub(at))))
		}
	}
	return line
}

// A StartLine is the first line of a stream: which run it is.
type StartLine struct {
	Type      string `json:"type"`    // start
	Stream    int    `json:"stream"`  // streamVersion
	Version   string `json:"version"` // of pawl
	Run       run.ID `json:"run"`
	Resumed   bool   `json:"resumed"`
	Model     string `json:"model"`
	Mode      string `json:"mode"`
	Workspace string `json:"workspace"`
}

// StartOf returns the first line of the stream of a run in state s.
func StartOf(s run.State, resumed bool) StartLine {
	return StartLine{"start", streamVersion, build.Version(), s.Created.Run, resumed, s.Config.Model, string(permission.ModeOf(s.Config.Mode)), s.Created.Workspace}
}

// A liveLine is what is shown while it happens and is no event.
type liveLine struct {
	Type     string     `json:"type"` // delta, drop, progress, stopping, notice
	Text     string     `json:"text,omitempty"`
	Thinking string     `json:"thinking,omitempty"`
	Tool     string     `json:"tool,omitempty"`
	Input    string     `json:"input_delta,omitempty"` // a piece of JSON
	Call     run.CallID `json:"call,omitempty"`
	Output   *string    `json:"output,omitempty"` // of progress, also where it is empty
	Cause    run.Cause  `json:"cause,omitempty"`
	Message  string     `json:"message,omitempty"`
}

// A WaitingLine says which calls wait for a person.
type WaitingLine struct {
	Type  string        `json:"type"` // waiting
	Calls []WaitingCall `json:"calls"`
}

// A WaitingCall is a call that waits for a person, with what the person has to see.
type WaitingCall struct {
	Run      run.ID            `json:"run,omitempty"` // that makes it: the one that is shown, or one below it
	Call     run.CallID        `json:"call"`
	Tool     string            `json:"tool,omitempty"`
	Input    json.RawMessage   `json:"input,omitempty"`
	Title    string            `json:"title,omitempty"`
	Change   string            `json:"change,omitempty"` // of a file, as the lines of a diff
	Dir      string            `json:"dir,omitempty"`    // the folder that its command runs in, unless that is the workspace
	Reason   string            `json:"reason,omitempty"` // why it needs approval
	Parts    []permission.Part `json:"parts,omitempty"`
	Proposed []RuleLine        `json:"proposed,omitempty"` // the rules that always would store
	Exact    bool              `json:"exact,omitempty"`    // they allow exactly this call
	Denying  []RuleLine        `json:"denying,omitempty"`  // the rules that never would store
	Sandbox  run.Confinement   `json:"sandbox,omitempty"`
	Digest   string            `json:"digest,omitempty"` // identifies what was shown
	Answered *AnsweredForm     `json:"answered,omitempty"`
}

// An AnsweredForm is the answer to a call that waits for a process to take it, as JSON.
type AnsweredForm struct {
	Answer run.Answer `json:"answer"`
	By     string     `json:"by,omitempty"`
}

// AnsweredFormOf returns an answer in that form; nil: none was given.
func AnsweredFormOf(d *request.Decide) *AnsweredForm {
	if d == nil {
		return nil
	}
	return &AnsweredForm{d.Answer, d.By}
}

// A RuleLine is a rule as it is part of JSON.
type RuleLine struct {
	Effect  permission.Verdict `json:"effect"`
	Rule    string             `json:"rule"`
	Scope   permission.Scope   `json:"scope,omitempty"`
	Sandbox run.Confinement    `json:"sandbox,omitempty"`
}

// RuleLines returns rules in that form.
func RuleLines(rules permission.Rules) []RuleLine {
	lines := []RuleLine{}
	for _, r := range rules {
		lines = append(lines, RuleLine{r.Effect, r.String(), r.Scope, r.Sandbox})
	}
	return lines
}

// WaitingCallOf returns an approval as it is part of JSON.
func WaitingCallOf(a approval.Approval) WaitingCall {
	return WaitingCall{Run: a.Run, Call: a.Call.ID, Tool: a.Call.Tool, Input: view.InputOf(a.Call.Arguments), Title: view.Title(a.Call.Tool, a.Call.Arguments), Change: a.Change,
		Reason: a.Explanation.Decision.Reason, Parts: a.Explanation.Parts, Proposed: RuleLines(a.Proposal.Rules), Exact: a.Proposal.Exact, Denying: RuleLines(a.Proposal.Deny),
		Dir: a.Dir(), Sandbox: a.Request.Sandbox, Digest: a.Digest, Answered: AnsweredFormOf(a.Answered)}
}

// WaitingLineOf returns the calls that wait as a line of a stream.
func WaitingLineOf(all []approval.Approval) WaitingLine {
	return WaitingLine{"waiting", Forms(all, WaitingCallOf)}
}

// Line returns an update of a run as a line of its stream. Calls that wait have their ids
// alone, and of those of runs below nothing is said: nil.
func (l *Lines) Line(u view.Update) any {
	switch {
	case u.Event != nil:
		return l.Event(*u.Event)
	case u.Delta != nil:
		return liveLine{Type: "delta", Text: u.Delta.Text, Thinking: u.Delta.Thinking, Tool: u.Delta.Tool, Input: u.Delta.Arguments}
	case u.Drop:
		return liveLine{Type: "drop"}
	case u.Progress != nil:
		return liveLine{Type: "progress", Call: u.Progress.Call, Output: &u.Progress.Text}
	case u.Stopping != nil:
		return liveLine{Type: "stopping", Cause: u.Stopping.Cause}
	case u.Below != "":
		return nil
	case u.Waiting != nil:
		line := WaitingLine{"waiting", []WaitingCall{}}
		for _, id := range u.Waiting {
			line.Calls = append(line.Calls, WaitingCall{Call: id})
		}
		return line
	}
	return liveLine{Type: "notice", Message: u.Notice}
}
