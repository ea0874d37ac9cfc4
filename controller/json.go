package controller

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A kind of JSON value, as it is called in messages.
type kind string

const (
	jsonNull    kind = "null"
	jsonBoolean kind = "a boolean"
	jsonNumber  kind = "a number"
	jsonString  kind = "a string"
	jsonList    kind = "a list"
	jsonObject  kind = "an object"
)

// A value is a JSON value that was read.
type value struct {
	kind    kind
	raw     string   // as written
	text    string   // of a string, decoded
	members []member // of an object, in the order written
	items   []value  // of a list
}

type member struct {
	name  string
	value value
}

// get returns a member of an object.
func (v value) get(name string) (value, bool) {
	for _, m := range v.members {
		if m.name == name {
			return m.value, true
		}
	}
	return value{}, false
}

// A syntaxError says where and why text is not JSON, and what to do about it.
type syntaxError struct {
	at   int // byte of the text
	what string
}

// maxDepth is how deep values may be nested. What tools take is a handful deep; a
// thousand levels are an accident or an attack on whoever reads them next.
const maxDepth = 64

// readWhole reads text that is one JSON value.
func readWhole(s string) (value, *syntaxError) {
	r := reader{s: s}
	r.space()
	v, err := r.value()
	if err != nil {
		return value{}, err
	}
	r.space()
	if r.at < len(s) {
		return value{}, r.fail("there is more behind the JSON value; send nothing else")
	}
	return v, nil
}

// readObject reads the object that begins at a brace of s and returns where it ends.
func readObject(s string, at int) (value, int, *syntaxError) {
	r := reader{s: s, at: at}
	v, err := r.value()
	return v, r.at, err
}

// A reader reads JSON by its grammar (RFC 8259), and refuses what
// package doc says. encoding/json would not do: it takes the last of two equal names,
// puts replacement characters for what it cannot read, and its errors say neither
// what to do nor, for a value inside a text, where.
type reader struct {
	s     string
	at    int
	depth int
}

func (r *reader) fail(format string, args ...any) *syntaxError {
	return &syntaxError{at: r.at, what: fmt.Sprintf(format, args...)}
}

func (r *reader) space() {
	for r.at < len(r.s) {
		switch r.s[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return
		}
	}
}

// peek returns the byte that comes next, 0 at the end.
func (r *reader) peek() byte {
	if r.at < len(r.s) {
		return r.s[r.at]
	}
	return 0
}

func (r *reader) value() (value, *syntaxError) {
	start := r.at
	var v value
	var err *syntaxError
	switch c := r.peek(); {
	case c == '{':
		v.kind = jsonObject
		v.members, err = r.object()
	case c == '[':
		v.kind = jsonList
		v.items, err = r.list()
	case c == '"':
		v.kind = jsonString
		v.text, err = r.string()
	case c == '-' || '0' <= c && c <= '9':
		v.kind = jsonNumber
		err = r.number()
	case r.word("true"), r.word("false"):
		v.kind = jsonBoolean
	case r.word("null"):
		v.kind = jsonNull
	default:
		err = r.fail("%s", r.insteadOfValue())
	}
	v.raw = r.s[start:r.at]
	return v, err
}

// word passes over one of the three names of JSON.
func (r *reader) word(w string) bool {
	if !strings.HasPrefix(r.s[r.at:], w) || len(r.s) > r.at+len(w) && letter(r.s[r.at+len(w)]) {
		return false
	}
	r.at += len(w)
	return true
}

func (r *reader) object() ([]member, *syntaxError) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	var members []member
	var names seen
	if r.space(); r.peek() == '}' {
		r.leave()
		return nil, nil
	}
	for {
		if r.peek() != '"' {
			return nil, r.fail("%s", r.insteadOfName())
		}
		at := r.at
		name, err := r.string()
		if err != nil {
			return nil, err
		}
		if names.has(name, members) {
			r.at = at
			return nil, r.fail("the name %s stands twice in one object; which of the two counts is not clear", shownName(name))
		}
		if r.space(); r.peek() != ':' {
			return nil, r.fail("%s", r.insteadOf("a colon behind the name "+shownName(name)))
		}
		r.at++
		r.space()
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		members = append(members, member{name, v})
		r.space()
		switch r.peek() {
		case '}':
			r.leave()
			return members, nil
		case ',':
			r.at++
			r.space()
		default:
			return nil, r.fail("%s", r.insteadOf("a comma or }"))
		}
	}
}

func (r *reader) list() ([]value, *syntaxError) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	var items []value
	if r.space(); r.peek() == ']' {
		r.leave()
		return nil, nil
	}
	for {
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		items = append(items, v)
		r.space()
		switch r.peek() {
		case ']':
			r.leave()
			return items, nil
		case ',':
			r.at++
			r.space()
		default:
			return nil, r.fail("%s", r.insteadOf("a comma or ]"))
		}
	}
}

func (r *reader) enter() *syntaxError {
	if r.depth++; r.depth > maxDepth {
		return r.fail("objects and lists are nested deeper than %d", maxDepth)
	}
	r.at++
	return nil
}

func (r *reader) leave() {
	r.depth--
	r.at++
}

func (r *reader) number() *syntaxError {
	if r.peek() == '-' {
		r.at++
	}
	start := r.at
	if !r.digits() {
		return r.fail("a number needs a digit here")
	}
	if r.s[start] == '0' && r.at > start+1 {
		r.at = start
		return r.fail("a number has no zeros in front")
	}
	if r.peek() == '.' {
		r.at++
		if !r.digits() {
			return r.fail("a number needs a digit behind the point")
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		r.at++
		if c := r.peek(); c == '+' || c == '-' {
			r.at++
		}
		if !r.digits() {
			return r.fail("a number needs a digit in its exponent")
		}
	}
	return nil
}

func (r *reader) digits() bool {
	start := r.at
	for c := r.peek(); '0' <= c && c <= '9'; c = r.peek() {
		r.at++
	}
	return r.at > start
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$'
}

// seen finds names that stand twice: by looking at all of them while they are few,
// which they nearly always are, and by a map when they are many.
type seen struct{ names map[string]bool }

func (s *seen) has(name string, before []member) bool {
	const few = 16
	if len(before) < few {
		for _, m := range before {
			if m.name == name {
				return true
			}
		}
		return false
	}
	if s.names == nil {
		s.names = map[string]bool{}
		for _, m := range before {
			s.names[m.name] = true
		}
	}
	found := s.names[name]
	s.names[name] = true
	return found
}

// string reads a string. What stands in it is taken as it is or refused: no
// replacement character is put for what cannot be read.
func (r *reader) string() (string, *syntaxError) {
	r.at++
	start := r.at
	var decoded []byte // nil until the first escape
	from := start      // of what is not in decoded yet
	for {
		// What needs no attention is passed over a byte at a time.
		for r.at < len(r.s) && r.s[r.at] >= ' ' && r.s[r.at] < utf8.RuneSelf && r.s[r.at] != '"' && r.s[r.at] != '\\' {
			r.at++
		}
		switch c := r.peek(); {
		case r.at == len(r.s):
			return "", r.fail("the answer ends inside of a string; it was cut off, or a closing double quote is missing")
		case c == '"':
			whole := r.s[start:r.at]
			if decoded != nil {
				whole = string(append(decoded, r.s[from:r.at]...))
			}
			r.at++
			return whole, nil
		case c == '\\':
			if decoded == nil {
				// With one escape there are mostly many: the file in an argument.
				decoded = make([]byte, 0, r.at-start+r.untilQuote())
			}
			decoded = append(decoded, r.s[from:r.at]...)
			char, err := r.escape()
			if err != nil {
				return "", err
			}
			decoded = utf8.AppendRune(decoded, char)
			from = r.at
		case c < ' ':
			return "", r.fail("%s", rawControl(c))
		default:
			char, size := utf8.DecodeRuneInString(r.s[r.at:])
			if char == utf8.RuneError && size == 1 {
				return "", r.fail("the byte 0x%02x is not valid UTF-8", c)
			}
			r.at += size
		}
	}
}

// untilQuote returns how many bytes are left of a string, or of the text.
func (r *reader) untilQuote() int {
	for i := r.at; i < len(r.s); i++ {
		switch r.s[i] {
		case '\\':
			i++
		case '"':
			return i - r.at
		}
	}
	return len(r.s) - r.at
}

// escape reads one escape, two for a pair of surrogates.
func (r *reader) escape() (rune, *syntaxError) {
	at := r.at
	if r.at++; r.at == len(r.s) {
		return 0, r.fail("the answer ends inside of a string; it was cut off")
	}
	c := r.s[r.at]
	r.at++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		char, err := r.hex(at)
		switch {
		case err != nil:
			return 0, err
		case char >= 0xDC00 && char < 0xE000:
			r.at = at
			return 0, r.fail("half of a surrogate pair is no character")
		case char < 0xD800 || char >= 0xE000:
			return char, nil
		}
		if strings.HasPrefix(r.s[r.at:], `\u`) {
			r.at += 2
			low, err := r.hex(at)
			if err != nil {
				return 0, err
			}
			if low >= 0xDC00 && low < 0xE000 {
				return (char-0xD800)<<10 | (low - 0xDC00) + 0x10000, nil
			}
		}
		r.at = at
		return 0, r.fail("half of a surrogate pair is no character")
	}
	r.at = at
	return 0, r.fail(`there is no such escape in JSON; a backslash itself is written \\`)
}

// hex reads the four digits of an escape that begins at a byte.
func (r *reader) hex(escape int) (rune, *syntaxError) {
	var char rune
	for range 4 {
		c := r.peek()
		switch {
		case '0' <= c && c <= '9':
			char = char<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			char = char<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			char = char<<4 | rune(c-'A'+10)
		default:
			r.at = escape
			return 0, r.fail(`\u needs four hexadecimal digits`)
		}
		r.at++
	}
	return char, nil
}
