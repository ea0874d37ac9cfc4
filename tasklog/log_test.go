package tasklog

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/run"
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
	_, err := Do(b.t.Context(), b.mem, id, "anna", a)
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
	b.must(id, task.Created{Task: id, Description: "Do " + string(id) + ".", DependsOn: on})
}

// A cycle among others is not one of the task; the look for one ends.
func TestACycleIsFoundThatTheTaskIsIn(t *testing.T) {
	t.Parallel()
	graph := map[task.ID][]task.ID{"a": {"b"}, "b": {"c"}, "c": nil, "d": {"a", "c"}, "e": {"f"}, "f": {"e"}}
	of := func(id task.ID) []task.ID { return graph[id] }
	if got := cycle("c", []task.ID{"a"}, of); !slices.Equal(got, []task.ID{"c", "a", "b", "c"}) {
		t.Errorf("c on a: %v", got)
	}
	for id, on := range map[task.ID][]task.ID{"d": {"a", "c", "gone"}, "a": {"e"}} {
		if got := cycle(id, on, of); got != nil {
			t.Errorf("%s on %v: %v", id, on, got)
		}
	}
}

func TestTasksDependOnTasksThatAreThereAndInNoCircle(t *testing.T) {
	t.Parallel()
	b := board{t, storetest.NewMemory()}
	depends := func(id task.ID, on ...task.ID) error {
		return b.try(id, task.Edited{DependsOn: &on})
	}
	wants := func(err error, want string) {
		t.Helper()
		wrong, ok := errors.AsType[*task.InputError](err)
		if !ok || wrong.What != "depends_on: "+want || wrong.Fields["depends_on"] != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	wants(b.try("t1", task.Created{Task: "t1", Description: "x", DependsOn: []task.ID{"gone"}}), "there is no task gone")
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
	if err := b.try("t1", task.Edited{Priority: new(3)}); err != nil {
		t.Errorf("a change of something else: %v", err)
	}
	if err := b.mem.RemoveTask(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	if err := depends("t3", "t2"); err != nil {
		t.Errorf("t3 on t2, whose dependency was removed: %v", err)
	}
	wants(depends("t3", "t1"), "there is no task t1")
	l, err := Load(t.Context(), b.mem, "t3")
	if err != nil || !slices.Equal(l.State.DependsOn, []task.ID{"t2"}) {
		t.Errorf("t3 depends on %v: %v", l.State.DependsOn, err)
	}
}

func TestATaskIsMadeOnceAndThenChanged(t *testing.T) {
	t.Parallel()
	b := board{t, storetest.NewMemory()}
	if err := b.try("t1", task.Move{On: task.OnCancel}); !errors.Is(err, store.ErrNoTask) {
		t.Errorf("what is not there was cancelled: %v", err)
	}
	b.create("t1")
	if err := b.try("t1", task.Created{Task: "t1", Description: "x"}); err == nil || err.Error() != "task t1 is there already" {
		t.Errorf("it was made twice: %v", err)
	}
	if err := b.try("t1", task.Resume{}); !errors.As(err, new(*task.TransitionError)) {
		t.Errorf("a new task was resumed: %v", err)
	}
	broken := errors.New("the disk is broken")
	b.mem.Fault = storetest.FailNth("append task", 1, storetest.Fault{Err: broken})
	if err := b.try("t1", task.Move{On: task.OnCancel}); !errors.Is(err, broken) {
		t.Errorf("cancelled: %v", err)
	}
	b.mem.Fault = storetest.FailNth("append task", 1, storetest.Fault{Err: store.ErrTaskConflict})
	b.must("t1", task.Move{On: task.OnCancel}) // once more, as the other writer has left it
	if err := b.try("t1", task.Say{ID: "m1", Text: "Go on."}); !errors.As(err, new(*task.TransitionError)) {
		t.Errorf("a task continues that no agent has worked on: %v", err)
	}
}

func TestTheEventsOfTasksAreReadInPieces(t *testing.T) {
	t.Parallel()
	b := board{t, storetest.NewMemory()}
	b.create("t1")
	b.create("t2", "t1")
	b.must("t1", task.Move{On: task.OnCancel, Why: "no"})
	b.must("t1", task.Move{On: task.OnRetry})
	for _, c := range []struct {
		after int64
		limit int
		want  int
	}{{0, 0, 3}, {0, 2, 2}, {1, 1, 1}, {2, 0, 1}, {3, 0, 0}} {
		events, err := Events(t.Context(), b.mem, "t1", c.after, c.limit)
		if err != nil || len(events) != c.want || c.want > 0 && events[0].Seq != c.after+1 {
			t.Errorf("after %d at most %d: %+v, %v", c.after, c.limit, events, err)
		}
	}
	if _, err := Events(t.Context(), b.mem, "gone", 0, 0); !errors.Is(err, store.ErrNoTask) {
		t.Errorf("of a task that is not there: %v", err)
	}
	feed := func(after int64, limit int) string {
		t.Helper()
		entries, err := Feed(t.Context(), b.mem, after, limit)
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
		`task_edited 2 {}`:               "task t1: event 2 (task_edited, version 2) cannot be read: it was written by a newer pawl",
		`task_dreamt 1 {}`:               "task t1: event 2 (task_dreamt, version 1) cannot be read: it was written by a newer pawl",
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
		_, loaded := Load(t.Context(), b.mem, "t1")
		done := b.try("t1", task.Move{On: task.OnCancel})
		for _, err := range []error{loaded, done} {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v, want %s", data, err, want)
			}
		}
		_, events := Events(t.Context(), b.mem, "t1", 0, 0)
		feed, fed := Feed(t.Context(), b.mem, 0, 10)
		if readable := strings.Contains(want, "inconsistent"); (events == nil) != readable || (fed == nil) != readable || (len(feed) == 2) != readable {
			t.Errorf("%s: events: %v, feed: %d, %v", data, events, len(feed), fed)
		}
		if err := b.try("t2", task.Created{Task: "t2", Description: "x", DependsOn: []task.ID{"t1"}}); err == nil || errors.As(err, new(*task.InputError)) {
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

func TestWhatIsDoneToATaskIsReturned(t *testing.T) {
	t.Parallel()
	b := board{t, storetest.NewMemory()}
	b.create("t1")
	s, err := Do(t.Context(), b.mem, "t1", "anna", task.Move{On: task.OnCancel, Why: "no"})
	if f := s.Status; err != nil || f.Name != task.Failed || f.Detail != "no" || s.Seq != 2 {
		t.Errorf("after it was cancelled it is %+v: %v", s.Status, err)
	}
	again, err := Do(t.Context(), b.mem, "t1", "anna", task.Move{On: task.OnCancel})
	if err == nil || again.Seq != 2 || again.Status.Name != task.Failed {
		t.Errorf("what was refused left it %+v: %v", again.Status, err)
	}
	row, err := b.mem.Task(t.Context(), "t1")
	if err != nil || row.Status != "failed" || row.Owes || !strings.Contains(row.Summary, `"detail":"no"`) {
		t.Errorf("its row is %+v: %v", row, err)
	}
}

func TestAResultIsTheSameInWhateverFormItIsSubmitted(t *testing.T) {
	t.Parallel()
	worker, _ := submission.Worker.Output()
	declared := run.Output{Tool: "submit_result", Schema: `{"type":"array","items":{"type":"integer"}}`}
	for _, c := range []struct {
		o               run.Output
		stored, payload string
		same            bool
	}{
		{worker, goodReport, goodReport, true},
		{worker, goodReport, `{"summary":"There are three.","status":"complete"}`, true},
		{worker, goodReport, `{"tool":"completion_report","status":"complete","summary":"There are three."}`, true},
		{worker, goodReport, `{"status":"complete","summary":"There are three.","output":null}`, true},
		{worker, goodReport, `{"status":"complete","summary":"There are three.","blockedReason":""}`, true},
		{worker, goodReport, `{"status":"complete","summary":"There are three.","output":"3"}`, false},
		{worker, goodReport, `{"status":"failed","summary":"There are three."}`, false},
		{worker, goodReport, `{"status":"complete","summary":3}`, false},
		{worker, goodReport, `no`, false},
		{declared, `[1,2]`, `{"result":[1,2]}`, true},
		{declared, `[1,2]`, `{"result":[2,1]}`, false},
		{declared, `[10000000000000000001]`, `{"result":[10000000000000000002]}`, false},
	} {
		if got := SamePayload(c.o, c.stored, json.RawMessage(c.payload)); got != c.same {
			t.Errorf("%s and %s are the same: %t", c.stored, c.payload, got)
		}
	}
}

// What a task keeps of words is their beginning.
func TestHowMuchATaskKeepsOfWords(t *testing.T) {
	t.Parallel()
	most := strings.Repeat("ä", 8<<10)
	if clip(most) != most {
		t.Error("what fits is cut")
	}
	if got := clip(most + "y"); got == most+"y" || !strings.HasPrefix(got, most) {
		t.Errorf("of what does not fit %d bytes are kept", len(got))
	}
}

const goodReport = `{"status":"complete","summary":"There are three."}`

// Of requests that came together each has its own key; one that came before has that of its call.
func TestTheKeyOfASubmissionIsThatOfItsRequest(t *testing.T) {
	t.Parallel()
	received := func(n string) run.Event {
		return run.Event{Payload: run.CallReceived{Key: "key " + n, Call: run.Call{ID: run.CallID("c_" + n), Tool: "read", Arguments: "{}"}}}
	}
	s, err := run.Replay([]run.Event{
		{Payload: run.Created{Run: "r", External: true}}, {Payload: run.Prompted{Parts: []run.Part{run.Text("go")}}},
		{Payload: run.RequestStarted{Purpose: run.ForAgent, Attempt: 1}}, received("1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	c := consequences{batch: &batch{}, s: s, calls: map[run.CallID]called{}}
	if err := c.all(nil, []run.Event{{Payload: run.Observed{}}, received("2"), received("3")}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[run.CallID]string{"c_1": "key 1", "c_2": "key 2", "c_3": "key 3", "c_4": ""} {
		if got := c.called(id).key; got != want {
			t.Errorf("the key of %s is %q, want %q", id, got, want)
		}
	}
}
