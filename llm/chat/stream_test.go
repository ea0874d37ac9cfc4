package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/llm/llmtest"
	"pawl/llm/wire"
	"pawl/run"
)

func decode(r io.Reader) (*llm.Answer, error) {
	return wire.Decode(r, func(llm.Delta) bool { return true }, assembler(Wire))
}

// streamError is the one recording that ends in an error: OpenRouter's free model
// says "length" and then takes it back.
const streamError = "openrouter.ai/pydantic-ai__test_openrouter_test_openrouter_stream_error__0.sse"

func recordings(t *testing.T) []llmtest.Recording {
	return llmtest.Recordings(t, "openai-chat")
}

func TestRecordedStreamsAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, want := range recordings(t) {
		t.Run(want.File, func(t *testing.T) {
			t.Parallel()
			a, err := decode(bytes.NewReader(want.Data))
			if want.File == streamError {
				var e *llm.Error
				if !errors.As(err, &e) || e.Kind != run.ErrInvalid || e.Message != "Token limit reached" || !e.Delivered {
					t.Errorf("got %+v, %v", a, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			llmtest.SoundCalls(t, a)
			tools, bad := 0, 0
			for _, part := range a.Parts {
				switch {
				case part.Call != nil:
					tools++
					if part.Call.Fault != run.NoFault {
						bad++
					}
					if part.Call.ProviderID == "" || part.Call.Tool == "" {
						t.Errorf("call %+v", part.Call)
					}
				case part.Type == run.OpaquePart && !json.Valid([]byte(part.Raw)):
					t.Errorf("an opaque part that is no JSON: %.200s", part.Raw)
				}
			}
			stop := map[string]run.StopReason{"stop": run.StopEndTurn, "tool_calls": run.StopToolUse, "": run.StopNone}[want.Stop]
			if tools != want.Tools || bad != len(want.BadArgs) || a.Stop != stop {
				t.Errorf("%d tools, %d with bad arguments, stop %q; want %d, %d, %q", tools, bad, a.Stop, want.Tools, len(want.BadArgs), stop)
			}
			if a.Model == "" || a.Usage.Total() == 0 || a.Usage.Output == 0 || a.Usage.Input < 0 {
				t.Errorf("model %q, usage %+v", a.Model, a.Usage)
			}
			text, thinking := said(t, want.Data)
			if u := DecodeRecording(bytes.NewReader(want.Data)); u.ErrorKind != "" || u.Text != text || u.Thinking != thinking {
				t.Errorf("understood as %+v,\nwant text %q\nand thinking %q", u, text, thinking)
			}
		})
	}
}

// said joins what the deltas of a stream say, without the decoder.
func said(t *testing.T, stream []byte) (text, thinking string) {
	for line := range strings.Lines(string(stream)) {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var c struct {
			Choices []struct{ Delta map[string]any }
		}
		if err := json.Unmarshal([]byte("{"+data), &c); err != nil {
			t.Fatal(err)
		}
		for _, choice := range c.Choices {
			switch content := choice.Delta["content"].(type) {
			case string:
				text += content
			case []any: // Mistral
				for _, piece := range content {
					for _, t := range piece.(map[string]any)["thinking"].([]any) {
						thinking += t.(map[string]any)["text"].(string)
					}
				}
			}
			for _, field := range []string{"reasoning_content", "reasoning"} {
				if s, ok := choice.Delta[field].(string); ok {
					thinking += s
				}
			}
		}
	}
	return text, thinking
}

func TestHowAStreamIsCutIntoReadsDoesNotMatter(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t) {
		t.Run(r.File, func(t *testing.T) {
			t.Parallel()
			llmtest.SameHoweverRead(t, r.Data, decode)
		})
	}
}

func TestAStreamThatEndsTooEarlyIsNeverAnAnswer(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t) {
		t.Run(r.File, func(t *testing.T) {
			t.Parallel()
			end := bytes.Index(r.Data, []byte(`"finish_reason":"`))
			if end < 0 { // Snowflake
				end = bytes.Index(r.Data, []byte(`"usage":{`))
			}
			llmtest.BrokenBefore(t, r.Data, end, decode)
		})
	}
}

func TestSignedAndEncryptedReasoningGoesBackAsItCame(t *testing.T) {
	t.Parallel()
	openRouter := New(Options{BaseURL: "https://openrouter.ai"})
	signed, encrypted := 0, 0
	for _, r := range recordings(t) {
		for _, secret := range secrets(t, r.Data) {
			a, err := decode(bytes.NewReader(r.Data))
			if err != nil {
				t.Fatal(err)
			}
			body, err := openRouter.Encode(run.Message{Role: run.Assistant, Parts: a.Parts})
			if err != nil {
				t.Fatal(err)
			}
			var back []struct {
				Content string
				Details []map[string]any `json:"reasoning_details"`
			}
			if err := json.Unmarshal(body, &back); err != nil {
				t.Fatal(err)
			}
			_, thinking := said(t, r.Data)
			found := false
			for _, d := range back[0].Details {
				switch {
				case d["data"] == secret:
					encrypted, found = encrypted+1, true
				case d["signature"] == secret:
					signed++
					found = d["text"] == thinking && d["type"] == "reasoning.text" && d["format"] == "anthropic-claude-v1"
				}
			}
			if !found {
				t.Errorf("%s: %.60s… is not in %s", r.File, secret, body)
			}
		}
	}
	if signed < 1 || encrypted < 1 || llmtest.Real(t) && (signed < 3 || encrypted < 9) {
		t.Errorf("%d signed and %d encrypted entries; is the test in order?", signed, encrypted)
	}
}

// secrets returns the signatures and encrypted data of a stream.
func secrets(t *testing.T, stream []byte) (all []string) {
	for line := range strings.Lines(string(stream)) {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var c struct {
			Choices []struct {
				Delta struct {
					Details []struct{ Signature, Data string } `json:"reasoning_details"`
				}
			}
		}
		if err := json.Unmarshal([]byte("{"+data), &c); err != nil {
			t.Fatal(err)
		}
		for _, choice := range c.Choices {
			for _, d := range choice.Delta.Details {
				if s := d.Signature + d.Data; s != "" {
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// chunks makes a stream of choices, given as the inside of the first one; a text
// that begins with a brace stands for itself.
func chunks(choices ...string) string {
	var b strings.Builder
	for _, c := range choices {
		if !strings.HasPrefix(c, "{") {
			c = `{"model":"m","choices":[{"index":0,` + c + `}]}`
		}
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String()
}

// manyCalls returns n deltas with a call each.
func manyCalls(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(`"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"f","arguments":"{}"}}]}`, i, i))
	}
	return all
}

const (
	hi       = `"delta":{"content":"Hi"}`
	stop     = `"delta":{},"finish_reason":"stop"`
	owed     = `"delta":{},"finish_reason":"tool_calls"`
	bill     = `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}`
	doneMark = "data: [DONE]\n\n"
)

// calling makes a chunk with fragments of calls.
func calling(fragments ...string) string {
	return `"delta":{"tool_calls":[` + strings.Join(fragments, ",") + `]}`
}

func callPart(id, tool, arguments string) run.Part {
	return run.Part{Type: run.CallPart, Call: &run.Call{ProviderID: id, Tool: tool, Arguments: arguments}}
}

func faulty(id, tool string, fault run.Fault, raw string) run.Part {
	return run.Part{Type: run.CallPart, Call: &run.Call{ProviderID: id, Tool: tool, Arguments: "{}", Fault: fault, Raw: raw}}
}

func thinking(text, signature string) run.Part {
	return run.Part{Type: run.ThinkingPart, Text: text, Signature: signature, Wire: Wire}
}

func TestOddStreamsAreStillUnderstood(t *testing.T) {
	t.Parallel()
	text := []run.Part{run.Text("Hi")}
	two := []run.Part{callPart("a", "read", `{"n":1}`), callPart("b", "read", `{"n":2}`)}
	for _, c := range []struct {
		name, stream string
		want         []run.Part
		stop         run.StopReason
	}{
		{"the usual", chunks(hi, stop, bill) + doneMark, text, run.StopEndTurn},
		{"without [DONE]", chunks(hi, stop, bill), text, run.StopEndTurn},
		{"without the last blank line", strings.TrimSpace(chunks(hi, stop, bill)), text, run.StopEndTurn},
		{"with comments, odd events, choices and fields", ": OPENROUTER PROCESSING\n\nid: 7\n\nevent: ping\ndata: {}\n\nevent: keepalive\ndata: 17:04\n\n" +
			chunks(`{"choices":[],"prompt_filter_results":[{}]}`, `{"object":"chat.completion.chunk","choices":[{"index":1,"delta":{"content":"other"}}]}`,
				hi, `"delta":{"content":null,"tool_calls":null,"function_call":null,"reasoning":null,"novelty":[1]}`, stop, bill), text, run.StopEndTurn},
		{"with something behind the end", chunks(hi, stop, bill) + doneMark + chunks(hi), text, run.StopEndTurn},
		{"a whole message at once", chunks(`"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"`, bill), text, run.StopEndTurn},
		{"without a finish reason, but with the bill", chunks(hi, bill) + doneMark, text, run.StopNone},
		{"with the reason twice", chunks(hi, `"delta":{},"finish_reason":"stop"`, `"delta":{"content":""},"finish_reason":"length"`, bill), text, run.StopEndTurn},
		{"with text behind the reason", chunks(`"delta":{"content":"H"},"finish_reason":"stop"`, `"delta":{"content":"i"}`, bill),
			[]run.Part{run.Text("H"), run.Text("i")}, run.StopEndTurn},
		{"a refusal", chunks(`"delta":{"refusal":"No."}`, stop, bill), []run.Part{run.Text("No.")}, run.StopRefusal},
		{"filtered", chunks(hi, `"delta":{},"finish_reason":"content_filter"`, bill), text, run.StopFiltered},
		{"think tags stay text", chunks(`"delta":{"content":"<think>hm</think>Hi"}`, stop, bill), []run.Part{run.Text("<think>hm</think>Hi")}, run.StopEndTurn},

		{"calls one after the other", chunks(hi, calling(`{"index":0,"id":"a","function":{"name":"read","arguments":""}}`), calling(`{"index":0,"function":{"arguments":"{\"n\""}}`),
			calling(`{"index":0,"function":{"arguments":":1}"}}`), calling(`{"index":1,"id":"b","function":{"name":"read","arguments":"{\"n\":2}"}}`), owed, bill),
			append(text[:1:1], two...), run.StopToolUse},
		{"calls side by side", chunks(calling(`{"index":0,"id":"a","function":{"name":"read"}}`, `{"index":1,"id":"b","function":{"name":"read"}}`),
			calling(`{"index":1,"function":{"arguments":"{\"n\":2"}}`, `{"index":0,"function":{"arguments":"{\"n\":1}"}}`), calling(`{"index":1,"function":{"arguments":"}"}}`), owed, bill), two, run.StopToolUse},
		{"stop although there are calls", chunks(calling(`{"index":0,"id":"a","function":{"name":"list","arguments":"{}"}}`), stop, bill), []run.Part{callPart("a", "list", "{}")}, run.StopEndTurn},
		{"all in the last chunk", chunks(`"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"list"}}]},"finish_reason":"tool_calls"`, bill), []run.Part{callPart("a", "list", "{}")}, run.StopToolUse},
		{"without an index", chunks(calling(`{"id":"a","function":{"name":"read","arguments":"{\"n\""}}`), calling(`{"function":{"arguments":":1}"}}`),
			calling(`{"id":"b","function":{"name":"read","arguments":"{\"n\":2}"}}`), owed, bill), two, run.StopToolUse},
		{"without an index, by id", chunks(calling(`{"id":"a","function":{"name":"read"}}`), calling(`{"id":"b","function":{"name":"read"}}`),
			calling(`{"id":"a","function":{"arguments":"{\"n\":1}"}}`), calling(`{"id":"b","function":{"arguments":"{\"n\":2}"}}`), owed, bill), two, run.StopToolUse},
		{"all with the index 0", chunks(calling(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}}`), calling(`{"index":0,"id":"b","function":{"name":"read","arguments":"{\"n\":2}"}}`), owed, bill), two, run.StopToolUse},
		{"all with the index 0 and no id", chunks(calling(`{"index":0,"function":{"name":"read","arguments":"{\"n\":1}"}}`, `{"index":0,"function":{"name":"read","arguments":"{\"n\":2}"}}`), owed, bill),
			[]run.Part{callPart("", "read", `{"n":1}`), callPart("", "read", `{"n":2}`)}, run.StopToolUse},
		{"the same id for both", chunks(calling(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}}`), calling(`{"index":1,"id":"a","function":{"name":"read","arguments":"{\"n\":2}"}}`), owed, bill),
			[]run.Part{callPart("a", "read", `{"n":1}`), callPart("a", "read", `{"n":2}`)}, run.StopToolUse},
		{"the index as a string", chunks(calling(`{"index":"0","id":"a","function":{"name":"read","arguments":"{\"n\":"}}`), calling(`{"index":"0","function":{"arguments":"1}"}}`), owed, bill), two[:1], run.StopToolUse},
		{"the name with each fragment", chunks(calling(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\""}}`), calling(`{"index":0,"id":"a","function":{"name":"read","arguments":":1}"}}`), owed, bill), two[:1], run.StopToolUse},
		{"another id with each fragment", chunks(calling(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\""}}`), calling(`{"index":0,"id":"x","function":{"arguments":":1}"}}`), owed, bill), two[:1], run.StopToolUse},
		{"a whole call said twice", chunks(calling(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}}`), `"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}}]},"finish_reason":"tool_calls"`, bill), two[:1], run.StopToolUse},
		{"arguments as an object", chunks(calling(`{"index":0,"id":"a","function":{"name":"read","arguments":{"n":1}}}`), owed, bill), two[:1], run.StopToolUse},
		{"arguments that are null", chunks(calling(`{"index":0,"id":"a","function":{"name":"list","arguments":null}}`), owed, bill), []run.Part{callPart("a", "list", "{}")}, run.StopToolUse},
		{"arguments packed twice are not unpacked", chunks(calling(`{"index":0,"id":"a","function":{"name":"list","arguments":"\"{}\""}}`), owed, bill), []run.Part{faulty("a", "list", run.FaultNotJSON, `"{}"`)}, run.StopToolUse},
		{"a function_call of old", chunks(`"delta":{"function_call":{"name":"read","arguments":""}}`, `"delta":{"function_call":{"arguments":"{\"n\":1}"}}`, `"delta":{},"finish_reason":"function_call"`, bill),
			[]run.Part{callPart("", "read", `{"n":1}`)}, run.StopToolUse},
		{"side by side and cut", chunks(calling(`{"index":0,"id":"a","function":{"name":"read"}}`, `{"index":1,"id":"b","function":{"name":"read","arguments":"{\"n\":2}"}}`), `"delta":{},"finish_reason":"length"`, bill),
			[]run.Part{faulty("a", "read", run.FaultCut, ""), two[1]}, run.StopMaxTokens},
		{"with what has to go back with the call", chunks(calling(`{"index":0,"id":"a","function":{"name":"list","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}`), owed, bill),
			[]run.Part{{Type: run.OpaquePart, Wire: Wire, Raw: `{"extra_content":{"google":{"thought_signature":"s"}}}`}, callPart("a", "list", "{}")}, run.StopToolUse},

		{"reasoning in two fields at once", chunks(`"delta":{"reasoning_content":"hm","reasoning":"hm"}`, hi, stop, bill), []run.Part{thinking("hm", ""), text[0]}, run.StopEndTurn},
		{"reasoning between texts", chunks(hi, `"delta":{"reasoning":"hm"}`, hi, stop, bill), []run.Part{text[0], thinking("hm", ""), text[0]}, run.StopEndTurn},
		{"reasoning and text in one chunk", chunks(`"delta":{"content":"Hi","reasoning":"hm"}`, stop, bill), []run.Part{thinking("hm", ""), text[0]}, run.StopEndTurn},
		{"reasoning as a list", chunks(`"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"},{"type":"text","text":"m"}]},{"type":"text","text":"Hi"}]}`, stop, bill), []run.Part{thinking("hm", ""), text[0]}, run.StopEndTurn},
		{"entries of reasoning", chunks(
			`"delta":{"reasoning":"h","reasoning_details":[{"type":"reasoning.text","text":"h","index":0,"format":"f","signature":""}]}`,
			`"delta":{"reasoning":"m","reasoning_details":[{"type":"reasoning.text","text":"m","index":0,"format":"f","signature":null}]}`,
			`"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"S"}]}`,
			`"delta":{"reasoning":"s","reasoning_details":[{"type":"reasoning.summary","summary":"s","index":1}]}`,
			`"delta":{"reasoning_details":[{"type":"reasoning.encrypted",  "data":"<x>"}]}`, hi, stop, bill),
			[]run.Part{thinking("hm", `{"format":"f","index":0,"signature":"S","type":"reasoning.text"}`), thinking("s", `{"index":1,"type":"reasoning.summary"}`),
				{Type: run.OpaquePart, Wire: Wire, Raw: `{"type":"reasoning.encrypted",  "data":"<x>"}`}, text[0]}, run.StopEndTurn},
		{"a signature that comes late", chunks(`"delta":{"reasoning_details":[{"type":"reasoning.text","text":"hm","index":0}]}`, hi, `"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"S"}]}`, stop, bill),
			[]run.Part{thinking("hm", `{"index":0,"signature":"S","type":"reasoning.text"}`), text[0]}, run.StopEndTurn},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, end := range []string{"\n", "\r\n"} {
				told := 0
				a, err := wire.Decode(strings.NewReader(strings.ReplaceAll(c.stream, "\n", end)), func(d llm.Delta) bool {
					if d.Part != nil {
						told++
					}
					return true
				}, assembler(Wire))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, a.Parts); diff != "" {
					t.Errorf("parts (-want +got):\n%s", diff)
				}
				if a.Stop != c.stop || a.Model != "m" || a.Usage != (run.Usage{Input: 3, Output: 5}) || told != len(a.Parts) {
					t.Errorf("stop %q, model %q, usage %+v, %d parts told", a.Stop, a.Model, a.Usage, told)
				}
			}
		})
	}
}

func TestUsageIsReadInEveryProvidersWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream string
		want   run.Usage
	}{
		"OpenAI":                     {chunks(hi, stop, `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":15}}}`), run.Usage{Input: 40, CacheRead: 60, Output: 20}},
		"OpenRouter":                 {chunks(hi, stop, `{"choices":[{"index":0,"delta":{"content":""}}],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}`), run.Usage{Input: 10, CacheRead: 60, CacheWrite: 30, Output: 20}},
		"DeepSeek":                   {chunks(hi, stop, `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}}`), run.Usage{Input: 36, CacheRead: 64, Output: 20}},
		"Moonshot":                   {chunks(hi, `"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":100,"completion_tokens":20,"cached_tokens":10}`), run.Usage{Input: 90, CacheRead: 10, Output: 20}},
		"Groq":                       {chunks(hi, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":100,"completion_tokens":20}}}`), run.Usage{Input: 100, Output: 20}},
		"x.ai":                       {chunks(hi, stop, `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":150,"completion_tokens_details":{"reasoning_tokens":30}}}`), run.Usage{Input: 100, Output: 50}},
		"Vercel":                     {chunks(hi, stop, `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"completion_tokens_details":{"reasoning_tokens":30},"cache_creation_input_tokens":40}}`), run.Usage{Input: 60, CacheWrite: 40, Output: 50}},
		"llama.cpp":                  {chunks(hi, stop, `{"choices":[],"usage":{"prompt_tokens":197,"completion_tokens":18},"timings":{"cache_n":161,"prompt_n":36}}`), run.Usage{Input: 36, CacheRead: 161, Output: 18}},
		"vLLM's running total":       {chunks(`{"choices":[{"index":0,"delta":{"content":"H"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`), run.Usage{Input: 9, Output: 2}},
		"none, and figures that are": {chunks(hi, stop, `{"choices":[],"usage":{"prompt_tokens":"many"}}`), run.Usage{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := decode(strings.NewReader(c.stream))
			if err != nil || a.Usage != c.want {
				t.Errorf("got %+v, %v; want %+v", a.Usage, err, c.want)
			}
		})
	}
}

func TestStreamsThatAreNoAnswerSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stream string
		kind         run.ErrorKind
		words        string
	}{
		{"nothing", "", run.ErrBrokenStream, "empty"},
		{"HTML", "<!doctype html>\n<html>", run.ErrBrokenStream, "<!doctype html>"},
		{"an error as JSON", `{"error":{"message":"Busy","type":"server_error"}}`, run.ErrOverloaded, "Busy"},
		{"an error of Ollama", `{"error":"model is loading"}`, run.ErrOverloaded, "loading"},
		{"[DONE] without a reason", chunks(hi) + doneMark, run.ErrBrokenStream, "end mark"},
		{"a bill that is not the last", chunks(bill, hi), run.ErrBrokenStream, "end mark"},
		{"a torn chunk", "data: {\"choices\":[{\"delta\":{\"con\n\n" + chunks(stop, bill), run.ErrBrokenStream, "cannot decode"},
		{"an error inside", chunks(hi, `{"error":{"message":"Rate limit reached. Please try again in 1.5s.","type":"tokens","code":"rate_limit_exceeded"}}`), run.ErrRateLimited, "Rate limit"},
		{"an error with a status, OpenRouter", chunks(hi, `{"error":{"code":502,"message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`), run.ErrOverloaded, "disconnected"},
		{"an error in the choice, OpenRouter", chunks(hi, `"delta":{},"error":{"code":429,"message":"Slow down"}`), run.ErrRateLimited, "Slow down"},
		{"an error of the provider behind", chunks(`{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"message\":\"prompt is too long: 9 > 8\"}"}}}`), run.ErrTooLong, "Provider returned error: {"},
		{"an error of Groq", chunks(hi, `{"choices":[],"x_groq":{"id":"r","error":"over capacity"}}`), run.ErrOverloaded, "over capacity"},
		{"a call that Groq could not read", "event: error\n" + chunks(`{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed"}}`), run.ErrBrokenStream, "Failed to call"},
		{"an error of older vLLM", chunks(`{"object":"error","message":"This model's maximum context length is 10 tokens","type":"BadRequestError","code":400}`), run.ErrTooLong, "maximum context"},
		{"an error of llama.cpp", chunks(`{"error":{"code":400,"message":"request (9 tokens) exceeds the available context size (8 tokens)","type":"exceed_context_size_error"}}`), run.ErrTooLong, "context size"},
		{"an error by the event's name", "event: error\ndata: it broke\n\n", run.ErrOverloaded, "it broke"},
		{"an error without words", chunks(`{"error":{"type":"server_error"}}`), run.ErrOverloaded, "without a message server_error"},
		{"a filter that says so", chunks(`{"error":{"code":"content_filter","message":"The response was filtered"}}`), run.ErrRefused, "filtered"},
		{"more calls than anything writes", chunks(manyCalls(2001)...) + chunks(stop) + doneMark, run.ErrInvalid, "2001 calls"},
		{"a reason that is an error", chunks(hi, `"delta":{},"finish_reason":"insufficient_system_resource"`), run.ErrOverloaded, "stopped in the middle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := decode(strings.NewReader(c.stream))
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.words) {
				t.Errorf("got %v, want %s with %q", err, c.kind, c.words)
			}
		})
	}
}

func TestABrokenAnswerTellsTheUsageThatWasReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream string
		want   run.Usage
	}{
		"running totals, then cut":  {"data: " + `{"choices":[{"index":0,"delta":{"content":"H"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}` + "\n\n", run.Usage{Input: 9, Output: 1}},
		"an error with the usage":   {"data: " + `{"choices":[{"index":0,"delta":{"content":"H"},"usage":{"prompt_tokens":9,"completion_tokens":1}}]}` + "\n\ndata: " + `{"error":{"message":"no"}}` + "\n\n", run.Usage{Input: 9, Output: 1}},
		"nothing was reported":      {"data: " + `{"choices":[{"index":0,"delta":{"content":"H"}}]}` + "\n\n", run.Usage{}},
		"figures beyond all bounds": {"data: " + `{"choices":[{"index":0,"delta":{"content":"H"}}],"usage":{"prompt_tokens":9223372036854775807,"completion_tokens":-9}}` + "\n\n", run.Usage{Input: 1 << 40}},
	} {
		_, err := decode(strings.NewReader(c.stream))
		var e *llm.Error
		if !errors.As(err, &e) || e.Usage != c.want {
			t.Errorf("%s: %+v, want usage %+v", name, err, c.want)
		}
	}
}

// FuzzStream: whatever comes, decoding ends, it does not matter how it is cut, and
// a call that could run has a name and an object as arguments.
func FuzzStream(f *testing.F) {
	f.Add([]byte(chunks(hi, calling(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}`), owed, bill) + doneMark))
	f.Add([]byte(chunks(calling(`{"function":{"name":"read","arguments":{"a":1}},"extra_content":{}}`), `"delta":{},"finish_reason":"length"`)))
	f.Add([]byte(chunks(`"delta":{"content":[{"type":"thinking","thinking":"x"}],"reasoning_details":[{"type":"reasoning.text","text":"x","index":0},{}]}`, stop)))
	f.Add([]byte("event: error\rdata: {}\r\r"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := decode(bytes.NewReader(data))
		slow, slowErr := decode(iotest.OneByteReader(bytes.NewReader(data)))
		if (err == nil) != (slowErr == nil) || !cmp.Equal(a, slow) {
			t.Fatalf("byte by byte it is another answer: %v, %v", err, slowErr)
		}
		if err != nil {
			var e *llm.Error
			if !errors.As(err, &e) {
				t.Fatalf("no *llm.Error: %v", err)
			}
			return
		}
		llmtest.SoundCalls(t, a)
		for i := range a.Parts {
			if c := a.Parts[i].Call; c != nil {
				c.ID = "c_1"
			}
		}
		for _, d := range []Dialect{{}, {Reasoning: ReasoningDetails, CallExtra: true}, {Reasoning: ReasoningContent}} {
			body, err := New(Options{Dialect: &d}).Encode(run.Message{Role: run.Assistant, Parts: a.Parts})
			if err != nil || body != nil && !json.Valid(body) {
				t.Fatalf("it cannot go back: %v\n%s", err, body)
			}
		}
	})
}
