package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/run"
	"pawl/store"
)

// taskEvents are n events of a task, the first of them at minute at.
func taskEvents(at, n int) []store.TaskEvent {
	var events []store.TaskEvent
	for i := range n {
		events = append(events, store.TaskEvent{At: start.Add(time.Duration(at)*time.Minute + time.Duration(i)), Type: "noted", Version: 1, Run: "r", By: "anna", Data: fmt.Sprintf(`{"n":%d}`, i)})
	}
	return events
}

func addTask(t *testing.T, st store.Store, id string, at int, row store.TaskRow) {
	t.Helper()
	if err := st.AppendTask(t.Context(), store.TaskAppend{Task: id, Events: taskEvents(at, 1), Row: row}); err != nil {
		t.Fatal(err)
	}
}

func loadTask(t *testing.T, st store.Store, id string, after int64) []store.TaskEvent {
	t.Helper()
	var events []store.TaskEvent
	for e, err := range st.TaskEvents(t.Context(), id, after) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func testTask(t *testing.T, st store.Store, reopen func() store.Store) {
	ctx := t.Context()
	row := store.TaskRow{Status: "pending", Summary: `{"title":"one"}`, Labels: []string{"a", "b"}, Priority: 2}
	events := taskEvents(0, 3)
	if err := st.AppendTask(ctx, store.TaskAppend{Task: "t1", Events: events, Row: row}); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "a stale number", st.AppendTask(ctx, store.TaskAppend{Task: "t1", After: 2, Events: events}), store.ErrTaskConflict)
	wantErr(t, "a number that is not there", reopen().AppendTask(ctx, store.TaskAppend{Task: "t1", After: 4, Events: events}), store.ErrTaskConflict)
	check := func(err error) func(func(string) (store.TaskRow, error)) error {
		return func(get func(string) (store.TaskRow, error)) error {
			have, herr := get("t1")
			_, none := get("t2")
			if herr != nil || have.Seq != 3 || have.Summary != row.Summary || !errors.Is(none, store.ErrNoTask) {
				t.Errorf("in the transaction: task t1 is %+v, %v; t2: %v", have, herr, none)
			}
			return err
		}
	}
	refused := errors.New("refused")
	wantErr(t, "a check that fails", st.AppendTask(ctx, store.TaskAppend{Task: "t1", After: 3, Events: events, Check: check(refused)}), refused)
	row.Status, row.Agent, row.Run, row.Owes = "active", "developer", "r", true
	if err := reopen().AppendTask(ctx, store.TaskAppend{Task: "t1", After: 3, Events: taskEvents(1, 1), Row: row, Runs: []run.ID{"r", "r_c"}, Check: check(nil)}); err != nil {
		t.Fatal(err)
	}
	want := append(events, taskEvents(1, 1)...)
	for i := range want {
		want[i].Seq = int64(i) + 1
	}
	diff(t, "events", loadTask(t, reopen(), "t1", 0), want)
	diff(t, "events after 2", loadTask(t, st, "t1", 2), want[2:])
	diff(t, "events after the last", loadTask(t, st, "t1", 4), []store.TaskEvent(nil))
	got, err := st.Task(ctx, "t1")
	wantErr(t, "the task", err, nil)
	row.ID, row.Seq, row.Created, row.Updated, row.Labels = "t1", 4, want[0].At, want[3].At, nil
	diff(t, "the task", got, row)
	for id, want := range map[run.ID]string{"r": "t1", "r_c": "t1", "other": ""} {
		if task, err := st.TaskOf(ctx, id); task != want || err != nil {
			t.Errorf("run %s is of task %q, %v", id, task, err)
		}
	}
	_, err = st.Task(ctx, "t2")
	wantErr(t, "a task that is not there", err, store.ErrNoTask)
	for _, err := range st.TaskEvents(ctx, "t2", 0) {
		wantErr(t, "its events", err, store.ErrNoTask)
	}
	wantErr(t, "an id that is none", st.AppendTask(ctx, store.TaskAppend{Task: "../t", Events: events}), store.ErrNoTask)

	wantErr(t, "removed", st.RemoveTask(ctx, "t1"), nil)
	wantErr(t, "removed again", st.RemoveTask(ctx, "t1"), store.ErrNoTask)
	if task, err := st.TaskOf(ctx, "r"); task != "" || err != nil {
		t.Errorf("run r is of task %q, %v", task, err)
	}
}

func testWithTask(t *testing.T, st store.Store, reopen func() store.Store) {
	ctx := t.Context()
	begin(t, st, "r")
	addTask(t, st, "t1", 0, store.TaskRow{Status: "active"})
	submission := &store.Submission{Run: "r", Tool: "planner-output", Assignment: 1, Call: "c_1", Key: "k", Value: `{"n":1}`, At: start}
	both := store.TaskAppend{Task: "t1", After: 1, Events: taskEvents(1, 2), Row: store.TaskRow{Status: "planned"}, Submission: submission}
	stale := both
	stale.After = 0
	check := func(what string, run, task int) {
		t.Helper()
		if n := len(load(t, reopen(), "r", 0)); n != run {
			t.Errorf("%s: the run has %d events, want %d", what, n, run)
		}
		if n := len(loadTask(t, reopen(), "t1", 0)); n != task {
			t.Errorf("%s: the task has %d events, want %d", what, n, task)
		}
		_, ok, err := st.Submitted(ctx, "r", "planner-output", 1)
		if ok != (task > 1) || err != nil {
			t.Errorf("%s: submitted: %t, %v", what, ok, err)
		}
	}
	wantErr(t, "a stale task", st.AppendWithTask(ctx, "r", 1, []run.Event{noted(1)}, stale), store.ErrTaskConflict)
	check("a stale task", 1, 1)
	wantErr(t, "a stale run", st.AppendWithTask(ctx, "r", 0, []run.Event{noted(1)}, both), store.ErrConflict)
	check("a stale run", 1, 1)
	wantErr(t, "both", st.AppendWithTask(ctx, "r", 1, []run.Event{noted(1)}, both), nil)
	check("both", 2, 3)
	again := both
	again.After = 3
	wantErr(t, "submitted again", st.AppendWithTask(ctx, "r", 2, []run.Event{noted(1)}, again), store.ErrSubmitted)
	check("submitted again", 2, 3)
	got, _, err := st.Submitted(ctx, "r", "planner-output", 0)
	wantErr(t, "the submission", err, nil)
	want := *submission
	want.Task = "t1"
	diff(t, "the submission", got, want)
	addTask(t, st, "t2", 5, store.TaskRow{})
	wantErr(t, "no task event", st.AppendWithTask(ctx, "r", 2, []run.Event{noted(2)}, store.TaskAppend{Task: "t2", After: 1, Runs: []run.ID{"r"}}), nil)
	if err := st.AppendTask(ctx, store.TaskAppend{Task: "t1", After: 3, Runs: []run.ID{"r"}}); err == nil || !strings.Contains(err.Error(), "belongs to task t2") {
		t.Errorf("a run of two tasks: %v", err)
	}
}

func testOneSubmission(t *testing.T, st store.Store, reopen func() store.Store) {
	addTask(t, st, "t1", 0, store.TaskRow{Status: "active"})
	writers := []store.Store{st, reopen()}
	errs := make([]error, 50)
	var wait sync.WaitGroup
	for i := range errs {
		begin(t, st, run.ID(fmt.Sprint("caller", i)))
		wait.Go(func() {
			for after := int64(1); ; after++ { // each sees the task as it is
				errs[i] = writers[i%2].AppendWithTask(t.Context(), run.ID(fmt.Sprint("caller", i)), 1, []run.Event{noted(i)}, store.TaskAppend{
					Task: "t1", After: after, Events: taskEvents(i, 1), Submission: &store.Submission{Run: "r", Tool: "x", Assignment: 1, Value: fmt.Sprint(i), At: start}})
				if !errors.Is(errs[i], store.ErrTaskConflict) {
					return
				}
			}
		})
	}
	wait.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			wantErr(t, "the others", err, store.ErrSubmitted)
		}
	}
	if n := len(loadTask(t, reopen(), "t1", 0)); won != 1 || n != 2 {
		t.Errorf("%d of 50 callers won, and the task has %d events", won, n)
	}
}

func testTaskList(t *testing.T, st store.Store, reopen func() store.Store) {
	for i := range 12 {
		row := store.TaskRow{Status: []string{"pending", "active", "failed"}[i%3], Priority: i / 6, Owes: i%3 == 1, Summary: "{}"}
		if i%2 == 0 {
			row.Labels = []string{"even"}
		}
		if i%3 == 1 {
			row.Agent = "developer"
		}
		addTask(t, st, fmt.Sprint("t", i), i, row)
	}
	list := func(q store.TaskQuery) string {
		t.Helper()
		var ids []string
		for {
			rows, next, err := reopen().Tasks(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				ids = append(ids, strings.TrimPrefix(r.ID, "t"))
			}
			if next == "" {
				return strings.Join(ids, " ")
			}
			if len(rows) != q.Limit {
				t.Errorf("a page has %d rows, want %d", len(rows), q.Limit)
			}
			q.From = next
		}
	}
	for _, c := range []struct {
		q    store.TaskQuery
		want string
	}{
		{store.TaskQuery{}, "11 10 9 8 7 6 5 4 3 2 1 0"},
		{store.TaskQuery{Limit: 5}, "11 10 9 8 7 6 5 4 3 2 1 0"},
		{store.TaskQuery{Status: []string{"active"}}, "10 7 4 1"},
		{store.TaskQuery{Status: []string{"active", "failed"}, Limit: 3}, "11 10 8 7 5 4 2 1"},
		{store.TaskQuery{Label: "even", Limit: 4}, "10 8 6 4 2 0"},
		{store.TaskQuery{Label: "even", Agent: "developer"}, "10 4"},
		{store.TaskQuery{Owes: true}, "10 7 4 1"},
		{store.TaskQuery{Label: "odd"}, ""},
	} {
		if got := list(c.q); got != c.want {
			t.Errorf("%+v selects %s, want %s", c.q, got, c.want)
		}
	}
	row := store.TaskRow{Status: "pending", Labels: []string{"odd"}}
	if err := st.AppendTask(t.Context(), store.TaskAppend{Task: "t0", After: 1, Events: taskEvents(20, 1), Row: row}); err != nil {
		t.Fatal(err)
	}
	if got := list(store.TaskQuery{Label: "even"}); slices.Contains(strings.Fields(got), "0") {
		t.Errorf("a label that was taken off selects %s", got)
	}
	if got := list(store.TaskQuery{Label: "odd"}); got != "0" {
		t.Errorf("a label that was put on selects %q", got)
	}
}

func testTaskFeed(t *testing.T, st store.Store, reopen func() store.Store) {
	ctx := t.Context()
	addTask(t, st, "t1", 0, store.TaskRow{Status: "pending"})
	addTask(t, st, "t2", 1, store.TaskRow{Status: "pending"})
	wantErr(t, "more", reopen().AppendTask(ctx, store.TaskAppend{Task: "t1", After: 1, Events: taskEvents(2, 2), Row: store.TaskRow{Status: "pending"}}), nil)
	read := func(after int64, limit int) (feed []store.FeedEntry) {
		t.Helper()
		feed, err := st.TaskFeed(ctx, after, limit)
		wantErr(t, "the feed", err, nil)
		return feed
	}
	short := func(feed []store.FeedEntry) (all []string) {
		for _, f := range feed {
			all = append(all, fmt.Sprint(f.Task, " ", f.Event.Seq))
		}
		return all
	}
	all := read(0, 100)
	if end, err := st.TaskFeedEnd(ctx); end != all[3].Position || err != nil {
		t.Errorf("the feed ends at %d, %v; its last entry is %d", end, err, all[3].Position)
	}
	diff(t, "the feed", short(all), []string{"t1 1", "t2 1", "t1 2", "t1 3"})
	diff(t, "an event", all[3].Event, loadTask(t, st, "t1", 2)[0])
	diff(t, "a page", short(read(all[0].Position, 2)), []string{"t2 1", "t1 2"})
	last := all[3].Position
	wantErr(t, "removed", st.RemoveTask(ctx, "t1"), nil)
	diff(t, "after a removal", short(read(last, 100)), []string{"t1 0"})
	diff(t, "all after a removal", short(read(0, 100)), []string{"t2 1", "t1 0"})
	removed := read(last, 1)[0].Position
	wantErr(t, "removed", reopen().RemoveTask(ctx, "t2"), nil)
	addTask(t, st, "t3", 3, store.TaskRow{Status: "pending"})
	diff(t, "positions are not used again", short(read(removed, 100)), []string{"t2 0", "t3 1"})
}
