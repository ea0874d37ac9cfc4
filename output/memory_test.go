package output

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// maxMemory is what storing and any question may use at most, in kB of the process.
const maxMemory = 64 << 10

// TestMemoryStaysFlat stores a document of PAWL_BENCH_MB and asks it everything, each
// in a process of its own, whose peak is what counts.
func TestMemoryStaysFlat(t *testing.T) {
	if os.Getenv("PAWL_BENCH_MB") == "" {
		t.Skip("set PAWL_BENCH_MB to the size of a document, such as 1000, to measure the memory of questions to it")
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("needs Linux: the peak of a process is read from /proc")
	}
	if what := os.Getenv("PAWL_MEMORY_OF"); what != "" {
		measured(t, what, os.Getenv("PAWL_MEMORY_IN"))
		return
	}
	dir := t.TempDir()
	names := []string{"write", "store"}
	for _, q := range questions {
		names = append(names, "file "+q.name, "stored "+q.name)
	}
	for _, what := range names {
		c := exec.Command(os.Args[0], "-test.run=^TestMemoryStaysFlat$", "-test.v")
		c.Env = append(os.Environ(), "PAWL_MEMORY_OF="+what, "PAWL_MEMORY_IN="+dir)
		out, err := c.CombinedOutput()
		m := regexp.MustCompile(`peak (\d+) kB`).FindSubmatch(out)
		if err != nil || m == nil {
			t.Fatalf("%s: %v\n%s", what, err, out)
		}
		peak, _ := strconv.Atoi(string(m[1]))
		t.Logf("%-28s peak %5.1f MB", what, float64(peak)/1024)
		if peak > maxMemory {
			t.Errorf("%s took %d kB, and may take %d", what, peak, maxMemory)
		}
	}
}

// measured does one thing and prints the peak of this process.
func measured(t *testing.T, what, dir string) {
	name := filepath.Join(dir, "items.json")
	store := NewStore(filepath.Join(dir, "store"))
	switch what {
	case "write":
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		writeItems(f, benchSize())
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	case "store":
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w, err := store.Create(Key{"r", "r", "c_1"}, "shell", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, f); err != nil {
			t.Fatal(err)
		}
		o, err := w.Commit(true)
		if err != nil {
			t.Fatal(err)
		}
		o.Close()
	}
	for _, q := range questions {
		switch what {
		case "file " + q.name:
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			d, err := File(name, f)
			if err != nil {
				t.Fatal(err)
			}
			q.ask(t, d)
			f.Close()
		case "stored " + q.name:
			o, err := store.Find(Scope{Conversation: "r", Run: "r"}, "")
			if err != nil {
				t.Fatal(err)
			}
			q.ask(t, o.Document)
			o.Close()
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if peak == nil {
		t.Fatalf("no VmHWM in %s", bytes.TrimSpace(status))
	}
	fmt.Printf("peak %s kB\n", peak[1])
}
