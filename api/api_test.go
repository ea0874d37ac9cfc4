package api_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/api"
	"pawl/app"
	"pawl/board"
	"pawl/metrics"
	"pawl/web"
	"pawl/worker"
)

const token = "pawl_token-of-the-test"

// A served is a folder with a scripted model whose tasks are served over HTTP.
type served struct {
	t   testing.TB
	dir string
	env map[string]string

	ws  *app.Workspace
	api *api.Server
	url string // of the server, without a path

	server  *httptest.Server
	address string // where it is started again; empty: anywhere
}

// stop stops the server, as its end does. What is started next is at its address.
func (s *served) stop() {
	s.t.Helper()
	must(s.t, s.api.Close())
	s.server.Close()
	s.address = strings.TrimPrefix(s.url, "http://")
}

// patience is how long a test waits for what must come, so that only what never comes fails.
const patience = 3 * time.Minute

// serve serves a new folder. replies are those of the model; see docs/script.md.
func serve(t testing.TB, replies string) *served {
	t.Helper()
	top := t.TempDir()
	script := filepath.Join(top, "model.jsonl")
	must(t, os.WriteFile(script, []byte(replies), 0o600))
	s := &served{t: t, dir: filepath.Join(top, "work"), env: map[string]string{
		"HOME": top, "PAWL_STATE_DIR": filepath.Join(top, "state"), "PAWL_MODEL": "script/" + script, "PATH": os.Getenv("PATH")}}
	must(t, os.Mkdir(s.dir, 0o700))
	s.start()
	return s
}

// open opens the folder as one more process does.
func (s *served) open() *app.Workspace {
	s.t.Helper()
	ws, err := app.Open(app.Options{Dir: s.dir, Drives: true, OnAsk: worker.AskWait, Metrics: metrics.New(),
		Env: func(name string) (string, bool) { v, ok := s.env[name]; return v, ok }})
	must(s.t, err)
	s.t.Cleanup(func() { ws.Close() })
	return ws
}

// start starts a server of the folder, as a new process does.
func (s *served) start() { s.t.Helper(); s.startWith(api.Options{Rate: 1 << 20}) }

// listen listens where the server was before, or on a random port below the ephemeral range, so that no other test is given
// the port while the server is stopped.
func (s *served) listen() net.Listener {
	s.t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", cmp.Or(s.address, fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000))))
		if err == nil {
			return l
		}
		if s.address != "" {
			s.t.Fatal(err)
		}
	}
	s.t.Fatal("no port is free")
	return nil
}

func (s *served) startWith(o api.Options) {
	s.t.Helper()
	s.ws = s.open()
	l := s.listen()
	o.Token, o.Hosts = token, api.HostsOf(l.Addr())
	var err error
	s.api, err = api.New(s.ws, o)
	must(s.t, err)
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: s.api.Handler(), ConnContext: func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(16 << 10) // so that a client that does not read is noticed
		return ctx
	}}}
	server.Start()
	s.server, s.url = server, server.URL
	s.t.Cleanup(func() { s.api.Close(); server.Close() })
}

// drive drives the tasks until the returned function is called.
func (s *served) drive() (stop func()) { s.t.Helper(); return s.driveWith(board.Options{}) }

func (s *served) driveWith(o board.Options) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	ws := s.ws
	o.Session = s.api.Follow
	go func() {
		defer close(done)
		if err := board.NewDriver(ws, o).Drive(ctx); err != nil {
			s.t.Errorf("drive: %v", err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	s.t.Cleanup(stop)
	return stop
}

// An answer is a response.
type answer struct {
	t      testing.TB
	Status int
	Header http.Header
	Body   string
}

// A header changes a request before it is sent.
type header func(*http.Request)

// with sets a header of a request; Host too.
func with(name, value string) header {
	return func(r *http.Request) {
		if name == "Host" {
			r.Host = value
			return
		}
		r.Header[http.CanonicalHeaderKey(name)] = []string{value}
	}
}

// without removes a header.
func without(name string) header { return func(r *http.Request) { r.Header.Del(name) } }

// do sends a request with the token of the person. A body that is not empty is JSON.
func (s *served) do(method, path, body string, change ...header) answer {
	s.t.Helper()
	if _, err := fs.Stat(web.Files, strings.TrimPrefix(path, "/")); path != "/" && err != nil {
		path = api.Prefix + path
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	must(s.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(req)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	must(s.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(s.t, err)
	return answer{s.t, res.StatusCode, res.Header, string(b)}
}

// is fails unless the response has the status, and returns its body as JSON.
func (a answer) is(status int) value {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	var v any
	if a.Body != "" {
		if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
			a.t.Fatalf("%v: %s", err, a.Body)
		}
	}
	return value{a.t, v}
}

// problem fails unless the response is a problem with the status and the code.
func (a answer) problem(status int, code string) value {
	a.t.Helper()
	v := a.is(status)
	if a.Header.Get("Content-Type") != "application/problem+json" || v.text("code") != code || v.text("error") == "" || v.text("request_id") != a.Header.Get("X-Request-Id") {
		a.t.Fatalf("want problem %s, got %s: %s", code, a.Header.Get("Content-Type"), a.Body)
	}
	return v
}

// A value is JSON.
type value struct {
	t testing.TB
	v any
}

// at returns what is at a path of members, as "status.name", and of numbers of items.
func (v value) at(path string) any {
	v.t.Helper()
	now := v.v
	for part := range strings.SplitSeq(path, ".") {
		switch x := now.(type) {
		case map[string]any:
			now = x[part]
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(x) {
				v.t.Fatalf("there is no item %s of %d", part, len(x))
			}
			now = x[i]
		default:
			return nil
		}
	}
	return now
}

func (v value) text(path string) string { v.t.Helper(); s, _ := v.at(path).(string); return s }

func (v value) items(path string) []any { v.t.Helper(); l, _ := v.at(path).([]any); return l }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// add adds a task.
func (s *served) add(description string) (id string) {
	s.t.Helper()
	b, err := json.Marshal(map[string]string{"description": description})
	must(s.t, err)
	return s.do("POST", "/tasks", string(b)).is(201).text("id")
}

// until waits until a task is as wanted, of which not everything is told by an event.
func (s *served) until(id string, what string, is func(value) bool) value {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		v := s.do("GET", "/tasks/"+id, "").is(200)
		if is(v) {
			return v
		}
		if time.Now().After(deadline) { // only what never comes fails
			s.t.Fatalf("task %s never was %s: %+v", id, what, v.v)
		}
	}
}

func (s *served) wait(id, status string) value {
	s.t.Helper()
	return s.until(id, status, func(v value) bool { return v.text("status.name") == status })
}

// An eventStream is a stream of server-sent events.
type eventStream struct {
	res  *http.Response
	in   *bufio.Scanner
	stop func()
}

// An event is a server-sent event.
type event struct {
	id, name, data string
}

// follow opens a stream after an event.
func (s *served) follow(path string, after int64, change ...header) *eventStream {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+api.Prefix+path, nil)
	must(s.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	if after > 0 {
		req.Header.Set("Last-Event-ID", fmt.Sprint(after))
	}
	for _, c := range change {
		c(req)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	must(s.t, err)
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != "text/event-stream" {
		b, _ := io.ReadAll(res.Body)
		s.t.Fatalf("the stream %s: status %d, %s: %s", path, res.StatusCode, kind, b)
	}
	e := &eventStream{res: res, in: bufio.NewScanner(res.Body), stop: sync.OnceFunc(func() { cancel(); res.Body.Close() })}
	e.in.Buffer(nil, 16<<20)
	s.t.Cleanup(e.stop)
	return e
}

// next returns the next event.
func (e *eventStream) next() (event, error) {
	var ev event
	for e.in.Scan() {
		line := e.in.Text()
		name, rest, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			ev.id = rest
		case "event":
			ev.name = rest
		case "data":
			ev.data = rest
		case "":
			if line == "" && ev != (event{}) {
				return ev, nil
			}
		}
	}
	return ev, errors.Join(e.in.Err(), io.EOF)
}

const (
	planReply   = `{"when":{"first":"Plan this task"},"repeat":true,"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"],"assignedAgent":"developer"}}]}` + "\n"
	reportReply = `{"when":{"first":"Carry out this task"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"There are three."}}]}` + "\n"
)

func TestATaskIsAddedListedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	s := serve(t, planReply)
	nowhere := func() {
		t.Helper()
		if got := s.do("GET", "/tasks/t-nowhere", "").problem(404, "NOT_FOUND").text("error"); got != "task t-nowhere: no such task; GET /api/v1/tasks lists them" {
			t.Errorf("a task that is not there: %s", got)
		}
	}
	nowhere() // where there is nothing yet
	created := s.do("POST", "/tasks", `{"description":"Count the files.\nAll of them.","labels":["a","b"],"priority":2,"budget":{"cost":1.5}}`).is(201)
	id := created.text("id")
	if created.text("title") != "Count the files." || created.text("status.name") != "pending" || created.text("source.kind") != "api" || created.at("budget.cost") != 1.5 {
		t.Errorf("created %+v", created.v)
	}
	other := s.add("Something else.")
	list := s.do("GET", "/tasks?limit=1", "").is(200)
	if list.text("items.0.id") != id || len(list.items("items")) != 1 {
		t.Errorf("the first page is %+v", list.v)
	}
	list = s.do("GET", "/tasks?limit=1&from="+list.text("next"), "").is(200)
	if list.text("items.0.id") != other || list.text("next") != "" {
		t.Errorf("the second page is %+v", list.v)
	}
	if list := s.do("GET", "/tasks?label=a&status=pending&status=planned", "").is(200); len(list.items("items")) != 1 || list.text("items.0.id") != id {
		t.Errorf("with the label: %+v", list.v)
	}
	edited := s.do("PATCH", "/tasks/"+id, `{"labels":["c"],"priority":0,"depends_on":["`+other+`"]}`).is(200)
	if fmt.Sprint(edited.at("labels"), edited.at("priority"), edited.at("depends_on")) != "[c] 0 ["+other+"]" {
		t.Errorf("edited %+v", edited.v)
	}
	history := s.do("GET", "/tasks/"+id+"/history?limit=1", "").is(200)
	if history.text("items.0.type") != "task_created" || history.at("next") != 1. {
		t.Errorf("the history is %+v", history.v)
	}
	if history := s.do("GET", "/tasks/"+id+"/history?from=1", "").is(200); history.text("items.0.type") != "task_edited" || history.at("next") != nil {
		t.Errorf("the history is %+v", history.v)
	}
	s.do("POST", "/tasks/"+id+"/start", "").problem(409, "INVALID_TRANSITION")
	s.do("POST", "/tasks/"+id+"/cancel", `{"why":"not needed"}`).is(200)
	if st := s.do("GET", "/tasks/"+id+"/status", "").is(200); st.text("status.name") != "failed" || st.text("status.detail") != "not needed" {
		t.Errorf("the status is %+v", st.v)
	}
	s.do("DELETE", "/tasks/"+id, "").is(200)
	s.do("GET", "/tasks/"+id, "").problem(404, "NOT_FOUND")
	nowhere()
}

func TestATaskIsPlannedAndCompletedWhileAStreamIsRead(t *testing.T) {
	t.Parallel()
	s := serve(t, planReply+reportReply)
	s.drive()
	id := s.add("Count the files.")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	s.wait(id, "planned")
	s.do("POST", "/tasks/"+id+"/start", `{"agent":"developer"}`).is(200)
	done := s.wait(id, "completed")
	if done.text("report.summary") != "There are three." {
		t.Errorf("the report is %+v", done.v)
	}
	events := s.follow("/tasks/"+id+"/events", 2)
	for n := 3; n <= int(done.at("seq").(float64)); n++ {
		e, err := events.next()
		must(t, err)
		if e.id != fmt.Sprint(n) || !strings.Contains(e.data, fmt.Sprintf(`{"seq":%d,`, n)) {
			t.Fatalf("event %d is %+v", n, e)
		}
	}
}

func TestARequestIsToldWhatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	for _, c := range []struct {
		body, code, field, says string
		status                  int
	}{
		{`{"description":"x","lables":[]}`, "INVALID_INPUT", "lables", "labels", 422},
		{`{"description":"x","Labels":[]}`, "INVALID_INPUT", "Labels", "labels", 422},
		{`{"description":"x","description":"y"}`, "INVALID_JSON", "", "occurs twice", 400},
		{`{"description":"x","budget":{"cost":1,"cost":2}}`, "INVALID_JSON", "", "/budget/cost", 400},
		{`{`, "INVALID_JSON", "", "it is not valid JSON: it ends in an object that is not closed", 400},
		{`{"description":`, "INVALID_JSON", "", "it ends in an object that is not closed", 400},
		{`{"description":"x","labels":["a`, "INVALID_JSON", "", "it ends in a string that is not closed", 400},
		{`{"description":"x","labels":["a"`, "INVALID_JSON", "", "it ends in an array that is not closed", 400},
		{`tru`, "INVALID_JSON", "", "it ends in the middle of a value", 400},
		{"{\n  \"description\": \"é\", x}", "INVALID_JSON", "", "line 2, column 23: invalid character 'x' at start of value", 400},
		{`{"description":"x"} {}`, "INVALID_JSON", "", "after", 400},
		{`{"description":"` + "\xff" + `"}`, "INVALID_JSON", "", "UTF-8", 400},
		{strings.Repeat("[", 200), "INVALID_JSON", "", "deeper", 400},
		{`{"description":3}`, "INVALID_INPUT", "description", "string", 422},
		{`{"description":"x","priority":99999999999999999999}`, "INVALID_INPUT", "priority", "too large", 422},
		{`{}`, "INVALID_INPUT", "", "description", 422},
		{`{"description":" "}`, "INVALID_INPUT", "description", "missing", 422},
		{`{"description":"x","labels":["a,b"]}`, "INVALID_INPUT", "labels", "not a label", 422},
		{`{"description":"x","depends_on":["t-nowhere"]}`, "INVALID_INPUT", "depends_on", "no task", 422},
		{`{"description":"` + strings.Repeat("x", 5<<20) + `"}`, "BODY_TOO_LARGE", "", "too large", 413},
	} {
		p := s.do("POST", "/tasks", c.body).problem(c.status, c.code)
		if !strings.Contains(p.text("error"), c.says) || strings.Contains(p.text("error"), "jsontext") || c.field != "" && p.text("errors.0.field") != c.field {
			t.Errorf("%.60s: %+v, want field %q and %q", c.body, p.v, c.field, c.says)
		}
	}
	if p := s.do("GET", "/tasks?limt=3", "").problem(422, "INVALID_INPUT"); !strings.Contains(p.text("error"), "limit") {
		t.Errorf("%+v", p.v)
	}
	s.do("GET", "/tasks?limit=0", "").problem(422, "INVALID_INPUT")
	s.do("GET", "/tasks?status=done", "").problem(422, "INVALID_INPUT")
	s.do("GET", "/tasks?from=x", "").problem(422, "INVALID_INPUT")
	s.do("GET", "/nowhere", "").problem(404, "NOT_FOUND")
	if a := s.do("PUT", "/tasks", "{}"); a.problem(405, "METHOD_NOT_ALLOWED") == (value{}) || a.Header.Get("Allow") != "GET, POST" {
		t.Errorf("%+v", a.Header)
	}
	if list := s.do("GET", "/tasks", "").is(200); len(list.items("items")) != 0 {
		t.Errorf("a request that was refused has added a task: %+v", list.v)
	}
}

func TestARequestThatIsRepeatedWithItsKeyHasOneEffect(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	key := with("Idempotency-Key", "k-1")
	first := s.do("POST", "/tasks", `{"description":"x"}`, key)
	id := first.is(201).text("id")
	again := s.do("POST", "/tasks", `{"description":"x"}`, key)
	if again.Status != first.Status || again.Body != first.Body || again.Header.Get("Content-Type") != first.Header.Get("Content-Type") {
		t.Errorf("repeated: %+v, want %+v", again, first)
	}
	s.do("POST", "/tasks", `{"description":"y"}`, key).problem(422, "IDEMPOTENCY_KEY_REUSED")
	s.do("POST", "/tasks/"+id+"/plan", "", key).problem(422, "IDEMPOTENCY_KEY_REUSED")
	s.do("POST", "/tasks", `{"description":"x"}`, with("Idempotency-Key", "k 1")).problem(422, "INVALID_INPUT")
	s.start() // as another process does
	if again := s.do("POST", "/tasks", `{"description":"x"}`, key); again.Body != first.Body {
		t.Errorf("repeated after a restart: %+v, want %+v", again, first)
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			s.do("POST", "/tasks", `{"description":"z"}`, with("Idempotency-Key", "k-2")).is(201)
		})
	}
	all.Wait()
	if list := s.do("GET", "/tasks", "").is(200); len(list.items("items")) != 2 {
		t.Errorf("there are %d tasks", len(list.items("items")))
	}
}
