package fake_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
)

// postChat sends a body to a server that accepts nothing wrong, and returns status
// and answer.
func postChat(t *testing.T, body, key string) (int, string) {
	t.Helper()
	s := fake.New(script.Script{{Text: "fine", Repeat: true}}, false)
	url, stop, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {key}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer.String()
}

func TestTheChatServerRefusesWhatTheStrictOnesRefuse(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object"}}}],`
	body := func(messages string) string {
		return `{"model":"m","stream":true,"max_tokens":5,` + tools + `"messages":[` + messages + `]}`
	}
	text := func(role, s string) string { return `{"role":"` + role + `","content":"` + s + `"}` }
	const (
		call   = `{"id":"c00000001","type":"function","function":{"name":"a","arguments":"{}"}}`
		result = `{"role":"tool","tool_call_id":"c00000001","content":"ok"}`
	)
	calls := func(c string) string { return `{"role":"assistant","content":null,"tool_calls":[` + c + `]}` }
	hi, yes := text("user", "hi"), text("assistant", "yes")
	called := hi + "," + calls(call)
	other := strings.Replace(call, "c00000001", "c00000002", 1)
	output := func(schema string) string {
		return strings.Replace(body(hi), `"stream"`, `"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":`+schema+`}},"stream"`, 1)
	}

	if status, answer := postChat(t, body(called+","+result), "Bearer k"); status != 200 || !strings.HasSuffix(answer, "data: [DONE]\n\n") || strings.Contains(answer, "usage") {
		t.Fatalf("a right request: %d %s", status, answer)
	}
	asked := strings.Replace(body(hi), `"stream"`, `"stream_options":{"include_usage":true},"stream"`, 1)
	if _, answer := postChat(t, asked, "Bearer k"); !strings.Contains(answer, `"prompt_tokens"`) {
		t.Errorf("usage was asked for: %s", answer)
	}
	for name, c := range map[string]struct{ body, words string }{
		"no message":                {body(""), "'/messages': minItems: got 0, want 1"},
		"the system alone":          {body(text("system", "x")), "minimum length 1"},
		"the system in the middle":  {body(hi + "," + text("system", "x")), "must be the first"},
		"the assistant first":       {body(yes), "alternate"},
		"the assistant last":        {body(hi + "," + yes), "Expected last role"},
		"two users":                 {body(hi + "," + hi), "alternate"},
		"two assistants":            {body(hi + "," + yes + "," + yes), "alternate"},
		"an unknown role":           {body(text("robot", "x")), "'/messages/0/role': value must be one of 'system'"},
		"blank text":                {body(text("user", " ")), "'/messages/0/content': ' ' does not match pattern"},
		"text in a list":            {body(`{"role":"user","content":[{"type":"text","text":"x"}]}`), "'/messages/0/content/0': missing property 'cache_control'"},
		"an image of the tool's":    {body(called + `,{"role":"tool","tool_call_id":"c00000001","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]}`), "'/messages/2/content/0': missing property 'text'"},
		"an image of another type":  {body(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/tiff;base64,eA=="}}]}`), "'/messages/0/content/0/image_url/url': 'data:image/tiff;base64,eA==' is not valid image-url: it is no base64 data URL of an image"},
		"an image that is no data":  {body(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,-"}}]}`), "'/messages/0/content/0/image_url/url': 'data:image/png;base64,-' is not valid image-url: illegal base64 data at input byte 0"},
		"an assistant with nothing": {body(hi + `,{"role":"assistant","content":null},` + hi), "'/messages/1': missing property 'tool_calls'"},
		"a call without a result":   {body(called + "," + hi), "must be followed by tool messages"},
		"a call at the end":         {body(called), "must be followed by tool messages"},
		"a result without a call":   {body(hi + "," + result), "must be a response"},
		"two results of a call":     {body(called + "," + result + "," + result), "must be a response"},
		"results in another order":  {body(hi + "," + calls(other+","+call) + "," + result), "in the order of their calls"},
		"an id used twice":          {body(called + "," + result + "," + calls(call) + "," + result), "duplicate tool call id"},
		"an id of another form":     {body(hi + "," + calls(strings.Replace(call, "c00000001", "call_1", 1))), "'/messages/1/tool_calls/0/id': 'call_1' does not match pattern"},
		"arguments as an object":    {body(hi + "," + calls(strings.Replace(call, `"{}"`, `{}`, 1))), "'/messages/1/tool_calls/0/function/arguments': got object, want string"},
		"arguments that are none":   {body(hi + "," + calls(strings.Replace(call, `"{}"`, `"x"`, 1))), "'/messages/1/tool_calls/0/function/arguments': 'x' does not match pattern"},
		"a call's name":             {body(hi + "," + calls(strings.Replace(call, `"a"`, `"a b"`, 1))), "does not match pattern"},
		"reasoning that was edited": {body(hi + `,{"role":"assistant","content":"x","reasoning_details":[{"type":"reasoning.text","text":"x","index":0,"format":"f","signature":"y"}]},` + hi), "Invalid `signature`"},
		"an unknown field":          {strings.Replace(body(hi), `"model"`, `"modell":1,"model"`, 1), "'': additional properties 'modell' not allowed"},
		"no model":                  {strings.Replace(body(hi), `"model":"m",`, "", 1), "'': missing property 'model'"},
		"no tokens":                 {strings.Replace(body(hi), `:5`, ":0", 1), "'/max_tokens': minimum: got 0, want 1"},
		"two limits":                {strings.Replace(body(hi), `"max_tokens":5`, `"max_tokens":5,"max_completion_tokens":5`, 1), "'/max_completion_tokens': false schema"},
		"an empty list of tools":    {strings.Replace(body(hi), tools, `"tools":[],`, 1), "'/tools': minItems: got 0, want 1"},
		"a choice without tools":    {strings.Replace(body(hi), tools, `"tool_choice":"none",`, 1), "'': properties 'tools' required, if 'tool_choice' exists"},
		"a choice that is none":     {strings.Replace(body(hi), `"stream"`, `"tool_choice":"some","stream"`, 1), "'/tool_choice': value must be one of 'none'"},
		"a tool's name":             {strings.Replace(body(hi), `"name":"a"`, `"name":"a b"`, 1), "does not match pattern"},
		"a tool's schema":           {strings.Replace(body(hi), `{"type":"object"}`, `{"type":"array"}`, 1), "'/tools/0/function/parameters/type': value must be 'object'"},
		"an open schema":            {output(`{"type":"object","properties":{}}`), "additionalProperties"},
		"an optional property":      {output(`{"type":"object","properties":{"x":{}},"required":[],"additionalProperties":false}`), "Missing 'x'"},
		"something behind the body": {body(hi) + "{}", "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, answer := postChat(t, c.body, "Bearer k")
			if status != 400 || !strings.Contains(answer, `{"error":{`) || !strings.Contains(answer, c.words) {
				t.Errorf("got %d %s, want 400 with %q", status, answer, c.words)
			}
		})
	}
	if status, answer := postChat(t, body(hi), "k"); status != 401 || !strings.Contains(answer, "API key") {
		t.Errorf("without a key: %d %s", status, answer)
	}
}
