package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl/internal/proc/proctest"
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

// A fence around the whole workspace holds for the folders of its repository too, and not for those that the
// program itself owns.
func TestAFenceHoldsForTheRepositoryInIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.committed(t)
	o := s.fenced(t, run.WithNetwork, sandbox.Fence{Fixed: []string{s.workspace}}, "sh", "-c",
		"mkdir .git/made; echo x >.git/description; echo x >made; echo x >$TMPDIR/made && echo temporary; git log -1 --format=%s")
	if !strings.Contains(o.printed, "temporary") || !strings.Contains(o.printed, "one") {
		t.Errorf("it printed %s", o.printed)
	}
	for _, path := range []string{".git/made", "made"} {
		if _, err := os.Lstat(filepath.Join(s.workspace, path)); err == nil {
			t.Errorf("it made %s", path)
		}
	}
}

// committed makes a repository with two branches whose conf/tracked differs.
func (s *stage) committed(t *testing.T) {
	t.Helper()
	s.needsTree(t)
	s.write(t, filepath.Join(s.workspace, "conf/tracked"), "one\n")
	s.write(t, filepath.Join(s.workspace, "plain"), "one\n")
	s.git(t, "init", "-q", "-b", "main")
	s.git(t, "add", ".")
	s.git(t, "commit", "-qm", "one")
	s.git(t, "checkout", "-q", "-b", "other")
	s.write(t, filepath.Join(s.workspace, "conf/tracked"), "two\n")
	s.git(t, "commit", "-qam", "two")
	s.git(t, "checkout", "-q", "main")
	s.write(t, filepath.Join(s.workspace, "conf/own"), "the-canary\n")
	s.plan(t) // as of a new run
}

const asX = "git -c user.name=x -c user.email=x@example.org "

// What git tracks it has the content of: if it were hidden, git would commit it as empty. What a command has it
// track later is hidden.
func TestAFenceHidesFromNoCommandThatWritesWhatGitTracks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.committed(t)
	f := sandbox.Fence{Hidden: []string{s.workspace + "/conf"}}
	o := s.fenced(t, run.Confined, f, "sh", "-c", "git status --short; git checkout -q other && cat conf/tracked && git checkout -q main; git add -f conf/own; "+asX+"commit -qam all; git show --stat --format= HEAD; cat conf/own")
	if !strings.Contains(o.printed, "two") || strings.Contains(o.printed, "canary") || strings.Contains(o.printed, "M conf/tracked") {
		t.Errorf("it printed %s", o.printed)
	}
	if o := s.fenced(t, run.Confined, f, "cat", "conf/own"); strings.Contains(o.printed, "canary") {
		t.Errorf("what a command had git track is shown to the next: %s", o.printed)
	}
}

// A link that a command makes leads to a file that git tracks and that must not be edited. Git can still read
// the file, commit others and check out branches in which it is the same.
func TestAFenceHoldsForWhatGitTracksAndMustNotBeEdited(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.committed(t)
	f := sandbox.Fence{Fixed: []string{s.workspace + "/conf"}}
	o := s.fenced(t, run.Confined, f, "sh", "-c", `ln -s conf x; echo evil > x/tracked; echo evil > x/new; sed -i s/one/evil/ conf/tracked; mv conf gone
git status --short; git checkout -qb third && echo more >> plain && `+asX+`commit -qam three && git checkout -q main && git checkout -q third && echo DONE`)
	if strings.Contains(o.printed, "conf/tracked") && strings.Contains(o.printed, "M conf/") || !strings.Contains(o.printed, "DONE") {
		t.Errorf("it printed %s", o.printed)
	}
	if got, err := os.ReadFile(filepath.Join(s.workspace, "conf/tracked")); err != nil || string(got) != "one\n" {
		t.Errorf("conf/tracked is %q, %v", got, err)
	}
	if _, err := os.Lstat(filepath.Join(s.workspace, "conf/new")); err == nil {
		t.Error("a file was made in a folder that is not to be changed")
	}
	if o := s.fenced(t, run.Confined, f, "sh", "-c", "rm x; git checkout other; cat conf/tracked"); !strings.Contains(o.printed, "Read-only file system") || !strings.Contains(o.printed, "one") {
		t.Errorf("git does not say that it could not change the file: %s", o.printed)
	}
}

// Git's own work is not left half done; but what a hook does is not git's own.
func TestGitChecksOutWhatOtherCommandsMustNotEdit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.committed(t)
	f := sandbox.Fence{Fixed: []string{s.workspace + "/conf"}, Git: true}
	if o := s.fenced(t, run.Confined, f, "git", "checkout", "other"); o.status.Code != 0 || strings.Contains(o.printed, "Read-only") {
		t.Errorf("it printed %s", o.printed)
	}
	if got, _ := os.ReadFile(filepath.Join(s.workspace, "conf/tracked")); string(got) != "two\n" {
		t.Errorf("conf/tracked is %q", got)
	}
	s.git(t, "checkout", "-q", "main")
	proctest.Program(t, filepath.Join(s.workspace, ".git/hooks/post-checkout"), "#!/bin/sh\necho evil > conf/tracked\n")
	s.plan(t)
	if o := s.fenced(t, run.Confined, f, "git", "checkout", "-b", "fourth"); !strings.Contains(o.printed, "Read-only file system") {
		t.Errorf("it printed %s", o.printed)
	}
	if got, _ := os.ReadFile(filepath.Join(s.workspace, "conf/tracked")); string(got) != "one\n" {
		t.Errorf("conf/tracked is %q", got)
	}
}

// A secret that is committed is no difference to what is committed.
func TestAFenceShowsGitNoDifferenceThatIsNone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsTree(t)
	s.write(t, filepath.Join(s.workspace, ".env"), "the-canary\n")
	s.write(t, filepath.Join(s.workspace, "secrets/committed"), "the-canary\n")
	s.write(t, filepath.Join(s.workspace, "conf/tracked"), "the-canary\n")
	s.git(t, "init", "-q")
	s.git(t, "add", "-f", ".")
	s.git(t, "commit", "-qm", "one")
	s.write(t, filepath.Join(s.workspace, "secrets/own"), "another-canary\n")
	s.plan(t)
	f := sandbox.Fence{Hidden: []string{s.workspace + "/conf/tracked"}, Git: true}
	if o := s.fenced(t, run.ReadOnly, f, "git", "diff"); o.printed != "" || o.status.Code != 0 {
		t.Errorf("the difference is %s, %+v", o.printed, o.status)
	}
	if o := s.fenced(t, run.ReadOnly, f, "cat", "secrets/own"); strings.Contains(o.printed, "canary") {
		t.Errorf("what git does not track is shown: %s", o.printed)
	}
	f.Git = false
	if o := s.fenced(t, run.ReadOnly, f, "cat", ".env", "secrets/committed", "conf/tracked"); strings.Contains(o.printed, "canary") {
		t.Errorf("another command is shown %s", o.printed)
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

// What a hook or server of a plugin keeps for itself no other command changes: it would run there with what that one has.
func TestAFolderThatOneCommandOwnsIsChangedByNoOther(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		file := s.write(t, filepath.Join(s.state, "data/p/file"), "kept")
		owns := sandbox.Fence{Owns: []string{filepath.Dir(file)}}
		script := "echo changed >> " + file
		for _, level := range []run.Confinement{run.Confined, run.WithNetwork} {
			if o := s.fenced(t, level, owns, "sh", "-c", script); o.status.Code != 0 {
				t.Errorf("its own at %q: %+v", level, o)
			}
			s.run(t, level, "sh", "-c", script)
		}
		s.fenced(t, run.ReadOnly, owns, "sh", "-c", script)
		if got, _ := os.ReadFile(file); string(got) != "keptchanged\nchanged\n" {
			t.Errorf("it has %q", got)
		}
	})
}
