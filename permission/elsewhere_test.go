package permission_test

import (
	"testing"

	"pawl/permission"
	"pawl/run"
)

// What a redirection writes through a link of the repository is judged by where the link leads, with the
// rules and names that count for a file which is spelled out.
func TestALinkGivesARedirectionNoMoreThanItsTargetHas(t *testing.T) {
	t.Parallel()
	docs := rules(t, permission.Allow, "write(docs/**)")
	workflow := append(rules(t, permission.Allow, "write(docs/**)"), rules(t, permission.Allow, "write(.github/workflows/ci.yml)")...)
	asks := rules(t, permission.Ask, "write(Makefile)", "read(plain.txt)")
	for _, c := range []struct {
		command, leads string
		rules          permission.Rules
		mode           permission.Mode
		want           permission.Verdict
	}{
		{"echo x > notes.txt", "notes.txt", nil, permission.AcceptEdits, permission.Allow},
		{"echo x > notes.txt", ".github/workflows/ci.yml", nil, permission.AcceptEdits, permission.Ask},
		{"echo x > notes.txt", ".bashrc", nil, permission.AcceptEdits, permission.Ask},
		{"cat a | tee notes.txt > other.txt", ".vscode/tasks.json", nil, permission.AcceptEdits, permission.Ask},
		{"echo x > notes.txt", "src/real.txt", nil, permission.AcceptEdits, permission.Allow},
		{"echo x > m.txt", "Makefile", asks, permission.AcceptEdits, permission.Ask},
		{"cat pl.txt", "plain.txt", asks, permission.Default, permission.Ask},
		{"cat pl.txt", "other.txt", asks, permission.Default, permission.Allow},
		{"echo x > docs/a.txt", "docs/b.txt", docs, permission.Default, permission.Allow},
		{"echo x > docs/a.txt", "Makefile", docs, permission.Default, permission.Ask},
		{"echo x > docs/a.txt", ".github/workflows/ci.yml", docs, permission.Default, permission.Ask},
		{"echo x > docs/a.txt", ".github/workflows/ci.yml", workflow, permission.Default, permission.Allow},
		{"cp a.txt b.txt", ".github/workflows/ci.yml", rules(t, permission.Allow, "cp *"), permission.Default, permission.Ask},
	} {
		r := permission.Request{Tool: "shell", Command: c.command, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true, Resolved: []string{c.leads}}
		if d := c.rules.Decide(r, c.mode); d.Verdict != c.want {
			t.Errorf("%s, which leads to %s, in %s: %s (%s), want %s", c.command, c.leads, c.mode, d.Verdict, d.Reason, c.want)
		}
	}
}

// In another folder git obeys what that folder brings: a rule that lifts the sandbox holds in the workspace's
// own folder, and one with a wildcard covers nothing where the repository makes git run a program.
func TestARuleForGitIsForTheFolderOfTheWorkspace(t *testing.T) {
	t.Parallel()
	outside := permission.Rules{{Effect: permission.Allow, Tool: "shell", Pattern: "git fetch", Sandbox: run.Unconfined}}
	status := rules(t, permission.Allow, "git status *")
	for _, c := range []struct {
		command, dir, runs string
		rules              permission.Rules
		want               permission.Verdict
	}{
		{"git fetch", "/work", "", outside, permission.Allow},
		{"cd fixture && git fetch", "/work", "", outside, permission.Ask},
		{"git fetch", "/work/fixture", "", outside, permission.Ask},
		{"git status", "/work", "", status, permission.Allow},
		{"cd sub && git status", "/work", "", status, permission.Allow},
		{"cd fixture && git status", "/work", "core.fsmonitor in fixture/config", status, permission.Ask},
		{"git status -s", "/work/fixture", "core.fsmonitor in fixture/config", status, permission.Ask},
	} {
		r := permission.Request{Tool: "shell", Command: c.command, Workspace: "/work", Dir: c.dir, Sandboxed: true, EnforcesReadOnly: true, Runs: c.runs}
		if c.rules[0].Sandbox == run.Unconfined {
			r.Sandbox = run.Unconfined
		}
		if d := c.rules.Decide(r, permission.Default); d.Verdict != c.want {
			t.Errorf("%s in %s: %s (%s), want %s", c.command, c.dir, d.Verdict, d.Reason, c.want)
		}
	}
}

// Two rules in one text would be one that matches no call: nothing would be denied.
func TestTwoRulesInOneTextAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"shell(rm *), shell(git push *)", "shell(rm *),edit(a)", "shell(rm *), edit"} {
		if r, err := permission.ParseRule(text); err == nil {
			t.Errorf("%s is the rule %s", text, r)
		}
	}
	for _, text := range []string{`shell(awk '{ print substr($1, 2), index($2, "x") }')`, "shell(f(x) g(y))"} {
		if _, err := permission.ParseRule(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
