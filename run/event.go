package run

import "time"

// An Event is a fact in a run's log: something that became true, and when.
// Only the run's owner appends events, and they never change.
type Event struct {
	Seq     int64     // 1, 2, 3 … without gaps, assigned by the log; 0 before it is appended
	At      time.Time // UTC, by the owner's clock
	Payload Payload
}

// A Payload is what an [Event] says. The set of types is closed: all of them are
// in this file, and in hook.go those of hooks. Their JSON form is the form on disk (see package store for the
// name of each); a type only ever gains optional keys.
type Payload interface {
	// apply is [State.Apply] for an event with this payload; e.Payload is not read.
	apply(s *State, e Event) error
}

// Created is the first event of every run.
type Created struct {
	Run ID `json:"run"`
	// Parent and ParentCall are the call that this run answers; empty for a root
	// run. Root is the first of its ancestors, whose conversation it shares, and
	// Depth how many ancestors it has.
	Parent     ID     `json:"parent,omitempty"`
	ParentCall CallID `json:"parent_call,omitempty"`
	Root       ID     `json:"root,omitempty"`
	Depth      int    `json:"depth,omitempty"`
	AgentID    string `json:"agent_id,omitempty"` // of a child run: its name within its parent, see [State.AgentID]
	// ForkedFrom is the run whose events up to ForkedAt were copied after this one.
	ForkedFrom ID     `json:"forked_from,omitempty"`
	ForkedAt   int64  `json:"forked_at,omitempty"`
	Workspace  string `json:"workspace,omitempty"` // absolute path
	// Agent is the name of the agent whose configuration the run began with; empty: none.
	Agent    string `json:"agent,omitempty"`
	External bool   `json:"external,omitempty"` // the agent is a program with a loop of its own
	System   string `json:"system,omitempty"`   // system prompt; fixed, so that the prefix of requests is stable
	Config   Config `json:"config"`
	Version  string `json:"pawl,omitempty"` // the pawl that wrote it
}

// Conversation returns the run whose outputs this run shares: its root, or itself.
func (c Created) Conversation() ID {
	if c.Root != "" {
		return c.Root
	}
	return c.Run
}

// Configured changes the run's configuration from here on.
type Configured struct {
	Change ConfigChange `json:"change"`
}

// Prompted begins a turn.
type Prompted struct {
	Parts []Part `json:"parts,omitempty"`
	// Continue asks the model to continue where the last turn ended. Parts may then be
	// empty.
	Continue bool   `json:"continue,omitempty"`
	Queued   string `json:"queued,omitempty"` // id of the queued message that this delivers
	// Answers is the open question that Parts answers; they become its result.
	Answers CallID `json:"answers,omitempty"`
	By      string `json:"by,omitempty"`
}

// A Delivery says when a message that is sent during a turn is delivered.
type Delivery string

const (
	Steer Delivery = "steer" // with the next results; if the model ends its turn first, the turn continues
	Queue Delivery = "queue" // when the turn has completed
)

// Said is a message to the agent while a turn is open.
type Said struct {
	ID       string   `json:"id"` // assigned by the sender; unique in the run
	Delivery Delivery `json:"delivery"`
	Parts    []Part   `json:"parts,omitempty"`
}

// Withdrawn takes back a steering or queued message that was not delivered yet, or says that an external agent does not
// wait any more for the answer to a call that is Late (see [CallInspected]), with the key of its request as the id.
type Withdrawn struct {
	ID string `json:"id"`
}

// A Purpose says what a request is for.
type Purpose string

const (
	ForStep      Purpose = "step"
	ForSynthesis Purpose = "synthesis" // the account of a turn that ended early; without tools
	ForSummary   Purpose = "summary"   // compaction; without tools
	ForAgent     Purpose = "agent"     // a turn of an external agent
)

// RequestStarted says that a request is about to be sent. It delivers the results and
// messages that wait for the model.
type RequestStarted struct {
	Purpose Purpose `json:"purpose"`
	Attempt int     `json:"attempt,omitempty"` // 1, 2, …: retries and process deaths count
	Model   string  `json:"model,omitempty"`
	End     Ended   `json:"end,omitzero"` // ForSynthesis: how the turn will end after it
}

// RequestFailed says that a request ended without a complete answer.
type RequestFailed struct {
	Kind      ErrorKind `json:"kind"`
	Reason    string    `json:"reason,omitempty"`    // a sentence for people
	Delivered bool      `json:"delivered,omitempty"` // part of the answer was shown: viewers discard it
	// Asked is how long the provider asked to wait before the next attempt; 0: it did not.
	Asked time.Duration `json:"asked_ns,omitempty"`
	// RetryAfter is how long to wait before the next attempt; 0: it is not retried. A
	// [Runner] sets it.
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	Usage      Usage         `json:"usage,omitzero"` // what the provider had reported until then
	// Again: the step begins again with another request, after a compaction or with the fallback
	// model, and this one is not counted as a step. A [Runner] sets it.
	Again bool `json:"again,omitempty"`
	// Reminder: it was stopped because the time to submit the required result after a reminder
	// was over. The turn continues with the next reminder, if there is one.
	Reminder bool `json:"reminder,omitempty"`
}

// An ErrorKind says what went wrong with a request. It is decided where the wire
// format is known.
type ErrorKind string

const (
	ErrOverloaded   ErrorKind = "overloaded"    // 5xx, 529: retry
	ErrUnreachable  ErrorKind = "unreachable"   // connection refused, no route, no such host: retry
	ErrRateLimited  ErrorKind = "rate_limited"  // 429, perhaps with a wait: retry
	ErrTooLong      ErrorKind = "too_long"      // the request does not fit the window: compact, once
	ErrAuth         ErrorKind = "auth"          // no key, a wrong key
	ErrRefused      ErrorKind = "refused"       // the provider will not answer this
	ErrInvalid      ErrorKind = "invalid"       // any other 4xx: a request it does not understand
	ErrBrokenStream ErrorKind = "broken_stream" // the stream ended without its end mark
	ErrTimeout      ErrorKind = "timeout"       // no content for too long
	ErrAborted      ErrorKind = "aborted"       // we cancelled it; never retried
)

// Replied is the finished message of the model, or the last message of an external agent
// in its turn, with its interpretation.
type Replied struct {
	Parts  []Part     `json:"parts,omitempty"` // calls are numbered from [State.NextCall]
	Stop   StopReason `json:"stop,omitempty"`
	Model  string     `json:"model,omitempty"` // as the provider names itself
	Usage  Usage      `json:"usage,omitzero"`
	Cached bool       `json:"cached,omitempty"` // from the local response cache, at no cost
	// Promises: the text announces work that the message does not do.
	Promises bool `json:"promises,omitempty"`
	// Action is what the message means in controller mode.
	Action *Action `json:"action,omitempty"`
	// Unfit is why the message does not fit the schema of the result.
	Unfit string `json:"unfit,omitempty"`
}

// An Action is the meaning of the model's answer in controller mode. If the answer is not
// a valid action, Problem says why and Feedback is sent to the model.
type Action struct {
	Kind        StepKind `json:"kind,omitempty"`
	InPlan      bool     `json:"in_plan,omitempty"` // it was a next_step: it is one of the plan's
	Description string   `json:"description,omitempty"`
	Thinking    string   `json:"thinking,omitempty"` // JSON, as the model wrote it
	Message     string   `json:"message,omitempty"`  // of respond, complete and guardrail_stop
	Reason      string   `json:"reason,omitempty"`   // of guardrail_stop
	Resume      string   `json:"resume,omitempty"`   // of ask_user: what the answer starts with
	Dropped     int      `json:"dropped,omitempty"`  // calls left out because of the turn's limit
	Problem     string   `json:"problem,omitempty"`
	Feedback    string   `json:"feedback,omitempty"`
}

// A StopReason says why the model stopped. The providers' own names are mapped to
// these; an unknown one is kept verbatim.
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

// Usage is what a request cost.
type Usage struct {
	Input      int64   `json:"input,omitempty"`       // tokens read, not from a cache
	CacheRead  int64   `json:"cache_read,omitempty"`  // tokens read from the provider's cache
	CacheWrite int64   `json:"cache_write,omitempty"` // tokens written to it
	Output     int64   `json:"output,omitempty"`      // tokens written, thinking included
	Cost       float64 `json:"cost,omitempty"`        // US dollars
	Priced     bool    `json:"priced,omitempty"`      // Cost is known
}

// Total returns all tokens of u.
func (u Usage) Total() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Add returns the sum of u and v. The zero Usage adds nothing; otherwise the sum
// is priced when both are.
func (u Usage) Add(v Usage) Usage {
	none := Usage{}
	switch {
	case v == none:
		return u
	case u == none:
		return v
	}
	return Usage{
		Input: u.Input + v.Input, CacheRead: u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite, Output: u.Output + v.Output,
		Cost: u.Cost + v.Cost, Priced: u.Priced && v.Priced,
	}
}

// Observed is what an external agent reported in its turn: shown and counted,
// never owed, never sent to a provider. An empty one in another run says that part of the
// answer to the request in flight has arrived; it is recorded only after a process died
// during the request, see [State.Recover].
type Observed struct {
	// Notices are what pawl says of the agent to people, a sentence each: what bounds it, a version that pawl was not tested with, and
	// a request to its provider that it makes again.
	Notices      []string `json:"notices,omitempty"`
	Conversation string   `json:"conversation,omitempty"` // the agent's own id for it, as soon as it is known
	Parts        []Part   `json:"parts,omitempty"`
	Usage        Usage    `json:"usage,omitzero"`
}

// A Class says what a call may do to the world, and so what a kill in the middle
// of it means. It is recorded when the call is inspected and never computed again
// on replay.
type Class string

const (
	Reads     Class = "reads"     // run again after a kill, twice at most
	Writes    Class = "writes"    // unknown after a kill, once the tool has looked
	Resumable Class = "resumable" // resumed by key after a kill, never unknown
)

// CallReceived says that a call reached pawl from outside a model's message: an
// external agent made it through pawl's own tools.
type CallReceived struct {
	Call Call `json:"call"`
	// Key identifies the request, so that a repeated one is answered with the same
	// result; unique in the turn.
	Key string `json:"key,omitempty"`
}

// CallInspected says what a call would do: its tool, arguments and class are known.
type CallInspected struct {
	Call     CallID `json:"call"`
	Tool     string `json:"tool,omitempty"`
	Class    Class  `json:"class,omitempty"`
	Priority int    `json:"priority,omitempty"` // higher starts first among those that may
	Key      string `json:"key,omitempty"`      // equal for equal tool and arguments
	Polls    bool   `json:"polls,omitempty"`    // it spends its time waiting (sleep): repetition around it is polling
	Question bool   `json:"question,omitempty"` // it asks the person: the turn ends asked while it is open
	Submits  bool   `json:"submits,omitempty"`  // it hands in the run's result
	// Late: the call, of an external agent, asks for a decision and stays open when the
	// agent's turn ends before it is decided, also because pawl ends or its task is paused. The
	// decision begins another external turn.
	Late bool `json:"late,omitempty"`
	// Problem is why the call cannot run, as the model is told; empty for one that can.
	Problem string `json:"problem,omitempty"`
}

// A Decision is the answer to "may this call run?".
type Decision struct {
	Answer Answer `json:"answer"`
	Rule   string `json:"rule,omitempty"`   // the rule that decided; empty for a person or a default
	Source string `json:"source,omitempty"` // where the rule came from: flag, mode, default, person, …
	Reason string `json:"reason,omitempty"` // a sentence
	By     string `json:"by,omitempty"`     // who answered, for a person's decision
	// Sandbox is how the call is confined, when it may run.
	Sandbox Confinement `json:"sandbox,omitempty"`
	// Digest identifies what was decided on (tool, arguments, folder, files); the decision
	// is invalid for anything else. Empty: the rules decide again at the start.
	Digest string `json:"digest,omitempty"`
}

// Allows reports whether the call may run.
func (d Decision) Allows() bool { return d.Answer == Allow || d.Answer == Always }

// A Confinement says how much of the sandbox holds for a call.
type Confinement string

const (
	Confined Confinement = ""          // all of it
	ReadOnly Confinement = "read-only" // all of it, and the workspace cannot be written
	// Two for commands that run unasked whatever they do, because they cannot do more. Neither has the secrets of
	// the workspace, and caches stay as they are.
	Trial       Confinement = "trial"   // the workspace cannot be written; otherwise like Inside
	Inside      Confinement = "inside"  // the workspace can be written, apart from what programs obey by themselves
	WithNetwork Confinement = "network" // all but the closed network; with names of hosts see [ToHosts]
	Unconfined  Confinement = "none"    // no sandbox: the call has the user's own authority
)

// An Answer is the outcome of a decision.
type Answer string

const (
	Allow  Answer = "allow"
	Always Answer = "always"
	Wait   Answer = "wait"
	Never  Answer = "never"
	Deny   Answer = "deny" // by a rule, a mode, or because approval cannot be given
)

// CallDecided says whether a call may run. A refused call is settled with an error result
// and the turn continues. (Wait is an [Interrupted], not a refusal.)
type CallDecided struct {
	Call     CallID   `json:"call"`
	Decision Decision `json:"decision"`
	Content  string   `json:"content,omitempty"` // of a refusal: what the model is told
}

// ApprovalInvalidated says that an allowed call needs a new decision, because what was
// decided on or the rules have changed.
type ApprovalInvalidated struct {
	Call   CallID `json:"call"`
	Reason string `json:"reason"` // a sentence
}

// CallStarted says that a call is about to run. It is durable before the tool runs.
type CallStarted struct {
	Call    CallID `json:"call"`
	Attempt int    `json:"attempt,omitempty"` // 1, 2, …
	// Reserved is set aside of the turn's limits for a child run of the call, until the
	// call is settled.
	Reserved Limits `json:"reserved,omitzero"`
}

// CallDetached says that what carries out a running call, such as a task of an MCP server, goes on without this process and
// can be asked what came of it. It is durable before the outcome is waited for.
type CallDetached struct {
	Call CallID `json:"call"`
	// Handle is what the tool needs to ask: text that only the tool reads.
	Handle string `json:"handle"`
}

// CallAsked says that a call which runs asks the person something: what carries it out, such as a
// server, needs that to go on. The turn stays open.
type CallAsked struct {
	Call     CallID   `json:"call"`
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty"` // answers to choose from; others stay possible
}

// CallAnswered is the person's answer to that. Without Parts nobody waits for one any more.
type CallAnswered struct {
	Call  CallID `json:"call"`
	Parts []Part `json:"parts,omitempty"`
}

// An Outcome says how a call ended.
type Outcome string

const (
	OK       Outcome = "ok"
	Failed   Outcome = "error"    // the tool reports an error; the exit code of a command is not one: see [Succeeded]
	Invalid  Outcome = "invalid"  // it could not run: unknown tool, wrong arguments, cut
	NotRun   Outcome = "not_run"  // the turn was over before it started
	Cut      Outcome = "cut"      // stopped while it ran
	Unknown  Outcome = "unknown"  // it started, and its effect is not known
	Refused  Outcome = "refused"  // by a decision
	Answered Outcome = "answered" // a question, by the person
)

// A Change says whether a call changed something.
type Change string

const (
	NoChange  Change = ""
	MayChange Change = "may"  // it may have (a shell command that writes)
	Changed   Change = "made" // it did
)

// CallSettled is the one result of a call.
type CallSettled struct {
	Call    CallID  `json:"call"`
	Outcome Outcome `json:"outcome"`
	Content []Part  `json:"content,omitempty"`
	IsError bool    `json:"is_error,omitempty"`
	// ExitCode is that of a command that has ended, 128+n when signal n ended it; nil: the call
	// was no command, or the command was stopped.
	ExitCode *int         `json:"exit_code,omitempty"`
	Change   Change       `json:"change,omitempty"`
	Files    []FileChange `json:"files,omitempty"`    // what it changed, for undo and the account at the end
	Key      string       `json:"key,omitempty"`      // equal for equal results; empty: equal content
	JobRuns  bool         `json:"job_runs,omitempty"` // a background job of the run was running when it settled
	// Delivery is as in [Result], and Size that of the stored output in bytes.
	Delivery string `json:"delivery,omitempty"`
	Size     int64  `json:"size,omitempty"`
	// Tools is the change of the run's [ToolState] by this call.
	Tools *ToolState `json:"tools,omitempty"`
	Usage Usage      `json:"usage,omitzero"` // of a child run: it counts for this one too
	Kept  bool       `json:"kept,omitempty"` // as in [Result]
	// Instructions are those for files that the call touched and the run had not been given yet.
	Instructions Instructions `json:"instructions,omitzero"`
}

// Instructions are words of people to agents that hold for a part of the workspace: the model has them with the result of
// the call that first touched it, and they stay when the context is compacted.
type Instructions struct {
	Text  string   `json:"text,omitempty"`
	Files []string `json:"files,omitempty"` // what they are from: relative to the workspace, or absolute
}

// A FileChange is one file's content before and after a call, by SHA-256 (hex);
// empty means that the file did not exist. That of a symbolic link is where it leads.
type FileChange struct {
	Path   string `json:"path"` // relative to the workspace, slashes
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Added and Removed count lines, of a tool of an external agent's. Those of a call of pawl's are in its result.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
	// BeforeMode and AfterMode are the kind and the permission bits in octal, as in git: 100644,
	// 120777, 040755. Empty: an edit, which changes neither; or the path did not exist. A folder has
	// no content.
	BeforeMode string `json:"before_mode,omitempty"`
	AfterMode  string `json:"after_mode,omitempty"`
	// Git is the object of the repository that has the content before, where no copy of it was kept.
	Git string `json:"git,omitempty"`
}

// A ToolState is what the tools of a run remember between calls. It is part of the log, so
// that a resumed run behaves as one that never stopped. In a [CallSettled] it is a change:
// empty fields are unchanged.
type ToolState struct {
	Dir  string     `json:"dir,omitempty"`  // where the next command starts, relative to the workspace; "." is the workspace
	Seen []SeenFile `json:"seen,omitempty"` // files as read or written; the last entry of a path counts
	Jobs int        `json:"jobs,omitempty"` // background jobs started so far: their names are never reused
}

// A SeenFile is a file in the state in which a call last read or wrote it.
type SeenFile struct {
	Path    string    `json:"path"`           // relative to the workspace
	Hash    string    `json:"hash,omitempty"` // SHA-256, hex; empty: it is not there any more
	Size    int64     `json:"size,omitempty"`
	ModTime time.Time `json:"mtime,omitzero"`
}

// Resumed says that another process, or the same one after a pause, resumed an open turn,
// and which interrupted operations are owed again. The time since the event before it does
// not count for the turn.
type Resumed struct {
	Request bool     `json:"request,omitempty"` // the request, or the external turn
	Calls   []CallID `json:"calls,omitempty"`   // calls that may run again, or are asked what came of them
}

// A TellReason says why pawl sent the model a message of its own.
type TellReason string

const (
	TellRepeated TellReason = "repeated" // a call was repeated without effect; the note is added to its result
	TellPromised TellReason = "promised" // the answer promises work and does none
	TellEmpty    TellReason = "empty"    // no answer, or tool_use without a call
	TellCut      TellReason = "cut"      // text was cut at the output limit
	TellOutput   TellReason = "output"   // the required result is missing
	TellMode     TellReason = "mode"     // the permission mode has become [PlanMode], or is not any more
)

// Told adds a message of pawl's own to the conversation.
type Told struct {
	Reason TellReason `json:"reason"`
	Text   string     `json:"text"`
	Call   CallID     `json:"call,omitempty"` // TellRepeated: the call
}

// Submitted says that the required result was accepted, at most once in an assignment.
type Submitted struct {
	Assignment int    `json:"assignment"`
	Call       CallID `json:"call,omitempty"` // that submitted it; empty: the model's answer itself
	Value      string `json:"value"`          // JSON that fits [Output.Schema]
}

// A Cause says why a turn was interrupted.
type Cause string

const (
	ByPerson   Cause = "person"    // Esc, Ctrl-C, POST …/interrupt, SIGINT
	ByWait     Cause = "wait"      // "wait, and say what to do differently" in a permission dialog
	ByTimeout  Cause = "timeout"   // the turn's time is spent
	ByShutdown Cause = "shutdown"  // the process was asked to end
	ByParent   Cause = "parent"    // the parent run was interrupted
	ByRequest  Cause = "requested" // another program asked for it
	ByPolicy   Cause = "policy"    // a call needs approval and the configuration makes that a failure
	ByPause    Cause = "paused"    // the task of the run was paused
)

// Interrupted says that a turn was stopped: its running calls are settled, nothing new
// starts. A second one in the same turn only takes back the words of the first, which are
// returned to the person together with its own.
type Interrupted struct {
	Turn  int    `json:"turn,omitempty"` // the turn it is for; 0: the open one
	Cause Cause  `json:"cause"`
	Call  CallID `json:"call,omitempty"` // ByWait: the call that was refused by it; empty: one of a run below
	By    string `json:"by,omitempty"`
	// Then is the message that the person sent with it: the prompt of the next turn.
	Then    []Part `json:"then,omitempty"`
	Partial []Part `json:"partial,omitempty"` // what is kept of the partial answer: complete thinking, text (marked Cut), complete calls numbered from NextCall
	Usage   Usage  `json:"usage,omitzero"`    // of the request that it cancelled, as far as known
}

// Compacted rewrites the context, never the log.
type Compacted struct {
	Stage int `json:"stage"` // 1: results are replaced by references; 2: older messages become a summary
	// Calls are those whose results, or very long arguments, stage 1 replaced.
	Calls []CallID `json:"calls,omitempty"`
	// Through is the last message that the summary of stage 2 stands for.
	Through string `json:"through,omitempty"`
	Summary string `json:"summary,omitempty"`
	Freed   int64  `json:"freed,omitempty"` // tokens, estimated
}

// Synthesized is the account of a turn that ends early, made from the log without a model.
type Synthesized struct {
	Text string `json:"text,omitempty"`
	End  Ended  `json:"end,omitzero"` // how the turn will end after it
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
	End    End    `json:"end"`
	Reason string `json:"reason,omitempty"` // for a program to switch on: max_steps, same_call, auth, …
	Detail string `json:"detail,omitempty"` // a sentence for the person, with what to do
	// LimitEnds is when the limit of the provider ends that was reached, where it says so and the run waits for
	// that; see [Config].WaitForLimit.
	LimitEnds time.Time `json:"limit_ends,omitzero"`
	// Driven is for how long the turn was driven, without the time in which it waited for a
	// person. A [Runner] sets it.
	Driven time.Duration `json:"driven_ns,omitempty"`
	// Jobs are the background jobs that were running then, oldest first; none after an
	// interrupt, which ends them. A [Runner] sets it.
	Jobs []Job `json:"jobs,omitempty"`
}

// A Job is a command that runs in the background of a run.
type Job struct {
	ID      string    `json:"id"`      // job_1, job_2, …: as the tools name it
	Command string    `json:"command"` // one line, at most 200 characters
	Since   time.Time `json:"since"`
}

func (p Created) apply(s *State, _ Event) error             { return s.applyCreated(p) }
func (p Configured) apply(s *State, _ Event) error          { return s.applyConfigured(p) }
func (p Prompted) apply(s *State, e Event) error            { return s.applyPrompted(e, p) }
func (p Said) apply(s *State, _ Event) error                { return s.applySaid(p) }
func (p Withdrawn) apply(s *State, _ Event) error           { return s.applyWithdrawn(p) }
func (p RequestStarted) apply(s *State, e Event) error      { return s.applyRequestStarted(e, p) }
func (p RequestFailed) apply(s *State, e Event) error       { return s.applyRequestFailed(e, p) }
func (p Replied) apply(s *State, e Event) error             { return s.applyReplied(e, p) }
func (p Observed) apply(s *State, _ Event) error            { return s.applyObserved(p) }
func (p CallReceived) apply(s *State, _ Event) error        { return s.applyCallReceived(p) }
func (p CallInspected) apply(s *State, _ Event) error       { return s.applyCallInspected(p) }
func (p CallDecided) apply(s *State, e Event) error         { return s.applyCallDecided(e, p) }
func (p ApprovalInvalidated) apply(s *State, _ Event) error { return s.applyApprovalInvalidated(p) }
func (p CallStarted) apply(s *State, e Event) error         { return s.applyCallStarted(e, p) }
func (p CallDetached) apply(s *State, _ Event) error        { return s.applyCallDetached(p) }
func (p CallAsked) apply(s *State, _ Event) error           { return s.applyCallAsked(p) }
func (p CallAnswered) apply(s *State, _ Event) error        { return s.applyCallAnswered(p) }
func (p CallSettled) apply(s *State, e Event) error         { return s.applyCallSettled(e, p) }
func (p Resumed) apply(s *State, _ Event) error             { return s.applyResumed(p) }
func (p Told) apply(s *State, _ Event) error                { return s.applyTold(p) }
func (p Submitted) apply(s *State, _ Event) error           { return s.applySubmitted(p) }
func (p Interrupted) apply(s *State, _ Event) error         { return s.applyInterrupted(p) }
func (p Compacted) apply(s *State, _ Event) error           { return s.applyCompacted(p) }
func (p Synthesized) apply(s *State, _ Event) error         { return s.applySynthesized(p) }
func (p Ended) apply(s *State, _ Event) error               { return s.applyEnded(p) }
func (p HookStarted) apply(s *State, _ Event) error         { return s.applyHookStarted(p) }
func (p HookSettled) apply(s *State, _ Event) error         { return s.applyHookSettled(p) }
