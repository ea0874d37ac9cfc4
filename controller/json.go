package controller

import (
	"bytes"
	"fmt"
	"strings"

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
// says, and tells what is wrong with text that is no JSON; hint.go adds what to write
// instead.
type reader struct {
	s     string
	begin int // in s
	dec   *jsontext.Decoder
	at    int // where reading failed
}

func newReader(s string, text []byte, at int) *reader {
	return &reader{s: s, begin: at, dec: jsontext.NewDecoder(bytes.NewBuffer(text[at:]))}
}

// end returns where the last token that was read ends.
func (r *reader) end() int { return r.begin + int(r.dec.InputOffset()) }

// next returns where the next token begins: behind white space and one delimiter.
func (r *reader) next() int {
	rest := strings.TrimLeft(r.s[r.end():], jsonSpace)
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
		switch r.dec.PeekKind() {
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
		name, err := r.scalar()
		if err != nil {
			return err
		}
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
