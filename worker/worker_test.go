package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/llm/script"
	"pawl/permission"
	"pawl/run"
	"pawl/store"
	"pawl/store/storetest"
	"pawl/tool"
)

// fake is a tool whose doings are told by its argument "do":
//
//	ok TEXT | fail TEXT | wait (until it is stopped) | deaf (does not stop) | sleep 1s | panic
type fake struct {
	name  string
	class run.Class
	mu    sync.Mutex
	ran   []string
	begun chan string
	runs  func() // what it does to the world
}

func newFake(name string, c run.Class) *fake {
	return &fake{name: name, class: c, begun: make(chan string, 100)}
}

func (f *fake) Spec() tool.Spec {
	return tool.Spec{Name: f.name, Description: f.name, Schema: json.RawMessage(`{"type":"object","properties":{"do":{"type":"string"},"path":{"type":"string"}},"required":["do"],"additionalProperties":false}`)}
}

func (f *fake) Look(_ tool.Env, args json.RawMessage) (tool.Intent, error) {
	var a struct{ Path string }
	if err := json.Unmarshal(args, &a); err != nil {
		return tool.Intent{}, err
	}
	in := tool.Intent{Class: f.class, Ask: f.name == "ask", Title: f.name}
	if a.Path != "" {
		in.Paths = []string{a.Path}
	}
	return in, nil
}

func (f *fake) Run(ctx context.Context, _ tool.Env, c tool.Call) (tool.Result, error) {
	var args struct{ Do string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tool.Result{}, err
	}
	f.mu.Lock()
	f.ran = append(f.ran, args.Do)
	f.mu.Unlock()
	f.begun <- args.Do
	if f.runs != nil {
		f.runs()
	}
	verb, rest, _ := strings.Cut(args.Do, " ")
	switch verb {
	case "fail":
		return tool.ErrorResult(rest), nil
	case "wait":
		<-ctx.Done()
		return tool.TextResult("half of it"), nil
	case "deaf":
		time.Sleep(time.Hour)
	case "sleep":
		d, _ := time.ParseDuration(rest)
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	case "panic":
		panic("oh no")
	}
	return tool.TextResult(rest), nil
}

func (f *fake) Ran() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ran)
}

// rig is a worker with a scripted model, fake tools and a store in memory.
type rig struct {
	t    *testing.T
	w    *Worker
	mem  *storetest.Memory
	read *fake
	edit *fake

	script script.Script

	mu    sync.Mutex
	views []View
}

// A judge decides by a function, and keeps nothing.
type judge func(permission.Request) permission.Decision

func (j judge) Decide(_ run.ID, _ permission.Mode, r permission.Request) permission.Decision {
	return j(r)
}

func (j judge) Propose(run.ID, permission.Mode, permission.Request) permission.Proposal {
	return permission.Proposal{}
}

func (j judge) Keep(run.ID, permission.Rules) error { return nil }

func newRig(t *testing.T, replies string) *rig {
	t.Helper()
	s, err := script.Parse(strings.NewReader(replies))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, script: s, mem: storetest.NewMemory(), read: newFake("read", run.Reads), edit: newFake("edit", run.Writes)}
	p := script.New(s, time.Minute)
	r.w = &Worker{
		Store: r.mem, Tools: tool.NewRegistry(r.read, r.edit, newFake("ask", run.Reattaches)),
		Provider: func(string) (llm.Provider, string, error) { return p, "m", nil },
		Judge: judge(func(permission.Request) permission.Decision {
			return permission.Decision{Verdict: permission.Allow}
		}),
		OnAsk: AskDeny,
	}
	return r
}

func (r *rig) watch(v View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.views = append(r.views, v)
}

func (r *rig) create() *Driver {
	r.t.Helper()
	d, err := r.w.Create(context.Background(), run.Created{Run: "r", Workspace: "/w"}, r.watch)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

func prompt(s string) run.Fact { return run.Prompted{Parts: []run.Part{run.Text(s)}} }

// log returns the run's facts by name.
func (r *rig) log(st store.Store) []string {
	r.t.Helper()
	var out []string
	for e, err := range st.Events(context.Background(), "r", 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		typ, _, _, err := store.Encode(e)
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, typ)
	}
	return out
}

func results(s run.State) []string {
	var out []string
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				out = append(out, fmt.Sprintf("%s %v %s", p.Result.Call, p.Result.IsError, run.PlainText(p.Result.Content)))
			}
		}
	}
	return out
}

func TestATurnGoesOnUntilItIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"text":"I look.","calls":[{"tool":"read","args":{"do":"ok code"}},{"tool":"edit","args":{"do":"ok changed"}}]}
{"text":"Done."}`)
		d := r.create()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil {
			t.Fatal(err)
		}
		if s.Turn.End.End != run.Completed || s.Answer() != "Done." {
			t.Errorf("ended %+v with %q", s.Turn.End, s.Answer())
		}
		want := []string{"c_1 false code", "c_2 false changed"}
		if diff := cmp.Diff(want, results(s)); diff != "" {
			t.Error(diff)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		wantLog := []string{"run_created", "prompted", "request_started", "replied", "call_asked", "call_allowed", "call_asked", "call_allowed",
			"call_started", "call_settled", "call_started", "call_settled", "request_started", "replied", "turn_ended"}
		if diff := cmp.Diff(wantLog, r.log(r.mem)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestReadsOfAMessageRunBesideEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"read","args":{"do":"sleep 1s"}},{"tool":"read","args":{"do":"sleep 1s"}},{"tool":"read","args":{"do":"sleep 1s"}},{"tool":"read","args":{"do":"sleep 1s"}}]}
{"text":"Done."}`)
		d := r.create()
		defer d.Close()
		began := time.Now()
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took >= 2*time.Second {
			t.Errorf("four calls of a second took %v", took) // by the clock of the bubble
		}
	})
}

func TestAnInterruptStopsWhatRunsAndNothingStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"wait"}},{"tool":"edit","args":{"do":"ok never"}}]}
{"text":"All right.","repeat":true}`)
		d := r.create()
		defer d.Close()
		go func() {
			<-r.edit.begun
			d.Interrupt(run.Interrupted{Cause: run.ByPerson})
		}()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil {
			t.Fatal(err)
		}
		if s.Turn.End.End != run.EndInterrupted {
			t.Errorf("ended %+v", s.Turn.End)
		}
		if diff := cmp.Diff([]string{"wait"}, r.edit.Ran()); diff != "" {
			t.Errorf("tools that ran: %s", diff)
		}
		got := results(s)
		if len(got) != 2 || !strings.Contains(got[0], "[Request interrupted by user for tool use]\n\nThe tool was stopped while it ran and may have done part of its work.\n\nhalf of it") ||
			got[1] != "c_2 true [Request interrupted by user]" {
			t.Errorf("results %q", got)
		}
		// The next prompt goes on in the same conversation.
		s, err = d.Run(t.Context(), prompt("differently"))
		if err != nil || s.Turn.End.End != run.Completed {
			t.Errorf("after the interrupt: %+v, %v", s.Turn.End, err)
		}
	})
}

func TestAToolThatDoesNotStopIsLeftBehindAfterASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"calls":[{"tool":"edit","args":{"do":"deaf"}}]}`)
		d := r.create()
		go func() {
			<-r.edit.begun
			d.Interrupt(run.Interrupted{Cause: run.ByPerson})
		}()
		began := time.Now()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		if got := results(s); len(got) != 1 || !strings.Contains(got[0], "unknown") {
			t.Errorf("results %q", got)
		}
		d.Close()
		time.Sleep(2 * time.Hour) // of the bubble: let it come back, too late
		if n := len(r.log(r.mem)); int64(n) != s.Seq {
			t.Errorf("its late result was recorded: %d events after %d", n, s.Seq)
		}
	})
}

func TestAnInterruptWhileTheAnswerStreamsKeepsTheText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"text":"I was about to say","hang":true}`)
		d := r.create()
		defer d.Close()
		go func() {
			synctest.Wait() // the model has said its text and hangs
			d.Interrupt(run.Interrupted{Cause: run.ByPerson})
		}()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil {
			t.Fatal(err)
		}
		var kept run.Part
		for _, m := range s.Messages {
			if m.Role == run.Assistant {
				kept = m.Parts[0]
			}
		}
		if kept.Text != "I was about to say" || !kept.Cut {
			t.Errorf("kept %+v", kept)
		}
	})
}

func TestAnInterruptBeforeTheRunBeginsCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"text":"never"}`)
		d := r.create()
		defer d.Close()
		d.Interrupt(run.Interrupted{Cause: run.ByPerson})
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.EndInterrupted {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		if slices.Contains(r.log(r.mem), "request_started") {
			t.Error("a request was started after the interrupt")
		}
	})
}

func TestTheTimeLimitEndsTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"calls":[{"tool":"read","args":{"do":"wait"}}]}`)
		d, err := r.w.Create(t.Context(), run.Created{Run: "r", Config: run.Config{Limits: run.Limits{Wall: time.Minute}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.LimitReached || s.Turn.End.Reason != "wall_clock" {
			t.Errorf("ended %+v, %v", s.Turn.End, err)
		}
	})
}

func TestFailuresThatMayPassAreTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"error":{"status":529},"times":3}
{"text":"there"}`)
		d := r.create()
		defer d.Close()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Answer() != "there" {
			t.Errorf("answer %q, %v", s.Answer(), err)
		}
	})
}

func TestAPanicInAToolIsItsResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"read","args":{"do":"panic"}}]}
{"text":"I see."}`)
		d := r.create()
		defer d.Close()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil {
			t.Fatal(err)
		}
		if got := results(s); len(got) != 1 || !strings.Contains(got[0], "oh no") {
			t.Errorf("results %q", got)
		}
	})
}

func TestWrongArgumentsAndUnknownToolsAreResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"read","args":{"dont":"x"}},{"tool":"raed","args":{}},{"tool":"read","raw_args":"{\"do\":"}]}
{"text":"I see."}`)
		d := r.create()
		defer d.Close()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil {
			t.Fatal(err)
		}
		got := results(s)
		for i, want := range []string{"do", "read", "JSON"} {
			if !strings.Contains(got[i], want) || !strings.Contains(got[i], "true") {
				t.Errorf("result %d: %s, want an error with %q", i, got[i], want)
			}
		}
		if len(r.read.Ran()) > 0 {
			t.Error("it ran")
		}
	})
}

func TestAnAskIsARefusalWithNobodyThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		on  OnAsk
		end run.End
	}{{AskDeny, run.Completed}, {AskFail, run.EndFailed}, {AskWait, ""}} {
		t.Run(string(c.on), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok x"}}]}
{"text":"I see."}`)
				r.w.OnAsk = c.on
				r.w.Judge = judge(func(permission.Request) permission.Decision {
					return permission.Decision{Verdict: permission.Ask, Reason: "No rule covers it."}
				})
				d := r.create()
				defer d.Close()
				s, err := d.Run(t.Context(), prompt("go"))
				if err != nil || s.Turn.End.End != c.end {
					t.Errorf("ended %+v, %v", s.Turn.End, err)
				}
				if len(r.edit.Ran()) > 0 {
					t.Error("it ran without a decision")
				}
				if c.on != AskWait {
					return
				}
				// The decision is given later, elsewhere, once.
				for range 2 {
					if err := r.mem.Put(t.Context(), "r", store.Row{Key: "k", Kind: store.Decide, Payload: `{"call":"c_1","answer":"allow","by":"ann"}`}); err != nil {
						t.Fatal(err)
					}
				}
				s, err = d.Run(t.Context())
				if err != nil || s.Turn.End.End != run.Completed || len(r.edit.Ran()) != 1 {
					t.Errorf("after the decision: %+v, %v, ran %v", s.Turn.End, err, r.edit.Ran())
				}
			})
		})
	}
}

func TestWordsInTheInboxAreDeliveredWithTheNextResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"read","args":{"do":"sleep 1m"}}]}
{"text":"{{prompt}}"}`)
		d := r.create()
		defer d.Close()
		go func() {
			<-r.read.begun
			if err := r.mem.Put(context.Background(), "r", store.Row{Key: "k1", Kind: store.Steer, Payload: "use tabs"}); err != nil {
				t.Error(err)
			}
		}()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Answer() != "use tabs" {
			t.Errorf("answer %q, %v", s.Answer(), err)
		}
	})
}

func TestAFailingLogStopsTheRunAndNothingRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok x"}}]}
{"text":"Done."}`)
		r.mem.Fault = storetest.FailNth("append", 2, storetest.Fault{Err: errors.New("no space left on device")})
		d := r.create()
		_, err := d.Run(t.Context(), prompt("go"))
		if err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Fatalf("error %v", err)
		}
		if len(r.edit.Ran()) > 0 {
			t.Error("the tool ran although its start is not on disk")
		}
		d.Close()
		// The next process goes on where the log ends.
		r.mem.Fault = nil
		d, err = r.w.Open(t.Context(), "r", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		s, err := d.Run(t.Context())
		if err != nil || s.Answer() != "Done." || len(r.edit.Ran()) != 1 {
			t.Errorf("answer %q, %v, ran %v", s.Answer(), err, r.edit.Ran())
		}
	})
}

func TestADriverThatDiedIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"deaf"}},{"tool":"read","args":{"do":"ok code"}}]}
{"text":"Done."}`)
		d := r.create()
		var dead sync.WaitGroup
		defer dead.Wait() // its tool returns in an hour of the bubble, and its log refuses it
		dead.Go(func() { _, _ = d.Run(context.Background(), prompt("go")) })
		<-r.edit.begun
		synctest.Wait()
		after := r.mem.Crash()
		r.w.Store = after
		next, err := r.w.Open(t.Context(), "r", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close()
		s, err := next.Run(t.Context())
		if err != nil || s.Answer() != "Done." {
			t.Fatalf("answer %q, %v", s.Answer(), err)
		}
		got := results(s)
		if len(got) != 2 || !strings.Contains(got[0], "unknown") || got[1] != "c_2 false code" {
			t.Errorf("results %q", got)
		}
		if n := len(r.edit.Ran()); n != 1 {
			t.Errorf("the edit ran %d times", n)
		}
	})
}

func TestAQuestionWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"ask","args":{"do":"which?"}}]}
{"text":"{{last_result}}"}`)
		d := r.create()
		defer d.Close()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.Asked {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		s, err = d.Run(t.Context(), Words(s, "the second"))
		if err != nil || s.Answer() != "the second" {
			t.Errorf("answer %q, %v", s.Answer(), err)
		}
	})
}
