package chat

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"pawl/llm/wire"
	"pawl/run"
)

// A loose is a JSON string, or the text of any other value in its place: some
// servers send arguments as an object and indices as strings.
type loose string

// UnmarshalJSON accepts anything.
func (l *loose) UnmarshalJSON(raw []byte) error {
	var s string
	switch {
	case string(raw) == "null":
	case json.Unmarshal(raw, &s) == nil:
		*l = loose(s)
	default:
		*l = loose(raw)
	}
	return nil
}

// A fragment is one piece of a call in a chunk.
type fragment struct {
	Index    loose           `json:"index"`
	ID       loose           `json:"id"`
	Function function        `json:"function"`
	Extra    json.RawMessage `json:"extra_content"`
}

type function struct {
	Name      loose `json:"name"`
	Arguments loose `json:"arguments"`
}

// A call is one as it grows.
type call struct {
	id, name  string
	arguments []byte
	extra     json.RawMessage // sent back with it
}

// parts returns the call as parts of a message, after the part that is sent back with it.
func (c *call) parts(origin string) []run.Part {
	var parts []run.Part
	if c.extra != nil {
		parts = append(parts, run.Part{Type: run.OpaquePart, Wire: origin, Raw: extraPrefix + string(c.extra) + "}"})
	}
	return append(parts, run.Part{Type: run.CallPart, Call: wire.Call(c.id, c.name, string(c.arguments), false)})
}

// extraPrefix begins an opaque part that belongs to the next call.
const extraPrefix = `{"extra_content":`

// calls finds the call that a fragment belongs to.
type calls struct {
	byIndex map[int]*call
	byID    map[string]*call
	last    *call
}

// find returns the call that f continues; nil if it begins a new one.
//
// The index decides, if there is one, else the id, else it is the newest call. But some
// servers number all calls 0 (older Ollama, gateways to Gemini), some
// repeat an id, some repeat the name with each fragment, some invent an id for each
// fragment (older vLLM): so a fragment with a name that contradicts the call it seems to
// continue begins another.
func (s *calls) find(f fragment) *call {
	c := s.last
	if i, err := strconv.Atoi(string(f.Index)); err == nil {
		c = s.byIndex[i]
	} else if known, ok := s.byID[string(f.ID)]; ok || f.Function.Name != "" && f.ID != "" {
		c = known
	}
	if c == nil || f.Function.Name == "" {
		return c
	}
	id, name := string(f.ID), string(f.Function.Name)
	switch {
	case id != "" && c.id != "" && id != c.id, c.name != "" && name != c.name:
		return nil
	case f.Function.Arguments != "" && c.whole() && !c.is(f):
		return nil
	}
	return c
}

// whole reports whether the arguments are complete. It checks the end first, because it
// is called for each fragment that names its call.
func (c *call) whole() bool {
	return bytes.HasSuffix(bytes.TrimRight(c.arguments, " \t\r\n"), []byte("}")) && wire.IsObject(string(c.arguments))
}

// is reports whether a fragment repeats the whole call.
func (c *call) is(f fragment) bool {
	return f.ID != "" && string(f.ID) == c.id && string(f.Function.Name) == c.name && string(f.Function.Arguments) == string(c.arguments)
}

// add adds a fragment and returns its call, whether that is new, whether its name has just
// arrived, and what was added to the arguments.
func (s *calls) add(f fragment) (c *call, begun, named bool, more string) {
	c = s.find(f)
	more = string(f.Function.Arguments)
	if c == nil {
		c, begun = &call{}, true
	} else if c.is(f) && c.whole() {
		more = ""
	}
	if c.id == "" {
		c.id = string(f.ID)
	}
	if c.name == "" && f.Function.Name != "" {
		c.name, named = string(f.Function.Name), true
	}
	if len(f.Extra) > 0 && strings.HasPrefix(string(f.Extra), "{") {
		c.extra = append(json.RawMessage(nil), f.Extra...)
	}
	c.arguments = append(c.arguments, more...)
	if i, err := strconv.Atoi(string(f.Index)); err == nil {
		s.byIndex[i] = c
	}
	if c.id != "" {
		s.byID[c.id] = c
	}
	s.last = c
	return c, begun, named, more
}
