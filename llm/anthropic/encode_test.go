package anthropic

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
	signed := run.Part{Type: run.ThinkingPart, Text: "<hm>", Signature: "Sig+/=", Wire: Wire}
	redacted := run.Part{Type: run.OpaquePart, Raw: `{"type":"redacted_thinking",  "data":"x"}`, Wire: Wire}
	callPart := run.Part{Type: run.CallPart, Call: &run.Call{ID: "c_7", ProviderID: "toolu_same", Tool: "read", Arguments: `{"n":1e400,"m":2}`}}
	result := func(isError bool, content ...run.Part) run.Part {
		return run.Part{Type: run.ResultPart, Result: &run.Result{Call: "c_7", Content: content, IsError: isError}}
	}
	for _, c := range []struct {
		name  string
		role  run.Role
		parts []run.Part
		want  string // empty: nothing
	}{
		{"text is not escaped more than it must be", run.User, []run.Part{run.Text("a<b & \"c\"\n")}, `[{"type":"text","text":"a<b & \"c\"\n"}]`},
		{"blank text is never sent", run.User, []run.Part{run.Text(""), run.Text(" \n")}, ``},
		{"results stand before words", run.User, []run.Part{run.Text("and"), result(false, run.Text("ok"))},
			`[{"type":"tool_result","tool_use_id":"c_7","content":[{"type":"text","text":"ok"}]},{"type":"text","text":"and"}]`},
		{"an error is marked, and never without words", run.User, []run.Part{result(true)},
			`[{"type":"tool_result","tool_use_id":"c_7","is_error":true,"content":[{"type":"text","text":"The call failed without a message."}]}]`},
		{"an empty result has no content", run.User, []run.Part{result(false, run.Text(""))}, `[{"type":"tool_result","tool_use_id":"c_7"}]`},
		{"a picture is base64", run.User, []run.Part{result(false, run.Part{Type: run.ImagePart, Image: &run.Image{MediaType: "image/png", Data: []byte("png")}})},
			`[{"type":"tool_result","tool_use_id":"c_7","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}]}]`},
		{"a picture that the API refuses becomes words", run.User, []run.Part{{Type: run.ImagePart, Image: &run.Image{MediaType: "image/tiff", Data: []byte("x")}}},
			`[{"type":"text","text":"[an image of type image/tiff is left out: the model cannot see it]"}]`},
		{"thinking and calls go back as they came, calls by pawl's id", run.Assistant, []run.Part{signed, redacted, callPart},
			`[{"type":"thinking","thinking":"<hm>","signature":"Sig+/="},{"type":"redacted_thinking",  "data":"x"},{"type":"tool_use","id":"c_7","name":"read","input":{"n":1e400,"m":2}}]`},
		{"other wires' thinking is dropped", run.Assistant, []run.Part{
			{Type: run.ThinkingPart, Text: "hm", Signature: "s", Wire: "other"}, {Type: run.OpaquePart, Raw: `{}`, Wire: "other"},
			{Type: run.ThinkingPart, Text: "unsigned", Wire: Wire}, run.Text("yes")}, `[{"type":"text","text":"yes"}]`},
		{"no white space and no thinking at the end", run.Assistant, []run.Part{run.Text(" yes \n"), run.Text("\n"), signed, redacted}, `[{"type":"text","text":" yes"}]`},
		{"thinking alone is nothing", run.Assistant, []run.Part{signed}, ``},
		{"a faulty call stays one that the API accepts", run.Assistant, []run.Part{
			{Type: run.CallPart, Call: &run.Call{ID: "c_1", Arguments: "{}", Fault: run.FaultEmpty}},
			{Type: run.CallPart, Call: &run.Call{ID: "c_2", Tool: "no such/tööl", Arguments: "oops"}}},
			`[{"type":"tool_use","id":"c_1","name":"no_name","input":{}},{"type":"tool_use","id":"c_2","name":"no_such_t__l","input":{}}]`},
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
		})
	}
}

func TestTheBodyJoinsNeighboursAndPutsTheStableFirst(t *testing.T) {
	t.Parallel()
	message := func(role run.Role, text string) llm.Message {
		return llm.Message{Role: role, Body: json.RawMessage(`[{"type":"text","text":"` + text + `"}]`)}
	}
	r := llm.Request{Model: "m", System: "Be brief.", MaxTokens: 7,
		Tools:    []json.RawMessage{encodeTool(t, llm.Tool{Name: "a", Description: "A.", Schema: json.RawMessage(`{"type": "object"}`)}), encodeTool(t, llm.Tool{Name: "b"})},
		Messages: []llm.Message{message(run.User, "1"), message(run.User, "2"), {Role: run.Assistant}, message(run.Assistant, "3"), message(run.User, "4")}}
	got, err := requestBody(r, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","max_tokens":7,"stream":true,"cache_control":{"type":"ephemeral"},` +
		`"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],` +
		`"tools":[{"name":"a","description":"A.","input_schema":{"type":"object"}},{"name":"b","input_schema":{"type":"object"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"3"}]},{"role":"user","content":[{"type":"text","text":"4"}]}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	r.Messages = append(r.Messages, message(run.Assistant, "5"), message(run.User, "6"))
	next, _ := requestBody(r, struct{}{})
	if before := strings.TrimSuffix(string(got), `]}]}`); !strings.HasPrefix(string(next), before) {
		t.Error("the next step's body does not begin with this one's")
	}
}

func encodeTool(t *testing.T, tool llm.Tool) json.RawMessage {
	t.Helper()
	raw, err := New(Options{}).EncodeTool(tool)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestARequestThatCannotBeSentSaysWhy(t *testing.T) {
	t.Parallel()
	one := []llm.Message{{Role: run.User, Body: json.RawMessage(`[{"type":"text","text":"x"}]`)}}
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
			m.Parts = []run.Part{run.Text("I look at the file."), {Type: run.CallPart, Call: &run.Call{ID: id, Tool: "read", Arguments: `{"path":"llm/anthropic/encode.go"}`}}}
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
	p := New(Options{})
	e := llm.NewEncoder(p, llm.Names{})
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
		body, err := requestBody(llm.Request{Model: "m", Messages: messages}, struct{}{})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}

// BenchmarkEncodeAll: the same without anything kept, as after a restart.
func BenchmarkEncodeAll(b *testing.B) {
	all := conversation(5000)
	p := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := llm.NewEncoder(p, llm.Names{}).Messages(all); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTheEffortIsAskedForAsTheAPIHasIt(t *testing.T) {
	t.Parallel()
	said := llm.Message{Role: run.User, Body: json.RawMessage(`[{"type":"text","text":"x"}]`)}
	called := llm.Message{Role: run.Assistant, Body: json.RawMessage(`[{"type":"tool_use","id":"c_1","name":"a","input":{}}]`)}
	thought := llm.Message{Role: run.Assistant, Body: json.RawMessage(`[{"type":"thinking","thinking":"","signature":"s"},{"type":"tool_use","id":"c_1","name":"a","input":{}}]`)}
	for name, c := range map[string]struct {
		effort    llm.Effort
		maxTokens int
		output    string
		answer    llm.Message
		want      string // between the number of tokens and the messages
	}{
		"none is said":                      {want: `32000,S`},
		"a level":                           {effort: llm.Effort{Level: "high"}, want: `32000,S,"output_config":{"effort":"high"}`},
		"a level above high has more room":  {effort: llm.Effort{Level: "max"}, want: `64000,S,"output_config":{"effort":"max"}`},
		"a limit that was asked for stays":  {effort: llm.Effort{Level: "max"}, maxTokens: 9, want: `9,S,"output_config":{"effort":"max"}`},
		"thinking that has to be turned on": {effort: llm.Effort{Level: "low", Adaptive: true}, want: `32000,S,"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}`},
		"beside a schema":                   {effort: llm.Effort{Level: "low"}, output: `{}`, want: `32000,S,"output_config":{"effort":"low","format":{"type":"json_schema","schema":{}}}`},
		"off":                               {effort: llm.Effort{Level: llm.NoThinking}, want: `32000,S,"thinking":{"type":"disabled"}`},
		"a budget":                          {effort: llm.Effort{Budget: 8192}, want: `32000,S,"thinking":{"type":"enabled","budget_tokens":8192}`},
		"a budget leaves room to answer":    {effort: llm.Effort{Budget: 8192}, maxTokens: 3000, want: `3000,S,"thinking":{"type":"enabled","budget_tokens":1976}`},
		"no room for a budget":              {effort: llm.Effort{Budget: 8192}, maxTokens: 1500, want: `1500,S`},
		"a budget after calls with thinking": {effort: llm.Effort{Budget: 2048}, answer: thought,
			want: `32000,S,"thinking":{"type":"enabled","budget_tokens":2048}`},
		"no budget after calls without":             {effort: llm.Effort{Budget: 2048}, answer: called, want: `32000,S`},
		"adaptive thinking after calls without any": {effort: llm.Effort{Level: "low", Adaptive: true}, answer: called, want: `32000,S,"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := llm.Request{Model: "m", MaxTokens: c.maxTokens, Effort: c.effort, Messages: []llm.Message{said, c.answer, said}, Tools: []json.RawMessage{encodeTool(t, llm.Tool{Name: "a"})}}
			if c.output != "" {
				r.Output = json.RawMessage(c.output)
			}
			body, err := requestBody(r, struct{}{})
			if err != nil {
				t.Fatal(err)
			}
			got, _, _ := strings.Cut(strings.TrimPrefix(string(body), `{"model":"m","max_tokens":`), `,"messages":`)
			got = strings.Replace(got, `"stream":true,"cache_control":{"type":"ephemeral"},"tools":[{"name":"a","input_schema":{"type":"object"}}]`, "S", 1)
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
