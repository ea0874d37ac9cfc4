package api_test

import (
	"slices"
	"strings"
	"testing"

	"pawl/task"
)

// The document lists every operation once, with a summary, an error form and names that a
// generator of clients can use.
func TestTheOpenAPIDocumentDescribesEveryOperation(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	doc := s.do("GET", "/openapi.json", "").is(200)
	if v := doc.text("openapi"); !strings.HasPrefix(v, "3.1") {
		t.Errorf("version %q", v)
	}
	paths, _ := doc.at("paths").(map[string]any)
	if len(paths) == 0 {
		t.Fatal("there are no paths")
	}
	var ids []string
	for path, item := range paths {
		for method, op := range item.(map[string]any) {
			o := value{t, op}
			id := o.text("operationId")
			if id == "" || o.text("summary") == "" || strings.HasSuffix(o.text("summary"), ".") || slices.Contains(ids, id) {
				t.Errorf("%s %s has the operationId %q and the summary %q", method, path, id, o.text("summary"))
			}
			ids = append(ids, id)
		}
	}
	schemas, _ := doc.at("components.schemas").(map[string]any)
	for _, name := range []string{"TaskForm", "Problem", "TaskPlan"} {
		if schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
	if strings.Contains(s.do("GET", "/openapi.json", "").Body, "$schema") {
		t.Error("a form has a member $schema")
	}
}

// What a strict client needs: statuses and events by name, each event with its data, lists that are never null, and
// responses that may have more members.
func TestTheOpenAPIDocumentIsTyped(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	doc := s.do("GET", "/openapi.json", "").is(200)
	schemas, _ := doc.at("components.schemas").(map[string]any)
	var statuses []any
	for _, name := range task.StatusNames() {
		statuses = append(statuses, string(name))
	}
	for _, at := range []string{"StatusForm.properties.name", "TaskSummaryForm.properties.status",
		"TaskStatusChanged.properties.from", "TaskStatusChanged.properties.to"} {
		if got := doc.items("components.schemas." + at + ".enum"); !slices.Equal(got, statuses) {
			t.Errorf("%s is one of %v", at, got)
		}
	}
	types := 0
	for name := range task.EventTypes() {
		types++
		line := value{t, schemas["TaskLine_"+name]}
		if !slices.Equal(line.items("properties.type.enum"), []any{name}) || line.text("properties.data.$ref") == "" {
			t.Errorf("the event %s is %+v", name, line.v)
		}
	}
	if n := len(doc.items("components.schemas.TaskLine.oneOf")); n != types {
		t.Errorf("a line is one of %d forms, want %d", n, types)
	}
	if got := doc.at("components.schemas.TaskForm.additionalProperties"); got != nil {
		t.Errorf("additionalProperties of a response is %v", got)
	}
	if got := doc.at("components.schemas.CreateTaskInputBody.additionalProperties"); got != false {
		t.Errorf("additionalProperties of a request is %v", got)
	}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if types, ok := v["type"].([]any); ok && slices.Contains(types, any("array")) {
				t.Errorf("%s is a list or null", at)
			}
			for name, member := range v {
				walk(at+"."+name, member)
			}
		case []any:
			for _, item := range v {
				walk(at, item)
			}
		}
	}
	walk("components", doc.at("components"))
}
