package output

import (
	"fmt"
	"strconv"
	"strings"

	"pawl/internal/text"
	"pawl/output/jsonpath"
)

// follow returns the shapes that steps lead to. known is false if that cannot be told
// from shapes: a step that looks at positions, a name of a map, what was cut.
func (s *shape) follow(steps []jsonpath.Step) (all []*shape, known bool) {
	all = []*shape{s}
	for _, st := range steps {
		var next []*shape
		for _, at := range all {
			switch {
			case at.Cut, st.Kind == jsonpath.ByName && at.Any != nil,
				st.Kind != jsonpath.ByName && st.Kind != jsonpath.ByAll && at.Kinds.of(jsonpath.Array) > 0:
				return nil, false
			case st.Kind == jsonpath.ByName:
				if c := at.get(st.Name); c != nil {
					next = append(next, c)
				}
			case st.Kind == jsonpath.ByAll:
				for _, c := range at.below() {
					next = append(next, c)
				}
			}
		}
		all = next
	}
	return all, true
}

// nearest says of a path that selects nothing where it leaves the document and what is
// there instead, as far as shapes know. A nil shape knows nothing.
func (s *shape) nearest(p *jsonpath.Path) string {
	if s == nil {
		return ""
	}
	steps, _ := p.Steps()
	at, path := s, "$"
	for _, st := range steps {
		var next *shape
		if st.Kind == jsonpath.ByName {
			if next = at.get(st.Name); next == nil {
				next = at.Any
			}
			if next == nil {
				return at.instead(path, st.Name)
			}
			path += jsonpath.Child(st.Name)
			at = next
			continue
		}
		if next = at.Element; next == nil && st.Kind == jsonpath.ByAll {
			next = at.Any
		}
		switch {
		case next == nil:
			return path + " is " + at.article() + at.with("")
		case st.Kind != jsonpath.ByAll && at.Kinds.of(jsonpath.Array) == 1 && st.From >= at.Elements:
			return fmt.Sprintf("%s has %s, the last is %s", path, text.Plural(at.Elements, "element"), jsonpath.Element(max(0, at.Elements-1)))
		}
		path += "[*]"
		at = next
	}
	if path == "$" {
		return "$ is " + at.article() + at.with("")
	}
	return ""
}

// instead says what is at a path that has no member of the name.
func (s *shape) instead(path, name string) string {
	if e := s.Element; len(s.Names) == 0 && e != nil && len(e.Names) > 0 {
		if e.get(name) != nil {
			return path + " is an array: try " + path + "[*]" + jsonpath.Child(name)
		}
		return path + " is an array, whose elements have " + e.list(name)
	}
	return path + " is " + s.article() + s.with(name)
}

func (s *shape) article() string {
	w := s.what()
	if strings.IndexByte("aeiou", w[0]) >= 0 {
		return "an " + w
	}
	return "a " + w
}

func (s *shape) with(name string) string {
	if len(s.Names) == 0 {
		return ""
	}
	return " with " + s.list(name)
}

// list returns the names most similar to name, or the first ones if that is empty.
func (s *shape) list(name string) string {
	const most, longest = 8, 60
	var names []string
	for _, n := range s.Names {
		names = append(names, n.Name)
	}
	if name != "" {
		names = text.Ranked(name, names)
	}
	more := len(names) - most
	names = names[:min(len(names), most)]
	for i := range names {
		names[i] = text.Clip(names[i], longest)
	}
	says := strings.Join(names, ", ")
	if more > 0 {
		says += " and " + strconv.Itoa(more) + " more"
	}
	return says
}
