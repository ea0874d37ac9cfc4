package render

import (
	"strings"

	"pawl/approval"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/permission/network"
	"pawl/run"
)

// A Choice is one way to answer an approval. The terminal agent and the prompts of the command
// line offer the same ones under the same keys.
type Choice struct {
	Key    string
	Label  string
	Word   string // of the label, where there is room for one word
	Answer run.Answer
}

// choices are all of them, in the order in which they are offered. The first, third, fourth and
// fifth label are those of the specification.
var choices = []Choice{
	{"y", "Allow this time", "allow", run.Allow},
	{"n", "No, not this time", "no", run.Deny},
	{"a", "Always allow", "always", run.Always},
	{"w", "Wait and tell the agent what to do differently", "wait", run.Wait},
	{"v", "Never allow", "never", run.Never},
}

// Choices returns how a call can be answered: Always and Never only where a rule can be stored.
func Choices(a approval.Approval) []Choice {
	var possible []Choice
	for _, c := range choices {
		if c.Stores() {
			if _, err := a.Rules(c.Answer, permission.ForWorkspace, nil); err != nil {
				continue
			}
		}
		possible = append(possible, c)
	}
	return possible
}

// Stores reports whether the answer stores a rule, which needs a second step.
func (c Choice) Stores() bool { return c.Answer == run.Always || c.Answer == run.Never }

// ChoiceOf returns the choice that a line is: exactly its key, its word or its label.
func ChoiceOf(line string, possible []Choice) (Choice, bool) {
	line = strings.ToLower(line)
	if line == "yes" {
		line = "y"
	}
	for _, c := range possible {
		if line == c.Key || line == c.Word || line == strings.ToLower(c.Label) {
			return c, true
		}
	}
	return Choice{}, false
}

// Label returns the label of an answer.
func Label(answer run.Answer) string {
	for _, c := range choices {
		if c.Answer == answer {
			return c.Label
		}
	}
	return string(answer)
}

// Scopes are where a person can store a rule in a dialog, the usual one first.
var Scopes = []permission.Scope{permission.ForWorkspace, permission.ForUser, permission.ForRun}

// ScopeWords says where a rule holds.
func ScopeWords(s permission.Scope) string {
	switch s {
	case permission.ForWorkspace:
		return "in this folder"
	case permission.ForUser:
		return "everywhere"
	case permission.ForRun:
		return "in this run"
	case permission.FromRepository:
		return "in this repository, for everyone"
	}
	return string(s)
}

// oneLine writes the line ends and tabs of a rule as shells do in $'…': in lines of its own a
// rule could look like another part of a dialog.
var oneLine = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// RuleText returns a rule in one line, with what it lifts of the sandbox.
func RuleText(r permission.Rule) string {
	text := oneLine.Replace(visible.Escape(r.String()))
	switch r.Sandbox {
	case run.Unconfined:
		text += " (outside the sandbox)"
	case run.WithNetwork:
		text += " (with the network)"
	}
	if hosts := r.Sandbox.Hosts(); hosts != nil {
		text += " (with the network, limited to " + network.Limit(hosts) + ")"
	}
	return text
}

// RuleSpans returns a rule that is about to be stored: its text, marked where it lifts the sandbox, and what it covers.
func RuleSpans(r permission.Rule) []Span {
	text := Span{Text: RuleText(r), Paint: Accent}
	if r.Sandbox != run.Confined {
		text.Paint = Warning
	}
	if covers := Covers(r); covers != "" {
		return []Span{text, {Text: "  " + covers, Paint: Faint}}
	}
	return []Span{text}
}

// Covers says what a rule for commands with any words at their end covers; empty: the rule spells it out.
func Covers(r permission.Rule) string {
	words, any := strings.CutSuffix(r.Pattern, " *")
	switch {
	case r.Tool != "shell" || !any:
		return ""
	case words == "make" || words == "gmake":
		return "every target of the Makefile"
	case words == "npm run" || words == "pnpm run":
		return "every script of the package"
	}
	return visible.Escape(words) + ", whatever follows"
}

// RuleTexts returns rules, one after the other.
func RuleTexts(rules permission.Rules) string {
	var texts []string
	for _, r := range rules {
		texts = append(texts, RuleText(r))
	}
	return strings.Join(texts, ", ")
}

// StoredWords says which rules an answer to an approval would store, and where; "": none can be stored.
func StoredWords(a approval.Approval, answer run.Answer, scope permission.Scope) string {
	rules, err := a.Rules(answer, scope, nil)
	if err != nil {
		return ""
	}
	return RuleTexts(rules) + " " + ScopeWords(scope)
}
