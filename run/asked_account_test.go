package run

import (
	"strings"
	"testing"
)

// The account of a turn has what an external agent asked for in words: its tool and what that is about, and not the
// JSON of the call and of its answer.
func TestTheAccountHasNoJSONOfWhatAnAgentAskedFor(t *testing.T) {
	t.Parallel()
	ask := func(n, input string) []Payload {
		id := CallID("c_" + n)
		return []Payload{CallReceived{Key: n, Call: Call{ID: id, Tool: "permission", Arguments: `{"tool_name":"Bash","input":` + input + `}`}},
			CallInspected{Call: id, Tool: "permission", Class: Reads, Late: true}}
	}
	s := State{}
	for _, p := range append(append(append([]Payload{Created{Run: "r", External: true}, Prompted{Parts: []Part{Text("go")}}, RequestStarted{Purpose: ForAgent, Attempt: 1}},
		ask("1", `{"command":"make all"}`)...),
		CallDecided{Call: "c_1", Decision: Decision{Answer: Allow}}, CallStarted{Call: "c_1", Attempt: 1},
		CallSettled{Call: "c_1", Outcome: OK, Content: []Part{Text(`{"behavior":"allow","updatedInput":{"command":"make all"}}`)}}),
		append(ask("2", `{"command":"rm -rf build"}`), Interrupted{Cause: ByPerson})...) {
		var err error
		if s, err = s.Apply(Event{Payload: p}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := s.Apply(Event{Payload: s.Next()[0].(Derive).Payload})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Turn.deterministicAccount(); strings.ContainsAny(got, `{}"`) || !strings.Contains(got, "make all: allowed") || !strings.Contains(got, "rm -rf build: not run") {
		t.Errorf("the account is %q", got)
	}
	if got := subject(`{"tool_name":"Bash","input":{"command":"make all"}}`); got != "Bash make all" {
		t.Errorf("it is about %q", got)
	}
	if got := subject(`{"tool_name":"Bash"}`); got != "Bash" {
		t.Errorf("without an input it is about %q", got)
	}
}
