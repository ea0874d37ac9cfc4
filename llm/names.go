package llm

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"pawl/run"
)

// MaxToolName is how many characters of a tool's name every provider accepts:
// letters, digits, _ and -, and for Gemini no digit or - first. Names on the wire have no -,
// because external agents change it to _: a tool has one name for all agents. Sources: the API
// references of OpenAI (function.name), Anthropic (tools.name) and Google
// (FunctionDeclaration.name), read 2026-11-20.
const MaxToolName = 64

// Names maps tools' names to names that every provider accepts, and back. Equal sets of
// tools get equal names.
type Names struct {
	wire map[string]string // by tool
	tool map[string]string // by wire name

	via     string          // the tool that others are called through
	through map[string]bool // those others
}

// NewNames returns the names for a set of tools.
func NewNames(tools []string) Names {
	n := Names{wire: map[string]string{}, tool: map[string]string{}}
	sorted := slices.Clone(tools)
	slices.Sort(sorted)
	// Names that are accepted as they are come first: none of them changes because
	// of another.
	for _, fits := range []bool{true, false} {
		for _, t := range sorted {
			if (accepted(t) == t) != fits || n.wire[t] != "" {
				continue
			}
			w := accepted(t)
			if _, taken := n.tool[w]; taken || len(w) > MaxToolName {
				sum := sha256.Sum256([]byte(t))
				mark := "_" + hex.EncodeToString(sum[:4])
				w = w[:min(len(w), MaxToolName-len(mark))] + mark
			}
			n.wire[t], n.tool[w] = w, t
		}
	}
	return n
}

// Wire returns what a tool is called on the wire.
func (n Names) Wire(tool string) string {
	if w, ok := n.wire[tool]; ok {
		return w
	}
	return tool
}

// Tool returns the tool of a name on the wire; an unknown name is returned unchanged.
func (n Names) Tool(wire string) string {
	if t, ok := n.tool[wire]; ok {
		return t
	}
	return wire
}

// Through returns n for a wire on which some tools are not offered: their calls are those of the tool via there, with
// arguments as a [throughArgs] has them.
func (n Names) Through(via string, tools []string) Names {
	n.via, n.through = via, map[string]bool{}
	for _, t := range tools {
		n.through[t] = true
	}
	return n
}

// A throughArgs are the arguments of a call through another tool.
type throughArgs struct {
	Tool string `json:"tool"` // its name on the wire
	// Arguments are JSON in a string: Gemini leaves an object empty whose fields it is not told. A model may write the
	// object itself.
	Arguments string `json:"arguments"`
}

// Call returns a call on the wire as the one that it means. One through another tool that does not name a tool and an object
// of arguments stays what it is: that tool says what is wrong.
func (n Names) Call(c run.Call) run.Call {
	c.Tool = n.Tool(c.Tool)
	if n.via == "" || c.Tool != n.via {
		return c
	}
	var args struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal([]byte(c.Arguments), &args) != nil || args.Tool == "" {
		return c
	}
	inner := string(args.Arguments)
	var text *string
	if json.Unmarshal(args.Arguments, &text) == nil && text != nil {
		inner = *text
	}
	if inner = cmp.Or(strings.TrimSpace(inner), "{}"); !strings.HasPrefix(inner, "{") || !json.Valid([]byte(inner)) {
		return c
	}
	c.Tool, c.Arguments = n.Tool(args.Tool), inner
	return c
}

// onWire returns a call as the wire has it.
func (n Names) onWire(c run.Call) run.Call {
	if !n.through[c.Tool] {
		c.Tool = n.Wire(c.Tool)
		return c
	}
	args, err := json.Marshal(throughArgs{n.Wire(c.Tool), c.Arguments})
	if err != nil {
		return c // unreachable: strings can always be encoded
	}
	c.Tool, c.Arguments = n.via, string(args)
	return c
}

// calls returns parts with the calls' tools under their names on the wire. It does
// not change parts.
func (n Names) calls(parts []run.Part) []run.Part {
	cloned := false
	for i, part := range parts {
		if part.Call == nil || n.Wire(part.Call.Tool) == part.Call.Tool && !n.through[part.Call.Tool] {
			continue
		}
		if !cloned {
			parts, cloned = slices.Clone(parts), true
		}
		c := n.onWire(*part.Call)
		parts[i].Call = &c
	}
	return parts
}

func accepted(name string) string {
	w := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_':
			return r
		}
		return '_'
	}, name)
	if w == "" || '0' <= w[0] && w[0] <= '9' {
		w = "_" + w
	}
	return w
}
