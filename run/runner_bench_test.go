package run

import (
	"fmt"
	"testing"
	"time"
)

// allowing is a world whose rules allow every call.
type allowing struct{}

func (allowing) Inspect(_ State, c Call) CallInspected {
	return CallInspected{Call: c.ID, Tool: c.Tool, Class: Reads, Key: string(c.ID)}
}

func (allowing) Decide(_ State, c CallState) Payload {
	return CallDecided{Call: c.ID, Decision: Decision{Answer: Allow}}
}

func (allowing) Recheck(State, CallState) Payload         { return nil }
func (allowing) Jobs() []Job                              { return nil }
func (allowing) Hooks(State, Hook) []string               { return nil }
func (allowing) Submit(State, CallState) (string, string) { return "", "" }
func (allowing) Partial(int) (parts []Part, usage Usage)  { return nil, Usage{} }
func settledOK(id CallID) CallSettled {
	return CallSettled{Call: id, Outcome: OK, Key: string(id), Content: []Part{Text("ok")}}
}

// BenchmarkCallsOfOneAnswer drives an answer with many calls to the next request, one
// completion a step. The time per call must not depend on how many there are.
func BenchmarkCallsOfOneAnswer(b *testing.B) {
	for _, n := range []int{100, 1_000, 5_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := Replied{Stop: StopToolUse}
			for i := range n {
				f.Parts = append(f.Parts, Part{Type: CallPart, Call: &Call{ID: CallID("c_" + itoa(i+1)), Tool: "read", Arguments: "{}"}})
			}
			for b.Loop() {
				runCalls(b, f, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/call")
		})
	}
}

func runCalls(b *testing.B, f Replied, n int) {
	r := NewRunner(State{})
	now := time.Unix(1_800_000_000, 0)
	var flying []string
	ids := map[string]CallID{}
	settled := 0
	in := Input{Given: []Payload{Created{Run: "r", Config: Config{Limits: Limits{Calls: -1}}}, Prompted{Parts: []Part{Text("go")}}}}
	for settled < n || len(in.Done) > 0 {
		now = now.Add(time.Millisecond)
		batch, err := r.Step(now, allowing{}, in)
		if err != nil {
			b.Fatal(err)
		}
		r.Adopt(batch, in)
		in = Input{}
		for _, c := range batch.Start {
			if p, ok := c.(Perform); ok {
				flying = append(flying, c.Key())
				ids[c.Key()] = p.Call.ID
			} else if r.State.Turn.Steps == 1 {
				in.Done = []Completion{{Key: c.Key(), Events: []Payload{f}}}
			}
		}
		if len(flying) > 0 {
			key := flying[0]
			flying = flying[1:]
			in.Done = append(in.Done, Completion{Key: key, Events: []Payload{settledOK(ids[key])}})
			settled++
		}
	}
	if r.State.Turn.Steps != 2 {
		b.Fatalf("%d steps, %s", r.State.Turn.Steps, r.State.Turn.Phase)
	}
}
