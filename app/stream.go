package app

import (
	"encoding/json"
	"time"

	"pawl/permission"
	"pawl/run"
	"pawl/store"
	"pawl/view"
)

// StreamVersion is the version of the vocabulary of docs/stream-json.md. It changes when a
// reader of the old one would misunderstand the new one; what is only added keeps it.
const StreamVersion = 1

// An EventLine is an event as a line of JSON; its data is described in docs/events.md.
type EventLine struct {
	Seq     int64           `json:"seq"`
	At      time.Time       `json:"at"`
	Type    string          `json:"type"`
	Version int             `json:"version"`
	Data    json.RawMessage `json:"data"`
}

// LineOf returns an event in that form.
func LineOf(e run.Event) (EventLine, error) {
	typ, version, data, err := store.Encode(e)
	return EventLine{e.Seq, e.At, typ, version, data}, err
}

// A StartLine is the first line of a stream: which run it is.
type StartLine struct {
	Type      string `json:"type"`    // start
	Stream    int    `json:"stream"`  // StreamVersion
	Version   string `json:"version"` // of pawl
	Run       run.ID `json:"run"`
	Resumed   bool   `json:"resumed"`
	Model     string `json:"model"`
	Mode      string `json:"mode"`
	Workspace string `json:"workspace"`
}

// StartOf returns the first line of the stream of a run in state s.
func StartOf(s run.State, resumed bool) StartLine {
	return StartLine{"start", StreamVersion, Version(), s.Created.Run, resumed, s.Config.Model, string(modeOf(s.Config)), s.Created.Workspace}
}

// A liveLine is what is shown while it happens and is no event.
type liveLine struct {
	Type string `json:"type"` // delta, drop, progress, stopping, notice
	*view.Delta
	Call  run.CallID `json:"call,omitempty"`
	Print string     `json:"output,omitempty"`
	Cause run.Cause  `json:"cause,omitempty"`
	Words string     `json:"message,omitempty"`
}

// A WaitingLine says which calls wait for a person.
type WaitingLine struct {
	Type  string        `json:"type"` // waiting
	Calls []WaitingCall `json:"calls"`
}

// A WaitingCall is a call that waits for a person, with what the person has to see.
type WaitingCall struct {
	Call      run.CallID        `json:"call"`
	Tool      string            `json:"tool"`
	Arguments json.RawMessage   `json:"arguments"`
	Title     string            `json:"title"`
	Reason    string            `json:"reason"` // why it needs approval
	Parts     []permission.Part `json:"parts"`
	Proposed  permission.Rules  `json:"proposed"` // the rules that always would store
	Exact     bool              `json:"exact"`    // they allow exactly this call
	Sandbox   run.Confinement   `json:"sandbox,omitempty"`
	Digest    string            `json:"digest"` // identifies what was shown
}

// Waiting returns an approval as it is part of JSON.
func (a Approval) Waiting() WaitingCall {
	w := WaitingCall{Call: a.Call.ID, Tool: a.Call.Tool, Arguments: json.RawMessage(a.Call.Arguments), Title: view.Title(a.Call.Tool, a.Call.Arguments),
		Reason: a.Explain.Decision.Reason, Parts: a.Explain.Parts, Proposed: append(permission.Rules{}, a.Proposal.Rules...), Exact: a.Proposal.Exact,
		Sandbox: a.Preview.Request.Sandbox, Digest: a.Preview.Digest}
	if !json.Valid(w.Arguments) {
		w.Arguments = json.RawMessage("{}") // it cannot run, so it does not wait
	}
	return w
}

// Line returns an update of the session as a line of its stream; nil for one that has none.
func (s *Session) Line(u view.Update) (any, error) {
	if u.Waiting == nil {
		return Line(u)
	}
	line := WaitingLine{"waiting", []WaitingCall{}}
	if len(u.Waiting) > 0 {
		all, err := s.Approvals()
		if err != nil {
			return nil, err
		}
		for _, a := range all {
			line.Calls = append(line.Calls, a.Waiting())
		}
	}
	return line, nil
}

// Line returns an update of a run that another process drives as a line of its stream.
// Calls that wait have their ids alone.
func Line(u view.Update) (any, error) {
	switch {
	case u.Event != nil:
		return LineOf(*u.Event)
	case u.Delta != nil:
		return liveLine{Type: "delta", Delta: u.Delta}, nil
	case u.Drop:
		return liveLine{Type: "drop"}, nil
	case u.Progress != nil:
		return liveLine{Type: "progress", Call: u.Progress.Call, Print: u.Progress.Text}, nil
	case u.Stopping != nil:
		return liveLine{Type: "stopping", Cause: u.Stopping.Cause}, nil
	case u.Waiting != nil:
		line := WaitingLine{"waiting", []WaitingCall{}}
		for _, id := range u.Waiting {
			line.Calls = append(line.Calls, WaitingCall{Call: id})
		}
		return line, nil
	}
	return liveLine{Type: "notice", Words: u.Notice}, nil
}
