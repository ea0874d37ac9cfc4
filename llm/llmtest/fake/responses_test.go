package fake_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
)

// postResponses sends a body to a Responses API that accepts nothing wrong, and
// returns status and answer.
func postResponses(t *testing.T, body, authorization string) (int, string) {
	t.Helper()
	s := fake.New(script.Script{{Text: "It said: {{last_result}}", Repeat: true}}, false)
	url, stop, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/responses", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {authorization}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

func TestTheResponsesServerRefusesWhatTheRealOneRefuses(t *testing.T) {
	t.Parallel()
	const tool = `{"type":"function","name":"a","strict":false,"parameters":{"type":"object","properties":{}}}`
	body := func(items ...string) string {
		return `{"model":"m","stream":true,"store":false,"prompt_cache_key":"k","include":["reasoning.encrypted_content"],"tools":[` + tool + `],"input":[` + strings.Join(items, ",") + `]}`
	}
	change := func(old, new string, items ...string) string {
		changed := strings.Replace(body(items...), old, new, 1)
		if changed == body(items...) {
			t.Fatalf("nothing to change: %s", old)
		}
		return changed
	}
	user := func(content string) string {
		return `{"type":"message","role":"user","content":[` + content + `]}`
	}
	const (
		yes     = `{"type":"message","role":"assistant","content":"yes","phase":"commentary"}`
		call    = `{"type":"function_call","call_id":"c_1","name":"a","arguments":"{}"}`
		result  = `{"type":"function_call_output","call_id":"c_1","output":"Error: no such file"}`
		hidden  = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`
		picture = `{"type":"input_image","image_url":"data:image/png;base64,eA==","detail":"auto"}`
	)
	hi := user(`{"type":"input_text","text":"hi"}`)
	format := func(schema string) string {
		return `"text":{"format":{"type":"json_schema","name":"answer","strict":true,"schema":` + schema + `}},"tools"`
	}

	if status, answer := postResponses(t, body(hi, hidden, yes, call, result, hi), "Bearer k"); status != 200 || !strings.Contains(answer, `"type":"response.completed"`) {
		t.Fatalf("a right request: %d %s", status, answer)
	}
	if _, answer := postResponses(t, body(hi, call, result), "Bearer k"); !strings.Contains(answer, "It said: no such file") {
		t.Errorf("a script sees the mark of an error: %s", answer)
	}
	for name, c := range map[string]struct{ body, words string }{
		"nothing to answer":                {body(), "'/input': minItems: got 0, want 1"},
		"an unknown field":                 {change(`"model"`, `"modell":1,"model"`, hi), "modell"},
		"no model":                         {change(`"model":"m",`, "", hi), "'model'"},
		"state on the server":              {change(`"store":false`, `"store":true`, hi), "store"},
		"store by default":                 {change(`"store":false,`, ``, hi), "store"},
		"no stream":                        {change(`"stream":true`, `"stream":false`, hi), "stream"},
		"too few tokens":                   {change(`"tools"`, `"max_output_tokens":5,"tools"`, hi), "max_output_tokens"},
		"a long cache key":                 {change(`"k"`, `"`+strings.Repeat("k", 65)+`"`, hi), "prompt_cache_key"},
		"something else included":          {change("reasoning.encrypted_content", "all", hi), "'/include/0': value must be 'reasoning.encrypted_content'"},
		"another summary":                  {change(`"tools"`, `"reasoning":{"summary":"long"},"tools"`, hi), "'/reasoning/summary': value must be one of 'auto'"},
		"a choice of no tools":             {change(`"tools":[`+tool+`]`, `"tool_choice":"none"`, hi), "'': missing property 'tools'"},
		"another choice":                   {change(`"tools"`, `"tool_choice":"any","tools"`, hi), "'/tool_choice': value must be one of 'auto'"},
		"an item that is none":             {body(hi, `{"type":"sound"}`), "'/input/1/type': value must be one of 'message'"},
		"a message without a type":         {body(`{"role":"user","content":"hi"}`), "'/input/0': missing property 'type'"},
		"an unknown field in an item":      {body(hi, strings.Replace(call, `"name"`, `"id":"fc_1","name"`, 1)), "id"},
		"a blank text":                     {body(user(`{"type":"input_text","text":" "}`)), "'/input/0/content/0/text': ' ' does not match pattern"},
		"blank words of the assistant":     {body(hi, strings.Replace(yes, "yes", " ", 1)), "'/input/1/content': ' ' does not match pattern"},
		"no words at all":                  {body(user("")), "'/input/0/content': minItems: got 0, want 1"},
		"an unknown phase":                 {body(hi, strings.Replace(yes, "commentary", "thinking", 1)), "'/input/1/phase': value must be one of 'commentary'"},
		"a picture of another type":        {body(user(strings.Replace(picture, "png", "tiff", 1))), "image_url"},
		"a picture that is no base64":      {body(user(strings.Replace(picture, "eA==", "-", 1))), "image_url"},
		"an unknown detail":                {body(user(strings.Replace(picture, "auto", "best", 1))), "'/input/0/content/0/detail': value must be one of 'auto'"},
		"a call without a result":          {body(hi, call, hi), "No tool output found for function call c_1"},
		"a call at the end":                {body(hi, call), "No tool output found for function call c_1"},
		"a result without a call":          {body(hi, result), "No tool call found for function call output with call_id c_1"},
		"two results of a call":            {body(hi, call, result, result), "No tool call found"},
		"words before the result":          {body(hi, call, hi, result), "No tool output found"},
		"an id used twice":                 {body(hi, call, result, call, result), "each their own"},
		"arguments that are no object":     {body(hi, strings.Replace(call, "{}", "[]", 1), result), "got array, want object"},
		"an id of other characters":        {body(hi, strings.Replace(call, "c_1", "c.1", 1)), "call_id"},
		"a name of other characters":       {body(hi, strings.Replace(call, `"a"`, `"a b"`, 1), result), "'/input/1/name': 'a b' does not match pattern"},
		"a result without output":          {body(hi, call, `{"type":"function_call_output","call_id":"c_1"}`), "'output'"},
		"a result with an unknown content": {body(hi, call, strings.Replace(result, `"Error: no such file"`, `[{"type":"text","text":"x"}]`, 1)), "'input_text'"},
		"reasoning at the end":             {body(hi, hidden), "without its required following item"},
		"reasoning before the user":        {body(hi, hidden, hi), "without its required following item"},
		"reasoning that is a reference":    {body(hi, strings.Replace(hidden, `"x"`, `""`, 1), yes), "'/input/1/encrypted_content': minLength: got 0, want 1"},
		"reasoning that was changed":       {body(hi, strings.Replace(hidden, `[]`, `[{"type":"summary_text","text":"I"}]`, 1), yes), "could not be verified"},
		"reasoning without its id":         {body(hi, strings.Replace(hidden, `rs_1`, ``, 1), yes), "'/input/1/id': '' does not match pattern"},
		"a tool's name":                    {change(`"name":"a"`, `"name":"a b"`, hi), "'/tools/0/name': 'a b' does not match pattern"},
		"a tool that does not say strict":  {change(`"strict":false,`, ``, hi), "strict"},
		"a tool's schema":                  {change(`{"type":"object","properties":{}}`, `{"type":"array"}`, hi), "'/tools/0/parameters': missing property 'properties'"},
		"a tool without properties":        {change(`,"properties":{}`, ``, hi), "'/tools/0/parameters': missing property 'properties'"},
		"two tools of one name":            {change(`"tools":[`, `"tools":[`+tool+`,`, hi), "must be unique"},
		"an open schema, enforced":         {change(`"tools"`, format(`{"type":"object","properties":{}}`), hi), "additionalProperties"},
		"an optional property, enforced":   {change(`"tools"`, format(`{"anyOf":[{"type":"object","properties":{"n":{}},"additionalProperties":false}]}`), hi), "Missing 'n'"},
		"something behind the body":        {body(hi) + "{}", "after top-level value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, answer := postResponses(t, c.body, "Bearer k")
			if status != 400 || !strings.Contains(answer, `"invalid_request_error"`) || !strings.Contains(answer, c.words) {
				t.Errorf("got %d %s, want 400 with %q", status, answer, c.words)
			}
		})
	}
	for _, key := range []string{"", "Bearer ", "Basic x"} {
		if status, answer := postResponses(t, body(hi), key); status != 401 || !strings.Contains(answer, "invalid_api_key") {
			t.Errorf("with the key %q: %d %s", key, status, answer)
		}
	}
}
