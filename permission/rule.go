package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Rule says what is to be done with the calls it matches.
//
// For a shell tool the pattern is compared word by word with every simple
// command of a call: a word "*" stands for any number of words, none too; a *
// inside a word for any characters of that word; everything else for itself. So
// "git diff *" matches git diff --stat, and never git difftool.
//
// An allow rule must match the program as written; a deny or ask rule also finds
// it behind a path (/bin/rm for rm), in other capitals, and inside wrappers
// and substitutions.
//
// For a tool on files the pattern is a path in the workspace, where * stays
// within a name and ** crosses folders: "edit(src/**)".
type Rule struct {
	Effect Verdict
	Tool   string
	// Pattern is empty for every call of the tool. An allow rule for a shell tool
	// then, and with "*", covers every program but those that run others,
	// delete, or change the shell.
	Pattern string
	Source  string // where it came from: flag, user, …

	words []string // Pattern cut into words, if it was parsed; see split
}

// Rules are rules in no order: the strictest that matches counts.
type Rules []Rule

// ParseRule reads "Tool" or "Tool(pattern)". Effect and Source are the caller's to
// set.
func ParseRule(text string) (Rule, error) {
	text = strings.TrimSpace(text)
	tool, pattern, hasPattern := strings.Cut(text, "(")
	if hasPattern {
		var closed bool
		if pattern, closed = strings.CutSuffix(pattern, ")"); !closed {
			return Rule{}, fmt.Errorf("rule %q: no closing parenthesis at its end; write Tool or Tool(pattern)", text)
		}
		if pattern = strings.TrimSpace(pattern); pattern == "" {
			return Rule{}, fmt.Errorf("rule %q: the pattern is empty; write %s for every call of it", text, tool)
		}
	}
	if tool == "" || strings.ContainsAny(tool, " \t\n()*") {
		return Rule{}, fmt.Errorf("rule %q: %q is no name of a tool; write Tool or Tool(pattern)", text, tool)
	}
	return Rule{Tool: tool, Pattern: pattern, words: strings.Fields(pattern)}, nil
}

// String returns the rule as it is written.
func (r Rule) String() string {
	if r.Pattern == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Pattern + ")"
}

// split returns the words of the pattern, also of a rule made by hand.
func (r Rule) split() []string {
	if r.words == nil {
		return strings.Fields(r.Pattern)
	}
	return r.words
}

// anything reports whether the rule names no program.
func (r Rule) anything() bool {
	words := r.split()
	return len(words) == 0 || words[0] == "*"
}

// finds reports whether a deny or ask rule speaks of p.
func (r Rule) finds(p *part) bool {
	words := r.split()
	if len(words) == 0 {
		return true
	}
	name := p.program()
	if !strings.Contains(words[0], "/") {
		name = path.Base(name)
	}
	// On a disk that does not tell capitals apart, RM is rm.
	return matchWords(words, p.words, strings.ToLower(name), strings.ToLower(words[0]))
}

// matches reports whether an allow rule's words match those of p. It does not
// say that p may run: see allowed.
func (r Rule) matches(p *part) bool {
	words := r.split()
	return len(words) == 0 || matchWords(words, p.words, p.program(), words[0])
}

// matchWords compares a pattern with words, the first of each given apart.
func matchWords(pattern []string, words []word, program, first string) bool {
	if first == "*" {
		return matchRest(pattern, words)
	}
	return matchWord(first, program) && matchRest(pattern[1:], words[1:])
}

// matchRest is a comparison of wildcards over words, in time proportional to the
// product of both lengths.
func matchRest(pattern []string, words []word) bool {
	i, j := 0, 0
	star, from := -1, 0
	for j < len(words) {
		switch {
		case i < len(pattern) && pattern[i] == "*":
			star, from = i, j
			i++
		case i < len(pattern) && matchWord(pattern[i], words[j].text):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == "*" {
		i++
	}
	return i == len(pattern)
}

// matchWord is the same over the characters of one word.
func matchWord(pattern, s string) bool {
	i, j := 0, 0
	star, from := -1, 0
	for j < len(s) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, from = i, j
			i++
		case i < len(pattern) && pattern[i] == s[j]:
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern)
}

// spells reports whether the rule has w as it stands among its words.
func (r Rule) spells(w string) bool { return slices.Contains(r.split(), w) }

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

// matchesPath reports whether the rule's pattern covers a path relative to the
// workspace.
func (r Rule) matchesPath(rel string, fold bool) bool {
	if r.Pattern == "" {
		return true
	}
	pattern := strings.TrimPrefix(r.Pattern, "./")
	if fold {
		pattern, rel = strings.ToLower(pattern), strings.ToLower(rel)
	}
	return matchPath(pattern, rel)
}
