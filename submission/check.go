package submission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pawl/run"
	"pawl/schema"
)

// A Problem is one thing that is wrong with a payload.
type Problem struct {
	Field string `json:"field"` // as people write it: plan[0]; empty for the whole
	What  string `json:"problem"`
}

// An Error says why a payload is not the result. The chance to submit is not used up.
type Error struct {
	Tool     string    `json:"tool"`
	Problems []Problem `json:"fields"`
	// Takes says what the tool takes, or which variants there are and what each needs.
	Takes string `json:"takes"`
}

// Error is for the agent: all problems at once, and what would be right.
func (e *Error) Error() string {
	var all []string
	for _, p := range e.Problems {
		if p.Field != "" {
			all = append(all, p.Field+": "+p.What)
		} else {
			all = append(all, p.What)
		}
	}
	return fmt.Sprintf("wrong arguments for %s: %s. %s", e.Tool, strings.Join(all, "; "), e.Takes)
}

// maxProblems bounds what is said of one payload.
const maxProblems = 10

// A Checker reads payloads of one output. It is safe for concurrent use.
type Checker struct {
	tool     string
	compiled *schema.Compiled
	variants []variant
	declares bool // the schema has a field named tool
}

// NewChecker returns the checker for an output whose schema is of an object. An error says
// what is wrong with the schema, for its author.
func NewChecker(o run.Output) (*Checker, error) {
	compiled, err := schema.Compile(json.RawMessage(o.Schema))
	if err != nil {
		return nil, err
	}
	c := &Checker{tool: o.Tool, compiled: compiled, variants: variants(o.Schema)}
	for _, v := range c.variants {
		c.declares = c.declares || v.has("tool")
	}
	return c, nil
}

func (v variant) has(name string) bool {
	return slices.ContainsFunc(v.fields, func(f field) bool { return f.name == name })
}

// Unchecked returns the patterns of the schema that cannot be checked and count as fitting.
func (c *Checker) Unchecked() []string { return c.compiled.Unchecked() }

// Check returns a payload in the form that is stored: without a member "tool" that repeats
// the tool's name, in either spelling, without nulls for optional fields and without empty
// fields of other variants, which models fill in where a wire has one object for all
// variants. An error is an [*Error].
func (c *Checker) Check(args json.RawMessage) (json.RawMessage, error) {
	args, err := c.normal(args)
	if err != nil {
		return nil, err
	}
	v, known := c.variantOf(args)
	if !known {
		return nil, c.wrongVariant(args)
	}
	value := c.compiled.Restore(args)
	found := c.compiled.Validate(value)
	if len(found) == 0 {
		var b bytes.Buffer
		err := json.Compact(&b, value)
		return b.Bytes(), err
	}
	var problems []Problem
	for _, p := range found {
		problems = append(problems, Problem{p.Path, p.What})
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], Problem{"", fmt.Sprintf("and %d more", more)})
	}
	return nil, &Error{Tool: c.tool, Problems: problems, Takes: c.takes(v)}
}

// normal removes what a payload may have and the schema does not know.
func (c *Checker) normal(args json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(args, &fields); err != nil || fields == nil {
		what := "it is not a JSON object"
		if !json.Valid(args) {
			what = fmt.Sprintf("it is not JSON: %v", err)
		}
		return nil, &Error{Tool: c.tool, Problems: []Problem{{"", what}}, Takes: c.takes(variant{})}
	}
	drop := map[string]bool{}
	var named string
	if json.Unmarshal(fields["tool"], &named) == nil && !c.declares && Names(c.tool, named) {
		drop["tool"] = true
	}
	if v, known := c.variantOf(args); known && v.field != "" {
		for name, value := range fields {
			if !v.has(name) && empty(value) && slices.ContainsFunc(c.variants, func(o variant) bool { return o.has(name) }) {
				drop[name] = true
			}
		}
	}
	return without(args, drop), nil
}

// without returns a JSON object without some members.
func without(args json.RawMessage, drop map[string]bool) json.RawMessage {
	if len(drop) == 0 {
		return args
	}
	b := []byte("{")
	for name, value := range members(args) {
		if drop[name] {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, name)
		b = append(append(b, ':'), value...)
	}
	return append(b, '}')
}

// empty reports whether a value stands for a field that was left out.
func empty(value json.RawMessage) bool {
	switch string(bytes.Join(bytes.Fields(value), nil)) {
	case "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// variantOf returns the variant that a payload means. Of a schema without variants it is
// the zero variant.
func (c *Checker) variantOf(args json.RawMessage) (v variant, known bool) {
	if len(c.variants) == 0 || c.variants[0].field == "" {
		return variant{}, true
	}
	var fields map[string]json.RawMessage
	var value string
	_ = json.Unmarshal(args, &fields) // it is an object
	if json.Unmarshal(fields[c.variants[0].field], &value) != nil {
		return variant{}, false
	}
	for _, v := range c.variants {
		if v.value == value {
			return v, true
		}
	}
	return variant{}, false
}

// wrongVariant says that a payload is of no variant, and which there are.
func (c *Checker) wrongVariant(args json.RawMessage) error {
	mark := c.variants[0].field
	var values []string
	for _, v := range c.variants {
		values = append(values, fmt.Sprintf("%q", v.value))
	}
	p := Problem{mark, "missing"}
	var fields map[string]json.RawMessage
	if _ = json.Unmarshal(args, &fields); fields[mark] != nil {
		p.What = fmt.Sprintf("%.60s is none of %s", fields[mark], strings.Join(values, ", "))
	}
	return &Error{Tool: c.tool, Problems: []Problem{p}, Takes: c.takes(variant{})}
}

// takes says what a variant needs, or each of them if v is the zero variant.
func (c *Checker) takes(v variant) string {
	if v.field != "" {
		return "A payload of " + v.says() + "."
	}
	var all []string
	for _, v := range c.variants {
		all = append(all, v.says())
	}
	switch {
	case len(all) == 0:
		return "It takes an object that fits its schema."
	case c.variants[0].field == "":
		return "It " + strings.Join(all, "; ") + "."
	}
	return "There are these variants: " + strings.Join(all, "; ") + "."
}
