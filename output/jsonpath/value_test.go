package jsonpath

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAValueLosesNothingOfWhatWasWritten(t *testing.T) {
	t.Parallel()
	const document = `{"b": 1.50, "a": [ ], "b": 12345678901234567890.0e+1, "\u0061b": "x\u0041\n", "bad": "` + "\xff" + `\ud800"}`
	v, err := Decode([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name, member := range v.Members() {
		got = append(got, fmt.Sprintf("%s %s %s %q", name, member.Kind(), member.Raw(), member.Text()))
	}
	want := []string{
		`b number 1.50 "1.50"`,
		`a array [ ] "[ ]"`,
		`b number 12345678901234567890.0e+1 "12345678901234567890.0e+1"`,
		`ab string "x\u0041\n" "xA\n"`,
		`bad string "` + "\xff" + `\ud800" "��"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if string(v.Raw()) != document {
		t.Errorf("Raw() = %s", v.Raw())
	}
	if got := v.Get("b").Text(); got != "12345678901234567890.0e+1" {
		t.Errorf(`Get("b") = %s, which is not the last`, got)
	}
	if got := v.Get("c").Kind(); got != Nothing {
		t.Errorf(`Get("c") is %s`, got)
	}
}

func TestNumbersCompareByTheirExactValue(t *testing.T) {
	t.Parallel()
	big := "1e" + strings.Repeat("9", 5000)
	ascending := []string{
		"-" + big, "-1e400", "-9007199254740993", "-9007199254740992", "-1.5", "-1e-400", "0", "1e-401", "1e-400", "0.1", "0.10000000000000000001",
		"1", "1.0000000000000000000000001", "9.99", "10", "123456789.5", "9007199254740992", "9007199254740993", "9007199254740993.1",
		"123456789012345678", "123456789012345679", "1e400", "1.1e400", "1e401", big,
	}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			if i != j {
				want = 1 - 2*btoi(i < j)
			}
			if got := CompareNumbers([]byte(a), []byte(b)); got != want {
				t.Errorf("%.40s against %.40s: %d", a, b, got)
			}
		}
	}
	for _, pair := range [][2]string{
		{"0", "-0"}, {"0", "0e99999999999999999999"}, {"1", "1.000"}, {"1", "10e-1"}, {"100", "1E+2"}, {"0.001", "1e-3"}, {"-12.50", "-1.25e1"}, {"1e00", "1"},
	} {
		if got := CompareNumbers([]byte(pair[0]), []byte(pair[1])); got != 0 {
			t.Errorf("%s against %s: %d", pair[0], pair[1], got)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestEqualityDoesNotDependOnHowAValueIsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{`{"a": 1, "b": [2]}`, `{"b":[2.0],"\u0061":1e0}`, true},
		{`{"a": 1}`, `{"a": 1, "b": 2}`, false},
		{`{"a": 1, "a": 2}`, `{"a": 2}`, true},
		{`{"a": 1, "a": 2}`, `{"a": 2, "b": 2}`, false},
		{`"\ud83d\ude00"`, `"😀"`, true},
		{`"\/"`, `"/"`, true},
		{`[1, 2]`, `[2, 1]`, false},
		{`[1, 2]`, `[12]`, false},
		{`[]`, `{}`, false},
		{`null`, `false`, false},
		{`1`, `"1"`, false},
	} {
		a, errA := Decode([]byte(c.a))
		b, errB := Decode([]byte(c.b))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if equalValues(a, b) != c.equal || equalValues(b, a) != c.equal {
			t.Errorf("%s and %s: %t", c.a, c.b, !c.equal)
		}
		if x, y := a.AppendCanonical(nil), b.AppendCanonical(nil); bytes.Equal(x, y) != c.equal {
			t.Errorf("%s and %s are written %s and %s", c.a, c.b, x, y)
		}
	}
	if !equalValues(Value{}, Value{}) {
		t.Error("nothing is not nothing")
	}
}

func TestAMillionMembersAreFoundByName(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"x": "k999999"`)
	for i := range 1_000_000 {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	b.WriteString(`,"k7":"again"}`)
	document := []byte(b.String())
	v, err := Decode(document)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Get("k999999").Text(); v.Len() != 1_000_002 || got != "999999" {
		t.Errorf("%d members, k999999 is %s", v.Len(), got)
	}
	for path, want := range map[string]string{"$.k7": `7 "again"`, "$.k500000": "500000", "$[?@ == $.k999999]": "999999"} {
		if got := strings.Join(selected(MustParse(path), v), " "); got != want {
			t.Errorf("tree: %s selects %s", path, got)
		}
		var got []string
		err := MustParse(path).Stream(t.Context(), Bytes(document), Options{}, func(m Match) bool {
			got = append(got, string(m.Raw))
			return true
		})
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("stream: %s selects %s, %v", path, got, err)
		}
	}
}

func TestADocumentThatIsNotJSONIsRefusedWithThePlace(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		document  string
		offset    int64
		says      string
		truncated bool
	}{
		{"", 0, "empty", true},
		{" \n", 2, "empty", true},
		{`{"a": [1, 2`, 11, ", or ]", true},
		{`{"a": "xyz`, 10, "the end of a string", true},
		{`{"a"`, 4, "a colon", true},
		{`{"a":`, 5, "a value", true},
		{`{`, 1, "a name in quotes or }", true},
		{`[1,`, 3, "a value", true},
		{`tru`, 3, "true", true},
		{`"\u12`, 5, "hexadecimal", true},
		{`-`, 1, "a digit", true},
		{`{"a": 1} x`, 9, `'x' after the end`, false},
		{"{\"a\": 1}\n{\"a\": 2}", 9, "JSON Lines", false},
		{`[1 2]`, 3, `, or ], found '2'`, false},
		{`[1}`, 2, `, or ], found '}'`, false},
		{`{"a":1]`, 6, `, or }, found ']'`, false},
		{`{a:1}`, 1, `a name in quotes, found 'a'`, false},
		{`{"a" 1}`, 5, "a colon", false},
		{`{"a":1 "b":2}`, 7, `, or }, found '"'`, false},
		{`[1,]`, 3, `a value, found ']'`, false},
		{`{"a":1,}`, 7, "a name in quotes", false},
		{`[01]`, 2, ", or ]", false},
		{`[1.]`, 3, "a digit after the point", false},
		{`[1e]`, 3, "exponent", false},
		{`[-x]`, 2, "a digit", false},
		{`["\x"]`, 3, "after a backslash, found 'x'", false},
		{`["\u00g0"]`, 6, "hexadecimal", false},
		{"[\"\x01\"]", 2, "control characters", false},
		{"[\xff]", 1, "the byte 0xff", false},
		{`[NaN]`, 1, "a value, found 'N'", false},
		{`[é]`, 1, "found 'é'", false},
		{`['a']`, 1, "found '\\''", false},
		{nested(MaxDepth + 1), MaxDepth, "more than 10000 arrays", false},
		{strings.Repeat(`{"a":`, MaxDepth+1), 5 * MaxDepth, "more than 10000 arrays", false},
	} {
		_, err := Decode([]byte(c.document))
		for _, path := range []string{"$.x", "$..x", "$[?@.a]"} {
			_, counted := MustParse(path).Count(t.Context(), once(strings.NewReader(c.document)), Options{})
			e, ok := errors.AsType[*DocumentError](counted)
			if !ok || e.Error() != fmt.Sprint(err) {
				t.Errorf("%.30q: %s says %v, Decode %v", c.document, path, counted, err)
				continue
			}
			if e.Offset != c.offset || !strings.Contains(e.Problem, c.says) || errors.Is(err, io.ErrUnexpectedEOF) != c.truncated {
				t.Errorf("%.30q: %v, want byte %d and %q, truncated %t", c.document, e, c.offset, c.says, c.truncated)
			}
		}
	}
	for _, document := range []string{nested(MaxDepth), "\uFEFF[1]", "\"\xff\xfe\"", `"\ud800"`, `{"a":1,"a":2}`, "1e99999", "[[[[]]]] \n"} {
		if _, err := Decode([]byte(document)); err != nil {
			t.Errorf("%.30q: %v", document, err)
		}
		for _, path := range []string{"$..*", "$..[-1]", "$[?@..[-1]]"} {
			if _, err := MustParse(path).Count(t.Context(), once(strings.NewReader(document)), Options{}); err != nil {
				t.Errorf("%.30q: %s: %v", document, path, err)
			}
		}
	}
}

// A caller that stops gets nothing more, wherever the path is.
func TestASelectionCanBeLeftAnywhere(t *testing.T) {
	t.Parallel()
	root, err := Decode([]byte(`{"a": [1, 2, 3, 4], "b": {"c": 5, "d": [6, 7]}, "e": 8, "e": 9}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"$.a[*]", "$.a[1:4]", "$.a[::-1]", "$.a[0,1,2]", "$..*", "$.a[?@ > 1]", "$.e", "$['e','a']", "$..[0]", "$.*[1:]"} {
		p := MustParse(path)
		all := 0
		for range p.Select(root) {
			all++
		}
		for enough := 1; enough <= all; enough++ {
			n := 0
			for range p.Select(root) { // going on after the loop was left panics
				if n++; n == enough {
					break
				}
			}
			if n != enough {
				t.Errorf("%s: %d values, want %d", path, n, enough)
			}
		}
		if all < 2 {
			t.Errorf("%s selects %d values", path, all)
		}
	}
}
