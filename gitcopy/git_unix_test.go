//go:build unix

package gitcopy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// A pipe that git would read, and wait for who writes into it, is said; neither a diff nor a merge stands still.
func TestAPipeThatGitReadsIsSaid(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c, _ := p.copy("t-x")
	p.write(c.work(), "sub/b.txt", "new\n")
	pipe := filepath.Join(c.work(), "sub", ".gitignore")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func() error{
		"diff":    func() error { _, err := c.Diff(t.Context(), ""); return err },
		"preview": func() error { _, err := c.Meets(t.Context()); return err },
		"merge":   func() error { _, err := c.Merge(t.Context(), "x", ""); return err },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), pipe) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	if d, err := c.Diff(t.Context(), ""); err != nil || len(d.Files) != 1 {
		t.Errorf("without it: %+v, %v", d, err)
	}
}
