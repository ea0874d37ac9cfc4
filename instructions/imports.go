package instructions

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/internal/lazy"
)

// findImports returns the paths that a Markdown text imports with @path, in order and each
// once, as Claude Code understands them (code.claude.com/docs/en/memory, "CLAUDE.md
// imports", read 2026-11-22): anywhere in a line, after a blank, but not in code spans, code
// blocks and HTML comments. A blank in a path is written "\ ". A fragment (#…) and
// punctuation at the end are not part of it.
func findImports(text string) []string {
	p := importParser{found: map[string]bool{}}
	for line := range strings.Lines(text) {
		p.line(strings.TrimSuffix(line, "\n"))
	}
	p.endBlock()
	return p.paths
}

// An importParser knows as much of the block structure of Markdown (CommonMark 0.31,
// sections 4 and 5) as is needed to tell text from code.
type importParser struct {
	paths []string
	found map[string]bool

	block   strings.Builder // lines of text that a code span can extend over
	fence   string          // the marks that opened a fenced code block; empty: none is open
	indent  int             // where that line has them
	comment bool            // an HTML comment is open
	list    bool            // a list is open: indented lines continue its items
	blank   bool            // the line before was blank, or there was none
	code    bool            // the line before was indented code
	started bool
}

var (
	// fenced is a line that opens or closes a fenced code block, also in quotes and lists.
	fenced = lazy.Regexp("^([\\s>]*(?:(?:[-*+]|\\d{1,9}[.)])\\s+)*)(`{3,}|~{3,})(.*)$")
	// item is the beginning of a list item, a heading or a quote, none of which
	// continues the text before.
	item = lazy.Regexp(`^\s*(?:(?:[-*+]|\d{1,9}[.)])(?:\s|$)|#{1,6}(?:\s|$)|>)`)
	// listItem is the first of these.
	listItem = lazy.Regexp(`^\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)`)
)

func (p *importParser) line(line string) {
	before := p.blank || !p.started
	p.started, p.blank = true, strings.TrimSpace(line) == ""
	if m := fenced().FindStringSubmatch(line); m != nil {
		if p.fence == "" {
			p.endBlock() // which may open a comment
		}
		prefix, marks, rest := m[1], m[2], m[3]
		switch {
		case p.fence != "":
			if marks[0] == p.fence[0] && len(marks) >= len(p.fence) && len(prefix) <= p.indent+3 && strings.TrimSpace(rest) == "" {
				p.fence = ""
			}
			return
		case !p.comment && (marks[0] == '~' || !strings.Contains(rest, "`")):
			p.fence, p.indent = marks, len(prefix)
			return
		}
	}
	if p.fence != "" {
		return
	}
	if p.blank {
		p.endBlock()
		return
	}
	indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(strings.TrimLeft(line, " "), "\t")
	isItem := listItem().MatchString(line)
	switch {
	case indented && !p.list && !p.comment && (before || p.code):
		p.code = true
		return
	case isItem:
		p.list = true
	case before && line[0] != ' ' && line[0] != '\t':
		p.list = false
	}
	p.code = false
	if isItem || item().MatchString(line) {
		p.endBlock()
	}
	p.block.WriteString(line + "\n")
}

// endBlock finds the imports in the lines collected so far.
func (p *importParser) endBlock() {
	text := p.block.String()
	p.block.Reset()
	before := ' ' // the character before text
	for text != "" {
		if p.comment {
			_, after, ok := strings.Cut(text, "-->")
			if !ok {
				return
			}
			p.comment, text, before = false, after, '>'
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == '`':
			run := len(text) - len(strings.TrimLeft(text, "`"))
			n = run
			if end := closing(text[run:], run); end >= 0 {
				n = run + end + run
			}
		case r == '\\' && len(text) > 1 && text[1] < utf8.RuneSelf && unicode.IsPunct(rune(text[1])):
			n = 2
		case strings.HasPrefix(text, "<!--"):
			p.comment = true
			n = len("<!--")
		case r == '@' && unicode.IsSpace(before):
			n = 1 + p.add(text[1:])
		}
		before, text = r, text[n:]
	}
}

// closing returns where in text the first run of exactly n backticks begins, or -1.
func closing(text string, n int) int {
	for i := 0; i < len(text); {
		start := strings.IndexByte(text[i:], '`')
		if start < 0 {
			return -1
		}
		start += i
		i = start
		for i < len(text) && text[i] == '`' {
			i++
		}
		if i-start == n {
			return start
		}
	}
	return -1
}

// maxImport bounds a path, in bytes: file systems take no more (PATH_MAX of Linux).
const maxImport = 4096

// add records the path that text begins with, if it begins with one. It returns how
// many bytes of text were looked at.
func (p *importParser) add(text string) int {
	var name strings.Builder
	n := 0
	for n < len(text) {
		if strings.HasPrefix(text[n:], `\ `) {
			name.WriteByte(' ')
			n += 2
			continue
		}
		r, size := utf8.DecodeRuneInString(text[n:])
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '`' || r == '<' {
			break
		}
		name.WriteString(text[n : n+size])
		n += size
	}
	s, _, _ := strings.Cut(name.String(), "#")
	if s = strings.TrimRight(s, ".,;:!?)]}'\"*_>"); isImport(s) && !p.found[s] {
		p.found[s] = true
		p.paths = append(p.paths, s)
	}
	return n
}

// isImport reports whether what follows an @ can be a path.
func isImport(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	switch {
	case s == "" || len(s) > maxImport || !utf8.ValidString(s):
		return false
	case first == '~' || first == '/':
		return strings.HasPrefix(s, "~/") && len(s) > 2 || first == '/' && strings.Trim(s, "/") != ""
	}
	return first == '.' || first == '_' || first == '-' || unicode.IsLetter(first) || unicode.IsDigit(first)
}

// saysPath reports whether an import is written as a path, so that a missing file is a
// mistake and not a person or a package that is mentioned.
func saysPath(s string) bool {
	switch path.Ext(s) {
	case ".md", ".mdc", ".markdown", ".txt":
		return true
	}
	return strings.HasPrefix(s, ".") || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~")
}
