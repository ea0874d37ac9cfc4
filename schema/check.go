package schema

import (
	"slices"
	"strings"
)

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// check refuses what has not the form of a schema, which would fail a whole
// request and not only this tool.
func (a *adapter) check() {
	for place, n := range all(a.root) {
		for _, name := range types(n) {
			if !slices.Contains(typeNames, name) {
				a.fail(place, "there is no type %q", clip(name, 40))
			}
		}
		for _, m := range n.members {
			v := m.value
			switch {
			case m.name == "type" && (v.kind != '"' && v.kind != '[' || len(types(n)) == 0),
				m.name == "required" && (v.kind != '[' || slices.ContainsFunc(v.items, notString)),
				m.name == "enum" && (v.kind != '[' || len(v.items) == 0),
				m.name == "$ref" && v.kind != '"',
				m.name == "description" && v.kind != '"',
				slices.Contains(mapOfSchemas, m.name) && m.name != "dependencies" && (v.kind != '{' || slices.ContainsFunc(v.members, notSchemaMember)),
				slices.Contains(listOfSchemas, m.name) && v.kind == '[' && slices.ContainsFunc(v.items, notSchema),
				slices.Contains([]string{"anyOf", "oneOf", "allOf"}, m.name) && len(v.items) == 0,
				slices.Contains(oneSchema, m.name) && !isSchema(v) && (m.name != "items" || v.kind != '['):
				a.fail(place, "%s is %s: that is no JSON Schema", clip(m.name, 40), clip(v.String(), 60))
			}
		}
	}
}

func notString(v *value) bool { return v.kind != '"' }

func notSchema(v *value) bool { return !isSchema(v) }

func notSchemaMember(m member) bool { return !isSchema(m.value) }

// oneNameForDefinitions makes definitions, the name of draft 7, to $defs, and the
// references with them.
func (a *adapter) oneNameForDefinitions() {
	old := a.root.get("definitions")
	if old == nil || !old.isObject() {
		return
	}
	if defs := a.root.get("$defs"); defs != nil {
		for _, m := range old.members {
			if defs.has(m.name) {
				a.fail("", "$defs and definitions both have %q", clip(m.name, 40))
			}
			defs.members = append(defs.members, m)
		}
		a.root.del("definitions")
	} else {
		a.root.rename("definitions", "$defs")
	}
	for _, n := range all(a.root) {
		if ref := n.get("$ref"); ref != nil {
			if name, ok := strings.CutPrefix(ref.text, "#/definitions/"); ok {
				n.set("$ref", newString("#/$defs/"+name))
			}
		}
	}
}

// refs refuses references that lead nowhere, out of the schema, or in a circle
// that the wire does not take.
func (a *adapter) refs() {
	for place, n := range all(a.root) {
		if ref := n.get("$ref"); ref != nil {
			if _, err := resolve(a.source, ref.text); err != nil {
				a.fail(place, "%v", err)
			}
		}
		if place != "" && n.has("$id") && a.wire.subset {
			a.fail(place, "$id gives references another meaning here")
		}
	}
	if a.wire.cycles == anyCycle {
		return
	}
	if place, found := inCycle(a.source, a.source, a.wire.cycles == optionalCycle); found {
		if a.wire.cycles == optionalCycle {
			a.fail(place, "it contains itself through fields that are all required")
		} else {
			a.fail(place, "it contains itself, which is not possible here")
		}
	}
}
