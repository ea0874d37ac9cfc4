package worker

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pawl/permission"
	"pawl/run"
	"pawl/store"
)

// A court judges by real rules, which grow when a person makes more.
type court struct {
	mu    sync.Mutex
	rules permission.Rules
	fails error
}

func (c *court) Decide(_ run.ID, m permission.Mode, r permission.Request) permission.Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rules.Decide(r, m)
}

func (c *court) Propose(_ run.ID, m permission.Mode, r permission.Request) permission.Proposal {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rules.Propose(r, m, nil)
}

func (c *court) Keep(_ run.ID, rules permission.Rules) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails != nil {
		return c.fails
	}
	c.rules = append(c.rules, rules...)
	return nil
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
func asks(t *testing.T, replies string) (*rig, *court) {
	r := newRig(t, replies)
	c := &court{rules: permission.Rules{rule(t, permission.Allow, "edit(free/**)"), rule(t, permission.Allow, "read")}}
	r.w.Judge, r.w.OnAsk = c, AskWait
	return r, c
}

func decideRow(t *testing.T, r *rig, d Decision) {
	t.Helper()
	payload, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	put(t, r, string(d.Call)+string(d.Answer), store.Decide, string(payload))
}

func TestMixedAnswersWithinOneMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, c := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}},{"tool":"edit","args":{"do":"ok b","path":"b.go"}},{"tool":"edit","args":{"do":"ok a again","path":"a.go"}},{"tool":"edit","args":{"do":"ok c","path":"c.go"}}]}
{"text":"Done."}`)
		d := r.create()
		defer d.Close()
		if s, err := d.Run(t.Context(), prompt("go")); err != nil || !s.Turn.Open {
			t.Fatalf("%+v, %v", s.Turn.End, err)
		}
		decideRow(t, r, Decision{Call: "c_2", Answer: run.Never, By: "ann", Text: "b is generated."})
		decideRow(t, r, Decision{Call: "c_1", Answer: run.Always, By: "ann"})
		decideRow(t, r, Decision{Call: "c_4", Answer: run.Allow, By: "bob"})
		decideRow(t, r, Decision{Call: "c_4", Answer: run.Never, By: "late"})
		s, err := d.Run(t.Context())
		if err != nil || s.Turn.End.End != run.Completed {
			t.Fatalf("%+v, %v", s.Turn.End, err)
		}
		if got := r.edit.Ran(); !slices.Equal(got, []string{"ok a", "ok a again", "ok c"}) {
			t.Errorf("ran %q", got)
		}
		if got := strings.Join(results(s), "\n"); !strings.Contains(got, "c_2 true The user does not allow this, now or later: a rule against it is stored (edit(b.go))") || !strings.Contains(got, "b is generated.") {
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
{"text":"the account of the first turn has used this up"}
{"text":"As you like."}`)
		d := r.create()
		defer d.Close()
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		decideRow(t, r, Decision{Call: "c_2", Answer: run.Wait, Text: "Use c.go."})
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
		decideRow(t, r, Decision{Call: "c_1", Answer: run.Always})
		if s, err := d.Run(t.Context()); err != nil || s.Turn.End.End != run.Completed || len(r.edit.Ran()) != 1 {
			t.Errorf("%+v, %v, ran %q", s.Turn.End, err, r.edit.Ran())
		}
		if !slices.ContainsFunc(r.views, func(v View) bool { return strings.Contains(v.Notice, "the disk is full") }) {
			t.Error("nobody is told that there is no rule")
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
	decideRow(t, r, Decision{Call: "c_1", Answer: run.Allow})
	decideRow(t, r, Decision{Call: "c_2", Answer: run.Allow})
	s, err := d.Run(t.Context())
	if err != nil || !s.Turn.Open {
		t.Fatalf("%+v, %v", s.Turn.End, err)
	}
	if got := r.edit.Ran(); !slices.Equal(got, []string{"ok a"}) {
		t.Errorf("ran %q: the second was allowed for another content", got)
	}
	if log := strings.Join(r.log(r.mem), " "); !strings.Contains(log, "decision_voided") {
		t.Errorf("log %s", log)
	}
	// What was shown may also have changed before the answer came.
	decideRow(t, r, Decision{Call: "c_2", Answer: run.Always, Digest: "of something else"})
	if s, err = d.Run(t.Context()); err != nil || !s.Turn.Open || len(r.edit.Ran()) != 1 {
		t.Fatalf("%+v, %v, ran %q", s.Turn.End, err, r.edit.Ran())
	}
	put(t, r, "again", store.Decide, `{"call":"c_2","answer":"allow"}`)
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
		r.edit.runs = func() { _ = c.Keep("", permission.Rules{rule(t, permission.Deny, "edit(free/b.go)")}) }
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
		put(t, r, "x", store.Configure, `{"mode":"no such mode"}`)
		put(t, r, "y", store.Configure, `{"mode":"accept-edits"}`)
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
{"text":"the account of the first turn has used this up"}
{"calls":[{"tool":"edit","args":{"do":"sleep 5s","path":"free/c.go"}}]}
{"text":"Done."}`)
		d := r.create()
		defer d.Close()
		after(time.Second, func() { decideRow(t, r, Decision{Call: "c_2", Answer: run.Wait, Text: "Use free/c.go."}) })
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.N != 2 || s.Turn.End.End != run.Completed {
			t.Fatalf("turn %d %+v, %v", s.Turn.N, s.Turn.End, err)
		}
		if got := results(s); len(got) != 3 || got[2] != "c_3 false 5s" {
			t.Errorf("results %q: the second turn's call took its time, and nobody had stopped it", got)
		}
	})
}

func TestAnInterruptAfterWaitWithWordsStopsWhatTheyBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := asks(t, `
{"calls":[{"tool":"read","args":{"do":"deaf"}},{"tool":"edit","args":{"do":"ok b","path":"b.go"}}]}
{"text":"the account of the first turn has used this up"}
{"text":"never asked for"}`)
		defer time.Sleep(2 * time.Hour) // until the deaf one has ended
		d := r.create()
		after(time.Second, func() { decideRow(t, r, Decision{Call: "c_2", Answer: run.Wait, Text: "Use c.go."}) })
		after(1500*time.Millisecond, interrupt(d)) // c_1 is still being stopped
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.N != 2 || s.Turn.End.End != run.EndInterrupted || s.Turn.Steps != 0 {
			t.Errorf("turn %d ended %+v after %d steps, %v: it was stopped before it began", s.Turn.N, s.Turn.End, s.Turn.Steps, err)
		}
	})
}

func TestAStopWhileADeadProcessesInterruptIsFinishedStopsItsWordsToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok b","path":"b.go"}}]}
{"text":"the account of the first turn has used this up"}
{"text":"never asked for"}`)
		d := r.create()
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		// The process dies with the interrupt recorded and nothing behind it.
		f := run.Interrupted{Cause: run.ByWait, Call: "c_1", Then: []run.Part{run.Text("Use c.go.")}}
		if err := d.commit([]run.Event{{At: time.Now(), Fact: f}}); err != nil {
			t.Fatal(err)
		}
		d.Close()
		d, err := r.w.Open(t.Context(), "r", r.watch)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		d.Interrupt(run.Interrupted{Cause: run.ByShutdown})
		s, err := d.Run(t.Context())
		if err != nil || s.Turn.N != 2 || s.Turn.End.Reason != string(run.ByShutdown) || s.Turn.Steps != 0 {
			t.Errorf("turn %d ended %+v after %d steps, %v", s.Turn.N, s.Turn.End, s.Turn.Steps, err)
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
		decideRow(t, r, Decision{Call: "c_1", Answer: run.Allow})
		put(t, r, "set", store.Configure, `{"mode":"plan"}`)
		r.w.OnAsk = AskDeny // whoever takes the run up has nobody to ask
		d, err := r.w.Open(t.Context(), "r", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		s, err := d.Run(t.Context(), run.Steered{ID: "s", Parts: []run.Part{run.Text("Go on.")}})
		if err != nil || s.Turn.End.End != run.Completed || s.Config.Mode != "plan" {
			t.Fatalf("%+v, mode %q, %v", s.Turn.End, s.Config.Mode, err)
		}
		got := strings.Join(results(s), "\n")
		if !strings.Contains(got, "c_2 true Not allowed") || !strings.Contains(got, "plan") {
			t.Errorf("results:\n%s", got)
		}
	})
}
