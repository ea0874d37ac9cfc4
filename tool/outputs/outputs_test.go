package outputs

import (
	"encoding/json"
	"testing"

	"pawl/output"
	"pawl/schema"
	"pawl/tool"
)

func TestEveryProviderCanHaveTheTools(t *testing.T) {
	t.Parallel()
	for _, spec := range tool.NewRegistry(All()...).Specs() {
		for _, target := range []schema.Target{schema.AnthropicOutput, schema.OpenAIStrict, schema.OpenAI, schema.Gemini} {
			if _, err := schema.Adapt(target, spec.Schema); err != nil {
				t.Errorf("%s for %v: %v", spec.Name, target, err)
			}
		}
	}
}

func TestOnePathIsTakenAsAListOfOne(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry(All()...)
	for _, args := range []string{`{"paths":"$.users"}`, `{"paths":["$.users"]}`} {
		if err := r.Validate(Prefix+"extract", json.RawMessage(args)); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		var a output.ExtractArgs
		if err := output.Decode(json.RawMessage(args), &a); err != nil || len(a.Paths) != 1 {
			t.Errorf("%s: paths %q, %v", args, a.Paths, err)
		}
	}
}
