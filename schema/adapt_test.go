package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/schema"
)

func TestWhatIsTakenOutIsSaidWhereItStood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target   schema.Target
		property string // the schema of p
		want     string // what becomes of it
		notes    string
	}{
		{target: schema.AnthropicOutput, property: `{"type":"string","description":"A path","maxLength":200}`,
			want: `{"type":"string","description":"A path (at most 200 characters)"}`, notes: "p: at most 200 characters"},
		{target: schema.AnthropicOutput, property: `{"type":"integer","minimum":1,"maximum":10}`,
			want: `{"type":"integer","description":"from 1 to 10"}`, notes: "p: from 1 to 10"},
		{target: schema.AnthropicOutput, property: `{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":1}`,
			want: `{"type":"array","items":{"type":"string"},"minItems":1,"description":"at most 1 item"}`, notes: "p: at most 1 item"},
		{target: schema.AnthropicOutput, property: `{"type":"string","format":"regex"}`,
			want: `{"type":"string","description":"format: regex"}`, notes: "p: format: regex"},
		{target: schema.AnthropicOutput, property: `{"type":"array","items":{}}`, want: `{"type":"array"}`},
		{target: schema.AnthropicOutput, property: `{"enum":["a","b"]}`, want: `{"type":"string","enum":["a","b"]}`},
		{target: schema.OpenAIStrict, property: `{"type":"string","format":"uri","pattern":"^h"}`,
			want: `{"type":"string","pattern":"^h","description":"format: uri"}`, notes: "p: format: uri"},
		{target: schema.OpenAIStrict, property: `{"type":"array","items":{"type":"string"},"uniqueItems":true}`,
			want: `{"type":"array","items":{"type":"string"},"description":"no item twice"}`, notes: "p: no item twice"},
		{target: schema.OpenAIStrict, property: `{"$ref":"#/$defs/d","description":"Mine"}`,
			want: `{"description":"Mine","type":"string"}`},
		{target: schema.Gemini, property: `{"const":"x"}`, want: `{"type":"string","enum":["x"]}`},
		{target: schema.Gemini, property: `{"oneOf":[{"type":"string"},{"type":"integer"}]}`,
			want: `{"anyOf":[{"type":"string"},{"type":"integer"}],"description":"exactly one of these"}`, notes: "p: exactly one of these"},
		{target: schema.Gemini, property: `{"title":"The path","type":"string"}`, want: `{"type":"string","description":"The path"}`},
		{target: schema.Gemini, property: `{"type":"number","exclusiveMinimum":0}`,
			want: `{"type":"number","description":"more than 0"}`, notes: "p: more than 0"},
		// What allOf asks for together.
		{target: schema.Gemini, property: `{"allOf":[{"type":"integer","minimum":1,"maximum":9},{"type":"integer","minimum":3,"maximum":5}]}`, want: `{"type":"integer","minimum":3,"maximum":5}`},
		{target: schema.Gemini, property: `{"allOf":[{"type":"integer","minimum":3,"maximum":5},{"type":"integer","minimum":1,"maximum":9}]}`, want: `{"type":"integer","minimum":3,"maximum":5}`},
		{target: schema.Gemini, property: `{"allOf":[{"type":"number"},{"type":"integer"}]}`, want: `{"type":"integer"}`},
		{target: schema.Gemini, property: `{"allOf":[{"type":"integer"},{"type":["number","null"]}]}`, want: `{"type":"integer"}`},
		{target: schema.Gemini, property: `{"allOf":[{"type":["string","integer"]},{"type":["integer","string","null"]}]}`, want: `{"type":["string","integer"]}`},
		{target: schema.Gemini, property: `{"allOf":[{"enum":["a","b","c"]},{"enum":["c","b"]}]}`, want: `{"enum":["b","c"]}`},
		{target: schema.Gemini, property: `{"allOf":[{"type":"object","properties":{"a":{"type":"string"},"b":true,"c":{"type":"string"}},"required":["a"]},` +
			`{"type":"object","properties":{"a":{"description":"A"},"b":{"type":"string"},"c":false},"required":["b","a"]}]}`,
			want: `{"type":"object","properties":{"a":{"type":"string","description":"A"},"b":{"type":"string"}},"required":["a","b"],"description":"c may not be given"}`, notes: "p: c may not be given"},
		{target: schema.Gemini, property: `{"description":"Mine","allOf":[{"type":"string","description":"Theirs"}]}`, want: `{"description":"Mine","type":"string"}`},
		{target: schema.OpenAIStrict, property: `{"allOf":[{"type":"string","pattern":"^a"},{"pattern":"b$"}]}`,
			want: `{"type":"string","pattern":"^a","description":"also matches the pattern b$"}`, notes: "p: also matches the pattern b$"},
		{target: schema.Gemini, property: `{"allOf":[{"allOf":[{"type":"string"}]},true,{"allOf":[{"description":"x"}]}]}`, want: `{"type":"string","description":"x"}`},
		// Tuples, and schemas that are true or false.
		{target: schema.Gemini, property: `{"type":"array","items":[{"type":"string"},{"type":"integer"}],"additionalItems":{"type":"boolean"}}`,
			want: `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":{"type":"boolean"}}`},
		{target: schema.Gemini, property: `{"type":"array","items":{"type":"string"},"additionalItems":{"type":"boolean"}}`, want: `{"type":"array","items":{"type":"string"}}`},
		{target: schema.Gemini, property: `{"type":"array","prefixItems":[{"type":"string"},true],"items":false}`,
			want: `{"type":"array","prefixItems":[{"type":"string"},{}],"description":"no further items"}`, notes: "p: no further items"},
		{target: schema.AnthropicOutput, property: `{"type":"array","items":[{"type":"string"},{"type":"string"}]}`,
			want: `{"type":"array","items":{"type":"string"},"description":"in this order: [{\"type\":\"string\"},{\"type\":\"string\"}]"}`, notes: `p: in this order: [{"type":"string"},{"type":"string"}]`},
		{target: schema.AnthropicOutput, property: `{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`,
			want: `{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]},"description":"in this order: [{\"type\":\"string\"}]"}`, notes: `p: in this order: [{"type":"string"}]`},
		{target: schema.AnthropicOutput, property: `{"type":"array","items":true}`, want: `{"type":"array"}`},
		{target: schema.Gemini, property: `{"type":"array","items":true}`, want: `{"type":"array","items":{}}`},
		{target: schema.Gemini, property: `{"anyOf":[true,{"type":"string"},false]}`, want: `{"anyOf":[{},{"type":"string"}]}`},
		{target: schema.Gemini, property: `{"type":"object","properties":{"x":false,"y":true}}`,
			want: `{"type":"object","properties":{"y":{}},"description":"x may not be given"}`, notes: "p: x may not be given"},
		// Unions, and what stands beside them.
		{target: schema.AnthropicOutput, property: `{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"anyOf":[{"required":["x"]},{"required":["y"]}]}`,
			want: `{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"description":"needs x, or y","additionalProperties":false}`, notes: "p: needs x, or y"},
		{target: schema.AnthropicOutput, property: `{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"anyOf":[{"properties":{"y":{"type":"string"}},"required":["y"]},{"properties":{"z":{"type":"integer"}}}]}`,
			want: `{"anyOf":[{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"required":["x","y"],"additionalProperties":false},` +
				`{"type":"object","properties":{"x":{"type":"string"},"z":{"type":"integer"}},"required":["x"],"additionalProperties":false}]}`},
		// The type that values have.
		{target: schema.OpenAIStrict, property: `{"enum":[1,"a",true,null]}`, want: `{"type":["number","string","boolean","null"],"enum":[1,"a",true,null]}`},
		{target: schema.Gemini, property: `{"const":"x","enum":["x","y"]}`, want: `{"type":"string","enum":["x"]}`},
		{target: schema.Gemini, property: `{"const":7}`, want: `{"type":"number","enum":[7]}`},
		{target: schema.Gemini, property: `{"const":null}`, want: `{"type":"null","enum":[null]}`},
		{target: schema.OpenAI, property: `{"type":"array"}`, want: `{"type":"array","items":{}}`},
		{target: schema.OpenAI, property: `{"type":"string","maxLength":3,"x-mine":1}`, want: `{"type":"string","maxLength":3,"x-mine":1}`},
		{target: schema.AnthropicTool, property: `{}`, want: `{}`},
	} {
		authored := fmt.Sprintf(`{"type":"object","properties":{"p":%s},"required":["p"],"additionalProperties":false,"$defs":{"d":{"type":"string"}}}`, c.property)
		a := adapt(t, c.target, json.RawMessage(authored))
		var got struct{ Properties struct{ P json.RawMessage } }
		unmarshal(t, a.Schema, &got)
		if string(got.Properties.P) != c.want || strings.Join(a.Notes, "\n") != c.notes {
			t.Errorf("%s of %s:\n got %s, notes %q\nwant %s, notes %q", c.target, c.property, got.Properties.P, a.Notes, c.want, c.notes)
		}
	}
}

func TestASchemaThatCannotBeHadIsRefusedWithThePlace(t *testing.T) {
	t.Parallel()
	manyProperties := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"p%d":{"type":"string"}`, i)
		}
		return `{"type":"object","properties":{` + b.String()[1:] + `},"additionalProperties":false}`
	}
	nested := strings.Repeat(`{"type":"object","additionalProperties":false,"properties":{"a":`, 11) + `{"type":"string"}` + strings.Repeat(`}}`, 11)
	tree := `{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}},"required":[%s],"additionalProperties":false}`
	for _, c := range []struct {
		target   schema.Target
		authored string
		want     string // nothing: it can be had
	}{
		{schema.OpenAI, `{"type":"string"}`, "the schema cannot be had as openai: the root: it is to be string: arguments and answers are objects"},
		{schema.Gemini, `[]`, "the schema cannot be had as gemini: the root: it is no JSON object"},
		{schema.Gemini, `{"a":1,"a":2}`, `the schema cannot be read: jsontext: duplicate object member name "a"`},
		{schema.OpenAI, `{"type":"object","properties":{"a":{"$ref":"https://example.com/a"}}}`,
			"the schema cannot be had as openai: a: $ref https://example.com/a leads out of the schema, and nothing outside it is read"},
		{schema.OpenAI, `{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`,
			"the schema cannot be had as openai: a: $ref #/$defs/none: there is nothing of that name"},
		{schema.AnthropicTool, `{"type":"object","properties":{"a":{"type":"text"}}}`, `the schema cannot be had as anthropic-tool: a: there is no type "text"`},
		{schema.AnthropicTool, `{"type":"object","properties":{"a":{"type":"object","required":true}}}`,
			"the schema cannot be had as anthropic-tool: a: required is true: that is no JSON Schema"},
		{schema.AnthropicTool, `{"type":"object","properties":{"filter[id]":{"type":"string"}}}`,
			`the schema cannot be had as anthropic-tool: the root: the name of its field "filter[id]" is refused here: it must match ^[a-zA-Z0-9_.-]{1,64}$`},
		{schema.OpenAI, `{"type":"object","properties":{"filter[id]":{"type":"string"}}}`, ""},
		{schema.OpenAIStrict, `{"type":"object","properties":{"args":{"type":"object"}}}`,
			"the schema cannot be had as openai-strict: args: its fields have any name: they would all be lost here"},
		{schema.AnthropicOutput, `{"type":"object","properties":{"env":{"type":"object","additionalProperties":{"type":"string"}}}}`,
			"the schema cannot be had as anthropic-output: env: its fields have any name: they would all be lost here"},
		{schema.OpenAIStrict, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}`,
			"the schema cannot be had as openai-strict: the root: it takes fields beside the declared ones, which cannot be had here"},
		{schema.AnthropicOutput, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}`, ""},
		{schema.OpenAIStrict, `{"type":"object","properties":{}}`, ""},
		{schema.OpenAIStrict, `{"type":"object"}`, "the schema cannot be had as openai-strict: the root: its fields have any name: they would all be lost here"},
		{schema.OpenAIStrict, `{"type":"object","properties":{"a":{}}}`,
			"the schema cannot be had as openai-strict: a: it has no type: anything may stand there, which cannot be enforced"},
		{schema.OpenAIStrict, `{"type":"object","properties":{"a":{"type":"array"}}}`,
			"the schema cannot be had as openai-strict: a: it does not say of what type its items are"},
		{schema.OpenAIStrict, `{"type":"object","properties":{"a":{"type":"string"}},"required":["b"],"additionalProperties":false}`,
			`the schema cannot be had as openai-strict: the root: it requires "b" and does not declare it`},
		{schema.OpenAIStrict, manyProperties(5001), "the schema cannot be had as openai-strict: the root: it has 5001 properties; at most 5000 are taken here"},
		{schema.OpenAIStrict, manyProperties(5000), ""},
		{schema.OpenAIStrict, nested, "the schema cannot be had as openai-strict: the root: it has 11 levels; at most 10 are taken here"},
		{schema.AnthropicOutput, manyProperties(25), "the schema cannot be had as anthropic-output: the root: it has 25 optional properties; at most 24 are taken here"},
		{schema.OpenAIStrict, `{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"type":"integer"}]}}}`,
			`the schema cannot be had as openai-strict: a: it is to be "string" and "integer" at once`},
		{schema.OpenAIStrict, `{"type":"object","properties":{"a":{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"object","properties":{"x":{"type":"integer"}}}]}}}`,
			`the schema cannot be had as openai-strict: a: several branches of its anyOf begin with the field "x", which does not tell them apart`},
		{schema.Gemini, `{"type":"object","properties":{"a":{"anyOf":[false]}}}`, "the schema cannot be had as gemini: a: anyOf holds nothing but false: nothing fits"},
		{schema.AnthropicOutput, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}],"oneOf":[{"type":"string"}]}}}`,
			"the schema cannot be had as anthropic-output: a: it has two unions at once"},
		{schema.Gemini, `{"type":"object","properties":{"a":{"allOf":[false]}}}`, "the schema cannot be had as gemini: a: allOf holds false: nothing fits"},
		{schema.Gemini, `{"type":"object","properties":{"a":{"allOf":[{"enum":["a"]},{"enum":["c"]}]}}}`, "the schema cannot be had as gemini: a: its enums have no value in common"},
		{schema.OpenAIStrict, `{"type":"object","properties":{"a":{"type":"array","items":false}}}`, "the schema cannot be had as openai-strict: a: it does not say of what type its items are"},
		{schema.Gemini, `{"type":"object","properties":{"a":{"$dynamicRef":"#x"}}}`, "the schema cannot be had as gemini: a: $dynamicRef cannot be had here"},
	} {
		_, err := schema.Adapt(c.target, json.RawMessage(c.authored))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Adapt(%s, %.200s):\n got %s\nwant %s", c.target, c.authored, got, c.want)
		}
	}
	for _, c := range []struct {
		target   schema.Target
		required string
		refused  bool
	}{
		{schema.AnthropicTool, `"kids"`, false},
		{schema.AnthropicOutput, ``, true},
		{schema.OpenAIStrict, `"kids"`, false},
		{schema.Gemini, `"kids"`, true},
		{schema.Gemini, ``, false},
	} {
		_, err := schema.Adapt(c.target, fmt.Appendf(nil, tree, c.required))
		if refused := err != nil && strings.Contains(err.Error(), "it contains itself"); refused != c.refused {
			t.Errorf("a tree with required [%s] as %s: %v, want refused %t", c.required, c.target, err, c.refused)
		}
	}
}

func TestWhatCannotBeStrictIsSentWithoutIt(t *testing.T) {
	t.Parallel()
	closed := `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	open := `{"type":"object","properties":{"args":{"type":"object"}},"required":["args"]}`
	if a, strict, err := schema.Strict(json.RawMessage(closed)); err != nil || !strict || string(a.Schema) != closed {
		t.Errorf("Strict(%s) = %s, %t, %v", closed, a.Schema, strict, err)
	}
	if a, strict, err := schema.Strict(json.RawMessage(open)); err != nil || strict || string(a.Schema) != open {
		t.Errorf("Strict(%s) = %s, %t, %v", open, a.Schema, strict, err)
	}
	if _, _, err := schema.Strict(json.RawMessage(`{"type":"array"}`)); err == nil {
		t.Error("an array was taken for the arguments of a tool")
	}
}

func TestDefinitionsThatMultiplyAreRefusedInNoTime(t *testing.T) {
	t.Parallel()
	// Each of 40 definitions refers to the next one twice, with a description
	// beside the reference, so that it has to be written out: 2^40 copies.
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0","description":"x"}},"$defs":{`)
	for i := range 40 {
		fmt.Fprintf(&b, `"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d","description":"x"},"r":{"$ref":"#/$defs/d%d","description":"x"}}},`, i, i+1, i+1)
	}
	b.WriteString(`"d40":{"type":"string"}}}`)
	for _, target := range []schema.Target{schema.AnthropicOutput, schema.OpenAIStrict, schema.Gemini} {
		if _, err := schema.Adapt(target, json.RawMessage(b.String())); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %v", target, err)
		}
	}
	if _, err := schema.Compile(json.RawMessage(b.String())); err == nil || !strings.Contains(err.Error(), "its references multiply") {
		t.Errorf("Compile: %v", err)
	}
	deep := bytes.Repeat([]byte(`{"not":`), 100_000)
	for _, target := range schema.Targets() {
		if _, err := schema.Adapt(target, deep); err == nil {
			t.Errorf("%s took a schema of 100,000 levels", target)
		}
	}
}

func TestADefinitionThatNothingRefersToIsNotSentToAnEnforcedWire(t *testing.T) {
	t.Parallel()
	const authored = `{"type":"object","properties":{"a":{"$ref":"#/$defs/used"}},"required":["a"],"additionalProperties":false,` +
		`"$defs":{"used":{"type":"string"},"tree":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}}}`
	const want = `{"type":"object","properties":{"a":{"$ref":"#/$defs/used"}},"required":["a"],"additionalProperties":false,"$defs":{"used":{"type":"string"}}}`
	if got := adapt(t, schema.AnthropicOutput, json.RawMessage(authored)).Schema; string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestKeywordsAreFoundAndNamesAreNot(t *testing.T) {
	t.Parallel()
	var got []string
	for place, keyword := range schema.Keywords([]byte(`{"type":"object","properties":{"pattern":{"enum":[{"not":1}]},"list":{"items":{"maxLength":1}}},"$defs":{"d":{"anyOf":[{"const":{"format":1}}]}}}`)) {
		got = append(got, place+"/"+keyword)
	}
	want := []string{"/type", "/properties", "/$defs", "pattern/enum", "list/items", "list[]/maxLength", "$defs/d/anyOf", "$defs/d/const"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestForbiddenSeesEachThingThatAWireRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target schema.Target
		schema string
		want   []string
	}{
		{schema.AnthropicTool, `{"type":"object","anyOf":[{"required":["a"]}]}`, []string{"anyOf"}},
		{schema.AnthropicOutput, `{"type":"object","properties":{"a":{"maxLength":1}}}`,
			[]string{"additionalProperties: false is missing", "a: maxLength", "a: it has no type"}},
		{schema.OpenAIStrict, `{"type":"object","properties":{"a":{"$ref":"#","default":1}},"additionalProperties":true}`,
			[]string{"additionalProperties", "additionalProperties: false is missing", "a is not required", "a: default", "a: $ref has siblings"}},
		{schema.OpenAI, `{"type":"object","properties":{"a":{"type":"array"}}}`, []string{"a: an array without items"}},
		{schema.Gemini, `{"type":"object","properties":{"a":{"const":1,"title":"A"}}}`, []string{"a: const", "a: title"}},
	} {
		if diff := cmp.Diff(c.want, schema.Forbidden(c.target, []byte(c.schema))); diff != "" {
			t.Errorf("%s of %s (-want +got)\n%s", c.target, c.schema, diff)
		}
	}
	if !slices.IsSorted(schema.Targets()) {
		t.Error("Targets is not sorted")
	}
}
