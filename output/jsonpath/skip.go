package jsonpath

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// Passing over what a path does not select is most of the work of a stream, so this file is
// written for speed: eight bytes at a time in strings, no call per token, and the
// window's variables in registers. It checks all of the grammar all the same, but for
// UTF-8 and duplicate names, which are allowed (see the package comment).
//
// It is our own because jsontext, which knows the same grammar and is what the tests
// compare with, passes over the document of the benchmarks at 0.46 GB for each second
// of a core, and this at 1.0 GB (2026-11-21, amd64, Go 1.26.8: BenchmarkSkip and
// BenchmarkSkipOfJSONText); and because jsontext cannot go back.

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// notPlain marks with their high bits the bytes of w that cannot simply be passed in a
// string: ", \ and control characters. Only the lowest mark is sure to be right: a
// borrow may set those above it.
func notPlain(w uint64) uint64 {
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs
}

// skipString passes over the string whose quote comes next. odd says that it has
// escapes or bytes beyond ASCII, and so may be written in another way than it means.
func (s *scanner) skipString() (odd bool, err error) {
	s.pos++
	return s.restOfString()
}

// restOfString is skipString from within the string on.
func (s *scanner) restOfString() (odd bool, err error) {
	for {
		i, high := plainText(s.buf, s.pos)
		odd = odd || high
		b := s.buf
		for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
			odd = odd || b[i] >= utf8.RuneSelf
			i++ // near the end of the window
		}
		s.pos = i
		switch {
		case i == len(b):
			if !s.more() {
				return false, s.unexpected(`the end of a string, "`)
			}
		case b[i] == '"':
			s.pos++
			return odd, nil
		case b[i] == '\\':
			odd = true
			if i+1 < len(b) && strings.IndexByte(shortEscapes, b[i+1]) >= 0 {
				s.pos += 2
			} else if err := s.skipEscape(); err != nil {
				return false, err
			}
		default:
			return false, s.unexpected("a string without control characters")
		}
	}
}

// shortEscapes are the characters that stand alone after a backslash.
const shortEscapes = `"\/bfnrt`

// plainText returns where something comes in b from i on that cannot simply be passed in a
// string, or a place before that near the end of b; odd says that bytes beyond ASCII have
// been passed.
func plainText(b []byte, i int) (at int, odd bool) {
	var high uint64
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		if m := notPlain(w); m != 0 {
			n := bits.TrailingZeros64(m) &^ 7
			return i + n>>3, (high|w&(1<<n-1))&highs != 0
		}
		high |= w
	}
	return i, high&highs != 0
}

// skipEscape passes over the backslash that comes next and what belongs to it.
func (s *scanner) skipEscape() error {
	for len(s.buf)-s.pos < 2 && s.more() {
	}
	s.pos++
	if s.pos == len(s.buf) {
		return s.unexpected("the rest of an escape")
	}
	switch c := s.buf[s.pos]; {
	case strings.IndexByte(shortEscapes, c) >= 0:
		s.pos++
		return nil
	case c == 'u':
		s.pos++
		for range 4 {
			if s.pos == len(s.buf) && !s.more() || strings.IndexByte("0123456789abcdefABCDEF", s.buf[s.pos]) < 0 {
				return s.unexpected("four hexadecimal digits")
			}
			s.pos++
		}
		return nil
	}
	return s.unexpected(`one of " \ / b f n r t u after a backslash`)
}

// skipNumber passes over the number that comes next.
func (s *scanner) skipNumber() error {
	for {
		n, missing := numberLength(s.buf[s.pos:])
		// At the end of the window the number may continue: get more and begin again.
		if s.pos+n == len(s.buf) && !s.eof {
			pin := s.pin
			if pin == noPin {
				s.pin = s.offset()
			}
			more := s.more()
			s.pin = pin
			if more || s.err == nil { // or the window has moved and eof is known
				continue
			}
			return s.err
		}
		s.pos += n
		if missing != "" {
			return s.unexpected(missing)
		}
		return nil
	}
}

// skipWord passes over true, false or null.
func (s *scanner) skipWord(word string) error {
	for len(s.buf)-s.pos < len(word) && s.more() {
	}
	if !bytes.HasPrefix(s.buf[s.pos:], []byte(word)) {
		for i := 0; i < len(word) && s.pos < len(s.buf) && s.buf[s.pos] == word[i]; i++ {
			s.pos++
		}
		return s.unexpected(word)
	}
	s.pos += len(word)
	return nil
}

// skipScalar passes over the string, number or word that begins with c.
func (s *scanner) skipScalar(c byte) error {
	switch c {
	case '"':
		_, err := s.skipString()
		return err
	case 't':
		return s.skipWord("true")
	case 'f':
		return s.skipWord("false")
	case 'n':
		return s.skipWord("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.skipNumber()
	}
	return s.unexpected(following(false))
}

// skip passes over the value that comes next, blanks before it included.
func (s *scanner) skip() error {
	c, err := s.ahead()
	if err != nil {
		return err
	}
	if c != '{' && c != '[' {
		return s.skipScalar(c)
	}
	return s.container(nil)
}

// container passes over the array or object that comes next, and tells v of all that is in
// it unless v is nil.
func (s *scanner) container(v Visitor) error {
	_, err := s.pass(v, nil, atOpening)
	return err
}

// entryPoint says where a pass begins.
type entryPoint uint8

const (
	atOpening entryPoint = iota // the [ or { comes next
	atFirst                     // in an object, after the {
	atNext                      // in an object, after a member
)

// pass is container and nextMember. The fast ways through strings and numbers are for
// those that are within the window and have nothing unusual in them.
func (s *scanner) pass(v Visitor, names []string, entry entryPoint) (int, error) {
	var (
		b      = s.buf
		i      = s.pos
		kinds  = s.kinds[:0] // those that are open, true for an object
		depth  = s.depth
		object = true // the innermost
		found  = -1
		any    = entry != atOpening && names == nil // the next member, whatever its name
		c      byte
	)
	if entry != atOpening {
		if kinds = append(kinds, true); cap(kinds) > cap(s.kinds) {
			s.kinds = kinds
		}
		depth--
		if entry == atNext {
			goto next
		}
		goto first
	}

open: // at [ or {
	if depth+len(kinds) == MaxDepth {
		s.pos = i
		return 0, s.tooDeep()
	}
	object = b[i] == '{'
	if kinds = append(kinds, object); cap(kinds) > cap(s.kinds) {
		s.kinds = kinds
	}
	if v != nil {
		v.Open(object, s.base+int64(i))
	}
	i++

first: // after [ or {
	if i == len(b) || b[i] <= ' ' {
		if b, i = s.advance(i); i == len(b) {
			return 0, s.unexpected(opening(object))
		}
	}
	switch {
	case object && b[i] != '}':
		goto name
	case !object && b[i] != ']':
		goto value
	}
	goto closed

name: // blanks are passed
	if b[i] != '"' {
		s.pos = i
		return 0, s.unexpected("a name in quotes")
	}
	if n, odd := plainText(b, i+1); n < len(b) && b[n] == '"' && (!odd || names == nil) {
		if v != nil {
			v.Name(b[i+1:n], false)
		} else if any {
			found, s.pin, s.nameEnd, s.nameOdd = 0, s.base+int64(i), s.base+int64(n), odd
		} else if len(kinds) == 1 {
			found = slices.Index(names, string(b[i+1:n]))
		}
		i = n + 1
	} else {
		s.pos = i
		raw, err := s.quotedText()
		if err != nil {
			return 0, err
		}
		if v != nil {
			v.Name(raw, true)
		} else if any {
			s.nameEnd = s.offset() - 1
			found, s.pin, s.nameOdd = 0, s.nameEnd-int64(len(raw))-1, true
		} else if len(kinds) == 1 && names != nil {
			found = slices.Index(names, string(Unescape(raw)))
		}
		b, i = s.buf, s.pos
	}
	if i == len(b) || b[i] != ':' {
		if b, i = s.advance(i); i == len(b) || b[i] != ':' {
			return 0, s.unexpected(colon)
		}
	}
	i++
	if i < len(b) && b[i] == ' ' { // the usual single one
		i++
	}
	if found >= 0 {
		s.pos = i
		return found, nil
	}
	if i == len(b) || b[i] <= ' ' {
		if b, i = s.advance(i); i == len(b) {
			return 0, s.unexpected(following(false))
		}
	}

value: // blanks are passed
	c = b[i]
	switch {
	case c == '{' || c == '[':
		goto open
	case c == '"':
		n, _ := plainText(b, i+1)
		switch {
		case n < len(b) && b[n] == '"':
			if v != nil {
				v.Scalar(String, b[i+1:n], false, s.base+int64(i))
			}
			i = n + 1
			goto next
		case v == nil:
			s.pos = n
			if _, err := s.restOfString(); err != nil {
				return 0, err
			}
			b, i = s.buf, s.pos
			goto next
		}
	case c-'0' <= 9 || c == '-':
		if n, missing := numberLength(b[i:]); missing == "" && i+n < len(b) {
			if v != nil {
				v.Scalar(Number, b[i:i+n], false, s.base+int64(i))
			}
			i += n
			goto next
		}
	}
	s.pos = i
	if v != nil {
		if err := s.visitScalar(c, v); err != nil {
			return 0, err
		}
	} else if err := s.skipScalar(c); err != nil {
		return 0, err
	}
	b, i = s.buf, s.pos

next: // after a value
	if i == len(b) || b[i] <= ' ' {
		if b, i = s.advance(i); i == len(b) {
			return 0, s.unexpected(closing(object))
		}
	}
	c = b[i]
	if c == ',' {
		i++
		if i < len(b) && b[i] == ' ' { // the usual single one
			i++
		}
		if i == len(b) || b[i] <= ' ' {
			if b, i = s.advance(i); i == len(b) {
				return 0, s.unexpected(following(object))
			}
		}
		if object {
			goto name
		}
		goto value
	}
	if c != '}' && c != ']' || (c == '}') != object {
		s.pos = i
		return 0, s.unexpected(closing(object))
	}

closed: // at ] or }
	i++
	if v != nil {
		v.Close(s.base + int64(i))
	}
	kinds = kinds[:len(kinds)-1]
	if len(kinds) == 0 {
		s.pos, s.depth = i, depth
		return -1, nil
	}
	object = kinds[len(kinds)-1]
	goto next
}

// advance passes over blanks from i on, with more of the document if needed; at the
// end of the document or at an error of the source the index is the length.
func (s *scanner) advance(i int) ([]byte, int) {
	s.pos = i
	s.peek() // its error is in s.err, where unexpected finds it
	return s.buf, s.pos
}

// What errors say is expected after [ or {, after a comma, and after a value.

const colon = "a colon after a name"

func opening(object bool) string {
	if object {
		return "a name in quotes or }"
	}
	return "a value or ]"
}

func following(object bool) string {
	if object {
		return "a name in quotes"
	}
	return "a value"
}

func closing(object bool) string {
	if object {
		return ", or }"
	}
	return ", or ]"
}

// isPlain reports whether what stands between a string's quotes is what it means; odd
// is what skipString said of it.
func isPlain(raw []byte, odd bool) bool {
	return !odd || bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw)
}
