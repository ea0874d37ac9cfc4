package jsonpath

import "math"

// resolve answers the queries in filters that begin with $, before anything is tested.
// The answers are the same for all candidates, because within them @ can only be what
// they have selected themselves.
func (x *stream) resolve() error {
	all := absoluteQueries(x.segments)
	if x.opt.Where != nil {
		all = append(all, x.opt.Where.filter.wants.absolute...)
	}
	if len(all) == 0 {
		return nil
	}
	x.mark() // to come back to the beginning
	defer x.release()
	for _, q := range all {
		if _, done := x.env.absolute[q]; done {
			continue
		}
		answer, err := x.answer(q)
		if err != nil {
			return err
		}
		x.env.keep(q, answer)
		if err := x.rewind(0); err != nil {
			return err
		}
		x.depth = 0 // the answer may have ended early
	}
	return nil
}

// absoluteQueries returns the queries that begin with $ in the filters of a path, those
// that others need before those.
func absoluteQueries(segments []segment) []*query {
	var all []*query
	for _, seg := range segments {
		for _, sel := range seg.selectors {
			if sel.kind == byFilter {
				all = append(all, sel.filter.wants.absolute...)
			}
		}
	}
	return all
}

// answer runs one query that begins with $ over the document.
func (x *stream) answer(q *query) (summary, error) {
	y := stream{
		scanner: x.scanner, decoder: x.decoder, env: x.env, segments: q.segments,
		opt: Options{AnyOrder: true, Limit: x.opt.Limit}, enough: math.MaxInt64,
	}
	var last []byte
	remember := func(m Match) { last = append(last[:0], m.Raw...) }
	switch q.use {
	case forExistence:
		y.enough = 1
	case forValue:
		y.latest = true
		y.found = func(m Match) bool { remember(m); return true }
	case forOnly:
		y.found = func(m Match) bool { remember(m); return y.total < 2 }
	}
	if err := y.pass(); err != nil && err != errStop {
		return summary{}, err
	}
	if y.total == 0 || last == nil {
		return summary{n: y.total}, nil
	}
	v, err := decode(last, x.opt.Limit)
	return summary{n: y.total, last: v}, err
}
