package worker

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl/metrics"
	"pawl/run"
	"pawl/task"
	"pawl/tasklog"
)

// wantFigures compares lines of the figures of one process.
func wantFigures(t *testing.T, m *metrics.Metrics, want ...string) {
	t.Helper()
	var b strings.Builder
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range want {
		if !strings.Contains(b.String(), "\n"+line+"\n") {
			t.Errorf("there is no line %s in\n%s", line, b.String())
		}
	}
}

func TestTheFiguresOfATaskAreThoseOfItsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := taskRig(t, `
{"calls":[{"tool":"read","args":{"do":"ok three"}}]}
{"text":"I have looked."}
{"calls":[{"tool":"planner-output","args":{"type":7}}]}
{"calls":[{"tool":"planner-output","args":{"type":"plans"}}]}
{"calls":[{"tool":"planner-output","args":`+goodPlan+`}]}`)
		m := metrics.New()
		r.w.Metrics = m
		d := r.createPlanner()
		wait := assign(d, 1, "Plan it.")
		r.run(d)
		if err := wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.wantTask(task.Planned)
		if _, err := r.tasks(r.mem).Submit(t.Context(), tasklog.Request{Task: "t1", Run: "r", Tool: "planner-output", Payload: []byte(goodPlan)}); err == nil {
			t.Error("a second plan was accepted")
		}
		wantFigures(t, m, `pawl_turns_total{end="completed"} 1`, `pawl_turn_steps_sum 5`, `pawl_reminders_total 1`,
			`pawl_submissions_total{result="accepted"} 1`, `pawl_submissions_total{result="invalid"} 2`, `pawl_submissions_total{result="refused"} 1`,
			`pawl_decisions_total{answer="allow",tool="read",source="rule"} 1`)
	})
}

// The process is killed while the model answers, and the next one asks again. Each process
// counts what it has recorded.
func TestAResumedRunIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := stagedRig(t, calls("read", "ok code"), says("There.", 3*time.Second))
		first, second := metrics.New(), metrics.New()
		r.w.Metrics = first
		r.dies(r.create(), time.Second, prompt("go"))
		r.w.Metrics = second
		if s := r.run(r.open()); s.Turn.End.End != run.Completed {
			t.Fatalf("ended %+v", s.Turn.End)
		}
		wantFigures(t, first, `pawl_turns_total{end="completed"} 0`, `pawl_turn_steps_count 0`, `pawl_model_request_seconds_count 1`)
		wantFigures(t, second, `pawl_turns_total{end="completed"} 1`, `pawl_turn_steps_sum 2`, `pawl_model_request_seconds_count 1`, `pawl_model_request_seconds_sum 3`)
	})
}

func TestAnInterruptIsTimedFromWhenItWasAccepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := stagedRig(t, calls("read", "deaf"), says("Stopped.", 0))
		m := metrics.New()
		r.w.Metrics = m
		d := r.create()
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-r.read.begun
			cancel(Stop{Interrupted: run.Interrupted{Cause: run.ByPerson}})
		}()
		if _, err := d.Run(ctx, prompt("go")); err != nil {
			t.Fatal(err)
		}
		// A call that does not stop is left behind after a second.
		wantFigures(t, m, `pawl_interrupts_total{cause="person"} 1`, `pawl_interrupt_seconds_sum 1`, `pawl_turns_total{end="interrupted"} 1`)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour) // the deaf call of the bubble ends
	})
}
