package schema

import (
	"slices"
	"strings"
)

// rootIsAnObject gives the root the form that arguments and answers have: one
// object. Wires refuse a union there, or a reference, and do not say which tool it
// was.
func (a *adapter) rootIsAnObject() {
	if a.err != nil {
		return
	}
	n := a.root
	if n.has("$ref") {
		a.describe(n, "", a.writeOut(n, ""))
	}
	switch has := types(n); {
	case len(has) == 0:
		n.members = slices.Insert(n.members, 0, newMember("type", newString("object")))
	case !slices.Contains(has, "object"):
		a.fail("", "it is to be %s: arguments and answers are objects", strings.Join(has, " or "))
	case len(has) > 1:
		n.set("type", newString("object"))
	}
	for _, keyword := range a.wire.rootOnly {
		v := n.get(keyword)
		switch {
		case v == nil:
		case keyword == "allOf" || keyword == "anyOf" || keyword == "oneOf":
			a.describe(n, "", a.flatten(n))
		default:
			n.del(keyword)
			a.describe(n, "", words([]member{{name: keyword, value: v}}))
		}
	}
	if a.wire.complete && !a.wire.closed && !n.has("properties") {
		n.setAfter("type", "properties", newObject())
	}
}

// flatten makes one object of an object schema with allOf, anyOf and oneOf: it
// has the fields of all branches and requires those that all of them require.
// Which fields go together is returned in words; the answer is held against the
// authored schema anyway.
func (a *adapter) flatten(n *value) (say []string) {
	say = append(say, a.writeOut(n, "")...)
	for i := 0; i < maxChain && n.has("allOf"); i++ {
		say = append(say, a.mergeAllOf(n, "")...)
	}
	if n.has("allOf") {
		a.fail("", "its allOf goes on and on")
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list := n.get(keyword)
		if list == nil || a.err != nil {
			continue
		}
		n.del(keyword)
		var branches []*value
		for _, b := range list.items {
			if b.kind == 'f' {
				continue
			}
			branch := newObject()
			if b.isObject() {
				branch = a.copy(b, "")
				say = append(say, a.flatten(branch)...)
			}
			if has := types(branch); len(has) > 0 && !slices.Contains(has, "object") {
				a.fail("", "a branch of its %s is %s: arguments and answers are objects", keyword, strings.Join(has, " or "))
			}
			branches = append(branches, branch)
		}
		say = append(say, a.join(n, branches, keyword == "oneOf"))
	}
	return say
}

// join puts the fields of the branches of a union into n and returns in words
// which go together.
func (a *adapter) join(n *value, branches []*value, exactlyOne bool) string {
	props := newObject()
	if own := n.get("properties"); own != nil {
		props = own.clone()
	}
	own := len(props.members)
	variants := map[string][]*value{}
	closed := len(branches) > 0
	var required, choices []string
	for i, b := range branches {
		if p := b.get("properties"); p != nil {
			for _, m := range p.members {
				if _, seen := variants[m.name]; !seen && !props.has(m.name) {
					props.set(m.name, m.value)
				}
				if !slices.ContainsFunc(variants[m.name], func(v *value) bool { return equal(v, m.value) }) {
					variants[m.name] = append(variants[m.name], m.value)
				}
			}
		}
		needs := b.get("required").names()
		if i == 0 {
			required = needs
		} else {
			required = slices.DeleteFunc(slices.Clone(required), func(name string) bool { return !slices.Contains(needs, name) })
		}
		closed = closed && b.get("additionalProperties").is("false")
		choices = append(choices, branchWords(b))
	}
	for _, m := range props.members[own:] {
		if v := variants[m.name]; len(v) > 1 {
			props.set(m.name, either(v))
		}
	}
	if len(props.members) > 0 {
		n.setAfter("type", "properties", props)
	}
	if all := union(n.get("required").names(), required); len(all) > 0 {
		n.setAfter("properties", "required", newStrings(all))
	}
	if closed && !n.has("additionalProperties") {
		n.set("additionalProperties", newLiteral("false"))
	}
	if exactlyOne {
		return "exactly one of: " + strings.Join(choices, " | ")
	}
	return "one of: " + strings.Join(choices, " | ")
}

// either returns a schema for what fits one of several: an enum for the values
// that tell the branches apart, several types, else anyOf.
func either(variants []*value) *value {
	if !slices.ContainsFunc(variants, func(v *value) bool { return len(v.members) != 1 || !v.has("type") }) {
		var all []string
		for _, v := range variants {
			all = union(all, types(v))
		}
		return newObject(newMember("type", newStrings(all)))
	}
	enum := newArray()
	var kinds []string
	for _, v := range variants {
		values := v.get("enum")
		if c := v.get("const"); c != nil {
			values = newArray(c)
		}
		if values == nil {
			return newObject(newMember("anyOf", newArray(variants...)))
		}
		for _, x := range values.items {
			if !slices.ContainsFunc(enum.items, func(y *value) bool { return equal(x, y) }) {
				enum.items = append(enum.items, x)
			}
		}
		if t := inferTypes(v); t != nil {
			kinds = union(kinds, t.names())
		}
	}
	n := newObject()
	if len(kinds) == 1 {
		n.set("type", newString(kinds[0]))
	}
	n.set("enum", enum)
	return n
}

// branchWords says a branch of a union: type "plan" with summary, plan.
func branchWords(b *value) string {
	var marks, rest []string
	required := b.get("required").names()
	if props := b.get("properties"); props != nil {
		for _, m := range props.members {
			if c := single(m.value); c != nil {
				marks = append(marks, m.name+" "+jsonWords(c))
				required = slices.DeleteFunc(slices.Clone(required), func(name string) bool { return name == m.name })
			} else if !slices.Contains(required, m.name) {
				rest = append(rest, m.name)
			}
		}
	}
	var say []string
	if title := b.get("title"); title != nil && len(marks) == 0 {
		say = append(say, title.text)
	}
	say = append(say, marks...)
	if len(required) > 0 {
		say = append(say, "needs "+strings.Join(required, ", "))
	}
	if len(rest) > 0 {
		say = append(say, "may have "+strings.Join(rest, ", "))
	}
	var other []member
	for _, m := range b.members {
		switch m.name {
		case "type", "properties", "required", "additionalProperties", "title", "description", "$defs":
		default:
			other = append(other, m)
		}
	}
	say = append(say, words(other)...)
	if len(say) == 0 {
		return "anything"
	}
	return strings.Join(say, ", ")
}
