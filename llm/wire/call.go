package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"pawl/run"
)

// maxRaw bounds, in bytes, what is kept of a call's arguments that are none.
const maxRaw = 2000

// Call returns a call as it came: its arguments as text, where nothing at all means
// {}; open says that the stream did not get to its end. A call with anything wrong
// with it says so and never runs.
func Call(id, name, arguments string, open bool) *run.Call {
	arguments = strings.TrimSpace(arguments)
	c := &run.Call{ProviderID: id, Tool: name, Arguments: arguments}
	if arguments == "" {
		c.Arguments = "{}"
	}
	fault := run.NoFault
	switch {
	case open:
		fault = run.FaultCut
	case !IsObject(c.Arguments):
		fault = run.FaultNotJSON
	case name == "":
		fault = run.FaultEmpty
	default:
		return c
	}
	c.Fault, c.Arguments, c.Raw = fault, "{}", prefix(arguments, maxRaw)
	return c
}

// CutAtLimit makes the last part of an answer that ended because its tokens were
// spent a call that was cut, unless its arguments are there and whole: the model may
// have been inside it although the stream closed it.
func CutAtLimit(parts []run.Part, lastArguments string) {
	if len(parts) == 0 || parts[len(parts)-1].Call == nil {
		return
	}
	c := parts[len(parts)-1].Call
	if strings.TrimSpace(lastArguments) == "" || c.Fault == run.FaultNotJSON {
		*c = *Call(c.ProviderID, c.Tool, lastArguments, true)
	}
}

// IsObject reports whether s is one JSON object.
func IsObject(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

// Blank reports whether s is white space or nothing.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }

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
	return clean[:min(len(clean), 64)]
}

// JSON returns v as JSON in which <, > and & stand as they are: code is full of
// them, and \u003c is five bytes more for each.
func JSON(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimRight(buf.Bytes(), "\n")), nil // kept for the whole run: without the buffer's slack
}
