package script_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pawl/llm/llmtest"
	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
	"pawl/run"
)

func user(words string) script.Message {
	return script.Message{Role: run.User, Words: words, Blocks: 1}
}

func said(words string, blocks int) script.Message {
	return script.Message{Role: run.Assistant, Words: words, Blocks: blocks}
}

// next returns the texts that a player gives to the same request again and again.
func next(t *testing.T, p *script.Player, times int, c script.Conversation) string {
	t.Helper()
	var texts []string
	for range times {
		r, _, err := p.Next(c)
		switch {
		case err != nil:
			texts = append(texts, "END")
		case r.Error != nil:
			texts = append(texts, fmt.Sprint(r.Error.Status))
		default:
			texts = append(texts, r.Text)
		}
	}
	return strings.Join(texts, " ")
}

func TestAPlayerThatNeverSawTheConversationGoesOnAtItsPlace(t *testing.T) {
	t.Parallel()
	s := llmtest.Parse(t, `
# a comment
{"text":"one"}
{"error":{"status":529},"times":2}
{"text":"two","stop":"pause_turn"}
{"text":"three","calls":[{"tool":"a"},{"tool":"b"}]}
{}
{"text":"four"}
{"when":{"contains":"thank"},"text":"welcome","repeat":true}
{"when":{"first":"child","system":"Be"},"text":"c1"}
{"when":{"first":"child"},"text":"c2"}`)
	hello, one := user("hello"), said("one", 1)
	for _, c := range []struct {
		name     string
		times    int
		messages []script.Message
		want     string
	}{
		{"the first, as often as it is asked for", 2, []script.Message{hello}, "one one"},
		{"errors leave no trace and are counted", 4, []script.Message{hello, one, user("go")}, "529 529 two two"},
		{"behind a pause", 1, []script.Message{hello, one, user("go"), said("two", 1)}, "three"},
		{"behind a pause whose answer was joined", 3, []script.Message{hello, one, user("go"), said("two\nthree", 4), user("r")}, " four four"},
		{"at the end", 1, []script.Message{hello, one, user("go"), said("two\nthree", 4), user("r"), said("four", 1), user("x")}, "END"},
		{"a rule stands before its turn and uses up none", 1, []script.Message{hello, user("thank you"), said("welcome", 1), user("thanks"), said("welcome", 1), user("go")}, "one"},
		{"a rule that repeats", 2, []script.Message{hello, user("thank you"), said("welcome", 1), user("thanks")}, "welcome welcome"},
		{"rules of another conversation, in order", 1, []script.Message{user("a child task")}, "c1"},
		{"each once", 1, []script.Message{user("a child task"), said("c1", 1), user("go")}, "c2"},
		{"and then the rest", 1, []script.Message{user("a child task"), said("c1", 1), user("go"), said("c2", 1), user("go")}, "one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := next(t, script.NewPlayer(s), c.times, script.Conversation{System: "Be brief.", Messages: c.messages})
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAnEmptyAnswerIsNotGivenAgainAfterANudge(t *testing.T) {
	t.Parallel()
	p := script.NewPlayer(llmtest.Parse(t, `{"times":2}`+"\n"+`{"text":"at last"}`))
	c := script.Conversation{Messages: []script.Message{user("hello")}}
	if got := next(t, p, 2, c); got != " " {
		t.Fatalf("got %q, want two empty answers", got)
	}
	c.Messages = append(c.Messages, user("please answer"))
	if got := next(t, p, 1, c); got != "at last" {
		t.Errorf("got %q after the nudge", got)
	}
}

func TestAnInterruptedReplyIsUsedUpWhenItLeftATrace(t *testing.T) {
	t.Parallel()
	s := llmtest.Parse(t, `{"text":"for ever ","endless":true}`+"\n"+`{"text":"sorry"}`)
	partial := []script.Message{user("hello"), said("for ever for", 1), user("stop that")}
	if got := next(t, script.NewPlayer(s), 1, script.Conversation{Messages: partial}); got != "sorry" {
		t.Errorf("got %q", got)
	}
}

func TestPlaceholdersTakeFromTheConversation(t *testing.T) {
	t.Parallel()
	p := script.NewPlayer(llmtest.Parse(t, `{"text":"{{prompt}}!","thinking":"{{count}}","calls":[{"tool":"write","args":{"text":"<{{last_result}}>"}},{"tool":"read","raw_args":"{\"offset\":{{count}}}"}]}`))
	r, _, err := p.Next(script.Conversation{Messages: []script.Message{user("do"), {Role: run.User, Results: []string{"no", "a \"b\"\n"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Thinking != "1" || *r.Calls[1].RawArgs != `{"offset":1}` {
		t.Errorf("counted %q and %s", r.Thinking, *r.Calls[1].RawArgs)
	}
	if r.Text != "do!" || string(r.Calls[0].Args) != `{"text":"<a \"b\"\n>"}` {
		t.Errorf("got %q and %s", r.Text, r.Calls[0].Args)
	}
}

func TestAWrongScriptIsToldWithItsLine(t *testing.T) {
	t.Parallel()
	for line, words := range map[string]string{
		`{"txt":"x"}`:                       `line 2: unknown field "txt"`,
		`{"text":"x"`:                       `line 2: the JSON object has no end`,
		`{"text":5}`:                        `line 2: text cannot be of type number`,
		`{"cut":"off"}`:                     `line 2: cut "off"`,
		`{"cut":"call"}`:                    `line 2: cut in a call, but there is no call`,
		`{"endless":true}`:                  `line 2: endless needs a text`,
		`{"calls":[{"tool":"a","args":1}]}`: `line 2: call of a: args is not an object`,
		`{} {}`:                             `line 2: more than one reply`,
	} {
		if _, err := script.Parse(strings.NewReader("# first\n" + line)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: got %v, want %q", line, err, words)
		}
	}
}

// post sends a body to a server that accepts nothing wrong, and returns status and answer.
func post(t *testing.T, body string, headers ...string) (int, string) {
	t.Helper()
	s := fake.New(script.Script{{Text: "fine", Repeat: true}}, false)
	url, stop, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}
	for _, h := range headers {
		req.Header.Del(h)
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

func TestTheServerRefusesWhatTheRealOneRefuses(t *testing.T) {
	t.Parallel()
	body := func(messages string) string {
		return `{"model":"m","max_tokens":5,"stream":true,"tools":[{"name":"a","input_schema":{"type":"object"}}],"messages":[` + messages + `]}`
	}
	text := func(role, s string) string {
		return `{"role":"` + role + `","content":[{"type":"text","text":"` + s + `"}]}`
	}
	message := func(role, blocks string) string { return `{"role":"` + role + `","content":[` + blocks + `]}` }
	hi, yes := text("user", "hi"), text("assistant", "yes")
	use := `{"type":"tool_use","id":"c_1","name":"a","input":{}}`
	result := `{"type":"tool_result","tool_use_id":"c_1","content":[{"type":"text","text":"ok"}]}`
	called := hi + "," + message("assistant", use)

	if status, answer := post(t, body(called+","+message("user", result))); status != 200 || !strings.Contains(answer, "message_stop") {
		t.Fatalf("a right request: %d %s", status, answer)
	}
	for name, c := range map[string]struct{ body, words string }{
		"the assistant first":         {body(yes), "first message"},
		"two users":                   {body(hi + "," + hi), "alternate"},
		"no message":                  {body(""), "'/messages': minItems: got 0, want 1"},
		"no content":                  {body(message("user", "")), "'/messages/0/content': minItems: got 0, want 1"},
		"an empty text":               {body(text("user", "")), "'/messages/0/content/0/text': '' does not match pattern"},
		"a blank text":                {body(text("user", " ")), "'/messages/0/content/0/text': ' ' does not match pattern"},
		"an unknown field in a block": {body(message("user", `{"type":"text","text":"x","id":"y"}`)), "'/messages/0/content/0': additional properties 'id' not allowed"},
		"an unknown field":            {strings.Replace(body(hi), `"model"`, `"modell":1,"model"`, 1), "'': additional properties 'modell' not allowed"},
		"an unknown block":            {body(message("user", `{"type":"sound"}`)), "'/messages/0/content/0/type': value must be one of 'text'"},
		"a call without a result":     {body(called + "," + hi), "without `tool_result`"},
		"a call at the end":           {body(called), "without `tool_result`"},
		"a result without a call":     {body(message("user", result)), "unexpected `tool_use_id`"},
		"two results of a call":       {body(called + "," + message("user", result+","+result)), "unexpected `tool_use_id`"},
		"words before results":        {body(called + "," + message("user", `{"type":"text","text":"x"},`+result)), "must come first"},
		"an id used twice":            {body(called + "," + message("user", result) + "," + message("assistant", use)), "unique"},
		"input that is no object":     {body(hi + "," + message("assistant", strings.Replace(use, "{}", "[]", 1))), "'/messages/1/content/0/input': got array, want object"},
		"an id of other characters":   {body(hi + "," + message("assistant", strings.Replace(use, "c_1", "c.1", 1))), "'/messages/1/content/0/id': 'c.1' does not match pattern"},
		"a call by the user":          {body(message("user", use)), "'/messages/0/content/0/type': value must be one of 'text'"},
		"an error without words":      {body(called + "," + message("user", `{"type":"tool_result","tool_use_id":"c_1","is_error":true}`)), "'/messages/2/content/0': missing property 'content'"},
		"is_error that is false":      {body(called + "," + message("user", strings.Replace(result, `"content"`, `"is_error":false,"content"`, 1))), "'/messages/2/content/0/is_error': value must be true"},
		"thinking without signature":  {body(hi + "," + message("assistant", `{"type":"thinking","thinking":"x","signature":""},`+use)), "'/messages/1/content/0/signature': minLength: got 0, want 1"},
		"thinking with another's":     {body(hi + "," + message("assistant", `{"type":"thinking","thinking":"x","signature":"y"},`+use)), "Invalid `signature`"},
		"white space at the end":      {body(hi + "," + text("assistant", "yes ")), "trailing whitespace"},
		"thinking at the end":         {body(hi + "," + message("assistant", `{"type":"redacted_thinking","data":"x"}`)), "final block"},
		"a picture of another type":   {body(message("user", `{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"eA=="}}`)), "media_type"},
		"a picture that is no base64": {body(message("user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"-"}}`)), "base64"},
		"no max_tokens":               {strings.Replace(body(hi), `"max_tokens":5,`, "", 1), "'': missing property 'max_tokens'"},
		"no model":                    {strings.Replace(body(hi), `"model":"m",`, "", 1), "'': missing property 'model'"},
		"a tool's name":               {strings.Replace(body(hi), `"name":"a"`, `"name":"a b"`, 1), "'/tools/0/name': 'a b' does not match pattern"},
		"a tool's schema":             {strings.Replace(body(hi), `{"type":"object"}`, `{"type":"array"}`, 1), "input_schema"},
		"two tools of one name":       {strings.Replace(body(hi), `"tools":[`, `"tools":[{"name":"a","input_schema":{"type":"object"}},`, 1), "must be unique"},
		"calls without tools":         {strings.Replace(body(called+","+message("user", result)), `"tools":[{"name":"a","input_schema":{"type":"object"}}],`, "", 1), "must define tools"},
		"something behind the body":   {body(hi) + "{}", "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, answer := post(t, c.body)
			if status != 400 || !strings.Contains(answer, `"type":"error"`) || !strings.Contains(answer, c.words) {
				t.Errorf("got %d %s, want 400 with %q", status, answer, c.words)
			}
		})
	}
	if status, answer := post(t, body(hi), "X-Api-Key"); status != 401 || !strings.Contains(answer, "authentication_error") {
		t.Errorf("without a key: %d %s", status, answer)
	}
	if status, answer := post(t, body(hi), "Anthropic-Version"); status != 400 || !strings.Contains(answer, "anthropic-version") {
		t.Errorf("without a version: %d %s", status, answer)
	}
}

func TestThinkingFromBeforeARestartOfTheModelIsKnownAgain(t *testing.T) {
	t.Parallel()
	lines := `{"thinking":"Hm.","calls":[{"tool":"list"}]}` + "\n" + `{"text":"Done."}`
	// Signatures of the scripted model do not depend on the process that made them.
	p := script.New(llmtest.Parse(t, lines), 0)
	c := &llmtest.Talk{}
	c.User(run.Text("Hello."))
	calls := c.Assistant(llmtest.Listen(t.Context(), t, p, llmtest.Request(t, p, c.Messages...)).Answer.Parts)
	c.User(llmtest.Result(calls[0].ID, "a.go", false))
	again := script.New(llmtest.Parse(t, lines), 0)
	if h := llmtest.Listen(t.Context(), t, again, llmtest.Request(t, again, c.Messages...)); h.Text != "Done." {
		t.Errorf("got %+v", h)
	}
}

// BenchmarkNext: the 2,500th reply of a long script with a rule.
func BenchmarkNext(b *testing.B) {
	s := script.Script{{When: &script.When{Contains: "never"}, Text: "no"}}
	c := script.Conversation{Messages: []script.Message{user("hello")}}
	for range 2500 {
		s = append(s, script.Reply{Text: "go", Calls: []script.Call{{Tool: "list"}}})
		c.Messages = append(c.Messages, said("go", 2), script.Message{Role: run.User, Results: []string{"ok"}})
	}
	p := script.NewPlayer(append(s, script.Reply{Text: "end"}))
	for b.Loop() {
		if r, _, err := p.Next(c); err != nil || r.Text != "end" {
			b.Fatalf("%+v, %v", r, err)
		}
	}
}
