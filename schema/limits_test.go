package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pawl/schema"
)

// closed is an object schema of properties, all required.
func closed(properties ...string) string {
	var names []string
	for _, p := range properties {
		name, _, _ := strings.Cut(p, ":")
		names = append(names, name)
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(names, ",") + `],"additionalProperties":false}`
}

// values is a property p with an enum of n values that have so many characters together.
func values(n, characters int) string {
	var all []string
	for i := range n {
		value := fmt.Sprintf("%04d", i)
		if i == 0 {
			value += strings.Repeat("ü", characters-4*n)
		}
		all = append(all, `"`+value+`"`)
	}
	return `"p":{"type":"string","enum":[` + strings.Join(all, ",") + `]}`
}

// As much as a wire takes is taken, and not one more.
func TestWhatIsLargerThanAWireTakesIsRefused(t *testing.T) {
	t.Parallel()
	numbered := func(n int, property string) []string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"p%d":%s`, i, property))
		}
		return all
	}
	nested := func(levels int) string {
		return strings.Repeat(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"array","items":`, levels/2) +
			`{"type":"string"}` + strings.Repeat(`}}}`, levels/2)
	}
	withDefinition := func(name string) string {
		return strings.TrimSuffix(closed(`"p":{"$ref":"#/$defs/`+name+`"}`), "}") + `,"$defs":{"` + name + `":{"type":"string"}}}`
	}
	optional := func(n int) string {
		s := closed(numbered(n, `{"type":"string"}`)...)
		return s[:strings.Index(s, `,"required"`)] + `,"additionalProperties":false}`
	}
	for _, c := range []struct {
		target     schema.Target
		fits, over string
		says       string
	}{
		{schema.OpenAIStrict, closed(values(1000, 4000)), closed(values(1001, 4004)), "the root: it has 1001 enum values; at most 1000 are taken here"},
		{schema.OpenAIStrict, closed(values(2, 119_999)), closed(values(2, 120_000)), "the root: it has 120001 characters in names and values; at most 120000 are taken here"},
		{schema.OpenAIStrict, withDefinition(strings.Repeat("d", 119_999)), withDefinition(strings.Repeat("d", 120_000)), "the root: it has 120001 characters in names and values"},
		{schema.OpenAIStrict, closed(values(251, 15_000)), closed(values(251, 15_001)), "p: it has 15001 characters in an enum of more than 250 values; at most 15000 are taken here"},
		{schema.OpenAIStrict, closed(values(250, 15_001)), closed(values(251, 15_001)), "in an enum of more than 250 values"},
		{schema.OpenAIStrict, nested(10), nested(12), "the root: it has 12 levels; at most 10 are taken here"},
		{schema.AnthropicOutput, optional(24), optional(25), "the root: it has 25 optional properties; at most 24 are taken here"},
		{schema.AnthropicOutput, closed(numbered(16, `{"type":["string","null"]}`)...), closed(numbered(17, `{"type":["string","null"]}`)...),
			"the root: it has 17 properties of several types; at most 16 are taken here"},
		{schema.AnthropicOutput, closed(numbered(16, `{"anyOf":[{"type":"string"},{"type":"null"}]}`)...), closed(numbered(17, `{"anyOf":[{"type":"string"},{"type":"null"}]}`)...),
			"the root: it has 17 properties of several types; at most 16 are taken here"},
		{schema.AnthropicTool, closed(`"` + strings.Repeat("n", 64) + `":{"type":"string"}`), closed(`"` + strings.Repeat("n", 65) + `":{"type":"string"}`), "is refused here: it must match"},
	} {
		if _, err := schema.Adapt(c.target, json.RawMessage(c.fits)); err != nil {
			t.Errorf("%s, where it says %q of one more: %.200v", c.target, c.says, err)
		}
		if _, err := schema.Adapt(c.target, json.RawMessage(c.over)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %.200v, want %q", c.target, err, c.says)
		}
	}
}

func TestAnErrorSaysWhereASchemaStands(t *testing.T) {
	t.Parallel()
	const wrong = `{"type":"text"}`
	for authored, place := range map[string]string{
		`{"properties":{"a":{"properties":{"b":` + wrong + `}}}}`:     "a.b",
		`{"properties":{"a":{"items":` + wrong + `}}}`:                "a[]",
		`{"properties":{"a":{"items":[{},` + wrong + `]}}}`:           "a[1]",
		`{"properties":{"a":{"prefixItems":[{},` + wrong + `]}}}`:     "a[1]",
		`{"properties":{"a":{"additionalProperties":` + wrong + `}}}`: "a.*",
		`{"patternProperties":{"x":` + wrong + `}}`:                   ".*",
		`{"$defs":{"d":` + wrong + `}}`:                               "$defs/d",
		`{"definitions":{"d":` + wrong + `}}`:                         "$defs/d",
		`{"properties":{"a":{"anyOf":[{},` + wrong + `]}}}`:           "a",
		`{"not":` + wrong + `}`:                                       "the root",
	} {
		_, err := schema.Adapt(schema.AnthropicTool, json.RawMessage(authored))
		if want := place + `: there is no type "text"`; err == nil || !strings.HasSuffix(err.Error(), "as anthropic-tool: "+want) {
			t.Errorf("%s: %v, want %s", authored, err, want)
		}
	}
}

func TestWhereAReferenceLeads(t *testing.T) {
	t.Parallel()
	const authored = `{"type":"object","properties":{"a":{"type":"string"},"t":{"prefixItems":[{"type":"string"}]},"ref":{"$ref":%q}},` +
		`"$defs":{"x/y":{"type":"string"},"x~y":{"type":"string"},"100%%":{"type":"string"},"%%zz":{"type":"string"},"named":{"$anchor":"here"},"any":true}}`
	for ref, want := range map[string]string{
		"#": "", "#/properties/a": "", "#/properties/t/prefixItems/0": "", "#here": "", "#/$defs/any": "",
		"#/$defs/x~1y": "", "#/$defs/x%2Fy": "", "#/$defs/x%2fy": "", "#/$defs/x~0y": "", "#/%24defs/x~0y": "", "#/$defs/100%": "", "#/$defs/%zz": "",
		"#there":                        "there is no such $anchor",
		"#/properties/t/prefixItems/1":  "there is nothing of that name",
		"#/properties/t/prefixItems/-1": "there is nothing of that name",
		"#/properties/t/prefixItems/x":  "there is nothing of that name",
		"#/properties/a/type/x":         "there is nothing of that name",
		"#/$defs/x/y":                   "there is nothing of that name",
		"#/properties/a/type":           "that is no schema",
		"#/$defs":                       "",
		"other.json":                    "leads out of the schema",
		"":                              "leads out of the schema",
	} {
		_, err := schema.Adapt(schema.OpenAI, fmt.Appendf(nil, authored, ref))
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "ref: $ref ")) {
			t.Errorf("%q: %v, want %q", ref, err, want)
		}
	}
}
