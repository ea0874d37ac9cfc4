package run

import (
	"strings"
	"testing"
	"time"
)

// replayed returns the state after payloads, a second apart.
func replayed(t *testing.T, payloads ...any) State {
	t.Helper()
	var s State
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, p := range payloads {
		if d, ok := p.(time.Duration); ok {
			at = at.Add(d)
			continue
		}
		next, err := s.Apply(Event{At: at, Payload: p.(Payload)})
		if err != nil {
			t.Fatalf("%T: %v", p, err)
		}
		s, at = next, at.Add(time.Second)
	}
	return s
}

func TestACachedAnswerUsesNothing(t *testing.T) {
	t.Parallel()
	u := Usage{Input: 10, Output: 5, Cost: 1, Priced: true}
	s := replayed(t, Created{Run: "r"}, Prompted{Parts: []Part{Text("work")}}, RequestStarted{Purpose: ForStep, Attempt: 1},
		Replied{Parts: []Part{Text("done")}, Stop: StopEndTurn, Usage: u, Cached: true})
	if want := (Tally{Steps: 1, Usage: Usage{Priced: true}}); s.Tally != want || s.Turn.Tally != want {
		t.Errorf("the run has used %+v, its turn %+v, want %+v", s.Tally, s.Turn.Tally, want)
	}
}

func TestAStepThatBeginsAgainIsOneStep(t *testing.T) {
	t.Parallel()
	life := []any{Created{Run: "r", Config: Config{Model: "a/a", Fallback: Fallback{Model: "b/b"}}}, Prompted{Parts: []Part{Text("work")}},
		RequestStarted{Purpose: ForStep, Attempt: 1}, RequestFailed{Kind: ErrOverloaded, Again: true}, RequestStarted{Purpose: ForStep, Attempt: 1}}
	if s := replayed(t, life...); s.Steps != 1 || s.Turn.Steps != 1 {
		t.Errorf("%d steps in the run, %d in the turn, want 1", s.Steps, s.Turn.Steps)
	}
	s := replayed(t, life[:3]...)
	if _, err := s.Apply(Event{At: s.At, Payload: RequestFailed{Kind: ErrAuth, Again: true}}); err == nil {
		t.Error("a step begins again after an error that ends the turn")
	}
}

func TestARunIsFinishedUntilSomethingComesForItsModel(t *testing.T) {
	t.Parallel()
	name, mode := "n", "plan"
	done := []any{Created{Run: "r"}, Prompted{Parts: []Part{Text("work")}}, RequestStarted{Purpose: ForStep, Attempt: 1},
		Replied{Parts: []Part{Text("done")}, Stop: StopEndTurn}, Ended{End: Completed}}
	for _, c := range []struct {
		change ConfigChange
		want   bool
	}{{ConfigChange{Name: &name}, true}, {ConfigChange{Mode: &mode}, false}, {ConfigChange{Mode: &mode, Name: &name}, false}, {ConfigChange{Compact: true}, false}} {
		if got := replayed(t, append(done[:5:5], Configured{c.change})...).Finished(); got != c.want {
			t.Errorf("finished after %+v: %t, want %t", c.change, got, c.want)
		}
	}
	if replayed(t, done[:4]...).Finished() {
		t.Error("a run is finished before its turn has ended")
	}
}

// A turn can end with its result before all messages were answered: those meant for that turn are returned
// to the person, and queued ones begin the next turn.
func TestARunIsNotFinishedWhileWordsAreLeft(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"", "queue q later\n", "steer s use tabs\n", "queue q later\nsteer s use tabs\n"} {
		p := play(t, "config output\nprompt How many?\n"+said+`reply submit({"n":3})`)
		var s State
		for _, e := range p.log {
			var err error
			if s, err = s.Apply(e); err != nil {
				t.Fatal(err)
			}
			if _, ended := e.Payload.(Ended); ended {
				break
			}
		}
		if left := len(s.Queue) + len(s.Returned); s.Turn.End.End != Completed || left != strings.Count(said, "\n") {
			t.Fatalf("after %q it ended %+v, and %d messages are left", said, s.Turn.End, left)
		}
		if got := s.Finished(); got != (said == "") {
			t.Errorf("after %q it is finished: %t", said, got)
		}
	}
}
