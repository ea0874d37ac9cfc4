package fake

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

type (
	chatRequest struct {
		Model         string `json:"model"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		MaxTokens     int `json:"max_tokens"`
		MaxCompletion int `json:"max_completion_tokens"`
		Tools         []part[struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}] `json:"tools"`
		ToolChoice string `json:"tool_choice"`
		Format     struct {
			JSONSchema struct {
				Strict bool         `json:"strict"`
				Schema strictSchema `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
		Messages []part[chatMessage] `json:"messages"`
	}
	chatMessage struct {
		Role    string `json:"role"`
		Content texts  `json:"content"`
		CallID  string `json:"tool_call_id"`
		Calls   []struct {
			ID string `json:"id"`
		} `json:"tool_calls"`
		Details []struct {
			Type      string `json:"type"`
			Index     int    `json:"index"`
			Text      string `json:"text"`
			Signature string `json:"signature"`
		} `json:"reasoning_details"`
	}
)

// checkChat reads a request.
func checkChat(h http.Header, body []byte) (*chatRequest, error) {
	var r chatRequest
	if err := read("chat", h, body, &r); err != nil {
		return nil, err
	}
	if f := r.Format.JSONSchema; f.Strict {
		if err := f.Schema.check(); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.is.Function.Name)
	}
	return &r, errors.Join(unique(names), r.checkOrder())
}

// checkOrder checks that the sides take turns, which is Mistral's rule, that each call has its
// result, in the order of the calls, and that reasoning came back as it was given.
func (r *chatRequest) checkOrder() error {
	var seen, owed []string // ids of all calls, and of those that have no result yet, in their order
	before := ""
	for i, m := range r.Messages {
		if m.is.Role != "tool" && len(owed) > 0 {
			break
		}
		switch m.is.Role {
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
			for _, c := range m.is.Calls {
				if slices.Contains(seen, c.ID) {
					return fmt.Errorf("messages[%d]: duplicate tool call id %s", i, c.ID)
				}
				seen, owed = append(seen, c.ID), append(owed, c.ID)
			}
			for _, d := range m.is.Details {
				if d.Type == "reasoning.text" && d.Signature != sign(d.Text) {
					return fmt.Errorf("messages[%d]: Invalid `signature` in `thinking` block", i)
				}
			}
		case "tool":
			switch slices.Index(owed, m.is.CallID) {
			case -1:
				return fmt.Errorf("messages[%d]: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", i)
			case 0:
				owed = owed[1:]
			default:
				return fmt.Errorf("messages[%d]: pawl sends results in the order of their calls", i)
			}
		}
		before = m.is.Role
	}
	switch {
	case len(owed) > 0:
		return fmt.Errorf("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(owed, ", "))
	case before == "assistant":
		return errors.New("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")
	case before != "user" && before != "tool":
		return errors.New("Invalid 'messages': empty array. Expected an array with minimum length 1")
	}
	return nil
}

// pieces returns the request's parts in the order in which the provider's cache
// looks at them.
func (r *chatRequest) pieces() [][]byte { return append(written(r.Tools), written(r.Messages)...) }
