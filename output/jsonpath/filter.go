package jsonpath

import "slices"

// A Filter is a filter expression alone, without a path: @.active == true. In it @ is
// the value that is tested and $ the document that it is of. It never changes, so it
// may be used by several goroutines at once. Make one with [ParseFilter].
type Filter struct {
	filter   *filter
	warnings []string
}

// Warnings is [Path.Warnings].
func (f *Filter) Warnings() []string { return f.warnings }

// filter is an expression with what can be said of it before any document is seen.
type filter struct {
	root  logical
	wants *projection // how much of a candidate the expression can look at
}

// Binding strength, from weak to strong, to know where String needs parentheses.
type level int

const (
	orLevel level = iota
	andLevel
	notLevel
)

// A logical is an expression that is true or false.
type logical interface {
	test(env *env, at Value) bool
	append(b []byte, around level) []byte
}

// An operand is an expression that is a value or nothing.
type operand interface {
	value(env *env, at Value) Value
	append(b []byte, around level) []byte
}

type (
	or  []logical // two or more
	and []logical // two or more
	not struct{ x logical }

	// exists is true if the query selects anything.
	exists struct{ *query }

	comparison struct {
		op          operator
		left, right operand
	}

	// literal is a string, a number, true, false or null.
	literal struct{ Value }

	// singularQuery is the value of the one node that the query selects.
	singularQuery struct{ *query }
)

// A query is a path within a filter: @… or $….
type query struct {
	absolute bool
	segments []segment
	use      use
}

// use says what a query is asked for, so that no more is worked out than that.
type use uint8

const (
	forExistence use = iota
	forValue         // the last node's value
	forCount         // how many there are
	forOnly          // how many there are and, if it is one, its value
)

type operator string

const (
	equal          operator = "=="
	notEqual       operator = "!="
	less           operator = "<"
	lessOrEqual    operator = "<="
	greater        operator = ">"
	greaterOrEqual operator = ">="
)

var operators = []operator{equal, notEqual, lessOrEqual, greaterOrEqual, less, greater} // long before short

func (x or) test(env *env, at Value) bool {
	return slices.ContainsFunc(x, func(y logical) bool { return y.test(env, at) })
}

func (x and) test(env *env, at Value) bool {
	return !slices.ContainsFunc(x, func(y logical) bool { return !y.test(env, at) })
}

func (x not) test(env *env, at Value) bool { return !x.x.test(env, at) }

func (x exists) test(env *env, at Value) bool { return env.exists(x.query, at) }

func (x comparison) test(env *env, at Value) bool {
	l, r := x.left.value(env, at), x.right.value(env, at)
	switch x.op {
	case equal:
		return equalValues(l, r)
	case notEqual:
		return !equalValues(l, r)
	case less:
		return lessValues(l, r)
	case lessOrEqual:
		return lessValues(l, r) || equalValues(l, r)
	case greater:
		return lessValues(r, l)
	default: // greaterOrEqual
		return lessValues(r, l) || equalValues(l, r)
	}
}

func (x literal) value(*env, Value) Value { return x.Value }

func (x singularQuery) value(env *env, at Value) Value { return env.value(x.query, at) }

func (x or) append(b []byte, around level) []byte {
	return appendChain(b, x, " || ", orLevel, around)
}

func (x and) append(b []byte, around level) []byte {
	return appendChain(b, x, " && ", andLevel, around)
}

func appendChain(b []byte, parts []logical, between string, own, around level) []byte {
	if around > own {
		b = append(b, '(')
	}
	for i, part := range parts {
		if i > 0 {
			b = append(b, between...)
		}
		b = part.append(b, own+1)
	}
	if around > own {
		return append(b, ')')
	}
	return b
}

func (x not) append(b []byte, _ level) []byte {
	switch x.x.(type) {
	case exists, *call:
		return x.x.append(append(b, '!'), notLevel)
	}
	return append(x.x.append(append(b, "!("...), orLevel), ')')
}

func (x comparison) append(b []byte, _ level) []byte {
	b = x.left.append(b, notLevel)
	b = append(b, ' ')
	b = append(b, x.op...)
	b = append(b, ' ')
	return x.right.append(b, notLevel)
}

func (x literal) append(b []byte, _ level) []byte {
	if x.kind == String {
		return appendQuoted(b, x.Text())
	}
	return append(b, x.raw...)
}

func (q *query) append(b []byte, _ level) []byte {
	if q.absolute {
		b = append(b, '$')
	} else {
		b = append(b, '@')
	}
	return appendSegments(b, q.segments)
}
