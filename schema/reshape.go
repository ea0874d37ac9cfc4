package schema

import (
	"slices"
	"strings"
)

// maxChain bounds references to references.
const maxChain = 50

// reshape writes what the wire does not take in another form that it takes, and
// returns what got lost by it, in words.
func (a *adapter) reshape(n *value, place string) (say []string) {
	say = append(say, a.expand(n, place)...)
	say = append(say, a.arrays(n)...)
	say = append(say, a.booleans(n, place)...)
	if oneOf := n.get("oneOf"); oneOf != nil {
		if n.has("anyOf") {
			n.del("oneOf")
			say = append(say, a.second(member{name: "oneOf", value: oneOf}, place))
		} else {
			n.rename("oneOf", "anyOf")
			if len(oneOf.items) > 1 {
				say = append(say, "exactly one of these")
			}
		}
	}
	if c := n.get("const"); c != nil && a.wire.verdictOn("const", c) == rewriteKeyword {
		if !n.has("type") {
			if t := inferTypes(n); t != nil {
				n.members = slices.Insert(n.members, 0, newMember("type", t))
			}
		}
		n.del("enum") // const says more
		n.rename("const", "enum")
		n.set("enum", newArray(c))
	}
	if a.wire.typed && n.has("anyOf") {
		say = append(say, a.distribute(n, place)...)
	}
	return say
}

// expand replaces references that cannot stay as they are, and allOf, by what they
// mean, until nothing of it is left.
func (a *adapter) expand(n *value, place string) (say []string) {
	for range maxChain {
		ref, allOf := n.get("$ref"), n.get("allOf")
		switch {
		case a.err != nil:
			return say
		case allOf != nil:
			if slices.ContainsFunc(allOf.items, func(part *value) bool { return part.kind == 'f' }) {
				a.fail(place, "allOf holds false: nothing fits")
			}
			say = append(say, a.mergeAllOf(n, place)...)
		case ref == nil || a.mayStay(n, ref):
			return say
		default:
			target, err := resolve(a.source, ref.text)
			if err != nil {
				a.fail(place, "%v", err)
				return say
			}
			if a.isEndless(target) {
				if n.has("anyOf") || !isDefinition(ref.text) {
					a.fail(place, "$ref %s cannot be had here beside other keywords", clip(ref.text, 100))
					return say
				}
				n.del("$ref")
				n.set("anyOf", newArray(newObject(newMember("$ref", ref))))
				return say
			}
			say = append(say, a.writeOut(n, place)...)
		}
	}
	a.fail(place, "its references go on and on")
	return say
}

// mergeAllOf puts what the parts of allOf ask into n.
func (a *adapter) mergeAllOf(n *value, place string) (say []string) {
	allOf := n.get("allOf")
	n.del("allOf")
	for _, part := range allOf.items {
		if part.isObject() {
			part = a.copy(part, place)
			say = append(say, a.writeOut(part, place)...)
			say = append(say, a.merge(n, part, place)...)
		}
	}
	return say
}

// isEndless reports whether a schema written out would never end.
func (a *adapter) isEndless(target *value) bool {
	endless, known := a.endless[target]
	if !known {
		_, endless = inCycle(a.source, target, false)
		if a.endless == nil {
			a.endless = map[*value]bool{}
		}
		a.endless[target] = endless
	}
	return endless
}

// writeOut puts what n refers to in the place of the reference.
func (a *adapter) writeOut(n *value, place string) (say []string) {
	for range maxChain {
		ref := n.get("$ref")
		if ref == nil || a.err != nil {
			return say
		}
		target, err := resolve(a.source, ref.text)
		if err != nil {
			a.fail(place, "%v", err)
			return say
		}
		n.del("$ref")
		a.inlined = true
		switch target.kind {
		case '{':
			say = append(say, a.merge(n, a.copy(target, place), place)...)
		case 'f':
			a.fail(place, "$ref %s is false: nothing fits", clip(ref.text, 100))
		}
	}
	a.fail(place, "its references go on and on")
	return say
}

// mayStay reports whether a reference is as wires take it: to a definition or to
// the root, and alone.
func (a *adapter) mayStay(n, ref *value) bool {
	alone := !slices.ContainsFunc(n.members, func(m member) bool { return !strings.HasPrefix(m.name, "$") })
	return alone && isDefinition(ref.text)
}

func isDefinition(ref string) bool {
	name, ok := strings.CutPrefix(ref, "#/$defs/")
	return ref == "#" || ok && !strings.Contains(name, "/")
}

// copy returns a copy of a schema that a reference means. Definitions that refer
// to each other twice and twice again would fill the memory: there is a bound.
func (a *adapter) copy(n *value, place string) *value {
	if a.nodes += n.size(); a.nodes > maxNodes {
		a.fail(place, "with its references written out it is too large")
		return newObject()
	}
	return n.clone()
}

// merge puts what from asks into n, so that n asks for both, and returns in words
// what could not be put together. An annotation of n counts before one of from.
func (a *adapter) merge(n, from *value, place string) (say []string) {
	for _, m := range from.members {
		mine := n.get(m.name)
		if mine == nil {
			n.members = append(n.members, m)
			continue
		}
		if equal(mine, m.value) {
			continue
		}
		switch m.name {
		case "description", "title", "default", "examples", "$comment", "$schema", "$id", "deprecated", "readOnly", "writeOnly":
		case "required":
			n.set("required", newStrings(union(mine.names(), m.value.names())))
		case "properties":
			both := mine.clone()
			for _, p := range m.value.members {
				if old := both.get(p.name); old != nil && old.isObject() && p.value.isObject() {
					merged := old.clone()
					say = append(say, a.merge(merged, p.value, below(place, "properties", p.name))...)
					both.set(p.name, merged)
				} else if old == nil || old.kind == 't' || p.value.kind == 'f' {
					both.set(p.name, p.value)
				}
			}
			n.set("properties", both)
		case "type":
			if both := commonTypes(types(n), types(from)); len(both) == 1 {
				n.set("type", newString(both[0]))
			} else if len(both) > 1 {
				n.set("type", newStrings(both))
			} else {
				a.fail(place, "it is to be %s and %s at once", jsonWords(mine), jsonWords(m.value))
			}
		case "enum":
			both := newArray()
			for _, v := range mine.items {
				if slices.ContainsFunc(m.value.items, func(w *value) bool { return equal(v, w) }) {
					both.items = append(both.items, v)
				}
			}
			if len(both.items) == 0 {
				a.fail(place, "its enums have no value in common")
			}
			n.set("enum", both)
		case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
			if x, y := bounds(mine, m.value); y > x {
				n.set(m.name, m.value)
			}
		case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
			if x, y := bounds(mine, m.value); y < x {
				n.set(m.name, m.value)
			}
		case "additionalProperties":
			if m.value.is("false") {
				n.set(m.name, m.value)
			}
		case "$defs":
			for _, d := range m.value.members {
				if !mine.has(d.name) {
					mine.members = append(mine.members, d)
				}
			}
		case "allOf":
			mine.items = append(mine.items, m.value.items...)
		default:
			say = append(say, a.second(m, place))
		}
	}
	return say
}

// second says a keyword that stands where there is already one of that name. Of
// two unions only one can be enforced, with the fields of that one alone.
func (a *adapter) second(m member, place string) string {
	if a.wire.closed && (m.name == "anyOf" || m.name == "oneOf") {
		a.fail(place, "it has two unions at once")
	}
	return "also " + wordsOf(m)
}

func bounds(a, b *value) (x, y float64) {
	x, _ = a.number()
	y, _ = b.number()
	return x, y
}

// union returns the names of both lists, each once, in their order.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// commonTypes returns the types that both lists allow: an integer is a number.
func commonTypes(a, b []string) []string {
	var common []string
	for _, t := range a {
		switch {
		case slices.Contains(b, t):
			common = append(common, t)
		case t == "integer" && slices.Contains(b, "number"), t == "number" && slices.Contains(b, "integer"):
			common = append(common, "integer")
		}
	}
	return common
}

// arrays writes the tuples of draft 7 as prefixItems, and prefixItems, where the
// wire has none, as items that may each be any of them.
func (a *adapter) arrays(n *value) (say []string) {
	if items := n.get("items"); items != nil && items.kind == '[' {
		n.rename("items", "prefixItems")
		if additional := n.get("additionalItems"); additional != nil {
			n.rename("additionalItems", "items")
		}
	}
	n.del("additionalItems") // without a tuple it means nothing
	prefix := n.get("prefixItems")
	if prefix != nil && a.wire.verdictOn("prefixItems", prefix) == rewriteKeyword {
		each := newArray()
		add := func(v *value) {
			if !slices.ContainsFunc(each.items, func(w *value) bool { return equal(v, w) }) {
				each.items = append(each.items, v)
			}
		}
		for _, item := range prefix.items {
			add(item)
		}
		rest := n.get("items")
		if rest.isObject() {
			add(rest)
		}
		items := newObject(newMember("anyOf", each))
		if len(each.items) == 1 {
			items = each.items[0]
		}
		n.setAfter("prefixItems", "items", items)
		lost := []member{{name: "prefixItems", value: prefix}}
		if rest.is("false") {
			lost = append(lost, member{name: "items", value: rest})
		}
		n.del("prefixItems")
		say = words(lost)
	}
	if items := n.get("items"); a.wire.typed && !a.wire.complete && items != nil && (items.kind == 't' || items.isObject() && len(items.members) == 0) {
		n.del("items") // an array of anything: without items it is taken, with untyped ones it is not
	}
	return say
}

// booleans writes true as {}, and takes out what is false: a field that may not be
// given, a branch that nothing fits.
func (a *adapter) booleans(n *value, place string) (say []string) {
	if props := n.get("properties"); props != nil && props.isObject() {
		for _, m := range slices.Clone(props.members) {
			switch m.value.kind {
			case 't':
				props.set(m.name, newObject())
			case 'f':
				props.del(m.name)
				say = append(say, m.name+" may not be given")
			}
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list := n.get(keyword); list != nil {
			list.items = slices.DeleteFunc(list.items, func(v *value) bool { return v.kind == 'f' })
			if len(list.items) == 0 {
				a.fail(place, "%s holds nothing but false: nothing fits", keyword)
			}
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf", "prefixItems"} {
		list := n.get(keyword).elements()
		for i, v := range list {
			if v.kind == 't' {
				list[i] = newObject()
			}
		}
	}
	switch items := n.get("items"); {
	case items.is("true"):
		n.set("items", newObject())
	case items.is("false"):
		n.del("items")
		say = append(say, words([]member{{name: "items", value: items}})...)
	}
	return say
}

// distribute moves what stands beside anyOf into its branches: an enforced wire
// wants each branch whole. Branches that only require fields are said in words.
func (a *adapter) distribute(n *value, place string) (say []string) {
	anyOf := n.get("anyOf")
	beside := newObject()
	for _, m := range n.members {
		if m.name != "anyOf" && m.name != "description" && m.name != "title" && !strings.HasPrefix(m.name, "$") {
			beside.members = append(beside.members, m)
		}
	}
	if len(beside.members) == 0 {
		return nil
	}
	if !slices.ContainsFunc(anyOf.items, func(b *value) bool { return !onlyRequires(b) }) {
		n.del("anyOf")
		var choices []string
		for _, b := range anyOf.items {
			choices = append(choices, strings.Join(b.get("required").names(), " and "))
		}
		return []string{"needs " + strings.Join(choices, ", or ")}
	}
	for i, branch := range anyOf.items {
		if !branch.isObject() {
			continue
		}
		whole := a.copy(branch, place)
		say = append(say, a.expand(whole, place)...)
		if !whole.has("$ref") {
			// The fields common to all branches stand first, as they were written.
			first := a.copy(beside, place)
			say = append(say, a.merge(first, whole, place)...)
			whole = first
		}
		anyOf.items[i] = whole
	}
	for _, m := range beside.members {
		n.del(m.name)
	}
	return say
}

// onlyRequires reports whether a schema asks for nothing but some fields.
func onlyRequires(n *value) bool {
	return n.isObject() && n.has("required") && !slices.ContainsFunc(n.members, func(m member) bool {
		return !slices.Contains([]string{"required", "title", "description"}, m.name)
	})
}
