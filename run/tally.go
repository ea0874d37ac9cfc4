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

// Spent returns the usage that an event reports: of a model request, an external agent, or the
// child run of a call. A cached answer has used nothing, which is known.
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
	}
	return Usage{}
}
