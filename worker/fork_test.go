package worker

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pawl/output"
	"pawl/run"
	"pawl/tool"
	"pawl/tool/outputs"
)

// forks copies a run's first events to a new run, as pawl runs fork does.
func forks(t *testing.T, r *rig, from run.ID, at int, to run.ID) {
	t.Helper()
	var events []run.Event
	for e, err := range r.mem.Events(context.Background(), from, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if len(events) < at {
			events = append(events, e)
		}
	}
	c := events[0].Payload.(run.Created)
	c.ForkedFrom, c.ForkedAt, c.Run = c.Run, int64(at), to
	c.Parent, c.ParentCall, c.Root, c.Depth = "", "", "", 0
	events[0].Payload = c
	if err := r.mem.Append(context.Background(), to, 0, events); err != nil {
		t.Fatal(err)
	}
}

// asking makes two outputs in the run r, of which forks at the end of the first turn
// have the first.
func asking(t *testing.T) (r *rig, at int) {
	t.Helper()
	r = newRig(t, `
{"calls":[{"tool":"print","args":{"text":"[1,2,3]"}}]}
{"text":"Printed."}
{"calls":[{"tool":"print","args":{"text":"[1,2,3,4]"}}]}
{"text":"Printed."}`)
	storeOutputs(t, r)
	r.w.Tools = tool.NewRegistry(append(outputs.All(), printer{})...)
	at = int(r.run(r.create(), prompt("go")).Seq)
	r.run(r.open(), prompt("on"))
	return r, at
}

// ask makes a call of a fork and returns its result.
func ask(t *testing.T, r *rig, id run.ID, call string) string {
	t.Helper()
	r.play(`{"when":{"contains":"Ask."},"calls":[` + call + `],"repeat":true}
{"text":"Done.","repeat":true}`)
	d, err := r.w.Open(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := results(r.run(d, prompt("Ask.")))
	return got[len(got)-1]
}

func TestAForkReadsTheOutputsOfItsOriginal(t *testing.T) {
	t.Parallel()
	const counts = `{"tool":"tool_outputs.count","args":{"id":"ID","counts":[{"path":"$"}]}}`
	t.Run("what it has in its context", func(t *testing.T) {
		t.Parallel()
		r, at := asking(t)
		forks(t, r, "r", at, "fork")
		if got := ask(t, r, "fork", strings.ReplaceAll(counts, "ID", "c_1")); !strings.Contains(got, `"counts":{"$":3}`) {
			t.Errorf("the fork is answered %q", got)
		}
	})
	t.Run("and nothing that came later there", func(t *testing.T) {
		t.Parallel()
		r, at := asking(t)
		forks(t, r, "r", at, "fork")
		if got := ask(t, r, "fork", strings.ReplaceAll(counts, "ID", "c_2")); !strings.Contains(got, "c_2 true") {
			t.Errorf("the fork is answered %q about what it has never seen", got)
		}
		if got := ask(t, r, "fork", strings.ReplaceAll(counts, "ID", "")); !strings.Contains(got, `"counts":{"$":3}`) {
			t.Errorf("the newest output of the fork: %q", got)
		}
	})
	t.Run("and so does a fork of the fork", func(t *testing.T) {
		t.Parallel()
		r, at := asking(t)
		forks(t, r, "r", at, "fork")
		forks(t, r, "fork", at, "fork-2")
		if got := ask(t, r, "fork-2", strings.ReplaceAll(counts, "ID", "c_1")); !strings.Contains(got, `"counts":{"$":3}`) {
			t.Errorf("the fork is answered %q", got)
		}
	})
	t.Run("of a child run, by its conversation", func(t *testing.T) {
		t.Parallel()
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Print it."}}]}
{"when":{"first":"Print it."},"calls":[{"tool":"print","args":{"text":"[1,2,3]"}}]}
{"when":{"first":"Print it."},"text":"Printed."}
{"text":"Done."}`, append(outputs.All(), printer{})...)
		storeOutputs(t, r)
		r.run(r.create(), prompt("go"))
		forks(t, r, theChild, int(stateOf(t, r, theChild).Seq), "fork")
		if got := ask(t, r, "fork", strings.ReplaceAll(counts, "ID", "c_1")); !strings.Contains(got, `"counts":{"$":3}`) {
			t.Errorf("the fork is answered %q", got)
		}
	})
	t.Run("not when it is gone", func(t *testing.T) {
		t.Parallel()
		r, _ := asking(t)
		if past := Past(t.Context(), r.mem, run.Created{Run: "fork", ForkedFrom: "gone", ForkedAt: 3}, nil); len(past) > 0 {
			t.Errorf("past %+v", past)
		}
	})
}

func TestWhatAForkHasOfItsOriginalEndsWhereItBegins(t *testing.T) {
	t.Parallel()
	r, at := asking(t)
	forks(t, r, "r", at, "fork")
	d, err := r.w.Open(t.Context(), "fork", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	past := d.env.Past
	if len(past) != 1 {
		t.Fatalf("past %+v", past)
	}
	var has []run.CallID
	for _, id := range []run.CallID{"c_1", "c_2", "c_3"} {
		if past[0].Has(id) {
			has = append(has, id)
		}
	}
	if !slices.Equal(has, []run.CallID{"c_1"}) {
		t.Errorf("it has %q", has)
	}
	if _, err := r.w.Outputs.Find(output.Scope{Conversation: "r", Run: "r"}, "c_2"); err != nil {
		t.Errorf("the original has its own: %v", err)
	}
}
