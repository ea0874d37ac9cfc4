package gemini

import (
	"encoding/json"
	"fmt"

	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
)

// An event is one event of a stream: a piece of the whole response.
type event struct {
	Candidates     []candidate `json:"candidates"`
	PromptFeedback struct {
		BlockReason        string `json:"blockReason"`
		BlockReasonMessage string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage        usage           `json:"usageMetadata"`
	ModelVersion string          `json:"modelVersion"`
	Error        json.RawMessage `json:"error"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []json.RawMessage `json:"parts"`
	} `json:"content"`
	FinishReason  string `json:"finishReason"`
	FinishMessage string `json:"finishMessage"`
}

// A decoder assembles an answer from events.
type decoder struct {
	say     func(llm.Delta) error
	blocks  []*block
	doubled wire.Doubled
	words   *block // the last block, if it is text or thinking that may still grow
	call    *block // a call that is not complete
	finish  string // the reason
	model   string
	usage   usage
}

func assemble(say func(llm.Delta) error) wire.Assembler { return &decoder{say: say} }

// Done returns false: a stream has no end marker.
func (d *decoder) Done() bool { return false }

// Whole reports whether a finish reason came. Older models send one with every
// event, so later events count too.
func (d *decoder) Whole() bool { return d.finish != "" }

// Take adds one event.
func (d *decoder) Take(name string, data []byte) error {
	if err := d.doubled.Check(data); err != nil {
		return err
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		if name == "ping" {
			return nil
		}
		return fmt.Errorf("cannot decode an event: %w", err)
	}
	if len(e.Error) > 0 && string(e.Error) != "null" && !d.Whole() {
		return wire.StreamError(data)
	}
	if d.model == "" {
		d.model = e.ModelVersion
	}
	if d.usage.merge(e.Usage); d.usage != (usage{}) {
		if err := d.say(llm.Delta{Usage: new(d.usage.total())}); err != nil {
			return err
		}
	}
	if f := e.PromptFeedback; f.BlockReason != "" && len(e.Candidates) == 0 && len(d.blocks) == 0 {
		message := "the provider refused the prompt: " + f.BlockReason
		if f.BlockReasonMessage != "" {
			message += ": " + f.BlockReasonMessage
		}
		return &llm.Error{Kind: run.ErrRefused, Message: message}
	}
	for _, c := range e.Candidates {
		if c.Index != 0 {
			continue // only one was requested
		}
		for _, raw := range c.Content.Parts {
			if err := d.part(raw); err != nil {
				return err
			}
		}
		if err := d.finished(c.FinishReason, c.FinishMessage); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) part(raw json.RawMessage) error {
	var p wirePart
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("cannot decode a part: %w", err)
	}
	switch {
	case p.FunctionCall != nil:
		return d.callPart(p.FunctionCall, p.Signature)
	case p.Text != nil && *p.Text != "" && p.Thought:
		return d.more(run.ThinkingPart, *p.Text, p.Signature)
	case p.Text != nil && *p.Text != "":
		return d.more(run.TextPart, *p.Text, p.Signature)
	case p.Signature == "" && bare(raw):
		return nil
	}
	// A signature alone, or a part of another type.
	if err := d.closeWords(); err != nil {
		return err
	}
	return d.close(d.add(&block{kind: run.OpaquePart, raw: string(raw)}))
}

// more appends text or thinking. A signed part is never joined with another:
// "Don't concatenate parts with signatures together", thought-signatures.
func (d *decoder) more(kind run.PartType, s, signature string) error {
	if d.words == nil || d.words.kind != kind || signature != "" {
		if err := d.closeWords(); err != nil {
			return err
		}
		d.words = d.add(&block{kind: kind, signature: signature})
	}
	d.words.text = append(d.words.text, s...)
	delta := llm.Delta{Text: s}
	if kind == run.ThinkingPart {
		delta = llm.Delta{Thinking: s}
	}
	if err := d.say(delta); err != nil || signature == "" {
		return err
	}
	return d.closeWords()
}

// callPart adds a call, or, without a name while one is open, more of that call.
func (d *decoder) callPart(c *wireCall, signature string) error {
	arguments := c.arguments()
	if d.call == nil || c.Name != "" {
		if d.repeated(c, arguments) {
			return nil
		}
		if err := d.closeWords(); err != nil {
			return err
		}
		d.call = d.add(&block{kind: run.CallPart, id: c.ID, name: c.Name, open: true})
		if err := d.say(llm.Delta{Call: c.Name}); err != nil {
			return err
		}
	}
	b := d.call
	b.text = append(b.text, arguments...)
	if signature != "" {
		b.signature = signature
	}
	if arguments != "" {
		if err := d.say(llm.Delta{Input: arguments}); err != nil {
			return err
		}
	}
	if c.WillContinue {
		return nil
	}
	b.open, d.call = false, nil
	return d.close(b)
}

// repeated reports whether a call repeats an earlier one: all fields are equal, the id too.
// Two equal calls without ids are two calls.
func (d *decoder) repeated(c *wireCall, arguments string) bool {
	for _, b := range d.blocks {
		if b.kind == run.CallPart && c.ID != "" && b.id == c.ID && b.name == c.Name && string(b.text) == arguments {
			return true
		}
	}
	return false
}

func (d *decoder) add(b *block) *block {
	d.blocks = append(d.blocks, b)
	return b
}

func (d *decoder) closeWords() error {
	b := d.words
	if b == nil {
		return nil
	}
	d.words = nil
	return d.close(b)
}

// close yields a block that is finished.
func (d *decoder) close(b *block) error {
	part := b.part()
	return d.say(llm.Delta{Part: &part})
}

const malformed = "MALFORMED_FUNCTION_CALL"

// finished records a finish reason.
//
// A call that Google could not parse (malformed) becomes a call that never runs, with
// Google's message as its result for the model: the same request mostly leads to the same
// call, which is often too large, and a run counts such calls.
func (d *decoder) finished(reason, message string) error {
	switch reason {
	case "", "FINISH_REASON_UNSPECIFIED":
		return nil
	case "MISSING_THOUGHT_SIGNATURE":
		return &llm.Error{Kind: run.ErrInvalid, Message: "a thought signature is missing from the conversation: " + message}
	}
	if err := d.closeWords(); err != nil {
		return err
	}
	d.finish = reason
	if reason != malformed || d.calls() > 0 {
		return nil
	}
	if message == "" {
		message = malformed
	}
	return d.close(d.add(&block{kind: run.CallPart, text: []byte(message)}))
}

func (d *decoder) calls() int {
	n := 0
	for _, b := range d.blocks {
		if b.kind == run.CallPart {
			n++
		}
	}
	return n
}

// Answer returns the message.
func (d *decoder) Answer() *llm.Answer {
	a := &llm.Answer{Stop: d.stop(), Model: d.model, Usage: d.usage.total()}
	for i, b := range d.blocks {
		part := b.part()
		if part.Call != nil && d.finish == malformed {
			// Google does not say which of them it was: none of them runs.
			part.Call = wire.Call(b.id, b.name, string(b.text), true)
			part.Call.Fault = run.FaultNotJSON
		}
		a.Parts = append(a.Parts, part)
		if part.Call != nil && a.Stop == run.StopMaxTokens && i == len(d.blocks)-1 {
			wire.CutAtLimit(a.Parts, string(b.text))
		}
	}
	return a
}

// stop maps the finish reason on to ours. Names: FinishReason of Google's SDKs,
// read 2026-11-20. OTHER, UNEXPECTED_TOOL_CALL,
// TOO_MANY_TOOL_CALLS and unknown reasons have no meaning for a run.
func (d *decoder) stop() run.StopReason {
	switch d.finish {
	case "STOP":
		if d.calls() > 0 {
			return run.StopToolUse
		}
		return run.StopEndTurn
	case malformed:
		return run.StopToolUse
	case "MAX_TOKENS":
		return run.StopMaxTokens
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return run.StopFiltered
	}
	return run.StopReason(d.finish)
}
