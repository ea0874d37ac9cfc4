//go:build unix && !solaris && !illumos && !aix

package policy

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A program can give a file back its size and the time of its content; the time of its
// own last change it cannot.
func TestAFileThatWasChangedInSecretHasAnotherSignature(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "f")
	write := func(content string) signature {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		long := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(name, long, long); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return signatureOf(info)
	}
	first := write("allow")
	if first.change <= first.modified {
		t.Fatalf("the time of the file's own change was set back too: %+v", first)
	}
	// The clock of a file system stands still for some milliseconds; that is what
	// settles is for. So the first signature is that of a file left alone.
	first.change -= int64(time.Minute)
	again := write("deny!")
	if again.size != first.size || again.modified != first.modified || again.inode != first.inode {
		t.Fatalf("this file system tells the two apart anyway: %+v, %+v", first, again)
	}
	if again == first || again.change <= first.change {
		t.Errorf("changed in secret, it looks the same: %+v", again)
	}
}
