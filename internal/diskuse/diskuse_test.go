package diskuse_test

import (
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/diskuse"
)

func TestATreeTakesWhatItsFilesTake(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a")
	if got := diskuse.Tree(dir) + diskuse.File(dir); got != 0 {
		t.Errorf("a folder that does not exist takes %d bytes", got)
	}
	if err := os.MkdirAll(filepath.Join(dir, "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	empty := diskuse.Tree(dir)
	file := filepath.Join(dir, "b", "file")
	if err := os.WriteFile(file, make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	size := diskuse.File(file)
	if got := diskuse.Tree(dir); size == 0 || got < empty+size || got > empty+size+16<<10 {
		t.Errorf("the tree takes %d bytes; empty it took %d, and the file takes %d", got, empty, size)
	}
}
