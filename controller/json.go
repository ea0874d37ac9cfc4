package controller

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
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

var kinds = map[jsontext.Kind]kind{'n': jsonNull, 't': jsonBoolean, 'f': jsonBoolean, '0': jsonNumber, '"': jsonString, '[': jsonList, '{': jsonObject}

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
	r := newReader(s, []byte(s), 0)
	v, err := r.value()
	if err != nil {
		return value{}, err
	}
	if r.at = len(s) - len(strings.TrimLeft(s[r.end():], jsonSpace)); r.at < len(s) {
		return value{}, r.fail("there is more behind the JSON value; send nothing else")
	}
	return v, nil
}

// readObject reads the object that begins at a brace of s, which text has as bytes,
// and returns where it ends.
func readObject(s string, text []byte, at int) (value, int, *syntaxError) {
	r := newReader(s, text, at)
	v, err := r.value()
	return v, r.end(), err
}

// A reader makes a value of JSON text with jsontext, which refuses what package doc
// says, and says what is wrong with text that is no JSON: jsontext tells where it
// failed, hint.go what to write instead.
type reader struct {
	s     string
	begin int // in s
	dec   *jsontext.Decoder
	last  int    // where the token before the one that is being read ends
	at    int    // where reading failed
	name  string // of the member that is being read
}

func newReader(s string, text []byte, at int) *reader {
	return &reader{s: s, begin: at, dec: jsontext.NewDecoder(bytes.NewBuffer(text[at:]))}
}

// end returns where the last token that was read ends.
func (r *reader) end() int { return r.begin + int(r.dec.InputOffset()) }

// next returns where the next token begins: behind white space and one delimiter.
func (r *reader) next() int {
	r.last = r.end()
	rest := strings.TrimLeft(r.s[r.last:], jsonSpace)
	if rest != "" && (rest[0] == ',' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], jsonSpace)
	}
	return len(r.s) - len(rest)
}

func (r *reader) fail(format string, args ...any) *syntaxError {
	return &syntaxError{at: r.at, what: fmt.Sprintf(format, args...)}
}

func (r *reader) value() (value, *syntaxError) {
	v := value{kind: kinds[r.dec.PeekKind()]}
	start := r.next()
	var err *syntaxError
	switch v.kind {
	case jsonObject, jsonList:
		if r.dec.StackDepth() >= maxDepth {
			r.at = start
			return value{}, r.fail("objects and lists are nested deeper than %d", maxDepth)
		}
		err = r.inside(&v)
	default:
		v.text, err = r.scalar()
	}
	if err != nil {
		return value{}, err
	}
	v.raw = r.s[start:r.end()]
	return v, nil
}

// inside reads an object or a list.
func (r *reader) inside(v *value) *syntaxError {
	start := r.next()
	if _, err := r.dec.ReadToken(); err != nil {
		return r.failed(err, start)
	}
	for {
		next := r.dec.PeekKind()
		switch next {
		case '}', ']':
			start := r.next()
			if _, err := r.dec.ReadToken(); err != nil {
				return r.failed(err, start)
			}
			return nil
		}
		if v.kind == jsonList {
			item, err := r.value()
			if err != nil {
				return err
			}
			v.items = append(v.items, item)
			continue
		}
		if kinds[next] != "" && next != '"' {
			r.at = r.next()
			return r.missing(r.at)
		}
		name, err := r.scalar()
		if err != nil {
			return err
		}
		r.name = name
		inner, err := r.value()
		if err != nil {
			return err
		}
		v.members = append(v.members, member{name, inner})
	}
}

// scalar reads a string, a number or a literal, and returns the text of a string.
func (r *reader) scalar() (string, *syntaxError) {
	start := r.next()
	raw, err := r.dec.ReadValue()
	if err != nil {
		return "", r.failed(err, start)
	}
	if raw[0] != '"' {
		return "", nil
	}
	return unquote(raw), nil
}

// unquote returns the text of a JSON string.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		panic(fmt.Sprintf("unquote what was read: %v", err)) // unreachable: it is a string
	}
	return string(text)
}

// failed says what is wrong where jsontext failed to read the token that begins at
// start.
func (r *reader) failed(err error, start int) *syntaxError {
	r.at = len(r.s)
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		if start < len(r.s) && r.s[start] == '"' {
			if cutInEscape(r.s[start:]) {
				return r.fail("the answer ends inside of a string; it was cut off")
			}
			return r.fail("the answer ends inside of a string; it was cut off, or a closing double quote is missing")
		}
	case errors.Is(err, jsontext.ErrDuplicateName):
		r.at = start
		raw, _ := jsontext.NewDecoder(strings.NewReader(r.s[start:])).ReadValue() // it was read
		return r.fail("the name %s stands twice in one object; which of the two counts is not clear", shownName(unquote(raw)))
	case errors.As(err, &syntax):
		r.at = min(r.begin+int(syntax.ByteOffset), len(r.s))
	}
	if r.at > start && start < len(r.s) {
		switch c := r.s[start]; {
		case c == '"':
			return r.inString()
		case c == '-' || '0' <= c && c <= '9':
			return r.inNumber(start)
		}
	}
	return r.missing(start)
}

// cutInEscape reports whether a string that does not end is cut inside an escape.
func cutInEscape(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			if i++; i == len(s) {
				return true
			}
		}
	}
	return false
}

// inString says what is wrong inside of a string.
func (r *reader) inString() *syntaxError {
	rest := r.s[r.at:]
	char, size := utf8.DecodeRuneInString(rest)
	switch {
	case strings.HasPrefix(rest, `\u`):
		if len(rest) < 6 || strings.Trim(rest[2:6], "0123456789abcdefABCDEF") != "" {
			return r.fail(`\u needs four hexadecimal digits`)
		}
		return r.fail("half of a surrogate pair is no character")
	case char == '\\':
		return r.fail(`there is no such escape in JSON; a backslash itself is written \\`)
	case char < ' ':
		return r.fail("%s", rawControl(rest[0]))
	case char == utf8.RuneError && size == 1:
		return r.fail("the byte 0x%02x is not valid UTF-8", rest[0])
	}
	return r.fail("a string cannot be read here") // unreachable unless jsontext refuses something new
}

// inNumber says what is wrong inside of a number.
func (r *reader) inNumber(start int) *syntaxError {
	switch before := r.s[start:r.at]; {
	case before == "-":
		return r.fail("a number needs a digit here")
	case strings.HasSuffix(before, "."):
		return r.fail("a number needs a digit behind the point")
	case strings.TrimRight(before, "+-eE") != before:
		return r.fail("a number needs a digit in its exponent")
	}
	return r.missing(start)
}

// missing says what is needed where something else stands, from the token that ends
// before it.
func (r *reader) missing(start int) *syntaxError {
	end := r.last
	before := strings.TrimRight(r.s[r.begin:end], jsonSpace)
	// What follows a token without anything in between: 01 and nullx.
	if r.at == end && end < len(r.s) && letter(r.s[end]) && before != "" {
		word := len(before) - len(strings.TrimRightFunc(before, func(c rune) bool { return c < utf8.RuneSelf && letter(byte(c)) }))
		switch first := end - word; {
		case word == 0:
		case r.s[first:end] == "0":
			r.at = first
			return r.fail("a number has no zeros in front")
		case 'a' <= r.s[first] && r.s[first] <= 'z':
			r.at = first
			return r.fail("%s", r.insteadOfValue())
		}
	}
	delimiter := byte(0)
	if rest := strings.TrimLeft(r.s[end:], jsonSpace); rest != "" {
		delimiter = rest[0]
	}
	switch in, read := r.dec.StackIndex(r.dec.StackDepth()); {
	case in == '{' && read%2 == 0 && (read == 0 || delimiter == ','):
		r.at = start
		return r.fail("%s", r.insteadOfName())
	case in == '{' && read%2 == 0:
		return r.fail("%s", r.insteadOf("a comma or }"))
	case in == '{' && delimiter != ':':
		return r.fail("%s", r.insteadOf("a colon behind the name "+shownName(r.name)))
	case in == '[' && read > 0 && delimiter != ',':
		return r.fail("%s", r.insteadOf("a comma or ]"))
	}
	r.at = start
	return r.fail("%s", r.insteadOfValue())
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$'
}
