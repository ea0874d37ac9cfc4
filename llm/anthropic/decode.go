package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pawl/llm"
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

// errGone ends a decode that nobody listens to; it is never shown.
var errGone = errors.New("nobody listens any more")

// decode reads a stream and returns its answer. Deltas go to emit as they come;
// when emit returns false, decode stops with errGone. Any other error is an
// *llm.Error. An answer is whole: message_stop came, or the stream ended after a
// stop reason.
func decode(r io.Reader, emit func(llm.Delta) bool) (*llm.Answer, error) {
	d := decoder{emit: emit, blocks: map[int]*block{}}
	events := events{lines: lineReader{r: r}}
	for !d.done {
		name, data, err := events.next()
		if err == nil {
			err = d.take(name, data)
		}
		if err == errGone {
			return nil, err
		}
		var e *llm.Error
		if errors.As(err, &e) {
			e.Delivered = d.delivered
			return nil, e
		}
		if err != nil {
			if d.stopped {
				break // what is missing is the end mark alone
			}
			return nil, d.ended(err, &events.lines)
		}
	}
	return d.answer(), nil
}

// ended says why a stream that ended with err was no answer.
func (d *decoder) ended(err error, lines *lineReader) *llm.Error {
	e := &llm.Error{Kind: run.ErrBrokenStream, Delivered: d.delivered, Err: err}
	switch {
	case errors.Is(err, errTooBig):
		// Trying again would bring as much.
		e.Kind = run.ErrInvalid
		e.Message = fmt.Sprintf("the answer did not end within %d MB, more than any model says: is the server in order?", maxStream>>20)
		return e
	case err != io.EOF:
		e.Message = fmt.Sprintf("the answer broke off: %v", err)
	case d.any:
		e.Message = "the answer broke off: the stream ended without its end mark"
	case lines.total == 0:
		e.Message = "the answer was empty"
	default:
		e.Message = "the answer broke off before it began"
	}
	if d.any || !lines.foreign() {
		return e
	}
	if said := parseError(lines.head); said.Message != "" {
		e.Kind, e.Message = kindOfType(said), said.Message
		return e
	}
	// Trying again would bring the same page.
	e.Kind = run.ErrInvalid
	e.Message = fmt.Sprintf("the answer is no event stream but begins with %q: is the base URL that of a Messages API, and is there a proxy in between?",
		prefix(string(bytes.ToValidUTF8(lines.head, []byte("\ufffd"))), 80))
	return e
}

// A decoder puts an answer together from events.
type decoder struct {
	emit      func(llm.Delta) bool
	blocks    map[int]*block
	order     []*block
	model     string
	usage     usage
	stop      run.StopReason
	any       bool // there was an event
	delivered bool // something was emitted
	stopped   bool // a stop reason came
	done      bool // message_stop came
}

// take takes one event in.
func (d *decoder) take(name string, data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 || string(data) == "[DONE]" {
		return nil
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		var oddField *json.UnmarshalTypeError
		if name == "ping" {
			return nil
		}
		if !errors.As(err, &oddField) || known(e.Type) {
			// To pass it over could drop a piece from the middle of a call's arguments
			// and leave other arguments that look whole.
			return fmt.Errorf("an event is not what it should be: %w", err)
		}
	}
	d.any = true
	if e.Type == "" {
		e.Type = name
	}
	switch e.Type {
	case "message_start":
		if d.model == "" {
			d.model = e.Message.Model
		}
		d.usage.merge(e.Message.Usage)
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
		d.usage.merge(e.Usage)
		if delta.StopReason != "" {
			d.stop, d.stopped = stopReason(delta.StopReason), true
		}
	case "message_stop":
		d.done = true
	case "error":
		said := parseError(data)
		if said.Message == "" {
			said.Message = "an error without words"
		}
		return &llm.Error{Kind: kindOfType(said), Message: said.Message}
	}
	return nil // ping, and whatever is invented next
}

// known reports whether events of a type count for the answer.
func known(eventType string) bool {
	switch eventType {
	case "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop", "":
		return true
	}
	return false // an error's fields are read with parseError
}

func (d *decoder) say(delta llm.Delta) error {
	d.delivered = true
	if !d.emit(delta) {
		return errGone
	}
	return nil
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
	return nil
}

// delta adds to a block that is open; anything else cannot be placed.
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
	case "input_json_delta":
		b.input = append(b.input, delta.PartialJSON...)
		if b.kind == "tool_use" && delta.PartialJSON != "" {
			return d.say(llm.Delta{Input: delta.PartialJSON})
		}
	case "citations_delta": // what a text quotes is for people to look up, and the API does not want it back
	default:
		if b.raw != nil {
			b.extra = append(b.extra, bytes.Clone(raw))
		}
	}
	return nil
}

// more adds text or thinking.
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
	if part, ok := b.part(); ok {
		return d.say(llm.Delta{Part: &part})
	}
	return nil
}

// answer returns the message. At the end of its tokens a model may have been
// inside a call although the block was closed: the last one counts as cut unless
// its arguments are there and whole.
func (d *decoder) answer() *llm.Answer {
	a := &llm.Answer{Stop: d.stop, Model: d.model, Usage: d.usage.Usage}
	for i, b := range d.order {
		part, ok := b.part()
		if !ok {
			continue
		}
		if part.Type == run.CallPart && d.stop == run.StopMaxTokens && i == len(d.order)-1 {
			if b.nothing() || part.Call.Fault == run.FaultNotJSON {
				b.spoil(part.Call, run.FaultCut)
			}
		}
		a.Parts = append(a.Parts, part)
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
		return fmt.Errorf("an event is not what it should be: %w", err)
	}
	return nil
}
