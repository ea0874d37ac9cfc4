package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

type (
	geminiRequest struct {
		GenerationConfig struct {
			MaxOutputTokens int `json:"maxOutputTokens"`
			ThinkingConfig  *struct {
				Level  string `json:"thinkingLevel"`
				Budget int    `json:"thinkingBudget"`
			} `json:"thinkingConfig"`
			ResponseMIMEType string `json:"responseMimeType"`
		} `json:"generationConfig"`
		System geminiContent `json:"systemInstruction"`
		Tools  []struct {
			Functions []part[struct {
				Name string `json:"name"`
			}] `json:"functionDeclarations"`
		} `json:"tools"`
		ToolConfig *struct{}       `json:"toolConfig"` // its mode is NONE
		Contents   []geminiContent `json:"contents"`
	}
	geminiContent struct {
		Role  string             `json:"role"`
		Parts []part[geminiPart] `json:"parts"`
	}
	geminiPart struct {
		Text         string `json:"text"`
		Thought      bool   `json:"thought"`
		Signature    string `json:"thoughtSignature"`
		FunctionCall *struct {
			geminiName
			Args json.RawMessage `json:"args"`
		} `json:"functionCall"`
		FunctionResponse *struct {
			geminiName
			Response struct {
				Output string `json:"output"`
				Error  string `json:"error"`
			} `json:"response"`
		} `json:"functionResponse"`
	}
	// A geminiName says which call is meant.
	geminiName struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
)

// uncheckedSignature is the signature that the API does not check.
const uncheckedSignature = "skip_thought_signature_validator"

// checkGemini reads a request.
func checkGemini(model string, h http.Header, body []byte) (*geminiRequest, error) {
	var r geminiRequest
	if err := read("gemini", h, body, &r); err != nil {
		return nil, err
	}
	var names []string
	for _, t := range r.Tools {
		for _, f := range t.Functions {
			names = append(names, f.is.Name)
		}
	}
	switch c := r.GenerationConfig; {
	case c.ThinkingConfig != nil && !strings.Contains(model, "gemini-"):
		return nil, fmt.Errorf("Thinking is not enabled for models/%s", model)
	case c.ThinkingConfig != nil && c.ThinkingConfig.Level != "" && strings.Contains(model, "gemini-2"):
		return nil, errors.New("Thinking level is not supported for this model.")
	case c.ResponseMIMEType != "" && len(names) > 0 && strings.Contains(model, "gemini-2"):
		return nil, fmt.Errorf("Function calling with a response mime type: '%s' is unsupported", c.ResponseMIMEType)
	}
	return &r, errors.Join(unique(names), r.checkOrder(), r.checkSignatures())
}

// checkOrder checks the order of roles: calls follow a message of the user, and are followed by
// a content that has their results and nothing else.
func (r *geminiRequest) checkOrder() error {
	var owed []geminiName
	before := "model"
	for i, content := range r.Contents {
		if before == "model" && content.Role == "model" {
			return fmt.Errorf("contents[%d]: pawl joins what the model says, and the first must be the user's", i)
		}
		before = content.Role
		var calls, answered []geminiName
		ids := map[string]bool{}
		for _, p := range content.Parts {
			if call := p.is.FunctionCall; call != nil {
				if call.ID != "" && ids[call.ID] {
					return fmt.Errorf("contents[%d]: duplicate function call id %s", i, call.ID)
				}
				calls, ids[call.ID] = append(calls, call.geminiName), true
			}
			if p.is.FunctionResponse != nil {
				answered = append(answered, p.is.FunctionResponse.geminiName)
			}
		}
		switch {
		case len(answered) > 0 && len(owed) == 0:
			return errors.New("Please ensure that function response turn comes immediately after a function call turn.")
		case len(answered) != len(owed) || len(answered) > 0 && len(answered) != len(content.Parts):
			return errors.New("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
		for n, a := range answered {
			if a != owed[n] {
				return fmt.Errorf("contents[%d].parts[%d]: the response is of %s %s, the call was of %s %s", i, n, a.Name, a.ID, owed[n].Name, owed[n].ID)
			}
		}
		owed = calls
	}
	switch {
	case len(owed) > 0:
		return errors.New("Please ensure that function call turn is followed by a function response turn.")
	case before == "model":
		return errors.New("Requests ending with a model turn are not supported.")
	}
	return nil
}

// checkSignatures checks that signatures are those of their calls, and that since the user last
// said something the first call of each answer is signed.
func (r *geminiRequest) checkSignatures() error {
	since := 0
	for i, content := range r.Contents {
		if content.Role == "user" && content.Parts[0].is.FunctionResponse == nil {
			since = i
		}
	}
	for i, content := range r.Contents {
		first := i >= since
		for n, p := range content.Parts {
			call, signature := p.is.FunctionCall, p.is.Signature
			if call == nil {
				continue
			}
			if first && signature == "" {
				return fmt.Errorf("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d.", call.Name, n)
			}
			if signature != "" && signature != uncheckedSignature && signature != signCall(call.Name, string(call.Args)) {
				return errors.New("Corrupted thought signature.")
			}
			first = false
		}
	}
	return nil
}

// pieces returns the request's parts in the order in which the provider's cache
// looks at them.
func (r *geminiRequest) pieces() [][]byte {
	var all [][]byte
	for _, t := range r.Tools {
		all = append(all, written(t.Functions)...)
	}
	all = append(all, []byte(r.system()))
	for _, c := range r.Contents {
		all = append(all, written(c.Parts)...)
	}
	return all
}

func (r *geminiRequest) system() string {
	var said texts
	for _, p := range r.System.Parts {
		said = append(said, p.is.Text)
	}
	return said.String()
}
