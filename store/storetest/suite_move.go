package storetest

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"pawl/run"
	"pawl/store"
)

// again returns a sequence that can be ranged over when the store does not have it any more.
func again[T any](t *testing.T, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	t.Helper()
	var all []T
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func testMove(t *testing.T, st store.Store, reopen func() store.Store) {
	ctx, db := t.Context(), database(t, st)
	for i, c := range []run.Created{{Run: "r"}, {Run: "child", Parent: "r", Root: "r"}} {
		appendTo(t, st, c.Run, 0, at(i, c), noted(i))
	}
	put(t, st, "r", store.Row{Key: "taken", Kind: "say", Payload: "{}"})
	put(t, st, "r", store.Row{Key: "waits", Kind: "say", Payload: `{"n":1}`})
	for n := range int64(300) { // more than are read, or sent, at once
		appendTo(t, st, "r", 2+n, noted(int(n)))
	}
	addTask(t, st, "t1", 0, store.TaskRow{Status: "active"})
	row := store.TaskRow{Status: "planned", Labels: []string{"a"}, Summary: `{"title":"one"}`}
	err := st.AppendWithTask(ctx, "r", 302, []run.Event{noted(1)}, store.TaskAppend{Task: "t1", After: 1, Events: taskEvents(1, 2), Row: row, Runs: []run.ID{"r"},
		Submission: &store.Submission{Run: "r", Tool: "planner-output", Assignment: 1, Call: "c_1", Key: "k", Value: `{"n":1}`, At: start}}, store.Taken{ID: inbox(t, st, "r")[0].ID, Answer: "yes"})
	wantErr(t, "append", err, nil)

	u, err := db.Unit(ctx, "t1", "r")
	wantErr(t, "the unit", err, nil)
	if len(u.Runs) != 2 || u.Runs[0].Run != "r" || u.Runs[1].Run != "child" || u.Runs[1].Root != "r" || u.Runs[0].Seq != 303 {
		t.Fatalf("the unit has %+v", u.Runs)
	}
	for i := range u.Runs {
		u.Runs[i].Events = again(t, u.Runs[i].Events)
	}
	task := store.TaskAppend{Task: "t1", Row: row, Runs: []run.ID{"r"}, Events: slices.Collect(func(yield func(store.TaskEvent) bool) {
		again(t, u.TaskEvents)(func(e store.TaskEvent, _ error) bool { return yield(e) })
	})}
	ids, err := db.TaskRuns(ctx, "t1")
	wantErr(t, "the runs of the task", err, nil)
	diff(t, "the runs of the task", ids, []run.ID{"r"})
	wantErr(t, "what is there", db.Import(ctx, u.Runs, nil), store.ErrConflict)
	sum, err := st.Run(ctx, "r")
	wantErr(t, "the summary", err, nil)
	wantErr(t, "removed", st.RemoveTask(ctx, "t1"), nil)
	_, err = db.Remove(ctx, "r")
	wantErr(t, "removed", err, nil)

	// One that fails in the middle leaves nothing, and neither does a task that fails after its runs.
	broken := errors.New("the archive cannot be read")
	failing := slices.Clone(u.Runs)
	failing[1].Events = func(yield func(store.Record, error) bool) { yield(store.Record{}, broken) }
	wantErr(t, "an archive that cannot be read", db.Import(ctx, failing, &task), broken)
	short := slices.Clone(u.Runs)
	short[0].Seq++
	wantErr(t, "fewer events than promised", db.Import(ctx, short, nil), store.ErrCorrupt)
	stale := task
	stale.After = 7
	wantErr(t, "a task that is another", db.Import(ctx, u.Runs, &stale), store.ErrTaskConflict)
	for _, id := range []run.ID{"r", "child"} {
		_, _, err := db.End(ctx, id)
		wantErr(t, "after a failure", err, store.ErrNotFound)
	}

	wantErr(t, "imported", db.Import(ctx, u.Runs, &task), nil)
	other := reopen().(store.Database)
	for _, m := range u.Runs {
		seq, hash, err := other.End(ctx, m.Run)
		wantErr(t, "the end", err, nil)
		diff(t, "events", seq, m.Seq)
		diff(t, "the last hash", hash, m.Hash)
		wantErr(t, "verify", other.Verify(ctx, m.Run), nil)
	}
	moved, err := other.Run(ctx, "r")
	wantErr(t, "the summary", err, nil)
	diff(t, "the summary", moved, sum)
	if waits := inbox(t, other, "r"); len(waits) != 1 || waits[0].Key != "waits" || waits[0].Payload != `{"n":1}` {
		t.Errorf("the inbox has %+v", waits)
	}
	answer, taken, err := other.Answer(ctx, "r", "taken")
	if answer != "yes" || !taken || err != nil {
		t.Errorf("the answer is %q, %t, %v", answer, taken, err)
	}
	submitted, found, err := other.Submitted(ctx, "r", "planner-output", 1)
	if !found || submitted.Task != "t1" || submitted.Value != `{"n":1}` || err != nil {
		t.Errorf("submitted is %+v, %v", submitted, err)
	}
	of, err := other.TaskOf(ctx, "r")
	if of != "t1" || err != nil {
		t.Errorf("the run is of task %q, %v", of, err)
	}
	diff(t, "the task's events", loadTask(t, other, "t1", 0), task.Events)
	appendTo(t, other, "r", 303, noted(1))
}
