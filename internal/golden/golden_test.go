package golden

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFileThatDiffersIsReplacedAsAWhole(t *testing.T) {
	t.Setenv("UPDATE", "1")
	dir := t.TempDir()
	differs, same, missing := filepath.Join(dir, "differs"), filepath.Join(dir, "same"), filepath.Join(dir, "new", "missing")
	for path, content := range map[string]string{differs: "what was there before", same: "what is"} {
		if err := os.WriteFile(path, []byte(content), 0o400); err != nil { // to write into it fails
			t.Fatal(err)
		}
	}
	reader, err := os.Open(differs)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	before, err := os.Stat(same)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{differs, same, missing} {
		File(t, path, []byte("what is"))
		if got, err := os.ReadFile(path); err != nil || string(got) != "what is" {
			t.Errorf("%s has %q, %v", path, got, err)
		}
	}
	old := make([]byte, 30)
	if n, _ := reader.Read(old); string(old[:n]) != "what was there before" {
		t.Errorf("who reads the file while it is written reads %q", old[:n])
	}
	if after, err := os.Stat(same); err != nil || !os.SameFile(before, after) {
		t.Errorf("a file that does not differ was written (%v)", err)
	}
}
