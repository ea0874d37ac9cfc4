package task

import (
	"time"

	"pawl/run"
)

// An ID names a task. It becomes a file name: 1 to 60 of a-z, 0-9, _ and -.
type ID string

// A Kind is what an agent is for. It decides which tool it hands its result in with.
type Kind string

const (
	Planner Kind = "planner"
	Worker  Kind = "worker"
)

// The tools that hand in a result; see [Kind.Tool].
const (
	PlannerOutputTool    = "planner-output"
	CompletionReportTool = "completion-report"
)

// Tool returns the tool with which an agent of the kind hands in its result.
func (k Kind) Tool() string {
	if k == Planner {
		return PlannerOutputTool
	}
	return CompletionReportTool
}

// An Event is a fact in a task's log.
type Event struct {
	Seq     int64     // 1, 2, 3 … without gaps, assigned by the log; 0 before it is appended
	At      time.Time // UTC, by the writer's clock
	Run     run.ID    // that it is about; may be empty
	By      string    // who caused it: a person's name, an agent's; empty: pawl
	Payload Payload
}

// A Payload is what an [Event] says. The set of types is closed. Their JSON form is the form on
// disk (see [Encode] for their names); a type only ever gains optional keys.
type Payload interface {
	apply(s *State, e Event) error
}

// Created is the first event of every task.
type Created struct {
	Task        ID       `json:"task"`
	Description string   `json:"description"`
	Typed       string   `json:"typed,omitempty"` // what a person typed, where the description is not that; see [run.Part]
	Source      Source   `json:"source,omitzero"`
	Labels      []string `json:"labels,omitempty"`
	Priority    int      `json:"priority,omitempty"` // higher first; the default is 0
	DependsOn   []ID     `json:"depends_on,omitempty"`
	Budget      Budget   `json:"budget,omitzero"`
	// Isolation says where workers work: empty: in the workspace, or as their agent says.
	Isolation Isolation `json:"isolation,omitempty"`
	// Revision is the branch, tag or whole id of a commit of the repository that workers begin with, in a copy. Empty: what is
	// checked out.
	Revision string `json:"revision,omitempty"`
	// Agent carries out the plan, whichever the planner names; a person may name another later. Empty: that of the plan.
	Agent string `json:"agent,omitempty"`
	// Start says that the task is planned and started by itself; see [State.Starts].
	Start bool `json:"start,omitempty"`
	// Hooks are the person's that have looked at the task before it was added.
	Hooks     []run.HookRun `json:"hooks,omitempty"`
	Workspace string        `json:"workspace,omitempty"` // absolute path
	Version   string        `json:"pawl,omitempty"`      // the pawl that wrote it
}

// A Source says where a task came from.
type Source struct {
	Kind string `json:"kind,omitempty"` // web, cli, api, mcp, test
	User string `json:"user,omitempty"`
}

// A Budget bounds what all runs of a task may use together; zero: no bound.
type Budget struct {
	Cost   float64 `json:"cost,omitempty"` // US dollars
	Tokens int64   `json:"tokens,omitempty"`
}

// Edited changes what a person may change: the fields that are not nil.
type Edited struct {
	Description *string   `json:"description,omitempty"`
	Plan        *Plan     `json:"plan,omitempty"`
	Labels      *[]string `json:"labels,omitempty"`
	Priority    *int      `json:"priority,omitempty"`
	DependsOn   *[]ID     `json:"depends_on,omitempty"`
	Budget      *Budget   `json:"budget,omitempty"`
	// Isolation can be changed while the task has no copy.
	Isolation *Isolation `json:"isolation,omitempty"`
	Start     *bool      `json:"start,omitempty"`
}

// Isolation is how far the runs of a task are apart from the person's own files.
type Isolation string

// Clone is a copy of the repository that the workspace is in, for the workers of a task.
const Clone Isolation = "clone"

// StatusChanged changes the status. It is the only event that does.
type StatusChanged struct {
	From    StatusName `json:"from" enum:"pending,planning,awaiting_input,planned,active,waiting,completed,failed"`
	To      StatusName `json:"to" enum:"pending,planning,awaiting_input,planned,active,waiting,completed,failed"`
	Trigger Trigger    `json:"trigger"`
	// Run and Agent are at work in planning and active, and can be resumed in waiting.
	Run    run.ID `json:"run,omitempty"`
	Agent  string `json:"agent,omitempty"`
	Kind   Kind   `json:"kind,omitempty"`   // of the agent, for waiting
	Reason string `json:"reason,omitempty"` // of waiting and failed, for a program to switch on
	Detail string `json:"detail,omitempty"` // a sentence
	// Until is when a task in waiting continues by itself; zero: it does not.
	Until time.Time `json:"until,omitzero"`
}

// PlanningStarted and AgentStarted begin an assignment of the event's run: of a planner, or
// of a worker. The run begins with the first one.
type PlanningStarted struct{ Assigned }

// AgentStarted is PlanningStarted for a worker.
type AgentStarted struct{ Assigned }

// Assigned is what an assignment asks of a run.
type Assigned struct {
	Agent string `json:"agent"`
	// Number is that of the assignment in the task's list for the run, from 1.
	Number int `json:"number"`
	// Reason is start, answers, resume, retry, handoff, say or limit_over.
	Reason string `json:"reason"`
	// Input is what the agent is told; empty: it continues without words.
	Input string `json:"input,omitempty"`
	// Messages are the queued messages that Input has.
	Messages []string `json:"messages,omitempty"`
}

// AgentPrompted says that the input of an assignment is in the log of its run.
type AgentPrompted struct {
	Number int    `json:"number"`
	Turn   int    `json:"turn"`            // of the run
	Model  string `json:"model,omitempty"` // that the run has then, or the external agent
}

// A Submission says which result of which run it is.
type Submission struct {
	Assignment int        `json:"assignment"` // the run's number
	Call       run.CallID `json:"call,omitempty"`
}

// PlannerOutputSubmitted says that a planner has handed in.
type PlannerOutputSubmitted struct {
	Submission
	Output PlannerOutput `json:"output"`
}

// CompletionReportSubmitted says that a worker has handed in.
type CompletionReportSubmitted struct {
	Submission
	Report Report `json:"report"`
}

// PlanningCompleted has the plan that was handed in.
type PlanningCompleted struct {
	Plan Plan `json:"plan"`
}

// PlanningQuestionsReturned has the questions of the planner.
type PlanningQuestionsReturned struct {
	Questions []string `json:"questions"`
}

// QuestionAsked has what the agent of the event's run asks the person, in the middle of its work.
type QuestionAsked struct {
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty"` // answers to choose from; any other is possible too
}

// PlanningFailed says why there is no plan.
type PlanningFailed struct {
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// AnswersSubmitted has an answer for each open question, in order.
type AnswersSubmitted struct {
	Answers []string `json:"answers"`
	Typed   string   `json:"typed,omitempty"` // [run.NotTyped], or empty: they are a person's
}

// AgentCompleted says that the turn of a run of the task has ended.
type AgentCompleted struct {
	Result Result    `json:"result"`
	End    run.Ended `json:"end"`
	Output string    `json:"output,omitempty"` // what it said last, cut
	Usage  run.Usage `json:"usage,omitzero"`   // of the run until now
	Steps  int       `json:"steps,omitempty"`
}

// AgentHandoffStarted says that the event's run was started by a call of another run.
type AgentHandoffStarted struct {
	Parent run.ID     `json:"parent"`
	Call   run.CallID `json:"call"`
	Agent  string     `json:"agent,omitempty"`
	Model  string     `json:"model,omitempty"` // that the run has, or the external agent
	Input  string     `json:"input,omitempty"` // cut
}

// AgentHandoffCompleted says that the turn of a child run has ended.
type AgentHandoffCompleted struct {
	End       run.Ended `json:"end"`
	Submitted bool      `json:"submitted,omitempty"`
	Output    string    `json:"output,omitempty"` // what it handed in or said last, cut
	Usage     run.Usage `json:"usage,omitzero"`   // part of the parent's
}

// ToolExecuted says that a call of a run was settled, or that a result was not accepted which an external agent
// has submitted: of that no call is in the run's log.
type ToolExecuted struct {
	Call      run.CallID  `json:"call"` // empty: a result that was not accepted
	Tool      string      `json:"tool"`
	Arguments string      `json:"arguments,omitempty"` // those of the call, cut
	Outcome   run.Outcome `json:"outcome"`
	IsError   bool        `json:"is_error,omitempty"`
	Detail    string      `json:"detail,omitempty"` // why the result was not accepted
}

// PermissionRequested says that a call waits for a person.
type PermissionRequested struct {
	Call run.CallID `json:"call"`
	Tool string     `json:"tool"`
	// Arguments are those of the call, cut.
	Arguments string `json:"arguments,omitempty"`
}

// PermissionDecided is the answer to PermissionRequested, or that it is not asked for any more.
type PermissionDecided struct {
	Call   run.CallID `json:"call"`
	Answer run.Answer `json:"answer,omitempty"` // empty: the turn ended before
}

// OutputReminderSent says that a run was reminded of what it has to hand in.
type OutputReminderSent struct {
	Tool   string `json:"tool"`
	Number int    `json:"number"` // in its assignment, from 1
}

// Interrupted says that the turn of a run was interrupted, or with the cause [Lost] that another process goes on with
// what one that ended without a word has left in the middle of it.
type Interrupted struct {
	Cause run.Cause `json:"cause"`
	Since time.Time `json:"since,omitzero"` // with Lost: of the last that the process has recorded of the run
}

// Lost is the cause of an interrupt that no process has recorded itself, such as one that was killed.
const Lost run.Cause = "lost"

// MessageQueued is something said to the agent of the task.
type MessageQueued struct {
	ID   string `json:"id"` // assigned by the sender; unique in the task
	Text string `json:"text"`
	Review
	Typed string `json:"typed,omitempty"` // what a person typed, where Text is not that; see [run.Part]
}

// MessageDelivered says that a queued message is in the log of the event's run, whose agent reads it with its next
// results. After one AtTurnEnd another says that the agent was told the message.
type MessageDelivered struct {
	ID string `json:"id"`
	// AtTurnEnd: an external agent is in the middle of its turn, and reads the message when that has ended, in the
	// same conversation.
	AtTurnEnd bool `json:"at_turn_end,omitempty"`
}

// MessageReturned says that the turn ended before the agent was told.
type MessageReturned struct {
	ID string `json:"id"`
	// Waits: the message is queued again, for the next words that an agent of the task is given; else it is for the
	// person to send again.
	Waits bool `json:"waits,omitempty"`
}

// MessageWithdrawn takes back a message that was not delivered.
type MessageWithdrawn struct {
	ID string `json:"id"`
}

// AttachmentAdded adds a file; its content is beside the database.
type AttachmentAdded struct {
	Attachment Attachment `json:"attachment"`
}

// AttachmentRemoved removes a file.
type AttachmentRemoved struct {
	ID string `json:"id"`
}

// CopyMade says that the task has a copy of the repository, where its workers work.
type CopyMade struct {
	// Dir is the folder that workers work in, absolute: what the workspace is in the repository.
	Dir    string `json:"dir"`
	Branch string `json:"branch"`
	Base   string `json:"base"`           // the commit that it was made from
	From   string `json:"from,omitempty"` // the branch that was checked out then
	// Uncommitted are the first files of the person's that are not in the copy because they were
	// not committed, and UncommittedCount is how many there are.
	Uncommitted      []string `json:"uncommitted,omitempty"`
	UncommittedCount int      `json:"uncommitted_count,omitempty"`
	// Notes are sentences on what else is different in the copy.
	Notes []string `json:"notes,omitempty"`
}

// CopyMerged says that the branch of the copy is in the person's repository.
type CopyMerged struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// CopyDiscarded says that the copy was removed, with what was not merged.
type CopyDiscarded struct{}

// An Attachment is a file of a task.
type Attachment struct {
	ID     string    `json:"id"`   // unique in the task; the file's name in the state folder
	Name   string    `json:"name"` // as it was given, made safe
	Size   int64     `json:"size"` // bytes
	Type   string    `json:"type,omitempty"`
	SHA256 string    `json:"sha256"`
	At     time.Time `json:"at"`
}

// A Plan is what is to be done.
type Plan struct {
	Summary            string   `json:"summary,omitempty"`
	Requirements       []string `json:"requirements,omitempty"`
	AcceptanceCriteria []string `json:"acceptanceCriteria,omitempty"`
	Steps              []string `json:"plan,omitempty"`
	AssignedAgent      string   `json:"assignedAgent,omitempty"`
}
