package controller

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// The reader must agree with encoding/json on what JSON is, but for what package doc
// refuses, and on what it says.

var readerSeeds = []string{
	`{}`, `[]`, `""`, `0`, `-0`, `1.5e-10`, `1E+2`, `01`, `1.`, `-`, `true`, `nul`, `nulls`, `{"a":[1,{"b":"c\n\u00e9\ud83d\ude00"}],"d":null}`, `[1,]`, `{"a":1,}`,
	`{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", "\"\u2028\"", "\"\x7f\"", `"\/"`, ` [ ] `, `[[[[]]]]`, strings.Repeat("[", 70), `{"":{"":0}}`, `"a`, `"\`, `"\u00`, "\ufeff1", `1 2`,
}

func TestTheReaderReadsJSONAsItIsDefined(t *testing.T) {
	t.Parallel()
	for _, s := range readerSeeds {
		agree(t, s)
	}
}

func FuzzTheReaderAgreesWithTheStandardLibrary(f *testing.F) {
	for _, s := range readerSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { agree(t, s) })
}

func agree(t *testing.T, s string) {
	t.Helper()
	v, err := readWhole(s)
	if err != nil && (err.at < 0 || err.at > len(s) || err.what == "") {
		t.Fatalf("%q: the error %+v is not in the text", s, err)
	}
	if !json.Valid([]byte(s)) {
		if err == nil {
			t.Fatalf("%q is read, and it is not JSON", s)
		}
		return
	}
	if err != nil {
		if !stricter(err) {
			t.Fatalf("%q is JSON and refused: %s", s, err.what)
		}
		return
	}
	if !utf8.ValidString(s) {
		t.Fatalf("%q is read, and it is not UTF-8", s)
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var want any
	if err := d.Decode(&want); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	if diff := cmp.Diff(want, plain(v)); diff != "" {
		t.Fatalf("%q (-want +got)\n%s", s, diff)
	}
	if v.raw != strings.Trim(s, jsonSpace) {
		t.Fatalf("%q is kept as %q", s, v.raw)
	}
}

// stricter reports whether an error is one that JSON's grammar does not ask for.
func stricter(err *syntaxError) bool {
	for _, what := range []string{"stands twice", "invalid surrogate pair", "invalid UTF-8", "nested deeper"} {
		if strings.Contains(err.what, what) {
			return true
		}
	}
	return false
}

// plain returns a value as encoding/json would have it.
func plain(v value) any {
	switch v.kind {
	case jsonObject:
		m := map[string]any{}
		for _, member := range v.members {
			m[member.name] = plain(member.value)
		}
		return m
	case jsonList:
		l := []any{}
		for _, item := range v.items {
			l = append(l, plain(item))
		}
		return l
	case jsonString:
		return v.text
	case jsonNumber:
		return json.Number(v.raw)
	case jsonBoolean:
		return v.raw == "true"
	}
	return nil
}
