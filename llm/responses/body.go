package responses

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"pawl/internal/plainjson"
	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
	"pawl/schema"
)

// A wireTool is a tool in the API's form. Strict is always sent because its default is
// true: pawl validates arguments, and few tools' schemas are strict.
type wireTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Strict      bool            `json:"strict"`
	Parameters  json.RawMessage `json:"parameters"`
}

// A wireFormat is the form of an answer that is JSON.
type wireFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// minTokens is the smallest limit of an answer that the API accepts ("Expected a value
// >= 16"), read 2026-11-20.
const minTokens = 16

// EncodeTool returns t in the API's form.
func (p *Provider) EncodeTool(t llm.Tool) (json.RawMessage, error) {
	adapted, err := wire.ToolSchema(schema.OpenAI, t)
	if err != nil {
		return nil, err
	}
	return plainjson.Marshal(wireTool{"function", t.Name, t.Description, false, adapted})
}

// EncodeOutput returns a schema as the format of an answer, enforced where possible.
func (p *Provider) EncodeOutput(authored json.RawMessage) (json.RawMessage, error) {
	adapted, strict, err := schema.Strict(authored)
	if err != nil {
		return nil, err
	}
	return plainjson.Marshal(wireFormat{"json_schema", "answer", strict, adapted.Schema})
}

// requestBody splices the body of a request from encoded messages, the stable parts first.
// Parallel calls are left at the model's default.
func requestBody(r llm.Request, f features) ([]byte, error) {
	buf := wire.NewBody(r)
	fmt.Fprintf(buf, `{"model":%s,"stream":true,"store":false,"prompt_cache_key":"%s"`, wire.Quoted(r.Model), cacheKey(r))
	if f.encrypted {
		buf.WriteString(`,"include":["reasoning.encrypted_content"]`)
	}
	writeReasoning(buf, r, f)
	if r.MaxTokens > 0 {
		fmt.Fprintf(buf, `,"max_output_tokens":%d`, max(r.MaxTokens, minTokens))
	}
	if r.Output != nil {
		fmt.Fprintf(buf, `,"text":{"format":%s}`, r.Output)
	}
	if !wire.Blank(r.System) {
		fmt.Fprintf(buf, `,"instructions":%s`, wire.Quoted(r.System))
	}
	wire.WriteTools(buf, r.Tools, `,"tools":[`, "]")
	if len(r.Tools) > 0 && r.NoCalls {
		buf.WriteString(`,"tool_choice":"none"`)
	}
	separator, answered := `,"input":[`, false
	for _, m := range r.Messages {
		body := m.Body
		if answered = answered || m.Role == run.Assistant; !answered {
			body = withoutOrphans(body)
		}
		if len(body) <= len("[]") {
			continue
		}
		buf.WriteString(separator)
		buf.Write(body[1 : len(body)-1]) // without the brackets of Encode
		separator = ","
	}
	if separator != "," {
		return nil, wire.NoMessage()
	}
	buf.WriteString(`]}`)
	return buf.Bytes(), nil
}

// writeReasoning writes how much the model reasons, and whether it tells. Levels: none,
// minimal, low, medium, high, xhigh, max, of which each model has some
// (developers.openai.com/api/docs/guides/reasoning, read 2026-11-22).
func writeReasoning(buf *bytes.Buffer, r llm.Request, f features) {
	level := ""
	if r.Effort.Level != "" {
		level = fmt.Sprintf(`"effort":%s`, wire.Quoted(r.Effort.Level))
	}
	switch {
	case f.summary && level != "":
		fmt.Fprintf(buf, `,"reasoning":{%s,"summary":"auto"}`, level)
	case f.summary:
		buf.WriteString(`,"reasoning":{"summary":"auto"}`)
	case level != "":
		fmt.Fprintf(buf, `,"reasoning":{%s}`, level)
	}
}

// cacheKey is the same for all requests of a run, and for other runs of the same
// agent: requests with one key are routed to the machine that has their prefix cached
// (developers.openai.com/api/docs/guides/prompt-caching, read 2026-11-20).
func cacheKey(r llm.Request) string {
	h := sha256.New()
	h.Write([]byte(r.System))
	for _, t := range r.Tools {
		h.Write([]byte{0})
		h.Write(t)
	}
	return "pawl-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// withoutOrphans returns the items of a user message that precedes all answers with its
// results as text: compaction keeps a person's messages and drops the calls before them,
// and the API refuses a result without its call.
func withoutOrphans(body json.RawMessage) json.RawMessage {
	if !bytes.Contains(body, []byte(`"type":"function_call_output"`)) {
		return body
	}
	var raws []json.RawMessage
	if json.Unmarshal(body, &raws) != nil {
		return body
	}
	for i, raw := range raws {
		var result struct {
			Type   string          `json:"type"`
			Output json.RawMessage `json:"output"`
		}
		if json.Unmarshal(raw, &result) != nil || result.Type != "function_call_output" {
			continue
		}
		var content []any
		var text string
		var list []json.RawMessage
		if json.Unmarshal(result.Output, &text) == nil {
			content = append(content, inputText{"input_text", "[The result of an earlier call]\n" + text})
		} else if json.Unmarshal(result.Output, &list) == nil {
			content = append(content, inputText{"input_text", "[The result of an earlier call]"})
			for _, c := range list {
				content = append(content, c)
			}
		}
		if words, err := plainjson.Marshal(messageItem{"message", "user", content, ""}); err == nil {
			raws[i] = words
		}
	}
	words, err := plainjson.Marshal(raws)
	if err != nil {
		return body
	}
	return words
}
