package output

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
)

// A shape says what a document is made of: one for each path by names and [*], with
// how many values of each kind stand there. All elements of an array share one.
//
// The figures are exact. What is bounded is how many paths are told apart: an object
// with more than [maxNames] different names is a map, its values share one shape as
// an array's elements do; and where there is no more room for shapes, values are
// counted at their parent and not looked into (see Cut).
type shape struct {
	Kinds    [kinds]int64 `json:"n"`           // values at this path, by kind
	Members  int64        `json:"m,omitempty"` // of all objects at this path
	Elements int64        `json:"l,omitempty"` // of all arrays at this path
	Shortest int64        `json:"s,omitempty"` // array
	Longest  int64        `json:"g,omitempty"` // array
	Names    []named      `json:"k,omitempty"` // in the order they were first seen
	Element  *shape       `json:"e,omitempty"`
	Any      *shape       `json:"a,omitempty"` // the values of a map; Names is empty then
	// Cut says that some values below have no shape.
	Cut bool `json:"c,omitempty"`
	// Sampled says that not all elements or members have been looked into: only the
	// figures of this shape itself are exact.
	Sampled bool `json:"p,omitempty"`

	byName map[string]int // made when there are many
	hint   int            // where in Names the next one probably is
}

type named struct {
	Name  string `json:"n"`
	Shape *shape `json:"s"`
}

const (
	// maxNames is how many different names an object may have and not be a map.
	maxNames = 256

	// maxShapes bounds the shapes of one document: about 1 MB in memory.
	maxShapes = 4096

	// maxShapeDepth is how deep shapes are told apart.
	maxShapeDepth = 64

	// indexFrom is from how many names on a map is faster than looking at all of them.
	indexFrom = 12
)

// count returns how many values there are at the path.
func (s *shape) count() (n int64) {
	for _, k := range s.Kinds {
		n += k
	}
	return n
}

// what says the kind of the values, such as "array" or "string or null".
func (s *shape) what() string {
	var all []kind
	for k, n := range s.Kinds {
		if n > 0 {
			all = append(all, kind(k))
		}
	}
	if len(all) == 0 {
		return "nothing"
	}
	slices.SortStableFunc(all, func(a, b kind) int { return cmp.Compare(s.Kinds[b], s.Kinds[a]) })
	text := all[0].String()
	for _, k := range all[1:] {
		text += " or " + k.String()
	}
	return text
}

// get returns the shape of the member of the name, or nil.
func (s *shape) get(name string) *shape {
	for i := range s.Names {
		if s.Names[i].Name == name {
			return s.Names[i].Shape
		}
	}
	return nil
}

// below iterates over the shapes directly below with the step that leads there.
func (s *shape) below() iter.Seq2[string, *shape] {
	return func(yield func(string, *shape) bool) {
		for _, n := range s.Names {
			if !yield(stepTo(n.Name), n.Shape) {
				return
			}
		}
		if s.Any != nil && !yield("[*]", s.Any) {
			return
		}
		if s.Element != nil {
			yield("[*]", s.Element)
		}
	}
}

// walk calls visit for s and all below, parents first, each with its path from path on,
// until it returns false.
func (s *shape) walk(path string, depth int, visit func(path string, depth int, s *shape) bool) bool {
	if !visit(path, depth, s) {
		return false
	}
	for step, c := range s.below() {
		if !c.walk(path+step, depth+1, visit) {
			return false
		}
	}
	return true
}

// stepTo returns how a path goes on to a member.
func stepTo(name string) string {
	if isShorthand(name) {
		return "." + name
	}
	return "[" + quoteName(name) + "]"
}

// isShorthand reports whether a name may stand after a dot (RFC 9535 section 2.5.1.1).
func isShorthand(name string) bool {
	for i, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', r == '_', r >= 0x80 && r != '\uFFFD':
		case '0' <= r && r <= '9' && i > 0:
		default:
			return false
		}
	}
	return name != ""
}

// quoteName returns a name in single quotes as in the normalized paths of RFC 9535
// section 2.7.
func quoteName(name string) string {
	b := []byte{'\''}
	for _, r := range name {
		switch {
		case r == '\'' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < 0x20:
			b = append(b, `\u00`...)
			if r < 0x10 {
				b = append(b, '0')
			}
			b = strconv.AppendInt(b, int64(r), 16)
		default:
			b = append(b, string(r)...)
		}
	}
	return string(append(b, '\''))
}

// merge adds what t says to s.
func (s *shape) merge(t *shape) {
	for k := range s.Kinds {
		s.Kinds[k] += t.Kinds[k]
	}
	if t.Kinds[isArray] > 0 {
		if s.Kinds[isArray] == t.Kinds[isArray] || t.Shortest < s.Shortest {
			s.Shortest = t.Shortest
		}
		s.Longest = max(s.Longest, t.Longest)
	}
	s.Members += t.Members
	s.Elements += t.Elements
	s.Cut = s.Cut || t.Cut
	s.Sampled = s.Sampled || t.Sampled
	if t.Element != nil {
		if s.Element == nil {
			s.Element = &shape{}
		}
		s.Element.merge(t.Element)
	}
	if t.Any != nil {
		s.becomeMap()
		s.Any.merge(t.Any)
	}
	for _, n := range t.Names {
		if s.Any != nil {
			s.Any.merge(n.Shape)
			continue
		}
		mine := s.get(n.Name)
		if mine == nil {
			mine = &shape{}
			s.add(n.Name, mine)
		}
		mine.merge(n.Shape)
	}
	if len(s.Names) > maxNames {
		s.becomeMap()
	}
}

func (s *shape) add(name string, c *shape) {
	s.Names = append(s.Names, named{name, c})
	if s.byName != nil {
		s.byName[name] = len(s.Names) - 1
	} else if len(s.Names) > indexFrom {
		s.byName = make(map[string]int, 2*indexFrom)
		for i, n := range s.Names {
			s.byName[n.Name] = i
		}
	}
}

// becomeMap makes one shape of all members' shapes.
func (s *shape) becomeMap() {
	if s.Any != nil {
		return
	}
	s.Any = &shape{}
	for _, n := range s.Names {
		s.Any.merge(n.Shape)
	}
	s.Names, s.byName = nil, nil
}

// figures are what a shape and all below it add up to.
type figures struct {
	types    [kinds]int64
	values   int64
	keys     int64
	depth    int  // of values: 1 for a scalar, 2 for [1]
	complete bool // nothing was cut or sampled: all of this is exact
}

func (s *shape) figures() figures {
	f := figures{complete: true}
	s.walk("", 1, func(_ string, depth int, s *shape) bool {
		for k, n := range s.Kinds {
			f.types[k] += n
			f.values += n
		}
		f.keys += s.Members
		if s.count() > 0 {
			f.depth = max(f.depth, depth)
		}
		f.complete = f.complete && !s.Cut && !s.Sampled
		return true
	})
	return f
}
