package output

import (
	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/output/jsonpath"
)

// A Summary says what is in a document, so that a model can ask for it.
type Summary struct {
	RootType    string          `json:"root_type"`
	KeyCount    int64           `json:"key_count,omitempty"` // of the root, or of all its elements together as different names
	Keys        ordered[string] `json:"keys,omitempty"`      // the first of the root: what their values are
	KeysOmitted int64           `json:"keys_omitted,omitempty"`
	Arrays      []ArrayFigures  `json:"arrays,omitempty"`
	Shape       []string        `json:"shape,omitempty"` // one line per path: $.users[*].email string ×1,200
	// ShapeOmitted is how many paths have no line.
	ShapeOmitted int `json:"shape_omitted,omitempty"`
}

// ArrayFigures are the figures of the arrays at one path.
type ArrayFigures struct {
	Path     string `json:"path"`
	Length   int64  `json:"length"` // elements of all arrays at the path together
	ItemType string `json:"item_type,omitempty"`
	// Of several arrays:
	Arrays   int64 `json:"arrays,omitempty"`
	Shortest int64 `json:"shortest,omitempty"`
	Longest  int64 `json:"longest,omitempty"`
}

const (
	summaryKeys   = 20 // of the root
	summaryArrays = 10
	summaryLines  = 60

	// longPath is from where a path is too long to be worth showing: cut it would be
	// wrong, and whole it would push out others.
	longPath = 300 // bytes
)

// summarize makes a summary of a shape. Of a map whose names are its data, keys are the
// first that the skeleton has kept.
func summarize(root *shape, sk *skeleton) *Summary {
	s := &Summary{RootType: root.what()}
	if root.Kinds.of(jsonpath.Object) > 0 {
		s.KeyCount = int64(len(root.Names))
		for _, n := range root.Names[:min(len(root.Names), summaryKeys)] {
			s.Keys = append(s.Keys, member[string]{text.Clip(n.Name, 60), n.Shape.brief()})
		}
		if root.Any != nil {
			s.KeyCount = root.Members
			if sk != nil && sk.is(jsonpath.Object) {
				for i, item := range sk.Items {
					s.Keys = append(s.Keys, member[string]{text.Clip(sk.Names[i], 60), jsonpath.Kind(item.Kind).String()})
				}
			}
		}
		s.KeysOmitted = s.KeyCount - int64(len(s.Keys))
	}
	root.walk("$", 1, func(path string, _ int, sh *shape) {
		if sh.Kinds.of(jsonpath.Array) > 0 && len(s.Arrays) < summaryArrays && len(path) <= longPath {
			s.Arrays = append(s.Arrays, sh.array(path))
		}
	})
	s.Shape, s.ShapeOmitted = root.lines(summaryLines)
	return s
}

// isOneArray reports whether one value is at the path, an array.
func (s *shape) isOneArray() bool { return s.Kinds.of(jsonpath.Array) == 1 && s.total() == 1 }

// brief says what the values at a path are, with the length of an array.
func (s *shape) brief() string {
	if s.isOneArray() {
		return "array(" + text.Commas(s.Elements) + ")"
	}
	return s.what()
}

func (s *shape) array(path string) ArrayFigures {
	a := ArrayFigures{Path: path, Length: s.Elements}
	if s.Element != nil {
		a.ItemType = s.Element.what()
	}
	if n := s.Kinds.of(jsonpath.Array); n > 1 {
		a.Arrays, a.Shortest, a.Longest = n, s.Shortest, s.Longest
	}
	return a
}

// lines returns a line for each path below s, those nearest to the root first because
// they say most, but in the order of the document.
func (s *shape) lines(most int) (lines []string, omitted int) {
	type line struct {
		says         string
		depth, order int
	}
	var all []line
	s.walk("$", 1, func(path string, depth int, sh *shape) {
		n := sh.total()
		if n == 0 || path == "$" && n == 1 && (len(sh.Names) > 0 || sh.Element != nil || sh.Any != nil) {
			return // nothing, or what the summary begins with
		}
		says := text.Clip(path, 200) + " " + sh.brief()
		if n > 1 {
			says += " ×" + text.Commas(n)
		}
		if sh.Any != nil {
			says += " (a map with " + text.Plural(sh.Members, "key") + ")"
		}
		if sh.Cut {
			says += " (not all that is below is listed)"
		}
		all = append(all, line{says, depth, len(all)})
	})
	if len(all) > most {
		stable.Sort(all, func(a, b line) int { return a.depth - b.depth })
		omitted = len(all) - most
		all = all[:most]
		stable.Sort(all, func(a, b line) int { return a.order - b.order })
	}
	for _, l := range all {
		lines = append(lines, l.says)
	}
	return lines, omitted
}

// within returns the summary with at most limit characters as JSON: shape lines go
// first, then arrays, then keys.
func (s *Summary) within(limit int) *Summary {
	c := *s
	for jsonChars(&c) > limit {
		switch {
		case len(c.Shape) > 0:
			n := 1 + len(c.Shape)/8
			c.Shape = c.Shape[:len(c.Shape)-n]
			c.ShapeOmitted += n
		case len(c.Arrays) > 1:
			c.Arrays = c.Arrays[:len(c.Arrays)-1]
		case len(c.Keys) > 0:
			c.Keys = c.Keys[:len(c.Keys)-1]
			c.KeysOmitted++
		case len(c.Arrays) > 0:
			c.Arrays = nil
		default:
			return &c // a few dozen characters
		}
	}
	return &c
}
