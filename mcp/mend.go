package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/visible"
)

// unreadable is the key in the metadata of a tool, prompt or resource under which stands why it cannot be read.
const unreadable = "pawl/unreadable"

// parts are the lists in results of which the library refuses the whole for one entry that is wrong. An entry that is
// wrong is replaced by one that says why, or what was sent.
var parts = map[string]struct {
	into func() any // what an entry is decoded into
	as   func(entry json.RawMessage, why string) any
}{
	"tools":     {func() any { return new(sdk.Tool) }, placeholder},
	"prompts":   {func() any { return new(sdk.Prompt) }, placeholder},
	"resources": {func() any { return new(sdk.Resource) }, placeholder},
	"content":   {func() any { return new(oneContent) }, func(entry json.RawMessage, _ string) any { return &sdk.TextContent{Text: foreign(entry)} }},
	"messages": {func() any { return new(sdk.PromptMessage) }, func(entry json.RawMessage, _ string) any {
		return &sdk.PromptMessage{Role: "user", Content: &sdk.TextContent{Text: foreign(entry)}}
	}},
	"contents": {func() any { return new(sdk.ResourceContents) }, func(entry json.RawMessage, _ string) any {
		return &sdk.ResourceContents{Text: foreign(entry)}
	}},
}

// oneContent is an entry of the content of a result.
type oneContent struct{}

func (*oneContent) UnmarshalJSON(entry []byte) error {
	return json.Unmarshal(fmt.Appendf(nil, `{"content":[%s]}`, entry), new(sdk.CallToolResult))
}

func placeholder(entry json.RawMessage, why string) any {
	var named struct {
		Name any `json:"name"`
	}
	_ = json.Unmarshal(entry, &named) // it may be no object
	name, is := named.Name.(string)
	if !is {
		name = clip(string(entry), 60)
	}
	return map[string]any{"name": name, "uri": "", "inputSchema": map[string]any{"type": "object"}, "_meta": map[string]any{unreadable: why}}
}

func foreign(entry json.RawMessage) string {
	return "[content that the protocol does not have: " + clip(string(entry), 500) + "]"
}

// maxDepth is how deep the library lets JSON be. Source: defaultMaxDepth in its internal/json, v1.8.0; an entry is inside of
// four others.
const maxDepth = 1000 - 4

func deep(raw []byte) bool {
	depth, text := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			text = !text
		case text && c == '\\':
			i++
		case text:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// wrong says what keeps an entry of a list from being read; empty if nothing does.
func wrong(entry json.RawMessage, into any) string {
	if deep(entry) {
		return "it is nested too deep"
	}
	if bytes.Equal(entry, []byte("null")) {
		return "it is null"
	}
	err := json.Unmarshal(entry, into)
	if of, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return fmt.Sprintf("%s is of the type %s", cmp.Or(of.Field, "it"), of.Value)
	}
	if err != nil {
		return visible.Escape(err.Error())
	}
	if p, is := into.(*sdk.Prompt); is && slices.Contains(p.Arguments, nil) {
		return "an argument is null"
	}
	return ""
}

// lookedAt is how large an entry of a list may be that is looked at, in bytes. To find the entries of a message of 10 MB
// takes 0.2 s, where the library takes 0.5 s to read it; to look at a text of that size would take 0.4 s more.
const lookedAt = 1 << 20

// mend returns a message of a server so that the library reads what can be read of it: without mend one wrong entry of a list
// costs the list, and a wrong form of an answer the time limit of its request, or the connection. What is no message, or right, is returned as
// it is, and so are entries of more than lookedAt.
func mend(message []byte) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(message, &m) != nil {
		if broken := brokenAnswer(message); broken != nil {
			return broken
		}
		return message
	}
	if m["method"] == nil && m["id"] == nil {
		return message
	}
	changed := false
	set := func(key string, value any) {
		m[key], _ = json.Marshal(value) // of JSON
		changed = true
	}
	if m["method"] != nil {
		if m["params"] == nil || string(m["params"]) == "null" { // the library reads what is not there
			m["params"] = json.RawMessage("{}")
			message, _ = json.Marshal(m) // of JSON
		}
		return message
	}
	if id, is := number(m["id"]); is {
		set("id", id)
	}
	if string(m["jsonrpc"]) != `"2.0"` && (m["result"] != nil || m["error"] != nil) {
		set("jsonrpc", "2.0")
	}
	var refused struct {
		Code    int64
		Message string
	}
	var result map[string]json.RawMessage
	switch {
	case m["error"] != nil && string(m["error"]) != "null":
		if json.Unmarshal(m["error"], &refused) != nil {
			set("error", map[string]any{"code": -32603, "message": clip(string(m["error"]), 500)})
		}
	case json.Unmarshal(m["result"], &result) != nil:
		delete(m, "result")
		set("error", map[string]any{"code": -32603, "message": noAnswer + "a result of the protocol: " + clip(string(message), 200)})
	case mendResult(result):
		set("result", result)
	}
	if deep(m["result"]) {
		delete(m, "result")
		set("error", map[string]any{"code": -32603, "message": noAnswer + "one that can be read: it is nested too deep"})
	}
	if !changed {
		return message
	}
	message, _ = json.Marshal(m) // of JSON
	return message
}

// number returns the number that an id is meant as which is not written as one: pawl gives numbers alone.
func number(id json.RawMessage) (n int64, other bool) {
	var f float64
	text := strings.Trim(string(id), `"`)
	if json.Unmarshal(id, &n) == nil || json.Unmarshal([]byte(text), &f) != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func mendResult(result map[string]json.RawMessage) (changed bool) {
	changed = keepTasks(result)
	for key, part := range parts {
		var entries []json.RawMessage
		if result[key] == nil || string(result[key]) == "null" {
			continue
		}
		one := json.Unmarshal(result[key], &entries) != nil
		if one {
			entries = []json.RawMessage{result[key]}
		}
		mended := one
		for i, entry := range entries {
			if len(entry) > lookedAt {
				continue
			}
			if why := wrong(entry, part.into()); why != "" {
				entries[i], _ = json.Marshal(part.as(entry, why)) // of texts
				mended = true
			}
		}
		if mended {
			result[key], _ = json.Marshal(entries) // of JSON
			changed = true
		}
	}
	return changed
}

// noAnswer begins the message of an error that stands for an answer of no use: whether the call has done anything is unknown.
const noAnswer = "its answer is not "

// byteOrderMark begins what programs for Windows write.
var byteOrderMark = []byte("\xef\xbb\xbf")

// A mended body is that of a response, with its messages as [mend] returns them.
type mended struct {
	io.ReadCloser
	events *bufio.Reader // nil: the body is one message
	left   []byte
	err    error // after what is left
}

func newMended(body io.ReadCloser, events bool) *mended {
	m := &mended{ReadCloser: body}
	if events {
		m.events = bufio.NewReader(body)
	}
	return m
}

func (m *mended) Read(p []byte) (int, error) {
	for len(m.left) == 0 && m.err == nil {
		if m.events == nil {
			var all []byte
			all, m.err = io.ReadAll(m.ReadCloser)
			m.left, m.err = mend(bytes.TrimPrefix(all, byteOrderMark)), cmp.Or(m.err, io.EOF)
			continue
		}
		var line []byte
		if line, m.err = readLine(m.events); m.err == nil {
			if data, is := bytes.CutPrefix(line, []byte("data:")); is {
				line = append([]byte("data: "), mend(bytes.TrimPrefix(data, []byte(" ")))...)
			}
			line = append(line, '\n')
		}
		m.left = line
	}
	if len(m.left) == 0 {
		return 0, m.err
	}
	n := copy(p, m.left)
	m.left = m.left[n:]
	return n, nil
}
