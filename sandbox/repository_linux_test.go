package sandbox_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pawl/internal/proc"
	"pawl/internal/proc/proctest"
	"pawl/run"
	"pawl/sandbox"
)

// A repository that a command makes is judged while the command runs: a person's prompt
// or editor may ask git for its state at any moment.
func TestANewRepositoryThatRunsProgramsIsDisarmedAtOnce(t *testing.T) {
	const (
		harmless = "git init -q sub; (cd sub; git config user.name x; git config user.email x@example.org; echo 1 > f; git add f; git commit -qm x); "
		store    = `cp -r .git "$TMPDIR/store"; git --git-dir="$TMPDIR/store" config core.fsmonitor '@'; `
		hook     = `printf '#!/bin/sh\n@' > %/post-index-change; chmod +x %/post-index-change; until ! [ -e %/post-index-change ]; do :; done; `
	)
	for name, script := range map[string]string{
		"git config":                  harmless + "git -C sub config core.fsmonitor '@'; until ! grep -q fsm sub/.git/config; do :; done; ",
		"written in its place":        harmless + `printf '[core]\nfsmonitor="@"\n' >> sub/.git/config; until ! grep -q fsm sub/.git/config; do :; done; `,
		"in two writes":               harmless + `printf '[core]\nfsmon' >> sub/.git/config; sleep 0.05; printf 'itor="@"\n' >> sub/.git/config; until ! grep -q fsm sub/.git/config; do :; done; `,
		"a hook":                      harmless + strings.ReplaceAll(hook, "%", "sub/.git/hooks"),
		"a hook in new hooks":         "rm -rf sub/.git/hooks; " + harmless + "rm -rf sub/.git/hooks; mkdir sub/.git/hooks; " + strings.ReplaceAll(hook, "%", "sub/.git/hooks"),
		"very deep":                   "mkdir -p p/b/c/d/e; cd p/b/c/d/e; " + harmless + "git -C sub config core.fsmonitor '@'; until ! grep -q fsm sub/.git/config; do :; done; cd ../../../../..; mv p/b/c/d/e/sub sub; ",
		"moved into its place":        "mkdir x sub; cp -r .git x/y; git --git-dir=x/y config core.fsmonitor '@'; mv x/y sub/.git; until ! grep -q fsm sub/.git/config; do :; done; ",
		"a bare one":                  "mkdir sub; cp -r .git/HEAD .git/objects .git/refs sub; printf '[core]\nfsmonitor=\"@\"\nworktree=.\nbare=false\n' > sub/config; until ! grep -q fsm sub/config; do :; done; ",
		"that of a submodule":         "mkdir -p .git/modules/m sub; cp -r .git/HEAD .git/objects .git/refs .git/modules/m/; printf '[core]\nfsmonitor=\"@\"\nworktree=../../../sub\nrepositoryformatversion=0\n' > .git/modules/m/config; echo 'gitdir: ../.git/modules/m' > sub/.git; until ! grep -q fsm .git/modules/m/config; do :; done; ",
		"commondir":                   harmless + "cp -r sub/.git store; git --git-dir=store config core.fsmonitor '@'; echo ../../store > sub/.git/commondir; until ! [ -e sub/.git/commondir ]; do :; done; ",
		"put in a second's place":     harmless + "mv sub/.git sub/old; cp -r sub/old sub/.git; git -C sub config core.fsmonitor '@'; until ! grep -q fsm sub/.git/config; do :; done; ",
		"a file that leads out":       store + "mkdir sub; echo 'gitdir: ^/store' > sub/.git; until ! [ -e sub/.git ]; do :; done; ",
		"with a zero byte":            store + `mkdir sub; printf 'gitdir: ^/store\0x' > sub/.git; until ! [ -e sub/.git ]; do :; done; `,
		"that leads out later":        store + "mkdir sub; git init -q --separate-git-dir=sub/store sub; sleep 0.1; echo 'gitdir: ^/store' > sub/.git; until ! grep -q '^/store' sub/.git; do :; done; ", // it is as before, or gone
		"by a link that is made then": store + "mkdir sub; echo 'gitdir: to/store' > sub/.git; sleep 0.1; ln -s '^' sub/to; until ! [ -e sub/.git ]; do :; done; ",
		"a link that leads out":       store + "mkdir sub; ln -s '^/store' sub/.git; until ! [ -L sub/.git ]; do :; done; ",
		"hidden in a repository":      "mkdir -p .git/store sub; cp -r .git/HEAD .git/objects .git/refs .git/store/; git --git-dir=.git/store config core.bare false; git --git-dir=.git/store config core.fsmonitor '@'; echo 'gitdir: ../.git/store' > sub/.git; until ! [ -e sub/.git ]; do :; done; ",
		"by a second name":            harmless + `ln sub/.git/config alias; printf '[core]\nfsmonitor="@"\n' >> alias; until ! grep -q fsm sub/.git/config; do :; done; `,
		"through a mapping": harmless + "printf '#%01000d\n' 0 >> sub/.git/config; " + `python3 -c "
import mmap, os, time
f = open('sub/.git/config', 'r+b')
text = b'[core]\nrepositoryformatversion=0\nfsmonitor=\"@\"\n'
mapped = mmap.mmap(f.fileno(), os.fstat(f.fileno()).st_size)
mapped[:] = text + b'#' * (len(mapped) - len(text))
while os.path.exists('sub/.git/config'): time.sleep(0.01)
"; `,
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, s *stage, tree bool) {
				s.repository(t)
				needs(t, "git")
				if strings.Contains(script, "python3") {
					needs(t, "python3")
				}
				script := strings.NewReplacer("@", s.evil(), "^", s.temp(tree)).Replace(script)
				s.env = append(s.env, "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.org", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.org")
				// The command ends when it sees that it is gone; a person's git looks while it still
				// runs.
				var printed bytes.Buffer
				c, session, err := s.policy.Start(proc.Command{Output: &printed, Argv: []string{"sh", "-c", script + "touch gone; until [ -e go ]; do sleep 0.01; done"}, Dir: s.workspace, Env: s.env}, run.Confined, sandbox.Fence{})
				if err != nil {
					t.Fatal(err)
				}
				p, err := proc.Start(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				awaitFile(t, s.workspace+"/gone")
				cmd := exec.Command("sh", "-c", "git status; git -C sub status; git -C sub diff; git --git-dir=sub status; git -C sub checkout .")
				cmd.Dir, cmd.Env = s.workspace, append([]string{"GIT_EDITOR=true"}, s.env...)
				out, _ := cmd.CombinedOutput()
				if s.flagged() {
					t.Errorf("it ran: %s", out)
				}
				s.write(t, s.workspace+"/go", "")
				if _, err := p.Wait(); err != nil {
					t.Fatal(err)
				}
				if told := session.End(); len(told) == 0 {
					t.Errorf("told %q; printed %s", told, printed.String())
				}
			})
		})
	}
}

// A repository that was there before, or was made by a command before, is judged too when it is
// moved while a command runs.
func TestARepositoryThatIsMovedIsDisarmedAtOnce(t *testing.T) {
	for name, c := range map[string]struct{ before, script string }{
		"made before":                 {"git init -q old", "mv old sub; git -C sub config core.fsmonitor '@'; until ! grep -q fsm sub/.git/config; do :; done; "},
		"a hook":                      {"git init -q old; rm -rf old/.git/hooks", `mv old sub; mkdir sub/.git/hooks; printf '#!/bin/sh\n@' > sub/.git/hooks/post-index-change; chmod +x sub/.git/hooks/*; until ! [ -e sub/.git/hooks/post-index-change ]; do :; done; `},
		"there before":                {"", "mkdir sub; mv kept.git sub/.git; until ! grep -q fsm sub/.git/config; do :; done; "},
		"there before, by a link":     {"", "mkdir sub; echo gitdir: ../kept.git > sub/.git; until ! [ -e sub/.git ]; do :; done; "},
		"there before, by a worktree": {"", "mkdir -p sub kept.git/worktrees/w; cp .git/HEAD kept.git/worktrees/w/; echo ../.. > kept.git/worktrees/w/commondir; echo gitdir: ../kept.git/worktrees/w > sub/.git; until ! [ -e sub/.git ]; do :; done; "},
		"an index":                    {"", "mkdir sub ++; echo > ++/FLAG; git add ++; rm -r ++; sed -i 's/++/../' .git/index; until ! [ -e .git/index ]; do :; done; git reset -q; "},
		"objects of its alternates":   {"", "mkdir sub; echo ../../kept.git/objects > .git/objects/info/alternates; until ! [ -e .git/objects/info/alternates ]; do :; done; "},
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, s *stage, tree bool) {
				needs(t, "git")
				s.git(t, "init", "-q", "--bare", "kept.git") // as it can be in a clone
				s.write(t, s.workspace+"/kept.git/config", strings.ReplaceAll("[core]\nrepositoryformatversion=0\nfsmonitor=\"@\"\n", "@", s.evil()))
				s.write(t, s.workspace+"/kept.git/objects/info/alternates", s.home+"\n")
				s.repository(t)
				if o := s.sh(t, c.before); o.status.Code != 0 || len(o.told) > 0 {
					t.Fatalf("%+v", o)
				}
				script := strings.ReplaceAll(c.script, "@", s.evil()) + "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; "
				command, session, err := s.policy.Start(proc.Command{Argv: []string{"sh", "-c", script + "touch gone; until [ -e go ]; do sleep 0.01; done"}, Dir: s.workspace, Env: s.env}, run.Confined, sandbox.Fence{})
				if err != nil {
					t.Fatal(err)
				}
				p, err := proc.Start(t.Context(), command)
				if err != nil {
					t.Fatal(err)
				}
				look := func(when string) {
					cmd := exec.Command("sh", "-c", "git status; git -C sub status; git -C sub diff; git checkout .")
					cmd.Dir, cmd.Env = s.workspace, s.env
					if out, _ := cmd.CombinedOutput(); s.flagged() {
						t.Errorf("%s it ran: %s", when, out)
					}
				}
				awaitFile(t, s.workspace+"/gone")
				look("while the command runs")
				s.write(t, s.workspace+"/go", "")
				if _, err := p.Wait(); err != nil {
					t.Fatal(err)
				}
				if told := session.End(); len(told) == 0 {
					t.Error("nothing is told")
				}
				look("afterwards")
			})
		})
	}
}

// The same where nothing tells of changes: the workspace is read again from time to time.
func TestANewRepositoryIsDisarmedWhereFoldersCannotBeWatched(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsSandbox(t)
	s.repository(t)
	s.policy.WithoutWatches()
	o := s.sh(t, strings.ReplaceAll("git init -q sub; git -C sub config core.fsmonitor '@'; until ! grep -q fsm sub/.git/config; do :; done", "@", s.evil()))
	if o.status.Code != 0 || len(o.told) != 1 {
		t.Errorf("%+v", o)
	}
}

// The same in one place after the other is stopped, and so is what makes more repositories
// than can be looked at.
func TestACommandThatMakesRepositoriesWithoutEndIsStopped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config, reason string
		told           int
	}{
		"harmful":  {`printf '[core]\nfsmonitor=@\n' > r$i/config`, "again and again", 200},
		"harmless": {`printf "[user]\nname=$i\n" > r$i/config`, "more repositories", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.needsSandbox(t)
			s.repository(t)
			s.policy.LookAtMost(100)
			script := strings.ReplaceAll("mkdir t t/objects t/refs; cp .git/HEAD t; i=0; while :; do i=$((i+1)); cp -r t r$i; "+c.config+"; done", "@", s.evil())
			command, session, err := s.policy.Start(proc.Command{Argv: []string{"sh", "-c", script}, Dir: s.workspace, Env: s.env}, run.Confined, sandbox.Fence{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := proc.Start(t.Context(), command)
			if err != nil {
				t.Fatal(err)
			}
			session.StopOn(p.Stop)
			status, err := p.Wait()
			told := session.End()
			n := len(told)
			if n > 0 { // the last says how many more there are, if they are many
				more := 0
				if found, _ := fmt.Sscanf(told[n-1], "%d more", &more); found == 1 {
					n += more - 1
				}
			}
			if err != nil || !strings.Contains(status.Stopped, c.reason) || n < c.told {
				t.Errorf("%+v, %v, told %d", status, err, n)
			}
		})
	}
}

// What was taken away is kept for a person to look at, and a git that looks along obeys
// none of it.
func TestWhatIsKeptOfARefusedRepositoryIsObeyedByNoGit(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		script := "git init -q sub; (cd sub; echo 1 > f; git add f; git commit -qm x; mkdir -p .git/modules/m; cp -r .git/HEAD .git/objects .git/refs .git/config .git/modules/m/); " +
			"git -C sub config core.fsmonitor '@'; cp sub/.git/config sub/.git/modules/m/; printf '#!/bin/sh\n@' > sub/.git/hooks/post-index-change; chmod +x sub/.git/hooks/*; " +
			"cp -r .git $TMPDIR/evil; git --git-dir=$TMPDIR/evil config core.fsmonitor '@'; mkdir w; echo gitdir: $OUTSIDE/evil > w/.git"
		s.env = append(s.env, "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.org", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.org", "OUTSIDE="+s.temp(tree))
		o := s.sh(t, strings.ReplaceAll(script, "@", s.evil()))
		kept := s.state + "/refused"
		if entries, err := os.ReadDir(kept); len(o.told) < 2 || len(entries) == 0 {
			t.Fatalf("told %q, printed %s, %v", o.told, o.printed, err)
		}
		cmd := exec.Command("sh", "-c", `find . -type d -exec git -C {} status \; -exec git -C {} diff \;; find . -name '*.git*'`)
		cmd.Dir, cmd.Env = kept, s.env
		out, err := cmd.CombinedOutput()
		if s.flagged() || err != nil || strings.Contains(string(out), "On branch") {
			t.Errorf("git obeys it: %v\n%s", err, out)
		}
	})
}

// Repositories are made and used without a program of their choice: nothing is taken from
// them while they are made.
func TestNothingIsTakenFromARepositoryWhileItIsMade(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		s.env = append(s.env, "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.org", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.org")
		o := s.sh(t, `set -e; for i in 1 2 3 4 5 6 7 8 9 10; do
			git init -q n$i; git -C n$i config user.name y; git -C n$i commit -q --allow-empty -m x; git clone -q . c$i; git -C c$i remote add o https://example.org/x.git; git clone -q --bare . b$i.git
			git worktree add -q wt$i -b wt$i; git -C wt$i status > /dev/null; git worktree remove wt$i
			mkdir -p w$i/.git; cp -r .git/HEAD .git/objects .git/refs w$i/.git/; printf '[core]\n\tbare = ' > w$i/.git/config; printf 'false\n' >> w$i/.git/config; git -C w$i log --oneline > /dev/null
		done`)
		if o.status.Code != 0 || len(o.told) > 0 {
			t.Errorf("%+v", o)
		}
	})
}

// Git makes a worktree's commondir before it writes to it. What names no folder is obeyed by
// no git; an empty line names the worktree's own folder, whose configuration then counts.
func TestACommondirThatIsBeingWrittenStays(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		const made = "git worktree add -q wt && "
		if o := s.sh(t, made+"true > .git/worktrees/wt/commondir"); o.status.Code != 0 || len(o.told) > 0 {
			t.Errorf("an empty one: %+v", o)
		}
		if o := s.sh(t, "echo > .git/worktrees/wt/commondir"); len(o.told) == 0 {
			t.Errorf("one with an empty line: %+v", o)
		}
	})
}

// Some programs write an index in its place. While they do, no git can read it.
func TestAnIndexThatIsBeingWrittenStays(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.repository(t)
		o := s.sh(t, "echo > a; git add a; cp .git/index full; for i in $(seq 11); do head -c $((20+i)) full > .git/index; sleep 0.1; done; cat full > .git/index; git ls-files")
		if o.status.Code != 0 || len(o.told) > 0 || !strings.Contains(o.printed, "a\n") {
			t.Errorf("%+v", o)
		}
		if o := s.sh(t, "head -c 20 full > .git/index"); len(o.told) != 1 || !strings.Contains(o.told[0], "left .git/index unreadable") {
			t.Errorf("left half written: %+v", o)
		}
	})
}

// A process that has a file mapped can keep writing to it while the time of its last
// change stays as it is. What was judged once is compared again.
func TestAConfigurationThatIsWrittenThroughAMappingIsJudgedAgain(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		needs(t, "git", "python3")
		s.repository(t)
		python := `
import mmap, os, time
config = open("sub/.git/config", "r+b")
size = os.path.getsize("sub/.git/config")
m = mmap.mmap(config.fileno(), size)
m[size-1:size] = b"\n"
open("mapped", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
at = m.find(b"email = ")
text = b"x = 1\n[core]\nfsmonitor='@'\n#"
m[at:at+len(text)] = text
`
		script := `git init -q sub; cd sub; git config user.email xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; cd ..; exec python3 map.py`
		s.write(t, s.workspace+"/map.py", strings.ReplaceAll(python, "@", s.home+"/evil"))
		proctest.Program(t, s.home+"/evil", "#!/bin/sh\ntouch "+s.home+"/FLAG\n")
		c, session, err := s.policy.Start(proc.Command{Argv: []string{"sh", "-c", script}, Dir: s.workspace, Env: s.env}, run.Confined, sandbox.Fence{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := proc.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		awaitFile(t, s.workspace+"/mapped")
		for range 3 { // another command ends, and what there is is judged
			s.sh(t, "sleep 0.05")
		}
		s.write(t, s.workspace+"/go", "")
		if _, err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		told := session.End()
		cmd := exec.Command("sh", "-c", "git -C sub status")
		cmd.Dir, cmd.Env = s.workspace, s.env
		out, _ := cmd.CombinedOutput()
		if text, _ := os.ReadFile(s.workspace + "/sub/.git/config"); s.flagged() || strings.Contains(string(text), "fsmonitor") || len(told) != 1 {
			t.Errorf("told %q; git prints %s; the configuration is %q", told, out, text)
		}
	})
}
