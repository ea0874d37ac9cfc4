package fake

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"pawl/internal/lazy"
	"slices"
	"strings"
)

// What the Messages API takes, as far as pawl sends it. Names and rules:
// platform.claude.com/docs/en/api/messages, the SDK v1.84.0, and the API's error
// messages as clients' issues quote them; read 2026-11-20. Fields that pawl does
// not send are unknown here.
type (
	anthropicRequest struct {
		Model        string             `json:"model"`
		MaxTokens    *int               `json:"max_tokens"`
		Stream       bool               `json:"stream"`
		CacheControl *cacheControl      `json:"cache_control"`
		System       json.RawMessage    `json:"system"`
		Tools        []json.RawMessage  `json:"tools"`
		ToolChoice   toolChoice         `json:"tool_choice"`
		Messages     []anthropicMessage `json:"messages"`
		OutputConfig *anthropicOutput   `json:"output_config"`
		Thinking     *anthropicThinking `json:"thinking"`

		system string
	}
	anthropicOutput struct {
		Effort string `json:"effort"`
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	}
	anthropicThinking struct {
		Type   string `json:"type"`
		Budget *int   `json:"budget_tokens"`
	}
	anthropicMessage struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`

		blocks []anthropicBlock
	}
	cacheControl struct {
		Type string `json:"type"`
	}
	toolChoice struct {
		Type string `json:"type"`
	}
	anthropicTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	anthropicBlock struct {
		Type, Text, ID, CallID string
		resultText             string
	}
)

var (
	toolNames = lazy.Regexp(`^[a-zA-Z0-9_-]{1,64}$`)
	callIDs   = lazy.Regexp(`^[a-zA-Z0-9_-]+$`)
)

// checkAnthropic reads a request; an error is what the API would say, or, where
// the API mends what pawl should not send, what it should.
func checkAnthropic(h http.Header, body []byte) (*anthropicRequest, error) {
	if h.Get("anthropic-version") == "" {
		return nil, fmt.Errorf("anthropic-version: header is required")
	}
	if !strings.HasPrefix(h.Get("Content-Type"), "application/json") {
		return nil, fmt.Errorf("content-type: must be application/json")
	}
	var r anthropicRequest
	if err := strict(body, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Model == "":
		return nil, fmt.Errorf("model: Field required")
	case r.MaxTokens == nil:
		return nil, fmt.Errorf("max_tokens: Field required")
	case *r.MaxTokens < 1:
		return nil, fmt.Errorf("max_tokens: Input should be greater than or equal to 1")
	case !r.Stream:
		return nil, fmt.Errorf("stream: this server only streams")
	case len(r.Messages) == 0:
		return nil, fmt.Errorf("messages: at least one message is required")
	}
	if err := r.OutputConfig.check(); err != nil {
		return nil, err
	}
	if err := r.checkSystem(); err != nil {
		return nil, err
	}
	if err := r.checkTools(); err != nil {
		return nil, err
	}
	if err := r.checkMessages(); err != nil {
		return nil, err
	}
	if err := r.checkThinking(); err != nil {
		return nil, err
	}
	return &r, nil
}

func (o *anthropicOutput) check() error {
	switch {
	case o == nil:
		return nil
	case o.Format != nil && (o.Format.Type != "json_schema" || !json.Valid(o.Format.Schema)):
		return fmt.Errorf("output_config.format: Input should be a JSON schema of type 'json_schema'")
	case o.Effort != "" && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, o.Effort):
		return fmt.Errorf("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	case o.Effort == "" && o.Format == nil:
		return fmt.Errorf("output_config: an empty object says nothing")
	}
	return nil
}

// checkThinking checks how thinking is asked for, and that the conversation fits it.
func (r *anthropicRequest) checkThinking() error {
	t := r.Thinking
	switch {
	case t == nil:
		return nil
	case t.Type == "disabled" || t.Type == "adaptive":
		if t.Budget != nil {
			return fmt.Errorf("thinking.%s.budget_tokens: Extra inputs are not permitted", t.Type)
		}
		return nil
	case t.Type != "enabled":
		return fmt.Errorf("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'", t.Type)
	case t.Budget == nil:
		return fmt.Errorf("thinking.enabled.budget_tokens: Field required")
	case *t.Budget < 1024:
		return fmt.Errorf("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case *t.Budget >= *r.MaxTokens:
		return fmt.Errorf("`max_tokens` must be greater than `thinking.budget_tokens`")
	}
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == "assistant" {
			calls := slices.ContainsFunc(m.blocks, func(b anthropicBlock) bool { return b.Type == "tool_use" })
			if kind := m.blocks[0].Type; calls && kind != "thinking" && kind != "redacted_thinking" {
				return fmt.Errorf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block", i, kind)
			}
			break
		}
	}
	return nil
}

// strict decodes data and refuses fields that into does not have.
func strict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%s: Extra inputs are not permitted, or not of this type", strings.TrimPrefix(err.Error(), "json: "))
	}
	if dec.More() {
		return fmt.Errorf("The request body is not valid JSON: something follows it")
	}
	return nil
}

func (r *anthropicRequest) checkSystem() error {
	if r.System == nil || json.Unmarshal(r.System, &r.system) == nil {
		return nil
	}
	var blocks []struct {
		Type         string        `json:"type"`
		Text         string        `json:"text"`
		CacheControl *cacheControl `json:"cache_control"`
	}
	if err := strict(r.System, &blocks); err != nil {
		return fmt.Errorf("system: %w", err)
	}
	for i, b := range blocks {
		if b.Type != "text" || strings.TrimSpace(b.Text) == "" {
			return fmt.Errorf("system.%d: text content blocks must contain non-whitespace text", i)
		}
		r.system = joined(r.system, b.Text)
	}
	return nil
}

func (r *anthropicRequest) checkTools() error {
	names := map[string]bool{}
	for i, raw := range r.Tools {
		var t anthropicTool
		if err := strict(raw, &t); err != nil {
			return fmt.Errorf("tools.%d: %w", i, err)
		}
		if !toolNames().MatchString(t.Name) {
			return fmt.Errorf("tools.%d.custom.name: String should match pattern '%s'", i, toolNames())
		}
		if names[t.Name] {
			return fmt.Errorf("tools: Tool names must be unique: %s", t.Name)
		}
		names[t.Name] = true
		var schema struct{ Type string }
		if json.Unmarshal(t.InputSchema, &schema) != nil || schema.Type != "object" {
			return fmt.Errorf("tools.%d.custom.input_schema.type: Input should be 'object'", i)
		}
	}
	if len(r.Tools) == 0 && r.ToolChoice.Type != "" {
		return fmt.Errorf("tool_choice: may only be specified while providing tools")
	}
	return nil
}

func (r *anthropicRequest) checkMessages() error {
	seen := map[string]bool{} // ids of all calls
	var owed map[string]bool  // calls of the message before that have no result yet
	for i := range r.Messages {
		m := &r.Messages[i]
		want := "user"
		if i%2 == 1 {
			want = "assistant"
		}
		switch {
		case m.Role != want && i == 0:
			return fmt.Errorf(`messages: first message must use the "user" role`)
		case m.Role != want:
			return fmt.Errorf("messages.%d: roles must alternate", i)
		case len(m.Content) == 0:
			return fmt.Errorf("messages.%d: content must not be empty", i)
		}
		for n, raw := range m.Content {
			b, err := checkBlock(m.Role, raw)
			if err != nil {
				return fmt.Errorf("messages.%d.content.%d: %w", i, n, err)
			}
			m.blocks = append(m.blocks, b)
		}
		if err := pair(i, m, &owed, seen); err != nil {
			return err
		}
	}
	if len(owed) > 0 {
		return fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after", len(r.Messages)-1)
	}
	if len(seen) > 0 && len(r.Tools) == 0 {
		return fmt.Errorf("Requests which include `tool_use` or `tool_result` blocks must define tools.")
	}
	return r.checkEnd()
}

// pair checks that each call has its one result in the next message, and there
// before anything else.
func pair(i int, m *anthropicMessage, owed *map[string]bool, seen map[string]bool) error {
	if m.Role == "assistant" {
		*owed = map[string]bool{}
		for _, b := range m.blocks {
			if b.Type != "tool_use" {
				continue
			}
			if seen[b.ID] {
				return fmt.Errorf("messages.%d: `tool_use` ids must be unique: %s", i, b.ID)
			}
			seen[b.ID], (*owed)[b.ID] = true, true
		}
		return nil
	}
	other := false
	for _, b := range m.blocks {
		if b.Type != "tool_result" {
			other = true
			continue
		}
		if other {
			return fmt.Errorf("messages.%d: `tool_result` blocks must come first", i)
		}
		if !(*owed)[b.CallID] {
			return fmt.Errorf("messages.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, b.CallID)
		}
		delete(*owed, b.CallID)
	}
	for id := range *owed {
		return fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", i-1, id)
	}
	return nil
}

// checkEnd checks the last message where it is the assistant's.
func (r *anthropicRequest) checkEnd() error {
	last := r.Messages[len(r.Messages)-1]
	if last.Role != "assistant" {
		return nil
	}
	switch b := last.blocks[len(last.blocks)-1]; {
	case b.Type == "text" && strings.TrimRight(b.Text, " \t\r\n") != b.Text:
		return fmt.Errorf("messages: final assistant content cannot end with trailing whitespace")
	case b.Type == "thinking" || b.Type == "redacted_thinking":
		return fmt.Errorf("messages.%d: The final block in an assistant message cannot be `%s`.", len(r.Messages)-1, b.Type)
	}
	return nil
}

// checkBlock reads one content block.
func checkBlock(role string, raw json.RawMessage) (anthropicBlock, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return anthropicBlock{}, err
	}
	b := anthropicBlock{Type: kind.Type}
	wrongRole := fmt.Errorf("`%s` blocks are not permitted in messages of the %s", kind.Type, role)
	switch kind.Type {
	case "text":
		text, err := checkText(raw)
		b.Text = text
		return b, err
	case "image":
		if role != "user" {
			return b, wrongRole
		}
		return b, checkImage(raw)
	case "thinking":
		var f struct {
			Type      string  `json:"type"`
			Thinking  *string `json:"thinking"`
			Signature string  `json:"signature"`
		}
		switch err := strict(raw, &f); {
		case err != nil:
			return b, err
		case role != "assistant":
			return b, wrongRole
		case f.Thinking == nil:
			return b, fmt.Errorf("thinking.thinking: Field required")
		case f.Signature == "":
			return b, fmt.Errorf("thinking.signature: Field required")
		case f.Signature != sign(*f.Thinking):
			return b, fmt.Errorf("Invalid `signature` in `thinking` block")
		}
		return b, nil
	case "redacted_thinking":
		var f struct {
			Type string `json:"type"`
			Data string `json:"data"`
		}
		switch err := strict(raw, &f); {
		case err != nil:
			return b, err
		case role != "assistant":
			return b, wrongRole
		case f.Data == "":
			return b, fmt.Errorf("redacted_thinking.data: Field required")
		}
		return b, nil
	case "tool_use":
		var f struct {
			Type  string          `json:"type"`
			ID    string          `json:"id"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}
		switch err := strict(raw, &f); {
		case err != nil:
			return b, err
		case role != "assistant":
			return b, wrongRole
		case !callIDs().MatchString(f.ID):
			return b, fmt.Errorf("tool_use.id: String should match pattern '%s'", callIDs())
		case !toolNames().MatchString(f.Name):
			return b, fmt.Errorf("tool_use.name: String should match pattern '%s'", toolNames())
		case len(f.Input) == 0 || f.Input[0] != '{':
			return b, fmt.Errorf("tool_use.input: Input should be a valid dictionary")
		}
		b.ID = f.ID
		return b, nil
	case "tool_result":
		if role != "user" {
			return b, wrongRole
		}
		return checkResult(raw)
	}
	return b, fmt.Errorf("Input tag '%s' does not match any of the expected tags", kind.Type)
}

func checkText(raw json.RawMessage) (string, error) {
	var f struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := strict(raw, &f); err != nil {
		return "", err
	}
	if strings.TrimSpace(f.Text) == "" {
		return "", fmt.Errorf("text content blocks must contain non-whitespace text")
	}
	return f.Text, nil
}

func checkImage(raw json.RawMessage) error {
	var f struct {
		Type   string `json:"type"`
		Source struct {
			Type      string `json:"type"`
			MediaType string `json:"media_type"`
			Data      string `json:"data"`
		} `json:"source"`
	}
	if err := strict(raw, &f); err != nil {
		return err
	}
	switch f.Source.MediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
	default:
		return fmt.Errorf("image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'")
	}
	if data, err := base64.StdEncoding.DecodeString(f.Source.Data); err != nil || len(data) == 0 || f.Source.Type != "base64" {
		return fmt.Errorf("image.source.base64: invalid base64 data")
	}
	return nil
}

func checkResult(raw json.RawMessage) (anthropicBlock, error) {
	b := anthropicBlock{Type: "tool_result"}
	var f struct {
		Type    string            `json:"type"`
		CallID  string            `json:"tool_use_id"`
		IsError *bool             `json:"is_error"`
		Content []json.RawMessage `json:"content"`
	}
	if err := strict(raw, &f); err != nil {
		return b, err
	}
	b.CallID = f.CallID
	for i, raw := range f.Content {
		var kind struct {
			Type string `json:"type"`
		}
		var err error
		switch _ = json.Unmarshal(raw, &kind); kind.Type { // the checks below say what is wrong with it
		case "text":
			var text string
			text, err = checkText(raw)
			b.resultText = joined(b.resultText, text)
		case "image":
			err = checkImage(raw)
		default:
			err = fmt.Errorf("Input tag '%s' does not match any of the expected tags", kind.Type)
		}
		if err != nil {
			return b, fmt.Errorf("tool_result.content.%d: %w", i, err)
		}
	}
	switch {
	case f.IsError != nil && !*f.IsError:
		return b, fmt.Errorf("tool_result.is_error: pawl sends it only when it is true")
	case f.IsError != nil && len(f.Content) == 0:
		return b, fmt.Errorf("tool_result: content cannot be empty if `is_error` is true")
	}
	return b, nil
}

// pieces returns the request's parts in the order in which the provider's cache
// looks at them.
func (r *anthropicRequest) pieces() [][]byte {
	var all [][]byte
	for _, t := range r.Tools {
		all = append(all, t)
	}
	all = append(all, r.System)
	for _, m := range r.Messages {
		for _, raw := range m.Content {
			all = append(all, raw)
		}
	}
	return all
}

func (r *anthropicRequest) caches() bool {
	return r.CacheControl != nil && r.CacheControl.Type == "ephemeral"
}
