package run

import "time"

// A Command is something the run owes now. [State.Next] returns all of them each time:
// one that is in flight and no longer returned must be cancelled.
type Command interface {
	// Key identifies the command: it is equal when Next returns the same command again,
	// and differs for a new one, so that a cancelled command which has not ended yet is
	// not confused with its successor.
	Key() string
}

// Derive asks for an event that follows from the log alone to be appended, if possible
// together with the events it follows from.
type Derive struct{ Payload Payload }

// Inspect asks what a call would do; append [CallInspected].
type Inspect struct{ Call Call }

// Decide asks for a decision on a call; append [CallDecided], or [Interrupted] with
// ByWait. It may take a month.
type Decide struct{ Call CallState }

// Perform asks for a call to be run: append [CallStarted], which must be durable before
// the tool runs, then [CallSettled].
type Perform struct {
	Call    CallState
	Attempt int
}

// Request asks for a model request: append [RequestStarted], send it, append [Replied]
// or [RequestFailed].
type Request struct {
	Turn    int
	Step    int
	Purpose Purpose
	Attempt int
	Wait    time.Duration // before it is sent, since the last attempt failed
	End     Ended         // ForSynthesis: goes into RequestStarted
}

// ExternalTurn asks for a turn of an external agent: append [RequestStarted] with
// ForAgent, start the agent, append what it reports as [Observed] and [CallReceived],
// and [Replied] or [RequestFailed] when its turn has ended.
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
