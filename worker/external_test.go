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

	"pawl/inbox"
	"pawl/internal/secret"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/store/storetest"
	"pawl/tool"
	"pawl/view"
)

// An agentTurn is what a fake agent does in one turn.
type agentTurn func(ctx context.Context, yield func(run.Payload) bool)

// fakeAgent is an external agent whose n-th turn is the n-th function; the last one
// is repeated.
type fakeAgent struct {
	turns []agentTurn

	mu    sync.Mutex
	given []AgentTurn
	now   int // turns at once
	most  int
}

func (a *fakeAgent) Turn(ctx context.Context, t AgentTurn) iter.Seq2[run.Payload, error] {
	a.mu.Lock()
	t.Notice = nil
	a.given = append(a.given, t)
	turn := a.turns[min(len(a.given), len(a.turns))-1]
	a.mu.Unlock()
	return func(yield func(run.Payload, error) bool) {
		a.count(1)
		defer a.count(-1)
		turn(ctx, func(p run.Payload) bool { return yield(p, nil) })
	}
}

func (a *fakeAgent) count(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now += n
	a.most = max(a.most, a.now)
}

// messages returns what the agent was given, turn by turn, with its conversation.
func (a *fakeAgent) messages() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, t := range a.given {
		all = append(all, t.Conversation+": "+run.PlainText(t.Message))
	}
	return all
}

// names reports the agent's id for its conversation.
func names(id string) run.Payload { return run.Observed{Conversation: id} }

// replies ends a turn with words.
func replies(words string) run.Payload {
	return run.Replied{Parts: []run.Part{run.Text(words)}, Stop: run.StopEndTurn}
}

// external makes a rig for a run of an external agent, with a second worker in another
// process: the one that the agent's tools talk to.
func external(t *testing.T, turns ...agentTurn) (*rig, *fakeAgent) {
	r := newRig(t, `{"text":"no model is asked"}`)
	a := &fakeAgent{turns: turns}
	r.w.Agent = a
	return r, a
}

func (r *rig) createExternal(c run.Config) *Runner {
	return r.createWith(run.Created{External: true, System: "Be brief.", Config: c})
}

// call makes a call as the agent's tools do: in another process.
func (r *rig) call(ctx context.Context, key, tool, args string) (string, error) {
	a, err := inbox.Call(ctx, r.mem.Other(), "r", request.Call{Key: key, Tool: tool, Arguments: args})
	return fmt.Sprint(a.IsError, " ", run.PlainText(a.Content)), err
}

// calls makes a call and checks the answer.
func (r *rig) calls(ctx context.Context, key, tool, args, want string) {
	got, err := r.call(ctx, key, tool, args)
	if err != nil || !strings.Contains(got, want) {
		r.t.Errorf("call %s of %s is answered %q, %v; want %q", key, tool, got, err, want)
	}
}

func TestAnExternalTurnIsRecordedAsItGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		r, a := external(t, func(_ context.Context, yield func(run.Payload) bool) {
			yield(names("conv-7"))
			// Before the agent does anything its conversation can be found again.
			if got := logged[run.Observed](t, r); len(got) != 1 || got[0].Conversation != "conv-7" {
				t.Errorf("the log has %+v", got)
			}
			yield(run.Observed{Parts: []run.Part{run.Text("I look.")}, Usage: run.Usage{Input: 10}})
			yield(run.Replied{Parts: []run.Part{run.Text("Done.")}, Stop: run.StopEndTurn, Usage: run.Usage{Output: 5}})
		})
		d := r.createExternal(run.Config{Model: "agent/fast"})
		s, err := d.Run(t.Context(), prompt("Repair it."))
		if err != nil || s.Turn.End.End != run.Completed || s.Answer() != "Done." || s.Usage.Total() != 15 {
			t.Errorf("ended %+v with %q, %+v, %v", s.Turn.End, s.Answer(), s.Usage, err)
		}
		want := []string{"run_created", "prompted", "request_started", "observed", "observed", "replied", "turn_ended"}
		if diff := cmp.Diff(want, r.log(r.mem)); diff != "" {
			t.Error(diff)
		}
		first := AgentTurn{Run: "r", Workspace: "/w", Model: "agent/fast", System: "Be brief.", Message: []run.Part{run.Text("Repair it.")}}
		if diff := cmp.Diff([]AgentTurn{first}, a.given); diff != "" {
			t.Error(diff)
		}
		a.turns[0] = func(_ context.Context, yield func(run.Payload) bool) { yield(replies("And that.")) }
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if s := r.run(r.open(), prompt("Go on.")); s.Answer() != "And that." {
			t.Errorf("the second turn ended %+v with %q", s.Turn.End, s.Answer())
		}
		if got := a.messages(); !slices.Equal(got, []string{": Repair it.", "conv-7: Go on."}) {
			t.Errorf("the agent was given %q", got)
		}
	})
}

// A program that pawl does not start the commands of may print a value that is nobody's to see.
func TestWhatAnExternalAgentReportsHasNoSecrets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		secrets := secret.New(map[string]string{"KEY": "sk-12345678"})
		r, _ := external(t, func(_ context.Context, yield func(run.Payload) bool) {
			yield(run.Observed{Parts: []run.Part{{Type: run.ResultPart, Result: &run.Result{Call: "c_1", Content: []run.Part{run.Text("KEY=sk-12345678")}}}}})
			yield(run.Replied{Parts: []run.Part{run.Text("It is sk-12345678.")}, Stop: run.StopEndTurn})
		})
		r.w.Hidden = func() *secret.Values { return secrets }
		d := r.createExternal(run.Config{Model: "agent/fast"})
		s, err := d.Run(t.Context(), prompt("What is the key?"))
		if err != nil || s.Answer() != "It is [hidden: KEY]." {
			t.Errorf("the answer is %q, %v", s.Answer(), err)
		}
		if got := logged[run.Observed](t, r); len(got) != 1 || run.PlainText(got[0].Parts[0].Result.Content) != "KEY=[hidden: KEY]" {
			t.Errorf("the log has %+v", got)
		}
	})
}

func TestACallOfAnExternalAgentIsAnOrdinaryCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		var rules *ruleSet
		r, _ = external(t, func(ctx context.Context, yield func(run.Payload) bool) {
			yield(names("conv-7"))
			r.calls(ctx, "k1", "read", `{"do":"ok code"}`, "false code")
			r.calls(ctx, "k2", "edit", `{"do":"ok changed","path":"free/a.go"}`, "false changed")
			r.calls(ctx, "k3", "edit", `{"do":"ok never","path":"guarded.go"}`, "true Not allowed")
			r.calls(ctx, "k4", "edit", `{"dont":"x"}`, "true wrong arguments for edit")
			r.calls(ctx, "k5", "nothing", `{}`, `true there is no tool "nothing"`)
			r.calls(ctx, "k6", "read", `{"do":"fail no such file"}`, "true no such file")
			yield(replies("Done."))
		})
		rules = &ruleSet{rules: permission.Rules{rule(t, permission.Allow, "edit(free/**)"), rule(t, permission.Allow, "read"), rule(t, permission.Deny, "edit(guarded.go)")}}
		r.w.Authorizer = rules
		s := r.run(r.createExternal(run.Config{}), prompt("go"))
		if s.Turn.End.End != run.Completed {
			t.Fatalf("ended %+v", s.Turn.End)
		}
		if got := slices.Concat(r.read.Ran(), r.edit.Ran()); !slices.Equal(got, []string{"ok code", "fail no such file", "ok changed"}) {
			t.Errorf("ran %q", got)
		}
		want := "call_received call_inspected call_decided call_started call_settled"
		if log := strings.Join(r.log(r.mem), " "); !strings.Contains(log, want) {
			t.Errorf("log %s", log)
		}
		waits(t, r)
	})
}

func TestACallOfAnExternalAgentWaitsForAPerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		r, _ = external(t, func(ctx context.Context, yield func(run.Payload) bool) {
			r.calls(ctx, "k1", "edit", `{"do":"ok a","path":"a.go"}`, "false a")
			yield(replies("Done."))
		})
		r.w.OnAsk = AskWait
		r.w.Authorizer = &ruleSet{}
		after(time.Minute, func() { putRow(t, r, "d", "decide", `{"call":"c_1","answer":"allow","by":"ann"}`) })
		s := r.run(r.createExternal(run.Config{}), prompt("go"))
		if s.Turn.End.End != run.Completed || len(r.edit.Ran()) != 1 {
			t.Errorf("ended %+v, ran %q", s.Turn.End, r.edit.Ran())
		}
	})
}

func TestARepeatedRequestIsAnsweredWithTheResultOfTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		r, _ = external(t, func(ctx context.Context, yield func(run.Payload) bool) {
			var callers sync.WaitGroup
			for range 50 {
				callers.Go(func() { r.calls(ctx, "same", "edit", `{"do":"ok changed"}`, "false changed") })
			}
			callers.Wait()
			r.calls(ctx, "same", "edit", `{"do":"ok something else"}`, "false changed")
			r.calls(ctx, "another", "edit", `{"do":"ok again"}`, "false again")
			yield(replies("Done."))
		})
		s := r.run(r.createExternal(run.Config{}), prompt("go"))
		if s.Turn.End.End != run.Completed {
			t.Errorf("ended %+v", s.Turn.End)
		}
		if got := r.edit.Ran(); !slices.Equal(got, []string{"ok changed", "ok again"}) {
			t.Errorf("ran %q", got)
		}
		// Also in a later turn, of another process.
		r.w.Agent.(*fakeAgent).turns = []agentTurn{func(ctx context.Context, yield func(run.Payload) bool) {
			r.calls(ctx, "same", "edit", `{"do":"ok changed"}`, "false changed")
			yield(replies("Done."))
		}}
		r.run(r.open(), prompt("on"))
		if got := r.edit.Ran(); len(got) != 2 {
			t.Errorf("ran %q", got)
		}
	})
}

// The owner dies at every append of a turn with one call, before and after it is
// durable. Whoever made the call gets one answer, and it has one effect at most.
func TestAnOwnerThatDiesAtAnyMomentAnswersARequestOnce(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{false, true} {
		for n := 1; n <= 5; n++ {
			t.Run(fmt.Sprintf("append %d, written %v", n, written), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { diesAt(t, n, written) })
			})
		}
	}
}

func diesAt(t *testing.T, n int, written bool) {
	var r *rig
	answers := make(chan string, 10)
	asks := func(ctx context.Context) {
		got, err := r.call(ctx, "k", "edit", `{"do":"ok changed"}`)
		if err == nil {
			answers <- got
		}
	}
	r, a := external(t, func(ctx context.Context, yield func(run.Payload) bool) {
		asks(ctx)
		yield(replies("Done."))
	})
	r.mem.Fault = failFrom(n, "append", errKilled)
	if written { // what reached the disk did so although the process never knew
		r.mem.Fault = func(op storetest.Op) storetest.Fault {
			if op.Name != "append" {
				return storetest.Fault{}
			}
			if n--; n > 0 {
				return storetest.Fault{}
			}
			return storetest.Fault{Err: errKilled, Written: n == 0}
		}
	}
	d := r.createExternal(run.Config{})
	_, err := d.Run(t.Context(), prompt("go"))
	_ = d.Close()
	if err == nil {
		return // its turn had fewer appends
	}
	r.crash()
	a.turns = []agentTurn{func(ctx context.Context, yield func(run.Payload) bool) {
		asks(ctx)
		yield(replies("Done."))
	}}
	if _, err := r.mem.Run(t.Context(), "r"); err != nil {
		return // nothing was on disk
	}
	s := r.run(r.open())
	if s.Turn.End.End != run.Completed {
		t.Errorf("ended %+v", s.Turn.End)
	}
	if ran := r.edit.Ran(); len(ran) > 1 {
		t.Errorf("ran %q", ran)
	}
	close(answers)
	var all []string
	for text := range answers {
		all = append(all, text)
	}
	if len(all) == 0 || len(slices.Compact(slices.Clone(all))) > 1 {
		t.Errorf("answers %q: want one, the same every time", all)
	}
	waits(t, r)
}

func TestASubmissionCountsHoweverTheAgentEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]run.Payload{
		"with an error": run.RequestFailed{Kind: run.ErrInvalid, Reason: "exit status 1"},
		"in silence":    nil,
		"well":          replies("Done."),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var r *rig
				r, a := external(t, func(ctx context.Context, yield func(run.Payload) bool) {
					r.calls(ctx, "k1", tool.SubmitName, `{"n":"three"}`, "true wrong arguments")
					r.calls(ctx, "k2", tool.SubmitName, `{"n":3}`, "false The result was accepted")
					r.calls(ctx, "k3", tool.SubmitName, `{"n":4}`, "true ")
					r.calls(ctx, "k2", tool.SubmitName, `{"n":3}`, "false The result was accepted")
					if end != nil {
						yield(end)
					}
				})
				s := r.run(r.createExternal(run.Config{Output: run.Output{Tool: tool.SubmitName, Schema: countSchema}}), prompt("How many?"))
				if s.Turn.End.End != run.Completed || s.Submission().Value != `{"n":3}` || len(a.given) != 1 {
					t.Errorf("ended %+v with %+v after %d turns", s.Turn.End, s.Submission(), len(a.given))
				}
				if n := len(logged[run.Submitted](t, r)); n != 1 {
					t.Errorf("%d submissions", n)
				}
			})
		})
	}
}

func TestAnAgentThatForgetsItsResultIsRemindedTwice(t *testing.T) {
	t.Parallel()
	const reminder = "conv-7: You must call the submit_result tool before finishing. Please call it now."
	output := run.Output{Tool: tool.SubmitName, Schema: countSchema}
	forgets := func(_ context.Context, yield func(run.Payload) bool) {
		yield(names("conv-7"))
		yield(replies("There are three."))
	}
	t.Run("in vain", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r, a := external(t, forgets)
			s := r.run(r.createExternal(run.Config{Output: output}), prompt("How many?"))
			if s.Turn.End.End != run.EndFailed || s.Turn.End.Reason != "output_missing" || !strings.Contains(s.Turn.End.Detail, "after 2 reminders") || !strings.Contains(s.Turn.End.Detail, "There are three.") {
				t.Errorf("ended %+v", s.Turn.End)
			}
			if got := a.messages(); !slices.Equal(got, []string{": How many?", reminder, reminder}) {
				t.Errorf("the agent was given %q", got)
			}
		})
	})
	t.Run("and does it", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var r *rig
			r, a := external(t, forgets, func(ctx context.Context, yield func(run.Payload) bool) {
				r.calls(ctx, "k", tool.SubmitName, `{"n":3}`, "false The result was accepted")
				yield(replies("Handed in."))
			})
			s := r.run(r.createExternal(run.Config{Output: output}), prompt("How many?"))
			if s.Turn.End.End != run.Completed || s.Submission().Value != `{"n":3}` {
				t.Errorf("ended %+v with %+v", s.Turn.End, s.Submission())
			}
			if got := a.messages(); !slices.Equal(got, []string{": How many?", reminder}) {
				t.Errorf("the agent was given %q", got)
			}
		})
	})
}

func TestAnAgentThatKeepsRunningAfterItsResultIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var accepted, stopped time.Time
		var r *rig
		r, _ = external(t, func(ctx context.Context, yield func(run.Payload) bool) {
			yield(names("conv-7"))
			r.calls(ctx, "k", tool.SubmitName, `{"n":3}`, "false The result was accepted")
			accepted = time.Now()
			yield(run.Observed{Parts: []run.Part{run.Text("And now I tidy up, for ever.")}})
			<-ctx.Done()
			stopped = time.Now()
			time.Sleep(time.Second) // it takes a moment to end
		})
		s := r.run(r.createExternal(run.Config{Output: run.Output{Tool: tool.SubmitName, Schema: countSchema}}), prompt("How many?"))
		if s.Turn.End.End != run.Completed || s.Submission().Value != `{"n":3}` {
			t.Errorf("ended %+v with %+v", s.Turn.End, s.Submission())
		}
		if took := stopped.Sub(accepted).Round(time.Second); took != 30*time.Second {
			t.Errorf("it was stopped after %v, want 30s", took)
		}
		if ended := time.Now(); ended.Before(stopped.Add(time.Second)) {
			t.Error("the run did not wait for the agent to end")
		}
	})
}

func TestAnAgentThatIsKilledMidwayIsToldSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ known, works bool }{"its conversation is not known": {}, "it has named its conversation": {known: true}, "it works": {true, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, a := external(t, func(ctx context.Context, yield func(run.Payload) bool) {
					if c.known {
						yield(names("conv-7"))
					}
					if c.works {
						done := run.Result{Call: "a", Content: []run.Part{run.Text("no\noutput")}}
						yield(run.Observed{Parts: []run.Part{run.Text("I look."), {Type: run.CallPart, Call: &run.Call{ID: "a", Tool: "Bash", Arguments: `{"command":"make"}`}}}})
						yield(run.Observed{Parts: []run.Part{{Type: run.ResultPart, Result: &done}, {Type: run.CallPart, Call: &run.Call{ID: "b", Tool: "Edit", Arguments: "{}"}}}})
					}
					<-ctx.Done()
				})
				d := r.createExternal(run.Config{})
				dead := make(chan struct{})
				go func() {
					defer close(dead)
					_, _ = d.Run(context.Background(), prompt("Repair it."))
				}()
				synctest.Wait()
				r.crash()
				a.turns = []agentTurn{func(_ context.Context, yield func(run.Payload) bool) { yield(replies("Done.")) }}
				s := r.run(r.open())
				if s.Turn.End.End != run.Completed {
					t.Errorf("ended %+v", s.Turn.End)
				}
				got := a.messages()[1]
				if !strings.Contains(got, "The last turn was cut off because the process that ran it ended.") {
					t.Errorf("the agent was given %q", got)
				}
				if has := strings.Contains(got, "Repair it."); has == c.works || strings.HasPrefix(got, "conv-7: ") != c.known {
					t.Errorf("the agent was given %q: an agent that had its words, and only that, is not given them again", got)
				}
				const did = `- Bash {"command":"make"} - done: no\noutput` + "\n- Edit {} - what became of it is not known"
				if told := a.given[1].Summary; strings.Contains(told, did) != c.works {
					t.Errorf("of what it did before the agent would be told %q", told)
				}
				d.Interrupt(run.Interrupted{Cause: run.ByShutdown})
				<-dead
				_ = d.Close()
			})
		})
	}
}

func TestAnInterruptEndsTheAgentAndItsCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		ended := false
		r, a := external(t, func(ctx context.Context, yield func(run.Payload) bool) {
			yield(names("conv-7"))
			var calls sync.WaitGroup
			calls.Go(func() {
				r.calls(context.Background(), "k1", "read", `{"do":"wait"}`, "true [Request interrupted by user for tool use]")
			})
			<-r.read.begun
			calls.Go(func() {
				r.calls(context.Background(), "k2", "edit", `{"do":"ok never"}`, "true [Request interrupted by user]")
			})
			<-ctx.Done()
			time.Sleep(3 * time.Second) // it tidies up
			calls.Wait()
			ended = true
			yield(replies("I was stopped.")) // too late
		}, func(_ context.Context, yield func(run.Payload) bool) {
			time.Sleep(time.Minute)
			yield(replies("Differently, then."))
		})
		r.w.OnAsk = AskWait
		r.w.Authorizer = &ruleSet{rules: permission.Rules{rule(t, permission.Allow, "read")}}
		d := r.createExternal(run.Config{})
		defer d.Close()
		go func() {
			r.until(func(v view.Update) bool {
				if v.Event == nil {
					return false
				}
				p, ok := v.Event.Payload.(run.CallInspected)
				return ok && p.Call == "c_2"
			})
			d.Interrupt(run.Interrupted{Cause: run.ByPerson})
		}()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.EndInterrupted {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		if !ended {
			t.Error("Run returned while the agent was still at work")
		}
		if len(r.edit.Ran()) > 0 {
			t.Errorf("ran %q", r.edit.Ran())
		}
		waits(t, r)
		s, err = d.Run(t.Context(), prompt("Differently."))
		if err != nil || s.Answer() != "Differently, then." {
			t.Errorf("the next turn ended %+v with %q, %v: the last turn's answer is not its own", s.Turn.End, s.Answer(), err)
		}
		if got := a.messages(); len(got) != 2 || !strings.HasPrefix(got[1], "conv-7: [Request interrupted by user]") || !strings.HasSuffix(got[1], "Differently.") {
			t.Errorf("the agent was given %q", got)
		}
		if a.most != 1 {
			t.Errorf("%d turns at once in one conversation", a.most)
		}
	})
}

func TestAnAgentIsNotStartedWhileItsLastTurnIsBeingStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		r, a := external(t, func(ctx context.Context, yield func(run.Payload) bool) {
			yield(names("conv-7"))
			_, _ = r.call(ctx, "k1", "edit", `{"do":"ok never","path":"a.go"}`)
			time.Sleep(4 * time.Second) // it tidies up
		}, func(_ context.Context, yield func(run.Payload) bool) { yield(replies("As you like.")) })
		r.w.OnAsk, r.w.Authorizer = AskWait, &ruleSet{}
		after(time.Second, func() { putRow(t, r, "w", "decide", `{"call":"c_1","answer":"wait","text":"Use b.go."}`) })
		s := r.run(r.createExternal(run.Config{}), prompt("go"))
		if s.Turn.N != 2 || s.Answer() != "As you like." {
			t.Errorf("turn %d ended %+v with %q", s.Turn.N, s.Turn.End, s.Answer())
		}
		if a.most != 1 {
			t.Errorf("%d turns at once in one conversation", a.most)
		}
	})
}

func TestAnAgentThatDoesNotEndIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r, _ := external(t, func(_ context.Context, yield func(run.Payload) bool) {
			yield(names("conv-7"))
			<-release
			yield(names("conv-8"))
			yield(replies("too late"))
		})
		d := r.createExternal(run.Config{})
		go func() {
			synctest.Wait()
			d.Interrupt(run.Interrupted{Cause: run.ByPerson})
		}()
		began := time.Now()
		s := r.run(d, prompt("go"))
		if took := time.Since(began); s.Turn.End.End != run.EndInterrupted || took > agentPatience+time.Second {
			t.Errorf("ended %+v after %v", s.Turn.End, took)
		}
		close(release)
		synctest.Wait()
		if n := len(r.log(r.mem)); int64(n) != s.Seq {
			t.Errorf("what it said too late was recorded: %q", r.log(r.mem))
		}
	})
}

func TestAQuestionThatIsOpenWhenTheAgentEndsIsAnsweredInTheNextTurn(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{true, false} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var r *rig
				r, a := external(t, func(ctx context.Context, yield func(run.Payload) bool) {
					yield(names("conv-7"))
					patience, cancel := context.WithTimeout(ctx, time.Minute)
					defer cancel()
					if got, err := r.call(patience, "q", "ask", `{"do":"which?"}`); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("the question is answered %q, %v", got, err)
					}
					yield(replies("I wait for your answer."))
				}, func(ctx context.Context, yield func(run.Payload) bool) {
					r.calls(ctx, "q", "ask", `{"do":"which?"}`, "false the second") // it asks again
					yield(replies("The second it is."))
				})
				d := r.createExternal(run.Config{})
				s, err := d.Run(t.Context(), prompt("go"))
				if err != nil || s.Turn.End.End != run.Asked || len(s.Questions()) != 1 {
					t.Fatalf("ended %+v, %v", s.Turn.End, err)
				}
				if restart {
					if err := d.Close(); err != nil {
						t.Error(err)
					}
					d = r.open()
				}
				s = r.run(d, say(s, "the second"))
				if s.Turn.End.End != run.Completed || s.Answer() != "The second it is." {
					t.Errorf("ended %+v with %q", s.Turn.End, s.Answer())
				}
				if got := a.messages(); len(got) != 2 || got[1] != "conv-7: The person answers: the second" {
					t.Errorf("the agent was given %q", got)
				}
				waits(t, r)
			})
		})
	}
}

func TestWordsSaidWhileTheAgentWorksGoWithItsNextTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, a := external(t, func(_ context.Context, yield func(run.Payload) bool) {
			yield(names("conv-7"))
			time.Sleep(time.Minute)
			yield(replies("Done."))
		})
		after(time.Second, func() { put(t, r, "s", saying("s", run.Steer, "use tabs")) })
		after(2*time.Second, func() { put(t, r, "q", saying("q", run.Queue, "then commit")) })
		s := r.run(r.createExternal(run.Config{}), prompt("go"))
		if s.Turn.End.End != run.Completed || s.Turn.N != 2 {
			t.Errorf("turn %d ended %+v", s.Turn.N, s.Turn.End)
		}
		if got := a.messages(); !slices.Equal(got, []string{": go", "conv-7: use tabs", "conv-7: then commit"}) {
			t.Errorf("the agent was given %q", got)
		}
	})
}

func TestAnAgentThatCannotWorkFailsTheTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent  Agent
		detail string
	}{
		"there is none":        {nil, "this run belongs to an external agent, which this release of pawl cannot drive"},
		"it says nothing":      {&fakeAgent{turns: []agentTurn{func(context.Context, func(run.Payload) bool) {}}}, "the agent ended without saying how its turn ended"},
		"it cannot be started": {failing{errors.New("claude: command not found")}, "claude: command not found"},
		"it ends with an error": {&fakeAgent{turns: []agentTurn{func(_ context.Context, yield func(run.Payload) bool) {
			yield(run.RequestFailed{Kind: run.ErrAuth, Reason: "not logged in"})
		}}}, "not logged in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, _ := external(t)
				r.w.Agent = c.agent
				s := r.run(r.createExternal(run.Config{}), prompt("go"))
				if s.Turn.End.End != run.EndFailed || !strings.Contains(s.Turn.End.Detail, c.detail) {
					t.Errorf("ended %+v", s.Turn.End)
				}
			})
		})
	}
}

// failing is an agent that cannot be started.
type failing struct{ err error }

func (f failing) Turn(context.Context, AgentTurn) iter.Seq2[run.Payload, error] {
	return func(yield func(run.Payload, error) bool) { yield(nil, f.err) }
}

func TestACallOfARunThatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	r, _ := external(t)
	if got, err := r.call(t.Context(), "k", "read", `{}`); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("answered %q, %v", got, err)
	}
}

func TestACallWhileTheAgentDoesNotWorkIsNotMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := external(t, func(_ context.Context, yield func(run.Payload) bool) { yield(replies("Done.")) })
		r.run(r.createExternal(run.Config{}), prompt("go"))
		put(t, r, "late", request.Call{Key: "late", Tool: "edit", Arguments: `{"do":"ok never"}`})
		putRow(t, r, "odd", "call", "not JSON")
		r.run(r.open())
		r.calls(t.Context(), "late", "edit", `{}`, "true The call was not made: the run does not accept calls now.")
		r.calls(t.Context(), "odd", "edit", `{}`, "true The call was not made: decode a request (call): invalid character 'o' in literal null (expecting 'u')")
		if len(r.edit.Ran()) > 0 {
			t.Errorf("ran %q", r.edit.Ran())
		}
		waits(t, r)
	})
}

// asPermission is a tool with which an external agent asks whether it may edit a file.
type asPermission struct{}

func (asPermission) Spec() tool.Spec {
	return tool.Spec{Name: "permission", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (asPermission) Inspect(tool.Env, json.RawMessage) (tool.Intent, error) {
	return tool.Intent{As: "edit", Class: run.Writes, Paths: []string{"a.go"}}, nil
}

func (asPermission) Run(context.Context, tool.Env, tool.Call) (tool.Result, error) {
	return tool.TextResult("yes"), nil
}

// The rules for pawl's own tool decide on the agent's. A decision that comes when the agent's
// turn is over begins another, in which the same request is decided already.
func TestADecisionAfterTheAgentsTurnBeginsAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		r, a := external(t,
			func(ctx context.Context, yield func(run.Payload) bool) {
				yield(names("conv-7"))
				impatient, cancel := context.WithTimeout(ctx, 10*time.Minute)
				defer cancel()
				if got, err := r.call(impatient, "k1", "permission", `{"x":1}`); err == nil {
					t.Errorf("the call was answered %q before a person had decided", got)
				}
				yield(replies("I wait for a person."))
			},
			func(ctx context.Context, yield func(run.Payload) bool) {
				r.calls(ctx, "k2", "permission", `{"x":1}`, "false yes")
				yield(replies("Done."))
			})
		r.w.AgentTools = []tool.Tool{asPermission{}}
		r.w.OnAsk, r.w.Authorizer = AskWait, &ruleSet{}
		after(time.Hour, func() { putRow(t, r, "d", "decide", `{"call":"c_1","answer":"allow","by":"ann"}`) })
		d := r.createExternal(run.Config{})
		s, err := d.Run(t.Context(), prompt("Edit it."))
		if err != nil || !s.Turn.Open() || len(s.Turn.Calls) != 1 {
			t.Fatalf("the run did not park: %+v, %v", s.Turn.End, err)
		}
		time.Sleep(time.Hour)
		s, err = d.Run(t.Context())
		if err != nil || s.Turn.End.End != run.Completed || s.Answer() != "Done." {
			t.Errorf("ended %+v with %q, %v", s.Turn.End, s.Answer(), err)
		}
		got := a.messages()
		if len(got) != 2 || !strings.Contains(got[1], "conv-7: The person has answered your request for permission: yes.") || !strings.Contains(got[1], `{"x":1}`) {
			t.Errorf("the agent was given %q", got)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A reminder has two minutes; a submission in that time wins.
func TestAReminderOfAnAgentHasTwoMinutes(t *testing.T) {
	t.Parallel()
	output := run.Output{Tool: tool.SubmitName, Schema: countSchema}
	forgets := func(_ context.Context, yield func(run.Payload) bool) {
		yield(names("conv-7"))
		yield(replies("Three."))
	}
	t.Run("in vain", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			r, a := external(t, forgets, func(ctx context.Context, yield func(run.Payload) bool) { <-ctx.Done() })
			s := r.run(r.createExternal(run.Config{Output: output}), prompt("How many?"))
			if s.Turn.End.Reason != "output_missing" || len(a.given) != 3 {
				t.Errorf("ended %+v after %d turns", s.Turn.End, len(a.given))
			}
			if took := time.Since(begun).Round(time.Minute); took != 4*time.Minute {
				t.Errorf("two reminders took %v", took)
			}
		})
	})
	t.Run("and is answered in the last second", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var r *rig
			r, a := external(t, forgets, func(ctx context.Context, yield func(run.Payload) bool) {
				time.Sleep(119 * time.Second)
				r.calls(ctx, "k", tool.SubmitName, `{"n":3}`, "false The result was accepted")
				time.Sleep(10 * time.Second)
				yield(replies("Handed in."))
			})
			s := r.run(r.createExternal(run.Config{Output: output}), prompt("How many?"))
			if s.Turn.End.End != run.Completed || s.Submission().Value != `{"n":3}` || len(a.given) != 2 {
				t.Errorf("ended %+v with %+v after %d turns", s.Turn.End, s.Submission(), len(a.given))
			}
		})
	})
}

// Without a conversation to continue the agent is given a summary, and that is a reminder too.
func TestAnAgentWithoutAConversationIsRemindedWithASummary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, a := external(t, func(_ context.Context, yield func(run.Payload) bool) {
			yield(run.Observed{Parts: []run.Part{run.Text("I look.")}})
			yield(replies("There are three."))
		})
		s := r.run(r.createExternal(run.Config{Output: run.Output{Tool: tool.SubmitName, Schema: countSchema}}), prompt("How many?"))
		if s.Turn.End.Reason != "output_missing" || len(a.given) != 3 {
			t.Fatalf("ended %+v after %d turns", s.Turn.End, len(a.given))
		}
		if got := a.given[0].Summary; got != "" {
			t.Errorf("the first turn has the summary %q", got)
		}
		if got, want := a.given[1].Summary, "The person: How many?\n\nThe agent: There are three."; got != want || a.given[1].Conversation != "" {
			t.Errorf("the reminder has the summary %q, want %q", got, want)
		}
	})
}

func TestTheModelOfARunStaysOfItsKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := external(t, func(_ context.Context, yield func(run.Payload) bool) { yield(replies("Done.")) })
		r.w.External = func(model string) bool { return strings.HasPrefix(model, "agent/") }
		d := r.createExternal(run.Config{Model: "agent/fast"})
		r.run(d, prompt("go"))
		for model, ok := range map[string]bool{"agent/slow": true, "anthropic/x": false} {
			if err := d.CheckConfig(d.State(), run.ConfigChange{Model: &model}); (err == nil) != ok {
				t.Errorf("a change to %s: %v", model, err)
			}
		}
	})
}
