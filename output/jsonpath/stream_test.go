package jsonpath

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// endless is a document that begins and continues, again and again.
type endless struct {
	begin, again string
	read         int64
	left         string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read == 0 {
		e.left = e.begin
	} else if e.left == "" {
		e.left = e.again
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	e.read += int64(n)
	return n, nil
}

// once is a document that can be read once only.
func once(r io.Reader) Source {
	used := false
	return Reopen(func() (io.ReadCloser, error) {
		if used {
			return nil, errors.New("read a second time")
		}
		used = true
		return io.NopCloser(r), nil
	})
}

// rawMatches returns what a path selects as it is written, joined by blanks.
func rawMatches(t *testing.T, path string, src Source, opt Options) (string, error) {
	t.Helper()
	var all []string
	err := MustParse(path).Stream(t.Context(), src, opt, func(m Match) bool {
		all = append(all, string(m.Raw))
		return true
	})
	return strings.Join(all, " "), err
}

func TestAStreamThatIsStoppedReadsNoFurther(t *testing.T) {
	t.Parallel()
	document := &endless{begin: `{"items": [0`, again: `, {"id": 1}, [2], "three"`}
	n := 0
	err := MustParse("$.items[*]").Stream(t.Context(), once(document), Options{}, func(m Match) bool {
		n++
		return n < 100_000
	})
	if err != nil || n != 100_000 {
		t.Errorf("%d matches, %v", n, err)
	}
	if most := int64(100_000*len(document.again) + 2*windowSize); document.read > most {
		t.Errorf("%d bytes were read, and %d would do", document.read, most)
	}
}

func TestAStreamStoppedInACandidateOrInADuplicateSaysNothing(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"$[?@.a].a", "$..a", "$[0,0,0]", "$[::-1]"} {
		n := 0
		err := MustParse(path).Stream(t.Context(), Bytes([]byte(`[{"a": {"a": 1}}, {"a": 2}] and more`)), Options{}, func(m Match) bool {
			n++
			return false
		})
		if err != nil || n != 1 {
			t.Errorf("%s: %d calls, %v", path, n, err)
		}
	}
}

// Not parallel: it looks at what the whole process allocates.
func TestMemoryDoesNotGrowWithTheDocument(t *testing.T) {
	var b bytes.Buffer
	writeItems(&b, 8<<20)
	b.WriteString(`]}`)
	document := b.Bytes()
	where, err := ParseFilter("@.active == true")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		opt  Options
		once bool // it needs one reading
	}{
		{"$.items[*].nested.a.b.c", Options{}, true},
		{"$.items[*]", Options{Where: where}, true},
		{"$..c", Options{AnyOrder: true}, true},
		{"$..c", Options{}, false},
		{"$.items[-1].id", Options{}, false},
		{"$.items[-3:]", Options{}, false},
		{"$['none', 'items'][7]['email', 'id']", Options{}, false},
		{"$.items[?@.id == $.items[10].id].email", Options{}, false},
		{"$.items[?@.score > 99.9].email", Options{}, true},
		{"$.items[?@.nested.a.b.c >= 0].id", Options{}, true},
		{"$.items[*]", Options{Pick: []*Path{MustParse("$.nested.a"), MustParse("$.id")}, NoRaw: true}, true},
		{"$..*", Options{AnyOrder: true, NoRaw: true}, false},
	} {
		sources := map[string]Source{"reader at": ReaderAt(bytes.NewReader(document), int64(len(document)))}
		if c.once {
			sources["reader"] = once(bytes.NewReader(document))
		}
		for name, src := range sources {
			var before, after runtime.MemStats
			n := 0
			runtime.ReadMemStats(&before)
			err := MustParse(c.path).Stream(t.Context(), src, c.opt, func(Match) bool { n++; return true })
			runtime.ReadMemStats(&after)
			if err != nil || n == 0 {
				t.Errorf("%s from %s: %d matches, %v", c.path, name, n, err)
			}
			// Much of it is garbage at once: values of candidates. What grows with them is
			// at most a fourth of the document.
			const most = 3 << 20
			if used := after.TotalAlloc - before.TotalAlloc; used > most {
				t.Errorf("%s from %s allocates %d bytes for %d", c.path, name, used, len(document))
			}
		}
	}
}

func TestWhatNeedsMoreThanTheLimitSaysSo(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	document := []byte(`{"a": ["` + long + `", 2], "b": {"c": "` + long + `"}, "` + long + `": 1}`)
	reader := func() Source { return once(bytes.NewReader(document)) }
	file := func() Source { return ReaderAt(bytes.NewReader(document), int64(len(document))) }
	reopen := func() Source {
		return Reopen(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(document)), nil })
	}
	const limit = 300 << 10
	for _, c := range []struct {
		path string
		src  Source
		says string
	}{
		{"$.a[0]", reader(), "for a value at byte 7,"},
		{"$.a[0]", file(), fmt.Sprintf("needs %d bytes of memory for a value at byte 7, and the limit is %d", len(long)+2, limit)},
		{"$.a[0]", reopen(), "for a value at byte 7,"},
		{"$.a[?@ == $.b.c]", file(), "for a value"},
		{"$.b[?@ != 1]", file(), "for a name or a scalar that is looked at"},
		{"$.x", file(), "for a name or a scalar that is looked at"},
	} {
		got, err := rawMatches(t, c.path, c.src, Options{Limit: limit})
		if e, ok := errors.AsType[*LimitError](err); !ok || e.Need <= limit || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v, want %q", c.path, got, err, c.says)
		}
	}
	for _, c := range []struct {
		path string
		src  Source
		want string
	}{
		{"$.a[1]", file(), "2"},
		{"$.a[-1]", file(), "2"},
		{"$.a[-1]", reopen(), "2"},
		{"$.a[::-1][0]", reopen(), ""},
		{"$.a[?@ == 2]", Bytes(document), "2"},
		{"$['b', 'a'][1]", reopen(), "2"},
		{"$.a[?@ == $.a[-1]]", Bytes([]byte(`{"a": [1, 2, 3]}`)), "3"},
	} {
		doc := strings.ReplaceAll(string(document), `, "`+long+`": 1`, "") // names have to be held
		src := c.src
		if src.open != nil && c.path != "$.a[?@ == $.a[-1]]" {
			src = Reopen(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(doc)), nil })
		} else if src.readerAt != nil {
			src = ReaderAt(strings.NewReader(doc), int64(len(doc)))
		}
		if c.path == "$.a[?@ == 2]" {
			src = Bytes([]byte(doc))
		}
		if got, err := rawMatches(t, c.path, src, Options{Limit: limit}); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %s", c.path, got, err, c.want)
		}
	}
	n := int64(0)
	err := MustParse("$.a[0]").Stream(t.Context(), reader(), Options{Limit: 2 << 20, NoRaw: true}, func(m Match) bool {
		n = m.Size
		return m.Raw == nil
	})
	if err != nil || n != int64(len(long)+2) {
		t.Errorf("a place of %d bytes, %v", n, err)
	}
}

func TestEveryMemberOfANameIsSelectedAndTheLastIsCompared(t *testing.T) {
	t.Parallel()
	const document = `{"a": {"b": 1}, "a": {"c": 2}, "x": [{"k": 1, "k": 2}, {"k": 2, "k": 1}]}`
	for path, want := range map[string]string{
		"$.a":                      `{"b": 1} {"c": 2}`,
		"$.a.*":                    `1 2`,
		"$.x[?@.k == 2]":           `{"k": 1, "k": 2}`,
		"$.x[?count(@.k) == 2].k":  "1 2 2 1",
		"$.x[?$.a.c == 2].k":       "1 2 2 1",
		"$.x[?$.a.b == 1].k":       "",
		"$.x[?value(@.k) == 2].k":  "",
		"$.x[?value($.a.c) == 2]":  `{"k": 1, "k": 2} {"k": 2, "k": 1}`,
		"$.x[?count($..k) > 3].k":  "1 2 2 1",
		"$.x[0]['k', 'k']":         "1 2 1 2",
		"$.x[?length($.a) == 1].k": "1 2 2 1",
	} {
		root, err := Decode([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(selected(MustParse(path), root), " "); got != want {
			t.Errorf("tree: %s selects %s, want %s", path, got, want)
		}
		for _, src := range sources([]byte(document)) {
			if got, err := rawMatches(t, path, src.source, Options{}); err != nil || got != want {
				t.Errorf("%s: %s selects %s, %v, want %s", src.name, path, got, err, want)
			}
		}
	}
}

func TestTheTwoOrders(t *testing.T) {
	t.Parallel()
	const document = `{"x": {"a": 1, "y": [2, 3]}, "a": [4]}`
	for _, c := range []struct{ path, rfc, document string }{
		{"$..a", "[4] 1", "1 [4]"},
		{"$['a', 'x'][*]", "4 1 [2, 3]", "1 [2, 3] 4"},
		{"$.x.y[::-1]", "3 2", "2 3"},
		{"$.x.y[0, 0, 1, 0]", "2 2 3 2", "2 2 2 3"},
		{"$..y[*]", "2 3", "2 3"},
	} {
		for anyOrder, want := range map[bool]string{false: c.rfc, true: c.document} {
			got, err := rawMatches(t, c.path, Bytes([]byte(document)), Options{AnyOrder: anyOrder})
			if err != nil || got != want {
				t.Errorf("%s in any order %t: %s, %v, want %s", c.path, anyOrder, got, err, want)
			}
		}
	}
}

func TestAMatchKnowsItsPlace(t *testing.T) {
	t.Parallel()
	const document = `{"it's": [{"\u0061\n": 1}, {"é": [[]]}]}`
	var got []string
	err := MustParse("$..*").Stream(t.Context(), Bytes([]byte(document)), Options{AnyOrder: true}, func(m Match) bool {
		got = append(got, fmt.Sprintf("%s %d+%d %s", m.Path(), m.Offset, m.Size, document[m.Offset:m.Offset+m.Size]))
		if selected := selected(MustParse(string(m.Path())), mustDecode(t, document)); len(selected) != 1 || selected[0] != string(m.Raw) {
			t.Errorf("%s selects %q, and was found at %s", m.Path(), selected, m.Raw)
		}
		return true
	})
	want := []string{
		`$['it\'s'] 9+31 [{"\u0061\n": 1}, {"é": [[]]}]`,
		`$['it\'s'][0] 10+15 {"\u0061\n": 1}`,
		`$['it\'s'][0]['a\n'] 23+1 1`,
		`$['it\'s'][1] 27+12 {"é": [[]]}`,
		`$['it\'s'][1]['é'] 34+4 [[]]`,
		`$['it\'s'][1]['é'][0] 35+2 []`,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func mustDecode(t *testing.T, document string) Value {
	t.Helper()
	v, err := Decode([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCountsThatMultiplyAreCountedAndNotEnumerated(t *testing.T) {
	t.Parallel()
	const depth = 60
	document := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	n, err := MustParse("$"+strings.Repeat("..*", 10)).Count(t.Context(), Bytes(document), Options{})
	if want := int64(62_828_356_305); err != nil || n != want { // 59 over 10
		t.Errorf("%d, %v, want %d", n, err, want)
	}
	deep := []byte(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))
	if n, err := MustParse("$"+strings.Repeat("..*", 30)).Count(t.Context(), Bytes(deep), Options{}); err == nil {
		t.Errorf("counts %d, which is more than can be", n)
	}
}

func TestAStreamEndsWithItsContext(t *testing.T) {
	t.Parallel()
	why := errors.New("the person has left")
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	err := MustParse("$[*]").Stream(ctx, once(&endless{begin: "[0", again: ", 0"}), Options{}, func(Match) bool {
		if n++; n == 1000 {
			cancel(why)
		}
		return true
	})
	if !errors.Is(err, why) {
		t.Errorf("after %d matches: %v", n, err)
	}
	// Both of these would take ages, the first in one test of a filter.
	deep := []byte(strings.Repeat("[", 2000) + strings.Repeat("]", 2000))
	for _, path := range []string{"$[?count(@..*..*..*..*..*) > 1]", "$..*..*..*..*..*"} {
		if err := MustParse(path).Stream(ctx, Bytes(deep), Options{}, func(Match) bool { return true }); !errors.Is(err, why) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestWhatIsOpenedIsClosed(t *testing.T) {
	t.Parallel()
	opened, open := 0, 0
	document := `{"big": "` + strings.Repeat("x", 1<<20) + `", "items": [1, 2, 3]}`
	again := Reopen(func() (io.ReadCloser, error) {
		opened++
		open++
		return closer{strings.NewReader(document), func() { open-- }}, nil
	})
	got, err := rawMatches(t, "$.items[?@ > $.items[0]]", again, Options{Limit: 1000})
	if got != "2 3" || err != nil || opened != 2 || open != 0 {
		t.Errorf("%s, %v; opened %d times, %d are open", got, err, opened, open)
	}
	broken := errors.New("disk on fire")
	for name, src := range map[string]Source{
		"open": Reopen(func() (io.ReadCloser, error) { return nil, broken }),
		"read": once(io.MultiReader(strings.NewReader(`[1, 2`), failing{broken})),
	} {
		if got, err := rawMatches(t, "$[*]", src, Options{}); !errors.Is(err, broken) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if _, err := rawMatches(t, "$[*]", ReaderAt(strings.NewReader("[1, 2]"), 10), Options{}); err == nil || !strings.Contains(err.Error(), "said to have 10") {
		t.Errorf("a file that is shorter than said: %v", err)
	}
}

type closer struct {
	io.Reader
	closed func()
}

func (c closer) Close() error { c.closed(); return nil }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// The questions that a model asks of a list of users.
func TestQuestionsAboutUsers(t *testing.T) {
	t.Parallel()
	const document = `{
		"users": [
			{"id": 9007199254740993, "name": "Ada", "active": true, "roles": ["admin", "dev"], "score": 12.50},
			{"id": 9007199254740992, "name": "Björn", "active": false, "roles": [], "score": 7},
			{"id": 3, "name": "Chloé", "roles": ["dev"], "score": 1e400, "manager": {"id": 9007199254740993}}
		],
		"total": 3
	}`
	for _, c := range []struct{ path, where, want string }{
		{"$.users[0].name", "", `"Ada"`},
		{"$.users[-1].name", "", `"Chloé"`},
		{"$.users[*].name", "@ > 'B'", `"Björn" "Chloé"`},
		{"$.users[?@.id == 9007199254740993].name", "", `"Ada"`},
		{"$.users[?@.active == true].score", "", "12.50"},
		{"$.users[?!@.active].name", "", `"Chloé"`},
		{"$.users[?@.roles[?@ == 'dev']].name", "", `"Ada" "Chloé"`},
		{"$.users[?count(@.roles[*]) >= 2].id", "", "9007199254740993"},
		{"$.users[?length(@.name) == 5].name", "", `"Björn" "Chloé"`},
		{"$.users[?match(@.name, 'B.*|.*é')].name", "", `"Björn" "Chloé"`},
		{"$.users[?search(@.name, '[dr]')].name", "", `"Ada" "Björn"`},
		{"$.users[?@.score > 1e300].name", "", `"Chloé"`},
		{"$.users[?@.id == $.users[2].manager.id].name", "", `"Ada"`},
		{"$.users[?value(@..id) == 3].name", "", ""},
		{"$..id", "", "9007199254740993 9007199254740992 3 9007199254740993"},
		{"$.users[*]['name', 'id']", "", `"Ada" 9007199254740993 "Björn" 9007199254740992 "Chloé" 3`},
		{"$.users[*]", "@.roles[0] == 'dev' && $.total == 3", `{"id": 3, "name": "Chloé", "roles": ["dev"], "score": 1e400, "manager": {"id": 9007199254740993}}`},
		{"$.users[1:].name", "", `"Björn" "Chloé"`},
		{"$.users.name", "", ""},
	} {
		var opt Options
		if c.where != "" {
			where, err := ParseFilter(c.where)
			if err != nil {
				t.Fatal(err)
			}
			opt.Where = where
		}
		for _, src := range sources([]byte(document)) {
			if got, err := rawMatches(t, c.path, src.source, opt); err != nil || got != c.want {
				t.Errorf("%s where %s from %s: %s, %v, want %s", c.path, c.where, src.name, got, err, c.want)
			}
		}
	}
}

// hesitant is a reader that gives nothing several times before each piece.
type hesitant struct {
	r     io.Reader
	empty int // readings before each piece
	n     int
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.n++; h.n%(h.empty+1) != 0 {
		return 0, nil
	}
	return h.r.Read(p[:min(len(p), 3)])
}

// A reading that gives nothing is not the end, as long as something comes at last.
func TestAReaderMayHesitate(t *testing.T) {
	t.Parallel()
	const document = `{"a": [1, "two", {"three": 3}]}`
	for empty, want := range map[int]error{1: nil, 99: nil, 100: io.ErrNoProgress} {
		got, err := rawMatches(t, "$.a[*]", once(&hesitant{r: strings.NewReader(document), empty: empty}), Options{})
		if !errors.Is(err, want) || want == nil && got != `1 "two" {"three": 3}` {
			t.Errorf("%d empty readings before each piece: %s, %v", empty, got, err)
		}
	}
}

// Where elements are wanted last first the document is read more than once: what is wrong with it, and
// what goes wrong then, is an error at each reading.
func TestWhatGoesWrongAtALaterReadingIsAnError(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"$[::-1]", "$[1,0]", "$..[0]", "$[::-1].a"} {
		for _, document := range []string{`[{"a": 1}, {"a": `, `[{"a": 1}, {"a": 2}`, `[{"a": 1}, {"a": 2]`} {
			_, err := rawMatches(t, path, Bytes([]byte(document)), Options{})
			if _, ok := errors.AsType[*DocumentError](err); !ok {
				t.Errorf("%s of %s: %v", path, document, err)
			}
		}
		gone := errors.New("the file is gone")
		opened := 0
		src := Reopen(func() (io.ReadCloser, error) {
			if opened++; opened > 1 {
				return nil, gone
			}
			return io.NopCloser(strings.NewReader(`[{"a": 1}, {"a": 2}` + strings.Repeat(" ", 4*windowSize) + `]`)), nil
		})
		if _, err := rawMatches(t, path, src, Options{Limit: 1 << 10}); !errors.Is(err, gone) && path != "$..[0]" {
			t.Errorf("%s, opened %d times: %v", path, opened, err)
		}
	}
}

// What a filter passes over before the element that it wants takes memory too, which is bounded.
func TestAnElementFarBehindIsLookedAtWithinTheLimit(t *testing.T) {
	t.Parallel()
	const n = 5000
	document := "[[" + strings.Repeat("0,", n) + "1]]"
	path := fmt.Sprintf("$[?@[%d] == 1][-1]", n)
	if got, err := rawMatches(t, path, Bytes([]byte(document)), Options{}); err != nil || got != "1" {
		t.Errorf("with the usual limit: %s, %v", got, err)
	}
	_, err := rawMatches(t, path, Bytes([]byte(document)), Options{Limit: n})
	if e, ok := errors.AsType[*LimitError](err); !ok || e.Limit != n {
		t.Errorf("with a limit of %d bytes: %v", n, err)
	}
}
