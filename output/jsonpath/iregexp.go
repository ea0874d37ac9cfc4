package jsonpath

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxPattern bounds a regular expression, in bytes. Go's engine takes time linear in
// the text whatever the pattern, so this bounds only the compiled size.
const maxPattern = 4096

// compileIRegexp compiles an I-Regexp (RFC 9485) for Go's regexp package; whole says
// that all of the text has to match. It is an error if the pattern is not an I-Regexp:
// \d, for one, is not. Differences that matter are translated (RFC 9485 section 5):
// a dot matches neither \n nor \r, and nothing is a flag, a capture or a lazy
// quantifier. One thing is added because the compliance suite and people expect it: a
// ^ that begins an alternative and a $ that ends one are anchors; elsewhere they are
// the characters, as RFC 9485 has it everywhere.
func compileIRegexp(pattern string, whole bool) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes, and the limit is %d", len(pattern), maxPattern)
	}
	t := iregexp{in: pattern}
	if whole {
		t.out.WriteString(`\A(?:`)
	}
	if err := t.alternatives(0); err != nil {
		return nil, err
	}
	if t.in != "" {
		return nil, fmt.Errorf("%q closes nothing", t.in[0])
	}
	if whole {
		t.out.WriteString(`)\z`)
	}
	return regexp.Compile(t.out.String())
}

// iregexp translates while it checks.
type iregexp struct {
	in  string // what is left
	out strings.Builder
}

// maxGroups bounds the nesting of parentheses.
const maxGroups = 100

func (t *iregexp) alternatives(depth int) error {
	if depth > maxGroups {
		return fmt.Errorf("more than %d parentheses in one another", maxGroups)
	}
	first := true
	for t.in != "" && t.in[0] != ')' {
		if t.in[0] == '|' {
			t.next()
			t.out.WriteByte('|')
			first = true
			continue
		}
		if err := t.piece(first, depth); err != nil {
			return err
		}
		first = false
	}
	return nil
}

// piece translates an atom and its quantifier.
func (t *iregexp) piece(first bool, depth int) error {
	switch r := t.next(); r {
	case '(':
		t.out.WriteString("(?:")
		if err := t.alternatives(depth + 1); err != nil {
			return err
		}
		if t.in == "" {
			return fmt.Errorf("a ( is not closed")
		}
		t.next()
		t.out.WriteByte(')')
	case '[':
		if err := t.class(); err != nil {
			return err
		}
	case '.':
		t.out.WriteString(`[^\n\r]`)
	case '\\':
		if err := t.escape(); err != nil {
			return err
		}
	case '*', '+', '?', '{':
		return fmt.Errorf("%q has nothing before it to repeat", r)
	case ']', '}':
		return fmt.Errorf(`%q closes nothing; write \%c for the character`, r, r)
	case none:
		return fmt.Errorf("the pattern is not valid UTF-8")
	case '^':
		if first && !t.at("*+?{") {
			t.out.WriteString(`\A`)
			return nil
		}
		t.out.WriteString(`\^`)
	case '$':
		if t.in == "" || t.at("|)") {
			t.out.WriteString(`\z`)
			return nil
		}
		t.out.WriteString(`\$`)
	default:
		t.out.WriteString(regexp.QuoteMeta(string(r)))
	}
	return t.quantifier()
}

func (t *iregexp) quantifier() error {
	if !t.at("*+?{") {
		return nil
	}
	if q := t.next(); q != '{' {
		t.out.WriteRune(q)
	} else {
		body, rest, ok := strings.Cut(t.in, "}")
		low, high, _ := strings.Cut(body, ",")
		if !ok || low == "" || strings.Trim(low, "0123456789") != "" || strings.Trim(high, "0123456789") != "" {
			return fmt.Errorf("{%s is not a repetition such as {2}, {2,} or {2,5}", body)
		}
		t.in = rest
		fmt.Fprintf(&t.out, "{%s}", body)
	}
	if t.at("*+?{") {
		return fmt.Errorf("%q repeats a repetition; there are no lazy or possessive ones", t.in[0])
	}
	return nil
}

// escape translates what follows a backslash outside of a class.
func (t *iregexp) escape() error {
	if t.at("pP") {
		return t.category()
	}
	r, err := t.single()
	if err != nil {
		return err
	}
	t.out.WriteString(regexp.QuoteMeta(string(r)))
	return nil
}

// single returns the character of a SingleCharEsc.
func (t *iregexp) single() (rune, error) {
	r := t.next()
	switch {
	case r == 'n':
		return '\n', nil
	case r == 'r':
		return '\r', nil
	case r == 't':
		return '\t', nil
	case strings.ContainsRune(`()*+-.?[\]^{|}`, r):
		return r, nil
	}
	if r == none {
		return 0, fmt.Errorf(`a \ at the end, or before invalid UTF-8`)
	}
	var instead string
	switch r {
	case 'd':
		instead = ": write [0-9]"
	case 'w':
		instead = ": write [A-Za-z0-9_]"
	case 's':
		instead = `: write [ \t\n\r]`
	case 'b', 'B', 'A', 'z', 'Z':
		instead = ": there are no word or text boundaries; match() takes the whole text, search() a part"
	case '$', '/', '"', '\'', ',', ':', '@':
		instead = ": write the character without the backslash"
	}
	return 0, fmt.Errorf(`\%c is not part of I-Regexp%s`, r, instead)
}

// categories are the general categories of Unicode that RFC 9485 lists.
var categories = map[byte]string{'L': "lmotu", 'M': "cen", 'N': "dlo", 'P': "cdefios", 'Z': "lps", 'S': "ckmo", 'C': "cfno"}

func (t *iregexp) category() error {
	p := t.next()
	name, rest, ok := strings.Cut(strings.TrimPrefix(t.in, "{"), "}")
	known := ok && t.at("{") && (len(name) == 1 || len(name) == 2)
	if known {
		sub, has := categories[name[0]]
		known = has && (len(name) == 1 || strings.IndexByte(sub, name[1]) >= 0)
	}
	if !known {
		return fmt.Errorf(`\%c needs a Unicode category such as \p{L} or \p{Lu}`, p)
	}
	t.in = rest
	fmt.Fprintf(&t.out, `\%c{%s}`, p, name)
	return nil
}

// class translates a charClassExpr after its [.
func (t *iregexp) class() error {
	t.out.WriteByte('[')
	if t.at("^") {
		t.next()
		t.out.WriteByte('^')
	}
	for n := 0; ; n++ {
		switch {
		case t.in == "":
			return fmt.Errorf("a [ is not closed")
		case t.in[0] == ']':
			if n == 0 {
				return fmt.Errorf("a [] is empty")
			}
			t.next()
			t.out.WriteByte(']')
			return nil
		case t.in[0] == '-': // the character, but only at the beginning or the end
			t.next()
			if n > 0 && !t.at("]") {
				return fmt.Errorf(`a - within [ ] stands first, last or between two characters; write \- elsewhere`)
			}
			t.out.WriteString(`\-`)
		case strings.HasPrefix(t.in, `\p`), strings.HasPrefix(t.in, `\P`):
			t.next()
			if err := t.category(); err != nil {
				return err
			}
		default:
			if err := t.classRange(); err != nil {
				return err
			}
		}
	}
}

// classRange translates a character of a class, or a range of them.
func (t *iregexp) classRange() error {
	from, err := t.classChar()
	if err != nil {
		return err
	}
	t.out.WriteString(classQuote(from))
	if !t.at("-") || strings.HasPrefix(t.in, "-]") {
		return nil
	}
	t.next()
	to, err := t.classChar()
	if err != nil {
		return err
	}
	if to < from {
		return fmt.Errorf("the range %c-%c is the wrong way round", from, to)
	}
	t.out.WriteString("-" + classQuote(to))
	return nil
}

func (t *iregexp) classChar() (rune, error) {
	switch r := t.next(); r {
	case '\\':
		return t.single()
	case '[', ']', '-':
		return 0, fmt.Errorf(`write \%c for %c within [ ]`, r, r)
	case none:
		return 0, fmt.Errorf("a [ is not closed, or the pattern is not valid UTF-8")
	default:
		return r, nil
	}
}

func classQuote(r rune) string {
	if r == '-' || r == '&' || r == '~' {
		return `\` + string(r)
	}
	return regexp.QuoteMeta(string(r))
}

// at reports whether one of the characters comes next.
func (t *iregexp) at(chars string) bool {
	return t.in != "" && strings.IndexByte(chars, t.in[0]) >= 0
}

// none is what next returns at the end and for invalid UTF-8.
const none = -1

// next takes a character.
func (t *iregexp) next() rune {
	r, n := utf8.DecodeRuneInString(t.in)
	t.in = t.in[n:]
	if r == utf8.RuneError && n <= 1 {
		return none
	}
	return r
}
