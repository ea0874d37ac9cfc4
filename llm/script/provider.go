package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
)

// Wire is the name of the provider that plays a script without a network.
const Wire = "script"

// maxMessage bounds a provider's message, of which 500 bytes are kept.
const maxMessage = 497

// A Provider plays a script through the interface of every provider. It is safe
// for concurrent use.
type Provider struct {
	player *Player
	idle   time.Duration
}

// New returns a provider that plays s. A reply that hangs is given up after idle,
// as a silent connection is; 0 means 90 seconds.
func New(s Script, idle time.Duration) *Provider {
	if idle <= 0 {
		idle = 90 * time.Second
	}
	return &Provider{player: NewPlayer(s), idle: idle}
}

// Wire names the wire format.
func (p *Provider) Wire() string { return Wire }

// Encode returns what a script looks at in m; nil when there is nothing.
func (p *Provider) Encode(m run.Message) (json.RawMessage, error) {
	seen := Message{Role: m.Role}
	for _, part := range m.Parts {
		switch {
		case part.Type == run.TextPart && strings.TrimSpace(part.Text) != "":
			seen.Words = joined(seen.Words, part.Text)
			seen.Blocks++
		case part.Type == run.CallPart:
			seen.Blocks++
		case part.Type == run.ResultPart && part.Result != nil:
			seen.Results = append(seen.Results, run.PlainText(part.Result.Content))
		case part.Type == run.ImagePart:
			seen.Blocks++
		}
	}
	if seen.Blocks == 0 && len(seen.Results) == 0 {
		return nil, nil
	}
	return json.Marshal(seen)
}

// EncodeTool returns t as JSON; a script looks only at whether there are tools.
func (p *Provider) EncodeTool(t llm.Tool) (json.RawMessage, error) { return json.Marshal(t) }

// EncodeOutput returns the schema: what a script says is its author's.
func (p *Provider) EncodeOutput(schema json.RawMessage) (json.RawMessage, error) { return schema, nil }

// Stream plays the reply to r; see [llm.Provider].
func (p *Provider) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		t := telling{ctx: ctx, idle: p.idle, yield: yield}
		reply, err := p.reply(r)
		if err == nil {
			err = t.play(reply, r.Model)
		}
		var e *llm.Error
		switch {
		case t.gone || err == nil:
		case errors.As(err, &e):
			e.Delivered, e.Usage = t.delivered, t.usage
			yield(llm.Delta{}, e)
		default:
			yield(llm.Delta{}, &llm.Error{Kind: run.ErrAborted, Err: context.Cause(ctx), Delivered: t.delivered, Usage: t.usage})
		}
	}
}

func (p *Provider) reply(r llm.Request) (Reply, error) {
	c := Conversation{System: r.System, Tools: len(r.Tools) > 0 && !r.NoCalls}
	for _, m := range r.Messages {
		var seen Message
		if len(m.Body) == 0 {
			continue
		}
		if err := json.Unmarshal(m.Body, &seen); err != nil {
			return Reply{}, &llm.Error{Kind: run.ErrInvalid, Err: err, Message: "a message was not encoded for the scripted model"}
		}
		// Servers take user messages in a row for one, as do the wires that send them.
		if n := len(c.Messages); n > 0 && seen.Role == run.User && c.Messages[n-1].Role == run.User {
			last := &c.Messages[n-1]
			last.Words, last.Results, last.Blocks = joined(last.Words, seen.Words), append(last.Results, seen.Results...), last.Blocks+seen.Blocks
			continue
		}
		c.Messages = append(c.Messages, seen)
	}
	reply, _, err := p.player.Next(c)
	if err != nil {
		return Reply{}, &llm.Error{Kind: run.ErrInvalid, Message: err.Error()}
	}
	return reply, nil
}

// A telling is one reply on its way to one listener.
type telling struct {
	ctx       context.Context
	idle      time.Duration
	yield     func(llm.Delta, error) bool
	parts     []run.Part
	usage     run.Usage // reported so far
	delivered bool
	gone      bool
}

var errStopped = errors.New("stopped")

// say yields d; an error says that nothing more is wanted.
func (t *telling) say(d llm.Delta) error {
	if t.ctx.Err() != nil {
		return errStopped
	}
	t.delivered = t.delivered || d.Answer == nil && d.Usage == nil
	if t.gone = !t.yield(d, nil); t.gone {
		return errStopped
	}
	return nil
}

func (t *telling) text(s string) error {
	for _, piece := range Pieces(s) {
		if err := t.say(llm.Delta{Text: piece}); err != nil {
			return err
		}
	}
	return nil
}

func (t *telling) part(part run.Part) error {
	t.parts = append(t.parts, part)
	return t.say(llm.Delta{Part: &part})
}

func (t *telling) play(r Reply, model string) error {
	if !Pause(t.ctx, time.Duration(r.DelayMS)*time.Millisecond) {
		return errStopped
	}
	switch {
	case r.Error != nil && r.Error.Status > 200:
		return r.Error.kinded()
	case r.Body != "":
		return &llm.Error{Kind: run.ErrBrokenStream, Message: fmt.Sprintf("the response is not an event stream; it begins with %q", Half(r.Body))}
	}
	if u := r.Usage; u != nil { // as Anthropic does: what was read at the start, what was written at the end
		t.usage = run.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
		if err := t.say(llm.Delta{Usage: new(t.usage)}); err != nil {
			return err
		}
	}
	if err := t.thinking(r); err != nil {
		return err
	}
	if err := t.words(r); err != nil {
		return err
	}
	for i, c := range r.Calls {
		last := i == len(r.Calls)-1
		if err := t.call(c, last && r.Cut == "call"); err != nil {
			return err
		}
	}
	// As on a real wire: a model that is out of tokens was inside its last call
	// unless that is whole.
	if r.StopReason() == run.StopMaxTokens && len(r.Calls) > 0 {
		last := &t.parts[len(t.parts)-1]
		last.Call = new(*last.Call) // the one that was shown as finished does not change
		wire.CutAtLimit(t.parts, r.Calls[len(r.Calls)-1].Arguments())
	}
	if u := r.Usage; u != nil {
		t.usage.Output = u.Output
		if err := t.say(llm.Delta{Usage: new(t.usage)}); err != nil {
			return err
		}
	}
	return t.say(llm.Delta{Answer: &llm.Answer{Parts: t.parts, Stop: r.StopReason(), Model: model, Usage: t.usage}})
}

// Pause waits for d. It returns false if ctx ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (t *telling) thinking(r Reply) error {
	thought := r.Thinking
	if r.Cut == "thinking" {
		thought = Half(thought)
	}
	for _, piece := range Pieces(thought) {
		if err := t.say(llm.Delta{Thinking: piece}); err != nil {
			return err
		}
	}
	if r.Cut == "thinking" {
		return brokeOff()
	}
	if r.Thinking != "" {
		if err := t.part(run.Part{Type: run.ThinkingPart, Text: thought, Signature: "scripted", Wire: Wire}); err != nil {
			return err
		}
	}
	if r.Redacted != "" {
		raw, _ := json.Marshal(map[string]string{"type": "redacted_thinking", "data": r.Redacted}) // strings can always be encoded
		return t.part(run.Part{Type: run.OpaquePart, Raw: string(raw), Wire: Wire})
	}
	return nil
}

// words says the text and does what goes wrong around it.
func (t *telling) words(r Reply) error {
	fails := r.Error != nil || r.Cut == "text" || r.Cut == "reset"
	text := r.Text
	if fails {
		text = Half(text)
	}
	if err := t.text(text); err != nil {
		return err
	}
	switch {
	case r.Error != nil:
		return r.Error.kinded()
	case fails:
		return brokeOff()
	case r.Endless:
		for Pause(t.ctx, time.Millisecond) {
			if err := t.say(llm.Delta{Text: r.Text}); err != nil {
				return err
			}
		}
		return errStopped
	case r.Hang:
		if !Pause(t.ctx, t.idle) {
			return errStopped
		}
		return &llm.Error{Kind: run.ErrTimeout, Message: fmt.Sprintf("the scripted model said nothing for %s", t.idle)}
	case text == "":
		return nil
	}
	return t.part(run.Text(text))
}

func (t *telling) call(c Call, cut bool) error {
	if err := t.say(llm.Delta{Call: c.Tool}); err != nil {
		return err
	}
	text := c.Arguments()
	if cut {
		text = Half(text)
	}
	for _, piece := range Pieces(text) {
		if err := t.say(llm.Delta{Input: piece}); err != nil {
			return err
		}
	}
	if cut {
		return brokeOff()
	}
	return t.part(run.Part{Type: run.CallPart, Call: wire.Call(c.ID, c.Tool, text, false)})
}

func brokeOff() error {
	return &llm.Error{Kind: run.ErrBrokenStream, Message: "the response ended early: the script cuts it here"}
}

// kinded returns e as the error that a wire makes of it.
func (e Error) kinded() error {
	kind, message := e.Words()
	status := e.Status
	if status <= 200 {
		status = 0
	}
	return &llm.Error{Kind: wire.Kind(status, wire.APIError{Type: kind, Message: message}), Status: status,
		Message: message[:whole(message, maxMessage)], Wait: time.Duration(e.RetryAfter * float64(time.Second))}
}
