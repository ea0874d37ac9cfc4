package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/tool"
)

// A taskServer carries each call out as a task, in one of the two forms, and knows one session at a time. It answers
// tasks/get with its states one after the other; the last stays.
type taskServer struct {
	extended bool
	states   []string // without the id
	result   string   // of tasks/result; empty: {"content":[{"type":"text","text":"done"}]}

	mu      sync.Mutex
	session int
	asked   []string // the methods and tasks of requests, of tasks/update with the answers
	down    bool     // it answers nothing
}

// as returns a result in the form of the revision that the server speaks.
func (s *taskServer) as(fields string) string {
	if s.extended {
		return `{"resultType":"complete","ttlMs":0,"cacheScope":"private",` + fields + `}`
	}
	return `{` + fields + `}`
}

func (s *taskServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name, TaskID string
			Task         *struct{ TTL int64 }
			Answers      json.RawMessage `json:"inputResponses"`
		}
	}
	_ = json.Unmarshal(body, &m)
	s.mu.Lock()
	defer s.mu.Unlock()
	session := fmt.Sprint("s-", s.session)
	switch {
	case s.down:
		panic(http.ErrAbortHandler)
	case m.Method == "":
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case s.extended && strings.HasPrefix(m.Method, "tasks/") && req.Header.Get("Mcp-Name") != m.Params.TaskID:
		http.Error(w, "without its name", http.StatusTeapot)
		return
	case !s.extended && m.Method != "initialize" && m.Method != "server/discover" && req.Header.Get("Mcp-Session-Id") != session:
		http.Error(w, "there is no such session", http.StatusNotFound)
		return
	}
	if strings.HasPrefix(m.Method, "t") && m.Method != "tools/list" {
		s.asked = append(s.asked, strings.TrimSpace(m.Method+" "+m.Params.TaskID+string(m.Params.Answers)))
	}
	answer := fmt.Sprintf(`"error":{"code":-32601,"message":"there is no %s"}`, m.Method)
	is := func(result string) { answer = `"result":` + result }
	state := func() string {
		now := s.states[0]
		s.states = s.states[min(1, len(s.states)-1):]
		if !strings.Contains(now, "pollInterval") {
			now += `,"pollInterval":1,"pollIntervalMs":1`
		}
		if strings.HasPrefix(now, `"taskId"`) {
			return now
		}
		return `"taskId":"T1",` + now
	}
	switch {
	case m.Method == "server/discover" && s.extended:
		is(s.as(`"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`))
	case m.Method == "initialize" && !s.extended:
		s.session++
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s-", s.session))
		is(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"t","version":"1"}}`)
	case m.Method == "tools/list":
		is(s.as(`"tools":[{"name":"x","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]`))
	case m.Method == "tools/call" && s.extended:
		is(`{"resultType":"task","taskId":"T1","status":"working","pollIntervalMs":0.001}`)
	case m.Method == "tools/call" && m.Params.Task != nil && m.Params.Task.TTL > 0:
		is(`{"task":{"taskId":"T1","status":"working","pollInterval":0.001}}`)
	case m.Method == "tasks/get" && m.Params.TaskID == "T1":
		is(s.as(state()))
	case m.Method == "tasks/get":
		answer = `"error":{"code":-32602,"message":"Task not found"}`
	case m.Method == "tasks/update" && s.extended, m.Method == "tasks/cancel":
		is(s.as(`"taskId":"T1","status":"cancelled"`))
	case m.Method == "tasks/result" && !s.extended:
		if s.result == "" {
			s.result = done
		}
		is(s.result)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
}

func (s *taskServer) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// serveTasks returns servers whose one is s.
func serveTasks(t *testing.T, s *taskServer, d Definition) *scene {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	d.Name, d.URL = "t", web.URL
	p := play(t, Options{Cache: t.TempDir()}, d)
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// states returns a server of each form, which differ in where the result is.
func states(in ...string) map[string]*taskServer {
	extended := slices.Clone(in)
	for i := range extended {
		if strings.Contains(extended[i], `"completed"`) {
			extended[i] += `,"result":` + done
		}
	}
	return map[string]*taskServer{"2025-11-25": {states: in}, "2026-07-28": {extended: true, states: extended}}
}

const completed = `"status":"completed"`

// A call that a server carries out as a task is as any other. What is needed to ask for it is kept before that is done.
func TestACallIsATaskOfItsServer(t *testing.T) {
	t.Parallel()
	for form, server := range states(`"status":"working","statusMessage":"half way"`, `"status":"working"`, completed) {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			s := serveTasks(t, server, Definition{})
			var shown []string
			c := toolCall(func(line string) { shown = append(shown, line) })
			c.Detach = func(_ context.Context, handle string) error {
				if heard := server.heard(); !slices.Equal(heard, []string{"tools/call"}) {
					t.Errorf("it was asked %q before the handle was kept", heard)
				}
				c.Handle = handle
				return nil
			}
			if r, text := s.call(t.Context(), "mcp__t__x", `{}`, c); text != "done" || r.IsError || r.Unknown {
				t.Errorf("it says %q, %+v", text, r)
			}
			if !slices.Equal(shown, []string{"half way"}) {
				t.Errorf("it showed %q", shown)
			}
			// Another process asks, in the same session, and does not call again.
			s.Close()
			session := server.session
			again := play(t, Options{Cache: s.opt.Cache}, s.Get("t").Definition)
			if _, text := again.call(t.Context(), "mcp__t__x", `{}`, tool.Call{Handle: c.Handle}); text != "done" {
				t.Errorf("afterwards it says %q", text)
			}
			if heard := server.heard(); server.session != session || strings.Count(strings.Join(heard, " "), "tools/call") != 1 {
				t.Errorf("it was asked %q, and has begun %d sessions after %d", heard, server.session, session)
			}
		})
	}
}

// What a server says that is no outcome: how the task has ended without one, or that nobody knows.
func TestATaskWithoutAResultSaysWhy(t *testing.T) {
	t.Parallel()
	const unknown = "The outcome of this call is unknown: "
	for name, c := range map[string]struct {
		states []string
		result string // of tasks/result
		want   string
	}{
		"cancelled":        {[]string{`"status":"cancelled","statusMessage":"no more credit"`}, "", "the server t has cancelled the call: no more credit"},
		"failed":           {[]string{`"status":"failed","error":{"code":1,"message":"no disk"},"statusMessage":"no disk"`}, "{}", ""},
		"no state":         {[]string{`"status":"dreaming"`}, "", unknown + `the server t says that its state is "dreaming"`},
		"another task":     {[]string{`"taskId":"T2","status":"completed"`}, "", unknown + "the server t answers with the state of another task"},
		"a foreign result": {[]string{completed + `,"result":` + foreignResult}, foreignResult, unknown + "it is done, and what came was the result of another task"},
		"back to work":     {[]string{completed + `,"result":` + done, `"status":"working"`}, "", "done"},
		"a huge interval":  {[]string{`"status":"working","pollInterval":-1,"pollIntervalMs":-1`, completed + `,"result":` + done}, "", "done"},
	} {
		for _, extended := range []bool{false, true} {
			t.Run(fmt.Sprint(name, extended), func(t *testing.T) {
				t.Parallel()
				s := serveTasks(t, &taskServer{extended: extended, states: c.states, result: c.result}, Definition{})
				r, text := s.call(t.Context(), "mcp__t__x", `{}`, tool.Call{})
				want := c.want
				if name == "failed" {
					want = map[bool]string{true: "the server t has failed the call: no disk", false: ""}[extended] // the other is a result
				}
				if !strings.HasPrefix(text, want) || r.Unknown != strings.HasPrefix(want, unknown) || r.NotStarted {
					t.Errorf("it says %q, %+v", text, r)
				}
			})
		}
	}
	if d := (&serverTask{Poll: new(1e300)}).poll(); d != longestPoll {
		t.Errorf("it is asked after %v", d)
	}
}

const foreignResult = `{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"T2"}}}`

// A call that is stopped, or takes too long, is cancelled where it is carried out.
func TestAStoppedTaskIsCancelled(t *testing.T) {
	t.Parallel()
	for form, server := range states(`"status":"working"`) {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			s := serveTasks(t, server, Definition{})
			ctx, stop := context.WithCancelCause(t.Context())
			var handle string
			detach := func(_ context.Context, kept string) error {
				handle = kept
				stop(errors.New("the person stopped it"))
				return nil
			}
			if _, text := s.call(ctx, "mcp__t__x", `{}`, tool.Call{Detach: detach}); !strings.Contains(text, "the person stopped it") {
				t.Errorf("it says %q", text)
			}
			// Of a call whose task is known when its time begins, however busy the machine is.
			s.Get("t").CallTimeout = 20 * time.Millisecond
			if _, text := s.call(t.Context(), "mcp__t__x", `{}`, tool.Call{Handle: handle}); text != "the call took too long: more than 20ms; the server was told to cancel it" {
				t.Errorf("it says %q", text)
			}
			heard := slices.DeleteFunc(server.heard(), func(s string) bool { return s == "tasks/get T1" })
			if want := []string{"tools/call", "tasks/cancel T1", "tasks/cancel T1"}; !slices.Equal(heard, want) {
				t.Errorf("it was asked %q", heard)
			}
		})
	}
}

// What a server needs to know for a task is asked once, however often it says so.
func TestATaskAsksThePerson(t *testing.T) {
	t.Parallel()
	asks := `"status":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":` + strings.ReplaceAll(aForm, "\n", "") + `},"r":{"method":"roots/list"}}`
	server := &taskServer{extended: true, states: []string{asks, asks, completed + `,"result":` + done}}
	s := serveTasks(t, server, Definition{})
	p := &person{lines: []string{`{"name":"Ada","room":"s"}`}}
	if _, text := s.call(t.Context(), "mcp__t__x", `{}`, tool.Call{Ask: p.ask}); text != "done" || len(p.asked) != 1 {
		t.Errorf("it says %q, and asked %q", text, p.asked)
	}
	told := slices.DeleteFunc(server.heard(), func(s string) bool { return !strings.HasPrefix(s, "tasks/update") })
	if len(told) != 1 || !strings.Contains(told[0], `"a":{"action":"accept","content":{"name":"Ada"`) || !strings.Contains(told[0], `"r":{"roots":[{`) {
		t.Errorf("it was told %q", told)
	}
	server = &taskServer{extended: true, states: []string{`"status":"input_required","inputRequests":{"s":{"method":"sampling/createMessage"}}`}}
	s = serveTasks(t, server, Definition{})
	if _, text := s.call(t.Context(), "mcp__t__x", `{}`, tool.Call{}); text != `the server t needs "sampling/createMessage" for the call, and pawl does not do that` {
		t.Errorf("it says %q", text)
	}
	if heard := server.heard(); heard[len(heard)-1] != "tasks/cancel T1" {
		t.Errorf("it was asked %q", heard)
	}
}

// A task is asked for again when its server can be reached again, and not called again. Where that does not know it any more,
// its outcome is unknown.
func TestATaskOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	for form, server := range states(`"status":"working"`) {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			s := serveTasks(t, server, Definition{})
			c := tool.Call{Detach: func(context.Context, string) error {
				server.mu.Lock()
				defer server.mu.Unlock()
				server.down = true
				time.AfterFunc(300*time.Millisecond, func() {
					server.mu.Lock()
					defer server.mu.Unlock()
					server.down, server.states = false, []string{completed + `,"result":` + done}
				})
				return nil
			}}
			if _, text := s.call(t.Context(), "mcp__t__x", `{}`, c); text != "done" {
				t.Errorf("it says %q", text)
			}
			if heard := strings.Join(server.heard(), " "); strings.Count(heard, "tools/call") != 1 {
				t.Errorf("it was asked %q", heard)
			}
		})
	}
	for form, server := range states(`"status":"working"`) { // it never comes back
		s := serveTasks(t, server, Definition{})
		c := tool.Call{Detach: func(context.Context, string) error {
			server.mu.Lock()
			defer server.mu.Unlock()
			server.down = true
			s.Get("t").StartTimeout = 50 * time.Millisecond // now that it has started, however busy the machine is
			return nil
		}}
		if r, text := s.call(t.Context(), "mcp__t__x", `{}`, c); !r.Unknown || !strings.Contains(text, "is unknown: the server t cannot be ") {
			t.Errorf("%s: of a server that is gone it says %q, %+v", form, text, r)
		}
	}
	for handle, want := range map[string]string{
		`{`:                      "what is recorded of its task cannot be read",
		`{"of":"x","task":"T1"}`: "the definition of the server t is another now",
		`{"of":"OF","task":"T9","session":"s-1","protocol":"2025-11-25"}`: `the server t does not say what became of it: calling "tasks/get": Task not found`,
		`{"of":"OF","task":"T1","session":"s-7","protocol":"2025-11-25"}`: "the server t does not say what became of it: ",
	} {
		s := serveTasks(t, &taskServer{states: []string{completed}}, Definition{})
		handle = strings.Replace(handle, "OF", s.Get("t").Fingerprint(), 1)
		r, text := s.call(t.Context(), "mcp__t__x", `{}`, tool.Call{Handle: handle})
		if !strings.HasPrefix(text, "The outcome of this call is unknown: "+want) || !r.Unknown || !strings.HasSuffix(text, "Look before you repeat it.") {
			t.Errorf("with %s it says %q, %+v", handle, text, r)
		}
	}
}

// When the run ends before the handle is kept, nothing is waited for.
func TestATaskThatIsNotRecordedIsCancelled(t *testing.T) {
	t.Parallel()
	server := states(`"status":"working"`)["2025-11-25"]
	s := serveTasks(t, server, Definition{})
	ctx, cancel := context.WithCancelCause(t.Context())
	c := tool.Call{Detach: func(context.Context, string) error { cancel(errors.New("the turn is over")); return ctx.Err() }}
	if _, text := s.call(ctx, "mcp__t__x", `{}`, c); text != "the turn is over" {
		t.Errorf("it says %q", text)
	}
	if heard := server.heard(); heard[len(heard)-1] != "tasks/cancel T1" {
		t.Errorf("it was asked %q", heard)
	}
}
