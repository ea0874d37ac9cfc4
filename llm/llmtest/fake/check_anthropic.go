package fake

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

type (
	anthropicRequest struct {
		Model        string      `json:"model"`
		MaxTokens    int         `json:"max_tokens"`
		CacheControl *struct{}   `json:"cache_control"`
		System       part[texts] `json:"system"`
		Tools        []part[struct {
			Name string `json:"name"`
		}] `json:"tools"`
		ToolChoice struct {
			Type string `json:"type"`
		} `json:"tool_choice"`
		Thinking struct {
			Type   string `json:"type"`
			Budget int    `json:"budget_tokens"`
		} `json:"thinking"`
		Messages []anthropicMessage `json:"messages"`
	}
	anthropicMessage struct {
		Role    string                 `json:"role"`
		Content []part[anthropicBlock] `json:"content"`
	}
	anthropicBlock struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		ID        string `json:"id"`
		CallID    string `json:"tool_use_id"`
		Result    texts  `json:"content"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
)

// checkAnthropic reads a request.
func checkAnthropic(h http.Header, body []byte) (*anthropicRequest, error) {
	if h.Get("anthropic-version") == "" {
		return nil, errors.New("anthropic-version: header is required")
	}
	var r anthropicRequest
	if err := read("anthropic", h, body, &r); err != nil {
		return nil, err
	}
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.is.Name)
	}
	return &r, errors.Join(unique(names), r.checkOrder(), r.checkEnd(), r.checkThinking())
}

// checkOrder checks that the sides take turns, and that each call has its one result in the next
// message, and there before anything else.
func (r *anthropicRequest) checkOrder() error {
	var seen, owed []string // ids of all calls, and of those in the message before that have no result yet
	for i, m := range r.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("messages.%d: roles must alternate, and the first message must use the \"user\" role", i)
		}
		for n, b := range m.Content {
			switch at := slices.Index(owed, b.is.CallID); {
			case b.is.Type == "thinking" && b.is.Signature != sign(b.is.Thinking):
				return fmt.Errorf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, n)
			case b.is.Type == "tool_use" && slices.Contains(seen, b.is.ID):
				return fmt.Errorf("messages.%d: `tool_use` ids must be unique: %s", i, b.is.ID)
			case b.is.Type == "tool_use":
				seen, owed = append(seen, b.is.ID), append(owed, b.is.ID)
			case b.is.Type == "tool_result" && n > 0 && m.Content[n-1].is.Type != "tool_result":
				return fmt.Errorf("messages.%d: `tool_result` blocks must come first", i)
			case b.is.Type == "tool_result" && at < 0:
				return fmt.Errorf("messages.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, b.is.CallID)
			case b.is.Type == "tool_result":
				owed = slices.Delete(owed, at, at+1)
			}
		}
		if len(owed) > 0 && (m.Role == "user" || i == len(r.Messages)-1) {
			return fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", i, owed[0])
		}
	}
	if len(seen) > 0 && len(r.Tools) == 0 {
		return errors.New("Requests which include `tool_use` or `tool_result` blocks must define tools.")
	}
	return nil
}

// checkEnd checks the last message where it is the assistant's.
func (r *anthropicRequest) checkEnd() error {
	last := r.Messages[len(r.Messages)-1]
	switch b := last.Content[len(last.Content)-1].is; {
	case last.Role != "assistant":
	case b.Type == "text" && strings.TrimRight(b.Text, " \t\r\n") != b.Text:
		return errors.New("messages: final assistant content cannot end with trailing whitespace")
	case b.Type == "thinking" || b.Type == "redacted_thinking":
		return fmt.Errorf("messages.%d: The final block in an assistant message cannot be `%s`.", len(r.Messages)-1, b.Type)
	}
	return nil
}

// checkThinking checks that the conversation fits how thinking is asked for.
func (r *anthropicRequest) checkThinking() error {
	if r.Thinking.Type != "enabled" {
		return nil
	}
	if r.Thinking.Budget >= r.MaxTokens {
		return errors.New("`max_tokens` must be greater than `thinking.budget_tokens`")
	}
	for i, m := range slices.Backward(r.Messages) {
		if m.Role != "assistant" {
			continue
		}
		calls := slices.ContainsFunc(m.Content, func(b part[anthropicBlock]) bool { return b.is.Type == "tool_use" })
		if kind := m.Content[0].is.Type; calls && kind != "thinking" && kind != "redacted_thinking" {
			return fmt.Errorf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block", i, kind)
		}
		break
	}
	return nil
}

// pieces returns the request's parts in the order in which the provider's cache
// looks at them.
func (r *anthropicRequest) pieces() [][]byte {
	all := append(written(r.Tools), r.System.raw)
	for _, m := range r.Messages {
		all = append(all, written(m.Content)...)
	}
	return all
}
