package run

import "slices"

// A Gate is closed by an interrupt at once, before the interrupt is recorded; while it
// is closed nothing starts. The driver of the run owns it and guards it with a mutex,
// because an interrupt may come from any goroutine.
//
// The zero Gate is that of a run which is not driven: it accepts no interrupt.
type Gate struct {
	turn     int            // the turn that is driven or about to begin; 0: none
	stopping bool           // an interrupt of the turn is recorded
	words    bool           // it has words, which a second interrupt would take back
	waiting  []*Interrupted // not recorded yet, oldest first; at most two
}

// Attend opens the gate for the turn of s that is driven from now on: the open one, or
// else the next.
func (g *Gate) Attend(s State) {
	if t := &s.Turn; t.Open() {
		*g = Gate{turn: t.N, stopping: t.Phase == Interrupting, words: len(t.Interrupt.Then) > 0}
	} else {
		*g = Gate{turn: t.N + 1}
	}
}

// Close closes the gate with an interrupt and reports whether the interrupt was accepted.
// It is not if no turn is driven, if it names another turn, or if the turn was
// interrupted already; but after an interrupt with words a second one is accepted, which
// takes them back.
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

// Closed reports whether an interrupt is pending or its turn has not ended yet.
func (g *Gate) Closed() bool { return g.stopping || len(g.waiting) > 0 }

// Interrupt returns the interrupt to record next, for [Input].Interrupt; nil if none.
func (g *Gate) Interrupt() *Interrupted {
	if len(g.waiting) == 0 {
		return nil
	}
	return g.waiting[0]
}

// Adopt updates the gate after [Runner.Adopt]. The gate stays closed until the
// interrupted turn has ended. A pending interrupt that names no turn applies to the next
// turn if that has begun. Adopt returns the interrupts that came too late; their words
// must be returned to the person.
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
