package api_test

import (
	"slices"
	"strings"
	"testing"
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
