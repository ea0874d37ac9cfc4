package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/atomicfile"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// A listing is what a server has said it has.
type listing struct {
	Fingerprint  string          `json:"fingerprint"` // of the definition
	Server       string          `json:"server,omitempty"`
	Version      string          `json:"version,omitempty"`
	Protocol     string          `json:"protocol,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Tools        []*sdk.Tool     `json:"tools"`
	Form         int             `json:"form"` // listingForm
	Prompts      []*sdk.Prompt   `json:"prompts,omitempty"`
	Resources    []*sdk.Resource `json:"resources,omitempty"`
	Changes      bool            `json:"changes,omitempty"` // it tells when its tools are others

	offered   []*remoteTool // see choose
	prompts   []*sdk.Prompt
	resources []*sdk.Resource
	left      []string // what is not although the definition has it, a sentence each
}

// listingForm is raised when a listing has more than one that was remembered before: the server is asked again.
const listingForm = 4

// lateForm is the form of a listing without content: of a server for which no run waits again until it has listed its tools.
const lateForm = -1

// choose finds out what of it is offered. It reads the schemas of tools, so it is done once.
func (l *listing) choose(r *Remote) {
	leave := func(kind, name, why string) {
		l.left = append(l.left, fmt.Sprintf("the %s %s of server %s is left out: %s", kind, visible.Quote(clip(name, 100)), r.Name, why))
	}
	seen := map[string]bool{}
	for _, t := range l.Tools {
		switch why := r.whyNot(t); {
		case why != "" && (r.offers(t.Name) || t.Meta[unreadable] != nil):
			leave("tool", t.Name, why)
		case why == "" && seen[t.Name]:
			leave("tool", t.Name, "another that stands before it has the same name")
		case why == "":
			seen[t.Name] = true
			l.offered = append(l.offered, r.newTool(t))
		}
	}
	for _, p := range l.Prompts {
		if why := misread(p.Meta); why != "" {
			leave("prompt", p.Name, why)
			continue
		}
		l.prompts = append(l.prompts, p)
	}
	for _, res := range l.Resources {
		if why := misread(res.Meta); why != "" {
			leave("resource", res.Name, why)
			continue
		}
		l.resources = append(l.resources, res)
	}
	if more := len(l.left) - maxLeft; more > 0 {
		l.left = append(l.left[:maxLeft], fmt.Sprintf("%d more of server %s are left out: pawl mcp show %s lists its tools, with why", more, r.Name, r.Name))
	}
}

// misread says why what has this metadata cannot be read; empty if it can.
func misread(m sdk.Meta) string {
	if m[unreadable] == nil {
		return ""
	}
	return "the server does not describe it as the protocol has it: " + visible.Escape(text.OneLine(fmt.Sprint(m[unreadable]), 300))
}

// Bounds of what a server may list.
const (
	maxTools      = 1000
	maxPages      = 100
	maxLeft       = 20       // sentences about what is left out
	maxRemembered = 16 << 20 // bytes of a remembered listing
)

func (r *Remote) cachePath() string { return filepath.Join(r.all.opt.Cache, r.Name+".json") }

// remembered reports whether it is known which tools the server has. What a process before has
// stored counts as long as the definition is the same.
func (r *Remote) remembered() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listed != nil || r.all.opt.Cache == "" {
		return r.listed != nil
	}
	info, err := os.Stat(r.cachePath())
	if err != nil || info.Size() > maxRemembered {
		return false
	}
	content, err := atomicfile.Read(r.cachePath())
	var l listing
	if err != nil || json.Unmarshal(content, &l) != nil || l.Fingerprint != r.Fingerprint() || l.Form != listingForm {
		r.late = l.Form == lateForm && l.Fingerprint == r.Fingerprint()
		return false
	}
	l.choose(r)
	r.listed, r.stored = &l, true
	return true
}

// List asks the server for its tools, and starts it if it does not run.
func (r *Remote) List(ctx context.Context) (Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.startTimeout(), fmt.Errorf("the server %s did not list its tools within %v", r.Name, r.startTimeout()))
	defer cancel()
	l, err := r.connect(ctx, "")
	if err == nil {
		err = r.list(ctx, l)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return r.Status(), err
}

func (r *Remote) list(ctx context.Context, l *link) error {
	now := &listing{Fingerprint: r.Fingerprint(), Form: listingForm}
	if i := l.session.InitializeResult(); i != nil {
		now.Protocol, now.Instructions = i.ProtocolVersion, i.Instructions
		if i.ServerInfo != nil {
			now.Server, now.Version = i.ServerInfo.Name, i.ServerInfo.Version
		}
		now.Changes = i.Capabilities != nil && i.Capabilities.Tools != nil && i.Capabilities.Tools.ListChanged
	}
	cursor := ""
	for page := 0; ; page++ {
		res, err := l.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return fmt.Errorf("the server %s does not list its tools: %w", r.Name, inLine(err))
		}
		now.Tools = append(now.Tools, res.Tools...) // without those that the library refuses
		if cursor = res.NextCursor; cursor == "" {
			break
		}
		if page >= maxPages || len(now.Tools) > maxTools {
			return fmt.Errorf("the server %s lists more than %d tools, or has no last page of them", r.Name, maxTools)
		}
	}
	now.Tools = append(now.Tools, l.refused.beside(now.Tools)...)
	l.mu.Lock()
	l.listed = true
	l.mu.Unlock()
	err := now.offers(ctx, l)
	if err != nil && r.all.ctx.Err() == nil { // its tools can be used
		r.all.opt.notice(fmt.Sprintf("the server %s does not list its prompts and resources: %v", r.Name, inLine(err)))
	}
	refused, _ := errors.AsType[*jsonrpc.Error](err)
	answered := err == nil || refused != nil && refused.Message != notSent || errors.Is(ctx.Err(), context.DeadlineExceeded)
	now.choose(r)
	r.mu.Lock()
	was := r.listed
	if !answered && was != nil { // pawl or the server ends: it has what it had
		now.Prompts, now.Resources, now.prompts, now.resources = was.Prompts, was.Resources, was.prompts, was.resources
	}
	changed := was == nil || !reflect.DeepEqual(was.Tools, now.Tools)
	r.listed, r.stored = now, false
	r.mu.Unlock()
	if answered && (changed || !reflect.DeepEqual(was.Prompts, now.Prompts) || !reflect.DeepEqual(was.Resources, now.Resources)) {
		r.remember(now)
	}
	if changed {
		if r.all.opt.Changed != nil {
			r.all.opt.Changed()
		}
	}
	return nil
}

// mirrored is the key in the schema of an argument that is sent as a header too (specification 2026-07-28, server/tools).
const mirrored = "x-mcp-header"

// mirrors reports whether arguments of a tool are sent as headers too.
func (r *Remote) mirrors(name string) bool {
	offered, _ := r.tools()
	i := slices.IndexFunc(offered, func(t *remoteTool) bool { return t.name == name })
	return i >= 0 && bytes.Contains(offered[i].spec.Schema, []byte(mirrored))
}

// callMirrored makes a call whose arguments are sent as headers too. The library takes which from the last list of tools
// that it has seen over this connection: what was remembered is not known to it, and while it asks again it knows none.
// If the list cannot be had the server says what is missing.
func (r *Remote) callMirrored(ctx context.Context, l *link, params *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	l.listing.Lock()
	taken := sync.OnceFunc(l.listing.Unlock)
	defer taken()
	l.mu.Lock()
	listed := l.listed
	l.mu.Unlock()
	if !listed {
		_ = r.list(ctx, l)
	}
	return l.session.CallTool(context.WithValue(ctx, takenKey{}, taken), params)
}

// takenKey is of a context: the function that is called when the library has taken a tool from its list.
type takenKey struct{}

// tellTaken is the middleware that calls it.
func tellTaken(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if taken, is := ctx.Value(takenKey{}).(func()); is && method == "tools/call" {
			taken()
		}
		return next(ctx, method, req)
	}
}

// refusedTools are the tools that the library leaves out of a list: it says which, and why, to its log alone.
type refusedTools struct {
	mu  sync.Mutex
	why map[string]string
}

// Enabled is for [slog.Handler], as the methods that follow.
func (*refusedTools) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

func (t *refusedTools) Handle(_ context.Context, r slog.Record) error {
	said := map[string]string{}
	r.Attrs(func(a slog.Attr) bool {
		said[a.Key] = a.Value.String()
		return true
	})
	if said["tool"] == "" || said["error"] == "" { // of something else
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.why == nil {
		t.why = map[string]string{}
	}
	if len(t.why) < maxTools {
		t.why[said["tool"]] = said["error"]
	}
	return nil
}

func (t *refusedTools) WithAttrs([]slog.Attr) slog.Handler { return t }
func (t *refusedTools) WithGroup(string) slog.Handler      { return t }

// beside returns the tools that were left out, as [placeholder] has them, but for those that are in a list.
func (t *refusedTools) beside(listed []*sdk.Tool) (left []*sdk.Tool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(t.why)) {
		if !slices.ContainsFunc(listed, func(l *sdk.Tool) bool { return l.Name == name }) {
			left = append(left, &sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}, Meta: sdk.Meta{unreadable: t.why[name]}})
		}
	}
	return left
}

// relistSoon asks again, unless that is about to be done: a server may say that its tools are others before the connection is made.
func (r *Remote) relistSoon(l *link) {
	l.mu.Lock()
	l.listed = false
	l.mu.Unlock()
	select {
	case l.changed <- struct{}{}:
		go r.relist(l)
	default:
	}
}

// relist asks again, because the server has said that its tools are others now.
func (r *Remote) relist(l *link) {
	<-l.made
	l.listing.Lock()
	defer l.listing.Unlock()
	<-l.changed
	if l.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(r.all.ctx, r.startTimeout())
	defer cancel()
	if err := r.list(ctx, l); err != nil && r.all.ctx.Err() == nil {
		r.all.opt.notice(err.Error())
	}
}

// remember stores a listing for the next process. Without it that process asks again.
func (r *Remote) remember(l *listing) {
	if r.all.opt.Cache == "" {
		return
	}
	if content, err := json.Marshal(l); err == nil && len(content) <= maxRemembered {
		_ = atomicfile.Write(r.cachePath(), content, atomicfile.NoSync)
	}
}

// A Status is what is known of a server.
type Status struct {
	Server, Version, Protocol, Instructions string // as it calls itself
	Tools                                   []ToolStatus
	Failed                                  string // why it could not be used last; empty: it could
	Known                                   bool   // it has listed its tools, to this process or one before
	Running                                 bool
	Errors                                  string // what it has printed to standard error lately
}

// A ToolStatus is a tool of a server.
type ToolStatus struct {
	Name        string // as the server calls it
	As          string // as models do; empty: it is not offered
	Description string
	Why         string // why it is not offered
}

// Status returns what is known of the server now.
func (r *Remote) Status() Status {
	var s Status
	offered, _ := r.tools()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		s.Failed = r.failed.Error()
	}
	for _, l := range r.links {
		select {
		case <-l.made:
			if l.err == nil && (l.process == nil || l.process.ended() == "") {
				s.Running = true
			}
			if l.process != nil {
				s.Errors = l.process.errors.All()
			}
		default:
		}
	}
	if r.listed == nil {
		return s
	}
	s.Known = true
	s.Server, s.Version, s.Protocol, s.Instructions = r.listed.Server, r.listed.Version, r.listed.Protocol, r.listed.Instructions
	for _, t := range r.listed.Tools {
		one := ToolStatus{Name: t.Name, Description: t.Description}
		if i := slices.IndexFunc(offered, func(o *remoteTool) bool { return o.name == t.Name }); i >= 0 {
			one.As = offered[i].spec.Name
		} else {
			one.Why = r.whyNot(t)
		}
		s.Tools = append(s.Tools, one)
	}
	return s
}
