package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"pawl/internal/plainjson"
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
	adapted, err := wire.ToolSchema(schema.AnthropicTool, t)
	if err != nil {
		return nil, err
	}
	return plainjson.Marshal(wireTool{t.Name, t.Description, adapted})
}

// EncodeOutput returns a schema as the API wants it.
func (p *Provider) EncodeOutput(authored json.RawMessage) (json.RawMessage, error) {
	adapted, err := schema.Adapt(schema.AnthropicOutput, authored)
	return adapted.Schema, err
}

// deepMaxTokens bounds an answer at the levels above high, where thinking counts too: the
// documentation of effort advises to begin with 64k, and every model that has these levels
// accepts it.
const deepMaxTokens = 64_000

// writeOutputConfig writes the level of effort and the schema of the answer. "Set
// output_config.effort on the request"; it needs no beta header
// (platform.claude.com/docs/en/build-with-claude/effort, read 2026-11-22).
func writeOutputConfig(buf *bytes.Buffer, r llm.Request) {
	var fields [][]byte
	if level := r.Effort.Level; level != "" && level != llm.NoThinking {
		fields = append(fields, fmt.Appendf(nil, `"effort":%s`, wire.Quoted(level)))
	}
	if r.Output != nil {
		fields = append(fields, fmt.Appendf(nil, `"format":{"type":"json_schema","schema":%s}`, r.Output))
	}
	if len(fields) > 0 {
		fmt.Fprintf(buf, `,"output_config":{%s}`, bytes.Join(fields, []byte(",")))
	}
}

// minThinking is the smallest budget that the API accepts ("budget_tokens: Input should be
// greater than or equal to 1024"); it must also be below max_tokens
// (platform.claude.com/docs/en/build-with-claude/extended-thinking, read 2026-11-22).
const minThinking = 1024

// writeThinking turns thinking on or off where the effort says so.
func writeThinking(buf *bytes.Buffer, r llm.Request, maxTokens int) {
	budget := min(r.Effort.Budget, maxTokens-minThinking)
	switch {
	case r.Effort.Level == llm.NoThinking:
		buf.WriteString(`,"thinking":{"type":"disabled"}`)
	case r.Effort.Adaptive:
		buf.WriteString(`,"thinking":{"type":"adaptive"}`)
	case budget >= minThinking && !unthinkingCalls(r.Messages):
		fmt.Fprintf(buf, `,"thinking":{"type":"enabled","budget_tokens":%d}`, budget)
	}
}

// unthinkingCalls reports whether the last answer has calls and does not begin with
// thinking: with a budget the API refuses it ("Expected `thinking` or `redacted_thinking`,
// but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start
// with a thinking block"). That is so for one step after the effort, or the model, was
// changed in the middle of a turn. Adaptive thinking has no such rule.
func unthinkingCalls(messages []llm.Message) bool {
	var first json.RawMessage // of the last answer, which may be several messages that are joined
	calls := false
	for _, m := range slices.Backward(messages) {
		switch {
		case len(m.Body) <= len("[]"):
		case m.Role == run.Assistant:
			first, calls = m.Body, calls || bytes.Contains(m.Body, []byte(`"type":"tool_use"`))
		case first != nil:
			return calls && !bytes.HasPrefix(first, []byte(`[{"type":"thinking"`)) && !bytes.HasPrefix(first, []byte(`[{"type":"redacted_thinking"`))
		}
	}
	return false
}

// requestBody splices the body of a request from encoded messages, the stable parts
// first.
func requestBody(r llm.Request, _ struct{}) ([]byte, error) {
	buf := wire.NewBody(r)
	maxTokens := r.MaxTokens
	switch level := r.Effort.Level; {
	case maxTokens > 0:
	case level == "xhigh" || level == "max":
		maxTokens = deepMaxTokens
	default:
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
	writeOutputConfig(buf, r)
	writeThinking(buf, r, maxTokens)
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
