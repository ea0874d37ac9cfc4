package jsonpath

import (
	"regexp"
	"unicode/utf8"
)

// A function of RFC 9535 section 2.4. It gives a value or, if test is set, true or false.
type function struct {
	name   string
	params []paramType
	usage  string // an example for error messages
	value  func(args []arg) Value
	test   func(c *call, env *env, args []arg) bool
}

type paramType uint8

const (
	valueParam paramType = iota // a literal, a singular query, a function that gives a value
	nodesParam                  // any query
)

// arg is an argument at work: a value, which may be Nothing, or nodes.
type arg struct {
	value Value
	nodes summary
}

// functions are those that RFC 9535 defines.
var functions = []*function{
	{name: "length", params: []paramType{valueParam}, usage: "length(@.name) > 3", value: length},
	{name: "count", params: []paramType{nodesParam}, usage: "count(@.items[*]) > 3",
		value: func(args []arg) Value { return integer(args[0].nodes.n) }},
	{name: "match", params: []paramType{valueParam, valueParam}, usage: "match(@.name, 'a.*')",
		test: func(c *call, env *env, args []arg) bool { return c.search(env, args, true) }},
	{name: "search", params: []paramType{valueParam, valueParam}, usage: "search(@.name, 'a.*')",
		test: func(c *call, env *env, args []arg) bool { return c.search(env, args, false) }},
	{name: "value", params: []paramType{nodesParam}, usage: "value(@..id) == 3", value: func(args []arg) Value {
		if args[0].nodes.n != 1 {
			return Value{}
		}
		return args[0].nodes.last
	}},
}

// length is the number of a string's characters, an array's elements or an object's
// members, and Nothing of anything else.
func length(args []arg) Value {
	switch v := args[0].value; v.kind {
	case String:
		return integer(int64(utf8.RuneCount(v.text())))
	case Array, Object:
		return integer(int64(v.Len()))
	}
	return Value{}
}

// call is a function with its arguments; an operand or a logical, by its function.
type call struct {
	fn   *function
	args []argument

	// For match and search with a literal pattern, which is the usual case: the
	// compiled pattern, nil if it is not an I-Regexp.
	fixed  bool
	regexp *regexp.Regexp
}

// argument is one of the two.
type argument struct {
	operand operand
	nodes   *query
}

func (c *call) evaluate(env *env, at Value) []arg {
	args := make([]arg, len(c.args), 2) // the most any function takes, so that it stays on the stack
	for i, a := range c.args {
		if a.nodes != nil {
			args[i].nodes = env.nodes(a.nodes, at)
		} else {
			args[i].value = a.operand.value(env, at)
		}
	}
	return args
}

func (c *call) value(env *env, at Value) Value { return c.fn.value(c.evaluate(env, at)) }

func (c *call) test(env *env, at Value) bool { return c.fn.test(c, env, c.evaluate(env, at)) }

// search is match and search; whole says that all of the text has to match.
func (c *call) search(env *env, args []arg, whole bool) bool {
	text, pattern := args[0].value, args[1].value
	if text.kind != String || pattern.kind != String {
		return false
	}
	re := c.regexp
	if !c.fixed {
		re = env.regexp(pattern.Text(), whole)
	}
	return re != nil && re.Match(text.text())
}

func (c *call) append(b []byte, _ level) []byte {
	b = append(b, c.fn.name...)
	b = append(b, '(')
	for i, a := range c.args {
		if i > 0 {
			b = append(b, ", "...)
		}
		if a.nodes != nil {
			b = a.nodes.append(b, orLevel)
		} else {
			b = a.operand.append(b, orLevel)
		}
	}
	return append(b, ')')
}
