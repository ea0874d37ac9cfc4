package worker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pawl/run"
	"pawl/store/storetest"
)

// A fork can ask for the outputs of the runs that it was forked from, however many these are.
func TestThePastOfAFork(t *testing.T) {
	t.Parallel()
	mem := storetest.NewMemory()
	made := func(c run.Created) run.Created {
		t.Helper()
		c.Workspace = "/w"
		if err := mem.Append(t.Context(), c.Run, 0, []run.Event{{At: time.Unix(1, 0), Payload: c}}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	past := func(c run.Created) string {
		t.Helper()
		var all []string
		for _, p := range Past(t.Context(), mem, c, func(id run.CallID) bool { return id == "c_1" }) {
			if !p.Has("c_1") || p.Has("c_2") {
				t.Errorf("what %s has is not what was inherited", p.Run)
			}
			all = append(all, string(p.Run)+" of "+string(p.Conversation))
		}
		return strings.Join(all, ", ")
	}
	first := made(run.Created{Run: "a"})
	if got := past(first); got != "" {
		t.Errorf("a run that is no fork has %s", got)
	}
	made(run.Created{Run: "b", ForkedFrom: "a"})
	last := made(run.Created{Run: "c", ForkedFrom: "b"})
	if got := past(last); got != "b of b, a of a" {
		t.Errorf("the past is %s", got)
	}
	if got := past(run.Created{Run: "d", ForkedFrom: "gone"}); got != "" {
		t.Errorf("of a run that was removed: %s", got)
	}
	if got := past(made(run.Created{Run: "e", ForkedFrom: "gone"})); got != "" {
		t.Errorf("of a run that was removed: %s", got)
	}
	if got := past(run.Created{Run: "f", ForkedFrom: "e"}); got != "e of e" {
		t.Errorf("the past of a run whose own past is gone: %s", got)
	}
	from := run.ID("a")
	for i := range maxForks {
		id := run.ID(fmt.Sprint("f", i))
		made(run.Created{Run: id, ForkedFrom: from})
		from = id
	}
	if got := strings.Count(past(run.Created{Run: "z", ForkedFrom: from}), " of "); got != maxForks {
		t.Errorf("%d runs before are asked, want %d", got, maxForks)
	}
}
