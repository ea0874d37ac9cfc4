package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
)

// A chunk is one event of a stream.
type chunk struct {
	Object  string          `json:"object"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Timings struct {        // llama.cpp
		Cached wire.Tokens `json:"cache_n"`
	} `json:"timings"`
	Groq struct {
		Usage json.RawMessage `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"x_groq"`
}

type choice struct {
	Index        int             `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      *delta          `json:"message"` // sent by some servers instead, complete
	FinishReason loose           `json:"finish_reason"`
	Usage        json.RawMessage `json:"usage"` // Moonshot
	Error        json.RawMessage `json:"error"` // OpenRouter
}

type delta struct {
	Content          json.RawMessage   `json:"content"`
	Refusal          loose             `json:"refusal"`
	ReasoningContent loose             `json:"reasoning_content"`
	Reasoning        loose             `json:"reasoning"`
	Details          []json.RawMessage `json:"reasoning_details"`
	ToolCalls        []fragment        `json:"tool_calls"`
	FunctionCall     *function         `json:"function_call"` // before there were tools
}

// A block is a part of the answer as it grows.
type block struct {
	kind   run.PartType
	text   []byte // text, thinking
	detail detail // thinking: its entry, if it has one
	call   *call
	raw    string // opaque
	told   bool
}

// parts returns the block as parts of a message.
func (b *block) parts(origin string) []run.Part {
	switch b.kind {
	case run.TextPart:
		return []run.Part{run.Text(string(b.text))}
	case run.ThinkingPart:
		return []run.Part{{Type: run.ThinkingPart, Text: string(b.text), Signature: b.detail.signature(), Wire: origin}}
	case run.CallPart:
		return b.call.parts(origin)
	}
	return []run.Part{{Type: run.OpaquePart, Raw: b.raw, Wire: origin}}
}

// A decoder assembles an answer from chunks.
type decoder struct {
	say     func(llm.Delta) error
	doubled wire.Doubled
	origin  string
	blocks  []*block
	calls   calls
	model   string
	usage   run.Usage
	stop    run.StopReason
	stopped bool // a finish reason came
	counted bool // the newest chunk had only the usage
	refused bool
}

// assembler returns a function that makes decoders; origin marks the parts that are sent
// back to the server they are from only.
func assembler(origin string) func(func(llm.Delta) error) wire.Assembler {
	return func(say func(llm.Delta) error) wire.Assembler {
		return &decoder{say: say, origin: origin, calls: calls{byIndex: map[int]*call{}, byID: map[string]*call{}}}
	}
}

// Done returns false: the usage follows the finish reason, and [DONE] or the end of the
// stream follows the usage.
func (d *decoder) Done() bool { return false }

// Whole reports whether a finish reason came, or, from servers that send none
// (Snowflake), the last chunk, which has the usage and no choices.
func (d *decoder) Whole() bool { return d.stopped || d.counted }

// Take adds one chunk.
func (d *decoder) Take(name string, data []byte) error {
	if err := d.doubled.Check(data); err != nil {
		return err
	}
	var c chunk
	err := json.Unmarshal(data, &c)
	if api, ok := failure(name, data, c); ok {
		return wire.StreamErrorOf(api)
	}
	if err != nil {
		if name != "" && name != "message" && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
			return nil // a ping of some kind
		}
		// Skipping it could drop a piece from the middle of a call's arguments and
		// leave other arguments that look complete.
		return fmt.Errorf("cannot decode a chunk: %w", err)
	}
	if d.model == "" {
		d.model = c.Model
	}
	billed := d.bill(c.Usage)
	billed = d.bill(c.Groq.Usage) || billed
	if billed && d.usage.CacheRead == 0 && c.Timings.Cached > 0 {
		d.usage.CacheRead = min(int64(c.Timings.Cached), d.usage.Input)
		d.usage.Input -= d.usage.CacheRead
	}
	d.counted = billed && len(c.Choices) == 0
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // one was requested
		}
		billed = d.bill(choice.Usage) || billed
		if err := d.choose(choice); err != nil {
			return err
		}
	}
	if billed {
		if err := d.say(llm.Delta{Usage: new(d.usage)}); err != nil {
			return err
		}
	}
	return d.tell()
}

// failure returns the error in an event; false if there is none.
func failure(name string, data []byte, c chunk) (wire.APIError, bool) {
	for _, raw := range []json.RawMessage{c.Error, c.Groq.Error} {
		switch string(bytes.TrimSpace(raw)) {
		case "", "null", "{}", `""`, "false":
		default:
			return wire.ParseError(fmt.Appendf(nil, `{"error":%s}`, raw)), true
		}
	}
	for _, choice := range c.Choices {
		if wire.IsObject(string(choice.Error)) {
			return wire.ParseError(fmt.Appendf(nil, `{"error":%s}`, choice.Error)), true
		}
	}
	switch {
	case c.Object == "error": // older vLLM, Mistral
		return wire.ParseError(fmt.Appendf(nil, `{"error":%s}`, data)), true
	case name == "error":
		api := wire.ParseError(data)
		if api.Type == "" && api.Code == "" && api.Message == "" {
			api.Message = string(data)
		}
		return api, true
	}
	return wire.APIError{}, false
}

// bill sets the usage: figures are totals, so the newest count.
func (d *decoder) bill(raw json.RawMessage) bool {
	u, ok := parseUsage(raw)
	if ok {
		d.usage = u
	}
	return ok
}

func (d *decoder) choose(c choice) error {
	part := c.Delta
	if part == nil {
		part = c.Message
	}
	if part != nil {
		if err := d.delta(part); err != nil {
			return err
		}
	}
	if c.FinishReason == "" || d.stopped {
		return nil
	}
	switch c.FinishReason {
	case "error", "network_error", "insufficient_system_resource": // OpenRouter, z.ai, DeepSeek
		return wire.StreamErrorOf(wire.APIError{Message: "the provider stopped in the middle of the answer: " + string(c.FinishReason)})
	}
	d.stop, d.stopped = stopReason(string(c.FinishReason)), true
	return nil
}

// delta adds what a chunk adds, reasoning first: models write in that order.
func (d *decoder) delta(part *delta) error {
	detailed := false
	for _, raw := range part.Details {
		readable, err := d.detail(raw)
		if err != nil {
			return err
		}
		detailed = detailed || readable
	}
	if reasoning := string(part.ReasoningContent); !detailed {
		if reasoning == "" {
			reasoning = string(part.Reasoning)
		}
		if err := d.more(run.ThinkingPart, reasoning); err != nil {
			return err
		}
	}
	if err := d.content(part.Content); err != nil {
		return err
	}
	if part.Refusal != "" {
		d.refused = true
		if err := d.more(run.TextPart, string(part.Refusal)); err != nil {
			return err
		}
	}
	if f := part.FunctionCall; f != nil {
		part.ToolCalls = append(part.ToolCalls, fragment{Function: *f})
	}
	for _, f := range part.ToolCalls {
		if err := d.call(f); err != nil {
			return err
		}
	}
	return nil
}

// content adds a text, or a list of pieces of text and thinking (Mistral).
func (d *decoder) content(raw json.RawMessage) error {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '[' {
		var text loose
		_ = text.UnmarshalJSON(raw) // accepts anything
		return d.more(run.TextPart, string(text))
	}
	var pieces []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if err := json.Unmarshal(raw, &pieces); err != nil {
		return fmt.Errorf("cannot decode a chunk: %w", err)
	}
	for _, piece := range pieces {
		kind, text := run.TextPart, piece.Text
		if piece.Type == "thinking" {
			kind, text = run.ThinkingPart, thought(piece.Thinking)
		}
		if err := d.more(kind, text); err != nil {
			return err
		}
	}
	return nil
}

// thought returns the text of a piece of thinking: a text, or a list of texts.
func thought(raw json.RawMessage) string {
	var texts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &texts) != nil {
		var text loose
		_ = text.UnmarshalJSON(raw) // accepts anything
		return string(text)
	}
	var b strings.Builder
	for _, t := range texts {
		b.WriteString(t.Text)
	}
	return b.String()
}

// more appends text or thinking.
func (d *decoder) more(kind run.PartType, s string) error {
	if s == "" {
		return nil
	}
	b := d.newest()
	if b == nil || b.kind != kind || b.told || b.detail != nil {
		b = &block{kind: kind}
		if err := d.begin(b); err != nil {
			return err
		}
	}
	return d.grow(b, s)
}

func (d *decoder) grow(b *block, s string) error {
	if s == "" {
		return nil
	}
	b.text = append(b.text, s...)
	if b.kind == run.ThinkingPart {
		return d.say(llm.Delta{Thinking: s})
	}
	return d.say(llm.Delta{Text: s})
}

// detail adds an entry of reasoning_details, or a piece of one; readable reports whether it
// has text for people.
func (d *decoder) detail(raw json.RawMessage) (readable bool, err error) {
	entry, text, ok := parseDetail(raw)
	if !ok {
		if !wire.IsObject(string(raw)) {
			return false, nil
		}
		if err := d.say(llm.Delta{}); err != nil {
			return false, err
		}
		return false, d.begin(&block{kind: run.OpaquePart, raw: string(raw)})
	}
	b := d.newest()
	for i := len(d.blocks) - 1; i >= 0 && text == ""; i-- { // a signature may come late
		if d.blocks[i].detail.continues(entry) {
			b = d.blocks[i]
			break
		}
	}
	if b == nil || b.told && text != "" || !b.detail.continues(entry) {
		if text == "" && entry.empty() {
			return false, nil
		}
		b = &block{kind: run.ThinkingPart, detail: entry}
		if err := d.begin(b); err != nil {
			return false, err
		}
	} else {
		b.detail.merge(entry)
	}
	return text != "", d.grow(b, text)
}

// empty reports whether a piece without text has no other field.
func (d detail) empty() bool {
	s := string(d["signature"])
	return s == "" || s == "null" || s == `""`
}

// call adds a fragment of a call.
func (d *decoder) call(f fragment) error {
	c, begun, named, more := d.calls.add(f)
	if begun {
		if err := d.begin(&block{kind: run.CallPart, call: c}); err != nil {
			return err
		}
	}
	if named {
		if err := d.say(llm.Delta{Call: c.name}); err != nil {
			return err
		}
	}
	if more == "" {
		return nil
	}
	return d.say(llm.Delta{Input: more})
}

func (d *decoder) newest() *block {
	if len(d.blocks) == 0 {
		return nil
	}
	return d.blocks[len(d.blocks)-1]
}

func (d *decoder) begin(b *block) error {
	d.blocks = append(d.blocks, b)
	return d.tell()
}

// tell yields the parts that are finished, in order. A call may grow until the answer ends,
// any other part until the next one begins.
func (d *decoder) tell() error {
	over := d.Whole()
	for i, b := range d.blocks {
		if b.told {
			continue
		}
		if !over && (b.kind == run.CallPart || i == len(d.blocks)-1) {
			return nil
		}
		b.told = true
		for _, part := range b.parts(d.origin) {
			if err := d.say(llm.Delta{Part: &part}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Answer returns the message.
func (d *decoder) Answer() *llm.Answer {
	a := &llm.Answer{Stop: d.stop, Model: d.model, Usage: d.usage}
	if d.refused && d.stop == run.StopEndTurn {
		a.Stop = run.StopRefusal
	}
	for _, b := range d.blocks {
		a.Parts = append(a.Parts, b.parts(d.origin)...)
		if b.call != nil && d.stop == run.StopMaxTokens {
			// Any of them: calls may be streamed in parallel.
			wire.CutAtLimit(a.Parts, string(b.call.arguments))
		}
	}
	return a
}

// stopReason maps a finish reason on to ours. Beside OpenAI's there are those of
// Mistral (model_length), z.ai (sensitive, model_context_window_exceeded), Text
// Generation Inference and Together (eos_token, eos, end).
func stopReason(s string) run.StopReason {
	switch s {
	case "stop", "eos", "eos_token", "end":
		return run.StopEndTurn
	case "tool_calls", "function_call":
		return run.StopToolUse
	case "length", "model_length", "model_context_window_exceeded":
		return run.StopMaxTokens
	case "content_filter", "sensitive":
		return run.StopFiltered
	}
	return run.StopReason(s)
}
