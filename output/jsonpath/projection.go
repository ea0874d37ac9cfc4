package jsonpath

// A projection is the part of a value that is looked at. Candidates of a filter are
// decoded no further than its projection, which is what makes a filter over large
// elements nearly as fast as passing over them.
//
// The zero projection wants to know that the value is there, and what it is if it is
// neither an array nor an object.
type projection struct {
	whole bool

	// Of an object: the members that matter.
	names []string
	keys  [][]byte      // the same as bytes
	named []*projection // named[i] belongs to names[i]

	// Of an array: the elements that matter, and the greatest of them.
	indices []int64
	indexed []*projection
	last    int64

	absolute []*query // those in the expression that begin with $, each after those that it uses
}

// projectionOf returns what an expression looks at of @.
func projectionOf(x logical) *projection {
	p := &projection{}
	p.addLogical(x)
	return p
}

func (p *projection) addLogical(x logical) {
	switch x := x.(type) {
	case or:
		for _, y := range x {
			p.addLogical(y)
		}
	case and:
		for _, y := range x {
			p.addLogical(y)
		}
	case not:
		p.addLogical(x.x)
	case exists:
		p.addQuery(x.query, false)
	case comparison:
		// An array or object is equal to no literal, so whatever is in it is not needed.
		_, l := x.left.(literal)
		_, r := x.right.(literal)
		p.addOperand(x.left, !l && !r)
		p.addOperand(x.right, !l && !r)
	case *call:
		p.addCall(x)
	}
}

func (p *projection) addOperand(x operand, whole bool) {
	switch x := x.(type) {
	case singularQuery:
		p.addQuery(x.query, whole)
	case *call:
		p.addCall(x)
	}
}

func (p *projection) addCall(c *call) {
	for _, a := range c.args {
		if a.nodes != nil {
			p.addQuery(a.nodes, true)
		} else {
			// match and search look at texts only; length counts what is in the value.
			p.addOperand(a.operand, c.fn.test == nil)
		}
	}
}

// addQuery adds what a query selects; whole says that all of it is looked at. From the
// first step on that is not a name or an index from the beginning, all is.
func (p *projection) addQuery(q *query, whole bool) {
	p.absolute = append(p.absolute, absoluteQueries(q.segments)...)
	if q.absolute { // it is answered before
		p.absolute = append(p.absolute, q)
		return
	}
	for i, seg := range q.segments {
		if !singular(q.segments[i : i+1]) {
			whole = true
			break
		}
		sel := seg.selectors[0]
		if sel.kind == byName {
			p = p.member(sel.name)
		} else if sel.index >= 0 {
			p = p.element(sel.index)
		} else {
			whole = true
			break
		}
	}
	if whole {
		p.whole = true
	}
}

// within reports whether anything in an array or object is looked at.
func (p *projection) within(kind Kind) bool {
	return p.whole || kind == Array && len(p.indices) > 0 || kind == Object && len(p.names) > 0
}

func (p *projection) member(name string) *projection {
	for i, n := range p.names {
		if n == name {
			return p.named[i]
		}
	}
	sub := &projection{}
	p.names, p.keys, p.named = append(p.names, name), append(p.keys, []byte(name)), append(p.named, sub)
	return sub
}

func (p *projection) element(index int64) *projection {
	for i, n := range p.indices {
		if n == index {
			return p.indexed[i]
		}
	}
	sub := &projection{}
	p.indices, p.indexed = append(p.indices, index), append(p.indexed, sub)
	p.last = max(p.last, index)
	return sub
}
