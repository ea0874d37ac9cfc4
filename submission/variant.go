package submission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pawl/run"
)

// A variant is one branch of a schema that is a union of objects which differ in the value
// of one field, or the only branch of any other schema of an object.
type variant struct {
	title    string // as "a plan"
	field    string // that tells the variants apart; empty: there is one variant
	value    string // of that field
	fields   []field
	required []string
}

// A field is a property of a variant.
type field struct {
	name string
	kind string // JSON type; empty: several
}

// needs reports whether a field is required.
func (v variant) needs(name string) bool { return slices.Contains(v.required, name) }

// variants reads the variants of a schema; nil if it is not of an object with fields.
func variants(schema string) []variant {
	var root object
	if json.Unmarshal([]byte(schema), &root) != nil {
		return nil
	}
	branches := append(slices.Clone(root.OneOf), root.AnyOf...)
	if len(branches) == 0 {
		if len(root.Properties.members) == 0 {
			return nil
		}
		return []variant{root.variant("")}
	}
	mark := discriminator(branches)
	if mark == "" {
		return nil
	}
	var all []variant
	for _, b := range branches {
		all = append(all, b.variant(mark))
	}
	return all
}

// An object is what is read of the schema of one.
type object struct {
	Title      string     `json:"title"`
	Properties properties `json:"properties"`
	Required   []string   `json:"required"`
	OneOf      []object   `json:"oneOf"`
	AnyOf      []object   `json:"anyOf"`
}

// A property is what is read of the schema of one.
type property struct {
	Type  json.RawMessage `json:"type"`
	Const *string         `json:"const"`
}

// properties are in the order in which they are authored.
type properties struct{ members []named }

type named struct {
	name   string
	schema json.RawMessage
	property
}

// UnmarshalJSON keeps the order of the members. What is no schema of a property says nothing
// here: [NewChecker] tells its author.
func (p *properties) UnmarshalJSON(b []byte) error {
	for name, value := range members(b) {
		n := named{name: name, schema: value}
		_ = json.Unmarshal(value, &n.property) // true and false are schemas too
		p.members = append(p.members, n)
	}
	return nil
}

// members yields the members of a JSON object as they are written: in order, and each of
// those that have one name. It ends where a text is no JSON.
func members(object json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		for _, err := d.ReadToken(); err == nil && d.PeekKind() == '"'; {
			token, _ := d.ReadToken()
			name := token.String()
			var value jsontext.Value
			if value, err = d.ReadValue(); err != nil || !yield(name, json.RawMessage(value.Clone())) {
				return
			}
		}
	}
}

// discriminator returns the field that has another constant in each branch; empty if there
// is none.
func discriminator(branches []object) string {
	for _, first := range branches[0].Properties.members {
		seen := map[string]bool{}
		for _, b := range branches {
			for _, p := range b.Properties.members {
				if p.name == first.name && p.Const != nil {
					seen[*p.Const] = true
				}
			}
		}
		if len(seen) == len(branches) {
			return first.name
		}
	}
	return ""
}

// variant returns the object as a variant that the field mark tells from the others.
func (o object) variant(mark string) variant {
	v := variant{title: o.Title, field: mark, required: o.Required}
	for _, p := range o.Properties.members {
		if p.name == mark && p.Const != nil {
			v.value = *p.Const
		}
		f := field{name: p.name}
		_ = json.Unmarshal(p.Type, &f.kind) // of several types, none is shown
		v.fields = append(v.fields, f)
	}
	return v
}

// example returns a call of a tool with all fields of the variant, as people write it.
func (v variant) example(tool string) string {
	var parts []string
	if !v.has("tool") {
		parts = append(parts, fmt.Sprintf(`"tool": %q`, tool))
	}
	for _, f := range v.fields {
		value := "..."
		switch {
		case f.name == v.field && v.field != "":
			value = fmt.Sprintf("%q", v.value)
		case f.kind == "array":
			value = "[...]"
		case f.kind == "object":
			value = "{...}"
		case f.kind == "integer", f.kind == "number":
			value = "0"
		case f.kind == "boolean":
			value = "true"
		case f.kind == "string":
			value = `"..."`
		}
		parts = append(parts, fmt.Sprintf("%q: %s", f.name, value))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// says returns what the variant needs, for a problem: type "plan" needs summary, plan.
func (v variant) says() string {
	var need, may []string
	for _, f := range v.fields {
		switch {
		case f.name == v.field:
		case v.needs(f.name):
			need = append(need, f.name)
		default:
			may = append(may, f.name)
		}
	}
	text := ""
	if v.field != "" {
		text = fmt.Sprintf("%s %q ", v.field, v.value)
	}
	if len(need) == 0 {
		text += "needs nothing else"
	} else {
		text += "needs " + strings.Join(need, ", ")
	}
	if len(may) > 0 {
		text += " and may have " + strings.Join(may, ", ")
	}
	return text
}

// A Property is a field of a schema.
type Property struct {
	Schema   json.RawMessage
	Required bool
}

// Fields yields the properties of a schema of an object, in the order in which they are
// authored; none if it has none.
func Fields(schema json.RawMessage) iter.Seq2[string, Property] {
	return func(yield func(string, Property) bool) {
		var o object
		if json.Unmarshal(schema, &o) != nil {
			return
		}
		for _, p := range o.Properties.members {
			if !yield(p.name, Property{p.schema, slices.Contains(o.Required, p.name)}) {
				return
			}
		}
	}
}

// Examples returns an example call for each variant of a result, a line each.
func Examples(o run.Output) string {
	var b strings.Builder
	for _, v := range variants(o.Schema) {
		what := v.title
		if what == "" {
			what = "the result"
		}
		fmt.Fprintf(&b, "For %s: %s", what, v.example(o.Tool))
		var optional []string
		for _, f := range v.fields {
			if !v.needs(f.name) {
				optional = append(optional, f.name)
			}
		}
		if len(optional) > 0 {
			fmt.Fprintf(&b, " (%s may be left out)", strings.Join(optional, ", "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Instructions returns what the system prompt of an agent says of the result that it has to
// submit.
func Instructions(o run.Output) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You MUST call the %s tool to submit your results. ", o.Tool)
	if w := Wire(o.Tool); w != o.Tool {
		fmt.Fprintf(&b, "It is the tool %s in your list of tools. ", w)
	}
	b.WriteString("Nothing else counts as your result: not a message, not a file. Call it once, as your last call.\n")
	if examples := Examples(o); examples != "" {
		b.WriteString("\n" + examples)
	}
	return b.String()
}
