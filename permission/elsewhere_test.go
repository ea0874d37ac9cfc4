package permission_test

import (
	"slices"
	"strings"
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

// What git runs by a repository's configuration is looked at like words of the command: it may be what a rule
// denies, whatever allows the command; and in mode bypass what cannot be known asks.
func TestADenyRuleHoldsInWhatARepositoryMakesGitRun(t *testing.T) {
	t.Parallel()
	const config = "/work/.git/config: "
	long := config + "tar.command=" + strings.Repeat("x", 40<<10) + "; core.editor=rm -rf x"
	for _, c := range []struct {
		command, runs, hooks string
		bypass, allowed      permission.Verdict // in mode bypass, and in mode default where git is allowed
	}{
		{"git archive --format=x HEAD", "", "", permission.Allow, permission.Allow},
		{"git archive --format=x HEAD", "", config + "tar.command=rm -rf x", permission.Ask, permission.Ask},
		{"git archive --format=x HEAD", "", config + "tar.command=ls", permission.Ask, permission.Allow},
		{"git archive --format=x HEAD", "", config + "tar.command=ls; core.editor=/bin/rm", permission.Ask, permission.Ask},
		{"git commit --trailer x=y -m z", "", config + "trailer.cmd=sh -c 'rm x'", permission.Ask, permission.Ask},
		{"git submodule update", "", config + "submodule.update=!f() { rm x; }; f", permission.Ask, permission.Ask},
		{"git push", "", "/work/.git/hooks/pre-push", permission.Ask, permission.Allow},
		{"git push", "", long, permission.Ask, permission.Ask},
		{"git status", "", config + "core.editor=rm", permission.Allow, permission.Allow},
		{"git status", config + "core.fsmonitor=rm x", "", permission.Ask, permission.Ask},
		{"git status", config + "core.fsmonitor=ls", "", permission.Ask, permission.Allow},
		{"env -i git status", "", "/work/.git/hooks/post-index-change", permission.Ask, permission.Ask},
		{"timeout 5 git status", "", "/work/.git/hooks/post-index-change", permission.Allow, permission.Allow},
	} {
		r := permission.Request{Tool: "shell", Command: c.command, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true, Runs: c.runs, Hooks: c.hooks}
		deny := rules(t, permission.Deny, "rm *")
		if d := deny.Decide(r, permission.Bypass); d.Verdict != c.bypass {
			t.Errorf("%s with %.80q in mode bypass: %s (%s), want %s", c.command, c.runs+c.hooks, d.Verdict, d.Reason, c.bypass)
		}
		if d := append(deny, rules(t, permission.Allow, "git *")...).Decide(r, permission.Default); d.Verdict != c.allowed {
			t.Errorf("%s with %.80q where git is allowed: %s (%s), want %s", c.command, c.runs+c.hooks, d.Verdict, d.Reason, c.allowed)
		}
		if d := append(rules(t, permission.Ask, "rm *"), rules(t, permission.Allow, "git *")...).Decide(r, permission.Default); d.Verdict != c.allowed {
			t.Errorf("%s with %.80q under a rule that asks: %s (%s), want %s", c.command, c.runs+c.hooks, d.Verdict, d.Reason, c.allowed)
		}
	}
}

// git is led to a repository by more than a plain path.
func TestWhereARemoteOfGitIsIsToldInEverySpelling(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"git archive --remote=x/y HEAD", "git archive --remote x/y HEAD", "git archive --rem=x/y HEAD", "git push --repo=x/y", "git push file:///work/x/y", "git fetch file://localhost/work/x/y", "git fetch file://host/work/x/%79", "git clone x/y z"} {
		paths := permission.Classify(command).Paths
		if !slices.Contains(paths, "x/y") && !slices.Contains(paths, "/work/x/y") {
			t.Errorf("%s: %q", command, paths)
		}
	}
	if paths := permission.Classify("git archive --remote=bare HEAD").Paths; !slices.Contains(paths, "bare") {
		t.Errorf("a remote without a slash: %q", paths)
	}
}

// What a mode lets be written without a question is where its name says: not behind what may have put a link there.
func TestAnEditBehindWhatMayMakeLinksAsks(t *testing.T) {
	t.Parallel()
	const allow, ask = permission.Allow, permission.Ask
	rs := rules(t, allow, "*", "git *", "npm *", "mv *", "rm *", "go *", "make *", "bash -c 'echo x > a'", "./x *", "timeout *", "env *", "read *")
	decide := func(command string, more ...permission.Rule) permission.Decision {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true}
		return append(slices.Clone(rs), more...).Decide(r, permission.AcceptEdits)
	}
	for _, maker := range []string{"git checkout -q other", "tar xf a.tar", "unzip a.zip", "cp -a x y", "cp --recursive x y", "ln -s x y", "mv x y", "git pull", "git merge x", "git stash pop", "git reset --hard x", "git restore .", "git submodule update", "npm install", "make", "go test ./...", "patch -p1", "./x", "rsync -a x y", "frob"} {
		for _, form := range []string{"%; echo x > vs/t", "% && cat a >> vs/t", "% || echo x > vs/t", "if %; then echo x > vs/t; fi", "{ %; echo x > vs/t; }", "timeout 5 % && echo x > vs/t", "env % && echo x > vs/t", "% & echo x > vs/t", "cd vs; %; echo x > t", "% > log; echo x > vs/t",
			"echo $(%) > vs/t", "cat <<E > vs/t\n$(%)\nE", "while read x; do echo x > vs/t; %; done", "(sleep 1; echo x > vs/t) & %", "{ sleep 1; echo x > vs/t; } | %", "% | { sleep 1; echo x > vs/t; }"} {
			command := strings.ReplaceAll(form, "%", maker)
			if d := decide(command); d.Verdict != ask || !strings.Contains(d.Reason, "may put a link where") {
				t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
			}
		}
		for _, form := range []string{"% > vs/t", "% | tail -5 > vs/t", "% 2> a | sort > b", "echo x > vs/t; %", "echo x > log & %", "{ %; echo; } > vs/t"} {
			command := strings.ReplaceAll(form, "%", maker)
			if d := decide(command); d.Verdict != allow {
				t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
			}
		}
	}
	for _, command := range []string{"mkdir -p a && touch a/b && echo x > a/b && cat > a/c", "rm -rf build; echo x > a", "cp a b && echo x > c", "cd a && test -f b && printf '%s' x > c", "git add a && git commit -m x && echo x > a", "git -C . add a && echo x > a", "go build ./... && echo x > a", "curl https://example.com > a; ls > b", "bash -c 'echo x > a'", "chmod +x a; [ -f b ] && echo x > c", "for f in a b; do echo x > $f; done", "while read x; do echo x >> a; done"} {
		if d := decide(command); d.Verdict != allow {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
	if d := decide("git checkout -q other; echo x > vs/t", rules(t, allow, "write(vs/**)")...); d.Verdict != allow {
		t.Errorf("where a rule covers the file: %s (%s)", d.Verdict, d.Reason)
	}
	for _, command := range everyday(t) {
		for _, then := range []string{command + " && echo x > notes.txt", "echo x > notes.txt; " + command} {
			if d := decide(then); askedEveryday[command] == "" && decide(command).Verdict == allow && strings.Contains(d.Reason, "may put a link where") {
				t.Errorf("%s: %s (%s)", then, d.Verdict, d.Reason)
			}
		}
	}
}
