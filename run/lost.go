package run

// Lost returns the events that settle what was under way in a process that is
// gone. A driver records them once, after replay and before Next: a call that may
// be run again is owed again, twice at most; one that writes is unknown, unless
// its tool can tell (the driver may then record what it tells instead).
func (s State) Lost() []Event {
	t := &s.Turn
	var lost []Event
	if !t.Open {
		return nil
	}
	if t.Request.Open {
		lost = append(lost, Event{Fact: RequestLost{}})
	}
	for i := range t.Calls {
		c := &t.Calls[i]
		if c.Status != CallRuns {
			continue
		}
		switch {
		case t.Interrupt.Cause != "":
			lost = append(lost, unknown(c.ID, t.Interrupt.CutText(UnknownText)))
		case c.Class == Reattaches, c.Class == Reads && c.Attempt < maxDeaths:
			lost = append(lost, Event{Fact: CallLost{c.ID}})
		default:
			lost = append(lost, unknown(c.ID, UnknownText))
		}
	}
	return lost
}

func unknown(id CallID, text string) Event {
	content := []Part{Text(text)}
	return Event{Fact: CallSettled{Call: id, Outcome: Unknown, IsError: true, Content: content, Change: MayChange,
		Key: ResultKey(content, true)}}
}
