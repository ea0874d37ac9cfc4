package submission_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pawl/internal/golden"
	"pawl/run"
	"pawl/submission"
)

// own are results that authors of agents declare, by what is particular about each.
var own = map[string]string{
	"kinds": `{"type":"object","properties":{"text":{"type":"string"},"list":{"type":"array"},"object":{"type":"object"},
		"count":{"type":"integer"},"share":{"type":"number"},"done":{"type":"boolean"},"either":{"type":["string","null"]},
		"any":true,"five":{"const":5},"z\u00e4hler":{"type":"integer"}},"required":["text","list","object","count","share","done","either","any","five"]}`,
	"optional": `{"type":"object","properties":{"note":{"type":"string"}}}`,
	"anyOf": `{"type":"object","anyOf":[
		{"type":"object","properties":{"what":{"const":"found"},"where":{"type":"string"}},"required":["what","where"],"additionalProperties":false},
		{"type":"object","properties":{"what":{"const":"nothing"}},"required":["what"],"additionalProperties":false}]}`,
	"no mark": `{"type":"object","oneOf":[
		{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},
		{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}`,
	"no fields": `{"type":"object","maxProperties":0}`,
	"one of one": `{"type":"object","oneOf":[
		{"type":"object","properties":{"what":{"const":"found"},"where":{"type":"string"}},"required":["what","where"]}]}`,
	"two constants": `{"type":"object","oneOf":[
		{"type":"object","properties":{"what":{"const":"found"},"format":{"const":"v1"},"where":{"type":"string"}},
			"required":["what","where"],"additionalProperties":false},
		{"type":"object","properties":{"what":{"const":"nothing"},"format":{"const":"v1"},"why":{"type":["string","null"]}},
			"required":["what"],"additionalProperties":false}]}`,
	"tool":   `{"type":"object","properties":{"tool":{"type":"string"},"how":{"type":"string"}},"required":["tool"],"additionalProperties":false}`,
	"strict": `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`,
}

func checker(t *testing.T, schema string) *submission.Checker {
	t.Helper()
	c, err := submission.NewChecker(run.Output{Tool: "my-result", Schema: schema})
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return c
}

func TestWhatAnAgentIsToldOfAResultOfItsAuthor(t *testing.T) {
	t.Parallel()
	var told strings.Builder
	for _, name := range slices.Sorted(maps.Keys(own)) {
		o := submission.Required("my-result", own[name])
		fmt.Fprintf(&told, "-- %s --\n%s\n%s\n\n", name, submission.Instructions(o), run.Reminder(o))
	}
	golden.Compare(t, "own.golden", []byte(told.String()))
}

func TestAPayloadOfAnAuthorsResultIsStoredAsItsSchemaHasIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, payload, want string }{
		{"strict", "{ \"n\" :\t1 }\n", `{"n":1}`},
		{"strict", `{"tool":"my-result","n":1}`, `{"n":1}`},
		{"strict", `{"n":1,"tool":"my_result"}`, `{"n":1}`},
		{"strict", `{"tool":"my-result","\u006e":1}`, `{"n":1}`},
		{"optional", `{"note":null}`, `{}`},
		{"optional", `{"note":""}`, `{"note":""}`},
		{"optional", ` `, `{}`},
		{"optional", `{"tool":"my-result","more":"<b>","note":"a"}`, `{"more":"<b>","note":"a"}`},
		{"anyOf", `{"what":"nothing","where":""}`, `{"what":"nothing"}`},
		{"anyOf", `{"where":null,"what":"nothing"}`, `{"what":"nothing"}`},
		{"anyOf", `{"what":"nothing","where":[]}`, `{"what":"nothing"}`},
		{"anyOf", `{"where": { },"what":"nothing"}`, `{"what":"nothing"}`},
		{"anyOf", `{"what":"found","where":""}`, `{"what":"found","where":""}`},
		{"tool", `{"tool":"my-result","how":"x"}`, `{"tool":"my-result","how":"x"}`}, // a field of its own
		{"no mark", `{"b":"x"}`, `{"b":"x"}`},
	} {
		got, err := checker(t, own[c.schema]).Check(json.RawMessage(c.payload))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s became %s, want %s: %v", c.schema, c.payload, got, c.want, err)
		}
	}
}

func TestAPayloadThatIsNotTheResultOfItsAuthor(t *testing.T) {
	t.Parallel()
	const strict = `It needs n.`
	const anyOf = `There are these variants: what "found" needs where; what "nothing" needs nothing else.`
	for _, c := range []struct{ schema, payload, want string }{
		{"strict", `{}`, "n: missing. " + strict},
		{"strict", `null`, "it is not a JSON object. " + strict},
		{"strict", `{"n":1`, "it is not JSON: unexpected end of JSON input. " + strict},
		{"strict", `{"tool":7,"n":1}`, "tool: there is no such field. " + strict},
		{"strict", `{"tool":"other","n":1}`, "tool: there is no such field. " + strict},
		{"strict", `{"n":1,"x":null}`, "x: there is no such field. " + strict},
		{"strict", `{"n":1,"n":1}`, `it is not JSON: duplicate object member name "n". ` + strict},
		{"strict", "{\"tool\":\"my-result\",\"n\":\"\xff\"}", `it is not JSON: invalid UTF-8 within "/n" after offset 6. ` + strict},
		{"optional", `{"note":1}`, "note: expected string, got number. It needs nothing else and may have note."},
		{"anyOf", `{"what":"nothing","where":"x"}`, `where: there is no such field. A payload of what "nothing" needs nothing else.`},
		{"anyOf", `{"what":"nothing","other":null}`, `other: there is no such field. A payload of what "nothing" needs nothing else.`},
		{"anyOf", `{"what":null}`, `what: null is none of "found", "nothing". ` + anyOf},
		{"anyOf", `{"what":7}`, `what: 7 is none of "found", "nothing". ` + anyOf},
		{"two constants", `{"what":"found","why":null}`, `where: missing. A payload of what "found" needs where and may have format.`},
		{"no fields", `{"a":1}`, "too many fields: 1; at most 0. It takes an object that fits its schema."},
		{"kinds", `{}`, "any: missing; count: missing; done: missing; either: missing; five: missing; list: missing; object: missing; " +
			"share: missing; text: missing. It needs text, list, object, count, share, done, either, any, five and may have zähler."},
	} {
		_, err := checker(t, own[c.schema]).Check(json.RawMessage(c.payload))
		if want := "wrong arguments for my-result: " + c.want; err == nil || err.Error() != want {
			t.Errorf("%s, %s:\n got %v\nwant %s", c.schema, c.payload, err, want)
		}
	}
}

func TestNoMoreThanTenProblemsOfAPayloadAreSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		missing, said int
		last          string
	}{{10, 10, "missing"}, {11, 11, "and 1 more"}, {40, 11, "and 30 more"}} {
		var names []string
		for i := range c.missing {
			names = append(names, fmt.Sprintf("f%02d", i))
		}
		required, err := json.Marshal(names)
		if err != nil {
			t.Fatal(err)
		}
		_, err = checker(t, `{"type":"object","required":`+string(required)+`}`).Check(json.RawMessage(`{}`))
		wrong, ok := errors.AsType[*submission.Error](err)
		if !ok || len(wrong.Problems) != c.said || wrong.Problems[c.said-1].What != c.last {
			t.Errorf("of %d missing fields: %v", c.missing, err)
		}
	}
}

func TestTheAuthorOfASchemaIsToldWhatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		``:                                  "the schema cannot be read: EOF",
		`[]`:                                "the schema cannot be used: it is []: that is no JSON Schema",
		`{"type":"object","required":true}`: "the schema cannot be used: the root: required is true: that is no JSON Schema",
	} {
		if _, err := submission.NewChecker(run.Output{Tool: "my-result", Schema: schema}); err == nil || err.Error() != want {
			t.Errorf("%s: %v", schema, err)
		}
	}
	behind := `{"type":"object","properties":{"a":{"type":"string","pattern":"(?<=b)c"}}}`
	if got := checker(t, behind).Unchecked(); !slices.Equal(got, []string{"(?<=b)c"}) {
		t.Errorf("not checked: %q", got)
	}
	if got := checker(t, own["strict"]).Unchecked(); len(got) != 0 {
		t.Errorf("not checked: %q", got)
	}
}

func TestTheKindsOfAgentsAndTheirTools(t *testing.T) {
	t.Parallel()
	if want := []submission.Kind{"planner", "worker"}; !slices.Equal(submission.Kinds, want) {
		t.Errorf("the kinds are %v, want %v", submission.Kinds, want)
	}
	for kind, tool := range map[submission.Kind]string{"planner": "planner-output", "worker": "completion-report"} {
		o, ok := kind.Output()
		if !ok || o.Tool != tool || !o.ByTool {
			t.Errorf("a %s has to submit %+v", kind, o)
		}
		if text := submission.Description(tool); text == "" || text != strings.TrimSpace(text) {
			t.Errorf("models are told %q of %s", text, tool)
		}
	}
	if o, ok := submission.Kind("manager").Output(); ok || o != (run.Output{}) || submission.Description("read") != "" {
		t.Error("a kind that does not exist has a result")
	}
}

func TestTheFieldsOfASchemaAreInTheOrderOfTheirAuthor(t *testing.T) {
	t.Parallel()
	read := func(schema string, most int) (names []string) {
		for name, p := range submission.Fields(json.RawMessage(schema)) {
			if p.Required {
				name += "!"
			}
			if names = append(names, name+string(p.Schema)); len(names) == most {
				break
			}
		}
		return names
	}
	const schema = `{"type":"object","properties":{"b":{"type":"string"},"a":true,"c":{}},"required":["a"]}`
	if got := read(schema, 9); !slices.Equal(got, []string{`b{"type":"string"}`, "a!true", "c{}"}) {
		t.Errorf("%q", got)
	}
	if got := read(schema, 1); len(got) != 1 {
		t.Errorf("%q", got)
	}
	for _, none := range []string{`true`, `{}`, `{"properties":[]}`, `not JSON`} {
		if got := read(none, 9); got != nil {
			t.Errorf("%s has %q", none, got)
		}
	}
}
