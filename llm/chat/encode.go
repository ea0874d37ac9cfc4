package chat

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"pawl/internal/plainjson"
	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
	"pawl/schema"
)

// The messages that pawl makes. The role is first: body.go looks for it.
type (
	assistantMessage struct {
		Role             string            `json:"role"`
		Content          *string           `json:"content"` // null beside calls alone
		ReasoningContent *string           `json:"reasoning_content,omitempty"`
		Reasoning        *string           `json:"reasoning,omitempty"`
		Details          []json.RawMessage `json:"reasoning_details,omitempty"`
		Calls            []toolCall        `json:"tool_calls,omitempty"`
	}
	toolCall struct {
		ID       string          `json:"id"`
		Type     string          `json:"type"`
		Function calledFunction  `json:"function"`
		Extra    json.RawMessage `json:"extra_content,omitempty"`
	}
	calledFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	toolMessage struct {
		Role    string `json:"role"`
		CallID  string `json:"tool_call_id"`
		Content string `json:"content"`
	}
	userMessage struct {
		Role    string `json:"role"`
		Content any    `json:"content"` // a string, or a list of parts where there is an image
	}
	contentPart struct {
		Type         string    `json:"type"`
		Text         string    `json:"text,omitempty"`
		ImageURL     *imageURL `json:"image_url,omitempty"`
		CacheControl *marker   `json:"cache_control,omitempty"`
	}
	imageURL struct {
		URL string `json:"url"`
	}
	marker struct {
		Type string `json:"type"`
	}
	wireTool struct {
		Type     string       `json:"type"`
		Function toolFunction `json:"function"`
	}
	toolFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	responseFormat struct {
		Type       string       `json:"type"`
		JSONSchema outputSchema `json:"json_schema"`
	}
	outputSchema struct {
		Name   string          `json:"name"`
		Strict bool            `json:"strict"`
		Schema json.RawMessage `json:"schema"`
	}
)

// Encode returns m as messages of this wire, a JSON array: one for the assistant; for the
// user one for each result, in order, and one for text and images. It is nil if nothing of
// m can be sent.
//
// Text alone is sent as a string, never as a list of one: DeepSeek and several others
// accept nothing else. Images of results are sent in the user's message after them,
// because results are text on this wire. The dialect decides which reasoning is sent back.
func (p *Provider) Encode(m run.Message) (json.RawMessage, error) {
	var messages []any
	if m.Role == run.Assistant {
		a, ok := p.assistant(m.Parts)
		if !ok {
			return nil, nil
		}
		messages = []any{a}
	} else {
		messages = user(m.Parts)
	}
	if len(messages) == 0 {
		return nil, nil
	}
	return plainjson.Marshal(messages)
}

// wireID returns the id of a call on the wire: pawl's own, as nine letters and digits,
// which Mistral's models require wherever they run ("Tool call id
// was c_1 but must be a-z, A-Z, 0-9, with a length of 9"), and every server accepts.
func wireID(id run.CallID) string {
	if number, ok := strings.CutPrefix(string(id), "c_"); ok {
		if n, err := strconv.ParseUint(number, 10, 32); err == nil && n < 1e8 {
			return fmt.Sprintf("c%08d", n)
		}
	}
	h := fnv.New32a()
	h.Write([]byte(id)) // never fails
	return fmt.Sprintf("h%08x", h.Sum32())
}

// assistant returns an answer as one message; false if nothing of it can be sent.
func (p *Provider) assistant(parts []run.Part) (assistantMessage, bool) {
	d := p.dialect
	a := assistantMessage{Role: "assistant"}
	var texts []string
	var reasoning string
	var extra json.RawMessage
	for _, part := range parts {
		switch {
		case part.Type == run.TextPart && !wire.Blank(part.Text):
			texts = append(texts, part.Text)
		case part.Type == run.ThinkingPart && p.owns(part):
			reasoning += part.Text // unmodified
		case part.Type == run.OpaquePart && p.owns(part) && d.CallExtra && strings.HasPrefix(part.Raw, extraPrefix):
			var whole struct {
				Extra json.RawMessage `json:"extra_content"`
			}
			if json.Unmarshal([]byte(part.Raw), &whole) == nil {
				extra = whole.Extra
			}
		case part.Type == run.CallPart && part.Call != nil:
			a.Calls = append(a.Calls, toolCall{wireID(part.Call.ID), "function",
				calledFunction{wire.ToolName(part.Call.Tool), string(wire.Arguments(part.Call))}, extra})
			extra = nil
		}
	}
	if len(texts) == 0 && len(a.Calls) == 0 {
		return a, false
	}
	if len(texts) > 0 {
		text := strings.Join(texts, "\n")
		a.Content = &text
	}
	switch {
	case d.Reasoning == ReasoningContent && len(a.Calls) > 0:
		a.ReasoningContent = &reasoning
	case d.Reasoning == ReasoningText && len(a.Calls) > 0:
		a.Reasoning = &reasoning
	case d.Reasoning == ReasoningDetails:
		a.Details = p.details(parts)
		if len(a.Details) == 0 && reasoning != "" {
			a.Reasoning = &reasoning
		}
	}
	return a, true
}

// owns reports whether reasoning came from this server. Logs from before reasoning was
// marked with its server have the name of the wire; it is left out if the server refuses
// it.
func (p *Provider) owns(part run.Part) bool { return part.Wire == p.origin || part.Wire == Wire }

// user returns results, followed by text and images.
func user(parts []run.Part) []any {
	var messages []any
	var content []contentPart
	for _, part := range parts {
		if part.Type != run.ResultPart || part.Result == nil {
			continue
		}
		id := wireID(part.Result.Call)
		text, images := result(*part.Result)
		messages = append(messages, toolMessage{"tool", id, text})
		if len(images) > 0 {
			content = append(append(content, contentPart{Type: "text", Text: "Images of the result of call " + id + ":"}), images...)
		}
	}
	for _, part := range parts {
		if c, ok := userPart(part); ok {
			content = append(content, c)
		}
	}
	if len(content) == 0 {
		return messages
	}
	return append(messages, userMessage{"user", simplest(content)})
}

// simplest returns parts as a string if they are text only.
func simplest(content []contentPart) any {
	texts := make([]string, len(content))
	for i, c := range content {
		if c.Type != "text" {
			return content
		}
		texts[i] = c.Text
	}
	return strings.Join(texts, "\n\n")
}

// userPart returns a text or an image; false for a part that is not sent.
func userPart(part run.Part) (contentPart, bool) {
	switch {
	case part.Type == run.TextPart && !wire.Blank(part.Text):
		return contentPart{Type: "text", Text: part.Text}, true
	case part.Type == run.ImagePart && part.Image != nil:
		if !wire.Shows(part.Image) {
			return contentPart{Type: "text", Text: wire.LeftOut(part.Image)}, true
		}
		return contentPart{Type: "image_url", ImageURL: &imageURL{wire.DataURL(part.Image)}}, true
	}
	return contentPart{}, false
}

// errorMark begins the result of a call that failed: the wire has no field for it.
const errorMark = "Error: "

// result returns the text of a result, never empty (some servers refuse that), and
// its images.
func result(r run.Result) (text string, images []contentPart) {
	var texts []string
	for _, part := range r.Content {
		switch c, ok := userPart(part); {
		case !ok:
		case c.Type == "text":
			texts = append(texts, c.Text)
		default:
			images = append(images, c)
		}
	}
	text = strings.Join(texts, "\n")
	switch {
	case r.IsError && text == "":
		text = errorMark + "the call failed without a message."
	case r.IsError:
		text = errorMark + text
	case text == "" && len(images) > 0:
		text = "(the result is the images that follow)"
	case text == "":
		text = "(no output)"
	}
	return text, images
}

// EncodeTool returns t in the API's form, without strict, which is off by default: pawl
// validates arguments.
func (p *Provider) EncodeTool(t llm.Tool) (json.RawMessage, error) {
	adapted, err := wire.ToolSchema(schema.OpenAI, t)
	if err != nil {
		return nil, err
	}
	return plainjson.Marshal(wireTool{"function", toolFunction{t.Name, t.Description, adapted}})
}

// EncodeOutput returns a schema as response_format.
func (p *Provider) EncodeOutput(authored json.RawMessage) (json.RawMessage, error) {
	target := schema.OpenAIStrict
	switch p.dialect.Output {
	case NoOutput:
		name := p.dialect.Name
		if name == "" {
			name = "this server"
		}
		return nil, fmt.Errorf("%s does not promise answers that fit a schema", name)
	case SchemaOutput:
		target = schema.OpenAI
	}
	adapted, err := schema.Adapt(target, authored)
	if err != nil {
		return nil, err
	}
	return plainjson.Marshal(responseFormat{"json_schema", outputSchema{"answer", true, adapted.Schema}})
}
