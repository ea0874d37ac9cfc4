package output

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A skeleton is the beginning of a document cut by its shape: the first elements of
// arrays, the first members of objects, the beginnings of texts. A preview is made of
// it.
type skeleton struct {
	Kind  kind        `json:"k"`
	Text  string      `json:"t,omitempty"` // of a scalar, as written; of a string its text
	Cut   bool        `json:"c,omitempty"` // Text is only the beginning
	Items []*skeleton `json:"i,omitempty"`
	Names []string    `json:"n,omitempty"` // of an object's Items
	Total int64       `json:"l,omitempty"` // elements or members there are
	open  bool        // the end was not seen
}

const (
	skeletonItems   = 12   // elements that are kept of an array
	skeletonMembers = 20   // members that are kept of an object
	skeletonText    = 160  // characters that are kept of a text
	skeletonSize    = 6000 // bytes that are kept of a document, about
	skeletonDepth   = 8
)

// set makes s the skeleton of a scalar.
func (s *skeleton) set(raw []byte) {
	const perChar = 6 // bytes of an escape, the longest form of a character
	if s.Kind != isString {
		s.Text = firstChars(strings.ToValidUTF8(string(raw[:min(len(raw), skeletonText)]), "\uFFFD"), skeletonText)
		s.Cut = len(s.Text) < len(raw)
		return
	}
	if len(raw) > skeletonText*perChar {
		raw = raw[:wholeEscapes(raw, skeletonText*perChar)]
		s.Cut = true
	}
	text := plainName(raw, true)
	s.Text = firstChars(text, skeletonText)
	s.Cut = s.Cut || len(s.Text) < len(text)
}

// wholeEscapes returns up to where, at most n, the written form of a string can be cut
// without cutting an escape or a character.
func wholeEscapes(raw []byte, n int) int {
	i := 0
	for i < len(raw) {
		size := 1
		switch {
		case raw[i] == '\\' && i+1 < len(raw) && raw[i+1] == 'u':
			size = 6
		case raw[i] == '\\':
			size = 2
		case raw[i] >= utf8.RuneSelf:
			_, size = utf8.DecodeRune(raw[i:])
		}
		if i+size > n {
			break
		}
		i += size
	}
	return min(i, n)
}

// keep returns the skeleton for the next child of l, nil if none is kept.
func (b *builder) keep(l *level, k kind) *skeleton {
	s := l.skeleton
	if s == nil {
		return nil
	}
	most := skeletonItems
	if l.object {
		most = skeletonMembers
	}
	if len(s.Items) >= most || l.object && len(s.Names) != len(s.Items)+1 || len(b.stack) > skeletonDepth {
		return nil
	}
	if !b.hasRoom() {
		return nil
	}
	child := &skeleton{Kind: k}
	b.skelSize += 8
	s.Items = append(s.Items, child)
	return child
}

// hasRoom reports whether the skeleton may get more at the place where the builder is.
// The members of the root always may, however much was in the first of them.
func (b *builder) hasRoom() bool {
	switch len(b.stack) {
	case 1, 2:
		return true
	case 3:
		return b.skelSize <= 2*skeletonSize
	}
	return b.skelSize <= skeletonSize
}

// render writes a preview of at most limit characters. It says of everything that is
// left out how much it is.
func (s *skeleton) render(limit int) (text string, whole bool) {
	if s == nil {
		return "", true
	}
	// From generous to sparse, until it fits.
	for _, d := range []detail{{12, 20, 160, 8}, {6, 20, 100, 6}, {3, 20, 60, 5}, {3, 12, 40, 4}, {2, 10, 30, 3}, {1, 10, 20, 3}, {1, 8, 16, 2}, {1, 6, 12, 2}, {0, 10, 12, 2}, {0, 4, 12, 1}} {
		var b strings.Builder
		whole = s.write(&b, d, 0)
		if utf8.RuneCountInString(b.String()) <= limit {
			return b.String(), whole
		}
	}
	return firstChars(s.describe(), limit), false
}

// detail is how much of a skeleton is shown.
type detail struct{ items, members, text, depth int }

func (s *skeleton) write(b *strings.Builder, d detail, depth int) (whole bool) {
	switch s.Kind {
	case isString:
		t := firstChars(s.Text, d.text)
		b.WriteString(quote(t))
		if s.Cut || len(t) < len(s.Text) {
			b.WriteString("…")
			return false
		}
		return true
	case isArray, isObject:
	default:
		b.WriteString(s.Text)
		if s.Cut {
			b.WriteString("…")
		}
		return !s.Cut
	}
	if depth >= d.depth && s.Total > 0 {
		b.WriteString(s.describe())
		return false
	}
	brackets, most := "[]", d.items
	if s.Kind == isObject {
		brackets, most = "{}", d.members
	}
	whole = true
	b.WriteByte(brackets[0])
	n := min(most, len(s.Items))
	for i, item := range s.Items[:n] {
		if i > 0 {
			b.WriteString(", ")
		}
		if s.Kind == isObject {
			name := shorten(s.Names[i], 60)
			whole = whole && name == s.Names[i]
			b.WriteString(quote(name) + ": ")
		}
		if !item.write(b, d, depth+1) {
			whole = false
		}
	}
	if left := s.Total - int64(n); left > 0 || s.open {
		if n > 0 {
			b.WriteString(", ")
		}
		switch {
		case s.open:
			b.WriteString("… the document ends here")
		case n > 0:
			fmt.Fprintf(b, "… %s more", thousands(left))
		default:
			b.WriteString(s.inside())
		}
		whole = false
	}
	b.WriteByte(brackets[1])
	return whole
}

// describe stands for an array or object that is not shown.
func (s *skeleton) describe() string {
	switch s.Kind {
	case isArray:
		return "[" + s.inside() + "]"
	case isObject:
		return "{" + s.inside() + "}"
	}
	return s.Kind.String()
}

func (s *skeleton) inside() string {
	if s.Kind == isArray {
		return "… " + plural(s.Total, "element")
	}
	return "… " + plural(s.Total, "member")
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // unreachable: it is a string
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// firstChars returns the first n characters of s.
func firstChars(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// shorten returns s with at most n characters before a mark that it is cut.
func shorten(s string, n int) string {
	if short := firstChars(s, n); len(short) < len(s) {
		return short + "…"
	}
	return s
}

// lastChars returns the last n characters of s.
func lastChars(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	from := 1
	if n < 0 {
		from = 2
	}
	for i := len(s) - 3; i >= from; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return thousands(n) + " " + word + "s"
}

// byteSize writes a size for people and models: 40.2 MB is 40,200,000 bytes.
func byteSize(n int64) string {
	const k = 1000
	if n < k {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), 0
	for v >= k-0.05 && unit < 4 {
		v /= k
		unit++
	}
	return fmt.Sprintf("%.1f %cB", v, " kMGT"[unit])
}
