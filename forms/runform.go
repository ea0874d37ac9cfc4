package forms

import (
	"strings"
	"time"

	"pawl/approval"
	"pawl/run"
	"pawl/runlog"
	"pawl/tool"
	"pawl/tool/changes"
	"pawl/view"
	"pawl/worker/retention"
)

// A RunForm is a run in the list as JSON.
type RunForm struct {
	Run       run.ID           `json:"run"`
	Name      string           `json:"name,omitempty"`
	Title     string           `json:"title,omitempty"`
	Model     string           `json:"model,omitempty"`
	Workspace string           `json:"workspace,omitempty"`
	State     runlog.Condition `json:"state,omitempty"`
	End       run.End          `json:"end,omitempty"` // of the last turn
	Reason    string           `json:"reason,omitempty"`
	Created   time.Time        `json:"created_at,omitzero"`
	Updated   time.Time        `json:"updated_at,omitzero"`
	Duration  int64            `json:"duration_ms"` // from the first event to the last
	Turns     int              `json:"turns"`
	Steps     int              `json:"steps"`
	Usage     view.Usage       `json:"usage"`
	PID       int              `json:"pid,omitempty"`    // of the process that drives it
	Damage    string           `json:"damage,omitempty"` // the run is damaged, and how; the other fields are then unreliable
}

// RunFormOf returns a run in that form.
func RunFormOf(r runlog.Run) RunForm {
	f := RunForm{Run: r.ID, Name: r.Name, Title: r.Title, Model: r.Model, Workspace: r.Workspace, State: r.Condition, End: r.End, Reason: r.Reason,
		Created: r.Created, Updated: r.Updated, Duration: r.Updated.Sub(r.Created).Milliseconds(), Turns: r.Turns, Steps: r.Steps,
		Usage: view.UsageOf(r.Usage), Damage: r.Damage}
	if r.Owner != nil {
		f.PID = r.Owner.PID
	}
	return f
}

// A ForkForm is a new run as JSON.
type ForkForm struct {
	Run        run.ID `json:"run"`
	ForkedFrom run.ID `json:"forked_from"`
	ForkedAt   int64  `json:"forked_at"` // the last event that was copied
}

// ForkFormOf returns a run in state s that was forked from another in that form.
func ForkFormOf(s run.State) ForkForm {
	return ForkForm{s.Created.Run, s.Created.ForkedFrom, s.Created.ForkedAt}
}

// UndoneWords says what undo did to a file.
func UndoneWords(c run.FileChange) string {
	switch {
	case c.After == "" && c.AfterMode == "":
		return "removed"
	case c.Before == "" && c.BeforeMode == "":
		return "created again"
	}
	return "restored"
}

// An UndoForm is what was undone as JSON.
type UndoForm struct {
	Run     run.ID        `json:"run"`
	Files   []UndoneForm  `json:"files"`
	Skipped []SkippedForm `json:"skipped"`
	// Uncovered says what commands may have changed that undoing does not look at.
	Uncovered []string `json:"uncovered"`
	DryRun    bool     `json:"dry_run"` // nothing was restored
}

type UndoneForm struct {
	Path   string `json:"path"`
	Action string `json:"action"` // restored, removed, created_again
}

type SkippedForm struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// UndoFormOf returns what was undone in that form.
func UndoFormOf(id run.ID, r tool.UndoReport, dry bool) UndoForm {
	return UndoForm{id,
		Forms(r.Changes, func(c run.FileChange) UndoneForm {
			return UndoneForm{c.Path, strings.ReplaceAll(UndoneWords(c), " ", "_")}
		}),
		Forms(r.Skipped, func(s changes.Skipped) SkippedForm { return SkippedForm{s.Change.Path, s.Reason} }),
		append([]string{}, r.Uncovered...), dry}
}

// A VerifyForm says that a log is complete and unchanged, as JSON; one that is not is an error.
type VerifyForm struct {
	Run    run.ID `json:"run"`
	Events int64  `json:"events"`
}

// A RemovedForm is what was removed as JSON.
type RemovedForm struct {
	Runs   []run.ID        `json:"runs"`
	Freed  int64           `json:"freed_bytes"`
	Parts  retention.Usage `json:"freed_parts"` // bytes of each part
	DryRun bool            `json:"dry_run"`     // nothing was removed
}

// RemovedFormOf returns what was removed in that form.
func RemovedFormOf(r retention.Removed, dry bool) RemovedForm {
	return RemovedForm{append([]run.ID{}, r.Runs...), r.Freed.Total(), r.Freed, dry}
}

// A WaitingForm is the calls of a run that need approval, as JSON.
type WaitingForm struct {
	Run   run.ID        `json:"run"`
	Items []WaitingCall `json:"items"`
}

// WaitingFormOf returns the calls of a run that need approval in that form.
func WaitingFormOf(id run.ID, all []approval.Approval) WaitingForm {
	return WaitingForm{id, Forms(all, WaitingCallOf)}
}

// A DecidedForm is an answer that was handed in, as JSON.
type DecidedForm struct {
	Run    run.ID     `json:"run"`
	Call   run.CallID `json:"call"`
	Answer string     `json:"answer"`
	Rules  []RuleLine `json:"rules"` // that were stored
	Taken  bool       `json:"taken"` // false: no process drives the run; it counts when it is resumed
}

// A StopForm is what became of a turn as JSON.
type StopForm struct {
	Run     run.ID  `json:"run"`
	Stopped bool    `json:"stopped"`       // false: no turn was open
	End     run.End `json:"end,omitempty"` // of the last turn
}

// A SetForm is what was changed as JSON.
type SetForm struct {
	Run    run.ID     `json:"run"`
	Model  string     `json:"model,omitempty"`
	Mode   string     `json:"mode,omitempty"`
	Effort string     `json:"effort,omitempty"`
	Name   string     `json:"name,omitempty"`
	Tools  run.Grants `json:"tools,omitempty"` // that it may call from now on
}

// An ExportForm is a whole run as JSON.
type ExportForm struct {
	Run    run.ID      `json:"run"`
	Events []EventLine `json:"events"`
}

// ExportFormOf returns a run with these events in that form.
func ExportFormOf(id run.ID, events []run.Event) ExportForm {
	form := ExportForm{id, make([]EventLine, len(events))}
	var lines Lines
	for i, e := range events {
		form.Events[i] = lines.Event(e)
	}
	return form
}
