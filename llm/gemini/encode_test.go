package gemini

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

// contentsOf returns what is sent of a conversation.
func contentsOf(t testing.TB, conversation ...run.Message) string {
	t.Helper()
	messages, err := llm.NewEncoder(New(Options{}), llm.Names{}).Messages(conversation)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		if !json.Valid(m.Body) {
			t.Errorf("an encoded message is no JSON: %s", m.Body)
		}
	}
	body, err := requestBody(llm.Request{Model: "m", Messages: messages}, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(body) {
		t.Errorf("the body is no JSON: %s", body)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(body), `{"generationConfig":{},"contents":[`), `]}`)
}

func user(id string, parts ...run.Part) run.Message {
	return run.Message{ID: id, Role: run.User, Parts: parts}
}

func answer(id string, parts ...run.Part) run.Message {
	return run.Message{ID: id, Role: run.Assistant, Parts: parts}
}

func result(id run.CallID, isError bool, content ...run.Part) run.Part {
	return run.Part{Type: run.ResultPart, Result: &run.Result{Call: id, Content: content, IsError: isError}}
}

// called is a call as this wire makes it, or another.
func called(wire string, id run.CallID, providerID, tool, arguments, signature string) run.Part {
	return run.Part{Type: run.CallPart, Wire: wire, Signature: signature, Call: &run.Call{ID: id, ProviderID: providerID, Tool: tool, Arguments: arguments}}
}

func image(mediaType, data string) run.Part {
	return run.Part{Type: run.ImagePart, Image: &run.Image{MediaType: mediaType, Data: []byte(data)}}
}

func TestWhatAConversationIsOnTheWire(t *testing.T) {
	t.Parallel()
	hello := user("m_1", run.Text("Hi"))
	const (
		hi  = `{"role":"user","parts":[{"text":"Hi"}]}`
		end = `,{"role":"user","parts":[{"text":"Go on where you stopped."}]}`
	)
	for _, c := range []struct {
		name string
		rest []run.Message
		want string // behind hi
	}{
		{"text is not escaped more than it must be, blank text is not sent", []run.Message{user("m_2", run.Text("a<b & \"c\"\n,\n"), run.Text(" \n"))},
			`{"role":"user","parts":[{"text":"Hi"},{"text":"a<b & \"c\"\n,\n"}]}`},
		{"pictures", []run.Message{user("m_2", image("image/png", "png"), image("image/gif", "x"))},
			`{"role":"user","parts":[{"text":"Hi"},{"inlineData":{"mimeType":"image/png","data":"cG5n"}},{"text":"[an image of type image/gif is left out: the model cannot see it]"}]}`},
		{"a call and its result, with the provider's id and signature", []run.Message{
			answer("m_2", run.Text("So:"), called(Wire, "c_1", "x", "read", `{"n":1e400, "m":2}`, "U2ln")),
			user("m_3", run.Text("and"), result("c_1", false, run.Text("a<b"), run.Text("c")))},
			hi + `,{"role":"model","parts":[{"text":"So:"},{"functionCall":{"id":"x","name":"read","args":{"n":1e400,"m":2}},"thoughtSignature":"U2ln"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"x","name":"read","response":{"output":"a<b\nc"}}}]},{"role":"user","parts":[{"text":"and"}]}`},
		{"calls without ids have their results in their order", []run.Message{
			answer("m_2", called(Wire, "c_1", "", "read", `{}`, "U2ln"), called(Wire, "c_2", "", "read", `{}`, "")),
			user("m_3", result("c_2", false, run.Text("two")), result("c_1", true))},
			hi + `,{"role":"model","parts":[{"functionCall":{"name":"read","args":{}},"thoughtSignature":"U2ln"},{"functionCall":{"name":"read","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"error":"The call failed without a message."}}},{"functionResponse":{"name":"read","response":{"output":"two"}}}]}`},
		{"ids that repeat are no ids", []run.Message{
			answer("m_2", called(Wire, "c_1", "x", "read", `{}`, "U2ln"), called(Wire, "c_2", "x", "list", `{}`, "")),
			user("m_3", result("c_1", false), result("c_2", false))},
			hi + `,{"role":"model","parts":[{"functionCall":{"name":"read","args":{}},"thoughtSignature":"U2ln"},{"functionCall":{"name":"list","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":""}}},{"functionResponse":{"name":"list","response":{"output":""}}}]}`},
		{"another wire's call goes without its id and its thinking, and unchecked", []run.Message{
			answer("m_2", run.Part{Type: run.ThinkingPart, Text: "hm", Signature: "s", Wire: "other"}, run.Part{Type: run.OpaquePart, Raw: `{}`, Wire: "other"},
				called("", "c_1", "toolu_1", "read", `{}`, "s"), called("", "c_2", "toolu_2", "read", `{}`, "")),
			user("m_3", result("c_1", false), result("c_2", false))},
			hi + `,{"role":"model","parts":[{"functionCall":{"name":"read","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"read","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":""}}},{"functionResponse":{"name":"read","response":{"output":""}}}]}`},
		{"a call that is not sent as it came goes unchecked, under a name that is accepted", []run.Message{
			answer("m_2", run.Part{Type: run.CallPart, Wire: Wire, Signature: "U2ln", Call: &run.Call{ID: "c_1", Tool: "9 lives", Arguments: "oops"}}),
			user("m_3", result("c_1", true, run.Text("no")))},
			hi + `,{"role":"model","parts":[{"functionCall":{"name":"_9_lives","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"_9_lives","response":{"error":"no"}}}]}`},
		{"a call whose arguments were shortened goes unchecked", []run.Message{
			{ID: "m_2", Role: run.Assistant, Rev: 1, Parts: []run.Part{called(Wire, "c_1", "x", "read", `{"left_out":"9 bytes"}`, "U2ln")}},
			user("m_3", result("c_1", false, run.Text("ok")))},
			hi + `,{"role":"model","parts":[{"functionCall":{"id":"x","name":"read","args":{"left_out":"9 bytes"}},"thoughtSignature":"skip_thought_signature_validator"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"x","name":"read","response":{"output":"ok"}}}]}`},
		{"signed thinking and Google's own parts go back, unsigned thinking does not", []run.Message{
			answer("m_2", run.Part{Type: run.ThinkingPart, Text: "hm", Wire: Wire}, run.Part{Type: run.ThinkingPart, Text: "so", Signature: "U2ln", Wire: Wire},
				opaque(`{"executableCode": {"code":"x"}}`), run.Part{Type: run.TextPart, Text: "yes", Signature: "U2ln", Wire: Wire}, opaque(`{"text": "", "thoughtSignature": "U2ln"}`)),
			user("m_3", run.Text("more"))},
			hi + `,{"role":"model","parts":[{"text":"so","thought":true,"thoughtSignature":"U2ln"},{"executableCode": {"code":"x"}},{"text":"yes","thoughtSignature":"U2ln"},{"text": "", "thoughtSignature": "U2ln"}]},` +
				`{"role":"user","parts":[{"text":"more"}]}`},
		{"signatures alone are nothing", []run.Message{answer("m_2", run.Text(" "), opaque(`{"text":"","thoughtSignature":"U2ln"}`))}, hi},
		{"what the model said in two messages is one, and it is asked to go on", []run.Message{answer("m_2", run.Text("One ")), answer("m_3", run.Text("two."))},
			hi + `,{"role":"model","parts":[{"text":"One "},{"text":"two."}]}` + end},
		{"pictures of results stand behind all results", []run.Message{
			answer("m_2", called(Wire, "c_1", "", "read", `{}`, "U2ln"), called(Wire, "c_2", "", "shoot", `{}`, "")),
			user("m_3", result("c_1", false, run.Text("ok")), result("c_2", false, image("image/png", "png"), image("image/gif", "x"))),
			user("m_4", run.Text("Well?"))},
			hi + `,{"role":"model","parts":[{"functionCall":{"name":"read","args":{}},"thoughtSignature":"U2ln"},{"functionCall":{"name":"shoot","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"ok"}}},{"functionResponse":{"name":"shoot","response":{"output":"[the image follows]\n[an image of type image/gif is left out: the model cannot see it]"}}}]},` +
				`{"role":"user","parts":[{"text":"[image in the result of call 2]"},{"inlineData":{"mimeType":"image/png","data":"cG5n"}},{"text":"Well?"}]}`},
		{"a result whose call is gone becomes words, before the others", []run.Message{user("m_2", result("c_9", false, run.Text("lost")))},
			`{"role":"user","parts":[{"text":"[the result of an earlier call] {\"output\":\"lost\"}"},{"text":"Hi"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, contentsOf(t, append([]run.Message{hello}, c.rest...)...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheBodyPutsTheStableFirstAndGoesOnFromStepToStep(t *testing.T) {
	t.Parallel()
	conversation := []run.Message{user("m_1", run.Text("Hi")), answer("m_2", called(Wire, "c_1", "", "read", `{}`, "U2ln")), user("m_3", result("c_1", false, run.Text("x")))}
	encoder := llm.NewEncoder(New(Options{}), llm.Names{})
	bodyOf := func(more ...run.Message) string {
		conversation = append(conversation, more...)
		messages, err := encoder.Messages(conversation)
		if err != nil {
			t.Fatal(err)
		}
		body, err := requestBody(llm.Request{Model: "gemini-3-pro", System: "Be <brief>.", MaxTokens: 7, Messages: messages,
			Tools: []json.RawMessage{encodeTool(t, llm.Tool{Name: "a", Description: "A.", Schema: json.RawMessage(`{"type": "object"}`)}), encodeTool(t, llm.Tool{Name: "b"})}}, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	got := bodyOf()
	want := `{"generationConfig":{"maxOutputTokens":7,"thinkingConfig":{"includeThoughts":true}},"systemInstruction":{"parts":[{"text":"Be \u003cbrief\u003e."}]},` +
		`"tools":[{"functionDeclarations":[{"name":"a","description":"A.","parametersJsonSchema":{"type":"object"}},{"name":"b","description":"b","parametersJsonSchema":{"type":"object"}}]}],` +
		`"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"name":"read","args":{}},"thoughtSignature":"U2ln"}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"x"}}}]}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, more := range [][]run.Message{
		{user("m_4", run.Text("quick"))},
		{answer("m_5", run.Text("Yes.")), user("m_6", run.Text("Go on."))},
	} {
		next := bodyOf(more...)
		if before := strings.TrimSuffix(got, `]}]}`); !strings.HasPrefix(next, before) {
			t.Errorf("the next step's body does not begin with this one's:\n%s\n%s", before, next)
		}
		got = next
	}
}

func encodeTool(t testing.TB, tool llm.Tool) json.RawMessage {
	t.Helper()
	raw, err := New(Options{}).EncodeTool(tool)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestAToolThatCannotBeHadSaysWhy(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	if _, err := p.EncodeTool(llm.Tool{Name: "a", Schema: json.RawMessage(`{"type":"object","$dynamicRef":"#x"}`)}); err == nil {
		t.Error("a schema that the API refuses is encoded")
	}
	raw := encodeTool(t, llm.Tool{Name: "a", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"string","pattern":"^a"}}}`)})
	if strings.Contains(string(raw), `"pattern"`) || !strings.Contains(string(raw), "^a") {
		t.Errorf("what is taken out of a schema is said in words: %s", raw)
	}
}

func TestAnAnswerBySchemaIsAskedForAsTheModelTakesIt(t *testing.T) {
	t.Parallel()
	output, err := New(Options{}).EncodeOutput(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const native, spoken, functions, none = `"responseMimeType":"application/json","responseJsonSchema":{"type":"object"`, `JSON Schema: {\"type\":\"object\"`, `"functionDeclarations"`, `"mode":"NONE"`
	tools := []json.RawMessage{encodeTool(t, llm.Tool{Name: "a"})}
	messages := []llm.Message{{Role: run.User, Body: json.RawMessage(`[{"text":"x"}]`)}}
	for _, c := range []struct {
		name     string
		request  llm.Request
		has, not []string
	}{
		{"without tools", llm.Request{Model: "gemini-2.5-pro"}, []string{native}, []string{spoken}},
		{"with tools, since Gemini 3", llm.Request{Model: "gemini-3.1-pro-preview", Tools: tools}, []string{native, functions}, []string{spoken}},
		{"with tools, of a model that nobody knows", llm.Request{Model: "house-blend", Tools: tools}, []string{native, functions}, []string{spoken}},
		{"with tools, before", llm.Request{Model: "gemini-2.5-pro", Tools: tools}, []string{functions, spoken}, []string{native}},
		{"with tools that are not to be called, before", llm.Request{Model: "gemini-2.5-pro", Tools: tools, NoCalls: true}, []string{native}, []string{functions, spoken, none}},
		{"with tools that are not to be called", llm.Request{Model: "gemini-3-pro", Tools: tools, NoCalls: true}, []string{native, functions, none}, []string{spoken}},
	} {
		c.request.Messages, c.request.Output = messages, output
		body, err := requestBody(c.request, struct{}{})
		if err != nil || !json.Valid(body) {
			t.Fatalf("%s: %s, %v", c.name, body, err)
		}
		for _, has := range c.has {
			if !strings.Contains(string(body), has) {
				t.Errorf("%s: no %s in %s", c.name, has, body)
			}
		}
		for _, not := range c.not {
			if strings.Contains(string(body), not) {
				t.Errorf("%s: %s in %s", c.name, not, body)
			}
		}
	}
}

func TestThinkingIsShownByModelsThatCan(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{
		"gemini-2.5-flash": true, "models/gemini-3.1-pro-preview": true, "gemini-10-pro": true, "gemini-flash-latest": true,
		"gemini-2.0-flash": false, "gemini-1.5-pro": false, "gemini-2.5-flash-image": false, "gemma-3-27b-it": false, "house-blend": false,
	} {
		if got := thinks(model); got != want {
			t.Errorf("thinks(%s) = %v", model, got)
		}
	}
}

func TestARequestThatCannotBeSentSaysWhy(t *testing.T) {
	t.Parallel()
	one := []llm.Message{{Role: run.User, Body: json.RawMessage(`[{"text":"x"}]`)}}
	for _, c := range []struct {
		name    string
		options Options
		request llm.Request
		kind    run.ErrorKind
		words   string
	}{
		{"no message", Options{}, llm.Request{Model: "m"}, run.ErrInvalid, "no message"},
		{"no model", Options{}, llm.Request{Messages: one}, run.ErrInvalid, "no model"},
		{"an address that is none", Options{BaseURL: "localhost:80"}, llm.Request{Model: "m", Messages: one}, run.ErrInvalid, "base URL"},
		{"a key with a line break", Options{Key: "sk\nx"}, llm.Request{Model: "m", Messages: one}, run.ErrAuth, "line break"},
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
			m.Parts = []run.Part{run.Text("I look at the file."), called(Wire, id, "96c1su3s", "read", `{"path":"llm/gemini/encode.go"}`, strings.Repeat("U2ln", 100))}
		default:
			m.Parts = []run.Part{result(run.CallID(fmt.Sprintf("c_%d", i/2-1)), false, run.Text(strings.Repeat("func main() { <-done }\n", 40)))}
		}
		all = append(all, m)
	}
	return all
}

// BenchmarkRequest: a request at 5,000 messages of which one is new.
func BenchmarkRequest(b *testing.B) {
	all := conversation(5001)
	e := llm.NewEncoder(New(Options{}), llm.Names{})
	if _, err := e.Messages(all[:5000]); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		all[5000].Rev = i
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
	all := conversation(5001)
	p := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := llm.NewEncoder(p, llm.Names{}).Messages(all); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTheEffortIsALevelOrABudget(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		model string
		llm.Effort
	}{
		`{}`: {"m", llm.Effort{}},
		`{"thinkingConfig":{"includeThoughts":true}}`:                       {"gemini-3-pro", llm.Effort{}},
		`{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"low"}}`: {"gemini-3-pro", llm.Effort{Level: "low"}},
		`{"thinkingConfig":{"thinkingLevel":"high"}}`:                       {"tuned", llm.Effort{Level: "high"}},
		`{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":2048}}`: {"gemini-2.5-pro", llm.Effort{Budget: 2048}},
		`{"thinkingConfig":{"thinkingBudget":0}}`:                           {"gemini-2.5-flash", llm.Effort{Level: llm.NoThinking}},
	} {
		body, err := requestBody(llm.Request{Model: c.model, Effort: c.Effort, Messages: []llm.Message{{Role: run.User, Body: json.RawMessage(`[{"text":"x"}]`)}}}, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		got, _, _ := strings.Cut(strings.TrimPrefix(string(body), `{"generationConfig":`), `,"contents":`)
		if got != want {
			t.Errorf("%s, %+v: got %s, want %s", c.model, c.Effort, got, want)
		}
	}
}
