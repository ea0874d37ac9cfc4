package bench

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/proc/proctest"
)

// repository makes the workspace a git repository of so many committed files.
func (r *rig) repository(b *testing.B, files int) {
	b.Helper()
	for i := range files {
		name := filepath.Join(r.dir, fmt.Sprintf("part-%02d", i%50), fmt.Sprintf("file-%d.go", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "package part\n\nconst n%d = %d\n", i, i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all"}} {
		git := exec.Command("git", args...)
		git.Dir = r.dir
		if out, err := git.CombinedOutput(); err != nil {
			b.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
}

// BenchmarkStart: from the start of the process to the first request at the model (bar: 20 ms), in
// a git repository of 3,000 files in which commands have run before, with the program in the
// memory of the system and, for comparison, on the disk; the size of that request (12 KB); and
// to the end of the process.
func BenchmarkStart(b *testing.B) {
	home := newRig(b, turns(1, "echo %d"))
	home.repository(b, 3000)
	if out, err := home.command("run", "-p", "hi", "--mode", "bypass", "--allow", "shell(echo *)").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	size := 0
	start := func(bin string) (first, whole time.Duration) {
		r := newRig(b, `{"text":"hello"}`)
		r.bin, r.dir, r.state = bin, home.dir, home.state
		cmd := r.command("run", "-p", "hi")
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		q := r.server.Requests()[0]
		size = len(q.Body)
		return q.At.Sub(began), time.Since(began)
	}
	unread := onDisk(b, home.bin)
	var firsts, wholes, colds []time.Duration
	for b.Loop() {
		first, whole := start(home.bin)
		cold, _ := start(unread())
		firsts, wholes, colds = append(firsts, first), append(wholes, whole), append(colds, cold)
	}
	b.ReportMetric(median(firsts), "ms/first-request")
	b.ReportMetric(least(firsts), "ms/first-request-least")
	b.ReportMetric(median(colds), "ms/first-request-cold")
	b.ReportMetric(median(wholes), "ms/process")
	b.ReportMetric(float64(size), "B/first-request")
}

// onDisk returns a function that makes a copy of a file one that the system has not in its
// memory, and returns its path.
func onDisk(b *testing.B, file string) func() string {
	b.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	name := proctest.Program(b, filepath.Join(b.TempDir(), "pawl"), string(text))
	return func() string {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
			b.Fatal(err)
		}
		return name
	}
}

// BenchmarkTurn: twenty turns of one shell call each, in a git repository of 3,000 files. A turn
// is from the end of an answer to the next request, the tool's process included (bars: 2.5 ms
// beyond the tool, 5 ms for 95 of 100; the bare process is measured in the same run). Processor
// time of the twenty, of all processes: with the start, the helper and bash (130 ms). Proportional
// memory of all processes at the last request: 35 MB.
func BenchmarkTurn(b *testing.B) {
	const turnsOfARun = 20
	var firsts, gaps, bare, used, usedBare []time.Duration
	var peak, shared int64
	first := newRig(b, `{"text":"unused"}`)
	first.repository(b, 3000)
	for b.Loop() {
		r := newRig(b, turns(turnsOfARun, "echo %d"))
		r.dir = first.dir
		h := &heart{model: r.server}
		pid := make(chan int, 1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if h.count() == turnsOfARun {
				shared = max(shared, proportional(<-pid))
			}
			h.ServeHTTP(w, q)
		}))
		r.url = server.URL
		m, err := startMetered(r.command("run", "-p", "hi", "--mode", "bypass", "--allow", "shell(echo *)"))
		if err != nil {
			b.Fatal(err)
		}
		pid <- m.meter.Process.Pid
		out, all, err := m.wait()
		server.Close()
		if err != nil || h.count() != turnsOfARun+1 {
			b.Fatalf("%v after %d requests\n%s", err, h.count(), out)
		}
		peak = max(peak, all.Peak)
		between := h.gaps()
		firsts, gaps, used = append(firsts, between[0]), append(gaps, between[1:turnsOfARun-1]...), append(used, all.CPU)
		bareCPU := time.Duration(0)
		for range turnsOfARun {
			bash := exec.Command("bash", "-c", "echo 1")
			began := time.Now()
			if err := bash.Run(); err != nil {
				b.Fatal(err)
			}
			bare = append(bare, time.Since(began))
			bareCPU += cpu(bash)
		}
		usedBare = append(usedBare, bareCPU)
	}
	b.ReportMetric(least(firsts), "ms/first-turn-least")
	b.ReportMetric(median(firsts), "ms/first-turn")
	b.ReportMetric(median(gaps), "ms/turn")
	b.ReportMetric(median(bare), "ms/bare-tool")
	b.ReportMetric(median(gaps)-median(bare), "ms/overhead")
	b.ReportMetric(percentile(gaps, 95)-median(bare), "ms/overhead-p95")
	b.ReportMetric(least(gaps)-least(bare), "ms/overhead-least")
	b.ReportMetric(median(used), "ms/cpu-of-20")
	b.ReportMetric(least(used), "ms/cpu-of-20-least")
	b.ReportMetric(median(usedBare), "ms/cpu-of-20-bare")
	b.ReportMetric(float64(peak)/1024, "MB/peak")
	b.ReportMetric(float64(shared)/1024, "MB/proportional")
}
