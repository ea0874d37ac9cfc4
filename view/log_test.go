package view_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
	"pawl/view"
)

// TestItemsOfALogAreThoseOfTheRunLive plays random runs, with crashes, interrupts, retries,
// forks, controller mode and external agents, and follows each with a face that also sees
// live updates: the right ones, some of them, wrong ones and late ones. What becomes final
// is the same.
func TestItemsOfALogAreThoseOfTheRunLive(t *testing.T) {
	t.Parallel()
	const lives = 200
	seen := map[string]int{}
	for seed := range lives {
		rnd := rand.New(rand.NewPCG(uint64(seed), 1))
		log := newLife(t, rnd).live()
		var final []view.Item
		p := new(view.Projection)
		for i := range log {
			for _, u := range append(liveUpdates(rnd, log, i), view.Update{Event: &log[i]}) {
				for _, item := range p.Update(u) {
					if item.Final && (item.Note == nil || item.Note.Kind != view.NoteNotice) {
						final = append(final, item)
					}
				}
			}
		}
		checkFinal(t, log, final)
		checkLog(t, log, seen)
		checkFrom(t, log, 1+rnd.IntN(len(log)))
		if t.Failed() {
			for _, e := range log {
				t.Logf("%d %T%+v", e.Seq, e.Payload, e.Payload)
			}
			t.Fatalf("seed %d", seed)
		}
	}
	for _, kind := range []view.Kind{view.KindRun, view.KindMessage, view.KindText, view.KindThinking, view.KindCall, view.KindNote,
		view.KindAccount, view.KindSubmission, view.KindEnd} {
		if seen[string(kind)] == 0 {
			t.Errorf("no run has an item of kind %s: the test does not reach it", kind)
		}
	}
	for _, what := range []string{"delivered", "withdrawn", "returned", "refused", "stopped", "outcome unknown", "answered", "inherited", "step", "cut", "observed"} {
		if seen[what] == 0 {
			t.Errorf("no run has an item that is %s: the test does not reach it", what)
		}
	}
	t.Log(seen)
}

// checkFinal compares final items with those of the log alone.
func checkFinal(t *testing.T, log []run.Event, final []view.Item) {
	t.Helper()
	want := slices.DeleteFunc(view.Items(log), func(i view.Item) bool { return !i.Final })
	if !reflect.DeepEqual(want, final) {
		t.Errorf("final items differ (-log alone +with live updates):\n%s", cmp.Diff(want, final))
	}
}

// checkLog checks the items of a log against the state of the run.
func checkLog(t *testing.T, log []run.Event, seen map[string]int) {
	t.Helper()
	var p view.Projection
	var s run.State
	final := map[string]bool{}
	for i := range log {
		var err error
		if s, err = s.Apply(log[i]); err != nil {
			t.Fatal(err)
		}
		for _, item := range p.Update(view.Update{Event: &log[i]}) {
			if final[item.ID] {
				t.Errorf("event %d changes %s, which was final", i+1, item.ID)
			}
			if !item.Final {
				continue
			}
			final[item.ID] = true
			count(seen, item)
			if e := item.End; e != nil {
				wall := s.Config.Limits.InForce().Wall - s.Left(s.At).Wall
				got := []any{e.Duration, e.Steps, e.Usage, e.End}
				want := []any{wall, s.Turn.Steps, s.Turn.Usage, s.Turn.End.End}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("event %d: the end differs (-state +item):\n%s", i+1, diff)
				}
				refused := 0
				for _, l := range s.Turn.Account {
					if l.Outcome == run.Refused {
						refused++
					}
				}
				if len(e.Refused) != refused {
					t.Errorf("event %d: %d refused calls, want %d", i+1, len(e.Refused), refused)
				}
				for _, o := range p.Open() {
					queued := o.Message != nil && (o.Message.Kind == view.Queued || e.End == run.Asked)
					if !queued && (o.Call == nil || e.End != run.Asked) {
						t.Errorf("event %d: %s is open after the end of the turn", i+1, o.ID)
					}
				}
			}
		}
	}
	for id := 1; id < s.NextCall(); id++ {
		open := slices.ContainsFunc(p.Open(), func(i view.Item) bool { return i.ID == fmt.Sprintf("c_%d", id) })
		if c, ok := s.Turn.Call(run.CallID(fmt.Sprintf("c_%d", id))); ok && (c.Status != run.CallDone) != open {
			t.Errorf("call %d is open: %v, want %v", id, open, !open)
		}
	}
	waiting := 0
	for _, o := range p.Open() {
		if o.Message != nil {
			waiting++
		}
	}
	own := 0
	for _, w := range s.Turn.Words {
		if w.ID == "" {
			own++
		}
	}
	if want := len(s.Queue) + len(s.Turn.Words) - own; waiting != want {
		t.Errorf("%d messages wait, want %d", waiting, want)
	}
}

// checkFrom compares a projection from the state after n events with one from the first
// event: the same items become final after that, and ends have the same totals.
func checkFrom(t *testing.T, log []run.Event, n int) {
	t.Helper()
	state, err := run.Replay(log[:n])
	if err != nil {
		t.Fatal(err)
	}
	after := func(p *view.Projection) []string {
		var all []string
		for i := range log[n:] {
			for _, item := range p.Update(view.Update{Event: &log[n+i]}) {
				switch {
				case !item.Final || item.Kind == view.KindText: // it may have begun before
				case item.End != nil:
					e := *item.End
					all = append(all, fmt.Sprint(item.ID, e.End, e.Duration, e.Steps, e.Usage, len(e.Refused), len(e.Files)))
				case item.Call != nil && item.Call.Observed: // a state does not have them
				case item.Call != nil:
					c := *item.Call
					all = append(all, fmt.Sprint(item.ID, c.Title(), c.Class, c.Outcome, c.Attempt, c.Decision, c.Child))
				case item.Message != nil:
					all = append(all, fmt.Sprint(item.ID, *item.Message, item.Text))
				case item.Note != nil:
					all = append(all, fmt.Sprint(item.ID, item.Text))
				}
			}
		}
		return all
	}
	whole := new(view.Projection)
	for i := range log[:n] {
		whole.Update(view.Update{Event: &log[i]})
	}
	if diff := cmp.Diff(after(whole), after(view.From(state))); diff != "" {
		t.Errorf("from event %d the items differ (-from the first event +from the state):\n%s", n+1, diff)
	}
}

func count(seen map[string]int, i view.Item) {
	seen[string(i.Kind)]++
	for what, is := range map[string]bool{"inherited": i.Inherited, "step": i.Step, "cut": i.Cut, "observed": i.Call != nil && i.Call.Observed} {
		if is {
			seen[what]++
		}
	}
	switch {
	case i.Message != nil:
		seen[string(i.Message.State)]++
	case i.Call != nil:
		seen[i.Call.OutcomeWords()]++
	case i.Note != nil:
		seen[string(i.Note.Kind)]++
	}
}

// liveUpdates are what a face may see before event i: deltas of the answer, whole or in
// part, and other live updates, right and wrong.
func liveUpdates(rnd *rand.Rand, log []run.Event, i int) []view.Update {
	var all []view.Update
	delta := func(d view.Delta) { all = append(all, view.Update{Delta: &d}) }
	var parts []run.Part
	switch f := log[i].Payload.(type) {
	case run.Replied:
		parts = f.Parts
	case run.Interrupted:
		parts = f.Partial
		if rnd.IntN(2) == 0 {
			all = append(all, view.Update{Stopping: &f})
		}
	case run.RequestFailed:
		parts = []run.Part{run.Text("half an answer"), {Type: run.CallPart, Call: &run.Call{Tool: "read", Arguments: `{"pa`}}}
	}
	skip := rnd.IntN(4) * rnd.IntN(3) // the face begins in the middle
	for _, part := range parts {
		text := part.Text
		if part.Call != nil {
			text = part.Call.Arguments
			if skip == 0 {
				delta(view.Delta{Tool: part.Call.Tool})
			}
		}
		for text != "" {
			n := 1 + rnd.IntN(len(text))
			d := map[run.PartType]view.Delta{run.TextPart: {Text: text[:n]}, run.ThinkingPart: {Thinking: text[:n]}, run.CallPart: {Arguments: text[:n]}}[part.Type]
			text = text[n:]
			if skip > 0 {
				skip--
				continue
			}
			delta(d)
		}
	}
	if rnd.IntN(8) == 0 {
		all = append(all, view.Update{Drop: true})
	}
	for range rnd.IntN(3) * rnd.IntN(2) {
		call := run.CallID(fmt.Sprintf("c_%d", 1+rnd.IntN(5)))
		all = append(all, []view.Update{
			{Delta: &view.Delta{Text: "not there"}},
			{Delta: &view.Delta{Tool: "read", Thinking: "hm"}},
			{Delta: &view.Delta{Arguments: `{"path":`}},
			{Drop: true},
			{Progress: &view.Progress{Call: call, Text: "one line\n"}},
			{Stopping: &run.Interrupted{Cause: run.ByPerson}},
			{Waiting: []run.CallID{call}},
			{Waiting: []run.CallID{}},
			{Notice: "something does not work"},
		}[rnd.IntN(9)])
	}
	return all
}

// A life makes the log of one random run. It is the world of the run's Runner.
type life struct {
	t       *testing.T
	rnd     *rand.Rand
	r       *run.Runner
	gate    run.Gate
	log     []run.Event
	now     time.Time
	ops     map[string]run.Command
	created run.Created
	words   int
}

func newLife(t *testing.T, rnd *rand.Rand) *life {
	l := &life{t: t, rnd: rnd, r: run.NewRunner(run.State{}), now: time.Unix(1_800_000_000, 0).UTC(), ops: map[string]run.Command{}}
	l.created = run.Created{Run: "r1", Workspace: "/w", External: rnd.IntN(6) == 0,
		Config: run.Config{Model: "p/m", Limits: run.Limits{Steps: 3 + rnd.IntN(8), Calls: 20}, Parallel: rnd.IntN(3)}}
	switch rnd.IntN(5) {
	case 0:
		l.created.Config.Control = run.Controller
	case 1:
		l.created.Config.Output = run.Output{Tool: "submit", Schema: "{}"}
	case 2:
		l.created.Config.Window = 3000
	}
	return l
}

func (l *life) chance(n int) bool { return l.rnd.IntN(n) == 0 }

// live returns the log of the run, which may end anywhere.
func (l *life) live() []run.Event {
	l.step(run.Input{Given: []run.Payload{l.created}})
	for range 20 + l.rnd.IntN(120) {
		l.now = l.now.Add(time.Duration(l.rnd.IntN(5000)) * time.Millisecond)
		l.act()
	}
	if !l.chance(4) {
		return l.log
	}
	// A fork: the same events up to one of them, in another run.
	fork := slices.Clone(l.log)
	c := l.created
	c.Run, c.ForkedFrom, c.ForkedAt = "r2", "r1", int64(1+l.rnd.IntN(len(fork)))
	fork[0].Payload = c
	return fork
}

func (l *life) Jobs() []run.Job                    { return nil }
func (l *life) Hooks(run.State, run.Hook) []string { return nil }

func (l *life) step(in run.Input) {
	for range 200 {
		in.Interrupt, in.Closed = l.gate.Interrupt(), l.gate.Closed()
		b, err := l.r.Step(l.now, l, in)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, e := range b.Events {
			e.Seq = int64(len(l.log)) + 1
			l.log = append(l.log, e)
		}
		cancelled := l.r.Adopt(b, in)
		l.gate.Adopt(b)
		for _, done := range in.Done {
			if !done.More {
				delete(l.ops, done.Key)
			}
		}
		for _, c := range b.Start {
			l.ops[c.Key()] = c
		}
		in = run.Input{}
		slices.Sort(cancelled)
		for _, key := range cancelled {
			done := run.Completion{Key: key}
			if c, ok := l.ops[key].(run.Perform); ok {
				done.Events = []run.Payload{run.CallSettled{Call: c.Call.ID, Outcome: run.Cut, IsError: true, Content: []run.Part{run.Text("cut")}}}
			}
			in.Done = append(in.Done, done)
		}
		if len(b.Events)+len(in.Done) == 0 {
			return
		}
	}
	l.t.Fatal("the runner records without end")
}

func (l *life) want(p run.Payload) {
	l.step(run.Input{Wanted: []func(run.State) []run.Payload{func(run.State) []run.Payload { return []run.Payload{p} }}})
}

func (l *life) said() []run.Part {
	l.words++
	return []run.Part{run.Text(fmt.Sprintf("message %d", l.words))}
}

// act lets one thing happen.
func (l *life) act() {
	s := l.r.State
	switch {
	case !s.Turn.Open():
		p := run.Say(s, "", run.Steer, l.said()).(run.Prompted)
		if len(s.Queue) > 0 && p.Answers == "" {
			p = run.Prompted{Parts: s.Queue[0].Parts, Queued: s.Queue[0].ID}
		} else if s.Turn.N > 0 && p.Answers == "" && l.chance(4) {
			p = run.Prompted{Continue: true}
		}
		l.want(p)
		return
	case l.chance(12):
		delivery := []run.Delivery{run.Steer, run.Queue}[l.rnd.IntN(2)]
		l.want(run.Said{ID: fmt.Sprintf("s%d", l.words), Delivery: delivery, Parts: l.said()})
		return
	case l.chance(20) && l.words > 0:
		l.want(run.Withdrawn{ID: fmt.Sprintf("s%d", l.rnd.IntN(l.words))})
		return
	case l.chance(20):
		f := run.Interrupted{Cause: []run.Cause{run.ByPerson, run.ByShutdown, run.ByTimeout}[l.rnd.IntN(3)]}
		if l.chance(3) {
			f.Then = l.said()
		}
		l.gate.Close(f)
		l.step(run.Input{})
		return
	case l.chance(25):
		l.crash()
		return
	case l.chance(25):
		mode := "plan"
		l.want(run.Configured{Change: run.ConfigChange{Mode: &mode}})
		return
	}
	for _, c := range s.Next() {
		if d, ok := c.(run.Decide); ok && l.chance(2) {
			l.decide(d.Call)
			return
		}
	}
	for key, op := range l.ops {
		l.finish(key, op)
		return
	}
	l.now = l.now.Add(10 * time.Second) // for a retry
	l.step(run.Input{})
}

func (l *life) crash() {
	s, err := run.Replay(l.log)
	if err != nil {
		l.t.Fatal(err)
	}
	l.r, l.gate, l.ops = run.NewRunner(s), run.Gate{}, map[string]run.Command{}
	l.gate.Attend(s)
	l.step(run.Input{Given: s.Recover()})
}

func (l *life) decide(c run.CallState) {
	switch l.rnd.IntN(6) {
	case 0:
		l.want(run.CallDecided{Call: c.ID, Decision: run.Decision{Answer: run.Never, By: "me", Reason: "no"}, Content: "It was refused."})
	case 1:
		l.want(run.Interrupted{Turn: l.r.State.Turn.N, Cause: run.ByWait, Call: c.ID})
	default:
		l.want(run.CallDecided{Call: c.ID, Decision: run.Decision{Answer: run.Allow, By: "me"}})
	}
}

// finish ends an operation, or reports something of it.
func (l *life) finish(key string, op run.Command) {
	done := run.Completion{Key: key}
	switch c := op.(type) {
	case run.Perform:
		f := run.CallSettled{Call: c.Call.ID, Outcome: run.OK, Content: []run.Part{run.Text(strings.Repeat("result ", 1+l.rnd.IntN(200)))}}
		if l.chance(4) {
			f.Outcome, f.IsError = run.Failed, true
		} else if c.Call.Class == run.Writes {
			f.Change, f.Files = run.Changed, []run.FileChange{{Path: "a", Before: "b", After: fmt.Sprint(l.words)}}
		}
		f.Usage = run.Usage{Input: int64(l.rnd.IntN(2)), Priced: true}
		done.Events = []run.Payload{f}
	case run.ExternalTurn:
		done = l.external(done)
	default:
		done.Events = []run.Payload{l.answer()}
	}
	l.step(run.Input{Done: []run.Completion{done}})
}

func (l *life) external(done run.Completion) run.Completion {
	n := l.r.State.NextCall()
	switch l.rnd.IntN(5) {
	case 0:
		own := run.CallID(fmt.Sprintf("own%d", len(l.log)))
		parts := []run.Part{run.Text("I look."), {Type: run.CallPart, Call: &run.Call{ID: own, Tool: "Bash", Arguments: `{"command":"ls"}`}}}
		if l.chance(2) {
			parts = append(parts, run.Part{Type: run.ResultPart, Result: &run.Result{Call: own}})
		}
		done.More, done.Events = true, []run.Payload{run.Observed{Conversation: "x", Parts: parts, Usage: run.Usage{Output: 3}}}
	case 1:
		l.want(run.CallReceived{Call: run.Call{ID: run.CallID(fmt.Sprintf("c_%d", n)), Tool: tools[l.rnd.IntN(len(tools))], Arguments: "{}"}})
		done.More = true
	case 2:
		done.Events = []run.Payload{run.RequestFailed{Kind: run.ErrOverloaded, Reason: "busy", RetryAfter: time.Second}}
	default:
		done.Events = []run.Payload{run.Replied{Parts: []run.Part{run.Text("I look.")}, Stop: run.StopEndTurn}}
	}
	return done
}

var tools = []string{"read", "edit", "ask", "agent", "submit", "nosuch"}

// answer is an answer of the model, or the failure of its request.
func (l *life) answer() run.Payload {
	if l.chance(6) {
		kind := []run.ErrorKind{run.ErrOverloaded, run.ErrTooLong, run.ErrInvalid}[l.rnd.IntN(3)]
		f := run.RequestFailed{Kind: kind, Reason: "it failed", Usage: run.Usage{Input: 1}}
		if kind == run.ErrOverloaded {
			f.RetryAfter = time.Second
		}
		return f
	}
	f := run.Replied{Usage: run.Usage{Input: int64(100 * l.rnd.IntN(5)), Output: 7, Cost: 0.5, Priced: true}}
	f.Parts = l.parts()
	calls := 0
	for _, p := range f.Parts {
		if p.Call != nil {
			calls++
		}
	}
	f.Stop = run.StopEndTurn
	if calls > 0 {
		f.Stop = run.StopToolUse
	}
	if l.chance(5) {
		f.Stop = []run.StopReason{run.StopMaxTokens, run.StopPause, run.StopRefusal}[l.rnd.IntN(3)]
	}
	purpose := l.r.State.Turn.Request.Purpose
	if l.r.State.Config.Control != run.Controller || purpose != run.ForStep {
		return f
	}
	f.Stop, f.Parts = run.StopEndTurn, slices.DeleteFunc(f.Parts, func(p run.Part) bool { return p.Type == run.TextPart })
	f.Parts = append([]run.Part{run.Text(`{"action":"next_step","description":"Look","thinking":{"task":"t"},"message":"Done."}`)}, f.Parts...)
	f.Action = &run.Action{Kind: run.StepTool, Description: "Look", Thinking: `{"task":"t"}`}
	if calls == 0 {
		f.Action = []*run.Action{{Kind: run.StepComplete, Message: "Done."}, {Kind: run.StepRespond, Description: "Say", Message: "So."},
			{Kind: run.StepGuardrail, Reason: "No", Message: "I must not."}, {Problem: "no action", Feedback: "Again."}}[l.rnd.IntN(4)]
	}
	return f
}

func (l *life) parts() []run.Part {
	var parts []run.Part
	n := l.r.State.NextCall()
	for range 1 + l.rnd.IntN(4) {
		switch l.rnd.IntN(6) {
		case 0:
			parts = append(parts, run.Part{Type: run.ThinkingPart, Text: "I think."})
		case 1:
			parts = append(parts, run.Part{Type: run.OpaquePart, Raw: "{}"})
		case 2, 3:
			c := run.Call{ID: run.CallID(fmt.Sprintf("c_%d", n)), Tool: tools[l.rnd.IntN(len(tools))], Arguments: fmt.Sprintf(`{"path":"f%d"}`, n)}
			parts = append(parts, run.Part{Type: run.CallPart, Call: &c})
			n++
		default:
			parts = append(parts, run.Text([]string{"Some words.", "Let me look.", " ", "More."}[l.rnd.IntN(4)]))
		}
	}
	return parts
}

// The life is the world of its run.

func (l *life) Inspect(_ run.State, c run.Call) run.CallInspected {
	f := run.CallInspected{Call: c.ID, Tool: c.Tool, Class: run.Writes, Key: c.Tool + c.Arguments}
	switch c.Tool {
	case "read":
		f.Class = run.Reads
	case "agent":
		f.Class = run.Resumable
	case "ask":
		f.Class, f.Question = run.Resumable, true
	case "submit":
		f.Class, f.Submits = run.Resumable, true
	case "nosuch":
		f.Problem = "There is no such tool."
	}
	return f
}

func (l *life) Decide(_ run.State, c run.CallState) run.Payload {
	switch l.rnd.IntN(3) {
	case 0:
		return nil
	case 1:
		if l.chance(4) {
			return run.CallDecided{Call: c.ID, Decision: run.Decision{Answer: run.Deny, Source: "mode"}, Content: "Not in this mode."}
		}
	}
	return run.CallDecided{Call: c.ID, Decision: run.Decision{Answer: run.Allow, Source: "default"}}
}

func (l *life) Recheck(_ run.State, c run.CallState) run.Payload {
	if l.chance(8) {
		return run.ApprovalInvalidated{Call: c.ID, Reason: "the file has changed"}
	}
	return nil
}

func (l *life) Submit(s run.State, _ run.CallState) (value, problem string) {
	if l.chance(2) || s.Config.Output.Schema == "" || s.Submission().Value != "" {
		return "", "It does not fit."
	}
	return `{"done":true}`, ""
}

func (l *life) Partial(next int) ([]run.Part, run.Usage) {
	if l.chance(3) || l.created.External {
		return nil, run.Usage{}
	}
	parts := []run.Part{{Type: run.TextPart, Text: "I wanted to", Cut: true}}
	if l.chance(3) {
		parts = append(parts, run.Part{Type: run.CallPart, Call: &run.Call{ID: run.CallID(fmt.Sprintf("c_%d", next)), Tool: "read", Arguments: "{}"}})
	}
	return parts, run.Usage{Input: 5}
}
