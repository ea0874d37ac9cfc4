package schema

import (
	"bytes"
	"encoding/json"
	"slices"
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
	r := restorer{Compiled: c, left: maxRestore}
	restored := r.value([]*value{c.root}, nil, tree)
	if restored == tree || r.left <= 0 {
		return answer
	}
	return restored.write(nil, true)
}

type restorer struct {
	*Compiled
	left int
}

// value returns v without the nulls that were forced, v itself when there are
// none. All of the schemas hold for it; the others only may, and lend the names of
// their fields.
func (r *restorer) value(schemas, others []*value, v *value) *value {
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
	schemas []*value
	others  []*value
}

func (r *restorer) collect(all *applicable, s *value, v *value) {
	if s == nil || r.left <= 0 || slices.Contains(all.schemas, s) {
		return
	}
	r.left--
	all.schemas = append(all.schemas, s)
	r.collect(all, r.refs[s], v)
	for _, part := range s.get("allOf").elements() {
		r.collect(all, part, v)
	}
	for _, branches := range [][]*value{s.get("anyOf").elements(), s.get("oneOf").elements()} {
		if len(branches) == 0 {
			continue
		}
		// A union that was written out as one object has the fields of all its
		// branches, null where they are of another than was meant.
		others := slices.Concat(all.schemas, branches)
		fits := slices.IndexFunc(branches, func(b *value) bool {
			return r.fits(b, r.value([]*value{b}, others, v))
		})
		for i, b := range branches {
			if i == fits || fits < 0 {
				r.collect(all, b, v)
			} else {
				r.names(all, b)
			}
		}
	}
	if condition := s.get("if"); condition != nil {
		if r.fits(condition, v) {
			r.collect(all, s.get("then"), v)
		} else {
			r.collect(all, s.get("else"), v)
		}
	}
	for _, keyword := range []string{"dependentSchemas", "dependencies"} {
		for _, d := range s.get(keyword).list() {
			if v.has(d.name) && isSchema(d.value) {
				r.collect(all, d.value, v)
			}
		}
	}
}

// names keeps a schema that may not hold, for the names of its fields.
func (r *restorer) names(all *applicable, s *value) {
	if s == nil || r.left <= 0 || slices.Contains(all.others, s) {
		return
	}
	r.left--
	all.others = append(all.others, s)
	r.names(all, r.refs[s])
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		for _, part := range s.get(keyword).elements() {
			r.names(all, part)
		}
	}
}

func (r *restorer) object(all applicable, v *value) *value {
	var kept []member
	changed := false
	for _, m := range v.members {
		schemas, required, declared := r.fieldSchemas(all, m.name)
		if m.value.kind == 'n' && !required && declared &&
			(len(schemas) == 0 || slices.ContainsFunc(schemas, r.refusesNull)) {
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
func (r *restorer) fieldSchemas(all applicable, name string) (schemas []*value, required, declared bool) {
	for _, s := range all.schemas {
		required = required || slices.Contains(s.get("required").names(), name)
		if p := s.get("properties").get(name); p != nil {
			schemas = append(schemas, p)
			continue
		}
		matched := false
		for _, p := range s.get("patternProperties").list() {
			if re := r.patterns[p.name]; re == nil || re.MatchString(name) {
				schemas, matched = append(schemas, p.value), true
			}
		}
		if p := s.get("additionalProperties"); p.isObject() && !matched {
			schemas = append(schemas, p)
		}
	}
	declared = len(schemas) > 0
	for _, s := range all.others {
		declared = declared || s.get("properties").has(name)
	}
	return schemas, required, declared
}

func (r *restorer) array(schemas []*value, v *value) *value {
	items := make([]*value, len(v.items))
	changed := false
	for i, item := range v.items {
		var hold []*value
		for _, s := range schemas {
			if p := itemSchema(s, i); p.isObject() {
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

func (r *restorer) refusesNull(s *value) bool { return !r.fits(s, newLiteral("null")) }
