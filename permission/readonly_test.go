package permission_test

import (
	"strings"
	"testing"

	"pawl/permission"
	"pawl/run"
)

// What a command is classified as only saves a question. What it can do is decided by
// the confinement that the decision carries.
func TestWhatRunsOnlyBecauseItReadsRunsReadOnly(t *testing.T) {
	t.Parallel()
	const a, k, d = permission.Allow, permission.Ask, permission.Deny
	rs := append(rules(t, a, "go test *", "grep *", "npm run *"), rules(t, a, "read(.env)")...)
	for _, c := range []struct {
		command  string
		mode     permission.Mode
		enforced bool
		want     permission.Verdict
		sandbox  run.Confinement
	}{
		{"git status", permission.Default, true, a, run.ReadOnly},
		{"ls && git log | head -3", permission.Default, true, a, run.ReadOnly},
		{"cat < go.mod", permission.Default, true, a, run.ReadOnly},
		{"git status", permission.AcceptEdits, true, a, run.ReadOnly},
		{"git status", permission.Plan, true, a, run.ReadOnly},
		{"git status", permission.Bypass, true, a, run.Confined},
		// A rule keeps the ordinary confinement, except in mode plan.
		{"grep -n x a.go", permission.Default, true, a, run.Confined},
		{"grep -n x a.go", permission.Plan, true, a, run.ReadOnly},
		{"cat .env", permission.Default, true, a, run.Confined},
		{"go test ./...", permission.Default, true, a, run.Confined},
		{"go test ./...", permission.Plan, true, d, run.Confined},
		// Beside what a rule allows the workspace is writable: what obeys its files asks.
		{"go test ./... 2>&1 | tail -20", permission.Default, true, a, run.Confined},
		{"cd web && npm run build && ls dist", permission.Default, true, a, run.Confined},
		{"go test ./... ; git status", permission.Default, true, k, run.Confined},
		{"go test ./... ; git grep -nO'touch x' y", permission.Default, true, k, run.Confined},
		{"git diff > x.patch", permission.AcceptEdits, true, k, run.Confined},
		{"grep -n x a.go > found", permission.AcceptEdits, true, a, run.Confined},
		// Where nothing enforces it, nothing runs because it is classified as reading.
		{"git status", permission.Default, false, k, run.Confined},
		{"ls", permission.Default, false, k, run.Confined},
		{"go test ./... && ls", permission.Default, false, k, run.Confined},
		{"ls > found", permission.AcceptEdits, false, k, run.Confined},
		{"ls", permission.Plan, false, d, run.Confined},
		{"grep -n x a.go", permission.Plan, false, d, run.Confined},
		{"grep -n x a.go", permission.Default, false, a, run.Confined},
		{"go test ./... 2>&1 | tail -20", permission.Default, false, a, run.Confined},
		{"echo done", permission.Default, false, a, run.Confined}, // it opens no file
		{"ls", permission.Bypass, false, a, run.Confined},
	} {
		r := permission.Request{Tool: "shell", Command: c.command, Workspace: "/work", EnforcesReadOnly: c.enforced, Sandboxed: c.enforced}
		got := rs.Decide(r, c.mode)
		if got.Verdict != c.want || got.Sandbox != c.sandbox {
			t.Errorf("%s in mode %s, enforced %t: %s in %q (%s), want %s in %q", c.command, c.mode, c.enforced, got.Verdict, got.Sandbox, got.Reason, c.want, c.sandbox)
		}
		if answer := got.Answer(); answer.Sandbox != got.Sandbox {
			t.Errorf("%s: the log keeps %q", c.command, answer.Sandbox)
		}
	}
}

// Always makes a command run that asks because nothing keeps it to reading.
func TestAlwaysCoversWhatIsClassifiedAsReading(t *testing.T) {
	t.Parallel()
	rs := rules(t, permission.Allow, "go test *")
	for command, want := range map[string]string{
		"git status":                  "shell(git status *)",
		"go test ./... && git log -1": "shell(git log *)",
		"go test ./... && ls | wc -l": "shell(ls *)",
		"cat go.mod && sort x > out":  "write(out) shell(cat *) shell(sort *)",
	} {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work"}
		p := rs.Propose(r, permission.Default, nil)
		if got := strings.Join(texts(p.Rules), " "); got != want {
			t.Errorf("%s: it proposes %s, want %s", command, got, want)
		}
	}
	r := permission.Request{Tool: "shell", Command: "go test ./... && git log -1 && ls", Workspace: "/work", EnforcesReadOnly: true}
	if got := strings.Join(texts(rs.Propose(r, permission.Default, nil).Rules), " "); got != "shell(git log *)" {
		t.Errorf("it proposes %s, want what keeps ls without a rule", got)
	}
}

// A program of the workspace may be called like any other: H20, H20b.
func TestAReadingProgramOfTheWorkspaceAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allow, command string
		want           permission.Verdict
	}{
		{"", "wc a", permission.Ask}, {"", "ls; wc a", permission.Ask}, {"", "pip list", permission.Ask}, {"", "timeout 5 wc a", permission.Ask}, {"", "nice ls", permission.Ask}, {"nice *", "nice ls", permission.Allow}, {"", "ls", permission.Allow},
		{"*", "wc a", permission.Ask}, {"wc *", "wc a", permission.Allow}, {"wc a", "wc a", permission.Allow},
	} {
		var rs permission.Rules
		if c.allow != "" {
			rs = rules(t, permission.Allow, c.allow)
		}
		r := permission.Request{Tool: "shell", Command: c.command, Workspace: "/work", EnforcesReadOnly: true, Sandboxed: true, LocalPrograms: []string{"wc", "pip", "nice"}}
		if got := rs.Decide(r, permission.Default); got.Verdict != c.want {
			t.Errorf("allow %q: %s: %s (%s), want %s", c.allow, c.command, got.Verdict, got.Reason, c.want)
		}
		if got := rs.Decide(r, permission.Plan); c.want == permission.Ask && got.Verdict == permission.Allow {
			t.Errorf("%s runs in mode plan", c.command)
		}
	}
}

// A pattern of names that is an option's value opens no file, whatever the shell makes
// of it. In every other option it may.
func TestAPatternThatIsTheValueOfAnOptionIsNoFile(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]permission.Verdict{
		"grep -rn x --include=*.go .":                  permission.Allow,
		"grep -rn x --include=*.{ts,tsx} src":          permission.Allow,
		"grep -rl x --exclude-dir=node_mod* .":         permission.Allow,
		"rg --glob=*.go x":                             permission.Allow,
		"ls --ignore=*.pyc src":                        permission.Allow,
		"grep -rn x --include=$X .":                    permission.Ask,
		"grep -rn x --include=*$X .":                   permission.Ask,
		"grep -rn x --include=*{a,$X} .":               permission.Ask,
		"grep -rn x {--include=,-f}*.go .":             permission.Ask,
		"grep x --file=*.txt .":                        permission.Ask,
		"rg --pre=*.sh x":                              permission.Ask,
		"rg --pre={a,b} x":                             permission.Ask,
		"sort --output=*.txt a":                        permission.Ask,
		"tar --exclude=*.o -cf x.tar .":                permission.Ask,
		"for f in --glob=*.go; do rg $f x; done":       permission.Ask,
		"for f in --include=*.go; do grep x $f; done":  permission.Ask,
		"grep x --include=*.go .env":                   permission.Ask,
		"grep -rn x --include=*.go ~/.ssh":             permission.Ask,
		"git bisect run --exclude=*.go":                permission.Ask,
		"sh -c --include=*.go":                         permission.Ask,
		"grep -rn x --include=*.go . > --include=*.go": permission.Ask,
	} {
		if d := ask(nil, command, "/work"); d.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

// Only tells the caller which files a grep reads; a pattern that may become another one
// says nothing.
func TestAPatternOfNamesBoundsWhatAGrepReads(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"grep -rn x --include=*.go .":                    "*.go",
		"grep -rn x --include=*.go --include='*.md' .":   "*.go *.md",
		"grep -rn x --include=?nv .":                     "",
		"grep -rn x --include=*.{env,go} .":              "",
		"grep -rn x --include=*.go --exclude=[a-c]*.x .": "",
	} {
		if got := strings.Join(permission.Classify(command).Only, " "); got != want {
			t.Errorf("%s: only %q, want %q", command, got, want)
		}
	}
}

// A command that goes through a folder reads the secrets in it only where they are to be
// seen: not in the read-only sandbox.
func TestSecretsInAFolderAskOnlyWhereACommandSeesThem(t *testing.T) {
	t.Parallel()
	const a, k, d = permission.Allow, permission.Ask, permission.Deny
	for _, c := range []struct {
		command  string
		rules    permission.Rules
		mode     permission.Mode
		enforced bool
		want     permission.Verdict
	}{
		{"grep -r x .", nil, permission.Default, true, a},
		{"grep -r x . | head", nil, permission.Plan, true, a},
		{"grep -r x .", nil, permission.Default, false, k},
		{"grep -r x .", rules(t, a, "grep *"), permission.Default, true, k},
		{"grep -r x .", rules(t, a, "grep *"), permission.Default, false, k},
		{"grep -r x .", rules(t, a, "grep *", "read(.env)"), permission.Default, true, a},
		{"go test ./...; grep -r x .", rules(t, a, "go test *"), permission.Default, true, k},
		{"grep -r x . > found", nil, permission.AcceptEdits, true, k},
		{"grep -r x .", nil, permission.Bypass, true, a},
		{"grep -r x .", rules(t, d, "read(.env)"), permission.Bypass, true, d},
	} {
		r := permission.Request{Tool: "shell", Command: c.command, Workspace: "/work", EnforcesReadOnly: c.enforced, Sandboxed: c.enforced, Below: []string{"/work/.env", ".env"}}
		if got := c.rules.Decide(r, c.mode); got.Verdict != c.want {
			t.Errorf("%s in mode %s, enforced %t, rules %v: %s (%s), want %s", c.command, c.mode, c.enforced, texts(c.rules), got.Verdict, got.Reason, c.want)
		}
		r.EnforcesReadOnly, r.ReadsUnconfined = true, true // a sandbox that keeps secrets readable, such as that of Codex
		if got := c.rules.Decide(r, c.mode); got.Verdict == a && c.rules == nil && c.mode != permission.Bypass {
			t.Errorf("%s in mode %s, where all can be read: %s (%s)", c.command, c.mode, got.Verdict, got.Reason)
		}
	}
}
