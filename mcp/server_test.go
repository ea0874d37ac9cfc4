package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A client writes messages and reads the answers.
type client struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
	end chan error
}

func connect(t *testing.T, s *Server) *client {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	c := &client{t: t, in: toServer, out: bufio.NewScanner(fromServer), end: make(chan error, 1)}
	go func() {
		err := s.Serve(t.Context(), in, out)
		out.Close()
		c.end <- err
	}()
	t.Cleanup(func() { toServer.Close(); fromServer.Close() })
	return c
}

func (c *client) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) hears(want string) {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("the server said nothing more; want %s", want)
	}
	if diff := cmp.Diff(want, c.out.Text()); diff != "" {
		c.t.Error(diff)
	}
}

func server(call func(ctx context.Context, c Call) (Result, error)) *Server {
	return &Server{Name: "pawl", Version: "1", Call: call, Tools: func() ([]Tool, error) {
		return []Tool{{"ask", "Asks.", json.RawMessage(`{"type":"object"}`)}}, nil
	}}
}

func TestASessionFromInitializeToItsEnd(t *testing.T) {
	t.Parallel()
	c := connect(t, server(func(_ context.Context, c Call) (Result, error) {
		switch c.Tool {
		case "ask":
			return Result{Text: fmt.Sprintf("%s %s %s", c.ID, c.Client, c.Arguments)}, nil
		case "wrong":
			return Result{Text: "it does not fit", IsError: true}, nil
		}
		return Result{}, errors.New("there is no such tool")
	}))
	c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	c.hears(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"pawl","version":"1"}}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.say(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	c.hears(`{"jsonrpc":"2.0","id":"p","result":{}}`)
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	c.hears(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"ask","description":"Asks.","inputSchema":{"type":"object"}}]}}`)
	c.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{"a":1},"_meta":{"claudecode/toolUseId":"toolu_1"}}}`)
	c.hears(`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"2 toolu_1 {\"a\":1}"}]}}`)
	c.say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wrong"}}`)
	c.hears(`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"it does not fit"}],"isError":true}}`)
	c.say(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"other"}}`)
	c.hears(`{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"there is no such tool"}],"isError":true}}`)
	c.in.Close()
	if err := <-c.end; err != nil {
		t.Error(err)
	}
}

func TestWhatIsWrongIsAnsweredWithItsCode(t *testing.T) {
	t.Parallel()
	c := connect(t, server(nil))
	for _, wrong := range [][2]string{
		{`{"jsonrpc":`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not a JSON-RPC message: unexpected end of JSON input"}}`},
		{`{"id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}}`},
		{`{"jsonrpc":"2.0","id":2,"method":"resources/list"}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"there is no method \"resources/list\""}}`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"tools/call takes name and arguments"}}`},
		{`{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"1999"}}`,
			`{"jsonrpc":"2.0","id":4,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"pawl","version":"1"}}}`},
	} {
		c.say(wrong[0])
		c.hears(wrong[1])
	}
	c.say("")
	c.say(`{"jsonrpc":"2.0","id":9,"result":{}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`)
	c.say(`{"jsonrpc":"2.0","id":5,"method":"ping"}`)
	c.hears(`{"jsonrpc":"2.0","id":5,"result":{}}`)
}

func TestACancelledCallIsStoppedAndNotAnswered(t *testing.T) {
	t.Parallel()
	stopped := make(chan string)
	c := connect(t, server(func(ctx context.Context, c Call) (Result, error) {
		if c.Tool == "quick" {
			return Result{Text: "done"}, nil
		}
		<-ctx.Done()
		stopped <- c.ID
		return Result{Text: "too late"}, nil
	}))
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`)
	c.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"quick"}}`) // beside it
	c.hears(`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}]}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"x"}}`)
	if id := <-stopped; id != "1" {
		t.Errorf("stopped %s", id)
	}
	c.say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"}}`)
	c.say(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	c.hears(`{"jsonrpc":"2.0","id":4,"result":{}}`)
	c.in.Close() // the client leaves: what runs for it is stopped
	if id := <-stopped; id != "3" {
		t.Errorf("stopped %s", id)
	}
	if err := <-c.end; err != nil {
		t.Error(err)
	}
}

func TestALongMessageIsReadWhole(t *testing.T) {
	t.Parallel()
	c := connect(t, server(func(_ context.Context, c Call) (Result, error) {
		return Result{Text: fmt.Sprint(len(c.Arguments))}, nil
	}))
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"` + strings.Repeat("x", 1<<20) + `"}}}`)
	c.hears(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"1048584"}]}}`)
}
