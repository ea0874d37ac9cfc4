package permission

import (
	"testing"

	"pawl/run"
)

// What a hook may answer in place of a person.
func TestWhatACallDoesInsideIsWhatNoRuleHasToSpell(t *testing.T) {
	t.Parallel()
	shell := func(command string) Request {
		return Request{Tool: "shell", Class: run.Writes, Command: command, Sandboxed: true, EnforcesReadOnly: true, Workspace: "/w"}
	}
	write := func(path string) Request {
		return Request{Tool: "write", Class: run.Writes, Edits: true, Paths: []string{path}, Resolved: []string{path}, Workspace: "/w"}
	}
	network := shell("npm ci")
	network.Sandbox = run.WithNetwork
	unconfined := shell("make")
	unconfined.Sandboxed = false
	link := write("notes.txt")
	link.Resolved = []string{"/etc/passwd"}
	for name, c := range map[string]struct {
		r  Request
		is bool
	}{
		"a file":                             {write("src/a.txt"), true},
		"a command that writes":              {shell("mkdir -p out && cp a out/b"), true},
		"one that deletes":                   {shell("rm -rf out"), true},
		"one that is known when it runs":     {shell(`for f in *; do frob "$f"; done`), true},
		"a redirection":                      {shell("make > log"), true},
		"what editors run":                   {write(".vscode/tasks.json"), false},
		"the hooks themselves":               {write(".claude/hooks/x.sh"), false},
		"what servers run":                   {write(".github/workflows/x.yml"), false},
		"a secret":                           {write("keys/id_rsa"), false},
		"a file outside":                     {write("/etc/passwd"), false},
		"a link that leads there":            {link, false},
		"a command that writes what is run":  {shell("cp a .vscode/tasks.json"), false},
		"one in its folder":                  {shell("cd .vscode && cp ../a tasks.json"), false},
		"a redirection to it":                {shell("echo x > .vscode/tasks.json"), false},
		"a command that shows a secret":      {shell("cat .env"), false},
		"what changes a file outside":        {shell("touch /etc/x"), false},
		"the network":                        {network, false},
		"a command without a sandbox":        {unconfined, false},
		"an address":                         {Request{Tool: "fetch", Class: run.Reads, URL: "https://example.com/?x"}, false},
		"a tool of a server":                 {Request{Tool: "mcp__a__b", Class: run.Writes, Arguments: map[string]string{}}, false},
		"what runs that come later are told": {Request{Tool: MemoryTool, Class: run.Writes}, false},
	} {
		if is := c.r.StaysInside(); is != c.is {
			t.Errorf("%s stays inside: %t", name, is)
		}
	}
}

// Inside the sandbox a command can only end what it has started itself: that is no reason for a question. A number is what
// somebody has looked up outside.
func TestACommandMayEndWhatItHasStarted(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]Verdict{
		"npm start & sleep 1; kill %1": Allow, "node s.js & sleep 1; kill $!": Allow, `node s.js & p=$!; sleep 1; kill -9 "$p"`: Allow,
		"kill 1234": Ask, "node s.js & kill -TERM 1234": Ask, "kill": Ask, "pkill node": Ask,
	} {
		r := Request{Tool: "shell", Class: run.Writes, Command: command, Sandboxed: true, EnforcesReadOnly: true, Contains: true, Workspace: "/w"}
		if d := (Rules{}).Decide(r, AcceptEdits); d.Verdict != want {
			t.Errorf("%s: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}
