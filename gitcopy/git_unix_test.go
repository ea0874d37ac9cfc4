//go:build unix

package gitcopy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestACancelledCallIsTerminated: git removes its locks then, which it cannot when it is killed.
func TestACancelledCallIsTerminated(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	ready := filepath.Join(t.TempDir(), "ready")
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
	_, err := (git{dir: p.dir}).run(ctx, "-c", "alias.works=!: > "+ready+"; exec sleep 5 > /dev/null 2>&1", "works")
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("a call that was cancelled: %v", err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", exit)
	}
}
