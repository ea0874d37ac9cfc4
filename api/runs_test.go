package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pawl/app"
	"pawl/run"
)

// quoted returns a text as JSON.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// run starts a run.
func (s *served) run(prompt string) (id string) {
	s.t.Helper()
	return s.do("POST", "/runs", `{"prompt":`+quoted(prompt)+`}`).is(201).text("run")
}

// line waits for an event of a run for which is reports true.
func (e *eventStream) line(t testing.TB, what string, is func(value) bool) value {
	t.Helper()
	for {
		ev, err := e.next()
		if err != nil {
			t.Fatalf("there was no %s: %v", what, err)
		}
		var v any
		if err := json.Unmarshal([]byte(ev.data), &v); err != nil {
			t.Fatalf("%v: %s", err, ev.data)
		}
		if line := (value{t, v}); is(line) {
			return line
		}
	}
}

// until waits for a line of a type.
func (e *eventStream) until(t testing.TB, kind string) value {
	t.Helper()
	return e.line(t, kind, func(v value) bool { return v.text("type") == kind })
}

// waits waits for calls that wait for a person.
func (e *eventStream) waits(t testing.TB) value {
	t.Helper()
	return e.line(t, "call that waits", func(v value) bool { return v.text("type") == "waiting" && len(v.items("calls")) > 0 })
}

// ended waits until the turn of a run has ended and the run is released.
func (s *served) ended(id, end string) value {
	s.t.Helper()
	stream := s.follow("/runs/"+id+"/events", 0)
	defer stream.stop()
	for {
		v := stream.until(s.t, "turn_ended")
		if v.text("data.end") == end {
			return v
		}
	}
}

const writeReply = `{"when":{"first":"Write"},"calls":[{"tool":"write","args":{"path":"notes.txt","content":"one\ntwo\n"}}]}
{"when":{"first":"Write"},"text":"Written."}
`

func TestARunIsStartedWatchedAndLookedAt(t *testing.T) {
	t.Parallel()
	s := serve(t, writeReply)
	id := s.do("POST", "/runs", `{"prompt":"Write the notes.","name":"notes","mode":"accept-edits","limits":{"steps":9}}`).is(201).text("run")
	end := s.ended(id, "completed")
	if end.at("seq") == nil {
		t.Errorf("the end is %+v", end.v)
	}
	got := s.do("GET", "/runs/"+id, "").is(200)
	if got.text("state") != "ended" || got.text("end") != "completed" || got.text("name") != "notes" || got.at("steps") != 2. {
		t.Errorf("the run is %+v", got.v)
	}
	items := s.do("GET", "/runs/"+id+"/items?results=true", "").is(200)
	if text := fmt.Sprint(items.at("items")); !strings.Contains(text, "Write the notes.") || !strings.Contains(text, "Written.") {
		t.Errorf("the items are %s", text)
	}
	log := s.do("GET", "/runs/"+id+"/log?limit=2", "").is(200)
	if log.text("items.0.type") != "run_created" || log.at("next") != 2. {
		t.Errorf("the log is %+v", log.v)
	}
	rest := s.do("GET", "/runs/"+id+"/log?limit=500&from=2", "").is(200)
	if rest.at("items.0.seq") != 3. || rest.at("next") != nil {
		t.Errorf("the rest of the log is %+v", rest.v)
	}
	whole := s.do("GET", "/runs/"+id+"/log?limit=500", "").is(200).items("items")
	for _, from := range []int{0, 3, 0} { // pages in order, and one that begins anywhere
		for at := from; at < len(whole); at++ {
			page := s.do("GET", fmt.Sprintf("/runs/%s/log?limit=1&from=%d", id, at), "").is(200)
			if !reflect.DeepEqual(page.items("items"), whole[at:at+1]) {
				t.Errorf("event %d is %+v in a page of its own, and %+v in the whole log", at+1, page.at("items"), whole[at])
			}
		}
	}
	if why := s.do("GET", "/runs/"+id+"/why", "").is(200); why.text("state") != "ended" || why.text("last.type") != "turn_ended" {
		t.Errorf("why: %+v", why.v)
	}
	if v := s.do("GET", "/runs/"+id+"/verify", "").is(200); v.at("events") != end.at("seq") {
		t.Errorf("verified %+v, want %v events", v.v, end.at("seq"))
	}
	for format, want := range map[string]string{"json": `"run_created"`, "markdown": "## Assistant", "html": "<h2>Assistant</h2>", "script": `"Written."`} {
		a := s.do("GET", "/runs/"+id+"/export?format="+format, "")
		if a.Status != 200 || !strings.Contains(a.Body, want) || a.Header.Get("Content-Disposition") != "attachment" {
			t.Errorf("exported as %s: %d %v %s", format, a.Status, a.Header, a.Body)
		}
	}
	s.do("GET", "/runs/nowhere", "").problem(404, "NOT_FOUND")
	for _, what := range []string{"items", "log", "why", "verify", "export", "diff", "approvals", "questions", "queue", "events"} {
		s.do("GET", "/runs/nowhere/"+what, "").problem(404, "NOT_FOUND")
	}
	s.do("POST", "/runs/nowhere/prompt", `{"text":"hello"}`).problem(404, "NOT_FOUND")
}

// A command means the same here as in the terminal: as the first words of a run, and in it.
func TestACommandIsCalledOverHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"text":"ok","repeat":true}`)
	folder := filepath.Join(s.env["HOME"], ".claude/commands")
	must(t, os.MkdirAll(folder, 0o700))
	must(t, os.WriteFile(filepath.Join(folder, "greet.md"), []byte("Greet $1 well."), 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "look.md"), []byte("See: !`curl http://example.com`"), 0o600))
	id := s.do("POST", "/runs", `{"prompt":"/greet Ann"}`).is(201).text("run")
	s.ended(id, "completed")
	s.released(id)
	s.do("POST", "/runs/"+id+"/prompt", `{"text":"/greet Bo"}`).is(200)
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
	for _, want := range []string{"Greet Ann well.", "Greet Bo well."} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not in %s", want, told)
		}
	}
	for words, want := range map[string]string{"/greed": "did you mean", "/look": "it needs approval"} {
		if a := s.do("POST", "/runs", `{"prompt":"`+words+`"}`); a.Status != 400 && a.Status != 422 || !strings.Contains(a.Body, want) {
			t.Errorf("%s: %d %s", words, a.Status, a.Body)
		}
	}
}

func TestARunIsForkedUndoneRenamedAndRemoved(t *testing.T) {
	t.Parallel()
	s := serve(t, writeReply)
	id := s.do("POST", "/runs", `{"prompt":"Write the notes.","mode":"accept-edits"}`).is(201).text("run")
	s.ended(id, "completed")
	diff := s.do("GET", "/runs/"+id+"/diff", "").is(200)
	if diff.text("files.0.path") != "notes.txt" || diff.text("files.0.action") != "created" || !strings.Contains(diff.text("files.0.diff"), "+two") {
		t.Errorf("the difference is %+v", diff.v)
	}
	s.released(id)
	undone := s.do("POST", "/runs/"+id+"/undo", "").is(200)
	if undone.text("files.0.path") != "notes.txt" || undone.text("files.0.action") != "removed" {
		t.Errorf("undone: %+v", undone.v)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "notes.txt")); err == nil {
		t.Error("the file is still there")
	}
	fork := s.do("POST", "/runs/"+id+"/fork", `{"at":3}`).is(201)
	if fork.text("forked_from") != id || fork.at("forked_at") != 3. {
		t.Errorf("the fork is %+v", fork.v)
	}
	s.do("PATCH", "/runs/"+id, `{"name":"the original"}`).is(200)
	if name := s.do("GET", "/runs/"+id, "").is(200).text("name"); name != "the original" {
		t.Errorf("the name is %q", name)
	}
	s.do("PATCH", "/runs/"+id, `{"model":"nobody/nothing"}`).problem(422, "INVALID_INPUT")
	s.do("PATCH", "/runs/"+id, `{"mode":"yolo"}`).is(422)
	s.do("DELETE", "/runs/"+fork.text("run")+"?dry_run=true", "").is(200)
	if removed := s.do("DELETE", "/runs/"+fork.text("run"), "").is(200); removed.text("runs.0") != fork.text("run") {
		t.Errorf("removed %+v", removed.v)
	}
	s.do("GET", "/runs/"+fork.text("run"), "").problem(404, "NOT_FOUND")
}

// released waits until no process drives a run.
func (s *served) released(id string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for range s.ws.Follow(ctx, run.ID(id), 0) { // it ends then
	}
	must(s.t, ctx.Err())
}

const (
	askReply = `{"when":{"first":"Try"},"calls":[{"tool":"shell","args":{"command":"touch made.txt"}}]}
{"when":{"first":"Try"},"text":"Done."}
{"when":{"first":"Try"},"text":"Also done."}
`
)

// Each of the answers, bound to what was shown; a second one is too late.
func TestACallIsDecidedOnOverHTTP(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"allow": "completed", "always": "completed", "wait": "interrupted", "never": "completed", "no": "completed"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			s := serve(t, askReply)
			id := s.run("Try it.")
			stream := s.follow("/runs/"+id+"/events", 0)
			call := stream.waits(t)
			shown := s.do("GET", "/runs/"+id+"/approvals", "").is(200)
			if call.text("calls.0.digest") == "" || call.text("calls.0.digest") != shown.text("items.0.digest") || shown.text("items.0.call") != "c_1" {
				t.Errorf("shown %+v and %+v", call.v, shown.v)
			}
			path := "/runs/" + id + "/approvals/c_1"
			s.do("POST", path, `{"answer":"allow"}`).is(422)
			s.do("POST", path, `{"answer":"perhaps","digest":"000000000000"}`).is(422)
			s.do("POST", path, `{"answer":"allow","digest":"000000000000"}`).problem(409, "CALL_CHANGED")
			s.do("POST", "/runs/"+id+"/approvals/c_9", `{"answer":"allow","digest":"000000000000"}`).problem(404, "NOT_FOUND")
			body := `{"answer":"` + answer + `","message":"Use the other one.","digest":"` + shown.text("items.0.digest") + `"}`
			decided := s.do("POST", path, body).is(200)
			if decided.at("taken") != true || (answer == "always" || answer == "never") != (len(decided.items("rules")) > 0) {
				t.Errorf("decided %+v", decided.v)
			}
			s.do("POST", path, body).problem(409, "ALREADY_DECIDED")
			if end := stream.until(t, "turn_ended"); end.text("data.end") != want {
				t.Errorf("ended %+v, want %s", end.v, want)
			}
			_, err := os.Stat(filepath.Join(s.dir, "made.txt"))
			if ran := err == nil; ran != (answer == "allow" || answer == "always") {
				t.Errorf("it ran: %t", ran)
			}
		})
	}
}

const questionReply = `{"when":{"first":"Ask"},"calls":[{"tool":"ask","args":{"question":"Which database?","options":["test","live"]}}]}
{"when":{"first":"Ask"},"text":"I take that one."}
{"when":{"first":"Ask"},"text":"And once more."}
`

func TestAQuestionIsAnsweredAndTheRunContinues(t *testing.T) {
	t.Parallel()
	s := serve(t, questionReply)
	id := s.run("Ask me.")
	s.ended(id, "asked")
	q := s.do("GET", "/runs/"+id+"/questions", "").is(200)
	if q.text("items.0.question") != "Which database?" || len(q.items("items.0.options")) != 2 {
		t.Errorf("the questions are %+v", q.v)
	}
	s.do("POST", "/runs/"+id+"/questions/c_9", `{"text":"test"}`).problem(404, "NOT_FOUND")
	if a := s.do("POST", "/runs/"+id+"/questions/"+q.text("items.0.call"), `{"text":"test"}`).is(200); a.at("taken") != true {
		t.Errorf("answered %+v", a.v)
	}
	s.ended(id, "completed")
	s.do("POST", "/runs/"+id+"/questions/"+q.text("items.0.call"), `{"text":"live"}`).problem(404, "NOT_FOUND")
	// Words after the end begin a turn, once for a key.
	for range 2 {
		if said := s.do("POST", "/runs/"+id+"/prompt", `{"text":"Once more."}`, with("Idempotency-Key", "k1")).is(200); said.at("taken") != true {
			t.Errorf("said %+v", said.v)
		}
	}
	stream := s.follow("/runs/"+id+"/events", 0)
	for turns := 0; turns < 3; turns++ {
		stream.until(t, "turn_ended")
	}
	s.released(id)
	if turns := s.do("GET", "/runs/"+id, "").is(200).at("turns"); turns != 3. {
		t.Errorf("%v turns, want 3", turns)
	}
}

// The same key is the same run, also after a restart of the server.
func TestARunIsStartedOnceForAKey(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"text":"Hello.","repeat":true}`)
	body, key := `{"prompt":"Greet."}`, with("Idempotency-Key", "greet")
	first := s.do("POST", "/runs", body, key).is(201).text("run")
	s.ended(first, "completed")
	s.start()
	if again := s.do("POST", "/runs", body, key).is(201).text("run"); again != first {
		t.Errorf("run %s, want %s", again, first)
	}
	if n := len(s.do("GET", "/runs", "").is(200).items("items")); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// A run that a terminal drives is watched, told, decided on and interrupted over HTTP.
func TestARunOfAnotherProcessIsReachedOverHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"when":{"first":"Try"},"calls":[{"tool":"shell","args":{"command":"touch made.txt"}}]}
{"when":{"first":"Try"},"calls":[{"tool":"shell","args":{"command":"touch other.txt"}}]}
{"when":{"first":"Try"},"text":"Stopped."}
`)
	terminal, err := s.open().Start(t.Context(), app.Task{})
	must(t, err)
	t.Cleanup(func() { terminal.Close() })
	must(t, terminal.Prompt(t.Context(), run.Text("Try it.")))
	id := string(terminal.ID())
	stream := s.follow("/runs/"+id+"/events", 0)
	call := stream.waits(t)
	if pid := s.do("GET", "/runs/"+id, "").is(200).at("pid"); pid != float64(os.Getpid()) {
		t.Errorf("the process is %v", pid)
	}
	s.do("POST", "/runs/"+id+"/undo", "").problem(409, "DRIVEN_ELSEWHERE")
	s.do("DELETE", "/runs/"+id, "").problem(409, "DRIVEN_ELSEWHERE")
	s.do("PATCH", "/runs/"+id, `{"name":"of the terminal"}`).is(200)
	said := s.do("POST", "/runs/"+id+"/queue", `{"text":"And then stop."}`).is(200)
	if q := s.do("GET", "/runs/"+id+"/queue", "").is(200); said.at("taken") != true || q.text("items.0.text") != "And then stop." || q.text("items.0.delivery") != "queue" {
		t.Errorf("said %+v, and %+v waits", said.v, q.v)
	}
	s.do("DELETE", "/runs/"+id+"/queue/"+said.text("message"), "").is(200)
	s.do("DELETE", "/runs/"+id+"/queue/"+said.text("message"), "").problem(404, "NOT_FOUND")
	s.do("POST", "/runs/"+id+"/approvals/c_1", `{"answer":"allow","digest":"`+call.text("calls.0.digest")+`"}`).is(200)
	if call := stream.waits(t); call.text("calls.0.call") != "c_2" {
		t.Errorf("%+v waits, want c_2", call.v)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "made.txt")); err != nil {
		t.Error(err)
	}
	s.do("POST", "/runs/"+id+"/steer", `{"text":"Use another name."}`).is(200)
	stop := s.do("POST", "/runs/"+id+"/interrupt", "").is(200)
	if stop.at("stopped") != true || stop.text("end") != "interrupted" {
		t.Errorf("stopped %+v", stop.v)
	}
	stream.until(t, "turn_ended")
	if stop := s.do("POST", "/runs/"+id+"/interrupt", "").is(200); stop.at("stopped") != false {
		t.Errorf("stopped again: %+v", stop.v)
	}
	s.do("POST", "/runs/"+id+"/steer", `{"text":"Hello?"}`).problem(409, "NO_OPEN_TURN")
	if got := terminal.State().Config.Name; got != "of the terminal" {
		t.Errorf("the name in the terminal is %q", got)
	}
}

// A turn that was left open by a server that was stopped is continued by a request.
func TestAnOpenTurnIsContinuedAfterARestart(t *testing.T) {
	t.Parallel()
	s := serve(t, askReply)
	id := s.run("Try it.")
	call := s.follow("/runs/"+id+"/events", 0).waits(t)
	must(t, s.api.Close())
	if state := s.do("GET", "/runs/"+id, "").is(200).text("state"); state != "waiting" {
		t.Errorf("the run is %s", state)
	}
	s.start()
	s.do("POST", "/runs/"+id+"/approvals/c_1", `{"answer":"allow","digest":"`+call.text("calls.0.digest")+`"}`).is(200)
	s.ended(id, "completed")
	s.do("POST", "/runs/"+id+"/continue", "").problem(409, "NO_OPEN_TURN")
}

// A stream that begins after an event has all after it, and nothing twice.
func TestTheStreamOfARunResumesWithoutLoss(t *testing.T) {
	t.Parallel()
	s := serve(t, writeReply)
	id := s.do("POST", "/runs", `{"prompt":"Write the notes.","mode":"accept-edits"}`).is(201).text("run")
	last := s.ended(id, "completed").at("seq").(float64)
	want := int64(1)
	for want <= int64(last) {
		stream := s.follow("/runs/"+id+"/events", want-1)
		for range 3 { // then the connection breaks
			if want > int64(last) {
				break
			}
			line := stream.line(t, "event", func(v value) bool { return v.at("seq") != nil })
			if seq := line.at("seq").(float64); int64(seq) != want {
				t.Fatalf("event %v, want %d", seq, want)
			}
			want++
		}
		stream.stop()
	}
}

func TestWrongRequestsForRunsAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"text":"Hello.","repeat":true}`)
	for _, body := range []string{`{}`, `{"prompt":""}`, `{"prompt":"  "}`, `{"prompt":7}`, `{"prompt":"x","promt":"y"}`, `{"prompt":"x","mode":"yolo"}`,
		`{"prompt":"x","agent":"nobody"}`, `{"prompt":"x","model":"nobody/nothing"}`, `{"prompt":"x","limits":{"steps":0}}`, `{"prompt":"x","name":"` + strings.Repeat("n", 10_000) + `"}`} {
		if a := s.do("POST", "/runs", body); a.Status != 422 {
			t.Errorf("%.80s: status %d: %s", body, a.Status, a.Body)
		}
	}
	if a := s.do("POST", "/runs", `{"prompt":"x","prompt":"y"}`); a.Status != 400 && a.Status != 422 {
		t.Errorf("a name that occurs twice: %d", a.Status)
	}
	s.do("POST", "/runs", `prompt=x`, with("Content-Type", "application/x-www-form-urlencoded")).problem(415, "UNSUPPORTED_MEDIA_TYPE")
	s.do("POST", "/runs", `{"prompt":"`+strings.Repeat("x", 5<<20)+`"}`).problem(422, "INVALID_INPUT")
	s.do("POST", "/runs", `{"prompt":"`+strings.Repeat("x", 20<<20)+`"}`).problem(413, "BODY_TOO_LARGE")
	if n := len(s.do("GET", "/runs", "").is(200).items("items")); n != 0 {
		t.Errorf("%d runs were started", n)
	}
	s.do("GET", "/runs?state=sleeping", "").is(422)
	s.do("GET", "/runs?limit=0", "").is(422)
	s.do("GET", "/runs?since=yesterday-ish", "").is(422)
	s.do("GET", "/runs/..%2f..%2fetc", "").problem(404, "NOT_FOUND")
	s.do("GET", "/runs/A", "").is(422)
}

// A client that does not read delays neither the run nor the other clients.
func TestAClientThatDoesNotReadDelaysNobody(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"text":"`+strings.Repeat("word ", 20_000)+`","repeat":true}`)
	id := s.run("Say much.")
	s.ended(id, "completed")
	for range 5 {
		s.follow("/runs/"+id+"/events", 0) // it will have a megabyte, and nobody reads
	}
	reader := s.follow("/runs/"+id+"/events", 0)
	reader.until(t, "turn_ended")
	for range 10 {
		s.do("POST", "/runs/"+id+"/prompt", `{"text":"More."}`).is(200)
		reader.until(t, "turn_ended")
	}
}
