package bash

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Parse returns the statements of a text up to its first syntax error, and the
// error: what stands before it is looked at too, for a deny rule might name it.
func Parse(text string) (stmts []*syntax.Stmt, err error) {
	// The parser is a library, its input is hostile, and a decision must come
	// back whatever happens in it.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser failed: %v", r)
		}
	}()
	p := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	for st, e := range p.StmtsSeq(strings.NewReader(text)) {
		// No break: v3.14.1 continues after an error and panics without a receiver.
		if e != nil && err == nil {
			err = e
		}
		if err == nil {
			stmts = append(stmts, st)
		}
	}
	return stmts, err
}

// ReadAlike reports whether another shell reads a text as bash does.
func ReadAlike(shell, text string) bool {
	switch shell {
	case "bash":
		return true
	case "sh", "dash", "ash": // sh may be one of the others
		return !slices.ContainsFunc([]string{"[[", "((", "<(", ">(", "&>", ">&", "|&", "<<<", "{", "$'", "$\"", "=(", "function", "~", "`", "<<"}, func(s string) bool { return strings.Contains(strings.ReplaceAll(text, "2>&1", ""), s) })
	}
	return ConsistsOf(text, NameChars+" \n./:,@%+-'\";&|")
}

// IsConnection reports whether bash opens a connection when it is to open a file
// of that name (bash(1), REDIRECTION, read 2026-11-20).
func IsConnection(name string) bool {
	return strings.HasPrefix(name, "/dev/tcp/") || strings.HasPrefix(name, "/dev/udp/")
}

// HasBraces reports whether w has what may be a brace expansion, which the parser
// leaves in its literals. Bash finds more of them than the parser: in {1}a,b} too.
func HasBraces(w *syntax.Word) bool {
	var literals strings.Builder
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			literals.WriteString(lit.Value)
		}
	}
	_, inside, ok := strings.Cut(literals.String(), "{")
	return ok && (strings.Contains(inside, ",") || strings.Contains(inside, ".."))
}

// maxBraces bounds the words one brace expansion is followed into.
const maxBraces = 64

// ExpandBraces returns the words that one with brace expansions stands for; w itself if it has none. Of a
// sequence ({1..9}) only the ends; what is left out cannot be told.
func ExpandBraces(w *syntax.Word) []*syntax.Word {
	braces := func(p syntax.WordPart) bool { _, ok := p.(*syntax.BraceExp); return ok }
	split := &syntax.Word{Parts: slices.Clone(w.Parts)} // SplitBraces changes its word
	// It also says true of what only looks like one: HEAD@{1}, {}.
	if !syntax.SplitBraces(split) || !slices.ContainsFunc(split.Parts, braces) {
		return []*syntax.Word{w}
	}
	return expand(split)
}

func expand(w *syntax.Word) []*syntax.Word {
	all := []*syntax.Word{{}}
	for _, p := range w.Parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			for _, a := range all {
				a.Parts = append(a.Parts, p)
			}
			continue
		}
		var more []*syntax.Word
		for _, e := range b.Elems {
			for _, inner := range expand(e) {
				for _, a := range all {
					if len(more) >= maxBraces {
						return more
					}
					more = append(more, &syntax.Word{Parts: append(append([]syntax.WordPart(nil), a.Parts...), inner.Parts...)})
				}
			}
		}
		all = more
	}
	return all
}

// DoubleQuoted returns what a text between double quotes is: without the backslashes before what they quote there, and
// before line ends with the line end.
func DoubleQuoted(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if s[i+1] == '\n' {
				i++
				continue
			}
			if strings.IndexByte("$`\"\\", s[i+1]) >= 0 {
				i++
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
