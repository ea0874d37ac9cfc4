package run

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A retry waits as long as the failure says from when this process first saw it owed,
// whatever happens to the clock.
func TestARetryWaitsAsLongAsItSays(t *testing.T) {
	t.Parallel()
	failed := func(t *testing.T) *driven {
		d := drive(t, Config{})
		d.prompt("go")
		d.end("request/1.1/step/1", RequestFailed{Kind: ErrRateLimited, Asked: time.Minute})
		return d
	}
	t.Run("in the same process", func(t *testing.T) {
		t.Parallel()
		d := failed(t)
		if got := d.r.RetryAt().Sub(d.now); got != time.Minute {
			t.Errorf("it waits %s", got)
		}
		d.now = d.now.Add(59 * time.Second)
		if b, _ := d.step(Input{}); len(b.Start) != 0 {
			t.Error("it is sent too early")
		}
		if d.r.Busy() || d.r.Waits() {
			t.Error("a run that waits to retry is busy, or waits for a person")
		}
		d.now = d.now.Add(time.Second)
		if b, _ := d.step(Input{}); len(b.Start) != 1 || !d.r.RetryAt().IsZero() || !d.r.Busy() {
			t.Errorf("started %v, waits until %s", b.Start, d.r.RetryAt())
		}
	})
	for _, c := range []struct {
		name  string
		clock time.Duration // when the next process looks at it, after the failure
		wait  time.Duration
	}{
		{"later", 20 * time.Second, 40 * time.Second},
		{"much later", time.Hour, 0},
		{"the clock was ten years ahead", -10 * 365 * 24 * time.Hour, time.Minute},
		{"the clock is ten years ahead", 10 * 365 * 24 * time.Hour, 0},
	} {
		t.Run("in another process, "+c.name, func(t *testing.T) {
			t.Parallel()
			d := failed(t)
			d.r = NewRunner(d.r.State)
			d.now = d.now.Add(c.clock)
			in := Input{Given: d.r.State.Recover()}
			b, _ := d.step(in)
			if c.wait == 0 {
				if len(b.Start) != 1 {
					t.Errorf("it is not sent: it waits until %s", d.r.RetryAt())
				}
				return
			}
			if got := d.r.RetryAt().Sub(d.now); got != c.wait {
				t.Errorf("it waits %s, want %s", got, c.wait)
			}
		})
	}
}

func TestAParkedOperationWaitsForAPerson(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	d.w = children{}
	d.prompt("go")
	d.end("request/1.1/step/1", calls("agent"))
	if d.r.Waits() {
		t.Error("a run with a child that works waits for a person")
	}
	d.step(Input{Done: []Completion{{Key: "perform/c_1/1", Parked: true}}})
	if !d.r.Waits() || d.r.Busy() {
		t.Error("a run with a parked child does not wait for a person")
	}
	if b, _ := d.step(Input{}); len(b.Start) > 0 {
		t.Error("a parked operation starts by itself")
	}
	d.r.Unpark()
	if b, _ := d.step(Input{}); len(b.Start) != 1 || len(b.Events) != 0 {
		t.Errorf("unparked: started %v, events %v", b.Start, b.Events)
	}
	if cancel := d.r.Adopt(Batch{state: d.r.State, owed: d.r.State.Next()}, Input{Done: []Completion{{Key: "perform/c_1/7", Parked: true}}}); len(cancel) > 0 || d.r.parked["perform/c_1/7"] {
		t.Error("what is not in flight was parked")
	}
	// Interrupted while it is parked, it starts once more to be told that it is over.
	d.step(Input{Done: []Completion{{Key: "perform/c_1/1", Parked: true}}})
	d.gate.Close(Interrupted{Cause: ByPerson})
	if b, _ := d.step(Input{}); len(b.Start) != 1 || b.Start[0].Key() != "perform/c_1/1" {
		t.Errorf("interrupted: started %v", b.Start)
	}
}

type children struct{ allowing }

func (children) Inspect(_ State, c Call) CallInspected { return inspected(c) }

// Time passes between a decision and the start: the world looks again, once, and
// may refuse or ask again.
func TestAnApprovalIsCheckedAgainAtTheStart(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{Parallel: 1})
	w := &rechecking{}
	d.w = w
	d.prompt("go")
	d.end("request/1.1/step/1", calls("edit", "edit", "edit"))
	if !d.r.Waits() {
		t.Error("calls that wait for a person's decision do not")
	}
	allow := func(id CallID) Payload { return CallDecided{Call: id, Decision: Decision{Answer: Allow, Digest: "d"}} }
	d.want(allow("c_1"), allow("c_2"), allow("c_3"))
	if diff := cmp.Diff([]CallID{"c_1"}, w.asked); diff != "" {
		t.Error(diff)
	}
	w.say = ApprovalInvalidated{Call: "c_2", Reason: "the file has changed"}
	d.end("perform/c_1/1", settledOK("c_1"))
	if c, _ := d.r.State.Turn.Call("c_2"); c.Status != CallIsInspected {
		t.Errorf("c_2 is %s", c.Status)
	}
	w.say = CallDecided{Call: "c_2", Decision: Decision{Answer: Never}, Content: "A rule was made meanwhile."}
	d.want(allow("c_2"))
	if c, _ := d.r.State.Turn.Call("c_2"); c.Outcome != Refused {
		t.Errorf("c_2 is %s, %s", c.Status, c.Outcome)
	}
}

type rechecking struct {
	allowing
	asked []CallID
	say   Payload
}

func (w *rechecking) Inspect(_ State, c Call) CallInspected { return inspected(c) }
func (w *rechecking) Decide(State, CallState) Payload       { return nil }

func (w *rechecking) Recheck(_ State, c CallState) Payload {
	w.asked = append(w.asked, c.ID)
	say := w.say
	w.say = nil
	return say
}

func TestAGivenEventThatCannotFollowIsAnError(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	impossible := []Payload{Ended{End: Completed}}
	for when, in := range map[string]Input{"first": {Given: impossible}, "last": {Last: impossible}} {
		b, err := d.r.Step(d.now, d.w, in)
		if !errors.Is(err, ErrOrder) || len(b.Events) > 0 {
			t.Errorf("%s: %v, %v", when, b.Events, err)
		}
	}
}

// A world that decides what cannot follow is a bug of the worker's, and is said to be.
func TestAWorldThatSaysNonsenseIsAnError(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	d.w = nonsense{}
	d.prompt("go")
	in := Input{Done: []Completion{{Key: "request/1.1/step/1", Events: []Payload{calls("read")}}}}
	if _, err := d.r.Step(d.now, d.w, in); !errors.Is(err, ErrOrder) || !strings.Contains(err.Error(), "inspect/c_1") {
		t.Errorf("%v", err)
	}
	interrupt := &Interrupted{Cause: ByPerson}
	for what, in := range map[string]Input{
		"an interrupt": {Interrupt: interrupt, Closed: true},
		"an interrupt that has cancelled the request": {Interrupt: interrupt, Closed: true,
			Done: []Completion{{Key: "request/1.1/step/1", Events: []Payload{RequestFailed{Kind: ErrAborted}}}}},
	} {
		if b, err := d.r.Step(d.now, d.w, in); !errors.Is(err, ErrOrder) {
			t.Errorf("%s with calls that are not numbered on: %v, %v", what, b.Events, err)
		}
	}
}

type nonsense struct{ allowing }

func (nonsense) Inspect(State, Call) CallInspected { return CallInspected{Call: "c_9"} }

func (nonsense) Partial(int) ([]Part, Usage) {
	return []Part{{Type: CallPart, Call: &Call{ID: "c_9", Tool: "read", Arguments: "{}"}}}, Usage{}
}

// Where an approval is needed and no one can give it, the turn ends at once and nothing of the message runs.
func TestADecisionThatNoOneCanMakeEndsTheTurn(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	w := &unattended{}
	d.w = w
	d.prompt("go")
	b := d.end("request/1.1/step/1", calls("read", "edit", "read"))
	s := d.r.State
	if s.Turn.End.Reason != "permission_required" || len(b.Start) > 0 {
		t.Errorf("started %v, ended %+v", b.Start, s.Turn.End)
	}
	if diff := cmp.Diff([]CallID{"c_1", "c_2"}, w.asked); diff != "" {
		t.Errorf("decided on, -want +got\n%s", diff)
	}
	if err := checkHistory(s.Messages); err != nil {
		t.Error(err)
	}
}

type unattended struct {
	children
	asked []CallID
}

func (w *unattended) Decide(_ State, c CallState) Payload {
	w.asked = append(w.asked, c.ID)
	if c.Tool == "edit" {
		return Interrupted{Cause: ByPolicy, Call: c.ID}
	}
	return CallDecided{Call: c.ID, Decision: Decision{Answer: Allow}}
}

// Of two results that one message hands in the first counts, and the other is not looked at.
// Both calls are allowed without being asked about, and the log says why.
func TestTheFirstOfTwoResultsCounts(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{Output: Output{Tool: "submit", Schema: "{}"}})
	w := &submitting{}
	d.w = w
	d.prompt("go")
	b := d.end("request/1.1/step/1", calls("submit", "submit"))
	if s := d.r.State; s.Submission().Value != `"c_1"` || s.Turn.End.End != Completed {
		t.Errorf("handed in %+v, ended %+v", s.Submission(), s.Turn.End)
	}
	if diff := cmp.Diff([]CallID{"c_1"}, w.asked); diff != "" {
		t.Errorf("looked at, -want +got\n%s", diff)
	}
	outcomes := map[CallID]Outcome{}
	for _, e := range b.Events {
		switch p := e.Payload.(type) {
		case CallDecided:
			if p.Decision.Answer != Allow || p.Decision.Source != "default" || p.Decision.Reason == "" {
				t.Errorf("%s is decided %+v", p.Call, p.Decision)
			}
		case CallSettled:
			outcomes[p.Call] = p.Outcome
		}
	}
	if diff := cmp.Diff(map[CallID]Outcome{"c_1": OK, "c_2": NotRun}, outcomes); diff != "" {
		t.Errorf("outcomes, -want +got\n%s", diff)
	}
}

type submitting struct {
	allowing
	asked []CallID
}

func (*submitting) Inspect(_ State, c Call) CallInspected { return inspected(c) }

func (w *submitting) Submit(_ State, c CallState) (string, string) {
	w.asked = append(w.asked, c.ID)
	return `"` + string(c.ID) + `"`, ""
}

// What was left behind after an interrupt says that it may still run, not that its
// process is gone, and what comes of it later is discarded.
func TestWhatIsLeftBehindMayStillRun(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	d.prompt("go")
	d.end("request/1.1/step/1", calls("read", "read"))
	d.gate.Close(Interrupted{Cause: ByShutdown})
	d.step(Input{})
	d.end("perform/c_2/1", CallSettled{Call: "c_2", Outcome: Cut, IsError: true, Content: []Part{Text("cut")}})
	left := d.r.State.LeaveBehind()
	if len(left) != 1 || left[0].(CallSettled).Call != "c_1" {
		t.Fatalf("left behind: %+v", left)
	}
	text := PlainText(left[0].(CallSettled).Content)
	if !strings.Contains(text, LeftText) || strings.Contains(text, "the process that ran it ended") {
		t.Errorf("the model is told %q", text)
	}
	d.r.Abandon("perform/c_1/1")
	d.step(Input{Given: left})
	if d.r.State.Turn.End.End != EndInterrupted {
		t.Errorf("ended %+v", d.r.State.Turn.End)
	}
	b, _ := d.step(Input{Done: []Completion{{Key: "perform/c_1/1", Events: []Payload{settledOK("c_1")}}}})
	if len(b.Events)+len(b.Refused) > 0 {
		t.Errorf("a late result made %v, %v", b.Events, b.Refused)
	}
}

// The note about a repeated call stands in its result, once.
func TestTheNoteOnARepeatedCallIsPartOfItsResult(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	d.w = same{}
	d.prompt("go")
	for n := range 3 {
		f := answer("")
		f.Stop, f.Parts = StopToolUse, []Part{{Type: CallPart, Call: &Call{ID: CallID("c_" + itoa(n+1)), Tool: "look", Arguments: "{}"}}}
		d.end("request/1."+itoa(n+1)+"/step/1", f)
		settled := settledOK(CallID("c_" + itoa(n+1)))
		settled.Key = "same"
		d.end("perform/c_"+itoa(n+1)+"/1", settled)
	}
	last := d.r.State.Messages[len(d.r.State.Messages)-1]
	if got := PlainText(last.Parts[0].Result.Content); got != "ok\n"+noteSame {
		t.Errorf("the third result is %q", got)
	}
	if n := len(last.Parts); n != 1 {
		t.Errorf("the message has %d parts", n)
	}
}

type same struct{ allowing }

func (same) Inspect(_ State, c Call) CallInspected {
	return CallInspected{Call: c.ID, Tool: c.Tool, Class: Reads, Key: "same"}
}

// What the tools know is part of the log: a replay knows it too.
func TestWhatToolsKnowIsMergedFromTheirResults(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	d.prompt("go")
	d.end("request/1.1/step/1", calls("shell", "read", "shell"))
	for i, change := range []*ToolState{
		{Dir: "sub", Jobs: 2},
		{Seen: []SeenFile{{Path: "a.go", Hash: "1"}}},
		{Seen: []SeenFile{{Path: "a.go", Hash: "2"}}, Jobs: 1},
	} {
		id := CallID("c_" + itoa(i+1))
		settled := settledOK(id)
		settled.Tools = change
		d.end("perform/"+string(id)+"/1", settled)
	}
	want := ToolState{Dir: "sub", Jobs: 2, Seen: []SeenFile{{Path: "a.go", Hash: "1"}, {Path: "a.go", Hash: "2"}}}
	if diff := cmp.Diff(want, d.r.State.Tools); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A call that can be taken up again is, after any number of deaths; one that reads
// twice; one that writes never.
func TestWhatMayRunAgainAfterADeath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool   string
		deaths int // that it survives
	}{{"agent", 20}, {"read", 2}, {"edit", 0}} {
		d := drive(t, Config{})
		d.w = children{}
		d.prompt("go")
		d.end("request/1.1/step/1", calls(c.tool))
		if c.tool == "edit" || c.tool == "read" {
			d.want(CallDecided{Call: "c_1", Decision: Decision{Answer: Allow}})
		}
		survived := 0
		for range 20 {
			d.r = NewRunner(d.r.State)
			d.step(Input{Given: d.r.State.Recover()})
			if call, _ := d.r.State.Turn.Call("c_1"); call.Status != CallRunning {
				break
			}
			survived++
		}
		if survived != c.deaths {
			t.Errorf("%s survived %d deaths, want %d", c.tool, survived, c.deaths)
		}
	}
	if got := (State{}).Recover(); got != nil {
		t.Errorf("a run without a turn recovers %v", got)
	}
}

func TestSmallQuestionsToAState(t *testing.T) {
	t.Parallel()
	if got := (Created{Run: "r", Root: "root"}).Conversation(); got != "root" {
		t.Errorf("the conversation of a child is %s", got)
	}
	if got := (Created{Run: "r"}).Conversation(); got != "r" {
		t.Errorf("the conversation of a root is %s", got)
	}
	if got := ChildID("r", "c_12"); got != "r-c12" {
		t.Errorf("the child is %s", got)
	}
	d := drive(t, Config{})
	words := []Part{Text("w")}
	if p := Say(d.r.State, "s", Steer, words); !cmp.Equal(p, Payload(Prompted{Parts: words})) {
		t.Errorf("said at rest: %+v", p)
	}
	d.w = children{}
	d.prompt("go")
	if p := Say(d.r.State, "s", Queue, words); !cmp.Equal(p, Payload(Said{ID: "s", Delivery: Queue, Parts: words})) {
		t.Errorf("said at work: %+v", p)
	}
	d.end("request/1.1/step/1", calls("ask", "edit"))
	if got := d.r.State.MessageOf("c_2"); got != "m_2" {
		t.Errorf("c_2 is of message %q", got)
	}
	if got := d.r.State.MessageOf("c_9"); got != "" {
		t.Errorf("c_9 is of message %q", got)
	}
	d.want(CallDecided{Call: "c_2", Decision: Decision{Answer: Deny}, Content: "no"})
	if p := Say(d.r.State, "s", Steer, words); !cmp.Equal(p, Payload(Prompted{Parts: words, Answers: "c_1"})) {
		t.Errorf("said to a question: %+v", p)
	}
	for id, want := range map[CallID]int{"c_12": 12, "": -1, "c_": -1, "c_x": -1} {
		if got := number(id); got != want {
			t.Errorf("number(%q) = %d", id, got)
		}
	}
	if _, err := ReplaySeq(func(yield func(Event, error) bool) { yield(Event{}, errors.New("the disk is gone")) }); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("a log that cannot be read: %v", err)
	}
	keys := []string{Derive{}.Key(), Inspect{Call{ID: "c_1"}}.Key(), Decide{CallState{Call: Call{ID: "c_1"}}}.Key()}
	if !slices.Equal(keys, []string{"derive", "inspect/c_1", "decide/c_1"}) {
		t.Errorf("keys %v", keys)
	}
}

// A state that is kept beside its successor does not change with it.
func TestACloneSharesNothing(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	d.prompt("go")
	d.end("request/1.1/step/1", calls("read", "read"))
	kept := d.r.State.Clone()
	before := dump(kept)
	d.end("perform/c_1/1", settledOK("c_1"))
	d.want(Said{ID: "s", Delivery: Steer, Parts: []Part{Text("and")}}, Said{ID: "q", Delivery: Queue, Parts: []Part{Text("then")}})
	d.end("perform/c_2/1", settledOK("c_2"))
	d.end("request/1.2/step/1", answer("done"))
	if dump(kept) != before {
		t.Errorf("the clone changed:\n%s", cmp.Diff(before, dump(kept)))
	}
}

// What the next answer continues is what it is to be read together with: a result by
// schema that was cut is parsed as a whole.
func TestTheUnfinishedTextIsWhatTheNextAnswerContinues(t *testing.T) {
	t.Parallel()
	unfinished := func(d *driven, want string) {
		t.Helper()
		if got := d.r.State.Unfinished(); got != want {
			t.Errorf("unfinished: %q, want %q", got, want)
		}
	}
	d := drive(t, Config{Output: Output{Schema: "{}"}})
	d.prompt("go")
	unfinished(d, "")
	f := answer(`{"n":`)
	f.Stop = StopMaxTokens
	d.end("request/1.1/step/1", f)
	unfinished(d, `{"n":`) // while the next request is under way
	f = answer(" ")
	f.Stop = StopPause
	d.end("request/1.2/step/1", f)
	unfinished(d, `{"n": `)
	d.end("request/1.3/step/1", answer("3}"), Submitted{Assignment: 1, Value: `{"n":3}`})
	unfinished(d, "")
	if got := d.r.State.Answer(); got != `{"n": 3}` {
		t.Errorf("the answer is %q", got)
	}
	d.prompt("again")
	f = calls("read")
	f.Parts = append([]Part{Text("I look. ")}, f.Parts...)
	f.Stop = StopMaxTokens
	d.end("request/2.1/step/1", f)
	unfinished(d, "")
	d.end("perform/c_1/1", settledOK("c_1"))
	unfinished(d, "") // a call stands between
	controlled := drive(t, Config{Control: Controller})
	controlled.prompt("go")
	f = answer("{")
	f.Stop, f.Action = StopMaxTokens, &Action{Problem: "cut", Feedback: "Again."}
	controlled.end("request/1.1/step/1", f)
	unfinished(controlled, "")
}

// Each of two answers in one batch finds out whether it can follow by applying it: what it finds out
// changes nothing, and both are recorded.
func TestARequestMayApplyToTheStateThatItIsGiven(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	d.w = &rechecking{}
	d.prompt("go")
	d.end("request/1.1/step/1", calls("edit", "edit"))
	decided := func(id CallID) func(State) []Payload {
		return wanted(CallDecided{Call: id, Decision: Decision{Answer: Allow}})
	}
	b, err := d.r.Step(d.now, d.w, Input{Closed: true, Wanted: []func(State) []Payload{decided("c_1"), decided("c_2")}})
	if err != nil || len(b.Events) != 2 || len(b.Refused) != 0 {
		t.Errorf("recorded %v, refused %v, %v", b.Events, b.Refused, err)
	}
}

// A call starts a child run if it can be taken up again, and neither asks nor submits.
func TestWhichCallsStartAChildRun(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]bool{"agent": true, "ask": false, "submit": false, "read": false, "edit": false} {
		f := inspected(Call{ID: "c_1", Tool: tool})
		c := CallState{Class: f.Class, Question: f.Question, Submits: f.Submits}
		if got := c.StartsChild(); got != want {
			t.Errorf("%s starts a child run: %t, want %t", tool, got, want)
		}
	}
}
