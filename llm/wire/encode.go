package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"pawl/internal/plainjson"
	"pawl/llm"
	"pawl/run"
	"pawl/schema"
)

// An Array is a JSON array that is being written. The zero value is empty.
type Array struct {
	buf bytes.Buffer
	err error
}

// Add adds an element; a [json.RawMessage] is written as it is.
func (a *Array) Add(element any) { a.AddAfter(",", element) }

// AddAfter is Add with white space after the comma before the element.
func (a *Array) AddAfter(comma string, element any) {
	raw, ok := element.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = plainjson.Marshal(element); err != nil && a.err == nil {
			a.err = err
		}
	}
	if a.buf.Len() == 0 {
		comma = "["
	}
	a.buf.WriteString(comma)
	a.buf.Write(raw)
}

// Bytes returns the array, nil when it is empty.
func (a *Array) Bytes() (json.RawMessage, error) {
	if a.err != nil || a.buf.Len() == 0 {
		return nil, a.err
	}
	a.buf.WriteByte(']')
	return bytes.Clone(a.buf.Bytes()), nil // kept for the whole run: without the buffer's slack
}

// NewBody returns a buffer that is large enough for the body of r, with some bytes
// around each message.
func NewBody(r llm.Request) *bytes.Buffer {
	size := 4096 + len(r.System) + len(r.Output)
	for _, m := range r.Messages {
		size += len(m.Body) + len(m.Body)/8 + 64
	}
	for _, t := range r.Tools {
		size += len(t) + 1
	}
	buf := new(bytes.Buffer)
	buf.Grow(size)
	return buf
}

// WriteTools writes the encoded tools of a request between before and after, and
// nothing if there are none.
func WriteTools(buf *bytes.Buffer, tools []json.RawMessage, before, after string) {
	if len(tools) == 0 {
		return
	}
	for _, t := range tools {
		buf.WriteString(before)
		buf.Write(t)
		before = ","
	}
	buf.WriteString(after)
}

// Sendable reports whether a part of an answer goes back to the server that origin names, as
// far as that is the same on every wire.
func Sendable(part run.Part, origin string) bool {
	switch part.Type {
	case run.TextPart:
		return !Blank(part.Text)
	case run.ThinkingPart:
		return part.Wire == origin && part.Signature != ""
	case run.OpaquePart:
		return part.Wire == origin && IsObject(part.Raw)
	case run.CallPart:
		return part.Call != nil
	}
	return false
}

// ToolSchema returns the schema of a tool's arguments in the form of a wire.
func ToolSchema(target schema.Target, t llm.Tool) (json.RawMessage, error) {
	authored := t.Schema
	if len(authored) == 0 {
		authored = json.RawMessage(`{"type":"object"}`)
	}
	adapted, err := schema.Adapt(target, authored)
	return adapted.Schema, err
}

// Quoted returns a string as JSON.
func Quoted(s string) []byte {
	quoted, _ := json.Marshal(s) // a string can always be encoded
	return quoted
}

// NoMessage is the error for a request in which nothing can be sent.
func NoMessage() error {
	return &llm.Error{Kind: run.ErrInvalid, Message: "the request has no message to send"}
}

// Shows reports whether an image is one of these types; one that is not would be
// refused together with the whole request. Without types they are those that all
// providers take but Google.
func Shows(i *run.Image, types ...string) bool {
	if len(types) == 0 {
		types = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	}
	return len(i.Data) > 0 && slices.Contains(types, i.MediaType)
}

// DataURL returns an image as an address that contains it.
func DataURL(i *run.Image) string {
	return "data:" + i.MediaType + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// LeftOut is what stands in place of an image that is not sent.
func LeftOut(i *run.Image) string {
	return "[an image of type " + i.MediaType + " is left out: the model cannot see it]"
}

// ToolName returns name as every provider accepts it in a call. Only a call that
// named no tool of ours, and so was never run, is changed by it.
func ToolName(name string) string {
	if name == "" {
		return "no_name"
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return clean[:min(len(clean), llm.MaxToolName)]
}

// IsObject reports whether s is one JSON object.
func IsObject(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

// Blank reports whether s is white space or nothing.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }

// TypeOf returns the member type of a JSON object; empty if it has none.
func TypeOf(object []byte) string {
	var o struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(object, &o) != nil {
		return ""
	}
	return o.Type
}

// Without returns a JSON array of objects without those of these types. An array that
// has none of them is returned as it is.
func Without(array json.RawMessage, types ...string) json.RawMessage {
	if !slices.ContainsFunc(types, func(t string) bool { return bytes.Contains(array, Quoted(t)) }) {
		return array
	}
	var raws []json.RawMessage
	if json.Unmarshal(array, &raws) != nil {
		return array
	}
	kept := slices.DeleteFunc(slices.Clone(raws), func(raw json.RawMessage) bool { return slices.Contains(types, TypeOf(raw)) })
	if len(kept) == len(raws) {
		return array
	}
	without, err := plainjson.Marshal(kept)
	if err != nil {
		return array
	}
	return without
}

// Origin returns the name of the server whose reasoning is marked with it: the wire's
// name for its usual address, and with the host for any other. What one server has
// signed or encrypted no other can read, and a request with it is refused.
func Origin(wire, base, usual string) string {
	u, err := url.Parse(base)
	if err != nil || base == usual {
		return wire
	}
	return wire + "@" + u.Host
}
