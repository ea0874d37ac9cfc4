package worker

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pawl/llm"
	"pawl/run"
)

// dies drives the run until the process is killed, after d. What the dead process does
// later reaches no disk; the test waits for it at the end of its bubble.
func (r *rig) dies(d *Runner, after time.Duration, given ...run.Payload) {
	var dead sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	dead.Go(func() { _, _ = d.Run(ctx, given...) })
	time.Sleep(after)
	r.crash()
	r.t.Cleanup(func() { cancel(); dead.Wait() })
}

func TestAProcessThatDiesBeforeAnythingArrivedDoesNotEndTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := stagedRig(t, says("There.", time.Minute))
		r.dies(r.create(), time.Second, prompt("go"))
		for range 9 {
			r.dies(r.open(), time.Second)
		}
		s := r.run(r.open())
		if s.Turn.End.End != run.Completed || s.Answer() != "There." {
			t.Errorf("ended %+v with %q", s.Turn.End, s.Answer())
		}
		if n := len(logged[run.Observed](t, r)); n != 0 {
			t.Errorf("%d answers are recorded to have begun, and none had", n)
		}
	})
}

func TestARequestWhoseAnswerKillsEachProcessIsAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := stagedRig(t, begins("I was about to", 0))
		r.dies(r.create(), time.Second, prompt("go"))
		if n := len(logged[run.Observed](t, r)); n != 0 {
			t.Errorf("the beginning of an answer cost %d more events before any process had died", n)
		}
		for range 3 {
			r.dies(r.open(), time.Second)
		}
		s := r.run(r.open())
		if s.Turn.End.End != run.EndFailed || s.Turn.End.Reason != "crashing" {
			t.Errorf("ended %+v", s.Turn.End)
		}
		if n := len(logged[run.Observed](t, r)); n != 3 {
			t.Errorf("%d answers are recorded to have begun, want 3", n)
		}
	})
}

// After a death the log says once that an answer has begun, in however many pieces it arrives.
func TestThatAnAnswerHasBegunIsRecordedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := stagedRig(t, begins("Too late", 0), func(_ context.Context, yield func(llm.Delta, error) bool) {
			for _, piece := range []string{"Th", "ere", "."} {
				time.Sleep(time.Second)
				if !yield(llm.Delta{Text: piece}, nil) {
					return
				}
			}
			yield(llm.Delta{Answer: &llm.Answer{Parts: []run.Part{run.Text("There.")}, Stop: run.StopEndTurn}}, nil)
		})
		r.dies(r.create(), time.Second, prompt("go"))
		if s := r.run(r.open()); s.Answer() != "There." {
			t.Errorf("ended %+v with %q", s.Turn.End, s.Answer())
		}
		if n := len(logged[run.Observed](t, r)); n != 1 {
			t.Errorf("the log says %d times that an answer has begun", n)
		}
	})
}

func TestTheWaitForARetrySurvivesAKillAndIsShownAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"error":{"status":429,"retry_after":300}}
{"text":"Done."}`)
		began := time.Now()
		r.dies(r.create(), 2*time.Minute, prompt("go"))
		s := r.run(r.open())
		if s.Answer() != "Done." {
			t.Errorf("ended %+v with %q", s.Turn.End, s.Answer())
		}
		if took := time.Since(began); took != 5*time.Minute {
			t.Errorf("the second attempt came after %v, want 5m0s", took)
		}
		if n := r.noticed(); len(n) != 1 || !strings.HasPrefix(n[0], "rate_limited (HTTP 429)") || !strings.HasSuffix(n[0], "; retrying in 3m0s") {
			t.Errorf("noticed %q", n)
		}
	})
}

func TestAnInterruptDoesNotWaitForARetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"error":{"status":429,"retry_after":300},"times":9}`)
		d := r.create()
		after(time.Minute, interrupt(d))
		began := time.Now()
		s := r.run(d, prompt("go"))
		if took := time.Since(began); s.Turn.End.End != run.EndInterrupted || took != time.Minute {
			t.Errorf("ended %+v after %v", s.Turn.End, took)
		}
	})
}

func TestWaitsForRetriesCountForTheTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"error":{"status":429,"retry_after":300},"times":9}`)
		d := r.createWith(run.Created{Config: run.Config{Limits: run.Limits{Wall: 4 * time.Minute}}})
		began := time.Now()
		s := r.run(d, prompt("go"))
		if took := time.Since(began); s.Turn.End.Reason != "wall_clock" || took != 4*time.Minute {
			t.Errorf("ended %+v after %v", s.Turn.End, took)
		}
	})
}
