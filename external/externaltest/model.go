// Package externaltest is for tests of external agents: a model server on loopback that the
// real programs accept, and where these programs are. It is no part of the program.
package externaltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A Request is what a program asks its model.
type Request struct {
	Program string   // the kind that has this wire format
	Tools   []string // that are offered, by their names on the wire
	Schemas []any    // of the arguments of each
	Words   string   // of all of the user's messages
	Results []string // of calls, in order
	Body    string
	Gone    <-chan struct{} // closed when the program waits for the reply no more
}

// A Reply is what the model answers: a call if Tool is set, else text.
type Reply struct {
	Status int    // of an error; 0: none
	Error  string // the JSON of it; empty: it has Text as its message
	Header string // of an error: NAME: VALUE, a line each
	Cut    bool   // the connection ends in the middle
	Text   string
	Tool   string
	Args   string // JSON, or what a tool of Codex's takes that has no JSON
}

// A Model answers requests in the wire formats of all four programs. Unlike package fake it
// checks nothing: the requests are not pawl's.
type Model struct {
	URL string

	answer func(Request) Reply
	mu     sync.Mutex
	seen   []Request
	calls  int
}

// NewModel starts a model that ends with the test.
func NewModel(t testing.TB, answer func(Request) Reply) *Model {
	m := &Model{answer: answer}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	m.URL = s.URL
	return m
}

// Requests returns the requests so far.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Request{}, m.seen...)
}

type object = map[string]any

func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body object
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&body) != nil {
		return
	}
	raw, _ := json.Marshal(body) // it was JSON
	q := Request{Body: string(raw), Gone: r.Context().Done()}
	var write func(http.ResponseWriter, Reply, string)
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/messages"):
		q.Program = "claude-code"
		q.anthropic(body)
		if write = anthropic; body["stream"] != true { // after a stream that was cut
			write = anthropicWhole
		}
	case strings.HasSuffix(path, "/responses"):
		q.Program = "codex"
		q.responses(body)
		write = responses
	case strings.HasSuffix(path, "/chat/completions"):
		q.Program = "opencode"
		q.chat(body)
		write = chat
	case strings.Contains(path, "enerateContent"):
		q.Program = "gemini-cli"
		q.gemini(body)
		write = gemini
		if !strings.Contains(path, ":stream") {
			write = geminiWhole
		}
	default:
		http.NotFound(w, r)
		return
	}
	m.mu.Lock()
	m.seen = append(m.seen, q)
	m.calls++
	id := fmt.Sprintf("call_%d", m.calls)
	m.mu.Unlock()
	reply := Reply{Text: "A title"}
	if len(q.Tools) > 0 || write == nil {
		reply = m.answer(q)
	}
	if reply.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		for line := range strings.Lines(reply.Header) {
			name, value, _ := strings.Cut(line, ":")
			w.Header().Set(name, strings.TrimSpace(value))
		}
		w.WriteHeader(reply.Status)
		if reply.Error != "" {
			_, _ = w.Write([]byte(reply.Error))
			return
		}
		fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q,"code":%d,"status":"X"}}`, reply.Text, reply.Status)
		return
	}
	if reply.Args == "" {
		reply.Args = "{}"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if reply.Cut {
		whole := httptest.NewRecorder()
		write(whole, reply, id)
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		_ = http.NewResponseController(w).Flush() // the connection ends in any case
		panic(http.ErrAbortHandler)
	}
	write(w, reply, id)
}

func event(w http.ResponseWriter, name string, v any) {
	b, _ := json.Marshal(v) // of strings and numbers
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	fmt.Fprintf(w, "data: %s\n\n", b)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// texts returns all strings under a key "text", and content that is a string.
func texts(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, texts(e))
		}
		return strings.Join(all, "\n")
	case object:
		for _, key := range []string{"text", "content", "output", "parts"} {
			if s := texts(v[key]); s != "" {
				return s
			}
		}
	}
	return ""
}

func list(v any) []object {
	var all []object
	l, _ := v.([]any)
	for _, e := range l {
		if o, ok := e.(object); ok {
			all = append(all, o)
		}
	}
	return all
}

func (q *Request) offer(v, schema any) {
	if name, ok := v.(string); ok {
		q.Tools, q.Schemas = append(q.Tools, name), append(q.Schemas, schema)
	}
}

func (q *Request) anthropic(body object) {
	for _, t := range list(body["tools"]) {
		q.offer(t["name"], t["input_schema"])
	}
	for _, msg := range list(body["messages"]) {
		if msg["role"] != "user" {
			continue
		}
		if s, ok := msg["content"].(string); ok {
			q.Words += s + "\n"
		}
		for _, c := range list(msg["content"]) {
			if c["type"] == "tool_result" {
				q.Results = append(q.Results, texts(c["content"]))
			} else {
				q.Words += texts(c) + "\n"
			}
		}
	}
}

func anthropic(w http.ResponseWriter, r Reply, id string) {
	event(w, "message_start", object{"type": "message_start", "message": object{"id": "msg_" + id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []any{},
		"stop_reason": nil, "usage": object{"input_tokens": 11, "output_tokens": 1}}})
	stop := "end_turn"
	block, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": r.Text}
	if r.Tool != "" {
		stop = "tool_use"
		block, delta = object{"type": "tool_use", "id": "toolu_" + id, "name": r.Tool, "input": object{}}, object{"type": "input_json_delta", "partial_json": r.Args}
	}
	event(w, "content_block_start", object{"type": "content_block_start", "index": 0, "content_block": block})
	event(w, "content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": delta})
	event(w, "content_block_stop", object{"type": "content_block_stop", "index": 0})
	event(w, "message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop}, "usage": object{"output_tokens": 7}})
	event(w, "message_stop", object{"type": "message_stop"})
}

func anthropicWhole(w http.ResponseWriter, r Reply, id string) {
	w.Header().Set("Content-Type", "application/json")
	b, _ := json.Marshal(object{"id": "msg_" + id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn", // of strings and numbers
		"content": []any{object{"type": "text", "text": r.Text}}, "usage": object{"input_tokens": 11, "output_tokens": 7}})
	_, _ = w.Write(b)
}

func (q *Request) responses(body object) {
	tools := list(body["tools"])
	for _, item := range list(body["input"]) {
		tools = append(tools, list(item["tools"])...)
	}
	for _, t := range tools {
		q.offer(t["name"], t["parameters"])
		for _, inner := range list(t["tools"]) {
			q.offer(strings.TrimPrefix(fmt.Sprint(t["name"], "__", inner["name"]), "functions__"), inner["parameters"])
		}
	}
	for _, item := range list(body["input"]) {
		switch {
		case item["type"] == "function_call_output", item["type"] == "custom_tool_call_output":
			q.Results = append(q.Results, texts(item["output"]))
		case item["role"] == "user":
			q.Words += texts(item["content"]) + "\n"
		}
	}
}

func responses(w http.ResponseWriter, r Reply, id string) {
	response := object{"id": "resp_" + id, "object": "response", "status": "in_progress", "model": "mock", "output": []any{}}
	event(w, "response.created", object{"type": "response.created", "response": response})
	item := object{"id": "msg_" + id, "type": "message", "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": r.Text, "annotations": []any{}}}}
	if r.Tool != "" {
		item = object{"id": "fc_" + id, "type": "function_call", "call_id": id, "name": r.Tool, "arguments": r.Args, "status": "completed"}
		if i := strings.LastIndex(r.Tool, "__"); i > 0 {
			item["namespace"], item["name"] = r.Tool[:i], r.Tool[i+2:]
		}
		if !json.Valid([]byte(r.Args)) {
			delete(item, "arguments")
			item["type"], item["input"] = "custom_tool_call", r.Args
		}
	}
	event(w, "response.output_item.added", object{"type": "response.output_item.added", "output_index": 0, "item": item})
	event(w, "response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item})
	response["status"], response["output"] = "completed", []any{item}
	response["usage"] = object{"input_tokens": 11, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 7, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 18}
	event(w, "response.completed", object{"type": "response.completed", "response": response})
}

func (q *Request) chat(body object) {
	for _, t := range list(body["tools"]) {
		if f, ok := t["function"].(object); ok {
			q.offer(f["name"], f["parameters"])
		}
	}
	for _, msg := range list(body["messages"]) {
		switch msg["role"] {
		case "tool":
			q.Results = append(q.Results, texts(msg["content"]))
		case "user":
			q.Words += texts(msg["content"]) + "\n"
		}
	}
}

func chat(w http.ResponseWriter, r Reply, id string) {
	delta, stop := object{"role": "assistant", "content": r.Text}, "stop"
	if r.Tool != "" {
		stop = "tool_calls"
		delta = object{"role": "assistant", "tool_calls": []any{object{"index": 0, "id": id, "type": "function", "function": object{"name": r.Tool, "arguments": r.Args}}}}
	}
	chunk := func(delta object, stop any, usage any) {
		event(w, "", object{"id": "c_" + id, "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": usage,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": stop}}})
	}
	chunk(delta, nil, nil)
	chunk(object{}, stop, object{"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func (q *Request) gemini(body object) {
	for _, t := range list(body["tools"]) {
		for _, f := range list(t["functionDeclarations"]) {
			schema := f["parametersJsonSchema"]
			if schema == nil {
				schema = f["parameters"]
			}
			q.offer(f["name"], schema)
		}
	}
	for _, msg := range list(body["contents"]) {
		for _, p := range list(msg["parts"]) {
			if f, ok := p["functionResponse"].(object); ok {
				b, _ := json.Marshal(f["response"]) // it was JSON
				q.Results = append(q.Results, string(b))
			} else if msg["role"] == "user" {
				q.Words += texts(p) + "\n"
			}
		}
	}
}

func geminiReply(r Reply) object {
	part := object{"text": r.Text}
	if r.Tool != "" {
		part = object{"functionCall": object{"name": r.Tool, "args": json.RawMessage(r.Args)}}
	}
	return object{"candidates": []any{object{"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}}
}

func gemini(w http.ResponseWriter, r Reply, _ string) { event(w, "", geminiReply(r)) }

func geminiWhole(w http.ResponseWriter, r Reply, _ string) {
	w.Header().Set("Content-Type", "application/json")
	b, _ := json.Marshal(geminiReply(r)) // of strings and what was JSON
	_, _ = w.Write(b)
}
