package jsonpath

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheStandardInOurOwnCases plays testdata/rfc9535.txt, which needs nothing beside this
// repository.
func TestTheStandardInOurOwnCases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/rfc9535.txt")
	if err != nil {
		t.Fatal(err)
	}
	var document []byte
	cases := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		selector, want, valid := strings.Cut(line, " => ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, "document "):
			document = []byte(strings.TrimPrefix(line, "document "))
			continue
		case strings.HasPrefix(line, "!"):
			cases++
			selector = strings.TrimPrefix(strings.TrimPrefix(line, "!"), " ")
			if p, err := Parse(selector); err == nil {
				t.Errorf("%q is accepted as %s", selector, p)
			}
			continue
		case !valid:
			t.Fatalf("%q is no case", line)
		}
		cases++
		path, err := Parse(selector)
		if err != nil {
			t.Errorf("%s: %v", selector, err)
			continue
		}
		root, err := Decode(document)
		if err != nil {
			t.Fatal(err)
		}
		var wanted []json.RawMessage
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		same := func(how string, got []string) {
			t.Helper()
			all := []string{}
			for _, w := range wanted {
				all = append(all, compact(t, w))
			}
			for i := range got {
				got[i] = compact(t, []byte(got[i]))
			}
			if diff := cmp.Diff(all, append([]string{}, got...)); diff != "" {
				t.Errorf("%s by %s (-want +got)\n%s", selector, how, diff)
			}
		}
		same("tree", selected(path, root))
		for _, src := range sources(document) {
			var got []string
			if err := path.Stream(t.Context(), src.source, Options{}, func(m Match) bool {
				got = append(got, string(m.Raw))
				if at := selected(MustParse(string(m.Path())), root); len(at) != 1 || at[0] != string(m.Raw) {
					t.Errorf("%s: %s is not the place of %s", selector, m.Path(), m.Raw)
				}
				return true
			}); err != nil {
				t.Errorf("%s from %s: %v", selector, src.name, err)
			}
			same(src.name, got)
			if n, err := path.Count(t.Context(), src.again(), Options{}); err != nil || n != int64(len(wanted)) {
				t.Errorf("%s from %s counts %d, %v", selector, src.name, n, err)
			}
		}
	}
	const least = 250
	if cases < least {
		t.Errorf("only %d cases were played", cases)
	}
}

func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return b.String()
}
