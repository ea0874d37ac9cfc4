package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pawl/schema"
)

// maxProblems bounds what is said of wrong arguments.
const maxProblems = 10

// validate checks arguments against a tool's schema.
func validate(s Spec, c *schema.Compiled, args json.RawMessage) error {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	var fields map[string]json.RawMessage
	switch err := json.Unmarshal(args, &fields); {
	case err != nil && !json.Valid(args):
		return tell("the arguments of %s are not JSON: %v", s.Name, err)
	case err != nil || fields == nil:
		return tell("the arguments of %s are not a JSON object: give %s", s.Name, accepted(s))
	}
	var problems []string
	for _, p := range c.Validate(c.Restore(args)) {
		problems = append(problems, p.String())
	}
	if len(problems) == 0 {
		return nil
	}
	if n := len(problems) - maxProblems; n > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("and %d more", n))
	}
	return tell("wrong arguments for %s: %s. It takes %s", s.Name, strings.Join(problems, "; "), accepted(s))
}

// accepted lists a tool's fields with their types, the required ones first.
func accepted(s Spec) string {
	var doc struct {
		Properties map[string]struct {
			Type  any `json:"type"`
			Items struct {
				Type any `json:"type"`
			} `json:"items"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(s.Schema, &doc); err != nil || len(doc.Properties) == 0 {
		return "an object without fields"
	}
	var names []string
	for name := range doc.Properties {
		if !slices.Contains(doc.Required, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var fields []string
	for i, name := range append(slices.Clone(doc.Required), names...) {
		p := doc.Properties[name]
		is := "any"
		if p.Type != nil {
			is = fmt.Sprint(p.Type)
		}
		if is == "array" && p.Items.Type != nil {
			is = fmt.Sprintf("array of %vs", p.Items.Type)
		}
		if i >= len(doc.Required) {
			is += ", optional"
		}
		fields = append(fields, fmt.Sprintf("%s (%s)", name, is))
	}
	return strings.Join(fields, ", ")
}
