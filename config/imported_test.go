package config

import (
	"strings"
	"testing"

	"pawl/permission"
	"pawl/run"
)

// said says what a rule of another agent became: pawl's rules, what is lost after a semicolon, or why nothing did.
func said(i Imported) string {
	if i.Why != "" {
		return "- " + i.Why
	}
	var all []string
	for _, r := range i.Rules {
		all = append(all, r.String())
	}
	s := strings.Join(all, " ")
	if i.Lost != "" {
		s += " ; " + i.Lost
	}
	return s
}

func TestRulesOfClaudeCodeAreTakenAndNoneWiderThanItIs(t *testing.T) {
	t.Parallel()
	const allow, deny = permission.Allow, permission.Deny
	for _, c := range []struct {
		effect permission.Verdict
		given  string
		want   string
	}{
		{allow, "Bash(git log:*)", "shell(git log *)"},
		{allow, "Bash(npm run build)", "shell(npm run build)"},
		{allow, "Bash(ls *)", "shell(ls *)"},
		{allow, "Bash", "shell"},
		{allow, "Bash(*)", "shell"},
		{allow, "Bash(ls*)", "shell(ls*) ; here * stays within a word"},
		{deny, "Bash(ls*)", "shell(ls* *)"},
		{allow, "Bash(rm * --dry-run)", "- here * also stands for no word, which would allow more"},
		{deny, "Bash(git * --force)", "shell(git * --force)"},
		{allow, "Bash(* install)", "- here * also stands for no word, which would allow more"},
		{deny, "Bash(curl *evil.example*)", "shell(curl *evil.example*) ; here * stays within a word"},
		{allow, "Bash(echo $HOME)", `- it has "$", which means something else in a pattern here`},
		{deny, "Bash(run_in_background:true)", "- it is for an argument of the tool"},
		{allow, "Read", "read"},
		{allow, "Edit", "edit write"},
		{deny, "Edit(src/**)", "edit(src/**)"},
		{allow, "Edit(docs/**)", "edit(docs/**) write(docs/**)"},
		{deny, "Read(.env)", "read(**/.env) read(**/.env/**)"},
		{allow, "Read(*.md)", "read(**/*.md)"},
		{deny, "Read(./secrets/)", "read(secrets/**)"},
		{allow, "Read(//etc/hosts)", "read(/etc/hosts)"},
		{deny, "Read(~/.ssh/**)", "read(/home/ann/.ssh/**)"},
		{allow, "Read(/src/**)", "- it begins at the folder of the settings, which is another here"},
		{allow, "Read(//**)", "read(/**)"},
		{allow, "Read(~bob/x)", "- it names the home of another user"},
		{allow, "Read(!x)", "- its pattern has characters that mean something else here"},
		{allow, "WebFetch(domain:example.com)", "fetch(example.com)"},
		{allow, "WebFetch(https://example.com)", "- its pattern is not one of pawl's"},
		{allow, "WebSearch", "- pawl has no tool that does what WebSearch does"},
		{allow, "Task(researcher)", "- a rule for agent has no pattern here"},
		{allow, "Skill(pdf)", "- a rule for skill has no pattern here"},
		{allow, "mcp__github", "mcp__github__*"},
		{allow, "mcp__github__*", "mcp__github__*"},
		{allow, "mcp__github__create_issue", "mcp__github__create_issue"},
		{allow, "mcp__github__create_issue(owner:x)", "- its pattern is not one of pawl's"},
		{allow, "*", "- pawl has no tool *"},
		{allow, "Bash(", "- it has no closing parenthesis at its end"},
		{allow, "Ba\x1bsh", `- pawl has no tool Ba\u001bsh`},
		{allow, "", "- pawl has no tool "},
	} {
		if got := said(importClaude(c.effect, c.given, "/home/ann")); got != c.want {
			t.Errorf("%s %s\n is  %s\n not %s", c.effect, c.given, got, c.want)
		}
	}
}

func TestRulesOfOpenCodeAndGeminiAreTakenAndNoneWiderThanItIs(t *testing.T) {
	t.Parallel()
	const allow, deny = permission.Allow, permission.Deny
	for _, c := range []struct {
		i    Imported
		want string
	}{
		{importOpenCode(allow, "bash", "git *"), "shell(git *)"},
		{importOpenCode(deny, "bash", "rm*"), "shell(rm* *)"},
		{importOpenCode(allow, "edit", ""), "edit write"},
		{importOpenCode(allow, "edit", "docs/*"), "edit(docs/**) write(docs/**)"},
		{importOpenCode(deny, "read", "*.env"), "read(**/*.env)"},
		{importOpenCode(deny, "edit", "packages/*.mdx"), "edit(packages/*.mdx) ; here * stays within the name of a file"},
		{importOpenCode(allow, "edit", "~/x/*"), "- a path outside of the workspace is allowed by more than this there: write a rule for it"},
		{importOpenCode(allow, "webfetch", "https://x"), "- a rule for fetch has no such pattern here"},
		{importOpenCode(allow, "external_directory", "*"), "- pawl has nothing that is called external_directory there"},
		{importGemini(allow, "run_shell_command", "git status"), "shell(git status *)"},
		{importGemini(allow, "ShellTool", ""), "shell"},
		{importGemini(allow, "run_shell_command", "a*"), "- it has *, which stands for itself there"},
		{importGemini(allow, "run_shell_command", "a && b"), `- it has "&", which means something else in a pattern here`},
		{importGemini(deny, "replace", ""), "edit"},
		{importGemini(allow, "google_web_search", ""), "- pawl has no tool that does what google_web_search does"},
		{importWords(deny, []string{"git", "push", "it's * here"}), `shell(git push "it's * here" *)`},
	} {
		if got := said(c.i); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// The rules that were taken are asked: what was denied or allowed there is here too.
func TestImportedRulesDecideWhatTheyDecidedThere(t *testing.T) {
	t.Parallel()
	rules := func(effect permission.Verdict, given string) permission.Rules {
		return importClaude(effect, given, "/home/ann").Rules
	}
	read := func(path string) permission.Request {
		return permission.Request{Tool: "read", Class: run.Reads, Paths: []string{path}, Workspace: "/w"}
	}
	shell := func(command string) permission.Request {
		return permission.Request{Tool: "shell", Command: command, Workspace: "/w"}
	}
	write := permission.Request{Tool: "write", Class: run.Writes, Edits: true, Paths: []string{"go.mod"}, Workspace: "/w"}
	for _, c := range []struct {
		rules permission.Rules
		r     permission.Request
		want  permission.Verdict
	}{
		{rules(permission.Deny, "Read(.env)"), read("a/.env"), permission.Deny},
		{rules(permission.Deny, "Read(.env)"), read(".env"), permission.Deny},
		{rules(permission.Deny, "Read(private)"), read("x/private/y"), permission.Deny},
		{rules(permission.Deny, "Read(~/.ssh/**)"), read("/home/ann/.ssh/id"), permission.Deny},
		{rules(permission.Deny, "Edit(go.mod)"), write, permission.Deny},
		{rules(permission.Deny, "Bash(git push:*)"), shell("cd x && git push --force"), permission.Deny},
		{rules(permission.Deny, "Bash(make*)"), shell("make all"), permission.Deny},
		{rules(permission.Allow, "Bash(go test:*)"), shell("go test ./..."), permission.Allow},
		{rules(permission.Allow, "Bash(go test:*)"), shell("go test ./... && go run ."), permission.Ask},
	} {
		if d := c.rules.Decide(c.r, permission.Default); d.Verdict != c.want {
			t.Errorf("%v decides on %s %v: %+v", c.rules, c.r.Command, c.r.Paths, d)
		}
	}
}
