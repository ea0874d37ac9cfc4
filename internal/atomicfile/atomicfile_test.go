package atomicfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pawl/internal/atomicfile"
)

func TestAFileIsReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	for _, how := range []atomicfile.Sync{atomicfile.Durable, atomicfile.NoSync} {
		file := filepath.Join(t.TempDir(), "a", "b", "file")
		for _, content := range []string{"first", "", "second"} {
			if err := atomicfile.Write(file, []byte(content), how); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != content {
				t.Errorf("got %q, %v; want %q", got, err, content)
			}
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file's mode is %v, %v", info.Mode(), err)
		}
		left(t, filepath.Dir(file), 1)
	}
}

func TestAFailureLeavesTheOldFileAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	occupied := filepath.Join(dir, "occupied") // a directory cannot be replaced by a file
	if err := os.MkdirAll(filepath.Join(occupied, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(occupied, []byte("new"), atomicfile.Durable); err == nil {
		t.Error("a directory was replaced")
	}
	left(t, dir, 1)

	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(filepath.Join(file, "below"), nil, atomicfile.Durable); err == nil {
		t.Error("a file was created below a file")
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "old" {
		t.Errorf("got %q, %v", got, err)
	}
	left(t, dir, 2)
	if err := atomicfile.SyncDir(filepath.Join(dir, "missing")); err == nil || !strings.Contains(err.Error(), "sync directory") {
		t.Errorf("a directory that is not there is synced: %v", err)
	}
}

func TestManyWritersCreateTheSameDirectories(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	var wg sync.WaitGroup
	for _, name := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		wg.Go(func() {
			if err := atomicfile.Write(filepath.Join(dir, name), []byte(name), atomicfile.Sync(name > "4")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	left(t, dir, 8)
}

// left checks how many entries a directory has.
func left(t *testing.T, dir string, want int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != want {
		t.Errorf("%s has %v, %v; want %d entries", dir, entries, err, want)
	}
}
