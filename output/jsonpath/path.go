package jsonpath

import (
	"slices"
	"strconv"
	"strings"
)

// A Path is a JSONPath query that has been checked: it parses and its functions are
// well-typed (RFC 9535 section 2.4). It never changes, so it may be used by several
// goroutines at once. Make one with [Parse].
type Path struct {
	segments []segment
	warnings []string
}

// String returns the path in its canonical form: names after a dot where RFC 9535
// allows it and in single quotes elsewhere, no blanks but around operators. Parsing it
// gives an equal path.
func (p *Path) String() string { return string(appendSegments([]byte{'$'}, p.segments)) }

// Singular reports whether the path selects at most one node of any document without
// duplicate names: only names and indices, no descendants (RFC 9535 section 2.3.5.1).
func (p *Path) Singular() bool { return singular(p.segments) }

// Warnings returns sentences about what is allowed but can hardly be meant, such as a
// regular expression that matches nothing because it is not an I-Regexp.
func (p *Path) Warnings() []string { return p.warnings }

// A segment takes a node to some of its children, or of its descendants' children.
type segment struct {
	descendant bool
	selectors  []selector // at least one
	traits
	each []traits // of each selector alone
}

// traits are what can be said of selectors at once.
type traits struct {
	members, elements bool // some of them may take members, elements
	filters           bool // some of them are filters
	length            bool // some of them depend on the number of elements

	// The different names if all of them are names, else nil; and the same as bytes.
	names []string
	keys  [][]byte
}

func traitsOf(selectors []selector) (t traits) {
	for i := range selectors {
		s := &selectors[i]
		t.members = t.members || s.kind != byIndex && s.kind != bySlice
		t.elements = t.elements || s.kind != byName
		t.filters = t.filters || s.kind == byFilter
		t.length = t.length || s.needsLength()
		if s.kind == byName && !slices.Contains(t.names, s.name) {
			t.names, t.keys = append(t.names, s.name), append(t.keys, []byte(s.name))
		}
	}
	if t.elements {
		t.names = nil
	}
	return t
}

type selectorKind uint8

const (
	byName selectorKind = iota
	byIndex
	bySlice
	byFilter
	wildcard
)

// A selector is one entry between the brackets of a segment.
type selector struct {
	kind   selectorKind
	name   string
	index  int64
	slice  slice
	filter *filter
}

// A slice is start:end:step; start and end may be left out.
type slice struct {
	start, end       int64
	hasStart, hasEnd bool
	step             int64
}

// bounds returns the half-open range that the slice covers in an array of n elements,
// as RFC 9535 section 2.3.4.2.2: for a positive step lower ≤ i < upper, for a
// negative one lower < i ≤ upper, counted from upper.
func (s slice) bounds(n int64) (lower, upper int64) {
	start, end, least, most := int64(0), n, int64(0), n
	if s.step < 0 {
		start, end, least, most = n-1, -1, -1, n-1
	}
	normal := func(i int64) int64 {
		if i < 0 {
			i += n
		}
		return min(max(i, least), most)
	}
	if s.hasStart {
		start = normal(s.start)
	}
	if s.hasEnd {
		end = normal(s.end)
	}
	if s.step < 0 {
		return end, start
	}
	return start, end
}

// covers reports whether the slice selects index i of an array of n elements. If the
// slice does not [slice.needsLength], any n above i will do.
func (s slice) covers(i, n int64) bool {
	lower, upper := s.bounds(n)
	switch {
	case s.step > 0:
		return lower <= i && i < upper && (i-lower)%s.step == 0
	case s.step < 0:
		return lower < i && i <= upper && (upper-i)%-s.step == 0
	}
	return false
}

// needsLength reports whether which elements the slice selects depends on how many
// there are after them.
func (s slice) needsLength() bool {
	return s.step < 0 || s.hasStart && s.start < 0 || s.hasEnd && s.end < 0
}

func (s *selector) needsLength() bool {
	return s.kind == byIndex && s.index < 0 || s.kind == bySlice && s.slice.needsLength()
}

// takesIndex reports whether the selector, unless it is a filter, selects element i of
// an array of n elements. n may be -1 for "not known" if nothing needs it.
func (s *selector) takesIndex(i, n int64) bool {
	switch s.kind {
	case wildcard:
		return true
	case byIndex:
		return s.index == i || s.index < 0 && s.index+n == i
	case bySlice:
		if n < 0 {
			n = maxInteger + 1
		}
		return s.slice.covers(i, n)
	}
	return false
}

func singular(segments []segment) bool {
	for _, seg := range segments {
		if seg.descendant || len(seg.selectors) != 1 {
			return false
		}
		if k := seg.selectors[0].kind; k != byName && k != byIndex {
			return false
		}
	}
	return true
}

func appendSegments(b []byte, segments []segment) []byte {
	for _, seg := range segments {
		if seg.descendant {
			b = append(b, ".."...)
		}
		if len(seg.selectors) == 1 {
			one := seg.selectors[0]
			short := one.kind == wildcard || one.kind == byName && isShorthand(one.name)
			if short {
				if !seg.descendant {
					b = append(b, '.')
				}
				if one.kind == wildcard {
					b = append(b, '*')
				} else {
					b = append(b, one.name...)
				}
				continue
			}
		}
		b = append(b, '[')
		for i, sel := range seg.selectors {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendSelector(b, sel)
		}
		b = append(b, ']')
	}
	return b
}

func appendSelector(b []byte, s selector) []byte {
	switch s.kind {
	case byName:
		return appendQuoted(b, s.name)
	case byIndex:
		return strconv.AppendInt(b, s.index, 10)
	case bySlice:
		if s.slice.hasStart {
			b = strconv.AppendInt(b, s.slice.start, 10)
		}
		b = append(b, ':')
		if s.slice.hasEnd {
			b = strconv.AppendInt(b, s.slice.end, 10)
		}
		if s.slice.step != 1 {
			b = append(b, ':')
			b = strconv.AppendInt(b, s.slice.step, 10)
		}
		return b
	case byFilter:
		b = append(b, '?')
		return s.filter.root.append(b, orLevel)
	}
	return append(b, '*')
}

// isShorthand reports whether a name may stand after a dot without quotes.
func isShorthand(name string) bool {
	for i, r := range name {
		if !isNameFirst(r) && (i == 0 || !isDigit(r)) {
			return false
		}
	}
	return name != ""
}

func isNameFirst(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_' || r >= 0x80
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// appendQuoted appends a name or a string in single quotes, escaped as the normalized
// paths of RFC 9535 section 2.7: as in JSON, but for the quotes.
func appendQuoted(b []byte, s string) []byte {
	quoted := AppendString(nil, s)
	return append(append(append(b, '\''), singleQuotes.Replace(string(quoted[1:len(quoted)-1]))...), '\'')
}

var singleQuotes = strings.NewReplacer(`\"`, `"`, "'", `\'`)
