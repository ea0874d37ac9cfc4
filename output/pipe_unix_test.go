//go:build unix

package output

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in the place of a stored output is damage, and nothing waits for who writes into it.
func TestAPipeIsNoStoredOutput(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "c_1"+fileEnding)
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openFile(name); err == nil || !strings.Contains(err.Error(), "named pipe") {
		t.Errorf("opened: %v", err)
	}
	if _, err := readMeta(name); err == nil || !strings.Contains(err.Error(), "named pipe") {
		t.Errorf("its meta: %v", err)
	}
}
