package jsonpath

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// MaxPath bounds a path, in bytes; a longer one is hostile or
	// a mistake, such as a document handed in as its path.
	MaxPath = 64 << 10

	// maxNesting bounds parentheses, filters and calls in one another, so that no path
	// can exhaust the stack here or in evaluation.
	maxNesting = 100

	// maxInteger is the greatest index, and -maxInteger the least: the integers that
	// I-JSON can exchange (RFC 9535 section 2.1, RFC 7493 section 2.2).
	maxInteger = 1<<53 - 1
)

// Parse reads a JSONPath query. The error is a [*SyntaxError].
func Parse(s string) (*Path, error) {
	p := &parser{in: s}
	var path *Path
	err := p.run(func() {
		if !p.take("$") {
			p.fail("expected $", hintNoRoot(s))
		}
		path = &Path{segments: p.segments()}
		p.end()
	})
	if err != nil {
		return nil, err
	}
	path.warnings = p.warnings
	return path, nil
}

// ParseFilter reads a filter expression without a path or the ? before it, such as
// @.active == true. Blanks around it do not matter. The error is a [*SyntaxError].
func ParseFilter(s string) (*Filter, error) {
	p := &parser{in: s}
	var f *filter
	err := p.run(func() {
		p.blanks()
		if p.at("?") {
			p.fail("expected an expression", "leave out the ?")
		}
		f = p.filter()
		p.end()
	})
	if err != nil {
		return nil, err
	}
	return &Filter{filter: f, warnings: p.warnings}, nil
}

// MustParse is [Parse] for paths that are written in the program; it panics.
func MustParse(s string) *Path {
	p, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return p
}

// parser reads one path. Its methods leave with a panic of *SyntaxError, which run
// turns into an error: every second line would otherwise hand one on.
type parser struct {
	in       string
	pos      int
	nesting  int
	warnings []string
}

func (p *parser) run(parse func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*SyntaxError)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	if len(p.in) > MaxPath {
		p.fail(fmt.Sprintf("a path of %d bytes, and the limit is %d", len(p.in), MaxPath), "")
	}
	for i, r := range p.in {
		if r == utf8.RuneError && !strings.HasPrefix(p.in[i:], "\uFFFD") {
			p.failAt(i, "invalid UTF-8", "")
		}
	}
	parse()
	return nil
}

func (p *parser) fail(problem, hint string) { p.failAt(p.pos, problem, hint) }

func (p *parser) failAt(offset int, problem, hint string) {
	panic(&SyntaxError{Path: p.in, Offset: offset, Problem: problem, Hint: hint})
}

// expected fails because of what comes next.
func (p *parser) expected(what, hint string) {
	p.fail("expected "+what+", found "+p.found(), hint)
}

// found says what comes next.
func (p *parser) found() string {
	if p.pos == len(p.in) {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(p.in[p.pos:])
	switch r {
	case ' ', '\t', '\n', '\r':
		return "a blank"
	}
	return string(r)
}

func (p *parser) rest() string { return p.in[p.pos:] }

// at reports whether s comes next.
func (p *parser) at(s string) bool { return strings.HasPrefix(p.in[p.pos:], s) }

// take passes over s if it comes next.
func (p *parser) take(s string) bool {
	if !p.at(s) {
		return false
	}
	p.pos += len(s)
	return true
}

// peek returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.pos == len(p.in) {
		return 0
	}
	return p.in[p.pos]
}

func (p *parser) blanks() {
	for p.pos < len(p.in) && strings.IndexByte(" \t\n\r", p.in[p.pos]) >= 0 {
		p.pos++
	}
}

// end fails unless all has been read.
func (p *parser) end() {
	if p.pos < len(p.in) {
		p.fail("unexpected "+p.found(), hintAfterPath(p))
	}
}

func (p *parser) deeper() {
	if p.nesting++; p.nesting > maxNesting {
		p.fail(fmt.Sprintf("more than %d parentheses, filters and calls in one another", maxNesting), "")
	}
}

// segments reads what follows $ or @.
func (p *parser) segments() []segment {
	var all []segment
	for {
		start := p.pos
		p.blanks()
		switch {
		case p.take(".."):
			if p.at("[") {
				all = append(all, segment{descendant: true, selectors: p.brackets()})
			} else {
				all = append(all, segment{descendant: true, selectors: []selector{p.short("..")}})
			}
		case p.take("."):
			all = append(all, segment{selectors: []selector{p.short(".")}})
		case p.at("["):
			all = append(all, segment{selectors: p.brackets()})
		default:
			p.pos = start // blanks at the end are not part of it
			p.warnLength(all)
			return all
		}
		last := &all[len(all)-1]
		last.traits = traitsOf(last.selectors)
		for i := range last.selectors {
			last.each = append(last.each, traitsOf(last.selectors[i:i+1]))
		}
	}
}

// warnLength warns of .length at the end, which in JavaScript counts.
func (p *parser) warnLength(all []segment) {
	if len(all) == 0 {
		return
	}
	if last := all[len(all)-1].selectors; len(last) == 1 && last[0].kind == byName && last[0].name == "length" {
		p.warnings = append(p.warnings, fmt.Sprintf("%s selects members that are called length; how long something is says length(@.name) in a filter", p.in[:p.pos]))
	}
}

// short reads a name or * after one or two dots.
func (p *parser) short(dots string) selector {
	if p.take("*") {
		return selector{kind: wildcard}
	}
	name := p.name()
	if name == "" {
		p.expected("a name or * after "+dots, hintAfterDot(p, dots))
	}
	return selector{kind: byName, name: name}
}

// name reads a name that needs no quotes; empty if there is none.
func (p *parser) name() string {
	start := p.pos
	for i, r := range p.in[start:] {
		if !isNameFirst(r) && (i == 0 || !isDigit(r)) {
			break
		}
		p.pos = start + i + utf8.RuneLen(r)
	}
	return p.in[start:p.pos]
}

// brackets reads [ selectors ].
func (p *parser) brackets() []selector {
	open := p.pos
	p.take("[")
	var all []selector
	for {
		p.blanks()
		all = append(all, p.selector(open))
		p.blanks()
		switch {
		case p.take(","):
		case p.take("]"):
			return all
		default:
			p.expected(", or ]", hintInBrackets(p, open, all))
		}
	}
}

func (p *parser) selector(open int) selector {
	switch c := p.peek(); {
	case c == '\'' || c == '"':
		return selector{kind: byName, name: p.quoted()}
	case c == '*':
		p.pos++
		return selector{kind: wildcard}
	case c == '?':
		p.pos++
		p.blanks()
		p.deeper()
		f := p.filter()
		p.nesting--
		return selector{kind: byFilter, filter: f}
	case c == '-' || c == ':' || isDigit(rune(c)):
		return p.indexOrSlice()
	}
	p.expected("a quoted name, an index, a slice, * or ?filter", hintSelector(p, open))
	panic("unreachable: expected panics")
}

func (p *parser) indexOrSlice() selector {
	var s slice
	s.start, s.hasStart = p.integer()
	before := p.pos
	p.blanks()
	if !p.take(":") {
		p.pos = before
		return selector{kind: byIndex, index: s.start}
	}
	p.blanks()
	s.end, s.hasEnd = p.integer()
	s.step = 1
	before = p.pos
	p.blanks()
	if p.take(":") {
		p.blanks()
		if step, ok := p.integer(); ok {
			s.step = step
		}
	} else {
		p.pos = before
	}
	return selector{kind: bySlice, slice: s}
}

// integer reads an integer if there is one.
func (p *parser) integer() (int64, bool) {
	start := p.pos
	p.take("-")
	digits := p.pos
	for isDigit(rune(p.peek())) {
		p.pos++
	}
	text := p.in[start:p.pos]
	switch {
	case text == "":
		return 0, false
	case p.pos == digits:
		p.expected("a digit after -", "")
	case p.in[digits] == '0' && text != "0":
		p.failAt(start, "an index without leading zeros or a - before 0 was expected, found "+text, "")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > maxInteger || n < -maxInteger {
		p.failAt(start, fmt.Sprintf("%s is beyond what an index can be, ±%d", text, int64(maxInteger)), "")
	}
	return n, true
}

// quoted reads a string in single or double quotes.
func (p *parser) quoted() string {
	open := p.pos
	quote := p.in[p.pos]
	p.pos++
	var text strings.Builder
	for {
		c := p.peek()
		switch {
		case p.pos == len(p.in):
			p.failAt(open, fmt.Sprintf("this %c is not closed", quote), "")
		case c == quote:
			p.pos++
			return text.String()
		case c < 0x20:
			p.fail(fmt.Sprintf("a control character (%#02x) within quotes", c), fmt.Sprintf(`write \u%04x`, c))
		case c == '\\':
			p.pos++
			text.WriteRune(p.escape(quote))
		default:
			text.WriteByte(c)
			p.pos++
		}
	}
}

// escape reads what follows a backslash.
func (p *parser) escape(quote byte) rune {
	c := p.peek()
	p.pos++
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case '/', '\\', quote:
		return rune(c)
	case 'u':
		r := p.hex()
		if !utf16.IsSurrogate(r) {
			return r
		}
		if utf16.DecodeRune(r, 0xDC00) == utf8.RuneError {
			p.failAt(p.pos-6, "the second half of a surrogate pair without the first", "")
		}
		if !p.take(`\u`) {
			p.failAt(p.pos-6, "the first half of a surrogate pair without the second", "")
		}
		if r = utf16.DecodeRune(r, p.hex()); r == utf8.RuneError {
			p.failAt(p.pos-6, "expected the second half of a surrogate pair", "")
		}
		return r
	}
	p.pos--
	hint := ""
	if strings.IndexByte(`dwsDWSpP.+*?()[]{}|^$-`, c) >= 0 && c != 0 {
		hint = fmt.Sprintf(`write \\%c for a backslash in a regular expression`, c)
	}
	p.fail(fmt.Sprintf(`expected one of b f n r t / \ u %c after a backslash, found %s`, quote, p.found()), hint)
	panic("unreachable: fail panics")
}

func (p *parser) hex() rune {
	n, err := strconv.ParseUint(p.rest()[:min(4, len(p.rest()))], 16, 16)
	if err != nil || len(p.rest()) < 4 {
		p.fail(`expected four hexadecimal digits after \u`, "")
	}
	p.pos += 4
	return rune(n)
}
