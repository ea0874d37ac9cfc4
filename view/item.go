package view

import (
	"time"

	"pawl/run"
)

// A Kind says what an [Item] is.
type Kind string

const (
	KindRun        Kind = "run"     // the header of a run, its first item
	KindMessage    Kind = "message" // what a person says to the agent
	KindText       Kind = "text"    // of the assistant
	KindThinking   Kind = "thinking"
	KindCall       Kind = "call"
	KindNote       Kind = "note"       // something that happened to the run, in a sentence
	KindAccount    Kind = "account"    // the account of a turn that ended early
	KindSubmission Kind = "submission" // the result that the run had to submit
	KindEnd        Kind = "end"        // of a turn
)

// An Item is one thing that a person reads. What its fields point to is not changed after
// it was returned: a later state of the item comes as another Item with the same ID.
//
// Texts are as the model, a tool or a person wrote them, except for those that are said to
// be one line: a face makes them safe for where it shows them.
type Item struct {
	// ID is stable: it is the same whether the item came live or from the log. That of a
	// call is its call id. It is unique in the run, except that an item that is Gone may
	// appear again.
	ID   string
	Kind Kind
	Turn int // in which the item first appeared: 1, 2, …; 0 before the first
	// Seq and At are of the event that changed the item last: 0 and zero for an item known
	// from live updates only.
	Seq int64
	At  time.Time
	// Final says that the item does not change any more. It is returned as final once.
	Final bool
	// Gone says that the item must be removed: the answer it was part of is requested
	// again, or a queued message has become the prompt of a turn. It was never final.
	Gone bool
	// Inherited says that the item was made in the run that this one was forked from.
	Inherited bool

	// Text of a message, text, thinking or account; of a submission the JSON value; of a
	// note one sentence; of an end one line.
	Text string

	// Of a text:
	Answer bool // no call follows it in its message; only set once it is final
	Step   bool // it is the description of a step in controller mode, not the answer's text
	Cut    bool // an interrupt ended the stream here

	Run     *Run     // of KindRun
	Message *Message // of KindMessage
	Call    *Call    // of KindCall
	Note    *Note    // of KindNote
	End     *End     // of KindEnd
}

// A Run is the header of a run.
type Run struct {
	ID         run.ID
	Agent      string // name of the agent that it is; empty: none
	Model      string
	Mode       string
	Workspace  string
	Version    string // of the pawl that wrote the log
	External   bool   // the agent is a program with a loop of its own
	Parent     run.ID // empty for a root run
	ParentCall run.CallID
	ForkedFrom run.ID // empty unless it is a fork
	ForkedAt   int64  // items up to this event are inherited
}

// A Message is what a person says to the agent.
type Message struct {
	Kind  MessageKind
	State MessageState
	// Words is the id of a steering or queued message, or of the queued message that a
	// prompt delivers.
	Words  string
	Call   run.CallID // the question that an answer answers
	By     string
	Images int
	// AtEnd says that a steering message is delivered when the agent's turn has ended, as to an external agent.
	AtEnd bool
}

// A MessageKind says when a message is delivered.
type MessageKind string

const (
	Prompt   MessageKind = "prompt"
	Continue MessageKind = "continue" // a prompt without words
	Steering MessageKind = "steering" // with the next request
	Queued   MessageKind = "queued"   // when the turn has completed
	Answer   MessageKind = "answer"   // to a question of the agent
)

// A MessageState says what became of a message.
type MessageState string

const (
	Pending   MessageState = "pending" // it waits to be delivered
	Delivered MessageState = "delivered"
	Withdrawn MessageState = "withdrawn" // by the person
	Returned  MessageState = "returned"  // undelivered, because the turn ended early
)

// A Call is one tool call.
type Call struct {
	ID        run.CallID // as the agent names it if Observed
	Tool      string
	Arguments string // a JSON object; incomplete while it streams
	Subject   string // what the call is about, on one line: a command, a path, …; may be empty
	State     CallState
	Class     run.Class // empty before the call was inspected
	Fault     run.Fault // the call came incomplete and cannot run
	Question  bool      // it asks the person
	Submits   bool      // it submits the run's result
	// Observed says that an external agent reported the call. pawl neither decided on it
	// nor ran it.
	Observed bool

	Decision run.Decision // zero before the decision
	Attempt  int          // starts; 0: it has not started
	Started  time.Time    // the last start
	Duration time.Duration

	Outcome  run.Outcome // of a settled call
	IsError  bool
	ExitCode *int   // of a command that has ended; nil: there is none
	Result   string // text of the result
	Images   int    // in the result
	Delivery string // as in [run.Result]
	Size     int64  // of the stored output, in bytes
	Files    []File // changed by the call
	Diff     string // how it changed them, where the update that settled it said so, or its event
	// Tail is the end of what the running call has printed, at most [MaxTail] bytes.
	Tail string
	// Child is the child run that the call has started, or starts; empty if it has none.
	Child run.ID
}

// Failed reports whether the settled call did not do what it was to do: it has an error, or the
// command that it ran failed.
func (c *Call) Failed() bool { return !run.Succeeded(c.IsError, c.ExitCode) }

// Title says in one line what the call does.
func (c *Call) Title() string { return title(c.Tool, c.Subject) }

// A CallState is how far a call has come.
type CallState string

const (
	Streaming CallState = "streaming" // its arguments arrive
	Asked     CallState = "asked"
	Waiting   CallState = "waiting" // for a person's decision or answer
	Allowed   CallState = "allowed"
	Running   CallState = "running"
	Settled   CallState = "settled"
)

// MaxTail bounds [Call.Tail].
const MaxTail = 4096

// A File is a file that a call or a turn has changed.
type File struct {
	Path   string // relative to the workspace, slashes
	Before string // SHA-256, hex; empty: it did not exist
	After  string // SHA-256, hex; empty: it does not exist any more
	// Added and Removed count lines. They are known if Counted.
	Added, Removed int
	Counted        bool
	// Partial says that only the path is known for sure: the projection began after the
	// first change.
	Partial bool
}

// A Note is something that happened to the run.
type Note struct {
	Kind NoteKind
	// Detail is the whole text that the sentence stands for: the summary of a compaction,
	// the message to the model of a reminder, the reason of a failed request.
	Detail  string
	Call    run.CallID       // that the note is about
	Error   run.ErrorKind    // of a failed request
	Attempt int              // of a failed request: failures in a row
	Wait    time.Duration    // of a failed request: until it is sent again; 0: it is not
	Tell    run.TellReason   // of a reminder
	Cause   run.Cause        // of an interrupt
	Change  run.ConfigChange // of a configuration change
	Freed   int64            // of a compaction: tokens, estimated
	Calls   []run.CallID     // of a resumed run: those that run again
}

// A NoteKind says what a note is about.
type NoteKind string

const (
	NoteConfigured   NoteKind = "configured"
	NoteFailed       NoteKind = "failed"       // a request failed; with a wait it is retried
	NoteUnusable     NoteKind = "unusable"     // the answer is not an action, in controller mode
	NoteUnfit        NoteKind = "unfit"        // the answer does not fit the schema of the result
	NoteReminder     NoteKind = "reminder"     // pawl sent the model a message of its own
	NoteApproval     NoteKind = "approval"     // an allowed call needs a new decision
	NoteAsked        NoteKind = "asked"        // a running call asks the person something
	NoteResumed      NoteKind = "resumed"      // the process had ended; the turn was resumed
	NoteCompacted    NoteKind = "compacted"    // the context was compacted; one that is not final says that the summary is being made
	NoteInterrupted  NoteKind = "interrupted"  // not final while the run is stopping
	NoteInstructions NoteKind = "instructions" // a call has touched files that have instructions of their own
	NoteHook         NoteKind = "hook"         // hooks have said something
	NoteNotice       NoteKind = "notice"       // something does not work, which is not in the log; or what is to be known of an external agent
)

// An End is the end of a turn.
type End struct {
	End      run.End
	Reason   string        // for a program to switch on
	Detail   string        // for the person, with what to do
	Duration time.Duration // in which the turn was driven and did not wait for a person
	Steps    int
	Usage    run.Usage
	Files    []File    // changed in the turn, in the order of the first change; not those that are as before
	Refused  []Refusal // calls that were refused in the turn
}

// A Refusal is a call that was refused.
type Refusal struct {
	Call   run.CallID
	Tool   string
	Title  string // one line
	Reason string // one line
}
