package app

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/agent"
	"pawl/instructions"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
)

func TestRunIDsAreNamesAndSortByTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 21, 30, 0, 0, time.Local)
	first, later := runlog.NewID(now), runlog.NewID(now.Add(time.Minute))
	if err := store.CheckID(first); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(string(first), "20261120-2130-") || first >= later {
		t.Errorf("%s, a minute later %s", first, later)
	}
	if runlog.NewID(now) == first {
		t.Errorf("two runs of one minute are both %s", first)
	}
}

// openIn returns the workspace of a folder, for a user whose home folder is home.
func openIn(t *testing.T, dir, home string) *Workspace {
	t.Helper()
	env := map[string]string{"HOME": home}
	ws, err := Open(Options{Dir: dir, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return ws
}

func TestTheSystemPromptIsStableAndHasTheInstructions(t *testing.T) {
	t.Parallel()
	if n := len(systemText); n > 2560 {
		t.Errorf("system.md has %d bytes; every request carries it", n)
	}
	dir, home := t.TempDir(), t.TempDir()
	prompt := func() string {
		ws := openIn(t, dir, home)
		return systemPrompt(ws.Dir, ws.Instructions().Text, agent.Agent{}, "", "", run.Output{})
	}
	plain := prompt()
	if plain != prompt() {
		t.Error("two prompts for one folder differ: no cache can serve them")
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, ".config/pawl/AGENTS.md"), "of the user")
	write(filepath.Join(dir, "AGENTS.md"), "of the project, with @more.md and @.env and @~/secret.md")
	write(filepath.Join(dir, "more.md"), strings.Repeat("long ", 100_000))
	write(filepath.Join(dir, ".env"), "KEY=a secret")
	write(filepath.Join(home, "secret.md"), "a secret")
	got := prompt()
	if got != prompt() {
		t.Error("two prompts for one folder with instructions differ")
	}
	for _, want := range []string{"of the user", "of the project", "[cut here"} {
		if !strings.Contains(got, want) {
			t.Errorf("the prompt does not have %q", want)
		}
	}
	if len(got) > len(plain)+instructions.MaxBytes+1 {
		t.Errorf("%d bytes of instructions, more than the limit", len(got)-len(plain))
	}
	if strings.Contains(got, "a secret") {
		t.Error("the prompt has a file of secrets")
	}
	skipped := ""
	for _, f := range openIn(t, dir, home).Instructions().Files {
		if filepath.Base(f.Path) == ".env" {
			skipped = f.Skipped
		}
	}
	if skipped != "may contain secrets (.env)" {
		t.Errorf("the file of secrets is listed with %q", skipped)
	}
}

func TestInstructionsFromOutsideTheRepositoryAreNotRead(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("a secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "AGENTS.md")); err != nil {
		t.Skipf("needs symbolic links: %v", err)
	}
	if got := openIn(t, dir, t.TempDir()).Instructions(); strings.Contains(got.Text, "a secret") || len(got.Files) != 1 || got.Files[0].Skipped != "outside the repository" {
		t.Errorf("a link in the workspace brought a file from elsewhere to the model: %+v", got)
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

// Whether a process of another machine was killed cannot be found out from here: who waits for it is told for how long.
func TestWhoWaitsForALeaseIsToldHowLong(t *testing.T) {
	t.Parallel()
	err := owned(fmt.Errorf("own: %w", &store.OwnedError{Run: "r", PID: 7, Host: "db1", Left: 21300 * time.Millisecond}))
	want := "run r is working in process 7 on db1; wait for it, or stop it with `pawl runs stop r`; if that process was killed, the run can be continued in 21s"
	if err.Error() != want {
		t.Errorf("got %s\nwant %s", err, want)
	}
}
