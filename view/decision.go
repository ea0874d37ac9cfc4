package view

import "pawl/run"

// DecisionOn returns the last decision on a call.
func DecisionOn(events []run.Event, id run.CallID) (was run.Decision, ok bool) {
	for _, e := range events {
		switch f := e.Payload.(type) {
		case run.CallDecided:
			if f.Call == id {
				was, ok = f.Decision, true
			}
		case run.Interrupted:
			if f.Call == id {
				was, ok = run.Decision{Answer: run.Wait, Source: "person", By: f.By}, true
			}
		}
	}
	return was, ok
}
