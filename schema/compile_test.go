package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pawl/schema"
)

func TestEverythingThatIsWrongIsSaidInWords(t *testing.T) {
	t.Parallel()
	const edit = `{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","maxItems":2,"items":{"type":"object",` +
		`"properties":{"old":{"type":"string","minLength":2},"new":{"type":"string"},"all":{"type":"boolean"}},"required":["old","new"],"additionalProperties":false}}},` +
		`"required":["path","edits"],"additionalProperties":false}`
	const union = `{"oneOf":[` +
		`{"type":"object","properties":{"type":{"const":"plan"},"plan":{"type":"array"}},"required":["type","plan"],"additionalProperties":false},` +
		`{"type":"object","properties":{"type":{"const":"error"},"error":{"type":"string"}},"required":["type","error"],"additionalProperties":false}]}`
	for _, c := range []struct{ authored, answer, want string }{
		{edit, `{"path":"a","edits":[]}`, ""},
		{edit, `{"path":7,"edits":[{"new":"x"},{"old":"a","new":"b","al":true}]}`,
			"edits[0].old: missing\nedits[1].al: there is no such field\nedits[1].old: too short: at least 2 characters\npath: expected string, got number"},
		{edit, `{"path":"a","edits":[1,2,3]}`,
			"edits: too many: 3 items; at most 2\nedits[0]: expected object, got number\nedits[1]: expected object, got number\nedits[2]: expected object, got number"},
		{edit, `[]`, "expected object, got array"},
		{edit, `{"path":`, "it is not JSON: unexpected EOF within \"/path\" after offset 8"},
		{edit, `{} {}`, "it is not JSON: there is something after the JSON: {}"},
		{`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":3}}}`, `{"n":5}`, "n: must be at most 3"},
		{`{"type":"object","properties":{"n":{"type":"integer","minimum":1}}}`, `{"n":1e999999999}`, "the number 1e999999999 is out of range"},
		{`{"type":"object","properties":{"s":{"enum":["a","b"]}}}`, `{"s":"c"}`, `s: "c" is none of a, b`},
		{`{"type":"object","properties":{"s":{"enum":["a",2]}}}`, `{"s":3}`, `s: 3 is none of a, 2`},
		{`{"type":"object","properties":{"s":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"s":1}`, `s: expected string or null, got number`},
		{`{"type":"object","properties":{"s":{"not":{"type":"string"}}}}`, `{"s":""}`, `s: it is what it must not be`},
		{`{"type":"object","properties":{"s":{"pattern":"^a"}}}`, `{"s":"b"}`, `s: "b" does not match the pattern ^a`},
		// Only the branch that was meant is spoken of.
		{union, `{"type":"plan"}`, "plan: missing"},
		{union, `{"type":"plan","plan":[],"error":"x"}`, "error: there is no such field"},
		{union, `{"type":"other"}`, "error: missing\nplan: missing\ntype: \"other\" is none of plan, error"},
	} {
		var got []string
		for _, p := range compile(t, json.RawMessage(c.authored)).Validate(json.RawMessage(c.answer)) {
			got = append(got, p.String())
		}
		if got := strings.Join(got, "\n"); got != c.want {
			t.Errorf("%s against %.60s…:\n got %s\nwant %s", c.answer, c.authored, got, c.want)
		}
	}
}

func TestASchemaReadsNothingOutsideItself(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{"file:///etc/passwd", "https://example.com/s.json", "other.json"} {
		_, err := schema.Compile(fmt.Appendf(nil, `{"type":"object","properties":{"a":{"$ref":%q}}}`, ref))
		if err == nil || !strings.Contains(err.Error(), "nothing outside it is read") {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestASchemaThatIsNoneIsNotCompiled(t *testing.T) {
	t.Parallel()
	for _, authored := range []string{`{"type":"text"}`, `{"properties":[]}`, `{"minLength":-1}`, `{"multipleOf":0}`, `{"minimum":1e999999999}`, `7`, ``,
		`{"pattern":"` + strings.Repeat("a", 5000) + `"}`} {
		if _, err := schema.Compile(json.RawMessage(authored)); err == nil {
			t.Errorf("%.60s was taken for a schema", authored)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%.60s: an error of %d bytes", authored, len(err.Error()))
		}
	}
}

func TestAPatternThatGoDoesNotKnowIsNotCheckedAndTold(t *testing.T) {
	t.Parallel()
	c := compile(t, json.RawMessage(`{"type":"object","properties":{"mail":{"type":"string","pattern":"^(?!\\.)x"},"id":{"type":"string","pattern":"^[a-z]+$"}}}`))
	if got := c.Unchecked(); len(got) != 1 || got[0] != `^(?!\.)x` {
		t.Errorf("Unchecked() = %q", got)
	}
	if problems := c.Validate(json.RawMessage(`{"mail":"a@b.c","id":"A"}`)); len(problems) != 1 || problems[0].Path != "id" {
		t.Errorf("%v, want the id alone", problems)
	}
}

func TestACountlessNumberOfProblemsIsCutShort(t *testing.T) {
	t.Parallel()
	c := compile(t, json.RawMessage(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`))
	problems := c.Validate(fmt.Appendf(nil, `{"a":[%s1]}`, bytes.Repeat([]byte("1,"), 5000)))
	if len(problems) != 101 || problems[100].What != "and 4901 more problems" {
		t.Errorf("%d problems, the last %v", len(problems), problems[len(problems)-1])
	}
}

func TestNullsThatStrictModeForcedAreTakenOutAgain(t *testing.T) {
	t.Parallel()
	const onCondition = `{"type":"object","if":{"properties":{"k":{"const":"a"}}},"then":{"properties":{"v":{"type":"string"}}},"else":{"properties":{"v":{"type":["string","null"]}}}}`
	const person = `{"type":"object","properties":{"name":{"type":"string"},"mail":{"type":"string"},"nick":{"type":["string","null"]}},"required":["name"]}`
	for _, c := range []struct{ name, authored, answer, want string }{
		{"an optional field", person, `{"name":"a","mail":null}`, `{"name":"a"}`},
		{"a field that may be null keeps it", person, `{"name":"a","nick":null}`, `{"name":"a","nick":null}`},
		{"a required field keeps it, for Validate to tell", person, `{"name":null}`, `{"name":null}`},
		{"what is not changed stays byte for byte", person, "{ \"name\" : \"\\u0061\" ,\n\"nick\":null }", "{ \"name\" : \"\\u0061\" ,\n\"nick\":null }"},
		{"siblings stay as they were written", `{"type":"object","properties":{"a":{"type":"string"},"b":` + person + `}}`,
			`{"a":null,"b":{ "name": "\u0061" }}`, `{"b":{ "name": "\u0061" }}`},
		{"through items", `{"type":"object","properties":{"l":{"type":"array","items":` + person + `}}}`,
			`{"l":[{"name":"a","mail":null},{"name":"b","mail":"m"}]}`, `{"l":[{"name":"a"},{"name":"b","mail":"m"}]}`},
		{"null items of an array stay", `{"type":"object","properties":{"l":{"type":"array","items":{"type":["string","null"]}}}}`,
			`{"l":[null,"a"]}`, `{"l":[null,"a"]}`},
		{"through references in a circle", `{"type":"object","properties":{"v":{"type":"string"},"next":{"$ref":"#"}}}`,
			`{"v":"a","next":{"v":null,"next":{"v":"c","next":null}}}`, `{"v":"a","next":{"next":{"v":"c"}}}`},
		{"through allOf", `{"type":"object","allOf":[{"$ref":"#/$defs/p"},{"properties":{"x":{"type":"integer"}}}],"$defs":{"p":` + person + `}}`,
			`{"name":"a","mail":null,"x":null}`, `{"name":"a"}`},
		{"through a tuple", `{"type":"object","properties":{"t":{"prefixItems":[{"type":"integer"},` + person + `]}}}`,
			`{"t":[1,{"name":"a","mail":null}]}`, `{"t":[1,{"name":"a"}]}`},
		{"the branch that is meant", string(read(t, "submission")),
			`{"type":"questions","summary":null,"plan":null,"assignedAgent":null,"questions":["q"],"error":null}`, `{"type":"questions","questions":["q"]}`},
		{"a null that only that branch allows stays", string(read(t, "submission")),
			`{"type":"error","summary":null,"plan":null,"assignedAgent":null,"questions":null,"error":"e"}`, `{"type":"error","summary":null,"error":"e"}`},
		{"a field by its pattern", `{"type":"object","patternProperties":{"^x":{"type":"string"},"y$":{"type":["string","null"]}}}`,
			`{"xa":null,"b":null,"by":null,"xy":null}`, `{"b":null,"by":null}`},
		{"a field that only its pattern allows to be null", `{"type":"object","patternProperties":{"^x":{"type":["string","null"]}},"additionalProperties":{"type":"string"}}`,
			`{"xa":null,"b":null}`, `{"xa":null}`},
		{"the other fields", `{"type":"object","properties":{"a":{"type":["string","null"]}},"additionalProperties":{"type":"string"}}`,
			`{"a":null,"b":null}`, `{"a":null}`},
		{"what holds under a condition", onCondition, `{"k":"a","v":null}`, `{"k":"a"}`},
		{"what holds under the other condition", onCondition, `{"k":"b","v":null}`, `{"k":"b","v":null}`},
		{"what holds beside a field", `{"type":"object","dependentSchemas":{"k":{"properties":{"v":{"type":"string"}}}}}`, `{"k":1,"v":null}`, `{"k":1}`},
		{"what would hold beside a field", `{"type":"object","dependentSchemas":{"k":{"properties":{"v":{"type":"string"}}}}}`, `{"j":1,"v":null}`, `{"j":1,"v":null}`},
		{"what holds beside a field in draft 7", `{"type":"object","dependencies":{"k":{"properties":{"v":{"type":"string"}}},"j":["v"]}}`, `{"k":1,"j":1,"v":null}`, `{"k":1,"j":1}`},
		{"a field of two schemas of which one refuses null", `{"type":"object","allOf":[{"properties":{"v":{"type":["string","null"]}}},{"properties":{"v":{"type":"string"}}}]}`, `{"v":null}`, `{}`},
		{"a field that one of two schemas requires", `{"type":"object","allOf":[{"required":["v"]},{"properties":{"v":{"type":"string"}}}]}`, `{"v":null}`, `{"v":null}`},
		{"an unknown field stays, for Validate to tell", person, `{"name":"a","other":null}`, `{"name":"a","other":null}`},
		{"no JSON", person, `{"name":null`, `{"name":null`},
	} {
		if got := compile(t, json.RawMessage(c.authored)).Restore(json.RawMessage(c.answer)); string(got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
