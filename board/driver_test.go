package board_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/app"
	"pawl/board"
	"pawl/config"
	"pawl/request"
	"pawl/run"
	"pawl/task"
	"pawl/tasklog"
	"pawl/worker"
)

// A place is a folder with tasks and a scripted model.
type place struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newPlace(t *testing.T, replies string) *place {
	t.Helper()
	top := t.TempDir()
	script := filepath.Join(top, "model.jsonl")
	if err := os.WriteFile(script, []byte(replies), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &place{t: t, dir: dir, env: map[string]string{"HOME": top, "PAWL_STATE_DIR": filepath.Join(top, "state"), "PAWL_MODEL": "script/" + script}}
}

// environment is that of a process that is started now.
func (p *place) environment() config.Env {
	env := maps.Clone(p.env)
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// open opens the place as one more process does.
func (p *place) open() *app.Workspace {
	p.t.Helper()
	ws, err := app.Open(app.Options{
		Dir: p.dir, Drives: true, OnAsk: worker.AskWait,
		Env: p.environment(),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { ws.Close() })
	return ws
}

// drives drives all tasks until the returned function is called.
func (p *place) drives(ws *app.Workspace, opt board.Options) (stop func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := board.NewDriver(ws, opt).Drive(ctx); err != nil {
			p.t.Errorf("drive: %v", err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	p.t.Cleanup(stop)
	return stop
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, ws *app.Workspace, description string) task.ID {
	t.Helper()
	s, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: description})
	ok(t, err)
	return s.Created.Task
}

// until waits until the task is as wanted.
func until(t *testing.T, ws *app.Workspace, id task.ID, what string, is func(task.State) bool) task.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // only what never comes fails
	defer cancel()
	for _, err := range board.Of(ws).Follow(ctx, id, 0) {
		ok(t, err)
		s, err := board.Of(ws).Load(t.Context(), id)
		ok(t, err)
		if is(s) {
			return s
		}
	}
	s, err := board.Of(ws).Load(t.Context(), id)
	t.Fatalf("task %s never was %s: it is %+v, owed %+v, %v", id, what, s.Status, s.Next(), err)
	return s
}

func at(name task.StatusName) (string, func(task.State) bool) {
	return string(name), func(s task.State) bool { return s.Status.Name == name && !s.Owes() }
}

func wait(t *testing.T, ws *app.Workspace, id task.ID, name task.StatusName) task.State {
	t.Helper()
	what, is := at(name)
	return until(t, ws, id, what, is)
}

const (
	plan   = `{"when":{"first":"Plan this task"},"repeat":true,"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"],"assignedAgent":"developer"}}]}` + "\n"
	report = `{"when":{"first":"Carry out this task"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"There are three."}}]}` + "\n"
)

func TestATaskIsPlannedAskedStartedAndCompleted(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
{"when":{"first":"Plan this task","contains":"2. Folders too?\nNo."},"calls":[{"tool":"planner-output","args":{"tool":"planner-output","type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["list","count"]}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Hidden ones?","Folders too?"]}}]}
{"when":{"first":"Carry out this task","contains":"Folders too?"},"text":"I count.","calls":[{"tool":"shell","args":{"command":"touch counted"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three.","output":"3"}}]}
`)
	ws := p.open()
	var mu sync.Mutex
	var told []string
	p.drives(ws, board.Options{Notify: func(n task.Notify) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, n.For)
	}})
	id := add(t, ws, "Count the files.")
	isTold := func(what string) { // else it may be over before the driver has seen it
		t.Helper()
		until(t, ws, id, "told: "+what, func(task.State) bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Contains(told, what)
		})
	}
	_, err := board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	s := wait(t, ws, id, task.AwaitingInput)
	isTold("answers")
	if q := s.OpenQuestions(); !slices.Equal(q, []string{"Hidden ones?", "Folders too?"}) {
		t.Errorf("it asks %q", q)
	}
	_, err = board.Of(ws).Do(t.Context(), id, "anna", task.SubmitAnswers{Answers: []string{"Yes.", "No."}})
	ok(t, err)
	s = wait(t, ws, id, task.Planned)
	if len(s.Chain) != 1 || len(s.Chain[0].Assignments) != 2 || s.Chain[0].Prompted != 2 {
		t.Errorf("the answers went back as %+v", s.Chain)
	}
	_, err = board.Of(ws).Start(t.Context(), id, "anna", "")
	ok(t, err)
	s = until(t, ws, id, "waiting for a permission", func(s task.State) bool { return s.WaitsFor() == "permission" })
	isTold("permission")
	// Another process answers, and says something.
	other := p.open()
	_, err = board.Of(other).Do(t.Context(), id, "ben", task.Say{ID: "m1", Text: "Be quick."})
	ok(t, err)
	until(t, ws, id, "told", func(s task.State) bool { return s.Messages[0].State == task.MessageIsDelivered })
	_, err = other.Decide(t.Context(), s.Permissions[0].Run, request.Decide{Call: s.Permissions[0].Call, Answer: run.Allow, By: "ben"})
	ok(t, err)
	s = wait(t, ws, id, task.Completed)
	if s.Report.Output != "3" || s.Messages[0].State != task.MessageIsDelivered || len(s.Permissions) != 0 {
		t.Errorf("the task is %+v", s)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "counted")); err != nil {
		t.Error(err)
	}
	isTold("completed")
	tasks, err := ws.Tasks()
	ok(t, err)
	if _, err := tasks.Submit(t.Context(), tasklog.Request{Task: id, Run: s.Chain[1].ID, Tool: "completion_report", Key: "k", Payload: []byte(`{"status":"failed","summary":"No."}`)}); err == nil || err.Error() != "Completion report already submitted" {
		t.Errorf("submitted again: %v", err)
	}
	events, err := board.Of(ws).Events(t.Context(), id, 0, 0)
	ok(t, err)
	if events[len(events)-1].Seq != int64(len(events)) {
		t.Errorf("the history has %d events, the last is number %d", len(events), events[len(events)-1].Seq)
	}
}

// The process may be interrupted as soon as it is there.
func TestADriverThatIsStoppedBeforeItBeginsHasNoError(t *testing.T) {
	t.Parallel()
	ws := newPlace(t, "").open()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := board.NewDriver(ws, board.Options{}).Drive(ctx); err != nil {
		t.Error(err)
	}
	next, stop := context.WithCancel(t.Context()) // and it holds nothing
	if err := board.NewDriver(ws, board.Options{Driving: stop}).Drive(next); err != nil || next.Err() == nil {
		t.Errorf("the next one: %v", err)
	}
}

// What a run needs that the agent of a task has started is answered from another process too.
func TestACallOfAChildRunOfATaskIsAllowedFromElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+`
{"when":{"first":"write left"},"calls":[{"tool":"shell","args":{"command":"touch left"}}]}
{"when":{"first":"write left"},"text":"Written."}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"agent","args":{"prompt":"write left"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}
`)
	ws, other := p.open(), p.open()
	p.drives(ws, board.Options{Runs: 1})
	id := add(t, ws, "write it")
	_, err := board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	wait(t, ws, id, task.Planned)
	_, err = board.Of(ws).Start(t.Context(), id, "anna", "")
	ok(t, err)
	s := until(t, other, id, "waiting for a permission", func(s task.State) bool { return len(s.Permissions) == 1 })
	ask := s.Permissions[0]
	if ask.Run != run.ChildID(s.Status.Run, "c_1") {
		t.Errorf("the call of %s waits, not that of the child of %s", ask.Run, s.Status.Run)
	}
	taken, err := other.Decide(t.Context(), ask.Run, request.Decide{Call: ask.Call, Answer: run.Allow, By: "ben"})
	if err != nil || !taken {
		t.Errorf("taken: %t, %v", taken, err)
	}
	wait(t, ws, id, task.Completed)
	if _, err := os.Stat(filepath.Join(p.dir, "left")); err != nil {
		t.Error(err)
	}
}

func TestAPauseStopsTheRunAndAResumeContinuesIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+`
{"when":{"first":"Carry out this task","contains":"faster"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three."}}]}
{"when":{"first":"Carry out this task"},"text":"I think about it","hang":true}
`)
	ws := p.open()
	p.drives(ws, board.Options{})
	id := add(t, ws, "Count the files.")
	_, err := board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	wait(t, ws, id, task.Planned)
	_, err = board.Of(ws).Start(t.Context(), id, "anna", "developer")
	ok(t, err)
	s := until(t, ws, id, "at work", func(s task.State) bool { return len(s.Chain) == 2 && s.Chain[1].Prompted == 1 })
	_, err = board.Of(p.open()).Do(t.Context(), id, "anna", task.Move{On: task.OnPause})
	ok(t, err)
	s = wait(t, ws, id, task.Waiting)
	_, state, err := ws.Load(t.Context(), s.Chain[1].ID)
	if err != nil || state.Turn.End.End != run.EndInterrupted {
		t.Errorf("the run ended %+v, %v", state.Turn.End, err)
	}
	_, err = board.Of(ws).Do(t.Context(), id, "anna", task.Resume{Words: "Work faster."})
	ok(t, err)
	s = wait(t, ws, id, task.Completed)
	if len(s.Chain) != 2 || len(s.Chain[1].Assignments) != 2 {
		t.Errorf("it was resumed as %+v", s.Chain)
	}
}

// What another process does to tasks whose runs wait for a person reaches their driver: one is
// told something, another is paused, a third continues because its call is allowed.
func TestADriverSeesWhatAnotherProcessDoesToTasksThatWait(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+`
{"when":{"first":"Carry out this task","contains":"waited.txt"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}
{"when":{"first":"Carry out this task","contains":"be quick"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Quick."}}]}
{"when":{"first":"Carry out this task"},"repeat":true,"calls":[{"tool":"shell","args":{"command":"touch waited.txt && ls waited.txt"}}]}
`)
	ws, other := p.open(), p.open()
	p.drives(ws, board.Options{Runs: 1})
	var ids []task.ID
	for range 3 {
		id := add(t, other, "wait for a person")
		_, err := board.Of(other).Plan(t.Context(), id, "anna")
		ok(t, err)
		wait(t, other, id, task.Planned)
		_, err = board.Of(other).Start(t.Context(), id, "anna", "")
		ok(t, err)
		until(t, other, id, "waiting for approval", func(s task.State) bool { return len(s.Permissions) == 1 })
		ids = append(ids, id)
	}
	told, paused, allowed := ids[0], ids[1], ids[2]

	_, err := board.Of(other).Do(t.Context(), told, "anna", task.Say{ID: "m-1", Text: "be quick"})
	ok(t, err)
	until(t, other, told, "told", func(s task.State) bool { return s.Messages[0].State != task.MessageWaits })
	_, err = board.Of(other).Do(t.Context(), paused, "anna", task.Move{On: task.OnPause})
	ok(t, err)
	wait(t, other, paused, task.Waiting)

	s, err := board.Of(other).Load(t.Context(), allowed)
	ok(t, err)
	w := s.Status
	calls, err := other.Approvals(t.Context(), w.Run)
	ok(t, err)
	_, err = other.Decide(t.Context(), w.Run, request.Decide{Call: calls[0].Call.ID, Answer: run.Allow, Digest: calls[0].Digest, By: "anna"})
	ok(t, err)
	wait(t, other, allowed, task.Completed)
}

// A driver that ends leaves its tasks at work, and the next one continues them; so does one
// that finds what a killed one has left.
func TestTheNextDriverContinues(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+`{"when":{"first":"Carry out this task"},"text":"I think about it","hang":true}`+"\n")
	ws := p.open()
	stop := p.drives(ws, board.Options{})
	id := add(t, ws, "Count the files.")
	_, err := board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	wait(t, ws, id, task.Planned)
	_, err = board.Of(ws).Start(t.Context(), id, "anna", "")
	ok(t, err)
	until(t, ws, id, "at work", func(s task.State) bool { return len(s.Chain) == 2 && s.Chain[1].Prompted == 1 })
	stop()
	s, err := board.Of(ws).Load(t.Context(), id)
	if err != nil || s.Status.Name != task.Active || !s.Owes() {
		t.Fatalf("after the end of its driver the task is %+v, %v", s.Status, err)
	}
	ok(t, os.WriteFile(strings.TrimPrefix(p.env["PAWL_MODEL"], "script/"), []byte(report), 0o600))
	ok(t, board.NewDriver(p.open(), board.Options{}).Drive(t.Context(), id))
	s = wait(t, ws, id, task.Completed)
	if len(s.Chain) != 2 || len(s.Chain[1].Assignments) != 1 {
		t.Errorf("it was continued as %+v", s.Chain)
	}
}

// Every way in which a run can fail writes a state that a person can act on.
// A person who interrupts the driver interrupts no task, at whatever moment: here when it is about
// to continue what another one left.
func TestAnInterruptOfTheDriverInterruptsNoTask(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"when":{"first":"Plan this task"},"text":"I think about it","hang":true,"repeat":true}`+"\n")
	ws := p.open()
	id := add(t, ws, "Count the files.")
	stop := p.drives(ws, board.Options{})
	_, err := board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	until(t, ws, id, "at work", func(s task.State) bool { return len(s.Chain) == 1 && s.Chain[0].Prompted == 1 })
	stop()
	for range 3 {
		interrupted, cancel := context.WithCancelCause(t.Context())
		opt := board.Options{Session: func(task.ID, *app.Session) {
			cancel(worker.Stop{Interrupted: run.Interrupted{Cause: run.ByPerson}})
		}}
		ok(t, board.NewDriver(ws, opt).Drive(interrupted))
		s, err := board.Of(ws).Load(t.Context(), id)
		ok(t, err)
		if s.Status.Name != task.Planning || !s.Owes() {
			t.Fatalf("it is %+v, owed %+v", s.Status, s.Next())
		}
	}
	ok(t, os.WriteFile(strings.TrimPrefix(p.env["PAWL_MODEL"], "script/"), []byte(plan), 0o600))
	p.drives(p.open(), board.Options{})
	wait(t, ws, id, task.Planned)
}

func TestEveryFailureWritesAState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		replies string
		env     map[string]string
		want    task.StatusName
		says    string
	}{
		{name: "the planner says that there can be no plan", replies: `{"calls":[{"tool":"planner-output","args":{"type":"error","error":"there are no files"}}]}`, want: task.Failed, says: "there are no files"},
		{name: "the planner never submits", replies: `{"text":"Looks good.","repeat":true}`, want: task.Failed, says: `task-validator ended without calling planner-output, after 2 reminders; it said last: "Looks good."`},
		{name: "there is no provider", replies: `{"text":"x"}`, env: map[string]string{"PAWL_MODEL": "anthropic/claude-x"}, want: task.Failed, says: "could not be started"},
		{name: "the script is gone", replies: `{"text":"x"}`, env: map[string]string{"PAWL_MODEL": "script/nowhere.jsonl"}, want: task.Failed, says: "nowhere.jsonl"},
		{name: "the provider refuses the key", replies: `{"error":{"status":401,"message":"bad key"},"times":99}`, want: task.Failed, says: "task-validator failed: "},
		{name: "the provider filters the answer", replies: `{"text":"I cannot","stop":"refusal"}`, want: task.Failed, says: "the provider refused"},
		{name: "a limit is reached", replies: `{"calls":[{"tool":"list","args":{}}],"repeat":true}`, env: map[string]string{"PAWL_MAX_STEPS": "2"}, want: task.Waiting, says: "task-validator reached a limit"},
		{name: "it goes round in circles", replies: `{"calls":[{"tool":"list","args":{}}],"repeat":true}`, want: task.Waiting, says: "went round in circles"},
		{name: "it asks", replies: plan + `{"when":{"first":"Carry out"},"calls":[{"tool":"ask","args":{"question":"Which colour?"}}]}`, want: task.Waiting, says: "asks a question"},
		{name: "the model answers nothing", replies: `{"text":"","repeat":true,"times":9}`, want: task.Failed, says: "task-validator failed"},
		{name: "it takes too long", replies: `{"text":"I think","hang":true}`, env: map[string]string{"PAWL_TIMEOUT": "300ms"}, want: task.Waiting, says: "time limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, c.replies+"\n")
			ws := p.open()
			id := add(t, ws, "Count the files.")
			_, err := board.Of(ws).Plan(t.Context(), id, "anna")
			ok(t, err)
			for name, value := range c.env { // it changes after the task was accepted
				p.env[name] = value
			}
			ws = p.open()
			ok(t, board.NewDriver(ws, board.Options{}).Drive(t.Context(), id))
			if strings.Contains(c.replies, "Carry out") {
				_, err := board.Of(ws).Start(t.Context(), id, "anna", "")
				ok(t, err)
				ok(t, board.NewDriver(ws, board.Options{}).Drive(t.Context(), id))
			}
			s := wait(t, ws, id, c.want)
			detail := s.Summary().Detail
			if !strings.Contains(detail, c.says) {
				t.Errorf("it says %q, want %q", detail, c.says)
			}
			if len(s.May()) == 0 {
				t.Error("a person can do nothing")
			}
		})
	}
}

func TestRunsAtOnceAreBoundedAndTheUrgentComeFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"when":{"first":"Plan this task"},"repeat":true,"delay_ms":20,"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"s","requirements":[],"acceptanceCriteria":[],"plan":["p"]}}]}`+"\n")
	ws := p.open()
	var ids []task.ID
	for i := range 8 {
		s, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: fmt.Sprint("task ", i), Priority: i % 2})
		ok(t, err)
		ids = append(ids, s.Created.Task)
		_, err = board.Of(ws).Plan(t.Context(), s.Created.Task, "anna")
		ok(t, err)
	}
	var mu sync.Mutex
	var order []int
	p.drives(ws, board.Options{Runs: 1, Session: func(id task.ID, _ *app.Session) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, slices.Index(ids, id))
	}})
	for _, id := range ids {
		wait(t, ws, id, task.Planned)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(order) != 8 {
		t.Errorf("opened %v", order)
	}
	for _, i := range order[1:4] { // the first to come may have been any
		if i%2 == 0 {
			t.Errorf("the order was %v: those with priority 1 come first", order)
		}
	}
}

// A chain of tasks that start by themselves: each begins when the one before is completed, whoever
// completes it, and what was not said to start does not.
func TestTasksStartWhenThoseTheyDependOnAreCompleted(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+report)
	ws := p.open()
	first := add(t, ws, "First.")
	depends := func(on task.ID, start bool) task.ID {
		s, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: "Next.", DependsOn: []task.ID{on}, Start: start})
		ok(t, err)
		return s.Created.Task
	}
	second := depends(first, true)
	third := depends(second, true)
	ok(t, board.NewDriver(ws, board.Options{}).Drive(t.Context(), second)) // there is nothing to do for it yet
	p.drives(ws, board.Options{Runs: 1})
	late := depends(first, true)
	unsaid := depends(first, false)
	other := p.open()
	_, err := board.Of(other).Plan(t.Context(), first, "anna")
	ok(t, err)
	wait(t, other, first, task.Planned)
	for _, id := range []task.ID{second, third, late} {
		s, err := board.Of(other).Load(t.Context(), id)
		ok(t, err)
		if s.Status.Name != task.Pending {
			t.Errorf("task %s is %s before the one that it depends on", id, s.Status.Name)
		}
	}
	_, err = board.Of(other).Start(t.Context(), first, "anna", "")
	ok(t, err)
	wait(t, other, third, task.Completed)
	wait(t, other, late, task.Completed)
	if s := wait(t, other, second, task.Completed); len(s.Chain) != 2 {
		t.Errorf("it has the runs %+v", s.Chain)
	}
	wait(t, other, unsaid, task.Pending)
}

// A task that loses what it waited for starts by itself only if that was completed.
func TestATaskThatLosesADependencyDoesNotStart(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+report)
	ws := p.open()
	depends := func(on ...task.ID) task.ID {
		s, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: "Next.", DependsOn: on, Start: true})
		ok(t, err)
		return s.Created.Task
	}
	edit := func(id task.ID, e task.Edited) task.State {
		s, err := board.Of(ws).Do(t.Context(), id, "anna", e)
		ok(t, err)
		return s
	}
	failed, done := add(t, ws, "Failed."), depends()
	ok(t, board.NewDriver(ws, board.Options{}).Drive(t.Context(), done))
	wait(t, ws, done, task.Completed)
	_, err := board.Of(ws).Do(t.Context(), failed, "anna", task.Move{On: task.OnCancel})
	ok(t, err)
	edited, removed, both, said, after := depends(failed), depends(failed), depends(failed, done), depends(failed), depends(done)
	edit(edited, task.Edited{DependsOn: &[]task.ID{}})
	edit(both, task.Edited{DependsOn: &[]task.ID{failed}}) // what it loses was completed
	edit(said, task.Edited{DependsOn: &[]task.ID{}, Start: new(true)})
	held, err := board.Of(ws).Remove(t.Context(), failed)
	ok(t, err)
	slices.Sort(held)
	want := []task.ID{removed, both}
	slices.Sort(want)
	if !slices.Equal(held, want) {
		t.Errorf("%v do not start any more, want %v", held, want)
	}
	if held, err := board.Of(ws).Remove(t.Context(), done); err != nil || len(held) > 0 {
		t.Errorf("%v do not start after what was completed: %v", held, err)
	}
	p.drives(ws, board.Options{})
	wait(t, ws, said, task.Completed)
	wait(t, ws, after, task.Completed)
	for _, id := range []task.ID{edited, removed, both} {
		if s, err := board.Of(ws).Load(t.Context(), id); err != nil || s.Status.Name != task.Pending || s.Starts() {
			t.Errorf("task %s is %+v: %v", id, s.Status, err)
		}
	}
}

// What keeps a task from starting by itself is its end, with the reason; a person can try again.
func TestATaskThatCannotStartByItselfSaysWhy(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+report)
	ws := p.open()
	s, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: "Count.", Start: true, Isolation: task.Clone})
	ok(t, err)
	ok(t, board.NewDriver(ws, board.Options{}).Drive(t.Context(), s.Created.Task))
	s = wait(t, ws, s.Created.Task, task.Failed)
	if f := s.Status; f.Reason != "cannot_start" || !strings.Contains(f.Detail, "isolation") || s.Plan == nil {
		t.Errorf("the task is %+v", f)
	}
}

func TestATaskStartsWhenItsDependenciesAreCompleted(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+report)
	ws := p.open()
	first := add(t, ws, "First.")
	s, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: "Second.", DependsOn: []task.ID{first}})
	ok(t, err)
	second := s.Created.Task
	if _, err := board.Of(ws).Do(t.Context(), first, "anna", task.Edited{DependsOn: &[]task.ID{second}}); err == nil || !strings.Contains(err.Error(), "cycle") {
		t.Errorf("a cycle: %v", err)
	}
	if _, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: "x", DependsOn: []task.ID{"t-nowhere"}}); err == nil {
		t.Error("a task depends on one that is not there")
	}
	p.drives(ws, board.Options{})
	for _, id := range []task.ID{first, second} {
		_, err := board.Of(ws).Plan(t.Context(), id, "anna")
		ok(t, err)
		wait(t, ws, id, task.Planned)
	}
	if _, err := board.Of(ws).Start(t.Context(), second, "anna", ""); !errors.As(err, new(*task.TransitionError)) || !strings.Contains(err.Error(), string(first)) {
		t.Errorf("started before what it depends on: %v", err)
	}
	for _, id := range []task.ID{first, second} {
		_, err := board.Of(ws).Start(t.Context(), id, "anna", "")
		ok(t, err)
		wait(t, ws, id, task.Completed)
	}
}

// Fifty people, in two processes, each make a task depend on the next, which would be a circle:
// whoever comes last is refused.
func TestEditsAtOnceCloseNoCircleOfDependencies(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+report)
	processes := []*app.Workspace{p.open(), p.open()}
	ids := make([]task.ID, 50)
	for i := range ids {
		ids[i] = add(t, processes[0], fmt.Sprint("Task ", i))
	}
	errs := make([]error, len(ids))
	var wait sync.WaitGroup
	for i, id := range ids {
		wait.Go(func() {
			next := []task.ID{ids[(i+1)%len(ids)]}
			_, errs[i] = board.Of(processes[i%2]).Do(context.Background(), id, "anna", task.Edited{DependsOn: &next})
		})
	}
	wait.Wait()
	refused := 0
	for i, err := range errs {
		s, lerr := board.Of(processes[0]).Load(t.Context(), ids[i])
		ok(t, lerr)
		if err != nil {
			refused++
			if !errors.As(err, new(*task.InputError)) || !strings.HasPrefix(err.Error(), "depends_on: the dependencies would be a cycle: "+string(ids[i])) || len(s.DependsOn) > 0 {
				t.Errorf("task %d depends on %v: %v", i, s.DependsOn, err)
			}
		} else if len(s.DependsOn) != 1 {
			t.Errorf("task %d depends on %v", i, s.DependsOn)
		}
	}
	if refused != 1 {
		t.Errorf("%d of %d were refused, want 1", refused, len(ids))
	}
}

func TestTheAgentIsGivenWhatIsAttached(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"when":{"contains":"a secret word"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Which?"]}}]}
{"when":{"contains":"a second file"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"s","requirements":[],"acceptanceCriteria":[],"plan":["p"]}}]}
`)
	ws := p.open()
	id := add(t, ws, "Read the file.")
	s, err := board.Of(ws).Attach(t.Context(), id, "anna", "../../odd name?.txt", strings.NewReader("a secret word"))
	ok(t, err)
	a := s.Attachments[0]
	if a.Name != "odd_name_.txt" || a.Size != 13 || !strings.HasPrefix(a.Type, "text/plain") {
		t.Errorf("attached %+v", a)
	}
	file := filepath.Join(ws.State, "attachments", string(id), a.ID, a.Name)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := board.Of(ws).Attach(t.Context(), id, "anna", "big", strings.NewReader(strings.Repeat("x", tasklog.MaxAttachment+1))); !errors.As(err, new(*board.TooLargeError)) {
		t.Errorf("too large: %v", err)
	}
	var b bytes.Buffer
	ok(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))))
	picture := b.String()
	_, err = board.Of(ws).Attach(t.Context(), id, "anna", "..png", strings.NewReader(picture))
	ok(t, err)
	_, err = board.Of(ws).Attach(t.Context(), id, "anna", "a.bin", strings.NewReader("\x00\xff"))
	ok(t, err)
	_, err = board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	ok(t, board.NewDriver(ws, board.Options{}).Drive(t.Context(), id))
	wait(t, ws, id, task.AwaitingInput)
	_, err = board.Of(ws).Attach(t.Context(), id, "anna", "second.md", strings.NewReader("a second file"))
	ok(t, err)
	_, err = board.Of(ws).Do(t.Context(), id, "anna", task.SubmitAnswers{Answers: []string{"This."}})
	ok(t, err)
	ok(t, board.NewDriver(ws, board.Options{}).Drive(t.Context(), id))
	s = wait(t, ws, id, task.Planned)
	_, state, err := ws.Load(t.Context(), s.Chain[0].ID)
	ok(t, err)
	var told string
	images := 0
	for _, m := range state.Messages {
		told += run.PlainText(m.Parts)
		for _, part := range m.Parts {
			if part.Image != nil && string(part.Image.Data) == picture {
				images++
			}
		}
	}
	if images != 1 || strings.Count(told, "a secret word") != 1 || !strings.Contains(told, "- a.bin (") || !strings.Contains(told, "a.bin is neither a text nor a picture") {
		t.Errorf("the agent was told %q, with %d pictures", told, images)
	}
	_, err = board.Of(ws).Remove(t.Context(), id)
	ok(t, err)
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is left")
	}
	if _, err := board.Of(ws).Load(t.Context(), id); err == nil {
		t.Error("the task is left")
	}
	if runs, err := ws.Runs(t.Context(), 0); len(runs) > 0 || err != nil {
		t.Errorf("its runs are left: %v, %v", runs, err)
	}
}

// TestAPlanCanOnlyBeForAnAgentThatThereIs: what a planner assigns is checked, and it can submit
// again.
func TestAPlanCanOnlyBeForAnAgentThatThereIs(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
{"when":{"first":"Plan this task","contains":"assignedAgent"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"],"assignedAgent":"reviewer"}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"],"assignedAgent":"plumber"}}]}
`)
	ws := p.open()
	p.drives(ws, board.Options{})
	id := add(t, ws, "Count.")
	_, err := board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	s := wait(t, ws, id, task.Planned)
	if s.Plan.AssignedAgent != "reviewer" {
		t.Errorf("%+v", s.Plan)
	}
	events, _, err := ws.Load(t.Context(), s.Chain[0].ID)
	ok(t, err)
	refused := slices.ContainsFunc(events, func(e run.Event) bool {
		c, ok := e.Payload.(run.CallSettled)
		return ok && c.IsError && strings.Contains(fmt.Sprint(c.Content), `there is no agent "plumber"`)
	})
	if !refused {
		t.Errorf("the first plan was not refused: %+v", events)
	}
}

func TestAHundredTasksWorkAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := newPlace(t, plan+report)
	ws := p.open()
	var ids []task.ID
	for range 100 {
		id := add(t, ws, "Count.")
		_, err := board.Of(ws).Plan(t.Context(), id, "anna")
		ok(t, err)
		ids = append(ids, id)
	}
	p.drives(ws, board.Options{Runs: 100})
	for _, id := range ids {
		wait(t, ws, id, task.Planned)
		_, err := board.Of(ws).Start(t.Context(), id, "anna", "")
		ok(t, err)
	}
	for _, id := range ids {
		if s := wait(t, ws, id, task.Completed); len(s.Chain) != 2 {
			t.Errorf("task %s had the runs %+v", id, s.Chain)
		}
	}
}

// Who stops following a task is told no error, at whatever moment: the read that was broken off is none.
func TestAFollowerThatStopsIsToldNoError(t *testing.T) {
	t.Parallel()
	ws := newPlace(t, "").open()
	id := add(t, ws, "Count the files.")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, err := range board.Of(ws).Follow(ctx, id, 0) {
		ok(t, err)
	}
}

// A person's plan names an agent that can carry it out, as a planner's does.
func TestAnEditedPlanNamesAWorker(t *testing.T) {
	t.Parallel()
	ws := newPlace(t, plan).open()
	id := add(t, ws, "Count the files.")
	_, err := board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	ok(t, board.NewDriver(ws, board.Options{}).Drive(t.Context(), id))
	s := wait(t, ws, id, task.Planned)
	for agent, want := range map[string]string{"plumber": `there is no agent "plumber"`, "task-validator": "is not a worker", "writer": ""} {
		p := *s.Plan
		p.AssignedAgent = agent
		_, err := board.Of(ws).Do(t.Context(), id, "anna", task.Edited{Plan: &p})
		if want == "" {
			ok(t, err)
		} else if !errors.As(err, new(*task.InputError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", agent, err, want)
		}
	}
}

func TestAResumedRunHasWhatIsLeftOfTheBudgetThen(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+`
{"when":{"first":"Carry out this task","contains":"Carry out"},"text":"I look.","usage":{"input":900,"output":200},"calls":[{"tool":"glob","args":{"pattern":"*"}}]}
{"when":{"first":"Carry out this task","contains":"Once more."},"text":"I look again.","usage":{"input":900,"output":200},"calls":[{"tool":"glob","args":{"pattern":"*.go"}}]}
{"when":{"first":"Carry out this task","contains":"To the end."},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three."}}]}
{"repeat":true,"text":"Half of it."}
`)
	ws := p.open()
	p.drives(ws, board.Options{})
	s, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: "Count the files.", Budget: task.Budget{Tokens: 1000}})
	ok(t, err)
	id := s.Created.Task
	_, err = board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	wait(t, ws, id, task.Planned)
	_, err = board.Of(ws).Start(t.Context(), id, "anna", "")
	ok(t, err)
	s = wait(t, ws, id, task.Waiting)
	if w := s.Status; w.Detail != "developer reached a limit: its budget of 1000 tokens is spent" || s.Advice() != "pawl task resume "+string(id)+" --budget-tokens …" {
		t.Errorf("it waits: %s; next: %s", w.Detail, s.Advice())
	}
	_, err = board.Of(ws).Do(t.Context(), id, "anna", task.Resume{Words: "Once more.", Budget: &task.Budget{Tokens: 2000}})
	ok(t, err)
	s = wait(t, ws, id, task.Waiting)
	if w := s.Status; w.Detail != "developer reached a limit: its budget of 2000 tokens is spent" {
		t.Errorf("it waits: %s", w.Detail)
	}
	_, err = board.Of(ws).Do(t.Context(), id, "anna", task.Resume{Words: "To the end.", Budget: &task.Budget{}})
	ok(t, err)
	wait(t, ws, id, task.Completed)
}

func TestWordsForACompletedTaskContinueTheConversationOfItsRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+`
{"when":{"first":"Carry out this task","contains":"this was reported"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Counted again."}}]}
{"when":{"first":"Carry out this task","contains":"Rename it."},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Renamed."}}]}
`+report)
	ws := p.open()
	p.drives(ws, board.Options{})
	id := add(t, ws, "Count the files.")
	_, err := board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	wait(t, ws, id, task.Planned)
	_, err = board.Of(ws).Start(t.Context(), id, "anna", "")
	ok(t, err)
	wait(t, ws, id, task.Completed)
	said, err := board.Of(ws).Say(t.Context(), id, "anna", task.Say{ID: "m1", Text: "Rename it."})
	ok(t, err)
	if said.Status.Name != task.Active {
		t.Errorf("said to a completed task, it is %s", said.Status.Name)
	}
	s := wait(t, ws, id, task.Completed)
	if r := s.Chain[1]; len(s.Chain) != 2 || s.Report.Summary != "Renamed." || len(r.Assignments) != 2 || r.Assignments[1].Reason != "say" {
		t.Errorf("it continued as %+v, with the report %+v", s.Chain, s.Report)
	}
	again, err := board.Of(ws).Say(t.Context(), id, "anna", task.Say{ID: "m1", Text: "Rename it."})
	if err != nil || again.Seq != s.Seq {
		t.Errorf("said twice it is %+v, %v", again.Status, err)
	}
	// The run was removed: another one is told of it.
	_, err = ws.Remove(t.Context(), s.Chain[1].ID, false)
	ok(t, err)
	_, err = board.Of(ws).Say(t.Context(), id, "anna", task.Say{ID: "m2", Text: "And again."})
	ok(t, err)
	if s = wait(t, ws, id, task.Completed); len(s.Chain) != 3 || s.Report.Summary != "Counted again." {
		t.Errorf("it continued as %+v, with the report %+v", s.Chain, s.Report)
	}
}

func TestASecondDriverOfAFolderNamesTheFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	driving := make(chan struct{})
	p.drives(p.open(), board.Options{Driving: func() { close(driving) }})
	<-driving
	err := board.NewDriver(p.open(), board.Options{}).Drive(t.Context())
	want := fmt.Sprintf("the tasks of this folder are driven by process %d: stop that one first", os.Getpid())
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Workers of two tasks are beside each other where both work in the folder itself.
func TestTasksThatWorkInOneFolderAreKnown(t *testing.T) {
	t.Parallel()
	ws := newPlace(t, "").open()
	does := func(id task.ID, actions ...task.Action) {
		t.Helper()
		for _, a := range actions {
			_, err := board.Of(ws).Do(t.Context(), id, "anna", a)
			ok(t, err)
		}
	}
	active := func(description string) task.ID {
		id := add(t, ws, description)
		plan, work := run.ID("plan-"+string(id)), run.ID("work-"+string(id))
		does(id, task.StartPlanning{Run: plan, Agent: board.PlannerAgent}, task.Note{Run: plan, Fact: task.AgentPrompted{Number: 1, Turn: 1}},
			task.Submit{Run: plan, Submission: task.Submission{Assignment: 1, Call: "c_1"}, Output: task.PlannerOutput{Type: task.OutputPlan, Plan: task.Plan{Summary: "s", Steps: []string{"p"}}}},
			task.End{Run: plan, Begun: true, End: run.Ended{End: run.Completed}}, task.Start{Run: work, Agent: board.DefaultAgent})
		return id
	}
	beside := func(id task.ID, want ...task.ID) {
		t.Helper()
		if got, err := board.Of(ws).Beside(t.Context(), id); err != nil || !slices.Equal(got, want) {
			t.Errorf("beside %s: %v, %v", id, got, err)
		}
	}
	one := active("one")
	beside(one)
	two := active("two")
	beside(one, two)
	beside(two, one)
	does(two, task.CopyMade{Branch: "pawl/two", Base: "1234", Dir: t.TempDir()})
	beside(one)
	beside(two)
	three := active("three")
	does(one, task.Move{On: task.OnPause})
	beside(three)
	beside(one)
}
