package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Summary says what is in a document, so that a model can ask for it.
type Summary struct {
	RootType    string         `json:"root_type"`
	KeyCount    int64          `json:"key_count,omitempty"` // of the root, or of all its elements together as different names
	Keys        orderedStrings `json:"keys,omitempty"`      // the first of the root: what their values are
	KeysOmitted int64          `json:"keys_omitted,omitempty"`
	Arrays      []ArrayFigures `json:"arrays,omitempty"`
	Shape       []string       `json:"shape,omitempty"` // one line per path: $.users[*].email string ×1,200
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
	// Estimated says that ItemType is what the first elements are.
	Estimated bool `json:"estimated,omitempty"`
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
	if root.Kinds[isObject] > 0 {
		s.KeyCount = int64(len(root.Names))
		for _, n := range root.Names[:min(len(root.Names), summaryKeys)] {
			s.Keys = append(s.Keys, [2]string{shorten(n.Name, 60), n.Shape.brief()})
		}
		if root.Any != nil {
			s.KeyCount = root.Members
			if sk != nil && sk.Kind == isObject {
				for i, item := range sk.Items {
					s.Keys = append(s.Keys, [2]string{shorten(sk.Names[i], 60), item.Kind.String()})
				}
			}
		}
		s.KeysOmitted = s.KeyCount - int64(len(s.Keys))
	}
	root.walk("$", 1, func(path string, _ int, sh *shape) bool {
		if sh.Kinds[isArray] > 0 && len(s.Arrays) < summaryArrays && len(path) <= longPath {
			s.Arrays = append(s.Arrays, sh.array(path))
		}
		return true
	})
	s.Shape, s.ShapeOmitted = root.lines(summaryLines)
	return s
}

// brief says what the values at a path are, with the length of an array.
func (s *shape) brief() string {
	if s.Kinds[isArray] == 1 && s.count() == 1 {
		if s.Element == nil {
			return "array(0)"
		}
		return fmt.Sprintf("array(%s)", thousands(s.Elements))
	}
	return s.what()
}

func (s *shape) array(path string) ArrayFigures {
	a := ArrayFigures{Path: path, Length: s.Elements}
	if s.Element != nil {
		a.ItemType = s.Element.what()
		a.Estimated = s.Sampled
	}
	if n := s.Kinds[isArray]; n > 1 {
		a.Arrays, a.Shortest, a.Longest = n, s.Shortest, s.Longest
	}
	return a
}

// lines returns a line for each path below s, those nearest to the root first because
// they say most, but in the order of the document.
func (s *shape) lines(most int) (lines []string, omitted int) {
	type line struct {
		text  string
		depth int
		order int
	}
	var all []line
	s.walk("$", 1, func(path string, depth int, sh *shape) bool {
		if path == "$" && sh.count() == 1 && (len(sh.Names) > 0 || sh.Element != nil || sh.Any != nil) {
			return true // what the summary begins with
		}
		if sh.count() == 0 {
			return true
		}
		text := shorten(path, 200) + " " + sh.what()
		if n := sh.count(); n > 1 {
			text += " ×" + thousands(n)
		}
		if sh.Kinds[isArray] == 1 && sh.count() == 1 {
			text = shorten(path, 200) + " " + sh.brief()
		}
		if sh.Any != nil {
			text += fmt.Sprintf(" (a map with %s)", plural(sh.Members, "key"))
		}
		if sh.Cut {
			text += " (not all that is below is listed)"
		}
		all = append(all, line{text, depth, len(all)})
		return true
	})
	if len(all) > most {
		slices.SortStableFunc(all, func(a, b line) int { return a.depth - b.depth })
		omitted = len(all) - most
		all = all[:most]
		slices.SortFunc(all, func(a, b line) int { return a.order - b.order })
	}
	for _, l := range all {
		lines = append(lines, l.text)
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

// jsonChars returns how many characters v has as JSON.
func jsonChars(v any) int {
	return utf8.RuneCountInString(mustJSON(v))
}

// mustJSON returns v as JSON, for what is made of texts and numbers only.
func mustJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // < is one character and not six
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("output: %T does not encode: %v", v, err))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// orderedStrings is a JSON object with members in their order.
type orderedStrings [][2]string

// MarshalJSON writes the object.
func (o orderedStrings) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, m[0]), ':')
		b = appendText(b, m[1])
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads it.
func (o *orderedStrings) UnmarshalJSON(p []byte) error {
	d := json.NewDecoder(bytes.NewReader(p))
	if _, err := d.Token(); err != nil {
		return err
	}
	*o = nil
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value string
		if err := d.Decode(&value); err != nil {
			return err
		}
		*o = append(*o, [2]string{name.(string), value})
	}
	return nil
}
