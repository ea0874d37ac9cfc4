package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
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
		// What is hidden is not taken for removed by a command that commits.
		s.git(t, "init", "-q", "-b", "main", s.workspace)
		s.git(t, "-C", s.workspace, "-c", "user.name=x", "-c", "user.email=x@example.org", "add", "-f", "keys", "plain")
		s.git(t, "-C", s.workspace, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m", "one")
		s.fenced(t, level, f, "sh", "-c", "echo more > plain; git -c user.name=x -c user.email=x@example.org commit -qam two; git rm -rq --cached nothing")
		if o := s.sh(t, "git ls-tree -r HEAD keys"); !strings.Contains(o.printed, "keys/a") {
			t.Errorf("%s: a hidden file was committed as removed: %s", level, o.printed)
		}
		// Without rules, the next command sees and changes all of it.
		if o := s.sh(t, "cat .env keys/a; echo new > secret/x"); strings.Count(o.printed, "canary") != 2 || o.status.Code != 0 {
			t.Errorf("%s: without rules it is %+v", level, o)
		}
	}
}
