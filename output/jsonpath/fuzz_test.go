package jsonpath

import (
	"bytes"
	"context"
	"io"
	"math"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"$", "$.a", "$..a[1:2:-1]", "$[?@.a == 'x' && !(count($..*) > 1e3)]", `$["\ud83d\ude00"]`,
		"$[?match(@.a, '[a-z]{2,3}|\\\\p{Lu}')]", "@.a", "$.a[", "$.a-b", "$[?@.a = 1]", "$[?(((@.a)))]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if path, err := Parse(s); err == nil {
			again, err := Parse(path.String())
			if err != nil || again.String() != path.String() || again.Singular() != path.Singular() {
				t.Errorf("%q is canonically %q, and that is %v, %v", s, path, again, err)
			}
		} else if e := err.(*SyntaxError); e.Offset > len(s) || e.Caret() == "" || e.Error() == "" {
			t.Errorf("%q: %#v", s, e)
		}
		if filter, err := ParseFilter(s); err == nil {
			if again, err := ParseFilter(filter.String()); err != nil || again.String() != filter.String() {
				t.Errorf("%q is canonically %q, and that is %v, %v", s, filter, again, err)
			}
		}
	})
}

// A document is accepted exactly if jsontext accepts it, and it is refused at the same
// place or before: jsontext looks for the end of a token first.
func FuzzDocumentIsWhatJSONTextSaysItIs(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-0.5e+3,"x\u00e9\n",true,false,null,{}]}`, `[1,]`, `{"a"}`, `01`, `"\x"`, "\"\x01\"", `tru`, `[[[]]`, `1 2`, ``, `-`, `1.`, "\xff",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		if bytes.HasPrefix(document, []byte("\uFEFF")) {
			return // jsontext does not pass over it
		}
		want := jsontextAccepts(document)
		if _, err := Decode(document); (err == nil) != want {
			t.Errorf("Decode(%q) = %v; jsontext accepts it: %t", document, err, want)
		}
		for _, src := range sources(document) {
			if err := check(src.source); (err == nil) != want {
				t.Errorf("%q from %s: %v; jsontext accepts it: %t", document, src.name, err, want)
			}
		}
	})
}

func jsontextAccepts(document []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(document), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.SkipValue() != nil {
		return false
	}
	_, err := d.ReadToken()
	return err == io.EOF
}

// check passes over a document.
func check(src Source) error {
	s := newScanner(context.Background(), src, math.MaxInt64/2)
	if err := s.begin(); err != nil {
		return err
	}
	if err := s.skip(); err != nil {
		return err
	}
	return s.end()
}

// FuzzCompareNumbers checks that the order of numbers is one: turning them round turns
// the answer round, and writing them with a larger exponent does not change it.
func FuzzCompareNumbers(f *testing.F) {
	for _, pair := range [][2]string{{"1", "1.0"}, {"1e400", "1e401"}, {"-0", "0"}, {"0.1", "1e-1"}, {"9007199254740993", "9007199254740992"}, {"123456789012345678", "123456789.5"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errX := Decode([]byte(a))
		y, errY := Decode([]byte(b))
		if errX != nil || errY != nil || x.kind != Number || y.kind != Number {
			return
		}
		c := CompareNumbers(x.raw, y.raw)
		if back := CompareNumbers(y.raw, x.raw); back != -c {
			t.Errorf("%s against %s is %d, and turned round %d", x.raw, y.raw, c, back)
		}
		if bytes.ContainsAny(x.raw, "eE") || bytes.ContainsAny(y.raw, "eE") {
			return
		}
		with := func(raw []byte) []byte { return append(bytes.Clone(raw), "e+7"...) } // takes the long way
		if long := CompareNumbers(with(x.raw), with(y.raw)); long != c {
			t.Errorf("%s against %s is %d, and times 10^7 %d", x.raw, y.raw, c, long)
		}
	})
}
