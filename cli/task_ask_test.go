package cli

import (
	"testing"

	"pawl/run"
)

// The turn of an external agent goes on while a call of it waits for a person: it is asked for then.
func TestACallOfAnExternalAgentIsAskedForWhileItsTurnGoesOn(t *testing.T) {
	t.Parallel()
	events := []run.Event{
		{Payload: run.Created{Run: "r", External: true}}, {Payload: run.Prompted{Parts: []run.Part{run.Text("go")}}},
		{Payload: run.RequestStarted{Purpose: run.ForAgent, Attempt: 1}},
		{Payload: run.CallReceived{Key: "k", Call: run.Call{ID: "c_1", Tool: "permission", Arguments: "{}"}}},
		{Payload: run.CallInspected{Call: "c_1", Class: run.Writes}},
		{Payload: run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Allow}}},
	}
	for n := range len(events) + 1 {
		s, err := run.Replay(events[:n])
		if err != nil {
			t.Fatal(err)
		}
		if got, want := waitsForPerson(s), n == 5; got != want {
			t.Errorf("after %d events it waits: %t", n, got)
		}
	}
}
