// Package permission decides whether a call may run. It is pure: rules and a
// request in, a decision out, and every decision says which rule made it.
//
// A shell command is read with a real parser into its simple commands, those
// inside substitutions and wrappers (sudo, xargs, sh -c) too, and each must be
// allowed on its own. What cannot be known before it runs asks. Paths are judged
// by their spelling and, in [Request.Resolved], by where the caller found them to
// lead. Addresses are judged by host; see [pawl/permission/network].
//
// The order of a decision, for every part of a call:
//
//	deny rules → mode plan or bypass → ask rules → mode accept-edits
//	  → allow rules → the tool's own default → ask
//
// Mode auto decides as accept-edits does. What then asks a model may answer, within what
// [Request.RuleCouldAllow] says; that is not of this package.
//
// The strictest answer over all parts counts. [Rules.Explain] shows them all,
// [Rules.Propose] says what rule *Always* would store.
//
// It stores nothing, asks nobody, opens no file and resolves no name: storing
// rules, trust and the sandbox itself are built on this seam.
package permission

import (
	"cmp"
	"slices"

	"pawl/run"
)

// A Mode sets what runs without a question.
type Mode string

const (
	Default     Mode = "default"      // reads in the workspace run, the rest asks
	AcceptEdits Mode = "accept-edits" // edits inside the workspace run too
	Auto        Mode = "auto"         // as AcceptEdits; a model answers what asks, where a rule could
	Plan        Mode = "plan"         // reads only; anything else is refused
	Bypass      Mode = "bypass"       // everything but what a deny rule names
)

// modes are all of them, that in which most asks or is refused first.
var modes = []Mode{Plan, Default, AcceptEdits, Auto, Bypass}

// Stricter returns the one of two modes in which less runs without a question; an empty mode
// is [Default].
func Stricter(m, n Mode) Mode {
	m, n = cmp.Or(m, Default), cmp.Or(n, Default)
	if slices.Index(modes, n) < slices.Index(modes, m) {
		return n
	}
	return m
}

// A Request is one call that wants to run.
type Request struct {
	Tool    string
	Class   run.Class
	Command string // shell tools: the command
	URL     string // web tools: the address
	// Arguments are those of a tool of an MCP server: texts as they are, other values as JSON.
	Arguments map[string]string
	Paths     []string // what it touches: as given, or found for the patterns of a command
	// Resolved is where Paths lead with every link followed: absolute, or relative
	// to Workspace. What is judged of a path is judged of these as well, so a link
	// gives away nothing. Nil if the caller did not look.
	Resolved []string
	// Below are files that a command reads with the folders they are in, as given and where
	// they lead. They count only if the command does not run read-only, where secrets are
	// not there.
	Below []string
	// Outside: a path leads outside the workspace and Resolved does not say where,
	// or it could not be followed. No rule covers such a call.
	Outside bool
	Edits   bool // it changes files and does nothing else
	// Obeyed are those of Resolved that git or another program outside obeys, whatever they are
	// called: changing them decides what runs later.
	Obeyed []string
	// Runs says what makes git, and what asks git, run programs of a repository's
	// choice where it only looks: settings as NAME=COMMAND, separated by semicolons. Rules
	// for programs find theirs in it. Empty: nothing does.
	Runs string
	// Hooks is the same for where git does more than look: settings that certain commands
	// obey, of remotes on this machine too, and the files of hooks. Empty: there are none.
	Hooks string
	// Tracked are the files that git tracks where the command runs git, which may show their content
	// without naming them: absolute. Nil if the caller did not look.
	Tracked []string
	// Workspace is the workspace's folder and Dir the one the command starts in,
	// both absolute with links resolved. Without Workspace every absolute path is
	// outside; without Dir it is Workspace.
	Workspace string
	Dir       string
	// Folders are further folders that count as the workspace: those a person
	// added. Absolute, links resolved.
	Folders []string
	// Own are pawl's own folders and files: its state, the person's rules.
	// Absolute, links resolved. Nothing writes there, whatever the rules say.
	Own []string
	// Sandbox is how much of the sandbox the call asks for, and Sandboxed whether
	// there is one: without it a command has the person's own authority, and what
	// depends on the values of variables and substitutions asks.
	Sandbox   run.Confinement
	Sandboxed bool
	// EnforcesReadOnly: the sandbox can run a command with the workspace mounted
	// read-only, without secrets and without a network. Only then does a command
	// run because it is classified as reading; see [run.ReadOnly].
	EnforcesReadOnly bool
	// Contains: the sandbox bounds a command that nobody knows at the levels [run.Trial] and [run.Inside]. Only
	// then does one run unasked there.
	Contains bool
	// ByHost: the sandbox bounds the network of a command by the names of hosts; see [run.ToHosts]. Elsewhere rules
	// with a network of such hosts open none.
	ByHost bool
	// Writes: the call says that it has to write what is bounded there. Then it is asked about as elsewhere.
	Writes bool
	// ReadsUnconfined: what is classified as reading may run outside of a sandbox, or with EnforcesReadOnly in one
	// that hides nothing. Then it reads the secrets below a folder, too, which is judged.
	ReadsUnconfined bool
	// LocalPrograms are the programs of the command that PATH finds in the
	// workspace: their names say nothing about what they do.
	LocalPrograms []string
	// Child: it is a call of a run that another run has started.
	Child bool
	// Root: a command has the machine's authority and not only a person's, so mode
	// bypass lets none out of the sandbox.
	Root bool
}

// A Verdict is what the rules say; Ask means that a person has to.
type Verdict string

const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// strictness orders verdicts: the strictest over all parts of a call counts.
func (v Verdict) strictness() int {
	switch v {
	case Allow:
		return 0
	case Ask:
		return 1
	}
	return 2 // what is no verdict denies
}

// A Decision is a verdict and how it came about.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Rule    string  `json:"rule,omitempty"` // the rule as written; empty when none decided
	Source  string  `json:"source"`         // where the rule came from: flag, user, …; or mode, default, built-in
	Reason  string  `json:"reason"`         // a sentence; for an ask, what part is not covered
	// Sandbox is how much of the sandbox the call runs in when it may run: never
	// more than every part of it is granted, and [run.ReadOnly] if it is allowed
	// only because it is classified as reading.
	Sandbox run.Confinement `json:"sandbox,omitempty"`
	// Opens is what the allow rules open to a call that only ask rules ask about: what it would run in without these.
	Opens run.Confinement `json:"-"`
}

// Answer returns d as the log keeps it; an ask becomes a denial, as it is with
// nobody there to ask.
func (d Decision) Answer() run.Decision {
	a := run.Deny
	if d.Verdict == Allow {
		a = run.Allow
	}
	return run.Decision{Answer: a, Rule: d.Rule, Source: d.Source, Reason: d.Reason, Sandbox: d.Sandbox}
}
