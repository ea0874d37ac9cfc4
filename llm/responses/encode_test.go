package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/run"
)

func TestWhatAMessageIsOnTheWire(t *testing.T) {
	t.Parallel()
	thought := run.Part{Type: run.ThinkingPart, Text: "hm", Signature: `{"id":"rs_1",  "type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"}`, Wire: Wire}
	hidden := run.Part{Type: run.OpaquePart, Raw: `{"id":"rs_2","type":"reasoning",  "summary":[],"encrypted_content":"y"}`, Wire: Wire}
	search := run.Part{Type: run.OpaquePart, Raw: `{"id":"ws_1","type":"web_search_call",  "status":"completed"}`, Wire: Wire}
	callPart := run.Part{Type: run.CallPart, Call: &run.Call{ID: "c_7", ProviderID: "call_same", Tool: "read", Arguments: `{"n":1e400, "q":"<a>"}`}}
	phased := func(text, phase, maker string) run.Part {
		return run.Part{Type: run.TextPart, Text: text, Signature: phase, Wire: maker}
	}
	picture := func(kind string) run.Part {
		return run.Part{Type: run.ImagePart, Image: &run.Image{MediaType: kind, Data: []byte("png")}}
	}
	result := func(isError bool, content ...run.Part) run.Part {
		return run.Part{Type: run.ResultPart, Result: &run.Result{Call: "c_7", Content: content, IsError: isError}}
	}
	for _, c := range []struct {
		name  string
		role  run.Role
		parts []run.Part
		want  string // empty: nothing
	}{
		{"text is not escaped more than it must be", run.User, []run.Part{run.Text("a<b & \"c\"\n")},
			`[{"type":"message","role":"user","content":[{"type":"input_text","text":"a<b & \"c\"\n"}]}]`},
		{"blank text is never sent", run.User, []run.Part{run.Text(""), run.Text(" \n")}, ``},
		{"results stand before words", run.User, []run.Part{run.Text("and"), result(false, run.Text("ok"))},
			`[{"type":"function_call_output","call_id":"c_7","output":"ok"},{"type":"message","role":"user","content":[{"type":"input_text","text":"and"}]}]`},
		{"texts of a result are lines", run.User, []run.Part{result(false, run.Text("a"), run.Text(""), run.Text("b"))},
			`[{"type":"function_call_output","call_id":"c_7","output":"a\nb"}]`},
		{"an error says so in words", run.User, []run.Part{result(true, run.Text("no such file"))},
			`[{"type":"function_call_output","call_id":"c_7","output":"Error: no such file"}]`},
		{"an error is never without words", run.User, []run.Part{result(true)},
			`[{"type":"function_call_output","call_id":"c_7","output":"Error: the call failed without a message."}]`},
		{"an empty result is an empty text", run.User, []run.Part{result(false)}, `[{"type":"function_call_output","call_id":"c_7","output":""}]`},
		{"a picture in a result makes it a list", run.User, []run.Part{result(false, run.Text("see"), picture("image/png"))},
			`[{"type":"function_call_output","call_id":"c_7","output":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"auto"}]}]`},
		{"an error with a picture is marked in front", run.User, []run.Part{result(true, picture("image/png"))},
			`[{"type":"function_call_output","call_id":"c_7","output":[{"type":"input_text","text":"Error: the call failed."},{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"auto"}]}]`},
		{"a picture that the API refuses becomes words", run.User, []run.Part{picture("image/tiff")},
			`[{"type":"message","role":"user","content":[{"type":"input_text","text":"[an image of type image/tiff is left out: the model cannot see it]"}]}]`},
		{"reasoning goes back byte for byte and once, calls by pawl's id", run.Assistant, []run.Part{thought, hidden, run.Text("I look."), callPart},
			`[` + thought.Signature + `,` + hidden.Raw + `,{"type":"message","role":"assistant","content":"I look."},{"type":"function_call","call_id":"c_7","name":"read","arguments":"{\"n\":1e400, \"q\":\"<a>\"}"}]`},
		{"what the provider's own tools did goes back", run.Assistant, []run.Part{thought, search, run.Text("Found.")},
			`[` + thought.Signature + `,` + search.Raw + `,{"type":"message","role":"assistant","content":"Found."}]`},
		{"other wires' and other servers' thinking is dropped", run.Assistant, []run.Part{
			{Type: run.ThinkingPart, Text: "hm", Signature: `{}`, Wire: "anthropic"}, {Type: run.OpaquePart, Raw: `{}`, Wire: "anthropic"},
			{Type: run.ThinkingPart, Text: "hm", Signature: `{}`, Wire: Wire + "@example.com"}, {Type: run.OpaquePart, Raw: `{}`, Wire: Wire + "@example.com"},
			{Type: run.ThinkingPart, Text: "unsigned", Wire: Wire}, run.Text("yes")},
			`[{"type":"message","role":"assistant","content":"yes"}]`},
		{"a phase goes back to who told it", run.Assistant, []run.Part{phased("I look.", "commentary", Wire), phased("Done.", "final_answer", "another")},
			`[{"type":"message","role":"assistant","content":"I look.","phase":"commentary"},{"type":"message","role":"assistant","content":"Done."}]`},
		{"no reasoning without what it led to", run.Assistant, []run.Part{thought, run.Text("yes"), hidden, run.Text(" "), thought},
			`[` + thought.Signature + `,{"type":"message","role":"assistant","content":"yes"}]`},
		{"reasoning alone is nothing", run.Assistant, []run.Part{thought, hidden}, ``},
		{"a faulty call stays one that the API accepts", run.Assistant, []run.Part{
			{Type: run.CallPart, Call: &run.Call{ID: "c_1", Arguments: "{}", Fault: run.FaultEmpty}},
			{Type: run.CallPart, Call: &run.Call{ID: "c_2", Tool: "no such/tööl", Arguments: "oops"}}},
			`[{"type":"function_call","call_id":"c_1","name":"no_name","arguments":"{}"},{"type":"function_call","call_id":"c_2","name":"no_such_t__l","arguments":"{}"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := New(Options{}).Encode(run.Message{Role: c.role, Parts: c.parts})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got != nil && !json.Valid(got) {
				t.Error("no JSON")
			}
		})
	}
}

func TestReasoningGoesBackToTheServerThatMadeItOnly(t *testing.T) {
	t.Parallel()
	azure := New(Options{BaseURL: "https://team.openai.azure.com/openai/v1/"})
	if again := New(Options{BaseURL: DefaultBaseURL + "/v1"}); again.origin != Wire || azure.origin != Wire+"@team.openai.azure.com" {
		t.Errorf("made by %q and %q", again.origin, azure.origin)
	}
	item := `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"x"}`
	m := run.Message{Role: run.Assistant, Parts: []run.Part{{Type: run.OpaquePart, Raw: item, Wire: azure.origin}, run.Text("yes")}}
	for p, want := range map[*Provider]bool{azure: true, New(Options{}): false} {
		got, err := p.Encode(m)
		if err != nil || strings.Contains(string(got), "rs_1") != want {
			t.Errorf("%s sends %s, %v; with the reasoning: %v", p.origin, got, err, want)
		}
	}
}

func TestToolsAndOutputsOnTheWire(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	tool, err := p.EncodeTool(llm.Tool{Name: "read", Description: "Reads <a> file.", Schema: json.RawMessage(`{"type": "object", "properties": {"path": {"type": "string"}}}`)})
	want := `{"type":"function","name":"read","description":"Reads <a> file.","strict":false,"parameters":{"type":"object","properties":{"path":{"type":"string"}}}}`
	if err != nil || string(tool) != want {
		t.Errorf("a tool: %s, %v\nwant    %s", tool, err, want)
	}
	tool, err = p.EncodeTool(llm.Tool{Name: "list"})
	if want := `{"type":"function","name":"list","strict":false,"parameters":{"type":"object","properties":{}}}`; err != nil || string(tool) != want {
		t.Errorf("a tool without a schema: %s, %v\nwant    %s", tool, err, want)
	}
	for _, c := range []struct {
		name, schema string
		strict       bool
	}{
		{"a closed object is enforced", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`, true},
		{"free fields cannot be", `{"type":"object","additionalProperties":{"type":"string"}}`, false},
	} {
		raw, err := p.EncodeOutput(json.RawMessage(c.schema))
		var format wireFormat
		if err != nil || json.Unmarshal(raw, &format) != nil || format.Strict != c.strict || format.Type != "json_schema" || format.Name == "" || len(format.Schema) == 0 {
			t.Errorf("%s: %s, %v", c.name, raw, err)
		}
	}
	if _, err := p.EncodeTool(llm.Tool{Name: "odd", Schema: json.RawMessage(`{"type":`)}); err == nil {
		t.Error("a schema that is no JSON is a tool")
	}
}

func TestTheBodyPutsTheStableFirst(t *testing.T) {
	t.Parallel()
	said := func(role run.Role, text string) llm.Message {
		return llm.Message{Role: role, Body: json.RawMessage(`[{"role":"` + string(role) + `","content":"` + text + `"}]`)}
	}
	r := llm.Request{Model: "m", System: "Be brief.", MaxTokens: 7, NoCalls: true, Output: json.RawMessage(`{"type":"json_schema"}`),
		Tools:    []json.RawMessage{json.RawMessage(`{"name":"a"}`), json.RawMessage(`{"name":"b"}`)},
		Messages: []llm.Message{said(run.User, "1"), said(run.User, "2"), {Role: run.Assistant}, said(run.Assistant, "3"), said(run.User, "4")}}
	got, err := requestBody(r, features{true, true})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","stream":true,"store":false,"prompt_cache_key":"` + cacheKey(r) + `","include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},` +
		`"max_output_tokens":16,"text":{"format":{"type":"json_schema"}},"instructions":"Be brief.","tools":[{"name":"a"},{"name":"b"}],"tool_choice":"none",` +
		`"input":[{"role":"user","content":"1"},{"role":"user","content":"2"},{"role":"assistant","content":"3"},{"role":"user","content":"4"}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	next := r
	next.Messages = append(next.Messages, said(run.Assistant, "5"), said(run.User, "6"))
	if body, _ := requestBody(next, features{true, true}); !strings.HasPrefix(string(body), strings.TrimSuffix(string(got), `]}`)) {
		t.Error("the next step's body does not begin with this one's")
	}
	other := r
	other.System = "Be long."
	if key := cacheKey(r); cacheKey(next) != key || cacheKey(other) == key || len(key) > 64 {
		t.Errorf("the cache's key: %s, in the next step %s, for another agent %s", key, cacheKey(next), cacheKey(other))
	}

	bare, err := requestBody(llm.Request{Model: "m", Messages: r.Messages[:1]}, features{})
	if want := `{"model":"m","stream":true,"store":false,"prompt_cache_key":"` + cacheKey(llm.Request{}) + `","input":[{"role":"user","content":"1"}]}`; err != nil || string(bare) != want {
		t.Errorf("the least there is: %s, %v\nwant %s", bare, err, want)
	}
}

func TestResultsWhoseCallsWereLetGoAreWords(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	picture := run.Part{Type: run.ImagePart, Image: &run.Image{MediaType: "image/png", Data: []byte("png")}}
	result := func(id run.CallID, content ...run.Part) run.Part {
		return run.Part{Type: run.ResultPart, Result: &run.Result{Call: id, Content: content}}
	}
	conversation := []run.Message{
		{ID: "m_9", Role: run.User, Parts: []run.Part{result("c_1", run.Text("a.go")), result("c_2", picture), run.Text("Stop, do this.")}},
		{ID: "m_20", Role: run.User, Parts: []run.Part{run.Text("[Earlier steps, in summary]")}},
		{ID: "m_11", Role: run.Assistant, Parts: []run.Part{{Type: run.CallPart, Call: &run.Call{ID: "c_3", Tool: "list", Arguments: "{}"}}}},
		{ID: "m_12", Role: run.User, Parts: []run.Part{result("c_3", run.Text("b.go"))}},
	}
	messages, err := llm.NewEncoder(p, llm.Names{}).Messages(conversation)
	if err != nil {
		t.Fatal(err)
	}
	body, err := requestBody(llm.Request{Model: "m", Messages: messages}, features{})
	if err != nil {
		t.Fatal(err)
	}
	_, input, _ := strings.Cut(string(body), `"input":`)
	want := `[{"type":"message","role":"user","content":[{"type":"input_text","text":"[The result of an earlier call]\na.go"}]},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"[The result of an earlier call]"},{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"auto"}]},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"Stop, do this."}]},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"[Earlier steps, in summary]"}]},` +
		`{"type":"function_call","call_id":"c_3","name":"list","arguments":"{}"},{"type":"function_call_output","call_id":"c_3","output":"b.go"}]}`
	if diff := cmp.Diff(want, input); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEarlierReasoningCanBeLeftOut(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	const item = `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"x"}`
	reasoned := run.Part{Type: run.OpaquePart, Raw: item, Wire: Wire}
	messages, err := llm.NewEncoder(p, llm.Names{}).Messages([]run.Message{
		{ID: "m_1", Role: run.User, Parts: []run.Part{run.Text(`Say "reasoning".`)}},
		{ID: "m_2", Role: run.Assistant, Parts: []run.Part{reasoned, run.Text("reasoning"), reasoned, {Type: run.CallPart, Call: &run.Call{ID: "c_1", Tool: "list", Arguments: "{}"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := llm.Request{Model: "m", Messages: messages}
	all, _ := requestBody(r, features{true, true})
	r.Messages[1].Body = withoutReasoning(r.Messages[1].Body)
	without, err := requestBody(r, features{true, true})
	if want := strings.ReplaceAll(string(all), item+",", ""); err != nil || string(without) != want || want == string(all) {
		t.Errorf("got  %s, %v\nwant %s", without, err, want)
	}
}

func TestARequestThatCannotBeSentSaysWhy(t *testing.T) {
	t.Parallel()
	one := []llm.Message{{Role: run.User, Body: json.RawMessage(`[{"type":"message","role":"user","content":"x"}]`)}}
	for _, c := range []struct {
		name    string
		options Options
		request llm.Request
		kind    run.ErrorKind
		words   string
	}{
		{"no message", Options{}, llm.Request{}, run.ErrInvalid, "no message"},
		{"an address that is none", Options{BaseURL: "localhost:80"}, llm.Request{Messages: one}, run.ErrInvalid, "base URL"},
		{"a key with a line break", Options{Key: "sk\nx"}, llm.Request{Messages: one}, run.ErrAuth, "line break"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, err := range New(c.options).Stream(t.Context(), c.request) {
				var e *llm.Error
				if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.words) {
					t.Errorf("got %v, want %s with %q", err, c.kind, c.words)
				}
			}
		})
	}
}

// conversation returns steps of a prompt's work: a call and its result each.
func conversation(messages int) []run.Message {
	var all []run.Message
	for i := range messages {
		m := run.Message{ID: fmt.Sprintf("m_%d", i), Role: run.User}
		id := run.CallID(fmt.Sprintf("c_%d", i/2))
		switch {
		case i == 0:
			m.Parts = []run.Part{run.Text("Do it.")}
		case i%2 == 1:
			m.Role = run.Assistant
			m.Parts = []run.Part{run.Text("I look at the file."), {Type: run.CallPart, Call: &run.Call{ID: id, Tool: "read", Arguments: `{"path":"llm/responses/encode.go"}`}}}
		default:
			id = run.CallID(fmt.Sprintf("c_%d", i/2-1))
			m.Parts = []run.Part{{Type: run.ResultPart, Result: &run.Result{Call: id, Content: []run.Part{run.Text(strings.Repeat("func main() { <-done }\n", 40))}}}}
		}
		all = append(all, m)
	}
	return all
}

// BenchmarkRequest: a request at 5,000 messages of which one is new.
func BenchmarkRequest(b *testing.B) {
	all := conversation(5000)
	e := llm.NewEncoder(New(Options{}), llm.Names{})
	if _, err := e.Messages(all[:4999]); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		all[4999].Rev = i
		messages, err := e.Messages(all)
		if err != nil {
			b.Fatal(err)
		}
		body, err := requestBody(llm.Request{Model: "m", Messages: messages}, features{true, true})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}

func TestTheEffortIsAskedForBesideTheSummary(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		level string
		features
	}{
		`,"reasoning":{"summary":"auto"}`:                  {"", features{summary: true}},
		`,"reasoning":{"effort":"xhigh","summary":"auto"}`: {"xhigh", features{summary: true}},
		`,"reasoning":{"effort":"none"}`:                   {"none", features{}},
		``:                                                 {"", features{}},
	} {
		body, err := requestBody(llm.Request{Model: "m", Effort: llm.Effort{Level: c.level}, Messages: []llm.Message{{Role: run.User, Body: json.RawMessage(`[{}]`)}}}, c.features)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(body), `prompt_cache_key":"`)
		_, rest, _ = strings.Cut(rest, `"`)
		if got := strings.TrimSuffix(rest, `,"input":[{}]}`); got != want {
			t.Errorf("level %q: got %s, want %s", c.level, got, want)
		}
	}
}
