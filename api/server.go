package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"pawl/app"
	"pawl/board"
	"pawl/forms"
	"pawl/internal/build"
	"pawl/run"
	"pawl/task"
	"pawl/web"
)

// Prefix is the path under which all operations are.
const Prefix = "/api/v1"

// Options configure a [Server].
type Options struct {
	// Token is what a person authenticates with; see [LoadToken]. It must not be empty.
	Token string
	// Hosts are the values of Host that are accepted, each with its port, as
	// 127.0.0.1:7433; see [HostsOf].
	Hosts []string
	// TLS says that clients connect with https.
	TLS bool
	// Rate bounds requests a second, of all callers together; 0: DefaultRate.
	Rate int
	// MCP answers the clients of a server of the Model Context Protocol that have the token, at /mcp; nil: there is none.
	MCP http.Handler
	// Workers returns what the processes do that work on the tasks; nil: the server does so itself.
	Workers func(ctx context.Context) (forms.FleetForm, error)
	// Log is for diagnostics; nil: none.
	Log *slog.Logger
}

// DefaultRate is how many requests a second are accepted, of all callers together. Twice as
// many may come at once.
const DefaultRate = 1000

// A Server serves one workspace. It is safe for concurrent use.
type Server struct {
	ws    *app.Workspace
	board board.Board
	opt   Options
	log   *slog.Logger

	document   *huma.OpenAPI
	mux        *http.ServeMux
	operations map[string]operation // by pattern

	guard    *guard
	users    users
	keys     *keyStore
	feed     *feed
	sessions sessions
	driver   *driver
	push     *pushes
	logPages logPages

	slowest time.Duration      // how long a client may take to accept what was sent
	process string             // random: tells this server from those before and after it
	stop    context.CancelFunc // ends the streams
	stopped context.Context
}

// New returns a server of a workspace. The caller must call Close.
func New(ws *app.Workspace, opt Options) (*Server, error) {
	if opt.Token == "" || len(opt.Hosts) == 0 {
		return nil, fmt.Errorf("api: a server needs a token and the hosts that it is called by")
	}
	if opt.Rate == 0 {
		opt.Rate = DefaultRate
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{ws: ws, board: board.Of(ws), opt: opt, log: opt.Log, mux: http.NewServeMux(), operations: map[string]operation{}, slowest: slowest, process: rand.Text()}
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.guard = newGuard(opt)
	var err error
	if s.keys, err = openKeys(ws.State); err != nil {
		return nil, err
	}
	s.feed = newFeed(s.stopped, ws)
	s.driver = newDriver(s.stopped, ws, &s.sessions, s.log)
	s.push = openPushes(s)
	strictNames()
	s.document = document()
	s.taskOperations()
	s.taskActions()
	s.copyOperations()
	s.messageOperations()
	s.attachmentOperations()
	s.toolOperations()
	s.decisionOperations()
	s.streamOperations()
	s.runOperations()
	s.runStream()
	s.outputOperations()
	s.agentOperations()
	s.ruleOperations()
	s.workspaceOperations()
	s.healthPages()
	s.mcpServer()
	s.accessOperations()
	s.pushOperations()
	s.documents()
	s.pages()
	s.finishDocument()
	return s, nil
}

// Close ends all event streams, whose clients are told to connect again, and interrupts the
// runs that it drives as by a shutdown.
func (s *Server) Close() error {
	s.stop()
	s.driver.close()
	s.feed.wait()
	s.push.done.Wait()
	return nil
}

// Follow makes the events of a session that this process drives reach the streams of its
// run. It is for the option Session of a board's driver.
func (s *Server) Follow(_ task.ID, session *app.Session) { s.sessions.add(session) }

// sessions are the runs that this process drives.
type sessions struct {
	mu      sync.Mutex
	all     map[run.ID]*app.Session
	changed chan struct{} // closed when a session is added; nil: nothing waits for that
}

func (s *sessions) add(session *app.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[run.ID]*app.Session{}
	}
	// The driver of tasks does not say when it closes one.
	maps.DeleteFunc(s.all, func(_ run.ID, old *app.Session) bool { return old.Over() })
	s.all[session.ID()] = session
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// document returns the OpenAPI document without its operations.
func document() *huma.OpenAPI {
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Servers: []*huma.Server{{URL: Prefix}},
		Info: &huma.Info{
			Title:       "pawl",
			Version:     build.Version(),
			Description: "Tasks, runs and agents of one workspace. Errors are application/problem+json with a code; a POST may have an Idempotency-Key.",
		},
		Components: &huma.Components{
			Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"token": {Type: "http", Scheme: "bearer", Description: "What `pawl serve token` prints."},
				"run":   {Type: "http", Scheme: "bearer", Description: "The token of a run, for its agent."},
			},
		},
		Security: []map[string][]string{{"token": {}}},
	}
}

// documents serves the OpenAPI document: JSON and YAML, of versions 3.1 and 3.0.
func (s *Server) documents() {
	for name, marshal := range map[string]func() ([]byte, error){"openapi.json": s.document.MarshalJSON, "openapi-3.0.json": s.document.Downgrade,
		"openapi.yaml": s.document.YAML, "openapi-3.0.yaml": s.document.DowngradeYAML} {
		content := sync.OnceValues(marshal)
		s.mux.HandleFunc("GET "+Prefix+"/"+name, func(w http.ResponseWriter, _ *http.Request) {
			text, err := content()
			if err != nil {
				panic(err) // it is a part of the program
			}
			w.Header().Set("Content-Type", "application/openapi+"+strings.TrimPrefix(filepath.Ext(name), "."))
			_, _ = w.Write(text) // a client that is gone needs no document
		})
	}
}

// schemaName names a type in the OpenAPI document: by its name, with the name of its package
// in front unless it is a form, or of package app or this one.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := huma.DefaultSchemaNamer(t, hint)
	path := t.PkgPath()
	pkg := path[strings.LastIndexByte(path, '/')+1:]
	if t.Name() == "" || pkg == "" || pkg == "app" || pkg == "forms" || pkg == "view" || pkg == "api" {
		return name
	}
	return strings.ToUpper(pkg[:1]) + pkg[1:] + name
}

// An operation is a path with a method, and what it is for.
type operation struct {
	method, path string
	// id is the operation's name in the OpenAPI document, as list-tasks.
	id string
	// tag groups operations in the document.
	tag string
	// summary is a sentence without a full stop; more, if not empty, follows it.
	summary, more string
	// status is that of success; 0: 200.
	status int
	// runs: the token of a run reaches it. The operation checks that the run is the caller's.
	runs bool
	// keyed: with the same Idempotency-Key it is safe to be performed again after the server
	// was killed: see [request].
	keyed bool
	raw   bool // the body is not JSON
	// maxBody bounds the body; 0: DefaultBody.
	maxBody int64
}

// DefaultBody bounds the body of a request, in bytes, unless the operation says otherwise.
const DefaultBody = 4 << 20

// handle registers an operation: a func(context.Context, *Input) (Output, error). Its errors
// are those of package app, or a [*Problem]. It is called by reflection, which takes less than
// a microsecond: code for each type of input and output is 0.1 MB of the program.
func handle(s *Server, o operation, f any) {
	call := reflect.ValueOf(f)
	of := call.Type()
	s.register(s.describe(o), of.In(1).Elem(), of.Out(0), func(ctx context.Context, in any) (any, error) {
		out := call.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(in)})
		err, _ := out[1].Interface().(error) // nil: it went well
		return out[0].Interface(), err
	})
}

// describe returns the OpenAPI operation.
func (s *Server) describe(o operation) *huma.Operation {
	o.maxBody = cmp.Or(o.maxBody, DefaultBody)
	s.operations[o.method+" "+Prefix+o.path] = o
	d := &huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, Summary: o.summary, Description: o.more, Tags: []string{o.tag},
		DefaultStatus: o.status, MaxBodyBytes: o.maxBody,
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict},
	}
	if o.method == http.MethodPost {
		d.Parameters = append(d.Parameters, &huma.Param{Name: "Idempotency-Key", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "Repeats of the request with the same key and body get the first answer and have no second effect."})
	}
	if o.runs {
		d.Security = []map[string][]string{{"token": {}}, {"run": {}}}
	}
	return d
}

// bodyTimeout bounds how long the body of a request may take to arrive.
const bodyTimeout = time.Minute

// newRequestID returns an id by which a request is found in the log.
func newRequestID() string { return "q-" + strings.ToLower(rand.Text()[:10]) }

// Handler returns the handler of everything that the server serves.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

func (s *Server) serve(writer http.ResponseWriter, r *http.Request) {
	id := newRequestID()
	w := &response{ResponseWriter: writer}
	h := w.Header()
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if r.Header.Get("Service-Worker") != "" { // only browsers send it, and no page can
		h.Set("Content-Type", "text/javascript")
		h.Set("Service-Worker-Allowed", "/") // wherever that one's script was
		_, _ = io.WriteString(w, serviceWorker())
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, &httpRequest{id: id, host: r.Host}))
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			s.log.Error("a request failed", "request", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if !w.begun {
				s.writeProblem(w, r, internal(id))
			}
		}
	}()
	pattern, nowhere := s.route(r)
	p := s.guard.check(s, r, pattern)
	if p == nil {
		p = nowhere // only a caller that is let in is told what there is
	}
	if p != nil {
		s.writeProblem(w, r, p)
		return
	}
	if r.Header.Get("Expect") == "" { // else it waits for the answer before it sends the body
		defer w.drain(r.Body)
	}
	r.Body = http.MaxBytesReader(w, r.Body, cmp.Or(s.operations[pattern].maxBody, DefaultBody)+1)
	if r.Method == http.MethodPost && r.Header.Get(keyHeader) != "" && !s.guard.open[pattern] {
		s.serveOnce(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// serviceWorker is what a browser gets that asks for a service worker, whichever: that of push messages, which removes itself from
// wherever else a program has left one that had the address before.
var serviceWorker = sync.OnceValue(func() string {
	b, err := web.Files.ReadFile("worker.js")
	if err != nil {
		panic(err) // it is a part of the program
	}
	return string(b)
})

// How much of a body that is too large is read after its answer, and for how long: a client that
// sends all of it before it reads sees the answer and not a connection that was reset.
const (
	maxDrained = 128 << 20 // bytes
	drainTime  = 20 * time.Second
)

// drain reads what is left of the body of a request that was too large.
func (r *response) drain(body io.Reader) {
	c := http.NewResponseController(r.ResponseWriter)
	if r.status != http.StatusRequestEntityTooLarge || c.Flush() != nil || c.SetReadDeadline(time.Now().Add(drainTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, body, maxDrained) // a client that is gone needs no answer
}

// A response knows whether it has begun.
type response struct {
	http.ResponseWriter
	begun  bool
	status int
}

func (r *response) WriteHeader(status int) {
	r.begun, r.status = true, status
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) Write(b []byte) (int, error) {
	r.begun = true
	return r.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController].
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// methods are all that operations have.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// route returns the pattern of the operation that a request is for.
func (s *Server) route(r *http.Request) (string, *Problem) {
	if !cleanPath(r.URL.Path) {
		return "", notFound("there is nothing at this path")
	}
	probe := *r
	var allowed []string
	for _, m := range methods {
		probe.Method = m
		_, pattern := s.mux.Handler(&probe)
		if pattern == "" {
			continue
		}
		if m == r.Method {
			return pattern, nil
		}
		allowed = append(allowed, m)
	}
	if len(allowed) == 0 {
		return "", notFound("there is nothing at this path: see " + Prefix + "/openapi.json")
	}
	return "", &Problem{Status: http.StatusMethodNotAllowed, Code: "METHOD_NOT_ALLOWED", Message: r.Method + " is not possible here: use " + strings.Join(allowed, ", "),
		header: http.Header{"Allow": {strings.Join(allowed, ", ")}}}
}

// cleanPath reports whether a path has no empty, . or .. element. The mux would redirect
// others.
func cleanPath(path string) bool {
	if !strings.HasPrefix(path, "/") {
		return false
	}
	for i, part := range strings.Split(path[1:], "/") {
		if part == "." || part == ".." || part == "" && (i > 0 || path != "/") {
			return false
		}
	}
	return true
}

// An httpRequest is what is known of one while it is served.
type httpRequest struct {
	id     string
	host   string // that it was sent to, one of the server's
	caller caller
	key    string // a hash of its Idempotency-Key and its caller; empty: it has none
	// repeats is what repeats with its key are answered; nil: the same as it was.
	repeats any
}

type requestKey struct{}

func requestOf(ctx context.Context) *httpRequest {
	if r, ok := ctx.Value(requestKey{}).(*httpRequest); ok {
		return r
	}
	return &httpRequest{}
}
