package output

import (
	"cmp"
	"iter"
	"slices"

	"pawl/internal/stable"
	"pawl/output/jsonpath"
)

// A shape says what a document is made of: one for each path by names and [*], with
// how many values of each kind there are. All elements of an array share one.
//
// The figures are exact. What is bounded is how many paths are told apart: an object
// with more than [maxNames] different names is a map, whose values share one shape as
// an array's elements do; and where there is no more room for shapes, values are
// counted at their parent and not looked into (see Cut).
type shape struct {
	Kinds    kindCounts `json:"n"`
	Members  int64      `json:"m,omitempty"` // of all objects at this path
	Elements int64      `json:"l,omitempty"` // of all arrays at this path
	Shortest int64      `json:"s,omitempty"` // array
	Longest  int64      `json:"g,omitempty"` // array
	Names    []named    `json:"k,omitempty"` // in the order they were first seen
	Element  *shape     `json:"e,omitempty"`
	Any      *shape     `json:"a,omitempty"` // the values of a map; Names is empty then
	// Cut says that some values below have no shape.
	Cut bool `json:"c,omitempty"`

	byName map[string]int // made when there are many
	hint   int            // where in Names the next one probably is
}

type named struct {
	Name  string `json:"n"`
	Shape *shape `json:"s"`
}

const (
	maxNames      = 256  // different names that an object may have and not be a map
	maxShapes     = 4096 // of one document: about 1 MB in memory
	maxShapeDepth = 64   // how deep shapes are told apart
	indexFrom     = 12   // names from which on a map is faster than looking at all of them
)

// total returns how many values there are at the path.
func (s *shape) total() (n int64) {
	for _, k := range s.Kinds {
		n += k
	}
	return n
}

// kinds returns the kinds of the values, in their order.
func (s *shape) kinds() (all []jsonpath.Kind) {
	for i, n := range s.Kinds {
		if n > 0 {
			all = append(all, jsonpath.Kind(i+1))
		}
	}
	return all
}

// what says the kind of the values, such as "array" or "string or null".
func (s *shape) what() string {
	all := s.kinds()
	if len(all) == 0 {
		return "nothing"
	}
	stable.Sort(all, func(a, b jsonpath.Kind) int { return cmp.Compare(s.Kinds.of(b), s.Kinds.of(a)) })
	says := all[0].String()
	for _, k := range all[1:] {
		says += " or " + k.String()
	}
	return says
}

// index returns the place of a name in Names, -1 if there is none.
func (s *shape) index(name []byte) int {
	if s.byName != nil {
		if i, ok := s.byName[string(name)]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(s.Names, func(n named) bool { return n.Name == string(name) })
}

// get returns the shape of the member of the name, or nil.
func (s *shape) get(name string) *shape {
	if i := s.index([]byte(name)); i >= 0 {
		return s.Names[i].Shape
	}
	return nil
}

// below iterates over the shapes directly below with the step that leads there.
func (s *shape) below() iter.Seq2[string, *shape] {
	return func(yield func(string, *shape) bool) {
		for _, n := range s.Names {
			if !yield(jsonpath.Child(n.Name), n.Shape) {
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

// walk calls visit for s and all below, parents first, each with its path from path on.
func (s *shape) walk(path string, depth int, visit func(path string, depth int, s *shape)) {
	visit(path, depth, s)
	for step, c := range s.below() {
		c.walk(path+step, depth+1, visit)
	}
}

// merge adds what t says to s.
func (s *shape) merge(t *shape) {
	for k := range s.Kinds {
		s.Kinds[k] += t.Kinds[k]
	}
	if n := t.Kinds.of(jsonpath.Array); n > 0 {
		if s.Kinds.of(jsonpath.Array) == n || t.Shortest < s.Shortest {
			s.Shortest = t.Shortest
		}
		s.Longest = max(s.Longest, t.Longest)
	}
	s.Members += t.Members
	s.Elements += t.Elements
	s.Cut = s.Cut || t.Cut
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

// inside returns how many values there are at the path and below it; exact is false if
// some have no shape.
func (s *shape) inside() (n int64, exact bool) {
	exact = true
	s.walk("", 1, func(_ string, _ int, s *shape) {
		n += s.total()
		exact = exact && !s.Cut
	})
	return n, exact
}
