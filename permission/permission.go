// Package permission decides whether a call may run. It is pure: rules and a
// request in, a decision out, and every decision says which rule made it.
//
// A shell command is read with a real parser into its simple commands, those
// inside substitutions and wrappers (sudo, xargs, sh -c) too, and each must be
// allowed on its own. What cannot be known before it runs asks. Paths are judged
// by their spelling; where links lead, the caller looks and says so.
//
// It has modes and a list of rules. Trust, scopes, stored rules and the sandbox
// are built on this seam.
package permission

import "pawl/run"

// A Mode sets what runs without a question.
type Mode string

const (
	Default     Mode = "default"      // reads in the workspace run, the rest asks
	AcceptEdits Mode = "accept-edits" // edits inside the workspace run too
	Plan        Mode = "plan"         // reads only; anything else is refused
	Bypass      Mode = "bypass"       // everything but what a deny rule names
)

// A Request is one call that wants to run.
type Request struct {
	Tool    string
	Class   run.Class
	Command string   // shell tools: the command
	URL     string   // web tools: the address
	Paths   []string // what it touches: as given, or found for the patterns of a command
	Outside bool     // a path leads outside the workspace, through links too, or could not be resolved
	Edits   bool     // it changes files and does nothing else
	// Workspace is the workspace's folder and Dir the one the command starts in,
	// both absolute with links resolved. Without Workspace every absolute path is
	// outside; without Dir it is Workspace.
	Workspace string
	Dir       string
	// Sandbox is how much of the sandbox the call asks for, and Sandboxed whether
	// there is one: without it a command has the person's own authority.
	Sandbox   run.Confinement
	Sandboxed bool
}

// A Verdict is what the rules say; Ask means that a person has to.
type Verdict string

const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// A Decision is a verdict and how it came about.
type Decision struct {
	Verdict Verdict
	Rule    string // the rule as written; empty when none decided
	Source  string // flag, mode, default, …
	Reason  string // a sentence; for an ask, what part is not covered
	// Sandbox is how much of the sandbox the call runs in when it may run.
	Sandbox run.Confinement
}

// Answer returns d as the log keeps it; an ask becomes a denial, as it is with
// nobody there to ask.
func (d Decision) Answer() run.Decision {
	a := run.Deny
	if d.Verdict == Allow {
		a = run.Allow
	}
	return run.Decision{Answer: a, Rule: d.Rule, Source: d.Source, Reason: d.Reason}
}
