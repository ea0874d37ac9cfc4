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
	p := repository(t)
	p.index.isObeyed = func(path string) bool { return filepath.Base(path) == ".vscode" }
	kept := filepath.Join(p.Workspace, "a/.vscode")
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
	was := *g.before
	made := filepath.Join(p.Workspace, ".vscode")
	if err := os.MkdirAll(made, 0o755); err != nil {
		t.Fatal(err)
	}
	j := g.journal // here it is killed
	j.beat.Stop()
	unlockFile(j.file)
	j.file.Close()
	j.locking.Close()
	guards.Clear()

	told, err := p.Recover()
	if err != nil || len(told) != 1 || !strings.Contains(told[0], made) || !strings.HasPrefix(told[0], "When pawl was killed") {
		t.Errorf("told %q, %v (before: %v)", told, err, was.Obeyed)
	}
	if _, err := os.Lstat(made); err == nil {
		t.Error("it is there")
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Errorf("what was there before: %v", err)
	}
}

// What commands of another process that run unasked have made since they began is not what stood there, and does not
// stay because it was there when one of this process began.
func TestWhatAnotherProcessMakesInsideIsTakenAway(t *testing.T) {
	t.Parallel()
	p := repository(t)
	p.index.isObeyed = func(path string) bool { return filepath.Base(path) == ".vscode" }
	p.index.begin(t.Context())
	p.index.rebuild()
	begin := func() *guard {
		g := &guard{running: map[*Session]bool{}, before: &baseline{}}
		if err := g.open(p); err != nil {
			t.Fatal(err)
		}
		if err := g.beginsInside(p); err != nil {
			t.Fatal(err)
		}
		return g
	}
	stood, made := filepath.Join(p.Workspace, "a/.vscode"), filepath.Join(p.Workspace, ".vscode")
	if err := os.MkdirAll(stood, 0o755); err != nil {
		t.Fatal(err)
	}
	p.index.refresh()
	first := begin()
	if err := os.Mkdir(made, 0o755); err != nil {
		t.Fatal(err)
	}
	p.index.refresh()
	second := begin()
	first.checkObeyed(p, time.Time{})
	first.endsInside()
	if err := os.Mkdir(made, 0o755); err != nil {
		t.Fatal("the first did not take it away: ", err)
	}
	p.index.refresh()
	second.checkObeyed(p, time.Time{})
	if _, err := os.Lstat(made); err == nil {
		t.Error("the second left it")
	}
	if _, err := os.Lstat(stood); err != nil {
		t.Errorf("what was there before: %v", err)
	}
}
