package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"pawl/tool"
)

// A server that cannot be started is not started again with each call, and its end is told once.
func TestAServerThatCannotBeStartedIsTriedAgainLater(t *testing.T) {
	t.Parallel()
	s := play(t, Options{}, local(t, "dies", "dies"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.Get("dies").List(t.Context()); err == nil || !strings.Contains(err.Error(), "it has ended with exit code 3") || !strings.Contains(err.Error(), "; it is tried again in ") {
			t.Errorf("it is started again: %v", err)
		}
	}
	if len(s.told) != 1 {
		t.Errorf("told %q", s.told)
	}
}

// What a server asks of the model is refused with the reason, and what it logs is shown beside the call.
func TestAServerThatAsksTheModelIsRefusedAndItsLogsAreShown(t *testing.T) {
	t.Parallel()
	s := play(t, Options{}, local(t, "h", "asks the model"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	logged := make(chan string, 10)
	_, text := s.call(t.Context(), "mcp__h__x", `{}`, tool.Call{Progress: func(line string) { logged <- line }})
	if text != "pawl does not send prompts of servers to the model: their text would count as the person's" {
		t.Errorf("it was told %q", text)
	}
	if line := <-logged; line != `warming \u001b[31mup` {
		t.Errorf("its log shows %q", line)
	}
}

// A server that changes the arguments of a tool between its list and a call refuses the call; the next has them as they are.
func TestAToolMayChangeBetweenItsListAndACall(t *testing.T) {
	t.Parallel()
	s := play(t, Options{}, local(t, "h", "changes its tool"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-s.changed
	if r, text := s.call(t.Context(), "mcp__h__x", `{"a":"1"}`, tool.Call{}); !r.IsError || text != "the server h has refused the call: b is missing" {
		t.Errorf("it said %q", text)
	}
	<-s.changed
	if spec := s.tools()["mcp__h__x"].Spec(); !strings.Contains(string(spec.Schema), `"b"`) {
		t.Errorf("its arguments are still %s", spec.Schema)
	}
	if _, text := s.call(t.Context(), "mcp__h__x", `{"b":"1"}`, tool.Call{}); text != "done" {
		t.Errorf("it said %q", text)
	}
}

func init() {
	playedServers["asks the model"] = func() {
		var call json.RawMessage
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			var m struct {
				ID     json.RawMessage
				Method string
				Params json.RawMessage
				Error  struct{ Message string }
			}
			switch {
			case json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil:
			case string(m.ID) == `"s"`:
				fmt.Println(result(call, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, m.Error.Message)))
			case m.Method == "tools/call":
				call = m.ID
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"warming \u001b[31mup"}}`)
				fmt.Println(`{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"maxTokens":10,"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}}`)
			default:
				fmt.Println(plainAnswer(m.Method, m.ID, m.Params))
			}
		}
	}
	wants := "a"
	playedServers["changes its tool"] = hostile(func(method string, id, params json.RawMessage) string {
		switch method {
		case "tools/list":
			return result(id, fmt.Sprintf(`{"tools":[{"name":"x","inputSchema":{"type":"object","required":[%q],"properties":{%q:{"type":"string"}}}}]}`, wants, wants))
		case "tools/call":
			if wants = "b"; !strings.Contains(string(params), `"b":`) {
				return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"b is missing"}}`, id) + "\n" +
					`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
			}
		}
		return ""
	})
}
