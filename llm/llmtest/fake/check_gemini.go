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

// What the Gemini API takes, as far as pawl sends it. Names and rules:
// ai.google.dev/api/generate-content, …/gemini-api/docs/thought-signatures, and the
// API's error messages as clients' issues quote them; read 2026-11-20. Fields that
// pawl does not send are unknown here.
type (
	geminiRequest struct {
		GenerationConfig  geminiConfig    `json:"generationConfig"`
		SystemInstruction *geminiContent  `json:"systemInstruction"`
		Tools             []geminiTool    `json:"tools"`
		ToolConfig        geminiCalling   `json:"toolConfig"`
		Contents          []geminiContent `json:"contents"`

		system    string
		functions int
	}
	geminiConfig struct {
		MaxOutputTokens *int `json:"maxOutputTokens"`
		ThinkingConfig  *struct {
			IncludeThoughts bool   `json:"includeThoughts"`
			Level           string `json:"thinkingLevel"`
			Budget          *int   `json:"thinkingBudget"`
		} `json:"thinkingConfig"`
		ResponseMIMEType   string          `json:"responseMimeType"`
		ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
	}
	geminiTool struct {
		Functions []json.RawMessage `json:"functionDeclarations"`
	}
	geminiFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"parametersJsonSchema"`
	}
	geminiCalling struct {
		Calling struct {
			Mode string `json:"mode"`
		} `json:"functionCallingConfig"`
	}
	geminiContent struct {
		Role  string            `json:"role"`
		Parts []json.RawMessage `json:"parts"`

		parts []geminiPart
	}
	geminiPart struct {
		Text             *string           `json:"text"`
		Thought          bool              `json:"thought"`
		Signature        string            `json:"thoughtSignature"`
		FunctionCall     *geminiCallPart   `json:"functionCall"`
		FunctionResponse *geminiResponse   `json:"functionResponse"`
		InlineData       *geminiInlineData `json:"inlineData"`
	}
	geminiCallPart struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	geminiResponse struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Response *struct {
			Output *string `json:"output"`
			Error  *string `json:"error"`
		} `json:"response"`
	}
	geminiInlineData struct {
		MIMEType string `json:"mimeType"`
		Data     string `json:"data"`
	}
)

// uncheckedSignature is the signature that the API does not check.
const uncheckedSignature = "skip_thought_signature_validator"

// functionNames: FunctionDeclaration.name.
var functionNames = lazy.Regexp(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)

// checkGemini reads a request; an error is what the API would say, or, where the
// API mends what pawl should not send, what it should.
func checkGemini(model string, h http.Header, body []byte) (*geminiRequest, error) {
	if !strings.HasPrefix(h.Get("Content-Type"), "application/json") {
		return nil, fmt.Errorf("content-type: must be application/json")
	}
	var r geminiRequest
	if err := strict(body, &r); err != nil {
		return nil, err
	}
	if err := r.checkTools(); err != nil {
		return nil, err
	}
	if err := r.checkConfig(model); err != nil {
		return nil, err
	}
	if s := r.SystemInstruction; s != nil {
		if err := s.check("system_instruction"); err != nil {
			return nil, err
		}
		for _, p := range s.parts {
			if !p.words() {
				return nil, fmt.Errorf("system_instruction: only text is supported")
			}
			r.system = joined(r.system, *p.Text)
		}
	}
	if len(r.Contents) == 0 {
		return nil, fmt.Errorf("* GenerateContentRequest.contents: contents is not specified")
	}
	for i := range r.Contents {
		if err := r.Contents[i].check(fmt.Sprintf("contents[%d]", i)); err != nil {
			return nil, err
		}
	}
	if err := r.checkOrder(); err != nil {
		return nil, err
	}
	return &r, r.checkSignatures()
}

func (r *geminiRequest) checkTools() error {
	names := map[string]bool{}
	for _, t := range r.Tools {
		for i, raw := range t.Functions {
			at := fmt.Sprintf("* GenerateContentRequest.tools[0].function_declarations[%d]", i)
			var f geminiFunction
			if err := strict(raw, &f); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
			var schema struct{ Type string }
			switch {
			case !functionNames().MatchString(f.Name):
				return fmt.Errorf("%s.name: Invalid function name. Must start with a letter or an underscore.", at)
			case names[f.Name]:
				return fmt.Errorf("Duplicate function declaration found: %s", f.Name)
			case strings.TrimSpace(f.Description) == "":
				return fmt.Errorf("%s.description: required", at)
			case json.Unmarshal(f.Schema, &schema) != nil || schema.Type != "object":
				return fmt.Errorf("%s.parameters_json_schema: should be of type object", at)
			}
			names[f.Name] = true
			r.functions++
		}
	}
	switch {
	case len(r.Tools) > 0 && r.functions == 0:
		return fmt.Errorf("* GenerateContentRequest.tools[0].tool_type: required one_of 'tool_type' must have one initialized field")
	case r.ToolConfig.Calling.Mode != "" && r.functions == 0:
		return fmt.Errorf("Function calling config is set without function_declarations.")
	case r.ToolConfig.Calling.Mode != "" && r.ToolConfig.Calling.Mode != "NONE":
		return fmt.Errorf("tool_config.function_calling_config.mode: pawl sends it only as NONE")
	}
	return nil
}

func (r *geminiRequest) checkConfig(model string) error {
	c := r.GenerationConfig
	switch {
	case c.MaxOutputTokens != nil && *c.MaxOutputTokens < 1:
		return fmt.Errorf("max_output_tokens must be positive.")
	case c.ThinkingConfig != nil && !strings.Contains(model, "gemini-"):
		return fmt.Errorf("Thinking is not enabled for models/%s", model)
	case c.ThinkingConfig != nil && c.ThinkingConfig.Level != "" && c.ThinkingConfig.Budget != nil:
		return fmt.Errorf("You can only set only one of thinking budget and thinking level.")
	case c.ThinkingConfig != nil && !slices.Contains([]string{"", "minimal", "low", "medium", "high"}, c.ThinkingConfig.Level):
		return fmt.Errorf("Invalid value at 'generation_config.thinking_config.thinking_level', \"%s\"", c.ThinkingConfig.Level)
	case c.ThinkingConfig != nil && c.ThinkingConfig.Level != "" && strings.Contains(model, "gemini-2"):
		return fmt.Errorf("Thinking level is not supported for this model.")
	case c.ThinkingConfig != nil && c.ThinkingConfig.Budget != nil && *c.ThinkingConfig.Budget == 0 && c.ThinkingConfig.IncludeThoughts:
		return fmt.Errorf("include_thoughts is only enabled when thinking is enabled.")
	case c.ResponseJSONSchema != nil && c.ResponseMIMEType != "application/json":
		return fmt.Errorf("response_json_schema: needs the response_mime_type application/json")
	case c.ResponseMIMEType != "" && !wholeObject(string(c.ResponseJSONSchema)):
		return fmt.Errorf("response_json_schema: pawl sends no response_mime_type without it")
	case c.ResponseMIMEType != "" && r.functions > 0 && strings.Contains(model, "gemini-2"):
		return fmt.Errorf("Function calling with a response mime type: '%s' is unsupported", c.ResponseMIMEType)
	}
	return nil
}

// check reads a content's parts.
func (c *geminiContent) check(at string) error {
	if len(c.Parts) == 0 {
		return fmt.Errorf("* GenerateContentRequest.%s.parts: contents.parts must not be empty.", at)
	}
	for i, raw := range c.Parts {
		var p geminiPart
		if err := strict(raw, &p); err != nil {
			return fmt.Errorf("%s.parts[%d]: %w", at, i, err)
		}
		if err := p.check(c.Role); err != nil {
			return fmt.Errorf("%s.parts[%d]: %w", at, i, err)
		}
		c.parts = append(c.parts, p)
	}
	return nil
}

// words reports whether a part is text that says something.
func (p geminiPart) words() bool {
	return p.Text != nil && !p.Thought && strings.TrimSpace(*p.Text) != ""
}

// text returns what a script sees of a result.
func (r *geminiResponse) text() string {
	if r.Response.Error != nil {
		return *r.Response.Error
	}
	return *r.Response.Output
}

func (p geminiPart) check(role string) error {
	kinds := 0
	for _, has := range []bool{p.Text != nil, p.FunctionCall != nil, p.FunctionResponse != nil, p.InlineData != nil} {
		if has {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Errorf("data: required oneof field 'data' must have one initialized field")
	}
	if p.Signature != "" {
		if _, err := base64.StdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(p.Signature)); err != nil {
			return fmt.Errorf("thought_signature: Base64 decoding failed")
		}
		if role != "model" {
			return fmt.Errorf("thought_signature: only the model signs")
		}
	}
	switch {
	case p.Text != nil && p.Signature == "" && strings.TrimSpace(*p.Text) == "":
		return fmt.Errorf("text: pawl sends no blank text")
	case p.Thought && p.Signature == "":
		return fmt.Errorf("thought: pawl sends thinking only when it is signed")
	case p.FunctionCall != nil:
		return p.checkCall(role)
	case p.FunctionResponse != nil:
		r := p.FunctionResponse
		switch {
		case role != "user":
			return fmt.Errorf("function_response: only the user has one")
		case !functionNames().MatchString(r.Name):
			return fmt.Errorf("* GenerateContentRequest.contents.parts.function_response.name: Name cannot be empty.")
		case r.Response == nil || (r.Response.Output == nil) == (r.Response.Error == nil):
			return fmt.Errorf("function_response.response: must be an object with output or error")
		case r.Response.Error != nil && *r.Response.Error == "":
			return fmt.Errorf("function_response.response: an error without a message")
		}
	case p.InlineData != nil:
		switch p.InlineData.MIMEType {
		case "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif":
		default:
			return fmt.Errorf("Unsupported MIME type: %s", p.InlineData.MIMEType)
		}
		if data, err := base64.StdEncoding.DecodeString(p.InlineData.Data); err != nil || len(data) == 0 {
			return fmt.Errorf("inline_data.data: Base64 decoding failed")
		}
	}
	return nil
}

func (p geminiPart) checkCall(role string) error {
	c := p.FunctionCall
	switch {
	case role != "model":
		return fmt.Errorf("function_call: only the model has one")
	case !functionNames().MatchString(c.Name):
		return fmt.Errorf("function_call.name: Name cannot be empty, and starts with a letter or an underscore")
	case !wholeObject(string(c.Args)):
		return fmt.Errorf("function_call.args: must be an object")
	case p.Signature != "" && p.Signature != uncheckedSignature && p.Signature != signCall(c.Name, string(c.Args)):
		return fmt.Errorf("Corrupted thought signature.")
	}
	return nil
}

// checkOrder checks the order of roles: calls follow a message of the user, and are followed by
// a content that has their results and nothing else.
func (r *geminiRequest) checkOrder() error {
	var owed []*geminiCallPart
	for i, content := range r.Contents {
		switch {
		case content.Role != "user" && content.Role != "model":
			return fmt.Errorf("Please use a valid role: user, model.")
		case i == 0 && content.Role != "user":
			return fmt.Errorf("contents: the first must be the user's")
		case i > 0 && content.Role == "model" && r.Contents[i-1].Role == "model":
			return fmt.Errorf("contents[%d]: pawl joins what the model says", i)
		}
		var calls []*geminiCallPart
		var answered []*geminiResponse
		for _, p := range content.parts {
			if p.FunctionCall != nil {
				calls = append(calls, p.FunctionCall)
			}
			if p.FunctionResponse != nil {
				answered = append(answered, p.FunctionResponse)
			}
		}
		switch {
		case len(answered) > 0 && len(owed) == 0:
			return fmt.Errorf("Please ensure that function response turn comes immediately after a function call turn.")
		case len(answered) != len(owed) || len(answered) > 0 && len(answered) != len(content.parts):
			return fmt.Errorf("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
		for n, a := range answered {
			if a.Name != owed[n].Name || a.ID != owed[n].ID {
				return fmt.Errorf("contents[%d].parts[%d]: the response is of %s %s, the call was of %s %s", i, n, a.Name, a.ID, owed[n].Name, owed[n].ID)
			}
		}
		ids := map[string]bool{}
		for _, c := range calls {
			if c.ID != "" && ids[c.ID] {
				return fmt.Errorf("contents[%d]: duplicate function call id %s", i, c.ID)
			}
			ids[c.ID] = true
		}
		owed = calls
	}
	switch {
	case len(owed) > 0:
		return fmt.Errorf("Please ensure that function call turn is followed by a function response turn.")
	case r.Contents[len(r.Contents)-1].Role == "model":
		return fmt.Errorf("Requests ending with a model turn are not supported.")
	}
	return nil
}

// checkSignatures checks that since the user last said something the first call of
// each answer is signed.
func (r *geminiRequest) checkSignatures() error {
	for i := len(r.Contents) - 1; i >= 0; i-- {
		content := r.Contents[i]
		if content.Role == "user" && content.parts[0].FunctionResponse == nil {
			return nil
		}
		for n, p := range content.parts {
			if p.FunctionCall == nil {
				continue
			}
			if p.Signature == "" {
				return fmt.Errorf("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d.", p.FunctionCall.Name, n)
			}
			break
		}
	}
	return nil
}

// pieces returns the request's parts in the order in which the provider's cache
// looks at them.
func (r *geminiRequest) pieces() [][]byte {
	var all [][]byte
	for _, t := range r.Tools {
		for _, f := range t.Functions {
			all = append(all, f)
		}
	}
	all = append(all, []byte(r.system))
	for _, c := range r.Contents {
		for _, raw := range c.Parts {
			all = append(all, raw)
		}
	}
	return all
}
