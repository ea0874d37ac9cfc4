package jsonpath

import (
	"context"
	"regexp"
)

// env is what filters need to know while one document is asked one question. It is
// not safe for concurrent use; each evaluation has its own.
type env struct {
	root     Value                // for queries that begin with $ …
	absolute map[*query]summary   // … whose answers are the same wherever they are asked
	regexps  map[string]*compiled // those whose patterns come from the document

	ctx   context.Context // of a stream; looked at now and then
	steps int             // since it was
}

type compiled struct{ whole, part *regexp.Regexp }

// summary is what filters use of the nodes that a query selects.
type summary struct {
	n    int64
	last Value
}

func newEnv(root Value) *env { return &env{root: root} }

// maxRegexps is how many patterns from a document are kept compiled.
const maxRegexps = 64

// regexp returns a pattern compiled, nil if it is not an I-Regexp.
func (e *env) regexp(pattern string, whole bool) *regexp.Regexp {
	c := e.regexps[pattern]
	if c == nil {
		if len(e.regexps) >= maxRegexps || e.regexps == nil {
			e.regexps = map[string]*compiled{}
		}
		c = &compiled{}
		c.whole, _ = compileIRegexp(pattern, true) // not an I-Regexp: false, by RFC 9535 section 2.4.6
		c.part, _ = compileIRegexp(pattern, false)
		e.regexps[pattern] = c
	}
	if whole {
		return c.whole
	}
	return c.part
}

func (e *env) exists(q *query, at Value) bool {
	if q.absolute || !singular(q.segments) {
		return e.nodes(q, at).n > 0
	}
	return e.value(q, at).kind != Nothing
}

// value returns the value of a singular query's node.
func (e *env) value(q *query, at Value) Value {
	if q.absolute {
		return e.nodes(q, at).last
	}
	return follow(q.segments, at)
}

// follow goes the one way that a singular query goes.
func follow(segments []segment, at Value) Value {
	for i := range segments {
		switch sel := &segments[i].selectors[0]; sel.kind {
		case byName:
			at = at.Get(sel.name)
		default: // byIndex
			at = at.at(sel.index)
		}
	}
	return at
}

// nodes runs a query, no further than its use asks for.
func (e *env) nodes(q *query, at Value) summary {
	if q.absolute {
		if s, ok := e.absolute[q]; ok {
			return s
		}
		at = e.root
	}
	var s summary
	if q.use == forValue {
		if s.last = follow(q.segments, at); s.last.kind != Nothing {
			s.n = 1
		}
	} else {
		f := finder{env: e, segments: q.segments, found: func(v Value) bool {
			s.n++
			s.last = v
			return q.use != forExistence
		}}
		f.from(at, 0)
	}
	if q.absolute {
		e.keep(q, s)
	}
	return s
}

// keep remembers the answer of an absolute query.
func (e *env) keep(q *query, s summary) {
	if e.absolute == nil {
		e.absolute = map[*query]summary{}
	}
	e.absolute[q] = s
}

// cancelled reports whether the evaluation was canceled; its result then does
// not matter.
func (e *env) cancelled() bool {
	const every = 1024
	if e.steps++; e.ctx == nil || e.steps%every != 0 {
		return false
	}
	return e.ctx.Err() != nil
}
