package run

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// after returns the state after payloads, each a second after the one before.
func after(t *testing.T, s State, payloads ...Payload) State {
	t.Helper()
	for _, p := range payloads {
		next, err := s.Apply(Event{At: s.At.Add(time.Second), Payload: p})
		if err != nil {
			t.Fatalf("%T: %v", p, err)
		}
		s = next
	}
	return s
}

// A step that is not adopted, and a question of what an event would do, leave a second state
// beside the first: neither shows what was done to the other.
func TestTwoStatesAfterOneShareNoCalls(t *testing.T) {
	t.Parallel()
	received := func(id CallID, tool string) Payload {
		return CallReceived{Call: Call{ID: id, Tool: tool, Arguments: "{}"}, Key: string(id)}
	}
	s, err := Replay([]Event{
		{Payload: Created{Run: "r", External: true}}, {Payload: Prompted{Parts: []Part{Text("go")}}},
		{Payload: RequestStarted{Purpose: ForAgent, Attempt: 1}},
		{Payload: received("c_1", "read")}, {Payload: received("c_2", "read")}, {Payload: received("c_3", "read")},
	})
	if err != nil {
		t.Fatal(err)
	}
	one, other := after(t, s, received("c_4", "one")), after(t, s, received("c_4", "other"))
	if a, b := one.Turn.Calls[3].Tool, other.Turn.Calls[3].Tool; a != "one" || b != "other" || len(s.Turn.Calls) != 3 {
		t.Errorf("got %q and %q after %d calls", a, b, len(s.Turn.Calls))
	}
}

// Whatever follows, a state stays as it was: what was applied to it made another.
func TestAnEventDoesNotChangeTheStateBeforeIt(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		states, dumps := []State{{}}, []string{dump(State{})}
		for _, e := range play(t, string(text)).log {
			s, err := states[len(states)-1].Apply(e)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			states, dumps = append(states, s), append(dumps, dump(s))
		}
		for i, s := range states {
			if got := dump(s); got != dumps[i] {
				t.Errorf("%s: the state after event %d has changed:\n%s", file, i, cmp.Diff(dumps[i], got))
				break
			}
		}
	}
}

// A face applies events to its copy of the state while the run continues: neither may change the other.
func TestASnapshotSharesNothingThatGrows(t *testing.T) {
	t.Parallel()
	reply := func(text string) []Payload {
		return []Payload{RequestStarted{Purpose: ForStep, Attempt: 1}, Replied{Stop: StopEndTurn, Parts: []Part{Text(text)}}, Ended{End: Completed}}
	}
	s := after(t, State{}, Created{Run: "r"})
	for range 5 { // one of them leaves room in the list of messages
		s = after(t, s, append([]Payload{Prompted{Parts: []Part{Text("go")}}}, reply("yes")...)...)
		n := len(s.Messages)
		shown := after(t, s.Snapshot(), Prompted{Parts: []Part{Text("shown")}})
		own := after(t, s, Prompted{Parts: []Part{Text("own")}})
		if a, b := PlainText(shown.Messages[n].Parts), PlainText(own.Messages[n].Parts); a != "shown" || b != "own" {
			t.Fatalf("after %d messages the copy has %q, and the run %q", n, a, b)
		}
	}
}

func TestAnApprovalThatIsInvalidIsForgotten(t *testing.T) {
	t.Parallel()
	call := Part{Type: CallPart, Call: &Call{ID: "c_1", Tool: "edit", Arguments: "{}"}}
	s := after(t, State{}, Created{Run: "r"}, Prompted{Parts: []Part{Text("go")}}, RequestStarted{Purpose: ForStep, Attempt: 1},
		Replied{Stop: StopToolUse, Parts: []Part{call}}, CallInspected{Call: "c_1", Class: Writes},
		CallDecided{Call: "c_1", Decision: Decision{Answer: Allow}}, ApprovalInvalidated{Call: "c_1", Reason: "the file has changed"})
	if c := s.Turn.Calls[0]; c.Status != CallIsInspected || c.Decision.Answer != "" {
		t.Errorf("the call is %v with the decision %+v", c.Status, c.Decision)
	}
}

func TestTheEndOfAnInterruptedTurnSaysWhatIsNext(t *testing.T) {
	t.Parallel()
	for cause, want := range map[Cause]string{
		ByPerson:   "say what to do next",
		ByWait:     "say what to do next",
		ByShutdown: "pawl was shut down; the run can be continued",
	} {
		if got := (Interrupted{Cause: cause}).end(State{}); got.End != EndInterrupted || got.Reason != string(cause) || got.Detail != want {
			t.Errorf("%s: %+v, want %q", cause, got, want)
		}
	}
}

// The calls up to the point where a run was forked are those of the run that it was forked from.
func TestAForkKnowsWhichCallsItInherited(t *testing.T) {
	t.Parallel()
	asks := func(id CallID) Payload {
		return Replied{Stop: StopToolUse, Parts: []Part{{Type: CallPart, Call: &Call{ID: id, Tool: "read", Arguments: "{}"}}}}
	}
	settled := func(id CallID) []Payload {
		return []Payload{CallInspected{Call: id, Class: Reads, Problem: "no"}, CallSettled{Call: id, Outcome: Invalid, IsError: true, Content: []Part{Text("no")}}}
	}
	step := RequestStarted{Purpose: ForStep, Attempt: 1}
	s := after(t, State{}, Created{Run: "fork", ForkedFrom: "r", ForkedAt: 6}, Prompted{Parts: []Part{Text("go")}}, step, asks("c_1"))
	s = after(t, s, settled("c_1")...)
	s = after(t, s, step, asks("c_2"))
	s = after(t, s, settled("c_2")...)
	if !s.Inherited("c_1") || s.Inherited("c_2") {
		t.Errorf("inherited: c_1 %t, c_2 %t", s.Inherited("c_1"), s.Inherited("c_2"))
	}
}
