package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/llm/llmtest"
	"pawl/llm/wire"
	"pawl/run"
)

func decode(r io.Reader) (*llm.Answer, error) {
	return wire.Decode(r, func(llm.Delta) bool { return true }, assemble)
}

func recordings(t *testing.T) []llmtest.Recording {
	t.Helper()
	return llmtest.Recordings(t, "gemini")
}

func TestRecordedStreamsAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, want := range recordings(t) {
		t.Run(want.File, func(t *testing.T) {
			t.Parallel()
			a, err := decode(bytes.NewReader(want.Data))
			if err != nil {
				t.Fatal(err)
			}
			said := parts(want.Data)
			tools, bad, signatures := 0, 0, 0
			for _, part := range a.Parts {
				if part.Call != nil {
					tools++
					if part.Call.Fault != run.NoFault {
						bad++
					}
				}
				if part.Signature != "" {
					signatures++
				}
				if part.Type == run.OpaquePart {
					signatures += strings.Count(part.Raw, `"thoughtSignature"`)
					if !json.Valid([]byte(part.Raw)) {
						t.Errorf("an opaque part that is no JSON: %.200s", part.Raw)
					}
				}
			}
			if tools != want.Tools || bad != len(want.BadArgs) {
				t.Errorf("%d tools, %d with bad arguments; want %d, %d", tools, bad, want.Tools, len(want.BadArgs))
			}
			stop := run.StopEndTurn
			if want.Tools > 0 {
				stop = run.StopToolUse
			}
			if want.Stop != "STOP" || a.Stop != stop {
				t.Errorf("stop %q for %s, want %q", a.Stop, want.Stop, stop)
			}
			if signatures != said.signatures {
				t.Errorf("%d signatures are kept, %d came", signatures, said.signatures)
			}
			if a.Model == "" || a.Usage.Input == 0 || a.Usage.Output == 0 || a.Usage.Input+a.Usage.CacheRead+a.Usage.Output != said.total {
				t.Errorf("model %q, usage %+v, want %d tokens in all", a.Model, a.Usage, said.total)
			}
			u := DecodeRecording(bytes.NewReader(want.Data))
			if u.ErrorKind != "" || u.Text != said.text || u.Thinking != said.thinking {
				t.Errorf("understood as %+v", u)
			}
		})
	}
}

// A reading is what is in a stream, read without the decoder.
type reading struct {
	text, thinking string
	signatures     int
	total          int64 // tokens
}

func parts(stream []byte) reading {
	var r reading
	for line := range strings.Lines(string(stream)) {
		var e struct {
			Candidates []struct {
				Content struct {
					Parts []struct {
						Text             string
						Thought          bool
						ThoughtSignature string
					}
				}
			}
			UsageMetadata struct{ TotalTokenCount int64 }
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		r.total = e.UsageMetadata.TotalTokenCount
		for _, p := range e.Candidates[0].Content.Parts {
			if p.Thought {
				r.thinking += p.Text
			} else {
				r.text += p.Text
			}
			if p.ThoughtSignature != "" {
				r.signatures++
			}
		}
	}
	return r
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
			llmtest.BrokenBefore(t, r.Data, bytes.LastIndex(r.Data, []byte(`"finishReason"`)), decode)
		})
	}
}

func TestSignedPartsGoBackAsTheyCame(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t) {
		t.Run(r.File, func(t *testing.T) {
			t.Parallel()
			a, err := decode(bytes.NewReader(r.Data))
			if err != nil {
				t.Fatal(err)
			}
			body, err := New(Options{}).Encode(run.Message{Role: run.Assistant, Parts: a.Parts})
			if err != nil {
				t.Fatal(err)
			}
			var sent []any
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Fatal(err)
			}
			for _, part := range signed(t, r.Data) {
				if !slices.ContainsFunc(sent, func(s any) bool { return cmp.Equal(s, part) }) {
					t.Errorf("this part is not in what is sent: %v\n%.1000s", part, body)
				}
			}
		})
	}
}

// signed returns the parts of a stream that carry a signature.
func signed(t *testing.T, stream []byte) (all []any) {
	t.Helper()
	for line := range strings.Lines(string(stream)) {
		var e event
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		for _, raw := range e.Candidates[0].Content.Parts {
			var part map[string]any
			if err := json.Unmarshal(raw, &part); err != nil {
				t.Fatal(err)
			}
			if part["thoughtSignature"] != nil {
				all = append(all, part)
			}
		}
	}
	return all
}

// stream joins events, each given as the JSON of its parts, and ends with a finish
// reason.
func stream(finish string, partsOf ...string) string {
	var b strings.Builder
	for _, p := range partsOf {
		b.WriteString(`data: {"candidates":[{"content":{"parts":[` + p + `],"role":"model"}}],"modelVersion":"m"}` + "\n\n")
	}
	if finish != "" {
		b.WriteString(`data: {"candidates":[{"finishReason":"` + finish + `"}],"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":2,"toolUsePromptTokenCount":1}}` + "\n\n")
	}
	return b.String()
}

const (
	hi       = `{"text":"Hi"}`
	readCall = `{"functionCall":{"name":"read","args":{"a":1}}}`
	withID   = `{"functionCall":{"id":"7","name":"read","args":{"a":1}}}`
)

func call(id, arguments string) run.Part {
	return run.Part{Type: run.CallPart, Call: &run.Call{ProviderID: id, Tool: "read", Arguments: arguments}, Wire: Wire}
}

func faulty(name string, fault run.Fault, raw string) run.Part {
	return run.Part{Type: run.CallPart, Call: &run.Call{Tool: name, Arguments: "{}", Fault: fault, Raw: raw}, Wire: Wire}
}

func opaque(raw string) run.Part { return run.Part{Type: run.OpaquePart, Raw: raw, Wire: Wire} }

func TestOddStreamsAreStillUnderstood(t *testing.T) {
	t.Parallel()
	said := run.Text("Hi")
	signedText := run.Part{Type: run.TextPart, Text: "Hi", Signature: "U2ln", Wire: Wire}
	for _, c := range []struct {
		name, stream string
		stop         run.StopReason
		want         []run.Part
	}{
		{"with comments, unknown events and unknown fields", ": hello\n\nevent: ping\ndata: ping\n\ndata: {\"novelty\":7}\n\n" + stream("STOP", hi), run.StopEndTurn, []run.Part{said}},
		{"with a byte order mark", "\ufeff" + stream("STOP", hi), run.StopEndTurn, []run.Part{said}},
		{"with a [DONE]", stream("STOP", hi) + "data: [DONE]\n\n", run.StopEndTurn, []run.Part{said}},
		{"without the last blank line", strings.TrimRight(stream("STOP", hi), "\n"), run.StopEndTurn, []run.Part{said}},
		{"with an error behind the end", stream("STOP", hi) + `data: {"error":{"code":503,"message":"late"}}` + "\n\n", run.StopEndTurn, []run.Part{said}},
		{"with more than was asked for", stream("STOP", hi) + `data: {"candidates":[{"index":1,"content":{"parts":[{"text":"Ho"}]}}]}` + "\n\n", run.StopEndTurn, []run.Part{said}},
		{"with nothing in it", stream("STOP", ``, `{}`, `{"text":""}`, `{"thought":true,"text":""}`), run.StopEndTurn, nil},
		{"with text in pieces", stream("STOP", `{"text":"H"},{"text":"i"}`, `{"text":""}`), run.StopEndTurn, []run.Part{said}},
		{"with thinking", stream("STOP", `{"text":"Hm","thought":true}`, `{"text":", so.","thought":true}`, hi), run.StopEndTurn,
			[]run.Part{{Type: run.ThinkingPart, Text: "Hm, so.", Wire: Wire}, said}},
		{"with a signature on a text", stream("STOP", `{"text":"Hi","thoughtSignature":"U2ln"}`, hi, hi), run.StopEndTurn, []run.Part{signedText, run.Text("HiHi")}},
		{"with a signature on no text", stream("STOP", hi, `{"text": "", "thoughtSignature":"U2ln"}`), run.StopEndTurn, []run.Part{said, opaque(`{"text": "", "thoughtSignature":"U2ln"}`)}},
		{"with a signature on a call", stream("STOP", `{"functionCall":{"name":"read","args":{"a":1}},"thoughtSignature":"U2ln"}`), run.StopToolUse,
			[]run.Part{{Type: run.CallPart, Call: call("", `{"a":1}`).Call, Signature: "U2ln", Wire: Wire}}},
		{"with Google's own parts", stream("STOP", `{"executableCode":{"code":"x"}},{"text":""}`, `{"codeExecutionResult":{"outcome":"OK"}}`, hi), run.StopEndTurn,
			[]run.Part{opaque(`{"executableCode":{"code":"x"}}`), opaque(`{"codeExecutionResult":{"outcome":"OK"}}`), said}},
		{"with words around calls", stream("STOP", hi, readCall, hi), run.StopToolUse, []run.Part{said, call("", `{"a":1}`), said}},
		{"with two equal calls without ids", stream("STOP", readCall, readCall), run.StopToolUse, []run.Part{call("", `{"a":1}`), call("", `{"a":1}`)}},
		{"with a call told twice", stream("STOP", withID, withID), run.StopToolUse, []run.Part{call("7", `{"a":1}`)}},
		{"with another call of the same id", stream("STOP", withID, strings.Replace(withID, "1", "2", 1)), run.StopToolUse, []run.Part{call("7", `{"a":1}`), call("7", `{"a":2}`)}},
		{"with a call without arguments", stream("STOP", `{"functionCall":{"name":"read"}}`, `{"functionCall":{"name":"read","args":null}}`), run.StopToolUse, []run.Part{call("", "{}"), call("", "{}")}},
		{"with arguments as a string", stream("STOP", `{"functionCall":{"name":"read","args":"{\"a\":1}"}}`), run.StopToolUse, []run.Part{call("", `{"a":1}`)}},
		{"with arguments in pieces", stream("STOP", `{"functionCall":{"name":"read","args":"{\"a\"","willContinue":true},"thoughtSignature":"U2ln"}`, `{"functionCall":{"args":":1}"}}`), run.StopToolUse,
			[]run.Part{{Type: run.CallPart, Call: call("", `{"a":1}`).Call, Signature: "U2ln", Wire: Wire}}},
		{"with arguments by path", stream("STOP", `{"functionCall":{"name":"read","willContinue":true}}`, `{"functionCall":{"partialArgs":[{"jsonPath":"$.a","numberValue":1}],"willContinue":true}}`, `{"functionCall":{}}`), run.StopToolUse,
			[]run.Part{faulty("read", run.FaultNotJSON, `[{"jsonPath":"$.a","numberValue":1}]`)}},
		{"with a call that was never closed", stream("STOP", `{"functionCall":{"name":"read","args":"{\"a\"","willContinue":true}}`, readCall), run.StopToolUse,
			[]run.Part{faulty("read", run.FaultCut, `{"a"`), call("", `{"a":1}`)}},
		{"with arguments that are no object", stream("STOP", `{"functionCall":{"name":"read","args":[1]}}`), run.StopToolUse, []run.Part{faulty("read", run.FaultNotJSON, `[1]`)}},
		{"with a call without a name", stream("STOP", `{"functionCall":{"args":{}}}`), run.StopToolUse, []run.Part{faulty("", run.FaultEmpty, `{}`)}},
		{"with a call at the limit", stream("MAX_TOKENS", readCall, `{"functionCall":{"name":"read"}}`), run.StopMaxTokens, []run.Part{call("", `{"a":1}`), faulty("read", run.FaultCut, "")}},
		{"that was filtered", stream("SAFETY", hi), run.StopFiltered, []run.Part{said}},
		{"that recited", stream("RECITATION"), run.StopFiltered, nil},
		{"that stopped for a reason of its own", stream("OTHER", hi), "OTHER", []run.Part{said}},
		{"with a finish reason in every event", `data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"modelVersion":"m"}` + "\n\n" + stream("STOP", hi), run.StopEndTurn, []run.Part{said, said}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, end := range []string{"\n", "\r\n", "\r"} {
				a, err := decode(strings.NewReader(strings.ReplaceAll(c.stream, "\n", end)))
				if err != nil {
					t.Fatalf("lines ending in %q: %v", end, err)
				}
				if diff := cmp.Diff(c.want, a.Parts); diff != "" {
					t.Errorf("lines ending in %q: parts (-want +got):\n%s", end, diff)
				}
				if a.Stop != c.stop || a.Usage != (run.Usage{Input: 6, CacheRead: 4, Output: 7}) {
					t.Errorf("lines ending in %q: stop %q, usage %+v", end, a.Stop, a.Usage)
				}
			}
		})
	}
}

func TestACallThatGoogleCouldNotReadNeverRunsAndIsTold(t *testing.T) {
	t.Parallel()
	end := func(message string) string {
		return `data: {"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"` + message + `}]}` + "\n\n"
	}
	for _, c := range []struct {
		name, stream string
		want         []run.Part
	}{
		{"with what it was", stream("", hi) + end(`,"finishMessage":"Malformed function call: print(default_api.read("`),
			[]run.Part{run.Text("Hi"), faulty("", run.FaultNotJSON, "Malformed function call: print(default_api.read(")}},
		{"without a word", end(""), []run.Part{faulty("", run.FaultNotJSON, "MALFORMED_FUNCTION_CALL")}},
		{"beside calls, of which it may be any", stream("", readCall) + end(""), []run.Part{faulty("read", run.FaultNotJSON, `{"a":1}`)}},
	} {
		a, err := decode(strings.NewReader(c.stream))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, a.Parts); diff != "" || a.Stop != run.StopToolUse {
			t.Errorf("%s: stop %q, parts (-want +got):\n%s", c.name, a.Stop, diff)
		}
	}
}

func TestStreamsThatAreNoAnswerSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	failed := func(code, status, message string) string {
		return stream("", hi) + `data: {"error":{"code":` + code + `,"status":"` + status + `","message":"` + message + `"}}` + "\n\n"
	}
	for _, c := range []struct {
		name, stream string
		kind         run.ErrorKind
		words        string
	}{
		{"nothing", "", run.ErrBrokenStream, "empty"},
		{"HTML", "<!doctype html>\n<html>data: x</html>", run.ErrBrokenStream, "<!doctype html>"},
		{"a list without events", "[{\n  \"candidates\": [\n    {\n", run.ErrBrokenStream, "take the streaming away"},
		{"a list with an error", `[{"error":{"code":429,"message":"Busy","status":"RESOURCE_EXHAUSTED"}}]`, run.ErrRateLimited, "Busy"},
		{"no finish reason", stream("", hi), run.ErrBrokenStream, "has no end marker"},
		{"a [DONE] without one", stream("", hi) + "data: [DONE]\n\n", run.ErrBrokenStream, ""},
		{"a finish reason that is none", stream("FINISH_REASON_UNSPECIFIED", hi), run.ErrBrokenStream, "has no end marker"},
		{"an event that is torn", "data: {\"candidates\":[{\n\n" + stream("STOP", hi), run.ErrBrokenStream, "cannot decode"},
		{"a part that is none", stream("STOP", `7`), run.ErrBrokenStream, "cannot decode"},
		{"a prompt that was blocked", `data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":3}}` + "\n\n", run.ErrRefused, "PROHIBITED_CONTENT"},
		{"a signature that is missing", stream("MISSING_THOUGHT_SIGNATURE"), run.ErrInvalid, "signature"},
		{"overloaded", failed("503", "UNAVAILABLE", "The model is overloaded."), run.ErrOverloaded, "overloaded"},
		{"out of quota", failed("429", "RESOURCE_EXHAUSTED", "Quota"), run.ErrRateLimited, "Quota"},
		{"the key", failed("400", "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), run.ErrAuth, "not valid"},
		{"the length", failed("400", "INVALID_ARGUMENT", "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."), run.ErrTooLong, "1200293"},
		{"another gateway's words", failed("429", "too_many", "Slow down"), run.ErrRateLimited, "Slow"},
		{"no words", stream("", hi) + `data: {"error":{}}` + "\n\n", run.ErrOverloaded, "without a message"},
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

func TestAWaitInsideAStreamIsTold(t *testing.T) {
	t.Parallel()
	_, err := decode(strings.NewReader(`data: {"error":{"code":429,"message":"Quota","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2.5s"}]}}` + "\n\n"))
	var e *llm.Error
	if !errors.As(err, &e) || e.Wait != 2500*time.Millisecond {
		t.Errorf("got %+v, want a wait of 2.5s", e)
	}
}

func TestABrokenAnswerTellsTheUsageThatWasReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream string
		want   run.Usage
	}{
		"a running total, then cut": {"data: " + `{"candidates":[{"content":{"parts":[{"text":"H"}]}}],"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":2}}` + "\n\n", run.Usage{Input: 5, CacheRead: 4, Output: 2}},
		"a prompt that was blocked": {"data: " + `{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3}}` + "\n\n", run.Usage{Input: 3}},
	} {
		_, err := decode(strings.NewReader(c.stream))
		var e *llm.Error
		if !errors.As(err, &e) || e.Usage != c.want {
			t.Errorf("%s: %+v, want usage %+v", name, err, c.want)
		}
	}
}

// FuzzStream: whatever comes, decoding ends, however it comes it is the same, and a
// call that could run has its name and an object as arguments.
func FuzzStream(f *testing.F) {
	f.Add([]byte(stream("STOP", hi, readCall, withID, `{"text":"","thoughtSignature":"U2ln"}`)))
	f.Add([]byte(stream("MAX_TOKENS", `{"functionCall":{"name":"read","args":"{","willContinue":true}}`)))
	f.Add([]byte(stream("MALFORMED_FUNCTION_CALL")))
	f.Add([]byte(`[{"candidates":`))
	f.Add([]byte("data: {\"error\":{}}\r\r"))
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
				if len(c.Raw) > 2000 {
					t.Fatalf("call %+v", c)
				}
				c.ID = "c_1"
			}
		}
		// Whatever was said can be sent.
		body, err := New(Options{}).Encode(run.Message{Role: run.Assistant, Parts: a.Parts})
		if err != nil || body != nil && !json.Valid(body) {
			t.Fatalf("encoded as %.300s, %v", body, err)
		}
	})
}
