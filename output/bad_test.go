package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"pawl/output/jsonpath"
)

// askAll asks a document everything and returns the answers or errors, by the name of
// the tool.
func askAll(t *testing.T, d *Document, path string) map[string]string {
	t.Helper()
	answers := map[string]string{}
	note := func(tool string, v any, err error) {
		text := ""
		if err != nil {
			if !strings.HasPrefix(err.Error(), "tool_outputs."+tool+" of "+d.Name+": ") {
				t.Errorf("%s: an error that does not say of what: %v", tool, err)
			}
			text = "error: " + err.Error()
		} else if r, ok := v.(ReadResult); ok {
			text = r.String()
		} else {
			text = asJSON(t, v)
		}
		if n := utf8.RuneCountInString(text); n > 65_536 {
			t.Errorf("%s answers with %d characters", tool, n)
		}
		answers[tool] = text
	}
	p := fmt.Sprintf("%q", path)
	stats, err := try(t, d.Stats, `{"include_schema": true}`)
	note("stats", stats, err)
	extract, err := try(t, d.Extract, `{"paths": [`+p+`, "$"]}`)
	note("extract", extract, err)
	count, err := try(t, d.Count, `{"counts": [{"path": `+p+`, "count_type": "nested_total"}, {"name": "all", "path": "$..*", "count_type": "matches"}]}`)
	note("count", count, err)
	sample, err := try(t, d.Sample, `{"path": `+p+`, "size": 1000, "seed": 1}`)
	note("sample", sample, err)
	search, err := try(t, d.Search, `{"pattern": "[a-z0-9]", "limit": 1000, "context": 1}`)
	note("search", search, err)
	aggregate, err := try(t, d.Aggregate, `{"path": `+p+`, "op": "distinct", "group_by": "@"}`)
	note("aggregate", aggregate, err)
	read, err := try(t, d.Read, `{}`)
	note("read", read, err)
	return answers
}

// all asks of what is stored and of a plain file, and returns the first.
func all(t *testing.T, text, path string) map[string]string {
	t.Helper()
	askAll(t, plain(t, text), path)
	return askAll(t, stored(t, text).Document, path)
}

func has(t *testing.T, what, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%s: %q is not in %.500s", what, p, got)
		}
	}
}

func TestTenThousandArraysInOneAnother(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", jsonpath.MaxDepth) + strings.Repeat("]", jsonpath.MaxDepth)
	a := all(t, deep, "$[0]")
	has(t, "stats", a["stats"], `"max_depth":10000`, `"array":10000`)
	has(t, "count", a["count"], `"$[0]":9998`, `"all":9999`)
	has(t, "extract", a["extract"], `"extracted":{`)
	a = all(t, "["+deep+"]", "$[0]")
	has(t, "one more", a["extract"], "is not JSON throughout", "more than 10000 arrays and objects in one another", "use read or search")
	for range 3 { // objects, whose shapes are cut sooner
		a = all(t, strings.Repeat(`{"a":`, 9000)+"1"+strings.Repeat("}", 9000), "$.a.a")
		has(t, "stats", a["stats"], `"max_depth":9001`, `"total_keys":9000`)
	}
}

func TestAMillionKeysInOneObject(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds with the race detector")
	}
	var b strings.Builder
	b.WriteByte('{')
	for i := range 1_000_000 {
		fmt.Fprintf(&b, `"key %d": {"v": %d},`, i, i%10)
	}
	b.WriteString(`"end": null}`)
	o := stored(t, b.String())
	has(t, "stats", asJSON(t, ask(t, o.Stats, `{}`)), `"total_keys":2000001`, `{"path":"$","keys_omitted":1000001,"map":true}`, `{"path":"$[*]","keys":["v"],"objects":1000000}`)
	has(t, "extract", asJSON(t, ask(t, o.Extract, `{"paths": "$['key 999999'].v"}`)), `"$['key 999999'].v":9`)
	has(t, "search", asJSON(t, ask(t, o.Search, `{"pattern": "key 99999"}`)), `"total":11`)
	has(t, "sample", asJSON(t, ask(t, o.Sample, `{"path": "$[*].v", "size": 3, "seed": 1}`)), `"total_items":1000000`)
	preview, _ := o.Preview(1200)
	has(t, "preview", preview, `{"key 0": {"v": 0}, `, "999,981 more}")
	has(t, "near", asJSON(t, ask(t, o.Extract, `{"paths": "$.nothing"}`)), `"missing_paths":["$.nothing"]`)
}

func TestDuplicateNamesAreAllThere(t *testing.T) {
	t.Parallel()
	a := all(t, `{"a": 1, "a": 2, "b": [1]}`, "$.a")
	has(t, "stats", a["stats"], `"total_keys":3`)
	has(t, "extract", a["extract"], `"$.a":[1,2]`)
}

func TestInvalidUTF8IsReadAndShownAsReplaced(t *testing.T) {
	t.Parallel()
	text := "{\"a\xff\": \"x\xfey\", \"b\": \"\\ud800\"}"
	a := all(t, text, "$.*")
	has(t, "extract", a["extract"], "x\uFFFDy")
	has(t, "search", a["search"], "x\uFFFDy")
	has(t, "stats", a["stats"], "a\uFFFD")
	for tool, answer := range a {
		if !utf8.ValidString(answer) {
			t.Errorf("%s answers with invalid UTF-8", tool)
		}
	}
	has(t, "line", asJSON(t, ask(t, plain(t, "log \xff line\n").Search, `{"pattern": "log"}`)), "log \uFFFD line")
}

func TestNumbersAreKeptAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("1234567890", 300)
	text := `[1e400, -0, 1.000, 123456789012345678901234567890, ` + digits + `]`
	a := all(t, text, "$[*]")
	has(t, "extract", a["extract"], `[1e400,-0,1.000,123456789012345678901234567890,`+digits+`]`)
	r := ask(t, plain(t, text).Aggregate, `{"op": "sum"}`)
	same(t, "sum", asJSON(t, []any{r.All.Count, r.Skipped}), `[4,1]`)
	has(t, "the sum of 1e400", string(r.All.Value), "123456789012345678901234567891")
	r = ask(t, plain(t, `[1e999999999, 5]`).Aggregate, `{"op": "max"}`)
	same(t, "max", string(r.All.Value), "1e999999999")
	r = ask(t, plain(t, `[1e999999999, 5]`).Aggregate, `{"op": "sum"}`)
	same(t, "sum of what can be added", asJSON(t, []any{r.All, r.Skipped}), `[{"value":5,"count":1},1]`)
}

func TestATruncatedDocumentSaysWhereItEnds(t *testing.T) {
	t.Parallel()
	text := shop[:200]
	a := all(t, text, "$.users")
	for _, tool := range []string{"extract", "count", "sample", "aggregate"} {
		has(t, tool, a[tool], "error: ", "at byte 200", "ends where", "use read or search")
	}
	has(t, "stats", a["stats"], `"root_type":"text"`, "at byte 200")
	has(t, "read", a["read"], `"name": "Ada"`)
	has(t, "search", a["search"], `"line":3`)
	has(t, "metadata", asJSON(t, stored(t, text).metadata(1600, true)), `"problem":"not JSON at byte 200`)
	// A file of which the end is not seen at first.
	var b strings.Builder
	writeItems(&b, 2<<20)
	_, err := try(t, plain(t, b.String()[:2<<20]).Count, `{"counts": [{"path": "$.items[*].id", "count_type": "matches"}]}`)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

func TestWhatIsEmptyOrNotJSONSaysSo(t *testing.T) {
	t.Parallel()
	a := all(t, "", "$")
	has(t, "extract", a["extract"], "c_1 is empty")
	if strings.Contains(a["extract"], "use read") {
		t.Errorf("advice for an empty output: %s", a["extract"])
	}
	same(t, "read", a["read"], "[output  is empty]")
	a = all(t, "just words\nand more", "$")
	has(t, "extract", a["extract"], "c_1 is not JSON (it is text): use read or search")
	has(t, "stats", a["stats"], `"lines":2,"longest_line":10`)
	a = all(t, "\x00\x01\x02\x03", "$")
	has(t, "read", a["read"], "binary and cannot be read as text")
	has(t, "extract", a["extract"], "c_1 is binary, and cannot be read or searched")
	a = all(t, "{\"a\": 1}\n{\"b\": [1, 2, 3]\n", "$")
	has(t, "a broken line", a["extract"], "at byte 25")
	a = all(t, "{\n\"a\": [1, 2]\n}\n{\n\"a\": 2\n}\n", "$")
	has(t, "several values", a["extract"], "not JSON at byte 16: a second value follows the first", "JSON Lines")
}

func TestAPathThatSelectsMillionsIsCutWithACount(t *testing.T) {
	t.Parallel()
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	text := "[" + strings.Repeat("7,", n-1) + "7]"
	for _, d := range []*Document{plain(t, text), stored(t, text).Document} {
		r := ask(t, d.Extract, `{"paths": "$[*]"}`)
		if len(r.Cut) != 1 || r.Cut[0].Total != int64(n) || r.Cut[0].Returned < 1000 || r.Cut[0].Returned > maxResult {
			t.Fatalf("cut %+v", r.Cut)
		}
		same(t, "more", r.Cut[0].More, fmt.Sprintf("the same with offset %d", r.Cut[0].Returned))
		last := ask(t, d.Extract, fmt.Sprintf(`{"paths": "$[*]", "offset": %d}`, n-2))
		same(t, "the last two", string(last.Extracted), `{"$[*]":[7,7]}`)
		whole := ask(t, d.Extract, `{}`)
		has(t, "the whole", string(whole.Extracted), `"$cut":"array of `, `"try":"extract $[0:10], or sample"`)
	}
}

func TestATextLongerThanAWindowIsOneValue(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcdefgh", 3*4<<20/8)
	text := `{"long": "` + long + `", "n": 1}`
	a := all(t, text, "$.n")
	has(t, "extract", a["extract"], `"$.n":1`, `too large to return`)
	has(t, "search", a["search"], "of very long texts only the beginning was searched")
	o := stored(t, text)
	same(t, "found all the same", ask(t, o.Stats, `{}`).Structure.TotalValues, int64(3))
	preview, _ := o.Preview(1200)
	has(t, "preview", preview, `"long": "abcdefgh`, `"n": 1}`)
	_, err := try(t, plain(t, "["+strings.Repeat("1", 9<<20)+"]").Stats, `{}`)
	if err == nil || !strings.Contains(err.Error(), "hold more than 4.2 MB at once") {
		t.Error(err)
	}
}

// Of a very long text the beginning is kept, which may end within an escape.
func TestAVeryLongTextOfEscapesIsCutAnywhere(t *testing.T) {
	t.Parallel()
	for _, escape := range []string{`\\`, `\u00e9`, `x\n`} {
		d := stored(t, `{"text": "`+strings.Repeat(escape, 5<<20/len(escape))+`", "b": 1}`)
		has(t, escape, asJSON(t, ask(t, d.Search, `{"pattern": "no such text"}`)), `"total":0`)
		has(t, escape, asJSON(t, ask(t, d.Stats, `{}`)), `"keys":["text","b"]`)
	}
}

// A name in a document can be longer than any path may be.
func TestANameThatIsTooLongForAPathIsAClearError(t *testing.T) {
	t.Parallel()
	text := `{"` + strings.Repeat("k", 100_000) + `": [1, 2, {"a": 3}]}`
	for _, d := range []*Document{plain(t, text), stored(t, text).Document} {
		_, err := try(t, d.Sample, `{}`)
		_, err2 := try(t, d.Aggregate, `{}`)
		for _, err := range []error{err, err2} {
			if err == nil || !strings.Contains(err.Error(), "a path may have 8,000 bytes") || len(err.Error()) > 500 {
				t.Errorf("%.500v", err)
			}
		}
	}
	a := all(t, text, "$.*")
	has(t, "sample", a["sample"], "a path may have 8,000 bytes")
	has(t, "count", a["count"], `"all":5`)
}

func TestQuestionsEndWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeItems(&b, 3<<20)
	d := plain(t, b.String())
	gone := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	_, err := d.Stats(ctx, StatsArgs{MaxDepth: 5})
	_, err2 := d.Search(ctx, SearchArgs{Pattern: "x", Limit: 1})
	_, err3 := d.Count(ctx, CountArgs{Counts: []CountOf{{Name: "a", Path: "$..*", Type: matches}}})
	_, err4 := plain(t, strings.Repeat("line\n", 1<<20)).Search(ctx, SearchArgs{Pattern: "x", Limit: 1})
	for i, err := range []error{err, err2, err3, err4} {
		if !errors.Is(err, gone) {
			t.Errorf("question %d: %v", i, err)
		}
	}
}

func TestArgumentsAreStrictAndHaveDefaults(t *testing.T) {
	t.Parallel()
	var s StatsArgs
	if err := Decode(nil, &s); err != nil || s.MaxDepth != 5 || !s.SampleArrays || s.IncludeSchema {
		t.Errorf("%+v %v", s, err)
	}
	var x ExtractArgs
	if err := Decode([]byte(`{"id": "c_1", "conversation_id": "root", "paths": null}`), &x); err != nil || len(x.Paths) != 1 || x.Paths[0] != "$" || x.ID != "c_1" {
		t.Errorf("%+v %v", x, err)
	}
	var p SampleArgs
	if err := Decode([]byte(`{}`), &p); err != nil || p.Size != 10 || p.Strategy != randomly {
		t.Errorf("%+v %v", p, err)
	}
	for args, want := range map[string]struct {
		into any
		err  string
	}{
		`{"max_depth": 11}`:                           {&StatsArgs{}, "max_depth must be from 1 to 10, got 11"},
		`{"path": "$"}`:                               {&StatsArgs{}, `there is no argument "path"; there are id, conversation_id, include_schema, max_depth, sample_arrays, paths`},
		`{"size": 1001}`:                              {&SampleArgs{}, "size must be from 1 to 1000"},
		`{"strategy": "clever"}`:                      {&SampleArgs{}, "strategy must be one of random, first, last, systematic, stratified"},
		`{"strategy": "stratified"}`:                  {&SampleArgs{}, "needs strata_path"},
		`{"counts": []}`:                              {&CountArgs{}, "counts is empty"},
		`{"counts": [{"path": ""}]}`:                  {&CountArgs{}, "counts[0] has no path"},
		`{"counts": [{"path":"$"},{"path":"$"}]}`:     {&CountArgs{}, `the name "$" is there twice`},
		`{"counts": [{"path":"$","count_type":"x"}]}`: {&CountArgs{}, "count_type must be one of"},
		`{"pattern": ""}`:                             {&SearchArgs{}, "pattern is empty"},
		`{"op": "median"}`:                            {&AggregateArgs{}, "op must be one of sum, avg, min, max, count, distinct"},
		`{"offset": -1}`:                              {&ReadArgs{}, "must not be negative"},
		`{"limit": "5"}`:                              {&ReadArgs{}, "limit: got a string, which is not what it takes (a whole number)"},
		`{"paths": [1]}`:                              {&ExtractArgs{}, "paths"},
		`{"limit": 5`:                                 {&ReadArgs{}, "cannot be read"},
	} {
		if err := Decode([]byte(args), want.into); err == nil || !strings.Contains(err.Error(), want.err) {
			t.Errorf("%s: %v, want %s", args, err, want.err)
		}
	}
}
