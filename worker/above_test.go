package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/tool"
)

// Rules of each run, as they are kept for a person: a child inherits those of its parent that forbid.
type rulesOfRuns struct {
	mu        sync.Mutex
	rules     map[run.ID]permission.Rules
	added     []string // which were stored for which run
	inherited int      // how often
	// What fails, and from which time on it is inherited.
	inherit, add error
	from         int
}

func (a *rulesOfRuns) Decide(id run.ID, m permission.Mode, r permission.Request) permission.Decision {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rules[id].Decide(r, m)
}

func (a *rulesOfRuns) Propose(run.ID, permission.Mode, permission.Request) permission.Proposal {
	return permission.Proposal{}
}

func (a *rulesOfRuns) Explain(run.ID, permission.Mode, permission.Request) (permission.Explanation, error) {
	return permission.Explanation{}, nil
}

func (a *rulesOfRuns) AddRules(id run.ID, rules permission.Rules) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.added = append(a.added, fmt.Sprint(id, rules))
	if a.add == nil {
		a.rules[id] = append(a.rules[id], rules...)
	}
	return a.add
}

func (a *rulesOfRuns) Fetch(context.Context, run.ID) error { return nil }
func (a *rulesOfRuns) Inherit(parent, child run.ID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inherited++; a.inherit != nil && a.inherited >= a.from {
		return a.inherit
	}
	for _, r := range a.rules[parent] {
		if r.Effect == permission.Deny {
			a.rules[child] = append(a.rules[child], r)
		}
	}
	return nil
}

func (a *rulesOfRuns) Versions(ids ...run.ID) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, id := range ids {
		all = append(all, fmt.Sprint("v", len(a.rules[id])))
	}
	return all
}

func (a *rulesOfRuns) heal() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inherit = nil
}

// inBypass is a run that asks for nothing: what does not run there is forbidden.
var inBypass = run.Created{Config: run.Config{Model: "m/m", Mode: string(permission.Bypass)}}

// A child is forbidden what its parent is, and what it alone is; what it alone is forbidden holds
// neither for its parent nor for its siblings.
func TestAChildHasRulesOfItsOwnBesideItsParents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Look only.","forbid":"edit"}}]}
{"when":{"first":"Look only."},"calls":[{"tool":"edit","args":{"do":"ok first"}},{"tool":"read","args":{"do":"ok first"}}]}
{"when":{"first":"Look only."},"text":"I may not."}
{"calls":[{"tool":"edit","args":{"do":"ok parent"}},{"tool":"delegate","args":{"prompt":"Paint it."}}]}
{"when":{"first":"Paint it."},"calls":[{"tool":"edit","args":{"do":"ok second"}},{"tool":"read","args":{"do":"ok second"}}]}
{"when":{"first":"Paint it."},"text":"Painted."}
{"text":"Done."}`)
		rules := &rulesOfRuns{rules: map[run.ID]permission.Rules{"r": {rule(t, permission.Deny, "read")}}}
		r.w.Authorizer = rules
		if s := r.run(r.createWith(inBypass), prompt("go")); s.Turn.End.End != run.Completed || s.Answer() != "Done." {
			t.Errorf("ended %+v with %q", s.Turn.End, s.Answer())
		}
		if got := r.edit.Ran(); !slices.Equal(got, []string{"ok parent", "ok second"}) {
			t.Errorf("ran %q: the first child alone was forbidden to edit", got)
		}
		if got := r.read.Ran(); len(got) > 0 {
			t.Errorf("ran %q, which is forbidden in the parent", got)
		}
		if want := []string{"r-c1[edit]"}; !slices.Equal(rules.added, want) {
			t.Errorf("stored %q, want %q", rules.added, want)
		}
	})
}

func TestAChildWhoseRulesCannotBeStoredIsNotStarted(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	for name, rules := range map[string]*rulesOfRuns{
		"those of its parent": {inherit: full},
		"its own":             {add: full},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Look only.","forbid":"edit"}}]}
{"when":{"first":"Look only."},"calls":[{"tool":"edit","args":{"do":"ok never"}}],"repeat":true}
{"text":"I see."}`)
				rules.rules = map[run.ID]permission.Rules{}
				r.w.Authorizer = rules
				s := r.run(r.createWith(inBypass), prompt("go"))
				if got := results(s); len(got) != 1 || got[0] != "c_1 true no child run is started: its permission rules cannot be stored: the disk is full" {
					t.Errorf("results %q", got)
				}
				if s.Turn.End.End != run.Completed || len(r.edit.Ran()) > 0 {
					t.Errorf("ended %+v, ran %q", s.Turn.End, r.edit.Ran())
				}
				if _, err := r.mem.Run(t.Context(), theChild); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("the child is in the store: %v", err)
				}
				if _, owned, err := r.mem.Owner(t.Context(), theChild); owned || err != nil {
					t.Errorf("the child is still owned: %v", err)
				}
				if rules.inherit != nil && len(rules.added) > 0 {
					t.Errorf("stored %q for a child that does not begin", rules.added)
				}
			})
		})
	}
}

// What is forbidden above a child while it is at work is told to it before its next call; if that cannot
// be stored the call does not run, and the next one tries again.
func TestACallDoesNotRunWithoutTheRulesAbove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rules := &rulesOfRuns{rules: map[run.ID]permission.Rules{}, inherit: errors.New("the disk is full"), from: 2}
		heal := during{newFake("heal", run.Reads), rules.heal}
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Paint it."}}]}
{"when":{"first":"Paint it."},"calls":[{"tool":"edit","args":{"do":"ok first"}}]}
{"when":{"first":"Paint it."},"text":"{{last_result}}"}
{"calls":[{"tool":"heal","args":{"do":"ok"}}]}
{"calls":[{"tool":"delegate","args":{"prompt":"Again."}}]}
{"when":{"first":"Again."},"calls":[{"tool":"edit","args":{"do":"ok second"}}]}
{"when":{"first":"Again."},"text":"{{last_result}}"}
{"text":"Done."}`, heal)
		r.w.Authorizer = rules
		s := r.run(r.createWith(inBypass), prompt("go"))
		want := []string{"c_1 false the rules of run r, which started this one, cannot be stored: the disk is full", "c_2 false ", "c_3 false second"}
		if got := results(s); !slices.Equal(got, want) {
			t.Errorf("results %q, want %q", got, want)
		}
		if got := r.edit.Ran(); !slices.Equal(got, []string{"ok second"}) {
			t.Errorf("ran %q", got)
		}
	})
}

// One run's log cannot be read.
type unreadableRun struct {
	store.Store
	id run.ID
}

func (s unreadableRun) Events(ctx context.Context, id run.ID, after int64) iter.Seq2[run.Event, error] {
	if id == s.id {
		return func(yield func(run.Event, error) bool) { yield(run.Event{}, errBroken) }
	}
	return s.Store.Events(ctx, id, after)
}

func TestACallDoesNotRunIfTheModeAboveIsNotKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Paint it."}}]}
{"when":{"first":"Paint it."},"calls":[{"tool":"edit","args":{"do":"ok never"}}]}
{"when":{"first":"Paint it."},"text":"{{last_result}}"}
{"text":"Done."}`)
		r.w.Store = unreadableRun{r.mem, "r"}
		s := r.run(r.createWith(inBypass), prompt("go"))
		want := "c_1 false the mode of run r, which started this one, cannot be read: the disk is broken"
		if got := results(s); len(got) != 1 || got[0] != want || len(r.edit.Ran()) > 0 {
			t.Errorf("results %q, ran %q", got, r.edit.Ran())
		}
	})
}

// inPlan is the authorizer that refuses writes in mode plan.
func inPlan() *modeRules { return &modeRules{authorizer: allowAll, version: "1"} }

// A person who widens the mode of a child does not widen that of its parent, in which it stays; nor does
// what else of the parent they change.
func TestAChildWhoseModeIsWidenedStaysInThatOfItsParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Paint it."}}]}
{"when":{"first":"Paint it."},"calls":[{"tool":"widen","args":{"do":"sleep 1s"}}]}
{"when":{"first":"Paint it."},"calls":[{"tool":"edit","args":{"do":"ok never"}}]}
{"when":{"first":"Paint it."},"text":"{{last_result}}"}
{"text":"{{last_result}}"}`)
		r.w.Authorizer = inPlan()
		d := r.createWith(run.Created{Config: run.Config{Model: "m/m", Mode: "plan"}})
		r.w.Tools = r.w.Tools.With(during{newFake("widen", run.Reads), func() {
			if err := r.mem.Put(context.Background(), theChild, store.Row{Key: "k", Kind: "configure", Payload: `{"change":{"mode":"bypass"}}`}); err != nil {
				t.Error(err)
			}
			if err := d.Post(t.Context(), request.Configure{Change: run.ConfigChange{Name: new("painter")}})(t.Context()); err != nil {
				t.Error(err)
			}
		}})
		s := r.run(d, prompt("go"))
		if mode := stateOf(t, r, theChild).Config.Mode; mode != "bypass" {
			t.Fatalf("the child's own mode is %s", mode)
		}
		if s.Config.Name != "painter" || !strings.Contains(s.Answer(), "in mode plan") || len(r.edit.Ran()) > 0 {
			t.Errorf("named %q, answer %q, ran %q", s.Config.Name, s.Answer(), r.edit.Ran())
		}
	})
}

// The mode that counts is the strictest of all above, however far: that of the first run is made stricter
// while the child of its child is at work.
func TestAGrandchildIsInNoWiderModeThanTheFirstRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"First."}}]}
{"when":{"first":"First."},"calls":[{"tool":"delegate","args":{"prompt":"Second."}}]}
{"when":{"first":"Second."},"calls":[{"tool":"edit","args":{"do":"ok before"}}]}
{"when":{"first":"Second."},"calls":[{"tool":"stricter","args":{"do":"ok"}}]}
{"when":{"first":"Second."},"calls":[{"tool":"edit","args":{"do":"ok after"}}]}
{"when":{"first":"Second."},"text":"{{last_result}}"}
{"when":{"first":"First."},"text":"{{last_result}}"}
{"text":"{{last_result}}"}`)
		r.w.Authorizer = inPlan()
		d := r.createWith(inBypass)
		r.w.Tools = r.w.Tools.With(during{newFake("stricter", run.Reads), func() {
			if err := d.Post(t.Context(), request.Configure{Change: run.ConfigChange{Mode: new("plan")}})(t.Context()); err != nil {
				t.Error(err)
			}
		}})
		s := r.run(d, prompt("go"))
		if got := r.edit.Ran(); !slices.Equal(got, []string{"ok before"}) || !strings.Contains(s.Answer(), "in mode plan") {
			t.Errorf("answer %q, ran %q", s.Answer(), got)
		}
	})
}

// Agents are those of the runs above as far as they can be read.
func TestTheAgentsAboveARunThatWasRemovedAreNotKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"who","args":{"do":"ok"}}]}
{"text":"{{last_result}}"}`)
		r.w.Tools = tool.NewRegistry(who{newFake("who", run.Reads)})
		s := r.run(r.createWith(run.Created{Agent: "painter", Parent: "gone", ParentCall: "c_1", Depth: 1}), prompt("go"))
		if s.Answer() != "painter" {
			t.Errorf("the agents are %q", cmp.Or(s.Answer(), s.Turn.End.Detail))
		}
	})
}
