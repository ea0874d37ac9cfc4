package jsonpath

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The stream is checked against the tree: on every document both find the same, in the
// same order, whatever the source and wherever its windows end.

// hit is a match as both evaluators can tell it.
type hit struct {
	Path   Normalized
	Raw    string
	Offset int64
}

// most is how many matches are compared: paths such as ..*..*..* have more than anyone
// can wait for.
const most = 500

// byTree returns the hits of a path in the order of RFC 9535.
func byTree(p *Path, where *Filter, root Value, document []byte) []hit {
	var hits []hit
	for path, v := range locate(p, root) {
		if where != nil && !where.filter.root.test(newEnv(root), v) {
			continue
		}
		offset := cap(document) - cap(v.raw) // raw is a part of document
		hits = append(hits, hit{path, string(v.raw), int64(offset)})
		if len(hits) == most {
			break
		}
	}
	return hits
}

func byStream(t *testing.T, p *Path, src Source, opt Options) ([]hit, error) {
	t.Helper()
	var hits []hit
	err := p.Stream(t.Context(), src, opt, func(m Match) bool {
		if m.Size != int64(len(m.Raw)) {
			t.Errorf("%s at %d has the size %d, and %q", m.Path(), m.Offset, m.Size, m.Raw)
		}
		hits = append(hits, hit{m.Path(), string(m.Raw), m.Offset})
		return len(hits) < most
	})
	return hits, err
}

// agree checks that stream and tree agree on one path and one document. With a limit
// that is too small for nearly everything a stream may end early, and may not be wrong.
func agree(t *testing.T, p *Path, where *Filter, document []byte) {
	t.Helper()
	root, invalid := Decode(document)
	for _, src := range sources(document) {
		what := fmt.Sprintf("%s where %v of %q from %s", p, where, cutText(document), src.name)
		if invalid != nil {
			n, err := p.Count(t.Context(), src.again(), Options{Where: where})
			if err == nil {
				t.Errorf("%s: counts %d, and the tree says %v", what, n, invalid)
			} else if diff := gocmp.Diff(asDocumentError(invalid), asDocumentError(err)); diff != "" && !usesRoot(p, where) {
				t.Errorf("%s: (-tree +stream)\n%s", what, diff)
			}
			continue
		}
		want := byTree(p, where, root, document)
		got, err := byStream(t, p, src.source, Options{Where: where})
		if diff := gocmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%s: %v (-tree +stream)\n%s", what, err, diff)
		}
		if len(want) == most {
			continue
		}
		got, err = byStream(t, p, src.again(), Options{Where: where, Limit: 40})
		if _, limited := errors.AsType[*LimitError](err); limited {
			want := want[:min(len(got), len(want))]
			if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s: before the limit (-tree +stream)\n%s", what, diff)
			}
		} else if diff := gocmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%s: with a limit: %v (-tree +stream)\n%s", what, err, diff)
		}
		n, err := p.Count(t.Context(), src.again(), Options{Where: where})
		if err != nil || n != int64(len(want)) {
			t.Errorf("%s: Count = %d, %v; want %d", what, n, err, len(want))
		}
		slices.SortStableFunc(want, func(a, b hit) int { return int(a.Offset - b.Offset) })
		got, err = byStream(t, p, src.again(), Options{Where: where, AnyOrder: true})
		if diff := gocmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%s: in document order: %v (-tree +stream)\n%s", what, err, diff)
		}
	}
}

// usesRoot reports whether the document is read before, for $ in a filter: that reading
// may end before the error.
func usesRoot(p *Path, where *Filter) bool {
	return len(absoluteQueries(p.segments)) > 0 || where != nil && len(where.filter.wants.absolute) > 0
}

func asDocumentError(err error) *DocumentError {
	e, _ := errors.AsType[*DocumentError](err)
	return e
}

func cutText(b []byte) string {
	if len(b) > 300 {
		return string(b[:300]) + "…"
	}
	return string(b)
}

func TestStreamAndTreeAgreeOnRandomPathsAndDocuments(t *testing.T) {
	t.Parallel()
	rounds := 4_000
	if testing.Short() {
		rounds = 1_000
	}
	for seed := range rounds {
		g := generator{rand.New(rand.NewPCG(uint64(seed), 7))}
		text := "$" + g.segments(4, 2)
		path, err := Parse(text)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		var where *Filter
		if g.IntN(4) == 0 {
			if where, err = ParseFilter(g.expression(2)); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		document := g.document(4)
		if g.IntN(10) == 0 {
			document = g.broken(document)
		}
		agree(t, path, where, []byte(document))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// generator makes paths and documents of few names and small numbers, so that they
// meet.
type generator struct{ *rand.Rand }

func (g generator) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g generator) name() string { return g.pick("a", "b", "c", "é", `q"`) }

func (g generator) blank() string { return g.pick("", "", "", " ", "\n\t ") }

func (g generator) document(depth int) string {
	b := g.blank
	kind := g.IntN(9)
	if depth == 0 {
		kind = g.IntN(5)
	}
	switch kind {
	case 0:
		return b() + g.pick("null", "true", "false") + b()
	case 1:
		return b() + g.pick("0", "-0", "1", "1.0", "1e0", "2", "-3", "0.5", "9007199254740993", "1e400") + b()
	case 2, 3:
		return b() + g.pick(`"a"`, `"\u0061"`, `"b"`, `""`, `"é"`, `"\u00e9"`, `"q\""`, "\"\xff\"", `"\ud83d\ude00"`, `"`+strings.Repeat("long ", 9)+`"`) + b()
	case 4:
		return b() + g.pick("[]", "{}", "[ ]", "{ }") + b()
	}
	var parts []string
	for range 1 + g.IntN(4) {
		part := g.document(depth - 1)
		if kind > 6 {
			part = b() + g.pick(`"a"`, `"a"`, `"b"`, `"c"`, `"\u0061"`, `"é"`, `"\u00E9"`, `"q\""`) + b() + ":" + part
		}
		parts = append(parts, part)
	}
	if kind > 6 {
		return b() + "{" + strings.Join(parts, ",") + "}" + b()
	}
	return b() + "[" + strings.Join(parts, ",") + "]" + b()
}

// broken damages a document.
func (g generator) broken(s string) string {
	at := g.IntN(len(s))
	switch g.IntN(3) {
	case 0:
		return s[:at]
	case 1:
		return s[:at] + s[at+1:]
	}
	return s[:at] + g.pick("[", "}", ",", `"`, "\\", "1", "x", "\x01", ":") + s[at:]
}

func (g generator) segments(most, filters int) string {
	var s strings.Builder
	for range g.IntN(most + 1) {
		dots := g.pick("", "", "", "..")
		switch g.IntN(3) {
		case 0:
			s.WriteString(cmp.Or(dots, ".") + g.pick("a", "b", "c", "é", "*"))
		case 1:
			s.WriteString(dots + "[" + g.selector(filters) + "]")
		case 2:
			parts := []string{g.selector(filters)}
			for range g.IntN(3) {
				parts = append(parts, g.selector(filters))
			}
			s.WriteString(dots + "[" + strings.Join(parts, ",") + "]")
		}
	}
	return s.String()
}

func (g generator) selector(filters int) string {
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf("%q", g.name())
	case 1:
		return fmt.Sprint(g.IntN(8) - 4)
	case 2:
		part := func() string { return g.pick("", "", "0", "1", "2", "-1", "-2", "-9", "5") }
		return part() + ":" + part() + g.pick("", ":", ":1", ":2", ":-1", ":-2", ":0")
	case 3, 4:
		if filters > 0 {
			return "?" + g.expression(filters-1)
		}
	}
	return "*"
}

func (g generator) expression(filters int) string {
	switch g.IntN(6) {
	case 0:
		return g.expression(filters) + g.pick(" && ", " || ") + g.expression(filters)
	case 1:
		return "!(" + g.expression(filters) + ")"
	case 2:
		return g.pick("@", "@", "$") + g.segments(2, filters)
	case 3:
		return g.pick("match", "search") + "(" + g.operand() + ", " + g.pick("'a'", "'[a-é]+'", "'.*'", "@.a", "$.b") + ")"
	}
	return g.operand() + g.pick(" == ", " != ", " < ", " <= ", " > ", " >= ") + g.operand()
}

func (g generator) operand() string {
	switch g.IntN(6) {
	case 0:
		return g.pick("1", "1.0", "0", "-3", "true", "null", "'a'", "'é'", "9007199254740992", "1e400")
	case 1:
		return "length(" + g.pick("@", "$") + g.pick("", ".a", ".b[0]") + ")"
	case 2:
		return g.pick("count(", "value(") + g.pick("@", "$") + g.segments(2, 0) + ")"
	}
	s := g.pick("@", "@", "$")
	for range g.IntN(3) {
		s += g.pick(".a", ".b", "['c']", "[0]", "[1]", "[-1]", ".é")
	}
	return s
}

func FuzzStreamEqualsTree(f *testing.F) {
	for seed := range 200 {
		g := generator{rand.New(rand.NewPCG(uint64(seed), 8))}
		f.Add("$"+g.segments(4, 2), []byte(g.document(4)))
	}
	f.Fuzz(func(t *testing.T, text string, document []byte) {
		const size, length = 2000, 200 // what is larger only takes longer
		path, err := Parse(text)
		if err != nil || len(document) > size || len(text) > length {
			return
		}
		agree(t, path, nil, document)
	})
}

// locate is Path.Select with the place of each value.
func locate(p *Path, root Value) iter.Seq2[Normalized, Value] {
	places := map[*byte]Normalized{} // by where values begin
	var walk func(v Value, at Normalized)
	walk = func(v Value, at Normalized) {
		places[&v.raw[0]] = at
		for i := range v.Len() {
			step := fmt.Sprintf("[%d]", i)
			if v.Kind() == Object {
				step = ChildInBrackets(v.Name(i))
			}
			walk(v.Item(i), at+Normalized(step))
		}
	}
	walk(root, "$")
	return func(yield func(Normalized, Value) bool) {
		for v := range p.Select(root) {
			if !yield(places[&v.raw[0]], v) {
				return
			}
		}
	}
}

// String returns the expression in its canonical form.
func (f *Filter) String() string { return string(f.filter.root.append(nil, orLevel)) }
