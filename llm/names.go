package llm

import (
	"crypto/sha256"
	"encoding/hex"
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

// calls returns parts with the calls' tools under their names on the wire. It does
// not change parts.
func (n Names) calls(parts []run.Part) []run.Part {
	cloned := false
	for i, part := range parts {
		if part.Call == nil || n.Wire(part.Call.Tool) == part.Call.Tool {
			continue
		}
		if !cloned {
			parts, cloned = slices.Clone(parts), true
		}
		c := *part.Call
		c.Tool = n.Wire(c.Tool)
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
