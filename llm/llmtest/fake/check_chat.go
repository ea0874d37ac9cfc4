package fake

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"pawl/internal/lazy"
	"slices"
	"strings"
)

// What Chat Completions takes, as far as pawl sends it. Names and rules:
// platform.openai.com/docs/api-reference/chat and the API's error messages as
// clients' issues quote them; the taking of turns and the ids are Mistral's rules
// (mistralai/mistral-common, validator.py), the strings for text alone DeepSeek's,
// the reasoning OpenRouter's; read 2026-11-20. Fields that pawl does not send are
// unknown here.
type (
	chatRequest struct {
		Model         string            `json:"model"`
		Stream        bool              `json:"stream"`
		StreamOptions *streamOptions    `json:"stream_options"`
		MaxTokens     *int              `json:"max_tokens"`
		MaxCompletion *int              `json:"max_completion_tokens"`
		Effort        string            `json:"reasoning_effort"`
		Tools         []json.RawMessage `json:"tools"`
		ToolChoice    string            `json:"tool_choice"`
		Format        *responseFormat   `json:"response_format"`
		Messages      []json.RawMessage `json:"messages"`

		messages []chatMessage
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	responseFormat struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Name   string          `json:"name"`
			Strict *bool           `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	chatTool struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	// A chatMessage is what was understood of a message.
	chatMessage struct {
		role, text string
		callID     string   // of a result
		calls      []string // ids
	}
)

// mistralIDs is what Mistral asks of the id of a call; all others take it too.
var mistralIDs = lazy.Regexp(`^[a-zA-Z0-9]{9}$`)

// openAIEfforts are the levels of reasoning that OpenAI's APIs know; no model has all of them.
var openAIEfforts = []string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"}

// checkChat reads a request; an error is what the API would say, or, where the API
// mends what pawl should not send, what it should.
func checkChat(h http.Header, body []byte) (*chatRequest, error) {
	if !strings.HasPrefix(h.Get("Content-Type"), "application/json") {
		return nil, fmt.Errorf("you must provide a Content-Type of application/json")
	}
	var r chatRequest
	if err := strict(body, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Model == "":
		return nil, fmt.Errorf("you must provide a model parameter")
	case !r.Stream:
		return nil, fmt.Errorf("stream: this server only streams")
	case r.MaxTokens != nil && r.MaxCompletion != nil:
		return nil, fmt.Errorf("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case r.MaxTokens != nil && *r.MaxTokens < 1 || r.MaxCompletion != nil && *r.MaxCompletion < 1:
		return nil, fmt.Errorf("Invalid 'max_tokens': integer below minimum value. Expected a value >= 1")
	case r.Tools != nil && len(r.Tools) == 0:
		return nil, fmt.Errorf("[] is too short - 'tools'")
	case !slices.Contains(openAIEfforts, r.Effort):
		return nil, fmt.Errorf("Invalid value: '%s'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'.", r.Effort)
	case r.ToolChoice != "" && len(r.Tools) == 0:
		return nil, fmt.Errorf("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	case r.ToolChoice != "" && !slices.Contains([]string{"none", "auto", "required"}, r.ToolChoice):
		return nil, fmt.Errorf("Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", r.ToolChoice)
	}
	if err := r.checkFormat(); err != nil {
		return nil, err
	}
	if err := r.checkTools(); err != nil {
		return nil, err
	}
	if err := r.checkMessages(); err != nil {
		return nil, err
	}
	return &r, nil
}

func (r *chatRequest) checkFormat() error {
	if r.Format == nil {
		return nil
	}
	f := r.Format.JSONSchema
	var schema struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional *bool                      `json:"additionalProperties"`
	}
	switch {
	case r.Format.Type != "json_schema":
		return fmt.Errorf("Invalid value: '%s'. Supported values are: 'json_schema'.", r.Format.Type)
	case !toolNames().MatchString(f.Name):
		return fmt.Errorf("Invalid 'response_format.json_schema.name': string does not match pattern '%s'", toolNames())
	case json.Unmarshal(f.Schema, &schema) != nil || schema.Type != "object":
		return fmt.Errorf("Invalid schema for response_format '%s': schema must be a JSON Schema of 'type: \"object\"'", f.Name)
	case f.Strict == nil || !*f.Strict:
		return nil
	case schema.Additional == nil || *schema.Additional:
		return fmt.Errorf("Invalid schema for response_format '%s': 'additionalProperties' is required to be supplied and to be false", f.Name)
	}
	for name := range schema.Properties {
		if !slices.Contains(schema.Required, name) {
			return fmt.Errorf("Invalid schema for response_format '%s': 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'", f.Name, name)
		}
	}
	return nil
}

func (r *chatRequest) checkTools() error {
	names := map[string]bool{}
	for i, raw := range r.Tools {
		var t chatTool
		if err := strict(raw, &t); err != nil {
			return fmt.Errorf("tools[%d]: %w", i, err)
		}
		var schema struct{ Type string }
		switch name := t.Function.Name; {
		case t.Type != "function":
			return fmt.Errorf("Invalid value: '%s'. Supported values are: 'function'.", t.Type)
		case !toolNames().MatchString(name):
			return fmt.Errorf("Invalid 'tools[%d].function.name': string does not match pattern. Expected a string that matches the pattern '%s'.", i, toolNames())
		case names[name]:
			return fmt.Errorf("Tool names must be unique: %s", name)
		case json.Unmarshal(t.Function.Parameters, &schema) != nil || schema.Type != "object":
			return fmt.Errorf("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"'", name)
		}
		names[t.Function.Name] = true
	}
	return nil
}

func (r *chatRequest) checkMessages() error {
	seen := map[string]bool{} // ids of all calls
	var owed []string         // calls that have no result yet, in their order
	before := ""
	for i, raw := range r.Messages {
		m, err := checkMessage(raw)
		if err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		if m.role != "tool" && len(owed) > 0 {
			return fmt.Errorf("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(owed, ", "))
		}
		switch m.role {
		case "system", "developer":
			if i != 0 {
				return fmt.Errorf("messages[%d]: the system message must be the first", i)
			}
		case "user":
			if before == "user" {
				return fmt.Errorf("messages[%d]: roles must alternate", i)
			}
		case "assistant":
			if before != "user" && before != "tool" {
				return fmt.Errorf("messages[%d]: roles must alternate", i)
			}
			for _, id := range m.calls {
				if seen[id] {
					return fmt.Errorf("messages[%d]: duplicate tool call id %s", i, id)
				}
				seen[id] = true
			}
			owed = m.calls
		case "tool":
			switch {
			case !slices.Contains(owed, m.callID):
				return fmt.Errorf("messages[%d]: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", i)
			case owed[0] != m.callID:
				return fmt.Errorf("messages[%d]: pawl sends results in the order of their calls", i)
			}
			owed = owed[1:]
		}
		before = m.role
		r.messages = append(r.messages, m)
	}
	switch {
	case len(owed) > 0:
		return fmt.Errorf("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(owed, ", "))
	case before == "assistant":
		return fmt.Errorf("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")
	case before != "user" && before != "tool":
		return fmt.Errorf("Invalid 'messages': empty array. Expected an array with minimum length 1")
	}
	return nil
}

// checkMessage reads one message.
func checkMessage(raw json.RawMessage) (chatMessage, error) {
	var kind struct {
		Role string `json:"role"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return chatMessage{}, err
	}
	m := chatMessage{role: kind.Role}
	var err error
	switch kind.Role {
	case "system", "developer", "user":
		var f struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if err = strict(raw, &f); err == nil {
			m.text, err = checkContent(f.Content, kind.Role == "user")
		}
	case "assistant":
		return checkAssistant(raw)
	case "tool":
		var f struct {
			Role    string          `json:"role"`
			CallID  string          `json:"tool_call_id"`
			Content json.RawMessage `json:"content"`
		}
		if err = strict(raw, &f); err == nil {
			m.callID = f.CallID
			m.text, err = checkContent(f.Content, false)
		}
	default:
		return m, fmt.Errorf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'.", kind.Role)
	}
	return m, err
}

func checkAssistant(raw json.RawMessage) (chatMessage, error) {
	m := chatMessage{role: "assistant"}
	var f struct {
		Role             string            `json:"role"`
		Content          *string           `json:"content"`
		ReasoningContent *string           `json:"reasoning_content"`
		Reasoning        *string           `json:"reasoning"`
		Details          []json.RawMessage `json:"reasoning_details"`
		Calls            []struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := strict(raw, &f); err != nil {
		return m, err
	}
	switch {
	case f.Content == nil && len(f.Calls) == 0:
		return m, fmt.Errorf("Assistant message must have either content or tool_calls, but not none.")
	case f.Content != nil && strings.TrimSpace(*f.Content) == "":
		return m, fmt.Errorf("content: pawl sends no blank text")
	case f.Content != nil:
		m.text = *f.Content
	}
	for i, c := range f.Calls {
		switch {
		case !mistralIDs().MatchString(c.ID):
			return m, fmt.Errorf("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", c.ID)
		case c.Type != "function":
			return m, fmt.Errorf("tool_calls[%d].type: Invalid value: '%s'", i, c.Type)
		case !toolNames().MatchString(c.Function.Name):
			return m, fmt.Errorf("Invalid 'tool_calls[%d].function.name': string does not match pattern '%s'", i, toolNames())
		case !strings.HasPrefix(c.Function.Arguments, "{") || !json.Valid([]byte(c.Function.Arguments)):
			return m, fmt.Errorf("tool_calls[%d].function.arguments: Input should be a valid JSON object as a string", i)
		}
		m.calls = append(m.calls, c.ID)
	}
	for i, raw := range f.Details {
		if err := checkDetail(raw); err != nil {
			return m, fmt.Errorf("reasoning_details[%d]: %w", i, err)
		}
	}
	return m, nil
}

// checkDetail checks that reasoning came back as it was given.
func checkDetail(raw json.RawMessage) error {
	var f struct {
		Type      string `json:"type"`
		Index     int    `json:"index"`
		Format    string `json:"format"`
		Text      string `json:"text"`
		Signature string `json:"signature"`
		Data      string `json:"data"`
	}
	if err := strict(raw, &f); err != nil {
		return err
	}
	switch {
	case f.Type == "reasoning.text" && f.Signature == sign(f.Text) && f.Format != "":
	case f.Type == "reasoning.encrypted" && f.Data != "":
	case f.Type == "reasoning.text":
		return fmt.Errorf("Invalid `signature` in `thinking` block")
	default:
		return fmt.Errorf("Invalid value: '%s'", f.Type)
	}
	return nil
}

// checkContent reads the content of a message and returns its text. Images are
// taken from the user alone.
func checkContent(raw json.RawMessage, images bool) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		if strings.TrimSpace(text) == "" {
			return "", fmt.Errorf("content: pawl sends no blank text")
		}
		return text, nil
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL *struct {
			URL string `json:"url"`
		} `json:"image_url"`
		CacheControl *cacheControl `json:"cache_control"`
	}
	if err := strict(raw, &parts); err != nil {
		return "", fmt.Errorf("content: %w", err)
	}
	needed := false // a list is for what a string cannot say
	for i, p := range parts {
		switch {
		case p.Type == "text" && strings.TrimSpace(p.Text) == "":
			return "", fmt.Errorf("content[%d].text: text content must be non-empty", i)
		case p.Type == "text":
			text = joined(text, p.Text)
			needed = needed || p.CacheControl != nil
		case p.Type == "image_url" && images && p.ImageURL != nil:
			needed = true
			if err := checkDataURL(p.ImageURL.URL); err != nil {
				return "", fmt.Errorf("content[%d].image_url: %w", i, err)
			}
		default:
			return "", fmt.Errorf("content[%d]: Content blocks are expected to be either text or image_url type, and images the user's.", i)
		}
	}
	if !needed {
		return "", fmt.Errorf("content: invalid type: sequence, expected a string")
	}
	return text, nil
}

func checkDataURL(url string) error {
	kind, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	decoded, err := base64.StdEncoding.DecodeString(data)
	if !ok || err != nil || len(decoded) == 0 {
		return fmt.Errorf("Invalid image data: it is no base64 data URL")
	}
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return fmt.Errorf("You uploaded an unsupported image. Please make sure your image has one of the following formats: ['png', 'jpeg', 'gif', 'webp'].")
	}
	return nil
}
