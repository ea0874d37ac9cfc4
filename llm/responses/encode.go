package responses

import (
	"encoding/json"

	"pawl/llm/wire"
	"pawl/run"
)

// The items and contents that pawl makes.
type (
	messageItem struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Content any    `json:"content"`
		Phase   string `json:"phase,omitempty"`
	}
	callItem struct {
		Type      string     `json:"type"`
		CallID    run.CallID `json:"call_id"`
		Name      string     `json:"name"`
		Arguments string     `json:"arguments"`
	}
	outputItem struct {
		Type   string     `json:"type"`
		CallID run.CallID `json:"call_id"`
		Output any        `json:"output"`
	}
	inputText struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	inputImage struct {
		Type   string `json:"type"`
		URL    string `json:"image_url"`
		Detail string `json:"detail"` // auto is the default; some servers require it
	}
)

// errorMark begins the text of a result that is an error: the API has no field for it.
const errorMark = "Error: "

// Encode returns the items of m as a JSON array; nil if nothing of it can be sent.
//
// Calls have pawl's own id as their call_id: it is unique in the run by construction (a
// recorded server repeats its own from answer to answer), calls of every provider have one,
// and results refer to it. Items that pawl makes have no id of their own: with an id the API
// looks for the items that were around it and refuses the request if one is changed or
// missing. Reasoning keeps its id, because it is sent back byte for byte.
//
// Reasoning must be followed by the item that it led to ("Item 'rs_…' of type 'reasoning'
// was provided without its required following item"): at the end of a message it is
// dropped.
func (p *Provider) Encode(m run.Message) (json.RawMessage, error) {
	var a wire.Array
	if m.Role == run.Assistant {
		for _, part := range p.sendable(m.Parts) {
			addAssistant(&a, part)
		}
		return a.Bytes()
	}
	for _, part := range m.Parts { // results before text
		if part.Type == run.ResultPart && part.Result != nil {
			a.Add(outputItem{"function_call_output", part.Result.Call, output(*part.Result)})
		}
	}
	if words := contents(m.Parts); len(words) > 0 {
		a.Add(messageItem{"message", "user", words, ""})
	}
	return a.Bytes()
}

// sendable returns the parts of an assistant message that are sent to this server.
func (p *Provider) sendable(parts []run.Part) []run.Part {
	kept := make([]run.Part, 0, len(parts))
	end := 0 // after the last that is not reasoning
	for _, part := range parts {
		// Reasoning is an item that is its own signature. One without it was not finished,
		// or the server cannot read it again.
		reasoning := part.Type == run.ThinkingPart || part.Type == run.OpaquePart && wire.TypeOf([]byte(part.Raw)) == reasoningItemType
		switch {
		case !wire.Sendable(part, p.origin), part.Type == run.ThinkingPart && !wire.IsObject(part.Signature):
			continue
		case part.Type == run.TextPart && part.Wire != p.origin:
			part.Signature = ""
		}
		kept = append(kept, part)
		if !reasoning {
			end = len(kept)
		}
	}
	return kept[:end]
}

// output returns a result's content: text, or a list if there are images.
func output(r run.Result) any {
	content := contents(r.Content)
	text, plain := "", true
	for i, c := range content {
		t, ok := c.(inputText)
		plain = plain && ok
		if i > 0 {
			text += "\n"
		}
		text += t.Text
	}
	switch {
	case plain && r.IsError && text == "":
		return errorMark + "the call failed without a message."
	case plain && r.IsError:
		return errorMark + text
	case plain:
		return text
	case r.IsError:
		return append([]any{inputText{"input_text", errorMark + "the call failed."}}, content...)
	}
	return content
}

// contents returns the text and images of a user message or a result.
func contents(parts []run.Part) []any {
	var all []any
	for _, part := range parts {
		switch {
		case part.Type == run.TextPart && !wire.Blank(part.Text):
			all = append(all, inputText{"input_text", part.Text})
		case part.Type == run.ImagePart && part.Image != nil:
			all = append(all, image(part.Image))
		}
	}
	return all
}

// image returns an image, or text in its place.
// platform.openai.com/docs/guides/images-vision, read 2026-11-20.
func image(i *run.Image) any {
	if !wire.Shows(i) {
		return inputText{"input_text", wire.LeftOut(i)}
	}
	return inputImage{"input_image", wire.DataURL(i), "auto"}
}

// addAssistant adds a part of an answer.
func addAssistant(a *wire.Array, part run.Part) {
	switch part.Type {
	case run.TextPart:
		// Every server of this API accepts text of the assistant as a plain string. Its
		// phase, if it has one, must be sent back: "dropping it
		// can degrade performance" (openai-python, easy_input_message.py).
		a.Add(messageItem{"message", "assistant", part.Text, part.Signature})
	case run.ThinkingPart:
		a.Add(json.RawMessage(part.Signature)) // byte for byte
	case run.OpaquePart:
		a.Add(json.RawMessage(part.Raw)) // byte for byte
	case run.CallPart:
		a.Add(callItem{"function_call", part.Call.ID, wire.ToolName(part.Call.Tool), string(wire.Arguments(part.Call))})
	}
}
