package jsonpath

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"pawl/internal/lazy"
)

const (
	// maxPattern bounds a regular expression, in bytes. Go's engine takes time linear in
	// the text whatever the pattern, so this bounds only the compiled size.
	maxPattern = 4096

	// maxGroups bounds the nesting of parentheses.
	maxGroups = 100
)

// iregexpToken is what an I-Regexp is made of (RFC 9485 section 4), by group: a quantifier,
// an escape or category, a class of characters with what is within its brackets, and any
// other character that stands for itself or has a meaning alone.
var iregexpToken = lazy.Regexp(iregexpTokens())

func iregexpTokens() string {
	const (
		escape   = `\\[nrt()*+.?\[\\\]^{|}\-]`
		category = `\\[pP]\{(?:L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|Z[lps]?|S[ckmo]?|C[cfno]?)\}`
		char     = `(?:[^\\\[\]\-]|` + escape + `)`
		class    = `(?:` + char + `(?:-` + char + `)?|` + category + `)`
	)
	return `^(?s:([*+?]|\{[0-9]+(?:,[0-9]*)?\})|(` + escape + `|` + category + `)|\[(\^?)(-?)(` + class + `*)(-?)\]|([^\\*+?{}\[\]]))`
}

// compileIRegexp compiles an I-Regexp (RFC 9485) for Go's regexp package; whole says
// that all of the text has to match. It is an error if the pattern is not an I-Regexp:
// \d, for one, is not. Differences that matter are translated (RFC 9485 section 5):
// a dot matches neither \n nor \r, and nothing is a flag, a capture or a lazy
// quantifier. One thing is added because the compliance suite and people expect it: a
// ^ that begins an alternative and a $ that ends one are anchors; elsewhere they are
// the characters, as RFC 9485 has it everywhere.
func compileIRegexp(pattern string, whole bool) (*regexp.Regexp, error) {
	switch {
	case len(pattern) > maxPattern:
		return nil, fmt.Errorf("the pattern has %d bytes, and the limit is %d", len(pattern), maxPattern)
	case !utf8.ValidString(pattern):
		return nil, errors.New("the pattern is not valid UTF-8")
	}
	var out strings.Builder
	open, first, atom, repeats := 0, true, false, false // groups; an alternative begins; something to repeat, a repetition is before
	for rest := pattern; rest != ""; {
		t := iregexpToken().FindStringSubmatch(rest)
		if t == nil {
			return nil, notIRegexp(rest)
		}
		rest = rest[len(t[0]):]
		repeated := rest != "" && strings.IndexByte("*+?{", rest[0]) >= 0
		began := first
		first = false
		switch token := t[0]; {
		case t[1] != "" && !atom:
			if repeats {
				return nil, fmt.Errorf("%q repeats a repetition; there are no lazy or possessive ones", token[0])
			}
			return nil, fmt.Errorf("%q has nothing before it to repeat", token[0])
		case t[1] != "":
			out.WriteString(token)
			atom, repeats = false, true
			continue
		case t[2] != "":
			out.WriteString(token)
		case t[7] == "": // a class
			if t[4]+t[5]+t[6] == "" {
				return nil, errors.New("a [] is empty")
			}
			dash := strings.NewReplacer("-", `\-`)
			out.WriteString("[" + t[3] + dash.Replace(t[4]) + t[5] + dash.Replace(t[6]) + "]")
		case token == "(":
			if open++; open > maxGroups {
				return nil, fmt.Errorf("more than %d parentheses in one another", maxGroups)
			}
			out.WriteString("(?:")
			first, atom, repeats = true, false, false
			continue
		case token == ")":
			if open--; open < 0 {
				return nil, errors.New("')' closes nothing")
			}
			out.WriteString(token)
		case token == "|":
			out.WriteString(token)
			first, atom, repeats = true, false, false
			continue
		case token == ".":
			out.WriteString(`[^\n\r]`)
		case token == "^" && began && !repeated:
			out.WriteString(`\A`)
		case token == "$" && (rest == "" || rest[0] == '|' || rest[0] == ')'):
			out.WriteString(`\z`)
		default:
			out.WriteString(regexp.QuoteMeta(token))
		}
		atom, repeats = true, false
	}
	switch {
	case open > 0:
		return nil, errors.New("a ( is not closed")
	case whole:
		return regexp.Compile(`\A(?:` + out.String() + `)\z`)
	}
	return regexp.Compile(out.String())
}

// notIRegexp says why a pattern is not an I-Regexp from its beginning on.
func notIRegexp(rest string) error {
	r, _ := utf8.DecodeRuneInString(strings.TrimPrefix(rest, `\`))
	switch {
	case rest == `\`:
		return errors.New(`a \ at the end`)
	case rest[0] == '\\' && (r == 'p' || r == 'P'):
		return fmt.Errorf(`\%c needs a Unicode category such as \p{L} or \p{Lu}`, r)
	case rest[0] == '\\':
		return fmt.Errorf(`\%c is not part of I-Regexp%s`, r, insteadOfEscape(r))
	case r == '{':
		body, _, _ := strings.Cut(rest, "}")
		return fmt.Errorf("%s is not a repetition such as {2}, {2,} or {2,5}", body)
	case r == '[':
		for i := 1; i < len(rest) && rest[i] != ']'; i++ {
			if rest[i] == '\\' {
				if !iregexpToken().MatchString(rest[i:]) {
					return notIRegexp(rest[i:])
				}
				i++
			}
		}
		if !strings.Contains(rest, "]") {
			return errors.New("a [ is not closed")
		}
		return errors.New(`a - within [ ] stands first, last or between two characters; write \-, \[ and \] for the characters elsewhere`)
	}
	return fmt.Errorf(`%q closes nothing; write \%c for the character`, r, r)
}

func insteadOfEscape(r rune) string {
	switch r {
	case 'd':
		return ": write [0-9]"
	case 'w':
		return ": write [A-Za-z0-9_]"
	case 's':
		return `: write [ \t\n\r]`
	case 'b', 'B', 'A', 'z', 'Z':
		return ": there are no word or text boundaries; match() takes the whole text, search() a part"
	case '$', '/', '"', '\'', ',', ':', '@':
		return ": write the character without the backslash"
	}
	return ""
}
