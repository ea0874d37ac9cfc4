package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxPattern bounds a regular expression, in bytes. Go's are RE2: matching takes
// time in proportion to the text and the pattern, whatever the pattern.
const maxPattern = 4096

// maxWork bounds how many schemas one value can be held against, by the schema
// alone: definitions that refer to each other twice and twice again make 2^n of
// n lines.
const maxWork = 1_000_000

// A Compiled is an authored schema, ready to judge answers. It is safe for
// concurrent use.
type Compiled struct {
	root        *value
	refs        map[*value]*value         // what a schema with a reference refers to
	patterns    map[string]*regexp.Regexp // those that Go knows
	unchecked   []string
	legacy      bool // of a draft before 2019
	unevaluated bool // it says what becomes of what it has not looked at
}

// Compile reads an authored schema. It reads nothing outside of it: a reference to
// another file or address is an error, and so is what is no JSON Schema or too
// large.
func Compile(authored json.RawMessage) (*Compiled, error) {
	root, err := parseSchema(authored)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	c := &Compiled{root: root, refs: map[*value]*value{}, patterns: map[string]*regexp.Regexp{}}
	if draft := root.get("$schema"); draft != nil {
		c.legacy = strings.Contains(draft.text, "draft-0")
	}
	if !isSchema(root) {
		err = fmt.Errorf("it is %s: that is no JSON Schema", clip(root.String(), 60))
	} else if err = c.wellFormed(); err == nil {
		err = bounded(root)
	}
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	return c, nil
}

// Unchecked returns the patterns that Go's regular expressions do not know
// (lookaround, backreferences) and that are therefore taken as fitting. Generators
// write them often (zod's for an email is one): to refuse the tool for it would
// cost more than it saves, because its server checks once more.
func (c *Compiled) Unchecked() []string { return c.unchecked }

// wellFormed returns what keeps a schema from being one, and compiles its patterns and
// references.
func (c *Compiled) wellFormed() error {
	for place, n := range all(c.root) {
		for _, m := range n.members {
			if what := malformed(m); what != "" {
				return fmt.Errorf("%s: %s is %s: %s", placed(place), clip(m.name, 40), clip(m.value.String(), 60), what)
			}
			var patterns []string
			switch m.name {
			case "pattern":
				patterns = []string{m.value.text}
			case "patternProperties":
				for _, p := range m.value.members {
					patterns = append(patterns, p.name)
				}
			case "unevaluatedProperties", "unevaluatedItems":
				c.unevaluated = true
			case "$ref", "$dynamicRef", "$recursiveRef":
				target, err := c.target(m.value.text)
				if err != nil {
					return err
				}
				c.refs[n] = target
			}
			for _, p := range patterns {
				if len(p) > maxPattern {
					return fmt.Errorf("a pattern has %d bytes; at most %d are read", len(p), maxPattern)
				}
				re, err := regexp.Compile(p)
				if err != nil {
					c.unchecked = union(c.unchecked, []string{p})
					continue
				}
				c.patterns[p] = re
			}
		}
	}
	return nil
}

// target returns what a reference refers to: a place in the schema, or a schema of it
// that is called so.
func (c *Compiled) target(ref string) (*value, error) {
	if id := c.root.get("$id"); id != nil && id.text != "" {
		if rest, ok := strings.CutPrefix(ref, strings.TrimSuffix(id.text, "#")); ok && (rest == "" || rest[0] == '#') {
			ref = "#" + strings.TrimPrefix(rest, "#")
		}
	}
	for _, n := range all(c.root) {
		for _, name := range []string{"$id", "$dynamicAnchor"} {
			if id := n.get(name); id != nil && ref != "" && (name == "$id" && id.text == ref || name == "$dynamicAnchor" && "#"+id.text == ref) {
				return n, nil
			}
		}
	}
	return resolve(c.root, ref)
}

// malformed says how the value of a keyword is not what the keyword takes; empty: it
// is, or the keyword is not known.
func malformed(m member) string {
	v := m.value
	const noSchema = "that is no JSON Schema"
	strs := func(list *value) bool { return list.kind == '[' && !slices.ContainsFunc(list.items, notString) }
	switch m.name {
	case "type":
		for _, name := range v.names() {
			if !slices.Contains(typeNames, name) {
				return fmt.Sprintf("there is no type %q", clip(name, 40))
			}
		}
		if v.kind != '"' && !strs(v) || len(v.names()) == 0 {
			return noSchema
		}
	case "required":
		if !strs(v) {
			return noSchema
		}
	case "enum":
		if v.kind != '[' {
			return noSchema
		}
	case "pattern", "format", "$ref", "$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor", "$schema", "title", "description":
		if v.kind != '"' {
			return "it has to be a string"
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		if v.kind != '0' || tooLarge(v) || rational(v).Sign() < 0 || !rational(v).IsInt() {
			return "it has to be a whole number, 0 or more"
		}
	case "minimum", "maximum":
		if v.kind != '0' {
			return "it has to be a number"
		}
	case "exclusiveMinimum", "exclusiveMaximum":
		if v.kind != '0' && v.kind != 't' && v.kind != 'f' {
			return "it has to be a number"
		}
	case "multipleOf":
		if v.kind != '0' || tooLarge(v) || rational(v).Sign() <= 0 {
			return "it has to be a number above 0"
		}
	case "uniqueItems":
		if v.kind != 't' && v.kind != 'f' {
			return "it has to be true or false"
		}
	case "dependentRequired":
		if v.kind != '{' || slices.ContainsFunc(v.members, func(m member) bool { return !strs(m.value) }) {
			return noSchema
		}
	case "dependencies":
		if v.kind != '{' || slices.ContainsFunc(v.members, func(m member) bool { return !strs(m.value) && !isSchema(m.value) }) {
			return noSchema
		}
	case "items":
		if !isSchema(v) && (v.kind != '[' || slices.ContainsFunc(v.items, notSchema)) {
			return noSchema
		}
	case "anyOf", "oneOf", "allOf", "prefixItems":
		if v.kind != '[' || len(v.items) == 0 || slices.ContainsFunc(v.items, notSchema) {
			return noSchema
		}
	default:
		if slices.Contains(mapOfSchemas, m.name) && (v.kind != '{' || slices.ContainsFunc(v.members, notSchemaMember)) || slices.Contains(oneSchema, m.name) && !isSchema(v) {
			return noSchema
		}
	}
	return ""
}

// bounded refuses a schema that would make validation expensive or impossible.
func bounded(root *value) error {
	if n := findNumber(root, tooLarge); n != nil {
		return fmt.Errorf("the number %s is out of range", clip(string(n.raw), 40))
	}
	const open = -1
	cost := map[*value]int{}
	var of func(n *value) int
	of = func(n *value) int {
		if !n.isObject() {
			return 1
		}
		switch c := cost[n]; {
		case c == open:
			return 1 // a circle: how often it is gone round is the answer's depth
		case c > 0:
			return c
		}
		cost[n] = open
		sum := 1
		for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			if ref := n.get(keyword); ref != nil {
				if target, err := resolve(root, ref.text); err == nil {
					sum += of(target)
				}
			}
		}
		for _, c := range children(n, "") {
			if !c.isDefinition() {
				sum += of(c.value)
			}
			sum = min(sum, 2*maxWork) // no overflow
		}
		cost[n] = sum
		return sum
	}
	if of(root) > maxWork {
		return fmt.Errorf("its references multiply: a value would be held against more than %d schemas", maxWork)
	}
	return nil
}

// findNumber returns a number in v for which bad is true, nil when there is none.
func findNumber(v *value, bad func(*value) bool) *value {
	if v.kind == '0' && bad(v) {
		return v
	}
	for _, m := range v.members {
		if n := findNumber(m.value, bad); n != nil {
			return n
		}
	}
	for _, item := range v.items {
		if n := findNumber(item, bad); n != nil {
			return n
		}
	}
	return nil
}

// tooLarge reports whether a number is beyond what float64 holds or too long. The
// validator computes with exact numbers: 1e999999999 would have a billion digits.
func tooLarge(v *value) bool {
	_, ok := v.number()
	return !ok || len(v.raw) > 1000 || smallExponent(v.raw)
}

// smallExponent reports whether a number has an exponent far below zero.
func smallExponent(raw []byte) bool {
	i := bytes.LastIndexAny(raw, "eE")
	return i >= 0 && len(raw)-i > len("e-999")
}
