package run

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWhatMayFollow offers every kind of fact, also malformed ones, to a run in
// every kind of state, and compares what is taken and what is refused, and why,
// with testdata/follows.golden (UPDATE=1 writes it). A refusal changes nothing.
func TestWhatMayFollow(t *testing.T) {
	t.Parallel()
	call := func(id, tool string) Part {
		return Part{Type: CallPart, Call: &Call{ID: CallID(id), Tool: tool, Arguments: "{}"}}
	}
	words := []Part{Text("w")}
	read := Replied{Stop: StopToolUse, Parts: []Part{call("c_1", "read"), call("c_2", "edit")}}
	up := func(f ...Fact) []Fact { return append([]Fact{Created{Run: "r"}}, f...) }
	begun := up(Prompted{Parts: words}, RequestStarted{Purpose: ForStep, Attempt: 1})
	named := append(begun[:len(begun):len(begun)], read)
	isAsked := append(named[:len(named):len(named)], CallAsked{Call: "c_1", Class: Reads}, CallAsked{Call: "c_2", Class: Writes})
	runs := append(isAsked[:len(isAsked):len(isAsked)], CallAllowed{Call: "c_1"}, CallAllowed{Call: "c_2"}, CallStarted{Call: "c_1", Attempt: 1})
	done := append(runs[:len(runs):len(runs)], CallSettled{Call: "c_1", Outcome: OK, Content: words}, CallRefused{Call: "c_2", Content: "no"})
	question := append(begun[:len(begun):len(begun)], Replied{Parts: []Part{call("c_1", "ask")}}, CallAsked{Call: "c_1", Class: Reattaches, Ask: true}, Ended{End: Asked})
	owing := []Fact{Created{Run: "r", Config: Config{Output: Output{Tool: "submit", Schema: "{}"}}}, Prompted{Parts: words},
		RequestStarted{Purpose: ForStep, Attempt: 1}, Replied{Stop: StopEndTurn, Parts: words}}
	external := []Fact{Created{Run: "r", External: true}, Prompted{Parts: words}}
	driving := append(external[:len(external):len(external)], DriveStarted{Attempt: 1, Conversation: "v"})
	states := []struct {
		name  string
		facts []Fact
	}{
		{"nothing yet", nil},
		{"created", up()},
		{"prompted", begun[:2]},
		{"asking the model", begun},
		{"words waiting", append(begun[:len(begun):len(begun)], Steered{ID: "s", Parts: words}, Queued{ID: "q", Parts: words})},
		{"calls named", named},
		{"calls asked", isAsked},
		{"a call allowed", append(isAsked[:len(isAsked):len(isAsked)], CallAllowed{Call: "c_1"})},
		{"a call running", runs},
		{"calls settled", done},
		{"answered", append(begun[:len(begun):len(begun)], Replied{Stop: StopMaxTokens, Parts: words})},
		{"interrupted", append(runs[:len(runs):len(runs)], Interrupted{Cause: ByPerson})},
		{"ended", append(begun[:len(begun):len(begun)], Replied{Stop: StopEndTurn, Parts: words}, Ended{End: Completed})},
		{"a question open", question},
		{"a result owed", owing},
		{"an answer to be read", []Fact{Created{Run: "r", Config: Config{Control: Controller}}, Prompted{Parts: words}, RequestStarted{Purpose: ForStep, Attempt: 1}, Replied{Stop: StopEndTurn, Parts: words}}},
		{"a result handed in", append(owing[:len(owing):len(owing)], Submitted{Assignment: 1, Value: "1"})},
		{"external", external},
		{"driving", driving},
	}
	facts := []Fact{
		Created{Run: "r"}, Created{}, Configured{},
		Prompted{Parts: words}, Prompted{}, Prompted{Continue: true}, Prompted{Parts: words, Queued: "x"},
		QuestionAnswered{Call: "c_1", Text: "a"}, QuestionAnswered{Call: "c_9", Text: "a"},
		Steered{ID: "s", Parts: words}, Steered{ID: "s2"}, Queued{ID: "q", Parts: words}, Queued{Parts: words}, Withdrawn{ID: "s"}, Withdrawn{ID: "q"}, Withdrawn{},
		RequestStarted{Purpose: ForStep, Attempt: 1}, RequestStarted{Purpose: ForStep, Attempt: 7},
		RequestFailed{Kind: ErrAuth}, RequestFailed{Kind: ErrRefused}, RequestLost{},
		read, Replied{Parts: []Part{call("c_7", "read")}}, Replied{Stop: StopEndTurn, Parts: words},
		PlanOpened{ID: "p_1", Goal: "g"}, PlanOpened{ID: "p_7", Goal: "g"}, StepChosen{Kind: StepComplete, Message: "m"}, StepChosen{Kind: StepRespond, InPlan: true}, StepChosen{Kind: StepTool}, StepChosen{},
		StepRefused{"no JSON", "again"}, StepRefused{Problem: "no JSON"},
		CallReceived{Call{ID: "c_1", Tool: "read"}}, CallReceived{Call{ID: "c_8"}},
		CallAsked{Call: "c_1", Class: Reads}, CallAsked{Call: "c_1"}, CallAsked{Call: "c_9", Class: Reads},
		CallAllowed{Call: "c_1"}, CallAllowed{Call: "c_9"}, CallRefused{Call: "c_2", Content: "no"}, CallRefused{Call: "c_2"}, CallRefused{Call: "c_9", Content: "no"},
		DecisionVoided{Call: "c_1", Reason: "changed"}, DecisionVoided{Call: "c_1"}, DecisionVoided{Call: "c_9", Reason: "changed"},
		CallStarted{Call: "c_1", Attempt: 1}, CallStarted{Call: "c_1", Attempt: 5}, CallStarted{Call: "c_9", Attempt: 1}, CallLost{Call: "c_1"}, CallLost{Call: "c_2"}, CallLost{Call: "c_9"},
		CallSettled{Call: "c_1", Outcome: OK, Content: words}, CallSettled{Call: "c_1"}, CallSettled{Call: "c_9", Outcome: OK},
		CallNoted{Call: "c_1", Text: "n"}, CallNoted{Call: "c_9", Text: "n"},
		Nudged{Reason: NudgeCut, Text: "go on"}, Nudged{Reason: NudgeCut},
		Submitted{Assignment: 1, Value: "1"}, Submitted{Assignment: 1, Call: "c_1", Value: "1"}, Submitted{Assignment: 2, Value: "1"}, Submitted{Assignment: 1},
		SubmissionRefused{"no JSON"}, SubmissionRefused{}, Reminded{N: 1, Text: "hand it in"}, Reminded{N: 2, Text: "hand it in"}, Reminded{N: 1},
		Interrupted{Cause: ByPerson}, Interrupted{}, Interrupted{Cause: ByWait, Call: "c_2"}, Interrupted{Cause: ByPerson, Partial: words}, Interrupted{Cause: ByPerson, Partial: []Part{call("c_7", "read")}},
		Compacted{Stage: 1, Calls: []CallID{"c_1"}}, Compacted{Stage: 2, Through: "m_9", Summary: "s"}, Compacted{Stage: 3},
		Synthesized{Text: "a"}, Synthesized{}, Ended{End: Completed}, Ended{}, Ended{End: Asked},
		DriveStarted{Attempt: 1}, DriveStarted{Attempt: 4}, Observed{Conversation: "v"}, DriveEnded{Text: "done"}, DriveEnded{Failed: true},
	}
	var out strings.Builder
	at := time.Unix(1_800_000_000, 0)
	for _, st := range states {
		fmt.Fprintf(&out, "%s\n", st.name)
		var s State
		for _, f := range st.facts {
			next, err := s.Apply(Event{At: at, Fact: f})
			if err != nil {
				t.Fatalf("%s: %T: %v", st.name, f, err)
			}
			s = next
		}
		for _, f := range facts {
			before := dump(s)
			next, err := s.Clone().Apply(Event{At: at, Fact: f})
			what := "ok"
			if err != nil {
				what = strings.TrimPrefix(err.Error(), ErrOrder.Error()+": ")
				if dump(next) != before {
					t.Errorf("%s: the refused %T changed the state", st.name, f)
				}
			} else if owed := next.Next(); next.Turn.Open && len(owed) == 0 && next.Turn.running() == 0 {
				t.Errorf("%s: after %T nothing is owed and nothing runs", st.name, f)
			}
			fmt.Fprintf(&out, "    %-60s %s\n", strings.TrimPrefix(fmt.Sprintf("%T%s", f, brief(f)), "run."), what)
		}
	}
	const file = "testdata/follows.golden"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("(-want +got, UPDATE=1 rewrites)\n%s", diff)
	}
}

// brief shows a fact's fields as far as they tell one from its like.
func brief(f Fact) string {
	s := strings.Join(strings.Fields(fmt.Sprintf("%+v", f)), " ")
	for _, empty := range []string{"Type:", "Parts:[]", "Wire:", "Raw:", "Signature:", "Cut:false", "<nil>"} {
		s = strings.ReplaceAll(s, empty, "")
	}
	if i := strings.Index(s, "0x"); i >= 0 {
		s = s[:i]
	}
	return shorten(s, 45)
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
		{ByPolicy, "", "[Tool use interrupted: a permission was needed and nobody was there to give it]", EndFailed, "permission_required"},
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
