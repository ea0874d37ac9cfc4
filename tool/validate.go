package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// noLoader keeps a schema from reading other files or addresses.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, and nothing outside it is read", url)
}

func compileSchema(s Spec) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.Schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	const here = "pawl:arguments"
	if err := c.AddResource(here, doc); err != nil {
		return nil, err
	}
	return c.Compile(here)
}

// maxProblems bounds what is said of wrong arguments.
const maxProblems = 10

// validate checks arguments against a compiled schema.
func validate(s Spec, schema *jsonschema.Schema, args json.RawMessage) error {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return tell("the arguments of %s are not JSON: %v", s.Name, err)
	}
	if _, ok := v.(map[string]any); !ok {
		return tell("the arguments of %s are no JSON object: give %s", s.Name, accepted(s))
	}
	var doc map[string]any
	if err := json.Unmarshal(s.Schema, &doc); err != nil {
		return err // unreachable: it was compiled
	}
	withoutNulls(v, doc)
	err = schema.Validate(v)
	if err == nil {
		return nil
	}
	problems := []string{err.Error()}
	if e, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		problems = problemsOf(e, nil)
	}
	slices.Sort(problems)
	problems = slices.Compact(problems)
	if n := len(problems) - maxProblems; n > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("and %d more", n))
	}
	return tell("wrong arguments for %s: %s. It takes %s", s.Name, strings.Join(problems, "; "), accepted(s))
}

// withoutNulls removes the nulls of optional fields from v, in place.
func withoutNulls(v any, schema map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		props, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for name, p := range props {
			value, ok := v[name]
			if ok && value == nil && !slices.Contains(required, any(name)) {
				delete(v, name)
				continue
			}
			if p, ok := p.(map[string]any); ok {
				withoutNulls(value, p)
			}
		}
	case []any:
		if items, ok := schema["items"].(map[string]any); ok {
			for _, item := range v {
				withoutNulls(item, items)
			}
		}
	}
}

// problemsOf says each thing that is wrong, with where it is.
func problemsOf(e *jsonschema.ValidationError, into []string) []string {
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			into = problemsOf(c, into)
		}
		return into
	}
	at := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			into = append(into, where(append(slices.Clone(at), name))+": missing")
		}
		return into
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			into = append(into, where(append(slices.Clone(at), name))+": there is no such field")
		}
		return into
	case *kind.Type:
		return append(into, fmt.Sprintf("%s: expected %s, got %s", where(at), strings.Join(k.Want, " or "), k.Got))
	case *kind.Enum:
		var may []string
		for _, w := range k.Want {
			may = append(may, fmt.Sprint(w))
		}
		return append(into, fmt.Sprintf("%s: %s is none of %s", where(at), clip(fmt.Sprintf("%#v", k.Got), 60), strings.Join(may, ", ")))
	}
	return append(into, where(at)+": "+clip(e.ErrorKind.LocalizedString(message.NewPrinter(language.English)), 200))
}

// where writes a location in arguments as people do: edits[0].old.
func where(at []string) string {
	var b strings.Builder
	for _, name := range at {
		name = clip(name, 60)
		if _, err := strconv.Atoi(name); err == nil && b.Len() > 0 {
			b.WriteString("[" + name + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(name)
	}
	if b.Len() == 0 {
		return "the arguments"
	}
	return b.String()
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
