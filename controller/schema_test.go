package controller_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/controller"
	"pawl/internal/golden"
)

func TestTheSchemaIsTheOneThatAPersonHasRead(t *testing.T) {
	t.Parallel()
	golden.Compare(t, "schema.json", []byte(controller.Schema))
}

func TestTheSchemaHasTheFieldsOfTheTable(t *testing.T) {
	t.Parallel()
	str := map[string]any{"type": "string"}
	enum := func(names ...any) map[string]any { return map[string]any{"type": "string", "enum": names} }
	strs := map[string]any{"type": "array", "items": str}
	want := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"action": enum("next_step", "complete", "guardrail_stop", "ask_user"),
			"thinking": map[string]any{
				"type": "object",
				"properties": map[string]any{
					"task": str, "facts": strs, "decisions": strs, "risks": strs, "confidence": map[string]any{"type": "number"},
				},
				"additionalProperties": false,
			},
			"type":        enum("tool", "respond", "ask_user"),
			"description": str, "tool": str, "args": str,
			"tools": map[string]any{"type": "array", "items": map[string]any{
				"type": "object", "properties": map[string]any{"tool": str, "args": str}, "additionalProperties": false,
			}},
			"message": str, "reason": str, "question": str, "context": str,
			"resume_to": enum("reflecting", "controller"),
		},
		"required":             []any{"action"},
		"additionalProperties": false,
	}
	if diff := cmp.Diff(want, withoutDescriptions(schema(t), false)); diff != "" {
		t.Errorf("descriptions apart (-want +got)\n%s", diff)
	}
}

// allowed are the keywords that every provider keeps.
var allowed = []string{"type", "properties", "required", "items", "enum", "description", "additionalProperties"}

func TestTheSchemaHasNoKeywordThatAProviderWouldNotKeep(t *testing.T) {
	t.Parallel()
	if found := notKept("", schema(t)); found != nil {
		t.Errorf("found %q", found)
	}
}

func TestTheWalkSeesWhatIsForbidden(t *testing.T) {
	t.Parallel()
	for _, keyword := range []string{
		"oneOf", "anyOf", "allOf", "$ref", "not", "if", "then", "$defs", "$schema", "title", "default", "format", "const",
		"minimum", "maximum", "exclusiveMinimum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "pattern",
	} {
		bad := map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{
			"list": map[string]any{"type": "array", "items": map[string]any{"type": "string", keyword: 1}},
		}}
		if diff := cmp.Diff([]string{".list[]: " + keyword}, notKept("", bad)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", keyword, diff)
		}
	}
	open := map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{}}}
	if diff := cmp.Diff([]string{": is open", ".a: has no type"}, notKept("", open)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// notKept walks a schema and returns what some provider would change.
func notKept(place string, s map[string]any) []string {
	var found []string
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(allowed, keyword) {
			found = append(found, place+": "+keyword)
		}
	}
	if _, ok := s["type"].(string); !ok {
		found = append(found, place+": has no type")
	}
	if s["type"] == "object" && s["additionalProperties"] != false {
		found = append(found, place+": is open")
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			found = append(found, notKept(place+"."+name, properties[name].(map[string]any))...)
		}
	}
	if items, ok := s["items"].(map[string]any); ok {
		found = append(found, notKept(place+"[]", items)...)
	}
	return found
}

func schema(t *testing.T) map[string]any {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal([]byte(controller.Schema), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// withoutDescriptions takes the descriptions out of a schema, not out of a list of properties.
func withoutDescriptions(s map[string]any, properties bool) map[string]any {
	kept := map[string]any{}
	for name, v := range s {
		if child, ok := v.(map[string]any); ok {
			v = withoutDescriptions(child, name == "properties" && !properties)
		}
		if name != "description" || properties {
			kept[name] = v
		}
	}
	return kept
}

func TestTheParserKnowsEveryFieldOfTheSchema(t *testing.T) {
	t.Parallel()
	// Every field of the schema at once: none is unknown, each has its kind.
	_, report, err := controller.Parse(example(schema(t)))
	if err != nil {
		t.Fatal(err)
	}
	if report.Unknown != nil || !report.Flat() {
		t.Errorf("unknown %q, normalized %q", report.Unknown, report.Normalized)
	}
}

// example returns a JSON value that fits a schema.
func example(s map[string]any) string {
	switch s["type"] {
	case "object":
		properties := s["properties"].(map[string]any)
		out := ""
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if out != "" {
				out += ","
			}
			out += fmt.Sprintf("%q:%s", name, example(properties[name].(map[string]any)))
		}
		return "{" + out + "}"
	case "array":
		return "[" + example(s["items"].(map[string]any)) + "]"
	case "number":
		return "0.5"
	}
	if enum, ok := s["enum"].([]any); ok {
		return fmt.Sprintf("%q", enum[0])
	}
	return `"{}"` // fits args too
}
