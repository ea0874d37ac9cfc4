package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/run"
	"pawl/sandbox"
)

// The tree is built while the model writes; the first command runs in it, at each level.
func TestTheFirstCommandRunsInTheTreeThatWasBuiltAhead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsTree(t)
	s.git(t, "init", "-q")
	s.write(t, "project/.env", "secret")
	for _, level := range []run.Confinement{run.ReadOnly, run.Confined, run.WithNetwork} {
		s.policy.PrepareNow(t.Context(), level)
		ahead := s.policy.TreeEnded(level)
		if ahead == nil {
			t.Fatalf("%q: nothing was built", level)
		}
		if o := s.run(t, level, "echo", "first"); o.printed != "first\n" || len(o.told) > 0 {
			t.Errorf("%q: %+v", level, o)
		}
		if s.policy.TreeEnded(level) != ahead {
			t.Errorf("%q: the command had another tree", level)
		}
	}
}

// What changes after the tree was built and before the first command is for that command as if
// the tree were built for it.
func TestWhatChangesBeforeTheFirstCommandIsSeen(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, s *stage){
		"a repository comes": func(t *testing.T, s *stage) { s.git(t, "init", "-q") },
		"its configuration is another file": func(t *testing.T, s *stage) {
			s.git(t, "init", "-q")
			s.policy.PrepareNow(t.Context(), run.Confined)
			relink(t, filepath.Join(s.workspace, ".git/config"))
		},
		"the workspace is another folder": func(t *testing.T, s *stage) {
			if err := os.Rename(s.workspace, s.workspace+".old"); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(s.workspace, 0o700); err != nil {
				t.Fatal(err)
			}
			s.git(t, "init", "-q")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.needsTree(t)
			for _, level := range []run.Confinement{run.ReadOnly, run.Confined} {
				s.policy.PrepareNow(t.Context(), level)
			}
			change(t, s)
			s.write(t, "project/.env", "secret")
			before, err := os.ReadFile(filepath.Join(s.workspace, ".git/config"))
			if err != nil {
				t.Fatal(err)
			}
			o := s.sh(t, "echo evil >> .git/config; echo x > made; ls -A")
			after, _ := os.ReadFile(filepath.Join(s.workspace, ".git/config"))
			if _, err := os.Stat(filepath.Join(s.workspace, "made")); err != nil || string(after) != string(before) || !strings.Contains(o.printed, "Read-only file system") {
				t.Errorf("%+v, %v, the configuration is %q", o, err, after)
			}
			if o := s.run(t, run.ReadOnly, "cat", ".env"); strings.Contains(o.printed, "secret") {
				t.Errorf("%+v", o)
			}
		})
	}
}

// A run that ends without a command leaves no helper; one that another run waits for, or that
// has commands, stays.
func TestATreeThatNoCommandUsedIsTakenAway(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsTree(t)
	first, endFirst := context.WithCancel(t.Context())
	second, endSecond := context.WithCancel(t.Context())
	s.policy.PrepareNow(first, run.Confined)
	s.policy.PrepareNow(second, run.Confined)
	ended := s.policy.TreeEnded(run.Confined)
	endFirst()
	endSecond()
	<-ended
	if s.policy.TreeEnded(run.Confined) != nil {
		t.Error("the tree is used on")
	}

	third, endThird := context.WithCancel(t.Context())
	s.policy.PrepareNow(third, run.Confined)
	ended = s.policy.TreeEnded(run.Confined)
	s.run(t, run.Confined, "true")
	endThird()
	s.run(t, run.Confined, "true")
	if s.policy.TreeEnded(run.Confined) != ended {
		t.Error("a tree that commands use was taken away with the run that it was built for")
	}

	over, end := context.WithCancel(t.Context())
	end()
	s.plan(t)
	s.policy.PrepareNow(over, run.Confined)
	if s.policy.TreeEnded(run.Confined) != nil {
		t.Error("a tree was built for a run that had ended")
	}
	if o := s.run(t, run.Confined, "echo", "on"); o.printed != "on\n" {
		t.Errorf("%+v", o)
	}
}

// A run that ends while its tree is built leaves none either.
func TestATreeIsNotBuiltToItsEndForARunThatHasEnded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsTree(t)
	for range 5 {
		ctx, end := context.WithCancel(t.Context())
		s.policy.Prepare(ctx, run.ReadOnly, sandbox.Fence{})
		end()
		if o := s.run(t, run.ReadOnly, "echo", "on"); o.printed != "on\n" {
			t.Fatalf("%+v", o)
		}
		s.policy.Close()
	}
}
