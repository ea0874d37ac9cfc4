package jsonpath

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
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
	raw   []byte // as written; nil for an array or object of which only a part was decoded
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

// Raw returns v as it is written in the document. It must not be changed.
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
	const short = "\b\t\n\f\r\"\\"
	const letter = `btnfr"\`
	b = append(b, '"')
	for _, r := range s {
		if r >= ' ' && r != '"' && r != '\\' {
			b = utf8.AppendRune(b, r)
		} else if i := strings.IndexRune(short, r); i >= 0 {
			b = append(b, '\\', letter[i])
		} else {
			b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		}
	}
	return append(b, '"')
}

// unescape returns the text of what stands between the quotes of a string that the
// scanner has accepted. Whatever is not a character becomes U+FFFD: an invalid byte,
// half of a surrogate pair.
func unescape(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			r, n := utf8.DecodeRune(s[i:])
			out = utf8.AppendRune(out, r)
			i += n
			continue
		}
		if i+1 == len(s) { // of a long text the beginning may be cut here
			break
		}
		c := s[i+1]
		i += 2
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := hex4(s[i:])
			i += 4
			if isHighSurrogate(r) && i+6 <= len(s) && s[i] == '\\' && s[i+1] == 'u' {
				if low := hex4(s[i+2:]); isLowSurrogate(low) {
					r = joinSurrogates(r, low)
					i += 6
				}
			}
			out = utf8.AppendRune(out, r) // U+FFFD for a lone surrogate
			continue
		}
		out = append(out, c)
	}
	return out
}

func isHighSurrogate(r rune) bool { return 0xD800 <= r && r < 0xDC00 }

func isLowSurrogate(r rune) bool { return 0xDC00 <= r && r < 0xE000 }

func joinSurrogates(high, low rune) rune { return 0x10000 + (high-0xD800)<<10 + (low - 0xDC00) }

// hex4 returns the number that the first four bytes are in hexadecimal, -1 if they
// are not.
func hex4(s []byte) rune {
	if len(s) < 4 {
		return -1
	}
	var r rune
	for _, c := range s[:4] {
		d := unhex(c)
		if d < 0 {
			return -1
		}
		r = r<<4 | d
	}
	return r
}

func unhex(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}
