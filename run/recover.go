package run

// UnknownText is what the model is told of a call that started and whose outcome
// is not known, because the process that ran it is gone.
const UnknownText = "The outcome of this call is unknown: the process that ran it ended before it could tell. It may have happened, in part or whole, or not. Look before you repeat it."

// LeftText is what the model is told of a call that did not stop in time after an
// interrupt.
const LeftText = "The tool did not stop in time and may still be running. What it did is unknown: look before you repeat it."

// Recover returns the payloads that settle what was under way in a process that is
// gone, or that this process left. Whoever drives the run appends them once, after
// replay and before Next: a request, and a call that may run again, are owed again,
// a call that reads twice at most; one that writes is unknown, unless its tool can
// tell (the driver may then append what it tells instead).
func (s State) Recover() []Payload {
	t := &s.Turn
	if !t.Open() {
		return nil
	}
	resumed := Resumed{Request: t.Phase == Requesting}
	var events []Payload
	for _, c := range t.Calls {
		switch {
		case c.Status != CallRunning:
		case t.Phase == Interrupting:
			events = append(events, unknown(c.ID, t.Interrupt.CutText(UnknownText)))
		case c.Class == Resumable, c.Class == Reads && c.Attempt < maxDeaths:
			resumed.Calls = append(resumed.Calls, c.ID)
		default:
			events = append(events, unknown(c.ID, UnknownText))
		}
	}
	return append([]Payload{resumed}, events...)
}

// LeaveBehind returns the payloads that settle, after an interrupt, what did not
// stop in time.
func (s State) LeaveBehind() []Payload {
	var events []Payload
	for _, c := range s.Turn.Calls {
		if c.Status == CallRunning {
			events = append(events, unknown(c.ID, s.Turn.Interrupt.CutText(LeftText)))
		}
	}
	return events
}

func unknown(id CallID, text string) CallSettled {
	return CallSettled{Call: id, Outcome: Unknown, IsError: true, Content: []Part{Text(text)}, Change: MayChange}
}
