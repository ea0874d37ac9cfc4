package output

import (
	"context"
	"fmt"
	"io"
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
