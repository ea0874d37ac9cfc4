package jsonpath

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// recorder writes down what it is told.
type recorder struct{ lines []string }

func (r *recorder) note(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *recorder) Open(object bool, offset int64) { r.note("open %t %d", object, offset) }
func (r *recorder) Name(raw []byte, _ bool)        { r.note("name %s", Unescape(raw)) }
func (r *recorder) Close(end int64)                { r.note("close %d", end) }
func (r *recorder) Scalar(k Kind, raw []byte, _ bool, offset int64) {
	r.note("%s %.20s %d", k, raw, offset)
}

func TestAWalkTellsOfEverythingInOrder(t *testing.T) {
	t.Parallel()
	var r recorder
	w, err := Walk(t.Context(), iotest.OneByteReader(strings.NewReader("\uFEFF{\"a\\n\": [1.50, null],\r\n \"b\": {}}\n")), &r)
	want := []string{"open true 3", "name a\n", "open false 11", "number 1.50 12", "null null 18", "close 23", "name b", "open true 32", "close 34", "close 35"}
	if diff := cmp.Diff(want, r.lines); err != nil || diff != "" || w != (Walked{Values: 1, Begun: 1}) {
		t.Errorf("%+v, %v (-want +got)\n%s", w, err, diff)
	}
}

func TestAWalkTakesJSONLinesAndNoOtherSeveralValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		values int64
		err    string
	}{
		"1\n2\r\n\n[3]\n":      {3, ""},
		"{\"a\":1}\n{\"a\":2}": {2, ""},
		"1 2":                  {1, "not JSON at byte 2: a second value follows the first"},
		"{\n}\n{}":             {1, "not JSON at byte 4: a second value follows the first"},
		"":                     {0, "the document is empty"},
		" \n":                  {0, "the document is empty"},
		"{}\n{\"a\":":          {1, "ends where a value was expected"},
		"[1,]":                 {0, "not JSON at byte 3"},
	} {
		w, err := Walk(t.Context(), strings.NewReader(text), &recorder{})
		if w.Values != want.values || (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%q: %+v, %v; want %+v", text, w, err, want)
		}
	}
}

func TestOfALongTextAWalkTellsTheBeginning(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", longText/10*2)
	var r recorder
	w, err := Walk(t.Context(), strings.NewReader(`{"n": 1, "text": "`+long+`", "`+long+`": [2]}`), &r)
	want := []string{"open true 0", "name n", "number 1 6", "name text", "string 01234567890123456789 17"}
	if diff := cmp.Diff(want, r.lines[:5]); err != nil || !w.Cut || diff != "" || len(r.lines) != 10 || len(r.lines[5]) != longText+4 {
		t.Errorf("%+v, %v (-want +got)\n%s", w, err, diff)
	}
	if _, err := Walk(t.Context(), strings.NewReader("["+strings.Repeat("1", 3*longText)+"]"), &r); err == nil {
		t.Error("a number of 12 MiB is kept")
	}
}

func TestAWalkAcceptsWhatIsJSONHoweverItComes(t *testing.T) {
	t.Parallel()
	for seed := range 600 {
		g := generator{rand.New(rand.NewPCG(uint64(seed), 9))}
		text := g.document(4)
		if seed%2 == 0 {
			text = g.broken(text)
		}
		var r recorder
		w, err := Walk(t.Context(), iotest.OneByteReader(strings.NewReader(text)), &r)
		if want := json.Valid([]byte(text)); (err == nil && w.Values == 1) != want {
			t.Errorf("%q: JSON %t, %+v, %v", text, want, w, err)
		}
	}
}

func TestStepsAreThePartOfAPathThatCanBeFollowed(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"$":                       "[] true",
		"$.a['b.c'][0][-1]":       "[{0 a 0 0} {0 b.c 0 0} {1  0 0} {1  -1 0}] true",
		"$[*].*[1:][:2]":          "[{3  0 0} {3  0 0} {2  1 9007199254740991} {2  0 2}] true",
		"$.a..b":                  "[{0 a 0 0}] false",
		"$.a[?@.b == '..'].c":     "[{0 a 0 0}] false",
		"$['x','y']":              "[] false",
		"$[::2]":                  "[] false",
		"$[-2:]":                  "[] false",
		`$["$"]['\u00e9\n\'"\\']`: "[{0 $ 0 0} {0 é\n'\"\\ 0 0}] true",
	} {
		steps, whole := MustParse(path).Steps()
		if got := fmt.Sprint(steps, whole); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for name, want := range map[string]string{"a": ".a", "é_1": ".é_1", "1a": "['1a']", "it's": `['it\'s']`, "": "['']"} {
		if got := Child(name); got != want || MustParse("$" + got).segments[0].selectors[0].name != name {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestWhatIsPickedOfAMatchIsWhatThePathSelects(t *testing.T) {
	t.Parallel()
	picks := []*Path{MustParse("$.a"), MustParse("$.a.b"), MustParse("$['b'][1]"), MustParse("$..c"), MustParse("$[*]"), MustParse("$[-1].a"), MustParse("$.c[?@.a == $.a]"), MustParse("$")}
	for seed := range 400 {
		g := generator{rand.New(rand.NewPCG(uint64(seed), 11))}
		document := []byte("[" + g.document(4) + "," + g.document(5) + "]")
		root, err := Decode(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range sources(document) {
			for from := range picks { // few paths decode less than all of them
				opt := Options{Pick: picks[from:min(from+2, len(picks))], NoRaw: true}
				i := 0
				err := MustParse("$[*]").Stream(t.Context(), src.again(), opt, func(m Match) bool {
					for k, path := range opt.Pick {
						var got []string
						m.Picked(k, func(v Value) bool { got = append(got, string(v.AppendCanonical(nil))); return true })
						var want []string
						for v := range path.Select(root.Item(i)) {
							want = append(want, string(v.AppendCanonical(nil)))
						}
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("%s of %s from %s (-want +got)\n%s", path, root.Item(i).Raw(), src.name, diff)
						}
					}
					i++
					return !t.Failed()
				})
				if err != nil || i != 2 && !t.Failed() {
					t.Fatal(i, err)
				}
			}
		}
	}
}

func TestEqualNumbersAreWrittenTheSame(t *testing.T) {
	t.Parallel()
	numbers := strings.Fields("0 -0 0.0 0e9 1 1.0 1.00 10e-1 0.1e1 -1 -10e-1 100 1e2 1.5 15e-1 0.15e1 12345678901234567890 1.2345678901234567890e19 1e400 10e399 9007199254740993 9007199254740992 -1e-7 0.05 -12.50 1e18 1000000000000000000 1e19")
	for _, a := range numbers {
		if c := canonicalNumber([]byte(a)); !IsNumber(string(c)) || CompareNumbers(c, []byte(a)) != 0 {
			t.Errorf("%s becomes %s", a, c)
		}
		for _, b := range numbers {
			x, y := canonicalNumber([]byte(a)), canonicalNumber([]byte(b))
			if same := CompareNumbers([]byte(a), []byte(b)) == 0; same != bytes.Equal(x, y) {
				t.Errorf("%s and %s, equal %t: %s and %s", a, b, same, x, y)
			}
		}
	}
	for s, want := range map[string]bool{"1": true, "-0.5e+9": true, "01": false, "1.": false, "": false, "-": false, "1e": false, "+1": false, "1 ": false} {
		if IsNumber(s) != want {
			t.Errorf("%q is a number: %t", s, !want)
		}
	}
}
