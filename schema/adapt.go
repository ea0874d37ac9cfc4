package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An adapter changes one schema, in place, into what a wire takes.
type adapter struct {
	wire    wire
	root    *value
	source  *value // the root as it was before anything changed: what references mean
	notes   []string
	nodes   int             // copied so far: references can make a small schema huge
	inlined bool            // a reference was replaced by what it means
	endless map[*value]bool // of schemas in source: they lead to a circle
	err     error
}

// fail keeps the first reason why the schema cannot be had.
func (a *adapter) fail(place, format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("%s: %s", placed(place), fmt.Sprintf(format, args...))
	}
}

func (a *adapter) run() error {
	if !a.root.isObject() {
		return fmt.Errorf("the root: it is no JSON object")
	}
	a.check()
	if a.wire.subset {
		a.oneNameForDefinitions()
	}
	a.source = a.root.clone()
	a.refs()
	a.rootIsAnObject()
	if a.err == nil {
		a.schema(a.root, "")
	}
	if a.inlined || a.wire.subset {
		a.dropUnused()
	}
	a.limits()
	a.distinct()
	return a.err
}

// schema adapts the schema n and all below it.
func (a *adapter) schema(n *value, place string) {
	if a.err != nil || !n.isObject() {
		return // true and false, on wires that take all
	}
	if a.wire.subset {
		say := a.reshape(n, place)
		a.describe(n, place, append(say, a.keywords(n, place)...))
	}
	if a.wire.typed && a.err == nil {
		a.sayType(n, place)
	}
	if a.wire.complete && isArraySchema(n) && !n.has("items") {
		if a.wire.typed {
			a.fail(place, "it does not say of what type its items are")
		}
		n.set("items", newObject())
	}
	for _, c := range children(n, place) {
		a.schema(c.value, c.place)
	}
	if a.wire.closed && a.err == nil && isObjectSchema(n) {
		a.close(n, place)
	}
}

// sayType gives a schema the type that it must mean.
func (a *adapter) sayType(n *value, place string) {
	if n.has("type") || n.has("anyOf") || n.has("$ref") {
		return
	}
	inferred := inferTypes(n)
	if inferred == nil {
		a.fail(place, "it has no type: anything may stand there, which cannot be enforced")
		return
	}
	n.members = slices.Insert(n.members, 0, newMember("type", inferred))
}

// keywords takes out what the wire does not take and returns what is to be said.
func (a *adapter) keywords(n *value, place string) (say []string) {
	var taken []member
	for _, m := range slices.Clone(n.members) {
		switch v := a.wire.verdictOn(m.name, m.value); {
		case v == describeKeyword:
			n.del(m.name)
			taken = append(taken, m)
		case v == dropKeyword:
			n.del(m.name)
			if m.name == "title" && !n.has("description") && m.value.kind == '"' {
				n.set("description", newString(m.value.text)) // the only words there are
			}
		case v == rejectKeyword && m.name != "additionalProperties": // close knows more of that one
			a.fail(place, "%s cannot be had here", m.name)
		}
	}
	return words(taken)
}

// close makes an object schema one that takes the declared fields and no others.
func (a *adapter) close(n *value, place string) {
	props, additional := n.get("properties"), n.get("additionalProperties")
	if additional == nil || !additional.is("false") {
		// At the root, properties: {} without more is how a tool says that it takes
		// no arguments. Anywhere else an object without declared fields is one whose
		// fields have any name, and it could only ever be {} here.
		noArguments := place == "" && props != nil && additional == nil
		switch {
		case len(props.names()) == 0 && !noArguments:
			a.fail(place, "its fields have any name: they would all be lost here")
			return
		case additional != nil && a.wire.verdictOn("additionalProperties", additional) == rejectKeyword:
			a.fail(place, "it takes fields beside the declared ones, which cannot be had here")
			return
		case additional != nil:
			a.describe(n, place, []string{"no other fields can be given"})
		}
	}
	if props == nil {
		props = newObject()
		n.setAfter("type", "properties", props)
	}
	names, required := props.names(), n.get("required").names()
	declared := setOf(names)
	for _, name := range required {
		if !declared[name] {
			a.fail(place, "it requires %q and does not declare it", clip(name, 40))
			return
		}
	}
	if a.wire.allRequired {
		given := setOf(required)
		for _, m := range props.members {
			if !given[m.name] {
				nullable(m.value)
			}
		}
		if !n.has("required") || !maps.Equal(declared, setOf(required)) {
			n.setAfter("properties", "required", newStrings(names))
		}
	}
	if additional == nil || !additional.is("false") {
		n.set("additionalProperties", newLiteral("false"))
	}
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// nullable lets a schema take null beside what it takes: how a field is left out
// where every field is required.
func nullable(n *value) {
	null := newString("null")
	switch {
	case n.has("anyOf"):
		anyOf := n.get("anyOf")
		for _, branch := range anyOf.items {
			if slices.Contains(types(branch), "null") {
				return
			}
		}
		anyOf.items = append(anyOf.items, newObject(newMember("type", null)))
	case n.has("const") && !n.get("const").is("null"), n.has("$ref"):
		inner := newObject()
		var outer []member
		for _, m := range n.members {
			if m.name == "description" || m.name == "title" {
				outer = append(outer, m)
			} else {
				inner.members = append(inner.members, m)
			}
		}
		n.members = append(outer, newMember("anyOf", newArray(inner, newObject(newMember("type", null)))))
	default:
		if t := n.get("type"); t != nil && !slices.Contains(types(n), "null") {
			n.set("type", newStrings(append(types(n), "null")))
		}
		if enum := n.get("enum"); enum != nil && !slices.ContainsFunc(enum.items, func(v *value) bool { return v.is("null") }) {
			enum.items = append(enum.items, newLiteral("null"))
		}
	}
}

// inferTypes returns the type that a schema must mean which does not say one, nil
// when it could be anything.
func inferTypes(n *value) *value {
	var found []string
	add := func(name string) {
		if !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	values := newArray()
	if enum := n.get("enum"); enum != nil {
		values = enum
	} else if c := n.get("const"); c != nil {
		values = newArray(c)
	}
	for _, v := range values.items {
		switch v.kind {
		case '"':
			add("string")
		case '0':
			add("number")
		case 't', 'f':
			add("boolean")
		case 'n':
			add("null")
		}
	}
	if len(found) == 0 {
		switch {
		case n.has("properties"):
			add("object")
		case n.has("items"):
			add("array")
		}
	}
	switch len(found) {
	case 0:
		return nil
	case 1:
		return newString(found[0])
	}
	return newStrings(found)
}

// describe puts what was taken out into the description of the schema where it
// stood.
func (a *adapter) describe(n *value, place string, say []string) {
	if len(say) == 0 {
		return
	}
	for _, s := range say {
		a.notes = append(a.notes, at(place, s))
	}
	n.set("description", newString(joinWords(n.get("description"), say)))
}

// dropUnused takes out the definitions that nothing refers to any more.
func (a *adapter) dropUnused() {
	if a.err != nil {
		return
	}
	used := map[*value]bool{}
	var visit func(n *value)
	visit = func(n *value) {
		if !n.isObject() || used[n] {
			return
		}
		used[n] = true
		if ref := n.get("$ref"); ref != nil {
			if part := strings.Split(ref.text, "/"); len(part) > 2 {
				visit(a.root.get(part[1]).get(unescape(part[2]))) // #/$defs/name, or below it
			}
		}
		for _, c := range children(n, "") {
			if n != a.root || !c.isDefinition() {
				visit(c.value)
			}
		}
	}
	visit(a.root)
	for _, keyword := range []string{"$defs", "definitions"} {
		defs := a.root.get(keyword)
		if defs == nil {
			continue
		}
		defs.members = slices.DeleteFunc(defs.members, func(m member) bool { return !used[m.value] && !m.value.has("$anchor") })
		if len(defs.members) == 0 {
			a.root.del(keyword)
		}
	}
}
