package jsonpath

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// A Kind is what a [Value] is.
type Kind uint8

// The kinds of values. Nothing is the zero [Value]: no value at all, as the RFC calls
// what a query gives that selects no node.
const (
	Nothing Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String returns the kind's name as in JSON Schema, and "nothing".
func (k Kind) String() string {
	return [...]string{"nothing", "null", "boolean", "number", "string", "array", "object"}[k]
}

// A Value is a JSON value that has lost nothing of what was written: members are in
// their order, duplicates among them, and numbers have their digits. It never changes,
// so it may be used by several goroutines at once. It points into the bytes that it
// was decoded from; those must not change while it is in use.
type Value struct {
	kind  Kind
	plain bool   // a string without escapes and invalid UTF-8: its text is raw without the quotes
	raw   []byte // as written; nil for an array or object that was not decoded from memory
	box   *box   // of an array or object that is not empty
}

// box holds what is in an array or object.
type box struct {
	items []Value
	names [][]byte // of an object, unescaped; names[i] belongs to items[i]

	once  sync.Once
	index map[string]int // name: last place, made for a large object when first asked
}

// Kind returns what v is.
func (v Value) Kind() Kind { return v.kind }

// Raw returns v as it is written in the document; nil for an array or object that was not
// decoded by [Decode]. It must not be changed.
func (v Value) Raw() []byte { return v.raw[:len(v.raw):len(v.raw)] }

// Bool returns whether v is true.
func (v Value) Bool() bool { return v.kind == Bool && v.raw[0] == 't' }

// Text returns the text of a string, unescaped and with U+FFFD for each invalid byte;
// of another value, Raw.
func (v Value) Text() string { return string(v.text()) }

func (v Value) text() []byte {
	switch {
	case v.kind != String:
		return v.raw
	case v.plain:
		return v.raw[1 : len(v.raw)-1]
	}
	return unescape(v.raw[1 : len(v.raw)-1])
}

// Len returns the number of elements of an array or members of an object, and 0 for
// anything else.
func (v Value) Len() int {
	if v.box == nil {
		return 0
	}
	return len(v.box.items)
}

// Item returns element i of an array or the value of member i of an object, in the
// order of the document. It panics if i is not within [0, v.Len()).
func (v Value) Item(i int) Value { return v.box.items[i] }

// Name returns the name of member i of an object.
func (v Value) Name(i int) string { return string(v.box.names[i]) }

// Members iterates over an object's members as they are written.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.kind != Object {
			return
		}
		for i := range v.Len() {
			if !yield(v.Name(i), v.box.items[i]) {
				return
			}
		}
	}
}

// Get returns the value of the last member of the name, or Nothing.
func (v Value) Get(name string) Value {
	if i := v.find(name); i >= 0 {
		return v.box.items[i]
	}
	return Value{}
}

// indexFrom is the number of members from which on looking through all of them for a
// name is slower than a map.
const indexFrom = 32

// find returns the place of the last member of the name, or -1.
func (v Value) find(name string) int {
	if v.kind != Object || v.box == nil {
		return -1
	}
	names := v.box.names
	if len(names) >= indexFrom {
		v.box.once.Do(func() {
			v.box.index = make(map[string]int, len(names))
			for i, n := range names {
				v.box.index[string(n)] = i
			}
		})
		if i, ok := v.box.index[name]; ok {
			return i
		}
		return -1
	}
	for i := len(names) - 1; i >= 0; i-- {
		if string(names[i]) == name {
			return i
		}
	}
	return -1
}

// at returns element i of an array, from the end if i is negative, or Nothing.
func (v Value) at(i int64) Value {
	if v.kind != Array {
		return Value{}
	}
	n := int64(v.Len())
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return Value{}
	}
	return v.box.items[i]
}

func integer(n int64) Value { return Value{kind: Number, raw: strconv.AppendInt(nil, n, 10)} }

// stringValue returns a literal of a path.
func stringValue(s string) Value {
	raw := AppendString(nil, s)
	return Value{kind: String, raw: raw, plain: bytes.IndexByte(raw, '\\') < 0}
}

// AppendString appends s as a JSON string in which nothing is escaped that need not be.
// Invalid UTF-8 becomes U+FFFD.
func AppendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error is that of invalid UTF-8
	return b
}

// unescape returns the text of what stands between the quotes of a string that the
// scanner has accepted, or of its beginning. Whatever is not a character becomes U+FFFD: an
// invalid byte, half of a surrogate pair.
func unescape(s []byte) []byte {
	quote := []byte{'"'}
	out, err := jsontext.AppendUnquote(nil, slices.Concat(quote, s, quote))
	if errors.Is(err, io.ErrUnexpectedEOF) { // s ends within an escape, which took the last quote
		return out[:len(out)-1]
	}
	return out
}
