package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl/run"
	"pawl/sandbox"
)

// What deny rules say of files holds whatever name leads there: a link that the command itself makes, the
// folder of another process, a program that finds the files by itself.
func TestAFenceHoldsByWhateverNameAFileIsReached(t *testing.T) {
	t.Parallel()
	for _, level := range []run.Confinement{run.Confined, run.WithNetwork} {
		s := newStage(t)
		s.needsTree(t)
		for path, content := range map[string]string{
			".env": "the-canary", "keys/a": "the-canary", "deep/er/server.pem": "the-canary", "plain": "fine\n", "secret/x": "as it was", "docs/a.md": "as it was", "docs/b.txt": "",
		} {
			s.write(t, filepath.Join(s.workspace, path), content)
		}
		f := sandbox.Fence{
			Hidden: []string{s.workspace + "/.env", s.workspace + "/keys", s.workspace + "/**/*.pem", s.workspace + "/not/there"},
			Fixed:  []string{s.workspace + "/secret", s.workspace + "/docs/*.md"},
		}
		script := `
ln -s .env l; cat l; cp -r keys k; cat k/a; cat /proc/$$/cwd/.env /proc/self/root$PWD/keys/a; ln .env hard; cat hard
find . -type f -exec cat {} +; cat deep/er/server.pem; tar cf - . | tar xOf - ; cat plain
ln -s secret sl; echo evil > sl/new; echo evil > /proc/$$/cwd/secret/x; rm -rf secret/x; mv secret gone; find secret -name x -delete
echo evil > docs/a.md; rm -f docs/a.md; mv docs/b.txt docs/a.md; echo new > docs/b.txt; mkdir -p fresh; echo ok > fresh/file`
		o := s.fenced(t, level, f, "sh", "-c", script)
		if strings.Contains(o.printed, "canary") || !strings.Contains(o.printed, "fine") {
			t.Errorf("%s: it printed %s", level, o.printed)
		}
		for path, want := range map[string]string{".env": "the-canary", "keys/a": "the-canary", "secret/x": "as it was", "docs/a.md": "as it was", "docs/b.txt": "new\n", "fresh/file": "ok\n"} {
			if got, err := os.ReadFile(filepath.Join(s.workspace, path)); err != nil || string(got) != want {
				t.Errorf("%s: %s is %q, %v", level, path, got, err)
			}
		}
		if _, err := os.Lstat(s.workspace + "/secret/new"); err == nil {
			t.Errorf("%s: a file was made in a folder that is not to be changed", level)
		}
		// The folders that lead there keep their names, so that the rules still speak of them.
		s.fenced(t, level, f, "sh", "-c", "mv keys k2; mv deep/er deep/other; mv deep d2; git -C . mv keys k3; mv fresh fresh2")
		if o := s.fenced(t, level, f, "sh", "-c", "cat k*/a d*/*/server.pem; ls fresh2"); strings.Contains(o.printed, "canary") || !strings.Contains(o.printed, "file") {
			t.Errorf("%s: after names were changed it printed %s", level, o.printed)
		}
		// Without rules, the next command sees and changes all of it.
		if o := s.sh(t, "cat .env keys/a; echo new > secret/x"); strings.Count(o.printed, "canary") != 2 || o.status.Code != 0 {
			t.Errorf("%s: without rules it is %+v", level, o)
		}
	}
}

// What git tracks it has the content of: a fence would only make it lose track of what it cannot read or
// replace. What a command has it track later is fenced.
func TestAFenceLeavesToGitWhatItTracks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsTree(t)
	const git = "git -c user.name=x -c user.email=x@example.org "
	s.write(t, filepath.Join(s.workspace, "conf/tracked"), "tracked\n")
	s.write(t, filepath.Join(s.workspace, "conf/own"), "the-canary\n")
	if o := s.sh(t, git+"init -q -b main && git add conf/tracked && "+git+"commit -qm one && git checkout -q -b other && echo two > conf/tracked && "+git+"commit -qam two && git checkout -q main"); o.status.Code != 0 {
		t.Fatal(o.printed)
	}
	s.plan(t) // as of a new run
	f := sandbox.Fence{Hidden: []string{s.workspace + "/conf"}, Fixed: []string{s.workspace + "/conf/*"}}
	o := s.fenced(t, run.Confined, f, "sh", "-c", "git status --short; git checkout -q other && cat conf/tracked && git checkout -q main; git add -f conf/own; "+git+"commit -qam all; git show --stat --format= HEAD; cat conf/own")
	if !strings.Contains(o.printed, "two") || strings.Contains(o.printed, "canary") || strings.Contains(o.printed, "M conf/tracked") {
		t.Errorf("it printed %s", o.printed)
	}
	if o := s.fenced(t, run.Confined, f, "cat", "conf/own"); strings.Contains(o.printed, "canary") {
		t.Errorf("what a command had git track is shown to the next: %s", o.printed)
	}
}

// An index that is a pipe has no end, and is not waited for.
func TestAFenceWaitsForNoIndex(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsTree(t)
	s.write(t, filepath.Join(s.workspace, ".env"), "the-canary")
	if o := s.sh(t, "git init -q"); o.status.Code != 0 {
		t.Fatal(o.printed)
	}
	index := s.workspace + "/.git/index"
	if err := syscall.Mkfifo(index, 0o600); err != nil {
		t.Fatal(err)
	}
	s.plan(t)
	f := sandbox.Fence{Hidden: []string{s.workspace + "/.env"}}
	if o := s.fenced(t, run.Confined, f, "sh", "-c", "cat .env; echo THE END"); strings.Contains(o.printed, "canary") || !strings.Contains(o.printed, "THE END") {
		t.Errorf("it printed %s", o.printed)
	}
}
