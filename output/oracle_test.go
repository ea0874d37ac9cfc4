package output

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"pawl/output/jsonpath"
)

// randomJSON makes a document of few names and many shapes.
func randomJSON(rnd *rand.Rand, depth int) string {
	var b strings.Builder
	var value func(depth int)
	value = func(depth int) {
		k := rnd.IntN(9)
		if depth == 0 {
			k = rnd.IntN(6)
		}
		switch k {
		case 0:
			b.WriteString("null")
		case 1:
			fmt.Fprint(&b, rnd.IntN(2) == 0)
		case 2:
			fmt.Fprint(&b, rnd.IntN(2000)-1000)
		case 3:
			b.WriteString([]string{"0.5", "1e3", "-0", "12345678901234567890", "1.50", "2E-2"}[rnd.IntN(6)])
		case 4, 5:
			b.WriteString([]string{`"a"`, `""`, `"\u0061"`, `"x\ny"`, `"ü\"€"`, `"long ` + strings.Repeat("text ", rnd.IntN(60)) + `"`}[rnd.IntN(6)])
		case 6, 7:
			b.WriteByte('[')
			for i := range rnd.IntN(6) {
				if i > 0 {
					b.WriteString(", ")
				}
				value(depth - 1)
			}
			b.WriteByte(']')
		default:
			b.WriteByte('{')
			names := []string{"a", "b", "c d", "é", "list", `q\"`, "a"}
			for i := range rnd.IntN(5) {
				if i > 0 {
					b.WriteString(",\n ")
				}
				fmt.Fprintf(&b, `"%s": `, names[rnd.IntN(len(names))])
				value(depth - 1)
			}
			b.WriteByte('}')
		}
	}
	value(depth)
	return b.String()
}

// naive are the figures of a document by way of a tree.
func naive(v jsonpath.Value) (t totals) {
	var walk func(v jsonpath.Value, depth int)
	walk = func(v jsonpath.Value, depth int) {
		t.Kinds.add(v.Kind(), 1)
		t.Values++
		t.Depth = max(t.Depth, depth)
		if v.Kind() == jsonpath.Object {
			t.Keys += int64(v.Len())
		}
		for i := range v.Len() {
			walk(v.Item(i), depth+1)
		}
	}
	walk(v, 1)
	return t
}

// check compares all that can be asked of a document with a plain evaluation of its tree,
// with and without an index.
func check(t *testing.T, text string) {
	t.Helper()
	tree, err := jsonpath.Decode([]byte(text))
	a, walked := analyze(t.Context(), iotest.HalfReader(strings.NewReader(text)))
	if err != nil {
		if walked == nil && !a.Lines {
			t.Errorf("%q is analyzed, and is not JSON: %v", text, err)
		}
		return
	}
	if walked != nil {
		t.Errorf("%q is JSON, and is not analyzed: %v", text, walked)
		return
	}
	same(t, "figures of "+text, a.Figures, naive(tree))
	if n, exact := a.Shape.inside(); exact && n != naive(tree).Values {
		t.Errorf("%s has %d values by its shape, and %d", text, n, naive(tree).Values)
	}
	indexed := &Document{Name: "indexed", format: JSON, raw: strings.NewReader(text), size: int64(len(text)), analysis: a}
	bare := &Document{Name: "bare", format: JSON, raw: strings.NewReader(text), size: int64(len(text))}
	for _, path := range []string{"$", "$.a", "$[0]", "$[*]", "$.*", "$[1:3]", "$.list[*].a", "$[*].a", "$..a", "$..[*]", "$..[0, -1]", "$..list..a", "$[-1]", "$.a[0].list", "$['c d']", "$[*][*]", "$.*.a[*]"} {
		p := jsonpath.MustParse(path)
		var want []string
		for v := range p.Select(tree) {
			want = append(want, string(v.Raw()))
		}
		var elements, members, nested int64
		for v := range p.Select(tree) {
			switch v.Kind() {
			case jsonpath.Array:
				elements += int64(v.Len())
			case jsonpath.Object:
				members += int64(v.Len())
			}
			nested += naive(v).Values - 1
		}
		for _, d := range []*Document{indexed, bare} {
			var got []string
			err := d.each(t.Context(), p, jsonpath.Options{}, func(m jsonpath.Match) bool {
				got = append(got, string(m.Raw))
				if at, _ := jsonpath.Parse(string(m.Path())); at == nil {
					t.Errorf("%s is no path", m.Path())
				}
				return true
			})
			if err != nil {
				t.Fatalf("%s of %s: %v", path, text, err)
			}
			same(t, fmt.Sprintf("%s of %s (%s)", path, text, d.Name), got, want)
			args := `{"counts": [{"name": "m", "path": %[1]q, "count_type": "matches"}, {"name": "e", "path": %[1]q, "count_type": "array_length"},` +
				`{"name": "k", "path": %[1]q, "count_type": "object_keys"}, {"name": "n", "path": %[1]q, "count_type": "nested_total"}]}`
			same(t, fmt.Sprintf("counts of %s in %s (%s)", path, text, d.Name), asJSON(t, ask(t, d.Count, fmt.Sprintf(args, path)).Counts),
				fmt.Sprintf(`{"m":%d,"e":%d,"k":%d,"n":%d}`, len(want), elements, members, nested))
		}
	}
}

func TestRandomDocumentsAreAnsweredAsByATree(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 150 {
		check(t, randomJSON(rnd, 5))
	}
}

func FuzzDocumentsAreAnsweredAsByATree(f *testing.F) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		f.Add(randomJSON(rnd, 4))
	}
	for _, s := range []string{"", " ", "{", `{"a":1,"a":[1,2]}`, "[1,]", "\"\xff\"", `"\ud800"`, "1e", "[1]x", "\uFEFF[]", `{"a":{"a":{"a":[]}}}`, "{}{}", "1\n2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { check(t, text) })
}

// A large output answers as the same text in a file.
func TestAStoredOutputAnswersAsAFileDoes(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	n := writeItems(&b, 1_500_000)
	lines := strings.Builder{}
	for i := range 20_000 {
		fmt.Fprintf(&lines, "{\"n\": %d, \"pad\": \"%s\"}\n", i, strings.Repeat("x", i%50))
		if i%1000 == 0 {
			lines.WriteString("\r\n  \n")
		}
	}
	objects := strings.Builder{}
	objects.WriteString(`{"first": 1, "deep": {"list": [`)
	for i := range 10_000 {
		fmt.Fprintf(&objects, `[%d, {"k": "%d"}],`, i, i)
	}
	objects.WriteString(`0], "twice": "a", "twice": "b", "é \"": {"x": 1}}, "last": {"deepest": "` + strings.Repeat("z", 100_000) + `"}}`)
	for text, paths := range map[string][]string{
		b.String(): {
			"$.meta", "$.meta.count", "$.nothing", "$.items[0].id", fmt.Sprintf("$.items[%d].id", n-1), fmt.Sprintf("$.items[%d].id", n), "$.items[-1]['id','name']",
			"$.items[1000:1003].history[*].at", "$.items[1500].*", "$.items[2000]..c", "$.items[-5000000].id", "$.meta[0]", "$.items.x", "$.items[100:4000:700].id", "$.items[1234].tags[?@ == 'fjord']",
			"$.items[*].nested.a.b.c", "$.items[500:].id", "$.items[?@.id == $.meta.count].id", "$.items[77].tags[?@ == $.items[0].tags[0]]",
		},
		lines.String():   {"$[0]", "$[1]", "$[10000].n", "$[19999]", "$[20000]", "$[-1].n", "$[15000:15003].n", "$[?@.n == 777].n", "$[*].n"},
		objects.String(): {"$.deep.list[7500][1].k", "$.deep.list[-1]", "$.deep.twice", "$.deep['é \"'].x", "$.last.deepest", "$.first", "$.deep.list[9999:]", "$.deep['first']"},
	} {
		o := stored(t, text)
		d := plain(t, text)
		for _, path := range paths {
			args := fmt.Sprintf(`{"paths": %q, "include_paths": true}`, path)
			a, b := ask(t, o.Extract, args), ask(t, d.Extract, args)
			a.Hints = nil // without an index there are none
			if got, want := asJSON(t, a), asJSON(t, b); got != want {
				t.Errorf("%s\nindex %.300s\nscan  %.300s", args, got, want)
			}
			count := fmt.Sprintf(`{"counts": [{"path": %q, "count_type": "matches"}, {"name": "l", "path": %q}]}`, path, path)
			same(t, count, ask(t, o.Count, count).Counts, ask(t, d.Count, count).Counts)
		}
		for _, args := range []string{`{"seed": 3}`, `{"strategy": "last"}`, `{"strategy": "systematic", "size": 7}`, `{"strategy": "first"}`} {
			a, b := ask(t, o.Sample, args), ask(t, d.Sample, args)
			same(t, args, asJSON(t, a), asJSON(t, b))
		}
	}
}
