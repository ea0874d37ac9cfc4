package run

import "time"

// A Command is something the run owes the world now. [State.Next] restates all
// of them each time: one that is in flight and no longer returned must be
// cancelled. Key tells equal commands from new ones.
type Command interface {
	// Key is equal for the same command restated, and fresh for a new one, so
	// that a cancelled command which is still dying is not taken for its successor.
	Key() string
}

// Record owes nothing to the world: the fact follows from the log alone and is
// to be applied and appended, with what made it true where possible.
type Record struct{ Fact Fact }

// Ask is to look at a call: find its tool, check its arguments, tell its class,
// and record [CallAsked].
type Ask struct{ Call Call }

// Decide is to get a decision on a call and record it: [CallAllowed],
// [CallRefused], or [Interrupted] with ByWait. It may take a month.
type Decide struct{ Call CallState }

// Perform is to run a call: record [CallStarted], which must be durable first,
// run the tool, record [CallSettled].
type Perform struct {
	Call    CallState
	Attempt int
}

// Request is to ask the model: record [RequestStarted], send, record [Replied]
// or [RequestFailed].
type Request struct {
	Turn      int
	Step      int
	Purpose   Purpose
	Attempt   int
	NotBefore time.Time // zero: now
	End       Ended     // ForSynthesis: goes into RequestStarted
}

// Drive is to give an external agent a turn.
type Drive struct {
	Turn         int
	Conversation string
	Message      []Part
	Attempt      int
	NotBefore    time.Time
}

func (Record) Key() string    { return "record" }
func (c Ask) Key() string     { return "ask/" + string(c.Call.ID) }
func (c Decide) Key() string  { return "decide/" + string(c.Call.ID) }
func (c Perform) Key() string { return "perform/" + string(c.Call.ID) + "/" + itoa(c.Attempt) }
func (c Request) Key() string {
	return "request/" + itoa(c.Turn) + "." + itoa(c.Step) + "/" + string(c.Purpose) + "/" + itoa(c.Attempt)
}
func (c Drive) Key() string { return "drive/" + itoa(c.Turn) + "/" + itoa(c.Attempt) }
