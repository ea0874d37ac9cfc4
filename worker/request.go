package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/llm"
	"pawl/run"
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

// request builds the request from the state and sends it on a goroutine of its own.
func (d *Driver) request(ctx context.Context, f *flight, c run.Request) {
	s := d.state
	model := s.Config.Model
	p, name, err := d.w.Provider(model)
	var req llm.Request
	if err == nil {
		req, err = d.body(p, name, s, c.Purpose)
	}
	if err != nil {
		err = &llm.Error{Kind: run.ErrInvalid, Message: err.Error()}
	}
	next, failures := s.NextCall(), s.Turn.Request.Failures
	go func() {
		var answer *llm.Answer
		started := time.Now()
		if err == nil && !d.gateClosed() {
			answer, err = d.ask(ctx, f, p, req)
		}
		d.w.debug("model request", "run", d.id, "model", model, "purpose", c.Purpose, "attempt", c.Attempt,
			"messages", len(req.Messages), "took", time.Since(started), "error", err)
		switch {
		case answer != nil:
			u := answer.Usage
			if d.w.Price != nil {
				u = d.w.Price(model, u)
			}
			d.landed <- landing{key: f.key, fact: run.Replied{Parts: number(answer.Parts, next), Stop: answer.Stop, Model: answer.Model, Usage: u}}
		case d.gateClosed() || context.Cause(ctx) != nil:
			d.landed <- landing{key: f.key, aborted: true}
		default:
			d.landed <- landing{key: f.key, fact: d.failed(llm.AsError(ctx, err), failures)}
		}
	}()
}

// body is the request as the provider wants it.
func (d *Driver) body(p llm.Provider, name string, s run.State, purpose run.Purpose) (llm.Request, error) {
	if d.encoder == nil || d.encodes != s.Config.Model {
		d.encoder, d.encodes = llm.NewEncoder(p), s.Config.Model
	}
	messages, err := d.encoder.Messages(s.Messages)
	if err != nil {
		return llm.Request{}, err
	}
	req := llm.Request{Model: name, System: s.Created.System, Messages: messages}
	words := ""
	switch purpose {
	case run.ForStep:
		for _, t := range d.w.Tools.Specs() {
			req.Tools = append(req.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
		return req, nil
	case run.ForSynthesis:
		words = run.SynthesisPrompt
	case run.ForSummary:
		words = run.SummaryPrompt
	}
	body, err := p.Encode(run.Message{ID: "words", Role: run.User, Parts: []run.Part{run.Text(words)}})
	req.Messages = append(slices.Clip(req.Messages), llm.Message{Role: run.User, Body: body})
	return req, err
}

// ask sends a request and shows the answer as it comes.
func (d *Driver) ask(ctx context.Context, f *flight, p llm.Provider, req llm.Request) (*llm.Answer, error) {
	for delta, err := range p.Stream(ctx, req) {
		switch {
		case err != nil:
			return nil, err
		case delta.Answer != nil:
			return delta.Answer, nil
		}
		f.stream.add(delta)
		if delta.Part == nil && !d.gateClosed() && ctx.Err() == nil { // after an interrupt nothing more is shown
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
