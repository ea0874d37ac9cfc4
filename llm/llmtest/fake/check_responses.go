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

// What the Responses API takes, as far as pawl sends it. Names and rules:
// github.com/openai/openai-python, src/openai/types/responses, and the API's error
// messages as clients' issues and the recorded errors of the test data quote them;
// read 2026-11-20. Fields that pawl does not send are unknown here.
type (
	responsesRequest struct {
		Model           string   `json:"model"`
		Stream          bool     `json:"stream"`
		Store           *bool    `json:"store"`
		PromptCacheKey  string   `json:"prompt_cache_key"`
		Include         []string `json:"include"`
		MaxOutputTokens *int     `json:"max_output_tokens"`
		Reasoning       struct {
			Effort  string `json:"effort"`
			Summary string `json:"summary"`
		} `json:"reasoning"`
		Text struct {
			Format *struct {
				Type   string          `json:"type"`
				Name   string          `json:"name"`
				Strict bool            `json:"strict"`
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"text"`
		Instructions string            `json:"instructions"`
		Tools        []json.RawMessage `json:"tools"`
		ToolChoice   string            `json:"tool_choice"`
		Input        []json.RawMessage `json:"input"`

		items []responsesItem
	}
	responsesTool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Strict      *bool           `json:"strict"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	// A responsesItem is an item of the input as far as its neighbours and the script
	// look at it.
	responsesItem struct {
		Type      string
		assistant bool
		id        string // call_id; of reasoning its own
		texts     []string
	}
	responsesContent struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL string `json:"image_url"`
		Detail   string `json:"detail"`
	}
)

var (
	responsesCallIDs = lazy.Regexp(`^[a-zA-Z0-9_-]{1,64}$`)
	dataURLs         = lazy.Regexp(`^data:image/(?:jpeg|png|gif|webp);base64,(.+)$`)
)

// checkResponses reads a request; an error is what the API would say, or, where the
// API mends what pawl should not send, what it should.
func checkResponses(h http.Header, body []byte) (*responsesRequest, error) {
	if !strings.HasPrefix(h.Get("Content-Type"), "application/json") {
		return nil, fmt.Errorf("Unsupported content type: '%s'. This API method only accepts 'application/json' requests", h.Get("Content-Type"))
	}
	var r responsesRequest
	if err := strict(body, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Model == "":
		return nil, fmt.Errorf("Missing required parameter: 'model'.")
	case !r.Stream:
		return nil, fmt.Errorf("stream: this server only streams")
	case r.Store == nil || *r.Store:
		return nil, fmt.Errorf("store: pawl leaves nothing with the provider; say false")
	case r.MaxOutputTokens != nil && *r.MaxOutputTokens < 16:
		return nil, fmt.Errorf("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *r.MaxOutputTokens)
	case len(r.PromptCacheKey) > 64:
		return nil, fmt.Errorf("Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", len(r.PromptCacheKey))
	case !slices.Contains([]string{"", "auto", "concise", "detailed"}, r.Reasoning.Summary):
		return nil, fmt.Errorf("Invalid value: '%s'. Supported values are: 'auto', 'concise', and 'detailed'.", r.Reasoning.Summary)
	case !slices.Contains([]string{"", "auto", "none", "required"}, r.ToolChoice):
		return nil, fmt.Errorf("Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", r.ToolChoice)
	case r.ToolChoice != "" && len(r.Tools) == 0:
		return nil, fmt.Errorf("Tool choice '%s' must be specified with 'tools' parameter.", r.ToolChoice)
	case !slices.Contains(openAIEfforts, r.Reasoning.Effort):
		return nil, fmt.Errorf("Invalid value: '%s'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'.", r.Reasoning.Effort)
	case len(r.Input) == 0:
		return nil, fmt.Errorf("Missing required parameter: 'input'.")
	}
	for _, included := range r.Include {
		if included != "reasoning.encrypted_content" {
			return nil, fmt.Errorf("Invalid value: '%s'.", included)
		}
	}
	if err := r.checkFormat(); err != nil {
		return nil, err
	}
	if err := r.checkTools(); err != nil {
		return nil, err
	}
	for i, raw := range r.Input {
		item, err := checkItem(raw)
		if err != nil {
			return nil, fmt.Errorf("input[%d]: %w", i, err)
		}
		r.items = append(r.items, item)
	}
	return &r, r.checkOrder()
}

func (r *responsesRequest) checkFormat() error {
	f := r.Text.Format
	switch {
	case f == nil:
		return nil
	case f.Type != "json_schema":
		return fmt.Errorf("text.format.type: pawl asks for json_schema")
	case !toolNames().MatchString(f.Name):
		return fmt.Errorf("Invalid 'text.format.name': string does not match pattern. Expected a string that matches the pattern '%s'.", toolNames())
	case f.Strict:
		if err := checkStrict(f.Schema); err != nil {
			return fmt.Errorf("Invalid schema for response_format '%s': %w", f.Name, err)
		}
	}
	return nil
}

// checkStrict checks what OpenAI asks of a schema that it enforces: an object with all
// its properties required and no others, all the way down.
func checkStrict(raw json.RawMessage) error {
	var s struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional *bool                      `json:"additionalProperties"`
		Items      json.RawMessage            `json:"items"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	if s.Type == "object" {
		if s.Additional == nil || *s.Additional {
			return fmt.Errorf("'additionalProperties' is required to be supplied and to be false.")
		}
		for name := range s.Properties {
			if !slices.Contains(s.Required, name) {
				return fmt.Errorf("'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", name)
			}
		}
	}
	below := slices.Clone(s.AnyOf)
	for _, named := range []map[string]json.RawMessage{s.Properties, s.Defs} {
		for _, schema := range named {
			below = append(below, schema)
		}
	}
	if s.Items != nil {
		below = append(below, s.Items)
	}
	for _, schema := range below {
		if err := checkStrict(schema); err != nil {
			return err
		}
	}
	return nil
}

func (r *responsesRequest) checkTools() error {
	names := map[string]bool{}
	for i, raw := range r.Tools {
		var t responsesTool
		if err := strict(raw, &t); err != nil {
			return fmt.Errorf("tools[%d]: %w", i, err)
		}
		var schema struct {
			Type       string          `json:"type"`
			Properties json.RawMessage `json:"properties"`
		}
		switch {
		case t.Type != "function":
			return fmt.Errorf("Invalid value: '%s' in tools[%d].type.", t.Type, i)
		case !toolNames().MatchString(t.Name):
			return fmt.Errorf("Invalid 'tools[%d].name': string does not match pattern. Expected a string that matches the pattern '%s'.", i, toolNames())
		case names[t.Name]:
			return fmt.Errorf("tools[%d].name: pawl's tools have each their own: %s", i, t.Name)
		case t.Strict == nil || *t.Strict:
			return fmt.Errorf("tools[%d].strict: it is true when it is not said, and pawl's tools are not; say false", i)
		case json.Unmarshal(t.Parameters, &schema) != nil || schema.Type != "object":
			return fmt.Errorf("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"'.", t.Name)
		case schema.Properties == nil:
			return fmt.Errorf("Invalid schema for function '%s': In context=(), object schema missing properties.", t.Name)
		}
		names[t.Name] = true
	}
	return nil
}

// checkItem reads one item of the input.
func checkItem(raw json.RawMessage) (responsesItem, error) {
	var kind struct {
		Type string `json:"type"`
		Role string `json:"role"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return responsesItem{}, err
	}
	switch {
	case kind.Type == "message" && kind.Role == "assistant":
		return checkSaid(raw)
	case kind.Type == "message" && kind.Role == "user":
		var f struct {
			Type    string          `json:"type"`
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if err := strict(raw, &f); err != nil {
			return responsesItem{}, err
		}
		texts, err := checkContents(f.Content)
		return responsesItem{Type: "message", texts: texts}, err
	case kind.Type == "reasoning":
		return checkReasoning(raw)
	case kind.Type == "function_call":
		return checkFunctionCall(raw)
	case kind.Type == "function_call_output":
		return checkOutput(raw)
	}
	return responsesItem{}, fmt.Errorf("Invalid value: '%s' with role '%s'.", kind.Type, kind.Role)
}

// checkSaid reads what the assistant said.
func checkSaid(raw json.RawMessage) (responsesItem, error) {
	var f struct {
		Type    string  `json:"type"`
		Role    string  `json:"role"`
		Content string  `json:"content"`
		Phase   *string `json:"phase"`
	}
	switch err := strict(raw, &f); {
	case err != nil:
		return responsesItem{}, err
	case strings.TrimSpace(f.Content) == "":
		return responsesItem{}, fmt.Errorf("content: pawl sends no blank text")
	case f.Phase != nil && *f.Phase != "commentary" && *f.Phase != "final_answer":
		return responsesItem{}, fmt.Errorf("Invalid value: '%s'. Supported values are: 'commentary' and 'final_answer'.", *f.Phase)
	}
	return responsesItem{Type: "message", assistant: true, texts: []string{f.Content}}, nil
}

// checkContents reads a list of words and pictures and returns the words.
func checkContents(raw json.RawMessage) (texts []string, err error) {
	var list []responsesContent
	if err := strict(raw, &list); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("content: pawl sends no empty list")
	}
	for i, c := range list {
		switch c.Type {
		case "input_text":
			if strings.TrimSpace(c.Text) == "" || c.ImageURL != "" {
				return nil, fmt.Errorf("content[%d].text: pawl sends no blank text", i)
			}
			texts = append(texts, c.Text)
		case "input_image":
			data := dataURLs().FindStringSubmatch(c.ImageURL)
			if data == nil || c.Text != "" {
				return nil, fmt.Errorf("Invalid 'content[%d].image_url'. Expected a base64-encoded data URL with an image MIME type, but got an invalid value.", i)
			}
			if _, err := base64.StdEncoding.DecodeString(data[1]); err != nil {
				return nil, fmt.Errorf("Invalid 'content[%d].image_url': %w", i, err)
			}
			if !slices.Contains([]string{"", "auto", "low", "high"}, c.Detail) {
				return nil, fmt.Errorf("Invalid value: '%s' in content[%d].detail.", c.Detail, i)
			}
		default:
			return nil, fmt.Errorf("Invalid value: '%s'. Supported values are: 'input_text' and 'input_image'.", c.Type)
		}
	}
	return texts, nil
}

func checkReasoning(raw json.RawMessage) (responsesItem, error) {
	var f struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Summary *[]struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"summary"`
		Encrypted string `json:"encrypted_content"`
	}
	switch err := strict(raw, &f); {
	case err != nil:
		return responsesItem{}, err
	case !strings.HasPrefix(f.ID, "rs_"):
		return responsesItem{}, fmt.Errorf("Invalid 'id': '%s'. Expected an ID that begins with 'rs'.", f.ID)
	case f.Summary == nil:
		return responsesItem{}, fmt.Errorf("Missing required parameter: 'summary'.")
	case f.Encrypted == "":
		return responsesItem{}, fmt.Errorf("Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", f.ID)
	}
	for _, part := range *f.Summary {
		if part.Type != "summary_text" || f.Encrypted != encrypt(part.Text) {
			return responsesItem{}, fmt.Errorf("The encrypted content for item %s could not be verified.", f.ID)
		}
	}
	return responsesItem{Type: f.Type, assistant: true, id: f.ID}, nil
}

func checkFunctionCall(raw json.RawMessage) (responsesItem, error) {
	var f struct {
		Type      string  `json:"type"`
		CallID    string  `json:"call_id"`
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	}
	switch err := strict(raw, &f); {
	case err != nil:
		return responsesItem{}, err
	case !responsesCallIDs().MatchString(f.CallID):
		return responsesItem{}, fmt.Errorf("Invalid 'call_id': expected a string that matches '%s'.", responsesCallIDs())
	case !toolNames().MatchString(f.Name):
		return responsesItem{}, fmt.Errorf("Invalid 'name': string does not match pattern. Expected a string that matches the pattern '%s'.", toolNames())
	case f.Arguments == nil || !wholeArguments(*f.Arguments):
		return responsesItem{}, fmt.Errorf("arguments: the API takes any text, but pawl sends an object")
	}
	return responsesItem{Type: f.Type, assistant: true, id: f.CallID}, nil
}

func checkOutput(raw json.RawMessage) (responsesItem, error) {
	var f struct {
		Type   string          `json:"type"`
		CallID string          `json:"call_id"`
		Output json.RawMessage `json:"output"`
	}
	if err := strict(raw, &f); err != nil {
		return responsesItem{}, err
	}
	item := responsesItem{Type: f.Type, id: f.CallID}
	var text string
	if f.Output == nil {
		return item, fmt.Errorf("Missing required parameter: 'output'.")
	}
	if json.Unmarshal(f.Output, &text) == nil {
		item.texts = []string{text}
		return item, nil
	}
	texts, err := checkContents(f.Output)
	item.texts = texts
	return item, err
}

// checkOrder checks the order of items: each call has its one
// result, before the user says anything else; reasoning stands before what it led to.
func (r *responsesRequest) checkOrder() error {
	seen, owed := map[string]bool{}, map[string]bool{}
	reasoning := ""
	for i, item := range r.items {
		if reasoning != "" && !item.assistant {
			break
		}
		if item.Type != "reasoning" {
			reasoning = ""
		}
		// The API accepts results anywhere after their calls; pawl sends them directly after.
		if item.Type != "function_call_output" && (i > 0 && r.items[i-1].Type == "function_call_output" || !item.assistant) {
			for id := range owed {
				return fmt.Errorf("No tool output found for function call %s.", id)
			}
		}
		switch item.Type {
		case "reasoning":
			reasoning = item.id
		case "function_call":
			if seen[item.id] {
				return fmt.Errorf("input[%d]: pawl's call ids are each their own: %s", i, item.id)
			}
			seen[item.id], owed[item.id] = true, true
		case "function_call_output":
			if !owed[item.id] {
				return fmt.Errorf("No tool call found for function call output with call_id %s.", item.id)
			}
			delete(owed, item.id)
		}
	}
	if reasoning != "" {
		return fmt.Errorf("Item '%s' of type 'reasoning' was provided without its required following item.", reasoning)
	}
	for id := range owed {
		return fmt.Errorf("No tool output found for function call %s.", id)
	}
	return nil
}

// pieces returns the request's parts in the order in which the provider's cache
// looks at them.
func (r *responsesRequest) pieces() [][]byte {
	var all [][]byte
	for _, t := range r.Tools {
		all = append(all, t)
	}
	all = append(all, []byte(r.Instructions))
	for _, raw := range r.Input {
		all = append(all, raw)
	}
	return all
}

// wholeArguments reports whether s is one JSON object.
func wholeArguments(s string) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal([]byte(s), &fields) == nil && fields != nil
}
