package forms

import (
	"encoding/json"
	"time"

	"pawl/run"
	"pawl/task"
	"pawl/tasklog"
	"pawl/view"
)

// A TaskForm is a task as JSON.
type TaskForm struct {
	ID          task.ID         `json:"id"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Status      StatusForm      `json:"status"`
	May         []task.Trigger  `json:"may"`                 // what a person may do now
	WaitsFor    string          `json:"waits_for,omitempty"` // what it needs of a person
	Plan        *task.Plan      `json:"plan,omitempty"`
	Questions   []task.Question `json:"questions"`
	Report      *task.Report    `json:"report,omitempty"`
	// Former: the report is of work that was begun anew since, or continued, and has no report yet.
	Former bool `json:"report_former,omitempty"`
	task.Live
	Permissions []PermissionForm  `json:"permissions"` // calls that wait for a person
	Messages    []task.Message    `json:"messages"`
	Attachments []task.Attachment `json:"attachments"`
	Runs        []task.Run        `json:"runs"`
	Labels      []string          `json:"labels"`
	Priority    int               `json:"priority"`
	DependsOn   []task.ID         `json:"depends_on"`
	Starts      bool              `json:"starts,omitempty"` // by itself, when the tasks in DependsOn are completed
	Budget      task.Budget       `json:"budget"`
	Isolation   task.Isolation    `json:"isolation,omitempty"`
	Revision    string            `json:"revision,omitempty"` // that workers begin with
	Agent       string            `json:"agent,omitempty"`    // that carries out its plan, whichever the planner names
	Copy        *task.Copy        `json:"copy,omitempty"`     // of the repository, where its workers work
	Usage       view.Usage        `json:"usage"`
	Source      task.Source       `json:"source"`
	Workspace   string            `json:"workspace"`
	Created     time.Time         `json:"created_at"`
	Updated     time.Time         `json:"updated_at"`
	Seq         int64             `json:"seq"` // of its last event
}

// A TaskSummaryForm is a task in a list as JSON.
type TaskSummaryForm struct {
	task.Summary
	Usage view.Usage `json:"usage"`
}

// A TaskListForm is a list of tasks as JSON.
type TaskListForm struct {
	Items []TaskSummaryForm `json:"items"`
	Next  string            `json:"next,omitempty"` // where the next page begins
}

// TaskListOf returns tasks in that form.
func TaskListOf(all []task.Summary, next string) TaskListForm {
	return TaskListForm{Forms(all, func(s task.Summary) TaskSummaryForm { return TaskSummaryForm{s, view.UsageOf(s.Usage)} }), next}
}

// A TaskRemovedForm is a task that was removed, as JSON.
type TaskRemovedForm struct {
	Task task.ID `json:"task"`
	// Held are the tasks that waited for it to be completed, which it is not: they do not start by themselves any more.
	Held []task.ID `json:"held,omitempty"`
}

// A StatusForm is a status as JSON.
type StatusForm struct {
	Name   task.StatusName `json:"name" enum:"pending,planning,awaiting_input,planned,active,waiting,completed,failed"`
	Run    run.ID          `json:"run,omitempty"`
	Agent  string          `json:"agent,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Detail string          `json:"detail,omitempty"`
	Until  time.Time       `json:"until,omitzero"` // when a task that waits continues by itself
}

// A PermissionForm is a call of a task that waits for a person, as JSON.
type PermissionForm struct {
	task.Permission
	Answered *AnsweredForm `json:"answered,omitempty"`
}

// TaskFormOf returns a task in that form.
func TaskFormOf(s task.State) TaskForm {
	f := TaskForm{ID: s.Created.Task, Title: s.Title(), Description: s.Description, Status: StatusForm{s.Status.Name, s.Status.Run, s.Status.Agent, s.Status.Reason, s.Status.Detail, s.Status.Until},
		May:      s.May(),
		WaitsFor: s.WaitsFor(), Plan: s.Plan, Questions: list(s.Questions), Report: s.Report, Former: s.Former(), Permissions: Forms(s.Permissions, func(p task.Permission) PermissionForm { return PermissionForm{Permission: p} }), Messages: list(s.Messages),
		Attachments: list(s.Attachments), Runs: list(s.Chain), Labels: list(s.Labels), Priority: s.Priority, DependsOn: list(s.DependsOn), Starts: s.Starts(), Budget: s.Budget, Isolation: s.Isolation, Revision: s.Created.Revision, Agent: s.Created.Agent, Copy: s.Copy,
		Usage: view.UsageOf(s.Usage()), Source: s.Created.Source, Workspace: s.Created.Workspace, Created: s.CreatedAt, Updated: s.At, Seq: s.Seq}
	return f
}

// list returns a list that is [] in JSON if it is empty.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// A TaskLine is an event of a task as a line of JSON, like [EventLine].
type TaskLine struct {
	Seq     int64           `json:"seq"`
	At      time.Time       `json:"at"`
	Type    string          `json:"type"`
	Version int             `json:"version"`
	Task    task.ID         `json:"task"`
	Run     run.ID          `json:"run,omitempty"`
	By      string          `json:"by,omitempty"`
	Data    json.RawMessage `json:"data"`
	Words   string          `json:"words,omitempty"` // that say it to people, in a history
}

// TaskLineOf returns an event of a task in that form.
func TaskLineOf(id task.ID, e task.Event) (TaskLine, error) {
	typ, version, data, err := task.Encode(e.Payload)
	return TaskLine{e.Seq, e.At, typ, version, id, e.Run, e.By, data, ""}, err
}

// taskRemovedType is the type of the line that says that a task was removed.
const taskRemovedType = "task_removed"

// A BoardLine is an event of a task in the stream of all tasks.
type BoardLine struct {
	TaskLine
	// Card is how the task stands now; left out where another event of the task follows.
	Card *TaskSummaryForm `json:"card,omitempty"`
}

// BoardLineOf returns an entry of the feed of all tasks in that form, without a card.
func BoardLineOf(e tasklog.Entry) (BoardLine, error) {
	if e.Event.Payload == nil {
		return BoardLine{TaskLine: TaskLine{Type: taskRemovedType, Task: e.Task, Data: json.RawMessage("{}")}}, nil
	}
	line, err := TaskLineOf(e.Task, e.Event)
	return BoardLine{TaskLine: line}, err
}
