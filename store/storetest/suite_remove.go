package storetest

import (
	"errors"
	"testing"
	"time"

	"pawl/run"
	"pawl/store"
)

// database returns a store that can remove runs, or skips.
func database(t *testing.T, st store.Store) store.Database {
	t.Helper()
	db, ok := st.(store.Database)
	if !ok {
		t.Skip("this store keeps nothing beyond its process")
	}
	return db
}

func testRemove(t *testing.T, st store.Store, reopen func() store.Store) {
	ctx, db, other := t.Context(), database(t, st), database(t, reopen())
	for i, c := range []run.Created{{Run: "root"}, {Run: "child", Parent: "root"}, {Run: "fork", ForkedFrom: "child"}, {Run: "bystander"}} {
		appendTo(t, st, c.Run, 0, at(i, c), noted(i), at(i, run.Ended{End: run.Completed}))
	}
	put(t, st, "child", store.Row{Key: "a", Kind: "say"})
	remove := func(id run.ID) error {
		_, err := db.Remove(ctx, id)
		return err
	}
	for id, want := range map[run.ID]store.NeededError{"child": {Run: "child", Parent: "root"}, "root": {Run: "root", Forks: []run.ID{"fork"}}} {
		needed, ok := errors.AsType[*store.NeededError](remove(id))
		if !ok {
			t.Fatalf("run %s is needed, and was removed", id)
		}
		diff(t, "why run "+string(id)+" is not removed", *needed, want)
	}
	diff(t, "removed", remove("fork"), error(nil))
	lease, err := other.Own(ctx, "child", "")
	if err != nil {
		t.Fatal(err)
	}
	if owned, ok := errors.AsType[*store.OwnedError](remove("root")); !ok || owned.Run != "child" {
		t.Errorf("a run whose child is driven: %v", owned)
	}
	all, err := other.Owned(ctx)
	diff(t, "runs with an owner", all, []run.ID{"child"})
	wantErr(t, "Owned", err, nil)
	wantErr(t, "released", lease.Release(), nil)

	before, err := db.UsageOf(ctx, "root", "child")
	if err != nil || before.Log < 100 {
		t.Errorf("the runs occupy %d bytes, %v", before.Log, err)
	}
	removed, err := db.Remove(ctx, "root")
	wantErr(t, "removed", err, nil)
	diff(t, "removed", removed, []run.ID{"root", "child"})
	for _, id := range removed {
		_, err := other.Run(ctx, id)
		wantErr(t, string(id), err, store.ErrNotFound)
	}
	diff(t, "rows that wait", len(inboxes(t, st)), 0)
	wantErr(t, "removed again", remove("root"), store.ErrNotFound)
	begin(t, st, "child") // its id is free
	if all, err := other.Runs(ctx, 0); err != nil || len(all) != 2 {
		t.Errorf("%d runs are left, %v; want 2", len(all), err)
	}
	if u, err := db.Usage(ctx); err != nil || u.Log == 0 {
		t.Errorf("the store occupies %+v, %v", u, err)
	}
	wantErr(t, "Compact", db.Compact(ctx), nil)
	_, err = db.Tidy(ctx, time.Hour, time.Now())
	wantErr(t, "Tidy", err, nil)
}

func testPrune(t *testing.T, st store.Store, _ func() store.Store) {
	ctx, db := t.Context(), database(t, st)
	end := func(n int) run.Event { return at(n, run.Ended{End: run.Completed}) }
	appendTo(t, st, "old", 0, created("old"), prompted("a"), end(2))
	appendTo(t, st, "open", 0, created("open"), prompted("a"))
	appendTo(t, st, "tasks", 0, created("tasks"), prompted("a"), end(2))
	addTask(t, st, "t1", 0, store.TaskRow{Status: "active", Run: "tasks"})
	appendTo(t, st, "new", 0, created("new"), prompted("a"), end(7200))
	for id, want := range map[run.ID][2]bool{"old": {true, false}, "open": {true, true}, "nothing": {false, false}} {
		exists, live, err := db.Live(ctx, id)
		wantErr(t, "Live", err, nil)
		diff(t, "run "+string(id)+" exists, and is live", [2]bool{exists, live}, want)
	}
	now := start.Add(90 * time.Minute)
	for _, dry := range []bool{true, false} {
		removed, err := db.Prune(ctx, time.Hour, now, dry)
		wantErr(t, "Prune", err, nil)
		diff(t, "removed", removed, []run.ID{"old"})
	}
	counts, err := db.TaskCounts(ctx)
	wantErr(t, "TaskCounts", err, nil)
	diff(t, "tasks", counts, map[string]int{"active": 1})
}
