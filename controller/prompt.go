package controller

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/internal/plainjson"
	"pawl/internal/stable"
)

// Prompt is the rules, as the model reads them.
//
//go:embed prompt.md
var Prompt string

// PromptVersion counts the changes to [Prompt]: a run keeps it, so that what a model
// did can be held against what it had been told.
const PromptVersion = 1

// A Tool is what the model is told about a tool.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of its arguments; empty: not told
}

// System returns the system prompt: the rules, then the tools by name. It is equal
// byte for byte for equal tools in any order, and has nothing in it that changes
// during a run: what does, stands behind the last message (see [Limits]), so
// that providers can keep the long beginning in their caches.
func System(tools []Tool) string {
	var b strings.Builder
	b.WriteString(Prompt)
	b.WriteString("\n## Tools\n\n")
	if len(tools) == 0 {
		b.WriteString("There are none: respond, ask, complete or stop.\n")
		return b.String()
	}
	b.WriteString("There are these and no others. `args` here is the JSON Schema of the tool's arguments.\n\n[\n")
	sorted := stable.Sorted(slices.Values(tools), func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	for i, t := range sorted {
		b.WriteString(t.line())
		if i < len(sorted)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]\n")
	return b.String()
}

// line returns the tool as JSON on one line.
func (t Tool) line() string {
	told := struct {
		Tool        string          `json:"tool"`
		Description string          `json:"description"`
		Args        json.RawMessage `json:"args,omitempty"`
	}{t.Name, t.Description, t.Schema}
	if !json.Valid(told.Args) {
		told.Args = nil // a tool without the schema can still be used; one bad tool does not take the others down
	}
	line, err := plainjson.Marshal(told)
	if err != nil {
		panic(fmt.Sprintf("encode tool %q: %v", t.Name, err)) // unreachable: strings and valid JSON
	}
	return string(line)
}

// Left is what is left of a turn's limits. A negative figure means no limit.
type Left struct {
	Steps  int // model requests, the next one included
	Calls  int
	Tokens int64
	Wall   time.Duration
	Cost   float64 // US dollars
}

// Limits says what is left, in one line for the end of a request; empty when there
// is no limit. It changes with every step.
func Limits(l Left) string {
	var left []string
	if l.Steps >= 0 {
		left = append(left, fmt.Sprintf("%d steps", l.Steps))
	}
	if l.Calls >= 0 {
		left = append(left, fmt.Sprintf("%d calls", l.Calls))
	}
	if l.Tokens >= 0 {
		left = append(left, fmt.Sprintf("%d tokens", l.Tokens))
	}
	if l.Wall >= 0 {
		left = append(left, l.Wall.Truncate(time.Second).String())
	}
	if l.Cost >= 0 {
		left = append(left, fmt.Sprintf("%.2f US dollars", l.Cost))
	}
	if len(left) == 0 {
		return ""
	}
	return "[Limits left in this turn] " + strings.Join(left, ", ") + ".\n"
}
