package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/run"
)

// withFolder adds a further folder with a repository in it to the stage.
func (s *stage) withFolder(t *testing.T) (folder string) {
	t.Helper()
	folder = filepath.Join(s.home, "lib")
	s.write(t, "lib/a", "x\n")
	s.git(t, "init", "-q", "-b", "main", folder)
	s.git(t, "-C", folder, "config", "user.name", "x")
	s.git(t, "-C", folder, "config", "user.email", "x@example.org")
	s.git(t, "-C", folder, "add", "a")
	s.git(t, "-C", folder, "commit", "-qm", "one")
	s.folders = []string{folder}
	s.plan(t)
	if s.withoutNamespaces {
		s.policy.WithoutNamespaces()
	}
	return folder
}

func TestCommandsChangeAFurtherFolderAndNothingBesideIt(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.write(t, "beside/b", "b\n")
		s.write(t, "lib/.env", "KEY=secret\n")
		folder := s.withFolder(t)
		if err := os.Symlink("../beside", folder+"/link"); err != nil {
			t.Fatal(err)
		}
		if o := s.sh(t, "echo new > "+folder+"/new && cat "+folder+"/.env && cd "+folder+" && git commit -qam two --allow-empty"); o.status.Code != 0 || len(o.told) != 0 {
			t.Errorf("%+v", o)
		}
		if now, err := os.ReadFile(folder + "/new"); err != nil || string(now) != "new\n" {
			t.Errorf("%q, %v", now, err)
		}
		for _, script := range []string{"echo evil > " + folder + "/link/b", "echo evil > " + folder + "/../beside/b", "rm -rf " + folder + "/link/", "mv " + folder + " " + s.workspace + "/mine"} {
			s.sh(t, script)
		}
		if now, err := os.ReadFile(s.home + "/beside/b"); err != nil || string(now) != "b\n" {
			t.Errorf("beside the folder is %q, %v", now, err)
		}
		if _, err := os.Lstat(folder); err != nil {
			t.Error(err)
		}
	})
}

func TestACommandThatReadsChangesNothingInAFurtherFolderAndSeesNoSecretsThere(t *testing.T) {
	s := newStage(t)
	s.needsTree(t)
	s.write(t, "lib/.env", "KEY=secret\n")
	folder := s.withFolder(t)
	s.git(t, "-C", folder, "config", "core.fsmonitor", s.evil())
	o := s.run(t, run.ReadOnly, "sh", "-c", "cat "+folder+"/a; cat "+folder+"/.env; echo evil > "+folder+"/a; git -C "+folder+" status")
	if !strings.Contains(o.printed, "x\n") || strings.Contains(o.printed, "secret") || s.flagged() {
		t.Errorf("%+v", o)
	}
	if now, err := os.ReadFile(folder + "/a"); err != nil || string(now) != "x\n" {
		t.Errorf("%q, %v", now, err)
	}
}

// What git and other programs outside would obey is guarded in a further folder as in the
// workspace.
func TestWhatACommandLeavesInAFurtherFolderDoesNotRunLater(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		folder := s.withFolder(t)
		const nested = "git init -q sub && cd sub && echo 1 > f && git add f && git commit -qm x; cd ..; "
		for name, c := range map[string]struct{ script, then string }{
			"its configuration":        {"git config core.fsmonitor '@'; printf '[core]\nfsmonitor=\"@\"\n' >> .git/config", "git status"},
			"a hook":                   {"mkdir -p .git/hooks; printf '#!/bin/sh\n@' > .git/hooks/post-index-change; chmod +x .git/hooks/*; touch -d 2001-01-01 a", "git diff; git checkout ."},
			"a nested one":             {nested + "git -C sub config core.fsmonitor '@'", "git -C sub status"},
			"a hook in a nested one":   {nested + "printf '#!/bin/sh\n@' > sub/.git/hooks/post-index-change; chmod +x sub/.git/hooks/*; touch -d 2001-01-01 sub/f", "git -C sub diff; git -C sub status"},
			"a link called .git":       {"cp -r .git store; git --git-dir=store config core.fsmonitor '@'; mkdir w; ln -s ../store w/.git", "git -C w status"},
			"a .git that leads across": {"cp -r .git " + s.workspace + "/store; git --git-dir=" + s.workspace + "/store config core.fsmonitor '@'; mkdir w2; echo 'gitdir: " + s.workspace + "/store' > w2/.git", "git -C w2 status"},
			"the repository exchanged": {"mv .git old; cp -r old .git; git config core.fsmonitor '@'", "git status"},
			"commondir":                {"cp -r .git store2; git --git-dir=store2 config core.fsmonitor '@'; echo ../store2 > .git/commondir", "git status"},
			"one in the workspace":     {"cd " + s.workspace + "; " + nested + "git -C sub config core.fsmonitor '@'", "git -C " + s.workspace + "/sub status"},
		} {
			o := s.sh(t, "cd "+folder+"; "+strings.ReplaceAll(c.script, "@", s.evil()))
			cmd := exec.Command("sh", "-c", c.then)
			cmd.Dir, cmd.Env = folder, s.env
			out, _ := cmd.CombinedOutput()
			if s.flagged() {
				t.Errorf("%s: it ran; printed %q, told %q, then %q", name, o.printed, o.told, out)
			}
		}
		for _, name := range []string{".pawl/config.toml", ".mcp.json"} {
			s.sh(t, "mkdir -p "+filepath.Dir(folder+"/"+name)+"; echo evil > "+folder+"/"+name)
			if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
				t.Errorf("there is %s", name)
			}
		}
	})
}

// A further folder that is a worktree is committed to, and its repository is guarded.
func TestAFurtherFolderCanBeAWorktree(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		main := s.withFolder(t)
		worktree := filepath.Join(s.home, "lib-wt")
		s.git(t, "-C", main, "worktree", "add", "-q", worktree)
		s.folders = []string{worktree}
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		if o := s.sh(t, "cd "+worktree+" && echo 2 > b && git add b && git commit -qm two"); o.status.Code != 0 || len(o.told) != 0 {
			t.Errorf("%+v", o)
		}
		o := s.sh(t, "cd "+worktree+"; git config core.fsmonitor '"+s.evil()+"'; mkdir -p "+main+"/.git/hooks; printf '#!/bin/sh\n"+s.evil()+"' > "+main+"/.git/hooks/post-index-change; chmod +x "+main+"/.git/hooks/*; touch "+main+"/made")
		for _, dir := range []string{worktree, main} {
			cmd := exec.Command("git", "status")
			cmd.Dir, cmd.Env = dir, s.env
			if out, err := cmd.CombinedOutput(); err != nil || s.flagged() {
				t.Errorf("%s: %v, %s; %+v", dir, err, out, o)
			}
		}
		if _, err := os.Lstat(main + "/made"); err == nil {
			t.Error("the other worktree was changed")
		}
	})
}

// The pawl that puts things back after a kill has not got the folder.
func TestAfterAKillTheNextPawlPutsBackWhatWasChangedInAFurtherFolder(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		folder := s.withFolder(t)
		config, err := os.ReadFile(folder + "/.git/config")
		if err != nil {
			t.Fatal(err)
		}
		killed := s.another(t, "cd "+folder+"; mkdir .pawl; echo evil > .pawl/permissions.json; mkdir .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo; "+
			"git init -q sub; mkdir -p sub/.git/sequencer; printf '[options]\n\tstrategy = evil\n' > sub/.git/sequencer/opts; touch "+s.workspace+"/done; sleep 300")
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		awaitFile(t, s.workspace+"/done")
		killed.Process.Kill()
		killed.Wait()
		s.folders = nil
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		if told, err := s.policy.Recover(); err != nil || len(told) < 2 {
			t.Errorf("told %q, %v", told, err)
		}
		if now, err := os.ReadFile(folder + "/.git/config"); err != nil || string(now) != string(config) {
			t.Errorf("the configuration is %q, %v", now, err)
		}
		for _, name := range []string{".pawl", ".git/rebase-merge/git-rebase-todo", "sub/.git/sequencer/opts"} {
			if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
				t.Errorf("there is %s", name)
			}
		}
	})
}
