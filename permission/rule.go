package permission

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"pawl/internal/lazy"
	"pawl/permission/filenames"
	"pawl/permission/network"
	"pawl/permission/spelling"
	"pawl/run"
)

// A Scope says how far a rule reaches, and by that who may have made it.
type Scope string

const (
	Once           Scope = "once"       // one call
	ForRun         Scope = "run"        // one run
	ForWorkspace   Scope = "workspace"  // this user in this workspace
	FromRepository Scope = "repository" // .pawl/permissions.json, meant for git: not the person's own word
	ForUser        Scope = "user"       // this user everywhere
	Managed        Scope = "managed"    // an administrator's; cannot be revoked here
)

// A Rule says what is to be done with the calls it matches.
//
// For a shell tool the pattern is compared word by word with every simple
// command of a call: a word "*" stands for any number of words, none too; a *
// inside a word for any characters of that word; quotes are those of the shell;
// everything else stands for itself. So "git diff *" matches git diff --stat, and
// never git difftool. Words that make a program run another one or write a file
// (go test -exec=…) are covered by no *: the pattern has to spell them.
//
// A deny rule of a single quoted word also denies the command whose whole text that
// is, whatever it consists of: shell('for f in *; do rm "$f"; done').
//
// An allow rule must match the program as written; a deny or ask rule also finds
// it behind a path (/bin/rm for rm), in other capitals, and inside wrappers
// and substitutions.
//
// For a tool on files the pattern is a path in the workspace, or an absolute one
// outside it, where * stays within a name and ** crosses folders: "edit(src/**)".
// Rules for read, write and edit also speak of the files a shell command reads
// and writes.
//
// For the web the pattern is a host: "fetch(example.com)", "fetch(*.example.com)",
// "fetch(localhost:3000)", "fetch(*)".
//
// For a tool of an MCP server the pattern is arguments that the call has to have:
// "mcp__github__create_issue(owner=acme repo=*)"; "mcp__github__*" are all tools of the server.
type Rule struct {
	Effect Verdict
	Tool   string
	// Pattern is empty for every call of the tool. An allow rule for a shell tool
	// then, and with "*", covers every program but those that run others,
	// delete, or change the shell.
	Pattern string
	Scope   Scope
	Source  string    // where it came from: flag, a file's name, …
	By      string    // who made it
	When    time.Time // zero: not known
	Why     string
	// Sandbox is how much of the sandbox an allow rule lifts for the commands it
	// covers.
	Sandbox run.Confinement
	// Matches and Not are the rule's own tests: calls that it must decide and that
	// it must not, in the form of its pattern (a command, a path, an address).
	Matches, Not []string

	words []string // Pattern cut into words, if it was parsed; see split
}

// Rules are rules in no order: the strictest that matches counts.
type Rules []Rule

// secondRule is where another rule begins in the pattern of one: it would match no call.
var secondRule = lazy.Regexp(`\)\s*[, ]\s*(shell|read|write|edit|fetch|list|glob|search|agent|handoff)\(`)

// ParseRule reads "Tool" or "Tool(pattern)". The spelling of another agent is an error that
// names the rule to write: such a rule would match no call. The other fields are the caller's
// to set.
func ParseRule(text string) (Rule, error) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] == '(' {
		return Rule{}, fmt.Errorf("rule %q: the tool is missing; write Tool or Tool(pattern)", text)
	}
	if quote := text[0]; (quote == '"' || quote == '\'') && len(text) > 2 && text[len(text)-1] == quote {
		return Rule{}, fmt.Errorf("rule %s: the quotes are for a shell, and here part of the rule; write %s", text, text[1:len(text)-1])
	}
	if err := spelling.Check(text); err != nil {
		return Rule{}, err
	}
	tool, pattern, hasPattern := strings.Cut(text, "(")
	if hasPattern {
		var closed bool
		pattern, closed = strings.CutSuffix(pattern, ")")
		if secondRule().MatchString(pattern) || strings.Contains(pattern, ")(") && !strings.ContainsAny(pattern, `"'\`) || !closed && strings.Contains(pattern, "),") {
			return Rule{}, fmt.Errorf("rule %q: more than one rule; give each with a flag of its own, and in a variable on a line of its own", text)
		}
		if !closed {
			return Rule{}, fmt.Errorf("rule %q: no closing parenthesis at its end; write Tool or Tool(pattern)", text)
		}
		if pattern = strings.TrimSpace(pattern); pattern == "" {
			return Rule{}, fmt.Errorf("rule %q: the pattern is empty; write %s for every call of it", text, tool)
		}
	}
	if tool == "" || strings.ContainsAny(strings.TrimSuffix(tool, allOfServer(tool)), " \t\n()*") {
		first, _, words := strings.Cut(tool, " ")
		if effect := strings.TrimSuffix(first, ":"); words && (effect == "allow" || effect == "ask" || effect == "deny") {
			return Rule{}, fmt.Errorf("rule %q: write the rule alone; --%s, or --effect %s, says what it does", text, effect, effect)
		} else if words && !hasPattern && first == "shell" {
			return Rule{}, fmt.Errorf("rule %q: write shell(%s)", text, strings.TrimSuffix(strings.TrimPrefix(tool, "shell "), ")"))
		} else if words && !hasPattern {
			return Rule{}, fmt.Errorf("rule %q: it begins with no tool; for a command write shell(%s)", text, tool)
		} else if tool == "*" {
			return Rule{}, fmt.Errorf("rule %q: a rule is for one tool, such as shell or edit, and mode bypass is for all", text)
		}
		if strings.HasPrefix(tool, serverPrefix) {
			return Rule{}, fmt.Errorf("rule %q: name a tool of a server, mcp__SERVER__TOOL, or all of them, mcp__SERVER__*", text)
		}
		return Rule{}, fmt.Errorf("rule %q: %q is not the name of a tool; write Tool or Tool(pattern)", text, tool)
	}
	if tool == networkTool {
		return Rule{}, fmt.Errorf("rule %q: hosts that every command may reach are in the setting network, those of one command in the network of its rule", text)
	}
	r := Rule{Tool: tool, Pattern: pattern}
	words, err := splitPattern(pattern)
	switch {
	case pattern == "":
	case (tool == "shell" || IsServerTool(tool)) && err != nil:
		return Rule{}, fmt.Errorf("rule %q: %w", text, err)
	case IsServerTool(tool):
		if err := checkArgumentPatterns(words); err != nil {
			return Rule{}, fmt.Errorf("rule %q: %w", text, err)
		}
	case tool == "fetch":
		if err := network.CheckPattern(pattern); err != nil {
			return Rule{}, fmt.Errorf("rule %q: %w", text, err)
		}
	case tool != "shell" && path.IsAbs(pattern) && path.Clean(pattern) == "/":
		return Rule{}, fmt.Errorf("rule %q: it names the whole disk; name a folder", text)
	}
	if err == nil {
		r.words = words
	}
	return r, nil
}

// String returns the rule as it is written.
func (r Rule) String() string {
	if r.Pattern == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Pattern + ")"
}

// same reports whether two rules say the same of the same calls.
func (r Rule) same(q Rule) bool {
	return r.Effect == q.Effect && r.Tool == q.Tool && r.Pattern == q.Pattern && r.Scope == q.Scope && r.Sandbox == q.Sandbox
}

// Merge puts lists together. A rule that is there twice, in the same scope, is
// kept once, as first given.
func Merge(lists ...Rules) Rules {
	var all Rules
	for _, list := range lists {
		for _, r := range list {
			if !slices.ContainsFunc(all, r.same) {
				all = append(all, r)
			}
		}
	}
	return all
}

// ModeOf returns the mode that a configuration names; "" is [Default].
func ModeOf(name string) Mode { return Mode(cmp.Or(name, string(Default))) }

// CheckMode says whether a mode may be taken from a configuration of that scope:
// a repository cannot switch the questions off for whoever clones it.
func CheckMode(m Mode, s Scope) error {
	switch m {
	case Default, AcceptEdits, Plan:
		return nil
	case Auto, Bypass:
		if s == FromRepository {
			return fmt.Errorf("mode %s is never taken from a repository; a person chooses it with --mode or in their own settings", m)
		}
		return nil
	}
	return fmt.Errorf("unknown mode %q: must be default, accept-edits, auto, plan or bypass", m)
}

// of returns the rules with an effect for a tool.
func (rs Rules) of(effect Verdict, tool string) []Rule {
	var some []Rule
	for _, r := range rs {
		if r.Effect == effect && r.isFor(tool) {
			some = append(some, r)
		}
	}
	return some
}

// isFor reports whether the rule is for a tool: it names it, or all tools of its server.
func (r Rule) isFor(tool string) bool {
	prefix, all := strings.CutSuffix(r.Tool, allOfServer(r.Tool))
	return r.Tool == tool || all && prefix != r.Tool && strings.HasPrefix(tool, prefix)
}

// alsoHold are the tools whose deny and ask rules hold for another tool as well: they
// speak of what is done to a file, whichever tool does it. (Those for read, write and
// edit hold for the files of a shell command too; see [evaluation.fileRules].)
var alsoHold = map[string][]string{"search": {"read"}, "glob": {"read"}, "list": {"read"}, "write": {"edit"}, "edit": {"write"}}

// about returns the deny or ask rules that hold for a tool.
func (rs Rules) about(effect Verdict, tool string) []Rule {
	some := rs.of(effect, tool)
	for _, other := range alsoHold[tool] {
		some = append(some, rs.of(effect, other)...)
	}
	return some
}

// split returns the words of the pattern, also of a rule made by hand.
func (r Rule) split() []string {
	if r.words != nil || r.Pattern == "" {
		return r.words
	}
	words, err := splitPattern(r.Pattern)
	if err != nil {
		return []string{""} // the name of no program
	}
	return words
}

// anything reports whether the rule names no program: it has no pattern, or its
// first word could be any.
func (r Rule) anything() bool {
	words := r.split()
	return len(words) == 0 || strings.Trim(words[0], wild) == ""
}

// namesProgram reports whether the rule speaks of what programs may run, and not of the
// whole text of one command alone.
func (r Rule) namesProgram() bool {
	words := r.split()
	return len(words) != 1 || plainName(strings.ReplaceAll(words[0], wild, "x"))
}

// Exact reports whether the rule is one command, spelled out.
func (r Rule) Exact() bool {
	words := r.split()
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, wild) })
}

// finds reports whether a deny or ask rule speaks of p.
func (r Rule) finds(p *simpleCommand) bool {
	words := r.split()
	if len(words) == 0 {
		return true
	}
	name, first := p.program(), words[0]
	if !strings.Contains(first, "/") {
		name = path.Base(name)
	}
	// On a disk that does not tell capitals apart, RM is rm.
	name, first = strings.ToLower(name), strings.ToLower(first)
	return matchWords(words, p.words, name, first) || len(words) > 1 && slices.ContainsFunc(withoutOptions(p.words), func(w []word) bool {
		return matchWords(words, w, name, first)
	})
}

// withoutOptions returns what a command is without the options before its first operand, which may be a command of the
// program: git -C x push. Whether an option takes the next word is not known, so there may be several.
func withoutOptions(words []word) (forms [][]word) {
	next, seen := []int{1}, map[int]bool{}
	for len(next) > 0 {
		i := next[0]
		next = next[1:]
		if seen[i] || i >= len(words) {
			continue
		}
		seen[i] = true
		switch text := words[i].text; {
		case strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+"):
			takes := has(gitValues, text)
			known := path.Base(words[0].text) == "git" || strings.Contains(text, "=")
			if !takes || !known {
				next = append(next, i+1)
			}
			if takes || !known {
				next = append(next, i+2)
			}
		case i > 1:
			forms = append(forms, append(words[:1:1], words[i:]...))
		}
	}
	return forms
}

// gitValues are the options of git that take the next word (git(1) of 2.51).
const gitValues = "-C -c --git-dir --work-tree --namespace --config-env --attr-source --super-prefix"

// matches reports whether an allow rule's words match those of p. It does not
// say that p may run: see [evaluation.allowed].
func (r Rule) matches(p *simpleCommand) bool {
	words := r.split()
	return len(words) == 0 || matchWords(words, p.words, p.program(), words[0])
}

// spells reports whether the rule has w among its words, as it stands; of the
// name of a host, also its domain (*.example.com).
func (r Rule) spells(w string) bool {
	for _, x := range r.split() {
		if x == w {
			return true
		}
		if domain, ok := strings.CutPrefix(x, wild+"."); ok && strings.Contains(domain, ".") && !strings.Contains(domain, wild) && strings.HasSuffix(w, "."+domain) {
			return true
		}
	}
	return false
}

// spellsName reports whether the pattern of a path has a name that begins with
// a letter of its own and matches name: ".env*" does for .env, "**" does not.
func (r Rule) spellsName(name string) bool {
	for segment := range strings.SplitSeq(r.Pattern, "/") {
		if segment == "" || strings.ContainsAny(segment[:1], "*?[") {
			continue
		}
		if ok, _ := path.Match(segment, name); ok {
			return true
		}
	}
	return false
}

// matchesPath reports whether the rule's pattern covers a path: relative to the
// workspace, or absolute and outside. A deny rule (strict) sees through the
// spellings that some disk takes for the same file.
func (r Rule) matchesPath(p string, strict bool) bool {
	if r.Pattern == "" {
		return true
	}
	pattern := strings.TrimPrefix(r.Pattern, "./")
	if strict {
		pattern, p = filenames.Fold(pattern), filenames.Fold(p)
	}
	return filenames.Match(pattern, p)
}

// StoredScopes returns the scopes in which a person can store rules.
func StoredScopes() []string {
	return []string{string(ForUser), string(ForWorkspace), string(FromRepository), string(ForRun)}
}
