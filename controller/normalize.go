package controller

import (
	"slices"
	"strings"
)

// wrappers are the names under which models send the step as an object of its own,
// as older forms of the object had it. What is in it counts as if it stood at the top.
var wrappers = []string{"step", "next_step"}

// An alias is a field that also goes by other names.
type alias struct {
	canonical string
	others    []string
}

// aliases are the names that models use for the canonical ones, in the order they
// are looked for.
var aliases = []alias{
	{"tool", []string{"tool_name", "name"}},
	{"args", []string{"tool_args", "arguments", "tool_input"}},
	{"message", []string{"response", "content"}},
	{"tools", []string{"tool_calls", "calls"}},
}

// entryAliases are those that hold in an entry of tools.
var entryAliases = aliases[:2]

// fields are those of an object that are present, by name.
type fields struct {
	byName map[string]field
	order  []string // of names, as sent; some may have been taken
}

type field struct {
	value value
	path  string // where it was sent: tool_name, step.tool, tools[0].tool
}

func (f *fields) add(name, path string, v value) {
	f.byName[name] = field{v, path}
	f.order = append(f.order, name)
}

func (f *fields) has(name string) bool { _, ok := f.byName[name]; return ok }

// take returns a field and removes it, so that what is left was not used.
func (f *fields) take(name string) (field, bool) {
	v, ok := f.byName[name]
	delete(f.byName, name)
	return v, ok
}

// present returns the fields of an object that are present. A null is absent, and so
// are a blank string and, for tools by any of its names, an empty list.
func present(v value, path string) *fields {
	f := &fields{byName: make(map[string]field, len(v.members))}
	for _, m := range v.members {
		if !absent(m.name, m.value) {
			f.add(m.name, path+m.name, m.value)
		}
	}
	return f
}

func absent(name string, v value) bool {
	switch v.kind {
	case jsonNull:
		return true
	case jsonString:
		return strings.TrimSpace(v.text) == ""
	case jsonList:
		return len(v.items) == 0 && (name == "tools" || name == "tool_calls" || name == "calls")
	}
	return false
}

// normalize makes the flat object of what was sent.
func normalize(sent value, r *Report) *fields {
	f := present(sent, "")
	hoist(f, r)
	rename(f, aliases, r)
	if action, ok := f.byName["action"]; ok && action.value.text == "respond" {
		action.value.text = "complete"
		f.byName["action"] = action
		r.normalized("action respond is complete")
	}
	return f
}

// hoist takes what is in the wrappers to the top. A wrapper that is no object is left
// where it is: it is reported with the fields that nobody knows. One that stands in
// another is as well.
func hoist(f *fields, r *Report) {
	var wrapped []field
	for _, w := range wrappers {
		if v, ok := f.byName[w]; ok && v.value.kind == jsonObject {
			f.take(w)
			wrapped = append(wrapped, v)
		}
	}
	for _, w := range wrapped {
		r.normalized(w.path + " hoisted")
		inner := present(w.value, w.path+".")
		for _, name := range inner.order {
			if f.has(name) {
				r.unused(inner.byName[name].path)
				continue
			}
			f.add(name, inner.byName[name].path, inner.byName[name].value)
		}
	}
}

// rename gives aliases their canonical names.
func rename(f *fields, table []alias, r *Report) {
	for _, a := range table {
		for _, other := range a.others {
			v, ok := f.take(other)
			switch {
			case !ok:
			case f.has(a.canonical):
				r.unused(v.path)
			default:
				f.byName[a.canonical] = v
				f.order[slices.Index(f.order, other)] = a.canonical
				r.normalized(v.path + " is " + a.canonical)
			}
		}
	}
}
