package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/tool"
)

// A hostile server speaks the protocol by hand: answer returns the whole line, or lines, with which it answers a request.
func hostile(answer func(method string, id json.RawMessage, params json.RawMessage) string) func() {
	return func() {
		in := bufio.NewScanner(os.Stdin)
		in.Buffer(nil, 64<<20)
		out := bufio.NewWriter(os.Stdout)
		for in.Scan() {
			var m struct {
				ID     json.RawMessage
				Method string
				Params json.RawMessage
			}
			if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil || m.Method == "" {
				continue
			}
			s := answer(m.Method, m.ID, m.Params)
			if s == "" {
				s = plainAnswer(m.Method, m.ID, m.Params)
			}
			fmt.Fprintln(out, s)
			out.Flush()
		}
	}
}

func result(id json.RawMessage, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// plainAnswer is that of a server which does nothing strange, with a tool x.
func plainAnswer(method string, id json.RawMessage, params json.RawMessage) string {
	switch method {
	case "initialize":
		var p struct{ ProtocolVersion string }
		_ = json.Unmarshal(params, &p)
		return result(id, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"x","version":"1"}}`, p.ProtocolVersion))
	case "tools/list":
		return result(id, `{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		return result(id, `{"content":[{"type":"text","text":"done"}]}`)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
}

func onCall(answer func(id json.RawMessage) string) func() {
	return hostile(func(method string, id, _ json.RawMessage) string {
		if method != "tools/call" {
			return ""
		}
		return answer(id)
	})
}

const broken = `the server h has not answered the call: calling "tools/call": its answer is not valid JSON: `

const done = `{"content":[{"type":"text","text":"done"}]}`

// hostileServers are servers that answer calls in strange ways, and what a model reads: the whole, or how it begins.
var hostileServers = map[string]struct {
	serve func()
	want  string
}{
	"an id that is an object": {onCall(func(id json.RawMessage) string {
		return result(json.RawMessage(`{"a":[1]}`), done) + "\n" + result(id, done)
	}), "done"},
	"an id that is not a number": {onCall(func(id json.RawMessage) string {
		return result(json.RawMessage("1e999"), done) + "\n" + result(id, done)
	}), "done"},
	"no id": {onCall(func(id json.RawMessage) string {
		return `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}` + "\n" + result(id, done)
	}), "done"},
	"a batch of nothing": {onCall(func(id json.RawMessage) string { return `[[],{"jsonrpc":"2.0"},1]` + "\n" + result(id, done) }), "done"},
	"a batch":            {onCall(func(id json.RawMessage) string { return "[" + result(id, done) + "]" }), "done"},
	"another id": {onCall(func(id json.RawMessage) string {
		return result(json.RawMessage("987654"), done) + "\n" + result(id, done)
	}), "done"},
	"no number": {onCall(func(id json.RawMessage) string { return result(id, `{"content":[],"structuredContent":{"a":NaN}}`) }), broken},
	"no number, and the id last": {onCall(func(id json.RawMessage) string {
		return `{"result":{"content":[],"structuredContent":{"a":NaN}},"jsonrpc":"2.0","id":` + string(id) + `}`
	}), broken},
	"control characters": {onCall(func(id json.RawMessage) string {
		return result(id, "{\"content\":[{\"type\":\"text\",\"text\":\"a\x00\x1bb\"}]}")
	}), broken},
	"half an answer": {onCall(func(id json.RawMessage) string { return `{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"content"` }), broken},
	"a mark before each line": {hostile(func(method string, id, params json.RawMessage) string {
		return "\xef\xbb\xbf" + plainAnswer(method, id, params) + "\r"
	}), "done"},
	"many questions": {onCall(func(id json.RawMessage) string {
		var b strings.Builder
		for i := range 50 {
			fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":"e%d","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}`+"\n", i)
		}
		return b.String() + result(id, done)
	}), "done"},
}

func init() {
	for name, h := range hostileServers {
		playedServers[name] = h.serve
	}
}

// Invalid messages from a server do not end the connection, and do not make a call wait for its time limit.
func TestStrangeAnswersAreToldAndTheConnectionStays(t *testing.T) {
	t.Parallel()
	for name, h := range hostileServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, Options{}, local(t, "h", name))
			if err := s.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, text := s.call(t.Context(), "mcp__h__x", `{}`, tool.Call{})
				text, notes, _ := strings.Cut(text, "\n[")
				n := strings.Count(notes, "declined: who?")
				if text != h.want && (h.want == "done" || !strings.HasPrefix(text, h.want)) || n > maxNotes || n > 0 && name != "many questions" {
					t.Errorf("it said %q with %d notes; told %q", text, n, s.told)
				}
			}
		})
	}
}

// The server of a call that is stopped is told so, by the id of the call, before it is ended.
func TestAStoppedCallIsCancelled(t *testing.T) {
	t.Parallel()
	d := local(t, "told", "told")
	said := filepath.Join(t.TempDir(), "said")
	d.Env["SAID"] = said
	s := play(t, Options{}, d)
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	s.call(ctx, "mcp__told__x", `{}`, tool.Call{Progress: func(string) { stop(errors.New("stopped")) }})
	var b []byte
	for !bytes.HasSuffix(b, []byte("\n")) && t.Context().Err() == nil {
		b, _ = os.ReadFile(said) // it is there when the server was told
	}
	if id, cancelled, _ := strings.Cut(string(b), " "); id == "" || !strings.Contains(cancelled, `"requestId":`+id) {
		t.Errorf("it was told %q", b)
	}
}

func init() {
	playedServers["told"] = func() {
		var call json.RawMessage
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			var m struct {
				ID     json.RawMessage
				Method string
				Params json.RawMessage
			}
			if json.Unmarshal(in.Bytes(), &m) != nil {
				continue
			}
			switch m.Method {
			case "tools/call":
				var p struct {
					Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
				}
				_ = json.Unmarshal(m.Params, &p)
				call = m.ID
				fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`+"\n", p.Meta.ProgressToken)
			case "notifications/cancelled":
				_ = os.WriteFile(os.Getenv("SAID"), fmt.Appendf(nil, "%s %s\n", call, m.Params), 0o600)
			default:
				if m.ID != nil {
					fmt.Println(plainAnswer(m.Method, m.ID, m.Params))
				}
			}
		}
	}
}
