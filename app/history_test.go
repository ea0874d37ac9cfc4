package app

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
	"pawl/run"
)

// An agent that runs make three times where the sandbox bounds it has not been allowed to run make: what widens the
// rule that is proposed is a person's word, or a rule of theirs.
func TestOnlyWhatAPersonOrARuleAllowedWidensWhatIsProposed(t *testing.T) {
	t.Parallel()
	r := &pastRun{calls: map[run.CallID]run.Call{}}
	for i, d := range []run.Decision{
		{Answer: run.Allow, Source: "person"},
		{Answer: run.Always, Source: "person"},
		{Answer: run.Allow, Source: "workspace", Rule: "shell(make c2)"},
		{Answer: run.Allow, Source: "sandbox", Sandbox: run.Trial},
		{Answer: run.Allow, Source: "mode"},
		{Answer: run.Allow, Source: "default"},
		{Answer: run.Deny, Source: "person"},
	} {
		id := run.CallID(fmt.Sprintf("c_%d", i))
		r.add(run.Event{Payload: run.CallReceived{Call: run.Call{ID: id, Tool: "shell", Arguments: fmt.Sprintf(`{"command":"make c%d"}`, i)}}})
		r.add(run.Event{Payload: run.CallDecided{Call: id, Decision: d}})
	}
	// What a hook has made of a call is what was allowed.
	for _, p := range []run.Payload{
		run.CallReceived{Call: run.Call{ID: "c_9", Tool: "shell", Arguments: `{"command":"make c9"}`}},
		run.HookSettled{Point: run.PreToolUse, Call: "c_9", Arguments: `{"command":"make d"}`},
		run.CallDecided{Call: "c_9", Decision: run.Decision{Answer: run.Allow, Source: "person"}},
	} {
		r.add(run.Event{Payload: p})
	}
	want := []permission.Allowed{{Tool: "shell", Command: "make c0"}, {Tool: "shell", Command: "make c1"}, {Tool: "shell", Command: "make c2"}, {Tool: "shell", Command: "make d"}}
	if diff := cmp.Diff(want, r.allowed); diff != "" {
		t.Errorf("what was allowed (-want +got):\n%s", diff)
	}
}
