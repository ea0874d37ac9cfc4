package chat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"pawl/internal/plainjson"
	"pawl/llm/wire"
	"pawl/run"
)

// A detail is one entry of reasoning_details as it grows: all its fields but the
// text. Entries come in pieces, as text does: pieces of one kind and index that
// follow each other are one entry, and its signature comes with the last of them.
// Encrypted entries come whole and are kept byte for byte.
// openrouter.ai/docs/guides/best-practices/reasoning-tokens, and the recorded
// streams; read 2026-11-20.
type detail map[string]json.RawMessage

// parseDetail returns a piece of reasoning that has a text, and false for any other.
func parseDetail(raw json.RawMessage) (d detail, text string, ok bool) {
	if json.Unmarshal(raw, &d) != nil {
		return nil, "", false
	}
	field := d.textField()
	if field == "" {
		return nil, "", false
	}
	_ = json.Unmarshal(d[field], &text) // null if a piece has only the signature
	delete(d, field)
	return d, text, true
}

// textField names the field that people can read.
func (d detail) textField() string {
	switch string(d["type"]) {
	case `"reasoning.text"`:
		return "text"
	case `"reasoning.summary"`:
		return "summary"
	}
	return ""
}

// continues reports whether more is of the same entry.
func (d detail) continues(more detail) bool {
	return d != nil && bytes.Equal(d["type"], more["type"]) && bytes.Equal(d["index"], more["index"])
}

// merge adds the fields of a later piece; empty ones replace nothing.
func (d detail) merge(more detail) {
	for name, value := range more {
		if _, have := d[name]; !have || string(value) != "null" && string(value) != `""` {
			d[name] = value
		}
	}
}

// signature returns the entry without its text, for the part that has the text.
func (d detail) signature() string {
	raw, err := plainjson.Marshal(d)
	if err != nil || d == nil {
		return ""
	}
	return string(raw)
}

// withText returns the complete entry that a part was made from; false if it was made from
// none.
func withText(part run.Part) (json.RawMessage, bool) {
	var d detail
	if !wire.IsObject(part.Signature) || json.Unmarshal([]byte(part.Signature), &d) != nil {
		return nil, false
	}
	field := d.textField()
	if field == "" {
		return nil, false
	}
	if part.Text != "" {
		text, err := plainjson.Marshal(part.Text)
		if err != nil {
			return nil, false
		}
		d[field] = text
	}
	raw, err := plainjson.Marshal(d)
	return raw, err == nil
}

// details returns the reasoning of a message as a list of entries. Entries of Gemini
// name the call that they sign by its id, so the id must be the one the call is sent with.
func (p *Provider) details(parts []run.Part) []json.RawMessage {
	var list []json.RawMessage
	for _, part := range parts {
		if !p.owns(part) {
			continue
		}
		switch part.Type {
		case run.ThinkingPart:
			if raw, ok := withText(part); ok {
				list = append(list, raw)
			}
		case run.OpaquePart:
			if wire.IsObject(part.Raw) && !strings.HasPrefix(part.Raw, extraPrefix) {
				list = append(list, renamed(json.RawMessage(part.Raw), parts))
			}
		}
	}
	return list
}

func renamed(raw json.RawMessage, parts []run.Part) json.RawMessage {
	var d detail
	var id string
	if json.Unmarshal(raw, &d) != nil || json.Unmarshal(d["id"], &id) != nil || id == "" {
		return raw
	}
	for _, part := range parts {
		if part.Call != nil && part.Call.ProviderID == id {
			d["id"], _ = json.Marshal(wireID(part.Call.ID)) // a string can always be encoded
			if other, err := plainjson.Marshal(d); err == nil {
				return other
			}
		}
	}
	return raw
}

// rejectsReasoning reports whether an error is about the reasoning of earlier answers:
// a field that the server does not know, or a signature of another server.
func rejectsReasoning(e wire.APIError) bool {
	for _, field := range []string{"reasoning_details", "reasoning_content", "reasoning"} {
		if e.Rejects(field) {
			return true
		}
	}
	if slices.ContainsFunc(e.Params, func(p string) bool { return strings.Contains(p, "reasoning") }) {
		return true
	}
	message := strings.ToLower(e.Message)
	about := strings.Contains(message, "reasoning") || strings.Contains(message, "thinking") || strings.Contains(message, "thought")
	return about && (strings.Contains(message, "signature") || strings.Contains(message, "encrypted"))
}

// withoutReasoning returns an encoded answer without its reasoning.
func withoutReasoning(body json.RawMessage) json.RawMessage {
	var messages []assistantMessage
	if !bytes.Contains(body, []byte(`"reasoning`)) || json.Unmarshal(body, &messages) != nil {
		return body
	}
	changed := false
	for i := range messages {
		m := &messages[i]
		changed = changed || m.ReasoningContent != nil || m.Reasoning != nil || m.Details != nil
		m.ReasoningContent, m.Reasoning, m.Details = nil, nil, nil
	}
	without, err := plainjson.Marshal(messages)
	if !changed || err != nil {
		return body
	}
	return without
}
