package chat

import (
	"bytes"
	"encoding/json"
	"fmt"

	"pawl/internal/plainjson"
	"pawl/llm"
	"pawl/llm/wire"
)

// requestBody splices the body of a request from encoded messages, the stable parts
// first.
func requestBody(r llm.Request, d Dialect) ([]byte, error) {
	s := splicer{buf: wire.NewBody(r), bridge: d.Bridge}
	model := wire.Quoted(r.Model)
	fmt.Fprintf(s.buf, `{"model":%s,"stream":true`, model)
	if !d.NoUsage {
		s.buf.WriteString(`,"stream_options":{"include_usage":true}`)
	}
	if r.MaxTokens > 0 {
		field := d.MaxTokens
		if field == "" {
			field = "max_tokens"
		}
		fmt.Fprintf(s.buf, `,%q:%d`, field, r.MaxTokens)
	}
	if r.Effort.Level != "" {
		// developers.openai.com/api/docs/api-reference/chat/create, reasoning_effort; the same
		// field at OpenRouter, xAI and DeepSeek (openrouter.ai/docs/guides/best-practices/reasoning-tokens,
		// docs.x.ai/developers/model-capabilities/text/reasoning,
		// api-docs.deepseek.com/guides/thinking_mode); read 2026-11-22.
		fmt.Fprintf(s.buf, `,"reasoning_effort":%s`, wire.Quoted(r.Effort.Level))
	}
	wire.WriteTools(s.buf, r.Tools, `,"tools":[`, "]")
	if len(r.Tools) > 0 && r.NoCalls {
		s.buf.WriteString(`,"tool_choice":"none"`)
	}
	if r.Output != nil {
		fmt.Fprintf(s.buf, `,"response_format":%s`, r.Output)
	}
	s.buf.WriteString(`,"messages":[`)
	marks := d.CacheMarks && bytes.HasPrefix(model, []byte(`"anthropic/`))
	if !wire.Blank(r.System) {
		role := d.SystemRole
		if role == "" {
			role = "system"
		}
		system, err := plainjson.Marshal(userMessage{role, r.System})
		if err != nil {
			return nil, err
		}
		s.write(system)
		if marks {
			s.markLast()
		}
	}
	before := s.buf.Len()
	for _, m := range r.Messages {
		if len(m.Body) > len("[]") {
			if err := s.add(m.Body[1 : len(m.Body)-1]); err != nil { // without the brackets of Encode
				return nil, err
			}
		}
	}
	if s.buf.Len() == before {
		return nil, wire.NoMessage()
	}
	if s.lastRole() == "assistant" {
		s.write(goOn)
	}
	if marks {
		s.markLast()
	}
	s.buf.WriteString(`]}`)
	return s.buf.Bytes(), nil
}

// How messages begin. No string in a message can hold these: quotes in it are escaped.
var (
	fromUser      = []byte(`{"role":"user",`)
	fromAssistant = []byte(`{"role":"assistant",`)
	fromTool      = []byte(`{"role":"tool",`)
	fromAnyone    = []byte(`{"role":"`)
	hasCalls      = []byte(`"tool_calls":[{"id":`)
)

// Messages between others that may not follow each other.
var (
	// goOn is inserted between two answers and after an answer that is the last message,
	// which the model must continue. Few servers continue it by themselves, and some refuse:
	// "This model does not support assistant message prefill. The conversation must
	// end with a user message" (Anthropic's newer models, through any gateway).
	goOn = []byte(`{"role":"user","content":"Continue."}`)
	// noted is inserted between results and the user's text where text may not follow
	// results: "Unexpected role 'user' after role 'tool'" (Mistral).
	noted = []byte(`{"role":"assistant","content":"Noted."}`)
)

// A splicer concatenates messages so that roles alternate: adjacent messages of the user
// are joined, because Mistral and the templates of many local models refuse two of one
// role.
type splicer struct {
	buf    *bytes.Buffer
	last   []byte // what was added last: one message, or results and text
	bridge bool
}

// write adds messages as they are.
func (s *splicer) write(messages []byte) {
	if s.last != nil {
		s.buf.WriteByte(',')
	}
	s.buf.Write(messages)
	s.last = messages
}

// lastRole returns the role of the last message.
func (s *splicer) lastRole() string {
	switch {
	case bytes.HasPrefix(s.last, fromUser):
		return "user"
	case bytes.HasPrefix(s.last, fromAssistant):
		return "assistant"
	case bytes.HasPrefix(s.last, fromTool):
		if bytes.Contains(s.last, fromUser) {
			return "user"
		}
		return "tool"
	}
	return ""
}

// add adds an encoded message.
func (s *splicer) add(messages []byte) error {
	switch {
	case bytes.HasPrefix(messages, fromAssistant):
		if bytes.HasPrefix(s.last, fromAssistant) {
			s.write(goOn)
		}
		s.write(messages)
		return nil
	case bytes.HasPrefix(messages, fromTool) && !bytes.Contains(s.last, hasCalls):
		var err error
		if messages, err = asWords(messages); err != nil {
			return err
		}
	}
	if bytes.HasPrefix(messages, fromTool) {
		if at := bytes.Index(messages, fromUser); s.bridge && at > 0 {
			s.write(messages[:at-1])
			s.write(noted)
			messages = messages[at:]
		}
		s.write(messages)
		return nil
	}
	switch role := s.lastRole(); {
	case role == "user":
		at := bytes.LastIndex(s.buf.Bytes(), fromUser)
		joined, err := join(s.buf.Bytes()[at:], messages)
		if err != nil {
			return err
		}
		s.buf.Truncate(at)
		s.buf.Write(joined)
		s.last = joined
		return nil
	case role == "tool" && s.bridge:
		s.write(noted)
	}
	s.write(messages)
	return nil
}

// join returns two messages of the user as one.
func join(a, b []byte) ([]byte, error) {
	var all []contentPart
	for _, raw := range [][]byte{a, b} {
		parts, err := contentOf(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	return plainjson.Marshal(userMessage{"user", simplest(all)})
}

// contentOf returns the content of a message as a list.
func contentOf(message []byte) ([]contentPart, error) {
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, fmt.Errorf("a message was not encoded for this wire: %w", err)
	}
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []contentPart{{Type: "text", Text: text}}, nil
	}
	var parts []contentPart
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return nil, fmt.Errorf("a message was not encoded for this wire: %w", err)
	}
	return parts, nil
}

// asWords returns results whose calls are no longer in the conversation, as after a
// compaction, as a message of the user: every server refuses a result without its call.
func asWords(messages []byte) ([]byte, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(append(append([]byte{'['}, messages...), ']'), &list); err != nil {
		return nil, fmt.Errorf("a message was not encoded for this wire: %w", err)
	}
	var all []contentPart
	for _, raw := range list {
		parts, err := contentOf(raw)
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(raw, fromTool) {
			parts[0].Text = "[The result of a call that is no longer shown]\n" + parts[0].Text
		}
		all = append(all, parts...)
	}
	return plainjson.Marshal(userMessage{"user", simplest(all)})
}

// markLast asks the provider to cache everything up to the last message, if that is a
// text: two marks, at the system prompt and at the end
// (openrouter.ai/docs/guides/best-practices/prompt-caching, read 2026-11-20; that
// results may carry one too: badlogic/pi-mono). Only the last message is
// rewritten, so all before it keep their bytes.
func (s *splicer) markLast() {
	at := bytes.LastIndex(s.buf.Bytes(), fromAnyone)
	var m struct {
		Role    string          `json:"role"`
		CallID  string          `json:"tool_call_id,omitempty"`
		Content json.RawMessage `json:"content"`
	}
	if at < 0 || json.Unmarshal(s.buf.Bytes()[at:], &m) != nil {
		return
	}
	parts, err := contentOf(s.buf.Bytes()[at:])
	if err != nil {
		return
	}
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i].Type == "text" {
			parts[i].CacheControl = &marker{"ephemeral"}
			break
		}
	}
	if m.Content, err = plainjson.Marshal(parts); err != nil {
		return
	}
	marked, err := plainjson.Marshal(m)
	if err != nil {
		return
	}
	s.buf.Truncate(at)
	s.buf.Write(marked)
	s.last = marked
}
