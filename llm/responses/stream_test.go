package responses

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// stream joins events given as JSON, without event lines.
func stream(events ...string) string {
	b := ""
	for _, e := range events {
		b += "data: " + e + "\n\n"
	}
	return b
}

const (
	created   = `{"type":"response.created","response":{"model":"m","status":"in_progress","output":[]},"sequence_number":0}`
	textAdded = `{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}`
	textHi    = `{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1","content_index":0,"delta":"Hi"}`
	textItem  = `{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"Hi"}],"role":"assistant"}`
	textDone  = `{"type":"response.output_item.done","output_index":0,"item":` + textItem + `}`
	callAdded = `{"type":"response.output_item.added","output_index":1,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_1","name":"read"}}`
	callArgs1 = `{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"fc_1","delta":"{\"a\""}`
	callArgs2 = `{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"fc_1","delta":":1}"}`
	argsDone  = `{"type":"response.function_call_arguments.done","output_index":1,"item_id":"fc_1","arguments":"{\"a\":1}"}`
	callItemJ = `{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"a\":1}","call_id":"call_1","name":"read"}`
	callDone  = `{"type":"response.output_item.done","output_index":1,"item":` + callItemJ + `}`
	usageJ    = `"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":3},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":15}`
)

// completed is the event at the end, with items as its output.
func completed(items ...string) string {
	return `{"type":"response.completed","response":{"model":"m-1","status":"completed","output":[` + strings.Join(items, ",") + `],` + usageJ + `}}`
}

// ended is the event at the end of an answer that is incomplete.
func ended(reason string, items ...string) string {
	return `{"type":"response.incomplete","response":{"model":"m-1","status":"incomplete","incomplete_details":{"reason":"` + reason + `"},"output":[` + strings.Join(items, ",") + `],` + usageJ + `}}`
}

func call(id string, arguments string) run.Part {
	return run.Part{Type: run.CallPart, Call: &run.Call{ProviderID: id, Tool: "read", Arguments: arguments}}
}

func cut(id, raw string) run.Part {
	return run.Part{Type: run.CallPart, Call: &run.Call{ProviderID: id, Tool: "read", Arguments: "{}", Fault: run.FaultCut, Raw: raw}}
}

func TestOddStreamsAreStillUnderstood(t *testing.T) {
	t.Parallel()
	hi := []run.Part{run.Text("Hi")}
	both := []run.Part{run.Text("Hi"), call("call_1", `{"a":1}`)}
	other := func(event string) string { // another id with every event
		n := 0
		for strings.Contains(event, "fc_1") {
			event = strings.Replace(event, "fc_1", fmt.Sprintf("odd_%d_%d", len(event), n), 1)
			n++
		}
		return event
	}
	zero := func(event string) string { return strings.ReplaceAll(event, `"output_index":1`, `"output_index":0`) }
	bare := func(event string) string { // neither index nor id
		for _, field := range []string{`"output_index":0,`, `"output_index":1,`, `"item_id":"msg_1",`, `"item_id":"fc_1",`, `"id":"msg_1",`, `"id":"fc_1",`} {
			event = strings.ReplaceAll(event, field, "")
		}
		return event
	}
	each := func(change func(string) string, events ...string) string {
		for i := range events {
			events[i] = change(events[i])
		}
		return stream(events...)
	}
	all := func() []string {
		return []string{created, textAdded, textHi, textDone, callAdded, callArgs1, callArgs2, argsDone, callDone, completed(textItem, callItemJ)}
	}
	second := strings.NewReplacer("fc_1", "fc_2", "call_1", "call_2", `"output_index":1`, `"output_index":2`, `\"a\"`, `\"b\"`)
	numbered := func(n int, event string) string {
		return strings.TrimSuffix(event, "}") + fmt.Sprintf(`,"sequence_number":%d}`, n)
	}
	// An end that leaves it to the deltas.
	silent := strings.NewReplacer(`"text":"Hi"`, `"text":""`, `"{\"a\":1}"`, `"{}"`).Replace
	for _, c := range []struct {
		name, stream string
		want         []run.Part
	}{
		{"as it should be", stream(all()...), both},
		{"with comments, unknown events and unknown fields", ": hello\n\nretry: 3\nid: 7\n\nevent: ping\ndata: pong\n\n" +
			stream(created, textAdded, `{"type":"novelty","output_index":"odd","delta":7,"item":3}`, textHi, `{"type":"keepalive","sequence_number":3}`, textDone, completed(textItem)), hi},
		{"with a byte order mark", "\ufeff" + stream(created, textAdded, textHi, textDone, completed(textItem)), hi},
		{"with the type in the event line alone", stream(created) +
			"event: response.output_item.done\ndata: {\"output_index\":0,\"item\":" + textItem + "}\n\n" + stream(completed()), hi},
		{"without the last blank line", strings.TrimRight(stream(all()...), "\n"), both},
		{"with a [DONE]", stream(append(all(), "[DONE]")...), both},
		{"with something behind the end", stream(append(all(), `{"type":"error","message":"late"}`)...), both},

		{"with 0 as every index", each(zero, all()...), both},
		{"with another id in every event", each(other, all()...), both},
		{"with neither index nor id", each(bare, all()...), []run.Part{run.Text("Hi"), call("call_1", `{"a":1}`)}},
		{"with events repeated", stream(created, numbered(1, textAdded), numbered(2, textAdded), numbered(3, textHi), numbered(3, textHi),
			numbered(4, silent(textDone)), numbered(5, textDone), numbered(6, callAdded), numbered(7, callArgs1), numbered(7, callArgs1), numbered(8, callArgs2),
			numbered(9, silent(callDone)), numbered(10, callDone), completed()), both},
		{"with the same number in every event", each(func(e string) string { return strings.TrimSuffix(e, "}") + `,"sequence_number":0}` }, all()[1:]...), both},
		{"with two calls interleaved", stream(created, callAdded, second.Replace(callAdded), second.Replace(callArgs1), callArgs1, callArgs2,
			second.Replace(callArgs2), second.Replace(callDone), callDone, completed()),
			[]run.Part{call("call_1", `{"a":1}`), call("call_2", `{"b":1}`)}},
		{"with one item id for two calls interleaved", strings.ReplaceAll(stream(created, callAdded, second.Replace(callAdded), second.Replace(callArgs1), callArgs1, callArgs2,
			second.Replace(callArgs2), silent(second.Replace(callDone)), silent(callDone), completed()), "fc_2", "fc_1"),
			[]run.Part{call("call_1", `{"a":1}`), call("call_2", `{"b":1}`)}},
		{"with one call id for two calls", stream(created, callAdded, callArgs1, callArgs2, callDone,
			strings.ReplaceAll(second.Replace(callDone), "call_2", "call_1"), completed()),
			[]run.Part{call("call_1", `{"a":1}`), call("call_1", `{"b":1}`)}},

		{"with items that were not announced", stream(created, textDone, callDone, completed()), both},
		{"with texts that were not announced", stream(created, textHi, completed()), hi},
		{"with everything in the response at the end", stream(completed(textItem, callItemJ)), both},
		{"with the calls in the response at the end alone", stream(created, textAdded, textHi, textDone, completed(textItem, callItemJ)), both},
		{"with other ids in the response at the end", stream(created, textAdded, textHi, textDone, callAdded, callArgs1, callArgs2, callDone,
			completed(strings.ReplaceAll(textItem, "msg_1", "msg_9"), strings.NewReplacer("fc_1", "fc_9", "call_1", "call_9").Replace(callItemJ))), both},
		{"with no output at the end", stream(created, textDone, callDone, `{"type":"response.completed","response":{"output":null,"model":"m-1",`+usageJ+`}}`), both},
		{"with items that end only in the response", stream(created, textAdded, textHi, callAdded, callArgs1, callArgs2, completed(textItem, callItemJ)), both},
		{"with a call that never ends", stream(created, textAdded, textHi, callAdded, callArgs1, callArgs2, completed()),
			[]run.Part{run.Text("Hi"), cut("call_1", `{"a":1}`)}},
		{"with a call of which only the arguments end", stream(created, textAdded, textHi, callAdded, callArgs1, callArgs2, argsDone, completed()), both},
		{"with fragments of no call", stream(created, textAdded, textHi, callArgs1, textDone, completed()), hi},
		{"with something behind an item's end", stream(created, textAdded, textHi, textDone, textHi, callAdded, callArgs1, callArgs2, callDone, callArgs1, completed()), both},

		{"with an end that is silent about the text", stream(created, textAdded, textHi, silent(textDone), completed()), hi},
		{"with an end without contents", stream(created, textAdded, textHi,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","content":null}}`, completed()), hi},
		{"with another place for the text at its end", stream(created, textAdded, strings.Replace(textHi, `"content_index":0`, `"content_index":1`, 1), textDone, completed()), hi},
		{"with a text that is no list", stream(created, `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":"Hi"}}`, completed()), hi},
		{"with a text that lost a delta", stream(created, textAdded, strings.Replace(textHi, `"Hi"`, `"H"`, 1), textDone, completed()), hi},
		{"with arguments that did not stream", stream(created, textDone, callAdded, callDone, completed()), both},
		{"with arguments that are an object", stream(created, textDone, callAdded, strings.Replace(callDone, `"{\"a\":1}"`, `{"a":1}`, 1), completed()), both},
		{"with an end that is silent about the arguments", stream(created, textDone, callAdded, callArgs1, callArgs2, silent(callDone), completed()), both},
		{"with a name that comes with the end", stream(created, textDone, strings.Replace(callAdded, `"read"`, `""`, 1), callArgs1, callArgs2, callDone, completed()), both},
		{"with another word for the end", stream(created, textDone, callDone, strings.Replace(completed(), "response.completed", "response.done", 1)), both},
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
				stop := run.StopEndTurn
				if c.want[len(c.want)-1].Call != nil {
					stop = run.StopToolUse
				}
				if a.Stop != stop || a.Usage != (run.Usage{Input: 3, CacheRead: 4, CacheWrite: 3, Output: 5}) || a.Model != "m-1" {
					t.Errorf("lines ending in %q: stop %q, usage %+v, model %q", end, a.Stop, a.Usage, a.Model)
				}
			}
		})
	}
}

func TestWhatIsShownIsWhatTheAnswerHas(t *testing.T) {
	t.Parallel()
	// The text lost a delta, and the reasoning came with its end only.
	s := stream(created,
		`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"encrypted_content":"x"}}`,
		strings.Replace(textHi, `"Hi"`, `"H"`, 1), textDone, callAdded, callArgs1, callArgs2, callDone, completed())
	var text, thinking, input string
	var begun []string
	var parts []run.Part
	a, err := wire.Decode(strings.NewReader(s), func(d llm.Delta) bool {
		text, thinking, input = text+d.Text, thinking+d.Thinking, input+d.Input
		if d.Call != "" {
			begun = append(begun, d.Call)
		}
		if d.Part != nil {
			parts = append(parts, *d.Part)
		}
		return true
	}, assembler(Wire))
	if err != nil {
		t.Fatal(err)
	}
	if text != "Hi" || thinking != "One.\n\nTwo." || input != `{"a":1}` || !cmp.Equal(begun, []string{"read"}) {
		t.Errorf("shown: text %q, thinking %q, input %q, calls %q", text, thinking, input, begun)
	}
	if diff := cmp.Diff(a.Parts, parts); diff != "" {
		t.Errorf("finished parts (-answer +told):\n%s", diff)
	}
}

func TestReasoningGoesBackAsItEnded(t *testing.T) {
	t.Parallel()
	const (
		added    = `{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"first"}}`
		summary1 = `{"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_1","summary_index":0,"delta":"Hm,"}`
		summary2 = `{"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_1","summary_index":1,"delta":"well."}`
		raw1     = `{"type":"response.reasoning_text.delta","output_index":0,"item_id":"rs_1","content_index":0,"delta":"Hm."}`
	)
	done := func(item string) string {
		return `{"type":"response.output_item.done","output_index":0,"item":` + item + `}`
	}
	const (
		shown  = `{"id":"rs_1","type":"reasoning",  "novelty":1e400,"summary":[{"type":"summary_text","text":"Hm,"},{"type":"summary_text","text":"well."}],"encrypted_content":"last"}`
		hidden = `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"last"}`
		plain  = `{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]}`
		stored = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":null}`
		empty  = `{"id":"rs_1","type":"reasoning","summary":[]}`
	)
	thinking := func(text, raw string) []run.Part {
		return []run.Part{{Type: run.ThinkingPart, Text: text, Signature: raw, Wire: Wire}}
	}
	for _, c := range []struct {
		name   string
		events []string
		want   []run.Part
	}{
		{"a summary has the whole item as its signature", []string{added, summary1, summary2, done(shown), completed(shown)}, thinking("Hm,\n\nwell.", shown)},
		{"a summary that did not stream", []string{done(shown), completed()}, thinking("Hm,\n\nwell.", shown)},
		{"what shows nothing is the item alone", []string{added, done(hidden), completed()}, []run.Part{{Type: run.OpaquePart, Raw: hidden, Wire: Wire}}},
		{"what is told in full needs no ciphertext", []string{added, raw1, done(plain), completed()}, thinking("Hm.", plain)},
		{"what was told in full at its end", []string{done(plain), completed()}, thinking("Hm.", plain)},
		{"what only the server keeps is shown and not sent", []string{done(stored), completed()}, thinking("Hm.", "")},
		{"what only the server keeps and nobody sees is nothing", []string{added, done(empty), completed()}, nil},
		{"what never ended is shown and not sent", []string{added, summary1, completed()}, thinking("Hm,", "")},
		{"what ended in the response alone", []string{added, summary1, summary2, completed(shown)}, thinking("Hm,\n\nwell.", shown)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, err := decode(strings.NewReader(stream(c.events...)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, a.Parts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatMeansNothingToUsIsKept(t *testing.T) {
	t.Parallel()
	const search = `{"id":"ws_1","type":"web_search_call",  "status":"completed","content":{"odd":true},"arguments":{"q":1}}`
	a, err := decode(strings.NewReader(stream(created,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}`,
		`{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws_1"}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+search+`}`,
		strings.ReplaceAll(textDone, `"output_index":0`, `"output_index":1`), completed(search, textItem))))
	if err != nil {
		t.Fatal(err)
	}
	want := []run.Part{{Type: run.OpaquePart, Raw: search, Wire: Wire}, run.Text("Hi")}
	if diff := cmp.Diff(want, a.Parts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheStopReasonIsDerived(t *testing.T) {
	t.Parallel()
	const refusal = `{"id":"msg_1","type":"message","content":[{"type":"refusal","refusal":"No."}],"role":"assistant"}`
	half := strings.Replace(callItemJ, `"{\"a\":1}"`, `"{\"a\":"`, 1)
	for _, c := range []struct {
		name   string
		events []string
		stop   run.StopReason
		parts  []run.Part
	}{
		{"text", []string{textDone, completed()}, run.StopEndTurn, []run.Part{run.Text("Hi")}},
		{"calls", []string{callDone, completed()}, run.StopToolUse, []run.Part{call("call_1", `{"a":1}`)}},
		{"nothing", []string{completed()}, run.StopEndTurn, nil},
		{"a refusal", []string{textAdded, strings.NewReplacer("output_text", "refusal", "Hi", "No.").Replace(textHi), completed(refusal)}, run.StopRefusal, []run.Part{run.Text("No.")}},
		{"a refusal at the end alone", []string{completed(refusal)}, run.StopRefusal, []run.Part{run.Text("No.")}},
		{"the limit in a text", []string{textAdded, textHi, ended("max_output_tokens", textItem)}, run.StopMaxTokens, []run.Part{run.Text("Hi")}},
		{"the limit, with completed as the event", []string{textDone, strings.Replace(ended("max_output_tokens"), "response.incomplete", "response.completed", 1)}, run.StopMaxTokens, []run.Part{run.Text("Hi")}},
		{"the limit in a call", []string{callAdded, callArgs1, ended("max_output_tokens", strings.Replace(half, "completed", "incomplete", 1))}, run.StopMaxTokens, []run.Part{cut("call_1", `{"a":`)}},
		{"the limit in a call that is said to be whole", []string{`{"type":"response.output_item.done","output_index":0,"item":` + half + `}`, ended("max_output_tokens")}, run.StopMaxTokens, []run.Part{cut("call_1", `{"a":`)}},
		{"the limit before a call's arguments", []string{callAdded, strings.Replace(callDone, `"{\"a\":1}"`, `""`, 1), ended("max_output_tokens")}, run.StopMaxTokens, []run.Part{cut("call_1", "")}},
		{"a call that is incomplete although its arguments look whole", []string{strings.Replace(callDone, `"completed"`, `"incomplete"`, 1), ended("max_output_tokens")}, run.StopMaxTokens, []run.Part{cut("call_1", `{"a":1}`)}},
		{"the limit behind a call", []string{callDone, ended("max_output_tokens")}, run.StopMaxTokens, []run.Part{call("call_1", `{"a":1}`)}},
		{"a filter", []string{textDone, ended("content_filter")}, run.StopFiltered, []run.Part{run.Text("Hi")}},
		{"a filter over a call", []string{callDone, ended("content_filter")}, run.StopFiltered, []run.Part{call("call_1", `{"a":1}`)}},
		{"a new reason", []string{textDone, ended("out_of_cheese")}, "out_of_cheese", []run.Part{run.Text("Hi")}},
		{"no reason", []string{textDone, ended("")}, "incomplete", []run.Part{run.Text("Hi")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, err := decode(strings.NewReader(stream(c.events...)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.parts, a.Parts); diff != "" || a.Stop != c.stop {
				t.Errorf("stop %q, want %q; parts (-want +got):\n%s", a.Stop, c.stop, diff)
			}
		})
	}
}

func TestAPartThatWasToldIsNotChangedByTheLimit(t *testing.T) {
	t.Parallel()
	var told *run.Part
	a, err := wire.Decode(strings.NewReader(stream(callAdded, strings.Replace(callDone, `"{\"a\":1}"`, `""`, 1), ended("max_output_tokens"))),
		func(d llm.Delta) bool {
			if d.Part != nil {
				told = d.Part
			}
			return true
		}, assembler(Wire))
	if err != nil || a.Parts[0].Call.Fault != run.FaultCut || told.Call.Fault != run.NoFault {
		t.Errorf("told %+v, answer %+v, %v", told.Call, a, err)
	}
}

func TestStreamsThatAreNoAnswerSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	failed := func(err string) string {
		return `{"type":"response.failed","response":{"status":"failed","error":` + err + `,"output":[]}}`
	}
	for _, c := range []struct {
		name, stream string
		kind         run.ErrorKind
		words        string
	}{
		{"nothing", "", run.ErrBrokenStream, "empty"},
		{"HTML", "<!doctype html>\n<html>data: x</html>", run.ErrBrokenStream, "<!doctype html>"},
		{"an error as JSON", `{"error":{"type":"server_error","message":"Busy"}}`, run.ErrOverloaded, "Busy"},
		{"no event that counts", ": hello\n\n", run.ErrBrokenStream, "ended before it began"},
		{"everything but the end", stream(created, textAdded, textHi, textDone), run.ErrBrokenStream, "has no end marker"},
		{"a [DONE] instead of the end", stream(created, textAdded, textHi, textDone, "[DONE]"), run.ErrBrokenStream, "has no end marker"},
		{"an event that is torn", stream(created, `{"type":"response.function_call_argum`, callDone, completed()), run.ErrBrokenStream, "cannot decode"},
		{"a fragment that is no text", stream(created, callAdded, strings.Replace(callArgs1, `"{\"a\""`, `7`, 1), callDone, completed()), run.ErrBrokenStream, "cannot decode"},
		{"a call that is none", stream(created, `{"type":"response.output_item.done","item":{"type":"function_call","name":7}}`, completed()), run.ErrBrokenStream, "cannot decode"},
		{"an error without words", stream(created, `{"type":"error"}`), run.ErrOverloaded, "without a message"},
		{"an error as documented", stream(created, `{"type":"error","code":"rate_limit_exceeded","message":"Slow down","param":null}`), run.ErrRateLimited, "Slow down"},
		{"an error as it comes", stream(created, `{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`), run.ErrTooLong, "context window"},
		{"an error without a type", stream(created, `{"error":{"code":502,"message":"Provider disconnected"}}`), run.ErrOverloaded, "Provider disconnected"},
		{"a limit of a gateway's provider", stream(created, `{"error":{"code":429,"message":"Provider returned error"}}`), run.ErrRateLimited, "Provider"},
		{"an error in the event line", "event: error\ndata: {\"message\":\"no\",\"code\":\"invalid_api_key\"}\n\n", run.ErrAuth, "no"},
		{"a failed response", stream(created, textAdded, textHi, failed(`{"code":"server_error","message":"Sorry about that!"}`)), run.ErrOverloaded, "Sorry"},
		{"a failed response that is said to be completed", stream(created, strings.Replace(failed(`{"code":"server_error","message":"Sorry"}`), "response.failed", "response.completed", 1)), run.ErrOverloaded, "Sorry"},
		{"a failed response without words", stream(created, failed("null")), run.ErrOverloaded, "without a message"},
		{"a prompt that was flagged", stream(created, failed(`{"code":"invalid_prompt","message":"Invalid prompt: flagged"}`)), run.ErrRefused, "flagged"},
		{"a picture that cannot be read", stream(created, failed(`{"code":"image_parse_error","message":"bad picture"}`)), run.ErrInvalid, "picture"},
		{"spent money", stream(created, failed(`{"code":"insufficient_quota","message":"check your plan"}`)), run.ErrInvalid, "plan"},
		{"too many parts", stream(manyItems()...), run.ErrBrokenStream, "more than 4096 parts"},
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

func manyItems() []string {
	var events []string
	for i := range maxItems + 1 {
		events = append(events, fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"message","id":"m%d"}}`, i, i))
	}
	return append(events, completed())
}

func TestAWaitInsideAStreamIsTold(t *testing.T) {
	t.Parallel()
	_, err := decode(strings.NewReader(stream(created, `{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached for gpt-5.1 on tokens per min (TPM): Limit 30000, Used 22999, Requested 12528. Please try again in 11.054s. Visit …"}}}`)))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != run.ErrRateLimited || e.Wait != 11054*time.Millisecond {
		t.Errorf("got %+v, want rate_limited with a wait of 11.054s", e)
	}
}

func TestWhatWasUnderstoodIsOneObjectWithTheseNames(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(DecodeRecording(strings.NewReader(stream(created, textDone, callDone, completed()))))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"text":"Hi","thinking":"","calls":[{"id":"call_1","name":"read","arguments":{"a":1},"error":""}],"stop_reason":"tool_use",` +
		`"usage":{"input_tokens":3,"output_tokens":5,"cache_read_tokens":4,"cache_write_tokens":3},"error_kind":""}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestABrokenAnswerTellsTheUsageThatWasReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream string
		want   run.Usage
	}{
		"a response that failed":  {stream(created, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"no"},`+usageJ+`}}`), run.Usage{Input: 3, CacheRead: 4, CacheWrite: 3, Output: 5}},
		"a response that was cut": {stream(`{"type":"response.in_progress","response":{"model":"m-1",` + usageJ + `}}`), run.Usage{Input: 3, CacheRead: 4, CacheWrite: 3, Output: 5}},
	} {
		_, err := decode(strings.NewReader(c.stream))
		var e *llm.Error
		if !errors.As(err, &e) || e.Usage != c.want {
			t.Errorf("%s: %+v, want usage %+v", name, err, c.want)
		}
	}
}

// FuzzStream: whatever comes, decoding ends, and a call that could run had its end
// and its name, and has an object as arguments.
func FuzzStream(f *testing.F) {
	f.Add([]byte(stream(created, textAdded, textHi, textDone, callAdded, callArgs1, callArgs2, argsDone, callDone, completed(textItem, callItemJ))))
	f.Add([]byte(stream(callAdded, callArgs1, ended("max_output_tokens"))))
	f.Add([]byte(stream(completed(textItem, callItemJ))))
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
		escaped := bytes.ContainsRune(data, '\\') // names may be spelled in escapes
		whole := bytes.Count(data, []byte("function_call"))
		for _, part := range a.Parts {
			if part.Type == run.OpaquePart && !json.Valid([]byte(part.Raw)) || part.Signature != "" && part.Type == run.ThinkingPart && !json.Valid([]byte(part.Signature)) {
				t.Fatalf("a part that cannot go back: %+v", part)
			}
			if c := part.Call; c != nil {
				whole--
				if len(c.Raw) > 2000 || whole < 0 && !escaped {
					t.Fatalf("call %+v", c)
				}
			}
		}
	})
}
