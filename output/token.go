package output

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"unicode/utf8"

	"pawl/output/jsonpath"
)

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
