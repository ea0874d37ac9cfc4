package external_test

import (
	"encoding/json"
	"testing"

	"pawl/external"
	"pawl/submission"
)

// Claude Code and Codex leave out a tool whose schema is a union at the top, and OpenCode works
// with their providers too.
func TestTheSchemaOfARequiredResultHasAFormForEveryProgram(t *testing.T) {
	t.Parallel()
	for _, k := range external.Kinds {
		for _, kind := range submission.Kinds {
			o, _ := kind.Output()
			adapted, err := k.ToolSchema([]byte(o.Schema))
			if err != nil {
				t.Errorf("%s, %s: %v", k.Name, o.Tool, err)
				continue
			}
			var root map[string]json.RawMessage
			if err := json.Unmarshal(adapted, &root); err != nil {
				t.Fatal(err)
			}
			for _, union := range []string{"oneOf", "allOf", "anyOf"} {
				if root[union] != nil && (k.Name != "gemini-cli" || union != "anyOf") { // Gemini takes that one
					t.Errorf("%s gets %s with %s at the top: %s", k.Name, o.Tool, union, adapted)
				}
			}
		}
		if _, err := k.ToolSchema([]byte(`{"type":"string"}`)); err == nil {
			t.Errorf("%s gets a tool whose arguments are a string", k.Name)
		}
	}
}
