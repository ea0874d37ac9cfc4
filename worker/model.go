package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/heuristic"
	"pawl/llm"
	"pawl/run"
	"pawl/tool"
	"pawl/view"
)

// stream is what has arrived of an answer: whole parts, and the text after them.
// An interrupt keeps it.
type stream struct {
	mu    sync.Mutex
	parts []run.Part
	tail  strings.Builder
	usage run.Usage
}

func (s *stream) add(d llm.Delta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case d.Usage != nil:
		s.usage = *d.Usage
	case d.Part != nil:
		s.parts = append(s.parts, *d.Part)
		s.tail.Reset() // the text deltas so far are in it
	case d.Text != "":
		s.tail.WriteString(d.Text)
	}
}

// partial returns what is kept of an answer that was interrupted: whole parts, and
// text marked as cut. Half a call is dropped, and so is thinking without its
// signature. With it comes the usage that the provider has reported so far.
func (s *stream) partial(nextCall int) ([]run.Part, run.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := number(s.parts, nextCall)
	if strings.TrimSpace(s.tail.String()) != "" {
		parts = append(parts, run.Part{Type: run.TextPart, Text: s.tail.String(), Cut: true})
	} else if n := len(parts); n > 0 && parts[n-1].Type == run.TextPart {
		parts[n-1].Cut = true
	}
	return parts, s.usage
}

// number gives the calls of a message their ids.
func number(parts []run.Part, next int) []run.Part {
	parts = slices.Clone(parts)
	for i := range parts {
		if parts[i].Type == run.CallPart {
			c := *parts[i].Call
			c.ID = run.CallID(fmt.Sprintf("c_%d", next))
			parts[i].Call = &c
			next++
		}
	}
	return parts
}

// A modelSession is how a run's requests to one model are made.
type modelSession struct {
	model    string // provider/name
	window   int64
	registry *tool.Registry
	provider llm.Provider
	name     string // of the model, as the provider knows it
	encoder  *llm.Encoder
	names    llm.Names
	tools    []json.RawMessage
	// output is the schema of the run's result, where the provider answers by one;
	// otherwise the result is submitted by a tool, which is among tools.
	output  json.RawMessage
	result  run.Output // that tools and output are for
	offered []tool.Spec
	notices []string // tools that this provider cannot have
	control string
	level   string // of effort, as the person asked for it
	effort  llm.Effort
	objects bool   // the model answers with one object a step
	system  string // stands before the run's own system prompt
}

// session returns how requests to the run's model are made.
func (r *Runner) session(c run.Config) (*modelSession, error) {
	registry, submission := r.tools(c)
	if m := r.model; m != nil && m.model == c.Model && m.result == c.Output && m.control == c.Control && m.window == c.Window && m.level == c.Effort && m.registry == registry {
		return m, nil
	}
	p, name, err := r.w.Provider(c.Model)
	if err != nil {
		return nil, err
	}
	structured := r.w.Structured != nil && r.w.Structured(c.Model)
	of, kept := r.model.keeps(c, registry)
	if !kept {
		of = r.w.offers.of(offerKey{registry, c.Model, c.Window, c.Output, c.Controlled(), c.Tools}, func() offer {
			return r.offer(c, p, registry, submission, structured)
		})
	}
	m := &modelSession{model: c.Model, registry: registry, provider: p, name: name, window: c.Window, result: c.Output, control: c.Control, level: c.Effort,
		names: of.names, encoder: llm.NewEncoder(p, of.names), tools: of.tools, output: of.output, offered: of.offered, notices: slices.Clip(of.notices)}
	if c.Controlled() {
		m.controlled(structured)
	}
	if r.w.Effort != nil && c.Effort != "" {
		var note string
		if m.effort, note = r.w.Effort(c.Model, c.Effort); note != "" {
			m.notices = append(m.notices, note)
		}
	}
	for _, n := range m.notices {
		r.feed.show(view.Update{Notice: n})
	}
	r.model = m
	return m, nil
}

// keeps returns what was offered to a run whose tools are others now, if only tools of servers have come or gone: their
// definitions stay, so that what the provider has cached of the requests is valid, and what has come is searched.
func (m *modelSession) keeps(c run.Config, registry *tool.Registry) (offer, bool) {
	if m == nil || m.model != c.Model || m.result != c.Output || m.control != c.Control || m.window != c.Window {
		return offer{}, false
	}
	isServed := func(s tool.Spec) bool { return s.Server != "" || s.Instead }
	named := func(a, b tool.Spec) bool { return a.Name == b.Name }
	had, have := m.registry.Specs(), registry.Specs()
	if !slices.ContainsFunc(m.offered, func(s tool.Spec) bool { return s.Name == tool.ServerCall }) ||
		!slices.EqualFunc(slices.DeleteFunc(had, isServed), slices.DeleteFunc(slices.Clone(have), isServed), named) {
		return offer{}, false
	}
	names := registry.Names()
	var later []string
	for _, s := range have {
		if s.Server != "" && !slices.ContainsFunc(m.offered, func(o tool.Spec) bool { return o.Name == s.Name }) {
			later = append(later, s.Name)
		}
	}
	for _, s := range m.offered {
		names = append(names, s.Name)
	}
	return offer{names: llm.NewNames(names).Through(tool.ServerCall, later), tools: m.tools, output: m.output, offered: m.offered}, true
}

// offer returns the tools of a run in the form that its model is offered them.
func (r *Runner) offer(c run.Config, p llm.Provider, registry *tool.Registry, submission *tool.Submission, structured bool) offer {
	m := offer{names: llm.NewNames(registry.Names())}
	specs := registry.Specs()
	searched := tool.Searched(specs, c.Window)
	large := len(searched) > 0
	var beside []string // servers that the run may use
	for _, t := range specs {
		if t.Name == tool.ServerCall {
			beside = slices.DeleteFunc(slices.Clone(t.Beside), func(server string) bool { return !c.Tools.Has(strings.TrimSuffix(run.GrantServer(server), "*")) })
		}
	}
	if large || len(beside) > 0 {
		m.names = m.names.Through(tool.ServerCall, searched)
	}
	if submission != nil && structured && !c.Controlled() && !c.Output.ByTool {
		var err error
		if m.output, err = p.EncodeOutput(submission.Spec().Schema); err != nil {
			r.w.debug("no answer by schema", "run", r.id, "model", c.Model, "error", err)
			m.output = nil
		}
	}
	for _, t := range specs {
		if large && t.Server != "" || !large && t.Instead && len(beside) == 0 {
			continue
		}
		submits := submission != nil && t.Name == submission.Spec().Name
		if submits && m.output != nil {
			continue
		}
		if t.Instead {
			servers := beside
			if large {
				servers = tool.Servers(specs)
				servers = append(servers, slices.DeleteFunc(slices.Clone(beside), func(s string) bool { return slices.Contains(servers, s) })...)
			} else if t.Name != tool.ServerCall {
				t.Description += tool.Later
			}
			t.Description = strings.ReplaceAll(t.Description, "{servers}", strings.Join(servers, ", "))
		}
		if t.Offered != nil {
			t.Schema = t.Offered
		}
		if r.w.Outputs != nil && !t.Unstored && !t.Brief && !submits { // a submission fits the requested schema only
			t.Schema = withMode(t.Schema)
		}
		encoded, err := p.EncodeTool(llm.Tool{Name: m.names.Wire(t.Name), Description: t.Description, Schema: t.Schema})
		if err != nil {
			m.notices = append(m.notices, fmt.Sprintf("the tool %s is not offered to this model: %v", t.Name, err))
			continue
		}
		m.tools, m.offered = append(m.tools, encoded), append(m.offered, t)
	}
	return m
}

// request builds the request from the state and sends it on a goroutine of its own.
func (r *Runner) request(ctx context.Context, op *operation, c run.Request) {
	s := r.core.State
	model := s.Config.Model
	var req llm.Request
	m, err := r.session(s.Config)
	if err == nil {
		req, err = m.body(s, c.Purpose, r.w.now())
	}
	if err != nil {
		err = &llm.Error{Kind: run.ErrInvalid, Message: err.Error()}
	}
	if err == nil {
		ctx = r.prepareTools(ctx, s, m)
	}
	go func() {
		var answer *llm.Answer
		started := time.Now()
		if err == nil && ctx.Err() == nil {
			answer, err = r.send(ctx, op, m, req, s.Turn.Request.Deaths > 0)
		}
		r.w.debug("model request", "run", r.id, "model", model, "purpose", c.Purpose, "attempt", c.Attempt,
			"messages", len(req.Messages), "roles", rolesOf(req.Messages), "stop", stopOf(answer), "took", time.Since(started), "error", err)
		done := run.Completion{Key: op.key}
		switch {
		case answer != nil:
			done.Events = r.interpret(s, m, c.Purpose, req.Output != nil, answer)
		case ctx.Err() != nil:
			return // the interrupt takes what has streamed
		default:
			done.Events = []run.Payload{r.failed(llm.AsError(ctx, err), model)}
		}
		r.done <- done
	}()
}

// interpret returns an answer with what it means. The state is that of the request:
// nothing that happens while one is under way changes the meaning of its answer.
func (r *Runner) interpret(s run.State, m *modelSession, purpose run.Purpose, bySchema bool, a *llm.Answer) []run.Payload {
	p := run.Replied{Parts: number(m.named(a.Parts), s.NextCall()), Stop: a.Stop, Model: a.Model,
		Usage: r.priced(s.Config.Model, a.Usage), Cached: a.Cached}
	if a.Cached {
		p.Usage.Cost, p.Usage.Priced = 0, true
	}
	switch {
	case purpose != run.ForStep:
		if m.objects {
			p.Parts = plainly(p.Parts)
		}
		return []run.Payload{p}
	case m.objects:
		return []run.Payload{m.interpret(s, p, r.w.now())}
	}
	if text := run.PlainText(p.Parts); text != "" {
		p.Promises = heuristic.Promises(text)
	}
	if bySchema {
		value, problem := r.bySchema(s, p)
		if p.Unfit = problem; value != "" {
			return []run.Payload{p, run.Submitted{Assignment: s.Assignment(), Value: value}}
		}
	}
	return []run.Payload{p}
}

// priced adds what usage of a model costs.
func (r *Runner) priced(model string, u run.Usage) run.Usage {
	if r.w.Price == nil || u == (run.Usage{}) {
		return u
	}
	return r.w.Price(model, u)
}

// body is the request as the provider wants it. Requests that want no call have the
// tools too: what the provider keeps of a conversation begins with them.
func (m *modelSession) body(s run.State, purpose run.Purpose, now time.Time) (llm.Request, error) {
	messages, err := m.encoder.Messages(s.Messages)
	if err != nil {
		return llm.Request{}, err
	}
	req := llm.Request{Model: m.name, System: m.system + s.Created.System, Messages: messages, Tools: m.tools, Effort: m.effort}
	words := ""
	switch purpose {
	case run.ForStep:
		req.Output = m.output
		if words = left(s, now); !m.objects || words == "" {
			return req, nil
		}
	case run.ForSynthesis:
		words = run.SynthesisPrompt
	case run.ForSummary:
		words = run.SummaryPrompt
	}
	req.NoCalls = purpose != run.ForStep
	body, err := m.provider.Encode(run.Message{ID: "words", Role: run.User, Parts: []run.Part{run.Text(words)}})
	req.Messages = append(slices.Clip(req.Messages), llm.Message{Role: run.User, Body: body})
	return req, err
}

// named returns parts with the calls' tools under their own names.
func (m *modelSession) named(parts []run.Part) []run.Part {
	parts = slices.Clone(parts)
	for i, part := range parts {
		if part.Call != nil {
			c := m.names.Call(*part.Call)
			parts[i].Call = &c
		}
	}
	return parts
}

// send sends a request and shows the answer as it arrives. If report is set, the arrival
// of its first part is recorded.
func (r *Runner) send(ctx context.Context, op *operation, m *modelSession, req llm.Request, report bool) (*llm.Answer, error) {
	for delta, err := range m.provider.Stream(ctx, req) {
		switch {
		case err != nil:
			return nil, err
		case delta.Answer != nil:
			return delta.Answer, nil
		}
		if report {
			report = false
			select {
			case r.done <- run.Completion{Key: op.key, Events: []run.Payload{run.Observed{}}, More: true}:
			case <-ctx.Done():
			}
		}
		if delta.Part != nil {
			part := m.named([]run.Part{*delta.Part})[0]
			delta.Part = &part
		}
		delta.Call = m.names.Tool(delta.Call)
		op.stream.add(delta)
		if delta.Part == nil && delta.Usage == nil && ctx.Err() == nil { // after an interrupt nothing more is shown
			r.feed.show(view.Update{Delta: &view.Delta{Text: delta.Text, Thinking: delta.Thinking, Tool: delta.Call, Arguments: delta.Input}})
		}
	}
	return nil, &llm.Error{Kind: run.ErrBrokenStream, Message: "the provider's stream ended without an answer"}
}

// failed returns the event of a request that got no complete answer. The core decides
// whether it is sent again, and when.
func (r *Runner) failed(e *llm.Error, model string) run.Payload {
	if e.Delivered {
		r.feed.show(view.Update{Drop: true})
	}
	return run.RequestFailed{Kind: e.Kind, Reason: e.Error(), Delivered: e.Delivered, Asked: e.Wait, Usage: r.priced(model, e.Usage)}
}

// rolesOf returns who speaks in the last messages of a request, for the diagnostics.
func rolesOf(messages []llm.Message) string {
	const most = 12
	var roles []string
	for _, m := range messages[max(0, len(messages)-most):] {
		roles = append(roles, string(m.Role))
	}
	return strings.Join(roles, " ")
}

// stopOf returns why the model stopped; "" without an answer.
func stopOf(a *llm.Answer) run.StopReason {
	if a == nil {
		return ""
	}
	return a.Stop
}
