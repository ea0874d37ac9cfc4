package output

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"pawl/output/jsonpath"
)

// A step is one segment of a path that an index can follow.
type step struct {
	kind stepKind
	name string
	from int64 // index, or beginning of a slice
	to   int64 // end of a slice
}

type stepKind uint8

const (
	toName stepKind = iota
	toIndex
	toSlice // forward, bounds from the beginning
	toAll   // * or [*]
)

// stepsOf returns the leading segments of a path that are names, indices, slices or
// wildcards, and what stands behind each of them: rests[i] behind steps[i]. whole says
// that the path has no others.
func stepsOf(p *jsonpath.Path) (steps []step, rests []string, whole bool) {
	s := p.String()[1:] // canonical, without the $
	for s != "" {
		st, rest, ok := readStep(s)
		if !ok {
			return steps, rests, false
		}
		steps, rests = append(steps, st), append(rests, rest)
		s = rest
	}
	return steps, rests, true
}

func readStep(s string) (st step, rest string, ok bool) {
	switch {
	case strings.HasPrefix(s, ".."):
		return st, s, false
	case strings.HasPrefix(s, ".*"):
		return step{kind: toAll}, s[2:], true
	case s[0] == '.':
		n := strings.IndexAny(s[1:], ".[")
		if n < 0 {
			n = len(s) - 1
		}
		return step{kind: toName, name: s[1 : 1+n]}, s[1+n:], true
	case strings.HasPrefix(s, "['"):
		for i := 2; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '\'':
				if i+1 >= len(s) || s[i+1] != ']' {
					return st, s, false // several selectors
				}
				return step{kind: toName, name: unquoteName(s[2:i])}, s[i+2:], true
			}
		}
		return st, s, false
	}
	end := strings.IndexByte(s, ']')
	if s[0] != '[' || end < 0 {
		return st, s, false
	}
	inside, rest := s[1:end], s[end+1:]
	if i, err := strconv.ParseInt(inside, 10, 64); err == nil {
		return step{kind: toIndex, from: i}, rest, true
	}
	from, to, found := strings.Cut(inside, ":")
	if !found || strings.Contains(to, ":") {
		return st, s, false
	}
	st = step{kind: toSlice, to: math.MaxInt64}
	var err1, err2 error
	if from != "" {
		st.from, err1 = strconv.ParseInt(from, 10, 64)
	}
	if to != "" {
		st.to, err2 = strconv.ParseInt(to, 10, 64)
	}
	return st, rest, err1 == nil && err2 == nil && st.from >= 0 && st.to >= 0
}

// unquoteName undoes quoteName of what stands between the quotes.
func unquoteName(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		if k := strings.IndexByte(`btnfr`, s[i]); k >= 0 {
			b = append(b, "\b\t\n\f\r"[k])
		} else if s[i] == 'u' && i+4 < len(s) {
			n, _ := strconv.ParseUint(s[i+1:i+5], 16, 16)
			b = append(b, string(rune(n))...)
			i += 4
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// follow returns the shapes that steps lead to. known is false if that cannot be told
// from shapes: a step that looks at positions, a name of a map, what was cut.
func (s *shape) follow(steps []step) (all []*shape, known bool) {
	all = []*shape{s}
	for _, st := range steps {
		var next []*shape
		for _, at := range all {
			if at.Cut || at.Sampled {
				return nil, false
			}
			switch st.kind {
			case toName:
				if at.Any != nil {
					return nil, false
				}
				if c := at.get(st.name); c != nil {
					next = append(next, c)
				}
			case toAll:
				for _, c := range at.below() {
					next = append(next, c)
				}
			default:
				if at.Kinds[isArray] > 0 {
					return nil, false
				}
			}
		}
		all = next
	}
	return all, true
}

// nearest says of a path that selects nothing where it leaves the document and what is
// there instead, as far as shapes know.
func (s *shape) nearest(p *jsonpath.Path) string {
	steps, _, _ := stepsOf(p)
	at, path := s, "$"
	for _, st := range steps {
		var next *shape
		switch st.kind {
		case toName:
			if next = at.get(st.name); next == nil {
				next = at.Any
			}
			if next == nil {
				return at.instead(path, st.name)
			}
			path += stepTo(st.name)
		default:
			if at.Element != nil {
				next = at.Element
			} else if st.kind == toAll && at.Any != nil {
				next = at.Any
			}
			if next == nil {
				return path + " is " + at.article() + at.with("")
			}
			if st.kind != toAll && at.Kinds[isArray] == 1 && st.from >= at.Elements {
				return path + " has " + plural(at.Elements, "element") + ", the last is " + indexStep(max(0, at.Elements-1))
			}
			path += "[*]"
		}
		at = next
	}
	if path == "$" {
		return "$ is " + at.article() + at.with("")
	}
	return ""
}

// instead says what is at a place that has no member of the name.
func (s *shape) instead(path, name string) string {
	if len(s.Names) == 0 && s.Element != nil && len(s.Element.Names) > 0 {
		if s.Element.get(name) != nil {
			return path + " is an array: try " + path + "[*]" + stepTo(name)
		}
		return path + " is an array, whose elements have " + s.Element.list(name)
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

// list returns the names nearest to name, or the first ones if there is none.
func (s *shape) list(name string) string {
	const most = 8
	var names []string
	for _, n := range s.Names {
		names = append(names, n.Name)
	}
	if name != "" {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) })
	}
	more := len(names) - most
	var quoted []string
	for _, n := range names[:min(len(names), most)] {
		quoted = append(quoted, shorten(n, 60))
	}
	text := strings.Join(quoted, ", ")
	if more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// distance is the number of edits between two names, case aside, at most of their
// first 60 bytes.
func distance(a, b string) int {
	a, b = strings.ToLower(a[:min(len(a), 60)]), strings.ToLower(b[:min(len(b), 60)])
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
