package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/text"
	"pawl/internal/visible"
)

// Tasks of the protocol: a server carries a call out apart from the request that began it, and can be asked what became of it
// by an id, by another process too. There are two forms. In the revision 2025-11-25 (basic/utilities/tasks) the client
// wants a call to be a task; tasks/result has its outcome, and on its stream comes what the server asks. In the extension
// of 2026-07-28 (repository modelcontextprotocol/ext-tasks at e434597, read 2026-11-29) the server decides, and tasks/get
// has both. The library has neither (v1.8.0).
const (
	tasksExtension = "io.modelcontextprotocol/tasks"
	relatedTask    = "io.modelcontextprotocol/related-task" // in metadata: the task that a message belongs to
	extended       = "2026-07-28"                           // the first revision that has them as an extension
)

// Keys under which [keepTasks] puts what the library does not know of tasks.
const (
	taskSupport  = "pawl/task-support" // in the metadata of a tool
	taskBegun    = "pawl/task"         // in the metadata of the result of a call
	tasksOffered = "pawl/tasks"        // among the experimental capabilities of a server
)

// keepTasks puts what a result says of tasks where the library keeps it, and reports whether there was something.
func keepTasks(result map[string]json.RawMessage) bool {
	under := func(in json.RawMessage, key string, value json.RawMessage) json.RawMessage {
		m := map[string]json.RawMessage{}
		_ = json.Unmarshal(in, &m) // what is no object is replaced
		m[key] = value
		all, _ := json.Marshal(m) // of JSON
		return all
	}
	switch {
	case string(result["resultType"]) == `"task"`:
		all, _ := json.Marshal(result) // of JSON
		result["_meta"] = under(result["_meta"], taskBegun, all)
	case result["task"] != nil && result["content"] == nil:
		result["_meta"] = under(result["_meta"], taskBegun, result["task"])
	case result["protocolVersion"] != nil && bytes.Contains(result["capabilities"], []byte(`"tasks"`)):
		var has map[string]json.RawMessage
		if json.Unmarshal(result["capabilities"], &has) != nil || has["tasks"] == nil {
			return false
		}
		result["capabilities"] = under(result["capabilities"], "experimental", under(has["experimental"], tasksOffered, has["tasks"]))
	case bytes.Contains(result["tools"], []byte(`"taskSupport"`)):
		var tools []json.RawMessage
		if json.Unmarshal(result["tools"], &tools) != nil {
			return false
		}
		for i, entry := range tools {
			var t struct {
				Execution struct {
					Support json.RawMessage `json:"taskSupport"`
				} `json:"execution"`
				Meta json.RawMessage `json:"_meta"`
			}
			if json.Unmarshal(entry, &t) == nil && t.Execution.Support != nil {
				tools[i] = under(entry, "_meta", under(t.Meta, taskSupport, t.Execution.Support))
			}
		}
		result["tools"], _ = json.Marshal(tools) // of JSON
	default:
		return false
	}
	return true
}

// A serverTask is the state of a task, in either form.
type serverTask struct {
	sdk.ResultBase
	ID      string          `json:"taskId"`
	Status  string          `json:"status"`
	Message string          `json:"statusMessage"`
	Poll    *float64        `json:"pollInterval"`   // ms, 2025-11-25
	PollMs  *float64        `json:"pollIntervalMs"` // 2026-07-28, and so is what follows
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error"`
	Inputs map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"inputRequests"`
}

// begun returns the task that the answer to a call says it is; nil: it is the result.
func begun(res *sdk.CallToolResult) (*serverTask, error) {
	if res == nil || res.Meta[taskBegun] == nil {
		return nil, nil
	}
	t := &serverTask{}
	raw, err := json.Marshal(res.Meta[taskBegun])
	if err == nil {
		err = json.Unmarshal(raw, t)
	}
	// The id goes into headers.
	if err != nil || t.ID == "" || len(t.ID) > 1024 || strings.ContainsFunc(t.ID, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, noOutcome{errors.New("it was made a task that cannot be asked for: its description is not as the protocol has it")}
	}
	return t, nil
}

// How often a server is asked for the state of a task that says nothing of it, or something of no use.
const (
	usualPoll    = time.Second
	shortestPoll = 50 * time.Millisecond
	longestPoll  = 10 * time.Second
)

func (t *serverTask) poll() time.Duration {
	ms := cmp.Or(t.PollMs, t.Poll)
	if ms == nil || !(*ms > 0) {
		return usualPoll
	}
	return time.Duration(min(max(*ms, shortestPoll.Seconds()*1e3), longestPoll.Seconds()*1e3) * float64(time.Millisecond))
}

// A handle is what is needed to ask for a task again after pawl was killed.
type handle struct {
	Of       string `json:"of"` // fingerprint of the definition: no other server is asked
	Task     string `json:"task"`
	Session  string `json:"session,omitempty"` // that the task belongs to, of a server over HTTP that has sessions
	Protocol string `json:"protocol"`
}

func (r *Remote) handle(l *link, task string) *handle {
	return &handle{Of: r.Fingerprint(), Task: task, Session: l.session.ID(), Protocol: l.session.InitializeResult().ProtocolVersion}
}

// noOutcome is why it is not known what a call has done.
type noOutcome struct{ error }

func (e noOutcome) Unwrap() error { return e.error }

// outOfReach is why a server could not be asked for a task just now.
type outOfReach struct {
	error
	task     *handle
	answered bool // it was asked with success before
}

func (e outOfReach) Unwrap() error { return e.error }

// taskOver is how a task has ended without a result, as the server says.
type taskOver struct{ error }

type (
	taskParams struct {
		sdk.ParamsBase
		ID      string         `json:"taskId"`
		Answers map[string]any `json:"inputResponses,omitempty"`
	}
	// callAsTask is a call that the client wants to be a task.
	callAsTask struct {
		*sdk.CallToolParams
		Task struct {
			TTL int64 `json:"ttl"` // ms
		} `json:"task"`
	}
	asTaskKey struct{} // of a context: calls are to be tasks
	taskIDKey struct{} // of a context: the task that a request is about
)

// taskLife is how long a server is to keep a task: who resumes a run may do it the next day.
const taskLife = 24 * time.Hour

// addTasks teaches a client the methods and parameters of tasks.
func addTasks(client *sdk.Client) {
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		_ = sdk.AddSendingCustomMethod[*taskParams, *serverTask](client, method) // none is a standard method of the library
	}
	_ = sdk.AddSendingCustomMethod[*taskParams, *sdk.CallToolResult](client, "tasks/result")
	client.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if params, is := req.GetParams().(*sdk.CallToolParams); is && ctx.Value(asTaskKey{}) != nil {
				p := &callAsTask{CallToolParams: params}
				p.Task.TTL = taskLife.Milliseconds()
				req = &sdk.ClientRequest[*callAsTask]{Session: req.GetSession().(*sdk.ClientSession), Params: p}
			}
			return next(ctx, method, req)
		}
	})
}

func (l *link) extended() bool { return l.session.InitializeResult().ProtocolVersion >= extended }

// wantsTask reports whether a call of the tool over l is to be a task.
func (l *link) wantsTask(t *remoteTool) bool {
	has := l.session.InitializeResult().Capabilities
	if !t.detaches || l.extended() || has == nil {
		return false
	}
	for _, key := range []string{tasksOffered, "requests", "tools"} {
		in, is := has.Experimental[key].(map[string]any)
		if !is {
			return false
		}
		has = &sdk.ServerCapabilities{Experimental: in}
	}
	return has.Experimental["call"] != nil
}

func (l *link) task(ctx context.Context, method string, p *taskParams) (*serverTask, error) {
	return sdk.CallCustomMethod[*taskParams, *serverTask](context.WithValue(ctx, taskIDKey{}, p.ID), l.session, method, p)
}

// awaitTask waits for the outcome of a task, and cancels it when ctx is done. What it returns is not lost with the connection: see
// [outOfReach].
func (r *Remote) awaitTask(ctx context.Context, l *link, u *underway, t *serverTask) (*sdk.CallToolResult, error) {
	of := r.handle(l, t.ID)
	l.mu.Lock()
	u.task = t.ID
	l.mu.Unlock()
	stopped := func(why error) (*sdk.CallToolResult, error) {
		told, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelPatience)
		defer cancel()
		_, _ = l.task(told, "tasks/cancel", &taskParams{ID: of.Task}) // it is stopped, whatever the server makes of it
		return nil, why
	}
	shown, reached, answered := "", false, map[string]bool{}
	for {
		if line := text.OneLine(t.Message, maxLog); line != shown && line != "" && u.progress != nil {
			shown = line
			u.progress(visible.Escape(line))
		}
		d := &delivery{}
		asking := context.WithValue(ctx, deliveryKey{}, d)
		var err error
		switch {
		case t.Status == "completed" && l.extended():
			return outcome(t)
		case t.Status == "completed", t.Status == "failed" && !l.extended(), t.Status == "input_required" && !l.extended():
			// The stream of this request has what the server asks; it ends with the task.
			res, failed := sdk.CallCustomMethod[*taskParams, *sdk.CallToolResult](asking, l.session, "tasks/result", &taskParams{ID: of.Task})
			if failed == nil {
				return res, ofTask(res, of.Task)
			}
			if refused, is := errors.AsType[*jsonrpc.Error](failed); is && refused.Message != notSent && t.Status == "failed" {
				return nil, taskOver{fmt.Errorf("the server %s has failed the call: %s", r.Name, cmp.Or(t.Message, refused.Message))}
			}
			err = failed
		case t.Status == "failed":
			why := t.Message
			if t.Error != nil {
				why = cmp.Or(t.Error.Message, why)
			}
			return nil, taskOver{fmt.Errorf("the server %s has failed the call: %s", r.Name, cmp.Or(why, "it does not say why"))}
		case t.Status == "cancelled":
			return nil, taskOver{fmt.Errorf("the server %s has cancelled the call: %s", r.Name, cmp.Or(t.Message, "it does not say why"))}
		case t.Status == "input_required":
			err = r.answerTask(asking, l, t, answered)
		case t.Status != "working" && t.Status != "":
			return nil, noOutcome{fmt.Errorf("the server %s says that its state is %s, which the protocol does not have", r.Name, visible.Quote(clip(t.Status, 40)))}
		}
		if err == nil && t.Status != "" { // else it was taken up just now
			select {
			case <-time.After(t.poll()):
			case <-ctx.Done():
			}
		}
		next := t
		if err == nil {
			next, err = l.task(asking, "tasks/get", &taskParams{ID: of.Task})
		}
		refused, is := errors.AsType[*jsonrpc.Error](err)
		switch {
		case ctx.Err() != nil:
			return stopped(context.Cause(ctx))
		case errors.As(err, new(taskOver)):
			return stopped(err)
		case d.forgotten.Load(), d.refused.Load(), is && refused.Message != notSent && refused.Code != jsonrpc.CodeInternalError:
			return nil, noOutcome{fmt.Errorf("the server %s does not say what became of it: %w", r.Name, inLine(err))}
		case err != nil:
			return nil, outOfReach{fmt.Errorf("the server %s cannot be asked what became of it: %w", r.Name, inLine(err)), of, reached}
		case next.ID != of.Task:
			return nil, noOutcome{fmt.Errorf("the server %s answers with the state of another task", r.Name)}
		}
		t, reached = next, true
	}
}

// outcome returns the result that the state of a task has.
func outcome(t *serverTask) (*sdk.CallToolResult, error) {
	var fields map[string]json.RawMessage
	res := &sdk.CallToolResult{}
	err := json.Unmarshal(t.Result, &fields)
	if err == nil {
		mendResult(fields)
		raw, _ := json.Marshal(fields) // of JSON
		err = json.Unmarshal(raw, res)
	}
	if err != nil {
		return nil, noOutcome{errors.New("it is done, and its result is not one of the protocol")}
	}
	return res, ofTask(res, t.ID)
}

// ofTask refuses a result that says it is of another task.
func ofTask(res *sdk.CallToolResult, task string) error {
	of, _ := res.Meta[relatedTask].(map[string]any)
	if id, is := of["taskId"].(string); is && id != task {
		return noOutcome{errors.New("it is done, and what came was the result of another task")}
	}
	return nil
}

// answerTask asks the person what a server needs for a task, once each.
func (r *Remote) answerTask(ctx context.Context, l *link, t *serverTask, answered map[string]bool) error {
	answers := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(t.Inputs)) {
		in := t.Inputs[key]
		switch {
		case answered[key]:
			continue
		case len(answered) == maxInputs:
			return taskOver{fmt.Errorf("the server %s has asked more than %d questions in one call", r.Name, maxInputs)}
		}
		answered[key] = true
		switch in.Method {
		case "elicitation/create":
			var p sdk.ElicitParams
			if err := json.Unmarshal(in.Params, &p); err != nil {
				return taskOver{fmt.Errorf("the server %s asks in a form that the protocol does not have", r.Name)}
			}
			answer, err := r.elicit(ctx, l, &p)
			if err != nil {
				return taskOver{fmt.Errorf("the server %s asks what cannot be answered: %w", r.Name, err)}
			}
			answers[key] = answer
		case "roots/list":
			answers[key] = map[string]any{"roots": []any{rootOf(r.all.opt.Workspace)}}
		default:
			return taskOver{fmt.Errorf("the server %s needs %s for the call, and pawl does not do that", r.Name, visible.Quote(clip(in.Method, 60)))}
		}
	}
	if len(answers) == 0 {
		return nil
	}
	_, err := l.task(ctx, "tasks/update", &taskParams{ID: t.ID, Answers: answers})
	return err
}

// maxInputs bounds the questions of one task.
const maxInputs = 50

// takeUp calls do with a connection over which the server can be asked for a task that another connection has begun.
func (r *Remote) takeUp(ctx context.Context, workspace string, h *handle, do func(l *link) error) error {
	if h.Of != r.Fingerprint() {
		return noOutcome{fmt.Errorf("the definition of the server %s is another now", r.Name)}
	}
	var l *link
	r.mu.Lock()
	l = r.links[""]
	r.mu.Unlock()
	var err error
	switch {
	case h.Session != "" && l != nil && l.has(h.Session):
	case h.Session == "":
		l, err = r.connect(ctx, workspace)
	default:
		l = &link{made: make(chan struct{}), changed: make(chan struct{}, 1)}
		if err = r.dial(l, "", h); err == nil {
			go l.watch()
		} else {
			err = fmt.Errorf("the server %s cannot be reached: %w", r.Name, inLine(err))
		}
		close(l.made)
		defer l.close("what it was made for is over")
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && r.URL == "":
		return noOutcome{err}
	case err != nil:
		return outOfReach{err, h, false}
	}
	return do(l)
}

// has reports whether l is a connection in a session.
func (l *link) has(session string) bool {
	select {
	case <-l.made:
		return l.err == nil && !l.gone() && l.session.ID() == session
	default:
		return false
	}
}

// taken reads what [tool.Call.Detach] was given.
func taken(s string) (*handle, error) {
	h := &handle{}
	if err := json.Unmarshal([]byte(s), h); err != nil {
		return nil, noOutcome{errors.New("what is recorded of its task cannot be read")}
	}
	return h, nil
}

func (h *handle) String() string {
	b, _ := json.Marshal(h) // of texts
	return string(b)
}

// welcome answers, in the place of the server, what would begin or end the session that is taken up; nil: it is for the server.
func (h *handle) welcome(req *http.Request) *http.Response {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			_ = json.NewDecoder(body).Decode(&m) // of the library
			body.Close()
		}
	}
	res := &http.Response{StatusCode: http.StatusAccepted, Status: "202 Accepted", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req}
	switch {
	case m.Method == "initialize":
		res.StatusCode, res.Status = http.StatusOK, "200 OK"
		res.Header.Set("Content-Type", "application/json")
		res.Header.Set("Mcp-Session-Id", h.Session)
		res.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"","version":""}}}`, m.ID, h.Protocol)))
	case m.Method == "notifications/initialized", req.Method == http.MethodDelete: // other runs may have tasks in it
	default:
		return nil
	}
	return res
}
