package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// versions are the revisions of the protocol that the server speaks, the newest first. What
// it uses is the same in all of them.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// maxMessage bounds a message from the client, in bytes.
const maxMessage = 32 << 20

// A Tool is a tool that the server offers.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"inputSchema"` // of an object
}

// A Call is a call that a client makes.
type Call struct {
	// ID identifies the request in this session.
	ID string
	// Client is the client's own id of the tool use, if it sends one: the same when the
	// request is repeated by another session.
	Client    string
	Tool      string
	Arguments json.RawMessage // an object
}

// A Result is the answer to a call.
type Result struct {
	Text    string
	IsError bool
}

// A Server answers the requests of one client.
type Server struct {
	Name, Version string
	// Instructions are for the client's model; they may be empty.
	Instructions string
	// Tools returns the tools that there are now.
	Tools func() ([]Tool, error)
	// Call makes a call. ctx is done when the client cancels the request or leaves. An error
	// is a result too: the client's model is told.
	Call func(ctx context.Context, c Call) (Result, error)
}

// request is a request, or a notification if it has no id.
type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// The error codes of JSON-RPC 2.0.
const (
	parseError     = -32700
	invalidRequest = -32600
	noMethod       = -32601
	invalidParams  = -32602
	internalError  = -32603
)

// Serve answers requests until in ends, which is how a client ends a session, or ctx is
// done. Calls are made concurrently; those that are under way when the session ends are
// cancelled, and Serve returns when they have returned. The error is one of in or out.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	c := &session{Server: s, out: out, calls: map[string]context.CancelFunc{}, leave: cancel}
	defer c.running.Wait()
	defer cancel()
	lines := make(chan []byte)
	read := make(chan error, 1)
	go func() {
		r := bufio.NewScanner(in)
		r.Buffer(nil, maxMessage)
		for r.Scan() {
			select {
			case lines <- bytes.Clone(r.Bytes()):
			case <-ctx.Done():
				return
			}
		}
		read <- r.Err()
	}()
	for {
		select {
		case <-ctx.Done():
			return c.failed()
		case err := <-read:
			return errors.Join(err, c.failed())
		case line := <-lines:
			if line = bytes.TrimSpace(line); len(line) > 0 {
				c.message(ctx, line)
			}
		}
	}
}

// session is a client that is connected.
type session struct {
	*Server
	leave   context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	out   io.Writer
	err   error // of out
	calls map[string]context.CancelFunc
}

func (c *session) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// send writes a message. When that fails the client is gone.
func (c *session) send(r response) {
	r.Version = "2.0"
	b, err := json.Marshal(r)
	if err != nil {
		b, _ = json.Marshal(response{Version: "2.0", ID: r.ID, Error: &rpcError{internalError, err.Error()}}) // strings alone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	if _, c.err = c.out.Write(append(b, '\n')); c.err != nil {
		c.leave()
	}
}

func (c *session) refuse(id json.RawMessage, code int, format string, args ...any) {
	if id == nil {
		id = json.RawMessage("null")
	}
	c.send(response{ID: id, Error: &rpcError{code, fmt.Sprintf(format, args...)}})
}

// message answers one message.
func (c *session) message(ctx context.Context, line []byte) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		c.refuse(nil, parseError, "not a JSON-RPC message: %v", err)
		return
	}
	notification := len(r.ID) == 0 || string(r.ID) == "null"
	switch {
	case r.Method == "" && !notification:
		return // an answer: this server asks nothing
	case r.Method == "notifications/cancelled":
		c.cancelled(r.Params)
	case notification:
	case r.Version != "2.0":
		c.refuse(r.ID, invalidRequest, "jsonrpc must be \"2.0\"")
	case r.Method == "initialize":
		c.send(response{ID: r.ID, Result: c.initialized(r.Params)})
	case r.Method == "ping":
		c.send(response{ID: r.ID, Result: struct{}{}})
	case r.Method == "tools/list":
		c.list(r)
	case r.Method == "tools/call":
		c.call(ctx, r)
	default:
		c.refuse(r.ID, noMethod, "there is no method %q", r.Method)
	}
}

// initialized is the answer to initialize: the client's revision of the protocol if the
// server speaks it, else the newest that it does.
func (c *session) initialized(params json.RawMessage) any {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &p) // without a version it is the newest
	if !slices.Contains(versions, p.Version) {
		p.Version = versions[0]
	}
	type implementation struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	return struct {
		Version      string         `json:"protocolVersion"`
		Capabilities map[string]any `json:"capabilities"`
		Server       implementation `json:"serverInfo"`
		Instructions string         `json:"instructions,omitempty"`
	}{p.Version, map[string]any{"tools": struct{}{}}, implementation{c.Name, c.Version}, c.Instructions}
}

func (c *session) list(r request) {
	tools, err := c.Tools()
	if err != nil {
		c.refuse(r.ID, internalError, "%v", err)
		return
	}
	c.send(response{ID: r.ID, Result: struct {
		Tools []Tool `json:"tools"`
	}{append([]Tool{}, tools...)}})
}

// call makes a call in a goroutine of its own.
func (c *session) call(ctx context.Context, r request) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      map[string]any  `json:"_meta"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil || p.Name == "" {
		c.refuse(r.ID, invalidParams, "tools/call takes name and arguments")
		return
	}
	if len(p.Arguments) == 0 || string(p.Arguments) == "null" {
		p.Arguments = json.RawMessage("{}")
	}
	call := Call{ID: string(r.ID), Tool: p.Name, Arguments: p.Arguments}
	call.Client, _ = p.Meta["claudecode/toolUseId"].(string) // of Claude Code, as observed in 2.1.197
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	c.calls[call.ID] = cancel
	c.mu.Unlock()
	c.running.Go(func() {
		res, err := c.Call(ctx, call)
		stopped := ctx.Err() != nil
		c.mu.Lock()
		delete(c.calls, call.ID)
		c.mu.Unlock()
		cancel()
		if stopped {
			return // a cancelled request is not answered
		}
		if err != nil {
			res = Result{Text: err.Error(), IsError: true}
		}
		type content struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		c.send(response{ID: r.ID, Result: struct {
			Content []content `json:"content"`
			IsError bool      `json:"isError,omitempty"`
		}{[]content{{"text", res.Text}}, res.IsError}})
	})
}

// cancelled cancels a call that is under way.
func (c *session) cancelled(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.calls[string(p.ID)]; cancel != nil {
		cancel()
	}
}
