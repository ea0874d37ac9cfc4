package worker

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pawl/request"
	"pawl/run"
	"pawl/sandbox"
	"pawl/store"
	"pawl/task"
	"pawl/tool"
)

// A run is written with the first thing that is said to it or changed in it, whatever that is.
func TestARunToWhichNothingHappensIsNotWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"text":"Done."}`)
		d := r.create()
		defer d.Close()
		if s, err := d.Run(t.Context()); err != nil || s.Turn.Open() {
			t.Errorf("ended %+v, %v", s.Turn.End, err)
		}
		if _, err := r.mem.Run(t.Context(), "r"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("it is in the store: %v", err)
		}
		if _, err := d.Run(t.Context(), run.Configured{Change: run.ConfigChange{Name: new("morning")}}); err != nil {
			t.Fatal(err)
		}
		if got := r.log(r.mem); !slices.Equal(got, []string{"run_created", "run_configured"}) {
			t.Errorf("its log is %q", got)
		}
		if s, err := d.Run(t.Context(), prompt("go")); err != nil || s.Answer() != "Done." || s.Config.Name != "morning" {
			t.Errorf("ended %+v, named %q, %v", s.Turn.End, s.Config.Name, err)
		}
	})
}

// A run whose folder cannot be confined is neither made nor opened, and has no owner.
func TestARunThatCannotBeConfinedIsNotDriven(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"text":"Done."}`)
		r.run(r.create(), prompt("go"))
		loose := errors.New("no sandbox for /w")
		r.w.SandboxOf = func(workspace string) (*sandbox.Policy, error) {
			if workspace != "/w" {
				t.Errorf("asked for %s", workspace)
			}
			return nil, loose
		}
		_, err := r.w.Open(t.Context(), "r", nil)
		if !errors.Is(err, loose) {
			t.Errorf("opened: %v", err)
		}
		if _, err := r.w.Create(t.Context(), run.Created{Run: "new", Workspace: "/w"}, nil); !errors.Is(err, loose) {
			t.Errorf("made: %v", err)
		}
		for _, id := range []run.ID{"r", "new"} {
			if _, owned, err := r.mem.Owner(t.Context(), id); owned || err != nil {
				t.Errorf("%s is still owned: %v", id, err)
			}
		}
	})
}

func TestAStopSaysWhatStopped(t *testing.T) {
	t.Parallel()
	if got := context.Cause(stopped(t, run.ByPerson)).Error(); got != "interrupted: person" {
		t.Errorf("%q", got)
	}
	if got := StopOf(stopped(t, run.ByTimeout)).Interrupted.Cause; got != run.ByTimeout {
		t.Errorf("as it says: %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := StopOf(ctx).Interrupted.Cause; got != run.ByShutdown {
		t.Errorf("of a context that says nothing: %s", got)
	}
}

// Who shows tasks is told when a call of one begins to wait for a person, and when it is decided.
func TestWhoShowsATaskIsToldThatItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := taskRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok done"}}]}
{"calls":[{"tool":"planner-output","args":`+goodPlan+`}]}`)
		var told atomic.Pointer[string] // what the task waited for, when it was last told
		r.taskChanged = func(id task.ID) {
			if id != "t1" {
				t.Errorf("told of %s", id)
			}
			waits := string(r.task().WaitsFor())
			told.Store(&waits)
		}
		r.w.OnAsk, r.w.Authorizer = AskWait, authorizer(needsApproval)
		d := r.createPlanner()
		assign(d, 1, "Plan it.")
		r.run(d)
		if got := told.Load(); got == nil || *got != "permission" {
			t.Errorf("told %v, want that it waits for a permission", got)
		}
		d = r.open()
		d.Post(t.Context(), request.Decide{Call: "c_1", Answer: run.Allow, By: "anna"})
		r.run(d)
		if got := told.Load(); got == nil || *got != "" {
			t.Errorf("told %v, want that it waits for nothing", got)
		}
		r.wantTask(task.Planned)
	})
}

// A store that cannot say, from some moment on, which task a run belongs to.
type forgetfulStore struct {
	store.Store
	forgets *atomic.Bool
	of      run.ID
}

func (s forgetfulStore) TaskOf(ctx context.Context, id run.ID) (string, error) {
	if id == s.of && s.forgets.Load() {
		return "", errBroken
	}
	return s.Store.TaskOf(ctx, id)
}

// What a child run costs and does is the task's: it does not begin apart from it.
func TestAChildOfATaskDoesNotBeginApartFromIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"forget","args":{"do":"ok"}},{"tool":"delegate","args":{"prompt":"Paint it."}}]}
{"when":{"first":"Paint it."},"calls":[{"tool":"edit","args":{"do":"ok never"}}],"repeat":true}
{"text":"{{last_result}}"}`)
		forgets := new(atomic.Bool)
		r.w.Store = forgetfulStore{r.mem, forgets, "r"}
		r.w.Tools = r.w.Tools.With(during{newFake("forget", run.Writes), func() { forgets.Store(true) }})
		s := r.run(r.create(), prompt("go"))
		if got := results(s); len(got) != 2 || got[1] != "c_2 true the disk is broken" {
			t.Errorf("results %q", got)
		}
		if _, err := r.mem.Run(t.Context(), theChild); !errors.Is(err, store.ErrNotFound) || len(r.edit.Ran()) > 0 {
			t.Errorf("the child is in the store: %v, ran %q", err, r.edit.Ran())
		}
		if _, owned, err := r.mem.Owner(t.Context(), "r-c2"); owned || err != nil {
			t.Errorf("the child is still owned: %v", err)
		}
	})
}

// A provider of which it is not known that it answers by schema is not asked to: its model has the tool.
func TestAProviderThatIsNotKnownToAnswerBySchemaHasTheTool(t *testing.T) {
	t.Parallel()
	for _, structured := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, `{"calls":[{"tool":"submit_result","args":{"n":3}}]}
{"text":"{\"n\":3}"}`)
			r.w.Structured = func(string) bool { return structured }
			d := r.createAsked(countSchema)
			defer d.Close()
			m, err := d.session(d.State().Config)
			if err != nil {
				t.Fatal(err)
			}
			has := slices.ContainsFunc(m.offered, func(s tool.Spec) bool { return s.Name == tool.SubmitName })
			if bySchema := m.output != nil; has == structured || bySchema != structured {
				t.Errorf("structured %t: it has the tool: %t, is asked by schema: %t", structured, has, bySchema)
			}
		})
	}
}
