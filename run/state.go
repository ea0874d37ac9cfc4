package run

import (
	"maps"
	"slices"
	"strconv"
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
	// Queue holds what was said while the agent worked, to be delivered when the
	// turn has ended by itself.
	Queue []Words
	// Returned holds steering and queued messages that a turn which ended early
	// did not deliver: they go back to the person's input and are never delivered
	// by themselves.
	Returned []Words
	Usage    Usage // of the whole run
	Tools    ToolState
	Plan     Plan // what the last turn in controller mode has done

	// Conversation is an external agent's own id for its conversation.
	Conversation string

	calls      int    // ids assigned
	inherited  int    // of them in the run that this one was forked from
	messages   int    // ids assigned
	task       string // id of the message with the run's first prompt
	window     window
	assignment assignment
	malformed  int // malformed calls of the model, under Auto
	heard      int // messages that the external agent has been given: m_1 to m_<heard>
}

// A Turn is from something said to the agent until the agent yields.
type Turn struct {
	N       int // 1, 2, …; 0 before the first
	Phase   Phase
	Started time.Time
	Steps   int // model requests for steps, retries not counted
	Asked   int // calls
	Usage   Usage
	End     Ended // once it has ended

	// Calls are those of the last message, in the order asked; of an external turn,
	// those received in it.
	// What a pointer of it points to does not change; a call that comes further is
	// another value.
	Calls []*CallState
	// Words are steering messages and words of pawl's own that the next request
	// delivers.
	Words   []Words
	Request Operation
	// Interrupt is set, with its cause, once the turn was interrupted.
	Interrupt Interrupted
	// Account has a line per settled call of the turn.
	Account []Line

	owned     ownership     // of Calls
	driven    time.Duration // spent driving the turn, without the time that waits for a person
	prompt    string        // id of the message that began the turn
	text      string        // what the agent has said: the last answer, of several pieces if it was cut
	reply     reply
	action    Action // the last, of a turn in controller mode
	sharePlan bool   // it begins with the answer to a question, and its plan is that of the turn which asked
	ending    Ended  // how it will end, once that is certain
	account   accountState
	streaks   [streakKinds]int
	guard     guard

	counts
}

// An ownership says what of a turn's calls belongs to one value alone and may be
// changed in place.
type ownership int

const (
	ownsNothing ownership = iota
	ownsCalls             // the slice: while a batch is made
	ownsAll               // and what it points to: while a log is replayed
)

// counts are of a turn's calls.
type counts struct {
	first     int // index of the first that is not settled
	open      int // not settled
	named     int
	inspected int
	undecided int // inspected, and waiting for a decision or an answer
	running   int
	writing   int // running writers
	urgent    int // inspected, allowed or running, with a priority
}

// A Phase is where a turn stands.
type Phase string

const (
	Idle         Phase = ""             // no turn is open
	Ready        Phase = "ready"        // words or results wait for the model
	Requesting   Phase = "requesting"   // a request, or an external turn, is under way
	Calling      Phase = "calling"      // calls of the last message are open
	Spoken       Phase = "spoken"       // the model has answered without a call
	Summarized   Phase = "summarized"   // a summary is in and the context not compacted yet
	Ending       Phase = "ending"       // how the turn ends is certain; its account may be owed
	Interrupting Phase = "interrupting" // interrupted, and what had started is not settled yet
)

// Open reports whether the turn has not ended.
func (t *Turn) Open() bool { return t.Phase != Idle }

// Words are something said to the agent that waits to be delivered.
type Words struct {
	ID    string
	Parts []Part
	own   bool // pawl's own
}

// An Operation is the model request, or the external turn, that is owed or under way.
type Operation struct {
	Purpose  Purpose
	Attempt  int
	Failures int           // in a row
	Deaths   int           // of processes, in a row
	Wait     time.Duration // before the next attempt, since the last one failed
	failedAt time.Time
	started  time.Time
	observed bool // the external agent has reported something
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
	Problem  string // why it cannot run
	Attempt  int
	Decision Decision
	Outcome  Outcome
	Result   Result

	note      string // from the guard, for the model
	change    Change
	resultKey string
	jobRuns   bool
	startedAt time.Time
	settledAt time.Time
}

// A Line is one settled call in the account of a turn.
type Line struct {
	Call     CallID
	Tool     string
	Args     string // cut at 80 bytes
	Outcome  Outcome
	IsError  bool
	Files    []string
	Delivery string // as in [Result]
	Found    string // the beginning of its result
}

// reply is what counts of the model's last message.
type reply struct {
	stop       StopReason
	unfinished bool // cut or paused, without a call: the next answer continues it
	promises   bool
	summary    string // of a request for a summary
	hash       string // of the text, to see repeated text
}

// accountState is how far the account of an early end has come.
type accountState string

const (
	accountFailed accountState = "failed" // the model could not, or is not to be asked
	accountDone   accountState = "done"
)

// A streak is something that goes wrong several times in a row.
type streak int

const (
	promised  streak = iota // answers that promise work and do none
	empty                   // answers with nothing in them
	cut                     // answers that ended at the output limit
	unusable                // answers in controller mode that are no action
	fruitless               // steps that brought nothing but errors or repeated text
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

// Snapshot returns s for other goroutines to read while the run goes on. It must not
// be applied to, and must not be cloned.
func (s State) Snapshot() State {
	s.Turn.guard = guard{} // its maps are written in place
	return s
}

// NextCall returns the number of the first call of the next message; the others
// count on from it.
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

// Deadline returns when the open turn's time is spent if it is driven from now on
// without a pause; zero if there is no open turn, no limit, or the turn waits for a
// person.
func (s State) Deadline() time.Time {
	wall := s.Config.Limits.InForce().Wall
	if !s.Turn.Open() || wall < 0 || s.Turn.waitsForPerson() {
		return time.Time{}
	}
	return s.At.Add(max(0, wall-s.Turn.driven))
}

// waitsForPerson reports whether nothing runs and all that is open is decisions and
// answers.
func (t *Turn) waitsForPerson() bool {
	return t.Phase == Calling && t.running == 0 && t.undecided == t.open
}

// Questions returns the calls that wait for the person's answer.
func (s State) Questions() []CallState {
	var open []CallState
	for _, c := range s.Turn.Calls {
		if c.Question && c.Status != CallDone {
			open = append(open, *c)
		}
	}
	return open
}

// Answer returns what a person reads when a turn is over: the agent's last answer -
// all pieces of it, if it was cut or paused - or the account of an early end.
func (s State) Answer() string { return s.Turn.text }

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
		if c.Class == Writes {
			t.writing += n
		}
	}
}

// forget drops the calls of the last message, whose results have been delivered.
func (t *Turn) forget() {
	t.Calls, t.counts = nil, counts{}
}
