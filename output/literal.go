package output

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// A matcher is a pattern with a faster way to see that a text does not match.
type matcher struct {
	re       *regexp.Regexp
	whole    bool      // the pattern is one literal and no more
	literals []literal // every match has one of them in it; none: not known
	hidden   []byte    // what an escape begins with that may stand for a part of a literal
	lower    []byte    // scratch
}

// A literal is a text in a pattern; fold says that it is in lower case and stands for any.
type literal struct {
	text []byte
	fold bool
}

func newMatcher(pattern string) (*matcher, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w (patterns are RE2: no look-around, no back-references; \\. for a point)", err)
	}
	m := &matcher{re: re, hidden: []byte(`\u`)}
	if parsed, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		m.literals = required(parsed.Simplify())
	}
	prefix, complete := re.LiteralPrefix()
	m.whole = complete && len(m.literals) == 1 && string(m.literals[0].text) == prefix
	for _, l := range m.literals {
		if bytes.ContainsFunc(l.text, func(r rune) bool { return r < ' ' || strings.ContainsRune(`"\/`, r) }) {
			m.hidden = m.hidden[:1] // also \" and its like
		}
	}
	return m, nil
}

// required returns literals of which every match of a pattern has one in it, none if there
// are no such.
func required(re *syntax.Regexp) (best []literal) {
	const most = 8
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(string(re.Rune), re.Flags&syntax.FoldCase != 0)
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if all := required(sub); shortest(all) > shortest(best) {
				best = all
			}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			all := required(sub)
			if best = append(best, all...); len(all) == 0 || len(best) > most {
				return nil
			}
		}
	}
	return best
}

// shortest returns the length of the shortest literal, 0 if there are none.
func shortest(all []literal) int {
	n := 0
	for i, l := range all {
		if i == 0 || len(l.text) < n {
			n = len(l.text)
		}
	}
	return n
}

// literalOf returns a literal, or the longest part of it that is known by its bytes: U+FFFD
// stands for any invalid byte, and of letters in any case those beyond ASCII are left out
// and k and s, for which there are others (U+212A, U+017F).
func literalOf(s string, fold bool) []literal {
	if fold {
		s = strings.ToLower(s)
	}
	best := ""
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool {
		return r == utf8.RuneError || fold && (r >= utf8.RuneSelf || r == 'k' || r == 's')
	}) {
		if len(part) > len(best) {
			best = part
		}
	}
	if best == "" {
		return nil
	}
	return []literal{{[]byte(best), fold}}
}

// rejects reports that a text cannot match.
func (m *matcher) rejects(p []byte) bool {
	lowered := false
	for i := range m.literals {
		l, in := &m.literals[i], p
		if len(p) < len(l.text) {
			continue
		}
		if l.fold {
			if !lowered {
				lowered, m.lower = true, append(m.lower[:0], p...)
				for i, c := range m.lower {
					if 'A' <= c && c <= 'Z' {
						m.lower[i] = c | 0x20
					}
				}
			}
			in = m.lower
		}
		if bytes.Contains(in, l.text) {
			return false
		}
	}
	return len(m.literals) > 0
}

// match reports whether a text matches.
func (m *matcher) match(p []byte) bool {
	return !m.rejects(p) && (m.whole || m.re.Match(p))
}

// rejectsWritten is rejects for a text as it is written between the quotes of JSON.
func (m *matcher) rejectsWritten(raw []byte, escaped bool) bool {
	return m.rejects(raw) && !(escaped && bytes.Contains(raw, m.hidden))
}
