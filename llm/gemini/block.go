package gemini

import (
	"encoding/json"
	"strings"

	"pawl/llm/wire"
	"pawl/run"
)

// A wirePart is a part of a content. One without any of these fields is code that Google
// ran, an image, or of an unknown type.
type wirePart struct {
	Text         *string   `json:"text"`
	Thought      bool      `json:"thought"`
	Signature    string    `json:"thoughtSignature"`
	FunctionCall *wireCall `json:"functionCall"`
}

// A wireCall is a call. Google sends it whole unless a request asks for pieces; some
// gateways send pieces by default.
type wireCall struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Args         json.RawMessage `json:"args"`
	PartialArgs  json.RawMessage `json:"partialArgs"`
	WillContinue bool            `json:"willContinue"`
}

// arguments returns the arguments in a piece of a call as text. Some gateways send them as
// a string that contains JSON.
func (c *wireCall) arguments() string {
	// Arguments by path, "$.a.b", are not assembled, because the result might be a call that
	// the model did not make. They are kept as they are, which makes the call invalid.
	text := string(c.PartialArgs)
	args := strings.TrimSpace(string(c.Args))
	var quoted string
	switch {
	case args == "" || args == "null":
	case args[0] == '"' && json.Unmarshal(c.Args, &quoted) == nil:
		text += quoted
	default:
		text += args
	}
	return text
}

// A block is a part as it grows.
type block struct {
	kind      run.PartType
	text      []byte // text, thinking; of a call its arguments
	signature string
	raw       string // of a part that is kept unchanged
	id, name  string // of a call
	open      bool   // a call's end has not arrived
}

// part returns the block as a part of a message.
func (b *block) part() run.Part {
	switch b.kind {
	case run.CallPart:
		return run.Part{Type: run.CallPart, Call: wire.Call(b.id, b.name, string(b.text), b.open), Signature: b.signature, Wire: Wire}
	case run.OpaquePart:
		return run.Part{Type: run.OpaquePart, Raw: b.raw, Wire: Wire}
	case run.ThinkingPart:
		return run.Part{Type: run.ThinkingPart, Text: string(b.text), Signature: b.signature, Wire: Wire}
	}
	part := run.Text(string(b.text))
	if b.signature != "" {
		part.Signature, part.Wire = b.signature, Wire
	}
	return part
}

// bare reports whether a part has no content; it may still have a signature.
func bare(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return false
	}
	var text string
	if said, ok := fields["text"]; !ok || json.Unmarshal(said, &text) == nil && wire.Blank(text) {
		delete(fields, "text")
	}
	delete(fields, "thought")
	delete(fields, "thoughtSignature")
	return len(fields) == 0
}
