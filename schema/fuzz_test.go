package schema_test

import (
	"encoding/json"
	"testing"

	"pawl/schema"
)

func FuzzASchemaIsAdaptedOrRefused(f *testing.F) {
	for _, name := range []string{"nasty", "controller", "submission"} {
		f.Add([]byte(read(f, name)))
	}
	for _, spec := range specs() {
		f.Add([]byte(spec.Schema))
	}
	for _, s := range []string{
		`{}`, `true`, `{"$ref":"#"}`, `{"type":"object","allOf":[{"$ref":"#"}]}`, `{"anyOf":[{"$ref":"#/anyOf/0"}]}`,
		`{"type":"object","properties":{"a":{"items":[true,false],"additionalItems":{"const":null}},"b":false,"c":{"enum":[{},[]]}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#x","not":{}},"b":{"$anchor":"x","prefixItems":[{"type":"null"}],"items":false}}}`,
		`{"$defs":{"a":{"$ref":"#/$defs/b","title":"t"},"b":{"$ref":"#/$defs/a","title":"u"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`,
		`{"type":["object","null"],"properties":{"a":{"type":"string","anyOf":[{"maxLength":1},{"required":["x"]}],"oneOf":[{"pattern":"a"}]}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, authored []byte) {
		for _, target := range schema.Targets() {
			if a, err := schema.Adapt(target, authored); err == nil {
				checkAdapted(t, target, authored, a)
			}
		}
		if _, _, err := schema.Strict(authored); err == nil && !json.Valid(authored) {
			t.Errorf("%s was taken for a schema", authored)
		}
	})
}

func FuzzAnAnswerIsRestoredAndJudged(f *testing.F) {
	f.Add([]byte(read(f, "submission")), []byte(`{"type":"plan","summary":null}`))
	f.Add([]byte(read(f, "nasty")), []byte(`{"zeta":"a","kind":"file","who":{"name":"x","mail":null},"pair":null}`))
	f.Add([]byte(`{"properties":{"a":{"$ref":"#"}}}`), []byte(`{"a":{"a":null}}`))
	f.Add([]byte(`{"minimum":1,"multipleOf":0.1}`), []byte(`1e400`))
	f.Fuzz(func(t *testing.T, authored, answer []byte) {
		c, err := schema.Compile(authored)
		if err != nil {
			return
		}
		back := c.Restore(answer)
		if json.Valid(answer) != json.Valid(back) {
			t.Errorf("Restore made %q of %q", back, answer)
		}
		if again := c.Restore(back); string(again) != string(back) {
			t.Errorf("restored twice, %q is %q and %q", answer, back, again)
		}
		if c.Validate(answer) == nil && c.Validate(back) != nil {
			t.Errorf("%q fits %s and %q does not", answer, authored, back)
		}
	})
}

func BenchmarkAdapt(b *testing.B) {
	for _, name := range []string{"controller", "nasty"} {
		authored := read(b, name)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				adapt(b, schema.OpenAIStrict, authored)
			}
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	c := compile(b, read(b, "controller"))
	answer := json.RawMessage(`{"action":"next_step","thinking":{"task":"t","facts":["a"],"confidence":0.5},"tool":"read","args":"{}","message":null}`)
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			c.Restore(answer)
		}
	})
	b.Run("validate", func(b *testing.B) {
		for b.Loop() {
			c.Validate(answer)
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	authored := read(b, "controller")
	for b.Loop() {
		compile(b, authored)
	}
}
