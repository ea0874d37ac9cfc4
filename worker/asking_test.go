package worker

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl/request"
	"pawl/run"
)

// askingRun drives a run whose one call asks questions. Its state comes when it has ended.
func askingRun(t *testing.T, questions string) (d *Runner, ended chan run.State) {
	r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ask `+questions+`"}}]}
{"text":"Done."}`)
	r.w.OnAsk = AskWait
	d = r.create()
	t.Cleanup(func() { d.Close() })
	ended = make(chan run.State)
	go func() {
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil {
			t.Error(err)
		}
		ended <- s
	}()
	return d, ended
}

// A call that runs asks the person, and goes on with the answer: by its number, in words, or as something that is said
// to a run which does nothing else.
func TestACallAsksThePersonWhileItRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ended := askingRun(t, "which? really? sure?")
		answer := func(question string, wants request.Request) {
			synctest.Wait()
			open := d.State().Answerable()
			if len(open) != 1 || open[0].Asks.Question != question {
				t.Fatalf("the open questions are %+v, want %q", open, question)
			}
			time.Sleep(time.Hour) // a person takes their time
			if err := d.Post(t.Context(), wants)(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		parts := func(s string) []run.Part { return []run.Part{run.Text(s)} }
		answer("which?", request.Answer{Call: "c_1", Parts: parts("2")})
		answer("really?", request.Answer{Call: "c_1", Parts: parts("of course")})
		answer("sure?", request.Say{ID: "m", Delivery: run.Steer, Parts: parts("1")})
		s := <-ended
		if s.Turn.End.End != run.Completed || strings.Join(results(s), "") != "c_1 false blue of course red" {
			t.Errorf("it ended %+v with %q", s.Turn.End, results(s))
		}
		if s.Turn.End.Driven > time.Minute {
			t.Errorf("the time in which it waited counts: %v", s.Turn.End.Driven)
		}
	})
}

// An interrupt ends the wait for an answer, and what comes then is no answer any more.
func TestAQuestionOfACallEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ended := askingRun(t, "which?")
		synctest.Wait()
		if !d.Interrupt(run.Interrupted{Cause: run.ByPerson}) {
			t.Fatal("it cannot be interrupted")
		}
		if s := <-ended; s.Turn.End.End != run.EndInterrupted || len(s.Questions()) > 0 {
			t.Errorf("it ended %+v, with questions %+v", s.Turn.End, s.Questions())
		}
	})
}
