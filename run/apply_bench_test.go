package run

import (
	"fmt"
	"testing"
	"time"
)

// manyEvents is a log of about n events: turns of 20 steps, one call each.
func manyEvents(n int) []Event {
	var s State
	var log []Event
	at := time.Unix(1_800_000_000, 0)
	do := func(f Payload) {
		at = at.Add(time.Millisecond)
		e := Event{Seq: s.Seq + 1, At: at, Payload: f}
		next, err := s.Apply(e)
		if err != nil {
			panic(err)
		}
		s, log = next, append(log, e)
	}
	do(Created{Run: "r"})
	for len(log) < n {
		do(Prompted{Parts: []Part{Text("go")}})
		for range 20 {
			c := s.NextCall()
			id := CallID(fmt.Sprintf("c_%d", c))
			do(RequestStarted{Purpose: ForStep, Attempt: 1})
			do(Replied{Stop: StopToolUse, Usage: Usage{Input: 10}, Parts: []Part{{Type: CallPart, Call: &Call{ID: id, Tool: "shell", Arguments: fmt.Sprintf(`{"command":"echo %d"}`, c)}}}})
			do(CallInspected{Call: id, Tool: "shell", Class: Writes, Key: fmt.Sprint(c)})
			do(CallDecided{Call: id, Decision: Decision{Answer: Allow}})
			do(CallStarted{Call: id, Attempt: 1})
			do(CallSettled{Call: id, Outcome: OK, Change: MayChange, Key: fmt.Sprint(c), Content: []Part{Text("ok")}})
		}
		do(RequestStarted{Purpose: ForStep, Attempt: 1})
		do(Replied{Stop: StopEndTurn, Parts: []Part{Text("done")}})
		do(Ended{End: Completed})
	}
	return log
}

// BenchmarkApply50000 replays a log of 50,000 decoded events. The bar is 20 ms.
func BenchmarkApply50000(b *testing.B) {
	log := manyEvents(50_000)
	for b.Loop() {
		if _, err := Replay(log); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(log)), "events")
}
