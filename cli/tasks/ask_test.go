package tasks

import (
	"testing"

	"pawl/cli/console"
	"pawl/run"
)

// An external agent keeps working while one of its calls waits: the person is asked at once.
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
		if got, want := asksNow(s), n == 5; got != want {
			t.Errorf("after %d events it waits: %t", n, got)
		}
	}
}

// An answer may be the number of an option, an option, or other words; a number that no option has is a mistake.
func TestANumberThatNoOptionHasIsNoAnswer(t *testing.T) {
	t.Parallel()
	two, years := []string{"sqlite", "postgres"}, []string{"1999", "2026"}
	for _, c := range []struct {
		answer  string
		options []string
		want    string // empty: a mistake
	}{
		{"2", two, "postgres"}, {"3", two, ""}, {"0", two, ""}, {"-1", two, ""}, {"mysql", two, "mysql"}, {"3.5", two, "3.5"},
		{"7", nil, "7"}, {"2026", years, "2026"}, {"1", years, "1999"}, {"2027", years, ""},
	} {
		if got, err := console.Chosen(c.answer, c.options); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q of %q: %q, %v, want %q", c.answer, c.options, got, err, c.want)
		}
	}
}
