package schema_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pawl/schema"
)

// A jumble makes small schemas of all keywords, and small values, over a few names and
// numbers, so that they meet.
type jumble struct {
	*rand.Rand
	refs   bool // there are definitions to refer to
	draft7 bool
}

func (j jumble) pick(of ...string) string { return of[j.IntN(len(of))] }

func (j jumble) list(n int, of func() string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = of()
	}
	return strings.Join(items, ",")
}

func (j jumble) name() string { return j.pick(`"a"`, `"b"`, `"c"`, `"ab"`) }

func (j jumble) value(depth int) string {
	n := 9
	if depth <= 0 {
		n = 7
	}
	switch j.IntN(n) {
	case 0:
		return j.pick("null", "true", "false")
	case 1, 2, 3:
		return j.pick("0", "1", "1.0", "2", "3", "0.5", "-1", "1e1", "10")
	case 4, 5, 6:
		return j.pick(`""`, `"a"`, `"ab"`, `"ä"`, `"😀b"`, `"1"`, `"2026-11-22"`, `"12:00:00Z"`, `"2026-11-22T12:00:00.5+01:00"`, `"a@b.c"`, `"1.2.3.4"`, `"::1"`, `"http://a/b"`, `"123e4567-e89b-12d3-a456-426614174000"`)
	case 7:
		return "[" + j.list(j.IntN(4), func() string { return j.value(depth - 1) }) + "]"
	}
	seen, members := map[string]bool{}, []string{}
	for range j.IntN(4) {
		if name := j.name(); !seen[name] {
			seen[name] = true
			members = append(members, name+":"+j.value(depth-1))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (j jumble) schema(depth int) string {
	if j.IntN(12) == 0 {
		return j.pick("true", "false")
	}
	sub := func() string { return j.schema(depth - 1) }
	of := func() string { return "[" + j.list(1+j.IntN(3), sub) + "]" }
	named := func(value func() string) string {
		seen, members := map[string]bool{}, []string{}
		for range 1 + j.IntN(3) {
			if name := j.name(); !seen[name] {
				seen[name] = true
				members = append(members, name+":"+value())
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	names := func() string { return j.pick("[]", `["a"]`, `["a","b"]`, `["c"]`) }
	small := func() string { return j.pick("0", "1", "2", "3") }
	flat := []func() string{
		func() string {
			return `"type":` + j.pick(`"string"`, `"integer"`, `"number"`, `"object"`, `"array"`, `"null"`, `"boolean"`, `["string","null"]`, `["object","array"]`)
		},
		func() string { return `"enum":[` + j.value(1) + `,"of many"]` },
		func() string { return `"const":` + j.value(1) },
		func() string { return `"minimum":` + small() },
		func() string { return `"maximum":` + small() },
		func() string { return `"exclusiveMinimum":` + small() },
		func() string { return `"exclusiveMaximum":` + small() },
		func() string { return `"multipleOf":` + j.pick("1", "0.5", "2", "1e1") },
		func() string { return `"minLength":` + small() },
		func() string { return `"maxLength":` + j.pick("0", "1", "2.0") },
		func() string { return `"pattern":` + j.pick(`"^a"`, `"b$"`, `"[0-9]"`) },
		func() string { return `"minItems":` + small() },
		func() string { return `"maxItems":` + small() },
		func() string { return `"uniqueItems":` + j.pick("true", "false") },
		func() string { return `"minProperties":` + small() },
		func() string { return `"maxProperties":` + small() },
		func() string { return `"required":` + names() },
		func() string { return `"dependentRequired":` + named(names) },
		func() string {
			return `"format":` + j.pick(`"date"`, `"uuid"`, `"email"`, `"ipv4"`, `"ipv6"`, `"time"`, `"date-time"`, `"uri"`, `"novel"`)
		},
	}
	deep := []func() string{
		func() string { return `"properties":` + named(sub) },
		func() string { return `"patternProperties":{` + j.pick(`"^a"`, `"b"`) + ":" + sub() + "}" },
		func() string { return `"additionalProperties":` + sub() },
		func() string { return `"propertyNames":` + sub() },
		func() string { return `"dependentSchemas":` + named(sub) },
		func() string { return `"items":` + sub() },
		func() string { return `"prefixItems":` + of() },
		func() string { return `"contains":` + sub() },
		func() string {
			return `"contains":` + sub() + `,"minContains":` + small() + `,"maxContains":` + small()
		},
		func() string { return `"allOf":` + of() },
		func() string { return `"anyOf":` + of() },
		func() string { return `"oneOf":` + of() },
		func() string { return `"not":` + sub() },
		func() string { return `"if":` + sub() + `,"then":` + sub() + `,"else":` + sub() },
		func() string { return `"unevaluatedProperties":` + sub() },
		func() string { return `"unevaluatedItems":` + sub() },
	}
	anchor := `"#an"`
	if j.draft7 { // what only later drafts have does not count there
		anchor = `"#/$defs/b"`
		flat = append(flat[:17], flat[18:]...)
		deep = slices.Concat(deep[:4], deep[5:6], deep[7:8], deep[9:14])
		deep = append(deep,
			func() string { return `"items":` + of() + `,"additionalItems":` + sub() },
			func() string { return `"dependencies":` + named(func() string { return j.pick(sub(), names()) }) })
	}
	if j.refs {
		deep = append(deep, func() string { return `"$ref":` + j.pick(`"#/$defs/a"`, `"#/$defs/b"`, anchor, `"#/$defs/c"`) })
	}
	seen, members := map[string]bool{}, []string{}
	for range j.IntN(4) {
		from := flat
		if depth > 0 && j.IntN(2) == 0 {
			from = deep
		}
		m := from[j.IntN(len(from))]()
		if name, _, _ := strings.Cut(m, ":"); !seen[name] {
			seen[name] = true
			members = append(members, m)
		}
	}
	if j.draft7 { // the library takes some siblings of $ref there, and the draft none
		for _, m := range members {
			if strings.HasPrefix(m, `"$ref"`) {
				members = []string{m}
				break
			}
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// TestValuesAreJudgedAsByAnotherValidator: the same values fit as fit for a library
// that passes the official suite. The program does not link it, because it takes
// milliseconds to start.
func TestValuesAreJudgedAsByAnotherValidator(t *testing.T) {
	t.Parallel()
	fitting, not := 0, 0
	for seed := range uint64(3_000) {
		j := jumble{Rand: rand.New(rand.NewPCG(seed, 3)), draft7: seed%3 == 0}
		defs := `"$defs":{"a":` + j.schema(1) + `,"b":{"$anchor":"an","allOf":[` + j.schema(1) + `]},` +
			`"c":{"properties":{"a":{"$ref":"#/$defs/c"},"b":` + j.schema(1) + `},"items":{"$ref":"#/$defs/c"},"allOf":[` + j.schema(1) + `]}}`
		j.refs = true
		authored := `{"allOf":[` + j.schema(3) + `],` + defs + `}`
		if j.draft7 {
			authored = `{"$schema":"http://json-schema.org/draft-07/schema#",` + authored[1:]
		}
		c, err := schema.Compile(json.RawMessage(authored))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, authored)
		}
		other := otherValidator(t, authored)
		for range 4 {
			value := j.value(3)
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
			if err != nil {
				t.Fatal(err)
			}
			want := other.Validate(doc) == nil
			problems := c.Validate(json.RawMessage(value))
			if (problems == nil) != want {
				t.Fatalf("seed %d: %s fits %v by another validator, problems here: %v\n%s", seed, value, want, problems, authored)
			}
			if want {
				fitting++
			} else {
				not++
			}
		}
	}
	if fitting < 1_000 || not < 1_000 {
		t.Errorf("%d fit, %d do not: the schemas do not try both", fitting, not)
	}
}

// otherValidator returns the library's compiled schema.
func otherValidator(t *testing.T, authored string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(authored)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("mem://schema/", doc); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile("mem://schema/")
	if err != nil {
		t.Fatalf("%v\n%s", err, authored)
	}
	return s
}
