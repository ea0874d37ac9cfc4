package worker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/store"
	"pawl/store/storetest"
	"pawl/submission"
	"pawl/task"
)

// A board is the tasks of a store in a test.
type board struct {
	t   *testing.T
	mem *storetest.Memory
}

func (b board) try(id task.ID, a task.Action) error {
	b.t.Helper()
	_, err := DoTask(b.t.Context(), b.mem, id, "anna", time.Now, a)
	return err
}

func (b board) must(id task.ID, a task.Action) {
	b.t.Helper()
	if err := b.try(id, a); err != nil {
		b.t.Fatalf("%s: %T: %v", id, a, err)
	}
}

func (b board) create(id task.ID, on ...task.ID) {
	b.t.Helper()
	b.must(id, task.Create{Created: task.Created{Task: id, Description: "Do " + string(id) + ".", DependsOn: on}})
}

func TestTasksDependOnTasksThatAreThereAndInNoCircle(t *testing.T) {
	t.Parallel()
	b := board{t, storetest.NewMemory()}
	depends := func(id task.ID, on ...task.ID) error {
		return b.try(id, task.Edit{Edited: task.Edited{DependsOn: &on}})
	}
	wants := func(err error, want string) {
		t.Helper()
		wrong, ok := errors.AsType[*task.InputError](err)
		if !ok || wrong.What != "depends_on: "+want || wrong.Fields["depends_on"] != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	wants(b.try("t1", task.Create{Created: task.Created{Task: "t1", Description: "x", DependsOn: []task.ID{"gone"}}}), "there is no task gone")
	b.create("t1")
	b.create("t2", "t1")
	b.create("t3", "t2")
	wants(depends("t1", "t3"), "the dependencies would be a cycle: t1 → t3 → t2 → t1")
	wants(depends("t1", "gone"), "there is no task gone")
	if err := depends("t3", "t1"); err != nil {
		t.Errorf("t3 on t1 alone: %v", err)
	}
	if err := depends("t1"); err != nil {
		t.Errorf("t1 on nothing: %v", err)
	}
	if err := b.try("t1", task.Edit{Edited: task.Edited{Priority: new(3)}}); err != nil {
		t.Errorf("a change of something else: %v", err)
	}
	if err := b.mem.RemoveTask(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	if err := depends("t3", "t2"); err != nil {
		t.Errorf("t3 on t2, whose dependency was removed: %v", err)
	}
	wants(depends("t3", "t1"), "there is no task t1")
	l, err := LoadTask(t.Context(), b.mem, "t3")
	if err != nil || !slices.Equal(l.State.DependsOn, []task.ID{"t2"}) {
		t.Errorf("t3 depends on %v: %v", l.State.DependsOn, err)
	}
}

func TestATaskIsMadeOnceAndThenChanged(t *testing.T) {
	t.Parallel()
	b := board{t, storetest.NewMemory()}
	if err := b.try("t1", task.Cancel{}); !errors.Is(err, store.ErrNoTask) {
		t.Errorf("what is not there was cancelled: %v", err)
	}
	b.create("t1")
	if err := b.try("t1", task.Create{Created: task.Created{Task: "t1", Description: "x"}}); err == nil || err.Error() != "task t1 is there already" {
		t.Errorf("it was made twice: %v", err)
	}
	if err := b.try("t1", task.Resume{}); !errors.As(err, new(*task.TransitionError)) {
		t.Errorf("a new task was resumed: %v", err)
	}
	broken := errors.New("the disk is broken")
	b.mem.Fault = storetest.FailNth("append task", 1, storetest.Fault{Err: broken})
	if err := b.try("t1", task.Cancel{}); !errors.Is(err, broken) {
		t.Errorf("cancelled: %v", err)
	}
	b.mem.Fault = storetest.FailNth("append task", 1, storetest.Fault{Err: store.ErrTaskConflict})
	b.must("t1", task.Cancel{}) // once more, as the other writer has left it
	if err := b.try("t1", task.Say{ID: "m1", Text: "Go on."}); !errors.As(err, new(*task.TransitionError)) {
		t.Errorf("a task continues that no agent has worked on: %v", err)
	}
}

func TestTheEventsOfTasksAreReadInPieces(t *testing.T) {
	t.Parallel()
	b := board{t, storetest.NewMemory()}
	b.create("t1")
	b.create("t2", "t1")
	b.must("t1", task.Cancel{Why: "no"})
	b.must("t1", task.Retry{})
	for _, c := range []struct {
		after int64
		limit int
		want  int
	}{{0, 0, 3}, {0, 2, 2}, {1, 1, 1}, {2, 0, 1}, {3, 0, 0}} {
		events, err := TaskEvents(t.Context(), b.mem, "t1", c.after, c.limit)
		if err != nil || len(events) != c.want || c.want > 0 && events[0].Seq != c.after+1 {
			t.Errorf("after %d at most %d: %+v, %v", c.after, c.limit, events, err)
		}
	}
	if _, err := TaskEvents(t.Context(), b.mem, "gone", 0, 0); !errors.Is(err, store.ErrNoTask) {
		t.Errorf("of a task that is not there: %v", err)
	}
	feed := func(after int64, limit int) string {
		t.Helper()
		entries, err := TaskFeed(t.Context(), b.mem, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, e := range entries {
			name := "removed"
			if e.Event.Payload != nil {
				if name, _, _, err = task.Encode(e.Event.Payload); err != nil {
					t.Fatal(err)
				}
			}
			all = append(all, string(e.Task)+" "+name)
		}
		return strings.Join(all, ", ")
	}
	if got := feed(0, 10); got != "t1 task_created, t2 task_created, t1 status_changed, t1 status_changed" {
		t.Errorf("the feed is %s", got)
	}
	if got := feed(1, 2); got != "t2 task_created, t1 status_changed" {
		t.Errorf("a piece of the feed is %s", got)
	}
	if err := b.mem.RemoveTask(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	if got := feed(0, 10); got != "t2 task_created, t1 removed" {
		t.Errorf("after a task was removed, the feed is %s", got)
	}
}

func TestTheLogOfATaskThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`task_edited 1 {`:                "task t1: event 2 (task_edited): ",
		`task_edited 2 {}`:               "task t1: event 2 (task_edited, version 2) was written by a newer pawl and cannot be read by this one",
		`task_dreamt 1 {}`:               "task t1: event 2 (task_dreamt, version 1) was written by a newer pawl and cannot be read by this one",
		`message_delivered 1 {"id":"m"}`: "task t1: event 2: the log is inconsistent: task: event out of order: ",
		`task_created 1 {"task":"t1"}`:   "task t1: event 2: the log is inconsistent: task: event out of order: ",
	} {
		b := board{t, storetest.NewMemory()}
		b.create("t1")
		f := strings.SplitN(data, " ", 3)
		event := store.TaskEvent{At: time.Now(), Type: f[0], Version: int(f[1][0] - '0'), Data: f[2]}
		if err := b.mem.AppendTask(t.Context(), store.TaskAppend{Task: "t1", After: 1, Events: []store.TaskEvent{event}, Row: store.TaskRow{Summary: "{"}}); err != nil {
			t.Fatal(err)
		}
		_, loaded := LoadTask(t.Context(), b.mem, "t1")
		done := b.try("t1", task.Cancel{})
		for _, err := range []error{loaded, done} {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v, want %s", data, err, want)
			}
		}
		_, events := TaskEvents(t.Context(), b.mem, "t1", 0, 0)
		feed, fed := TaskFeed(t.Context(), b.mem, 0, 10)
		if readable := strings.Contains(want, "inconsistent"); (events == nil) != readable || (fed == nil) != readable || (len(feed) == 2) != readable {
			t.Errorf("%s: events: %v, feed: %d, %v", data, events, len(feed), fed)
		}
		if err := b.try("t2", task.Create{Created: task.Created{Task: "t2", Description: "x", DependsOn: []task.ID{"t1"}}}); err == nil || errors.As(err, new(*task.InputError)) {
			t.Errorf("%s: a task depends on one that cannot be read: %v", data, err)
		}
	}
}

func TestTheSamePayloadInAnotherForm(t *testing.T) {
	t.Parallel()
	o, _ := submission.Worker.Output()
	const stored = `{"status":"complete","summary":"Done.","output":"3"}`
	for payload, want := range map[string]bool{
		stored: true,
		`{"output":"3", "summary":"Done.", "status":"complete", "tool":"completion_report"}`: true,
		`{"status":"complete","summary":"Done.","output":"3","blockedReason":null}`:          true,
		`{"status":"complete","summary":"Done.","output":"4"}`:                               false,
		`{"status":"complete","summary":"Done."}`:                                            false,
		`{"status":"complete"}`: false,
		`none`:                  false,
	} {
		if got := SamePayload(o, stored, json.RawMessage(payload)); got != want {
			t.Errorf("%s is the same: %t", payload, got)
		}
	}
	o.Schema = `{"type":"object","properties":{"n":{"type":"number"}}}`
	o.Tool = "result"
	if !SamePayload(o, `{"n":12345678901234567890}`, json.RawMessage(`{"n":12345678901234567890}`)) || SamePayload(o, `{"n":12345678901234567890}`, json.RawMessage(`{"n":12345678901234567891}`)) {
		t.Error("large numbers are not compared whole")
	}
	o.Schema = `[]`
	if SamePayload(o, `{}`, json.RawMessage(`{}`)) {
		t.Error("what a broken schema takes is a result")
	}
}

func TestWhoSubmitsForATaskIsOneOfItsRuns(t *testing.T) {
	t.Parallel()
	r := taskRig(t, `{"text":"never asked"}`)
	for _, c := range []struct {
		q    SubmitRequest
		want string // in the error
	}{
		{SubmitRequest{Task: "t1", Run: "other", Tool: task.PlannerOutputTool}, "run other is not one of task t1"},
		{SubmitRequest{Task: "t2", Run: "r", Tool: task.PlannerOutputTool}, "run r is not one of task t2"},
		{SubmitRequest{Run: "other", Tool: task.PlannerOutputTool}, "run other is not one of task "},
		{SubmitRequest{Task: "t1", Run: "r", Tool: task.PlannerOutputTool, Assignment: 2}, "assignment 2 of run r is over: it is at its assignment 1"},
		{SubmitRequest{Task: "t1", Run: "r", Tool: task.PlannerOutputTool}, "run r has not been told yet what it is asked for now"},
		{SubmitRequest{Task: "t1", Run: "r", Tool: task.CompletionReportTool}, "does not have the tool completion-report"},
	} {
		c.q.Payload = json.RawMessage(goodPlan)
		_, err := r.w.Submit(context.Background(), c.q)
		if e, ok := errors.AsType[*task.SubmissionError](err); !ok || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%+v is answered %v, want %s", c.q, err, c.want)
		}
	}
}
