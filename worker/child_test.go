package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/tool"
	"pawl/tool/outputs"
	"pawl/view"
)

// delegate is a tool that starts a child run.
type delegate struct{}

type delegateArgs struct {
	Prompt string `json:"prompt"`
	System string `json:"system"`
	Agent  string `json:"agent"`
	Schema string `json:"schema"`
	Steps  int    `json:"steps"`
	Forbid string `json:"forbid"` // a rule of the child's own
}

func (delegate) Spec() tool.Spec {
	return tool.Spec{Name: "delegate", Description: "Starts a child run.", Schema: json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string"},"system":{"type":"string"},"agent":{"type":"string"},"schema":{"type":"string"},"steps":{"type":"integer"},"forbid":{"type":"string"}},"required":["prompt"],"additionalProperties":false}`)}
}

func (delegate) Inspect(_ tool.Env, _ json.RawMessage) (tool.Intent, error) {
	return tool.Intent{Class: run.Resumable, Title: "delegate"}, nil
}

func (delegate) Run(ctx context.Context, env tool.Env, c tool.Call) (tool.Result, error) {
	var a delegateArgs
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return tool.Result{}, err
	}
	child := tool.Child{Prompt: a.Prompt, Agent: a.Agent, Limits: run.Limits{Steps: a.Steps}}
	if a.System != "" {
		child.System = func(model string) string { return a.System + " With " + model + "." }
	}
	if a.Schema != "" {
		child.Output = run.Output{Tool: tool.SubmitName, Schema: a.Schema}
	}
	if a.Forbid != "" {
		forbidden, err := permission.ParseRule(a.Forbid)
		if err != nil {
			return tool.Result{}, err
		}
		forbidden.Effect = permission.Deny
		child.Rules = permission.Rules{forbidden}
	}
	return env.Spawn(ctx, c.ID, child)
}

// parent makes a rig whose tools can delegate. A child's replies name its
// first words.
func parent(t *testing.T, replies string, more ...tool.Tool) *rig {
	r := newRig(t, replies)
	r.w.Tools = tool.NewRegistry(append(more, r.read, r.edit, delegate{}, newFake("ask", run.Resumable))...)
	return r
}

// theChild is the child run of the root's first call.
const theChild run.ID = "r-c1"

// stateOf returns a run as its log has it.
func stateOf(t *testing.T, r *rig, id run.ID) run.State {
	t.Helper()
	s, err := run.ReplaySeq(r.mem.Events(context.Background(), id, 0))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAChildRunIsARunOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Count them.","system":"You count."}}],"usage":{"input":10}}
{"when":{"first":"Count them."},"calls":[{"tool":"read","args":{"do":"ok three"}}],"usage":{"input":20}}
{"when":{"first":"Count them."},"text":"There are three.","usage":{"input":30}}
{"text":"{{last_result}}","usage":{"input":40}}`)
		c := run.Created{System: "You lead.", Config: run.Config{Model: "m/m", Mode: "accept-edits", Limits: run.Limits{Steps: 21}}}
		s := r.run(r.createWith(c), prompt("How many?"))
		if s.Turn.End.End != run.Completed || s.Answer() != "There are three." {
			t.Fatalf("ended %+v with %q", s.Turn.End, s.Answer())
		}
		child := stateOf(t, r, theChild)
		if child.Turn.End.End != run.Completed || child.Created.Parent != "r" || child.Created.ParentCall != "c_1" || child.Created.Root != "r" ||
			child.Created.Depth != 1 || child.Created.Workspace != "/w" || child.Created.System != "You count. With m/m." {
			t.Errorf("the child ended %+v and is %+v", child.Turn.End, child.Created)
		}
		if got := child.Config; got.Model != "m/m" || got.Mode != "accept-edits" || got.Limits.Steps != 10 {
			t.Errorf("the child works with %+v, want half of the 20 steps that were left", got)
		}
		if s.Usage.Input != 100 || s.Turn.Usage.Input != 100 || child.Usage.Input != 50 {
			t.Errorf("the parent cost %+v, the child %+v: what the child cost counts for the parent too", s.Usage, child.Usage)
		}
		if s.Turn.Steps != 2 {
			t.Errorf("the parent took %d steps", s.Turn.Steps)
		}
		children, err := r.mem.Children(t.Context(), "r")
		if err != nil || len(children) != 1 {
			t.Errorf("children %+v, %v", children, err)
		}
	})
}

func TestAChildRunHandsItsResultToTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Count them.","schema":"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}"}}]}
{"when":{"first":"Count them."},"text":"I know it.","calls":[{"tool":"submit_result","args":{"n":3}}]}
{"text":"Done."}`)
		s := r.run(r.create(), prompt("How many?"))
		if got := results(s); len(got) != 1 || got[0] != `c_1 false {"n":3}` {
			t.Errorf("results %q", got)
		}
	})
}

func TestAChildReadsTheOutputsOfItsParent(t *testing.T) {
	t.Parallel()
	r := parent(t, `
{"calls":[{"tool":"print","args":{"text":"[1,2,3]"}}]}
{"calls":[{"tool":"delegate","args":{"prompt":"Count c_1."}}]}
{"when":{"first":"Count c_1."},"calls":[{"tool":"tool_outputs.count","args":{"id":"c_1","counts":[{"path":"$"}]}}]}
{"when":{"first":"Count c_1."},"text":"{{last_result}}"}
{"text":"Done."}`, append(outputs.All(), printer{})...)
	storeOutputs(t, r)
	s := r.run(r.create(), prompt("How many?"))
	if got := results(s); len(got) != 2 || !strings.Contains(got[1], `"counts":{"$":3}`) {
		t.Errorf("results %q", got)
	}
}

func TestWhatAChildRunMayNotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		created run.Created
		want    string
	}{
		"too deep":           {run.Created{Parent: "p", ParentCall: "c_1", Depth: run.MaxDepth}, "runs are nested at most 4 levels deep"},
		"without its limits": {run.Created{Config: run.Config{Limits: run.Limits{Steps: 2}}}, "too little is left of this turn's limits for a child run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Count them."}}]}
{"text":"I see."}`)
				s := r.run(r.createWith(c.created), prompt("go"))
				if got := results(s); len(got) != 1 || !strings.HasPrefix(got[0], "c_1 true ") || !strings.Contains(got[0], c.want) || strings.Contains(got[0], "event out of order") {
					t.Errorf("results %q, want %q", got, c.want)
				}
				if s.Turn.End.End != run.Completed {
					t.Errorf("ended %+v", s.Turn.End)
				}
			})
		})
	}
}

func TestHowAChildRunEndsIsTheResultOfTheCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ reply, want string }{
		"failed":          {`"error":{"status":401}`, "The child run ended failed: "},
		"refused":         {`"text":"I will not.","stop":"refusal"`, "The child run ended refused: "},
		"a limit reached": {`"calls":[{"tool":"read","args":{"do":"ok half of it"}}]`, "The child run ended limit_reached: the step limit (1) is reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Count them.","steps":1}}]}
{"when":{"first":"Count them."},`+c.reply+`}
{"when":{"first":"Count them."},"text":"I have read half of it."}
{"text":"I see."}`)
				s := r.run(r.create(), prompt("go"))
				if got := results(s); len(got) != 1 || !strings.HasPrefix(got[0], "c_1 true "+c.want) {
					t.Errorf("results %q", got)
				}
				if s.Turn.End.End != run.Completed || s.Answer() != "I see." {
					t.Errorf("ended %+v with %q", s.Turn.End, s.Answer())
				}
			})
		})
	}
}

func TestAnInterruptOfTheParentInterruptsTheChild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Count them."}}]}
{"when":{"first":"Count them."},"calls":[{"tool":"edit","args":{"do":"wait"}}],"usage":{"input":20}}`)
		d := r.create()
		go func() {
			<-r.edit.begun
			d.Interrupt(run.Interrupted{Cause: run.ByPerson})
		}()
		s := r.run(d, prompt("go"))
		child := stateOf(t, r, theChild)
		if s.Turn.End.End != run.EndInterrupted || child.Turn.End.End != run.EndInterrupted || child.Turn.End.Reason != string(run.ByParent) {
			t.Errorf("the parent ended %+v, the child %+v", s.Turn.End, child.Turn.End)
		}
		if got := results(child); len(got) != 1 || !strings.HasPrefix(got[0], "c_1 true [Tool use interrupted: the run that started this one was interrupted]") {
			t.Errorf("the child's results %q", got)
		}
		if got := results(s); len(got) != 1 || !strings.HasPrefix(got[0], "c_1 true [Request interrupted by user for tool use]") {
			t.Errorf("results %q", got)
		}
		if s.Usage.Input != 20 {
			t.Errorf("usage %+v: what the child cost counts", s.Usage)
		}
	})
}

// asksFor is a parent whose child asks a question, or needs an approval.
func asksFor(t *testing.T, call string) *rig {
	return parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Paint it."}}]}
{"when":{"first":"Paint it."},"calls":[`+call+`]}
{"when":{"first":"Paint it."},"text":"{{last_result}} it is."}
{"text":"{{last_result}} And done."}`)
}

const (
	aQuestion = `{"tool":"ask","args":{"do":"red or blue?"}}`
	anEdit    = `{"tool":"edit","args":{"do":"ok blue"}}`
)

// needsApproval lets everything run but edits.
func needsApproval(q permission.Request) permission.Decision {
	if q.Tool == "edit" {
		return permission.Decision{Verdict: permission.Ask}
	}
	return permission.Decision{Verdict: permission.Allow}
}

func TestAChildThatWaitsForAPersonParksItsCall(t *testing.T) {
	t.Parallel()
	answers := map[string]struct {
		call   string
		answer store.Row
	}{
		"a question":  {aQuestion, store.Row{Kind: "say", Payload: `{"delivery":"queue","parts":[{"type":"text","text":"blue"}]}`}},
		"an approval": {anEdit, store.Row{Kind: "decide", Payload: `{"call":"c_1","answer":"allow","by":"ann"}`}},
	}
	for name, c := range answers {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", name, restart), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := asksFor(t, c.call)
					r.w.OnAsk, r.w.Authorizer = AskWait, authorizer(needsApproval)
					d := r.create()
					s, err := d.Run(t.Context(), prompt("go"))
					if err != nil || !s.Turn.Open() {
						t.Fatalf("ended %+v, %v: it waits for a person", s.Turn.End, err)
					}
					if _, owned, err := r.mem.Owner(t.Context(), theChild); owned || err != nil {
						t.Errorf("the child is still owned: %v", err)
					}
					if s, err = d.Run(t.Context()); err != nil || !s.Turn.Open() {
						t.Fatalf("without an answer: ended %+v, %v", s.Turn.End, err)
					}
					if restart {
						if err := d.Close(); err != nil {
							t.Fatal(err)
						}
						d = r.open()
					}
					row := c.answer
					row.Key = "answer"
					if err := r.mem.Put(t.Context(), theChild, row); err != nil {
						t.Fatal(err)
					}
					if s := r.run(d); s.Turn.End.End != run.Completed || s.Answer() != "blue it is. And done." {
						t.Errorf("ended %+v with %q", s.Turn.End, s.Answer())
					}
					if n := len(logged[run.CallStarted](t, r)); !restart && n != 1 {
						t.Errorf("the call was started %d times", n)
					}
				})
			})
		}
	}
}

func TestAChildThatWasAnsweredByAnotherProcessIsTakenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := asksFor(t, aQuestion)
		r.w.OnAsk = AskWait
		d := r.create()
		defer d.Close()
		if s, err := d.Run(t.Context(), prompt("go")); err != nil || !s.Turn.Open() {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		// A person opens the child itself and answers. While they have it the parent waits.
		c, err := r.w.Open(t.Context(), theChild, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.Run(t.Context())
		if err != nil || !s.Turn.Open() {
			t.Fatalf("while someone else drives the child: ended %+v, %v, results %q", s.Turn.End, err, results(s))
		}
		r.run(c, say(c.State(), "blue"))
		s, err = d.Run(t.Context())
		if err != nil || s.Answer() != "blue it is. And done." {
			t.Errorf("ended %+v with %q, %v", s.Turn.End, s.Answer(), err)
		}
	})
}

func TestAnInterruptOfAParentThatWaitsInterruptsTheChildToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := asksFor(t, anEdit)
		r.w.OnAsk, r.w.Authorizer = AskWait, authorizer(needsApproval)
		d := r.create()
		defer d.Close()
		if s, err := d.Run(t.Context(), prompt("go")); err != nil || !s.Turn.Open() {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		s, err := d.Run(stopped(t, run.ByPerson))
		if err != nil || s.Turn.End.End != run.EndInterrupted {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		if child := stateOf(t, r, theChild); child.Turn.End.Reason != string(run.ByParent) {
			t.Errorf("the child ended %+v", child.Turn.End)
		}
		if got := results(s); len(got) != 1 || !strings.HasPrefix(got[0], "c_1 true [Request interrupted by user for tool use]") {
			t.Errorf("results %q", got)
		}
	})
}

func TestAChildThatWasStoppedByItselfIsContinuedWithItsParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Count them."}}]}
{"when":{"first":"Count them.","contains":"Continue"},"text":"There are three."}
{"when":{"first":"Count them."},"calls":[{"tool":"edit","args":{"do":"wait"}}]}
{"text":"{{last_result}}"}`)
		d := r.create()
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			_, _ = d.Run(context.Background(), prompt("go"))
		}()
		<-r.edit.begun
		synctest.Wait()
		r.crash()
		// The child alone is taken up and stopped; the parent's call is still open.
		c, err := r.w.Open(t.Context(), theChild, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(stopped(t, run.ByPerson)); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if s := r.run(r.open()); s.Turn.End.End != run.Completed || s.Answer() != "There are three." {
			t.Errorf("ended %+v with %q", s.Turn.End, s.Answer())
		}
		d.Interrupt(run.Interrupted{Cause: run.ByShutdown})
		<-dead
		_ = d.Close()
	})
}

// The parent's process dies ten times, at any of its appends or the child's. The call is
// never unknown, there is one child, and none of its effects happens twice.
func TestAChildSurvivesEveryRestartOfItsParent(t *testing.T) {
	t.Parallel()
	const effects = 12
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				script := `{"calls":[{"tool":"delegate","args":{"prompt":"Do it."}}]}` + "\n"
				for i := range effects {
					script += fmt.Sprintf(`{"when":{"first":"Do it."},"calls":[{"tool":"edit","args":{"do":"ok effect-%d"}}]}`+"\n", i)
				}
				script += `{"when":{"first":"Do it."},"text":"All is done."}` + "\n" + `{"text":"{{last_result}}"}`
				r := parent(t, script)
				dice := rand.New(rand.NewPCG(seed, 1))
				var given []run.Payload
				for life := 0; ; life++ {
					r.mem.Fault = nil
					if life < 10 {
						// A request that three processes die of ends its turn: each life gets past one.
						r.mem.Fault = failFrom(4+dice.IntN(3), "append", errKilled)
					}
					d, err := r.w.Open(t.Context(), "r", nil)
					if err != nil {
						d, given = r.create(), []run.Payload{prompt("go")}
					}
					s, err := d.Run(t.Context(), given...)
					given = nil
					_ = d.Close()
					if err != nil {
						r.crash()
						r.play(script)
						continue
					}
					if s.Turn.End.End != run.Completed || s.Answer() != "All is done." {
						t.Errorf("life %d: ended %+v with %q", life, s.Turn.End, s.Answer())
					}
					if life < 3 {
						t.Errorf("it died only %d times", life)
					}
					break
				}
				ran := r.edit.Ran()
				slices.Sort(ran)
				if len(ran) != effects || len(slices.Compact(ran)) != effects {
					t.Errorf("effects %q: want each of %d once", ran, effects)
				}
				for _, p := range logged[run.CallSettled](t, r) {
					if p.Outcome != run.OK {
						t.Errorf("the parent's call came out %s: %s", p.Outcome, run.PlainText(p.Content))
					}
				}
				children, err := r.mem.Children(t.Context(), "r")
				if err != nil || len(children) != 1 {
					t.Errorf("children %+v, %v", children, err)
				}
			})
		})
	}
}

func TestAChildMayHaveChildren(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"First."}}]}
{"when":{"first":"First."},"calls":[{"tool":"delegate","args":{"prompt":"Second."}}]}
{"when":{"first":"Second."},"text":"The bottom.","usage":{"input":5}}
{"when":{"first":"First."},"text":"{{last_result}}"}
{"text":"{{last_result}}"}`)
		s := r.run(r.create(), prompt("go"))
		if s.Answer() != "The bottom." || s.Usage.Input != 5 {
			t.Errorf("ended %+v with %q, %+v", s.Turn.End, s.Answer(), s.Usage)
		}
		c := stateOf(t, r, theChild+"-c1").Created
		if c.Root != "r" || c.Depth != 2 || c.Parent != theChild {
			t.Errorf("the grandchild is %+v", c)
		}
	})
}

// who tells which agents a call's run and those above it have.
type who struct{ *fake }

func (who) Run(_ context.Context, env tool.Env, _ tool.Call) (tool.Result, error) {
	return tool.TextResult(strings.Join(env.Agents, " > ")), nil
}

// Tools are told the agents of the runs above, so that none starts one of them again; runs without an
// agent are not among them.
func TestARunKnowsTheAgentsAboveIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"First.","agent":"painter"}}]}
{"when":{"first":"First."},"calls":[{"tool":"delegate","args":{"prompt":"Second."}}]}
{"when":{"first":"Second."},"calls":[{"tool":"delegate","args":{"prompt":"Third.","agent":"brush"}}]}
{"when":{"first":"Third."},"calls":[{"tool":"who","args":{"do":"ok"}}]}
{"when":{"first":"Third."},"text":"{{last_result}}"}
{"when":{"first":"Second."},"text":"{{last_result}}"}
{"when":{"first":"First."},"text":"{{last_result}}"}
{"text":"{{last_result}}"}`, who{newFake("who", run.Reads)})
		s := r.run(r.createWith(run.Created{Agent: "lead"}), prompt("go"))
		if s.Answer() != "lead > painter > brush" {
			t.Errorf("the agents are %q", s.Answer())
		}
	})
}

func TestAChildsNoticesAreShownWithItsName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Count them."}}]}
{"when":{"first":"Count them."},"calls":[{"tool":"edit","args":{"do":"sleep 1s"}}]}
{"when":{"first":"Count them."},"text":"There are three."}
{"text":"Done."}`)
		go func() {
			<-r.edit.begun
			if err := r.mem.Put(context.Background(), theChild, store.Row{Key: "k", Kind: "configure", Payload: `{"change":{"parallel":-1}}`}); err != nil {
				t.Error(err)
			}
		}()
		r.run(r.create(), prompt("go"))
		if got := r.noticed(); len(got) != 1 || !strings.HasPrefix(got[0], "r-c1: the configuration was not changed") {
			t.Errorf("notices %q", got)
		}
	})
}

// TestAChildRunIsNeverInAWiderModeThanItsParent: also when the parent's is changed, and something
// is forbidden there, while the child is at work.
func TestAChildRunIsNeverInAWiderModeThanItsParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stricter := newFake("stricter", run.Reads)
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Change it."}}]}
{"when":{"first":"Change it."},"calls":[{"tool":"edit","args":{"do":"ok first"}}]}
{"when":{"first":"Change it."},"calls":[{"tool":"stricter","args":{"do":"ok"}}]}
{"when":{"first":"Change it."},"calls":[{"tool":"edit","args":{"do":"ok second"}}]}
{"when":{"first":"Change it."},"text":"Done."}
{"text":"Done."}`)
		rules := &modeRules{authorizer: allowAll, version: "1"}
		r.w.Authorizer = rules
		d := r.createWith(run.Created{Config: run.Config{Model: "m/m", Mode: "bypass"}})
		r.w.Tools = r.w.Tools.With(during{stricter, func() {
			rules.change("2")
			if err := d.Post(t.Context(), request.Configure{Change: run.ConfigChange{Mode: new("plan")}})(t.Context()); err != nil {
				t.Error(err)
			}
		}})
		r.run(d, prompt("How many?"))
		got := results(stateOf(t, r, theChild))
		if want := []string{"c_1 false first", "c_2 false ", "c_3 true Not allowed: edit was not run: in mode plan."}; !slices.Equal(got, want) {
			t.Errorf("%q, not %q", got, want)
		}
		if want := []string{"r r-c1", "r r-c1", "r r-c1"}; !slices.Equal(rules.inherited, want) { // at its begin, at its first call, after the change
			t.Errorf("inherited %q, not %q", rules.inherited, want)
		}
	})
}

// modeRules refuse what writes in mode plan.
type modeRules struct {
	authorizer
	mu        sync.Mutex
	version   string
	inherited []string
}

func (*modeRules) Decide(_ run.ID, m permission.Mode, r permission.Request) permission.Decision {
	if m == permission.Plan && r.Class == run.Writes {
		return permission.Decision{Verdict: permission.Deny, Reason: "in mode plan"}
	}
	return permission.Decision{Verdict: permission.Allow}
}

func (a *modeRules) Fetch(context.Context, run.ID) error { return nil }
func (a *modeRules) Inherit(from, to run.ID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inherited = append(a.inherited, string(from+" "+to))
	return nil
}

func (a *modeRules) Versions(ids ...run.ID) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Repeat([]string{a.version}, len(ids))
}

func (a *modeRules) change(version string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version = version
}

// during is a tool that does something more when it runs.
type during struct {
	tool.Tool
	do func()
}

func (w during) Run(ctx context.Context, env tool.Env, c tool.Call) (tool.Result, error) {
	w.do()
	return w.Tool.Run(ctx, env, c)
}

// Where no person is asked, what needs approval is refused in child runs too, and their question is the
// result of the call: nothing waits.
func TestAChildForWhichNobodyIsAskedDoesNotWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ call, found string }{
		"a question":  {aQuestion, "The child run asks: "},
		"an approval": {anEdit, "no one is there to give it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := asksFor(t, c.call)
				r.w.OnAsk, r.w.Authorizer = AskDeny, authorizer(needsApproval)
				if s := r.run(r.create(), prompt("go")); s.Turn.End.End != run.Completed || !strings.Contains(s.Answer(), c.found) {
					t.Errorf("ended %+v with %q", s.Turn.End, s.Answer())
				}
			})
		})
	}
}

// The run that waits for a child is told what comes into the child's inbox, once, whoever drives the
// child; and its followers are told that the child waits.
func TestAParentHearsWhatIsAnsweredToItsChild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call   string
		answer store.Row
	}{
		"a question":  {aQuestion, store.Row{Key: "k", Kind: "say", Payload: `{"delivery":"queue","parts":[{"type":"text","text":"blue"}]}`}},
		"an approval": {anEdit, store.Row{Key: "k", Kind: "decide", Payload: `{"call":"c_1","answer":"allow","by":"ann"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := asksFor(t, c.call)
				r.w.OnAsk, r.w.Authorizer = AskWait, authorizer(needsApproval)
				d := r.create()
				s, err := d.Run(t.Context(), prompt("go"))
				if err != nil || !s.Turn.Open() {
					t.Fatalf("ended %+v, %v", s.Turn.End, err)
				}
				r.until(func(u view.Update) bool { return u.Below == theChild })
				below, err := Below(t.Context(), r.mem, s)
				if err != nil || len(below) != 1 || below[0].Created.Run != theChild {
					t.Fatalf("below: %+v, %v", below, err)
				}
				// Somebody else has the child: one row, one look.
				other, err := r.w.Open(t.Context(), theChild, nil)
				if err != nil {
					t.Fatal(err)
				}
				heard := make(chan error, 1)
				go func() { heard <- d.Await(t.Context()) }()
				synctest.Wait()
				if err := r.mem.Put(t.Context(), theChild, c.answer); err != nil {
					t.Fatal(err)
				}
				if err := <-heard; err != nil {
					t.Fatal(err)
				}
				if s, err = d.Run(t.Context()); err != nil || !s.Turn.Open() {
					t.Fatalf("while another drives the child: ended %+v, %v", s.Turn.End, err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := d.Await(ctx); err == nil {
					t.Error("it looks again and again at a row that is not for it")
				}
				if err := other.Close(); err != nil {
					t.Fatal(err)
				}
				if s := r.run(d); s.Turn.End.End != run.Completed || s.Answer() != "blue it is. And done." {
					t.Errorf("ended %+v with %q", s.Turn.End, s.Answer())
				}
			})
		})
	}
}

// If a question of a child is not answered, the parent is told what the child asked and said.
func TestAQuestionThatNobodyAnswersIsToldWithWhatWasSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Paint it."}}]}
{"when":{"first":"Paint it."},"text":"I have primed it.","calls":[{"tool":"ask","args":{"question":"Which colour?","options":["red","blue"]}}],"usage":{"input":20}}
{"text":"I see."}`)
		r.w.Tools = tool.NewRegistry(r.read, delegate{}, tool.Ask())
		s := r.run(r.create(), prompt("go"))
		want := "c_1 true The child run asks: Which colour?\nIt offers: red, blue\nIt has ended. Ask the person if only they know; start another one with the answer in its prompt.\n\nI have primed it."
		if got := results(s); len(got) != 1 || got[0] != want {
			t.Errorf("results %q, want %q", got, want)
		}
		if s.Usage.Input != 20 {
			t.Errorf("usage %+v: what the child cost counts", s.Usage)
		}
	})
}

// A child run that has asked its model anything may have changed something; one that has not cannot have.
func TestWhatAChildMayHaveChanged(t *testing.T) {
	t.Parallel()
	for tokens, want := range map[int64]run.Change{0: "", 1: run.MayChange, 1000: run.MayChange} {
		if got := childResult(run.State{Tally: run.Tally{Usage: run.Usage{Output: tokens}}}).Change; got != want {
			t.Errorf("after %d tokens its call is %q, want %q", tokens, got, want)
		}
	}
}
