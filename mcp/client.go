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
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/proc"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/sandbox"
	"pawl/tool"
)

// Options are what [Servers] need from their owner.
type Options struct {
	Workspace string // absolute; servers work in it unless a call comes from another folder
	// Cache is the folder in which the lists of tools are remembered; empty: they are not.
	Cache   string
	Version string // of pawl, for servers
	// Logins is the folder in which logins to servers elsewhere are kept; empty: they last as long as the servers.
	Logins string
	// Getenv looks a variable of a definition up; required. Environ returns the environment that
	// servers get beside that of their definition; required.
	Getenv  func(string) (string, bool)
	Environ func() []string
	// Confine puts the command of a server into the sandbox of a workspace; nil: servers have the person's
	// own authority.
	Confine func(d Definition, workspace string, c proc.Command) (proc.Command, *sandbox.Session, error)
	// HTTP reaches servers elsewhere; nil: [http.DefaultTransport].
	HTTP http.RoundTripper
	// Patience is how long a run waits for a server that is not required and whose tools are not
	// known; 0: five seconds.
	Patience time.Duration
	// Notice is told what a person should know, a sentence at a time, from any goroutine; nil: no
	// one is told.
	Notice func(string)
	// Changed is told that the tools of a server are others than before, from any goroutine; nil:
	// no one is told.
	Changed func()
}

func (o *Options) notice(s string) {
	if o.Notice != nil {
		o.Notice(s)
	}
}

// Servers are the configured servers of a workspace. They are shared by all runs of the process,
// and safe for concurrent use.
type Servers struct {
	opt     Options
	remotes []*Remote
	ctx     context.Context // ends with the servers
	end     context.CancelFunc
}

// NewServers returns the servers of definitions, which were checked and have different names. It
// starts none. The caller must call Close.
func NewServers(definitions []Definition, o Options) *Servers {
	s := &Servers{opt: o}
	s.ctx, s.end = context.WithCancel(context.Background())
	for _, d := range definitions {
		s.remotes = append(s.remotes, &Remote{Definition: d, all: s, links: map[string]*link{}})
	}
	return s
}

// All returns the servers, in the order of their definitions.
func (s *Servers) All() []*Remote { return slices.Clone(s.remotes) }

// Get returns the server of a name; nil if there is none.
func (s *Servers) Get(name string) *Remote {
	i := slices.IndexFunc(s.remotes, func(r *Remote) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return s.remotes[i]
}

// Close ends all servers, and the calls to them.
func (s *Servers) Close() {
	s.end()
	var ending sync.WaitGroup
	for _, r := range s.remotes {
		for _, l := range r.live() {
			ending.Go(func() { l.close("pawl ends") })
		}
	}
	ending.Wait()
}

// Prepare learns the tools of all servers: those that were remembered, and of the others by
// asking them, at once. It waits for required servers as long as they may take, and the error names
// those that cannot be used. It waits for the others for a few seconds, unless they were too late for that when they were
// last asked, and what is wrong with them is a notice; [Options.Changed] is told of tools that come later.
func (s *Servers) Prepare(ctx context.Context) error {
	failed := make([]error, len(s.remotes))
	var asking sync.WaitGroup
	for i, r := range s.remotes {
		switch {
		case r.Required:
			asking.Go(func() { _, failed[i] = r.List(ctx) })
		case !r.remembered():
			asking.Go(func() { r.await(ctx) })
		}
	}
	asking.Wait()
	return errors.Join(failed...)
}

func (r *Remote) beingAsked() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// Need waits for the server whose tool, or prompt, has a name, if it is being asked what it has.
func (s *Servers) Need(ctx context.Context, name string) {
	for _, r := range s.remotes {
		if asked := r.beingAsked(); asked != nil && strings.HasPrefix(name, Prefix+r.Name+"__") {
			select {
			case <-asked:
			case <-ctx.Done():
			}
		}
	}
}

func (o *Options) patience() time.Duration { return cmp.Or(o.Patience, 5*time.Second) }

// await returns when the server has listed its tools, cannot be used, or takes longer than [Options.Patience]; at once if
// it did that when it was last asked.
func (r *Remote) await(ctx context.Context) {
	r.mu.Lock()
	asked, wait := r.asked, !r.late
	if asked == nil {
		asked = make(chan struct{})
		r.asked = asked
		go func() {
			if _, err := r.List(r.all.ctx); err != nil && r.all.ctx.Err() == nil {
				r.all.opt.notice(err.Error())
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.asked = nil
			close(asked)
		}()
	}
	r.mu.Unlock()
	if !wait {
		return
	}
	patience := r.all.opt.patience()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-asked:
	case <-ctx.Done():
	case <-late.C:
		r.remember(&listing{Fingerprint: r.Fingerprint(), Form: lateForm})
		r.all.opt.notice(fmt.Sprintf("the server %s has not listed its tools within %v; mcp_search finds them when it has, and no run waits for it again until then", r.Name, patience))
	}
}

// Tools returns the tools of all servers that are known now, with those that find and call them, and what is left out, a
// sentence each.
func (s *Servers) Tools() (tools []tool.Tool, left []string) {
	taken := map[string]string{}
	for _, r := range s.remotes {
		some, out := r.tools()
		left = append(left, out...)
		for _, t := range some {
			if first := taken[t.spec.Name]; first != "" {
				left = append(left, fmt.Sprintf("the tool %s of server %s is left out: %s has the same name", visible.Quote(t.name), r.Name, first))
				continue
			}
			taken[t.spec.Name] = visible.Quote(t.name) + " of server " + r.Name
			tools = append(tools, t)
		}
	}
	var beside []string
	for _, r := range s.remotes {
		if known := r.remembered(); !known && r.beingAsked() != nil || known && r.listing().Changes {
			beside = append(beside, r.Name)
		}
	}
	if len(tools) > 0 || len(beside) > 0 {
		tools = append(tools, searchTool{s, beside}, callTool{beside})
	}
	return tools, left
}

// settle waits until the servers that are being asked for their tools have listed them, as long as a run waits, and says
// which have not; empty: all have.
func (s *Servers) settle(ctx context.Context) string {
	late := time.NewTimer(s.opt.patience())
	defer late.Stop()
	var missing []string
	for _, r := range s.remotes {
		asked := r.beingAsked()
		if asked == nil {
			continue
		}
		select {
		case <-asked:
		case <-ctx.Done():
		case <-late.C:
			late.Reset(0) // for the others too
			missing = append(missing, r.Name)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "\nThese servers have not listed their tools yet: " + strings.Join(missing, ", ") + "."
}

// A Remote is a configured server.
type Remote struct {
	Definition
	all *Servers

	mu     sync.Mutex
	listed *listing         // what is known of its tools; nil: nothing
	stored bool             // it is what a process before has stored
	late   bool             // it took longer than a run waits when it was last asked
	links  map[string]*link // by workspace
	failed error            // why the last start did not succeed; nil: it did
	misses int              // starts in a row that did not succeed
	again  time.Time        // when the next is tried

	asked chan struct{} // closed when it has been asked for tools that are not known; nil: it is not being asked

	authorizer *authorizer // see auth
}

// A link is a connection with a server, or the attempt to make one.
type link struct {
	made chan struct{} // closed when session or err is set

	session *sdk.ClientSession
	process *process // nil: the server is elsewhere
	err     error
	end     context.CancelCauseFunc // ends what the connection was made with; set when made is closed

	changed chan struct{} // holds one value while a new list of tools is owed
	listing sync.Mutex    // held while it is asked for
	refused refusedTools

	mu      sync.Mutex
	listed  bool        // the library has seen the tools that the server has now, over this connection
	calls   []*underway // in the order in which they were made
	doomed  bool        // it is closed when no call is under way
	over    bool        // the connection has ended
	closing sync.Once
}

func (l *link) close(reason string) {
	<-l.made
	l.closing.Do(func() {
		if l.process != nil {
			l.process.stop(reason)
		}
		if l.session != nil {
			_ = l.session.Close() // the server is gone, or told
		}
		l.end(nil)
	})
}

// watch waits for the end of the connection. A server on this machine that runs on after it is ended.
func (l *link) watch() {
	_ = l.session.Wait() // a call that was under way says why
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	if l.process != nil {
		select {
		case <-l.process.proc.Done():
		case <-time.After(cancelPatience):
		}
		l.close("its output has ended")
	}
	l.end(nil)
}

// gone reports whether the server has ended or left.
func (l *link) gone() bool {
	select {
	case <-l.made:
	default:
		return false
	}
	if l.err != nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doomed || l.over || l.process != nil && l.process.ended() != ""
}

func (r *Remote) live() []*link {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*link
	for _, l := range r.links {
		all = append(all, l)
	}
	return all
}

// workspace returns for which workspace the server works in a call from one: a copy of a repository
// has servers of its own, and those elsewhere are for all.
func (r *Remote) workspace(of string) string {
	if r.URL != "" {
		return ""
	}
	return cmp.Or(of, r.all.opt.Workspace)
}

// How long it takes until a server that could not be started is tried again: twice as long each
// time, at most maxPause.
const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// connect returns a connection with the server for a workspace. It makes one if there is none, or
// if the last has ended.
func (r *Remote) connect(ctx context.Context, workspace string) (*link, error) {
	workspace = r.workspace(workspace)
	r.mu.Lock()
	l := r.links[workspace]
	if l == nil || l.gone() {
		if wait := time.Until(r.again); wait > 0 && r.failed != nil {
			defer r.mu.Unlock()
			return nil, fmt.Errorf("%w; it is tried again in %v", r.failed, wait.Round(time.Second))
		}
		l = &link{made: make(chan struct{}), changed: make(chan struct{}, 1)}
		r.links[workspace] = l
		go r.open(l, workspace)
	}
	r.mu.Unlock()
	select {
	case <-l.made:
		return l, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// open makes a connection.
func (r *Remote) open(l *link, workspace string) {
	defer close(l.made)
	err := r.dial(l, workspace, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.failed, r.misses = nil, 0
		if r.stored { // it may be another version than the one that has listed them
			r.stored = false
			r.relistSoon(l)
		}
		go l.watch()
		return
	}
	if l.process != nil {
		err = l.process.why(err)
		l.process.stop("it could not be used")
	} else if needed, is := errors.AsType[*loginNeeded](err); is {
		err = needed
	} else if unreached, is := errors.AsType[*url.Error](err); is {
		err = fmt.Errorf("%s: %w", visible.Escape(r.URL), unreached.Err)
	}
	l.end(nil)
	l.err = fmt.Errorf("the server %s cannot be used: %w", r.Name, inLine(err))
	r.failed, r.again = l.err, time.Now().Add(min(firstPause<<min(r.misses, 10), maxPause))
	r.misses++
}

// inLine returns an error in one line if a server has written it, and in words of the protocol if the library has.
func inLine(err error) error {
	if _, is := errors.AsType[*jsonrpc.Error](err); is {
		return errors.New(text.OneLine(err.Error(), 500))
	}
	if of, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return fmt.Errorf("its answer does not have the form of the protocol: %s is of another type", visible.Escape(cmp.Or(of.Field, "the result")))
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the connection has ended")
	}
	return err
}

// dial makes the connection; with a handle it takes up the session that this names.
func (r *Remote) dial(l *link, workspace string, h *handle) error {
	ctx, end := context.WithCancelCause(r.all.ctx) // a transport may keep it: the stream of the old one ends with it
	l.end = end
	late := time.AfterFunc(r.startTimeout(), func() { end(fmt.Errorf("it did not answer within %v", r.startTimeout())) })
	defer late.Stop()
	d, err := r.Expand(func(name string) (string, bool) {
		if name == WorkspaceVariable {
			return cmp.Or(workspace, r.all.opt.Workspace), true
		}
		return r.all.opt.Getenv(name)
	})
	if err != nil {
		return err
	}
	var t sdk.Transport
	if d.URL != "" {
		t = r.remoteTransport(d, h)
	} else {
		if l.process, err = startProcess(r.all.ctx, d, workspace, &r.all.opt); err != nil {
			return err
		}
		t = l.process.transport(func(line string) {
			r.all.opt.notice(fmt.Sprintf("the server %s writes to its standard output what is no message of the protocol, such as %s", r.Name, visible.Quote(clip(line, 100))))
		})
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "pawl", Title: "pawl", Version: r.all.opt.Version}, r.clientOptions(l))
	client.AddReceivingMiddleware(guard, refuseSampling)
	client.AddSendingMiddleware(tellTaken)
	addTasks(client)
	addRoot(client, r.all.opt.Workspace)
	var as *sdk.ClientSessionOptions
	if h != nil {
		as = &sdk.ClientSessionOptions{ProtocolVersion: h.Protocol}
	}
	l.session, err = client.Connect(ctx, t, as)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

func (r *Remote) clientOptions(l *link) *sdk.ClientOptions {
	changed := func() { r.relistSoon(l) }
	o := &sdk.ClientOptions{
		Logger:                     slog.New(&l.refused),
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { changed() },
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { changed() },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { changed() },
		ProgressNotificationHandler: func(_ context.Context, p *sdk.ProgressNotificationClientRequest) {
			l.show(fmt.Sprint(p.Params.ProgressToken), progressWords(p.Params))
		},
		ElicitationHandler: func(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			if u := l.forTask(req.Params.Meta); u != nil {
				ctx = context.WithValue(ctx, callKey{}, u)
			}
			return r.elicit(ctx, l, req.Params)
		},
	}
	addLegacy(o, l)
	return o
}

// show shows a line beside the call of a token, or beside all calls.
func (l *link) show(token, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.calls {
		if u.progress != nil && (token == "" || u.token == token) {
			u.progress(visible.Escape(line))
		}
	}
}

func progressWords(p *sdk.ProgressNotificationParams) string {
	words := strconv.FormatFloat(p.Progress, 'g', 6, 64)
	if p.Total > 0 {
		words += " of " + strconv.FormatFloat(p.Total, 'g', 6, 64)
	}
	if p.Message != "" {
		words += ": " + p.Message
	}
	return words
}

// clip returns the beginning of a text, at most n bytes of it.
func clip(s string, n int) string {
	if short := text.Prefix(s, n); len(short) < len(s) {
		return short + text.Mark
	}
	return s
}

var errCallTimeout = errors.New("the call took too long")

// call calls a tool, or asks what became of a call. When ctx is done the server is told, and a server on this machine is ended with
// all it has started, once no other call is under way: whether it has stopped the call cannot be known. notes are for
// the model, beside the result.
func (r *Remote) call(ctx context.Context, workspace string, t *remoteTool, c tool.Call) (res *sdk.CallToolResult, notes []string, err error) {
	var h *handle
	over := func(l *link) (err error) {
		res, notes, err = r.callOver(ctx, l, t, c, h)
		return err
	}
	if c.Handle == "" {
		err = r.with(ctx, workspace, over)
	} else if h, err = taken(c.Handle); err == nil {
		err = r.takeUp(ctx, workspace, h, over)
	}
	first := time.Now() // that the server of a task could not be reached
	for since := first; ; {
		lost, is := errors.AsType[outOfReach](err)
		if !is {
			return res, notes, err
		}
		if lost.answered { // it was reached meanwhile
			since = time.Now()
		}
		if h = lost.task; time.Since(since) > r.startTimeout() || time.Since(first) > r.callTimeout() {
			return nil, notes, noOutcome{err}
		}
		select {
		case <-time.After(usualPoll):
		case <-ctx.Done():
		}
		err = r.takeUp(ctx, workspace, h, over)
	}
}

// callOver calls a tool over l; with a handle it asks for the task that this names.
func (r *Remote) callOver(ctx context.Context, l *link, t *remoteTool, c tool.Call, h *handle) (res *sdk.CallToolResult, notes []string, err error) {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	u := &underway{token: strconv.FormatInt(tokens.Add(1), 10), progress: c.Progress, ask: c.Ask, ctx: limited, patience: r.callTimeout()}
	u.limit = time.AfterFunc(u.patience, func() { cancel(errCallTimeout) })
	defer u.limit.Stop()
	l.mu.Lock()
	if l.doomed || l.over {
		l.mu.Unlock()
		if l.process == nil || l.over {
			return nil, nil, notCalled{sessionLost{fmt.Errorf("the connection with the server %s has ended; call again", r.Name)}}
		}
		return nil, nil, notCalled{fmt.Errorf("the server %s is being ended, because a call was stopped; call again", r.Name)}
	}
	l.calls = append(l.calls, u)
	l.mu.Unlock()

	d := &delivery{}
	calling := context.WithValue(context.WithValue(limited, callKey{}, u), deliveryKey{}, d)
	var task *serverTask
	if h != nil {
		task = &serverTask{ID: h.Task}
	} else if res, err = r.callOnce(calling, l, t, c.Args, u.token); err == nil {
		if task, err = begun(res); task != nil && c.Detach != nil {
			_ = c.Detach(limited, r.handle(l, task.ID).String()) // an error is the end of limited: the task is cancelled
		}
	}
	if task != nil {
		res, err = r.awaitTask(calling, l, u, task)
	}

	l.mu.Lock()
	l.calls = slices.DeleteFunc(l.calls, func(o *underway) bool { return o == u })
	notes = u.notes
	refused, answered := errors.AsType[*jsonrpc.Error](err)
	answered = answered && refused.Message != notSent && !strings.HasPrefix(refused.Message, noAnswer) || task != nil
	needed, _ := errors.AsType[*loginNeeded](err)
	l.doomed = l.doomed || limited.Err() != nil && l.process != nil || err != nil && !answered && l.process == nil
	last := l.doomed && len(l.calls) == 0
	l.mu.Unlock()
	stopped := limited.Err() != nil
	lost := !stopped && needed == nil && task == nil && l.lost(d, err)
	if last {
		go func() {
			if stopped && l.process != nil && task == nil {
				l.process.awaitCancelled()
			}
			l.close("a call was stopped, or the connection has failed")
		}()
	}
	switch {
	case limited.Err() != nil && ctx.Err() == nil:
		return nil, notes, fmt.Errorf("%w: more than %v; the server was told to cancel it", errCallTimeout, r.callTimeout())
	case limited.Err() != nil:
		return nil, notes, context.Cause(ctx)
	case err != nil && l.process != nil && l.process.ending(err):
		return nil, notes, noOutcome{fmt.Errorf("the server %s has ended while it worked on the call (the next one starts it again): %s", r.Name, l.process.ended())}
	case task != nil && err != nil:
		return nil, notes, err
	case needed != nil:
		return nil, notes, notCalled{fmt.Errorf("the server %s has not made the call: %w", r.Name, needed)}
	case lost:
		return nil, notes, notCalled{sessionLost{fmt.Errorf("the server %s has not taken the call: %w", r.Name, err)}}
	case answered && refused != nil:
		return nil, notes, fmt.Errorf("the server %s has refused the call: %s", r.Name, refused.Message)
	case err != nil:
		if unreached, is := errors.AsType[*url.Error](err); is {
			err = unreached.Err
		}
		return nil, notes, noOutcome{fmt.Errorf("the server %s has not answered the call: %w", r.Name, inLine(err))}
	case res.IsError && l.process != nil:
		texts, _, _ := contents(ctx, res.Content)
		if refusal := l.process.refusal(proc.Status{Code: 1}, strings.Join(texts, "\n")); refusal != "" {
			notes = append(notes, "["+refusal+"]")
		}
	}
	return res, notes, nil
}

// callOnce sends a call, once more if it needs a page to be opened before.
func (r *Remote) callOnce(ctx context.Context, l *link, t *remoteTool, args json.RawMessage, token string) (*sdk.CallToolResult, error) {
	params := &sdk.CallToolParams{Meta: sdk.Meta{}, Name: t.name, Arguments: args}
	params.SetProgressToken(token)
	if l.wantsTask(t) {
		ctx = context.WithValue(ctx, asTaskKey{}, true)
	}
	send := l.session.CallTool
	if l.process == nil && r.mirrors(t.name) {
		send = func(ctx context.Context, params *sdk.CallToolParams) (*sdk.CallToolResult, error) {
			return r.callMirrored(ctx, l, params)
		}
	}
	res, err := send(ctx, params)
	if r.openPages(ctx, l, err) {
		return send(ctx, params)
	}
	return res, err
}

// notSent is the message of an error of the SDK that stands for one of the transport; it is of the type of what servers
// answer. Source: ErrRejected in its internal/jsonrpc2/wire.go, v1.8.0.
const notSent = "rejected by transport"

// notCalled is why a call was not made.
type notCalled struct{ error }

func (e notCalled) Unwrap() error { return e.error }

// sessionLost is why a call was not made: see [link.lost].
type sessionLost struct{ error }

// tokens count calls, to tell their progress apart.
var tokens atomic.Int64
