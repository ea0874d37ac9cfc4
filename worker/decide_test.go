package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/store/storetest"
	"pawl/tool"
	"pawl/view"
)

// A ruleSet decides by real rules, which grow when a person makes more.
type ruleSet struct {
	mu    sync.Mutex
	rules permission.Rules
	fails error
}

func (c *ruleSet) Decide(_ run.ID, m permission.Mode, r permission.Request) permission.Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rules.Decide(r, m)
}

func (c *ruleSet) Propose(_ run.ID, m permission.Mode, r permission.Request) permission.Proposal {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rules.Propose(r, m, nil)
}

func (c *ruleSet) Explain(_ run.ID, m permission.Mode, r permission.Request) (permission.Explanation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rules.Explain(r, m), nil
}

func (c *ruleSet) AddRules(_ run.ID, rules permission.Rules) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails != nil {
		return c.fails
	}
	c.rules = append(c.rules, rules...)
	return nil
}

func (c *ruleSet) Fetch(context.Context, run.ID) error { return nil }
func (c *ruleSet) Inherit(_, _ run.ID) error           { return nil }

func (c *ruleSet) Versions(ids ...run.ID) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Repeat([]string{fmt.Sprint(len(c.rules))}, len(ids))
}

func rule(t *testing.T, effect permission.Verdict, text string) permission.Rule {
	t.Helper()
	r, err := permission.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	r.Effect = effect
	return r
}

// asks makes a rig whose calls of edit and read all wait for a person.
func asks(t *testing.T, replies string) (*rig, *ruleSet) {
	r := newRig(t, replies)
	c := &ruleSet{rules: permission.Rules{rule(t, permission.Allow, "edit(free/**)"), rule(t, permission.Allow, "read")}}
	r.w.Authorizer, r.w.OnAsk = c, AskWait
	return r, c
}

func decideRow(t *testing.T, r *rig, d request.Decide) {
	t.Helper()
	put(t, r, string(d.Call)+string(d.Answer), d)
}

func TestMixedAnswersWithinOneMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, c := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}},{"tool":"edit","args":{"do":"ok b","path":"b.go"}},{"tool":"edit","args":{"do":"ok a again","path":"a.go"}},{"tool":"edit","args":{"do":"ok c","path":"c.go"}}]}
{"text":"Done."}`)
		d := r.create()
		defer d.Close()
		if s, err := d.Run(t.Context(), prompt("go")); err != nil || !s.Turn.Open() {
			t.Fatalf("%+v, %v", s.Turn.End, err)
		}
		decideRow(t, r, request.Decide{Call: "c_2", Answer: run.Never, By: "ann", Text: "b is generated."})
		decideRow(t, r, request.Decide{Call: "c_1", Answer: run.Always, By: "ann"})
		decideRow(t, r, request.Decide{Call: "c_4", Answer: run.Allow, By: "bob"})
		decideRow(t, r, request.Decide{Call: "c_4", Answer: run.Never, By: "late"})
		s, err := d.Run(t.Context())
		if err != nil || s.Turn.End.End != run.Completed {
			t.Fatalf("%+v, %v", s.Turn.End, err)
		}
		if got := r.edit.Ran(); !slices.Equal(got, []string{"ok a", "ok a again", "ok c"}) {
			t.Errorf("ran %q", got)
		}
		if got := strings.Join(results(s), "\n"); !strings.Contains(got, "c_2 true The person refused this call, and calls like it from now on (rule edit(b.go)).") || !strings.Contains(got, "b is generated.") {
			t.Errorf("results:\n%s", got)
		}
		var kept []string
		for _, r := range c.rules[2:] {
			kept = append(kept, string(r.Effect)+" "+r.String()+" by "+r.By)
		}
		if want := []string{"deny edit(b.go) by ann", "allow edit(a.go) by ann"}; !slices.Equal(kept, want) {
			t.Errorf("kept %q, want %q", kept, want)
		}
	})
}

func TestWaitWithWordsGoesOnWithThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}},{"tool":"edit","args":{"do":"ok b","path":"b.go"}}]}
{"text":"As you like."}`)
		d := r.create()
		defer d.Close()
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		decideRow(t, r, request.Decide{Call: "c_2", Answer: run.Wait, Text: "Use c.go."})
		s, err := d.Run(t.Context())
		if err != nil || s.Turn.End.End != run.Completed || s.Turn.N != 2 || s.Answer() != "As you like." {
			t.Fatalf("turn %d %+v %q, %v", s.Turn.N, s.Turn.End, s.Answer(), err)
		}
		want := []string{"c_1 true " + run.ByUser, "c_2 true " + run.RefusedByWait}
		if got := results(s); !slices.Equal(got, want) {
			t.Errorf("results %q", got)
		}
		if len(r.edit.Ran()) > 0 {
			t.Errorf("ran %q", r.edit.Ran())
		}
	})
}

func TestARuleThatCannotBeStoredIsToldAndTheAnswerCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, c := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}}]}
{"text":"Done."}`)
		c.fails = errors.New("the disk is full")
		d := r.create()
		defer d.Close()
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		decideRow(t, r, request.Decide{Call: "c_1", Answer: run.Always})
		if s, err := d.Run(t.Context()); err != nil || s.Turn.End.End != run.Completed || len(r.edit.Ran()) != 1 {
			t.Errorf("%+v, %v, ran %q", s.Turn.End, err, r.edit.Ran())
		}
		if !slices.ContainsFunc(r.views, func(v view.Update) bool { return strings.Contains(v.Notice, "the disk is full") }) {
			t.Error("the person is not told that there is no rule")
		}
	})
}

// A rule without the decision that the person gave it with would allow what the log does not
// say that anyone allowed.
func TestARuleIsStoredOnlyAfterItsDecisionIsDurable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, c := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}}]}
{"text":"Done."}`)
		d := r.create()
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		before := len(c.rules)
		r.mem.Fault = storetest.FailNth("append", 1, storetest.Fault{Err: errors.New("no space left on device")})
		decideRow(t, r, request.Decide{Call: "c_1", Answer: run.Always})
		if _, err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Fatalf("error %v", err)
		}
		if len(c.rules) != before {
			t.Errorf("the rules %v were stored, the decision was not", c.rules[before:])
		}
		d.Close()
		r.mem.Fault = nil
		d, err := r.w.Open(t.Context(), "r", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if s, err := d.Run(t.Context()); err != nil || s.Turn.End.End != run.Completed || len(c.rules) != before+1 {
			t.Errorf("%+v, %v, rules %v", s.Turn.End, err, c.rules[before:])
		}
	})
}

func TestADecisionIsBoundToWhatWasShown(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "b.go")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	// c_1 runs first and changes the file that c_2 was allowed to change.
	r, _ := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}},{"tool":"edit","args":{"do":"ok b","path":"b.go"}}]}
{"text":"Done."}`)
	r.edit.runs = func() { os.WriteFile(file, []byte("after"), 0o600) }
	d, err := r.w.Create(t.Context(), run.Created{Run: "r", Workspace: dir}, r.watch)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Run(t.Context(), prompt("go")); err != nil {
		t.Fatal(err)
	}
	decideRow(t, r, request.Decide{Call: "c_1", Answer: run.Allow})
	decideRow(t, r, request.Decide{Call: "c_2", Answer: run.Allow})
	s, err := d.Run(t.Context())
	if err != nil || !s.Turn.Open() {
		t.Fatalf("%+v, %v", s.Turn.End, err)
	}
	if got := r.edit.Ran(); !slices.Equal(got, []string{"ok a"}) {
		t.Errorf("ran %q: the second was allowed for another content", got)
	}
	if log := strings.Join(r.log(r.mem), " "); !strings.Contains(log, "approval_invalidated") {
		t.Errorf("log %s", log)
	}
	// What was shown may also have changed before the answer came.
	decideRow(t, r, request.Decide{Call: "c_2", Answer: run.Always, Digest: "of something else"})
	if s, err = d.Run(t.Context()); err != nil || !s.Turn.Open() || len(r.edit.Ran()) != 1 {
		t.Fatalf("%+v, %v, ran %q", s.Turn.End, err, r.edit.Ran())
	}
	putRow(t, r, "again", "decide", `{"call":"c_2","answer":"allow"}`)
	if s, err = d.Run(t.Context()); err != nil || s.Turn.End.End != run.Completed || len(r.edit.Ran()) != 2 {
		t.Errorf("%+v, %v, ran %q", s.Turn.End, err, r.edit.Ran())
	}
}

func TestADenyRuleMadeMeanwhileWins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, c := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"free/a.go"}},{"tool":"edit","args":{"do":"ok b","path":"free/b.go"}}]}
{"text":"Done."}`)
		r.edit.runs = func() { _ = c.AddRules("", permission.Rules{rule(t, permission.Deny, "edit(free/b.go)")}) }
		d := r.create()
		defer d.Close()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.Completed {
			t.Fatalf("%+v, %v", s.Turn.End, err)
		}
		if got := r.edit.Ran(); !slices.Equal(got, []string{"ok a"}) {
			t.Errorf("ran %q: a deny rule was made before the second started", got)
		}
	})
}

func TestTheModeCanBeSwitchedInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}}]}
{"text":"Done."}`)
		d := r.create()
		defer d.Close()
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		putRow(t, r, "x", "configure", `{"change":{"mode":"no such mode"}}`)
		putRow(t, r, "y", "configure", `{"change":{"mode":"accept-edits"}}`)
		s, err := d.Run(t.Context())
		if err != nil || s.Turn.End.End != run.Completed || s.Config.Mode != "accept-edits" || len(r.edit.Ran()) != 1 {
			t.Errorf("%+v, %v, mode %q, ran %q", s.Turn.End, err, s.Config.Mode, r.edit.Ran())
		}
	})
}

func TestWhatWaitsToBeGivenUpIsOfItsTurnAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := asks(t, `
{"calls":[{"tool":"read","args":{"do":"wait"}},{"tool":"edit","args":{"do":"ok b","path":"b.go"}}]}
{"calls":[{"tool":"edit","args":{"do":"sleep 5s","path":"free/c.go"}}]}
{"text":"Done."}`)
		d := r.create()
		defer d.Close()
		after(time.Second, func() { decideRow(t, r, request.Decide{Call: "c_2", Answer: run.Wait, Text: "Use free/c.go."}) })
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.N != 2 || s.Turn.End.End != run.Completed {
			t.Fatalf("turn %d %+v, %v", s.Turn.N, s.Turn.End, err)
		}
		if got := results(s); len(got) != 3 || got[2] != "c_3 false 5s" {
			t.Errorf("results %q: the second turn's call took its time, and was not stopped", got)
		}
	})
}

// returned reports whether words came back to the person's input, and no others.
func returned(s run.State, words string) bool {
	return len(s.Returned) == 1 && run.PlainText(s.Returned[0].Parts) == words
}

func TestAnInterruptAfterWaitWithWordsTakesTheWordsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := asks(t, `
{"calls":[{"tool":"read","args":{"do":"deaf"}},{"tool":"edit","args":{"do":"ok b","path":"b.go"}}]}
{"text":"never asked for"}`)
		defer time.Sleep(2 * time.Hour) // until the deaf one has ended
		d := r.create()
		after(time.Second, func() { decideRow(t, r, request.Decide{Call: "c_2", Answer: run.Wait, Text: "Use c.go."}) })
		after(1500*time.Millisecond, interrupt(d)) // c_1 is still being stopped
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.N != 1 || s.Turn.End.End != run.EndInterrupted || !returned(s, "Use c.go.") {
			t.Errorf("turn %d ended %+v, returned %+v, %v: the words must not begin a turn", s.Turn.N, s.Turn.End, s.Returned, err)
		}
	})
}

func TestAStopWhileADeadProcessesInterruptIsFinishedTakesItsWordsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok b","path":"b.go"}}]}
{"text":"never asked for"}`)
		d := r.create()
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		// The process dies with the interrupt recorded and nothing after it.
		f := run.Interrupted{Cause: run.ByWait, Call: "c_1", Then: []run.Part{run.Text("Use c.go.")}}
		d.Close()
		if err := r.mem.Append(t.Context(), "r", d.State().Seq, []run.Event{{At: time.Now(), Payload: f}}); err != nil {
			t.Fatal(err)
		}
		d, err := r.w.Open(t.Context(), "r", r.watch)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		s, err := d.Run(stopped(t, run.ByShutdown))
		if err != nil || s.Turn.N != 1 || s.Turn.End.End != run.EndInterrupted || !returned(s, "Use c.go.") {
			t.Errorf("turn %d ended %+v, returned %+v, %v: the words must not begin a turn", s.Turn.N, s.Turn.End, s.Returned, err)
		}
	})
}

func TestWhatWasDecidedWhileNobodyDroveTheRunComesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}},{"tool":"edit","args":{"do":"ok b","path":"b.go"}}]}
{"text":"Done."}`)
		d := r.create()
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		d.Close()
		decideRow(t, r, request.Decide{Call: "c_1", Answer: run.Allow})
		putRow(t, r, "set", "configure", `{"change":{"mode":"plan"}}`)
		r.w.OnAsk = AskDeny // whoever takes the run up has no one to ask
		d, err := r.w.Open(t.Context(), "r", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		s, err := d.Run(t.Context(), run.Said{ID: "s", Delivery: run.Steer, Parts: []run.Part{run.Text("Go on.")}})
		if err != nil || s.Turn.End.End != run.Completed || s.Config.Mode != "plan" {
			t.Fatalf("%+v, mode %q, %v", s.Turn.End, s.Config.Mode, err)
		}
		got := strings.Join(results(s), "\n")
		if !strings.Contains(got, "c_2 true Not allowed") || !strings.Contains(got, "plan") {
			t.Errorf("results:\n%s", got)
		}
	})
}

func TestAnAnswerToSomethingElseDoesNotCount(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, _ := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}}]}
{"text":"Done."}`)
	r.dir = dir
	write(t, dir, "a.go", "as it was shown")
	d := r.create()
	s, err := d.Run(t.Context(), prompt("go"))
	if err != nil {
		t.Fatal(err)
	}
	shown := digestOf(t, d, s)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	answer := func(key string, a run.Answer, digest string) run.State {
		t.Helper()
		put(t, r, key, request.Decide{Call: "c_1", Answer: a, Digest: digest})
		return r.run(r.open())
	}
	// The file changes between what the person was shown and the taking of the answer.
	write(t, dir, "a.go", "changed meanwhile")
	for key, c := range map[string]struct {
		answer run.Answer
		digest string
	}{
		"shown before the change": {run.Allow, shown},
		"and for always":          {run.Always, shown},
		"of something else":       {run.Allow, strings.Repeat("0", len(shown))},
	} {
		if s := answer(key, c.answer, c.digest); !s.Turn.Open() || len(r.edit.Ran()) > 0 {
			t.Fatalf("%s: ended %+v, ran %q", key, s.Turn.End, r.edit.Ran())
		}
	}
	d = r.open()
	now := digestOf(t, d, d.State())
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if s := answer("shown after the change", run.Allow, now); s.Turn.End.End != run.Completed || len(r.edit.Ran()) != 1 {
		t.Errorf("ended %+v, ran %q", s.Turn.End, r.edit.Ran())
	}
}

// digestOf is of what a person is shown of the call that waits.
func digestOf(t *testing.T, d *Runner, s run.State) string {
	t.Helper()
	c, ok := s.Turn.Call("c_1")
	if !ok {
		t.Fatal("there is no call")
	}
	j, err := d.w.Judge(s, c)
	if err != nil {
		t.Fatal(err)
	}
	return j.Digest()
}

// counted counts how often a call is decided on.
type counted struct {
	*ruleSet
	mu      sync.Mutex
	decided map[string]int
}

func (c *counted) Decide(id run.ID, m permission.Mode, r permission.Request) permission.Decision {
	c.mu.Lock()
	c.decided[r.Tool]++
	c.mu.Unlock()
	return c.ruleSet.Decide(id, m, r)
}

func (c *counted) of(tool string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.decided[tool]
}

func TestACallThatWaitsForAPersonIsDecidedOnAgainOnlyWhenSomethingHasChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, rules := asks(t, `
{"calls":[{"tool":"read","args":{"do":"sleep 10m"}},{"tool":"edit","args":{"do":"ok a","path":"a.go"}}]}
{"text":"Done."}`)
		c := &counted{ruleSet: rules, decided: map[string]int{}}
		r.w.Authorizer = c
		d := r.create()
		defer d.Close()
		var first, later, changed int
		after(time.Second, func() { first = c.of("edit") })
		after(5*time.Minute, func() {
			later = c.of("edit")
			_ = c.AddRules("", permission.Rules{rule(t, permission.Deny, "edit(other.go)")})
		})
		after(6*time.Minute, func() {
			changed = c.of("edit")
			_ = c.AddRules("", permission.Rules{rule(t, permission.Allow, "edit(a.go)")})
		})
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.Completed || len(r.edit.Ran()) != 1 {
			t.Fatalf("ended %+v, %v, ran %q: a rule was made that allows it", s.Turn.End, err, r.edit.Ran())
		}
		if first == 0 || later != first {
			t.Errorf("decided on %d times at first and %d times in the next five minutes", first, later-first)
		}
		if changed != later+1 {
			t.Errorf("decided on %d times after the rules had changed, want once", changed-later)
		}
	})
}

func TestTheTimeAPersonTakesIsNotTheTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, d, seen := controlled(t, `{"action":"next_step","tool":"edit","args":{"do":"ok a"}}`, `{"action":"complete","message":"Done."}`)
		r.w.OnAsk = AskWait
		r.w.Authorizer = authorizer(func(permission.Request) permission.Decision { return permission.Decision{Verdict: permission.Ask} })
		r.run(d, prompt("go"))
		time.Sleep(7 * time.Hour) // more than the limit of six
		decideRow(t, r, request.Decide{Call: "c_1", Answer: run.Allow})
		s := r.run(r.open())
		if s.Turn.End.End != run.Completed {
			t.Fatalf("ended %+v", s.Turn.End)
		}
		shown := words(t, (*seen)[1])
		if last := shown[len(shown)-1]; !strings.Contains(last, "6h0m0s") {
			t.Errorf("the model is told %q", last)
		}
	})
}

func TestTheTimeLimitDoesNotBeginAnewWithAProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"read","args":{"do":"sleep 4m"}}]}
{"text":"never said","hang":true}`)
		d := r.createWith(run.Created{Config: run.Config{Limits: run.Limits{Wall: 6 * time.Minute}}})
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			_, _ = d.Run(context.Background(), prompt("go"))
		}()
		r.until(func(v view.Update) bool { return v.Delta != nil && v.Delta.Text != "" })
		r.crash()
		r.play(`
{"calls":[{"tool":"read","args":{"do":"sleep 4m"}}]}
{"calls":[{"tool":"read","args":{"do":"sleep 4m"}}]}`)
		time.Sleep(time.Hour) // no process drives it
		began := time.Now()
		s := r.run(r.open())
		if s.Turn.End.Reason != "wall_clock" {
			t.Errorf("ended %+v", s.Turn.End)
		}
		if took := time.Since(began).Round(time.Second); took != 2*time.Minute {
			t.Errorf("the second process had %v, want the two minutes that were left of six", took)
		}
		_ = d.Close()
		<-dead
	})
}

// A fickle tool can say what a call would do, and then no more.
type fickle struct {
	*fake
	looks *int // that go well
}

func (f fickle) Inspect(env tool.Env, args json.RawMessage) (tool.Intent, error) {
	if *f.looks--; *f.looks < 0 {
		return tool.Intent{}, errors.New("the folder is gone")
	}
	return f.fake.Inspect(env, args)
}

// A call is looked at once for its inspection, its decision and its start, if nothing runs in between; and
// once more when a person has been asked in between.
func TestACallIsInspectedOnce(t *testing.T) {
	t.Parallel()
	for asked, want := range map[bool]int{false: 1, true: 2} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a"}}]}
{"text":"Done."}`)
			const many = 100
			flaky, looks := newFake("edit", run.Writes), many
			r.w.Tools = tool.NewRegistry(fickle{flaky, &looks})
			if asked {
				r.w.OnAsk, r.w.Authorizer = AskWait, authorizer(needsApproval)
			}
			d := r.create()
			defer d.Close()
			s, err := d.Run(t.Context(), prompt("go"))
			if asked {
				decideRow(t, r, request.Decide{Call: "c_1", Answer: run.Allow})
				s, err = d.Run(t.Context())
			}
			if err != nil || s.Turn.End.End != run.Completed || len(flaky.Ran()) != 1 || many-looks != want {
				t.Errorf("ended %+v, %v; ran %q after %d looks, want %d", s.Turn.End, err, flaky.Ran(), many-looks, want)
			}
		})
	}
}

func TestACallThatCannotBeInspectedAnyMoreDoesNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"read","args":{"do":"ok a"}},{"tool":"flaky","args":{"do":"ok b"}}]}
{"text":"I see."}`)
		flaky, looks := newFake("flaky", run.Writes), 1 // none is left when it is about to start
		r.w.Tools = tool.NewRegistry(r.read, fickle{flaky, &looks})
		s := r.run(r.create(), prompt("go"))
		if got := results(s); len(got) != 2 || got[1] != "c_2 true the folder is gone" {
			t.Errorf("results %q", got)
		}
		if len(flaky.Ran()) > 0 {
			t.Errorf("ran %q", flaky.Ran())
		}
	})
}

func TestADecisionThatTheRulesTakeBackIsMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, rules := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"free/a.go"}},{"tool":"edit","args":{"do":"ok b","path":"free/b.go"}}]}
{"text":"Done."}`)
		r.edit.runs = func() { _ = rules.AddRules("", permission.Rules{rule(t, permission.Ask, "edit(free/b.go)")}) }
		s := r.run(r.create(), prompt("go"))
		if !s.Turn.Open() || !slices.Equal(r.edit.Ran(), []string{"ok a"}) {
			t.Errorf("ended %+v, ran %q: a rule to ask was made before the second started", s.Turn.End, r.edit.Ran())
		}
		if p := logged[run.ApprovalInvalidated](t, r); len(p) != 1 || p[0].Call != "c_2" || !strings.Contains(p[0].Reason, "the rules have changed") {
			t.Errorf("invalidated %+v", p)
		}
	})
}

// An approval to read a file is not one to read its content as it was.
func TestAnApprovalToReadIsNotBoundToTheContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a", "before")
	r, _ := asks(t, `
{"calls":[{"tool":"read","args":{"do":"ok it","path":"a"}}]}
{"text":"Done."}`)
	r.w.Authorizer = authorizer(func(permission.Request) permission.Decision { return permission.Decision{Verdict: permission.Ask} })
	d, err := r.w.Create(t.Context(), run.Created{Run: "r", Workspace: dir}, r.watch)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Run(t.Context(), prompt("go"))
	if err != nil || !s.Turn.Open() {
		t.Fatalf("ended %+v, %v", s.Turn.End, err)
	}
	c, _ := s.Turn.Call("c_1")
	j, err := r.w.Judge(s, c)
	if err != nil {
		t.Fatal(err)
	}
	shown := j.Digest()
	write(t, dir, "a", "after")
	decideRow(t, r, request.Decide{Call: "c_1", Answer: run.Allow, Digest: shown})
	if s := r.run(d); s.Turn.End.End != run.Completed {
		t.Errorf("ended %+v, log %q", s.Turn.End, r.log(r.mem))
	}
}

func TestAReadOnlyDecisionStaysReadOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		was     run.Confinement
		verdict permission.Verdict
		now     run.Confinement
		want    bool
	}{
		{run.ReadOnly, permission.Allow, run.ReadOnly, true},
		{run.ReadOnly, permission.Allow, run.Confined, true},
		{run.ReadOnly, permission.Allow, run.Unconfined, true},
		{run.ReadOnly, permission.Ask, run.Confined, false},
		{run.Confined, permission.Allow, run.Confined, true},
		{run.Confined, permission.Allow, run.ReadOnly, false},
		{run.Confined, permission.Allow, run.WithNetwork, false},
		{run.Unconfined, permission.Allow, run.Confined, false},
	} {
		if got := stillHolds(run.Decision{Sandbox: c.was}, permission.Decision{Verdict: c.verdict, Sandbox: c.now}); got != c.want {
			t.Errorf("was %q, is %s in %q: it holds: %t, want %t", c.was, c.verdict, c.now, got, c.want)
		}
	}
}
