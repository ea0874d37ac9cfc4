package jsonpath

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// suiteFile is the JSONPath Compliance Test Suite,
// https://github.com/jsonpath-standard/jsonpath-compliance-test-suite, commit 7be7c1f.
const suiteFile = "../../../shared/cases/jsonpath/cts.json"

type suiteCase struct {
	Name     string          `json:"name"`
	Selector string          `json:"selector"`
	Document json.RawMessage `json:"document"`
	Invalid  bool            `json:"invalid_selector"`

	Result       json.RawMessage   `json:"result"`
	Results      []json.RawMessage `json:"results"`
	ResultPaths  []Normalized      `json:"result_paths"`
	ResultsPaths [][]Normalized    `json:"results_paths"`
}

func suite(t *testing.T) []suiteCase {
	t.Helper()
	data, err := os.ReadFile(suiteFile)
	if err != nil {
		t.Skipf("the JSONPath Compliance Test Suite (cts.json) has to be at %s: %v", suiteFile, err)
	}
	var file struct {
		Tests []suiteCase `json:"tests"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	const cases = 703
	if len(file.Tests) != cases {
		t.Fatalf("the suite has %d cases, not %d: is it another version?", len(file.Tests), cases)
	}
	return file.Tests
}

// found is what a query gave.
type found struct {
	Values []any
	Paths  []Normalized
}

func (f *found) add(t *testing.T, path Normalized, raw []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %q: %v", path, raw, err)
	}
	f.Values, f.Paths = append(f.Values, v), append(f.Paths, path)
}

// check compares with what the case allows.
func (c suiteCase) check(t *testing.T, got found) {
	t.Helper()
	results, paths := c.Results, c.ResultsPaths
	if c.Result != nil {
		results, paths = []json.RawMessage{c.Result}, [][]Normalized{c.ResultPaths}
	}
	var diff string
	for i, raw := range results {
		want := found{Paths: paths[i]}
		if err := json.Unmarshal(raw, &want.Values); err != nil {
			t.Fatal(err)
		}
		if len(want.Values) == 0 {
			want = found{}
		}
		if diff = cmp.Diff(want, got); diff == "" {
			return
		}
	}
	t.Errorf("%s of %s (-want +got)\n%s", c.Selector, c.Document, diff)
}

func TestEveryCaseOfTheComplianceSuiteHoldsForATree(t *testing.T) {
	t.Parallel()
	for _, c := range suite(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			path, err := Parse(c.Selector)
			if c.Invalid {
				if err == nil {
					t.Errorf("%q is accepted as %s", c.Selector, path)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			root, err := Decode(c.Document)
			if err != nil {
				t.Fatal(err)
			}
			var got found
			for at, v := range locate(path, root) {
				got.add(t, at, v.Raw())
			}
			c.check(t, got)
		})
	}
}

func TestEveryCaseOfTheComplianceSuiteHoldsForAStream(t *testing.T) {
	t.Parallel()
	for _, c := range suite(t) {
		if c.Invalid {
			continue // Parse is one for both
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			path, err := Parse(c.Selector)
			if err != nil {
				t.Fatal(err)
			}
			for _, src := range sources(c.Document) {
				var got found
				err := path.Stream(t.Context(), src.source, Options{}, func(m Match) bool {
					got.add(t, m.Path(), m.Raw)
					return true
				})
				if err != nil {
					t.Fatalf("%s: %v", src.name, err)
				}
				c.check(t, got)
				n, err := path.Count(t.Context(), src.again(), Options{})
				if err != nil || n != int64(len(got.Values)) {
					t.Errorf("%s: Count = %d, %v, want %d", src.name, n, err, len(got.Values))
				}
			}
		})
	}
}

func TestACanonicalPathIsTheSamePath(t *testing.T) {
	t.Parallel()
	for _, c := range suite(t) {
		path, err := Parse(c.Selector)
		if err != nil {
			continue
		}
		again, err := Parse(path.String())
		if err != nil {
			t.Errorf("%s is canonical for %s, and is refused: %v", path, c.Selector, err)
			continue
		}
		if again.String() != path.String() {
			t.Errorf("%s becomes %s becomes %s", c.Selector, path, again)
		}
		root, err := Decode(c.Document)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := selected(path, root), selected(again, root); !slices.Equal(want, got) {
			t.Errorf("%s selects %q, and %s selects %q", c.Selector, want, again, got)
		}
	}
}

// selected returns what a path selects as it is written.
func selected(p *Path, root Value) []string {
	var all []string
	for v := range p.Select(root) {
		all = append(all, string(v.Raw()))
	}
	return all
}

// namedSource is a document with one of the ways to read it.
type namedSource struct {
	name   string
	source Source
	again  func() Source // the same from the beginning
}

// sources returns a document by each kind of source, read in tiny pieces where it
// is read in pieces: what can go wrong at the end of a window then does.
func sources(document []byte) []namedSource {
	small := func(s Source) Source { s.window = 16; return s }
	open := func() (io.ReadCloser, error) {
		return io.NopCloser(iotest.OneByteReader(bytes.NewReader(document))), nil
	}
	all := []namedSource{
		{name: "bytes", again: func() Source { return Bytes(document) }},
		{name: "reader at", again: func() Source { return small(ReaderAt(bytes.NewReader(document), int64(len(document)))) }},
		{name: "reopen", again: func() Source { return small(Reopen(open)) }},
	}
	for i := range all {
		all[i].source = all[i].again()
	}
	return all
}
