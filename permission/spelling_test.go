package permission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pawl/internal/golden"
	"pawl/permission"
	"pawl/permission/filenames"
	"pawl/permission/spelling"
	"pawl/run"
)

// What a person reads of the tools and the rules of other agents, and of rules that match
// nothing.
func TestWhatIsSaidOfTheToolsOfOthers(t *testing.T) {
	t.Parallel()
	tools := strings.Fields("ask edit fetch glob list mcp__x__y read search shell shell_output shell_stop todo write")
	var b strings.Builder
	for _, name := range strings.Fields("Agent apply_patch AskUserQuestion Bash BashOutput Edit exec_command Fetch Glob google_web_search Grep grep_search KillBash KillShell List " +
		"list_directory local_shell LS MultiEdit NotebookEdit NotebookRead patch Read read_file read_many_files replace run_shell_command Search search_file_content shell ShellTool Skill " +
		"Task TaskOutput TaskStop TodoRead TodoWrite update_plan web_fetch WebFetch WebSearch Write write_file frob shel mcp__x__y") {
		same, known := spelling.Same(name, tools)
		fmt.Fprintf(&b, "%s: %v, %t%s; here with patterns: %t\n", name, same, known, spelling.DidYouMean(name, tools), spelling.HasPattern(name))
	}
	for _, given := range []string{
		"Bash", "Bash(*)", "Bash(ls)", "Bash(ls:*)", "Bash(:*)", "Bash(git log:*)", "bash(ls *)", "shell(ls:*)", "shell(npm run test:*)", "shell(:*)", "shell(*)", "shell(ls)",
		"run_shell_command(git)", "run_shell_command", "ShellTool(git log)", "WebFetch(domain:example.com)", "WebFetch", "fetch(domain:example.com)", "fetch(example.com)",
		"Read(//etc/hosts)", "Read(/src/**)", "Read(./src)", "Read(~/x)", "Read(~)", "Read", "Edit(src/**)", "Write(a)", "MultiEdit(a)", "NotebookEdit(a)", "Grep(x)", "Glob(*.go)", "LS(/)",
		"Task(x)", "WebSearch", "Agent", "read(//etc)", "read(~/x)", "edit(../x)", "edit(/x)", "edit(a/../../b)", "edit(..)", "glob(x)", "list(x)", "search(x)", "write(x)",
		"todo(x)", "todo", "ask(x)", "mcp__x__y", "mcp__x__y(z)", "mcp__x", "mcp____y", "mcp__x__", "frob", "frob(x)", "shel(x)", "Bash(ls", "shell(", "", "(x)", " Bash(ls) ",
		"all", "everything", "all(x)", "kubernetes", "kubernetes(x)", "shell(a), edit", "shell go test", "go test", "*", "shell*", "edit(/)", "read(//)", "edit(/x)",
	} {
		ours, why := spelling.Translate(given)
		r, err := permission.ParseTyped(given, tools)
		parsed := r.String()
		if err != nil {
			parsed = err.Error()
			if r.Tool != "" {
				parsed += " of " + r.Tool
			}
		}
		fmt.Fprintf(&b, "%q: %q%s\n\ttyped: %s\n", given, ours, why, parsed)
	}
	golden.Compare(t, "spelling.golden", []byte(b.String()))
}

// All of what `pawl permissions explain` shows of calls, under rules of every effect.
func TestWhatAnExplanationSays(t *testing.T) {
	t.Parallel()
	rs := slices.Concat(rules(t, permission.Allow, "git log *", "go test *", "edit(src/**)", "fetch(*.example.com)"), rules(t, permission.Deny, "rm *", "write(secret/**)"),
		rules(t, permission.Ask, "git push *", "read(private/**)"))
	shell := func(command string) permission.Request {
		return permission.Request{Tool: "shell", Command: command, Class: permission.Classify(command).Class, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true}
	}
	file := func(tool string, path string) permission.Request {
		return permission.Request{Tool: tool, Paths: []string{path}, Resolved: []string{path}, Class: run.Writes, Edits: tool != "read", Workspace: "/work"}
	}
	read := file("read", "private/a")
	read.Class = run.Reads
	var b strings.Builder
	for _, r := range []permission.Request{
		shell("git log -p"), shell("git log | head; make"), shell("git push origin main"), shell("rm x && ls"), shell("go test ./... > out"), shell("eval ls"),
		file("edit", "src/a.go"), file("edit", "b.go"), file("write", "secret/x"), file("edit", "/etc/hosts"), file("edit", ".git/config"), file("edit", ".env"), read,
		{Tool: "fetch", URL: "https://www.example.com/x", Class: run.Reads, Workspace: "/work"}, {Tool: "fetch", URL: "http://10.0.0.1/", Class: run.Reads, Workspace: "/work"},
		{Tool: "fetch", URL: "https://example.com@evil.test/", Class: run.Reads, Workspace: "/work"}, {Tool: "todo", Class: run.Resumable, Workspace: "/work"},
		{Tool: "mcp__x__y", Class: run.Writes, Workspace: "/work"},
	} {
		for _, mode := range []permission.Mode{permission.Default, permission.Plan, permission.AcceptEdits, permission.Bypass} {
			fmt.Fprintf(&b, "== %s\n%s\n", mode, strings.TrimSpace(rs.Explain(r, mode).String()))
			p := rs.Propose(r, mode, nil)
			fmt.Fprintf(&b, "always: %v, never: %v, exact: %t; %s\n", texts(p.Rules), texts(p.Deny), p.Exact, p.Reason)
		}
	}
	golden.Compare(t, "explained.golden", []byte(b.String()))
}

func TestTheStricterOfTwoModes(t *testing.T) {
	t.Parallel()
	order := []permission.Mode{permission.Plan, permission.Default, permission.AcceptEdits, permission.Auto, permission.Bypass}
	for i, m := range order {
		for j, n := range order {
			if got, want := permission.Stricter(m, n), order[min(i, j)]; got != want {
				t.Errorf("of %s and %s: %s, want %s", m, n, got, want)
			}
		}
		if got, want := permission.Stricter(m, ""), permission.Stricter(m, permission.Default); got != want {
			t.Errorf("of %s and none: %s, want %s", m, got, want)
		}
		for _, s := range []permission.Scope{permission.FromRepository, permission.ForUser} {
			if err := permission.CheckMode(m, s); (err != nil) != ((m == permission.Auto || m == permission.Bypass) && s == permission.FromRepository) {
				t.Errorf("%s of the %s: %v", m, s, err)
			}
		}
	}
	if err := permission.CheckMode("yolo", permission.ForUser); err == nil || err.Error() != `unknown mode "yolo": must be default, accept-edits, auto, plan or bypass` {
		t.Errorf("%v", err)
	}
	if permission.Stricter("", "") != permission.Default {
		t.Error("no mode is not the default one")
	}
}

func TestNamesThatMayHoldSecrets(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{".env": true, ".env.local": true, ".env.example": false, "a.go": false, "id_rsa": true, ".ssh/config": true, ".netrc": true, "server.pem": true} {
		if got := filenames.Secret(name); (got != "") != want {
			t.Errorf("%s may hold secrets: %q", name, got)
		}
	}
}
