package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
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

const noResult = `The outcome of this call is unknown: the server h has not answered the call: calling "tools/call": its answer is not a result of the protocol: `

const broken = `The outcome of this call is unknown: the server h has not answered the call: calling "tools/call": its answer is not valid JSON: `

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
	"an id that is a text": {onCall(func(id json.RawMessage) string { return result(json.RawMessage(`"`+string(id)+`"`), done) }), "done"},
	"an id with a point":   {onCall(func(id json.RawMessage) string { return result(json.RawMessage(string(id)+".0"), done) }), "done"},
	"no version":           {onCall(func(id json.RawMessage) string { return `{"id":` + string(id) + `,"result":` + done + `}` }), "done"},
	"another version": {onCall(func(id json.RawMessage) string {
		return `{"jsonrpc":"1.0","id":` + string(id) + `,"result":` + done + `}`
	}), "done"},
	"an error that is a text": {onCall(func(id json.RawMessage) string { return `{"jsonrpc":"2.0","id":` + string(id) + `,"error":"it broke"}` }), `the server h has refused the call: "it broke"`},
	"an error with a code of letters": {onCall(func(id json.RawMessage) string {
		return `{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":"E"}}`
	}), `the server h has refused the call: {"code":"E"}`},
	"neither result nor error": {onCall(func(id json.RawMessage) string { return `{"jsonrpc":"2.0","id":` + string(id) + `}` }), noResult},
	"a result that is a text":  {onCall(func(id json.RawMessage) string { return result(id, `"done"`) }), noResult},
	"a result nested too deep": {onCall(func(id json.RawMessage) string {
		return result(id, `{"content":[],"structuredContent":{"a":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}}`)
	}), `The outcome of this call is unknown: the server h has not answered the call: calling "tools/call": its answer is not one that can be read: it is nested too deep`},
	"content of an unknown kind": {onCall(func(id json.RawMessage) string {
		return result(id, `{"content":[{"type":"film","data":"x"},{"type":"text","text":"seen"}]}`)
	}), `[content that the protocol does not have: {"type":"film","data":"x"}]` + "\nseen"},
	"content of an unknown kind beside a large one": {onCall(func(id json.RawMessage) string {
		return result(json.RawMessage(`"`+string(id)+`"`), `{"content":[{"type":"film","data":"x"},{"type":"text","text":"`+strings.Repeat("large ", 1<<19)+`"}]}`)
	}), `[content that the protocol does not have: {"type":"film","data":"x"}]` + "\nlarge large "},
	"a large result nested too deep": {onCall(func(id json.RawMessage) string {
		return result(id, `{"content":[],"structuredContent":{"a":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`,"b":"`+strings.Repeat("large ", 1<<19)+`"}}`)
	}), `The outcome of this call is unknown: the server h has not answered the call: calling "tools/call": its answer is not one that can be read: it is nested too deep`},
	"a large answer that is cut": {onCall(func(id json.RawMessage) string {
		return strings.TrimSuffix(result(id, `{"content":[{"type":"text","text":"`+strings.Repeat("large ", 1<<19)), "}")
	}), broken},
	"content that is null":     {onCall(func(id json.RawMessage) string { return result(id, `{"content":[null]}`) }), "[content that the protocol does not have: null]"},
	"content that is a number": {onCall(func(id json.RawMessage) string { return result(id, `{"content":[5]}`) }), "[content that the protocol does not have: 5]"},
	"a text that is a number":  {onCall(func(id json.RawMessage) string { return result(id, `{"content":[{"type":"text","text":6}]}`) }), `[content that the protocol does not have: {"type":"text","text":6}]`},
	"content that is no list":  {onCall(func(id json.RawMessage) string { return result(id, `{"content":{"type":"text","text":"done"}}`) }), "done"},
	"a picture that is not base64": {onCall(func(id json.RawMessage) string {
		return result(id, `{"content":[{"type":"image","data":"%","mimeType":"image/png"}]}`)
	}), "[content that the protocol does not have: "},
	"a failure without a reason": {onCall(func(id json.RawMessage) string { return result(id, `{"isError":true}`) }), "The server says that the call has failed, and not why."},
	"an elicitation that asks of nothing": {onCall(func(id json.RawMessage) string {
		return `{"jsonrpc":"2.0","id":"e","method":"elicitation/create"}` + "\n" + result(id, done)
	}), "done"},
	"no params anywhere": {onCall(func(id json.RawMessage) string {
		var b strings.Builder
		for i, method := range []string{"message", "progress", "cancelled", "elicitation/complete", "subscriptions/acknowledged", "resources/updated"} {
			fmt.Fprintf(&b, `{"jsonrpc":"2.0","method":"notifications/%s"}`+"\n"+`{"jsonrpc":"2.0","method":"notifications/%s","params":null}`+"\n", method, method)
			fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":"n%d","method":%q,"params":null}`+"\n", i, []string{"ping", "roots/list", "sampling/createMessage", "elicitation/create", "tools/call", ""}[i])
		}
		return b.String() + result(id, done)
	}), "done"},
	"many questions": {onCall(func(id json.RawMessage) string {
		var b strings.Builder
		for i := range 50 {
			fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":"e%d","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}`+"\n", i)
		}
		return b.String() + result(id, done)
	}), "done"},
}

// wronglyDescribed answers with lists and contents of which some entries are right.
func wronglyDescribed(method string, id, params json.RawMessage) string {
	switch method {
	case "initialize":
		return result(id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"x","version":"1"}}`)
	case "tools/list":
		return result(id, `{"tools":[{"name":"talks","description":5,"inputSchema":{"type":"object"}},null,7,{"name":["n"],"inputSchema":{}},
			{"name":"deep","inputSchema":{"type":"object","default":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`}},
			{"name":"x","inputSchema":{"type":"object"}},{"name":"x","description":"another","inputSchema":{"type":"object"}}]}`)
	case "prompts/list":
		return result(id, `{"prompts":[null,{"name":"empty","arguments":[null]},{"name":"text","arguments":"a"},{"name":"p"}]}`)
	case "resources/list":
		return result(id, `{"resources":[null,{"uri":5,"name":"five"},{"uri":"x://y","name":"r"}]}`)
	case "prompts/get":
		return result(id, `{"messages":[null,{"role":"user"},{"role":"user","content":{"type":"text","text":"prompted"}}]}`)
	case "resources/read":
		return result(id, `{"contents":[null,{"uri":"x://y","text":5},{"uri":"x://y","text":"read"}]}`)
	}
	return plainAnswer(method, id, params)
}

// One tool, prompt, resource or content that is wrong costs no other.
func TestWhatIsWronglyDescribedIsLeftOutAndTheOthersStay(t *testing.T) {
	t.Parallel()
	over := func(media, before, after string) Definition {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			var m struct {
				ID     json.RawMessage
				Method string
				Params json.RawMessage
			}
			if err := json.NewDecoder(req.Body).Decode(&m); err != nil || m.ID == nil {
				w.WriteHeader(map[bool]int{true: http.StatusMethodNotAllowed, false: http.StatusAccepted}[err != nil])
				return
			}
			w.Header().Set("Content-Type", media)
			answer := strings.ReplaceAll(wronglyDescribed(m.Method, m.ID, m.Params), "\n", "")
			_, _ = w.Write([]byte(before + answer + after))
		}))
		t.Cleanup(server.Close)
		return Definition{Name: "h", URL: server.URL}
	}
	for name, d := range map[string]Definition{
		"stdio":  local(t, "h", "wrongly described"),
		"JSON":   over("application/json; charset=utf-8", string(byteOrderMark), ""),
		"events": over("text/event-stream", ": begins\n\nevent: message\r\ndata:", "\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d.Required = true
			s := play(t, Options{}, d)
			if err := s.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, left := s.Tools()
			const is = " of server h is left out: the server does not describe it as the protocol has it: "
			want := []string{`the tool "talks"` + is + "description is of the type number", `the tool "null"` + is + "it is null", `the tool "7"` + is + "it is of the type number",
				`the tool "{"name":["n"],"inputSchema":{}}"` + is + "name is of the type array", `the tool "deep"` + is + "it is nested too deep",
				`the tool "x" of server h is left out: another that stands before it has the same name`,
				`the prompt "null"` + is + "it is null", `the prompt "empty"` + is + "an argument is null", `the prompt "text"` + is + "arguments is of the type string",
				`the resource "null"` + is + "it is null", `the resource "five"` + is + "uri is of the type number"}
			if diff := cmp.Diff(want, left); diff != "" {
				t.Error("what is left out (-want +got):", diff)
			}
			if _, text := s.call(t.Context(), "mcp__h__x", `{}`, tool.Call{}); text != "done" {
				t.Errorf("its tool says %q", text)
			}
			prompts := s.Prompts()
			if len(prompts) != 1 || !slices.Equal(s.Resources(), []string{"h:x://y"}) {
				t.Fatalf("it has the prompts %v and the resources %q", prompts, s.Resources())
			}
			if parts, err := prompts[0].Get(t.Context(), ""); err != nil || !strings.HasSuffix(run.PlainText(parts), "prompted") {
				t.Errorf("its prompt is %v, %v", parts, err)
			}
			if parts, err := s.Get("h").Read(t.Context(), "x://y"); err != nil || !strings.HasSuffix(run.PlainText(parts), "read") {
				t.Errorf("its resource is %v, %v", parts, err)
			}
		})
	}
}

// A server whose output has ended is ended too, and the next call starts another.
func TestAServerThatClosesItsOutputIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := play(t, Options{}, local(t, "h", "closes its output"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"The outcome of this call is unknown: the server h has not answered the call: the connection has ended. It may have happened, in part or whole, or not. Look before you repeat it.", "done"} {
		args := fmt.Sprintf(`{"close":%v}`, i == 0)
		if _, text := s.call(t.Context(), "mcp__h__x", args, tool.Call{}); text != want {
			t.Errorf("call %d: it said %q", i, text)
		}
	}
}

func init() {
	playedServers["wrongly described"] = hostile(func(method string, id, params json.RawMessage) string {
		return strings.ReplaceAll(wronglyDescribed(method, id, params), "\n", "")
	})
	playedServers["closes its output"] = hostile(func(method string, id, params json.RawMessage) string {
		if method == "tools/call" && strings.Contains(string(params), `"close":true`) {
			os.Stdout.Close()
			for {
				time.Sleep(time.Hour) // it runs on
			}
		}
		return ""
	})
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
