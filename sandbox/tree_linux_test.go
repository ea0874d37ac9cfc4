package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/run"
)

// The file tree of commands is built once. What is replaced between two of them, as a
// person's editor and git do it, is for the second as it is for a first one.
func TestWhatIsReplacedBetweenCommandsIsGuardedAsBefore(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsTree(t)
	s.git(t, "init", "-q")
	secret := s.write(t, "project/.env", "first secret")
	if o := s.sh(t, "echo evil >> .git/config"); o.status.Code == 0 {
		t.Fatalf("%+v", o)
	}
	if o := s.run(t, run.ReadOnly, "cat", ".env"); strings.Contains(o.printed, "secret") {
		t.Fatalf("%+v", o)
	}
	replace := func(path, content string) {
		t.Helper()
		s.write(t, path+".new", content)
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(){
		"by another file": func() {
			replace(filepath.Join(s.workspace, ".git/config"), "[core]\n\tbare = false\n")
			replace(secret, "second secret")
		},
		"by the same under a new name": func() { relink(t, filepath.Join(s.workspace, ".git/config")); relink(t, secret) },
		"with its folder": func() {
			if err := os.Rename(s.workspace, s.workspace+".old"); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(s.workspace, 0o700); err != nil {
				t.Fatal(err)
			}
			s.git(t, "init", "-q")
			s.write(t, "project/.env", "third secret")
		},
	} {
		change()
		before, err := os.ReadFile(filepath.Join(s.workspace, ".git/config"))
		if err != nil {
			t.Fatal(err)
		}
		o := s.sh(t, "echo evil >> .git/config; echo x > made; ls -A")
		after, _ := os.ReadFile(filepath.Join(s.workspace, ".git/config"))
		if _, err := os.Stat(filepath.Join(s.workspace, "made")); err != nil || string(after) != string(before) || !strings.Contains(o.printed, "Read-only file system") {
			t.Errorf("%s: %+v, %v, the configuration is %q", name, o, err, after)
		}
		if o := s.run(t, run.ReadOnly, "cat", ".env"); strings.Contains(o.printed, "secret") {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// relink gives a file another name and takes the first away, then the other way round:
// it is the same file, and what was mounted on it is not mounted any more.
func relink(t *testing.T, path string) {
	t.Helper()
	for _, names := range [][2]string{{path, path + ".x"}, {path + ".x", path}} {
		if err := os.Link(names[0], names[1]); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(names[0]); err != nil {
			t.Fatal(err)
		}
	}
}

// A server that a command started in the background is reached by the next command, and
// not by one that has the machine's network.
func TestCommandsOfOneWorkspaceShareALoopback(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsTree(t)
	first := s.run(t, run.Confined, "readlink", "/proc/self/ns/net")
	if second := s.run(t, run.Confined, "readlink", "/proc/self/ns/net"); first.printed == "" || first.printed != second.printed {
		t.Errorf("%q and %q", first.printed, second.printed)
	}
	if other := s.run(t, run.WithNetwork, "readlink", "/proc/self/ns/net"); other.printed == first.printed {
		t.Errorf("the machine's network is that of commands without one: %q", other.printed)
	}
	apart := newStage(t)
	if other := apart.run(t, run.Confined, "readlink", "/proc/self/ns/net"); other.printed == first.printed {
		t.Errorf("another workspace has the same network: %q", other.printed)
	}
}
