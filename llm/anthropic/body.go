package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
	"pawl/schema"
)

// A wireTool is a tool as the API wants it.
type wireTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// cacheMark asks the provider to cache everything up to this point for five minutes. At
// the top level it applies to the last block of the request (MessageNewParams.CacheControl of anthropic-sdk-go v1.84.0, read 2026-11-20), so the
// messages' own bytes stay the same from step to step. The one on the system
// prompt keeps that and the tools for other runs too.
const cacheMark = `"cache_control":{"type":"ephemeral"}`

// noTools stands for the tools of a request that wants no calls in a conversation
// that had some: "Requests which include tool_use or tool_result blocks must define
// tools" (github.com/anthropics/anthropic-sdk-python issue 494, read 2026-11-20).
const noTools = `,"tools":[{"name":"none","description":"No tool can be called now.","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"}`

// lookBack reports whether a conversation has calls. Text may contain the same bytes;
// the request then has one unneeded tool.
func lookBack(messages []llm.Message) bool {
	for _, m := range messages {
		if bytes.Contains(m.Body, []byte(`"type":"tool_use"`)) || bytes.Contains(m.Body, []byte(`"type":"tool_result"`)) {
			return true
		}
	}
	return false
}

// EncodeTool returns t as the API wants it.
func (p *Provider) EncodeTool(t llm.Tool) (json.RawMessage, error) {
	authored := t.Schema
	if len(authored) == 0 {
		authored = json.RawMessage(`{"type":"object"}`)
	}
	adapted, err := schema.Adapt(schema.AnthropicTool, authored)
	if err != nil {
		return nil, err
	}
	return wire.JSON(wireTool{t.Name, t.Description, adapted.Schema})
}

// EncodeOutput returns a schema as the API wants it.
func (p *Provider) EncodeOutput(authored json.RawMessage) (json.RawMessage, error) {
	adapted, err := schema.Adapt(schema.AnthropicOutput, authored)
	return adapted.Schema, err
}

// requestBody splices the body of a request from encoded messages, the stable parts
// first. Thinking is left at the model's default.
func requestBody(r llm.Request) ([]byte, error) {
	buf := wire.NewBody(r)
	maxTokens := r.MaxTokens
	if maxTokens <= 0 {
		maxTokens = DefaultMaxTokens
	}
	fmt.Fprintf(buf, `{"model":%s,"max_tokens":%d,"stream":true,%s`, wire.Quoted(r.Model), maxTokens, cacheMark)
	if !wire.Blank(r.System) {
		fmt.Fprintf(buf, `,"system":[{"type":"text","text":%s,%s}]`, wire.Quoted(r.System), cacheMark)
	}
	wire.WriteTools(buf, r.Tools, `,"tools":[`, "]")
	switch {
	case len(r.Tools) > 0 && r.NoCalls:
		buf.WriteString(`,"tool_choice":{"type":"none"}`)
	case len(r.Tools) == 0 && lookBack(r.Messages):
		buf.WriteString(noTools)
	}
	if r.Output != nil {
		fmt.Fprintf(buf, `,"output_config":{"format":{"type":"json_schema","schema":%s}}`, r.Output)
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
		return nil, wire.NoMessage()
	}
	buf.WriteString(`]}]}`)
	return buf.Bytes(), nil
}
