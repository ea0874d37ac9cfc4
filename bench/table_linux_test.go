package bench

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// series is how often each benchmark of the table is repeated: the least of the medians counts.
const series = 5

// A figure is a row of the table: what a metric of a benchmark says, and its bar.
type figure struct {
	what, bar string
	of        func(*testing.B)
	metric    string
	unit      string
}

var figures = []figure{
	{"`pawl version`", "4 ms", BenchmarkVersion, "ms/version", "ms"},
	{"process start → first model request, in a git repository of 3,000 files", "20 ms", BenchmarkStart, "ms/first-request", "ms"},
	{"the same where the program has to be read from the disk", "–", BenchmarkStart, "ms/first-request-cold", "ms"},
	{"what 200 skills add to it", "5 ms", BenchmarkStartWithSkills, "ms/200-skills", "ms"},
	{"the first request, with all tools", "12 KB", BenchmarkStart, "B/first-request", "B"},
	{"a turn of one command less the same `bash -c`, p50", "2.5 ms", BenchmarkTurn, "ms/overhead", "ms"},
	{"the same, p95", "5 ms", BenchmarkTurn, "ms/overhead-p95", "ms"},
	{"the same `bash -c` without pawl", "–", BenchmarkTurn, "ms/bare-tool", "ms"},
	{"processor time of 20 turns, all processes, with start, helper and bash", "130 ms", BenchmarkTurn, "ms/cpu-of-20", "ms"},
	{"of it the 20 `bash`, measured without pawl", "–", BenchmarkTurn, "ms/cpu-of-20-bare", "ms"},
	{"proportional memory of all processes after 20 turns", "35 MB", BenchmarkTurn, "MB/proportional", "MB"},
	{"four `sleep 1` in one message", "1,012 ms", BenchmarkParallel, "ms/turn", "ms"},
	{"the four without pawl", "–", BenchmarkParallel, "ms/bare-least", "ms"},
	{"terminal: process start → input drawn", "100 ms", BenchmarkTerminalStart, "ms/ready", "ms"},
	{"terminal at rest: switches of its threads in a second", "0", BenchmarkTerminalRest, "wakeups/s", ""},
	{"100 tasks at once, two requests each", "–", BenchmarkTasksAtOnce, "s/100-tasks", "s"},
	{"API: a run's event reaches 50 open streams", "100 ms", BenchmarkFiftyStreams, "ms-slowest", "ms"},
	{"stripped binary", "24 MB", BenchmarkVersion, "MB/binary", "MB"},
	{"a turn of one command in pawl over one in pi, medians", "0.5", BenchmarkTurnBesidePi, "ratio", ""},
}

// The table is between these lines of README.md.
const tableBegin, tableEnd = "<!-- table: PAWL_BENCH_TABLE=1 -->\n", "<!-- end of the table -->\n"

// TestMakeTheTable measures what the table of README.md says, and writes it there; see README.md.
func TestMakeTheTable(t *testing.T) {
	if os.Getenv("PAWL_BENCH_TABLE") == "" {
		t.Skip("this measures for minutes: set PAWL_BENCH_TABLE=1 and run nothing else")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(readme), tableBegin)
	_, after, closed := strings.Cut(rest, tableEnd)
	if !ok || !closed {
		t.Fatalf("README.md has no place for the table: the lines %q and %q", tableBegin, tableEnd)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Made on %s, %s, least of %d medians.\n\n| what | bar | measured |\n|---|---|---|\n", time.Now().Format(time.DateOnly), machine(), series)
	measured := map[string][]map[string]float64{}
	for _, f := range figures {
		key := fmt.Sprintf("%p", f.of)
		for len(measured[key]) < series {
			result := testing.Benchmark(f.of)
			measured[key] = append(measured[key], result.Extra)
			t.Logf("%s: %v", f.what, result.Extra)
		}
		var values []float64
		for _, extra := range measured[key] {
			if value, ok := extra[f.metric]; ok {
				values = append(values, value)
			}
		}
		text := "not measured: it needs what is not installed here"
		if len(values) > 0 {
			text = strings.TrimSpace(written(slices.Min(values)) + " " + f.unit)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.what, f.bar, text)
	}
	if err := os.WriteFile("README.md", []byte(before+tableBegin+b.String()+tableEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// written writes a figure with as many digits as say something.
func written(value float64) string {
	if value >= 100 {
		return fmt.Sprintf("%.0f", value)
	}
	return fmt.Sprintf("%.3g", value)
}

// machine says what kind of machine this is: its processor, kernel and load, and what two
// things cost on it that pawl cannot do without.
func machine() string {
	model := "an unknown processor"
	text, _ := os.ReadFile("/proc/cpuinfo")
	if _, rest, ok := strings.Cut(string(text), "model name"); ok {
		line, _, _ := strings.Cut(rest, "\n")
		model = strings.TrimSpace(strings.TrimLeft(line, "\t :"))
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	load, _ := os.ReadFile("/proc/loadavg")
	var bash []time.Duration
	for range 20 {
		began := time.Now()
		if exec.Command("bash", "-c", "echo 1").Run() == nil {
			bash = append(bash, time.Since(began))
		}
	}
	return fmt.Sprintf("%s, %d processors, Linux %s %s, load %s at the beginning, `bash -c` %.1f ms, a page of new memory %.1f µs",
		model, runtime.NumCPU(), runtime.GOARCH, strings.TrimSpace(string(kernel)), strings.Fields(string(load) + "?")[0], median(bash), pageFault())
}

// pageFault returns how many microseconds a page of new memory costs: on some virtual machines
// many times what it costs elsewhere, and a start needs two thousand of them.
func pageFault() float64 {
	const pages = 512
	var least time.Duration
	for n := range 5 {
		memory, err := syscall.Mmap(-1, 0, pages*4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err != nil {
			return 0
		}
		began := time.Now()
		for i := 0; i < len(memory); i += 4096 {
			memory[i] = 1
		}
		if took := time.Since(began); n == 0 || took < least {
			least = took
		}
		if err := syscall.Munmap(memory); err != nil {
			return 0
		}
	}
	return float64(least.Nanoseconds()) / pages / 1000
}
