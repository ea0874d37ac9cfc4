package jsonpath

import (
	"math"
	"slices"
)

// A rule says what becomes of the children of a node: those that a selector takes go
// on with segment next; if again, all that have children themselves get the same rule.
// The node was reached in n ways.
type rule struct {
	selectors []selector
	traits
	next  int
	again bool
	n     int64
}

// children applies rules to the children of the array or object that comes next and
// passes over it.
func (x *stream) children(rules []rule) error {
	object := x.buf[x.pos] == '{'
	var filters, length, any bool
	for i := range rules {
		r := &rules[i]
		filters, length = filters || r.filters, length || r.length
		any = any || r.again || object && r.members || !object && r.elements
	}
	switch {
	case !any:
		return x.skip()
	case object:
		return x.members(rules, filters)
	}
	return x.elements(rules, filters, length)
}

func (x *stream) elements(rules []rule, filters, needsLength bool) error {
	length := int64(-1)
	if needsLength {
		var err error
		if length, err = x.length(); err != nil {
			return err
		}
	}
	return x.scanner.elements(func(i int64) error { return x.child(rules, filters, i, length, nil) })
}

func (x *stream) members(rules []rule, filters bool) error {
	if err := x.enter(); err != nil {
		return err
	}
	wanted := traits{}
	if len(rules) == 1 && !rules[0].again {
		wanted = rules[0].traits
	}
	for first := true; ; first = false {
		k, name, err := x.nextMember(first, wanted.names, wanted.keys)
		if err != nil || k < 0 {
			return err
		}
		if err := x.child(rules, filters, inName, 0, name); err != nil {
			return err
		}
	}
}

// length counts the elements of the array that comes next and goes back.
func (x *stream) length() (n int64, err error) {
	start := x.offset()
	x.mark()
	defer x.release()
	err = x.scanner.elements(func(int64) error { n++; return x.skip() })
	if err == nil {
		err = x.rewind(start)
	}
	return n, err
}

// child applies rules to one child: element index of an array of length elements, -1 if
// nothing needs to know, or the member of an object whose name has been passed.
func (x *stream) child(rules []rule, filters bool, index, length int64, name []byte) error {
	c, err := x.ahead()
	if err != nil {
		return err
	}
	inside := c == '{' || c == '['
	base := len(x.states)
	counting := x.found == nil && x.opt.Where == nil // there is nothing to do at a match
	for i := range rules {
		r := &rules[i]
		if inside || r.next == len(x.segments) {
			hits := int64(0)
			for k := range r.selectors {
				if x.takes(&r.selectors[k], index, length, name) {
					hits++
				}
			}
			if hits > 0 && r.next == len(x.segments) && counting {
				if err := x.count(mulCapped(hits, r.n)); err != nil {
					return err
				}
			} else if hits > 0 {
				x.due(base, r.next, mulCapped(hits, r.n))
			}
		}
		if r.again && inside {
			x.due(base, r.next-1, r.n)
		}
	}
	if len(x.states) == base && !filters {
		return x.skip()
	}

	// The name is copied now: reading on may move the window.
	from, steps := len(x.names), len(x.steps)
	step := openStep{index: index}
	if index == inName {
		x.names = append(x.names, name...)
		step.from, step.to = from, len(x.names)
	}
	x.steps = append(x.steps, step)
	if filters {
		err = x.filtered(rules, base, inside)
	} else {
		err = x.selected(base, -1)
	}
	x.names, x.steps, x.states = x.names[:from], x.steps[:steps], x.states[:base]
	return err
}

// takes reports whether a selector that is not a filter takes a child.
func (x *stream) takes(sel *selector, index, length int64, name []byte) bool {
	if index != inName {
		return sel.takesIndex(index, length)
	}
	return sel.kind == wildcard || sel.kind == byName && string(name) == sel.name
}

// filtered adds what filters take to the states from base on, and continues with the
// child.
func (x *stream) filtered(rules []rule, base int, inside bool) error {
	x.mark()
	defer x.release()
	start, end := x.offset(), int64(-1)
	for i := range rules {
		r := &rules[i]
		if !inside && r.next < len(x.segments) {
			continue
		}
		for k := range r.selectors {
			if r.selectors[k].kind != byFilter {
				continue
			}
			if end >= 0 {
				if err := x.rewind(start); err != nil {
					return err
				}
			}
			ok, known, err := x.test(r.selectors[k].filter)
			if err != nil {
				return err
			}
			end = max(end, known)
			if ok {
				x.due(base, r.next, r.n)
			}
		}
	}
	if len(x.states) > base && end >= 0 {
		if err := x.rewind(start); err != nil {
			return err
		}
	}
	return x.selected(base, end)
}

// selected continues with a child that has the states from base on; end is where it ends,
// if known.
func (x *stream) selected(base int, end int64) error {
	if len(x.states) == base {
		return x.over(end)
	}
	if x.latest {
		x.total = 0
	}
	return x.visit(x.states[base:], end)
}

// due adds a state to those from base on, which are in the order of their segments.
func (x *stream) due(base, segment int, n int64) {
	i := len(x.states)
	for i > base && x.states[i-1].segment > segment {
		i--
	}
	if i > base && x.states[i-1].segment == segment {
		x.states[i-1].n = addCapped(x.states[i-1].n, n)
		return
	}
	x.states = slices.Insert(x.states, i, state{segment, n})
}

func mulCapped(a, b int64) int64 {
	if b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
