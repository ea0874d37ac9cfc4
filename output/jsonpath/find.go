package jsonpath

import "iter"

// Select iterates over the values that the path selects of root, in the order of RFC
// 9535, where members are in the order of the document. A node that is selected more
// than once comes more than once, as the RFC has it.
func (p *Path) Select(root Value) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		f := finder{env: newEnv(root), segments: p.segments, found: yield}
		f.from(root, 0)
	}
}

// A Normalized path is the place of one node, as in $['users'][0]: names in single
// quotes, indices from 0 (RFC 9535 section 2.7).
type Normalized string

// finder evaluates a path over a decoded value.
type finder struct {
	env      *env
	segments []segment
	found    func(Value) bool // false: enough
}

// from applies the segments from the i-th on to v and reports whether to continue.
func (f *finder) from(v Value, i int) bool {
	if i == len(f.segments) {
		return f.found(v)
	}
	if f.env.cancelled() {
		return false
	}
	seg := &f.segments[i]
	for k := range seg.selectors {
		if !f.choose(v, &seg.selectors[k], i+1) {
			return false
		}
	}
	if !seg.descendant {
		return true
	}
	for k := range v.Len() {
		if v.box.items[k].box != nil && !f.down(v, k, i) {
			return false
		}
	}
	return true
}

// choose hands the children of v that the selector takes on to segment next.
func (f *finder) choose(v Value, sel *selector, next int) bool {
	n := int64(v.Len())
	switch sel.kind {
	case byName:
		return v.kind != Object || f.named(v, sel.name, next)
	case byIndex:
		i := sel.index
		if i < 0 {
			i += n
		}
		return v.kind != Array || i < 0 || i >= n || f.down(v, int(i), next)
	case bySlice:
		return v.kind != Array || f.sliced(v, sel.slice, next)
	}
	for i := range int(n) {
		if sel.kind == byFilter && !sel.filter.root.test(f.env, v.box.items[i]) {
			continue
		}
		if !f.down(v, i, next) {
			return false
		}
	}
	return true
}

// named goes to every member of the name; see the package comment on duplicates.
func (f *finder) named(v Value, name string, next int) bool {
	last := v.find(name)
	if last < 0 {
		return true
	}
	if v.box.index != nil && len(v.box.index) == v.Len() {
		return f.down(v, last, next) // no duplicates
	}
	for i, n := range v.box.names[:last+1] {
		if string(n) == name && !f.down(v, i, next) {
			return false
		}
	}
	return true
}

func (f *finder) sliced(v Value, s slice, next int) bool {
	lower, upper := s.bounds(int64(v.Len()))
	switch {
	case s.step > 0:
		for i := lower; i < upper; i += s.step {
			if !f.down(v, int(i), next) {
				return false
			}
		}
	case s.step < 0:
		for i := upper; i > lower; i += s.step {
			if !f.down(v, int(i), next) {
				return false
			}
		}
	}
	return true
}

// down goes to child k of v, and on with segment next.
func (f *finder) down(v Value, k, next int) bool { return f.from(v.box.items[k], next) }
