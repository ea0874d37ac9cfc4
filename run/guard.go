package run

import (
	"time"
)

// guard sees a turn that spins. It works on facts of the log alone - digests of
// calls and results that were recorded when they happened - so it survives
// compaction and restarts.
//
// Three kinds of spinning end a turn loop_stopped:
//
//   - the same call again: equal tool, arguments and result, since the last call
//     that changed something; a note on the 3rd, the end on the 5th;
//   - a cycle of 2 to 5 such calls, repeated 4 times;
//   - no progress: 6 steps in a row with nothing but error results, or with
//     nothing but the text of the step before.
//
// What is repeated around waiting is polling and not spinning: it is told to the
// model at the 10th and ends at the wall clock.
type guard struct {
	loop    string // set: the turn is to end, for this reason
	barren  int    // steps in a row without progress
	seen    map[pair]sighting
	changes map[pair]bool // calls that changed something, of the whole turn: one that only repeats them is no progress
	ring    []pair        // the latest calls, for cycles
	waited  []bool        // of each in ring: time was spent waiting for it
	model   time.Duration // spent waiting for the model, which is not polling
}

// A pair is a call and what came of it.
type pair struct{ call, result string }

type sighting struct {
	count   int // without waiting
	polls   int // after waiting
	settled time.Time
	model   time.Duration
}

const (
	noteAt   = 3
	stopAt   = 5
	pollNote = 10
	pollGap  = 5 * time.Second

	cycleMin, cycleMax, cycleTimes = 2, 5, 4

	barrenStop = 6
)

const (
	loopSameCall   = "same_call"
	loopCycle      = "cycle"
	loopNoProgress = "no_progress"
)

var loopDetail = map[string]string{
	loopSameCall:   "the same call gave the same result five times and nothing changed in between; say what to do differently and go on",
	loopCycle:      "the same few calls were repeated four times with the same results; say what to do differently and go on",
	loopNoProgress: "six steps in a row brought nothing but errors or repeated text; say what to do differently and go on",
}

const (
	noteSame = "Note: this is the third time this call gives this result, and nothing was changed in between. Doing it again will not help: try something else, or finish."
	notePoll = "Note: this was asked ten times and the answer is still the same. Wait longer between looks, do something else meanwhile, or finish and say what is being waited for."
)

// settledStep looks at the calls of a step once all have results, in the order
// asked. The turn's calls are the caller's own copy.
func (t *Turn) settledStep() {
	g := &t.guard
	bad := 0
	for i := range t.Calls {
		c := &t.Calls[i]
		if c.Result.IsError {
			bad++
		}
		if c.Outcome != Answered {
			g.settled(c)
		}
	}
	if bad == len(t.Calls) {
		g.barren++
	} else {
		g.barren = 0
		t.nudges = 0 // work was done: promises count afresh
	}
	if g.loop == "" && g.barren >= barrenStop {
		g.loop = loopNoProgress
	}
}

func (g *guard) settled(c *CallState) {
	p := pair{c.Key, c.resultKey}
	if p.call == "" {
		p.call = digest(c.Tool, c.Arguments)
	}
	if g.seen == nil {
		g.seen, g.changes = map[pair]sighting{}, map[pair]bool{}
	}
	if g.progress(c, p) {
		// Something is different now: what was seen before counts no more.
		clear(g.seen)
		g.ring, g.waited = g.ring[:0], g.waited[:0]
	}

	s := g.seen[p]
	waited := c.Waits || c.jobRuns
	if s.count > 0 || s.polls > 0 {
		// The time between two looks, less what the model took to think.
		waited = waited || c.startedAt.Sub(s.settled)-(g.model-s.model) >= pollGap
	}
	if waited && s.count > 0 {
		s.polls++
	} else {
		s.count++
	}
	s.settled, s.model = c.settledAt, g.model
	g.seen[p] = s
	switch {
	case s.count >= stopAt:
		g.loop = loopSameCall
	case s.count == noteAt && !waited:
		c.note = noteSame
	case s.polls == pollNote-1 && waited: // the first look was no repetition
		c.note = notePoll
	}

	if len(g.ring) == cycleMax*cycleTimes {
		copy(g.ring, g.ring[1:])
		copy(g.waited, g.waited[1:])
		g.ring, g.waited = g.ring[:len(g.ring)-1], g.waited[:len(g.waited)-1]
	}
	g.ring, g.waited = append(g.ring, p), append(g.waited, waited)
	if g.loop == "" && g.cycles() {
		g.loop = loopCycle
	}
}

// progress reports whether c changed something that no earlier call of the turn
// had changed the same way. For a call that only may have changed something (a
// shell command that writes) the first of its kind since the last change counts:
// `go test` again and again is no progress, a new `sed -i` is.
func (g *guard) progress(c *CallState, p pair) bool {
	switch c.change {
	case Changed:
		if g.changes[p] {
			return false
		}
		g.changes[p] = true
		return true
	case MayChange:
		if c.Result.IsError || g.changes[p] {
			return false
		}
		g.changes[p] = true
		return true
	}
	return false
}

// cycles reports whether the latest calls are a cycle repeated often enough, in
// which nothing waited.
func (g *guard) cycles() bool {
	for n := cycleMin; n <= cycleMax; n++ {
		if len(g.ring) < n*cycleTimes {
			return false
		}
		tail, waits := g.ring[len(g.ring)-n*cycleTimes:], g.waited[len(g.ring)-n*cycleTimes:]
		equal, same := true, true
		for i := range tail {
			equal = equal && tail[i] == tail[i%n] && !waits[i]
			same = same && tail[i] == tail[0]
		}
		if equal && !same {
			return true
		}
	}
	return false
}
