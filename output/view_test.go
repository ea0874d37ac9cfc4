package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestJSONLinesAreOneArray(t *testing.T) {
	t.Parallel()
	text := "\uFEFF{\"n\": 1, \"s\": \"a\\nb\"}\r\n\n{\"n\": 2}\n  \n3\n"
	a := all(t, text, "$[0].s")
	has(t, "stats", a["stats"], `"format":"json lines"`, `"root_type":"array"`, `"length":3`, `"total_values":7`)
	has(t, "extract", a["extract"], `"$[0].s":"a\nb"`, `"$":[{"n":1,"s":"a\nb"},{"n":2},3]`)
	has(t, "count", a["count"], `"all":6`)
	has(t, "search", a["search"], `{"path":"$[1].n","value":2,"within":{"n":2}}`)
	same(t, "read is the text as it is", a["read"], text)
}

// Whatever is read of the array, in whatever pieces, is what reading all of it gives.
func TestAnyPartOfTheArrayOfLinesIsTheSame(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1\n2\n3", "1\n\n\n2\n", "\n\n1\n", "\uFEFF1\n2", "1", "1\r\n \t\n2\r\n\r\n", strings.Repeat(`{"a":"b"}`+"\n", 50)} {
		l, err := newLinesAsArray(strings.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := io.ReadAll(io.NewSectionReader(l, 0, l.length()))
		if err != nil || !json.Valid(whole) {
			t.Errorf("%q becomes %q, %v", text, whole, err)
		}
		for from := range whole {
			for to := from; to <= len(whole); to++ {
				part := make([]byte, to-from)
				if n, err := l.ReadAt(part, int64(from)); n != len(part) || err != nil && err != io.EOF || !bytes.Equal(part, whole[from:to]) {
					t.Fatalf("%q from %d to %d: %q, %v", text, from, to, part, err)
				}
			}
		}
	}
}

func TestCSVIsAnArrayOfObjects(t *testing.T) {
	t.Parallel()
	text := "\uFEFFname;age;active;note\r\nAda;36;true;\"a;b\"\r\n\"Bob \"\"B\"\"\";007;false\r\nCy;-1.5e2;x;y;extra\r\n" + strings.Repeat("Di;1;true;z\r\n", 10)
	a := all(t, text, "$[0]")
	has(t, "extract", a["extract"], `[{"name":"Ada","age":36,"active":true,"note":"a;b"},{"name":"Bob \"B\"","age":"007","active":false},{"name":"Cy","age":-1.5e2,"active":"x","note":"y","column 5":"extra"},{"name":"Di"`)
	has(t, "stats", a["stats"], `"format":"csv"`, `"length":13`)
	has(t, "search is by line", a["search"], `"line":2,"text":"Ada;36;true;\"a;b\""`)
	var b strings.Builder
	b.WriteString("id,city,amount\n")
	for i := range 100_000 {
		fmt.Fprintf(&b, "%d,city %d,%d.25\n", i, i%3, i)
	}
	o := stored(t, b.String())
	r := ask(t, o.Aggregate, `{"value_path": "amount", "group_by": "city", "op": "sum"}`)
	same(t, "sums", asJSON(t, r.Groups), `[{"group":"city 0","value":1666691666.5,"count":33334},{"group":"city 2","value":1666658333.25,"count":33333},{"group":"city 1","value":1666625000.25,"count":33333}]`)
	s := ask(t, o.Sample, `{"strategy": "last", "size": 1}`)
	same(t, "the last", asJSON(t, s), `{"path":"$","sample":[{"id":99999,"city":"city 0","amount":99999.25}],"total_items":100000,"sample_size":1,"indices":[99999]}`)
}

func TestYAMLIsReadAsJSON(t *testing.T) {
	t.Parallel()
	text := `# a comment
name: pawl
version: 1.20
big: 12345678901234567890
hex: 0x1F
inf: .inf
date: 2026-11-20
none: ~
yes: yes
list:
  - a
  - &x {k: 1}
  - *x
merged:
  <<: *x
  own: 2
1: number as key
`
	a := all(t, text, "$.list[2].k")
	has(t, "extract", a["extract"], `"$.list[2].k":1`,
		`{"name":"pawl","version":1.20,"big":12345678901234567890,"hex":31,"inf":".inf","date":"2026-11-20","none":null,"yes":"yes","list":["a",{"k":1},{"k":1}],"merged":{"own":2,"k":1},"1":"number as key"}`)
	has(t, "stats", a["stats"], `"format":"yaml"`)
	has(t, "two documents", all(t, "---\na: 1\nb: 2\n---\na: 2\nc: 3\n", "$[1].a")["extract"], `"$[1].a":2`)
}

func TestYAMLThatStandsForFarMoreThanItIsWrittenIsRefused(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	if _, err := yamlJSON([]byte(b.String())); err == nil {
		t.Error("it was written out")
	}
	if _, err := yamlJSON([]byte("a: &a [*a]")); err == nil {
		t.Error("what contains itself was written out")
	}
	if _, err := yamlJSON(bytes.Repeat([]byte("a: b\n"), maxYAML/5+1)); err == nil || !strings.Contains(err.Error(), "use read or search") {
		t.Error(err)
	}
}

func FuzzYAMLBecomesJSON(f *testing.F) {
	for _, s := range []string{"a: 1", "- a\n- b: [c, {d: e}]", "a: &x 1\nb: *x", "<<: {a: 1}", "? [a]\n: b", "--- 1\n--- 2", "a: !!binary aGk=", "a: 0o17\nb: 1_000\nc: 1e5\nd: +1", "\"\\x00\": 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if b, err := yamlJSON([]byte(text)); err == nil && !json.Valid(b) {
			t.Errorf("%q becomes %q", text, b)
		}
	})
}

func FuzzCSVBecomesJSON(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a;b\n\"x\ny\";z\n", "a\tb\n1\n", "\"", "a,b\n\"x\"y,\xff\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if b, err := io.ReadAll(newCSV(strings.NewReader(text))); err == nil && !json.Valid(b) {
			t.Errorf("%q becomes %q", text, b)
		}
	})
}

func TestCSVWithAQuoteThatIsNotClosedIsText(t *testing.T) {
	open := "id,name,note\n1,\"a\",b\n2,\"never closed,c\n" + strings.Repeat("1,2,3\n", 10<<20/6)
	storing := func(document string) (*Output, uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o := stored(t, document)
		runtime.ReadMemStats(&after)
		return o, after.TotalAlloc - before.TotalAlloc
	}
	// Compared with text of the same size, because the race detector makes pools forget and so both allocate more.
	_, plainText := storing(strings.NewReplacer(",", " ", `"`, " ").Replace(open))
	o, used := storing(open)
	if used > plainText+3*uint64(len(open)) {
		t.Errorf("storing %d bytes allocated %d, the same as text %d", len(open), used, plainText)
	}
	if o.Meta.Format != Text || !strings.Contains(o.Problem, "is a quote not closed?") {
		t.Errorf("stored as %s: %s", o.Meta.Format, o.Problem)
	}
	has(t, "search", asJSON(t, ask(t, o.Search, `{"pattern": "never"}`)), `"line":3`)
	if _, err := try(t, plain(t, open).Count, `{"counts": [{"path": "$"}]}`); err == nil || !strings.Contains(err.Error(), "is a quote not closed?") {
		t.Error(err)
	}
	wide := "id,note\n" + strings.Repeat("1,\"a\"\n", 150) + "1,\"" + strings.Repeat("x\n", 300_000) + "\"\n2,b\n" // long, and closed
	same(t, "a field over many lines", ask(t, stored(t, wide).Count, `{"counts": [{"path": "$"}]}`).Total, int64(152))
}
