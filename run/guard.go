package run

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"pawl/internal/digest"
)

// guard detects a turn that makes no progress. It uses only digests of calls and results
// that are in the log, so it survives compaction and restarts.
//
// Three patterns end a turn loop_stopped:
//
//   - the same call again: equal tool, arguments and result, since the last call
//     that changed something; a note on the 3rd, the end on the 5th;
//   - a cycle of 2 to 5 such calls, repeated 4 times;
//   - no progress: 6 steps in a row with nothing but error results, or with
//     nothing but the text of the step before.
//
// Repetition with waiting in between is polling, which is not a loop: the model is told
// at the 10th time, and the time limit ends it. A look counts as polling when its call
// waits (sleep), when a background job runs, or when 5 s passed since the last look in
// which neither the model was asked nor a writer (a build, a test) ran.
//
// It does not detect shell commands that differ each time, since they may have changed
// something, or an edit that is undone with different text. The turn's limits end those.
// testdata/loops measures both error rates.
type guard struct {
	loop    string // not empty: the turn must end, for this reason
	seen    map[pair]sighting
	changes map[pair]bool // calls of the turn that changed something; repeating one is not progress
	ring    []look        // the latest calls, for cycles
	model   time.Duration // spent asking the model, which is not waiting
	work    time.Duration // spent running writers (builds, tests), which is not waiting either
	shared  bool          // with another state: copy before a change
}

// A pair is a call and what came of it.
type pair struct{ call, result string }

// A look is a pair at one time.
type look struct {
	pair
	waited bool // time was spent waiting since the one before
}

// A sighting counts the looks at a pair since something changed.
type sighting struct {
	looks   int
	quick   int           // looks in a row without waiting
	noted   int           // step whose results have the note
	settled time.Time     // the latest
	busy    time.Duration // of the guard, then
}

const (
	noteAt   = 3
	stopAt   = 5
	pollNote = 10
	pollGap  = 5 * time.Second

	cycleMin, cycleMax, cycleTimes = 2, 5, 4

	fruitlessStop = 6
)

const (
	loopSameCall   = "same_call"
	loopCycle      = "cycle"
	loopNoProgress = "no_progress"
)

var loopDetail = map[string]string{
	loopSameCall:   "the same call gave the same result five times and nothing changed in between; say what to do differently and continue",
	loopCycle:      "the same few calls were repeated four times with the same results; say what to do differently and continue",
	loopNoProgress: "six steps in a row brought nothing but errors or repeated text; say what to do differently and continue",
}

const (
	noteSame = "Note: this is the third time this call gives this result, and nothing was changed in between. Doing it again will not help: try something else, or finish."
	notePoll = "Note: this was asked ten times and the answer is still the same. Wait longer between looks, do something else meanwhile, or finish and say what is being waited for."
)

// settledStep looks at the calls of a step once all have results, in the order
// asked.
func (t *Turn) settledStep() {
	g := &t.guard
	if g.shared {
		g.seen, g.changes, g.ring, g.shared = maps.Clone(g.seen), maps.Clone(g.changes), slices.Clone(g.ring), false
	}
	bad := 0
	for i, c := range t.Calls {
		if c.Result.IsError && c.Outcome != Unknown {
			bad++
		}
		if c.Outcome != Answered {
			if note := g.settled(c, t.Steps); note != "" {
				t.own(i).note = note
			}
		}
	}
	if bad == len(t.Calls) {
		t.fruitless()
	} else {
		t.streaks[fruitless], t.streaks[promised] = 0, 0 // work was done
	}
}

// fruitless counts a step that brought nothing.
func (t *Turn) fruitless() {
	t.streaks[fruitless]++
	if t.guard.loop == "" && t.streaks[fruitless] >= fruitlessStop {
		t.guard.loop = loopNoProgress
	}
}

// settled counts one settled call of a step and returns the note to add to its result, if any.
func (g *guard) settled(c *CallState, step int) (note string) {
	p := pair{c.Key, c.resultKey}
	if p.call == "" {
		p.call = digest.Of(c.Tool, c.Arguments)
	}
	if p.result == "" {
		p.result = digest.Of(PlainText(c.Result.Content), strconv.FormatBool(c.Result.IsError))
	}
	if g.seen == nil {
		g.seen, g.changes = map[pair]sighting{}, map[pair]bool{}
	}
	if c.Outcome == Unknown {
		// The process died, which is not a loop, and the effect of the call is unknown.
		clear(g.seen)
		g.ring = g.ring[:0]
		return ""
	}
	if g.progress(c, p) {
		// Something changed: repetition is counted from here.
		clear(g.seen)
		g.ring = g.ring[:0]
	}

	s := g.seen[p]
	waited := c.Polls || c.jobRuns || s.looks > 0 && g.idle(s, c.startedAt) >= pollGap
	s.looks++
	if waited {
		s.quick = 1 // this look may be the first of several without waiting
	} else {
		s.quick++
	}
	switch {
	case s.quick >= stopAt && s.noted < step: // else the model has not seen the note yet
		g.loop = loopSameCall
	case s.looks == pollNote: // only reached with waiting: see stopAt
		note = notePoll
	case s.quick == noteAt:
		note, s.noted = noteSame, step
	}

	if c.Class == Writes && !c.Polls {
		g.work += c.settledAt.Sub(c.startedAt) // writers run alone: no time counts twice
	}
	s.settled, s.busy = c.settledAt, g.busy()
	g.seen[p] = s

	if len(g.ring) == cycleMax*cycleTimes {
		g.ring = g.ring[:copy(g.ring, g.ring[1:])]
	}
	g.ring = append(g.ring, look{p, waited})
	if g.loop == "" && g.cycles() {
		g.loop = loopCycle
	}
	return note
}

// busy returns the time spent so far on anything but waiting.
func (g *guard) busy() time.Duration { return g.model + g.work }

// idle returns how much of the time between a look and the start of the next was spent
// waiting. Model requests and slow tests do not count: the same two tests of a minute
// each, again and again, are a loop.
func (g *guard) idle(s sighting, next time.Time) time.Duration {
	return next.Sub(s.settled) - (g.busy() - s.busy)
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
	for n := cycleMin; n <= cycleMax && n*cycleTimes <= len(g.ring); n++ {
		tail := g.ring[len(g.ring)-n*cycleTimes:]
		equal, same := true, true
		for i := range tail {
			equal = equal && tail[i].pair == tail[i%n].pair && !tail[i].waited
			same = same && tail[i].pair == tail[0].pair
		}
		if equal && !same {
			return true
		}
	}
	return false
}
