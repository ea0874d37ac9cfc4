package jsonpath

import (
	"context"
	"fmt"
	"io"
)

// A Visitor is told of everything in a document, in its order. Bytes are valid until the
// method returns. Offsets are in the document.
type Visitor interface {
	Open(object bool, offset int64) // an array or object begins
	// Name is what stands between the quotes of a member's name; see [Unescape]. If not
	// escaped, it has no escapes.
	Name(raw []byte, escaped bool)
	// Scalar is a value that is neither an array nor an object, as written; of a string
	// what stands between its quotes, or the beginning of that, as with Name.
	Scalar(kind Kind, raw []byte, escaped bool, offset int64)
	Close(end int64) // the innermost array or object ends before this offset
}

// longText is how much of a string a visitor is told of, in bytes. It bounds memory.
const longText = 4 << 20

// Walked says what a walk has met.
type Walked struct {
	Values int64 // complete values of the text
	Begun  int64 // one more if the last one is not complete
	Cut    bool  // of a string only the first 4 MiB were seen
}

// Walk tells v of all values of a text of JSON, or of JSON Lines: several values, each on
// a line of its own. The error is a [*DocumentError], the cause of the context's end or
// what r gives; v has been told of what is before it.
func Walk(ctx context.Context, r io.Reader, v Visitor) (w Walked, err error) {
	s := newScanner(ctx, Reopen(func() (io.ReadCloser, error) { return io.NopCloser(r), nil }), longText)
	s.window, s.long = 2*windowSize, longText
	if err := s.begin(); err != nil {
		return w, err
	}
	defer func() { w.Cut = s.head != nil }()
	broken := false // a value has had a line break in it
	for {
		s.lines = false
		c, err := s.peek()
		if err != nil || s.pos == len(s.buf) {
			return w, err
		}
		if w.Values > 0 && (!s.lines || broken) {
			return w, &DocumentError{Offset: s.offset(), Problem: "a second value follows the first, and they are not one to a line as in JSON Lines"}
		}
		w.Begun++
		s.lines = false
		if c == '{' || c == '[' {
			err = s.container(v)
		} else {
			err = s.visitScalar(c, v)
		}
		if err != nil {
			return w, err
		}
		w.Values++
		broken = broken || s.lines
	}
}

// visitScalar passes over the scalar that comes next, of which c is the first byte.
func (s *scanner) visitScalar(c byte, v Visitor) error {
	from := s.offset()
	if c == '"' {
		raw, err := s.quotedText()
		if err == nil {
			v.Scalar(String, raw, true, from)
		}
		return err
	}
	s.pin = from
	err := s.skipScalar(c)
	if err == nil {
		v.Scalar(KindOf(c), s.buf[from-s.base:s.pos], false, from)
	}
	s.pin = noPin
	return err
}

// quotedText passes over the string that comes next and returns what stands between its
// quotes, or the beginning of that.
func (s *scanner) quotedText() ([]byte, error) {
	s.pin = s.offset()
	if len(s.head) > 0 {
		s.head = s.head[:0]
	}
	_, err := s.skipString()
	from := s.pin - s.base + 1
	if s.pin = noPin; err != nil {
		return nil, err
	}
	if len(s.head) > 0 {
		return s.head[1:], nil
	}
	return s.buf[from : s.pos-1], nil
}

// KindOf returns the kind of a value that begins with c, which has to begin one.
func KindOf(c byte) Kind {
	switch c {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	}
	return Number
}

// Unescape returns the text that stands between the quotes of a valid string; raw itself
// if that is what it means. What is not a character becomes U+FFFD.
func Unescape(raw []byte) []byte {
	if isPlain(raw, true) {
		return raw
	}
	return unescape(raw)
}

// A StepKind is what a [Step] takes.
type StepKind uint8

// The kinds of steps.
const (
	ByName  StepKind = iota
	ByIndex          // element From, from the end if it is negative
	BySlice          // elements from From on and before To
	ByAll            // every element and member
)

// A Step is a segment of a path that takes a node to children by name or position.
type Step struct {
	Kind     StepKind
	Name     string
	From, To int64
}

// Steps returns the leading segments of the path that are steps; whole says that the path
// has no others.
func (p *Path) Steps() (steps []Step, whole bool) {
	for _, seg := range p.segments {
		if seg.descendant || len(seg.selectors) != 1 {
			return steps, false
		}
		sel := &seg.selectors[0]
		switch sel.kind {
		case byName:
			steps = append(steps, Step{Kind: ByName, Name: sel.name})
		case byIndex:
			steps = append(steps, Step{Kind: ByIndex, From: sel.index})
		case wildcard:
			steps = append(steps, Step{Kind: ByAll})
		default:
			if sel.kind != bySlice || sel.slice.step != 1 || sel.slice.needsLength() {
				return steps, false
			}
			st := Step{Kind: BySlice, From: sel.slice.start, To: maxInteger}
			if sel.slice.hasEnd {
				st.To = sel.slice.end
			}
			steps = append(steps, st)
		}
	}
	return steps, true
}

// Then returns the path with more segments after it, such as [*]. It panics if more is not
// valid or the whole is too long: see [MaxPath].
func (p *Path) Then(more string) *Path { return MustParse(p.String() + more) }

// Child returns how a path continues to a member: .name, or ['name'] where a dot is not
// possible.
func Child(name string) string {
	if isShorthand(name) {
		return "." + name
	}
	return ChildInBrackets(name)
}

// ChildInBrackets is [Child] as in normalized paths (RFC 9535 section 2.7).
func ChildInBrackets(name string) string { return "[" + string(appendQuoted(nil, name)) + "]" }

// Element returns how a path continues to an element.
func Element(index int64) string { return fmt.Sprintf("[%d]", index) }
