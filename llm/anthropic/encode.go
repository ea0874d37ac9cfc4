package anthropic

import (
	"encoding/json"
	"strings"

	"pawl/llm/wire"
	"pawl/run"
)

// The content blocks that pawl makes.
type (
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingBlock struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	toolUseBlock struct {
		Type  string          `json:"type"`
		ID    run.CallID      `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	toolResultBlock struct {
		Type    string     `json:"type"`
		CallID  run.CallID `json:"tool_use_id"`
		IsError bool       `json:"is_error,omitempty"`
		Content []any      `json:"content,omitempty"`
	}
	imageBlock struct {
		Type   string      `json:"type"`
		Source imageSource `json:"source"`
	}
	imageSource struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      []byte `json:"data"`
	}
)

// Encode returns the content blocks of m as a JSON array, nil when nothing of it
// can be sent.
//
// Calls have pawl's own id, not the provider's: it is unique in the run by construction,
// calls of every provider have one, and results refer to it. The API requires of an id
// only that it is unique, consists of letters, digits, _ and -, and is the same in the
// result.
//
// What the API refuses is left out or corrected here, always in the same way, so that
// the bytes of a conversation stay the same from step to step: blank text blocks,
// white space at the end of an assistant message and thinking there (refused when
// that message is the last), thinking without a signature or of another wire.
func (p *Provider) Encode(m run.Message) (json.RawMessage, error) {
	var b wire.Array
	if m.Role == run.Assistant {
		for _, part := range p.sendable(m.Parts) {
			addAssistant(&b, part)
		}
		return b.Bytes()
	}
	for _, part := range m.Parts { // results stand before words
		if part.Type == run.ResultPart && part.Result != nil {
			b.Add(toolResult(*part.Result))
		}
	}
	for _, part := range m.Parts {
		if block := userBlock(part); block != nil {
			b.Add(block)
		}
	}
	return b.Bytes()
}

// sendable returns the parts of an assistant message that go to this server, with
// an end that the API accepts. It does not change parts.
func (p *Provider) sendable(parts []run.Part) []run.Part {
	kept := make([]run.Part, 0, len(parts))
	for _, part := range parts {
		if wire.Sendable(part, p.origin) {
			kept = append(kept, part)
		}
	}
	for len(kept) > 0 {
		last := &kept[len(kept)-1]
		if last.Type != run.ThinkingPart && !(last.Type == run.OpaquePart && wire.TypeOf([]byte(last.Raw)) == "redacted_thinking") {
			if last.Type == run.TextPart {
				last.Text = strings.TrimRight(last.Text, " \t\r\n")
			}
			break
		}
		kept = kept[:len(kept)-1]
	}
	return kept
}

// addAssistant adds a part of an answer.
func addAssistant(b *wire.Array, part run.Part) {
	switch part.Type {
	case run.TextPart:
		b.Add(textBlock{"text", part.Text})
	case run.ThinkingPart:
		b.Add(thinkingBlock{"thinking", part.Text, part.Signature})
	case run.OpaquePart:
		b.Add(json.RawMessage(part.Raw)) // byte for byte
	case run.CallPart:
		b.Add(toolUseBlock{"tool_use", part.Call.ID, wire.ToolName(part.Call.Tool), wire.Arguments(part.Call)})
	}
}

// userBlock returns what a part of a user message or of a result is on this
// wire; nil if it is not sent.
func userBlock(part run.Part) any {
	switch {
	case part.Type == run.TextPart && !wire.Blank(part.Text):
		return textBlock{"text", part.Text}
	case part.Type == run.ImagePart && part.Image != nil:
		if !wire.Shows(part.Image) {
			return textBlock{"text", wire.LeftOut(part.Image)}
		}
		return imageBlock{"image", imageSource{"base64", part.Image.MediaType, part.Image.Data}}
	}
	return nil
}

func toolResult(r run.Result) toolResultBlock {
	block := toolResultBlock{Type: "tool_result", CallID: r.Call, IsError: r.IsError}
	for _, part := range r.Content {
		if content := userBlock(part); content != nil {
			block.Content = append(block.Content, content)
		}
	}
	if r.IsError && len(block.Content) == 0 {
		// "content cannot be empty if is_error is true", says the API.
		block.Content = []any{textBlock{"text", "The call failed without a message."}}
	}
	return block
}
