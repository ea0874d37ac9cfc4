package models

import (
	"fmt"
	"slices"
	"strings"

	"pawl/llm"
)

// levels are all levels of effort, the least first. A person can ask for each but minimal,
// which few models have: there it is the nearest to none.
var levels = []string{llm.NoThinking, "minimal", "low", "medium", "high", "xhigh", "max"}

// rank returns the place of a level among all; -1 if there is no such level.
func rank(level string) int { return slices.Index(levels, level) }

// Levels returns the levels of effort that a person can ask for, the least first.
func Levels() []string {
	return slices.DeleteFunc(slices.Clone(levels), func(l string) bool { return l == "minimal" })
}

// budgets are the tokens of thinking that a level stands for in a model without levels, as
// several clients have it (badlogic/pi-mono, read 2026-11-22); above high it is what the
// model has at most.
var budgets = map[string]int{"low": 2048, "medium": 8192, "high": 16_384}

// Effort returns how a level, one of [Levels], is asked of a model. If the model does not
// have it, that is the nearest level below, or else its least one. Of a model whose levels
// are unknown nothing is asked. note says so to a person; "": it is as it was wanted.
func (t *Table) Effort(name, level string) (e llm.Effort, note string) {
	if level == "" {
		return llm.Effort{}, ""
	}
	m, _ := t.Lookup(name)
	switch {
	case rank(level) < 0:
		return llm.Effort{}, fmt.Sprintf("effort %q is not sent: the levels are %s", level, strings.Join(Levels(), ", "))
	case m.Reasoning != nil && !*m.Reasoning:
		return llm.Effort{}, fmt.Sprintf("effort %s is not sent: %s does not think before it answers", level, name)
	case m.Budget != nil:
		return m.Budget.effort(name, level)
	case len(m.Effort) == 0:
		return llm.Effort{}, fmt.Sprintf("effort %s is not sent: the effort levels of %s are not known; a file models.toml can name them (docs/models.md)", level, name)
	}
	e.Level = m.Effort[0]
	for _, has := range m.Effort {
		if rank(has) <= rank(level) {
			e.Level = has
		}
	}
	e.Adaptive = m.Adaptive && e.Level != llm.NoThinking
	if e.Level != level {
		note = fmt.Sprintf("%s has no effort %s: %s is used, of %s", name, level, e.Level, strings.Join(m.Effort, ", "))
	}
	return e, note
}

func (b ThinkingBudget) effort(name, level string) (e llm.Effort, note string) {
	switch tokens, ok := budgets[level]; {
	case level == llm.NoThinking && b.Off:
		e.Level = llm.NoThinking
	case level == llm.NoThinking:
		e.Budget = b.Min
		note = fmt.Sprintf("%s cannot answer without thinking: its least budget, %d tokens, is used", name, b.Min)
	case ok:
		e.Budget = min(max(tokens, b.Min), b.Max)
	default:
		e.Budget = b.Max
	}
	return e, note
}
