package view

import (
	"bytes"
	"encoding/json"
	"strings"

	"pawl/run"
)

// A field is one member of a JSON object.
type field struct {
	name  string
	value json.RawMessage
}

// fields returns the members of a JSON object in their order. What follows an incomplete
// or invalid part is left out; ok reports whether raw begins as an object.
func fields(raw string) (members []field, ok bool) {
	dec := json.NewDecoder(strings.NewReader(closed(raw)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		t, err := dec.Token()
		name, isName := t.(string)
		var value json.RawMessage
		if err != nil || !isName || dec.Decode(&value) != nil {
			break
		}
		members = append(members, field{name, value})
	}
	return members, true
}

// closed completes the beginning of a JSON text so that it can be read: it ends a string
// that is open, and the objects and arrays around it. A complete text stays as it is.
func closed(text string) string {
	var open []byte
	quoted, escaped, escape := false, false, 0 // escape is where the last escape sequence begins
	for i := range len(text) {
		c := text[i]
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped, escape = true, i
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open = append(open, c+2) // the brace or bracket that closes it
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if quoted {
		if escaped || incomplete(text[escape:]) {
			text = text[:escape]
		}
		text += `"`
	}
	for len(open) > 0 {
		text += string(open[len(open)-1])
		open = open[:len(open)-1]
	}
	return text
}

// incomplete reports whether an escape sequence \uXXXX lacks digits.
func incomplete(sequence string) bool {
	return strings.HasPrefix(sequence, `\u`) && len(sequence) < len(`\u0000`)
}

// asString returns the text of a JSON string; empty for any other value.
func asString(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// plain writes a JSON value without its syntax: the fields of an object as "name: value",
// one a line at the outer level.
func plain(value json.RawMessage, separator string) string {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return ""
	}
	var parts []string
	switch value[0] {
	case '"':
		return asString(value)
	case '{':
		members, _ := fields(string(value))
		for _, f := range members {
			if v := plain(f.value, "; "); v != "" {
				parts = append(parts, f.name+": "+v)
			}
		}
	case '[':
		var elements []json.RawMessage
		if json.Unmarshal(value, &elements) != nil {
			return string(value)
		}
		for _, e := range elements {
			if v := plain(e, ", "); v != "" {
				parts = append(parts, v)
			}
		}
	case 'n':
		return "" // null
	default:
		return string(value)
	}
	return strings.Join(parts, separator)
}

// maxObject bounds the object of controller mode that is read while it streams, in bytes:
// it is read again with every delta.
const maxObject = 32 << 10

// streamedAction reads the beginning of a controller object. ok reports whether text has
// one.
func streamedAction(text string) (a run.Action, ok bool) {
	i := strings.IndexByte(text, '{')
	if i < 0 {
		return a, false
	}
	members, ok := fields(text[i:])
	for _, f := range members {
		switch f.name {
		case "description":
			a.Description = asString(f.value)
		case "thinking":
			a.Thinking = string(f.value)
		case "message":
			a.Message = asString(f.value)
		case "reason":
			a.Reason = asString(f.value)
		}
	}
	return a, ok && len(members) > 0
}

// InputOf returns the arguments of a call as an object; empty for what is none, which
// cannot run.
func InputOf(arguments string) json.RawMessage {
	if raw := bytes.TrimSpace([]byte(arguments)); len(raw) > 0 && raw[0] == '{' && json.Valid(raw) {
		return raw
	}
	return json.RawMessage("{}")
}

// Remember takes note of the calls that an event brings, and of what hooks make of them.
func Remember(calls map[run.CallID]run.Call, p run.Payload) {
	for _, c := range CallsOf(p) {
		calls[c.ID] = c
	}
	if f, ok := p.(run.HookSettled); ok && f.Arguments != "" {
		if c, known := calls[f.Call]; known {
			c.Arguments = f.Arguments
			calls[f.Call] = c
		}
	}
}

// CallsOf returns the calls that an event brings.
func CallsOf(p run.Payload) []run.Call {
	var calls []run.Call
	switch f := p.(type) {
	case run.Replied:
		for _, p := range f.Parts {
			if p.Type == run.CallPart && p.Call != nil {
				calls = append(calls, *p.Call)
			}
		}
	case run.CallReceived:
		calls = append(calls, f.Call)
	}
	return calls
}
