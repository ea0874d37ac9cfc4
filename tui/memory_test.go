package tui

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"pawl/run"
	"pawl/view"
)

// BenchmarkMemory: the bytes of heap that a message costs, in the state of its run (which has the
// context, until it is compacted) and in what the terminal agent keeps besides (bar: 0). A message is an answer with a
// call, or its result.
func BenchmarkMemory(b *testing.B) {
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	const few, many, callsOfATurn = 500, 5_000, 125
	// grown returns how much a message between few and many costs of what keeps returns.
	grown := func(shows bool) float64 {
		m := newModel(Options{Getenv: func(string) string { return "" }})
		m.size(100, 30)
		at := time.Unix(0, 0)
		var s run.State
		take := func(p run.Payload) {
			e := run.Event{Seq: s.Seq + 1, At: at, Payload: p}
			next, err := s.Apply(e)
			if err != nil {
				b.Fatal(err)
			}
			if s = next; shows {
				m.update(news{n: 1, Update: view.Update{Event: &e}, state: s}, at)
				m.frame()
			}
			at = at.Add(time.Second)
		}
		if shows {
			m.update(opened{n: 1, id: "r"}, at)
		}
		take(run.Created{Run: "r", Config: run.Config{Model: "m", Mode: "default"}})
		var early float64
		for n := 0; n < many/2; n++ {
			if n == few/2 {
				early = heap()
			}
			if n%callsOfATurn == 0 {
				if n > 0 {
					take(run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
					take(run.Replied{Stop: run.StopEndTurn, Parts: []run.Part{run.Text("Done.")}})
					take(run.Ended{End: run.Completed})
					if shows {
						m.update(finished{n: 1, state: s}, at)
						m.frame()
					}
				}
				take(run.Prompted{Parts: []run.Part{run.Text("go")}})
			}
			id := fmt.Sprintf("c_%d", n+1)
			c := call(id, "glob", fmt.Sprintf(`{"pattern":"%d*"}`, n))
			take(run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
			take(run.Replied{Stop: run.StopToolUse, Parts: []run.Part{run.Text("I look."), {Type: run.CallPart, Call: &c}}})
			take(run.CallInspected{Call: c.ID, Tool: c.Tool, Class: run.Reads})
			take(run.CallDecided{Call: c.ID, Decision: run.Decision{Answer: run.Allow, Source: "mode"}})
			take(run.CallStarted{Call: c.ID, Attempt: 1})
			take(run.CallSettled{Call: c.ID, Outcome: run.OK, Content: []run.Part{run.Text("No file fits.")}})
		}
		late := heap()
		runtime.KeepAlive(m)
		runtime.KeepAlive(s)
		return (late - early) / (many - few)
	}
	for b.Loop() {
		alone := grown(false)
		b.ReportMetric(alone, "B/message-state")
		b.ReportMetric(grown(true)-alone, "B/message-shown")
	}
}
