package sandbox_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/proc"
	"pawl/run"
	"pawl/sandbox"
)

// anotherPawl is another process that runs commands in a workspace, one after the
// other. It prints a line of JSON for each.
func anotherPawl(home, workspace, mode string, scripts []string) {
	s := &stage{home: home, workspace: workspace, env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, folders: filepath.SplitList(os.Getenv("FURTHER_FOLDERS"))}
	policy, err := sandbox.For(workspace, s.options())
	if err != nil {
		panic(err)
	}
	if mode == "without" {
		policy.WithoutNamespaces()
	}
	for _, script := range scripts {
		var out strings.Builder
		c, session, err := policy.Start(proc.Command{Argv: []string{"sh", "-c", script}, Dir: workspace, Env: s.env, Output: &out}, run.Confined, sandbox.Fence{})
		if err != nil {
			panic(err)
		}
		p, err := proc.Start(context.Background(), c)
		if err != nil {
			panic(err)
		}
		status, _ := p.Wait()
		json.NewEncoder(os.Stdout).Encode(ran{status.Code, out.String(), session.End()})
	}
}

type ran struct {
	Code    int
	Printed string
	Told    []string
}

// another starts another pawl.
func (s *stage) another(t *testing.T, scripts ...string) *exec.Cmd {
	t.Helper()
	mode := "with"
	if s.withoutNamespaces {
		mode = "without"
	}
	cmd := exec.Command("/proc/self/exe", append([]string{"another-pawl", s.home, s.workspace, mode}, scripts...)...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "FURTHER_FOLDERS="+strings.Join(s.folders, string(os.PathListSeparator)))
	return cmd
}

// evil is what a person's git runs if a command has planted it.
func (s *stage) evil() string { return "touch " + s.home + "/FLAG; false" }

func (s *stage) flagged() bool {
	_, err := os.Lstat(s.home + "/FLAG")
	os.Remove(s.home + "/FLAG")
	return err == nil
}

// repository makes one with a commit in the workspace.
func (s *stage) repository(t *testing.T) {
	t.Helper()
	s.git(t, "init", "-q", "-b", "main")
	s.git(t, "config", "user.name", "x")
	s.git(t, "config", "user.email", "x@example.org")
	s.write(t, s.workspace+"/a", "x\n")
	s.git(t, "add", "a")
	s.git(t, "commit", "-qm", "one")
	s.plan(t)
	if s.withoutNamespaces {
		s.policy.WithoutNamespaces()
	}
}

// H42, H44, H45 and their siblings: what a command makes of repositories does not run
// when a person uses git afterwards.
func TestWhatACommandLeavesBehindDoesNotRunLater(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		harmless := "git init -q sub && (cd sub && echo 1 > f && git add f && git commit -qm x)"
		const strategist = `mkdir -p git-merge-x; printf '#!/bin/sh\n@' > git-merge-x/run; chmod +x git-merge-x/run; `
		for name, c := range map[string]struct{ script, then string }{
			"H42":                          {harmless + "; cd sub; git config core.fsmonitor '@'; cd ..; git add sub", "git status; cd sub && git status"},
			"H42, hidden from a parser":    {harmless + `; printf '[core]fsmonitor="@" ;]\n' >> sub/.git/config; git add sub`, "git status; git -C sub status"},
			"a hook in a nested one":       {harmless + "; printf '#!/bin/sh\n@' > sub/.git/hooks/post-index-change; chmod +x sub/.git/hooks/*; touch -d 2001-01-01 sub/f", "git -C sub diff; git -C sub status; git -C sub checkout ."},
			"very deep":                    {"mkdir -p p/q/r/s/t/node_modules/u; cd p/q/r/s/t/node_modules/u; " + harmless + "; git -C sub config core.fsmonitor '@'", "git -C p/q/r/s/t/node_modules/u/sub status"},
			"moved into its place":         {"mkdir -p x/y; " + harmless + "; git -C sub config core.fsmonitor '@'; mv sub x/y/; mv x z", "git -C z/y/sub status"},
			"H44":                          {"mkdir -p .git/modules/m m; cp -r .git/HEAD .git/objects .git/refs .git/modules/m/; printf '[core]\nfsmonitor=\"@\"\nworktree=../../../m\nrepositoryformatversion=0\n' > .git/modules/m/config; echo 'gitdir: ../.git/modules/m' > m/.git; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),m", "git status; git -C m status"},
			"a .git file for a folder":     {"cp -r .git store; git --git-dir=store config core.fsmonitor '@'; mkdir w; echo 'gitdir: ../store' > w/.git", "git -C w status"},
			"a link called .git":           {"cp -r .git store; git --git-dir=store config core.fsmonitor '@'; mkdir w; ln -s ../store w/.git", "git -C w status"},
			"a bare repository":            {"mkdir docs; cp -r .git/HEAD .git/objects .git/refs docs; printf '[core]\nfsmonitor=\"@\"\nworktree=..\nbare=false\n' > docs/config", "cd docs && git status"},
			"a bare one with hooks":        {"git init -q --bare b; printf '#!/bin/sh\n@' > b/hooks/pre-receive; chmod +x b/hooks/*", "git push b HEAD:refs/heads/x"},
			"H45":                          {`mkdir .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD > onto; git rev-parse HEAD > orig-head; echo refs/heads/main > head-name; echo 'exec @' > git-rebase-todo; echo 1 > msgnum; echo 1 > end; : > interactive; cp git-rebase-todo git-rebase-todo.backup; : > done`, "git rebase --continue"},
			"a strategy of a rebase":       {strategist + `git switch -qc b; echo > c; git add c; git commit -qm c; git switch -q main; echo > d; git add d; git commit -qm d; mkdir .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD > onto; git rev-parse HEAD > orig-head; echo refs/heads/main > head-name; echo "pick $(git rev-parse b)" > git-rebase-todo; echo 1 > msgnum; echo 1 > end; : > interactive; cp git-rebase-todo git-rebase-todo.backup; : > done; echo x/run > strategy`, "git rebase --continue"},
			"a strategy of a cherry-pick":  {strategist + `git switch -qc b2; echo > c2; git add c2; git commit -qm c2; echo 2 > c2; git commit -qam c3; git switch -q main; mkdir .git/sequencer; git rev-parse HEAD | tee .git/sequencer/head > .git/sequencer/abort-safety; printf '[options]\n\tstrategy = x/run\n' > .git/sequencer/opts; printf 'pick %s c2\npick %s c3\n' $(git rev-parse b2~1) $(git rev-parse b2) > .git/sequencer/todo`, "git cherry-pick --continue"},
			"a hook of a collection":       {harmless + "; git -C sub config gc.recentObjectsHook '@'", "git -C sub config gc.recentObjectsHook && touch \"$HOME/FLAG\""},
			"a worktree with its own":      {"git worktree add -q wt; printf '[core]\nfsmonitor=\"@\"\n' > .git/worktrees/wt/config.worktree; cp -r .git store; git --git-dir=store config core.fsmonitor '@'; echo ../../../store > .git/worktrees/wt/commondir", "git -C wt status"},
			"commondir":                    {"cp -r .git store; git --git-dir=store config core.fsmonitor '@'; echo ../store > .git/commondir", "git status"},
			"objects of elsewhere":         {"mkdir -p .git/objects/info; echo /etc > .git/objects/info/alternates", "test -e .git/objects/info/alternates && touch \"$HOME/FLAG\""},
			"objects of elsewhere, nested": {harmless + "; echo ../../../../.. > sub/.git/objects/info/alternates", "test -e sub/.git/objects/info/alternates && touch \"$HOME/FLAG\""},
			"objects of elsewhere, a link": {"mkdir i; echo /etc > i/alternates; rm -rf .git/objects/info; ln -s ../../i .git/objects/info", "test -e .git/objects/info/alternates && touch \"$HOME/FLAG\""},
			"objects of elsewhere, quoted": {harmless + `; cd sub/.git/objects; mkdir -p '"/etc/objects"'; echo '"/etc/objects"' > info/alternates`, "test -e sub/.git/objects/info/alternates && touch \"$HOME/FLAG\""},
			"objects of what is none":      {harmless + "; mkdir -p x/info; echo /etc > x/info/alternates; echo ../../../x > sub/.git/objects/info/alternates", "test -e sub/.git/objects/info/alternates && touch \"$HOME/FLAG\""},
			"objects that are a link":      {harmless + "; rm -rf sub/.git/objects; ln -s \"$HOME\" sub/.git/objects", "test -e sub/.git/objects && touch \"$HOME/FLAG\""},
			"a message that is a link":     {"echo c > c; git add c; ln -sf \"$HOME/FLAG\" .git/COMMIT_EDITMSG; echo '@' > .git/MERGE_MSG", "git commit -q"},
			"a message within, a link":     {harmless + "; cd sub; ln -sf config .git/COMMIT_EDITMSG; printf '[core]\nfsmonitor=\"@\"\n' > .git/MERGE_MSG; echo 2 > f; git add f", "cd sub && git -c user.name=x -c user.email=x@example.org commit -q; git status"},
			"a message with two names":     {harmless + "; cd sub; ln -f .git/config .git/COMMIT_EDITMSG; printf '[core]\nfsmonitor=\"@\"\n' > .git/MERGE_MSG; echo 2 > f; git add f", "cd sub && git -c user.name=x -c user.email=x@example.org commit -q; git status"},
			"a log that is a link":         {"echo c > c; git add c; git commit -qm c; rm -f .git/logs/HEAD; ln -s \"$HOME/FLAG\" .git/logs/HEAD", "git commit -q --allow-empty -m x"},
			"refs that are a link":         {"rm -rf .git/refs/tags; ln -s \"$HOME\" .git/refs/tags", "git tag FLAG"},
			"a fetch into a link":          {"ln -s \"$HOME/FLAG\" .git/FETCH_HEAD", "git fetch -q . HEAD"},
			"an index names a hook":        {"mkdir -p +git/hooks; printf '#!/bin/sh\n@' > +git/hooks/post-checkout; chmod +x +git/hooks/*; git add +git; rm -r +git; sed -i 's/+git/.git/' .git/index", "git restore .; git checkout -q -b z"},
			"an index names one above":     {"mkdir ++; echo > ++/FLAG; git add ++; rm -r ++; sed -i 's/++/../' .git/index", "git restore ."},
			"a shared index does":          {"mkdir ++; echo > ++/FLAG; git add ++; rm -r ++; git update-index --split-index; sed -i 's/++/../' .git/sharedindex.*", "git checkout ."},
			"a nested index does":          {harmless + "; cd sub; mkdir -p ++/++; echo > ++/++/FLAG; git add ++; rm -r ++; sed -i 's/++.++/..\\/../' .git/index", "cd sub; git checkout-index -a"},
			"an index of a worktree does":  {"git worktree add -q wt; cd wt; mkdir -p ++/++; echo > ++/++/FLAG; git add ++; rm -r ++; sed -i 's/++.++/..\\/../' ../.git/worktrees/wt/index", "cd wt; git checkout ."},
			"modules as a link":            {"cp -r .git store; git --git-dir=store config core.fsmonitor '@'; mkdir mods m; mv store mods/m; ln -s ../mods .git/modules; echo 'gitdir: ../.git/modules/m' > m/.git", "git -C m status"},
			"an include":                   {harmless + "; printf '[core]\nfsmonitor=\"@\"\n' > inc; git -C sub config include.path ../../inc", "git -C sub status"},
			"an alias for what is none":    {harmless + "; git -C sub config alias.lfs '!@'", "git -C sub lfs"},
			"a configuration made anew":    {"mv .git/config .git/c2; cp .git/c2 .git/config; git config core.fsmonitor '@'", "git status"},
			"the repository exchanged":     {"mv .git old; cp -r old .git; git config core.fsmonitor '@'", "git status"},
			"a nested one, in two steps":   {harmless, ""},
			"a nested one, the second":     {"git -C sub config core.fsmonitor '@'; printf '[core]\nfsmonitor=\"@\"\n' >> sub/.git/config", "git -C sub status"},
			"an own one that came to hold": {"git config core.hooksPath h; mkdir h; printf '#!/bin/sh\n@' > h/post-index-change; chmod +x h/*; touch -d 2001-01-01 a", "git diff"},
		} {
			if strings.HasSuffix(name, "second") {
				s.sh(t, strings.ReplaceAll(harmless, "@", s.evil()))
			}
			o := s.sh(t, strings.ReplaceAll(c.script, "@", s.evil()))
			if c.then != "" {
				cmd := exec.Command("sh", "-c", c.then)
				cmd.Dir, cmd.Env = s.workspace, append([]string{"GIT_EDITOR=true"}, s.env...)
				out, _ := cmd.CombinedOutput()
				if s.flagged() {
					t.Errorf("%s: it ran; printed %q, told %q, then %q", name, o.printed, o.told, out)
				}
			}
			// Back to the beginning.
			if err := os.RemoveAll(s.workspace); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(s.workspace, 0o755); err != nil {
				t.Fatal(err)
			}
			s.policy.Close()
			s.repository(t)
		}
	})
}

// What runs nothing may be made, and used by the next command.
func TestRepositoriesThatRunNothingMayBeMade(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		s.env = append(s.env, "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.org", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.org")
		for _, script := range []string{
			"git init -q sub && (cd sub && echo 1 > f && git add f && git commit -qm x) && git add sub && git commit -qm sub",
			"git -C sub log --oneline && git -C sub config user.name y && git -C sub remote add o https://example.org/x.git", "git clone -q . clone && git -C clone log --oneline", "git clone -q --shared . shared && git -C shared log --oneline && rm -rf shared", "git clone -q --bare . bare.git && git -C bare.git config gc.auto 0 && git push -q bare.git main", "git -C bare.git config gc.autodetach false && git -C bare.git log --oneline main",
			"git worktree add -q wt -b wt && echo 1 > wt/b && git -C wt add b && git -C wt commit -qm b", "git -C wt status --porcelain && git worktree list | grep -q wt", "git worktree remove wt", "mv clone moved && git -C moved status", "rm -rf sub moved bare.git",
			"git checkout -qb side && echo side > a && git commit -qam side && git checkout -q main && echo main > a && git commit -qam main; git rebase side; test -d .git/rebase-merge && echo both > a && git add a", "GIT_EDITOR=true git rebase --continue", "git log --oneline | grep -c .",
		} {
			if o := s.sh(t, script); o.status.Code != 0 || len(o.told) > 0 {
				t.Errorf("%s: %+v", script, o)
			}
		}
	})
}

// Siblings of git: what other programs outside obey is not changed and not made.
func TestWhatOtherVersionControlRunsIsNotChanged(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		s.git(t, "config", "core.hooksPath", ".husky/_")
		s.write(t, s.workspace+"/.husky/_/pre-commit", "#!/bin/sh\n. .husky/pre-commit\n")
		s.write(t, s.workspace+"/.husky/pre-commit", "npm test\n")
		s.write(t, s.workspace+"/.hg/hgrc", "[paths]\n")
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		o := s.sh(t, "echo evil >> .hg/hgrc; mkdir -p .jj/repo; echo evil > .jj/repo/config.toml; echo evil > .jj/workspace-config.toml; echo evil >> .husky/pre-commit; echo evil > .husky/post-merge; echo ok > .hg/dirstate")
		out, _ := exec.Command("grep", "-rl", "evil", s.workspace).Output()
		if len(out) > 0 || len(o.told) == 0 {
			t.Errorf("%+v; it is in %s", o, out)
		}
		if text, err := os.ReadFile(s.workspace + "/.hg/dirstate"); err != nil || string(text) != "ok\n" {
			t.Errorf("the rest is %q, %v", text, err)
		}
	})
}

// What leads Mercurial, Jujutsu, Sapling or Darcs to a folder with a configuration of its choice is not
// made either.
func TestOtherVersionControlIsNotLedElsewhere(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.write(t, s.workspace+"/.hg/requires", "share-safe\n")
		s.write(t, s.workspace+"/sub/.jj/repo/store", "x\n")
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		o := s.sh(t, `mkdir -p evil sub/x sub/y; printf 'shared\nshare-safe\n' > .hg/requires; echo "$PWD/evil" > .hg/sharedpath; mkdir sub/.sl; echo ../../evil > sub/.sl/sharedpath
			rm -r sub/.jj/repo; echo ../../evil > sub/.jj/repo; mkdir -p sub/y/.jj/repo; ln -s ../../evil sub/x/.hg; ln -s /tmp sub/x/.jj
			mkdir -p sub/_darcs/prefs sub/x/_darcs; echo evil > sub/_darcs/prefs/defaults; echo . > sub/_darcs/prefs/boring; ln -s /tmp sub/x/_darcs/prefs; echo > sub/x/.sl`)
		for _, path := range []string{".hg/sharedpath", "sub/.sl/sharedpath", "sub/.jj/repo", "sub/x/.hg", "sub/x/.jj", "sub/_darcs/prefs/defaults", "sub/x/_darcs/prefs"} {
			if _, err := os.Lstat(s.workspace + "/" + path); err == nil {
				t.Errorf("%s is there; %+v", path, o)
			}
		}
		for _, path := range []string{"sub/y/.jj/repo", "sub/_darcs/prefs/boring", "sub/x/.sl"} {
			if _, err := os.Lstat(s.workspace + "/" + path); err != nil || len(o.told) != 7 {
				t.Errorf("%v; %+v", err, o)
			}
		}
	})
}

// H43: what git would obey while a command runs is taken away while it runs.
func TestWhatGitObeysAtOnceIsTakenAwayAtOnce(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		os.RemoveAll(s.workspace + "/.git/hooks")
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		for _, name := range []string{"commondir", "config.worktree", "hooks"} {
			path := s.workspace + "/.git/" + name
			make := "echo evil > .git/" + name
			if name == "hooks" {
				make = "mkdir .git/hooks; echo evil > .git/hooks/pre-commit"
			}
			// The command sees it come and go, and so would a git outside.
			o := s.sh(t, make+" && while [ -e .git/"+name+" ]; do :; done; echo gone")
			if _, err := os.Lstat(path); err == nil || !strings.Contains(o.printed, "gone\n") || len(o.told) != 1 {
				t.Errorf("%s: %+v, %v", name, o, err)
			}
		}
		// A link into which git would write goes within seconds.
		o := s.sh(t, "ln -s ../../x .git/FETCH_HEAD && while [ -L .git/FETCH_HEAD ]; do sleep 0.1; done; echo gone")
		if !strings.Contains(o.printed, "gone\n") || len(o.told) != 1 || !strings.Contains(o.told[0], "FETCH_HEAD a link to ../../x") {
			t.Errorf("a link: %+v", o)
		}
	})
}

// Links that were there before stay, and so do those that git makes.
func TestLinksInARepositoryThatWereThereStay(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		for path, to := range map[string]string{"/.git/rr-cache": "/elsewhere", "/.git/logs/refs/old": "../HEAD"} {
			if err := os.Symlink(to, s.workspace+path); err != nil {
				t.Fatal(err)
			}
		}
		for _, script := range []string{"true", "git init -q sub && ln -sf refs/heads/main sub/.git/HEAD && git clone -q . copy", "git -C copy log -1"} {
			if o := s.sh(t, script); o.status.Code != 0 || len(o.told) > 0 {
				t.Errorf("%s: %+v", script, o)
			}
		}
		for _, name := range []string{".git/rr-cache", ".git/logs/refs/old", "sub/.git/HEAD"} {
			if _, err := os.Readlink(filepath.Join(s.workspace, name)); err != nil {
				t.Error(err)
			}
		}
	})
}

// What makes it again and again is stopped.
func TestACommandThatInsistsIsStopped(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsSandbox(t)
	s.repository(t)
	c, session, err := s.policy.Start(proc.Command{Argv: []string{"sh", "-c", "while :; do echo evil > .git/commondir; done"}, Dir: s.workspace, Env: s.env}, run.Confined, sandbox.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	session.StopOn(p.Stop)
	status, err := p.Wait()
	if told := session.End(); err != nil || !strings.Contains(status.Stopped, "again and again") || len(told) != 1 {
		t.Errorf("%+v, %v, told %q", status, err, told)
	}
}

// H1: runs of several processes in one workspace neither undo each other's guard nor
// let anything be planted in between.
func TestRunsOfSeveralProcessesGuardOneWorkspace(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		os.RemoveAll(s.workspace + "/.git/hooks")
		// Commands come and go in three processes while one of the fourth runs.
		long := s.another(t, "touch long; until [ -e go ]; do sleep 0.01; done; mkdir .git/hooks .pawl; echo evil > .git/hooks/pre-commit; echo evil > .pawl/permissions.json; echo evil > .mcp.json; echo evil > .git/commondir")
		longOut, err := long.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := long.Start(); err != nil {
			t.Fatal(err)
		}
		defer long.Process.Kill()
		awaitFile(t, s.workspace+"/long")
		var others []*exec.Cmd
		var outs []*strings.Builder
		for range 3 {
			o, out := s.another(t, slices.Repeat([]string{"echo one; echo evil > .mcp.json"}, 20)...), &strings.Builder{}
			o.Stdout = out
			if err := o.Start(); err != nil {
				t.Fatal(err)
			}
			others, outs = append(others, o), append(outs, out)
		}
		for i, o := range others {
			if err := o.Wait(); err != nil {
				t.Error(err)
			}
			d := json.NewDecoder(strings.NewReader(outs[i].String()))
			n := 0
			for ; d.More(); n++ {
				var r ran
				if err := d.Decode(&r); err != nil {
					t.Fatal(err)
				}
				if r.Printed != "one\n" && !tree || !strings.HasPrefix(r.Printed, "one\n") || r.Code != 0 {
					t.Errorf("process %d: %+v", i, r)
				}
			}
			if n != 20 {
				t.Errorf("process %d ran %d commands", i, n)
			}
		}
		s.write(t, s.workspace+"/go", "")
		var r ran
		if err := json.NewDecoder(longOut).Decode(&r); err != nil || len(r.Told) < 3 {
			t.Errorf("%+v, %v", r, err)
		}
		long.Wait()
		for _, name := range []string{".git/hooks", ".pawl", ".mcp.json", ".git/commondir"} {
			if _, err := os.Lstat(filepath.Join(s.workspace, name)); err == nil {
				t.Errorf("there is %s", name)
			}
		}
	})
}

// patience is how long a test waits for what must come: far more than it takes.
const patience = 2 * time.Minute

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Lstat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no sign of %s", path)
		}
	}
}

// awaitText waits for a file of a pattern that has all texts in it.
func awaitText(t *testing.T, pattern string, texts ...string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		found, _ := filepath.Glob(pattern)
		for _, path := range found {
			text, _ := os.ReadFile(path)
			if !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(string(text), s) }) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s with %q", pattern, texts)
		}
	}
}

// M3: what a command has changed whose pawl is killed is put back by the next.
func TestAfterAKillTheNextPawlPutsBackWhatWasChanged(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		os.RemoveAll(s.workspace + "/.git/hooks")
		config, err := os.ReadFile(s.workspace + "/.git/config")
		if err != nil {
			t.Fatal(err)
		}
		// What git outside would obey by itself is gone before the kill already.
		killed := s.another(t, "true", "mkdir .pawl; echo evil > .pawl/permissions.json; echo evil >> .git/config; git init -q sub; git -C sub config core.fsmonitor evil; "+
			"ln -s /x .git/FETCH_HEAD; mkdir .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo; mkdir .git/hooks; echo evil > .git/hooks/pre-commit; while grep -rq evil .git/hooks sub/.git/config; do :; done; touch done; sleep 300")
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		awaitFile(t, s.workspace+"/done")
		awaitText(t, s.state+"/sandbox/*/*.told", "sub/.git/config", ".git/hooks")
		killed.Process.Kill()
		killed.Wait()
		// Nothing of it counts for a person who looks in between, and what the person does stays.
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		if !sandbox.MayHaveLeft(s.state, s.workspace) {
			t.Error("nothing says that commands ran when the process was killed")
		}
		told, err := s.policy.Recover()
		if err != nil || len(told) < 4 || !strings.Contains(strings.Join(told, "\n"), "sub/.git/config") {
			t.Errorf("told %q, %v", told, err)
		}
		if now, err := os.ReadFile(s.workspace + "/.git/config"); err != nil || string(now) != string(config) {
			t.Errorf("the configuration is %q, %v", now, err)
		}
		for _, name := range []string{".pawl", "sub/.git/config", ".git/rebase-merge/git-rebase-todo", ".git/hooks", ".git/FETCH_HEAD"} {
			if _, err := os.Lstat(filepath.Join(s.workspace, name)); err == nil {
				t.Errorf("there is %s", name)
			}
		}
		if told, err := s.policy.Recover(); err != nil || len(told) != 0 {
			t.Errorf("the second time: %q, %v", told, err)
		}
		if sandbox.MayHaveLeft(s.state, s.workspace) {
			t.Error("after it was undone there is something to undo")
		}
	})
}

// A pawl that is stopped gives no sign, and its command runs on: what it changes until both are killed is put back all the same.
func TestWhatACommandChangesWhilePawlStandsStillIsPutBack(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		killed := s.another(t, "touch began; until [ -e go ]; do sleep 0.01; done; mkdir .pawl; echo evil > .pawl/permissions.json; touch done; sleep 300")
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		awaitFile(t, s.workspace+"/began")
		if err := killed.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		stopped := time.Now()
		journals, err := filepath.Glob(s.state + "/sandbox/*/*.json")
		if err != nil || len(journals) != 1 {
			t.Fatalf("journals: %q, %v", journals, err)
		}
		for deadline := stopped.Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // what is changed in two seconds after a sign counts as the command's
			if info, err := os.Stat(journals[0]); err != nil || info.ModTime().Sub(stopped) > 2*time.Second {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("nothing says that the command runs")
			}
		}
		s.write(t, s.workspace+"/go", "")
		awaitFile(t, s.workspace+"/done")
		killed.Process.Kill()
		killed.Wait()
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		if told, err := s.policy.Recover(); err != nil || len(told) != 1 || !strings.Contains(told[0], ".pawl") {
			t.Errorf("told %q, %v", told, err)
		}
		if _, err := os.Lstat(s.workspace + "/.pawl"); err == nil {
			t.Error(".pawl is there")
		}
	})
}

// What a person changes after the kill is not undone.
func TestAfterAKillWhatAPersonDidLaterStays(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsSandbox(t)
	s.repository(t)
	killed := s.another(t, "touch done; sleep 300")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, s.workspace+"/done")
	killed.Process.Kill()
	killed.Wait()
	// As if the kill had been an hour ago.
	journals, err := filepath.Glob(s.state + "/sandbox/*/*.json")
	if err != nil || len(journals) != 1 {
		t.Fatalf("journals: %q, %v", journals, err)
	}
	hour := time.Now().Add(-time.Hour)
	if err := os.Chtimes(journals[0], hour, hour); err != nil {
		t.Fatal(err)
	}
	s.write(t, s.workspace+"/.mcp.json", "mine")
	if told, err := s.policy.Recover(); err != nil || len(told) != 0 {
		t.Errorf("told %q, %v", told, err)
	}
	if _, err := os.Lstat(s.workspace + "/.mcp.json"); err != nil {
		t.Error(err)
	}
}

// L1: nothing of the sandbox's own shows in the workspace, not for a moment.
func TestNothingOfTheSandboxAppearsInTheWorkspace(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.git(t, "init", "-q", "--template=")
		s.write(t, s.workspace+"/.env", "SECRET=1")
		s.write(t, s.workspace+"/sub/x", "")
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(fd)
		filepath.WalkDir(s.workspace, func(path string, e fs.DirEntry, _ error) error {
			if e.IsDir() {
				if _, err := syscall.InotifyAddWatch(fd, path, syscall.IN_CREATE|syscall.IN_MOVED_TO|syscall.IN_MOVED_FROM|syscall.IN_DELETE|syscall.IN_ATTRIB); err != nil {
					t.Fatal(err)
				}
			}
			return nil
		})
		s.run(t, run.ReadOnly, "true")
		s.sh(t, "echo made > made")
		s.run(t, run.WithNetwork, "true")
		killed := s.another(t, "echo done > done; sleep 300")
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		awaitFile(t, s.workspace+"/done")
		killed.Process.Kill()
		killed.Wait()
		if _, err := s.policy.Recover(); err != nil {
			t.Error(err)
		}
		s.sh(t, "rm made done")
		buf := make([]byte, 1<<16)
		n, err := syscall.Read(fd, buf)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for b := buf[:n]; len(b) >= syscall.SizeofInotifyEvent; {
			size := int(binary.NativeEndian.Uint32(b[12:]))
			names = append(names, strings.TrimRight(string(b[16:16+size]), "\x00"))
			b = b[16+size:]
		}
		if got := fmt.Sprint(names); got != "[made done made done]" && got != "[made done done made]" {
			t.Errorf("what appeared and went: %s", got)
		}
	})
}

// H48: no command leaves a file that would give its rights to who runs it.
func TestNoFileBecomesSetuid(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		attacker := s.attacker(t)
		for _, script := range []string{"cp /bin/sleep s; chmod 4755 s", "install -m 6755 /bin/sleep s", "cp /bin/sleep s; chmod g+s s", "cp -p /usr/bin/passwd s", attacker + " attack create-setuid s", attacker + " attack create-setuid-openat2 s"} {
			s.sh(t, script)
			if info, err := os.Lstat(s.workspace + "/s"); err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				t.Errorf("%s: %v", script, info.Mode())
			}
			os.Remove(s.workspace + "/s")
		}
		if o := s.sh(t, "touch s && chmod 755 s && chmod 1777 . && mkdir -m 700 d && install -m 755 /bin/true t"); o.status.Code != 0 {
			t.Errorf("%+v", o)
		}
	})
}

// H49: a workspace below /tmp is still there after a command has moved what is around
// it.
func TestAWorkspaceBelowTmpSurvivesWhatACommandDoesThere(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "pawl-h49-")
	if err != nil {
		t.Skipf("needs /tmp: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := newStage(t)
	s.needsTree(t)
	s.workspace = filepath.Join(dir, "around/ws")
	s.write(t, s.workspace+"/file", "here\n")
	s.plan(t)
	top := strings.Split(s.workspace, "/")[2]
	for _, script := range []string{"mv /tmp/@ /tmp/x; ln -s /etc /tmp/@", "rm -f /tmp/@; mv /tmp/@ /tmp/y; echo file > /tmp/@", "mv /tmp/@/around /tmp/z; ln -s /etc /tmp/@/around; chmod 0 /tmp/@", "mv /tmp/@/around /tmp/v; mkfifo /tmp/@/around"} {
		s.sh(t, strings.ReplaceAll(script, "@", top))
		for _, level := range []run.Confinement{run.Confined, run.ReadOnly} {
			if o := s.run(t, level, "cat", "file"); o.status.Code != 0 || o.printed != "here\n" {
				t.Errorf("%s: then %q: %+v", script, level, o)
			}
		}
	}
}

// A folder whose permissions hide it from pawl, too, is looked at when they change.
func TestARepositoryInAFolderThatWasClosedIsSeen(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("needs a user whom permissions bind, not root")
	}
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		for name, scripts := range map[string][]string{
			"closed when it is made":    {"(umask 777; mkdir d)", "chmod 755 d; @"},
			"closed around a change":    {"mkdir d; @; chmod 0 d", "chmod 755 d"},
			"closed below a closed one": {"mkdir -p d/e; chmod 0 d/e d", "chmod 755 d d/e; @"},
		} {
			for _, script := range scripts {
				s.sh(t, strings.ReplaceAll(script, "@", "(git init -q d/sub; git -C d/sub config core.fsmonitor '"+s.evil()+"')"))
			}
			git := exec.Command("git", "-C", s.workspace+"/d/sub", "status")
			git.Env = append(s.env, "GIT_CEILING_DIRECTORIES="+s.workspace)
			git.Run()
			if s.flagged() {
				t.Errorf("%s: git outside ran what a command left", name)
			}
			os.RemoveAll(s.workspace + "/d")
		}
	})
}
