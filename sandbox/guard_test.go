package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/proc"
	"pawl/run"
)

// repository returns a policy without namespaces for a workspace that is one.
func repository(t *testing.T) *Policy {
	t.Helper()
	dir := makeTree(t, "ws/.git/HEAD", "ws/.git/config", "ws/.git/objects/", "ws/.git/refs/", "ws/.git/hooks/a.sample", "ws/.husky/pre-commit")
	if err := os.WriteFile(dir+"/ws/.git/config", []byte("[core]\n\thooksPath = .husky\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir+"/ws/.git/config", 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := For(dir+"/ws", Options{StateDir: dir + "/state", Getenv: onlyPath})
	if err != nil {
		t.Fatal(err)
	}
	p.report = &Report{Abilities: proc.Abilities{Isolation: proc.Sweeping, Landlock: 7, Filter: true}}
	return p
}

func enter(t *testing.T, p *Policy) *Session {
	t.Helper()
	_, v, err := p.Start(proc.Command{Argv: []string{"true"}, Dir: p.Workspace}, run.Confined, Fence{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Of commands that run beside each other none takes for the old state what another
// has made.
func TestWhatOneCommandChangesIsPutBackThoughOthersRun(t *testing.T) {
	t.Parallel()
	p := repository(t)
	config := filepath.Join(p.Workspace, ".git/config")
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	first := enter(t, p)
	if err := os.WriteFile(config, []byte("[core]\n\tfsmonitor = evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := enter(t, p)
	told := first.End()
	if len(told) != 1 || !strings.Contains(told[0], "The command changed .git/config, which it must not: that was undone; what it had made of it is kept in ") {
		t.Fatalf("told %q", told)
	}
	_, kept, _ := strings.Cut(told[0], "is kept in ")
	if text, err := os.ReadFile(kept); err != nil || !strings.Contains(string(text), "evil") {
		t.Errorf("kept is %q, %v", text, err)
	}
	if told := second.End(); len(told) != 0 {
		t.Errorf("the second is told %q", told)
	}
	info, err := os.Stat(config)
	if text, _ := os.ReadFile(config); err != nil || string(text) != string(before) || info.Mode().Perm() != 0o666 {
		t.Errorf("it is %q, %v, %v", text, info.Mode(), err)
	}
	if told := second.End(); len(told) != 0 {
		t.Errorf("told again: %q", told)
	}
}

func TestTheFolderThatHooksAreConfiguredInIsProtectedToo(t *testing.T) {
	t.Parallel()
	p := repository(t)
	v := enter(t, p)
	hook := filepath.Join(p.Workspace, ".husky/pre-commit")
	if err := os.WriteFile(hook, []byte("evil"), 0o755); err != nil {
		t.Fatal(err)
	}
	if told := v.End(); len(told) != 1 || !strings.Contains(told[0], "changed .husky") {
		t.Errorf("told %q", told)
	}
	if text, err := os.ReadFile(hook); err != nil || len(text) != 0 {
		t.Errorf("it is %q, %v", text, err)
	}
}

// What is put back must not be written through a link that a command has laid.
func TestNothingIsPutBackThroughALink(t *testing.T) {
	t.Parallel()
	p := repository(t)
	victim := makeTree(t, "config", "hooks/")
	v := enter(t, p)
	git := filepath.Join(p.Workspace, ".git")
	if err := os.Rename(git, git+"-old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, git); err != nil {
		t.Fatal(err)
	}
	if told := v.End(); len(told) == 0 {
		t.Error("nothing is told")
	}
	if info, err := os.Lstat(git); err == nil && info.Mode()&os.ModeSymlink != 0 {
		t.Error("the link is still there")
	}
	if text, err := os.ReadFile(victim + "/config"); err != nil || len(text) != 0 {
		t.Errorf("the other repository has %q, %v", text, err)
	}
}

// With a file tree what is there is mounted so that it cannot be changed; what another
// command has made meanwhile must not become one of those things.
func TestWhatAJobMakesIsTakenAwayThoughAnotherCommandHasSeenIt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".git/commondir", ".git/config.worktree"} {
		p := repository(t)
		p.report = &Report{Abilities: proc.Abilities{Isolation: proc.Namespace, Tree: true, Network: true, Filter: true}}
		made := filepath.Join(p.Workspace, name)
		write := func() {
			if err := os.WriteFile(made, []byte("../evil\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		job := enter(t, p)
		write()
		second := enter(t, p)
		if told := second.End(); len(told) != 1 || !strings.Contains(told[0], "made "+name) {
			t.Errorf("%s: the second command is told %q", name, told)
		}
		write()
		if told := job.End(); len(told) != 1 || !strings.Contains(told[0], "made "+name) {
			t.Errorf("%s: the job is told %q", name, told)
		}
		if _, err := os.Lstat(made); err == nil {
			t.Errorf("there is still %s", name)
		}
	}
}

func TestACommondirThatAKilledCommandLeftIsTakenAwayByTheNext(t *testing.T) {
	t.Parallel()
	p := repository(t)
	left := filepath.Join(p.Workspace, ".git/commondir")
	worktree := filepath.Join(p.Workspace, ".git/worktrees/a/commondir")
	for path, text := range map[string]string{left: "../evil\n", worktree: "../..\n"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if told := enter(t, p).End(); len(told) != 1 || !strings.Contains(told[0], "made .git/commondir") {
		t.Errorf("told %q", told)
	}
	if _, err := os.Lstat(left); err == nil {
		t.Error("it is still there")
	}
	if text, err := os.ReadFile(worktree); err != nil || string(text) != "../..\n" {
		t.Errorf("the worktree's own is %q, %v", text, err)
	}
}

// onlyPath is an environment without a home.
func onlyPath(name string) string { return map[string]string{"PATH": os.Getenv("PATH")}[name] }

// Where a system does not say which file is at a path, a new repository is not taken for one that has moved there.
func TestFilesThatAreNotToldApartAreNotOne(t *testing.T) {
	t.Parallel()
	var unknown fileStat
	if a, b := unknown.id("/w/.git"), unknown.id("/w/sub/.git"); a == "" || a == b {
		t.Errorf("two paths are %q and %q", a, b)
	}
	known := fileStat{device: 1, inode: 2}
	if a, b := known.id("/w/.git"), known.id("/w/sub/.git"); a != b {
		t.Errorf("one file is %q and %q", a, b)
	}
}

// What a folder has is read once, and again when something in it was made or exchanged.
func TestAFolderIsReadAgainWhenItHasChanged(t *testing.T) {
	t.Parallel()
	g := &guard{}
	before := g.list(".") // of this package: nothing has changed it just now
	if again := g.list("."); len(before) == 0 || &again[0] != &before[0] {
		t.Error("it was read twice")
	}
	dir := t.TempDir()
	for n := range 20 {
		name := filepath.Join(dir, fmt.Sprint(n))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := g.list(dir); len(got) != n+1 || !got[slices.IndexFunc(got, func(e fs.DirEntry) bool { return e.Name() == fmt.Sprint(n) })].Type().IsRegular() {
			t.Fatalf("after %d files it has %v", n+1, got)
		}
		if err := errors.Join(os.Remove(name), os.Symlink("elsewhere", name)); err != nil {
			t.Fatal(err)
		}
		if got := g.list(dir); got[slices.IndexFunc(got, func(e fs.DirEntry) bool { return e.Name() == fmt.Sprint(n) })].Type() != fs.ModeSymlink {
			t.Fatalf("file %d is a link now, and the list has %v", n, got)
		}
	}
}
