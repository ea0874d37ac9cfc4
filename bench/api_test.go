package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/api"
	"pawl/app"
	"pawl/runlog"
	"pawl/worker"
)

// served is a folder with a scripted model that is served over HTTP in this process.
func served(b *testing.B, replies string) (*app.Workspace, *api.Server) {
	b.Helper()
	top := b.TempDir()
	script := filepath.Join(top, "model.jsonl")
	if err := os.WriteFile(script, []byte(replies), 0o600); err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(top, "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	env := map[string]string{"HOME": top, "PAWL_STATE_DIR": filepath.Join(top, "state"), "PAWL_MODEL": "script/" + script, "PATH": os.Getenv("PATH")}
	ws, err := app.Open(app.Options{Dir: dir, Drives: true, OnAsk: worker.AskWait,
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if err != nil {
		b.Fatal(err)
	}
	s, err := api.New(ws, api.Options{Token: "a-token-of-the-benchmark", Hosts: []string{"localhost"}, Rate: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close(); ws.Close() })
	return ws, s
}

// request sends a request to the handler.
func request(b *testing.B, s *api.Server, method, path, body string) map[string]any {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), method, api.Prefix+path, bytes.NewReader([]byte(body)))
	r.Host = "localhost"
	r.Header.Set("Authorization", "Bearer a-token-of-the-benchmark")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code >= 300 {
		b.Fatalf("%s %s: %d %v: %s", method, path, w.Code, err, w.Body)
	}
	return v
}

// ownMemory returns the memory of this process that is in RAM, in bytes.
func ownMemory(b *testing.B) int64 {
	b.Helper()
	debug.FreeOSMemory() // garbage is not what a run takes
	stat, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("needs /proc")
	}
	fields := bytes.Fields(stat)
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

const parked = 1000

// A thousand runs of one server wait for a person at once: what each of them takes in RAM, and
// how long it takes to list them.
func BenchmarkParkedRuns(b *testing.B) {
	ws, s := served(b, `{"calls":[{"tool":"shell","args":{"command":"touch made.txt"}}],"repeat":true}`)
	request(b, s, "POST", "/runs", `{"prompt":"Try it."}`) // what the first one costs alone
	before, goroutines := ownMemory(b), runtime.NumGoroutine()
	for i := range parked {
		request(b, s, "POST", "/runs", fmt.Sprintf(`{"prompt":"Try it, number %d."}`, i))
	}
	for {
		all, err := ws.Runs(b.Context(), 0)
		if err != nil {
			b.Fatal(err)
		}
		waiting := 0
		for _, r := range all {
			if r.Condition == runlog.Waiting {
				waiting++
			}
		}
		if waiting > parked {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	each := float64(ownMemory(b)-before) / parked
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	perRun := float64(runtime.NumGoroutine()-goroutines) / parked
	cpu := usedCPU()
	time.Sleep(2 * time.Second)
	idle := (usedCPU() - cpu).Seconds() / 2 * 100
	for b.Loop() {
		request(b, s, "GET", "/runs?limit=50", "")
	}
	b.ReportMetric(each/1024, "KB/run")
	b.ReportMetric(float64(m.HeapInuse)/parked/1024, "heap-KB/run")
	b.ReportMetric(float64(m.StackInuse)/parked/1024, "stack-KB/run")
	b.ReportMetric(perRun, "goroutines/run")
	b.ReportMetric(idle, "idle-cpu-%")
}

// An event of a run reaches fifty streams: the time from the answer to a person's decision to
// the last of them having it.
func BenchmarkFiftyStreams(b *testing.B) {
	_, s := served(b, `{"text":"Yes.","repeat":true}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "localhost"
		s.Handler().ServeHTTP(w, r)
	}))
	b.Cleanup(server.Close)
	id := request(b, s, "POST", "/runs", `{"prompt":"Say yes."}`)["run"].(string)
	const streams = 50
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	ended := make(chan struct{}, streams)
	var open sync.WaitGroup
	for range streams {
		open.Add(1)
		go func() {
			first := true
			for line := range linesOf(ctx, b, server.URL+api.Prefix+"/runs/"+id+"/events") {
				if bytes.Contains(line, []byte(`"turn_ended"`)) {
					if first { // that of the first turn
						first = false
						open.Done()
						continue
					}
					ended <- struct{}{}
				}
			}
		}()
	}
	open.Wait()
	var slowest time.Duration
	for b.Loop() {
		request(b, s, "POST", "/runs/"+id+"/prompt", `{"text":"Again."}`)
		began := time.Now() // the prompt is in the log; its turn is about to end
		for range streams {
			<-ended
		}
		slowest = max(slowest, time.Since(began))
	}
	b.ReportMetric(float64(slowest.Milliseconds()), "ms-slowest")
}

// linesOf yields the lines of a stream.
func linesOf(ctx context.Context, b *testing.B, url string) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
		if err != nil {
			b.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer a-token-of-the-benchmark")
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return // the benchmark is over
		}
		defer res.Body.Close()
		in := lineScanner(res.Body)
		for in.Scan() {
			if !yield(in.Bytes()) {
				return
			}
		}
	}
}

func lineScanner(r io.Reader) *bufio.Scanner {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 16<<20)
	return in
}

// usedCPU returns the processor time that this process has used.
func usedCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // unreachable: the arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
