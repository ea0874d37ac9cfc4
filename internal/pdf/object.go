package pdf

import (
	"bytes"
	"strconv"
)

// Objects (7.3) are nil, bool, float64 for both kinds of numbers, string, name,
// array, dict, *stream and ref.
type (
	name  string
	array []any
	dict  map[name]any
	ref   struct{ number, generation int }
)

// A stream is a stream as it is in the file.
type stream struct {
	dict dict
	raw  []byte
}

// A keyword is what is no object: obj, endobj, R, the operators of content; and
// the brackets that objects are made with.
type keyword string

// ended is the token behind the last one.
type ended struct{}

// A lexer reads objects and keywords. What makes no sense is passed over, as
// every reader of the format does.
type lexer struct {
	d     *Document
	data  []byte
	pos   int
	paid  int // how far the document has been told of
	nodes int // in the object that is being read
}

func (d *Document) lexer(data []byte, pos int) *lexer {
	return &lexer{d: d, data: data, pos: pos, paid: pos}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool { return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0 }

// skip passes over blanks and comments.
func (l *lexer) skip() {
	for ; l.pos < len(l.data); l.pos++ {
		switch c := l.data[l.pos]; {
		case c == '%':
			for l.pos < len(l.data) && l.data[l.pos] != '\n' && l.data[l.pos] != '\r' {
				l.pos++
			}
		case !isSpace(c):
			return
		}
	}
	l.pos = min(l.pos, len(l.data))
}

// token returns the next simple object or keyword.
func (l *lexer) token() any {
	l.skip()
	if l.pos-l.paid > 64<<10 {
		l.pay()
	}
	if l.nodes++; l.nodes > maxNodes {
		tooMuch("an object in it has more than %d parts", maxNodes)
	}
	if l.pos >= len(l.data) {
		l.pay()
		return ended{}
	}
	c := l.data[l.pos]
	switch c {
	case '(':
		return l.literal()
	case '/':
		return l.name()
	case '[', ']', '{', '}', ')':
		l.pos++
		return keyword(c)
	case '<', '>':
		if l.pos+1 < len(l.data) && l.data[l.pos+1] == c {
			l.pos += 2
			return keyword([]byte{c, c})
		}
		if c == '<' {
			return l.hex()
		}
		l.pos++
		return keyword(c)
	}
	word := l.word()
	if n, ok := number(word); ok {
		return n
	}
	switch string(word) {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	return keyword(word[:min(len(word), 32)])
}

func (l *lexer) pay() {
	l.d.spend(l.pos - l.paid)
	l.paid = l.pos
}

// word returns what goes up to a blank or delimiter.
func (l *lexer) word() []byte {
	from := l.pos
	for l.pos < len(l.data) && !isSpace(l.data[l.pos]) && !isDelimiter(l.data[l.pos]) {
		l.pos++
	}
	return l.data[from:l.pos]
}

// number reads a number (7.3.3), which has no exponent.
func number(word []byte) (float64, bool) {
	if len(word) == 0 || len(word) > 64 || bytes.IndexFunc(word, func(r rune) bool {
		return (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
	}) >= 0 {
		return 0, false
	}
	// Some programs write --5 or 12.-3.
	if word[0] == '-' {
		word = append([]byte("-"), bytes.TrimLeft(word, "-")...)
	}
	if i := bytes.LastIndexByte(word, '-'); i > 0 {
		word = word[:i]
	}
	n, err := strconv.ParseFloat(string(word), 64)
	return n, err == nil
}

// literal reads a string in parentheses (7.3.4.2).
func (l *lexer) literal() string {
	var s []byte
	open := 0
	for ; l.pos < len(l.data); l.pos++ {
		c := l.data[l.pos]
		switch c {
		case '(':
			if open++; open == 1 {
				continue
			}
		case ')':
			if open--; open == 0 {
				l.pos++
				return string(s)
			}
		case '\\':
			l.pos++
			if l.pos >= len(l.data) {
				return string(s)
			}
			switch c = l.data[l.pos]; c {
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case 'f':
				c = '\f'
			case '\n':
				continue
			case '\r':
				if l.pos+1 < len(l.data) && l.data[l.pos+1] == '\n' {
					l.pos++
				}
				continue
			case '0', '1', '2', '3', '4', '5', '6', '7':
				c -= '0'
				for range 2 {
					if l.pos+1 < len(l.data) && l.data[l.pos+1] >= '0' && l.data[l.pos+1] <= '7' {
						l.pos++
						c = c<<3 | (l.data[l.pos] - '0')
					}
				}
			}
		}
		s = append(s, c)
	}
	return string(s)
}

// hex reads a string in angle brackets (7.3.4.3).
func (l *lexer) hex() string {
	l.pos++
	end := bytes.IndexByte(l.data[l.pos:], '>')
	if end < 0 {
		end = len(l.data) - l.pos
	}
	s := unhex(l.data[l.pos : l.pos+end])
	l.pos = min(l.pos+end+1, len(l.data))
	return string(s)
}

// unhex reads hexadecimal digits; a last one alone is followed by a 0.
func unhex(digits []byte) []byte {
	out := make([]byte, 0, len(digits)/2+1)
	half, high := false, byte(0)
	for _, c := range digits {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			continue
		}
		if half {
			out = append(out, high<<4|c)
		}
		high, half = c, !half
	}
	if half {
		out = append(out, high<<4)
	}
	return out
}

// name reads a name (7.3.5).
func (l *lexer) name() name {
	l.pos++
	word := l.word()
	if bytes.IndexByte(word, '#') < 0 {
		return name(word)
	}
	var s []byte
	for i := 0; i < len(word); i++ {
		if word[i] == '#' && i+2 < len(word) {
			if b := unhex(word[i+1 : i+3]); len(b) == 1 {
				s = append(s, b[0])
				i += 2
				continue
			}
		}
		s = append(s, word[i])
	}
	return name(s)
}

// object reads an object, or returns the keyword that stands there instead.
// depth counts what it is in.
func (l *lexer) object(depth int) any {
	if depth == 0 {
		l.nodes = 0
		defer l.pay()
	}
	if depth > maxDepth {
		tooMuch("an object in it nests deeper than %d levels", maxDepth)
	}
	switch t := l.token().(type) {
	case keyword:
		switch t {
		case "[":
			var a array
			for {
				switch v := l.object(depth + 1).(type) {
				case ended:
					return a
				case keyword:
					switch v {
					case "]":
						return a
					case "endobj", "endstream", ">>":
						return a // its end is missing
					}
				default:
					a = append(a, v)
				}
			}
		case "<<":
			return l.dict(depth)
		}
		return t
	case float64:
		return l.reference(t)
	default:
		return t
	}
}

func (l *lexer) dict(depth int) dict {
	d := dict{}
	for {
		switch key := l.token().(type) {
		case name:
			switch v := l.object(depth + 1).(type) {
			case ended:
				return d
			case keyword:
				if v == ">>" || v == "endobj" {
					return d
				}
			default:
				d[key] = v
			}
		case keyword:
			if key == ">>" || key == "endobj" || key == "stream" {
				return d
			}
		case ended:
			return d
		}
	}
}

// reference returns the reference that begins with n, or n when none does.
func (l *lexer) reference(n float64) any {
	// In content there are none, and most numbers are no integers in range: it
	// is seen at once, without reading tokens twice.
	if n != float64(int(n)) || n < 0 || n > maxNumber {
		return n
	}
	at := l.pos
	for at < len(l.data) && isSpace(l.data[at]) {
		at++
	}
	from := at
	for at < len(l.data) && at < from+5 && l.data[at] >= '0' && l.data[at] <= '9' {
		at++
	}
	generation, err := strconv.Atoi(string(l.data[from:at]))
	if err != nil {
		return n
	}
	from = at
	for at < len(l.data) && isSpace(l.data[at]) {
		at++
	}
	if at == from || at >= len(l.data) || l.data[at] != 'R' || at+1 < len(l.data) && !isSpace(l.data[at+1]) && !isDelimiter(l.data[at+1]) {
		return n
	}
	l.pos = at + 1
	return ref{int(n), generation}
}

// maxNumber is the largest object number that is believed (Annex C: 8,388,607).
const maxNumber = 8_388_607
