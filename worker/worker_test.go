package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/store/storetest"
	"pawl/task"
	"pawl/tasklog"
	"pawl/tool"
	"pawl/view"
)

// fake is a tool whose doings are told by its argument "do":
//
//	ok TEXT | apart (goes on without the process) | ask WORD… (of the person, with answers to choose from) | fail TEXT | wait (until it is stopped) | deaf (does not stop) | sleep 1s | panic
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

func (f *fake) Inspect(_ tool.Env, args json.RawMessage) (tool.Intent, error) {
	var a struct{ Path string }
	if err := json.Unmarshal(args, &a); err != nil {
		return tool.Intent{}, err
	}
	in := tool.Intent{Class: f.class, Question: f.name == "ask", Title: f.name}
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
	case "ask":
		var answers []string
		for question := range strings.FieldsSeq(rest) {
			answer, err := c.Ask(ctx, question, "red", "blue")
			if err != nil {
				return tool.ErrorResult("no answer: " + err.Error()), nil
			}
			answers = append(answers, answer)
		}
		rest = strings.Join(answers, " ")
	case "apart":
		switch {
		case c.Handle == "lost":
			return tool.Result{Content: tool.ErrorResult("nobody knows").Content, IsError: true, Unknown: true}, nil
		case c.Handle != "":
			return tool.TextResult("asked with " + c.Handle), nil
		}
		if err := c.Detach(ctx, rest); err != nil {
			return tool.ErrorResult(err.Error()), nil
		}
		f.begun <- "detached"
		<-ctx.Done()
		return tool.TextResult("stopped"), nil
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

	dir string // the workspace

	checkOutput func(task.Output) error // see tasklog.Tasks
	taskChanged func(task.ID)

	script script.Script

	mu    sync.Mutex
	seen  sync.Cond // a view was added
	views []view.Update
}

// An authorizer decides by a function that never changes, and stores no rules.
type authorizer func(permission.Request) permission.Decision

func (a authorizer) Decide(_ run.ID, _ permission.Mode, r permission.Request) permission.Decision {
	return a(r)
}

func (a authorizer) Propose(run.ID, permission.Mode, permission.Request) permission.Proposal {
	return permission.Proposal{}
}

func (a authorizer) Explain(run.ID, permission.Mode, permission.Request) (permission.Explanation, error) {
	return permission.Explanation{}, nil
}

func (a authorizer) AddRules(run.ID, permission.Rules) error { return nil }

func (a authorizer) Fetch(context.Context, run.ID) error { return nil }
func (a authorizer) Inherit(_, _ run.ID) error           { return nil }

func (a authorizer) Versions(ids ...run.ID) []string { return make([]string, len(ids)) }

func newRig(t *testing.T, replies string) *rig {
	t.Helper()
	s, err := script.Parse(strings.NewReader(replies))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, script: s, mem: storetest.NewMemory(), dir: "/w", read: newFake("read", run.Reads), edit: newFake("edit", run.Writes)}
	r.seen.L = &r.mu
	p := script.New(s, time.Minute)
	r.w, err = New(Config{
		Store: r.mem, Tools: tool.NewRegistry(r.read, r.edit, newFake("ask", run.Resumable)),
		Provider:   func(string) (llm.Provider, string, error) { return p, "m", nil },
		Authorizer: authorizer(allowAll),
		OnAsk:      AskDeny,
		TaskOf:     func(ctx context.Context, id run.ID) (Task, error) { return taskOf(r.tasks(r.w.Store))(ctx, id) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tasks are those of a store of the rig.
func (r *rig) tasks(st store.Store) *tasklog.Tasks {
	return &tasklog.Tasks{Store: st, Check: r.checkOutput, Changed: r.taskChanged, Metrics: r.w.Metrics}
}

func taskOf(t *tasklog.Tasks) func(context.Context, run.ID) (Task, error) {
	return func(ctx context.Context, id run.ID) (Task, error) {
		of, err := t.Of(ctx, id)
		if of == nil {
			return nil, err
		}
		return of, err
	}
}

func (r *rig) watch(v view.Update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.views = append(r.views, v)
	r.seen.Broadcast()
}

// until waits for a view, also one that was shown already.
func (r *rig) until(is func(view.Update) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !slices.ContainsFunc(r.views, is) {
		r.seen.Wait()
	}
}

// noticed returns the notices shown so far.
func (r *rig) noticed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var notices []string
	for _, v := range r.views {
		if v.Notice != "" {
			notices = append(notices, v.Notice)
		}
	}
	return notices
}

func (r *rig) create() *Runner {
	r.t.Helper()
	return r.createWith(run.Created{})
}

// createWith makes the run with more than its id and workspace.
func (r *rig) createWith(c run.Created) *Runner {
	r.t.Helper()
	c.Run, c.Workspace = "r", r.dir
	d, err := r.w.Create(context.Background(), c, r.watch)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// afterATurn returns a run whose model answers "yes" to everything, after its first turn.
// The caller must close the runner.
func afterATurn(t *testing.T) (*rig, *Runner) {
	t.Helper()
	r := newRig(t, `{"text":"yes","repeat":true}`)
	d := r.create()
	if _, err := d.Run(t.Context(), prompt("go")); err != nil {
		t.Fatal(err)
	}
	return r, d
}

// open takes the run up as another process does.
func (r *rig) open() *Runner {
	r.t.Helper()
	d, err := r.w.Open(context.Background(), "r", r.watch)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// run drives a run until it is at rest, and closes it.
func (r *rig) run(d *Runner, given ...run.Payload) run.State {
	r.t.Helper()
	s, err := d.Run(context.Background(), given...)
	if err := errors.Join(err, d.Close()); err != nil {
		r.t.Fatal(err)
	}
	return s
}

// crash kills the process: what it does after that does not reach the disk. The
// rig's worker is that of the next one.
func (r *rig) crash() {
	r.t.Helper()
	r.mem = r.mem.Crash()
	c := r.w.Config
	c.Store = r.mem
	w, err := New(c)
	if err != nil {
		r.t.Fatal(err)
	}
	r.w = w
}

// play gives the model another script.
func (r *rig) play(replies string) {
	r.t.Helper()
	s, err := script.Parse(strings.NewReader(replies))
	if err != nil {
		r.t.Fatal(err)
	}
	p := script.New(s, time.Minute)
	r.w.Provider = func(string) (llm.Provider, string, error) { return p, "m", nil }
}

// errKilled is what a killed process's operations return.
var errKilled = errors.New("the process was killed")

// failFrom lets the n-th operation of that name fail, and all later ones.
func failFrom(n int, name string, err error) func(storetest.Op) storetest.Fault {
	return func(op storetest.Op) storetest.Fault {
		if op.Name != name {
			return storetest.Fault{}
		}
		if n--; n > 0 {
			return storetest.Fault{}
		}
		return storetest.Fault{Err: err}
	}
}

// logged returns the events of one type in the log of the run.
func logged[P run.Payload](t *testing.T, r *rig) []P { return loggedOf[P](t, r, "r") }

func loggedOf[P run.Payload](t *testing.T, r *rig, id run.ID) []P {
	t.Helper()
	var all []P
	for e, err := range r.mem.Events(context.Background(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := e.Payload.(P); ok {
			all = append(all, p)
		}
	}
	return all
}

func allowAll(permission.Request) permission.Decision {
	return permission.Decision{Verdict: permission.Allow}
}

func prompt(s string) run.Payload { return run.Prompted{Parts: []run.Part{run.Text(s)}} }

// say is something said to a run: a prompt, or the answer to its open question.
func say(s run.State, words string) run.Payload {
	return run.Say(s, "said", run.Steer, []run.Part{run.Text(words)})
}

// stopped returns a context that was interrupted before anything began.
func stopped(t *testing.T, c run.Cause) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Stop{run.Interrupted{Cause: c}})
	return ctx
}

// log returns the run's events by name.
func (r *rig) log(st store.Store) []string {
	r.t.Helper()
	var out []string
	for e, err := range st.Events(context.Background(), "r", 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, store.Type(e.Payload))
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

func TestAWorkerThatLacksAPartIsNotMade(t *testing.T) {
	t.Parallel()
	whole := newRig(t, `{"text":"yes"}`).w.Config
	for want, without := range map[string]func(*Config){
		"store":            func(c *Config) { c.Store = nil },
		"tools":            func(c *Config) { c.Tools = nil },
		"source of models": func(c *Config) { c.Provider = nil },
		"authorizer":       func(c *Config) { c.Authorizer = nil },
	} {
		c := whole
		without(&c)
		if w, err := New(c); w != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v, %v", want, w, err)
		}
	}
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
		wantLog := []string{"run_created", "prompted", "request_started", "replied", "call_inspected", "call_inspected", "call_decided", "call_decided",
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
		// The next prompt continues the same conversation.
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
		if got := results(s); len(got) != 1 || !strings.HasSuffix(got[0], run.LeftText) || strings.Contains(got[0], "process") {
			t.Errorf("results %q: the tool may still be running", got)
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
		s, err := d.Run(stopped(t, run.ByPerson), prompt("go"))
		if err != nil || s.Turn.End.End != run.EndInterrupted || s.Turn.End.Reason != string(run.ByPerson) {
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
				r.w.Authorizer = authorizer(func(permission.Request) permission.Decision {
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
					if err := r.mem.Put(t.Context(), "r", store.Row{Key: "k", Kind: "decide", Payload: `{"call":"c_1","answer":"allow","by":"ann"}`}); err != nil {
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
			if err := r.mem.Put(context.Background(), "r", store.Row{Key: "k1", Kind: "say", Payload: `{"id":"k1","delivery":"steer","parts":[{"type":"text","text":"use tabs"}]}`}); err != nil {
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
		// The next process continues where the log ends.
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

func TestAFailingLogIsToldAtOnceOnceWhatRanHasStopped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replies string
		fails   int // append
		row     store.Row
	}{
		"when a call has ended":        {`{"calls":[{"tool":"edit","args":{"do":"ok x"}}]}`, 3, store.Row{}},
		"while a call runs":            {`{"calls":[{"tool":"edit","args":{"do":"wait"}}]}`, 3, store.Row{Key: "k", Kind: "say", Payload: `{"id":"k","delivery":"steer","parts":[{"type":"text","text":"faster"}]}`}},
		"while the model is answering": {`{"text":"I was about to","hang":true}`, 2, store.Row{Key: "k", Kind: "say", Payload: `{"id":"k","delivery":"steer","parts":[{"type":"text","text":"faster"}]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, c.replies)
				r.mem.Fault = failFrom(c.fails, "append", errors.New("no space left on device"))
				d := r.create()
				defer d.Close()
				go func() {
					synctest.Wait()
					if c.row.Key == "" {
						return
					}
					if err := r.mem.Put(context.Background(), "r", c.row); err != nil {
						t.Error(err)
					}
				}()
				began := time.Now()
				_, err := d.Run(t.Context(), prompt("go"))
				if err == nil || !strings.Contains(err.Error(), "no space left") {
					t.Fatalf("error %v", err)
				}
				if took := time.Since(began); took > pollInbox {
					t.Errorf("it took %v: nothing was left to wait for", took)
				}
			})
		})
	}
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
		s, err = d.Run(t.Context(), say(s, "the second"))
		if err != nil || s.Answer() != "the second" {
			t.Errorf("answer %q, %v", s.Answer(), err)
		}
	})
}

func TestTheEffortGoesWithEveryRequestAndIsSpokenOfOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"text":"ok","repeat":true}`)
		p, _, _ := r.w.Provider("")
		asked := &asksEffort{Provider: p}
		r.w.Provider = func(string) (llm.Provider, string, error) { return asked, "m", nil }
		r.w.Effort = func(model, level string) (llm.Effort, string) {
			return llm.Effort{Level: "its " + level}, model + " has another name for " + level
		}
		d := r.createWith(run.Created{Config: run.Config{Model: "p/m", Effort: "high"}})
		defer d.Close()
		low := "low"
		for _, before := range []*run.ConfigChange{nil, nil, {Effort: &low}} {
			if before != nil {
				d.Post(t.Context(), request.Configure{Change: *before})
			}
			if _, err := d.Run(t.Context(), run.Prompted{Parts: []run.Part{run.Text("go")}}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"its high", "its high", "its low"}, asked.levels); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]string{"p/m has another name for high", "p/m has another name for low"}, r.noticed()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// asksEffort records the efforts that are asked of a provider.
type asksEffort struct {
	llm.Provider
	levels []string
}

func (p *asksEffort) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	p.levels = append(p.levels, r.Effort.Level)
	return p.Provider.Stream(ctx, r)
}
