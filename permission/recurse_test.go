package permission_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
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
