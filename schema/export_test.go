package schema

import (
	"iter"
	"slices"
	"strings"
)

// Targets returns all targets, sorted.
func Targets() []Target {
	return []Target{AnthropicOutput, AnthropicTool, Gemini, OpenAI, OpenAIStrict}
}

// Keywords yields every keyword of a schema at any depth, with the place where it
// stands: "" for the root, "edits[].old" for a property of the items of edits,
// "$defs/node" for a definition. What is no keyword (names of properties, values of
// enum and default) is not yielded.
func Keywords(schema []byte) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		root, err := parseSchema(schema)
		if err != nil {
			return
		}
		for place, n := range all(root) {
			for _, m := range n.members {
				if !yield(place, m.name) {
					return
				}
			}
		}
	}
}

// Forbidden returns what a target would not take of a schema, each with its place;
// nil for what [Adapt] returns.
func Forbidden(t Target, schema []byte) []string {
	w, ok := wires[t]
	if !ok {
		return []string{"there is no schema target " + string(t)}
	}
	root, err := parseSchema(schema)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for place, n := range all(root) {
		for _, m := range n.members {
			if w.verdictOn(m.name, m.value) != keepKeyword {
				found = append(found, at(place, m.name))
			}
		}
		for _, what := range w.lacks(n) {
			found = append(found, at(place, what))
		}
	}
	for _, keyword := range w.rootOnly {
		if root.has(keyword) {
			found = append(found, at("", keyword))
		}
	}
	return found
}

// lacks returns what the form of one schema lacks on the wire, keywords apart.
func (w wire) lacks(n *value) []string {
	var lacks []string
	if w.closed && isObjectSchema(n) && !n.get("additionalProperties").is("false") {
		lacks = append(lacks, "additionalProperties: false is missing")
	}
	if w.allRequired {
		required := setOf(n.get("required").names())
		for _, name := range n.get("properties").names() {
			if !required[name] {
				lacks = append(lacks, name+" is not required")
			}
		}
	}
	if w.typed && !n.has("type") && !n.has("anyOf") && !n.has("$ref") {
		lacks = append(lacks, "it has no type")
	}
	if w.subset && n.has("$ref") && slices.ContainsFunc(n.members, func(m member) bool { return !strings.HasPrefix(m.name, "$") }) {
		lacks = append(lacks, "$ref has siblings")
	}
	if w.complete && isArraySchema(n) && !n.has("items") {
		lacks = append(lacks, "an array without items")
	}
	return lacks
}
