package responses

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/llm/llmtest"
	"pawl/llm/wire"
	"pawl/run"
)

func decode(r io.Reader) (*llm.Answer, error) {
	return wire.Decode(r, func(llm.Delta) bool { return true }, assembler(Wire))
}

// A said is what a recording says, read without the decoder.
type said struct {
	text, thinking string   // of all deltas
	calls          []string // name and arguments of each, as the response at the end has them
	encrypted      []string // contents of reasoning as it was done
	hosted         int      // items of tools that run at the provider
}

func readRecording(t *testing.T, stream []byte) said {
	t.Helper()
	var s said
	last := [3]any{}
	for line := range strings.Lines(string(stream)) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		switch e["type"] {
		case "response.output_text.delta":
			s.text += e["delta"].(string)
		case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
			at := [3]any{e["item_id"], e["summary_index"], e["content_index"]}
			if last[0] == at[0] && last != at {
				s.thinking += "\n\n"
			}
			last = at
			s.thinking += e["delta"].(string)
		case "response.output_item.done":
			if content, _ := e["item"].(map[string]any)["encrypted_content"].(string); content != "" {
				s.encrypted = append(s.encrypted, content)
			}
		case "response.completed":
			for _, raw := range e["response"].(map[string]any)["output"].([]any) {
				switch item := raw.(map[string]any); item["type"] {
				case "function_call":
					s.calls = append(s.calls, item["name"].(string)+" "+item["arguments"].(string))
				case "reasoning", "message":
				default:
					s.hosted++
				}
			}
		}
	}
	return s
}

func TestRecordedStreamsAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, want := range llmtest.Recordings(t, "openai-responses") {
		t.Run(want.File, func(t *testing.T) {
			t.Parallel()
			a, err := decode(bytes.NewReader(want.Data))
			if err != nil {
				t.Fatal(err)
			}
			s := readRecording(t, want.Data)
			var calls, encrypted []string
			bad, hosted := 0, 0
			for _, part := range a.Parts {
				raw := part.Raw
				if part.Type == run.ThinkingPart {
					raw = part.Signature
				}
				var item wireItem
				if raw != "" {
					if err := json.Unmarshal([]byte(raw), &item); err != nil {
						t.Fatalf("a part to send back that is no JSON: %.200s", raw)
					}
					if !bytes.Contains(want.Data, []byte(raw)) {
						t.Errorf("not byte for byte what came: %.200s", raw)
					}
				}
				switch {
				case part.Call != nil:
					calls = append(calls, part.Call.Tool+" "+part.Call.Arguments)
					if part.Call.Fault != run.NoFault {
						bad++
					}
				case item.Encrypted != "":
					encrypted = append(encrypted, item.Encrypted)
				case part.Type == run.OpaquePart:
					hosted++
				}
			}
			if diff := cmp.Diff(s.calls, calls); diff != "" {
				t.Errorf("calls (-at the end +understood):\n%s", diff)
			}
			if diff := cmp.Diff(s.encrypted, encrypted); diff != "" {
				t.Errorf("reasoning (-done +understood):\n%s", diff)
			}
			stop := run.StopEndTurn
			if want.Tools > 0 {
				stop = run.StopToolUse
			}
			if len(calls) != want.Tools || bad != len(want.BadArgs) || a.Stop != stop || want.Stop != "response.completed" || hosted != s.hosted {
				t.Errorf("%d calls, %d with bad arguments, %d hosted, stop %q; want %d, %d, %d, %q (%s)",
					len(calls), bad, hosted, a.Stop, want.Tools, len(want.BadArgs), s.hosted, stop, want.Stop)
			}
			if a.Model == "" || a.Usage.Input == 0 || a.Usage.Output == 0 {
				t.Errorf("model %q, usage %+v", a.Model, a.Usage)
			}
			u := DecodeRecording(bytes.NewReader(want.Data))
			if u.ErrorKind != "" || u.Text != s.text || u.Thinking != s.thinking || joined(a.Parts, run.TextPart) != s.text {
				t.Errorf("understood as %+v, want text %q, thinking %q", u, s.text, s.thinking)
			}
		})
	}
}

func joined(parts []run.Part, kind run.PartType) string {
	var b strings.Builder
	for _, part := range parts {
		if part.Type == kind {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}

func TestHowAStreamIsCutIntoReadsDoesNotMatter(t *testing.T) {
	t.Parallel()
	for _, r := range llmtest.Recordings(t, "openai-responses") {
		t.Run(r.File, func(t *testing.T) {
			t.Parallel()
			llmtest.SameHoweverRead(t, r.Data, decode)
		})
	}
}

func TestAStreamThatEndsTooEarlyIsNeverAnAnswer(t *testing.T) {
	t.Parallel()
	for _, r := range llmtest.Recordings(t, "openai-responses") {
		t.Run(r.File, func(t *testing.T) {
			t.Parallel()
			llmtest.BrokenBefore(t, r.Data, bytes.LastIndexByte(r.Data, '}'), decode)
		})
	}
}
