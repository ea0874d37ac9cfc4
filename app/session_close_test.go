package app_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"pawl/request"
	"pawl/run"
	"pawl/worker"
)

// hangs is a model that begins an answer and never ends it.
const hangs = `{"text":"Once upon a time","hang":true,"repeat":true}
`

// later calls do in a goroutine of its own, n scheduling points from now.
func later(wg *sync.WaitGroup, n int, do func()) {
	wg.Go(func() {
		for range n {
			runtime.Gosched()
		}
		do()
	})
}

func TestASessionIsClosedTwiceWhileAPromptIsHandedIn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, hangs)
	ws := p.open(nil)
	for n := range 40 {
		s := p.start(ws)
		var wg sync.WaitGroup
		var handed error
		wg.Go(func() { handed = s.Prompt(t.Context(), run.Text("go")) })
		for range 2 {
			later(&wg, n*n, func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait() // forever, if the turn were not interrupted: the model never ends it
		state := rest(t, s)
		switch {
		case handed == nil:
			if state.Turn.End.End != run.EndInterrupted || state.Turn.End.Reason != string(run.ByShutdown) {
				t.Errorf("a prompt was recorded, and its turn ended %+v", state.Turn.End)
			}
		case !errors.Is(handed, worker.ErrClosed):
			t.Errorf("handed in: %v", handed)
		case state.Turn.N != 0:
			t.Errorf("a prompt was recorded, and its sender was told %v", handed)
		}
		if s.Interrupt(run.Interrupted{Cause: run.ByPerson}) {
			t.Error("a closed session was interrupted")
		}
		rest(t, s)
	}
}

func TestAnInterruptWhileAPromptIsRecordedInterruptsItsTurn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, hangs)
	ws := p.open(nil)
	for n := range 40 {
		s := p.start(ws)
		ctx, cancel := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		later(&wg, n, func() { cancel(worker.Stop{Interrupted: run.Interrupted{Cause: run.ByPerson}}) })
		ok(t, s.Prompt(ctx, run.Text("go")))
		stop := context.AfterFunc(ctx, func() { s.Interrupt(worker.StopOf(ctx).Interrupted) })
		state := rest(t, s)
		wg.Wait()
		stop()
		if state.Turn.N != 1 || state.Turn.End.End != run.EndInterrupted || state.Turn.End.Reason != string(run.ByPerson) {
			t.Errorf("turn %d ended %+v", state.Turn.N, state.Turn.End)
		}
		ok(t, s.Close())
	}
}

func TestAContextThatHasEndedStopsNoTurnThatIsDriven(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"text":"Once upon a time","hang":true}
`)
	s := p.start(p.open(nil))
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	ended, end := context.WithCancel(t.Context())
	end()
	mode := "plan"
	for what, err := range map[string]error{
		"configure": s.Configure(ended, run.ConfigChange{Mode: &mode}),
		"withdraw":  s.Withdraw(ended, "x"),
		"decide":    s.Decide(ended, s.ID(), request.Decide{Call: "c_1", Answer: run.Allow}),
		"prompt":    s.Prompt(ended, run.Text("more")),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if state := s.State(); !state.Turn.Open() || state.Turn.Phase == run.Interrupting || state.Config.Mode == mode {
		t.Errorf("the turn is in phase %v and mode %s", state.Turn.Phase, state.Config.Mode)
	}
	if !s.Interrupt(run.Interrupted{Cause: run.ByPerson}) {
		t.Error("there is no turn to interrupt")
	}
	if state := rest(t, s); state.Turn.End.Reason != string(run.ByPerson) {
		t.Errorf("ended %+v", state.Turn.End)
	}
}
