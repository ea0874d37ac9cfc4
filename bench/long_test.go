package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
)

// A beat is one request of a long run as the server sees it.
type beat struct {
	came, went time.Time
	size       int64 // bytes of the request
	memory     int64 // bytes of pawl, resident
}

// A heart counts the beats of a run, and plays its model.
type heart struct {
	model http.Handler

	mu    sync.Mutex
	beats []beat
	pid   int
	bad   []string
}

func (h *heart) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := beat{came: time.Now(), size: r.ContentLength}
	rec := &statusWriter{ResponseWriter: w}
	h.model.ServeHTTP(rec, r)
	h.mu.Lock()
	defer h.mu.Unlock()
	b.went, b.memory = time.Now(), resident(h.pid)
	h.beats = append(h.beats, b)
	if rec.status >= 400 {
		h.bad = append(h.bad, rec.body.String())
	}
}

type statusWriter struct {
	http.ResponseWriter
	status int
	body   strings.Builder
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status >= 400 {
		w.body.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// resident returns the resident memory of a process in bytes; 0 when it is gone.
func resident(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(status))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// BenchmarkLongRun: 5,000 turns of one read each, on the binary, against the strict
// fake server. Overhead is from the end of an answer to the next request, everything
// durable (bars: flat, at most 1 ms more for each MB of request body; memory within
// 10 MB of turn 20; no request that the server refuses; no compaction loop).
//
//	go test -bench LongRun -benchtime 1x -timeout 60m ./bench
//
// PAWL_LONG_TURNS takes another number of turns.
func BenchmarkLongRun(b *testing.B) {
	for _, c := range []struct {
		name   string
		window int // tokens
		bytes  int // of each result, about
	}{
		{"grows", 10_000_000, 100}, // nothing is ever compacted
		{"window200k", 200_000, 2000},
		{"window8k", 8_000, 1000},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				longRun(b, c.window, c.bytes)
			}
		})
	}
}

func longRun(b *testing.B, window, size int) {
	b.Helper()
	turns := 5000
	if n, err := strconv.Atoi(os.Getenv("PAWL_LONG_TURNS")); err == nil {
		turns = n
	}
	replies := fmt.Sprintf(`{"when":{"tools":false},"text":"Notes: read on.","repeat":true}`+"\n"+
		`{"when":{"contains":"line %d "},"text":"That was the last one."}`+"\n"+
		`{"calls":[{"tool":"read","raw_args":"{\"path\":\"lines.txt\",\"offset\":{{count}},\"limit\":1}"}],"repeat":true}`, turns)
	s, err := script.Parse(strings.NewReader(replies))
	if err != nil {
		b.Fatal(err)
	}
	h := &heart{model: fake.New(s, false)}
	server := httptest.NewServer(h)
	defer server.Close()
	bin, err := build()
	if err != nil {
		b.Fatal(err)
	}
	r := &rig{bin: bin, dir: b.TempDir(), state: b.TempDir(), url: server.URL}
	var lines strings.Builder
	for i := range 2 * turns {
		fmt.Fprintf(&lines, "line %d %s\n", i+1, strings.Repeat("x", size))
	}
	if err := os.WriteFile(filepath.Join(r.dir, "lines.txt"), []byte(lines.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := r.command("run", "-p", "Read lines.txt line by line.", "--max-steps", "-1", "--max-calls", "-1", "--max-tokens", "-1", "--max-cost", "-1", "--window", strconv.Itoa(window), "--output", "json")
	var out, progress strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &progress
	h.mu.Lock()
	err = cmd.Start()
	if err == nil {
		h.pid = cmd.Process.Pid
	}
	h.mu.Unlock()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), `"end":"completed"`) {
		b.Fatalf("%v\n%s\n%.3000s", err, out.String(), progress.String())
	}
	if len(h.bad) > 0 {
		b.Errorf("%d requests were refused, the first: %s", len(h.bad), h.bad[0])
	}
	around := func(turn int) (overhead time.Duration, size, memory int64) {
		var gaps []time.Duration
		for i := max(1, turn-50); i < min(turn+50, len(h.beats)); i++ {
			gaps = append(gaps, h.beats[i].came.Sub(h.beats[i-1].went))
			memory = max(memory, h.beats[i].memory)
		}
		return time.Duration(median(gaps) * float64(time.Millisecond)), h.beats[min(turn, len(h.beats)-1)].size, memory
	}
	early, earlySize, earlyMemory := around(20)
	middle, _, _ := around(300)
	late, lateSize, lateMemory := around(len(h.beats) - 60)
	peak := int64(0)
	for _, beat := range h.beats {
		peak = max(peak, beat.memory)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(early), "ms/turn20")
	b.ReportMetric(ms(middle), "ms/turn300")
	b.ReportMetric(ms(late), "ms/turn5000")
	b.ReportMetric(float64(lateSize)/1e6, "MB/request5000")
	if grown := float64(lateSize-earlySize) / 1e6; grown > 0.1 {
		b.ReportMetric(ms(late-early)/grown, "ms/MB")
	}
	b.ReportMetric(float64(earlyMemory)/1e6, "MB/turn20")
	b.ReportMetric(float64(lateMemory)/1e6, "MB/turn5000")
	b.ReportMetric(float64(peak)/1e6, "MB/peak")
	b.ReportMetric(float64(strings.Count(progress.String(), "compacted")), "compactions")
	b.ReportMetric(float64(len(h.beats)), "requests")
}
