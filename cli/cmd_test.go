package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/text"
	"pawl/policy"
	"pawl/run"
	"pawl/store"
)

func TestEveryEndHasItsExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end  run.Ended
		open bool
		want int
	}{
		{end: run.Ended{End: run.Completed}, want: 0},
		{end: run.Ended{End: run.EndFailed, Reason: "auth"}, want: 1},
		{end: run.Ended{End: run.EndRefused}, want: 1},
		{end: run.Ended{End: run.GuardrailStopped}, want: 1},
		{end: run.Ended{End: run.Asked}, want: 3},
		{end: run.Ended{End: run.EndFailed, Reason: "permission_required"}, want: 3},
		{open: true, want: 3},
		{end: run.Ended{End: run.LimitReached, Reason: "wall_clock"}, want: 4},
		{end: run.Ended{End: run.LoopStopped}, want: 5},
		{end: run.Ended{End: run.EndInterrupted, Reason: string(run.ByPerson)}, want: 130},
		{end: run.Ended{End: run.EndInterrupted, Reason: string(run.ByWait)}, want: 130},
		{end: run.Ended{End: run.EndInterrupted, Reason: string(run.ByShutdown)}, want: 143},
	} {
		s := run.State{Turn: run.Turn{N: 1, End: c.end}}
		if c.open {
			s.Turn.Phase = run.Calling
		}
		if got := exitCode(s); got != c.want {
			t.Errorf("%+v (open: %t): exit code %d, want %d", c.end, c.open, got, c.want)
		}
	}
}

func TestAReaderThatLeavesIsNoFailure(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := func(name string) (string, bool) {
		if name == "HOME" || name == "PAWL_STATE_DIR" {
			return home, true
		}
		return "", false
	}
	for _, command := range []string{"config", "version", "controller schema", "controller prompt", "models"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var stderr bytes.Buffer
		code := Main(append([]string{"-C", home}, strings.Fields(command)...), Process{
			Stdin: strings.NewReader(""), Stdout: w, Stderr: &stderr, Env: env, Exit: func(int) {},
		})
		w.Close()
		if code != exitDone || stderr.Len() > 0 {
			t.Errorf("pawl %s | true: exit code %d, %q", command, code, &stderr)
		}
	}
	// What cannot be written for another reason is told.
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("needs /dev/full: ", err)
	}
	defer full.Close()
	var stderr bytes.Buffer
	if code := Main([]string{"version"}, Process{Stdin: strings.NewReader(""), Stdout: full, Stderr: &stderr, Env: env, Exit: func(int) {}}); code != exitFailed || stderr.Len() == 0 {
		t.Errorf("pawl version > /dev/full: exit code %d, %q", code, &stderr)
	}
}

func TestWhatAModelWroteCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\n":          "plain\ttext\n",
		"\x1b[2Jgone":            "\\u001b[2Jgone",
		"a\x9bm":                 "a\uFFFDm",
		"rm \u202etxt.exe":       "rm \\u202etxt.exe",
		"progress 1\rprogress 2": "progress 1progress 2",
		"größer 漢字 👍":            "größer 漢字 👍",
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := oneLine("a\n  b\tc "+strings.Repeat("x", 200), 10); got != "a b c xxx…" {
		t.Errorf("one line: %q", got)
	}
}

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

func TestASlipIsAnsweredWithWhatWasMeant(t *testing.T) {
	t.Parallel()
	names := []string{"default", "accept-edits", "plan", "bypass"}
	for got, want := range map[string]string{"plam": "plan", "acceptedits": "accept-edits", "bypas": "bypass", "elephant": "", "": ""} {
		if near := text.Typo(got, names); near != want {
			t.Errorf("Typo(%q) = %q, want %q", got, near, want)
		}
	}
}
