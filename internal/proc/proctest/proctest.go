// Package proctest writes programs for tests that run them.
package proctest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Program writes a program, makes the folders above it, and returns its path.
//
// A file that a process has open for writing cannot be run: ETXTBSY, "text file busy". A child that another
// goroutine forks inherits whatever is open and has it until it executes its own program, by when a test that has
// closed its file with [os.WriteFile] may already run it (https://go.dev/issue/22315, read 2026-11-30). So nothing is
// forked while the file is open.
func Program(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(content), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o755); err != nil { // whatever the umask is, and of a file that was there
		t.Fatal(err)
	}
	return path
}
