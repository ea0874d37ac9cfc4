package fake

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
)

type (
	responsesRequest struct {
		Model           string `json:"model"`
		PromptCacheKey  string `json:"prompt_cache_key"`
		MaxOutputTokens int    `json:"max_output_tokens"`
		Text            struct {
			Format struct {
				Strict bool         `json:"strict"`
				Schema strictSchema `json:"schema"`
			} `json:"format"`
		} `json:"text"`
		Instructions string `json:"instructions"`
		Tools        []part[struct {
			Name string `json:"name"`
		}] `json:"tools"`
		ToolChoice string                `json:"tool_choice"`
		Input      []part[responsesItem] `json:"input"`
	}
	responsesItem struct {
		Type      string `json:"type"`
		Role      string `json:"role"`
		Content   texts  `json:"content"`
		CallID    string `json:"call_id"`
		Output    texts  `json:"output"`
		ID        string `json:"id"`
		Summary   texts  `json:"summary"`
		Encrypted string `json:"encrypted_content"`
	}
)

// ofModel reports whether the model said it.
func (i responsesItem) ofModel() bool {
	return i.Role == "assistant" || i.Type == "reasoning" || i.Type == "function_call"
}

// checkResponses reads a request.
func checkResponses(h http.Header, body []byte) (*responsesRequest, error) {
	var r responsesRequest
	if err := read("responses", h, body, &r); err != nil {
		return nil, err
	}
	if f := r.Text.Format; f.Strict {
		if err := f.Schema.check(); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.is.Name)
	}
	return &r, errors.Join(unique(names), r.checkOrder())
}

// checkOrder checks the order of items: each call has its one
// result, before the user says anything else; reasoning stands before what it led to, as it was
// given.
func (r *responsesRequest) checkOrder() error {
	var seen, owed []string
	reasoning, before := "", ""
	for i, p := range r.Input {
		item := p.is
		if reasoning != "" && !item.ofModel() {
			break
		}
		// The API accepts results anywhere after their calls; pawl sends them directly after.
		if len(owed) > 0 && item.Type != "function_call_output" && (before == "function_call_output" || !item.ofModel()) {
			break
		}
		if item.Type != "reasoning" {
			reasoning = ""
		}
		switch at := slices.Index(owed, item.CallID); {
		case item.Type == "reasoning":
			reasoning = item.ID
			for _, text := range item.Summary {
				if item.Encrypted != encrypt(text) {
					return fmt.Errorf("The encrypted content for item %s could not be verified.", item.ID)
				}
			}
		case item.Type == "function_call" && slices.Contains(seen, item.CallID):
			return fmt.Errorf("input[%d]: pawl's call ids are each their own: %s", i, item.CallID)
		case item.Type == "function_call":
			seen, owed = append(seen, item.CallID), append(owed, item.CallID)
		case item.Type == "function_call_output" && at < 0:
			return fmt.Errorf("No tool call found for function call output with call_id %s.", item.CallID)
		case item.Type == "function_call_output":
			owed = slices.Delete(owed, at, at+1)
		}
		before = item.Type
	}
	switch {
	case reasoning != "":
		return fmt.Errorf("Item '%s' of type 'reasoning' was provided without its required following item.", reasoning)
	case len(owed) > 0:
		return fmt.Errorf("No tool output found for function call %s.", owed[0])
	}
	return nil
}

// pieces returns the request's parts in the order in which the provider's cache
// looks at them.
func (r *responsesRequest) pieces() [][]byte {
	all := append(written(r.Tools), []byte(r.Instructions))
	return append(all, written(r.Input)...)
}
