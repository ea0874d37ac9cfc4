package run_test

import (
	"fmt"
	"time"

	"pawl/run"
)

// A world for one run: every call may run, and the model follows a script.
type world struct {
	script []run.Replied
	log    []run.Event
}

func (w *world) Inspect(_ run.State, c run.Call) run.CallInspected {
	return run.CallInspected{Call: c.ID, Tool: c.Tool, Class: run.Reads}
}

func (w *world) Decide(_ run.State, c run.CallState) run.Payload {
	return run.CallDecided{Call: c.ID, Decision: run.Decision{Answer: run.Allow, Source: "default"}}
}

func (w *world) Recheck(run.State, run.CallState) run.Payload { return nil }
func (w *world) Submit(run.State, run.CallState) (_, problem string) {
	return "", "nothing is to be handed in"
}
func (w *world) Partial(int) ([]run.Part, run.Usage) { return nil, run.Usage{} }
func (w *world) Jobs() []run.Job                     { return nil }
func (w *world) Hooks(run.State, run.Hook) []string  { return nil }

// perform does what an operation is for, and returns what it appends.
func (w *world) perform(c run.Command) run.Completion {
	done := run.Completion{Key: c.Key()}
	switch c := c.(type) {
	case run.Request: // ask the model
		done.Events = []run.Payload{w.script[0]}
		w.script = w.script[1:]
	case run.Perform: // run the tool
		result := []run.Part{run.Text("package main")}
		done.Events = []run.Payload{run.CallSettled{Call: c.Call.ID, Outcome: run.OK, Content: result}}
	}
	return done
}

// The whole loop: check, make durable, adopt, start what is owed. A worker runs the
// operations in goroutines, cancels those that Adopt names, and waits for what comes in
// next; here each one is performed at once.
func ExampleRunner() {
	w := &world{script: []run.Replied{
		{Stop: run.StopToolUse, Parts: []run.Part{{Type: run.CallPart, Call: &run.Call{ID: "c_1", Tool: "read", Arguments: `{"path":"main.go"}`}}}},
		{Stop: run.StopEndTurn, Parts: []run.Part{run.Text("It is a program.")}},
	}}
	state, err := run.Replay(w.log) // resuming is the same code
	if err != nil {
		panic(err)
	}
	r := run.NewRunner(state)
	in := run.Input{Given: []run.Payload{run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("What is main.go?")}}}}
	for now := time.Unix(0, 0); ; now = now.Add(time.Second) {
		batch, err := r.Step(now, w, in)
		if err != nil {
			panic(err) // a given event cannot follow
		}
		w.log = append(w.log, batch.Events...) // durably, before anything starts
		for _, e := range batch.Events {
			fmt.Printf("%T ", e.Payload)
		}
		r.Adopt(batch, in) // what it names is to be cancelled
		in = run.Input{}
		for _, c := range batch.Start {
			in.Done = append(in.Done, w.perform(c))
		}
		if len(batch.Events) == 0 && !r.Busy() {
			break // nothing is owed
		}
	}
	fmt.Printf("%s: %s", r.State.Turn.End.End, r.State.Answer())
	// Output:
	// run.Created run.Prompted run.RequestStarted run.Replied run.CallInspected run.CallDecided run.CallStarted run.CallSettled run.RequestStarted run.Replied run.Ended completed: It is a program.
}
