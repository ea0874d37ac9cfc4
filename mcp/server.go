package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage bounds a message from the client, in bytes.
const maxMessage = 32 << 20

// A Tool is a tool that the server offers.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // of an object
}

// A Call is a call that a client makes.
type Call struct {
	// ID identifies the call in this session.
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

// A Server answers the requests of clients.
type Server struct {
	Name, Version string
	// Instructions are for the client's model; they may be empty.
	Instructions string
	// Tools returns the tools that there are now. They are listed in this order, and with their
	// schemas as they are.
	Tools func() ([]Tool, error)
	// Call makes a call. ctx is done when the client cancels the request or leaves. An error
	// is a result too: the client's model is told.
	Call func(ctx context.Context, c Call) (Result, error)
}

// Serve answers requests until in ends, which is how a client ends a session, or ctx is
// done. Calls are made concurrently; those that are under way when the session ends are
// cancelled, and Serve returns when they have returned. The error is one of in or out.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	err := s.server().Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}, MaxLineLength: maxMessage})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Handler answers requests of the streamable HTTP transport, of any number of clients: nothing is kept between two
// requests. Who is let in, and from where, has been decided before.
func (s *Server) Handler() http.Handler {
	server := s.server()
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true, Logger: slog.New(slog.DiscardHandler), DisableLocalhostProtection: true})
}

func (s *Server) server() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: s.Name, Version: s.Version}, &sdk.ServerOptions{
		Instructions: s.Instructions, Logger: slog.New(slog.DiscardHandler),
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
	// The tools may change with each turn of a run, so none is registered: the requests for them are
	// answered before the library looks for them.
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		var calls atomic.Int64
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			switch p := req.GetParams().(type) {
			case *sdk.ListToolsParams:
				return s.list()
			case *sdk.CallToolParamsRaw:
				return s.call(ctx, strconv.FormatInt(calls.Add(1), 10), p)
			}
			return next(ctx, method, req)
		}
	})
	return server
}

// callOnce makes one call over a connection to a server, which it closes.
func callOnce(ctx context.Context, c io.ReadWriteCloser, tool string, arguments json.RawMessage) (Result, error) {
	session, err := sdk.NewClient(&sdk.Implementation{Name: "pawl"}, nil).Connect(ctx, &sdk.IOTransport{Reader: c, Writer: c, MaxLineLength: maxMessage}, nil)
	if err != nil {
		return Result{}, errors.Join(err, c.Close())
	}
	defer session.Close()
	answer, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return Result{}, err
	}
	r := Result{IsError: answer.IsError}
	for _, part := range answer.Content {
		if text, ok := part.(*sdk.TextContent); ok {
			r.Text += text.Text
		}
	}
	return r, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (s *Server) list() (sdk.Result, error) {
	tools, err := s.Tools()
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	all := &sdk.ListToolsResult{Cacheable: sdk.Cacheable{CacheScope: "private"}, Tools: []*sdk.Tool{}}
	for _, t := range tools {
		all.Tools = append(all.Tools, &sdk.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema})
	}
	return all, nil
}

func (s *Server) call(ctx context.Context, id string, p *sdk.CallToolParamsRaw) (sdk.Result, error) {
	if p.Name == "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "tools/call takes name and arguments"}
	}
	c := Call{ID: id, Tool: p.Name, Arguments: p.Arguments}
	if text := string(c.Arguments); cmp.Or(text, "null") == "null" {
		c.Arguments = json.RawMessage("{}")
	}
	c.Client, _ = p.Meta["claudecode/toolUseId"].(string) // of Claude Code, as observed in 2.1.197
	res, err := s.Call(ctx, c)
	if err != nil {
		res = Result{Text: fmt.Sprint(err), IsError: true}
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: res.Text}}, IsError: res.IsError}, nil
}
