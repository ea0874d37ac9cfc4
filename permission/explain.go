package permission

import (
	"fmt"
	"slices"
	"strings"

	"pawl/run"
)

// A Kind says what a part of a call is.
type Kind string

const (
	kindCommand  Kind = "command"  // a simple command of a shell command
	kindRedirect Kind = "redirect" // a redirection to or from a file
	kindPath     Kind = "path"
	kindHost     Kind = "host"
	kindForm     Kind = "form"    // what the shell command is made of
	kindSandbox  Kind = "sandbox" // how much of the sandbox it asks for
	kindCall     Kind = "call"    // the call as such, of a tool that names no files
)

// A Part is one thing in a call that was judged on its own.
type Part struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text,omitempty"` // as written; of a form nothing
	Decision
	at      stage
	bounded bool // it asks, and the sandbox bounds it; see contain
}

// A Step is one stage of the order of a decision, with the parts it decided.
type Step struct {
	Name  string   `json:"name"`
	Parts []string `json:"parts,omitempty"` // empty: it decided nothing
}

// An Explanation says how a decision came about.
type Explanation struct {
	Tool     string   `json:"tool"`
	Call     string   `json:"call"` // the command, the address or the paths
	Mode     Mode     `json:"mode"`
	Decision Decision `json:"decision"`
	Parts    []Part   `json:"parts"`
	Steps    []Step   `json:"steps"`
	// Allowed says what would run without a question, for a model whose call was
	// refused; empty if the call runs, or nothing near it would.
	Allowed []string `json:"allowed,omitempty"`
	// Model: in mode auto a model is asked, before a person.
	Model bool `json:"model,omitempty"`
}

// stages are the names of the stages, in their order.
var stages = [...]string{
	atDeny:    "deny rules",
	atMode:    "mode",
	atAsk:     "ask rules",
	atEdits:   "mode accept-edits",
	atAllow:   "allow rules",
	atDefault: "the tool's own default",
}

// Explain judges a call as [Rules.Decide] does and shows all of it.
func (rs Rules) Explain(r Request, m Mode) Explanation {
	t := rs.evaluate(&r, m)
	e := Explanation{Tool: r.Tool, Mode: m, Decision: t.summary(), Parts: t.parts}
	switch {
	case r.Command != "":
		e.Call = r.Command
	case r.URL != "":
		e.Call = r.URL
	default:
		e.Call = strings.Join(r.Paths, " ")
	}
	for at, name := range stages {
		step := Step{Name: name}
		for _, p := range t.parts {
			if p.at == stage(at) {
				step.Parts = append(step.Parts, p.label()+": "+string(p.Verdict))
			}
		}
		e.Steps = append(e.Steps, step)
	}
	if e.Decision.Verdict != Allow {
		e.Allowed = t.alternatives()
	}
	return e
}

// maxAlternatives bounds what a refused call is told.
const maxAlternatives = 8

// alternatives returns what would run: the parts of the call that are allowed, and
// the rules that allow something, those of the same program first.
func (t *evaluation) alternatives() []string {
	var some []string
	add := func(s string) {
		if len(some) < maxAlternatives && !slices.Contains(some, s) {
			some = append(some, s)
		}
	}
	var programs []string
	for _, p := range t.parts {
		if p.Kind != kindCommand {
			continue
		}
		if p.Verdict == Allow {
			add(quote(p.Text) + " on its own")
		} else if words := strings.Fields(p.Text); len(words) > 0 {
			programs = append(programs, words[0])
		}
	}
	if t.m != Plan {
		for _, same := range []bool{true, false} {
			for _, rule := range t.allow {
				words := rule.split()
				overruled := slices.ContainsFunc(t.parts, func(p Part) bool { return p.Verdict != Allow && p.Rule == rule.String() })
				if near := len(words) > 0 && slices.Contains(programs, words[0]); near == same && !overruled {
					add("what the rule " + rule.String() + " covers")
				}
			}
		}
	}
	if t.r.Command != "" {
		add("commands that only read, in the workspace")
	}
	return some
}

// label names a part in a line.
func (p Part) label() string {
	if p.Text == "" {
		return string(p.Kind)
	}
	return string(p.Kind) + " " + quote(p.Text)
}

// String returns the explanation as text for people, several lines of it.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", e.Decision.Verdict, e.Decision.Reason)
	if e.Model {
		b.WriteString("mode auto: a model is asked, and a person only if it gives no answer\n")
	}
	fmt.Fprintf(&b, "call: %s %s (mode %s)\n", e.Tool, quote(e.Call), e.Mode)
	for _, p := range e.Parts {
		fmt.Fprintf(&b, "  %-5s %s\n        %s", p.Verdict, p.label(), p.Reason)
		if p.Rule != "" {
			fmt.Fprintf(&b, "; rule %s", p.Rule)
		}
		fmt.Fprintf(&b, " [%s]\n", p.Source)
	}
	b.WriteString("order:\n")
	for _, s := range e.Steps {
		what := "decided nothing"
		if len(s.Parts) > 0 {
			what = strings.Join(s.Parts, ", ")
		}
		fmt.Fprintf(&b, "  %s: %s\n", s.Name, what)
	}
	if e.Decision.Sandbox != "" {
		fmt.Fprintf(&b, "sandbox: %s\n", e.Decision.Sandbox)
	}
	for _, h := range e.Decision.Sandbox.Hosts() {
		if secret, host := run.CutSecret(h); secret != "" {
			fmt.Fprintf(&b, "secret: %s, for requests to %s\n", secret, host)
		}
	}
	for _, a := range e.Allowed {
		fmt.Fprintf(&b, "runs without approval: %s\n", a)
	}
	return b.String()
}
