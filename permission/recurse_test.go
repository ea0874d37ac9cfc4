package permission_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
	"pawl/run"
)

func TestACommandThatGoesThroughFoldersIsSeenToDoSo(t *testing.T) {
	t.Parallel()
	type look struct {
		Paths    []string
		Recurses bool
		Only     []string
	}
	for command, want := range map[string]look{
		"grep x a.go":         {Paths: []string{"a.go"}},
		"grep -n x a.go":      {Paths: []string{"a.go"}},
		"grep -r x":           {Paths: []string{"."}, Recurses: true},
		"grep -nr x .":        {Paths: []string{"."}, Recurses: true},
		"grep -Rl x src":      {Paths: []string{"src"}, Recurses: true},
		"grep --recurs x":     {Paths: []string{"."}, Recurses: true},
		"grep -d recurse x":   {Paths: []string{"."}, Recurses: true},
		"cd src && grep -r x": {Paths: []string{"src"}, Recurses: true},
		"grep -r --exclude='.env*' --exclude-dir=secrets x": {Paths: []string{"."}, Recurses: true},
		"grep -r --include='*.go' x .":                      {Paths: []string{"."}, Recurses: true, Only: []string{"*.go"}},
		"grep -r --exclude=.env x; grep -r x":               {Paths: []string{"."}, Recurses: true},
		"rg x":                                              {Paths: []string{"."}, Recurses: true},
		"rg --hidden x":                                     {Paths: []string{"."}, Recurses: true},
		"rg -uu x src":                                      {Paths: []string{"src"}, Recurses: true},
		"rg -g '*.py' -g'*.key' x":                          {Paths: []string{"."}, Recurses: true, Only: []string{"*.py", "*.key"}},
		// Of several the last one counts, so nothing is taken to be left out.
		"rg -g '*.py' -g'!*.key' x":               {Paths: []string{"."}, Recurses: true},
		"rg -g '!.env' -g .env x":                 {Paths: []string{"."}, Recurses: true},
		"grep -r --exclude-dir=.env x":            {Paths: []string{"."}, Recurses: true},
		"grep -r --exclude=.env --include=.env x": {Paths: []string{"."}, Recurses: true},
		"rg -g '{*.py,.env}' x":                   {Paths: []string{"."}, Recurses: true},
		"diff a b":                                {Paths: []string{"a", "b"}, Recurses: true},
		"git grep --untracked x":                  {Paths: []string{"x", "."}, Recurses: true},
		"git diff --no-index a b":                 {Paths: []string{"diff", "a", "b", "."}, Recurses: true},
	} {
		c := permission.Classify(command)
		slices.Sort(c.Paths)
		slices.Sort(want.Paths)
		got := look{c.Paths, c.Recurses, c.Only}
		if command == "git diff --no-index a b" {
			want.Paths, got.Paths = nil, nil // which of its words are paths is git's to know
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}

// A git that is called by its path is reported like git, so that what a repository makes it run is checked.
func TestGitIsNamedHoweverItIsCalled(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{"/usr/bin/git commit": "git", "/bin/go list": "go", "timeout 5 /usr/bin/git status": "git", "bash -c '/usr/bin/git push'": "git"} {
		if got := permission.Classify(command).Programs; !slices.Contains(got, want) {
			t.Errorf("%s runs %q", command, got)
		}
	}
}

// A rule that asks for a file asks also about what takes it along with the folder it is in, as a rule that denies it
// does in mode bypass.
func TestARuleForAFileHoldsForWhatGoesThroughItsFolder(t *testing.T) {
	t.Parallel()
	const limit = "docs/private.md"
	all := []string{"grep *", "rg *", "cat *", "xargs *", "find *", "cp *", "tar *", "rsync *", "zip *", "rm *", "mv *", "/usr/bin/grep *", "/usr/bin/rg *", "/usr/bin/git *", "ag *", "ack *", "rgrep *", "git *", "ls *", "find . -type f -exec cat {} +", "find src -exec cat {} +"}
	for want, commands := range map[permission.Verdict][]string{
		permission.Ask: {"grep -r x .", "grep -rn x", "grep -R x docs", "cd docs && grep -r x", "rg x", "rg x docs", "diff -r docs old", "find . -type f -exec cat {} +", "find . -type f | xargs cat", "cp -r docs x", "cp -r . x", "tar cf - .", "rsync -a docs x", "zip -r x .",
			"ag x", "ack x", "rgrep x", "git grep x", "git grep x -- '*.md'", "git grep x -- docs", "git grep x -- '*.go' :/", "grep -r --include='*.md' x .", "grep -r --include='*' x .", "git -C docs grep x", "git grep --untracked x", "rm -rf docs", "mv docs x", "/usr/bin/grep -r x .", "/usr/bin/rg x", "/usr/bin/git grep x"},
		permission.Allow: {"grep -r x src", "grep x a.go", "rg x src", "cd src && grep -r x", "diff a.go b.go", "find . -name '*.md'", "find src -exec cat {} +", "cp -r src x", "tar cf x src", "rm -rf src", "git commit -m grep", "git log", "git grep x -- '*.go'", "grep -r --include='*.go' x .", "rg -g '*.go' x", "ls -R", "cat docs/a.md", "find . -name x | xargs echo"},
	} {
		for _, command := range commands {
			r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true}
			ask := append(rules(t, permission.Ask, "read("+limit+")"), rules(t, permission.Allow, all...)...)
			if d := ask.Decide(r, permission.Default); d.Verdict != want {
				t.Errorf("%s under a rule that asks: %s (%s), want %s", command, d.Verdict, d.Reason, want)
			}
			if d := rules(t, permission.Deny, "read("+limit+")").Decide(r, permission.Bypass); d.Verdict != want {
				t.Errorf("%s in mode bypass under a rule that denies: %s (%s), want %s", command, d.Verdict, d.Reason, want)
			}
		}
	}
	for folder, want := range map[string]permission.Verdict{".": permission.Ask, "docs": permission.Ask, "src": permission.Allow} {
		r := permission.Request{Tool: "search", Class: run.Reads, Paths: []string{folder}, Workspace: "/work"}
		if d := rules(t, permission.Ask, "read("+limit+")").Decide(r, permission.Default); d.Verdict != want {
			t.Errorf("a search of %s: %s (%s), want %s", folder, d.Verdict, d.Reason, want)
		}
	}
}

func TestGitAsksWhereARepositoryMakesItRunPrograms(t *testing.T) {
	t.Parallel()
	const runs = "core.fsmonitor in .git/config"
	rs := rules(t, permission.Allow, "git status *")
	for _, c := range []struct {
		command string
		rules   permission.Rules
		want    permission.Verdict
	}{
		{"git log", nil, permission.Ask}, {"git status", nil, permission.Ask}, {"timeout 5 git diff", nil, permission.Ask}, {"go list ./...", nil, permission.Ask},
		{"ls && git log", nil, permission.Ask}, {"echo $(git log)", nil, permission.Ask},
		{"ls", nil, permission.Allow}, {"cat a.go", nil, permission.Allow},
		{"git status", rs, permission.Allow}, {"git status; git log", rs, permission.Ask},
	} {
		r := permission.Request{Tool: "shell", Command: c.command, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true, Runs: runs}
		if d := c.rules.Decide(r, permission.Default); d.Verdict != c.want {
			t.Errorf("%s: %s (%s), want %s", c.command, d.Verdict, d.Reason, c.want)
		}
	}
}
