package permission_test

import (
	"testing"

	"pawl/permission"
	"pawl/run"
)

func TestSecretsAndWhatDecidesLaterRunsAreKnownByName(t *testing.T) {
	t.Parallel()
	decide := func(tool string, class run.Class, p string) permission.Verdict {
		r := permission.Request{Tool: tool, Class: class, Edits: class == run.Writes, Paths: []string{p}, Workspace: "/work"}
		return permission.Rules(nil).Decide(r, permission.AcceptEdits).Verdict
	}
	for _, secret := range []string{
		".env", ".env.local", "sub/.ENV", "prod.env", "x.pem", "id_rsa", "id_ed25519", "home/.ssh/config", ".aws/credentials", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
		".kube/config", ".docker/config.json", "server.key", ".gnupg/x", "terraform.tfstate", "credentials.json", "service-account-x.json", ".pgpass", "x.p12", "secrets.yaml",
		".e\u200bnv", ".env.", ".env ", ".env::$DATA",
	} {
		if got := decide("read", run.Reads, secret); got != permission.Ask {
			t.Errorf("reading %q: %s", secret, got)
		}
		if got := decide("edit", run.Writes, secret); got != permission.Ask {
			t.Errorf("editing %q: %s", secret, got)
		}
	}
	for _, public := range []string{".env.example", ".env.sample", "a.go", "environment.ts", "keys.go", "monkey", "id_rsa.pub", "docs/secret-sharing.md", "README.env.md", "envelope"} {
		if got := decide("read", run.Reads, public); got != permission.Allow {
			t.Errorf("reading %q: %s", public, got)
		}
	}
	for _, protected := range []string{
		".git/config", ".git/hooks/pre-commit", ".GIT/config", ".g\u200cit/config", "git~1/config", ".pawl/permissions.json", ".mcp.json", ".github/workflows/ci.yml", ".gitlab-ci.yml", "Jenkinsfile",
		".bashrc", "sub/.zshrc", ".profile", ".envrc", ".vscode/tasks.json", ".idea/workspace.xml", ".husky/pre-commit", ".gitattributes", ".gitmodules", ".claude/settings.json", "package.json",
	} {
		if got := decide("edit", run.Writes, protected); got != permission.Ask {
			t.Errorf("editing %q in accept-edits: %s", protected, got)
		}
	}
	for _, ordinary := range []string{"AGENTS.md", "main.go", ".gitignore", "docs/x.md", "go.mod", "src/git/x.go", "Makefile"} {
		if got := decide("edit", run.Writes, ordinary); got != permission.Allow {
			t.Errorf("editing %q in accept-edits: %s", ordinary, got)
		}
	}
}

// A program that an edit or a redirection leaves where others look for programs runs later. Removing such a folder
// and installing are commands with rules of their own.
func TestWritingWhereProgramsAreInstalledAsks(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]permission.Verdict{
		"node_modules/.bin/eslint": permission.Ask, "web/node_modules/.bin/tsc": permission.Ask, "NODE_MODULES/.BIN/x": permission.Ask, ".venv/bin/python": permission.Ask, "a/venv/bin/pip": permission.Ask, "venv/Scripts/pip.exe": permission.Ask,
		".venv/lib/python3.13/site-packages/x.py": permission.Ask, "vendor/bin/phpunit": permission.Ask, ".tox/py/bin/x": permission.Ask, "sub/../venv/bin/x": permission.Ask,
		"node_modules/x/index.js": permission.Allow, "bin/x": permission.Allow, ".venv/x": permission.Allow, "src/venv.py": permission.Allow, "docs/site-packages.md": permission.Allow, "cmd/venv/main.go": permission.Allow,
	} {
		for _, r := range []permission.Request{
			{Tool: "write", Class: run.Writes, Edits: true, Paths: []string{p}},
			{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"link"}, Resolved: []string{p}},
			{Tool: "shell", Class: run.Writes, Command: "echo x > " + p},
			{Tool: "shell", Class: run.Writes, Command: "echo x > link", Resolved: []string{p}},
		} {
			r.Workspace, r.Sandboxed, r.EnforcesReadOnly = "/work", true, true
			if d := permission.Rules(nil).Decide(r, permission.AcceptEdits); d.Verdict != want {
				t.Errorf("%+v: %s (%s), want %s", r, d.Verdict, d.Reason, want)
			}
		}
	}
	rs := rules(t, permission.Allow, "rm *", "npm *", "cp *", ".venv/bin/pytest *", "write(node_modules/**)", "write(venv/bin/**)")
	for command, want := range map[string]permission.Verdict{
		"rm -rf node_modules/.bin": permission.Allow, "rm -rf node_modules .venv/bin": permission.Allow, "npm install eslint": permission.Allow, ".venv/bin/pytest -q": permission.Allow, "cp -r node_modules/.bin x": permission.Allow,
		"echo x > node_modules/a": permission.Allow, "echo x > node_modules/.bin/a": permission.Ask, "echo x > venv/bin/a": permission.Allow,
	} {
		if d := ask(rs, command, "/work"); d.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

func TestWhereAPathLeadsIsJudgedToo(t *testing.T) {
	t.Parallel()
	const a, k, d = permission.Allow, permission.Ask, permission.Deny
	for _, c := range []struct {
		name             string
		allow, ask, deny string
		request          permission.Request
		want             permission.Verdict
	}{
		{name: "a link within the workspace", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"x"}, Resolved: []string{"y"}}, want: a},
		{name: "a link out", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"x"}, Resolved: []string{"/etc/hosts"}}, want: k},
		{name: "a link to a secret", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"x"}, Resolved: []string{"sub/.env"}}, want: k},
		{name: "a link to what is denied", deny: "read(sub/**)", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"x"}, Resolved: []string{"sub/y"}}, want: d},
		{name: "a link out that a rule names", allow: "read(/etc/hosts)", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"x"}, Resolved: []string{"/etc/hosts"}}, want: a},
		{name: "an absolute path that a rule names", allow: "read(/etc/hosts)", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"/etc/hosts"}}, want: a},
		{name: "a folder outside that a rule names", allow: "read(/usr/share/**)", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"/usr/share/doc/x"}}, want: a},
		{name: "a rule without a pattern is for the workspace", allow: "read", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"/etc/hosts"}}, want: k},
		{name: "what nobody could follow", allow: "read(/**)", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"x"}, Outside: true}, want: k},
		{name: "an added folder", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"/lib/x"}, Folders: []string{"/lib"}}, want: a},
		{name: "beside an added folder", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"/library/x"}, Folders: []string{"/lib"}}, want: k},
		{name: "a secret in an added folder", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"/lib/.env"}, Folders: []string{"/lib"}}, want: k},
		{name: "what decides what runs later in an added folder", allow: "edit", request: permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"/lib/.git/hooks/x"}, Folders: []string{"/lib"}}, want: k},
		{name: "a deny rule holds in an added folder", deny: "read(db/**)", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"/lib/db/x"}, Folders: []string{"/lib"}}, want: d},
		{name: "an ask rule holds in an added folder", ask: "read(x)", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"/lib/x"}, Folders: []string{"/lib"}}, want: k},
		{name: "a deny rule holds for commands there", allow: "shell(cat *)", deny: "read(db/**)", request: permission.Request{Tool: "shell", Command: "cat /lib/db/x", Folders: []string{"/lib"}}, want: d},
		{name: "a search above what is denied there", deny: "read(db/**)", request: permission.Request{Tool: "search", Class: run.Reads, Paths: []string{"/lib"}, Folders: []string{"/lib"}}, want: k},
		{name: "an allow rule is for the workspace", allow: "edit(src/**)", request: permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"/lib/src/x"}, Folders: []string{"/lib"}}, want: k},
		{name: "or for the path that it names", allow: "edit(/lib/src/**)", request: permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"/lib/src/x"}, Folders: []string{"/lib"}}, want: a},
		{name: "out of an added folder", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"/lib/link"}, Resolved: []string{"/etc/hosts"}, Folders: []string{"/lib"}}, want: k},
		{name: "the kernel's files", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"/proc/self/environ"}}, want: d},
		{name: "devices", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"/dev/fd/3"}}, want: d},
		{name: "no path", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"a\x00b"}}, want: d},
		{name: "no line", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"a\nb"}}, want: d},
		{name: "no name", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{""}}, want: d},
		{name: "~ is a name", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"~/x"}}, want: a},
		{name: "deny in every spelling", deny: "read(secret.txt)", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"./a/../SECRET.TXT/"}}, want: d},
		{name: "deny with a space behind", deny: "read(secret.txt)", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"secret.txt "}}, want: d},
		{name: "deny from the root", deny: "read(/etc/**)", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"../etc/passwd"}}, want: d},

		{name: "pawl's own files are not written", allow: "edit(/state/**)", request: permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"/state/rules.json"}, Own: []string{"/state"}}, want: d},
		{name: "nor in the workspace", allow: "edit", request: permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"STATE/x"}, Own: []string{"/work/state"}}, want: d},
		{name: "nor through a link", allow: "edit", request: permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"x"}, Resolved: []string{"/state/x"}, Own: []string{"/state"}}, want: d},
		{name: "pawl's own files are read after asking", request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"state/x"}, Own: []string{"/work/state"}}, want: k},

		{name: "a command that reads a link out", request: permission.Request{Tool: "shell", Command: "cat x", Paths: []string{"/work/x"}, Resolved: []string{"/etc/hosts"}}, want: k},
		{name: "which a rule names", allow: "read(/etc/hosts)", request: permission.Request{Tool: "shell", Command: "cat x", Paths: []string{"/work/x"}, Resolved: []string{"/etc/hosts"}, EnforcesReadOnly: true}, want: a},
		{name: "a command that reads what a rule names", allow: "read(/etc/hosts)", request: permission.Request{Tool: "shell", Command: "cat /etc/hosts", Resolved: []string{"/etc/hosts"}}, want: a},
		{name: "a command that may write there all the same", allow: "read(/etc/hosts)", request: permission.Request{Tool: "shell", Command: "frob /etc/hosts"}, want: k},
		{name: "a command that is spelled out with it", allow: "shell(cat /etc/hosts)", request: permission.Request{Tool: "shell", Command: "cat /etc/hosts", Resolved: []string{"/etc/hosts"}}, want: a},
		{name: "a pattern that stands for a secret under a rule", allow: "shell(cat *)", request: permission.Request{Tool: "shell", Command: "cat *.txt", Paths: []string{"/work/secret.txt"}, EnforcesReadOnly: true}, want: k},
		{name: "a pattern that stands for a secret", request: permission.Request{Tool: "shell", Command: "cat *.txt", Paths: []string{"/work/secret.txt"}}, want: k},
		{name: "a denied file in a command", allow: "shell(cat *)", deny: "read(db/**)", request: permission.Request{Tool: "shell", Command: "cd db && cat x"}, want: d},
		{name: "a file that asks in a command", allow: "shell(cat *)", ask: "read(db/**)", request: permission.Request{Tool: "shell", Command: "cat db/x"}, want: k},
		{name: "a file not to be written in a command", allow: "shell(touch *)", deny: "write(db/**)", request: permission.Request{Tool: "shell", Command: "touch db/x"}, want: d},
		{name: "is read", deny: "write(db/**)", request: permission.Request{Tool: "shell", Command: "cat db/x", EnforcesReadOnly: true}, want: a},
		{name: "is read with its neighbours", deny: "write(db/x.go)", request: permission.Request{Tool: "shell", Command: "grep -n x db/*.go", EnforcesReadOnly: true}, want: a},
		{name: "is read by a pattern that may stand for an option", deny: "write(x.txt)", request: permission.Request{Tool: "shell", Command: "sort *.txt", EnforcesReadOnly: true}, want: k},
		{name: "is read by a word that is not known", deny: "write(db/x)", request: permission.Request{Tool: "shell", Command: "grep x $FILES", EnforcesReadOnly: true}, want: k},
		{name: "is in reach of a command that writes by a pattern", allow: "shell(touch *)", deny: "write(db/x.go)", request: permission.Request{Tool: "shell", Command: "touch db/*.go"}, want: k},
		{name: "a denied file through a link", allow: "shell(cat *)", deny: "read(db/**)", request: permission.Request{Tool: "shell", Command: "cat x", Paths: []string{"/work/x"}, Resolved: []string{"db/y"}}, want: d},
		{name: "pawl's own files in a command", allow: "shell(touch *)", request: permission.Request{Tool: "shell", Command: "touch /state/x", Own: []string{"/state"}}, want: d},
		{name: "pawl's own files by a redirection", allow: "shell(echo *)", request: permission.Request{Tool: "shell", Command: "echo x > /state/x", Own: []string{"/state"}}, want: d},
		{name: "a folder above them deleted", allow: "shell(rm *)", request: permission.Request{Tool: "shell", Command: "rm -rf ../state", Own: []string{"/state/pawl"}}, want: d},
		{name: "read in a command", request: permission.Request{Tool: "shell", Command: "cat state/x", Own: []string{"/work/state"}}, want: k},
	} {
		c.request.Workspace = "/work"
		var rs permission.Rules
		for effect, text := range map[permission.Verdict]string{a: c.allow, k: c.ask, d: c.deny} {
			if text == "" {
				continue
			}
			r, err := permission.ParseRule(text)
			if err != nil {
				t.Fatal(err)
			}
			r.Effect, r.Source = effect, "test"
			rs = append(rs, r)
		}
		if got := rs.Decide(c.request, permission.Default); got.Verdict != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, got.Verdict, got.Reason, c.want)
		}
	}
	own := permission.Request{Tool: "shell", Command: "touch /state/x", Workspace: "/work", Own: []string{"/state"}}
	if got := permission.Rules(nil).Decide(own, permission.Bypass); got.Verdict != d || got.Source != "built-in" {
		t.Errorf("bypass writes pawl's own files: %+v", got)
	}
}

func TestARedirectionIsAWriteOfItsTarget(t *testing.T) {
	t.Parallel()
	const a, k, d = permission.Allow, permission.Ask, permission.Deny
	rs := append(rules(t, a, "write(out/**)"), rules(t, d, "edit(out/keep/**)")...)
	rs = append(rs, rules(t, k, "write(out/ask/**)")...)
	for command, want := range map[string]permission.Verdict{
		"ls > out/x":                      a,
		"ls >> out/a/b 2>&1":              a,
		"cd out && ls > x":                a,
		"cd out; ls > x":                  k, // the cd may have failed
		"ls > out/../x":                   k,
		"ls > x":                          k,
		"ls > /tmp/x":                     k,
		"ls > out/.git/config":            k,
		"ls > out/.env":                   k,
		"ls > out/keep/x":                 d,
		"ls > out/ask/x":                  k,
		"ls > out/$X":                     k,
		"make > out/x":                    k,
		"ls > out/x > y":                  k,
		"{ ls; } > out/x":                 k, // the braces, without a sandbox
		"for f in a; do ls; done > out/x": a,
	} {
		if got := ask(rs, command, "/work"); got.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", command, got.Verdict, got.Reason, want)
		}
	}
	for command, want := range map[string]permission.Verdict{
		"ls > x": a, "ls > /tmp/x": k, "ls > .bashrc": k, "ls > .git/x": k, "touch x": k, "make > x": k, "ls > ../x": k, "ls > $X": k,
	} {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", EnforcesReadOnly: true}
		if got := permission.Rules(nil).Decide(r, permission.AcceptEdits); got.Verdict != want {
			t.Errorf("%s in accept-edits: %s (%s), want %s", command, got.Verdict, got.Reason, want)
		}
	}
	link := permission.Request{Tool: "shell", Command: "ls > x", Workspace: "/work", Resolved: []string{"/etc/x"}}
	if got := permission.Rules(nil).Decide(link, permission.AcceptEdits); got.Verdict != k {
		t.Errorf("a redirection through a link out: %+v", got)
	}
}
