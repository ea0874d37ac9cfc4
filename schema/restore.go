package schema

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxRestore bounds how many schemas are looked at for one answer. Unions in
// unions, each tried, are the only way to get there.
const maxRestore = 100_000

// Restore takes out of an answer the nulls that [OpenAIStrict] forced on fields
// which are optional in the authored schema and may not be null there. Everything
// else stays byte for byte; an answer without such a null is returned as it is, and
// so is one that is no JSON, which Validate then says.
func (c *Compiled) Restore(answer json.RawMessage) json.RawMessage {
	tree, err := parse(answer, maxAnswerDepth)
	if err != nil || findNumber(tree, tooLarge) != nil || !bytes.Contains(answer, []byte("null")) {
		return answer
	}
	r := restorer{left: maxRestore}
	restored := r.value([]*jsonschema.Schema{c.schema}, nil, tree)
	if restored == tree || r.left <= 0 {
		return answer
	}
	return restored.appendKept(nil)
}

// appendKept writes v; what was not changed is written as it stood, white space
// and all.
func (v *value) appendKept(dst []byte) []byte {
	switch {
	case v.raw != nil:
		return append(dst, v.raw...)
	case v.kind == '{':
		dst = append(dst, '{')
		for i, m := range v.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, m.raw...), ':')
			dst = m.value.appendKept(dst)
		}
		return append(dst, '}')
	}
	dst = append(dst, '[')
	for i, item := range v.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item.appendKept(dst)
	}
	return append(dst, ']')
}

type restorer struct{ left int }

// value returns v without the nulls that were forced, v itself when there are
// none. All of the schemas hold for it; the others only may, and lend the names of
// their fields.
func (r *restorer) value(schemas, others []*jsonschema.Schema, v *value) *value {
	if r.left -= len(schemas) + 1; r.left <= 0 || v.kind != '{' && v.kind != '[' {
		return v
	}
	var all applicable
	for _, s := range schemas {
		r.collect(&all, s, v)
	}
	for _, s := range others {
		r.names(&all, s)
	}
	if v.kind == '[' {
		return r.array(all.schemas, v)
	}
	return r.object(all, v)
}

// applicable is what holds for one value, with its references followed and the
// branches of its unions chosen, and the others, which only lend names.
type applicable struct {
	schemas []*jsonschema.Schema
	others  []*jsonschema.Schema
}

func (r *restorer) collect(all *applicable, s *jsonschema.Schema, v *value) {
	if s == nil || r.left <= 0 || slices.Contains(all.schemas, s) {
		return
	}
	r.left--
	all.schemas = append(all.schemas, s)
	r.collect(all, s.Ref, v)
	r.collect(all, s.RecursiveRef, v)
	for _, part := range s.AllOf {
		r.collect(all, part, v)
	}
	for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(branches) == 0 {
			continue
		}
		// A union that was written out as one object has the fields of all its
		// branches, null where they are of another than was meant.
		others := slices.Concat(all.schemas, branches)
		fits := slices.IndexFunc(branches, func(b *jsonschema.Schema) bool {
			return valid(b, r.value([]*jsonschema.Schema{b}, others, v))
		})
		for i, b := range branches {
			if i == fits || fits < 0 {
				r.collect(all, b, v)
			} else {
				r.names(all, b)
			}
		}
	}
	if s.If != nil {
		if valid(s.If, v) {
			r.collect(all, s.Then, v)
		} else {
			r.collect(all, s.Else, v)
		}
	}
	for name, dependent := range s.DependentSchemas {
		if v.has(name) {
			r.collect(all, dependent, v)
		}
	}
}

// names keeps a schema that may not hold, for the names of its fields.
func (r *restorer) names(all *applicable, s *jsonschema.Schema) {
	if s == nil || r.left <= 0 || slices.Contains(all.others, s) {
		return
	}
	r.left--
	all.others = append(all.others, s)
	r.names(all, s.Ref)
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, part := range list {
			r.names(all, part)
		}
	}
}

func (r *restorer) object(all applicable, v *value) *value {
	var kept []member
	changed := false
	for _, m := range v.members {
		schemas, required, declared := fieldSchemas(all, m.name)
		if m.value.kind == 'n' && !required && declared &&
			(len(schemas) == 0 || slices.ContainsFunc(schemas, refusesNull)) {
			changed = true
			continue
		}
		child := r.value(schemas, nil, m.value)
		changed = changed || child != m.value
		kept = append(kept, member{m.name, m.raw, child})
	}
	if !changed {
		return v
	}
	return newObject(kept...)
}

// fieldSchemas returns the schemas that hold for a field, whether it is required,
// and whether any schema knows of it: one that none declares is an answer's own
// mistake, and stays for Validate to tell.
func fieldSchemas(all applicable, name string) (schemas []*jsonschema.Schema, required, declared bool) {
	for _, s := range all.schemas {
		required = required || slices.Contains(s.Required, name)
		if p := s.Properties[name]; p != nil {
			schemas = append(schemas, p)
			continue
		}
		matched := false
		for pattern, p := range s.PatternProperties {
			if pattern.MatchString(name) {
				schemas, matched = append(schemas, p), true
			}
		}
		if p, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && !matched {
			schemas = append(schemas, p)
		}
	}
	declared = len(schemas) > 0
	for _, s := range all.others {
		declared = declared || s.Properties[name] != nil
	}
	return schemas, required, declared
}

func (r *restorer) array(schemas []*jsonschema.Schema, v *value) *value {
	items := make([]*value, len(v.items))
	changed := false
	for i, item := range v.items {
		var hold []*jsonschema.Schema
		for _, s := range schemas {
			if p := itemSchema(s, i); p != nil {
				hold = append(hold, p)
			}
		}
		items[i] = r.value(hold, nil, item)
		changed = changed || items[i] != item
	}
	if !changed {
		return v
	}
	return newArray(items...)
}

// itemSchema returns what holds for an item, in the words of any draft.
func itemSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		return items
	case []*jsonschema.Schema:
		if i < len(items) {
			return items[i]
		}
		additional, _ := s.AdditionalItems.(*jsonschema.Schema)
		return additional
	}
	return s.Items2020
}

func refusesNull(s *jsonschema.Schema) bool { return s.Validate(nil) != nil }

func valid(s *jsonschema.Schema, v *value) bool {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(v.append(nil)))
	return err == nil && s.Validate(doc) == nil
}
