package run

import "time"

// A Command is something the run owes the world now. [State.Next] restates all
// of them each time: one that is in flight and no longer returned must be
// cancelled.
type Command interface {
	// Key is equal for the same command restated and different for a new one, so
	// that a cancelled command which is still ending is not taken for its successor.
	Key() string
}

// Derive owes nothing to the world: the event follows from the log alone and is
// to be appended, with what made it true when possible.
type Derive struct{ Payload Payload }

// Inspect is to find out what a call would do, and to append [CallInspected].
type Inspect struct{ Call Call }

// Decide is to get a decision on a call and to append [CallDecided], or
// [Interrupted] with ByWait. It may take a month.
type Decide struct{ Call CallState }

// Perform is to run a call: append [CallStarted], which must be durable first,
// run the tool, append [CallSettled].
type Perform struct {
	Call    CallState
	Attempt int
}

// Request is to ask the model: append [RequestStarted], send, append [Replied] or
// [RequestFailed].
type Request struct {
	Turn    int
	Step    int
	Purpose Purpose
	Attempt int
	Wait    time.Duration // before it is sent, since the last attempt failed
	End     Ended         // ForSynthesis: goes into RequestStarted
}

// ExternalTurn is to give an external agent a turn: append [RequestStarted] with
// ForAgent, start the agent, append what it does as [Observed] and [CallReceived],
// and [Replied] or [RequestFailed] when it has ended.
type ExternalTurn struct {
	Turn         int
	Step         int
	Conversation string // the agent's own id for it; empty before it is known
	Message      []Part
	Attempt      int
	Wait         time.Duration
}

func (Derive) Key() string    { return "derive" }
func (c Inspect) Key() string { return "inspect/" + string(c.Call.ID) }
func (c Decide) Key() string  { return "decide/" + string(c.Call.ID) }
func (c Perform) Key() string { return "perform/" + string(c.Call.ID) + "/" + itoa(c.Attempt) }
func (c Request) Key() string {
	return "request/" + itoa(c.Turn) + "." + itoa(c.Step) + "/" + string(c.Purpose) + "/" + itoa(c.Attempt)
}
func (c ExternalTurn) Key() string {
	return "external/" + itoa(c.Turn) + "." + itoa(c.Step) + "/" + itoa(c.Attempt)
}
