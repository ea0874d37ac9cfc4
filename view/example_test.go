package view_test

import (
	"fmt"
	"time"

	"pawl/run"
	"pawl/view"
)

// A face that prints a run line by line: an item is printed once it is final, and what
// streams is left out.
func Example() {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	command := run.Call{ID: "c_1", Tool: "shell", Arguments: `{"command":"go test ./cart"}`}
	updates := []view.Update{
		{Event: &run.Event{Seq: 1, At: at, Payload: run.Created{Run: "r1", Config: run.Config{Model: "p/m"}}}},
		{Event: &run.Event{Seq: 2, At: at, Payload: run.Prompted{Parts: []run.Part{run.Text("Do the tests pass?")}}}},
		{Event: &run.Event{Seq: 3, At: at, Payload: run.RequestStarted{Purpose: run.ForStep, Attempt: 1}}},
		{Delta: &view.Delta{Text: "I'll ru"}},
		{Delta: &view.Delta{Text: "n them."}},
		{Event: &run.Event{Seq: 4, At: at, Payload: run.Replied{Parts: []run.Part{run.Text("I'll run them."), {Type: run.CallPart, Call: &command}}}}},
		{Event: &run.Event{Seq: 5, At: at, Payload: run.CallInspected{Call: "c_1", Tool: "shell", Class: run.Writes}}},
		{Event: &run.Event{Seq: 6, At: at, Payload: run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Allow, Source: "flag"}}}},
		{Event: &run.Event{Seq: 7, At: at, Payload: run.CallStarted{Call: "c_1", Attempt: 1}}},
		{Progress: &view.Progress{Call: "c_1", Text: "--- FAIL: TestTotal\n"}},
		{Event: &run.Event{Seq: 8, At: at.Add(2 * time.Second), Payload: run.CallSettled{Call: "c_1", Outcome: run.OK, ExitCode: new(1),
			Content: []run.Part{run.Text("--- FAIL: TestTotal\n[exit code 1]")}}}},
	}
	var p view.Projection
	for _, u := range updates {
		for _, item := range p.Update(u) {
			switch {
			case !item.Final:
			case item.Message != nil:
				fmt.Println(">", item.Text)
			case item.Kind == view.KindText:
				fmt.Println(item.Text)
			case item.Call != nil:
				fmt.Println(item.Call.Title(), "·", item.Call.OutcomeWords(), "·", item.Call.Duration)
			}
		}
	}
	// Output:
	// > Do the tests pass?
	// I'll run them.
	// shell go test ./cart · exit code 1 · 2s
}
