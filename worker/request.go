package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/llm"
	"pawl/run"
	"pawl/tool"
)

// stream is what has arrived of an answer: whole parts, and the text after them.
// An interrupt keeps it.
type stream struct {
	mu    sync.Mutex
	parts []run.Part
	tail  strings.Builder
}

func (s *stream) add(d llm.Delta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case d.Part != nil:
		s.parts = append(s.parts, *d.Part)
		s.tail.Reset() // the text deltas so far are in it
	case d.Text != "":
		s.tail.WriteString(d.Text)
	}
}

// partial returns what is kept of an answer that was interrupted: whole parts, and
// text marked as cut. Half a call is dropped, and so is thinking without its
// signature, which is no part yet.
func (s *stream) partial(nextCall int) []run.Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := number(s.parts, nextCall)
	if strings.TrimSpace(s.tail.String()) != "" {
		parts = append(parts, run.Part{Type: run.TextPart, Text: s.tail.String(), Cut: true})
	} else if n := len(parts); n > 0 && parts[n-1].Type == run.TextPart {
		parts[n-1].Cut = true
	}
	return parts
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

// A speech is how a run talks with one model.
type speech struct {
	model    string // provider/name
	provider llm.Provider
	name     string // of the model, as the provider knows it
	encoder  *llm.Encoder
	names    llm.Names
	tools    []json.RawMessage
	// output is the schema of the run's result, where the provider answers by one;
	// else the result is handed in by a tool, which is among tools.
	output  json.RawMessage
	result  run.Output // that tools and output are for
	offered []tool.Spec
	notices []string // tools that this provider cannot have
	control string
	objects bool   // the model answers with one object a step
	system  string // stands before the run's own system prompt
}

// speech returns how the run talks with its model.
func (d *Driver) speech(c run.Config) (*speech, error) {
	if d.speaks != nil && d.speaks.model == c.Model && d.speaks.result == c.Output && d.speaks.control == c.Control {
		return d.speaks, nil
	}
	p, name, err := d.w.Provider(c.Model)
	if err != nil {
		return nil, err
	}
	registry, submission := d.equip(c.Output)
	sp := &speech{model: c.Model, provider: p, name: name, result: c.Output, control: c.Control, names: llm.NewNames(registry.Names())}
	sp.encoder = llm.NewEncoder(p, sp.names)
	structured := d.w.Structured != nil && d.w.Structured(c.Model)
	if submission != nil && structured && !c.Controlled() {
		sp.output, err = p.EncodeOutput(submission.Spec().Schema)
		if err != nil {
			d.w.debug("no answer by schema", "run", d.id, "model", c.Model, "error", err)
			sp.output = nil
		}
	}
	for _, t := range registry.Specs() {
		handsIn := submission != nil && t.Name == submission.Spec().Name
		if handsIn && sp.output != nil {
			continue
		}
		if d.w.Outputs != nil && !t.Unstored && !handsIn { // what is handed in fits the schema that was asked for, and no other
			t.Schema = withMode(t.Schema)
		}
		encoded, err := p.EncodeTool(llm.Tool{Name: sp.names.Wire(t.Name), Description: t.Description, Schema: t.Schema})
		if err != nil {
			sp.notices = append(sp.notices, fmt.Sprintf("the tool %s is set aside: %v", t.Name, err))
			continue
		}
		sp.tools, sp.offered = append(sp.tools, encoded), append(sp.offered, t)
	}
	if c.Controlled() {
		sp.controlled(structured)
	}
	for _, n := range sp.notices {
		d.show(View{Notice: n})
	}
	d.speaks = sp
	return sp, nil
}

// request builds the request from the state and sends it on a goroutine of its own.
func (d *Driver) request(ctx context.Context, f *flight, c run.Request) {
	s := d.state
	model := s.Config.Model
	var req llm.Request
	sp, err := d.speech(s.Config)
	if err == nil {
		req, err = sp.body(s, c.Purpose, d.w.now())
	}
	if err != nil {
		err = &llm.Error{Kind: run.ErrInvalid, Message: err.Error()}
	}
	next, failures := s.NextCall(), s.Turn.Request.Failures
	go func() {
		var answer *llm.Answer
		started := time.Now()
		if err == nil && !d.gateClosed() {
			answer, err = d.ask(ctx, f, sp, req)
		}
		d.w.debug("model request", "run", d.id, "model", model, "purpose", c.Purpose, "attempt", c.Attempt,
			"messages", len(req.Messages), "took", time.Since(started), "error", err)
		switch {
		case answer != nil:
			u := answer.Usage
			switch {
			case answer.Cached:
				u.Cost, u.Priced = 0, true
			case d.w.Price != nil:
				u = d.w.Price(model, u)
			}
			d.landed <- landing{key: f.key, bySchema: req.Output != nil && !sp.objects, objects: sp.objects,
				fact: run.Replied{Parts: number(sp.named(answer.Parts), next), Stop: answer.Stop, Model: answer.Model, Usage: u, Cached: answer.Cached}}
		case d.gateClosed() || context.Cause(ctx) != nil:
			d.landed <- landing{key: f.key, aborted: true}
		default:
			d.landed <- landing{key: f.key, fact: d.failed(llm.AsError(ctx, err), failures)}
		}
	}()
}

// body is the request as the provider wants it. Requests that want no call have the
// tools too: what the provider keeps of a conversation begins with them.
func (sp *speech) body(s run.State, purpose run.Purpose, now time.Time) (llm.Request, error) {
	messages, err := sp.encoder.Messages(s.Messages)
	if err != nil {
		return llm.Request{}, err
	}
	req := llm.Request{Model: sp.name, System: sp.system + s.Created.System, Messages: messages, Tools: sp.tools}
	words := ""
	switch purpose {
	case run.ForStep:
		req.Output = sp.output
		if words = left(s, now); !sp.objects || words == "" {
			return req, nil
		}
	case run.ForSynthesis:
		words = run.SynthesisPrompt
	case run.ForSummary:
		words = run.SummaryPrompt
	}
	req.NoCalls = purpose != run.ForStep
	body, err := sp.provider.Encode(run.Message{ID: "words", Role: run.User, Parts: []run.Part{run.Text(words)}})
	req.Messages = append(slices.Clip(req.Messages), llm.Message{Role: run.User, Body: body})
	return req, err
}

// named returns parts with the calls' tools under their own names.
func (sp *speech) named(parts []run.Part) []run.Part {
	parts = slices.Clone(parts)
	for i, part := range parts {
		if part.Call != nil {
			c := *part.Call
			c.Tool = sp.names.Tool(c.Tool)
			parts[i].Call = &c
		}
	}
	return parts
}

// ask sends a request and shows the answer as it comes.
func (d *Driver) ask(ctx context.Context, f *flight, sp *speech, req llm.Request) (*llm.Answer, error) {
	for delta, err := range sp.provider.Stream(ctx, req) {
		switch {
		case err != nil:
			return nil, err
		case delta.Answer != nil:
			return delta.Answer, nil
		}
		if delta.Part != nil {
			part := sp.named([]run.Part{*delta.Part})[0]
			delta.Part = &part
		}
		delta.Call = sp.names.Tool(delta.Call)
		f.stream.add(delta)
		if delta.Part == nil && delta.Usage == nil && !d.gateClosed() && ctx.Err() == nil { // after an interrupt nothing more is shown
			d.show(View{Delta: &delta})
		}
	}
	return nil, &llm.Error{Kind: run.ErrBrokenStream, Message: "the provider's stream ended without an answer"}
}

// failed is the fact of a request without an answer; one that may pass says when
// to try again.
func (d *Driver) failed(e *llm.Error, failures int) run.Fact {
	f := run.RequestFailed{Kind: e.Kind, Reason: e.Error(), Delivered: e.Delivered}
	if e.Delivered {
		d.show(View{Drop: true})
	}
	if e.Wait > maxAskedWait {
		f.Reason += fmt.Sprintf("; the provider asks to wait %v: go on then", e.Wait.Round(time.Second))
		return f
	}
	if e.Retryable() && failures < run.MaxRetries {
		wait := backoff(failures)
		if e.Wait > 0 {
			wait = e.Wait
		}
		f.RetryAt = d.w.now().Add(wait)
	}
	return f
}

// maxAskedWait is how long a run waits because its provider asks for it. A longer
// wait is somebody's to decide on: the turn ends, and can be continued.
const maxAskedWait = 15 * time.Minute

// backoff is how long to wait before the n-th retry: 0.2, 0.8, 3.2 s, give or take
// a fifth, so that many runs do not come back at once.
func backoff(n int) time.Duration {
	base := 200 * time.Millisecond << (2 * n)
	return time.Duration(float64(base) * (0.8 + 0.4*rand.Float64()))
}
