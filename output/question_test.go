package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

const shop = `{
 "users": [
  {"id": 1, "name": "Ada", "active": true, "tags": ["a", "b"], "balance": 0.1},
  {"id": 2, "name": "Bob", "active": false, "tags": [], "balance": 0.2},
  {"id": 3, "name": "Cy", "active": true, "tags": ["c"], "balance": 12345678901234567890.5}
 ],
 "meta": {"total": 3, "next": null}
}`

// each asks a question of a document with and without an index: the answer is to be
// the same.
func each(t *testing.T, text string, question func(*Document) any, want string) {
	t.Helper()
	for _, d := range []*Document{plain(t, text), stored(t, text).Document} {
		if got := asJSON(t, question(d)); got != want {
			t.Errorf("%s, index %t:\n got %s\nwant %s", d.Name, d.analysis != nil, got, want)
		}
	}
}

func TestStatsSayWhatIsThere(t *testing.T) {
	t.Parallel()
	each(t, shop, func(d *Document) any { return ask(t, d.Stats, `{}`) },
		`{"size":{"bytes":300,"characters":300,"formatted":"300 B"},"format":"json",`+
			`"structure":{"root_type":"object","max_depth":5,"total_keys":19,"total_values":26},`+
			`"types":{"object":5,"array":4,"string":6,"number":7,"boolean":3,"null":1},`+
			`"arrays":[{"path":"$.users","length":3,"item_type":"object"},{"path":"$.users[*].tags","length":3,"item_type":"string","arrays":3,"longest":2}],`+
			`"objects":[{"path":"$","keys":["users","meta"]},{"path":"$.users[*]","keys":["id","name","active","tags","balance"],"objects":3},{"path":"$.meta","keys":["total","next"]}]}`)
}

func TestStatsDescribeOnlyWhatPathsSelect(t *testing.T) {
	t.Parallel()
	for _, d := range []*Document{plain(t, shop), stored(t, shop).Document} {
		r := ask(t, d.Stats, `{"paths": ["$.users[?@.active].tags", "$.nowhere"], "include_schema": true}`)
		same(t, "structure", r.Structure, Structure{RootType: "array", MaxDepth: 2, TotalValues: 6})
		same(t, "missing", r.MissingPaths, []string{"$.nowhere"})
		same(t, "schema", asJSON(t, r.Schema), `{"type":"array","items":{"type":"string"}}`)
	}
}

func TestASchemaSaysWhatEveryObjectHas(t *testing.T) {
	t.Parallel()
	d := plain(t, `[{"a": 1, "b": "x"}, {"a": null}]`)
	r := ask(t, d.Stats, `{"include_schema": true}`)
	same(t, "schema", asJSON(t, r.Schema), `{"type":"array","items":{"type":"object","properties":{"a":{"type":["null","number"]},"b":{"type":"string"}},"required":["a"]}}`)
}

func TestStatsAreOfAllElements(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("[0")
	for i := range 1500 {
		fmt.Fprintf(&b, `, {"only": %d}`, i)
	}
	b.WriteString(`, {"late": "x"}]`)
	for _, args := range []string{`{}`, `{"sample_arrays": false}`} {
		each(t, b.String(), func(d *Document) any { return ask(t, d.Stats, args).Objects }, `[{"path":"$[*]","keys":["only","late"],"objects":1501}]`)
	}
}

func TestExtractGivesWhatPathsSelect(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"paths": "$.meta.total"}`:                                          `{"extracted":{"$.meta.total":3},"missing_paths":[]}`,
		`{"paths": ["$.users[*].name", "$.users[-1].balance"]}`:              `{"extracted":{"$.users[*].name":["Ada","Bob","Cy"],"$.users[-1].balance":12345678901234567890.5},"missing_paths":[]}`,
		`{"paths": "$.users[*].id", "limit": 1, "offset": 1}`:                `{"extracted":{"$.users[*].id":[2]},"missing_paths":[]}`,
		`{"paths": ["$.users[*].id", "$.meta.next"], "flatten": true}`:       `{"extracted":[1,2,3,null],"missing_paths":[]}`,
		`{"paths": "$.users[?@.id > 1].name", "include_paths": true}`:        `{"extracted":[{"path":"$['users'][1]['name']","value":"Bob"},{"path":"$['users'][2]['name']","value":"Cy"}],"missing_paths":[]}`,
		`{"paths": "$.users[:2].id", "flatten": true, "include_paths":true}`: `{"extracted":[1,2],"missing_paths":[]}`,
		`{"paths": "$['meta','users'][0].id"}`:                               `{"extracted":{"$['meta','users'][0].id":[1]},"missing_paths":[]}`,
	} {
		each(t, shop, func(d *Document) any { return ask(t, d.Extract, args) }, want)
	}
	each(t, `[1, 2]`, func(d *Document) any { return ask(t, d.Extract, `{}`) }, `{"extracted":{"$":[1,2]},"missing_paths":[]}`)
}

func TestAPathThatSelectsNothingGivesTheDefaultAndWhatIsNear(t *testing.T) {
	t.Parallel()
	o := stored(t, shop)
	r := ask(t, o.Extract, `{"paths": ["$.usres[0].id", "$.users.name", "$.users[9].id"], "default_value": "none"}`)
	same(t, "result", asJSON(t, r), `{"extracted":{"$.usres[0].id":"none","$.users.name":"none","$.users[9].id":"none"},`+
		`"missing_paths":["$.usres[0].id","$.users.name","$.users[9].id"],`+
		`"hints":["nothing is at $.usres[0].id: $ is an object with users, meta","nothing is at $.users.name: $.users is an array: try $.users[*].name","nothing is at $.users[9].id: $.users has 3 elements, the last is [2]"]}`)
}

func TestABadPathIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	_, err := try(t, stored(t, shop).Extract, `{"paths": "$.users[0.id"}`)
	for _, part := range []string{"tool_outputs.extract of c_1", "column 10", "^", "at $ there are users, meta"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not have %q: %v", part, err)
		}
	}
}

func TestCountCountsAllFourWays(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"counts": [{"path": "$.users"}]}`:                                                        `{"counts":{"$.users":3},"total":3}`,
		`{"counts": [{"name": "on", "path": "$.users", "filter": "@.active == true"}]}`:            `{"counts":{"on":2},"total":2}`,
		`{"counts": [{"path": "$.users[*]", "filter": "@.active == true"}]}`:                       `{"counts":{"$.users[*]":2},"total":2,"hints":["\"$.users[*]\": no array matches, so the matches are counted"]}`,
		`{"counts": [{"path": "$.users[*].tags", "count_type": "array_length"}]}`:                  `{"counts":{"$.users[*].tags":3},"total":3}`,
		`{"counts": [{"path": "$.users[*]", "count_type": "object_keys"}]}`:                        `{"counts":{"$.users[*]":15},"total":15}`,
		`{"counts": [{"path": "$..tags", "count_type": "matches"}]}`:                               `{"counts":{"$..tags":3},"total":3}`,
		`{"counts": [{"path": "$.users[0]", "count_type": "nested_total"}, {"path": "$.meta.x"}]}`: `{"counts":{"$.users[0]":7,"$.meta.x":0},"total":7`,
	} {
		for _, d := range []*Document{plain(t, shop), stored(t, shop).Document} {
			got := asJSON(t, ask(t, d.Count, args))
			if !strings.HasPrefix(got, strings.TrimSuffix(want, "}")) {
				t.Errorf("%s, index %t:\n got %s\nwant %s", args, d.analysis != nil, got, want)
			}
		}
	}
}

func TestCountIsZeroWhereNothingIs(t *testing.T) {
	t.Parallel()
	each(t, `[]`, func(d *Document) any {
		return ask(t, d.Count, `{"counts": [{"path": "$"}, {"path": "$.a", "count_type": "nested_total"}]}`).Counts
	}, `{"$":0,"$.a":0}`)
}

func TestSampleStrategies(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"skip": {"x": 1}, "list": [`)
	for i := range 100 {
		fmt.Fprintf(&b, `{"n": %d, "kind": "%s"},`, i, []string{"a", "a", "a", "b"}[i%4])
	}
	b.WriteString(`{"n": 100}]}`)
	for args, want := range map[string]string{
		`{"strategy": "first", "size": 3}`:                                                            `[0,1,2]`,
		`{"strategy": "last", "size": 2, "path": "$.list"}`:                                           `[99,100]`,
		`{"strategy": "systematic", "size": 4}`:                                                       `[0,25,50,75]`,
		`{"strategy": "systematic", "size": 3, "stride": 7}`:                                          `[0,7,14]`,
		`{"size": 5, "seed": 7}`:                                                                      `[19,30,41,88,98]`,
		`{"size": 5, "seed": 8, "strategy": "stratified", "strata_path": "@.kind"}`:                   `[1,31,44,50,100]`,
		`{"size": 1000, "strategy": "systematic", "path": "$.list[:3]"}`:                              `[0,1,2]`,
		`{"size": 5, "strategy": "first", "path": "$.list[?@.kind == 'b']", "conversation_id": "x" }`: `[0,1,2,3,4]`,
	} {
		each(t, b.String(), func(d *Document) any { return ask(t, d.Sample, args).Indices }, want)
	}
	each(t, b.String(), func(d *Document) any {
		return ask(t, d.Sample, `{"size": 4, "seed": 8, "strategy": "stratified", "strata_path": "kind"}`).Strata
	}, `[{"value":"a","items":75,"sampled":2},{"value":"b","items":25,"sampled":1},{"value":null,"items":1,"sampled":1}]`)
	each(t, b.String(), func(d *Document) any { return ask(t, d.Sample, `{"size": 1, "strategy": "last"}`) },
		`{"path":"$['list']","sample":[{"n":100}],"total_items":101,"sample_size":1,"indices":[100]}`)
}

func TestFewerItemsThanAskedIsNoError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": [1, 2]}`: `2`, `[]`: `0`, `{"a": 1}`: `1`, `7`: `1`, `{"a": [[], [5]]}`: `2`,
	} {
		each(t, text, func(d *Document) any { return ask(t, d.Sample, `{"seed": 1}`).SampleSize }, want)
	}
}

func TestSearchFindsValuesAndNamesInJSON(t *testing.T) {
	t.Parallel()
	each(t, `{"a b": [1, "say \"hi\"", {"hit": "x"}], "z": "hi"}`, func(d *Document) any {
		return ask(t, d.Search, `{"pattern": "\"?hi\"?"}`)
	}, `{"matches":[{"path":"$['a b'][1]","value":"say \"hi\""},{"path":"$['a b'][2].hit","name":true},{"path":"$.z","value":"hi"}],"total":3}`)
	each(t, `[{"id": 17, "who": {"name": "Ada"}}]`, func(d *Document) any {
		return ask(t, d.Search, `{"pattern": "^Ada$", "context": 1}`).Matches
	}, `[{"path":"$[0].who.name","value":"Ada","within":{"name":"Ada"}}]`)
}

func TestSearchFindsLinesInText(t *testing.T) {
	t.Parallel()
	text := "2026-11-20 10:00:01 start\n2026-11-20 10:00:02 error one\n2026-11-20 10:00:03 ok\n2026-11-20 10:00:04 error two"
	each(t, text, func(d *Document) any { return ask(t, d.Search, `{"pattern": "error (\\w+)$", "context": 1}`) },
		`{"matches":[{"line":2,"text":"2026-11-20 10:00:02 error one","before":["2026-11-20 10:00:01 start"],"after":["2026-11-20 10:00:03 ok"]},`+
			`{"line":4,"text":"2026-11-20 10:00:04 error two","before":["2026-11-20 10:00:03 ok"]}],"total":2}`)
	each(t, text, func(d *Document) any { return ask(t, d.Search, `{"pattern": "error", "limit": 1}`).Hint },
		`"1 of 2 matches are here: a narrower pattern or a higher limit shows others"`)
}

func TestSearchFindsWhatStandsAcrossPieces(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", longLine-3) + "needle" + strings.Repeat("y", 3*longLine)
	text := "first\n" + line + "\nneedle last\n"
	for _, pattern := range []string{"needle", "n[e]+dle", "(?i)NEEDLE"} {
		r := ask(t, plain(t, text).Search, fmt.Sprintf(`{"pattern": %q}`, pattern))
		var lines []int64
		for _, m := range r.Matches {
			lines = append(lines, m.Line)
			if !strings.Contains(m.Text, "needle") {
				t.Errorf("line %d is shown without what was found: %.80s", m.Line, m.Text)
			}
		}
		same(t, pattern, lines, []int64{2, 3})
	}
}

func TestAPatternThatRE2DoesNotHaveIsExplained(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{`(?<=a)b`, `(a)\1`, `a{2000}`, `(`} {
		_, err := try(t, plain(t, "text").Search, fmt.Sprintf(`{"pattern": %q}`, pattern))
		if err == nil || !strings.Contains(err.Error(), "RE2") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestAggregateComputesExactly(t *testing.T) {
	t.Parallel()
	text := `[{"k": "a", "v": 0.1}, {"k": "a", "v": 0.2}, {"k": "b", "v": 9007199254740993}, {"k": "b", "v": 1e2}, {"v": -1}, {"k": "a", "v": "n/a"}, {"k": "c"}]`
	for args, want := range map[string]string{
		`"op": "sum"`:      `[["b",9007199254741093,2],["a",0.3,2],["c",0,0],[null,-1,1]]`,
		`"op": "avg"`:      `[["b",4503599627370546.5,2],["a",0.15,2],[null,-1,1],["c",null,0]]`,
		`"op": "min"`:      `[["c",null,0],[null,-1,1],["a",0.1,2],["b",1e2,2]]`,
		`"op": "max"`:      `[["b",9007199254740993,2],["a",0.2,2],[null,-1,1],["c",null,0]]`,
		`"op": "count"`:    `[["a",3,3],["b",2,2],[null,1,1],["c",0,0]]`,
		`"op": "distinct"`: `[["a",3,3],["b",2,2],[null,1,1],["c",0,0]]`,
	} {
		each(t, text, func(d *Document) any {
			var rows []any
			for _, f := range ask(t, d.Aggregate, `{"path": "$", "value_path": "@.v", "group_by": "k", `+args+`}`).Groups {
				rows = append(rows, []any{f.Group, f.Value, f.Count})
			}
			return rows
		}, want)
	}
	each(t, text, func(d *Document) any {
		return ask(t, d.Aggregate, `{"path": "$[*].v", "op": "sum"}`)
	}, `{"path":"$.*.v","op":"sum","all":{"value":9007199254741092.3,"count":5},"items":6,"skipped":1,"hints":["skipped: 1 value that sum cannot use"]}`)
	each(t, `["b", "a", "c"]`, func(d *Document) any { return ask(t, d.Aggregate, `{"op": "min"}`).All }, `{"value":"a","count":3}`)
	each(t, `[1, 1.0, 10e-1, "1", "\u0031"]`, func(d *Document) any { return ask(t, d.Aggregate, `{"op": "distinct"}`).All }, `{"value":2,"count":5}`)
}

func TestGroupsMayBeAnyNumbers(t *testing.T) {
	t.Parallel()
	text := `[{"k": 1.5}, {"k": 15e-1}, {"k": -0.25}, {"k": 1e30}, {"k": 1e-9}, {"k": 12.50}, {"k": 2.0}, {"k": 2}]`
	each(t, text, func(d *Document) any {
		r := ask(t, d.Aggregate, `{"path": "$", "group_by": "k", "op": "count"}`)
		return []any{r.Groups, r.Cut}
	}, `[[{"group":1.5,"value":2,"count":2},{"group":2,"value":2,"count":2},{"group":-0.25,"value":1,"count":1},`+
		`{"group":1e30,"value":1,"count":1},{"group":1e-9,"value":1,"count":1},{"group":12.5,"value":1,"count":1}],0]`)
	each(t, `[{"k": 0.5}, {"k": 5e-1}]`, func(d *Document) any {
		return ask(t, d.Sample, `{"strategy": "stratified", "strata_path": "k", "seed": 1}`).Strata
	}, `[{"value":0.5,"items":2,"sampled":2}]`)
}

func TestValuesThatAreEqualAreOneHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	text := `[{"k": {"a": 1, "b": [2.50, "é"]}}, {"k": {"b":[25e-1,"\u00e9"],"a":1.0}}, {"k": {"a": 2, "a": 1, "b": [2.5, "é"]}}, {"k": [ ]}, {"k": []}]`
	each(t, text, func(d *Document) any {
		return ask(t, d.Aggregate, `{"path": "$", "value_path": "k", "op": "distinct"}`).All
	}, `{"value":2,"count":5}`)
	each(t, text, func(d *Document) any {
		return ask(t, d.Aggregate, `{"path": "$", "group_by": "k", "op": "count"}`).Groups
	}, `[{"group":{"a":1,"b":[2.5,"é"]},"value":3,"count":3},{"group":[],"value":2,"count":2}]`)
}

func TestMoreDifferentValuesThanAreToldApartAreSaidToBeEstimated(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("[0")
	for i := range maxDistinct {
		fmt.Fprintf(&b, `, %d, %[1]d`, i)
	}
	r := ask(t, plain(t, b.String()+"]").Aggregate, `{"op": "distinct"}`)
	same(t, "as many as fit", asJSON(t, []any{r.All.Value, r.Estimated}), `[262144,false]`)
	r = ask(t, plain(t, b.String()+`, "one more"]`).Aggregate, `{"op": "distinct"}`)
	same(t, "one more", asJSON(t, []any{r.All.Value, r.Estimated, r.Hints}), `[262144,true,["more than 262,144 different values: the figures are the least that there are"]]`)
}

func TestReadGivesLinesOrCharactersAndSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	each(t, "one\ntwo\nthree\nfour\n", func(d *Document) any { return ask(t, d.Read, `{"offset": 1, "limit": 2}`).String() },
		`"two\nthree\n[lines 2 to 3 of 4; 1 left: read on with offset 3]"`)
	each(t, "one\ntwo", func(d *Document) any { return ask(t, d.Read, `{}`).String() }, `"one\ntwo"`)
	each(t, "", func(d *Document) any { return ask(t, d.Read, `{"id": "c_1"}`).String() }, `"[output c_1 is empty]"`)
	each(t, "one\ntwo", func(d *Document) any { return ask(t, d.Read, `{"offset": 1}`).String() }, `"two\n[lines 2 to 2, the end]"`)
	long := strings.Repeat("äöü", 30_000)
	each(t, long, func(d *Document) any { return ask(t, d.Read, `{"offset": 89998, "limit": 10}`).String() },
		`"öü\n[characters 89999 to 90000, the end]"`)
	r := ask(t, plain(t, long).Read, `{}`)
	if !r.Cut || r.Returned != maxRead || !strings.HasSuffix(r.String(), "[characters 1 to 65000 of 90,000; 25,000 left: read on with offset 65000]") {
		t.Errorf("%d returned, cut %t", r.Returned, r.Cut)
	}
}

func TestReadFindsLinesAndCharactersInAnyFrame(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&b, "line %d ü\n", i)
	}
	o := stored(t, b.String())
	if len(o.frames.frames) < 3 {
		t.Fatalf("only %d frames: the test shows nothing", len(o.frames.frames))
	}
	d := plain(t, b.String())
	for _, n := range []int64{0, 1, 77_777, 123_456, 199_999} {
		args := fmt.Sprintf(`{"offset": %d, "limit": 1}`, n)
		want := fmt.Sprintf("line %d ü", n)
		if a, b := ask(t, o.Read, args).Text, ask(t, d.Read, args).Text; strings.TrimSuffix(a, "\n") != want || a != b {
			t.Errorf("line %d: %q with an index, %q without", n, a, b)
		}
	}
	text := []rune(b.String())
	for _, n := range []int64{0, 5, 1_000_000, 1_048_576, int64(len(text)) - 1} {
		for _, x := range []*Document{o.Document, d} {
			at, err := x.find(t.Context(), n, false)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := at, int64(len(string(text[:n]))); got != want {
				t.Errorf("character %d is at byte %d, found at %d (index %t)", n, want, got, x.frames != nil)
			}
		}
	}
}
