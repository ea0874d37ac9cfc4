package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"pawl/llm"
	"pawl/run"
)

// A wireTool is a tool as the API wants it.
type wireTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// cacheMark asks for what stands up to here to be kept by the provider for five
// minutes. At the top level it moves along with the last block of the request by
// itself (MessageNewParams.CacheControl of the SDK v1.84.0, read 2026-11-20), so the
// messages' own bytes stay the same from step to step. The one on the system
// prompt keeps that and the tools for other runs too.
const cacheMark = `"cache_control":{"type":"ephemeral"}`

// noTools stands for the tools of a request that wants no calls in a conversation
// that had some: "Requests which include tool_use or tool_result blocks must define
// tools" (github.com/anthropics/anthropic-sdk-python issue 494, read 2026-11-20).
const noTools = `,"tools":[{"name":"none","description":"No tool can be called now.","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"}`

// requestBody splices the body of a request from encoded messages. What is stable
// stands first. Thinking is left at the model's own default.
func requestBody(r llm.Request) ([]byte, error) {
	size, calls := 4096+len(r.System), false
	for _, m := range r.Messages {
		size += len(m.Body) + 40
	}
	var buf bytes.Buffer
	buf.Grow(size)
	maxTokens := r.MaxTokens
	if maxTokens <= 0 {
		maxTokens = DefaultMaxTokens
	}
	model, _ := json.Marshal(r.Model) // a string can always be encoded
	fmt.Fprintf(&buf, `{"model":%s,"max_tokens":%d,"stream":true,%s`, model, maxTokens, cacheMark)
	if !blank(r.System) {
		system, _ := json.Marshal(r.System)
		fmt.Fprintf(&buf, `,"system":[{"type":"text","text":%s,%s}]`, system, cacheMark)
	}
	for i, t := range r.Tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		tool, err := json.Marshal(wireTool{t.Name, t.Description, schema})
		if err != nil {
			return nil, &llm.Error{Kind: run.ErrInvalid, Err: err,
				Message: fmt.Sprintf("the schema of tool %q is not JSON; take the tool out or mend it", t.Name)}
		}
		if i == 0 {
			buf.WriteString(`,"tools":[`)
		} else {
			buf.WriteByte(',')
		}
		buf.Write(tool)
	}
	if len(r.Tools) > 0 {
		buf.WriteByte(']')
	} else {
		for _, m := range r.Messages {
			// Words may contain this too; then a request has one tool too many.
			calls = calls || bytes.Contains(m.Body, []byte(`"type":"tool_use"`)) || bytes.Contains(m.Body, []byte(`"type":"tool_result"`))
		}
		if calls {
			buf.WriteString(noTools)
		}
	}
	buf.WriteString(`,"messages":[`)
	role := run.Role("")
	for _, m := range r.Messages {
		if len(m.Body) <= len("[]") {
			continue
		}
		inner := m.Body[1 : len(m.Body)-1] // without the brackets of Encode
		switch role {
		case m.Role:
			buf.WriteByte(',')
		case "":
			buf.WriteString(`{"role":"` + string(m.Role) + `","content":[`)
		default:
			buf.WriteString(`]},{"role":"` + string(m.Role) + `","content":[`)
		}
		role = m.Role
		buf.Write(inner)
	}
	if role == "" {
		return nil, &llm.Error{Kind: run.ErrInvalid, Message: "the request has no message to send"}
	}
	buf.WriteString(`]}]}`)
	return buf.Bytes(), nil
}
