package output

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"unicode/utf8"

	"pawl/output/jsonpath"
)

// A kind is what a JSON value is.
type kind uint8

const (
	isNull kind = iota
	isBool
	isNumber
	isString
	isArray
	isObject
	kinds // how many there are
)

func (k kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// kindOf says what begins with c; c must begin a value.
func kindOf(c byte) kind {
	switch c {
	case '{':
		return isObject
	case '[':
		return isArray
	case '"':
		return isString
	case 't', 'f':
		return isBool
	case 'n':
		return isNull
	}
	return isNumber
}

// A visitor is told of all there is in a document, in its order. Bytes are valid until
// the method returns. Offsets are those in what the walker reads.
type visitor interface {
	open(object bool, offset int64)
	name(raw []byte, escaped bool) // what stands between the quotes of a member's name
	// scalar is told of a value that is neither an array nor an object, as written. Of
	// a text longer than longText raw is only the beginning.
	scalar(k kind, raw []byte, offset int64)
	close(offset int64) // of the first byte behind the bracket
}

const (
	// walkWindow is how much of a document a walker reads at a time.
	walkWindow = 256 << 10

	// longText is how much of a string is kept in one piece, in bytes. It bounds the
	// memory of a walker.
	longText = 4 << 20
)

// A walker passes over the values of a text and tells a visitor of all that is in
// them. jsonpath has a scanner of its own that looks into nothing it is not asked for;
// this one looks into everything, and is as fast as that can be: no call per byte, and
// eight bytes at a time in strings.
//
// It takes one value after the other (see next), with the grammar and the decisions of
// package jsonpath.
type walker struct {
	ctx context.Context
	r   io.Reader
	buf []byte
	pos int
	end int
	off int64 // of buf[0]
	err error // why there is nothing behind buf[end]; io.EOF for the end

	pin    int    // where in buf that begins which has to stay, or -1
	head   []byte // the beginning of a string that is too long to stay
	lines  bool   // a line break was passed since this was last false, outside of strings
	stack  []bool // arrays and objects that are open, true for an object
	tooBig bool   // a string was longer than longText
}

func newWalker(ctx context.Context, r io.Reader) *walker {
	return &walker{ctx: ctx, r: r, pin: -1}
}

func (w *walker) offset() int64 { return w.off + int64(w.pos) }

// more brings more of the text into buf, which may move; pos and pin move with it.
func (w *walker) more() bool {
	if w.err != nil {
		return false
	}
	if w.buf == nil {
		w.buf = make([]byte, walkWindow)
	}
	keep := w.pos
	if w.pin >= 0 {
		keep = w.pin
		if w.end-w.pin > longText {
			if len(w.head) == 0 {
				w.head = append(w.head, w.buf[w.pin:w.pin+longText]...)
				w.tooBig = true
			}
			keep, w.pin = w.pos, w.pos
		}
	}
	if keep > 0 {
		copy(w.buf, w.buf[keep:w.end])
		w.off += int64(keep)
		w.end -= keep
		w.pos -= keep
		if w.pin >= 0 {
			w.pin -= keep
		}
	} else if w.end == len(w.buf) {
		w.buf = append(w.buf, make([]byte, len(w.buf))...)
	}
	if w.err = w.ctx.Err(); w.err != nil {
		w.err = context.Cause(w.ctx)
		return false
	}
	const patience = 100 // empty readings in a row
	for range patience {
		n, err := w.r.Read(w.buf[w.end:])
		w.end += n
		w.err = err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	w.err = io.ErrNoProgress
	return false
}

// blanks passes over blanks and returns the byte behind them, 0 at the end.
func (w *walker) blanks() byte {
	for {
		for w.pos < w.end {
			switch c := w.buf[w.pos]; c {
			case '\n':
				w.lines = true
				w.pos++
			case ' ', '\t', '\r':
				w.pos++
			default:
				return c
			}
		}
		if !w.more() {
			return 0
		}
	}
}

// atEnd reports whether everything has been read, without an error of the reader.
func (w *walker) atEnd() bool { return w.pos == w.end && w.err == io.EOF }

// begin passes over a byte order mark.
func (w *walker) begin() {
	for w.end-w.pos < 3 && w.more() {
	}
	if w.end-w.pos >= 3 && string(w.buf[w.pos:w.pos+3]) == "\uFEFF" {
		w.pos += 3
	}
}

// fail returns the error for what is at pos.
func (w *walker) fail(expected string) error {
	if w.pos < w.end {
		return &jsonpath.DocumentError{Offset: w.offset(), Problem: "expected " + expected + ", found " + w.found()}
	}
	if w.err != nil && w.err != io.EOF {
		return w.err
	}
	return &jsonpath.DocumentError{Offset: w.offset(), Problem: "the document ends where " + expected + " was expected", Truncated: true}
}

func (w *walker) found() string {
	for w.end-w.pos < utf8.UTFMax && w.more() {
	}
	r, n := utf8.DecodeRune(w.buf[w.pos:w.end])
	if r == utf8.RuneError && n <= 1 {
		return fmt.Sprintf("the byte %#02x", w.buf[w.pos])
	}
	return fmt.Sprintf("%q", r)
}

// next passes over the next value of the text and tells v of it. It is false at the
// text's end.
func (w *walker) next(v visitor) (bool, error) {
	if w.blanks(); w.pos == w.end {
		if w.err == io.EOF {
			return false, nil
		}
		return false, w.err
	}
	return true, w.value(v)
}

// value passes over the value that begins at pos.
func (w *walker) value(v visitor) error {
	var c byte
	stack := w.stack[:0]
	object := false
	defer func() { w.stack = stack }()
	c = w.buf[w.pos]

value: // c is its first byte, at pos
	if c != '{' && c != '[' {
		if err := w.scalar(c, v); err != nil {
			return err
		}
		goto next
	}
	if len(stack) == jsonpath.MaxDepth {
		return &jsonpath.DocumentError{Offset: w.offset(), Problem: fmt.Sprintf("more than %d arrays and objects in one another", jsonpath.MaxDepth)}
	}
	object = c == '{'
	stack = append(stack, object)
	v.open(object, w.offset())
	w.pos++
	c = w.blanks()
	if object {
		if c == '}' {
			goto closed
		}
		goto name
	}
	if c == ']' {
		goto closed
	}
	if w.pos == w.end {
		return w.fail("a value or ]")
	}
	goto value

name:
	if c != '"' {
		return w.fail("a name in quotes")
	}
	{
		raw, escaped, err := w.text()
		if err != nil {
			return err
		}
		v.name(raw, escaped)
	}
	if w.pos == w.end || w.buf[w.pos] != ':' {
		if c = w.blanks(); c != ':' {
			return w.fail("a colon behind a name")
		}
	}
	w.pos++
	if w.pos < w.end && w.buf[w.pos] == ' ' { // the usual single one
		w.pos++
	}
	if w.pos < w.end && w.buf[w.pos] > ' ' {
		c = w.buf[w.pos]
	} else if c = w.blanks(); w.pos == w.end {
		return w.fail("a value")
	}
	goto value

next: // behind a value
	if len(stack) == 0 {
		return nil
	}
	if w.pos < w.end && w.buf[w.pos] > ' ' {
		c = w.buf[w.pos]
	} else {
		c = w.blanks()
	}
	if c == ',' {
		w.pos++
		if w.pos < w.end && w.buf[w.pos] > ' ' {
			c = w.buf[w.pos]
		} else if c = w.blanks(); w.pos == w.end {
			return w.fail("a value")
		}
		if object {
			goto name
		}
		goto value
	}
	if object && c != '}' {
		return w.fail(", or }")
	}
	if !object && c != ']' {
		return w.fail(", or ]")
	}

closed: // at ] or }
	w.pos++
	stack = stack[:len(stack)-1]
	v.close(w.offset())
	if len(stack) > 0 {
		object = stack[len(stack)-1]
	}
	goto next
}

func (w *walker) scalar(c byte, v visitor) error {
	switch {
	case c == '"':
		from := w.offset()
		raw, _, err := w.text()
		if err != nil {
			return err
		}
		v.scalar(isString, raw, from)
		return nil
	case c == '-' || c-'0' <= 9:
		return w.number(v)
	case c == 't':
		return w.word("true", isBool, v)
	case c == 'f':
		return w.word("false", isBool, v)
	case c == 'n':
		return w.word("null", isNull, v)
	}
	return w.fail("a value")
}

func (w *walker) word(word string, k kind, v visitor) error {
	for w.end-w.pos < len(word) && w.more() {
	}
	if w.end-w.pos < len(word) || string(w.buf[w.pos:w.pos+len(word)]) != word {
		for i := 0; i < len(word) && w.pos < w.end && w.buf[w.pos] == word[i]; i++ {
			w.pos++
		}
		return w.fail(word)
	}
	from := w.pos
	w.pos += len(word)
	v.scalar(k, w.buf[from:w.pos], w.off+int64(from))
	return nil
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of x that end the plain part of a string: ", \ and control
// characters. Only the lowest mark is sure to be right.
func special(x uint64) uint64 {
	quote := x ^ ones*'"'
	slash := x ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*' ')&^x) & highs
}

// text passes over the string at pos and returns what stands between its quotes.
func (w *walker) text() (raw []byte, escaped bool, err error) {
	w.pin = w.pos
	w.head = w.head[:0]
	w.pos++
	for {
		b, i := w.buf[:w.end], w.pos
		for i+8 <= len(b) {
			if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
			i++ // near the end of the window
		}
		w.pos = i
		switch {
		case i == len(b):
			if !w.more() {
				w.pin = -1
				return nil, false, w.fail(`the end of a string, "`)
			}
		case b[i] == '"':
			raw = b[w.pin+1 : i]
			if len(w.head) > 0 {
				raw = w.head[1:]
			}
			w.pos, w.pin = i+1, -1
			return raw, escaped, nil
		case b[i] == '\\':
			escaped = true
			if err := w.escape(); err != nil {
				w.pin = -1
				return nil, false, err
			}
		default:
			w.pin = -1
			return nil, false, w.fail("a string without control characters")
		}
	}
}

// escape passes over the backslash at pos and what belongs to it.
func (w *walker) escape() error {
	for w.end-w.pos < 6 && w.more() { // \uXXXX
	}
	w.pos++
	if w.pos == w.end {
		return w.fail("the rest of an escape")
	}
	switch w.buf[w.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		w.pos++
		return nil
	case 'u':
		w.pos++
		for range 4 {
			if w.pos == w.end || !isHex(w.buf[w.pos]) {
				return w.fail("four hexadecimal digits")
			}
			w.pos++
		}
		return nil
	}
	return w.fail(`one of " \ / b f n r t u after a backslash`)
}

func isHex(c byte) bool {
	return c-'0' <= 9 || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// number passes over the number at pos.
func (w *walker) number(v visitor) error {
	for {
		b, i := w.buf[:w.end], w.pos
		n, expected := numberLength(b[i:])
		// At the end of the window the number may go on: get more and begin again.
		if i+n == len(b) && w.err == nil {
			if n > longText {
				return &jsonpath.DocumentError{Offset: w.offset(), Problem: fmt.Sprintf("a number of more than %d digits", longText)}
			}
			w.pin = i
			w.more()
			w.pin = -1
			continue
		}
		if expected != "" {
			w.pos += n
			return w.fail(expected)
		}
		w.pos += n
		v.scalar(isNumber, b[i:w.pos], w.off+int64(i))
		return nil
	}
}

// numberLength returns how long the number is that b begins with, or what is missing
// behind as many bytes.
func numberLength(b []byte) (n int, missing string) {
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return i, "a digit"
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return i, "a digit after the point"
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, "a digit of the exponent"
		}
	}
	return i, ""
}

// isNumeral reports whether s is a number as JSON writes them.
func isNumeral(s []byte) bool {
	n, missing := numberLength(s)
	return missing == "" && n == len(s)
}

// plainName returns a member's name with its meaning, given as it is written.
func plainName(raw []byte, escaped bool) string {
	if !escaped && utf8.Valid(raw) {
		return string(raw)
	}
	quoted := slices.Concat([]byte{'"'}, raw, []byte{'"'})
	v, err := jsonpath.Decode(quoted)
	if err != nil {
		return string(raw) // unreachable: the walker has passed it
	}
	return v.Text()
}

// unescape appends the meaning of what stands between the quotes of a string. It is
// quick for the usual escapes, of which \u is none.
func unescape(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		k := bytes.IndexByte(raw[i:], '\\')
		if k < 0 {
			return append(dst, raw[i:]...)
		}
		dst = append(dst, raw[i:i+k]...)
		if i += k + 1; i == len(raw) {
			return dst // only the beginning of the string is here
		}
		switch c := raw[i]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			return append(dst, plainName(raw[i-1:], true)...)
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}
