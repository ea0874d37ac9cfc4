package wire

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"pawl/internal/text"
	"pawl/run"
)

const (
	maxRaw  = 2000 // bytes kept of arguments that are not used
	maxName = 256  // bytes kept of a tool's name: no tool has more than 64
	maxID   = 4096 // bytes of a provider's id; some gateways keep a signature in it
)

// maxDepth bounds the nesting of arguments. The strictest parser among the
// providers' (serde_json) reads 128 levels, and a request has some around them.
const maxDepth = 100

// Call returns a call as it arrived: its arguments as text, no text meaning {}; open says
// that the stream ended before the call did. A faulty call never runs. A call whose
// arguments a strict parser refuses is faulty too, because they would be sent back to the
// provider in every later request.
func Call(id, name, arguments string, open bool) *run.Call {
	arguments = strings.TrimSpace(arguments)
	c := &run.Call{ProviderID: id, Tool: callName(name), Arguments: arguments}
	if len(id) > maxID {
		c.ProviderID = ""
	}
	if arguments == "" {
		c.Arguments = "{}"
	}
	fault := run.NoFault
	switch {
	case open:
		fault = run.FaultCut
	case !IsArguments(c.Arguments):
		fault = run.FaultNotJSON
	case name == "":
		fault = run.FaultEmpty
	default:
		return c
	}
	c.Fault, c.Arguments, c.Raw = fault, "{}", text.Prefix(arguments, maxRaw)
	return c
}

// callName returns a name of bounded length without characters that cannot be printed.
// No tool has a name that this changes.
func callName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '_'
	}, text.Prefix(name, maxName))
}

// IsArguments reports whether s is one JSON object that every parser reads the same
// way: names do not repeat, text is UTF-8, and nesting is at most maxDepth.
func IsArguments(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return strings.HasPrefix(s, "{") && depth(s) <= maxDepth && jsontext.Value(s).IsValid()
}

// depth returns how deep the objects and arrays of a JSON text are nested.
func depth(s string) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// Arguments returns the arguments with which a call is sent back to a provider: as they
// arrived, or {} if they cannot be sent back.
func Arguments(c *run.Call) json.RawMessage {
	if IsArguments(c.Arguments) {
		return json.RawMessage(c.Arguments)
	}
	return json.RawMessage("{}")
}

// CutAtLimit marks the last call of an answer that reached its token limit as cut, unless
// its arguments are complete: the model may have been writing it although the stream
// closed it.
func CutAtLimit(parts []run.Part, lastArguments string) {
	if len(parts) == 0 || parts[len(parts)-1].Call == nil {
		return
	}
	c := parts[len(parts)-1].Call
	if strings.TrimSpace(lastArguments) == "" || c.Fault == run.FaultNotJSON {
		*c = *Call(c.ProviderID, c.Tool, lastArguments, true)
	}
}
