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
