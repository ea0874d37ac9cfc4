package schema

import "fmt"

// limits refuses what is larger than the wire takes.
func (a *adapter) limits() {
	if a.err != nil {
		return
	}
	l := a.wire.limits
	over := func(place, what string, n, most int) {
		if most > 0 && n > most {
			a.fail(place, "it has %d %s; at most %d are taken here", n, what, most)
		}
	}
	var properties, enums, characters, optional, unions int
	for place, n := range all(a.root) {
		required := setOf(n.get("required").names())
		for _, m := range n.get("properties").list() {
			properties++
			characters += len([]rune(m.name))
			if !required[m.name] {
				optional++
			}
			if m.value.has("anyOf") || len(types(m.value)) > 1 {
				unions++
			}
			if a.wire.plainNames && place == "" && !plainName(m.name) {
				a.fail(place, "the name of its field %q is refused here: it must match %s", clip(m.name, 80), plainNamePattern)
			}
		}
		for _, name := range n.get("$defs").names() {
			characters += len([]rune(name))
		}
		if enum := n.get("enum"); enum != nil {
			long := 0
			for _, v := range enum.items {
				long += len([]rune(v.text))
			}
			enums += len(enum.items)
			characters += long
			if len(enum.items) > longEnumOver {
				over(place, fmt.Sprintf("characters in an enum of more than %d values", longEnumOver), long, l.longEnum)
			}
		}
	}
	over("", "properties", properties, l.properties)
	over("", "levels", depth(a.root), l.depth)
	over("", "enum values", enums, l.enum)
	over("", "characters in names and values", characters, l.characters)
	over("", "optional properties", optional, l.optional)
	over("", "properties of several types", unions, l.unions)
}

// depth returns how many properties and items are below each other.
func depth(n *value) int {
	deepest := 0
	for _, c := range children(n, "") {
		d := depth(c.value)
		if c.keyword == "properties" || c.keyword == "items" {
			d++
		}
		deepest = max(deepest, d)
	}
	return deepest
}

// distinct refuses unions in which a model could not tell by the first field which
// branch it has begun.
func (a *adapter) distinct() {
	if a.err != nil || !a.wire.distinct {
		return
	}
	for place, n := range all(a.root) {
		first := map[string][]*value{} // by name
		for _, b := range n.get("anyOf").elements() {
			if ref := b.get("$ref"); ref != nil {
				if target, err := resolve(a.root, ref.text); err == nil {
					b = target
				}
			}
			props := b.get("properties").list()
			if len(props) == 0 {
				continue
			}
			name, mark := props[0].name, single(props[0].value)
			for _, other := range first[name] {
				if mark == nil || other == nil || equal(mark, other) {
					a.fail(place, "several branches of its anyOf begin with the field %q, which does not tell them apart", clip(name, 40))
					return
				}
			}
			first[name] = append(first[name], mark)
		}
	}
}

// single returns the one value that a schema allows, nil when there are others.
func single(n *value) *value {
	if c := n.get("const"); c != nil {
		return c
	}
	if enum := n.get("enum").elements(); len(enum) == 1 {
		return enum[0]
	}
	return nil
}
