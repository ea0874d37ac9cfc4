package worker

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pawl/inbox"
	"pawl/request"
	"pawl/run"
	"pawl/sandbox"
	"pawl/store"
	"pawl/tool"
)

// A store that cannot read the log of one run from some moment on.
type fadingStore struct {
	store.Store
	id   run.ID
	gone *atomic.Bool
}

func (s fadingStore) Events(ctx context.Context, id run.ID, after int64) iter.Seq2[run.Event, error] {
	if id == s.id && s.gone.Load() {
		return func(yield func(run.Event, error) bool) { yield(run.Event{}, errBroken) }
	}
	return s.Store.Events(ctx, id, after)
}

// belowP makes the rig's run the child of a run p, whose log cannot be read once gone is set.
func belowP(t *testing.T, r *rig) (child run.Created, gone *atomic.Bool) {
	t.Helper()
	p := run.Created{Run: "p", Workspace: "/w", Config: run.Config{Model: "m/m"}}
	if err := r.mem.Append(t.Context(), "p", 0, []run.Event{{At: time.Now(), Payload: p}}); err != nil {
		t.Fatal(err)
	}
	gone = new(atomic.Bool)
	r.w.Store = fadingStore{r.mem, "p", gone}
	return run.Created{Parent: "p", ParentCall: "c_1", Root: "p", Depth: 1}, gone
}

const unknownMode = "the mode of run p, which started this one, cannot be read: the disk is broken"

// A call that was allowed does not start if it is not known any more whether it may.
func TestAnAllowedCallDoesNotStartOnceTheModeAboveIsNotKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a"}},{"tool":"edit","args":{"do":"ok b"}}]}
{"text":"Done."}`)
		child, gone := belowP(t, r)
		r.edit.runs = func() { gone.Store(true) }
		s := r.run(r.createWith(child), prompt("go"))
		if got := results(s); !slices.Equal(got, []string{"c_1 false a", "c_2 true " + unknownMode}) || len(r.edit.Ran()) != 1 {
			t.Errorf("results %q, ran %q", got, r.edit.Ran())
		}
	})
}

// A person's answer for always makes no rule if it is not known what rules there may be.
func TestNoRuleIsMadeWhileTheModeAboveIsNotKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, rules := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}}]}
{"text":"Done."}`)
		child, gone := belowP(t, r)
		d := r.createWith(child)
		if s, err := d.Run(t.Context(), prompt("go")); err != nil || !s.Turn.Open() {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		before := len(rules.rules)
		gone.Store(true)
		decideRow(t, r, request.Decide{Call: "c_1", Answer: run.Always, By: "ann"})
		s := r.run(d)
		if got := results(s); !slices.Equal(got, []string{"c_1 true " + unknownMode}) || len(r.edit.Ran()) > 0 || len(rules.rules) != before {
			t.Errorf("results %q, ran %q, rules %v", got, r.edit.Ran(), rules.rules[before:])
		}
		if got, taken, err := inbox.Result(t.Context(), r.mem, "r", "c_1always"); err != nil || !taken || got.Refused != unknownMode {
			t.Errorf("who has answered is told %+v, %t, %v", got, taken, err)
		}
	})
}

// An external agent decides what its own tools may by the mode that it is told: without one it is not
// started.
func TestAnAgentIsNotStartedWhileTheModeAboveIsNotKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, a := external(t, func(_ context.Context, yield func(run.Payload) bool) { yield(replies("Done.")) })
		child, gone := belowP(t, r)
		gone.Store(true)
		child.External = true
		s := r.run(r.createWith(child), prompt("go"))
		if s.Turn.End.End != run.EndFailed || !strings.Contains(s.Turn.End.Detail, unknownMode) || len(a.given) > 0 {
			t.Errorf("ended %+v, the agent had %d turns", s.Turn.End, len(a.given))
		}
	})
}

// A configuration that was usable when the run began and is not any more runs nothing.
func TestNothingRunsInAConfigurationThatCannotBeUsedAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a"}}]}
{"calls":[{"tool":"edit","args":{"do":"ok b"}}]}
{"text":"Done."}`)
		var lost atomic.Bool
		r.w.Check = func(run.Config) error {
			if lost.Load() {
				return errors.New("the sandbox is gone")
			}
			return nil
		}
		r.edit.runs = func() { lost.Store(true) }
		s := r.run(r.create(), prompt("go"))
		if got := results(s); !slices.Equal(got, []string{"c_1 false a", "c_2 true the sandbox is gone"}) || len(r.edit.Ran()) != 1 {
			t.Errorf("results %q, ran %q", got, r.edit.Ran())
		}
		if p := logged[run.CallDecided](t, r); len(p) != 2 || p[1].Decision.Answer != run.Deny || p[1].Decision.Source != "configuration" {
			t.Errorf("decided %+v", p)
		}
	})
}

// What cannot be shown to a person is not shown as something else.
func TestAPreviewOfWhatCannotBeIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := asks(t, `{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}}]}`)
		d := r.create()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || !s.Turn.Open() {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		c, _ := s.Turn.Call("c_1")
		if p, err := r.w.Judge(s, c); err != nil || p.Digest() == "" || p.Request.Tool != "edit" || p.Intent.Title != "edit" {
			t.Errorf("%+v, %v", p, err)
		}
		loose := errors.New("no sandbox for /w")
		r.w.SandboxOf = func(string) (*sandbox.Policy, error) { return nil, loose }
		if p, err := r.w.Judge(s, c); !errors.Is(err, loose) || p != nil {
			t.Errorf("without a sandbox: %+v, %v", p, err)
		}
		r.w.SandboxOf = nil
		r.w.SetTools(tool.NewRegistry(r.read))
		if p, err := r.w.Judge(s, c); err == nil || p != nil {
			t.Errorf("without the tool: %+v", p)
		}
	})
}

// An answer to a call whose tool has gone decides nothing; the model is told so.
func TestAnAnswerToACallWhoseToolHasGoneIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, rules := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}}]}
{"text":"Done."}`)
		d := r.create()
		if _, err := d.Run(t.Context(), prompt("go")); err != nil {
			t.Fatal(err)
		}
		before := len(rules.rules)
		r.w.SetTools(tool.NewRegistry(r.read))
		decideRow(t, r, request.Decide{Call: "c_1", Answer: run.Always})
		s := r.run(d)
		if got := results(s); len(got) != 1 || !strings.HasPrefix(got[0], `c_1 true there is no tool "edit"`) || len(rules.rules) != before {
			t.Errorf("results %q, rules %v", got, rules.rules[before:])
		}
		if p := logged[run.CallDecided](t, r); len(p) != 1 || p[0].Decision.Source == byPerson {
			t.Errorf("decided %+v", p)
		}
	})
}

// A clueless tool cannot find out what came of a call.
type clueless struct{ *fake }

func (clueless) Reconcile(tool.Env, tool.Call) (tool.Result, bool) {
	return tool.TextResult("perhaps"), false
}

func TestWhatItsToolDoesNotKnowEitherStaysUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"wait"}}]}
{"text":"Done."}`)
		r.w.Tools = tool.NewRegistry(clueless{r.edit})
		d := r.create()
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			_, _ = d.Run(context.Background(), prompt("go"))
		}()
		<-r.edit.begun
		synctest.Wait()
		r.crash()
		r.play(`{"text":"Done."}`)
		r.run(r.open())
		if p := logged[run.CallSettled](t, r); len(p) != 1 || p[0].Outcome != run.Unknown || strings.Contains(run.PlainText(p[0].Content), "perhaps") {
			t.Errorf("settled %+v", p)
		}
		d.Interrupt(run.Interrupted{Cause: run.ByShutdown})
		<-dead
		_ = d.Close()
	})
}

// What a call had given when it was stopped is for the model, and no result to ask of later.
func TestWhatWasStoppedIsStoredNowhere(t *testing.T) {
	t.Parallel()
	for name, stops := range map[string]bool{"stopped": true, "ended": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"`+map[bool]string{true: "wait", false: "ok half of it"}[stops]+`"}}]}
{"text":"Done."}`)
			storeOutputs(t, r)
			d := r.create()
			go func() {
				<-r.edit.begun
				if stops {
					interrupt(d)()
				}
			}()
			r.run(d, prompt("go"))
			p := logged[run.CallSettled](t, r)
			if len(p) != 1 || !strings.HasSuffix(run.PlainText(p[0].Content), "half of it") || (p[0].Delivery == "") != stops || (p[0].Outcome == run.Cut) != stops {
				t.Errorf("settled %+v", p)
			}
		})
	}
}
