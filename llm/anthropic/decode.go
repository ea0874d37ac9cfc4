package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
)

// An event is one event of a stream; which fields count depends on its type.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Model string    `json:"model"`
		Usage wireUsage `json:"usage"`
	} `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        json.RawMessage `json:"delta"`
	Usage        wireUsage       `json:"usage"`
}

// A decoder puts an answer together from events.
type decoder struct {
	say     func(llm.Delta) error
	doubled wire.Doubled
	origin  string
	blocks  map[int]*block
	order   []*block
	model   string
	usage   run.Usage
	stop    run.StopReason
	stopped bool // a stop reason came
	done    bool // message_stop came
}

// assembler returns a function that makes decoders; origin marks the parts that are sent
// back to the server they are from only.
func assembler(origin string) func(func(llm.Delta) error) wire.Assembler {
	return func(say func(llm.Delta) error) wire.Assembler {
		return &decoder{say: say, origin: origin, blocks: map[int]*block{}}
	}
}

// Done reports whether message_stop came.
func (d *decoder) Done() bool { return d.done }

// Whole reports whether a stop reason came.
func (d *decoder) Whole() bool { return d.stopped }

// Take adds one event.
func (d *decoder) Take(name string, data []byte) error {
	if err := d.doubled.Check(data); err != nil {
		return err
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		var oddField *json.UnmarshalTypeError
		if name == "ping" {
			return nil
		}
		if !errors.As(err, &oddField) || known(e.Type) {
			// Skipping it could drop a piece from the middle of a call's arguments and
			// leave other arguments that look complete.
			return fmt.Errorf("cannot decode an event: %w", err)
		}
	}
	if e.Type == "" {
		e.Type = name
	}
	switch e.Type {
	case "message_start":
		if d.model == "" {
			d.model = e.Message.Model
		}
		return d.count(e.Message.Usage)
	case "content_block_start":
		return d.start(e.Index, e.ContentBlock)
	case "content_block_delta":
		return d.delta(e.Index, e.Delta)
	case "content_block_stop":
		return d.close(e.Index)
	case "message_delta":
		var delta struct {
			StopReason string `json:"stop_reason"`
		}
		if err := unmarshal(e.Delta, &delta); err != nil {
			return err
		}
		if err := d.count(e.Usage); err != nil {
			return err
		}
		if delta.StopReason != "" {
			d.stop, d.stopped = stopReason(delta.StopReason), true
		}
	case "message_stop":
		d.done = true
	case "error":
		return wire.StreamError(data)
	}
	return nil // ping, and unknown types
}

// count adds what an event reports of the usage.
func (d *decoder) count(w wireUsage) error {
	w.merge(&d.usage)
	return d.say(llm.Delta{Usage: new(d.usage)})
}

// known reports whether events of a type count for the answer.
func known(eventType string) bool {
	switch eventType {
	case "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop", "":
		return true
	}
	return false // an error's fields are read with wire.ParseError
}

// start opens a block. A second start of a block is a repeated event.
func (d *decoder) start(index int, raw json.RawMessage) error {
	if d.blocks[index] != nil {
		return nil
	}
	var wire wireBlock
	if err := unmarshal(raw, &wire); err != nil {
		return err
	}
	b := &block{kind: wire.Type, open: true, signature: wire.Signature, id: wire.ID, name: wire.Name}
	d.blocks[index] = b
	d.order = append(d.order, b)
	switch wire.Type {
	case "text":
		return d.more(b, wire.Text)
	case "thinking":
		return d.more(b, wire.Thinking)
	case "tool_use":
		if string(wire.Input) != "{}" && string(wire.Input) != "null" {
			b.given = bytes.Clone(wire.Input) // some servers send all at once
		}
		return d.say(llm.Delta{Call: wire.Name})
	}
	b.raw = bytes.Clone(raw)
	return d.say(llm.Delta{})
}

// delta adds to an open block; a delta for any other is an error.
func (d *decoder) delta(index int, raw json.RawMessage) error {
	b := d.blocks[index]
	if b == nil || !b.open {
		return nil
	}
	var delta wireDelta
	if err := unmarshal(raw, &delta); err != nil {
		return err
	}
	switch delta.Type {
	case "text_delta":
		if b.kind == "text" {
			return d.more(b, delta.Text)
		}
	case "thinking_delta":
		if b.kind == "thinking" {
			return d.more(b, delta.Thinking)
		}
	case "signature_delta":
		b.signature = delta.Signature
		return d.say(llm.Delta{})
	case "input_json_delta":
		b.input = append(b.input, delta.PartialJSON...)
		if b.kind == "tool_use" && delta.PartialJSON != "" {
			return d.say(llm.Delta{Input: delta.PartialJSON})
		}
		if delta.PartialJSON != "" {
			return d.say(llm.Delta{})
		}
	case "citations_delta": // sources of a text: for people, and not sent back
	default:
		if b.raw != nil {
			b.extra = append(b.extra, bytes.Clone(raw))
			return d.say(llm.Delta{})
		}
	}
	return nil
}

// more appends text or thinking.
func (d *decoder) more(b *block, s string) error {
	if s == "" {
		return nil
	}
	b.text = append(b.text, s...)
	if b.kind == "thinking" {
		return d.say(llm.Delta{Thinking: s})
	}
	return d.say(llm.Delta{Text: s})
}

func (d *decoder) close(index int) error {
	b := d.blocks[index]
	if b == nil || !b.open {
		return nil
	}
	b.open = false
	if part, ok := b.part(d.origin); ok {
		return d.say(llm.Delta{Part: &part})
	}
	return nil
}

// Answer returns the message.
func (d *decoder) Answer() *llm.Answer {
	a := &llm.Answer{Stop: d.stop, Model: d.model, Usage: d.usage}
	for i, b := range d.order {
		part, ok := b.part(d.origin)
		if !ok {
			continue
		}
		a.Parts = append(a.Parts, part)
		if part.Type == run.CallPart && d.stop == run.StopMaxTokens && i == len(d.order)-1 {
			wire.CutAtLimit(a.Parts, b.arguments())
		}
	}
	return a
}

// stopReason maps the API's reason on to ours; most are the same words.
func stopReason(s string) run.StopReason {
	if s == "model_context_window_exceeded" {
		return run.StopMaxTokens
	}
	return run.StopReason(s)
}

// unmarshal decodes a part of an event that may be missing.
func unmarshal(raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("cannot decode an event: %w", err)
	}
	return nil
}
