package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"pawl/llm"
	"pawl/run"
)

// counting is a model with a small window: it calls a tool for as many steps as it
// is told to, with a different call each time, and says what each request cost. A
// request that does not fit its window is refused as a real one would be.
type counting struct {
	t       *testing.T
	window  int64
	steps   int
	step    int
	purpose map[string]int
	biggest int64
}

func (c *counting) Wire() string { return "counting" }

func (c *counting) Encode(m run.Message) (json.RawMessage, error) { return json.Marshal(m.Parts) }

func (c *counting) EncodeTool(t llm.Tool) (json.RawMessage, error) { return json.Marshal(t) }

func (c *counting) EncodeOutput(schema json.RawMessage) (json.RawMessage, error) { return schema, nil }

func (c *counting) Stream(_ context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		size := int64(0)
		open := map[run.CallID]bool{}
		for _, m := range r.Messages {
			size += int64(len(m.Body)) / 4
			var parts []run.Part
			if err := json.Unmarshal(m.Body, &parts); err != nil {
				c.t.Error(err)
			}
			for _, p := range parts {
				switch {
				case p.Call != nil:
					open[p.Call.ID] = true
				case p.Result != nil:
					if !open[p.Result.Call] {
						c.t.Errorf("step %d: a result of %s without its call", c.step, p.Result.Call)
					}
					delete(open, p.Result.Call)
				}
			}
		}
		if len(open) > 0 {
			c.t.Errorf("step %d: calls without results: %v", c.step, open)
		}
		c.biggest = max(c.biggest, size)
		usage := run.Usage{Input: size, Output: 50}
		if size > c.window {
			c.purpose["too long"]++
			yield(llm.Delta{}, &llm.Error{Kind: run.ErrTooLong, Status: 400})
			return
		}
		a := &llm.Answer{Stop: run.StopEndTurn, Usage: usage}
		switch {
		case len(r.Tools) == 0:
			c.purpose["summary"]++
			a.Parts = []run.Part{run.Text(fmt.Sprintf("notes up to step %d", c.step))}
		case c.step == c.steps:
			a.Parts = []run.Part{run.Text("all steps are done")}
		default:
			c.step++
			a.Stop = run.StopToolUse
			a.Parts = []run.Part{run.Text("On with it."), {Type: run.CallPart, Call: &run.Call{Tool: "read",
				Arguments: fmt.Sprintf(`{"do":"ok %d %s"}`, c.step, strings.Repeat("line ", 300))}}}
		}
		yield(llm.Delta{Answer: a}, nil)
	}
}

func TestALongTurnInASmallWindowGoesOnToItsEnd(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprintf("window known %v", known), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, `{"text":"not asked"}`)
				m := &counting{t: t, window: 8000, steps: 150, purpose: map[string]int{}}
				r.w.Provider = func(string) (llm.Provider, string, error) { return m, "m", nil }
				c := run.Config{}
				if known {
					c.Window = m.window
				}
				d, err := r.w.Create(t.Context(), run.Created{Run: "r", Workspace: "/w", Config: c}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				go func() { // the test does not wait for the fake to begin
					for range r.read.begun {
					}
				}()
				defer close(r.read.begun)
				s, err := d.Run(t.Context(), prompt("do 150 steps"))
				if err != nil || s.Turn.End.End != run.Completed || s.Answer() != "all steps are done" {
					t.Fatalf("ended %+v with %q after step %d, %v", s.Turn.End, s.Answer(), m.step, err)
				}
				if known && m.purpose["too long"] > 0 {
					t.Errorf("%d requests did not fit", m.purpose["too long"])
				}
				if s.Messages[0].Parts[0].Text != "do 150 steps" {
					t.Error("the task did not survive")
				}
				t.Logf("%d steps, %v, biggest request %d of %d tokens", m.step, m.purpose, m.biggest, m.window)
			})
		})
	}
}
