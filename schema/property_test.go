package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pawl/schema"
)

// A maker makes schemas at random, and with each a value that fits it.
type maker struct {
	*rand.Rand
	tokens []string // every constraint has a number or text of its own, which stands nowhere else
	defs   map[string]sample
	wild   bool // also what cannot be enforced: objects of any fields
}

// A sample is a schema and a value that fits it.
type sample struct {
	schema string
	value  any
}

func (m *maker) token() string {
	m.tokens = append(m.tokens, fmt.Sprintf("%d7", 1000+len(m.tokens)))
	return m.tokens[len(m.tokens)-1]
}

func (m *maker) sample(depth int) sample {
	n := 8
	if depth > 0 {
		n = 14
	}
	switch m.IntN(n) {
	case 0:
		return sample{`{"type":"string"` + m.some(
			func() string { return `"maxLength":` + m.token() },
			func() string { return `"minLength":0` },
			func() string { return `"format":"f` + m.token() + `"` },
			func() string { return `"pattern":"^(t` + m.token() + `)?"` },
			func() string { return `"pattern":"^(?!t` + m.token() + `)"` },
			func() string { return `"default":"d` + m.token() + `"` },
			func() string { return `"examples":["e` + m.token() + `"]` },
			func() string { return `"description":"D` + m.token() + `"` },
			func() string { return `"x-mine":` + m.token() },
			func() string { return `"not":{"const":"n` + m.token() + `"}` },
			func() string { return `"title":"T"` },
		) + `}`, fmt.Sprint("s", m.IntN(10))}
	case 1:
		return sample{`{"type":"integer"` + m.some(
			func() string { return `"maximum":` + m.token() },
			func() string { return `"minimum":-` + m.token() },
			func() string { return `"exclusiveMaximum":` + m.token() },
			func() string { return `"exclusiveMinimum":-` + m.token() },
		) + `}`, float64(m.IntN(100))}
	case 2:
		return sample{`{"type":"boolean"}`, m.IntN(2) == 0}
	case 3:
		t := m.token()
		return sample{`{"enum":["a","` + t + `",3]}`, []any{"a", t, 3.0}[m.IntN(3)]}
	case 4:
		t := m.token()
		return sample{`{"const":"c` + t + `"}`, "c" + t}
	case 5:
		return sample{`{"type":["string","null"],"maxLength":` + m.token() + `}`, []any{"s", nil}[m.IntN(2)]}
	case 6:
		return sample{`{"anyOf":[{"type":"string","maxLength":` + m.token() + `},{"type":"integer"},{"type":"null"}]}`, []any{"s", 3.0, nil}[m.IntN(3)]}
	case 7:
		if m.wild && m.IntN(3) == 0 {
			return sample{`{"type":"object"}`, map[string]any{"x": 1.0}}
		}
		return sample{`{"type":"number","multipleOf":0.5}`, 1.5}
	case 8:
		item := m.sample(depth - 1)
		value := []any{}
		for range m.IntN(3) {
			value = append(value, item.value)
		}
		return sample{`{"type":"array","items":` + item.schema + m.some(func() string { return `"maxItems":` + m.token() }) + `}`, value}
	case 9: // a reference, alone or with a description
		name := fmt.Sprint("d", len(m.defs))
		m.defs[name] = sample{} // taken
		m.defs[name] = m.object(depth-1, "")
		ref := `{"$ref":"#/$defs/` + name + `"}`
		if m.IntN(2) == 0 {
			ref = `{"$ref":"#/$defs/` + name + `","description":"R` + m.token() + `"}`
		}
		return sample{ref, m.defs[name].value}
	case 10: // one of several objects, told apart by kind
		var branches []string
		var values []any
		for i := range 2 + m.IntN(2) {
			b := m.object(depth-1, fmt.Sprintf(`"kind":{"const":"k%d"}`, i))
			b.value.(map[string]any)["kind"] = fmt.Sprintf("k%d", i)
			branches, values = append(branches, b.schema), append(values, b.value)
		}
		keyword := []string{"oneOf", "anyOf"}[m.IntN(2)]
		return sample{`{"` + keyword + `":[` + strings.Join(branches, ",") + `]}`, values[m.IntN(len(values))]}
	case 11: // an object of two parts
		a, b := m.open(depth-1, "a"), m.open(depth-1, "b")
		value := a.value.(map[string]any)
		for k, v := range b.value.(map[string]any) {
			value[k] = v
		}
		return sample{`{"allOf":[` + a.schema + `,` + b.schema + `]}`, value}
	}
	return m.object(depth-1, "")
}

// object makes an object; discriminator is a property that the caller gives.
func (m *maker) object(depth int, discriminator string) sample {
	s := m.fields(depth, "p", discriminator)
	return sample{s.schema + `,"additionalProperties":false}`, s.value}
}

// open makes an object that may stand beside another in allOf.
func (m *maker) open(depth int, prefix string) sample {
	s := m.fields(depth, prefix, "")
	return sample{s.schema + `}`, s.value}
}

func (m *maker) fields(depth int, prefix, discriminator string) sample {
	var props, required []string
	value := map[string]any{}
	if discriminator != "" {
		props, required = append(props, discriminator), append(required, `"kind"`)
	}
	for i := range 1 + m.IntN(4) {
		name := fmt.Sprintf("%s%d", prefix, i)
		p := m.sample(depth)
		props = append(props, `"`+name+`":`+p.schema)
		must := m.IntN(2) == 0
		if must {
			required = append(required, `"`+name+`"`)
		}
		if must || m.IntN(2) == 0 {
			value[name] = p.value
		}
	}
	s := `{"type":"object","properties":{` + strings.Join(props, ",") + `}`
	if len(required) > 0 {
		s += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return sample{s, value}
}

// some returns some of the keywords, each with a comma before.
func (m *maker) some(keywords ...func() string) string {
	var b strings.Builder
	taken := map[string]bool{}
	for range m.IntN(4) {
		k := keywords[m.IntN(len(keywords))]()
		name, _, _ := strings.Cut(k, ":")
		if taken[name] {
			m.tokens = m.tokens[:len(m.tokens)-min(len(m.tokens), strings.Count(k, "7"))] // not used after all
			continue
		}
		taken[name] = true
		b.WriteString("," + k)
	}
	return b.String()
}

// make makes a whole schema with a value.
func (m *maker) make() (authored, value []byte) {
	m.defs = map[string]sample{}
	root := m.object(1+m.IntN(3), "")
	var defs []string
	for name, d := range m.defs {
		defs = append(defs, `"`+name+`":`+d.schema)
	}
	slices.Sort(defs)
	s := strings.TrimSuffix(root.schema, "}") + `,"$defs":{` + strings.Join(defs, ",") + `}}`
	value, err := json.Marshal(root.value)
	if err != nil {
		panic(err)
	}
	return []byte(s), value
}

// rounds of the tests with random schemas.
const rounds = 150

func TestNothingThatWasAuthoredIsLostWithoutAWord(t *testing.T) {
	t.Parallel()
	for seed := range uint64(rounds) {
		m := &maker{Rand: rand.New(rand.NewPCG(seed, 1)), wild: true}
		authored, _ := m.make()
		for _, target := range schema.Targets() {
			a, err := schema.Adapt(target, authored)
			if err != nil {
				continue
			}
			said := string(a.Schema)
			for _, token := range m.tokens {
				if strings.Contains(string(authored), token) && !strings.Contains(said, token) {
					t.Fatalf("seed %d as %s: %s is lost:\n%s\n%s", seed, target, token, authored, a.Schema)
				}
			}
			var whole any
			unmarshal(t, a.Schema, &whole)
			for _, note := range a.Notes {
				_, words, _ := strings.Cut(note, ": ")
				if quoted, err := json.Marshal(words); err != nil || !strings.Contains(descriptions(whole), words) {
					t.Fatalf("seed %d as %s: no description says %s:\n%s", seed, target, quoted, a.Schema)
				}
			}
		}
	}
}

// descriptions returns all descriptions in a schema.
func descriptions(v any) string {
	var b strings.Builder
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			if text, ok := child.(string); ok && name == "description" {
				b.WriteString(text + "\n")
			} else {
				b.WriteString(descriptions(child))
			}
		}
	case []any:
		for _, item := range v {
			b.WriteString(descriptions(item))
		}
	}
	return b.String()
}

func TestAdaptedSchemasAreOfTheirWireAndStable(t *testing.T) {
	t.Parallel()
	had := map[schema.Target]int{}
	for seed := range uint64(rounds) {
		m := &maker{Rand: rand.New(rand.NewPCG(seed, 2)), wild: true}
		authored, _ := m.make()
		for _, target := range schema.Targets() {
			a, err := schema.Adapt(target, authored)
			if err != nil {
				continue
			}
			had[target]++
			checkAdapted(t, target, authored, a)
		}
	}
	for _, target := range schema.Targets() {
		if had[target] < rounds/4 {
			t.Errorf("%s took %d of %d schemas: that says little", target, had[target], rounds)
		}
	}
}

// checkAdapted checks what holds for every adapted schema.
func checkAdapted(t *testing.T, target schema.Target, authored []byte, a schema.Adapted) {
	t.Helper()
	if !json.Valid(a.Schema) {
		t.Fatalf("%s of %s is no JSON:\n%s", target, authored, a.Schema)
	}
	if again := adapt(t, target, authored); !bytes.Equal(a.Schema, again.Schema) || !slices.Equal(a.Notes, again.Notes) {
		t.Fatalf("%s of %s differs from time to time:\n%s\n%s", target, authored, a.Schema, again.Schema)
	}
	if found := schema.Forbidden(target, a.Schema); found != nil {
		t.Fatalf("%s of %s has %q:\n%s", target, authored, found, a.Schema)
	}
}

func TestAValueGoesThroughStrictModeAndComesBackTheSame(t *testing.T) {
	t.Parallel()
	passed := 0
	for seed := range uint64(rounds) {
		m := &maker{Rand: rand.New(rand.NewPCG(seed, 3))}
		authored, value := m.make()
		judge := compile(t, authored)
		if problems := judge.Validate(value); problems != nil {
			t.Fatalf("seed %d: the value does not fit its schema: %v\n%s\n%s", seed, problems, authored, value)
		}
		if got := judge.Restore(value); !bytes.Equal(got, value) {
			t.Fatalf("seed %d: a value without forced nulls is changed:\n%s\n%s", seed, value, got)
		}
		a, err := schema.Adapt(schema.OpenAIStrict, authored)
		if err != nil {
			if !strings.Contains(err.Error(), "levels") {
				t.Fatalf("seed %d: %v\n%s", seed, err, authored)
			}
			continue
		}
		strict := strictWire(decode(t, a.Schema).(map[string]any))
		filled, ok := strict.fill(strict, decode(t, value))
		sent := encode(t, filled)
		if !ok {
			t.Fatalf("seed %d: strict mode cannot say what was authored:\n%s\n%s\n%s", seed, authored, a.Schema, value)
		}
		if problems := compile(t, a.Schema).Validate(sent); problems != nil {
			t.Fatalf("seed %d: what strict mode sends does not fit its schema: %v\n%s\n%s", seed, problems, a.Schema, sent)
		}
		back := judge.Restore(sent)
		if problems := judge.Validate(back); problems != nil {
			t.Fatalf("seed %d: %v\nauthored %s\nsent %s\nback %s", seed, problems, authored, sent, back)
		}
		// A field that may be left out and may be null is null now: strict mode
		// knows no difference between the two.
		if !reflect.DeepEqual(withoutNulls(decode(t, back)), withoutNulls(decode(t, value))) {
			t.Fatalf("seed %d:\nauthored %s\nvalue %s\nsent %s\nback %s", seed, authored, value, sent, back)
		}
		passed++
	}
	if passed < rounds/2 {
		t.Errorf("only %d of %d schemas were strict: that says little", passed, rounds)
	}
}

// A strictWire writes values as a model in strict mode must: every field is there.
type strictWire map[string]any // the whole schema

// fill returns v with null for what is left out; ok is false when v does not fit.
func (w strictWire) fill(s map[string]any, v any) (filled any, ok bool) {
	if ref, is := s["$ref"].(string); is {
		name := strings.TrimPrefix(ref, "#/$defs/")
		return w.fill(w["$defs"].(map[string]any)[name].(map[string]any), v)
	}
	if anyOf, is := s["anyOf"].([]any); is {
		for _, branch := range anyOf {
			if filled, ok := w.fill(branch.(map[string]any), v); ok {
				return filled, true
			}
		}
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		props, is := s["properties"].(map[string]any)
		if !is {
			return nil, false
		}
		out := map[string]any{}
		for name, p := range props {
			value := v[name] // null when it is left out
			if out[name], ok = w.fill(p.(map[string]any), value); !ok {
				return nil, false
			}
		}
		for name := range v {
			if props[name] == nil {
				return nil, false
			}
		}
		return out, true
	case []any:
		items, is := s["items"].(map[string]any)
		if !is {
			return nil, false
		}
		out := []any{}
		for _, item := range v {
			filled, ok := w.fill(items, item)
			if !ok {
				return nil, false
			}
			out = append(out, filled)
		}
		return out, true
	}
	return v, fitsScalar(s, v)
}

// fitsScalar reports whether a scalar is of the type and among the values that s
// allows; the random values keep to all bounds.
func fitsScalar(s map[string]any, v any) bool {
	if c, ok := s["const"]; ok && c != v {
		return false
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, v) {
		return false
	}
	types, ok := s["type"].([]any)
	if !ok {
		types = []any{s["type"]}
	}
	switch v.(type) {
	case nil:
		return slices.Contains(types, any("null"))
	case bool:
		return slices.Contains(types, any("boolean"))
	case string:
		return slices.Contains(types, any("string"))
	}
	return slices.Contains(types, any("number")) || slices.Contains(types, any("integer"))
}

// withoutNulls takes the fields out of objects that are null.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			if child == nil {
				delete(v, name)
			} else {
				withoutNulls(child)
			}
		}
	case []any:
		for _, item := range v {
			withoutNulls(item)
		}
	}
	return v
}

func decode(t testing.TB, b []byte) (v any) {
	t.Helper()
	unmarshal(t, b, &v)
	return v
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
