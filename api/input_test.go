package api_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pawl/api"
	"pawl/app"
	"pawl/run"
)

func TestAPromptHasAttachments(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"when":{"contains":"a secret word"},"text":"I know it."}
{"when":{"contains":"another word"},"text":"I know that too."}
`)
	file := func(name, content string) string {
		return `"attachments":[{"name":"` + name + `","content":"` + base64.StdEncoding.EncodeToString([]byte(content)) + `"}]`
	}
	id := s.do("POST", "/runs", `{"prompt":"Read it.",`+file("../a b.txt", "a secret word")+`}`).is(201).text("run")
	s.ended(id, "completed")
	s.released(id)
	s.do("POST", "/runs/"+id+"/prompt", `{"text":"And this.",`+file("b.md", "another word")+`}`).is(200)
	stream := s.follow("/runs/"+id+"/events", 0)
	defer stream.stop()
	stream.until(t, "turn_ended")
	stream.until(t, "turn_ended")
	_, state, err := s.ws.Load(t.Context(), run.ID(id))
	must(t, err)
	var told string
	for _, m := range state.Messages {
		told += run.PlainText(m.Parts)
	}
	for _, want := range []string{`name="a_b.txt"`, "a secret word", "I know it.", "another word", "I know that too."} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not in %s", want, told)
		}
	}
	s.do("POST", "/runs", `{"prompt":"x","attachments":[{"name":"a","content":"???"}]}`).problem(422, "INVALID_INPUT")
	s.do("POST", "/runs", `{"prompt":"x",`+file("a", strings.Repeat("x", 10_000_001))+`}`).problem(413, "FILE_TOO_LARGE")
}

func TestARunHasAnOutputSchema(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"calls":[{"tool":"submit_result","args":{"n":"three"}}]}
{"calls":[{"tool":"submit_result","args":{"n":3}}]}
`)
	// The members of the schema keep their order, also in the log.
	schema := `{"type":"object","required":["n"],"properties":{"z":{"type":"string"},"n":{"type":"integer"}},"additionalProperties":false}`
	id := s.do("POST", "/runs", `{"prompt":"Count.","output_schema":`+schema+`}`).is(201).text("run")
	s.ended(id, "completed")
	_, state, err := s.ws.Load(t.Context(), run.ID(id))
	must(t, err)
	if state.Config.Output.Schema != schema || state.Submission().Value != `{"n":3}` {
		t.Errorf("the result of %s is %s", state.Config.Output.Schema, state.Submission().Value)
	}
	for _, wrong := range []string{`7`, `{"type":"objekt"}`, `{"type":"object","title":"` + strings.Repeat("x", 70_000) + `"}`} {
		s.do("POST", "/runs", `{"prompt":"Count.","output_schema":`+wrong+`}`).problem(422, "INVALID_INPUT")
	}
}

func TestWhatIsWrongWithARequestIsSaid(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/tasks", `{"descripton":"x"}`, `descripton: there is no such field; did you mean "description"?`},
		{"POST", "/tasks", `{}`, "description: it is required"},
		{"POST", "/tasks", `{"description":"x\u0000"}`, "description: it has a NUL character, so it is not a text"},
		{"POST", "/agents", `{"name":"a","instructions":"x","tools":["shel"]}`, `tools: there is no tool "shel"; did you mean "shell"?`},
		{"POST", "/agents", `{"name":"A","instructions":"x"}`, "name: expected string to be a name of a-z, 0-9 and -"},
		{"GET", "/runs/A", "", "run: expected string to be the id of a run, of a-z, 0-9, _ and -"},
		{"GET", "/tasks?from=x", "", "from: expected string to be next of the page before"},
	} {
		if got := s.do(c.method, c.path, c.body).problem(422, "INVALID_INPUT").text("error"); got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.method, c.path, c.body, got, c.want)
		}
	}
}

func TestAPromptToARunOfATaskThatNoProcessDrivesIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"s","requirements":[],"acceptanceCriteria":[],"plan":["p"]}}]}`)
	stop := s.drive()
	id := s.add("count")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	planner := s.wait(id, "planned").text("runs.0.run")
	stop()
	s.do("POST", "/runs/"+planner+"/prompt", `{"text":"hello"}`).problem(409, "TASK_RUN")
	if queue := s.do("GET", "/runs/"+planner+"/queue", "").is(200).items("items"); len(queue) > 0 {
		t.Errorf("it waits: %+v", queue)
	}
	st, err := openStore(s.ws)
	must(t, err)
	defer st.Close()
	if rows, err := st.Inbox(t.Context(), run.ID(planner)); err != nil || len(rows) > 0 {
		t.Errorf("in the inbox: %+v, %v", rows, err)
	}
}

func TestSessionsOfTasksAreForgottenWhenTheyAreClosed(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	follow := func() *app.Session {
		session, err := s.ws.Start(t.Context(), app.Task{})
		must(t, err)
		s.api.Follow("t-1", session)
		return session
	}
	first := follow()
	must(t, first.Close())
	second := follow()
	defer second.Close()
	if s.api.Knows(first.ID()) || !s.api.Knows(second.ID()) {
		t.Errorf("of the closed one %t, of the other %t", s.api.Knows(first.ID()), s.api.Knows(second.ID()))
	}
}

// A client that sends the whole of a file before it reads is answered.
func TestAFileThatIsTooLargeIsRefusedInWords(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	id := s.add("Look at it.")
	u, err := url.Parse(s.url)
	must(t, err)
	for _, size := range []int{12 << 20, 40 << 20} {
		c, err := net.Dial("tcp", u.Host)
		must(t, err)
		defer c.Close()
		_, err = fmt.Fprintf(c, "POST %s/tasks/%s/attachments?name=big HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n",
			api.Prefix, id, u.Host, token, size)
		must(t, err)
		_, err = c.Write(make([]byte, size))
		must(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		must(t, err)
		b, err := io.ReadAll(answer.Body)
		must(t, err)
		if answer.StatusCode != 413 || !strings.Contains(string(b), `"FILE_TOO_LARGE"`) {
			t.Errorf("%d bytes are answered %d %s", size, answer.StatusCode, b)
		}
	}
}
