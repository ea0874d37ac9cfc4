package run

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestOneCallThatFillsTheWindowIsShortenedWhenItIsDone(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	s, err := State{}.Apply(Event{At: at, Payload: Created{Run: "r", Config: Config{Window: 200_000}}})
	do := func(f Payload) {
		t.Helper()
		if err == nil {
			s, err = s.Apply(Event{At: at, Payload: f})
		}
		if err != nil {
			t.Fatalf("%T: %v", f, err)
		}
	}
	long := fmt.Sprintf(`{"content":%q}`, strings.Repeat("x", 5_000_000))
	do(Prompted{Parts: []Part{Text("write it")}})
	do(RequestStarted{Purpose: ForStep, Attempt: 1})
	do(Replied{Stop: StopToolUse, Usage: Usage{Input: 100, Output: 100}, Parts: []Part{{Type: CallPart, Call: &Call{ID: "c_1", Tool: "write", Arguments: long}}}})
	do(CallInspected{Call: "c_1", Class: Writes})
	do(CallDecided{Call: "c_1", Decision: Decision{Answer: Allow}})
	do(CallStarted{Call: "c_1", Attempt: 1})
	do(CallSettled{Call: "c_1", Outcome: OK, Content: []Part{Text("written")}})
	before := s
	for range 3 {
		switch c := s.Next()[0].(type) {
		case Derive:
			do(c.Payload)
		case Request:
			if c.Purpose != ForStep {
				t.Fatalf("owes %+v", c)
			}
			do(RequestStarted{Purpose: c.Purpose, Attempt: c.Attempt})
			if got := s.Messages[1].Parts[0].Call.Arguments; len(got) > 100 {
				t.Errorf("the arguments are still %d bytes", len(got))
			}
			if got := PlainText(s.Messages[2].Parts[0].Result.Content); got != "written" {
				t.Errorf("the result became %q", got)
			}
			if before.Messages[1].Parts[0].Call.Arguments != long {
				t.Error("the state before was changed")
			}
			if err := checkHistory(s.Messages); err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Errorf("the next request is not owed: %+v", s.Turn.End)
}

// The latest messages stay as they are: so many as are to be kept, and not one less. Of the others a
// summary stands for all up to one after which no call waits for its result.
func TestTheLatestMessagesAreKept(t *testing.T) {
	t.Parallel()
	s := State{Messages: []Message{{ID: "m_1", Role: User, Parts: []Part{Text("go")}}}, task: "m_1"}
	for i := range 6 {
		id := CallID("c_" + itoa(i+1))
		s.say(Assistant, []Part{{Type: CallPart, Call: &Call{ID: id, Tool: "read", Arguments: "{}"}}})
		s.say(User, []Part{{Type: ResultPart, Result: &Result{Call: id, Content: []Part{Text(strings.Repeat("x", 5*stage1Min))}}}})
	}
	for keep, want := range map[int]string{8: "[c_1 c_2]", 7: "[c_1 c_2]", 6: "[c_1 c_2 c_3]", 4: "[c_1 c_2 c_3 c_4]", 2: "[c_1 c_2 c_3 c_4 c_5]", 0: "[c_1 c_2 c_3 c_4 c_5 c_6]"} {
		if calls, _ := s.stage1(keep); fmt.Sprint(calls) != want {
			t.Errorf("but for the latest %d messages the results of %v can be left out, want %s", keep, calls, want)
		}
	}
	for enough, want := range map[int64]int{0: 4, 2000: 8, 1 << 40: 10} {
		if through, freed := s.cutPoint(enough); through != want || freed <= 0 {
			t.Errorf("to free %d tokens a summary replaces messages through %d and frees %d, want %d", enough, through, freed, want)
		}
	}
}

// A summary may end with an answer of the model that makes no call.
func TestASummaryMayEndWithAnAnswer(t *testing.T) {
	t.Parallel()
	var s State
	for range 6 {
		s.say(User, []Part{Text(strings.Repeat("x", 5*stage1Min))})
		s.say(Assistant, []Part{Text("yes")})
	}
	if through, _ := s.cutPoint(0); through != 3 || s.Messages[through].Role != Assistant {
		t.Errorf("a summary replaces messages through %d, want 3", through)
	}
}

// A log may say that a summary was made where nothing can be summarized: the turn ends.
func TestASummaryOfNothingEndsTheTurn(t *testing.T) {
	t.Parallel()
	s := after(t, State{}, Created{Run: "r"}, Prompted{Parts: []Part{Text("go")}},
		RequestStarted{Purpose: ForSummary, Attempt: 1}, Replied{Stop: StopEndTurn, Parts: []Part{Text("notes")}})
	next, _ := s.Next()[0].(Derive)
	if end, ok := next.Payload.(Ended); !ok || end.End != LimitReached || end.Reason != "context_full" || !strings.Contains(end.Detail, "start a new run") {
		t.Errorf("next is %+v", s.Next())
	}
}

// What the provider has counted is the context of the request; what the answer adds is estimated.
func TestTheAnswerIsCountedOnce(t *testing.T) {
	t.Parallel()
	s := after(t, State{}, Created{Run: "r", Config: Config{Window: 1000}}, Prompted{Parts: []Part{Text("go")}},
		RequestStarted{Purpose: ForStep, Attempt: 1},
		Replied{Stop: StopEndTurn, Parts: []Part{Text(strings.Repeat("x", 10*bytesPerToken))}, Usage: Usage{Input: 100, Output: 12}})
	if used, limit := s.Context(); used != 110 || limit != 1000 {
		t.Errorf("the context takes %d of %d tokens, want 110 of 1000", used, limit)
	}
}

// The guard keeps no more calls than it needs to see a cycle.
func TestTheGuardRemembersTheLatestCalls(t *testing.T) {
	t.Parallel()
	var g guard
	for i := range 3 * cycleMax * cycleTimes {
		g.settled(&CallState{Call: Call{ID: CallID("c_" + itoa(i)), Tool: "read", Arguments: itoa(i)}, Outcome: OK}, i)
	}
	if n := len(g.ring); n != cycleMax*cycleTimes || g.ring[n-1].call == g.ring[0].call {
		t.Errorf("it remembers %d calls, want %d", n, cycleMax*cycleTimes)
	}
}

// What a skill says stays when the steps before become a summary, and when that becomes one of the next.
func TestWhatIsKeptOutlivesEverySummary(t *testing.T) {
	t.Parallel()
	for _, result := range []Result{
		{Kept: true, Content: []Part{Text(strings.Repeat("rule ", 500))}},
		{Content: []Part{Text("a file"), {Type: TextPart, Text: strings.Repeat("rule ", 500), Attached: keptName}}},
	} {
		keptThroughSummaries(t, result)
	}
}

func keptThroughSummaries(t *testing.T, result Result) {
	t.Helper()
	s := &State{}
	result.Call = "c_1"
	s.say(User, []Part{Text("task")})
	s.say(Assistant, []Part{{Type: CallPart, Call: &Call{ID: "c_1", Tool: "skill"}}})
	s.say(User, []Part{{Type: ResultPart, Result: &result}})
	for range 20 {
		s.say(Assistant, []Part{Text("word")})
	}
	if calls, _ := s.stage1(2); len(calls) != 0 {
		t.Errorf("its result is replaced: %v", calls)
	}
	for _, summary := range []string{"first", "second"} {
		s.summarize(len(s.Messages)-2, summary)
		var text string
		n := 0
		for _, m := range s.Messages {
			for _, p := range m.Parts {
				text += p.Text
				n += strings.Count(p.Text, "rule rule")
			}
		}
		if !strings.Contains(text, summary) || n == 0 || strings.Count(text, strings.Repeat("rule ", 500)) != 1 {
			t.Errorf("after the summary %s: %s", summary, text)
		}
	}
}
