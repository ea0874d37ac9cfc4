package permission_test

import (
	"strings"
	"testing"

	"pawl/permission"
	"pawl/run"
)

// Git has what was committed and shows it by other ways than the file's name. A rule for a file that git tracks
// holds for these, in every mode.
func TestARuleForAFileHoldsForWhatGitShowsOfIt(t *testing.T) {
	t.Parallel()
	show := []string{
		// The file of a revision, from the folder that -C names, and from the top of the repository.
		"git -C conf show HEAD:./db.yml", "git -C conf show HEAD:conf/db.yml", "git -C src show HEAD:../conf/db.yml",
		"cd conf && git show HEAD:./db.yml",
		"git -C conf cat-file -p HEAD:./db.yml", "git -C conf blame db.yml", "git -C conf log -p -- db.yml",
		"git -C conf/.. diff -- conf", "git -C conf -C . blame ./db.yml",
		"git --git-dir=.git --work-tree=src show HEAD:db.yml",
		// All of a commit, of an object, of the index or of the differences.
		"git show", "git show HEAD", "git show main", "git show 0123abcd", "git show :/fix",
		"git show HEAD^{tree} HEAD", "git show --stat 0123abcd",
		"git log -p", "git log --patch -3", "git log -U9", "git log -L 1,9:src/a.go", "git reflog -p",
		"git stash show -p", "git whatchanged -p",
		"git diff", "git diff HEAD~1", "git diff --cached", "git diff main -- src", "git diff 0123abcd 4567abcd",
		"git diff -- conf", "git diff --stat -p",
		"git diff -- .", "git diff -- ':!src'", "git diff -- '*.yml'", "git diff -- ':!/conf'", "git diff-tree -p HEAD",
		"git diff-index --patch HEAD", "git status -vv", "git add -p", "git commit -v",
		"git cat-file -p 0123abcd", "git cat-file --batch-all-objects --batch", "git archive HEAD",
		"git archive HEAD:conf", "git fast-export --all", "git range-diff a b c",
		"git format-patch --stdout HEAD~1", "git bundle create - HEAD", "git grep --cached x", "git grep x HEAD",
		"git grep -e x 0123abcd -- src", "git unpack-file 0123abcd",
		// A copy at another place.
		"git worktree add ../x", "git worktree add wt HEAD", "git clone . x", "git clone file:///w x",
		"git push ../x main", "git checkout-index -a --prefix=x/", "git read-tree --prefix=x/ HEAD",
		// An alias.
		"git lp",
	}
	quiet := []string{
		"git status", "git log", "git log --oneline -5", "git log --stat -- conf", "git show HEAD:src/a.go",
		"git cat-file -t HEAD", "git diff --stat", "git diff --stat main...HEAD", "git diff --name-only HEAD~1", "git show --stat HEAD",
		"git diff -- src", "git diff src", "git diff HEAD src/a.go", "git show HEAD -- src", "git log -p -- src/a.go",
		"git -C src diff -- a.go", "git -C src show HEAD:./a.go", "git diff -- ':!conf'", "git diff -- ':!./conf'",
		"git diff -- . ':(exclude)conf/db.yml'",
		"git branch -a", "git rev-parse HEAD", "git ls-files", "git stash list", "git blame src/a.go", "git worktree list",
	}
	changing := []string{"git add src/a.go", "git commit -m 'fix -p'", "git checkout main", "git push origin main", "git pull", "git fetch", "git merge main", "git rebase main", "git clone https://example.org/x.git"}
	deny, ask := rules(t, permission.Deny, "read(conf/db.yml)"), rules(t, permission.Ask, "read(conf/*.yml)")
	judge := func(rs permission.Rules, m permission.Mode, command string) permission.Decision {
		return rs.Decide(permission.Request{Tool: "shell", Class: run.Writes, Command: command, Workspace: "/w", Dir: "/w", Sandboxed: true, EnforcesReadOnly: true,
			Tracked: []string{"/w/conf/db.yml", "/w/src/a.go"}}, m)
	}
	for _, command := range show {
		for _, m := range []permission.Mode{permission.Default, permission.AcceptEdits, permission.Bypass} {
			if d := judge(deny, m, command); d.Verdict == permission.Allow || m == permission.Bypass && !strings.Contains(d.Rule+d.Reason, "read(conf/db.yml)") {
				t.Errorf("%s, denied, in mode %s: %+v", command, m, d)
			}
		}
		if d := judge(ask, permission.Default, command); d.Verdict == permission.Allow {
			t.Errorf("%s, asked: %+v", command, d)
		}
		if d := judge(nil, permission.Bypass, command); d.Verdict != permission.Allow {
			t.Errorf("%s without rules: %+v", command, d)
		}
	}
	for _, command := range quiet {
		for _, m := range []permission.Mode{permission.Plan, permission.Default, permission.AcceptEdits, permission.Bypass} {
			for _, rs := range []permission.Rules{deny, ask} {
				if d := judge(rs, m, command); d.Verdict != permission.Allow {
					t.Errorf("%s in mode %s: %+v", command, m, d)
				}
			}
		}
	}
	for _, command := range changing {
		if d := judge(deny, permission.Bypass, command); d.Verdict != permission.Allow {
			t.Errorf("%s: %+v", command, d)
		}
	}
	// A rule for a file that git does not track asks no question more.
	for _, command := range []string{"git diff", "git show HEAD", "git log -p", "git stash show -p"} {
		for _, m := range []permission.Mode{permission.Plan, permission.Default, permission.Bypass} {
			if d := judge(rules(t, permission.Deny, "read(.env)", "read(keys/**)"), m, command); d.Verdict != permission.Allow {
				t.Errorf("%s in mode %s: %+v", command, m, d)
			}
		}
	}
}

// What is git's own work sees and changes what git tracks.
func TestGitsOwnWorkIsTold(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"git diff": true, "git checkout main": true, "git pull && git log | head": true,
		"timeout 9 git merge main": true, "git status 2>/dev/null": true,
		"git grep x": false, "git diff --no-index a b": false, "git checkout main && make": false,
		"git show HEAD > x": false, "git archive -o x HEAD": false, "git init x": false,
		"git config -f x a.b c": false, "./git status": false, "git -c alias.x='!sh' x": false,
		"x=$(git status)": false, "cat x": false, "git status; cat x": false, "head x": false, "git lp": false,
	} {
		if got := permission.Classify(command).Git; got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
}
