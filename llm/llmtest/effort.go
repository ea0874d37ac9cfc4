package llmtest

import (
	"testing"

	"pawl/llm"
	"pawl/run"
)

// efforts are requests with an amount of thinking: the server accepts them, also when it
// changes between a call and its result.
func efforts(t *testing.T, w Wire) {
	for name, effort := range map[string]llm.Effort{
		"a level":           {Level: "low"},
		"the highest level": {Level: "high"},
		"an adaptive level": {Level: "medium", Adaptive: true},
		"a budget":          {Budget: 8192},
		"none":              {Level: llm.NoThinking},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := w.start(t, `{"text":"I look.","calls":[{"tool":"list","args":{}}]}
{"thinking":"Hm.","text":"And there.","calls":[{"tool":"list","args":{}}]}
{"text":"Done."}`, never)
			c := &Talk{}
			c.User(run.Text("Look."))
			for step, e := range []llm.Effort{{}, effort, effort} {
				r := Request(t, p, c.Messages...)
				r.Model, r.MaxTokens, r.Effort = "gemini-3-test", 0, e
				if e.Budget > 0 || e.Level == llm.NoThinking {
					r.Model = "gemini-2.5-test"
				}
				h := Listen(t.Context(), t, p, r)
				if h.Err != nil {
					t.Fatalf("step %d: %v", step, h.Err)
				}
				for _, call := range c.Assistant(h.Answer.Parts) {
					c.User(Result(call.ID, "a.go", false))
				}
			}
		})
	}
}
