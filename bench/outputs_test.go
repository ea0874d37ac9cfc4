package bench

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// A jsonQuestion is one question in three languages, to one document.
type jsonQuestion struct {
	name   string
	pawl   []string // after `pawl outputs`
	jq     string
	python string // what is printed, d being the document
}

var jsonQuestions = []jsonQuestion{
	{"stats", []string{"stats"}, `[.. | type] | group_by(.) | map({(.[0]): length}) | add`, `kinds(d)`},
	{"count", []string{"count", "--count", "$.items"}, `.items | length`, `len(d["items"])`},
	{"count-filter", []string{"count", "--count", "$.items", "--filter", "@.active == true"}, `[.items[] | select(.active)] | length`,
		`sum(1 for i in d["items"] if i["active"])`},
	{"sample", []string{"sample", "--path", "$.items", "--seed", "1"}, `.items as $i | [range(0; 10) | $i[. * 997 % ($i | length)]]`,
		`random.Random(1).sample(d["items"], 10)`},
	{"search", []string{"search", `fjord\.7.*org`}, `[.. | strings | select(test("fjord\\.7.*org"))] | length`,
		`sum(1 for s in strings(d) if re.search(r"fjord\.7.*org", s))`},
	{"aggregate", []string{"aggregate", "--path", "$.items", "--value", "@.score", "--by", "@.address.city", "--op", "avg"},
		`.items | group_by(.address.city) | map({city: .[0].address.city, avg: (map(.score) | add / length)})`, `averages(d)`},
	{"extract-one", []string{"extract", "--path", "$.items[-1].email"}, `.items[-1].email`, `d["items"][-1]["email"]`},
	{"extract-filter", []string{"extract", "--path", "$.items[?@.score > 99.99].email"}, `.items[] | select(.score > 99.99) | .email`,
		`[i["email"] for i in d["items"] if i["score"] > 99.99]`},
}

const pythonProgram = `
import json, random, re, sys
from collections import Counter, defaultdict
def values(v):
    todo = [v]
    while todo:
        v = todo.pop()
        yield v
        if isinstance(v, dict): todo.extend(v.values())
        elif isinstance(v, list): todo.extend(v)
def kinds(d): return Counter(type(v).__name__ for v in values(d))
def strings(d): return (v for v in values(d) if isinstance(v, str))
def averages(d):
    groups = defaultdict(list)
    for i in d["items"]: groups[i["address"]["city"]].append(i["score"])
    return {c: sum(s) / len(s) for c, s in groups.items()}
d = json.load(open(sys.argv[1]))
print(%s)
`

// documentSize is how large the document is, in bytes: PAWL_BENCH_MB megabytes, 100 if
// that is not set.
func documentSize() int64 {
	if mb, err := strconv.ParseInt(os.Getenv("PAWL_BENCH_MB"), 10, 64); err == nil && mb > 0 {
		return mb * 1_000_000
	}
	return 100_000_000
}

// writeDocument writes {"items": [...], "meta": {...}} of about size bytes, the same on
// every machine: items of some 600 bytes with numbers, texts, escapes, lists and a
// nested path.
func writeDocument(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	rnd := rand.New(rand.NewPCG(1, 2))
	words := []string{"amber", "birch", "cobalt", "dünn", `ember \"x\"`, "fjord", "granite", `harbour\n`, "indigo"}
	word := func() string { return words[rnd.IntN(len(words))] }
	const prose = "lorem ipsum dolor sit lorem ipsum dolor sit lorem ipsum dolor sit lorem ipsum dolor sit"
	written, _ := w.WriteString(`{"items": [`)
	n := 0
	for ; int64(written) < size; n++ {
		if n > 0 {
			w.WriteString(", ")
		}
		k, _ := fmt.Fprintf(w, `{"id": %d, "name": "%s %s", "email": "%s.%d@example.org", "active": %t, "score": %.3f, `+
			`"tags": ["%s", "%s"], "address": {"street": "%s street %d", "city": "%s", "geo": [%.5f, %.5f]}, `+
			`"description": "%s", "nested": {"x": [1, 2, {"y": null}], "a": {"b": {"c": %d, "d": "%s"}, "e": []}}, `+
			`"history": [{"at": %d, "what": "created"}, {"at": %d, "what": "%s"}]}`,
			n, word(), word(), word(), n, rnd.IntN(2) == 0, rnd.Float64()*100, word(), word(), word(), rnd.IntN(200), word(),
			rnd.Float64()*90, rnd.Float64()*180, prose, rnd.IntN(1000), word(), rnd.Int64N(1e12), rnd.Int64N(1e12), word())
		written += k
	}
	fmt.Fprintf(w, `], "meta": {"count": %d, "complete": true}}`, n)
	if err := w.Flush(); err != nil { // the errors of all writes
		return err
	}
	return f.Close()
}

// A measure is what a process took.
type measure struct {
	took time.Duration
	peak float64 // MB of memory; at least what this process has, because of how it is counted
}

// take runs a command to its end.
func take(b *testing.B, cmd *exec.Cmd) measure {
	b.Helper()
	began := time.Now()
	cmd.Stdout, cmd.Stderr = nil, nil
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v: %v", cmd.Args, err)
	}
	return measure{time.Since(began), float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024}
}

// scan is what reading each byte of a file costs.
func scan(b *testing.B, name string) time.Duration {
	b.Helper()
	began := time.Now()
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 128<<10)
	quotes := 0
	for {
		n, err := f.Read(buf)
		for _, c := range buf[:n] {
			if c == '"' {
				quotes++
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if quotes == 0 {
		b.Fatal("a document without quotes")
	}
	return time.Since(began)
}

// BenchmarkOutputs: questions to a document of 100 MB (PAWL_BENCH_MB): as a plain file,
// as a stored output, and to jq and Python where they are there, in the same run. Bars:
// 64 MB of memory at 1 GB, 10 times faster than jq, stats and count at 300 MB/s and
// within 3 times of a byte scan or from the index, a stored output faster than the file,
// storing at 200 MB/s.
//
// MB/s and ratios are of the plain file; those of jq and Python are of one attempt. They
// hold the document 12 and 7 times over, and take minutes for a gigabyte: PAWL_BENCH_ALONE=1
// leaves them out.
func BenchmarkOutputs(b *testing.B) {
	r := newRig(b, `{"when":{"first":"store"},"calls":[{"tool":"shell","args":{"command":"cat big.json"}}]}
{"when":{"first":"nothing"},"calls":[{"tool":"shell","args":{"command":"true"}}]}
{"text":"done","repeat":true}
`)
	name := filepath.Join(r.dir, "big.json")
	if err := writeDocument(name, documentSize()); err != nil {
		b.Fatal(err)
	}
	scan(b, name) // it is in memory from here on, for everybody
	mb := float64(documentSize()) / 1e6
	b.Run("store", func(b *testing.B) {
		for b.Loop() {
			empty := take(b, r.command("run", "-p", "nothing", "--mode", "bypass", "--allow", "shell"))
			full := take(b, r.command("run", "-p", "store", "--mode", "bypass", "--allow", "shell"))
			b.ReportMetric(mb/(full.took-empty.took).Seconds(), "MB/s")
			b.ReportMetric(full.peak, "MB/peak")
		}
	})
	for _, q := range jsonQuestions {
		b.Run(q.name, func(b *testing.B) {
			var file, stored, scanned []time.Duration
			var peak, storedPeak float64
			for b.Loop() {
				args := append([]string{"outputs"}, q.pawl...)
				m := take(b, r.command(append(args, "--file", "big.json")...))
				file, peak = append(file, m.took), max(peak, m.peak)
				m = take(b, r.command(args...))
				stored, storedPeak = append(stored, m.took), max(storedPeak, m.peak)
				scanned = append(scanned, scan(b, name))
			}
			ms := median(file)
			b.ReportMetric(ms, "ms/file")
			b.ReportMetric(median(stored), "ms/stored")
			b.ReportMetric(mb/ms*1000, "MB/s")
			b.ReportMetric(ms/median(scanned), "×scan")
			b.ReportMetric(peak, "MB/peak")
			b.ReportMetric(storedPeak, "MB/peak-stored")
			if os.Getenv("PAWL_BENCH_ALONE") != "" {
				return
			}
			if jq, err := exec.LookPath("jq"); err == nil {
				m := take(b, exec.Command(jq, "-c", q.jq, name))
				b.ReportMetric(median([]time.Duration{m.took})/ms, "×faster-than-jq")
				b.ReportMetric(m.peak, "MB/peak-jq")
			}
			if python, err := exec.LookPath("python3"); err == nil {
				m := take(b, exec.Command(python, "-c", fmt.Sprintf(pythonProgram, q.python), name))
				b.ReportMetric(median([]time.Duration{m.took})/ms, "×faster-than-python")
				b.ReportMetric(m.peak, "MB/peak-python")
			}
		})
	}
}
