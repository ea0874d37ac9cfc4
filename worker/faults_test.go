package worker

import (
	"context"
	"slices"
	"testing"

	"pawl/llm"
	"pawl/llm/anthropic"
	fakeserver "pawl/llm/llmtest/fake"
	"pawl/run"
)

// TestARunRecoversFromEveryFault plays each fault after one good step, over real
// HTTP in the Anthropic format, against a server that refuses what the real one
// would. The run continues to its end by itself, and what was cut never runs.
// (The twelfth fault, kill and resume, is the kill matrix of package cli.)
func TestARunRecoversFromEveryFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, fault string
	}{
		{"malformed arguments", `{"calls":[{"tool":"edit","raw_args":"{\"do\":\"ok never"}]}`},
		{"wrong arguments", `{"calls":[{"tool":"edit","args":{"path":"never"}}]}`},
		{"unknown tool", `{"calls":[{"tool":"edti","args":{"do":"ok never"}}]}`},
		{"empty answer", `{}`},
		{"stream cut in text", `{"text":"I was about to","cut":"text"}`},
		{"stream cut in a call", `{"calls":[{"tool":"edit","args":{"do":"ok never"}}],"cut":"call"}`},
		{"max_tokens inside a call", `{"calls":[{"tool":"edit","raw_args":"{\"do\":\"ok never"}],"stop":"max_tokens"}`},
		{"tool_use without a call", `{"text":"I call a tool.","stop":"tool_use"}`},
		{"429", `{"error":{"status":429,"retry_after":0.01}}`},
		{"529 three times", `{"error":{"status":529},"times":3}`},
		{"500", `{"error":{"status":500}}`},
		{"error inside the stream", `{"text":"half of it","error":{"status":200,"type":"overloaded_error"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok first"}}]}
`+c.fault+`
{"calls":[{"tool":"edit","args":{"do":"ok second"}}]}
{"text":"Done.","repeat":true}`)
			server := fakeserver.New(r.script, true)
			url, stop, err := server.Listen()
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			p := anthropic.New(anthropic.Options{BaseURL: url, Key: "k"})
			r.w.Provider = func(string) (llm.Provider, string, error) { return p, "m", nil }
			d := r.create()
			defer d.Close()
			s, err := d.Run(context.Background(), prompt("go"))
			if err != nil || s.Turn.End.End != run.Completed || s.Answer() != "Done." {
				t.Errorf("ended %+v with %q, %v", s.Turn.End, s.Answer(), err)
			}
			ran := r.edit.Ran()
			if slices.Contains(ran, "ok never") || !slices.Contains(ran, "ok first") || len(ran) > 2 {
				t.Errorf("tools that ran: %q", ran)
			}
			for i, q := range server.Requests() {
				if q.Wrong != "" {
					t.Errorf("request %d would be refused: %s", i, q.Wrong)
				}
			}
		})
	}
}
