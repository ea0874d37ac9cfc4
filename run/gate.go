package run

import "slices"

// A Gate is what an interrupt closes at once, before anything is recorded: as long
// as it is closed nothing starts. It belongs to whoever drives the run, who guards it
// with a mutex, because an interrupt may come from any goroutine.
//
// The zero Gate is that of a run which is not driven: it takes no interrupt.
type Gate struct {
	turn     int            // that is driven, or about to begin; 0: none
	stopping bool           // the turn is being stopped: an interrupt is recorded
	words    bool           // with words that another would take back
	waiting  []*Interrupted // not recorded yet, the first of them first; two at most
}

// Attend says that s is driven from here on: its open turn, or else the next, which is
// about to begin.
func (g *Gate) Attend(s State) {
	if t := &s.Turn; t.Open() {
		*g = Gate{turn: t.N, stopping: t.Phase == Interrupting, words: len(t.Interrupt.Then) > 0}
	} else {
		*g = Gate{turn: t.N + 1}
	}
}

// Close takes an interrupt. It reports whether it counts: whether a turn is driven,
// it is the one that the interrupt names, if it names one, and no other counts
// already. After one with words a second counts: it takes them back.
func (g *Gate) Close(f Interrupted) bool {
	if g.turn == 0 || f.Turn != 0 && f.Turn != g.turn {
		return false
	}
	switch n := len(g.waiting); {
	case n == 0 && (!g.stopping || g.words):
	case n == 1 && !g.stopping && len(g.waiting[0].Then) > 0:
	default:
		return false
	}
	g.waiting = append(g.waiting, &f)
	return true
}

// Closed reports whether an interrupt is on its way or its turn is still being stopped.
func (g *Gate) Closed() bool { return g.stopping || len(g.waiting) > 0 }

// Interrupt returns what is to be recorded next ([Input].Interrupt); nil if nothing is.
func (g *Gate) Interrupt() *Interrupted {
	if len(g.waiting) == 0 {
		return nil
	}
	return g.waiting[0]
}

// Adopt follows a batch that was adopted. The gate stays closed until the turn that
// was interrupted has ended. An interrupt that names no turn and was not recorded when
// the next turn had begun already is for that turn. Adopt returns those that have come
// too late: words that came with them belong to the person's input again.
func (g *Gate) Adopt(b Batch) (late []*Interrupted) {
	t := &b.state.Turn
	if f := g.Interrupt(); f != nil && f == b.interrupt {
		g.waiting = g.waiting[1:]
	}
	if !t.Open() {
		late = g.waiting
		*g = Gate{}
		return late
	}
	g.turn, g.stopping, g.words = t.N, t.Phase == Interrupting, len(t.Interrupt.Then) > 0
	g.waiting = slices.DeleteFunc(g.waiting, func(f *Interrupted) bool {
		other := f.Turn != 0 && f.Turn != t.N
		if other {
			late = append(late, f)
		}
		return other
	})
	return late
}
