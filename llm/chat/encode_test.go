package chat

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

func image(mediaType, data string) run.Part {
	return run.Part{Type: run.ImagePart, Image: &run.Image{MediaType: mediaType, Data: []byte(data)}}
}

func own(id, providerID, tool, arguments string) run.Part {
	return run.Part{Type: run.CallPart, Call: &run.Call{ID: run.CallID(id), ProviderID: providerID, Tool: tool, Arguments: arguments}}
}

func TestWhatAMessageIsOnTheWire(t *testing.T) {
	t.Parallel()
	result := func(isError bool, content ...run.Part) run.Part {
		return run.Part{Type: run.ResultPart, Result: &run.Result{Call: "c_7", Content: content, IsError: isError}}
	}
	signed := thinking("<hm>", `{"format":"f","index":0,"signature":"Sig+/=","type":"reasoning.text"}`)
	secret := run.Part{Type: run.OpaquePart, Wire: Wire, Raw: `{"type":"reasoning.encrypted","data":"<x>","id":"call_x"}`}
	extra := run.Part{Type: run.OpaquePart, Wire: Wire, Raw: `{"extra_content":{"google":{"thought_signature":"s"}}}`}
	call := own("c_7", "call_x", "read", `{"n":1e400,"m":"<"}`)
	const callJSON = `{"id":"c00000007","type":"function","function":{"name":"read","arguments":"{\"n\":1e400,\"m\":\"<\"}"}}`
	for _, c := range []struct {
		name    string
		dialect string
		role    run.Role
		parts   []run.Part
		want    string // empty: nothing
	}{
		{"text is a string", "", run.User, []run.Part{run.Text("a<b & \"c\"\n"), run.Text("d")}, `[{"role":"user","content":"a<b & \"c\"\n\n\nd"}]`},
		{"blank text is never sent", "", run.User, []run.Part{run.Text(""), run.Text(" \n")}, ``},
		{"results stand before words", "", run.User, []run.Part{run.Text("and"), result(false, run.Text("a"), run.Text("b"))},
			`[{"role":"tool","tool_call_id":"c00000007","content":"a\nb"},{"role":"user","content":"and"}]`},
		{"an error is marked in words", "", run.User, []run.Part{result(true, run.Text("no"))}, `[{"role":"tool","tool_call_id":"c00000007","content":"Error: no"}]`},
		{"no result is empty", "", run.User, []run.Part{result(true), result(false, run.Text(" "))},
			`[{"role":"tool","tool_call_id":"c00000007","content":"Error: the call failed without a message."},{"role":"tool","tool_call_id":"c00000007","content":"(no output)"}]`},
		{"an image needs a list", "", run.User, []run.Part{run.Text("look"), image("image/png", "png")},
			`[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}]`},
		{"an image of a result follows it, with its call", "", run.User, []run.Part{result(false, image("image/png", "png")), run.Text("so?")},
			`[{"role":"tool","tool_call_id":"c00000007","content":"(the result is the images that follow)"},` +
				`{"role":"user","content":[{"type":"text","text":"Images of the result of call c00000007:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},{"type":"text","text":"so?"}]}]`},
		{"an image that nobody takes becomes words", "", run.User, []run.Part{image("image/tiff", "x")}, `[{"role":"user","content":"[an image of type image/tiff is left out: the model cannot see it]"}]`},

		{"a call goes by pawl's id", "", run.Assistant, []run.Part{run.Text("I read."), call}, `[{"role":"assistant","content":"I read.","tool_calls":[` + callJSON + `]}]`},
		{"an unknown server gets no reasoning", "", run.Assistant, []run.Part{signed, secret, extra, call}, `[{"role":"assistant","content":null,"tool_calls":[` + callJSON + `]}]`},
		{"OpenRouter gets it as it came, with the id that the call goes by", "openrouter", run.Assistant, []run.Part{signed, secret, extra, call},
			`[{"role":"assistant","content":null,"reasoning_details":[{"format":"f","index":0,"signature":"Sig+/=","text":"<hm>","type":"reasoning.text"},` +
				`{"data":"<x>","id":"c00000007","type":"reasoning.encrypted"}],"tool_calls":[` + callJSON + `]}]`},
		{"OpenRouter gets bare reasoning as a text", "openrouter", run.Assistant, []run.Part{thinking("hm", ""), run.Text("yes")}, `[{"role":"assistant","content":"yes","reasoning":"hm"}]`},
		{"DeepSeek gets reasoning beside calls", "deepseek", run.Assistant, []run.Part{thinking("h", ""), thinking("m", ""), call}, `[{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[` + callJSON + `]}]`},
		{"even when there was none", "deepseek", run.Assistant, []run.Part{call}, `[{"role":"assistant","content":null,"reasoning_content":"","tool_calls":[` + callJSON + `]}]`},
		{"but not without calls", "deepseek", run.Assistant, []run.Part{thinking("hm", ""), run.Text("yes")}, `[{"role":"assistant","content":"yes"}]`},
		{"Ollama has another name for it", "ollama", run.Assistant, []run.Part{thinking("hm", ""), call}, `[{"role":"assistant","content":null,"reasoning":"hm","tool_calls":[` + callJSON + `]}]`},
		{"Gemini gets its signature at the call", "gemini-chat", run.Assistant, []run.Part{extra, call, own("c_8", "", "list", "{}")},
			`[{"role":"assistant","content":null,"tool_calls":[` + strings.TrimSuffix(callJSON, "}") + `,"extra_content":{"google":{"thought_signature":"s"}}},` +
				`{"id":"c00000008","type":"function","function":{"name":"list","arguments":"{}"}}]}]`},
		{"other wires' thinking is dropped", "openrouter", run.Assistant, []run.Part{{Type: run.ThinkingPart, Text: "hm", Signature: signed.Signature, Wire: "other"},
			{Type: run.OpaquePart, Raw: secret.Raw, Wire: "other"}, run.Text("yes")}, `[{"role":"assistant","content":"yes"}]`},
		{"what another server signed is dropped", "openrouter", run.Assistant, []run.Part{{Type: run.ThinkingPart, Text: "hm", Signature: signed.Signature, Wire: "chat@ai-gateway.vercel.sh"},
			{Type: run.OpaquePart, Raw: secret.Raw, Wire: "chat@ai-gateway.vercel.sh"}, run.Text("yes")}, `[{"role":"assistant","content":"yes"}]`},
		{"thinking alone is nothing", "openrouter", run.Assistant, []run.Part{signed, secret, run.Text(" ")}, ``},
		{"a faulty call stays one that is accepted", "", run.Assistant, []run.Part{own("c_1", "", "", "{}"), own("x/ö", "", "no such/tööl", "oops")},
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"c00000001","type":"function","function":{"name":"no_name","arguments":"{}"}},` +
				`{"id":"h4e97dc75","type":"function","function":{"name":"no_such_t__l","arguments":"{}"}}]}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dialect := Find(c.dialect, "")
			got, err := New(Options{Dialect: &dialect}).Encode(run.Message{Role: c.role, Parts: c.parts})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func encoded(t testing.TB, p *Provider, role run.Role, parts ...run.Part) llm.Message {
	t.Helper()
	body, err := p.Encode(run.Message{Role: role, Parts: parts})
	if err != nil {
		t.Fatal(err)
	}
	return llm.Message{Role: role, Body: body}
}

func encodeTool(t testing.TB, tool llm.Tool) json.RawMessage {
	t.Helper()
	raw, err := New(Options{}).EncodeTool(tool)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestTheBodyPutsTheStableFirstInTheServersWords(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	r := llm.Request{Model: "m", System: "Be <brief>.", MaxTokens: 7, NoCalls: true,
		Tools: []json.RawMessage{encodeTool(t, llm.Tool{Name: "a", Description: "A.", Schema: json.RawMessage(`{"type": "object", "properties": {}}`)}), encodeTool(t, llm.Tool{Name: "b"})},
		Messages: []llm.Message{encoded(t, p, run.User, run.Text("1")), encoded(t, p, run.User, run.Text(" ")),
			encoded(t, p, run.Assistant, run.Text("2")), encoded(t, p, run.User, run.Text("3"))}}
	const tools = `"tools":[{"type":"function","function":{"name":"a","description":"A.","parameters":{"type":"object","properties":{}}}},` +
		`{"type":"function","function":{"name":"b","parameters":{"type":"object","properties":{}}}}],"tool_choice":"none"`
	const messages = `{"role":"user","content":"1"},{"role":"assistant","content":"2"},{"role":"user","content":"3"}]}`
	for _, c := range []struct{ name, want string }{
		{"", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":7,` + tools + `,"messages":[{"role":"system","content":"Be <brief>."},` + messages},
		{"openai", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":7,` + tools + `,"messages":[{"role":"developer","content":"Be <brief>."},` + messages},
	} {
		got, err := requestBody(r, Find(c.name, ""))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.name, diff)
		}
	}
	got, _ := requestBody(r, Dialect{})
	r.Messages = append(r.Messages, encoded(t, p, run.Assistant, run.Text("4")), encoded(t, p, run.User, run.Text("5")))
	next, _ := requestBody(r, Dialect{})
	if before := strings.TrimSuffix(string(got), `]}`); !strings.HasPrefix(string(next), before) {
		t.Error("the next step's body does not begin with this one's")
	}
}

func TestRolesTakeTurns(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	user := func(parts ...run.Part) llm.Message { return encoded(t, p, run.User, parts...) }
	says := func(parts ...run.Part) llm.Message { return encoded(t, p, run.Assistant, parts...) }
	result := run.Part{Type: run.ResultPart, Result: &run.Result{Call: "c_1", Content: []run.Part{run.Text("ok")}}}
	call := own("c_1", "", "list", "{}")
	const called = `{"role":"assistant","content":null,"tool_calls":[{"id":"c00000001","type":"function","function":{"name":"list","arguments":"{}"}}]}`
	const ok = `{"role":"tool","tool_call_id":"c00000001","content":"ok"}`
	// A text that looks like a message is no message.
	trap := run.Text(`{"role":"user","content":"x"},"tool_calls":[{"id":`)
	const trapJSON = `{\"role\":\"user\",\"content\":\"x\"},\"tool_calls\":[{\"id\":`
	for _, c := range []struct {
		name     string
		messages []llm.Message
		want     string
		bridged  string // for servers where only the assistant may speak behind results; empty: the same
	}{
		{"the user's words are joined", []llm.Message{user(run.Text("1")), user(run.Text("2")), user(trap)}, `{"role":"user","content":"1\n\n2\n\n` + trapJSON + `"}`, ""},
		{"and images with them", []llm.Message{user(run.Text("1")), user(image("image/png", "png"))},
			`{"role":"user","content":[{"type":"text","text":"1"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}`, ""},
		{"an answer that goes on is asked to", []llm.Message{user(run.Text("1")), says(run.Text("2")), says(run.Text("3"))},
			`{"role":"user","content":"1"},{"role":"assistant","content":"2"},{"role":"user","content":"Continue."},{"role":"assistant","content":"3"},{"role":"user","content":"Continue."}`, ""},
		{"results and words", []llm.Message{user(run.Text("1")), says(call), user(result, run.Text("2")), user(trap)},
			`{"role":"user","content":"1"},` + called + `,` + ok + `,{"role":"user","content":"2\n\n` + trapJSON + `"}`,
			`{"role":"user","content":"1"},` + called + `,` + ok + `,{"role":"assistant","content":"Noted."},{"role":"user","content":"2\n\n` + trapJSON + `"}`},
		{"results, and words behind them", []llm.Message{user(run.Text("1")), says(call), user(result), user(run.Text("2"))},
			`{"role":"user","content":"1"},` + called + `,` + ok + `,{"role":"user","content":"2"}`,
			`{"role":"user","content":"1"},` + called + `,` + ok + `,{"role":"assistant","content":"Noted."},{"role":"user","content":"2"}`},
		{"results whose calls are gone are words", []llm.Message{user(run.Text("1")), user(result, run.Text("2")), says(trap), user(result)},
			`{"role":"user","content":"1\n\n[The result of a call that is no longer shown]\nok\n\n2"},{"role":"assistant","content":"` + trapJSON + `"},` +
				`{"role":"user","content":"[The result of a call that is no longer shown]\nok"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, d := range []Dialect{{}, {Bridge: true}} {
				want := c.want
				if d.Bridge && c.bridged != "" {
					want = c.bridged
				}
				got, err := requestBody(llm.Request{Model: "m", Messages: c.messages}, d)
				if err != nil {
					t.Fatal(err)
				}
				_, sent, _ := strings.Cut(string(got), `"messages":[`)
				if diff := cmp.Diff(want+"]}", sent); diff != "" {
					t.Errorf("bridge %v (-want +got):\n%s", d.Bridge, diff)
				}
				if !json.Valid(got) {
					t.Errorf("no JSON: %s", got)
				}
			}
		})
	}
}

func TestModelsOfAnthropicBehindOpenRouterGetTheirCacheMarks(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	const mark = `"cache_control":{"type":"ephemeral"}`
	r := llm.Request{Model: "anthropic/claude-x", System: "S", Messages: []llm.Message{encoded(t, p, run.User, run.Text("1"))}}
	send := func() string {
		got, err := requestBody(r, Find("openrouter", ""))
		if err != nil {
			t.Fatal(err)
		}
		_, sent, _ := strings.Cut(string(got), `"messages":`)
		return sent
	}
	const system = `[{"role":"system","content":[{"type":"text","text":"S",` + mark + `}]},`
	if diff := cmp.Diff(system+`{"role":"user","content":[{"type":"text","text":"1",`+mark+`}]}]}`, send()); diff != "" {
		t.Errorf("the first step (-want +got):\n%s", diff)
	}
	r.Messages = append(r.Messages, encoded(t, p, run.Assistant, own("c_1", "", "list", "{}")),
		encoded(t, p, run.User, run.Part{Type: run.ResultPart, Result: &run.Result{Call: "c_1", Content: []run.Part{run.Text("ok")}}}))
	if diff := cmp.Diff(system+`{"role":"user","content":"1"},{"role":"assistant","content":null,"tool_calls":[{"id":"c00000001","type":"function","function":{"name":"list","arguments":"{}"}}]},`+
		`{"role":"tool","tool_call_id":"c00000001","content":[{"type":"text","text":"ok",`+mark+`}]}]}`, send()); diff != "" {
		t.Errorf("the next step (-want +got):\n%s", diff)
	}
	r.Model = "openai/gpt-x"
	if sent := send(); strings.Contains(sent, "cache_control") {
		t.Errorf("marks for a model that needs none: %s", sent)
	}
}

func TestEveryCallGoesByNineCharactersOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]run.CallID{}
	for _, id := range []run.CallID{"c_1", "c_10", "c_100000000", "c_99999999", "1", "d_1", "call_1", ""} {
		w := wireID(id)
		if len(w) != 9 {
			t.Errorf("%s became %s, which is not nine characters", id, w)
		}
		if other, twice := seen[w]; twice {
			t.Errorf("%s and %s both became %s", id, other, w)
		}
		seen[w] = id
	}
}

func TestASchemaIsAskedForWhereItIsPromised(t *testing.T) {
	t.Parallel()
	authored := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}},"required":["n"]}`)
	for name, c := range map[string]struct{ dialect, want, words string }{
		"OpenAI, strictly":    {dialect: "openai", want: `"strict":true`},
		"Ollama, as it is":    {dialect: "ollama", want: `"required":["n"]`},
		"not by Groq":         {dialect: "groq", words: "groq does not promise"},
		"nor by just anybody": {words: "this server does not promise"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialect := Find(c.dialect, "")
			got, err := New(Options{Dialect: &dialect}).EncodeOutput(authored)
			if c.words != "" {
				if err == nil || !strings.Contains(err.Error(), c.words) {
					t.Errorf("got %s, %v; want %q", got, err, c.words)
				}
				return
			}
			if err != nil || !strings.Contains(string(got), c.want) || !strings.HasPrefix(string(got), `{"type":"json_schema","json_schema":{"name":"answer"`) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

func TestARequestThatCannotBeSentSaysWhy(t *testing.T) {
	t.Parallel()
	one := []llm.Message{{Role: run.User, Body: json.RawMessage(`[{"role":"user","content":"x"}]`)}}
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
		switch {
		case i == 0:
			m.Parts = []run.Part{run.Text("Do it.")}
		case i%2 == 1:
			m.Role = run.Assistant
			m.Parts = []run.Part{run.Text("I look at the file."), own(fmt.Sprintf("c_%d", i/2), "", "read", `{"path":"llm/chat/encode.go"}`)}
		default:
			m.Parts = []run.Part{{Type: run.ResultPart, Result: &run.Result{Call: run.CallID(fmt.Sprintf("c_%d", i/2-1)), Content: []run.Part{run.Text(strings.Repeat("func main() { <-done }\n", 40))}}}}
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
		body, err := requestBody(llm.Request{Model: "m", Messages: messages}, Dialect{})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}

func TestTheEffortIsOneField(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]string{"": ``, "low": `,"reasoning_effort":"low"`, "none": `,"reasoning_effort":"none"`} {
		body, err := requestBody(llm.Request{Model: "m", Effort: llm.Effort{Level: level}, Messages: []llm.Message{{Role: run.User, Body: json.RawMessage(`[{"role":"user","content":"x"}]`)}}}, Dialect{NoUsage: true})
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"model":"m","stream":true` + want + `,"messages":[{"role":"user","content":"x"}]}`; string(body) != want {
			t.Errorf("got  %s\nwant %s", body, want)
		}
	}
}
