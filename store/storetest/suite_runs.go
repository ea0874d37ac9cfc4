package storetest

import (
	"context"
	"testing"
	"time"

	"pawl/run"
	"pawl/store"
)

func testSummary(t *testing.T, st store.Store, reopen func() store.Store) {
	step := run.RequestStarted{Purpose: run.ForStep, Attempt: 1, Model: "one"}
	retry := step
	retry.Attempt = 2
	two := "script/two"
	events := []run.Event{
		at(0, run.Created{Run: "r", Workspace: "/work", Config: run.Config{Model: "script/one", Name: "first"}}),
		at(1, run.Prompted{Parts: []run.Part{run.Text("\n  fix the build\nand the tests")}}),
		at(2, step),
		at(3, run.RequestFailed{Kind: run.ErrOverloaded, RetryAfter: time.Second}),
		at(4, retry),
		at(5, run.Replied{Usage: run.Usage{Input: 10, CacheRead: 20, CacheWrite: 30, Output: 40, Cost: 0.5, Priced: true}}),
		at(6, run.RequestStarted{Purpose: run.ForSummary, Attempt: 1}),
		at(7, run.Replied{Usage: run.Usage{Input: 1, Cost: 0.25, Priced: true}}),
		at(8, run.Replied{Usage: run.Usage{Input: 1000, Cost: 9, Priced: true}, Cached: true}),
		at(9, run.Observed{Parts: []run.Part{run.Text("nothing was spent for this")}}),
		at(9, run.Configured{Change: run.ConfigChange{Model: &two, Name: &two}}),
		at(10, run.Ended{End: run.LimitReached, Reason: "max_steps"}),
	}
	want := store.Summary{
		ID: "r", Root: "r", Workspace: "/work", Model: "script/two", Title: "fix the build", Name: "script/two",
		Created: start, Updated: start.Add(10 * time.Second), Seq: 12, End: run.LimitReached, Reason: "max_steps", Turns: 1,
		Tally: run.Tally{Steps: 1, Usage: run.Usage{Input: 11, CacheRead: 20, CacheWrite: 30, Output: 40, Cost: 0.75, Priced: true}},
	}
	appendTo(t, st, "r", 0, events[:4]...)
	appendTo(t, st, "r", 4, events[4:]...)
	summary := func(what string, want store.Summary) {
		t.Helper()
		got, err := reopen().Run(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		diff(t, what, got, want)
	}
	summary("summary at the end of a turn", want)

	appendTo(t, st, "r", 12, at(20, run.Prompted{Continue: true}), at(21, step))
	want.Updated, want.Seq, want.End, want.Reason, want.Turns, want.Steps = start.Add(21*time.Second), 14, "", "", 2, 2
	summary("summary in the next turn", want)
}

func testOddBytes(t *testing.T, st store.Store, reopen func() store.Store) {
	const odd = "a\xffb\x00c"
	appendTo(t, st, "r", 0, at(0, run.Created{Run: "r", Workspace: "/" + odd, Config: run.Config{Model: odd, Name: odd}}),
		prompted("d\x00e\xff\n"), at(2, run.Ended{End: run.EndFailed, Reason: odd}))
	got, err := reopen().Run(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "summary", got, store.Summary{ID: "r", Root: "r", Workspace: "/" + odd, Model: odd, Name: odd, Title: "d\x00e\uFFFD",
		Created: start, Updated: start.Add(2 * time.Second), Seq: 3, End: run.EndFailed, Reason: odd, Turns: 1})
	diff(t, "the damage of a run that is continued", st.Append(t.Context(), "r", 3, []run.Event{noted(3)}), error(nil))
}

func testRuns(t *testing.T, st store.Store, reopen func() store.Store) {
	for i, id := range []run.ID{"c", "a", "b"} {
		e := created(id)
		e.At = start.Add(time.Duration(-i) * time.Hour) // the clock was put back
		appendTo(t, st, id, 0, e)
	}
	child := run.Created{Run: "child", Parent: "a", ParentCall: "c_1"}
	appendTo(t, st, "child", 0, run.Event{At: start.Add(9 * time.Hour), Payload: child})
	begin(t, st, "d")

	list := func(limit int) (ids []run.ID) {
		t.Helper()
		all, err := reopen().Runs(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range all {
			ids = append(ids, sum.ID)
		}
		return ids
	}
	diff(t, "all runs", list(0), []run.ID{"d", "b", "a", "c"})
	diff(t, "two runs", list(2), []run.ID{"d", "b"})
	appendTo(t, reopen(), "c", 1, noted(1))
	diff(t, "after an append to the oldest", list(0), []run.ID{"c", "d", "b", "a"})
	put(t, st, "a", store.Row{Key: "a", Kind: "say"})
	diff(t, "after a row for another, which nobody took", list(1), []run.ID{"c"})
	if sum, err := st.Run(t.Context(), "child"); err != nil || sum.Parent != "a" {
		t.Errorf("the child run: parent %q, error %v; want a, nil", sum.Parent, err)
	}
}

func testSaid(t *testing.T, st store.Store, reopen func() store.Store) {
	attached := run.Text("the whole of a.txt")
	attached.Attached = "a.txt"
	appendTo(t, st, "r", 0, created("r"), at(1, run.Prompted{Parts: []run.Part{run.Text("repair @a.txt"), attached}}), noted(2),
		at(3, run.Said{ID: "m_1", Delivery: run.Steer, Parts: []run.Part{run.Text("and <b> & c")}}))
	begin(t, st, "silent")
	for id, want := range map[run.ID][]string{"r": {"repair @a.txt\n[attached: a.txt]", "and <b> & c"}, "silent": nil} {
		got, err := reopen().Said(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "what was said to "+string(id), got, want)
	}
}

func testChildren(t *testing.T, st store.Store, reopen func() store.Store) {
	for i, c := range []run.Created{
		{Run: "root"}, {Run: "other"}, {Run: "b", Parent: "root"}, {Run: "a", Parent: "root"},
		{Run: "deep", Parent: "b"}, {Run: "orphan", Parent: "elsewhere"},
	} {
		appendTo(t, st, c.Run, 0, at(i, c), noted(i))
	}
	appendTo(t, reopen(), "deep", 2, noted(9)) // the root stays what it was

	ids := func(list func(context.Context, run.ID) ([]store.Summary, error), id run.ID) (ids []run.ID) {
		t.Helper()
		all, err := list(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range all {
			ids = append(ids, sum.ID)
		}
		return ids
	}
	other := reopen()
	diff(t, "children of the root", ids(other.Children, "root"), []run.ID{"b", "a"})
	diff(t, "children of b", ids(other.Children, "b"), []run.ID{"deep"})
	diff(t, "children of a", ids(other.Children, "a"), []run.ID(nil))
	diff(t, "children of a run of another store", ids(other.Children, "elsewhere"), []run.ID{"orphan"})
	diff(t, "the conversation", ids(other.Conversation, "root"), []run.ID{"root", "b", "a", "deep"})
	diff(t, "a conversation of one", ids(other.Conversation, "other"), []run.ID{"other"})
	diff(t, "a conversation by a run that is not its root", ids(other.Conversation, "b"), []run.ID(nil))
	for id, root := range map[run.ID]run.ID{"root": "root", "a": "root", "deep": "root", "orphan": "elsewhere"} {
		sum, err := other.Run(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "the root of "+string(id), sum.Root, root)
	}
}

func testVerify(t *testing.T, st store.Store, reopen func() store.Store) {
	begin(t, st, "r")
	begin(t, st, "another")
	appendTo(t, st, "r", 1, noted(1), noted(2))
	appendTo(t, reopen(), "r", 3, noted(3))
	for _, id := range []run.ID{"r", "another"} {
		if err := st.Verify(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}
