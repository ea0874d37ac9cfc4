package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxPattern bounds a regular expression, in bytes. Go's are RE2: matching takes
// time in proportion to the text and the pattern, whatever the pattern.
const maxPattern = 4096

// maxWork bounds how many schemas one value can be held against, by the schema
// alone: definitions that refer to each other twice and twice again make 2^n of
// n lines.
const maxWork = 1_000_000

// A Compiled is an authored schema, ready to judge answers. It is safe for
// concurrent use; keep it, because compiling costs about fifty times more than
// validating.
type Compiled struct {
	schema    *jsonschema.Schema
	unchecked []string
}

// Compile reads an authored schema. It reads nothing outside of it: a reference to
// another file or address is an error, and so is what is no JSON Schema or too
// large.
func Compile(authored json.RawMessage) (*Compiled, error) {
	root, err := parseSchema(authored)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	if err := bounded(root); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(authored))
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err) // unreachable: it was parsed
	}
	c := &Compiled{}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nothingOutside{})
	compiler.UseRegexpEngine(c.pattern)
	// With slashes, so that a relative reference leads to an address of its own and
	// is refused; from one without it would lead back to this schema.
	const here = "pawl://schema/"
	if err := compiler.AddResource(here, doc); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	if c.schema, err = compiler.Compile(here); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %s", clip(strings.ReplaceAll(err.Error(), here, ""), 500))
	}
	return c, nil
}

// Unchecked returns the patterns that Go's regular expressions do not know
// (lookaround, backreferences) and that are therefore taken as fitting. Generators
// write them often (zod's for an email is one): to refuse the tool for it would
// cost more than it saves, because its server checks once more.
func (c *Compiled) Unchecked() []string { return c.unchecked }

// nothingOutside keeps a schema from reading files or addresses.
type nothingOutside struct{}

func (nothingOutside) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, and nothing outside it is read", clip(url, 200))
}

// pattern compiles a regular expression of a schema.
func (c *Compiled) pattern(s string) (jsonschema.Regexp, error) {
	if len(s) > maxPattern {
		return nil, fmt.Errorf("a pattern has %d bytes; at most %d are read", len(s), maxPattern)
	}
	re, err := regexp.Compile(s)
	if err != nil {
		c.unchecked = union(c.unchecked, []string{s})
		return anything(s), nil
	}
	return re, nil
}

type anything string

func (anything) MatchString(string) bool { return true }

func (a anything) String() string { return string(a) }

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
		for c := range children(n, "") {
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
