package run

import "time"

// An Event is a fact in a run's log: something that became true, and when.
// Events are appended by the run's owner alone and never change.
type Event struct {
	Seq  int64     // 1, 2, 3 … without gaps, given by the log; 0 before it is appended
	At   time.Time // UTC, from the owner's clock
	Fact Fact
}

// A Fact is what an [Event] says. The types are closed: every one is in this
// file, has a stable name on disk (package store), and only ever gains optional
// fields.
type Fact interface{ fact() }

// Created is the first fact of every run.
type Created struct {
	Run        ID
	Parent     ID     // the run whose call this run answers; empty for a root run
	ParentCall CallID // that call
	ForkedFrom ID     // the run whose events up to ForkedAt were copied behind this one
	ForkedAt   int64
	Workspace  string // absolute path of the folder the agent works in
	Agent      string // name of the agent's configuration; empty for the default agent
	External   bool   // the agent is a program with a loop of its own: Next owes Drive
	System     string // the system prompt, fixed for the run so that the prefix of its requests stays stable
	Config     Config
	Version    string // the pawl that wrote it
}

// Configured replaces the run's configuration from here on: another model, other
// limits, another permission mode.
type Configured struct{ Config Config }

// Prompted begins a turn.
type Prompted struct {
	Parts []Part
	// Continue begins a turn without words of the person's own: the model is
	// asked to go on where the last turn ended. Parts may be empty then.
	Continue bool
	Queued   string // the id of the queued message that this delivers
}

// QuestionAnswered begins a turn with the answer to an ask call that the last
// turn left open; the text is that call's result.
type QuestionAnswered struct {
	Call CallID
	Text string
	By   string
}

// Steered is something said while the agent works, to be delivered with the
// next results; if the model ends its turn first, the turn goes on.
type Steered struct {
	ID    string // given by the sender; unique in the run
	Parts []Part
}

// Queued is something said while the agent works, to be delivered when the
// turn has ended by itself.
type Queued struct {
	ID    string
	Parts []Part
}

// Withdrawn takes back a steering or queued message that was not delivered yet.
type Withdrawn struct{ ID string }

// A Purpose says what a model request is for.
type Purpose string

const (
	ForStep      Purpose = "step"
	ForSynthesis Purpose = "synthesis" // the account of a turn that ended early; without tools
	ForSummary   Purpose = "summary"   // compaction; without tools
)

// RequestStarted says that a model request is about to be sent. It delivers
// what waits for the model: results, then words.
type RequestStarted struct {
	Purpose Purpose
	Attempt int // 1, 2, …: retries and deaths of the process count
	Model   string
	End     Ended // ForSynthesis: how the turn will end after it
}

// RequestFailed says that a request ended without an answer.
type RequestFailed struct {
	Kind      ErrorKind
	Reason    string    // a sentence for people
	Delivered bool      // something of an answer had been shown: viewers drop it
	RetryAt   time.Time // when the next attempt may start; zero: it is not to be repeated
}

// An ErrorKind says what went wrong with a model request. It is decided where
// the wire is known.
type ErrorKind string

const (
	ErrOverloaded   ErrorKind = "overloaded"    // 5xx, 529: try again
	ErrUnreachable  ErrorKind = "unreachable"   // no connection to the provider: try again
	ErrRateLimited  ErrorKind = "rate_limited"  // 429, perhaps with a wait
	ErrTooLong      ErrorKind = "too_long"      // the request does not fit the window: compact, once
	ErrAuth         ErrorKind = "auth"          // no key, a wrong key
	ErrRefused      ErrorKind = "refused"       // the provider will not answer this
	ErrInvalid      ErrorKind = "invalid"       // any other 4xx: a request it does not understand
	ErrBrokenStream ErrorKind = "broken_stream" // the stream ended without its end mark
	ErrTimeout      ErrorKind = "timeout"       // nothing came for too long
	ErrAborted      ErrorKind = "aborted"       // we cancelled it; never retried
)

// RequestLost says that the process died while a model request, or an external
// turn, was under way. It is recorded by the next owner (see [State.Lost]).
type RequestLost struct{}

// A StopReason says why the model stopped; the providers' own names are mapped
// on to these and an unknown one is kept verbatim.
type StopReason string

const (
	StopToolUse   StopReason = "tool_use"
	StopEndTurn   StopReason = "end_turn"
	StopSequence  StopReason = "stop_sequence"
	StopMaxTokens StopReason = "max_tokens"
	StopPause     StopReason = "pause_turn"
	StopFiltered  StopReason = "content_filtered"
	StopRefusal   StopReason = "refusal"
	StopGuardrail StopReason = "guardrail_intervened"
	StopNone      StopReason = ""
)

// Replied is the model's finished message.
type Replied struct {
	// Parts is the message, its calls numbered on from [State.NextCall].
	Parts []Part
	Stop  StopReason
	Model string // as the provider names itself
	Usage Usage
	// Cached: the answer came from the local response cache, at no cost.
	Cached bool
}

// PlanOpened says that the first next_step of a turn in controller mode was chosen.
type PlanOpened struct{ ID, Goal string }

// StepChosen says what the model's answer in controller mode means. It follows the
// answer in the same append.
type StepChosen struct {
	Kind        StepKind
	InPlan      bool   // it was a next_step: it is one of the plan's
	Description string // for people
	Thinking    string // JSON: the model's reasons, as data of the step
	Message     string // of respond, complete and guardrail_stop
	Reason      string // of guardrail_stop
	Resume      string // of ask_user: what the answer starts with
	Dropped     int    // calls left out because of the turn's limit
}

// StepRefused says that the model's answer in controller mode is no action.
type StepRefused struct {
	Problem  string // a sentence
	Feedback string // what the model is told
}

// Usage is what a request cost.
type Usage struct {
	Input      int64   // tokens read afresh
	CacheRead  int64   // tokens read from the provider's cache
	CacheWrite int64   // tokens written to it
	Output     int64   // tokens written, thinking included
	Cost       float64 // US dollars
	Priced     bool    // Cost is known
}

// Total returns all tokens of u.
func (u Usage) Total() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Add returns the sum of u and v; it is priced when both are.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, CacheRead: u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite, Output: u.Output + v.Output,
		Cost: u.Cost + v.Cost, Priced: u.Priced && v.Priced,
	}
}

// A Class says what a call may do to the world, and so what a kill in the
// middle of it means. It is recorded when the call is asked and never computed
// again on replay.
type Class string

const (
	Reads      Class = "reads"      // run again after a kill, twice at most, then unknown
	Writes     Class = "writes"     // unknown after a kill, once the tool has looked
	Reattaches Class = "reattaches" // taken up again by key, never unknown
)

// CallReceived says that a call reached pawl from outside the model's message: an
// external agent asks it through pawl's own tools.
type CallReceived struct{ Call Call }

// CallAsked says that a call of the model's message has been looked at: its
// tool, its arguments and its class are known.
type CallAsked struct {
	Call     CallID
	Tool     string
	Class    Class
	Priority int    // higher starts first among those that may
	Key      string // equal for equal tool and canonical arguments; see [CallKey]
	Waits    bool   // running it is spending time on waiting (sleep): what is repeated around it is polling
	Ask      bool   // it is a question to the person: the turn ends asked while it is open
	// Problem is why the call cannot run (unknown tool, wrong arguments, a
	// [Fault]), as the model is to be told; empty for a call that can.
	Problem string
}

// A Decision is the answer to "may this call run?".
type Decision struct {
	Answer Answer
	Rule   string // the rule that decided; empty when a person or a default did
	Source string // where the rule came from: flag, mode, default, person, …
	Reason string // a sentence
	By     string // who answered, for a person's decision
	// Sandbox is how much of the sandbox the call runs in, when it may run.
	Sandbox Confinement
	// Digest is of what was decided on (tool, arguments, folder, files): a decision
	// counts for that alone. Empty where a rule decides anew when the call starts.
	Digest string
}

// A Confinement says how much of the sandbox holds for a call.
type Confinement string

const (
	Confined    Confinement = ""          // all of it
	ReadOnly    Confinement = "read-only" // all of it, and the workspace cannot be written
	WithNetwork Confinement = "network"   // all but the closed network
	Unconfined  Confinement = "none"      // nothing: it has the person's own authority
)

// An Answer is how a decision came out.
type Answer string

const (
	Allow  Answer = "allow"
	Always Answer = "always"
	Wait   Answer = "wait"
	Never  Answer = "never"
	Deny   Answer = "deny" // by a rule, a mode, or because nobody could be asked
)

// CallAllowed says that a call may run.
type CallAllowed struct {
	Call     CallID
	Decision Decision
}

// CallRefused says that a call may not run; it settles the call with an error
// result. The turn goes on. (Wait is not a refusal but an interrupt.)
type CallRefused struct {
	Call     CallID
	Decision Decision
	Content  string // what the model is told
}

// DecisionVoided says that a call which was allowed has to be decided on again: what
// was decided on has changed, or the rules have.
type DecisionVoided struct {
	Call   CallID
	Reason string // a sentence
}

// CallStarted says that a call is about to run. It is durable before the tool runs.
type CallStarted struct {
	Call    CallID
	Attempt int // 1, 2, …
}

// CallLost says that a started call that may be run again was under way in a
// process that died; it is owed again.
type CallLost struct{ Call CallID }

// An Outcome says how a call came out.
type Outcome string

const (
	OK       Outcome = "ok"
	Failed   Outcome = "error"    // the tool says so; a command's exit code is not an error
	Invalid  Outcome = "invalid"  // it could not run: unknown tool, wrong arguments, cut
	NotRun   Outcome = "not_run"  // the turn was over before it started
	Cut      Outcome = "cut"      // stopped while it ran
	Unknown  Outcome = "unknown"  // it started, and nobody knows what it did
	Refused  Outcome = "refused"  // by CallRefused, or by Wait
	Answered Outcome = "answered" // an ask call, by the person
)

// A Change says whether a call changed something.
type Change string

const (
	NoChange  Change = ""
	MayChange Change = "may"  // it ran and could have (a shell command that writes)
	Changed   Change = "made" // it did
)

// CallSettled is the one answer to a call.
type CallSettled struct {
	Call    CallID
	Outcome Outcome
	Content []Part
	IsError bool
	Change  Change
	Files   []FileChange // what it changed, for undo and the account at the end
	Key     string       // equal for equal results; see [ResultKey]
	JobRuns bool         // a background job of the run was running when it settled
	// Delivery is as in [Result].
	Delivery string
	Size     int64 // of the stored output, in bytes
}

// A FileChange is one file's content before and after a call, by SHA-256 (hex);
// empty means the file did not exist.
type FileChange struct {
	Path   string // relative to the workspace, slashes
	Before string
	After  string
}

// CallNoted adds a note for the model to a settled call's result.
type CallNoted struct {
	Call CallID
	Text string
}

// Nudged puts a user message of pawl's own into the conversation.
type Nudged struct {
	Reason NudgeReason
	Text   string
}

// A NudgeReason says why pawl spoke to the model by itself.
type NudgeReason string

const (
	NudgePromised NudgeReason = "promised" // the answer promises work and does none
	NudgeEmpty    NudgeReason = "empty"    // no answer, or tool_use without a call
	NudgeCut      NudgeReason = "cut"      // text was cut at the output limit
)

// Submitted says that the result which the run has to hand in was accepted. There is
// at most one in an assignment.
type Submitted struct {
	Assignment int
	Call       CallID // that handed it in; empty: the model's answer itself is it
	Value      string // JSON that fits [Output.Schema]
}

// SubmissionRefused says that the model's answer was to be the result and is not.
type SubmissionRefused struct{ Problem string }

// Reminded asks for the result that is still to be handed in.
type Reminded struct {
	N    int // 1, 2 in an assignment
	Text string
}

// A Cause says whose doing an interrupt was.
type Cause string

const (
	ByPerson   Cause = "person"    // Esc, Ctrl-C, POST …/interrupt, SIGINT
	ByWait     Cause = "wait"      // "wait, and say what to do differently" in a permission dialog
	ByTimeout  Cause = "timeout"   // the turn's wall clock
	ByShutdown Cause = "shutdown"  // the process was asked to end
	ByParent   Cause = "parent"    // the parent run was interrupted
	ByRequest  Cause = "requested" // another program, through the inbox
	ByPolicy   Cause = "policy"    // a question that nobody is there to answer, where that is to fail the turn
)

// Interrupted says that a turn was stopped. From here on nothing of it is owed
// but the settling of what had started.
type Interrupted struct {
	Cause Cause
	Call  CallID // with ByWait: the call that was refused by it
	By    string
	// Then is what the person said with it: the next turn begins with that by itself,
	// because it is the answer to what was asked.
	Then    []Part
	Partial []Part // what had streamed and is kept: whole thinking, text (marked Cut), whole calls numbered on from NextCall
}

// Compacted rewrites the context, never the log.
type Compacted struct {
	Stage int // 1: results are replaced by references; 2: older messages become a summary
	// Calls are the calls whose results, or very long arguments, stage 1 replaced.
	Calls []CallID
	// Through is the last message that the summary of stage 2 stands for.
	Through string
	Summary string
	Freed   int64 // tokens, estimated
}

// Synthesized is the account of a turn that ended early, made from the log
// without a model.
type Synthesized struct {
	Text string
	End  Ended // how the turn will end after it
}

// An End says how a turn ended.
type End string

const (
	Completed        End = "completed"
	Asked            End = "asked"
	EndInterrupted   End = "interrupted"
	LimitReached     End = "limit_reached"
	GuardrailStopped End = "guardrail_stopped"
	LoopStopped      End = "loop_stopped"
	EndRefused       End = "refused"
	EndFailed        End = "failed"
)

// Ended ends a turn.
type Ended struct {
	End    End
	Reason string // for a program to switch on: max_steps, same_call, auth, …
	Detail string // a sentence a person can act on
}

// DriveStarted says that an external agent is about to be given a turn.
type DriveStarted struct {
	Conversation string // the agent's own id for it; may be empty on the first
	Attempt      int
}

// Observed is something an external agent reported: shown and counted, never
// owed, never sent to a provider.
type Observed struct {
	Conversation string // its id, as soon as it is known
	Parts        []Part
	Usage        Usage
}

// DriveEnded says that an external agent's turn is over.
type DriveEnded struct {
	Text   string    // what it said last
	Failed bool      // its final event carried an error flag, or there was none
	Kind   ErrorKind // of the failure, where it is known
	Reason string
}

func (Created) fact()           {}
func (Configured) fact()        {}
func (Prompted) fact()          {}
func (QuestionAnswered) fact()  {}
func (Steered) fact()           {}
func (Queued) fact()            {}
func (Withdrawn) fact()         {}
func (RequestStarted) fact()    {}
func (PlanOpened) fact()        {}
func (StepChosen) fact()        {}
func (StepRefused) fact()       {}
func (RequestFailed) fact()     {}
func (RequestLost) fact()       {}
func (Replied) fact()           {}
func (CallReceived) fact()      {}
func (CallAsked) fact()         {}
func (CallAllowed) fact()       {}
func (CallRefused) fact()       {}
func (DecisionVoided) fact()    {}
func (CallStarted) fact()       {}
func (CallLost) fact()          {}
func (CallSettled) fact()       {}
func (CallNoted) fact()         {}
func (Nudged) fact()            {}
func (Submitted) fact()         {}
func (SubmissionRefused) fact() {}
func (Reminded) fact()          {}
func (Interrupted) fact()       {}
func (Compacted) fact()         {}
func (Synthesized) fact()       {}
func (Ended) fact()             {}
func (DriveStarted) fact()      {}
func (Observed) fact()          {}
func (DriveEnded) fact()        {}
