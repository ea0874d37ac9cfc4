package anthropic

import (
	"encoding/json"

	"pawl/llm/wire"
	"pawl/run"
)

// A wireBlock is a content block as a stream starts it.
type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// A wireDelta is an addition to a content block.
type wireDelta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
}

// A block is a content block as it grows.
type block struct {
	kind      string
	open      bool
	text      []byte // text, thinking
	signature string
	id, name  string          // of a call
	input     []byte          // the fragments of a call's arguments
	given     json.RawMessage // arguments that came with the start
	raw       json.RawMessage // a block that is kept as it came
	extra     []json.RawMessage
}

// part returns the block as a part of a message; false for one that is not
// worth keeping. A block that was not closed keeps its text, but never its call.
func (b *block) part(origin string) (run.Part, bool) {
	switch b.kind {
	case "text":
		return run.Text(string(b.text)), len(b.text) > 0
	case "thinking":
		// A provider that does not show its thinking sends it signed, without text.
		return run.Part{Type: run.ThinkingPart, Text: string(b.text), Signature: b.signature, Wire: origin},
			len(b.text) > 0 || b.signature != ""
	case "tool_use":
		return run.Part{Type: run.CallPart, Call: wire.Call(b.id, b.name, b.arguments(), b.open)}, true
	}
	if b.open {
		return run.Part{}, false
	}
	raw, ok := b.whole()
	return run.Part{Type: run.OpaquePart, Wire: origin, Raw: string(raw)}, ok
}

// arguments returns what came as a call's arguments.
func (b *block) arguments() string {
	if len(b.input) > 0 {
		return string(b.input)
	}
	return string(b.given)
}

// whole returns a block of an unknown type in the form in which it is sent back: as it
// started, with the input and the other additions. It returns false if that is not
// possible.
func (b *block) whole() (json.RawMessage, bool) {
	if len(b.raw) == 0 || b.raw[0] != '{' {
		return nil, false
	}
	if len(b.input) == 0 && len(b.extra) == 0 {
		return b.raw, true // byte for byte
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(b.raw, &fields) != nil {
		return nil, false
	}
	if len(b.input) > 0 {
		if !json.Valid(b.input) {
			return nil, false
		}
		fields["input"] = b.input
	}
	for _, delta := range b.extra {
		var more map[string]json.RawMessage
		if json.Unmarshal(delta, &more) != nil {
			return nil, false
		}
		for name, value := range more {
			if name != "type" {
				fields[name] = grown(fields[name], value)
			}
		}
	}
	raw, err := json.Marshal(fields)
	return raw, err == nil
}

// grown returns a field of a block after an addition: strings are appended to, anything
// else is replaced.
func grown(have, more json.RawMessage) json.RawMessage {
	var a, b string
	if json.Unmarshal(have, &a) != nil || json.Unmarshal(more, &b) != nil || a == "" {
		return more
	}
	joined, _ := json.Marshal(a + b) // a string can always be encoded
	return joined
}
