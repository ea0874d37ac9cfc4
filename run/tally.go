package run

// A Tally is what a run or a turn has used: a sum over its events. Whatever counts steps or
// usage uses it, so that all figures of a run agree.
type Tally struct {
	Steps int // model requests for steps and turns of an external agent, retries not counted
	Usage Usage
}

// Add counts an event.
func (t *Tally) Add(p Payload) {
	switch f := p.(type) {
	case RequestStarted:
		if f.Attempt <= 1 && (f.Purpose == ForStep || f.Purpose == ForAgent) {
			t.Steps++
		}
	case RequestFailed:
		if f.Again {
			t.Steps--
		}
	}
	t.Usage = t.Usage.Add(Spent(p))
}

// A TurnSummary is what a turn's events say of it one by one, without the rest of a [State]. A
// State has it of its turn, and whatever reads a log without one adds the events itself: both
// have the same figures.
type TurnSummary struct {
	N int // 1, 2, …; 0 before the first
	Tally
	Failures  int // of the request in flight, or the last one, in a row
	Reminders int // of the result of the assignment; a turn that continues one has those before it
	// Interrupt is the turn's interrupt, without the part of an answer; its Cause is empty if
	// there was none.
	Interrupt Interrupted
	End       Ended // once it has ended

	output Output // of the assignment
}

// Ongoing reports whether the turn has begun and not ended.
func (t *TurnSummary) Ongoing() bool { return t.N > 0 && t.End.End == "" }

// Add adds an event of the run: of the turn, or the one that begins the next.
func (t *TurnSummary) Add(p Payload) {
	switch f := p.(type) {
	case Created:
		t.output = f.Config.Output
	case Configured:
		if o := f.Change.Output; o != nil && *o != t.output {
			t.output, t.Reminders = *o, 0
		}
	case Prompted:
		next := TurnSummary{N: t.N + 1, output: t.output}
		if len(f.Parts) == 0 || f.Answers != "" {
			next.Reminders = t.Reminders
		}
		*t = next
	case RequestStarted:
		if f.Attempt <= 1 {
			t.Failures = 0
		}
	case RequestFailed:
		if !f.Reminder {
			t.Failures++
		}
	case Told:
		if f.Reason == TellOutput {
			t.Reminders++
		}
	case Submitted:
		t.Reminders = 0
	case Interrupted:
		if t.Interrupt.Cause != "" { // it takes back the words of the first
			t.Interrupt.Then = nil
			break
		}
		t.Interrupt = f
		t.Interrupt.Partial = nil
	case Ended:
		t.End = f
	}
	t.Tally.Add(p)
}

// Spent returns the usage that an event reports: of a model request, an external agent, the
// child run of a call, or a model that judged one. A cached answer has used nothing, which is known.
func Spent(p Payload) Usage {
	switch f := p.(type) {
	case Replied:
		if f.Cached {
			return Usage{Priced: true}
		}
		return f.Usage
	case RequestFailed:
		return f.Usage
	case Observed:
		return f.Usage
	case CallSettled:
		return f.Usage
	case Interrupted:
		return f.Usage
	case HookSettled:
		return f.Usage
	}
	return Usage{}
}
