package report

import (
	"strings"
	"testing"

	"pawl/run"
	"pawl/runlog"
)

// What a call asks while it runs is waited for as long as its process lives, and is gone after that.
func TestAQuestionOfACallIsGoneWithItsProcess(t *testing.T) {
	t.Parallel()
	call := run.Call{ID: "c_1", Tool: "mcp__hotel__book", Arguments: "{}"}
	var events []run.Event
	for _, p := range []run.Payload{
		run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("go")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1},
		run.Replied{Stop: run.StopToolUse, Parts: []run.Part{{Type: run.CallPart, Call: &call}}}, run.CallInspected{Call: "c_1", Class: run.Writes},
		run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Allow}}, run.CallStarted{Call: "c_1", Attempt: 1},
		run.CallAsked{Call: "c_1", Question: "Who comes?"},
	} {
		events = append(events, run.Event{Payload: p})
	}
	s, err := run.Replay(events)
	if err != nil {
		t.Fatal(err)
	}
	if driven, left := runlog.ConditionOf(s, true), runlog.ConditionOf(s, false); driven != runlog.Waiting || left != runlog.Killed {
		t.Errorf("it is %s while it is driven, and %s when its process is gone", driven, left)
	}
	const killed = "killed: its turn is open, and no process works on it"
	if w := WhyFormOf(Why{Run: "r", State: s, waits: waits(s, nil, false)}); w.State != runlog.Killed || w.Text != killed {
		t.Errorf("left it is %s: %s", w.State, w.Text)
	}
	if next := nextCommand(s); next != "continue with `pawl run --resume r`" {
		t.Errorf("next is %q", next)
	}
	if q := runlog.QuestionOf(s.Answerable()[0]); q.Text != "Who comes?" || q.Call != "c_1" {
		t.Errorf("the question is %+v", q)
	}
	if words := new(EventWords).Of(events[len(events)-1]); !strings.HasSuffix(words, "asks: Who comes?") {
		t.Errorf("the log says %q", words)
	}
}
