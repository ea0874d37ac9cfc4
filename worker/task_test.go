package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/store/storetest"
	"pawl/submission"
	"pawl/task"
	"pawl/tasklog"
	"pawl/tool"
)

// Results that are accepted.
const (
	goodPlan   = `{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["list","count"]}`
	goodReport = `{"status":"complete","summary":"There are three."}`
)

var plannerOutput, _ = submission.Planner.Output()

// taskRig is a rig with a task t1 that run r plans.
func taskRig(t *testing.T, replies string) *rig {
	r := newRig(t, replies)
	r.does("anna", task.Created{Task: "t1", Description: "Count the files."})
	r.does("anna", task.StartPlanning{Run: "r", Agent: "task-validator"})
	return r
}

// does does something to the task, as another process does.
func (r *rig) does(by string, a task.Action) {
	r.t.Helper()
	if _, err := tasklog.Do(context.Background(), r.mem.Other(), "t1", by, a); err != nil {
		r.t.Errorf("%T: %v", a, err)
	}
}

func (r *rig) task() task.State {
	r.t.Helper()
	l, err := tasklog.Load(context.Background(), r.mem.Other(), "t1")
	if err != nil {
		r.t.Fatal(err)
	}
	return l.State
}

func (r *rig) wantTask(want task.StatusName) {
	r.t.Helper()
	if got := r.task().Status.Name; got != want {
		r.t.Errorf("the task is %s, want %s", got, want)
	}
}

// history returns the events of the task after the first ones by name.
func (r *rig) history() []string {
	r.t.Helper()
	events, err := tasklog.Events(context.Background(), r.mem.Other(), "t1", 3, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, e := range events {
		name, _, _, err := task.Encode(e.Payload)
		if err != nil {
			r.t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func (r *rig) createPlanner() *Runner {
	return r.createWith(run.Created{Config: run.Config{Model: "m/m", Output: plannerOutput}})
}

// assign says the words of the task's assignment to its run.
func assign(d *Runner, number int, words string) (wait func(context.Context) error) {
	return d.PostForTask([]task.Action{task.Note{Run: d.ID(), Fact: task.AgentPrompted{Number: number}}}, said(words))
}

func TestARunAndItsTaskChangeTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := taskRig(t, `
{"calls":[{"tool":"read","args":{"do":"ok three"}}]}
{"text":"I have looked."}
{"calls":[{"tool":"planner-output","args":{"type":"plans"}}]}
{"calls":[{"tool":"planner-output","args":`+goodPlan+`},{"tool":"edit","args":{"do":"ok never"}}]}`)
		d := r.createPlanner()
		wait := assign(d, 1, "Plan it.")
		s := r.run(d)
		if err := wait(t.Context()); err != nil || s.Turn.End.End != run.Completed {
			t.Errorf("ended %+v, %v", s.Turn.End, err)
		}
		r.wantTask(task.Planned)
		want := []string{"agent_prompted", "tool_executed", "output_reminder_sent", "tool_executed", "planner_output_submitted", "planning_completed",
			"status_changed", "tool_executed", "tool_executed", "agent_completed"}
		if diff := cmp.Diff(want, r.history()); diff != "" {
			t.Errorf("the history (-want +got)\n%s", diff)
		}
		if ran := r.edit.Ran(); len(ran) > 0 {
			t.Errorf("after the submission ran %q", ran)
		}
		if !strings.Contains(strings.Join(results(s), "\n"), `type: "plans" is none of "plan"`) {
			t.Errorf("a wrong variant is answered %q", results(s))
		}
		sub, ok, err := r.mem.Submitted(t.Context(), "r", task.PlannerOutputTool, 1)
		if !ok || err != nil || sub.Value != goodPlan || sub.Task != "t1" {
			t.Errorf("submitted is %+v, %v", sub, err)
		}
		if k := r.task(); k.Owes() || k.Plan.Summary != "Count." || k.Chain[0].Reminders != 1 {
			t.Errorf("the task is %+v", k)
		}
	})
}

// What the disk does not take changes neither the run nor the task, at any append; the next
// process continues, and there is one submission.
func TestAKillAtAnyAppendLeavesRunAndTaskEqual(t *testing.T) {
	t.Parallel()
	const replies = `
{"when":{"contains":"ok three"},"calls":[{"tool":"planner-output","args":` + goodPlan + `}],"repeat":true}
{"calls":[{"tool":"read","args":{"do":"ok ok three"}}],"repeat":true}`
	for n := 1; n < 8; n++ {
		for _, written := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				r := taskRig(t, replies)
				left := n
				r.mem.Fault = func(op storetest.Op) storetest.Fault {
					if op.Name == "append" || op.Name == "append task" {
						if left--; left <= 0 {
							return storetest.Fault{Err: errKilled, Written: written && left == 0}
						}
					}
					return storetest.Fault{}
				}
				d := r.createPlanner()
				assign(d, 1, "Plan it.")
				_, err := d.Run(t.Context())
				_ = d.Close()
				if err == nil {
					r.wantTask(task.Planned)
					return
				}
				r.crash()
				for range 3 {
					k := r.task()
					owed := k.Next()
					if len(owed) == 0 {
						break
					}
					switch owed[0].(type) {
					case task.StartRun:
						if _, err := r.mem.Run(t.Context(), "r"); err == nil {
							t.Fatal("the words were said, and the task does not know")
						}
						d = r.createPlanner()
						assign(d, 1, "Plan it.")
					case task.DriveRun:
						d = r.open()
					}
					r.run(d)
				}
				r.wantTask(task.Planned)
				if a, b := len(logged[run.Submitted](t, r)), strings.Count(strings.Join(r.history(), " "), "planner_output_submitted"); a != 1 || b != 1 {
					t.Errorf("append %d: %d submissions in the run and %d in the task", n, a, b)
				}
				if p := len(logged[run.Prompted](t, r)); p != 1 {
					t.Errorf("append %d: the words were said %d times", n, p)
				}
			})
		}
	}
}

func TestATaskThatAPersonPausedTakesNoResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := taskRig(t, `
{"calls":[{"tool":"planner-output","args":`+goodPlan+`}]}
{"text":"Well then.","repeat":true}`)
		paused := false
		r.checkOutput = func(task.Output) error { // asked while the step is made: after it was decided that the call starts
			if !paused {
				paused = true
				r.does("anna", task.Move{On: task.OnPause})
			}
			return nil
		}
		d := r.createPlanner()
		assign(d, 1, "Plan it.")
		s := r.run(d)
		r.wantTask(task.Waiting)
		if n := len(logged[run.Submitted](t, r)); n != 0 || s.Submission().Value != "" {
			t.Errorf("the run has %d submissions", n)
		}
		if got := results(s)[0]; !strings.Contains(got, "run r is not at work for task t1, which is waiting. Nothing more is to be done") {
			t.Errorf("the agent is told %q", got)
		}
		if k := r.task(); k.Owes() {
			t.Errorf("owed is %+v", k.Next())
		}
	})
}

func TestWordsThatTheTaskDoesNotWantAreNotSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := taskRig(t, `{"text":"never asked"}`)
		d := r.createPlanner()
		r.does("anna", task.Move{On: task.OnCancel})
		wait := assign(d, 1, "Plan it.")
		r.run(d)
		if err := wait(t.Context()); !errors.As(err, new(*task.TransitionError)) {
			t.Errorf("said: %v", err)
		}
		if _, err := r.mem.Run(t.Context(), "r"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the run is there: %v", err)
		}
	})
}

func TestACallThatWaitsForAPersonShowsOnTheTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := taskRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok done"}}]}
{"calls":[{"tool":"planner-output","args":`+goodPlan+`}]}`)
		r.w.OnAsk = AskWait
		r.w.Authorizer = authorizer(func(permission.Request) permission.Decision { return permission.Decision{Verdict: permission.Ask} })
		d := r.createPlanner()
		assign(d, 1, "Plan it.")
		s := r.run(d)
		if k := r.task(); k.WaitsFor() != "permission" || k.Permissions[0].Tool != "edit" || !s.Turn.Open() {
			t.Errorf("the task waits for %q, %+v", k.WaitsFor(), k.Permissions)
		}
		d = r.open()
		d.Post(t.Context(), request.Decide{Call: "c_1", Answer: run.Allow, By: "anna"})
		r.run(d)
		r.wantTask(task.Planned)
		events, err := tasklog.Events(t.Context(), r.mem, "t1", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if p, ok := e.Payload.(task.PermissionDecided); ok && (e.By != "anna" || p.Answer != run.Allow) {
				t.Errorf("decided %+v by %s", p, e.By)
			}
		}
	})
}

// externalTask is a task whose planner is an external agent.
func externalTask(t *testing.T, turns ...agentTurn) *rig {
	r, _ := external(t, turns...)
	r.does("anna", task.Created{Task: "t1", Description: "Count the files."})
	r.does("anna", task.StartPlanning{Run: "r", Agent: "claude"})
	return r
}

// submits submits as the agent's tools do: by a worker of another process.
func (r *rig) submits(ctx context.Context, key, tool, payload string) (tasklog.Receipt, error) {
	return r.tasks(r.mem.Other()).Submit(ctx, tasklog.Request{Task: "t1", Run: "r", Tool: tool, Key: key, Payload: json.RawMessage(payload)})
}

func TestWhatASubmissionFromOutsideIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		var accepted time.Time
		refused := func(ctx context.Context, key, tool, payload string, want string) *task.SubmissionError {
			t.Helper()
			_, err := r.submits(ctx, key, tool, payload)
			e, ok := errors.AsType[*task.SubmissionError](err)
			if !ok || e.Kind != want {
				t.Errorf("%s by %s is answered %v, want %s", payload, key, err, want)
				return &task.SubmissionError{}
			}
			return e
		}
		r = externalTask(t, func(ctx context.Context, yield func(run.Payload) bool) {
			yield(names("conv-7"))
			_, err := r.submits(ctx, "types", "planner-output", `{"type":"plan","summary":7,"requirements":[],"acceptanceCriteria":[],"plan":[true]}`)
			if e, ok := errors.AsType[*task.InputError](err); !ok || len(e.Fields) != 2 || e.Fields["summary"] == "" || e.Fields["plan[0]"] == "" || strings.Contains(err.Error(), "Go ") {
				t.Errorf("values of other types are answered %v", err)
			}
			for _, wrong := range []string{`{"type":"plan","summary":""}`, `{"type":"plan","summary":"x","plan":["y"],"more":1}`, `[]`} {
				if _, err := r.submits(ctx, "wrong"+wrong, "planner_output", wrong); !errors.As(err, new(*task.InputError)) {
					t.Errorf("%s is answered %v", wrong, err)
				}
			}
			refused(ctx, "k0", "completion-report", goodReport, task.NotGranted)
			got, err := r.submits(ctx, "k1", "planner_output", goodPlan)
			if err != nil || got.Duplicate || got.AcceptedAt.IsZero() {
				t.Errorf("%+v, %v", got, err)
			}
			accepted = got.AcceptedAt
			again, err := r.submits(ctx, "k1", "planner-output", `{"tool":"planner_output",`+goodPlan[1:])
			if err != nil || !again.Duplicate || !again.AcceptedAt.Equal(accepted) {
				t.Errorf("the same again: %+v, %v", again, err)
			}
			if e := refused(ctx, "k1", "planner-output", `{"type":"error","error":"no"}`, task.AlreadySubmitted); e.SamePayload {
				t.Error("another payload is the same")
			}
			if e := refused(ctx, "k2", "planner-output", goodPlan, task.AlreadySubmitted); !e.SamePayload || !e.AcceptedAt.Equal(accepted) || e.Error() != "Planner output already submitted" {
				t.Errorf("the same payload by another request: %+v", e)
			}
			yield(replies("Done."))
		})
		d := r.createExternal(run.Config{Output: plannerOutput})
		assign(d, 1, "Plan it.")
		r.run(d)
		r.wantTask(task.Planned)
		ctx := t.Context()
		r.crash() // the run has ended, and the process with it
		refused(ctx, "k3", "planner-output", goodPlan, task.AlreadySubmitted)
		if again, err := r.submits(ctx, "k1", "planner-output", goodPlan); err != nil || !again.Duplicate {
			t.Errorf("after a restart: %+v, %v", again, err)
		}
		if _, err := r.tasks(r.mem).Submit(ctx, tasklog.Request{Task: "t1", Run: "r", Tool: "planner-output", Assignment: 2, Payload: json.RawMessage(goodPlan)}); err == nil || !strings.Contains(err.Error(), "assignment 2 of run r is over") {
			t.Errorf("another assignment: %v", err)
		}
		if _, err := r.tasks(r.mem).Submit(ctx, tasklog.Request{Task: "t2", Run: "r", Tool: "planner-output", Payload: json.RawMessage(goodPlan)}); err == nil || !strings.Contains(err.Error(), "not one of task t2") {
			t.Errorf("another task: %v", err)
		}
		if n := strings.Count(strings.Join(r.history(), " "), "planner_output_submitted"); n != 1 {
			t.Errorf("%d submissions in the history", n)
		}
	})
}

func TestOfFiftyCallersOneSubmits(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var r *rig
			var mu sync.Mutex
			won, lost, again := 0, 0, 0
			call := func(ctx context.Context) {
				var wait sync.WaitGroup
				for i := range 50 {
					wait.Go(func() {
						got, err := r.submits(ctx, fmt.Sprint("k", i), "planner-output", fmt.Sprintf(`{"type":"error","error":"by %d"}`, i))
						mu.Lock()
						defer mu.Unlock()
						switch e, ok := errors.AsType[*task.SubmissionError](err); {
						case err == nil && !got.Duplicate:
							won++
						case err == nil:
							again++
						case ok && e.Kind == task.AlreadySubmitted && !e.SamePayload:
							lost++
						case ctx.Err() == nil:
							t.Errorf("a caller got %+v, %v", got, err)
						}
					})
				}
				wait.Wait()
			}
			first := true
			r = externalTask(t, func(ctx context.Context, yield func(run.Payload) bool) {
				yield(names("conv-7"))
				if kill && first {
					first = false
					var killed context.CancelFunc
					ctx, killed = context.WithCancel(ctx)
					mem := r.mem
					mem.Fault = func(op storetest.Op) storetest.Fault {
						if op.Name == "append" && op.Task != "" { // the one that submits is durable, and its process never knows
							mem.Fault = func(storetest.Op) storetest.Fault { return storetest.Fault{Err: errKilled} }
							killed()
							return storetest.Fault{Err: errKilled, Written: true}
						}
						return storetest.Fault{}
					}
				}
				call(ctx)
				yield(replies("Done."))
			})
			d := r.createExternal(run.Config{Output: plannerOutput})
			assign(d, 1, "Plan it.")
			_, err := d.Run(t.Context())
			_ = d.Close()
			if kill {
				if err == nil {
					t.Error("it was not killed")
				}
				r.crash()
				won, lost, again = 0, 0, 0
				call(t.Context()) // all repeat their requests: the one whose answer was lost gets it
				r.run(r.open())
				if won != 0 || again != 1 || lost != 49 {
					t.Errorf("after the kill %d won, %d was told again and %d lost", won, again, lost)
				}
			}
			if n := len(logged[run.Submitted](t, r)); n != 1 {
				t.Errorf("%d submissions in the log of the run", n)
			}
			if n := strings.Count(strings.Join(r.history(), " "), "planner_output_submitted"); n != 1 {
				t.Errorf("%d submissions in the history", n)
			}
			if !kill && (won != 1 || lost != 49) {
				t.Errorf("%d won and %d lost", won, lost)
			}
			r.wantTask(task.Failed)
		})
	}
}

func TestAChildRunOfATaskIsListedAndEndsOnlyItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"when":{"first":"Review it."},"calls":[{"tool":"submit_result","args":{"n":3}}]}
{"calls":[{"tool":"delegate","args":{"prompt":"Review it.","schema":"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}"}}]}
{"calls":[{"tool":"planner-output","args":`+goodPlan+`}]}`)
		r.does("anna", task.Created{Task: "t1", Description: "Count the files."})
		r.does("anna", task.StartPlanning{Run: "r", Agent: "task-validator"})
		d := r.createPlanner()
		assign(d, 1, "Plan it.")
		r.run(d)
		r.wantTask(task.Planned)
		k := r.task()
		if len(k.Chain) != 2 || k.Chain[1].ID != theChild || k.Chain[1].Parent != "r" || k.Chain[1].Call != "c_1" || !k.Chain[1].Ended || k.Chain[1].Output != `{"n":3}` {
			t.Errorf("the chain is %+v", k.Chain)
		}
		if of, err := r.mem.TaskOf(t.Context(), theChild); of != "t1" || err != nil {
			t.Errorf("the child is of task %q, %v", of, err)
		}
		if _, ok, err := r.mem.Submitted(t.Context(), theChild, "submit_result", 0); ok || err != nil {
			t.Errorf("the result of the child is a submission for the task: %v", err)
		}
	})
}

// A full disk stops the run and changes neither log; what the driver records then, when there
// is space again, is a state that can be resumed.
func TestAFullDiskLeavesATaskThatCanBeResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := taskRig(t, `
{"calls":[{"tool":"read","args":{"do":"ok three"}}]}
{"calls":[{"tool":"planner-output","args":`+goodPlan+`}]}`)
		full := false
		r.mem.Fault = func(op storetest.Op) storetest.Fault {
			if full && op.Name != "own" {
				return storetest.Fault{Err: store.ErrDiskFull}
			}
			return storetest.Fault{}
		}
		fills := sync.OnceFunc(func() { full = true })
		r.read.runs = fills // the call runs again when the run is resumed
		d := r.createPlanner()
		assign(d, 1, "Plan it.")
		if _, err := d.Run(t.Context()); !errors.Is(err, store.ErrDiskFull) {
			t.Errorf("the run ended with %v", err)
		}
		_ = d.Close()
		r.wantTask(task.Planning)
		full = false
		r.does("", task.End{Run: "r", Begun: true, End: run.Ended{End: run.EndInterrupted, Reason: "storage", Detail: "the disk is full"}})
		r.wantTask(task.Waiting)
		r.does("anna", task.Resume{})
		d = r.open()
		wait := d.PostForTask([]task.Action{task.Note{Run: "r", Fact: task.AgentPrompted{Number: 2}}})
		r.run(d)
		if err := wait(t.Context()); err != nil {
			t.Error(err)
		}
		r.wantTask(task.Planned)
	})
}

// A run whose task was removed goes on without it; the next process does not look for it either.
func TestARunWhoseTaskWasRemovedGoesOn(t *testing.T) {
	t.Parallel()
	for _, between := range []bool{false, true} {
		t.Run(fmt.Sprintf("between processes %t", between), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := taskRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok done"}}]}
{"calls":[{"tool":"planner-output","args":`+goodPlan+`}]}`)
				r.w.OnAsk, r.w.Authorizer = AskWait, authorizer(needsApproval)
				d := r.createPlanner()
				assign(d, 1, "Plan it.")
				if s, err := d.Run(t.Context()); err != nil || !s.Turn.Open() {
					t.Fatalf("ended %+v, %v", s.Turn.End, err)
				}
				if err := r.mem.Other().RemoveTask(t.Context(), "t1"); err != nil {
					t.Fatal(err)
				}
				if between {
					if err := d.Close(); err != nil {
						t.Fatal(err)
					}
					d = r.open()
				}
				decideRow(t, r, request.Decide{Call: "c_1", Answer: run.Allow})
				if s := r.run(d); s.Turn.End.End != run.Completed || s.Submission().Value != goodPlan {
					t.Errorf("ended %+v with %+v", s.Turn.End, s.Submission())
				}
			})
		})
	}
}

// A question of a run is one of its task, with what may be answered; who is interrupted, and by whom, is
// known of the task too.
func TestATaskKnowsWhatItsRunAsksAndWhoStoppedIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := taskRig(t, `{"calls":[{"tool":"ask","args":{"question":"Which?","options":["all","some"]}}]}
{"calls":[{"tool":"read","args":{"do":"wait"}}]}`)
		r.w.Tools = tool.NewRegistry(r.read, tool.Ask())
		d := r.createPlanner()
		assign(d, 1, "Plan it.")
		s := r.run(d)
		if s.Turn.End.End != run.Asked {
			t.Fatalf("ended %+v", s.Turn.End)
		}
		k, _ := r.task().Run("r")
		if e := tasklog.EndOf("r", 1, s, s.Turn.End); e.Question.Question != "Which?" || len(e.Question.Options) != 2 || e.End.Detail != "Which? (all, some)" || !k.Ended {
			t.Errorf("the end is %+v, the run of the task %+v", e, k)
		}
		if h := strings.Join(r.history(), " "); !strings.Contains(h, "question_asked") {
			t.Errorf("the history is %s", h)
		}
	})
}

// A result is not accepted for a task that cannot be read: whether it takes it is not known.
func TestATaskThatCannotBeReadTakesNoResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := taskRig(t, `
{"calls":[{"tool":"read","args":{"do":"ok three"}}]}
{"calls":[{"tool":"planner-output","args":`+goodPlan+`}]}`)
		st := &brokenStore{Store: r.mem}
		r.w.Store = st
		r.read.runs = func() { st.op = "TaskEvents" }
		d := r.createPlanner()
		assign(d, 1, "Plan it.")
		_, err := d.Run(t.Context())
		if err := errors.Join(err, d.Close()); !errors.Is(err, errBroken) {
			t.Errorf("the run ended with %v", err)
		}
		r.wantTask(task.Planning)
		if n := len(logged[run.Submitted](t, r)); n != 0 {
			t.Errorf("the run has %d submissions", n)
		}
	})
}

func TestWhoSubmitsForATaskIsOneOfItsRuns(t *testing.T) {
	t.Parallel()
	r := taskRig(t, `{"text":"never asked"}`)
	for _, c := range []struct {
		q    tasklog.Request
		want string // in the error
	}{
		{tasklog.Request{Task: "t1", Run: "other", Tool: task.PlannerOutputTool}, "run other is not one of task t1"},
		{tasklog.Request{Task: "t2", Run: "r", Tool: task.PlannerOutputTool}, "run r is not one of task t2"},
		{tasklog.Request{Run: "other", Tool: task.PlannerOutputTool}, "run other is not one of task "},
		{tasklog.Request{Task: "t1", Run: "r", Tool: task.PlannerOutputTool, Assignment: 2}, "assignment 2 of run r is over: it is at its assignment 1"},
		{tasklog.Request{Task: "t1", Run: "r", Tool: task.PlannerOutputTool}, "run r has not been told yet what it is asked for now"},
		{tasklog.Request{Task: "t1", Run: "r", Tool: task.CompletionReportTool}, "does not have the tool completion-report"},
	} {
		c.q.Payload = json.RawMessage(goodPlan)
		_, err := r.tasks(r.mem).Submit(context.Background(), c.q)
		if e, ok := errors.AsType[*task.SubmissionError](err); !ok || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%+v is answered %v, want %s", c.q, err, c.want)
		}
	}
}
