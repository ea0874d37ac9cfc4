package gemini

import (
	"encoding/json"
	"fmt"
	"strings"

	"pawl/llm/wire"
	"pawl/run"
)

// unchecked stands for the signature of a call that this wire did not sign: one of
// another provider, or one that is not sent as it came. Without any, models since
// Gemini 3, and some older ones, refuse the conversation ("Function call is missing a
// thought_signature"); with this one they do not check it. Only the first call of an
// answer needs one. The value is Google's own, "to skip validation"
// (ai.google.dev/gemini-api/docs/thought-signatures, FAQ, as elastic/kibana #243463
// quotes it; gemini-cli and pydantic-ai send it to all models; read 2026-11-20).
const unchecked = "skip_thought_signature_validator"

// The parts that pawl makes.
type (
	textPart struct {
		Text      string `json:"text"`
		Thought   bool   `json:"thought,omitempty"`
		Signature string `json:"thoughtSignature,omitempty"`
	}
	callPart struct {
		of        run.CallID
		Call      functionCall `json:"functionCall"`
		Signature string       `json:"thoughtSignature,omitempty"`
	}
	functionCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	imagePart struct {
		Data inlineData `json:"inlineData"`
	}
	inlineData struct {
		MIMEType string `json:"mimeType"`
		Data     []byte `json:"data"`
	}
	// A response is what a result is: "Use 'output' key to specify function output
	// and 'error' key to specify error details" (FunctionResponse of Google's SDKs,
	// read 2026-11-20).
	response struct {
		Output *string `json:"output,omitempty"`
		Error  *string `json:"error,omitempty"`
	}
)

// Encode returns m as a JSON array from which a body is assembled; nil if nothing of it can
// be sent. What requestBody looks for is on lines of its own, so that it is found without
// parsing JSON:
//
//   - of an answer, for each call three lines with pawl's id, the function's name and
//     the id on this wire, then all parts together;
//   - of the user, a line with a call's id and one with its response for each
//     result, then the other parts.
//
// Calls have the provider's id if this wire assigned one, and otherwise none: older models
// assign none and some gateways do not know the field; results are then matched by order.
//
// What the API refuses is left out or corrected here, always in the same way, so that
// the bytes of a conversation stay the same from step to step: blank text, thinking
// without a signature (the API does not need it) or of another wire.
func (p *Provider) Encode(m run.Message) (json.RawMessage, error) {
	var l lines
	if m.Role == run.Assistant {
		l.answer(m.Parts, m.Rev > 0)
	} else {
		l.user(m.Parts)
	}
	return l.Bytes()
}

// lines is an encoded message that is being written.
type lines struct{ wire.Array }

// add adds an element on a line of its own.
func (l *lines) add(v any) { l.AddAfter(",\n", v) }

// answer adds the parts of an answer. In a rewritten one, arguments were shortened.
func (l *lines) answer(parts []run.Part, rewritten bool) {
	var encoded []any
	var calls []*callPart
	says := false
	for _, part := range parts {
		own := part.Wire == Wire
		switch part.Type {
		case run.TextPart:
			text := textPart{Text: part.Text}
			if own {
				text.Signature = part.Signature
			}
			if wire.Blank(text.Text) && text.Signature == "" {
				continue
			}
			says = says || !wire.Blank(text.Text)
			encoded = append(encoded, text)
		case run.ThinkingPart:
			if own && part.Signature != "" {
				encoded = append(encoded, textPart{part.Text, true, part.Signature})
			}
		case run.OpaquePart:
			if own && wire.IsObject(part.Raw) {
				says = says || !bare([]byte(part.Raw))
				encoded = append(encoded, json.RawMessage(part.Raw))
			}
		case run.CallPart:
			if part.Call == nil {
				continue
			}
			call := encodeCall(part, rewritten)
			if len(calls) == 0 && call.Signature == "" {
				call.Signature = unchecked
			}
			says = true
			calls = append(calls, call)
			encoded = append(encoded, call)
		}
	}
	if !says {
		return // only signatures
	}
	withoutRepeats(calls)
	for _, call := range calls {
		l.add(call.of)
		l.add(call.Call.Name)
		l.add(call.Call.ID)
	}
	for i, part := range encoded {
		if i == 0 {
			l.add(part)
		} else {
			l.Add(part)
		}
	}
}

// encodeCall returns a call as it arrived. A call that is changed no longer fits its
// signature.
func encodeCall(part run.Part, rewritten bool) *callPart {
	c := part.Call
	call := &callPart{of: c.ID, Call: functionCall{Name: functionName(c.Tool), Args: wire.Arguments(c)}}
	if part.Wire != Wire {
		return call
	}
	call.Call.ID = c.ProviderID
	if c.Fault == run.NoFault && call.Call.Name == c.Tool && !rewritten {
		call.Signature = part.Signature
	}
	return call
}

// withoutRepeats removes the ids from an answer in which two calls have the same id, because
// they do not identify the call.
func withoutRepeats(calls []*callPart) {
	seen := map[string]bool{}
	for _, c := range calls {
		if seen[c.Call.ID] {
			for _, c := range calls {
				c.Call.ID = ""
			}
			return
		}
		seen[c.Call.ID] = c.Call.ID != ""
	}
}

// functionName returns a name that the API accepts in a call.
func functionName(tool string) string {
	name := wire.ToolName(tool)
	if name[0] == '-' || '0' <= name[0] && name[0] <= '9' {
		name = "_" + name[:min(len(name), 63)]
	}
	return name
}

// user adds the parts of a user message, results before text. Only models since Gemini 3
// accept images in a result, so for all models images follow the results, with a note of
// which result they are from.
func (l *lines) user(parts []run.Part) {
	for _, part := range parts {
		if part.Type == run.ResultPart && part.Result != nil {
			l.add(string(part.Result.Call))
			l.add(encodeResult(*part.Result))
		}
	}
	n := 0
	for _, part := range parts {
		if part.Type != run.ResultPart || part.Result == nil {
			continue
		}
		n++
		for _, content := range part.Result.Content {
			if content.Type != run.ImagePart || content.Image == nil {
				continue
			}
			image := encodeImage(*content.Image)
			if _, ok := image.(imagePart); ok {
				l.add(textPart{Text: fmt.Sprintf("[image in the result of call %d]", n)})
				l.add(image)
			}
		}
	}
	for _, part := range parts {
		switch {
		case part.Type == run.TextPart && !wire.Blank(part.Text):
			l.add(textPart{Text: part.Text})
		case part.Type == run.ImagePart && part.Image != nil:
			l.add(encodeImage(*part.Image))
		}
	}
}

// encodeResult returns the text of a result.
func encodeResult(r run.Result) response {
	var texts []string
	for _, part := range r.Content {
		switch {
		case part.Type == run.TextPart && !wire.Blank(part.Text):
			texts = append(texts, part.Text)
		case part.Type == run.ImagePart && part.Image != nil:
			if words, ok := encodeImage(*part.Image).(textPart); ok {
				texts = append(texts, words.Text)
			} else {
				texts = append(texts, "[the image follows]")
			}
		}
	}
	text := strings.Join(texts, "\n")
	if !r.IsError {
		return response{Output: &text}
	}
	if text == "" {
		text = "The call failed without a message."
	}
	return response{Error: &text}
}

// encodeImage returns an image, or text if the API does not accept it: it accepts
// PNG, JPEG, WebP, HEIC and HEIF (docs.cloud.google.com, image understanding, and
// discuss.ai.google.dev 71468 on GIF; read 2026-11-20) and refuses any other together with the whole request.
func encodeImage(i run.Image) any {
	if !wire.Shows(&i, "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif") {
		return textPart{Text: wire.LeftOut(&i)}
	}
	return imagePart{inlineData{i.MediaType, i.Data}}
}
