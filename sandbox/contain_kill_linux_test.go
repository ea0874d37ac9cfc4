package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a command that ran unasked had made when its pawl was killed is taken away by the next one.
func TestWhatWasMadeInsideIsTakenAwayAfterAKill(t *testing.T) {
	t.Parallel()
	p, made, kept := killedInside(t)
	told, err := p.Recover()
	if err != nil || len(told) != 1 || !strings.Contains(told[0], made+", which") || !strings.HasPrefix(told[0], "When pawl was killed") {
		t.Errorf("told %q, %v", told, err)
	}
	if _, err := os.Lstat(made); err == nil {
		t.Error("it is there")
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Errorf("what was there before: %v", err)
	}
}

// A pawl that stands still gives no sign while its commands run on, until it is killed: what they make cannot be told from what
// a person made later. It stays, and is told.
func TestWhatMayHaveBeenMadeInsideAfterTheLastSignIsTold(t *testing.T) {
	t.Parallel()
	p, made, _ := killedInside(t)
	journals, err := filepath.Glob(filepath.Join(p.journals, "*"+journalSuffix))
	if err != nil || len(journals) != 1 {
		t.Fatalf("journals %q, %v", journals, err)
	}
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(journals[0], before, before); err != nil {
		t.Fatal(err)
	}
	told, err := p.Recover()
	if err != nil || len(told) != 1 || !strings.Contains(told[0], made+" was made after the last sign of a command") {
		t.Errorf("told %q, %v", told, err)
	}
	if _, err := os.Lstat(made); err != nil {
		t.Error(err)
	}
	if told, err := p.Recover(); err != nil || len(told) != 0 {
		t.Errorf("told again: %q, %v", told, err)
	}
}

// killedInside is a workspace whose pawl was killed while a command ran unasked, which had made something that programs obey.
// Something else of the kind was there before.
func killedInside(t *testing.T) (p *Policy, made, kept string) {
	t.Helper()
	p = repository(t)
	p.index.isObeyed = func(path string) bool { return filepath.Base(path) == ".vscode" }
	kept = filepath.Join(p.Workspace, "a/.vscode")
	if err := os.MkdirAll(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	p.index.begin(t.Context())
	p.index.rebuild()
	g := guardOf(p)
	if err := g.open(p); err != nil {
		t.Fatal(err)
	}
	if err := g.beginsInside(p); err != nil {
		t.Fatal(err)
	}
	made = filepath.Join(p.Workspace, ".vscode")
	if err := os.MkdirAll(made, 0o755); err != nil {
		t.Fatal(err)
	}
	j := g.journal // here it is killed
	j.beat.Stop()
	unlockFile(j.file)
	j.file.Close()
	j.locking.Close()
	guards.Delete(strings.Join(append(p.workFolders(), p.journals), "\x00"))
	return p, made, kept
}
