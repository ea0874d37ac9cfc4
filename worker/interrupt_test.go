package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pawl/llm"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/tool"
	"pawl/view"
)

// staged is a model whose n-th answer is the n-th function.
type staged struct {
	n       atomic.Int32
	answers []func(ctx context.Context, yield func(llm.Delta, error) bool)
}

func (s *staged) Wire() string { return "staged" }

func (s *staged) Encode(m run.Message) (json.RawMessage, error) { return json.Marshal(m.Parts) }

func (s *staged) EncodeTool(t llm.Tool) (json.RawMessage, error) { return json.Marshal(t) }

func (s *staged) EncodeOutput(schema json.RawMessage) (json.RawMessage, error) { return schema, nil }

func (s *staged) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Delta, error] {
	n := min(int(s.n.Add(1)), len(s.answers)) - 1
	return func(yield func(llm.Delta, error) bool) { s.answers[n](ctx, yield) }
}

// says answers with words, after a while, whatever happens to ctx.
func says(words string, after time.Duration) func(context.Context, func(llm.Delta, error) bool) {
	return func(_ context.Context, yield func(llm.Delta, error) bool) {
		time.Sleep(after)
		yield(llm.Delta{Answer: &llm.Answer{Parts: []run.Part{run.Text(words)}, Stop: run.StopEndTurn}}, nil)
	}
}

// begins yields the beginning of an answer, waits until it is stopped, and then
// takes its time to go.
func begins(words string, linger time.Duration) func(context.Context, func(llm.Delta, error) bool) {
	return func(ctx context.Context, yield func(llm.Delta, error) bool) {
		if !yield(llm.Delta{Text: words}, nil) {
			return
		}
		<-ctx.Done()
		time.Sleep(linger)
		yield(llm.Delta{}, context.Cause(ctx))
	}
}

// cached is an answer from the response cache.
func cached(_ context.Context, yield func(llm.Delta, error) bool) {
	yield(llm.Delta{Answer: &llm.Answer{Parts: []run.Part{run.Text("as before")}, Stop: run.StopEndTurn, Cached: true, Usage: run.Usage{Input: 100}}}, nil)
}

func calls(tool, do string) func(context.Context, func(llm.Delta, error) bool) {
	return func(_ context.Context, yield func(llm.Delta, error) bool) {
		yield(llm.Delta{Answer: &llm.Answer{Stop: run.StopToolUse, Parts: []run.Part{{Type: run.CallPart,
			Call: &run.Call{Tool: tool, Arguments: fmt.Sprintf(`{"do":%q}`, do)}}}}}, nil)
	}
}

func stagedRig(t *testing.T, answers ...func(context.Context, func(llm.Delta, error) bool)) *rig {
	r := newRig(t, `{"text":"not asked"}`)
	p := &staged{answers: answers}
	r.w.Provider = func(string) (llm.Provider, string, error) { return p, "m", nil }
	return r
}

func after(d time.Duration, f func()) {
	go func() {
		time.Sleep(d)
		f()
	}()
}

func interrupt(d *Runner) func() {
	return func() { d.Interrupt(run.Interrupted{Cause: run.ByPerson}) }
}

func TestAnInterruptOfTheClosingAccountEndsTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := stagedRig(t, calls("read", "ok x"), begins("The account", 0))
		d, err := r.w.Create(t.Context(), run.Created{Run: "r", Config: run.Config{Limits: run.Limits{Steps: 1}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		after(time.Second, interrupt(d))
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.Open() || !strings.HasPrefix(s.Answer(), "Based on the tool executions:") {
			t.Errorf("ended %+v with %q, %v", s.Turn.End, s.Answer(), err)
		}
	})
}

func TestALateAnswerOfAnInterruptedTurnIsNotTheNextOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := stagedRig(t, says("old", time.Second), says("new", 3*time.Second))
		d := r.create()
		defer d.Close()
		after(100*time.Millisecond, interrupt(d))
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		s, err := d.Run(t.Context(), prompt("another thing"))
		if err != nil || s.Answer() != "new" {
			t.Errorf("answered with %q, %v", s.Answer(), err)
		}
	})
}

func TestWhatHadStreamedIsKeptHoweverSlowTheViewer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := stagedRig(t, begins("half a tho", 0))
		d, err := r.w.Create(t.Context(), run.Created{Run: "r"}, func(v view.Update) {
			if v.Stopping != nil {
				for range 10_000 { // let the stream end before the interrupt is recorded
					runtime.Gosched()
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		after(100*time.Millisecond, interrupt(d))
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || len(s.Messages) < 2 || s.Messages[1].Parts[0].Text != "half a tho" || !s.Messages[1].Parts[0].Cut {
			t.Errorf("messages %+v, %v", s.Messages, err)
		}
	})
}

func TestASecondInterruptWhileTheFirstStreamIsDying(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := stagedRig(t, begins("one", time.Minute), begins("two", 0))
		d := r.create()
		defer d.Close()
		after(100*time.Millisecond, interrupt(d))
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		after(100*time.Millisecond, interrupt(d))
		s, err := d.Run(t.Context(), prompt("go on"))
		if err != nil || s.Turn.End.End != run.EndInterrupted {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		var texts []string
		for _, m := range s.Messages {
			if m.Role == run.Assistant {
				texts = append(texts, run.PlainText(m.Parts))
			}
		}
		if !slices.Equal(texts, []string{"one", "two"}) {
			t.Errorf("kept %q", texts)
		}
		time.Sleep(time.Hour) // of the bubble: let the first one go
	})
}

func TestACallThatCannotStartAnyMoreIsNotUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"calls":[{"tool":"read","args":{"do":"ok a"}},{"tool":"read","args":{"do":"ok b"}}]}`)
		asks := 0
		r.w.OnAsk = AskFail
		r.w.Authorizer = authorizer(func(permission.Request) permission.Decision {
			if asks++; asks == 2 {
				return permission.Decision{Verdict: permission.Ask}
			}
			return permission.Decision{Verdict: permission.Allow}
		})
		d := r.create()
		defer d.Close()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.EndFailed {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		for _, l := range s.Turn.Account {
			if l.Outcome != run.NotRun {
				t.Errorf("%s came out %s", l.Call, l.Outcome)
			}
		}
		if len(r.read.Ran()) > 0 {
			t.Errorf("ran %q", r.read.Ran())
		}
	})
}

func TestWaitFromElsewhereIsAnInterruptLikeAnyOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"calls":[{"tool":"read","args":{"do":"wait"}},{"tool":"edit","args":{"do":"ok b"}}]}`)
		r.w.OnAsk = AskWait
		r.w.Authorizer = authorizer(func(q permission.Request) permission.Decision {
			if q.Tool == "edit" {
				return permission.Decision{Verdict: permission.Ask}
			}
			return permission.Decision{Verdict: permission.Allow}
		})
		d := r.create()
		defer d.Close()
		go func() {
			<-r.read.begun
			putRow(t, r, "k", "decide", `{"call":"c_2","answer":"wait"}`)
		}()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.EndInterrupted || s.Turn.End.Reason != "wait" {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		got := results(s)
		if len(got) != 2 || !strings.Contains(got[0], "c_1 true [Request interrupted by user for tool use]\n\nThe tool was stopped while it ran") ||
			!strings.Contains(got[1], "The user doesn't want to proceed with this tool use.") {
			t.Errorf("results %q", got)
		}
	})
}

// put lets another process want something of the run.
func put(t *testing.T, r *rig, key string, q request.Request) {
	kind, payload, err := request.Encode(q)
	if err != nil {
		t.Error(err)
	}
	putRow(t, r, key, kind, payload)
}

func putRow(t *testing.T, r *rig, key, kind, payload string) {
	if err := r.mem.Put(context.Background(), "r", store.Row{Key: key, Kind: kind, Payload: payload}); err != nil {
		t.Error(err)
	}
}

func TestTwoPeopleWhoSpeakAtRestAreBothHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, d := afterATurn(t)
		defer d.Close()
		putRow(t, r, "k0", "interrupt", `{"by":"someone who is too late: there is nothing to stop"}`)
		put(t, r, "k1", saying("k1", run.Queue, "one"))
		put(t, r, "k2", saying("k2", run.Queue, "two"))
		s, err := d.Run(t.Context())
		if err != nil || s.Turn.End.End != run.Completed {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		var said []string
		for _, m := range s.Messages {
			if m.Role == run.User {
				said = append(said, run.PlainText(m.Parts))
			}
		}
		if !slices.Equal(said, []string{"go", "one", "two"}) {
			t.Errorf("heard %q", said)
		}
	})
}

func TestADecisionAfterAMonthIsNotTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok x"}}]}
{"text":"Done."}`)
		r.w.OnAsk = AskWait
		r.w.Authorizer = authorizer(func(permission.Request) permission.Decision {
			return permission.Decision{Verdict: permission.Ask}
		})
		d := r.create()
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		d.Close()
		time.Sleep(30 * 24 * time.Hour) // of the bubble
		putRow(t, r, "k", "decide", `{"call":"c_1","answer":"allow"}`)
		d, err := r.w.Open(t.Context(), "r", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		s, err := d.Run(t.Context())
		if err != nil || s.Turn.End.End != run.Completed || len(r.edit.Ran()) != 1 {
			t.Errorf("ended %+v, %v, ran %q", s.Turn.End, err, r.edit.Ran())
		}
	})
}

func TestWholePartsOfAnInterruptedAnswerAreKeptAndHalfACallIsNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		part := func(p run.Part) llm.Delta { return llm.Delta{Part: &p} }
		r := stagedRig(t, func(ctx context.Context, yield func(llm.Delta, error) bool) {
			for _, d := range []llm.Delta{
				part(run.Part{Type: run.ThinkingPart, Text: "I wonder", Signature: "s", Wire: "staged"}),
				{Text: "I "}, {Text: "edit it."}, part(run.Text("I edit it.")),
				{Call: "edit"}, part(run.Part{Type: run.CallPart, Call: &run.Call{Tool: "edit", Arguments: `{"do":"ok a"}`}}),
				{Call: "edit"}, {Input: `{"do":`},
				{Usage: &run.Usage{Input: 7}},
			} {
				if !yield(d, nil) {
					return
				}
			}
			<-ctx.Done()
		}, says("All right.", 0))
		d := r.create()
		defer d.Close()
		go func() {
			synctest.Wait()
			d.Interrupt(run.Interrupted{Cause: run.ByPerson})
		}()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.EndInterrupted {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		var kept []string
		for _, p := range s.Messages[1].Parts {
			kept = append(kept, fmt.Sprint(p.Type, " ", p.Text, " ", p.Cut))
		}
		if want := []string{"thinking I wonder false", "text I edit it. false", "call  false"}; !slices.Equal(kept, want) {
			t.Errorf("kept %q, want %q", kept, want)
		}
		if got := results(s); !slices.Equal(got, []string{"c_1 true " + run.ByUser}) {
			t.Errorf("results %q", got)
		}
		if s.Usage.Input != 7 || len(r.edit.Ran()) > 0 {
			t.Errorf("usage %+v, ran %q", s.Usage, r.edit.Ran())
		}
	})
}

// A call that was started and interrupted in one batch is told that it is over: it has
// no operation yet that could be cancelled.
func TestACallStartedInTheBatchThatInterruptsItDoesNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"calls":[{"tool":"edit","args":{"do":"ok a"}},{"tool":"read","args":{"do":"ok b"}},{"tool":"read","args":{"do":"ok c","path":"c"}}]}`)
		var changed atomic.Bool
		r.edit.runs = func() { changed.Store(true) }
		r.w.OnAsk = AskFail
		r.w.Authorizer = authorizer(func(q permission.Request) permission.Decision {
			if len(q.Paths) > 0 && changed.Load() {
				return permission.Decision{Verdict: permission.Ask}
			}
			return permission.Decision{Verdict: permission.Allow}
		})
		d := r.create()
		defer d.Close()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.EndFailed || s.Turn.End.Reason != "permission_required" {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		var outcomes []run.Outcome
		for _, l := range s.Turn.Account {
			outcomes = append(outcomes, l.Outcome)
		}
		slices.Sort(outcomes)
		if want := []run.Outcome{run.NotRun, run.NotRun, run.OK}; !slices.Equal(outcomes, want) || len(r.read.Ran()) > 0 {
			t.Errorf("came out %q, ran %q", outcomes, r.read.Ran())
		}
	})
}

// A parked call that is interrupted runs once more, to be stopped and settled.
func TestAParkedCallIsSettledAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"calls":[{"tool":"child","args":{"do":"ok"}}]}`)
		r.w.OnAsk = AskWait
		r.w.Tools = tool.NewRegistry(parking{newFake("child", run.Resumable)})
		d := r.create()
		defer d.Close()
		if s, err := d.Run(t.Context(), prompt("go")); err != nil || !s.Turn.Open() {
			t.Fatalf("parked: %+v, %v", s.Turn.End, err)
		}
		s, err := d.Run(stopped(t, run.ByPerson))
		if err != nil || s.Turn.End.End != run.EndInterrupted || len(results(s)) != 1 {
			t.Fatalf("ended %+v with %q, %v", s.Turn.End, results(s), err)
		}
	})
}

// parking is a tool whose calls wait for a person elsewhere.
type parking struct{ *fake }

func (parking) Run(context.Context, tool.Env, tool.Call) (tool.Result, error) {
	return tool.Result{}, tool.ErrParked
}

// interruptsAtRest is a store that interrupts a run when the inbox is read after its turn
// has come to wait.
type interruptsAtRest struct {
	store.Store
	d        *Runner
	accepted bool
}

func (s *interruptsAtRest) Inbox(ctx context.Context, id run.ID) ([]store.Row, error) {
	if s.d != nil && s.d.atRest() && s.d.core.State.Turn.Open() && !s.accepted {
		s.accepted = s.d.Interrupt(run.Interrupted{Cause: run.ByPerson})
	}
	return s.Store.Inbox(ctx, id)
}

func TestAnInterruptThatWasAcceptedIsRecordedWhenTheRunComesToRest(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"calls":[{"tool":"edit","args":{"do":"ok never"}}]}`)
	r.w.OnAsk = AskWait
	r.w.Authorizer = authorizer(func(permission.Request) permission.Decision {
		return permission.Decision{Verdict: permission.Ask}
	})
	s := &interruptsAtRest{Store: r.mem}
	r.w.Store = s
	d := r.create()
	defer d.Close()
	s.d = d
	state, err := d.Run(t.Context(), prompt("go"))
	if err != nil || !s.accepted || state.Turn.End.End != run.EndInterrupted {
		t.Errorf("accepted %t, ended %+v, %v", s.accepted, state.Turn.End, err)
	}
}

func TestAnInterruptBeforeRunIsCalledCountsIfTheRunIsAttended(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text":"never asked"}`)
	d := r.create()
	defer d.Close()
	if d.Interrupt(run.Interrupted{Cause: run.ByPerson}) {
		t.Error("an interrupt of a run that is not driven was accepted")
	}
	d.Attend()
	if !d.Interrupt(run.Interrupted{Cause: run.ByPerson}) {
		t.Error("not accepted")
	}
	state, err := d.Run(t.Context(), prompt("go"))
	if err != nil || state.Turn.End.End != run.EndInterrupted || state.Turn.Steps != 0 {
		t.Errorf("ended %+v after %d steps, %v", state.Turn.End, state.Turn.Steps, err)
	}
}
