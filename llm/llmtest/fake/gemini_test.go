package fake_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
)

// postGemini sends a body to a server that accepts nothing wrong, and returns status
// and answer.
func postGemini(t *testing.T, target, key, body string) (int, string) {
	t.Helper()
	s := fake.New(script.Script{{Text: "fine", Repeat: true}}, false)
	url, stop, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("x-goog-api-key", key)
	}
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

func TestTheGeminiServerRefusesWhatTheRealOneRefuses(t *testing.T) {
	t.Parallel()
	const path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
	body := func(contents string) string {
		return `{"generationConfig":{"maxOutputTokens":5},"tools":[{"functionDeclarations":[{"name":"a","description":"A.","parametersJsonSchema":{"type":"object"}}]}],"contents":[` + contents + `]}`
	}
	content := func(role, parts string) string { return `{"role":"` + role + `","parts":[` + parts + `]}` }
	hi, yes := content("user", `{"text":"hi"}`), content("model", `{"text":"yes"}`)
	const (
		unsigned = `{"functionCall":{"name":"a","args":{}}}`
		call     = `{"functionCall":{"name":"a","args":{}},"thoughtSignature":"skip_thought_signature_validator"}`
		withID   = `{"functionCall":{"id":"1","name":"a","args":{}},"thoughtSignature":"skip_thought_signature_validator"}`
		result   = `{"functionResponse":{"name":"a","response":{"output":"ok"}}}`
	)
	called := hi + "," + content("model", call)
	done := called + "," + content("user", result)
	with := func(more string) string {
		return strings.Replace(body(hi), `"contents"`, more+`,"contents"`, 1)
	}

	for name, right := range map[string]string{
		"a result":                        body(done),
		"two contents of the user":        body(done + "," + content("user", `{"text":"quick"}`)),
		"no signature before the last":    body(hi + "," + content("model", unsigned) + "," + content("user", result) + "," + yes + "," + hi),
		"one signature for several calls": body(hi + "," + content("model", call+","+unsigned) + "," + content("user", result+","+result)),
		"no calls wanted":                 with(`"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`),
	} {
		if status, answer := postGemini(t, path, "k", right); status != 200 || !strings.Contains(answer, `"finishReason":"STOP"`) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	for name, c := range map[string]struct{ body, words string }{
		"no contents":                   {body(""), "'/contents': minItems: got 0, want 1"},
		"the model first":               {body(yes + "," + hi), "first must be the user's"},
		"the model last":                {body(hi + "," + yes), "ending with a model turn"},
		"two contents of the model":     {body(hi + "," + yes + "," + yes + "," + hi), "joins"},
		"another role":                  {body(content("system", `{"text":"x"}`)), "'/contents/0/role': value must be one of 'user'"},
		"no parts":                      {body(content("user", "")), "'/contents/0/parts': minItems: got 0, want 1"},
		"a part without data":           {body(content("user", "{}")), "'/contents/0/parts/0': minProperties: got 0, want 1"},
		"a blank text":                  {body(content("user", `{"text":" "}`)), "'/contents/0/parts/0/text': ' ' does not match pattern"},
		"an unknown field":              {with(`"safetySetting":[]`), "'': additional properties 'safetySetting' not allowed"},
		"an unknown field in a part":    {body(content("user", `{"text":"x","id":"y"}`)), "'/contents/0/parts/0': maxProperties: got 2, want 1"},
		"a call without a result":       {body(called + "," + hi), "number of function response parts"},
		"a call at the end":             {body(called), "followed by a function response"},
		"a result without a call":       {body(content("user", result)), "immediately after a function call"},
		"two results of a call":         {body(called + "," + content("user", result+","+result)), "number of function response parts"},
		"words beside results":          {body(called + "," + content("user", result+`,{"text":"x"}`)), "number of function response parts"},
		"a result of another function":  {body(called + "," + content("user", strings.Replace(result, `"a"`, `"b"`, 1))), "the call was of a"},
		"a result without its id":       {body(hi + "," + content("model", withID) + "," + content("user", result)), "the call was of a 1"},
		"two calls of one id":           {body(hi + "," + content("model", withID+","+withID) + "," + content("user", result+","+result)), "duplicate"},
		"a call of the user":            {body(content("user", call)), "'/contents/0/parts/0': maxProperties: got 2, want 1"},
		"a call that is not signed":     {body(hi + "," + content("model", unsigned) + "," + content("user", result)), "missing a thought_signature"},
		"a call signed by another":      {body(strings.Replace(done, "skip_thought_signature_validator", "U2ln", 1)), "Corrupted thought signature"},
		"a signature that is no base64": {body(strings.Replace(done, "skip_thought_signature_validator", "?", 1)), "'/contents/1/parts/0/thoughtSignature': '?' does not match pattern"},
		"arguments that are no object":  {body(strings.Replace(done, `"args":{}`, `"args":"{}"`, 1)), "'/contents/1/parts/0/functionCall/args': got string, want object"},
		"a call's name":                 {body(strings.Replace(done, `"name":"a","args"`, `"name":"9","args"`, 1)), "'/contents/1/parts/0/functionCall/name': '9' does not match pattern"},
		"an error without words":        {body(strings.Replace(done, `"output":"ok"`, `"error":""`, 1)), "'/contents/2/parts/0/functionResponse/response/error': minLength: got 0, want 1"},
		"a response that is nothing":    {body(strings.Replace(done, `"output":"ok"`, ``, 1)), "'/contents/2/parts/0/functionResponse/response': minProperties: got 0, want 1"},
		"thinking that is not signed":   {body(hi + "," + content("model", `{"text":"x","thought":true}`) + "," + hi), "'/contents/1/parts/0/thought': value must be false"},
		"a picture of another type":     {body(content("user", `{"inlineData":{"mimeType":"image/gif","data":"eA=="}}`)), "'/contents/0/parts/0/inlineData/mimeType': value must be one of 'image/png'"},
		"a picture that is no base64":   {body(content("user", `{"inlineData":{"mimeType":"image/png","data":"-"}}`)), "'/contents/0/parts/0/inlineData/data': value is not 'base64' encoded: illegal base64 data at input byte 0"},
		"a tool's name":                 {strings.Replace(body(hi), `"name":"a"`, `"name":"-a"`, 1), "'/tools/0/functionDeclarations/0/name': '-a' does not match pattern"},
		"a tool without description":    {strings.Replace(body(hi), `"A."`, `""`, 1), "description"},
		"a tool's schema":               {strings.Replace(body(hi), `{"type":"object"}`, `{"type":"array"}`, 1), "'/tools/0/functionDeclarations/0/parametersJsonSchema/type': value must be 'object'"},
		"two tools of one name":         {strings.Replace(body(hi), `"functionDeclarations":[`, `"functionDeclarations":[{"name":"a","description":"A.","parametersJsonSchema":{"type":"object"}},`, 1), "must be unique"},
		"functions and a schema":        {strings.Replace(body(hi), `"maxOutputTokens":5`, `"responseMimeType":"application/json","responseJsonSchema":{}`, 1), "is unsupported"},
		"something behind the body":     {body(hi) + "{}", "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, answer := postGemini(t, path, "k", c.body)
			if status != 400 || !strings.Contains(answer, `"status":"INVALID_ARGUMENT"`) || !strings.Contains(answer, c.words) {
				t.Errorf("got %d %s, want 400 with %q", status, answer, c.words)
			}
		})
	}
	if status, answer := postGemini(t, path, "", body(hi)); status != 403 || !strings.Contains(answer, "PERMISSION_DENIED") {
		t.Errorf("without a key: %d %s", status, answer)
	}
	if status, answer := postGemini(t, path+"&key=k", "k", body(hi)); status != 400 || !strings.Contains(answer, "no key in an address") {
		t.Errorf("with a key in the address: %d %s", status, answer)
	}
	if status, answer := postGemini(t, strings.TrimSuffix(path, "?alt=sse"), "k", body(hi)); status != 400 || !strings.Contains(answer, "alt") {
		t.Errorf("without alt=sse: %d %s", status, answer)
	}
}
