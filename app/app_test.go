package app

import (
	"bytes"
	"os"
	"path/filepath"
	"pawl/policy"
	"pawl/store"
	"strings"
	"testing"
	"time"
)

func TestRunIDsAreNamesAndSortByTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 21, 30, 0, 0, time.Local)
	first, later := newRun(now), newRun(now.Add(time.Minute))
	if err := store.CheckID(first); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(string(first), "20261120-2130-") || first >= later {
		t.Errorf("%s, a minute later %s", first, later)
	}
	if newRun(now) == first {
		t.Errorf("two runs of one minute are both %s", first)
	}
}

// promptIn is the system prompt of runs in a folder.
func promptIn(t *testing.T, dir string) string {
	t.Helper()
	p, err := policy.Open(policy.Options{Workspace: dir, ConfigDir: t.TempDir(), StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return systemPrompt(dir, p)
}

func TestTheSystemPromptIsStableAndNotesAreBounded(t *testing.T) {
	t.Parallel()
	if n := len(systemText); n > 2560 {
		t.Errorf("system.md has %d bytes; every request carries it", n)
	}
	dir := t.TempDir()
	plain := promptIn(t, dir)
	if plain != promptIn(t, dir) {
		t.Error("two prompts for one folder differ: no cache can serve them")
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("CLAUDE.md", "from the other file")
	if got := promptIn(t, dir); !strings.Contains(got, "from the other file") {
		t.Error("CLAUDE.md is not taken where there is no AGENTS.md")
	}
	write("AGENTS.md", strings.Repeat("long ", 10_000))
	got := promptIn(t, dir)
	if len(got) > len(plain)+maxNotes+300 || !strings.Contains(got, "cut here: AGENTS.md is longer than 8 KB") {
		t.Errorf("%d bytes of notes, or no mark where they were cut", len(got)-len(plain))
	}
	if strings.Contains(got, "from the other file") {
		t.Error("both files were taken")
	}
}

func TestNotesFromOutsideTheWorkspaceStayOutside(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("a secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "AGENTS.md")); err != nil {
		t.Skipf("needs symbolic links: %v", err)
	}
	if strings.Contains(promptIn(t, dir), "a secret") {
		t.Error("a link in the workspace brought a file from elsewhere to the model")
	}
}

func TestTheLogIsMadeByItsFirstLineAndPutAsideWhenLong(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log", "pawl.log")
	write := func() {
		t.Helper()
		l := &lazyFile{path: path}
		if _, err := os.Stat(path + ".old"); err == nil {
			t.Fatal("put aside before it was long")
		}
		if _, err := l.Write([]byte("a line\n")); err != nil {
			t.Fatal(err)
		}
		if err := l.f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write()
	write()
	if got, _ := os.ReadFile(path); string(got) != "a line\na line\n" {
		t.Errorf("the log has %q", got)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), maxLog+1), 0o600); err != nil {
		t.Fatal(err)
	}
	write()
	got, _ := os.ReadFile(path)
	old, _ := os.Stat(path + ".old")
	if string(got) != "a line\n" || old == nil || old.Size() != maxLog+1 {
		t.Errorf("the log has %d bytes, the old one is %v", len(got), old)
	}
}
