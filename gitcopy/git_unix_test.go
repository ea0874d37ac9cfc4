//go:build unix

package gitcopy

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestACancelledCallIsTerminated: git removes its locks then, which it cannot when it is killed.
func TestACancelledCallIsTerminated(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	ready, ended := filepath.Join(t.TempDir(), "ready"), filepath.Join(t.TempDir(), "ended")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		if _, err := os.ReadFile(ready); err != nil { // until the program has opened and closed it
			t.Error(err)
		}
	}()
	program := "!trap 'touch " + ended + "; exit 1' TERM; : > " + ready + "; sleep 60 > /dev/null 2>&1 & wait"
	if _, err := (git{dir: p.dir}).run(ctx, "-c", "alias.works="+program, "works"); err == nil {
		t.Error("a call that was cancelled has succeeded")
	}
	if _, err := os.Stat(ended); err != nil {
		t.Errorf("it was killed: %v", err)
	}
}
