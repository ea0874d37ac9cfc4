package output

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/run"
)

// crashText is output number i of the process that is killed: some in one frame, some
// in several.
func crashText(i int) []byte {
	return bytes.Repeat([]byte(fmt.Sprintf(`{"output": %d, "pad": "%d"}`+"\n", i, i*7919)), 1+i*i%3*60_000)
}

// A process that stores one output after the other is killed; what it said was stored is
// there, and what is there is whole.
func TestAKillLeavesWholeOutputsOrNone(t *testing.T) {
	if dir := os.Getenv("PAWL_CRASH_IN"); dir != "" {
		storeUntilKilled(t, NewStore(dir))
	}
	t.Parallel()
	dir := t.TempDir()
	for round := range 4 {
		c := exec.Command(os.Args[0], "-test.run=^TestAKillLeavesWholeOutputsOrNone$")
		c.Env = append(os.Environ(), "PAWL_CRASH_IN="+dir, fmt.Sprint("PAWL_CRASH_FROM=", round*1000))
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		said := map[string]bool{}
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			said[lines.Text()] = true
			if len(said) == 3+round { // at any point of storing the next
				c.Process.Kill()
			}
		}
		_ = c.Wait() // killed
		if len(said) < 3 {
			t.Fatalf("only %d outputs were stored", len(said))
		}
		s := NewStore(dir)
		all, err := s.everything()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			o, err := s.Open(Key{m.Conversation, m.Run, m.ID})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(io.NewSectionReader(o.raw, 0, o.Bytes()))
			var i int
			fmt.Sscanf(string(m.ID), "c_%d", &i)
			if err != nil || !bytes.Equal(got, crashText(i)) {
				t.Errorf("%s is not whole: %d bytes, %v", m.ID, len(got), err)
			}
			delete(said, string(m.ID))
			o.Close()
		}
		if len(said) > 0 {
			t.Errorf("said to be stored, and lost: %v", said)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
		if err != nil || len(files) != len(all) {
			t.Errorf("%d files for %d outputs, %v", len(files), len(all), err)
		}
	}
}

func storeUntilKilled(t *testing.T, s *Store) {
	var from int
	fmt.Sscan(os.Getenv("PAWL_CRASH_FROM"), &from)
	for i := from; i < from+1000; i++ {
		id := fmt.Sprintf("c_%d", i)
		w, err := s.Create(Key{"root", "root", run.CallID(id)}, "shell", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(crashText(i)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(true); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString(strings.TrimSpace(id) + "\n")
	}
}
