package mcp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/run"
	"pawl/tool"
)

// The tests start this test binary as a server: SERVER says which.
func TestMain(m *testing.M) {
	if serve := playedServers[os.Getenv("SERVER")]; serve != nil {
		serve()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var playedServers = map[string]func(){
	"good": func() { serveStdio(goodServer()) },
	"hasty": func() { // it says that its tools are others before it answers
		io.WriteString(os.Stdout, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n")
		time.Sleep(100 * time.Millisecond) // so that it has arrived
		serveStdio(goodServer())
	},
	"old": func() {
		s := goodServer()
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
				if method == "server/discover" {
					return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such method"}
				}
				return next(ctx, method, req)
			}
		})
		serveStdio(s)
	},
	"conformance": func() {
		if err := conform(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	},
	"leaves": func() { // while it lists its prompts for the second time
		s, lists := goodServer(), 0
		s.AddPrompt(&sdk.Prompt{Name: "review"}, nil)
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
				if method == "prompts/list" {
					if lists++; lists == 2 {
						os.Exit(0)
					}
				}
				return next(ctx, method, req)
			}
		})
		serveStdio(s)
	},
	"banner": func() {
		fmt.Println("Server v1.2 is starting …\n[INFO] listens\n{bad\n{\"level\":30,\"msg\":\"ready\"}\n[]\n{\"jsonrpc\"")
		serveStdio(goodServer())
	},
	"twice": func() {
		_ = goodServer().Run(context.Background(), &sdk.IOTransport{Reader: os.Stdin, Writer: doubled{os.Stdout}})
	},
	"silent": func() { select {} },
	"dies":   func() { fmt.Fprintln(os.Stderr, "no key \x1b[31mgiven\x1b[0m"); os.Exit(3) },
	"script": func() {
		fmt.Fprint(os.Stderr, "node:internal/modules/cjs/loader:1210\n\nError: Cannot find module '/x.js'\n"+strings.Repeat("    at Module._load\n", 6)+"\nNode.js v20\n")
		os.Exit(1)
	},
	"flood": func() {
		in := bufio.NewScanner(os.Stdin)
		in.Scan()
		for {
			if _, err := os.Stdout.Write([]byte(strings.Repeat("{", 1<<20))); err != nil {
				return
			}
		}
	},
	"refuses": func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			var m struct{ ID json.RawMessage }
			if json.Unmarshal(in.Bytes(), &m) == nil && m.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"no\nnote: it is trusted"}}`+"\n", m.ID)
			}
		}
	},
	"restless": func() { // says again and again that its tools are others while it lists them for the second time
		in := bufio.NewScanner(os.Stdin)
		const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"
		for lists, calls := 0, 0; in.Scan(); {
			var m struct {
				ID     json.RawMessage
				Method string
				Params struct{ ProtocolVersion string }
			}
			if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
				continue
			}
			answer := `"error":{"code":-32601,"message":"no"}`
			switch m.Method {
			case "initialize":
				answer = fmt.Sprintf(`"result":{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"x","version":"1"}}`, m.Params.ProtocolVersion)
			case "tools/list":
				lists++
				answer = `"result":{"tools":[{"name":"lists","inputSchema":{"type":"object"}}]}`
				if lists == 2 {
					fmt.Print(strings.Repeat(changed, 500))
				}
			case "tools/call":
				answer = fmt.Sprintf(`"result":{"content":[{"type":"text","text":"%d"}]}`, lists)
				if calls++; calls == 1 {
					answer += "}\n" + changed + `{"jsonrpc":"2.0","method":"notifications/x"`
				}
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer)
		}
	},
	"pages": func() {
		s := goodServer()
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
				if l, is := req.GetParams().(*sdk.ListToolsParams); is {
					l.Cursor = ""
				}
				res, err := next(ctx, method, req)
				if l, is := res.(*sdk.ListToolsResult); is && err == nil {
					l.NextCursor = "again"
				}
				return res, err
			}
		})
		serveStdio(s)
	},
}

// doubled writes each message twice.
type doubled struct{ *os.File }

func (d doubled) Write(b []byte) (int, error) {
	if _, err := d.File.Write(b); err != nil {
		return 0, err
	}
	return d.File.Write(b)
}

func serveStdio(s *sdk.Server) { _ = s.Run(context.Background(), &sdk.StdioTransport{}) }

var pageOpened atomic.Bool

// life tells one process of a server from the next.
var life = rand.Text()

var object = json.RawMessage(`{"type":"object"}`)

// goodServer has tools for what the tests need.
func goodServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "good", Version: "1.0"}, &sdk.ServerOptions{Instructions: "Be kind."})
	add := func(t *sdk.Tool, do func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error)) {
		if t.InputSchema == nil {
			t.InputSchema = object
		}
		s.AddTool(t, do)
	}
	text := func(s string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
	}
	add(&sdk.Tool{Name: "echo", Description: "Says what it is told.\x1b]0;title\x07", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`)},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var args struct{ Message string }
			err := json.Unmarshal(req.Params.Arguments, &args)
			return text(args.Message), err
		})
	add(&sdk.Tool{Name: "where"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		dir, err := os.Getwd()
		return text(dir + " " + os.Getenv("TOKEN") + " " + life), err
	})
	add(&sdk.Tool{Name: "wrong"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r := text("there is no such issue")
		r.IsError = true
		return r, nil
	})
	add(&sdk.Tool{Name: "look"}, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var args struct{ Path string }
		err := json.Unmarshal(req.Params.Arguments, &args)
		if err == nil {
			_, err = os.Stat(args.Path)
		}
		return text(fmt.Sprint(err == nil)), nil
	})
	add(&sdk.Tool{Name: "write"}, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var args struct{ Path string }
		err := json.Unmarshal(req.Params.Arguments, &args)
		r := text("written")
		if err == nil {
			if failed := os.WriteFile(args.Path, nil, 0o600); failed != nil {
				r = text(failed.Error())
				r.IsError = true
			}
		}
		return r, err
	})
	add(&sdk.Tool{Name: "refused"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such repository"}
	})
	add(&sdk.Tool{Name: "exit"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(7)
		return nil, nil
	})
	add(&sdk.Tool{Name: "hang"}, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		_ = req.Session.NotifyProgress(context.Background(), &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1, Total: 3, Message: "a\x1b[2Jb"})
		select {} // whatever it is told
	})
	add(&sdk.Tool{Name: "structured", OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: `{ "n": "one" }`}}, StructuredContent: map[string]any{"n": "one"}}, nil
		})
	add(&sdk.Tool{Name: "wrapped"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "line 1\nline 2"}}, StructuredContent: map[string]any{"content": "line 1\nline 2"}}, nil
	})
	add(&sdk.Tool{Name: "large"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "100 users"}}, StructuredContent: map[string]any{"users": slices.Repeat([]string{strings.Repeat("x", 99)}, 100)}}, nil
	})
	add(&sdk.Tool{Name: "media"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		size := int64(12)
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("no picture")},
			&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF")},
			&sdk.ResourceLink{URI: "file:///a\x1b[1m", Name: "a", MIMEType: "text/plain", Size: &size},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", Text: "B"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///c", MIMEType: "application/zip", Blob: []byte("PK")}},
		}}, nil
	})
	add(&sdk.Tool{Name: "asks"}, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var p sdk.ElicitParams
		err := json.Unmarshal(req.Params.Arguments, &p)
		if err != nil {
			return nil, err
		}
		answer, is := req.Params.InputResponses["a"].(*sdk.ElicitResult)
		if !is {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"a": &p}}, nil
		}
		said, err := json.Marshal(answer.Content)
		return text(answer.Action + " " + string(said)), err
	})
	add(&sdk.Tool{Name: "opens"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if pageOpened.Swap(true) {
			return text("you have opened it"), nil
		}
		return nil, &jsonrpc.Error{Code: sdk.CodeURLElicitationRequired, Message: "open it first",
			Data: json.RawMessage(`{"elicitations":[{"mode":"url","elicitationId":"1","url":"https://login.example/?a=1","message":"Log in"}]}`)}
	})
	add(&sdk.Tool{Name: "samples"}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		//lint:ignore SA1019 servers of older revisions of the protocol ask for it
		_, err := req.Session.CreateMessage(ctx, &sdk.CreateMessageParams{})
		return text(fmt.Sprint(err)), nil
	})
	add(&sdk.Tool{Name: "more"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add(&sdk.Tool{Name: "later"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("now"), nil })
		return text("there is one more"), nil
	})
	return s
}

// A scene is servers that a test plays with, and what was told of them.
type scene struct {
	*Servers
	t *testing.T

	mu      sync.Mutex
	told    []string
	changed chan struct{} // gets something when tools have changed
}

// rewritten is an answer with a header that cannot be one, which the library does not serve.
type rewritten struct{ http.ResponseWriter }

func (w rewritten) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w rewritten) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

func (w rewritten) Write(b []byte) (int, error) {
	return w.ResponseWriter.Write(bytes.ReplaceAll(b, []byte("Re_gion"), []byte("Re gion")))
}

// A server without sessions may want arguments as headers too. The tool is remembered from a process before, so this one
// calls before it has listed any, and perhaps while it lists them again.
func TestArgumentsThatAServerWantsAsHeadersAreSent(t *testing.T) {
	t.Parallel()
	serve := func() *sdk.Server {
		server := sdk.NewServer(&sdk.Implementation{Name: "regions", Version: "1"}, nil)
		for name, header := range map[string]string{"find": "Region", "wrong": "Re_gion"} {
			server.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"` + header + `"}}}`)},
				func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "found"}}}, nil
				})
		}
		return server
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return serve() }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	var mu sync.Mutex
	var sent []string
	var lists int
	var called chan struct{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		await := called
		switch req.Header.Get("Mcp-Method") {
		case "tools/call":
			sent = append(sent, req.Header.Get("Mcp-Param-Region"))
			close(called)
		case "tools/list":
			lists++
		}
		again := lists > 1
		mu.Unlock()
		if req.Header.Get("Mcp-Method") == "tools/list" && again {
			<-await
		}
		handler.ServeHTTP(rewritten{w}, req)
	}))
	t.Cleanup(web.Close)
	cache := t.TempDir()
	const processes = 10
	for process := range processes {
		mu.Lock()
		lists, called = 0, make(chan struct{})
		mu.Unlock()
		s := play(t, Options{Cache: cache}, Definition{Name: "r", URL: web.URL})
		if err := s.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, left := s.Tools(); len(left) != 1 || !strings.HasPrefix(left[0], `the tool "wrong" of server r is left out: the server does not describe it as the protocol has it: property "region"`) {
			t.Errorf("process %d leaves out %q", process, left)
		}
		if _, text := s.call(t.Context(), "mcp__r__find", `{"region":"north"}`, tool.Call{}); text != "found" {
			t.Errorf("process %d: the call says %q", process, text)
		}
		s.Close()
	}
	if want := slices.Repeat([]string{"north"}, processes); !slices.Equal(sent, want) {
		t.Errorf("the calls had the headers %q", sent)
	}
}

func play(t *testing.T, o Options, definitions ...Definition) *scene {
	t.Helper()
	s := &scene{t: t, changed: make(chan struct{}, 100)}
	if o.Workspace == "" {
		o.Workspace = t.TempDir()
	}
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	o.Environ, o.Version = os.Environ, "test"
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	o.Notice = func(sentence string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told = append(s.told, sentence)
	}
	o.Changed = func() { s.changed <- struct{}{} }
	for i := range definitions {
		if err := definitions[i].Check(); err != nil {
			t.Fatal(err)
		}
	}
	s.Servers = NewServers(definitions, o)
	t.Cleanup(s.Close)
	return s
}

func local(t *testing.T, name, played string) Definition {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Definition{Name: name, Command: self, Env: map[string]string{"SERVER": played}, StartTimeout: time.Minute}
}

func (s *scene) tools() map[string]tool.Tool {
	all := map[string]tool.Tool{}
	tools, _ := s.Tools()
	for _, t := range tools {
		all[t.Spec().Name] = t
	}
	return all
}

// call calls a tool and returns what a model reads of it.
func (s *scene) call(ctx context.Context, name, args string, c tool.Call) (tool.Result, string) {
	s.t.Helper()
	t := s.tools()[name]
	if t == nil {
		s.t.Fatalf("there is no tool %s; there are %v", name, s.tools())
	}
	c.Args = json.RawMessage(args)
	r, err := t.Run(ctx, tool.Env{}, c)
	if err != nil {
		s.t.Fatal(err)
	}
	return r, run.PlainText(r.Content)
}

func TestToolsOfAServerAreCalled(t *testing.T) {
	t.Parallel()
	d := local(t, "good", "good")
	d.Env["TOKEN"] = "${PAWL_TEST_TOKEN:-none}"
	d.Hidden = []string{"ha*"}
	s := play(t, Options{}, d)
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	tools := s.tools()
	if tools["mcp__good__hang"] != nil {
		t.Error("a hidden tool is offered")
	}
	spec := tools["mcp__good__echo"].Spec()
	if !strings.HasPrefix(spec.Description, "Says what it is told.") || strings.Contains(spec.Description, "\x1b") || !strings.Contains(string(spec.Schema), `"message"`) {
		t.Errorf("spec %q %s", spec.Description, spec.Schema)
	}
	in, err := tools["mcp__good__echo"].Inspect(tool.Env{}, json.RawMessage(`{"message":"hi","n":2}`))
	if err != nil || in.Class != run.Writes || in.Arguments["message"] != "hi" || in.Arguments["n"] != "2" ||
		in.Title != `good: echo {"message":"hi","n":2}` || in.Hint != "the server says that it only reads" {
		t.Errorf("intent %+v, %v", in, err)
	}
	if _, text := s.call(t.Context(), "mcp__good__echo", `{"message":"hi"}`, tool.Call{}); text != "hi" {
		t.Errorf("it said %q", text)
	}
	if _, text := s.call(t.Context(), "mcp__good__where", `{}`, tool.Call{}); !strings.HasPrefix(text, real(t, s.opt.Workspace)+" none ") {
		t.Errorf("it works in %q", text)
	}
	if r, text := s.call(t.Context(), "mcp__good__wrong", `{}`, tool.Call{}); !r.IsError || text != "there is no such issue" {
		t.Errorf("an error came as %v %q", r.IsError, text)
	}
	if r, text := s.call(t.Context(), "mcp__good__structured", `{}`, tool.Call{}); r.IsError || !strings.HasPrefix(text, `{"n":"one"}`) || !strings.Contains(text, "[the result does not fit what the server says of it: n") {
		t.Errorf("structured content came as %q", text)
	}
	if _, text := s.call(t.Context(), "mcp__good__wrapped", `{}`, tool.Call{}); text != "line 1\nline 2" {
		t.Errorf("a wrapped text came as %q", text)
	}
	if r, text := s.call(t.Context(), "mcp__good__refused", `{}`, tool.Call{}); !r.IsError || text != "the server good has refused the call: no such repository" {
		t.Errorf("a refusal came as %v %q", r.IsError, text)
	}
	var stored strings.Builder
	if r, text := s.call(t.Context(), "mcp__good__large", `{}`, tool.Call{Output: &stored}); !r.Written || text != "100 users" || !json.Valid([]byte(stored.String())) {
		t.Errorf("a large result: written %v, %q beside %d bytes", r.Written, text, stored.Len())
	}
	_, text := s.call(t.Context(), "mcp__good__media", `{}`, tool.Call{})
	for _, part := range []string{"is text, and not a picture", "[sound, audio/wav, 4 bytes", `[resource file:///a\u001b[1m: a, text/plain, 12 bytes]`, "[file:///b]\nB", "[file:///c, application/zip, 2 bytes"} {
		if !strings.Contains(text, part) {
			t.Errorf("what is no text came as %q, without %q", text, part)
		}
	}
	if st := s.Get("good").Status(); !st.Running || st.Server != "good" || st.Instructions != "Be kind." || st.Failed != "" {
		t.Errorf("status %+v", st)
	}
}

func real(t *testing.T, path string) string {
	t.Helper()
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func TestAServerWorksInTheFolderOfTheRun(t *testing.T) {
	t.Parallel()
	s := play(t, Options{}, local(t, "good", "good"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	r, err := s.tools()["mcp__good__where"].Run(t.Context(), tool.Env{Workspace: copied}, tool.Call{})
	if err != nil || !strings.HasPrefix(run.PlainText(r.Content), real(t, copied)) {
		t.Errorf("a call from a copy was made in %q, %v", run.PlainText(r.Content), err)
	}
}

// The next process knows the tools without starting the server, as long as its definition is the
// same.
func TestToolsAreRemembered(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	if err := play(t, Options{Cache: cache}, local(t, "good", "good")).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := play(t, Options{Cache: cache}, local(t, "good", "good"))
	if err := next.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if next.tools()["mcp__good__echo"] == nil || next.Get("good").Status().Running {
		t.Errorf("of a remembered server: %+v", next.Get("good").Status())
	}
	if _, text := next.call(t.Context(), "mcp__good__echo", `{"message":"hi"}`, tool.Call{}); text != "hi" {
		t.Errorf("it said %q", text)
	}
	other := local(t, "good", "good")
	other.Args = []string{"-other"}
	if s := play(t, Options{Cache: cache}, other); s.Get("good").remembered() {
		t.Error("the tools of another definition count")
	}
}

// A server whose tools are remembered, and that says they are others while the connection is made, can be called.
func TestARememberedServerThatChangesAtOnceIsCalled(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	if err := play(t, Options{Cache: cache}, local(t, "hasty", "hasty")).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := play(t, Options{Cache: cache}, local(t, "hasty", "hasty"))
	if err := next.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if _, text := next.call(ctx, "mcp__hasty__echo", `{"message":"hi"}`, tool.Call{}); text != "hi" {
		t.Errorf("it said %q", text)
	}
}

// A list that a server or pawl did not get to the end of takes nothing away.
func TestWhatAServerHasIsKeptWhenItLeavesBeforeItHasListedAll(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	s := play(t, Options{Cache: cache}, local(t, "leaves", "leaves"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.call(t.Context(), "mcp__leaves__more", `{}`, tool.Call{})
	l := s.Get("leaves").live()[0]
	<-l.process.proc.Done()
	l.listing.Lock()
	defer l.listing.Unlock() // what it was asked for is over
	next := play(t, Options{Cache: cache}, local(t, "leaves", "leaves"))
	for _, of := range []*scene{s, next} {
		if of.Get("leaves").remembered(); len(of.Prompts()) != 1 {
			t.Errorf("it has the prompts %v", of.Prompts())
		}
	}
}

func TestToolsThatCameLaterAreTold(t *testing.T) {
	t.Parallel()
	s := play(t, Options{}, local(t, "good", "good"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-s.changed
	s.call(t.Context(), "mcp__good__more", `{}`, tool.Call{})
	<-s.changed
	if _, text := s.call(t.Context(), "mcp__good__later", `{}`, tool.Call{}); text != "now" {
		t.Errorf("it said %q", text)
	}
}

func TestAServerThatEndsInACallIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := play(t, Options{}, local(t, "good", "good"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, text := s.call(t.Context(), "mcp__good__exit", `{}`, tool.Call{})
	if !r.IsError || r.NotStarted || r.Change != run.MayChange || !r.Unknown || text != "The outcome of this call is unknown: the server good has ended while it worked on the call (the next one starts it again): it has ended with exit code 7; its last words: out of memory. It may have happened, in part or whole, or not. Look before you repeat it." {
		t.Errorf("the call is told %q, %+v", text, r)
	}
	if _, text := s.call(t.Context(), "mcp__good__echo", `{"message":"again"}`, tool.Call{}); text != "again" {
		t.Errorf("the next call said %q", text)
	}
}

// A call that is stopped ends at once, and so does a server that goes on with it.
func TestAStoppedCallEndsItsServer(t *testing.T) {
	t.Parallel()
	s := play(t, Options{}, local(t, "good", "good"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, before := s.call(t.Context(), "mcp__good__where", `{}`, tool.Call{})
	ctx, stop := context.WithCancelCause(t.Context())
	progress := make(chan string, 1)
	go func() {
		line := <-progress
		stop(fmt.Errorf("stopped after %q", line))
	}()
	r, text := s.call(ctx, "mcp__good__hang", `{}`, tool.Call{Progress: func(line string) { progress <- line }})
	if !r.IsError || text != `stopped after "1 of 3: a\\u001b[2Jb"` {
		t.Errorf("a stopped call is told %q", text)
	}
	for {
		r, after := s.call(t.Context(), "mcp__good__where", `{}`, tool.Call{})
		if r.NotStarted { // it is being ended
			continue
		}
		if after == before {
			t.Errorf("the server goes on: %s", after)
		}
		break
	}
}

func TestACallHasATimeLimit(t *testing.T) {
	t.Parallel()
	d := local(t, "good", "good")
	d.CallTimeout = time.Millisecond
	s := play(t, Options{}, d)
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, text := s.call(t.Context(), "mcp__good__hang", `{}`, tool.Call{}); !r.IsError || text != "the call took too long: more than 1ms; the server was told to cancel it" {
		t.Errorf("it is told %q", text)
	}
}

func TestServersThatCannotBeUsedSayWhy(t *testing.T) {
	t.Parallel()
	silent := local(t, "silent", "silent")
	silent.StartTimeout = 10 * time.Millisecond
	needs := local(t, "needs", "good")
	needs.Env["TOKEN"] = "${PAWL_TEST_MISSING}"
	for _, c := range []struct {
		d    Definition
		want string
	}{
		{local(t, "dies", "dies"), `the server dies cannot be used: it has ended with exit code 3; its last words: no key \u001b[31mgiven\u001b[0m`},
		{local(t, "refuses", "refuses"), `the server refuses cannot be used: calling "initialize": no note: it is trusted`},
		{silent, "the server silent did not list its tools within 10ms"},
		{Definition{Name: "none", Command: "no-such-program-anywhere"}, `the server none cannot be used: there is no program "no-such-program-anywhere" in PATH`},
		{Definition{Name: "near", Command: "./no-such-program", Dir: "/"}, `the server near cannot be used: there is no program "./no-such-program" in /, the folder that it works in`},
		{Definition{Name: "win", Command: "cmd", Args: []string{"/c", "npx", "x"}}, `there is no program "cmd" in PATH: the definition is for Windows; here its command is "npx", without cmd /c`},
		{local(t, "script", "script"), `it has ended with exit code 1; its last words: Error: Cannot find module '/x.js'`},
		{needs, "the server needs cannot be used: it needs the variable PAWL_TEST_MISSING, which is not set"},
		{Definition{Name: "away", URL: "http://127.0.0.1:1/mcp"}, "the server away cannot be used: http://127.0.0.1:1/mcp: dial tcp 127.0.0.1:1: connect: connection refused"},
		{local(t, "flood", "flood"), "it sent a message of more than 64 MB"},
		{local(t, "pages", "pages"), "the server pages lists more than 1000 tools, or has no last page of them"},
	} {
		t.Run(c.d.Name, func(t *testing.T) {
			t.Parallel()
			s := play(t, Options{}, c.d)
			if err := s.Prepare(t.Context()); err != nil {
				t.Errorf("a run does not begin: %v", err)
			}
			if len(s.told) != 1 || !strings.Contains(s.told[0], c.want) {
				t.Errorf("told %q, want %q", s.told, c.want)
			}
			c.d.Required = true
			if err := play(t, Options{}, c.d).Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("with a server that is required: %v", err)
			}
		})
	}
}

func TestWhatIsNoMessageIsPassedOver(t *testing.T) {
	t.Parallel()
	s := play(t, Options{}, local(t, "banner", "banner"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.tools()["mcp__banner__echo"] == nil {
		t.Error("it has no tools")
	}
	if want := `the server banner writes to its standard output what is no message of the protocol, such as "Server v1.2 is starting …"`; !slices.Contains(s.told, want) {
		t.Errorf("told %q", s.told)
	}
}

func TestAnAnswerThatComesTwiceIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := play(t, Options{}, local(t, "good", "twice"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{"one", "two", "three"} {
		if _, text := s.call(t.Context(), "mcp__good__echo", `{"message":"`+message+`"}`, tool.Call{}); text != message {
			t.Errorf("it said %q to %q", text, message)
		}
	}
}

func TestAToolThatCannotBeOfferedIsNamed(t *testing.T) {
	t.Parallel()
	s := play(t, Options{}, Definition{Name: "odd", Command: "x"})
	listed := &listing{Tools: []*sdk.Tool{
		{Name: "good", InputSchema: map[string]any{"type": "object"}},
		{Name: "a.b", InputSchema: map[string]any{"type": "object"}},
		{Name: "a_b", InputSchema: map[string]any{"type": "object"}},
		{Name: "x\x1b[31m", InputSchema: map[string]any{"type": "object"}},
		{Name: "schema", InputSchema: map[string]any{"type": 7}},
		{Name: strings.Repeat("long", 20), InputSchema: map[string]any{"type": "object"}},
	}}
	listed.choose(s.Get("odd"))
	s.Get("odd").listed = listed
	tools, left := s.Tools()
	var names []string
	for _, tl := range tools {
		names = append(names, tl.Spec().Name)
		if n := tl.Spec().Name; len(n) > maxName {
			t.Errorf("%s has %d characters", n, len(n))
		}
	}
	if len(names) != 5 || names[0] != "mcp__odd__good" || names[1] != "mcp__odd__a_b" || !strings.HasPrefix(names[2], "mcp__odd__longlong") || !slices.Equal(names[3:], []string{"mcp_search", tool.ServerCall}) {
		t.Errorf("offered %q", names)
	}
	for i, want := range []string{`the tool "x\u001b[31m" of server odd is left out: its name has characters`, `the tool "schema" of server odd is left out: the schema of its arguments is wrong`,
		`the tool "a_b" of server odd is left out: "a.b" of server odd has the same name`} {
		if i >= len(left) || !strings.HasPrefix(left[i], want) {
			t.Errorf("left out %q, want %q", left, want)
		}
	}
}

func TestAServerElsewhereIsReached(t *testing.T) {
	t.Parallel()
	var keys atomic.Int64
	serve := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return goodServer() }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") == "Bearer k" {
			keys.Add(1)
		}
		serve.ServeHTTP(w, req)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	elsewhere := httptest.NewServer(http.RedirectHandler(web.URL, http.StatusTemporaryRedirect))
	t.Cleanup(elsewhere.Close)
	getenv := func(name string) (string, bool) { return "k", name == "KEY" }
	s := play(t, Options{Getenv: getenv}, Definition{Name: "web", URL: web.URL, Headers: map[string]string{"Authorization": "Bearer ${KEY}"}},
		Definition{Name: "moved", URL: elsewhere.URL, Headers: map[string]string{"Authorization": "Bearer ${KEY}"}})
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, text := s.call(t.Context(), "mcp__web__echo", `{"message":"hi"}`, tool.Call{}); text != "hi" {
		t.Errorf("it said %q", text)
	}
	if keys.Load() < 3 {
		t.Errorf("%d requests had the key", keys.Load())
	}
	web.CloseClientConnections()
	if r, text := s.call(t.Context(), "mcp__web__echo", `{"message":"again"}`, tool.Call{}); text != "again" {
		if !r.IsError {
			t.Errorf("it said %q", text)
		}
		if _, text := s.call(t.Context(), "mcp__web__echo", `{"message":"again"}`, tool.Call{}); text != "again" {
			t.Errorf("after a connection that was lost it said %q", text)
		}
	}
	if len(s.told) != 1 || !strings.Contains(s.told[0], "it leads to another place, "+web.URL) {
		t.Errorf("of a server that redirects elsewhere: %q", s.told)
	}
}

// A server of the old transport names the address that calls go to.
func TestTheEndpointThatAServerNamesIsItsOwn(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	victim := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(victim.Close)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/api\n\n", victim.URL)
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	s := play(t, Options{}, Definition{Name: "old", URL: web.URL, SSE: true})
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if asked.Load() != 0 || len(s.told) != 1 || !strings.Contains(s.told[0], "it leads to another place, "+victim.URL) {
		t.Errorf("%d requests; told %q", asked.Load(), s.told)
	}
}

// A server elsewhere that was restarted, or has forgotten its session, has not taken the call: it is made in another session,
// once.
func TestASessionThatIsOverIsReplaced(t *testing.T) {
	t.Parallel()
	for how, forget := range map[string]func(w http.ResponseWriter, id json.RawMessage){
		"plain": func(w http.ResponseWriter, _ json.RawMessage) {
			http.Error(w, "session not found", http.StatusNotFound)
		},
		"TypeScript": answerWith(http.StatusNotFound, -32001, "Session not found"),
		"everything": answerWith(http.StatusBadRequest, -32000, "Bad Request: No valid session ID provided"),
		"busy":       answerWith(http.StatusBadRequest, -32602, "no such room"),
		"gone":       func(http.ResponseWriter, json.RawMessage) { panic(http.ErrAbortHandler) },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			good := goodServer()
			good.AddResource(&sdk.Resource{URI: "x://menu", Name: "menu"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "x://menu", Text: "Soup."}}}, nil
			})
			good.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
				return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
					if method == "server/discover" {
						return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such method"}
					}
					return next(ctx, method, req)
				}
			})
			of := func(*http.Request) *sdk.Server { return good }
			var handler atomic.Pointer[sdk.StreamableHTTPHandler]
			handler.Store(sdk.NewStreamableHTTPHandler(of, nil))
			var over atomic.Int64 // requests that the session is forgotten for
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, err := io.ReadAll(req.Body)
				if err != nil {
					return
				}
				req.Body = io.NopCloser(bytes.NewReader(body))
				var m struct {
					ID     json.RawMessage
					Method string
				}
				asks := json.Unmarshal(body, &m) == nil && (m.Method == "tools/call" || m.Method == "resources/read")
				if asks && req.Header.Get("Mcp-Session-Id") != "" && over.Add(-1) >= 0 {
					forget(w, m.ID)
					return
				}
				handler.Load().ServeHTTP(w, req)
			}))
			t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
			s := play(t, Options{}, Definition{Name: "web", URL: web.URL})
			if err := s.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			say := func(forgotten int64) (tool.Result, string) {
				over.Store(forgotten)
				return s.call(t.Context(), "mcp__web__echo", `{"message":"hi"}`, tool.Call{})
			}
			if _, text := say(0); text != "hi" {
				t.Fatalf("it said %q; told %q", text, s.told)
			}
			switch r, text := say(1); {
			case how == "busy":
				if r.NotStarted || text != "the server web has refused the call: no such room" {
					t.Errorf("a refusal came as %q, not started %v", text, r.NotStarted)
				}
				return
			case how == "gone":
				if r.NotStarted || !strings.Contains(text, "The outcome of this call is unknown") {
					t.Errorf("an answer that does not come came as %q, not started %v", text, r.NotStarted)
				}
			case text != "hi":
				t.Errorf("after the session was forgotten it said %q", text)
			default:
				over.Store(1)
				if parts, err := s.Get("web").Read(t.Context(), "x://menu"); err != nil || run.PlainText(parts) != "Soup." {
					t.Errorf("a resource came as %q, %v", run.PlainText(parts), err)
				}
				if r, text := say(2); !r.NotStarted || !strings.HasPrefix(text, "the server web has not taken the call: ") {
					t.Errorf("a server that forgets each session came as %q, not started %v", text, r.NotStarted)
				}
			}
			web.CloseClientConnections()
			handler.Store(sdk.NewStreamableHTTPHandler(of, nil)) // as after a restart
			if _, text := say(0); text != "hi" {
				t.Errorf("after a restart it said %q", text)
			}
		})
	}
}

func answerWith(status, code int, message string) func(w http.ResponseWriter, id json.RawMessage) {
	return func(w http.ResponseWriter, id json.RawMessage) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message)
	}
}

// The stream of the old transport lives as long as the connection, and what ends it ends the calls.
func TestServersOfTheOldTransportAreCalled(t *testing.T) {
	t.Parallel()
	good := goodServer()
	var web *httptest.Server
	good.AddTool(&sdk.Tool{Name: "leave", InputSchema: object}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		web.CloseClientConnections()
		return &sdk.CallToolResult{}, nil
	})
	web = httptest.NewServer(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return good }, nil))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	s := play(t, Options{}, Definition{Name: "old", URL: web.URL, SSE: true})
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, text := s.call(t.Context(), "mcp__old__echo", `{"message":"hi"}`, tool.Call{}); text != "hi" {
			t.Fatalf("it said %q; told %q", text, s.told)
		}
	}
	if r, text := s.call(t.Context(), "mcp__old__leave", `{}`, tool.Call{}); !r.IsError || !strings.Contains(text, "The outcome of this call is unknown") {
		t.Errorf("a call whose stream has ended came as %q", text)
	}
	if _, text := s.call(t.Context(), "mcp__old__echo", `{"message":"again"}`, tool.Call{}); text != "again" {
		t.Errorf("after the stream has ended it said %q", text)
	}
}

func TestARunDoesNotWaitLongForAServer(t *testing.T) {
	t.Parallel()
	o := Options{Patience: time.Millisecond, Workspace: t.TempDir(), Cache: t.TempDir()}
	s := play(t, o, local(t, "silent", "silent"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(s.told) != 1 || !strings.HasPrefix(s.told[0], "the server silent has not listed its tools within 1ms; ") {
		t.Errorf("told %q", s.told)
	}
	s.Close()

	// The next process does not wait for it, and its model is told that there is more to come.
	o.Patience = time.Hour
	next := play(t, o, local(t, "silent", "silent"))
	if err := next.Prepare(t.Context()); err != nil || len(next.told) > 0 {
		t.Errorf("told %q, %v", next.told, err)
	}
	if search := next.tools()["mcp_search"]; search == nil || !slices.Equal(search.Spec().Beside, []string{"silent"}) {
		t.Errorf("the tools are %v", next.tools())
	}
	next.opt.Patience = time.Millisecond
	if _, text := next.call(t.Context(), "mcp_search", `{"query":"x"}`, tool.Call{}); !strings.HasSuffix(text, "These servers have not listed their tools yet: silent.") {
		t.Errorf("a search said %q", text)
	}
	next.Close()

	changed := local(t, "silent", "good") // another definition is waited for
	o.Patience = time.Hour
	last := play(t, o, changed)
	if err := last.Prepare(t.Context()); err != nil || last.tools()["mcp__silent__echo"] == nil {
		t.Errorf("its tools are %v; told %q, %v", last.tools(), last.told, err)
	}
	last.Need(t.Context(), "mcp__silent__echo") // returns: it is known
	if search := last.tools()["mcp_search"]; search == nil || !slices.Equal(search.Spec().Beside, []string{"silent"}) {
		t.Error("the server says that its tools may change, and the model cannot search them")
	}
}

// However often a server says that its tools are others, not more than two requests for them are owed.
func TestARestlessServerIsNotAskedEachTime(t *testing.T) {
	t.Parallel()
	s := play(t, Options{}, local(t, "restless", "restless"))
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	lists := 0
	for calls := 0; lists < 3 || calls < 200; calls++ {
		_, text := s.call(t.Context(), "mcp__restless__lists", `{}`, tool.Call{})
		var err error
		if lists, err = strconv.Atoi(text); err != nil {
			t.Fatal(text)
		}
	}
	if lists > 100 {
		t.Errorf("it has listed its tools %d times", lists)
	}
}

func TestTheFolderOfAServerMayBeAVariable(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	d := local(t, "good", "good")
	d.Dir = "${ELSEWHERE}"
	s := play(t, Options{Getenv: func(name string) (string, bool) { return elsewhere, name == "ELSEWHERE" }}, d)
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, text := s.call(t.Context(), "mcp__good__where", `{}`, tool.Call{}); !strings.HasPrefix(text, real(t, elsewhere)+" ") {
		t.Errorf("it works in %q; told %q", text, s.told)
	}
}

func TestAResourceWithoutContentIsNoted(t *testing.T) {
	t.Parallel()
	if text, parts, note := resource(t.Context(), nil); text != "" || parts != nil || note != "[a resource without content]" {
		t.Errorf("it is %q, %v, %q", text, parts, note)
	}
}
