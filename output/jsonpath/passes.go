package jsonpath

// needsPasses reports whether what a segment selects comes in another order than that
// of the document.
func (x *stream) needsPasses(segment int) bool {
	seg := &x.segments[segment]
	if seg.descendant || len(seg.selectors) > 1 {
		return true
	}
	sel := &seg.selectors[0]
	return sel.kind == bySlice && sel.slice.step < 0
}

// passes applies a segment to the array or object that comes next, which begins at
// start, in the order of RFC 9535: once for each selector and then, for a descendant
// segment, once to go deeper. In this order no node has more than one state.
func (x *stream) passes(segment int, start int64) error {
	x.mark()
	defer x.release()
	seg := &x.segments[segment]
	for k := range seg.selectors {
		if err := x.rewind(start); err != nil {
			return err
		}
		one := seg.selectors[k : k+1]
		var err error
		if one[0].kind == bySlice && one[0].slice.step < 0 {
			err = x.backwards(one[0].slice, segment+1)
		} else {
			err = x.childrenBy(rule{one, seg.each[k], segment + 1, false, 1})
		}
		if err != nil {
			return err
		}
	}
	if !seg.descendant {
		return nil
	}
	if err := x.rewind(start); err != nil {
		return err
	}
	return x.childrenBy(rule{next: segment + 1, again: true, n: 1})
}

func (x *stream) childrenBy(r rule) error {
	n := len(x.rules)
	x.rules = append(x.rules, r)
	err := x.children(x.rules[n:])
	x.rules = x.rules[:n]
	return err
}

// backwards visits the elements that a slice with a negative step selects, last first.
// It keeps the places of as many as it selects.
func (x *stream) backwards(s slice, next int) error {
	if x.buf[x.pos] == '{' {
		return x.skip()
	}
	n, err := x.length()
	if err != nil {
		return err
	}
	type element struct{ index, offset int64 }
	const elementBytes = 16
	var selected []element
	err = x.scanner.elements(func(i int64) error {
		if s.covers(i, n) {
			if _, err := x.ahead(); err != nil {
				return err
			}
			selected = append(selected, element{i, x.offset()})
			if need := int64(len(selected)) * elementBytes; need > x.opt.Limit {
				return &LimitError{Need: need, AtLeast: true, Limit: x.opt.Limit, Offset: x.offset(), Why: "the places of elements that are wanted last first,"}
			}
		}
		return x.skip()
	})
	if err != nil {
		return err
	}
	end := x.offset()
	x.depth++
	for k := len(selected) - 1; k >= 0; k-- {
		if err := x.rewind(selected[k].offset); err != nil {
			return err
		}
		base := len(x.states)
		x.states = append(x.states, state{next, 1})
		x.steps = append(x.steps, openStep{index: selected[k].index})
		err := x.visit(x.states[base:], -1)
		x.states, x.steps = x.states[:base], x.steps[:len(x.steps)-1]
		if err != nil {
			return err
		}
	}
	x.depth--
	return x.rewind(end)
}
