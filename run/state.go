package run

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// A State is a run as its events have made it. The zero value is a run of which
// nothing is known yet.
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

	// Plan is what the last turn in controller mode has done.
	Plan Plan

	// Conversation is an external agent's own id for its conversation.
	Conversation string

	calls    int    // ids given
	messages int    // ids given
	task     string // id of the message with the run's first prompt
	window   window
	handing  handing
	// malformed counts the calls that came malformed, under Auto.
	malformed int
}

// A Turn is from something said to the agent until the agent yields.
type Turn struct {
	N       int // 1, 2, …; 0 before the first
	Open    bool
	Started time.Time
	Steps   int // model requests for steps, retries not counted
	Asked   int // calls
	Usage   Usage
	End     Ended // when it is not open

	// Calls are those of the last message, in the order asked.
	Calls []CallState
	// Words are steering messages and nudges that the next request delivers.
	Words   []Words
	Request InFlight
	// Interrupt is set, with its cause, once the turn was interrupted.
	Interrupt Interrupted
	// Account has a line per settled call of the turn.
	Account []Line

	own      bool   // during a replay: see ReplaySeq
	prompt   string // id of the message that began the turn
	after    after
	reply    reply
	goesOn   bool       // it begins with the answer to a question, and its plan is that of the turn which asked
	chosen   StepChosen // the last, of a turn in controller mode
	misread  int        // answers in controller mode that were none, in a row
	failure  Ended      // why no further request can be made
	ending   Ended      // the end that an account was given of: nothing changes it any more
	synth    synthState
	nudges   int // promised, in a row
	cuts     int // answers that ended at max_tokens, in a row
	empties  int // answers with nothing in them, in a row
	guard    guard
	stepDone bool // a step's results are in and the next request has not started (StepByStep)
}

// Words are something said to the agent that waits to be delivered.
type Words struct {
	ID    string
	Parts []Part
	own   bool // pawl's own: a nudge
}

// An InFlight is the model request, or the external turn, that is owed or under way.
type InFlight struct {
	Purpose  Purpose
	Open     bool // started, and neither answered nor failed
	Attempt  int
	Failures int       // in a row
	Deaths   int       // of processes, in a row
	RetryAt  time.Time // not before
	started  time.Time
}

// A Status is how far a call has come.
type Status string

const (
	CallNamed   Status = "named" // in the message, not looked at yet
	CallIsAsked Status = "asked"
	CallMay     Status = "allowed"
	CallRuns    Status = "started"
	CallDone    Status = "settled"
)

// A CallState is a call and how far it has come.
type CallState struct {
	Call
	Status   Status
	Class    Class
	Priority int
	Key      string
	Waits    bool
	Question bool   // an ask call: open until the person answers
	Problem  string // why it cannot run
	Attempt  int
	Decision Decision
	Outcome  Outcome
	Result   Result

	note      string // owed to the model, from the guard
	change    Change
	resultKey string
	jobRuns   bool
	startedAt time.Time
	settledAt time.Time
}

// A Line is one settled call in the account of a turn.
type Line struct {
	Call    CallID
	Tool    string
	Args    string // cut at 80 characters
	Outcome Outcome
	IsError bool
	Files   []string
	// Delivery is as in [Result].
	Delivery string
}

// after says what the turn has come to when no call is open and no request is
// under way.
type after string

const (
	afterWords   after = "words"   // a prompt, results or a nudge wait for the model
	afterReply   after = "reply"   // the model has spoken and asked for nothing
	afterSummary after = "summary" // a summary is in and not applied yet
)

// reply is what counts of the model's last message.
type reply struct {
	stop     StopReason
	calls    bool
	text     bool
	promises bool
	summary  string // of a request for a summary
	hash     string // of the text, to see repeated text
	raw      bool   // in controller mode, and what it means is not recorded yet
}

// synthState is how far the account of an early end has come.
type synthState string

const (
	synthNone   synthState = ""
	synthFailed synthState = "failed" // the model could not
	synthDone   synthState = "done"
)

// Clone returns a copy of s that shares nothing that Apply writes to.
func (s State) Clone() State {
	s.Messages = slices.Clone(s.Messages)
	s.Queue = slices.Clone(s.Queue)
	s.Returned = slices.Clone(s.Returned)
	s.Turn.Calls = slices.Clone(s.Turn.Calls)
	s.Turn.Words = slices.Clone(s.Turn.Words)
	s.Turn.Account = slices.Clone(s.Turn.Account)
	s.Turn.guard.seen = maps.Clone(s.Turn.guard.seen)
	s.Turn.guard.changes = maps.Clone(s.Turn.guard.changes)
	s.Turn.guard.ring = slices.Clone(s.Turn.guard.ring)
	return s
}

// NextCall returns the id that the first call of the next message gets; the
// others count on from it.
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

// Deadline returns when the open turn's wall clock is spent; zero if there is no
// open turn or no limit.
func (s State) Deadline() time.Time {
	wall := s.Config.Limits.wall()
	if !s.Turn.Open || wall <= 0 {
		return time.Time{}
	}
	return s.Turn.Started.Add(wall)
}

// Questions returns the calls that wait for the person's answer.
func (s State) Questions() []CallState { return s.questions() }

func (s *State) questions() []CallState {
	var open []CallState
	for _, c := range s.Turn.Calls {
		if c.Question && c.Status != CallDone {
			open = append(open, c)
		}
	}
	return open
}

// Answer returns the words of the last turn's account or last message: what a
// person reads when it is over.
func (s State) Answer() string {
	if s.Turn.chosen.Message != "" {
		return s.Turn.chosen.Message
	}
	for i := len(s.Messages) - 1; i >= 0; i-- {
		m := s.Messages[i]
		// In controller mode an answer is an object; its message, if it has one, was above.
		if m.Role == Assistant && (!s.Config.Controlled() || strings.HasPrefix(m.ID, synthesisID)) {
			if t := PlainText(m.Parts); t != "" {
				return t
			}
		}
		if m.ID == s.Turn.prompt {
			return ""
		}
	}
	return ""
}

// find returns the index of an open turn's call, or -1.
func (t *Turn) find(id CallID) int {
	for i := range t.Calls {
		if t.Calls[i].ID == id {
			return i
		}
	}
	return -1
}

// unsettled reports whether a call of the last message has no result yet.
func (t *Turn) unsettled() bool {
	for i := range t.Calls {
		if t.Calls[i].Status != CallDone {
			return true
		}
	}
	return false
}
