package run

// unknownText is the result of a call whose outcome is unknown because its process died.
const unknownText = "The outcome of this call is unknown: the process that ran it ended before it could tell. It may have happened, in part or whole, or not. Look before you repeat it."

// LeftText is the result of a call that did not stop in time after an interrupt.
const LeftText = "The tool did not stop in time and may still be running. What it did is unknown: look before you repeat it."

// Recover returns the payloads that settle the operations that were in flight when a
// process died or stopped driving the run. The driver appends them once, after the
// replay and before Next. A request is owed again unless maxDeaths processes died after
// part of its answer had arrived, or maxEarlyDeaths during it. A resumable call is owed
// again, and one that was detached, whose tool asks what came of it; a reading call too unless maxDeaths processes died
// during it. Another writing call has an unknown outcome;
// if its tool can determine the outcome, the driver may append that instead.
func (s State) Recover() []Payload {
	t := &s.Turn
	if !t.Open() {
		return s.lostHooks(hookLostText)
	}
	resumed := Resumed{Request: t.Phase == Requesting}
	var events []Payload
	for _, c := range t.Calls {
		switch {
		case c.Status != CallRunning:
		case t.Phase == Interrupting:
			events = append(events, unknown(c.ID, t.Interrupt.CutText(unknownText)))
		case c.Class == Resumable, c.Handle != "", c.Class == Reads && c.Attempt < maxDeaths:
			resumed.Calls = append(resumed.Calls, c.ID)
		default:
			events = append(events, unknown(c.ID, unknownText))
		}
	}
	return append(append([]Payload{resumed}, events...), s.lostHooks(hookLostText)...)
}

// LeaveBehind returns the payloads that settle the calls and hooks that did not stop in time after
// an interrupt.
func (s State) LeaveBehind() []Payload {
	var events []Payload
	for _, c := range s.Turn.Calls {
		if c.Status == CallRunning {
			events = append(events, unknown(c.ID, s.Turn.Interrupt.CutText(LeftText)))
		}
	}
	return append(events, s.lostHooks("it did not stop in time and may still be running")...)
}

func unknown(id CallID, text string) CallSettled {
	return CallSettled{Call: id, Outcome: Unknown, IsError: true, Content: []Part{Text(text)}, Change: MayChange}
}
