package tui

import (
	"fmt"
	"strings"

	"pawl/internal/text"
	"pawl/render"
	"pawl/run"
)

// A share is a part of the model's context.
type share struct {
	name  string
	bytes int64
}

// shares returns what a conversation's context consists of, by kind, in bytes.
func shares(s run.State) []share {
	var yours, agents, thinking, calls, results int64
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			switch n := int64(len(p.Text) + len(p.Raw) + len(p.Signature)); {
			case p.Result != nil:
				results += int64(len(run.PlainText(p.Result.Content)))
			case p.Call != nil:
				calls += int64(len(p.Call.Tool) + len(p.Call.Arguments))
			case p.Type == run.ThinkingPart:
				thinking += n
			case m.Role == run.User:
				yours += n
			default:
				agents += n
			}
		}
	}
	return []share{{"system prompt, instructions", int64(len(s.Created.System))}, {"your messages, files", yours}, {"the agent's words", agents},
		{"its thinking", thinking}, {"tool calls", calls}, {"tool results", results}}
}

// contextLines returns what fills the model's context, as a table. What the provider has counted is
// divided by size; the definitions of tools are what is left of it.
func (m *model) contextLines() []string {
	used, limit := m.state.Context()
	head := fmt.Sprintf("context: about %s tokens in %s", render.ShortCount(used), text.Plural(int64(len(m.state.Messages)), "message"))
	if limit > 0 {
		head = fmt.Sprintf("context: about %s of %s tokens (%d%%) in %s", render.ShortCount(used), render.ShortCount(limit), 100*used/limit, text.Plural(int64(len(m.state.Messages)), "message"))
	}
	parts := shares(m.state)
	var known int64
	for i := range parts {
		parts[i].bytes /= bytesPerToken
		known += parts[i].bytes
	}
	if known > used {
		for i := range parts {
			parts[i].bytes = parts[i].bytes * used / known
		}
		known = used
	}
	parts = append(parts, share{"tool definitions, the rest", used - known})
	if limit > 0 {
		parts = append(parts, share{"free", max(0, limit-used)})
	}
	lines := []string{"", head}
	for _, p := range parts {
		if p.bytes == 0 {
			continue
		}
		line := fmt.Sprintf("  %-28s %8s", p.name, render.ShortCount(p.bytes))
		if m.Words {
			line = fmt.Sprintf("  %s: %s tokens", p.name, render.ShortCount(p.bytes))
		} else if limit > 0 {
			line += fmt.Sprintf(" %4d%%", 100*p.bytes/limit)
		}
		lines = append(lines, strings.TrimRight(m.Clip(line, m.width-1), " "))
	}
	if limit > 0 {
		lines = append(lines, m.Wrap([]render.Span{{Text: "  older messages are summarized when it fills up, or with /compact", Paint: render.Faint}}, m.width-1, false)...)
	}
	return lines
}

// bytesPerToken turns bytes into tokens where no provider has counted.
const bytesPerToken = 4
