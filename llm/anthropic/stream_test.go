package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
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

func TestRecordedStreamsAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, want := range llmtest.Recordings(t, "anthropic") {
		t.Run(want.File, func(t *testing.T) {
			t.Parallel()
			data := want.Data
			a, err := decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			tools, bad := 0, 0
			for _, part := range a.Parts {
				switch {
				case part.Call != nil:
					tools++
					if part.Call.Fault != run.NoFault {
						bad++
						if len(want.BadArgs) > 0 && !strings.HasPrefix(part.Call.Raw, want.BadArgs[0]) {
							t.Errorf("raw arguments are %q, want %q", part.Call.Raw, want.BadArgs[0])
						}
					}
				case part.Type == run.OpaquePart && strings.Contains(part.Raw, `"server_tool_use"`):
					tools++
				}
				if part.Type == run.ThinkingPart && part.Signature == "" {
					t.Error("thinking without its signature")
				}
				if part.Type == run.OpaquePart && !json.Valid([]byte(part.Raw)) {
					t.Errorf("an opaque part that is no JSON: %.200s", part.Raw)
				}
			}
			if tools != want.Tools || bad != len(want.BadArgs) || string(a.Stop) != want.Stop {
				t.Errorf("%d tools, %d with bad arguments, stop %q; want %d, %d, %q", tools, bad, a.Stop, want.Tools, len(want.BadArgs), want.Stop)
			}
			if a.Model == "" || a.Usage.Input == 0 {
				t.Errorf("model %q, usage %+v", a.Model, a.Usage)
			}
			u := DecodeRecording(bytes.NewReader(data))
			if u.ErrorKind != "" || u.Text != texts(data, "text_delta", "text") || u.Thinking != texts(data, "thinking_delta", "thinking") {
				t.Errorf("understood as %+v", u)
			}
		})
	}
}

// texts joins a field of all deltas of a kind, without the decoder.
func texts(stream []byte, kind, field string) string {
	var b strings.Builder
	for line := range strings.Lines(string(stream)) {
		var e struct {
			Delta map[string]any `json:"delta"`
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if ok && json.Unmarshal([]byte(data), &e) == nil && e.Delta["type"] == kind {
			b.WriteString(e.Delta[field].(string))
		}
	}
	return b.String()
}

func TestHowAStreamIsCutIntoReadsDoesNotMatter(t *testing.T) {
	t.Parallel()
	for _, r := range llmtest.Recordings(t, "anthropic") {
		t.Run(r.File, func(t *testing.T) {
			t.Parallel()
			llmtest.SameHoweverRead(t, r.Data, decode)
		})
	}
}

func TestAStreamThatEndsTooEarlyIsNeverAnAnswer(t *testing.T) {
	t.Parallel()
	for _, r := range llmtest.Recordings(t, "anthropic") {
		t.Run(r.File, func(t *testing.T) {
			t.Parallel()
			llmtest.BrokenBefore(t, r.Data, bytes.LastIndex(r.Data, []byte(`"message_delta"`)), decode)
		})
	}
}

const start = `data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":3,"output_tokens":1}}}` + "\n\n"

// stream joins events given as JSON, without event lines.
func stream(events ...string) string {
	b := start
	for _, e := range events {
		b += "data: " + e + "\n\n"
	}
	return b
}

const (
	textStart = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	textHi    = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`
	textStop  = `{"type":"content_block_stop","index":0}`
	endTurn   = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`
	end       = `{"type":"message_stop"}`
	callStart = `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"read","input":{}}}`
	callArgs  = `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`
	callStop  = `{"type":"content_block_stop","index":1}`
)

func TestOddStreamsAreStillUnderstood(t *testing.T) {
	t.Parallel()
	hi := []run.Part{run.Text("Hi")}
	callPart := run.Part{Type: run.CallPart, Call: &run.Call{ProviderID: "t", Tool: "read", Arguments: `{"a":1}`}}
	cutPart := run.Part{Type: run.CallPart, Call: &run.Call{ProviderID: "t", Tool: "read", Arguments: "{}", Fault: run.FaultCut, Raw: `{"a":1}`}}
	for _, c := range []struct {
		name, stream string
		want         []run.Part
	}{
		{"without event lines", stream(textStart, textHi, textStop, endTurn, end), hi},
		{"with comments, unknown events and unknown fields", ": hello\n\nretry: 3\nid: 7\n\n" +
			stream(textStart, `{"type":"novelty","index":"odd","delta":7}`, textHi, `{"type":"ping"}`, textStop, endTurn, end), hi},
		{"with a byte order mark", "\ufeff" + stream(textStart, textHi, textStop, endTurn, end), hi},
		{"with the type in the event line alone", start + "event: content_block_start\ndata: {\"content_block\":{\"type\":\"text\",\"text\":\"Hi\"}}\n\n" + stream(endTurn, end), hi},
		{"with an event in several data lines", start + "data: {\"type\":\"content_block_start\",\ndata: \"content_block\":{\"type\":\"text\",\"text\":\"Hi\"}}\n\n" + stream(endTurn, end), hi},
		{"with blocks started and stopped twice", stream(textStart, textStart, textHi, textStop, textStop, callStart, callArgs, callStart, callStop, endTurn, end),
			[]run.Part{run.Text("Hi"), callPart}},
		{"with zeros for what was read", stream(textStart, textHi, textStop, strings.Replace(endTurn, `"usage":{`, `"usage":{"input_tokens":0,`, 1), end), hi},
		{"without message_stop and the last blank line", strings.TrimRight(stream(textStart, textHi, textStop, endTurn), "\n"), hi},
		{"with a delta for no block", stream(textStart, textHi, textStop, textHi, callArgs, endTurn, end), hi},
		{"with a [DONE]", stream(textStart, textHi, textStop, endTurn, "[DONE]"), hi},
		{"without message_stop", stream(textStart, textHi, textStop, endTurn), hi},
		{"without the last blank line", strings.TrimRight(stream(textStart, textHi, textStop, endTurn, end), "\n"), hi},
		{"with something behind the end", stream(textStart, textHi, textStop, endTurn, end, `{"type":"error","error":{"type":"api_error","message":"late"}}`), hi},
		{"with a whole call", stream(callStart, callArgs, callStop, endTurn, end), []run.Part{callPart}},
		{"with a call that was never closed", stream(callStart, callArgs, endTurn, end), []run.Part{cutPart}},
		{"with all arguments at once", stream(strings.Replace(callStart, `"input":{}`, `"input":{"a":1}`, 1), callStop, endTurn, end), []run.Part{callPart}},
		{"with blocks that mean nothing to us", stream(
			`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"q\":"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"x\"}"}}`, textStop,
			`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking",  "data":"<x>"}}`, callStop,
			`{"type":"content_block_start","index":2,"content_block":{"type":"compaction","content":null}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"compaction_delta","content":"so "}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"compaction_delta","content":"far"}}`,
			`{"type":"content_block_stop","index":2}`, endTurn, end),
			[]run.Part{
				{Type: run.OpaquePart, Wire: Wire, Raw: `{"id":"s","input":{"q":"x"},"name":"web_search","type":"server_tool_use"}`},
				{Type: run.OpaquePart, Wire: Wire, Raw: `{"type":"redacted_thinking",  "data":"<x>"}`},
				{Type: run.OpaquePart, Wire: Wire, Raw: `{"content":"so far","type":"compaction"}`},
			}},
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
				if a.Stop != run.StopEndTurn || a.Usage != (run.Usage{Input: 3, Output: 5}) {
					t.Errorf("lines ending in %q: stop %q, usage %+v", end, a.Stop, a.Usage)
				}
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
		{"HTML", "<!doctype html>\n<html>data: x</html>", run.ErrBrokenStream, "<!doctype html>"},
		{"compressed", "\x1f\x8b\x08\x00garbage", run.ErrBrokenStream, "proxy"},
		{"an error as JSON", `{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}`, run.ErrOverloaded, "Busy"},
		{"the beginning of a stream", "event: mess", run.ErrBrokenStream, "ended before it began"},
		{"no event that counts", ": hello\n\n", run.ErrBrokenStream, "ended before it began"},
		{"an event that is torn", start + `data: {"type":"content_block_del` + "\n\n" + stream(endTurn, end), run.ErrBrokenStream, "cannot decode an event: it is not JSON"},
		{"an error without words", stream(`{"type":"error"}`), run.ErrOverloaded, "without a message"},
		{"an error of the key", stream(`{"type":"error","error":{"type":"authentication_error","message":"no"}}`), run.ErrAuth, "no"},
		{"an error of the length", stream(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}`), run.ErrTooLong, "too long"},
		{"an answer that was filtered", stream(`{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`), run.ErrRefused, "blocked"},
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

func TestWhatWasUnderstoodIsOneObjectWithTheseNames(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(DecodeRecording(strings.NewReader(stream(textStart, textHi, textStop, callStart, callArgs, callStop, endTurn, end))))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"text":"Hi","thinking":"","calls":[{"id":"t","name":"read","arguments":{"a":1},"error":""}],"stop_reason":"end_turn",` +
		`"usage":{"input_tokens":3,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0},"error_kind":""}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got, _ = json.Marshal(DecodeRecording(strings.NewReader(stream(textStart, textHi, callStart, callArgs))))
	want = `{"text":"Hi","thinking":"","calls":[],"stop_reason":"","usage":{"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0},"error_kind":"broken_stream"}`
	if string(got) != want {
		t.Errorf("a broken one:\ngot  %s\nwant %s", got, want)
	}
}

func TestABrokenAnswerTellsTheUsageThatWasReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream string
		want   run.Usage
	}{
		"cut after its start":       {stream(textStart, textHi), run.Usage{Input: 3, Output: 1}},
		"an error after its end":    {stream(textStart, textHi, textStop, strings.Replace(endTurn, `"end_turn"`, `null`, 1), `{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}`), run.Usage{Input: 3, Output: 5}},
		"figures beyond all bounds": {strings.Replace(stream(textHi), `"input_tokens":3`, `"input_tokens":1e300`, 1), run.Usage{Input: 1 << 40, Output: 1}},
	} {
		_, err := decode(strings.NewReader(c.stream))
		var e *llm.Error
		if !errors.As(err, &e) || e.Usage != c.want {
			t.Errorf("%s: %+v, want usage %+v", name, err, c.want)
		}
	}
}

// FuzzStream: whatever comes, decoding ends, and a call that could run had its
// end and its name, and has an object as arguments.
func FuzzStream(f *testing.F) {
	f.Add([]byte(stream(textStart, textHi, textStop, callStart, callArgs, callStop, endTurn, end)))
	f.Add([]byte(stream(callStart, callArgs, endTurn)))
	f.Add([]byte("<html>"))
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
		closed := bytes.Count(data, []byte("content_block_stop"))
		escaped := bytes.ContainsRune(data, '\\') // names may be spelled in escapes
		for _, part := range a.Parts {
			c := part.Call
			if c == nil {
				continue
			}
			if len(c.Raw) > 2000 {
				t.Fatalf("call %+v", c)
			}
			if c.Fault == run.NoFault {
				closed--
				if closed < 0 && !escaped {
					t.Fatalf("a call that never ended: %+v", c)
				}
			}
		}
	})
}
