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

// started is connect after the handshake.
func started(t *testing.T, s *Server) *client {
	c := connect(t, s)
	c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	c.hears(`{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"tools":{}},"protocolVersion":"2025-06-18","serverInfo":{"name":"pawl","version":"1"}}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func TestASessionFromInitializeToItsEnd(t *testing.T) {
	t.Parallel()
	s := server(func(_ context.Context, c Call) (Result, error) {
		switch c.Tool {
		case "ask":
			return Result{Text: fmt.Sprintf("%s %s %s", c.ID, c.Client, c.Arguments)}, nil
		case "wrong":
			return Result{Text: "it does not fit", IsError: true}, nil
		}
		return Result{}, errors.New("there is no such tool")
	})
	s.Tools = func() ([]Tool, error) { // neither tools nor the properties of a schema are sorted
		return []Tool{{"write", "Writes.", json.RawMessage(`{"type":"object","properties":{"path":{},"content":{},"at":{}}}`)}, {"ask", "", json.RawMessage(`{"type":"object"}`)}}, nil
	}
	c := started(t, s)
	c.say(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	c.hears(`{"jsonrpc":"2.0","id":"p","result":{}}`)
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	c.hears(`{"jsonrpc":"2.0","id":1,"result":{"ttlMs":0,"cacheScope":"private","tools":[{"description":"Writes.","inputSchema":{"type":"object","properties":{"path":{},"content":{},"at":{}}},"name":"write"},{"inputSchema":{"type":"object"},"name":"ask"}]}}`)
	c.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{"a":1},"_meta":{"claudecode/toolUseId":"toolu_1"}}}`)
	c.hears(`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"1 toolu_1 {\"a\":1}"}]}}`)
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
	s := server(nil)
	s.Tools = func() ([]Tool, error) { return nil, errors.New("no turn is at work") }
	c := started(t, s)
	for _, wrong := range [][2]string{
		{`{"jsonrpc":"2.0","id":2,"method":"resources/nothing"}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"method not found: \"resources/nothing\""}}`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"tools/call takes name and arguments"}}`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"no turn is at work"}}`},
	} {
		c.say(wrong[0])
		c.hears(wrong[1])
	}
	c.say(`{"jsonrpc":"2.0","id":9,"result":{}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`)
	c.say(`{"jsonrpc":"2.0","id":5,"method":"ping"}`)
	c.hears(`{"jsonrpc":"2.0","id":5,"result":{}}`)
}

func TestACancelledCallIsStopped(t *testing.T) {
	t.Parallel()
	stopped := make(chan string)
	c := started(t, server(func(ctx context.Context, c Call) (Result, error) {
		if c.Tool == "quick" {
			return Result{Text: "done"}, nil
		}
		<-ctx.Done()
		stopped <- string(c.Arguments)
		return Result{}, ctx.Err()
	}))
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"n":1}}}`)
	c.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"quick"}}`) // beside it
	c.hears(`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}]}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"x"}}`)
	if args := <-stopped; args != `{"n":1}` {
		t.Errorf("stopped %s", args)
	}
	c.hears(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"context canceled"}],"isError":true}}`) // which a client that has cancelled passes over
	c.say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow","arguments":{"n":3}}}`)
	c.say(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	c.hears(`{"jsonrpc":"2.0","id":4,"result":{}}`)
	c.in.Close() // the client leaves: what runs for it is stopped
	if args := <-stopped; args != `{"n":3}` {
		t.Errorf("stopped %s", args)
	}
	if err := <-c.end; err != nil {
		t.Error(err)
	}
}

func TestALongMessageIsReadWhole(t *testing.T) {
	t.Parallel()
	c := started(t, server(func(_ context.Context, c Call) (Result, error) {
		return Result{Text: fmt.Sprint(len(c.Arguments))}, nil
	}))
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"` + strings.Repeat("x", 1<<20) + `"}}}`)
	c.hears(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"1048584"}]}}`)
}
