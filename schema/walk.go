package schema

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Where schemas stand in a schema: as a keyword's value, in a list, or by name.
var (
	oneSchema = []string{"items", "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if",
		"not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	listOfSchemas = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	mapOfSchemas  = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

// A child is a schema right below another one: true and false are schemas too.
type child struct {
	*value
	place   string
	keyword string // under which it stands
	name    string // of the property or definition, or the index
}

// isDefinition reports whether the child only counts where it is referred to.
func (c child) isDefinition() bool { return c.keyword == "$defs" || c.keyword == "definitions" }

// children returns the schemas right below n in the order in which they are written.
func children(n *value, place string) []child {
	var found []child
	add := func(v *value, keyword, name string) {
		if isSchema(v) {
			found = append(found, child{v, below(place, keyword, name), keyword, name})
		}
	}
	for _, m := range n.members {
		v := m.value
		switch {
		case isSchema(v) && slices.Contains(oneSchema, m.name):
			add(v, m.name, "")
		case v.kind == '[' && slices.Contains(listOfSchemas, m.name):
			for i, item := range v.items {
				add(item, m.name, strconv.Itoa(i))
			}
		case v.kind == '{' && slices.Contains(mapOfSchemas, m.name):
			for _, p := range v.members {
				add(p.value, m.name, p.name)
			}
		}
	}
	return found
}

// all yields every schema in n that is an object, n first.
func all(n *value) iter.Seq2[string, *value] {
	return func(yield func(string, *value) bool) { each("", n, yield) }
}

func each(place string, n *value, yield func(string, *value) bool) bool {
	if !n.isObject() {
		return true
	}
	if !yield(place, n) {
		return false
	}
	for _, c := range children(n, place) {
		if !each(c.place, c.value, yield) {
			return false
		}
	}
	return true
}

// below returns the place of a schema below place: what a value there is called.
func below(place, keyword, name string) string {
	switch keyword {
	case "properties":
		if place == "" {
			return name
		}
		return place + "." + name
	case "items":
		if name == "" {
			return place + "[]"
		}
		return place + "[" + name + "]"
	case "prefixItems":
		return place + "[" + name + "]"
	case "additionalProperties", "patternProperties", "unevaluatedProperties":
		return place + ".*"
	case "$defs", "definitions":
		return "$defs/" + name
	}
	return place // a branch is about the same value
}

// at joins a place and what is said of it.
func at(place, what string) string {
	if place == "" {
		return what
	}
	return place + ": " + what
}

// placed names a place in an error.
func placed(place string) string {
	if place == "" {
		return "the root"
	}
	return place
}

// resolve returns what a reference within a schema points to.
func resolve(root *value, ref string) (*value, error) {
	pointer, local := strings.CutPrefix(ref, "#")
	switch {
	case !local:
		return nil, fmt.Errorf("$ref %s leads out of the schema, and nothing outside it is read", clip(ref, 100))
	case pointer == "":
		return root, nil
	case pointer[0] != '/':
		for _, n := range all(root) {
			if anchor := n.get("$anchor"); anchor != nil && anchor.text == pointer {
				return n, nil
			}
		}
		return nil, fmt.Errorf("$ref %s: there is no such $anchor", clip(ref, 100))
	}
	v := root
	for _, part := range strings.Split(pointer[1:], "/") {
		part = unescape(part)
		switch v.kind {
		case '{':
			v = v.get(part)
		case '[':
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v.items) {
				v = nil
			} else {
				v = v.items[i]
			}
		default:
			v = nil
		}
		if v == nil {
			return nil, fmt.Errorf("$ref %s: there is nothing of that name", clip(ref, 100))
		}
	}
	if !isSchema(v) {
		return nil, fmt.Errorf("$ref %s: that is no schema", clip(ref, 100))
	}
	return v, nil
}

// unescape returns a part of a JSON Pointer in a URI fragment as it is called.
func unescape(part string) string {
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		if part[i] == '%' && i+2 < len(part) {
			if c, err := strconv.ParseUint(part[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(part[i])
	}
	return pointerEscapes.Replace(b.String())
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// inCycle returns the place of a reference that leads back to a schema it stands
// in, "" and false when there is none. Below an optional property is not looked at
// when mayBeOptional is set.
func inCycle(root, from *value, mayBeOptional bool) (string, bool) {
	const open, done = 1, 2
	state := map[*value]int{}
	var visit func(place string, n *value) (string, bool)
	visit = func(place string, n *value) (string, bool) {
		if !n.isObject() || state[n] == done {
			return "", false
		}
		if state[n] == open {
			return place, true
		}
		state[n] = open
		defer func() { state[n] = done }()
		if ref := n.get("$ref"); ref != nil {
			if target, err := resolve(root, ref.text); err == nil {
				if p, found := visit(place, target); found {
					return p, true
				}
			}
		}
		required := setOf(n.get("required").names())
		for _, c := range children(n, place) {
			if c.isDefinition() || mayBeOptional && c.keyword == "properties" && !required[c.name] {
				continue
			}
			if p, found := visit(c.place, c.value); found {
				return p, true
			}
		}
		return "", false
	}
	return visit("", from)
}

// types returns the types that a schema names.
func types(n *value) []string { return n.get("type").names() }

func isObjectSchema(n *value) bool {
	return slices.Contains(types(n), "object") || n.has("properties")
}

func isArraySchema(n *value) bool {
	return slices.Contains(types(n), "array") || n.has("items")
}
