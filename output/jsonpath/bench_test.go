package jsonpath

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// bigSize is the size of the document that benchmarks read, in bytes.
const bigSize = 100 << 20

// bigDocument writes a document of {"items": [...], "meta": {...}} into a file: items
// of about 650 bytes with numbers, texts, escapes, lists and a nested path, the same on
// every machine.
var bigDocument = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "jsonpath")
	if err != nil {
		return "", err
	}
	bigFolder = dir
	name := filepath.Join(dir, "big.json")
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	n := writeItems(w, bigSize)
	fmt.Fprintf(w, `], "meta": {"count": %d, "complete": true}}`, n)
	if err := w.Flush(); err != nil {
		return "", err
	}
	return name, f.Close()
})

// bigFolder is what TestMain removes, if there is anything.
var bigFolder string

// writeItems writes the beginning of the document and its items, about size bytes.
func writeItems(w io.Writer, size int) int {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := []string{"amber", "birch", "cobalt", "dünn", "ember \\\"x\\\"", "fjord", "granite", "harbour\\n", "indigo"}
	word := func() string { return words[rnd.IntN(len(words))] }
	fmt.Fprint(w, `{"items": [`)
	written, n := 0, 0
	for ; written < size; n++ {
		if n > 0 {
			fmt.Fprint(w, ", ")
		}
		k, _ := fmt.Fprintf(w, `{"id": %d, "name": "%s %s", "email": "%s.%d@example.org", "active": %t, "score": %.3f, `+
			`"tags": ["%s", "%s", "%s"], "address": {"street": "%s street %d", "city": "%s", "zip": "%05d", "geo": [%.5f, %.5f]}, `+
			`"description": "%s", "nested": {"x": [1, 2, {"y": null}], "a": {"b": {"c": %d, "d": "%s"}, "e": []}}, `+
			`"history": [{"at": %d, "what": "created"}, {"at": %d, "what": "%s"}]}`,
			n, word(), word(), word(), n, rnd.IntN(2) == 0, rnd.Float64()*100,
			word(), word(), word(), word(), rnd.IntN(200), word(), rnd.IntN(100000), rnd.Float64()*90, rnd.Float64()*180,
			string(bytes.Repeat([]byte("lorem ipsum dolor sit "), 8)), rnd.IntN(1000), word(),
			rnd.Int64N(1e12), rnd.Int64N(1e12), word())
		written += k
	}
	return n
}

// cpuTime returns the processor time that the process has used, where that can be known.
var cpuTime func() time.Duration

// measure makes a benchmark report the speed per second of a core, which other work on
// the machine changes less than MB/s.
func measure(b *testing.B, size int64) {
	b.Helper()
	b.SetBytes(size)
	if cpuTime == nil {
		return
	}
	before := cpuTime()
	b.Cleanup(func() {
		used := cpuTime() - before
		b.ReportMetric(float64(size)*float64(b.N)/1e6/used.Seconds(), "MB/core-s")
	})
}

func openBig(b *testing.B) (*os.File, int64) {
	b.Helper()
	name, err := bigDocument()
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	return f, info.Size()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if bigFolder != "" {
		os.RemoveAll(bigFolder)
	}
	os.Exit(code)
}

func BenchmarkStream(b *testing.B) {
	for _, path := range []string{
		"$.items[*].nested.a.b.c",
		"$.items[?@.score > 99.9].email",
		"$.items[?@.active == true && search(@.name, 'fjord')].id",
		"$.items[-1].id",
		"$..c",
		"$.items[*]['id', 'email']",
		"$.meta.count",
		"$.items[*]",
	} {
		for _, order := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/%v", path, order), func(b *testing.B) {
				f, size := openBig(b)
				p := MustParse(path)
				measure(b, size)
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					n = 0
					err := p.Stream(b.Context(), ReaderAt(f, size), Options{AnyOrder: order}, func(m Match) bool {
						n++
						return true
					})
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n), "matches")
			})
		}
	}
}

func BenchmarkCount(b *testing.B) {
	for _, c := range []struct{ path, where string }{
		{"$.items[*]", ""},
		{"$.items[*]", "@.active == true"},
		{"$..*", ""},
		{"$..[?@.c]", ""},
	} {
		b.Run(c.path+" "+c.where, func(b *testing.B) {
			f, size := openBig(b)
			p := MustParse(c.path)
			var opt Options
			if c.where != "" {
				where, err := ParseFilter(c.where)
				if err != nil {
					b.Fatal(err)
				}
				opt.Where = where
			}
			measure(b, size)
			for b.Loop() {
				if _, err := p.Count(b.Context(), ReaderAt(f, size), opt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What a document costs that is only checked.
func BenchmarkSkip(b *testing.B) {
	data := bigBytes(b)
	measure(b, int64(len(data)))
	for b.Loop() {
		if err := newScanner(context.Background(), Bytes(data), defaultLimit).skip(); err != nil {
			b.Fatal(err)
		}
	}
}

// What the same costs with jsontext, which could have been used instead.
func BenchmarkSkipOfJSONText(b *testing.B) {
	f, size := openBig(b)
	measure(b, size)
	for b.Loop() {
		d := jsontext.NewDecoder(io.NewSectionReader(f, 0, size), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		for {
			if _, err := d.ReadToken(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			if d.StackDepth() == 2 && d.PeekKind() == '{' { // an item
				if err := d.SkipValue(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data := bigBytes(b)
	measure(b, int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

func bigBytes(b *testing.B) []byte {
	b.Helper()
	f, size := openBig(b)
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil {
		b.Fatal(err)
	}
	return data
}
