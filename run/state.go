package run

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A State is a run as its events have made it. The zero value is a run before its
// first event.
type State struct {
	Created Created
	Config  Config
	Seq     int64     // events applied
	At      time.Time // of the last one

	// Messages is the context: what the model is shown, oldest first. Compaction
	// rewrites it; the log keeps everything.
	Messages []Message
	// Turn is the open turn, or the last one.
	Turn Turn
	// Queue holds messages to be delivered when the turn has completed.
	Queue []Words
	// Returned holds messages that were not delivered because the turn ended early. They
	// are for the person to send again; pawl does not deliver them.
	Returned []Words
	Tally
	Tools ToolState
	Plan  Plan // of the last turn in controller mode

	// Conversation is an external agent's own id for its conversation.
	Conversation string

	// Instructed are the files of all [Instructions] so far.
	Instructed []string

	// SessionStarted is the event that ended the last hooks of [SessionStart] or [SubagentStart], and Summarized the last summary of the
	// context; 0: there were none.
	SessionStarted, Summarized int64

	undelivered []string // ids of prompts that no request has delivered, and UserPromptSubmit has not let pass

	aside  []hookState // hooks that run and nothing waits for
	asides int         // how many of them have begun

	calls      int    // ids assigned
	inherited  int    // of them in the run that this one was forked from
	messages   int    // ids assigned
	task       string // id of the message with the run's first prompt
	window     window
	assignment assignment
	malformed  int  // malformed calls of the model, under Auto
	planMode   bool // the model was told that the mode is PlanMode, and nothing else since
	heard      int  // messages that the external agent has been given: m_1 to m_<heard>
	// late are the keys of calls that were allowed after the agent's turn: each allows one call.
	late []string
	// reconfigured: something the model has to do with was changed since the last turn.
	reconfigured bool
}

// A Turn is from something said to the agent until the agent yields.
type Turn struct {
	TurnSummary
	Phase Phase
	Asked int // calls

	// Calls are those of the last message, in order; in an external turn, those received
	// in it. A CallState does not change: a call that advances gets a new one.
	Calls []*CallState
	// Words are the messages that the next request delivers: the person's and pawl's own.
	Words   []Words
	Request Operation
	// Account has a line per settled call of the turn.
	Account []Line

	owned  ownership     // of Calls
	driven time.Duration // time in which the turn was driven and did not wait for a person, until counted
	// counted is the time of the last event of what drives the turn. Others record a
	// [Configured] too.
	counted time.Time
	prompt  string // id of the message that began the turn
	text    string // the last answer, joined if it came in several pieces
	made    string // the account of a turn that ended early, if it was made from the log
	reply   reply
	// unavailable is why the model is to be replaced by the fallback model before the next
	// request; empty: it is not.
	unavailable string
	action      Action // the last, of a turn in controller mode
	sharePlan   bool   // it began with the answer to a question and continues the plan of the turn that asked
	ending      Ended  // how it will end, once that is decided
	account     accountState
	streaks     [streakKinds]int
	guard       guard

	counts
	hooking
}

// An ownership says how much of a turn's calls is not shared with another State and may
// be changed in place.
type ownership int

const (
	ownsNothing ownership = iota
	ownsCalls             // the slice: while a batch is made
	ownsAll               // and what it points to: while a log is replayed
)

// counts are of a turn's calls.
type counts struct {
	first     int // index of the first that is not settled: all before it are
	open      int // not settled
	named     int
	inspected int
	undecided int // inspected, and waiting for a decision or an answer
	running   int
	asking    int // running, and waiting for an answer
	urgent    int // inspected, allowed or running, with a priority
}

// A Phase is where a turn stands.
type Phase string

const (
	Idle         Phase = ""             // no turn is open
	Ready        Phase = "ready"        // words or results must be sent to the model
	Requesting   Phase = "requesting"   // a request, or an external turn, is under way
	Calling      Phase = "calling"      // calls of the last message are open
	Spoken       Phase = "spoken"       // the model has answered without a call
	Summarized   Phase = "summarized"   // a summary has arrived and is not applied yet
	Ending       Phase = "ending"       // how the turn ends is decided; its account may be owed
	Interrupting Phase = "interrupting" // interrupted; running calls are not settled yet
)

// Open reports whether the turn has not ended.
func (t *Turn) Open() bool { return t.Phase != Idle }

// Words are a message to the agent that is not delivered yet.
type Words struct {
	ID    string
	Parts []Part
	own   bool // pawl's own
}

// An Operation is the model request or external turn that is owed or in flight.
type Operation struct {
	Purpose Purpose
	Attempt int
	Deaths  int           // of processes, in a row
	Wait    time.Duration // before the next attempt, since the last one failed
	Reason  string        // why the last one failed, while the next one waits

	broken     int           // of the failures in a row: answers that could not be used
	lateDeaths int           // of Deaths: those of an attempt that was observed
	failing    time.Duration // time the turn had been driven at the first of them
	waited     time.Duration // sum of the waits since then
	failedAt   time.Time
	started    time.Time
	observed   bool // part of the answer has arrived; the external agent has reported something
	worked     bool // what it has reported is not its conversation alone
}

// A Status is how far a call has come.
type Status string

const (
	CallNamed       Status = "named" // in the message, not inspected yet
	CallIsInspected Status = "inspected"
	CallAllowed     Status = "allowed"
	CallRunning     Status = "started"
	CallDone        Status = "settled"
)

// A CallState is a call and how far it has come.
type CallState struct {
	Call
	Status   Status
	Class    Class
	Priority int
	Key      string // equal for equal tool and arguments
	External string // key of the request that it came with, for a call from outside
	Polls    bool
	Question bool // open until the person answers
	Submits  bool
	Late     bool   // see [CallInspected]
	Left     bool   // the agent does not wait for the answer any more; see [Withdrawn]
	Problem  string // why it cannot run
	Attempt  int
	Reserved Limits // for its child run, since it was first started
	Decision Decision
	Handle   string    // with which the tool asks what came of it, see [CallDetached]; empty: it cannot
	Asks     CallAsked // what it asks the person while it runs; without a Question it asks nothing
	Outcome  Outcome
	Result   Result

	note      string // from the guard, for the model
	changed   bool   // hooks have changed its arguments
	notified  bool   // Notification has begun for it
	change    Change
	resultKey string
	jobRuns   bool
	startedAt time.Time
	settledAt time.Time
}

// StartsChild reports whether the call, which was inspected, starts a child run: calls are
// resumable for that alone, unless they ask or submit something.
func (c *CallState) StartsChild() bool { return c.Class == Resumable && !c.Question && !c.Submits }

// A Line is one settled call in the account of a turn.
type Line struct {
	Call     CallID
	Tool     string
	Args     string // cut at 80 bytes
	Subject  string // the argument that says most about it, on one line
	Outcome  Outcome
	Failed   bool // see [Succeeded]
	ExitCode *int
	Files    []string
	Delivery string // as in [Result]
	Found    string // the start of its result, or why it was refused, on one line
}

// reply is what later transitions need of the model's last message.
type reply struct {
	stop       StopReason
	unfinished bool // cut or paused, without a call: the next answer continues it
	promises   bool
	summary    string // of a request for a summary
	hash       string // of the text, to detect repetition
}

// accountState is the progress of the account of a turn that ends early.
type accountState string

const (
	accountFailed accountState = "failed" // the model could not make it
	accountDone   accountState = "done"
)

// A streak is a kind of failure that is counted while it repeats.
type streak int

const (
	promised  streak = iota // answers that promise work and do none
	empty                   // empty answers
	cut                     // answers that ended at the output limit
	unusable                // answers in controller mode that are not an action
	fruitless               // steps with only errors or repeated text
	streakKinds
)

// Clone returns a copy of s that shares nothing that Apply writes to.
func (s State) Clone() State {
	s.Messages = slices.Clone(s.Messages)
	s.Queue = slices.Clone(s.Queue)
	s.Returned = slices.Clone(s.Returned)
	s.Tools.Seen = slices.Clone(s.Tools.Seen)
	s.Turn.Calls, s.Turn.owned = slices.Clone(s.Turn.Calls), ownsNothing
	s.Turn.Words = slices.Clone(s.Turn.Words)
	s.Turn.Account = slices.Clone(s.Turn.Account)
	s.Turn.guard.seen = maps.Clone(s.Turn.guard.seen)
	s.Turn.guard.changes = maps.Clone(s.Turn.guard.changes)
	s.Turn.guard.ring = slices.Clone(s.Turn.guard.ring)
	return s
}

// Inherited reports whether a call was made in the run that this one was forked from.
func (s State) Inherited(id CallID) bool { return number(id) <= s.inherited }

// Snapshot returns a copy of s that other goroutines may read while s is applied to. Events may
// be applied to it there, to show what they lead to: only what the loop guard knows is missing.
func (s State) Snapshot() State {
	s.Turn.guard = guard{} // its maps are written in place
	// What is appended to s and to the copy must not share memory.
	s.Messages, s.Turn.Account = slices.Clip(s.Messages), slices.Clip(s.Turn.Account)
	return s
}

// NextCall returns the number of the first call of the next message.
func (s State) NextCall() int { return s.calls + 1 }

// MessageOf returns the id of the message that asked for a call; empty if it is not in
// the context.
func (s State) MessageOf(id CallID) string {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		for _, p := range s.Messages[i].Parts {
			if p.Call != nil && p.Call.ID == id {
				return s.Messages[i].ID
			}
		}
	}
	return ""
}

// Deadline returns when the open turn reaches its time limit if it is driven from now on
// without a pause; zero if no turn is open, there is no limit, or the turn waits for a
// person.
func (s State) Deadline() time.Time {
	wall := s.Config.Limits.InForce().Wall
	if !s.Turn.Open() || wall < 0 || s.Turn.waitsForPerson() {
		return time.Time{}
	}
	return s.Turn.counted.Add(max(0, wall-s.Turn.driven))
}

// Finished reports whether the run needs words to continue: its last turn has completed, and
// neither a message nor a change of its configuration has come since.
func (s State) Finished() bool {
	return !s.Turn.Open() && s.Turn.End.End == Completed && len(s.Queue)+len(s.Returned) == 0 && !s.reconfigured
}

// waitsForPerson reports whether all open calls wait for a decision or an answer, or for a call that does.
func (t *Turn) waitsForPerson() bool {
	return !t.Hooking("") && (t.Phase == Calling || t.agentAway() && t.open > 0) && t.running == t.asking && (t.asking > 0 || t.undecided == t.open)
}

// agentAway reports whether an external agent is not at work in its open turn: it has spoken, or its process or
// pawl's was killed, and waits for what its Late calls come to.
func (t *Turn) agentAway() bool { return t.Phase == Spoken || t.Phase == Ready }

// Questions returns the calls that wait for the person's answer.
func (s State) Questions() []CallState {
	var open []CallState
	for _, c := range s.Turn.Calls {
		if c.Question && c.Status != CallDone || c.Asks.Question != "" {
			open = append(open, *c)
		}
	}
	return open
}

// Answerable returns those of them that an answer can be given to now: while the turn is open, the
// ones that ask while they run.
func (s State) Answerable() []CallState {
	all := s.Questions()
	if !s.Turn.Open() {
		return all
	}
	return slices.DeleteFunc(all, func(c CallState) bool { return c.Asks.Question == "" })
}

// Answer returns the result of a turn for the person: the agent's last answer, joined if
// it was cut or paused, or the account of a turn that ended early. The background jobs
// that were running at the end are named after it, unless the result is JSON.
func (s State) Answer() string {
	t := &s.Turn
	text := cmp.Or(t.made, t.text)
	if t.Open() || len(t.End.Jobs) == 0 || s.Config.Output.Schema != "" {
		return text
	}
	lines := []string{"Background jobs that were still running at the end of the turn (they are stopped when pawl leaves the run):"}
	for _, j := range t.End.Jobs {
		lines = append(lines, "- "+j.ID+": "+j.Command+" (since "+j.Since.UTC().Format("15:04:05 MST")+")")
	}
	return strings.TrimLeft(text+"\n\n", "\n") + strings.Join(lines, "\n")
}

// Said returns what the agent itself said last in the turn; empty: nothing.
func (s State) Said() string { return s.Turn.text }

// Unfinished returns the text that the next answer continues: empty unless the
// last one was cut at the output limit or paused.
func (s State) Unfinished() string {
	if s.Turn.Open() && s.Turn.reply.unfinished {
		return s.Turn.text
	}
	return ""
}

// Call returns the call of that id in the last message.
func (t *Turn) Call(id CallID) (CallState, bool) {
	if i := t.find(id); i >= 0 {
		return *t.Calls[i], true
	}
	return CallState{}, false
}

// find returns the index of a call of the turn, or -1. The calls of a turn are
// numbered without gaps.
func (t *Turn) find(id CallID) int {
	if len(t.Calls) == 0 {
		return -1
	}
	i := number(id) - number(t.Calls[0].ID)
	if i < 0 || i >= len(t.Calls) || t.Calls[i].ID != id {
		return -1
	}
	return i
}

func number(id CallID) int {
	if len(id) < 3 {
		return -1
	}
	n, err := strconv.Atoi(string(id[2:]))
	if err != nil {
		return -1
	}
	return n
}

func itoa(n int) string { return strconv.Itoa(n) }

// advance moves a call to a status and keeps the turn's counts.
func (t *Turn) advance(c *CallState, to Status) {
	t.count(c, -1)
	c.Status = to
	t.count(c, 1)
	for t.first < len(t.Calls) && t.Calls[t.first].Status == CallDone {
		t.first++
	}
}

func (t *Turn) count(c *CallState, n int) {
	if c.Status == CallDone {
		return
	}
	t.open += n
	if c.Status == CallNamed {
		t.named += n
		return
	}
	if c.Priority != 0 {
		t.urgent += n
	}
	switch c.Status {
	case CallIsInspected:
		t.inspected += n
		if c.Problem == "" {
			t.undecided += n
		}
	case CallRunning:
		t.running += n
		if c.Asks.Question != "" {
			t.asking += n
		}
	}
}

// forget drops the calls of the last message, whose results have been delivered.
func (t *Turn) forget() {
	t.Calls, t.counts, t.hooks = nil, counts{}, nil
}
