package jsonpath

import (
	"fmt"
	"strings"
)

// filter reads the expression after ?.
func (p *parser) filter() *filter {
	root := p.or()
	p.blanks()
	return &filter{root: root, wants: projectionOf(root)}
}

func (p *parser) or() logical {
	all := p.chain("||", p.and)
	if len(all) == 1 {
		return all[0]
	}
	return or(all)
}

func (p *parser) and() logical {
	all := p.chain("&&", p.basic)
	if len(all) == 1 {
		return all[0]
	}
	return and(all)
}

// chain reads one or more parts with the operator between them.
func (p *parser) chain(operator string, part func() logical) []logical {
	all := []logical{part()}
	for {
		p.blanks()
		if !p.take(operator) {
			return all
		}
		p.blanks()
		all = append(all, part())
	}
}

// basic reads an expression in parentheses, a comparison or a test, the first and the
// last perhaps with ! before it.
func (p *parser) basic() logical {
	if p.take("!") {
		p.blanks()
		if p.at("(") {
			return not{p.parentheses()}
		}
		start := p.pos
		test := p.term()
		p.blanks()
		if op := p.operator(); op != "" {
			p.failAt(start, "! before a comparison", fmt.Sprintf("write !(%s %s …)", strings.TrimSpace(p.in[start:p.pos-len(op)]), op))
		}
		return not{p.test(test)}
	}
	if p.at("(") {
		x := p.parentheses()
		end := p.pos
		p.blanks()
		if op := p.operator(); op != "" {
			p.failAt(p.pos-len(op), "parentheses cannot be compared", "leave them out around a value")
		}
		p.pos = end
		return x
	}
	left := p.term()
	p.blanks()
	op := p.operator()
	if op == "" {
		hintOperator(p) // fails if what comes next looks like one
		return p.test(left)
	}
	l := p.comparable(left)
	p.blanks()
	r := p.comparable(p.term())
	return comparison{op, l, r}
}

func (p *parser) parentheses() logical {
	open := p.pos
	p.deeper()
	p.take("(")
	p.blanks()
	x := p.or()
	p.blanks()
	if !p.take(")") {
		p.expected(")", fmt.Sprintf("the ( at column %d is not closed", p.column(open)))
	}
	p.nesting--
	return x
}

func (p *parser) column(offset int) int { return (&SyntaxError{Path: p.in, Offset: offset}).Column() }

func (p *parser) operator() operator {
	for _, op := range operators {
		if p.take(string(op)) {
			if op == equal && p.at("=") {
				p.fail("unexpected =", "equality is ==")
			}
			if op == less && p.at(">") {
				p.fail("unexpected >", "inequality is !=")
			}
			return op
		}
	}
	return ""
}

// term is what stands beside a comparison operator, or alone as a test: one of the
// three.
type term struct {
	start, end int
	literal    *literal
	query      *query
	call       *call
}

func (p *parser) term() term {
	t := term{start: p.pos}
	switch c := p.peek(); {
	case c == '@' || c == '$':
		p.pos++
		t.query = &query{absolute: c == '$', segments: p.segments()}
	case c == '\'' || c == '"':
		t.literal = &literal{stringValue(p.quoted())}
	case c == '-' || isDigit(rune(c)):
		t.literal = &literal{p.number()}
	case 'a' <= c && c <= 'z':
		t.word(p)
	default:
		p.expected("@, $, a literal, a function, ! or (", hintTerm(p))
	}
	t.end = p.pos
	return t
}

// word reads true, false, null or a function call.
func (t *term) word(p *parser) {
	start := p.pos
	for c := p.peek(); 'a' <= c && c <= 'z' || c == '_' || isDigit(rune(c)); c = p.peek() {
		p.pos++
	}
	word := p.in[start:p.pos]
	if p.at("(") {
		t.call = p.call(word, start)
		return
	}
	switch word {
	case "true", "false":
		t.literal = &literal{Value{kind: Bool, raw: []byte(word)}}
	case "null":
		t.literal = &literal{Value{kind: Null, raw: []byte(word)}}
	default:
		p.pos = start
		p.expected("@, $, a literal, a function, ! or (", hintTerm(p))
	}
}

// number reads a number as JSON writes it.
func (p *parser) number() Value {
	start := p.pos
	n, missing := numberLength(p.rest())
	p.pos += n
	if missing != "" {
		p.expected(missing, "")
	}
	text := p.in[start:p.pos]
	if strings.TrimPrefix(text, "-") == "0" && isDigit(rune(p.peek())) {
		p.failAt(p.pos-1, "a number with a leading zero", "")
	}
	return Value{kind: Number, raw: []byte(text)}
}

// test makes of a term what can stand alone: a query or a function that is true or false.
func (p *parser) test(t term) logical {
	switch {
	case t.query != nil:
		t.query.use = forExistence
		return exists{t.query}
	case t.call != nil && t.call.fn.test != nil:
		return t.call
	case t.call != nil:
		p.failAt(t.start, t.call.fn.name+"() gives a value, which alone is neither true nor false", "compare it, as in "+t.call.fn.usage)
	}
	p.failAt(t.start, "a literal alone is neither true nor false", "compare it with something, as in @.name == "+p.in[t.start:t.end])
	panic("unreachable: failAt panics")
}

// comparable makes of a term what can be compared.
func (p *parser) comparable(t term) operand {
	switch {
	case t.literal != nil:
		return *t.literal
	case t.query != nil:
		p.needSingular(t, "be compared")
		t.query.use = forValue
		return singularQuery{t.query}
	case t.call.fn.test != nil:
		p.failAt(t.start, t.call.fn.name+"() is true or false and cannot be compared", fmt.Sprintf("write %s or !%[1]s alone", p.in[t.start:t.end]))
	}
	return t.call
}

// needSingular fails if a query may select more than one node.
func (p *parser) needSingular(t term, to string) {
	if !singular(t.query.segments) {
		text := p.in[t.start:t.end]
		p.failAt(t.start, text+" may select several nodes and cannot "+to,
			fmt.Sprintf("value(%s) is its value if there is one, count(%[1]s) how many there are; or test each in a filter of its own, as in @.items[?@.id == 1]", text))
	}
}

// call reads the arguments of a function.
func (p *parser) call(name string, start int) *call {
	c := &call{fn: functionNamed(name)}
	if c.fn == nil {
		p.failAt(start, "there is no function "+name+"()", hintFunction(name))
	}
	p.deeper()
	p.take("(")
	p.blanks()
	for !p.at(")") {
		if len(c.args) > 0 {
			if !p.take(",") {
				p.expected(", or )", "")
			}
			p.blanks()
		}
		if len(c.args) == len(c.fn.params) {
			p.fail(fmt.Sprintf("%s() takes %d, found more", name, len(c.fn.params)), "write it as in "+c.fn.usage)
		}
		c.args = append(c.args, p.argument(c))
		p.blanks()
	}
	if len(c.args) < len(c.fn.params) {
		p.fail(fmt.Sprintf("%s() takes %d, found %d", name, len(c.fn.params), len(c.args)), "write it as in "+c.fn.usage)
	}
	p.take(")")
	p.nesting--
	p.precompile(c)
	return c
}

// argument reads one argument of c and checks that it is of the declared type
// (RFC 9535 section 2.4.3).
func (p *parser) argument(c *call) argument {
	t := p.term()
	want := c.fn.params[len(c.args)]
	switch {
	case want == nodesParam && t.query != nil:
		t.query.use = forOnly
		if c.fn.name == "count" {
			t.query.use = forCount
		}
		return argument{nodes: t.query}
	case want == nodesParam:
		p.failAt(t.start, c.fn.name+"() takes a query that begins with @ or $", "write it as in "+c.fn.usage)
	case t.call != nil && t.call.fn.test != nil:
		p.failAt(t.start, c.fn.name+"() takes a value, and "+t.call.fn.name+"() is true or false", "")
	case t.query != nil:
		p.needSingular(t, "be a value for "+c.fn.name+"()")
		t.query.use = forValue
		return argument{operand: singularQuery{t.query}}
	case t.literal != nil:
		return argument{operand: *t.literal}
	}
	return argument{operand: t.call}
}

// precompile compiles the pattern of match and search if it is a literal.
func (p *parser) precompile(c *call) {
	if c.fn.test == nil {
		return
	}
	pattern, ok := c.args[1].operand.(literal)
	if !ok {
		return
	}
	c.fixed = true
	if pattern.kind != String {
		p.warnings = append(p.warnings, fmt.Sprintf("%s() with a pattern that is not a string is never true", c.fn.name))
		return
	}
	re, err := compileIRegexp(pattern.Text(), c.fn.name == "match")
	if err != nil {
		p.warnings = append(p.warnings, fmt.Sprintf("%s() with '%s' is never true, because that is not an I-Regexp (RFC 9485): %v", c.fn.name, pattern.Text(), err))
		return
	}
	c.regexp = re
}
