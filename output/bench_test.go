package output

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// benchSize is how large the documents of benchmarks are, in bytes: PAWL_BENCH_MB
// megabytes, 8 if that is not set.
func benchSize() int {
	if mb, err := strconv.Atoi(os.Getenv("PAWL_BENCH_MB")); err == nil && mb > 0 {
		return mb * 1_000_000
	}
	return 8_000_000
}

// writeItems writes {"items": [...], "meta": {...}}, the same on every machine, with
// about size bytes: items of about 650 bytes with numbers, texts, escapes, lists and a
// nested path.
func writeItems(w io.Writer, size int) (n int) {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := []string{"amber", "birch", "cobalt", "dünn", "ember \\\"x\\\"", "fjord", "granite", "harbour\\n", "indigo"}
	word := func() string { return words[rnd.IntN(len(words))] }
	var b bytes.Buffer
	b.WriteString(`{"items": [`)
	written := 0
	for ; written < size; n++ {
		if n > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"id": %d, "name": "%s %s", "email": "%s.%d@example.org", "active": %t, "score": %.3f, `+
			`"tags": ["%s", "%s", "%s"], "address": {"street": "%s street %d", "city": "%s", "zip": "%05d", "geo": [%.5f, %.5f]}, `+
			`"description": "%s", "nested": {"x": [1, 2, {"y": null}], "a": {"b": {"c": %d, "d": "%s"}, "e": []}}, `+
			`"history": [{"at": %d, "what": "created"}, {"at": %d, "what": "%s"}]}`,
			n, word(), word(), word(), n, rnd.IntN(2) == 0, rnd.Float64()*100,
			word(), word(), word(), word(), rnd.IntN(200), word(), rnd.IntN(100000), rnd.Float64()*90, rnd.Float64()*180,
			bytes.Repeat([]byte("lorem ipsum dolor sit "), 8), rnd.IntN(1000), word(),
			rnd.Int64N(1e12), rnd.Int64N(1e12), word())
		written += b.Len()
		if _, err := w.Write(b.Bytes()); err != nil {
			panic(err)
		}
		b.Reset()
	}
	fmt.Fprintf(w, `], "meta": {"count": %d, "complete": true}}`, n)
	return n
}

// benchFolder is where documents of benchmarks are, and what TestMain removes.
var benchFolder string

func TestMain(m *testing.M) {
	code := m.Run()
	if benchFolder != "" {
		os.RemoveAll(benchFolder)
	}
	os.Exit(code)
}

var benchFile = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pawl-output")
	if err != nil {
		return "", err
	}
	benchFolder = dir
	name := filepath.Join(dir, "items.json")
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	writeItems(f, benchSize())
	return name, f.Close()
})

func openBench(b *testing.B) (name string, size int64) {
	b.Helper()
	name, err := benchFile()
	if err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		b.Fatal(err)
	}
	return name, info.Size()
}

var storeBench = sync.OnceValues(func() (*Store, error) {
	name, err := benchFile()
	if err != nil {
		return nil, err
	}
	s := NewStore(filepath.Join(benchFolder, "store"))
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w, err := s.Create(Key{"r", "r", "c_1"}, "bench", "m_1")
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, f); err != nil {
		return nil, err
	}
	o, err := w.Commit(true)
	if err != nil {
		return nil, err
	}
	return s, o.Close()
})

// cpuTime returns the time that this process, or those that it has waited for, had of a
// processor; nil where the system does not tell.
var cpuTime func(children bool) time.Duration

// measure reports speed by the clock, and by the time of a processor, which does not
// depend on what else the machine does.
func measure(b *testing.B, size int64, children bool) {
	b.SetBytes(size)
	if cpuTime == nil {
		return
	}
	before := cpuTime(children)
	b.Cleanup(func() {
		b.ReportMetric(float64(size)*float64(b.N)/1e6/(cpuTime(children)-before).Seconds(), "MB/core-s")
	})
}

func BenchmarkStore(b *testing.B) {
	name, size := openBench(b)
	s := NewStore(b.TempDir())
	measure(b, size, false)
	var stored int64
	for b.Loop() {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		w, err := s.Create(Key{"r", "r", "c_1"}, "bench", "m_1")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(w, f); err != nil {
			b.Fatal(err)
		}
		f.Close()
		o, err := w.Commit(true)
		if err != nil {
			b.Fatal(err)
		}
		stored = o.Stored
		o.Close()
	}
	b.ReportMetric(float64(stored)/float64(size), "ratio")
}

func BenchmarkStoreSmall(b *testing.B) {
	s := NewStore(b.TempDir())
	for b.Loop() {
		w, err := s.Create(Key{"r", "r", "c_1"}, "bench", "m_1")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.Write([]byte(`{"ok": true, "lines": ["a", "b"]}`)); err != nil {
			b.Fatal(err)
		}
		o, err := w.Commit(true)
		if err != nil {
			b.Fatal(err)
		}
		o.Close()
	}
}

// questions are what benchmarks ask, of a plain file and of a stored output.
var questions = []struct {
	name string
	ask  func(testing.TB, *Document) any
}{
	{"stats", func(t testing.TB, d *Document) any { return ask(t, d.Stats, `{}`) }},
	{"stats all", func(t testing.TB, d *Document) any { return ask(t, d.Stats, `{"sample_arrays": false}`) }},
	{"count", func(t testing.TB, d *Document) any { return ask(t, d.Count, `{"counts": [{"path": "$.items"}]}`) }},
	{"count filter", func(t testing.TB, d *Document) any {
		return ask(t, d.Count, `{"counts": [{"path": "$.items", "filter": "@.active == true"}]}`)
	}},
	{"extract first", func(t testing.TB, d *Document) any { return ask(t, d.Extract, `{"paths": "$.items[3].email"}`) }},
	{"extract last", func(t testing.TB, d *Document) any { return ask(t, d.Extract, `{"paths": "$.items[-1].email"}`) }},
	{"extract behind", func(t testing.TB, d *Document) any { return ask(t, d.Extract, `{"paths": "$.meta"}`) }},
	{"extract filter", func(t testing.TB, d *Document) any {
		return ask(t, d.Extract, `{"paths": "$.items[?@.score > 99.99].email"}`)
	}},
	{"sample", func(t testing.TB, d *Document) any { return ask(t, d.Sample, `{"seed": 1}`) }},
	{"sample stratified", func(t testing.TB, d *Document) any {
		return ask(t, d.Sample, `{"seed": 1, "strategy": "stratified", "strata_path": "@.address.city"}`)
	}},
	{"search", func(t testing.TB, d *Document) any { return ask(t, d.Search, `{"pattern": "fjord\\.7.*org"}`) }},
	{"search any", func(t testing.TB, d *Document) any { return ask(t, d.Search, `{"pattern": "[a-z]+ord\\.7.*org"}`) }},
	{"aggregate", func(t testing.TB, d *Document) any {
		return ask(t, d.Aggregate, `{"path": "$.items", "value_path": "@.score", "group_by": "@.address.city", "op": "avg"}`)
	}},
	{"distinct", func(t testing.TB, d *Document) any {
		return ask(t, d.Aggregate, `{"path": "$.items[*].email", "op": "distinct"}`)
	}},
	{"read", func(t testing.TB, d *Document) any { return ask(t, d.Read, `{"offset": 1000000, "limit": 10}`) }},
}

func BenchmarkFile(b *testing.B) {
	for _, q := range questions {
		b.Run(q.name, func(b *testing.B) {
			name, size := openBench(b)
			measure(b, size, false)
			for b.Loop() {
				f, err := os.Open(name)
				if err != nil {
					b.Fatal(err)
				}
				d, err := File(name, f)
				if err != nil {
					b.Fatal(err)
				}
				q.ask(b, d)
				f.Close()
			}
		})
	}
}

func BenchmarkStored(b *testing.B) {
	for _, q := range questions {
		b.Run(q.name, func(b *testing.B) {
			_, size := openBench(b)
			s, err := storeBench()
			if err != nil {
				b.Fatal(err)
			}
			measure(b, size, false)
			for b.Loop() {
				o, err := s.Find(Scope{Conversation: "r", Run: "r"}, "")
				if err != nil {
					b.Fatal(err)
				}
				q.ask(b, o.Document)
				o.Close()
			}
		})
	}
}

// BenchmarkSearchText searches the lines of a log.
func BenchmarkSearchText(b *testing.B) {
	line := "2026-11-20T10:11:12Z INFO server request handled path=/v1/items status=200 duration=12ms\n"
	text := []byte(strings.Repeat(strings.Repeat(line, 999)+"2026-11-20T10:11:12Z ERROR server request failed\n", benchSize()/(1000*len(line))))
	for _, pattern := range []string{"ERROR", "(?i)error|panic", "ERR[A-Z]+ .*failed"} {
		b.Run(pattern, func(b *testing.B) {
			measure(b, int64(len(text)), false)
			for b.Loop() {
				d, err := newDocument("log", bytes.NewReader(text), int64(len(text)))
				if err != nil {
					b.Fatal(err)
				}
				ask(b, d.Search, fmt.Sprintf(`{"pattern": %q}`, pattern))
			}
		})
	}
}

// BenchmarkBytes is what reading each byte costs, for comparison.
func BenchmarkBytes(b *testing.B) {
	name, size := openBench(b)
	measure(b, size, false)
	buf := make([]byte, readSize)
	for b.Loop() {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			k, err := f.Read(buf)
			for _, c := range buf[:k] {
				if c == '"' {
					n++
				}
			}
			if err != nil {
				break
			}
		}
		f.Close()
	}
}
