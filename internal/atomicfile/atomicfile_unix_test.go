//go:build unix

package atomicfile_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl/internal/atomicfile"
)

// A pipe in the place of a file is an error, and nothing waits for who writes into it.
func TestAPipeIsNotRead(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, read := range map[string]func() ([]byte, error){
		"Read": func() ([]byte, error) { return atomicfile.Read(pipe) },
		"Once": func() ([]byte, error) { return atomicfile.Once(pipe, func() []byte { return nil }) },
	} {
		if b, err := read(); err == nil || !strings.Contains(err.Error(), "named pipe") {
			t.Errorf("%s: %q, %v", what, b, err)
		}
	}
}
