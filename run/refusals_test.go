package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pawl/internal/golden"

	"github.com/google/go-cmp/cmp"
)

// A moment is a state that a run may be in, and how it came there.
type moment struct {
	name     string
	payloads []Payload
}

// moments returns a run in every kind of state, and every kind of payload, also malformed ones.
func moments() ([]moment, []Payload) {
	call := func(id, tool string) Part {
		return Part{Type: CallPart, Call: &Call{ID: CallID(id), Tool: tool, Arguments: "{}"}}
	}
	words := []Part{Text("w")}
	read := Replied{Stop: StopToolUse, Parts: []Part{call("c_1", "read"), call("c_2", "edit")}}
	step := RequestStarted{Purpose: ForStep, Attempt: 1}
	allow := func(id CallID) CallDecided {
		return CallDecided{Call: id, Decision: Decision{Answer: Allow}}
	}
	deny := func(id CallID) CallDecided { return CallDecided{Call: id, Content: "no"} }
	output := Config{Output: Output{Tool: "submit", Schema: "{}"}}
	then := func(before []Payload, p ...Payload) []Payload { return append(before[:len(before):len(before)], p...) }
	up := []Payload{Created{Run: "r"}}
	begun := then(up, Prompted{Parts: words}, step)
	named := then(begun, read)
	looked := then(named, CallInspected{Call: "c_1", Class: Reads}, CallInspected{Call: "c_2", Class: Writes})
	runs := then(looked, allow("c_1"), allow("c_2"), CallStarted{Call: "c_1", Attempt: 1})
	owing := []Payload{Created{Run: "r", Config: output}, Prompted{Parts: words}, step, Replied{Stop: StopEndTurn, Parts: words}}
	external := []Payload{Created{Run: "r", External: true, Config: output}, Prompted{Parts: words}}
	driving := then(external, RequestStarted{Purpose: ForAgent, Attempt: 1}, Observed{Conversation: "v"})
	received := then(driving, CallReceived{Call: Call{ID: "c_1", Tool: "submit"}, Key: "k"}, CallInspected{Call: "c_1", Class: Resumable, Submits: true}, allow("c_1"), CallStarted{Call: "c_1", Attempt: 1})
	states := []moment{
		{"nothing yet", nil},
		{"created", up},
		{"prompted", begun[:2]},
		{"requesting", begun},
		{"request failed", then(begun, RequestFailed{Kind: ErrOverloaded, RetryAfter: time.Second})},
		{"words waiting", then(begun, Said{ID: "s", Delivery: Steer, Parts: words}, Said{ID: "q", Delivery: Queue, Parts: words})},
		{"calls named", named},
		{"calls inspected", looked},
		{"a call allowed", then(looked, allow("c_1"))},
		{"a call running", runs},
		{"a call detached", then(runs, CallDetached{Call: "c_1", Handle: "h"})},
		{"a call asking", then(runs, CallAsked{Call: "c_1", Question: "q"})},
		{"calls settled", then(runs, CallSettled{Call: "c_1", Outcome: OK, Content: words}, deny("c_2"))},
		{"spoken", then(begun, Replied{Stop: StopMaxTokens, Parts: words})},
		{"interrupting", then(runs, Interrupted{Cause: ByPerson})},
		{"interrupting, with words", then(runs, Interrupted{Cause: ByPerson, Then: words})},
		{"account requested", then(begun, RequestFailed{Kind: ErrAuth}, RequestStarted{Purpose: ForSynthesis, Attempt: 1, End: Ended{End: LoopStopped}})},
		{"summarized", then(begun[:2], RequestStarted{Purpose: ForSummary, Attempt: 1}, Replied{Stop: StopEndTurn, Parts: words})},
		{"ended", then(begun, Replied{Stop: StopEndTurn, Parts: words}, Ended{End: Completed})},
		{"a question open", then(begun, Replied{Parts: []Part{call("c_1", "ask")}}, CallInspected{Call: "c_1", Class: Resumable, Question: true}, Ended{End: Asked})},
		{"a result owed", owing},
		{"a result handed in", then(owing, Submitted{Assignment: 1, Value: "1"})},
		{"controlled", []Payload{Created{Run: "r", Config: Config{Control: Controller}}, Prompted{Parts: words}, step}},
		{"hooks before a call", then(looked, HookStarted{Point: PreToolUse, Call: "c_1", Hooks: []string{"h"}})},
		{"hooks after a call", then(runs, CallSettled{Call: "c_1", Outcome: OK, Content: words}, HookStarted{Point: PostToolUse, Call: "c_1", Hooks: []string{"h"}})},
		{"hooks before the end", then(begun, Replied{Stop: StopEndTurn, Parts: words}, HookStarted{Point: Stop, Hooks: []string{"h"}})},
		{"hooks of a prompt", then(begun[:2], HookStarted{Point: UserPromptSubmit, Through: "m_1", Hooks: []string{"h"}})},
		{"interrupting hooks", then(looked, HookStarted{Point: PreToolUse, Call: "c_1", Hooks: []string{"h"}}, Interrupted{Cause: ByPerson})},
		{"a model judges a call", then(looked, HookStarted{Point: JudgeModel, Call: "c_1", Hooks: []string{"m"}, Digest: "d"})},
		{"a model has judged a call", then(looked, HookStarted{Point: JudgeModel, Call: "c_1", Hooks: []string{"m"}, Digest: "d"}, HookSettled{Point: JudgeModel, Call: "c_1", Says: HookDenies, Reason: "no"})},
		{"a person was notified", then(looked, HookStarted{Point: Notification, Call: "c_1", Hooks: []string{"h"}})},
		{"a session ends", then(begun, Replied{Stop: StopEndTurn, Parts: words}, Ended{End: Completed}, HookStarted{Point: SessionEnd, Hooks: []string{"h"}})},
		{"external", external},
		{"external turn", driving},
		{"external call running", received},
		{"external turn over, call running", then(received, Replied{Parts: words})},
	}
	minus, half := -1, 0.5
	payloads := []Payload{
		Created{Run: "r"}, Created{}, Created{Run: "r", Depth: MaxDepth + 1}, Created{Run: "r", Config: Config{Parallel: -1}},
		Configured{}, Configured{ConfigChange{Parallel: &minus}}, Configured{ConfigChange{CompactAt: &half}},
		Prompted{Parts: words}, Prompted{}, Prompted{Continue: true}, Prompted{Parts: words, Queued: "x"},
		Prompted{Answers: "c_1", Parts: words}, Prompted{Answers: "c_9", Parts: words}, Prompted{Answers: "c_1"},
		Said{ID: "s", Delivery: Steer, Parts: words}, Said{ID: "s2", Delivery: Steer}, Said{ID: "q", Delivery: Queue, Parts: words}, Said{Delivery: Queue, Parts: words}, Said{ID: "n", Parts: words},
		Withdrawn{ID: "s"}, Withdrawn{ID: "q"}, Withdrawn{},
		step, RequestStarted{Purpose: ForStep, Attempt: 2}, RequestStarted{Purpose: ForSummary, Attempt: 1}, RequestStarted{Purpose: ForSynthesis, Attempt: 1}, RequestStarted{Purpose: ForAgent, Attempt: 1},
		RequestFailed{Kind: ErrAuth}, RequestFailed{Kind: ErrRefused}, RequestFailed{Kind: ErrTooLong},
		read, Replied{Parts: []Part{call("c_7", "read")}}, Replied{Parts: []Part{{Type: CallPart}}}, Replied{Stop: StopEndTurn, Parts: words},
		Replied{Action: &Action{}}, Replied{Action: &Action{Kind: StepComplete, Message: "m"}}, Replied{Action: &Action{Kind: StepTool}}, Replied{Action: &Action{Kind: StepTool, Problem: "p", Feedback: "f"}},
		Replied{Action: &Action{Problem: "p"}}, Replied{Action: &Action{Problem: "p", Feedback: "f"}}, Replied{Action: &Action{Kind: StepRespond}, Parts: []Part{call("c_1", "read")}},
		Observed{Conversation: "v"}, CallReceived{Call: Call{ID: "c_1", Tool: "read"}}, CallReceived{Call: Call{ID: "c_2", Tool: "read"}, Key: "k"}, CallReceived{Call: Call{ID: "c_8"}},
		CallInspected{Call: "c_1", Class: Reads}, CallInspected{Call: "c_1"}, CallInspected{Call: "c_9", Class: Reads}, CallInspected{Call: "c_1", Class: "reattaches"},
		allow("c_1"), allow("c_9"), deny("c_2"), CallDecided{Call: "c_2"}, deny("c_9"),
		ApprovalInvalidated{Call: "c_1", Reason: "changed"}, ApprovalInvalidated{Call: "c_1"}, ApprovalInvalidated{Call: "c_9", Reason: "changed"},
		CallStarted{Call: "c_1", Attempt: 1}, CallStarted{Call: "c_1", Attempt: 5}, CallStarted{Call: "c_2", Attempt: 1}, CallStarted{Call: "c_9", Attempt: 1},
		CallDetached{Call: "c_1", Handle: "h"}, CallDetached{Call: "c_1"}, CallDetached{Call: "c_9", Handle: "h"},
		CallAsked{Call: "c_1", Question: "q"}, CallAsked{Call: "c_1"}, CallAsked{Call: "c_9", Question: "q"},
		CallAnswered{Call: "c_1", Parts: words}, CallAnswered{Call: "c_1"}, CallAnswered{Call: "c_9", Parts: words},
		CallSettled{Call: "c_1", Outcome: OK, Content: words}, CallSettled{Call: "c_1"}, CallSettled{Call: "c_1", Outcome: NotRun}, CallSettled{Call: "c_9", Outcome: OK},
		Resumed{}, Resumed{Request: true}, Resumed{Calls: []CallID{"c_1"}}, Resumed{Calls: []CallID{"c_2"}}, Resumed{Calls: []CallID{"c_9"}},
		Told{Reason: TellRepeated, Call: "c_1", Text: "n"}, Told{Reason: TellRepeated, Call: "c_9", Text: "n"}, Told{Reason: TellCut, Text: "continue"}, Told{Reason: TellCut}, Told{Reason: TellOutput, Text: "hand it in"},
		Submitted{Assignment: 1, Value: "1"}, Submitted{Assignment: 1, Call: "c_1", Value: "1"}, Submitted{Assignment: 2, Value: "1"}, Submitted{Assignment: 1},
		Interrupted{Cause: ByPerson}, Interrupted{}, Interrupted{Turn: 9, Cause: ByPerson}, Interrupted{Cause: ByWait, Call: "c_2"}, Interrupted{Cause: ByPerson, Partial: words}, Interrupted{Cause: ByPerson, Partial: []Part{call("c_7", "read")}},
		Compacted{Stage: 1, Calls: []CallID{"c_1"}}, Compacted{Stage: 2, Through: "m_9", Summary: "s"}, Compacted{Stage: 2, Through: "m_1"}, Compacted{Stage: 2, Through: "m_1", Summary: "s"}, Compacted{Stage: 3},
		HookStarted{Point: PreToolUse, Call: "c_1", Hooks: []string{"h"}}, HookStarted{Point: PreToolUse, Call: "c_1"}, HookStarted{Point: PostToolUse, Call: "c_1", Hooks: []string{"h"}},
		HookStarted{Point: JudgeModel, Call: "c_1", Hooks: []string{"m"}}, HookSettled{Point: JudgeModel, Call: "c_1", Says: HookAllows},
		HookStarted{Point: SessionStart, Hooks: []string{"h"}}, HookStarted{Point: "Setup", Hooks: []string{"h"}},
		HookStarted{Point: Notification, Call: "c_1", Hooks: []string{"h"}}, HookStarted{Point: SessionEnd, Hooks: []string{"h"}}, HookStarted{Point: TaskCompleted, Call: "c_1", Hooks: []string{"h"}},
		HookSettled{Point: Notification, Call: "c_1"}, HookSettled{Point: SessionEnd}, HookSettled{Point: TaskCompleted, Call: "c_1", Says: HookDenies, Reason: "no"},
		HookSettled{Point: PreToolUse, Call: "c_1", Says: HookDenies, Reason: "no"}, HookSettled{Point: PreToolUse, Call: "c_1", Arguments: "{}"}, HookSettled{Point: PostToolUse, Call: "c_1", Context: "w"},
		HookSettled{Point: Stop, Says: HookDenies, Reason: "no"}, HookSettled{Point: Stop}, HookSettled{Point: UserPromptSubmit, Says: HookDenies, Reason: "no"}, HookSettled{Point: SessionStart},
		Synthesized{Text: "a"}, Synthesized{}, Ended{End: Completed}, Ended{}, Ended{End: Asked},
		nil,
	}
	return states, payloads
}

// TestWhatMayFollow offers every kind of payload to a run in every kind of state, and compares
// what is taken and what is refused, and why, with testdata/follows.golden (UPDATE=1 writes it). A
// refusal changes nothing.
func TestWhatMayFollow(t *testing.T) {
	t.Parallel()
	states, payloads := moments()
	var out strings.Builder
	at := time.Unix(1_800_000_000, 0)
	for _, st := range states {
		fmt.Fprintf(&out, "%s\n", st.name)
		var s State
		for _, p := range st.payloads {
			if err := s.apply(Event{At: at, Payload: p}); err != nil {
				t.Fatalf("%s: %T: %v", st.name, p, err)
			}
		}
		before := dump(s)
		for _, p := range payloads {
			next := s.Clone()
			what := "ok"
			if err := next.apply(Event{At: at.Add(time.Second), Payload: p}); err != nil {
				what = strings.TrimPrefix(err.Error(), ErrOrder.Error()+": ")
				if !errors.Is(err, ErrOrder) {
					t.Errorf("%s: %T: %v is not ErrOrder", st.name, p, err)
				}
				if dump(next) != before {
					t.Errorf("%s: the refused %T changed the state:\n%s", st.name, p, cmp.Diff(before, dump(next)))
				}
			} else if owed := next.Next(); next.Turn.Open() && len(owed) == 0 && next.Turn.running == 0 && !next.Turn.Hooking("") {
				t.Errorf("%s: after %T nothing is owed and nothing runs", st.name, p)
			}
			fmt.Fprintf(&out, "    %-92s %s\n", brief(p), what)
		}
		if dump(s) != before {
			t.Errorf("%s: what was applied to a clone changed the state", st.name)
		}
		// A number that does not follow is refused whatever the payload.
		if err := s.apply(Event{Seq: s.Seq + 2, At: at, Payload: Configured{}}); !errors.Is(err, ErrOrder) {
			t.Errorf("%s: event %d after %d: %v", st.name, s.Seq+2, s.Seq, err)
		}
	}
	golden.Compare(t, "follows.golden", []byte(out.String()))
}

// brief shows a payload as the log does.
func brief(p Payload) string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // unreachable: payloads are what the log keeps
	}
	s := strings.TrimPrefix(fmt.Sprintf("%T ", p), "run.") + strings.ReplaceAll(string(b), `"`, "")
	return shorten(s, 90)
}

func TestTheTextsOfAnInterruptSayWhoseItWas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause      Cause
		shown, cut string
		end        End
		reason     string
	}{
		{ByPerson, "[Conversation interrupted]", "[Request interrupted by user for tool use]", EndInterrupted, "person"},
		{ByWait, "[Tool execution interrupted - waiting for user feedback]", "[Request interrupted by user for tool use]", EndInterrupted, "wait"},
		{ByTimeout, "", "[Tool use interrupted: the time limit was reached]", LimitReached, "wall_clock"},
		{ByShutdown, "", "[Tool use interrupted: pawl was shut down]", EndInterrupted, "shutdown"},
		{ByParent, "", "[Tool use interrupted: the run that started this one was interrupted]", EndInterrupted, "parent"},
		{ByRequest, "", "[Tool use interrupted: another program asked for it]", EndInterrupted, "requested"},
		{ByPolicy, "", "[Tool use interrupted: an approval was needed in non-interactive use]", EndFailed, "permission_required"},
		{"cosmic ray", "", "[Tool use interrupted: cosmic ray]", EndInterrupted, "cosmic ray"},
	} {
		f := Interrupted{Cause: c.cause}
		if got := f.Shown(); got != c.shown {
			t.Errorf("%s: shown %q, want %q", c.cause, got, c.shown)
		}
		want := c.cut + "\n\nThe tool was stopped while it ran and may have done part of its work.\n\nknown"
		if got := f.CutText("known"); got != want {
			t.Errorf("%s: cut %q, want %q", c.cause, got, want)
		}
		if got := f.end(State{}); got.End != c.end || got.Reason != c.reason {
			t.Errorf("%s: ends %+v, want %s %s", c.cause, got, c.end, c.reason)
		}
	}
}
