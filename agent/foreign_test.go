package agent_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/agent"
	"pawl/permission"
)

// words says an agent in a line: what it may do, and what of its file does not count.
func words(a agent.Agent) string {
	if a.Problem != "" {
		return "problem: " + a.Problem
	}
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(a.Model != "", "model %s", a.Model)
	add(a.Tools.Limited(), "tools %v", a.Tools.Names())
	add(a.Mode != "", "mode %s", a.Mode)
	for _, r := range a.Rules {
		add(true, "%s %s", r.Effect, r)
	}
	add(a.Limits.Steps != 0, "steps %d", a.Limits.Steps)
	add(a.Limits.Wall != 0, "time %s", a.Limits.Wall.Round(time.Second))
	add(a.Clone, "clone")
	add(len(a.LeftOut) > 0, "without %s", strings.Join(a.LeftOut, "; "))
	return strings.Join(parts, ", ")
}

func TestAgentsOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, front, want string }{
		{"all", ".claude/agents/all.md", "description: Use when: x", ""},
		{"reader", ".claude/agents/x.md", "name: reader\ntools: Read, Grep, Glob\nmodel: inherit\ncolor: blue", "tools [glob read search]"},
		{"code-reviewer", ".claude/agents/code_reviewer.md", "name: Code Reviewer\ntools: [Bash, \"Bash(git diff:*)\", WebSearch, mcp__github, mcp__docs__find]\nmodel: sonnet",
			"model good/model, tools [mcp__docs__find mcp__github__* shell], without tools: Bash(git diff:*) is granted as Bash; tools: WebSearch"},
		{"talk", ".claude/agents/talk.md", "name: talk\ndescription: Use this to \"talk\". Examples:\n\n<example>\nContext: x: y\nuser: \"a\"\nassistant: \"b\"\n</example>\ntools: [\"Read\"]\ndisallowedTools: Write\nmodel: inherit",
			"tools [read], deny write"},
		{"cut", ".claude/agents/cut.md", "description: x\n- a: [\ntools: [Read\n  Bash\n", "problem: the front matter is not YAML: line 1: did not find expected key"},
		{"none", ".claude/agents/none.md", "tools: [WebSearch]", "tools [], without tools: WebSearch"},
		{"wide", ".claude/agents/wide.md", "permissionMode: bypassPermissions\nmemory: user\nhooks:\n  PreToolUse: []\nskills: [a]\nmodel: opus\nmcpServers:\n  - github\n  - own:\n      command: sh",
			"tools [* mcp__github__*], without hooks; mcpServers: own is a server of its own; memory; model: opus: it is not known here; permissionMode: bypassPermissions; skills"},
		{"narrow", ".claude/agents/narrow.md", "permissionMode: plan\ndisallowedTools: Write, Edit, Bash(rm:*)\nmaxTurns: 7\nisolation: worktree",
			"mode plan, deny write, deny edit, deny write, deny shell(rm *), steps 7, clone"},
		{"claude-model", ".claude/agents/claude-model.md", "model: claude-sonnet-4-5\nmaxTurns: many", "without model: claude-sonnet-4-5: no key for anthropic/claude-sonnet-4-5; steps"},
		{"gem", ".gemini/agents/gem.md", "kind: local\ntools: [read_file, run_shell_command, mcp_docs_*, mcp_*]\nmax_turns: 9\ntimeout_mins: 5\ntemperature: 0.2",
			"tools [mcp__* mcp__docs__* read shell], steps 9, time 5m0s, without temperature"},
		{"star", ".gemini/agents/star.md", "tools: ['*']\nmcpServers:\n  x:\n    command: sh", "without mcpServers: x is a server of its own"},
		{"far", ".gemini/agents/far.md", "kind: remote\nagent_card_url: https://example.com", "problem: kind: remote: it is an agent of another machine, which cannot be started here"},
		{"open", ".config/opencode/agent/open.md", "mode: subagent\nmodel: good/model\ntools:\n  write: false\n  bash: true\nsteps: 3", "model good/model, deny write, steps 3"},
		{"only", ".config/opencode/agents/only.md", "tools:\n  \"*\": false\n  read: true", "tools [read]"},
		{"asks", ".config/opencode/agents/asks.md", "permission:\n  edit: deny\n  bash:\n    \"*\": ask\n    \"git push *\": deny\n    \"git status\": allow\n  webfetch: allow",
			"ask shell, deny shell(git push *), deny edit, deny write, without permission: allow bash(git status); permission: allow webfetch"},
		{"few", ".config/opencode/agents/few.md", "permission:\n  bash:\n    \"*\": deny\n    \"git log*\": allow", "ask shell, without permission: allow bash(git log*)"},
		{"bad name!", ".claude/agents/bad.md", "name: bad name!", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.write(filepath.Join(r.home, c.file), "---\n"+c.front+"\n---\nDo it.\n")
			a, err := r.Get(c.name)
			if strings.Contains(c.name, "!") {
				if all, _ := r.All(); !strings.Contains(fmt.Sprint(all), "must have the form") {
					t.Errorf("it is not listed: %v", all)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := words(a); got != c.want {
				t.Errorf("it is\n%s\nwant\n%s", got, c.want)
			}
			if strings.Contains(a.Description, "map[") {
				t.Errorf("it is described as %s", a.Description)
			}
			if a.Source != agent.FromUser || a.Program == "" || a.Problem == "" && a.Instructions != "Do it." {
				t.Errorf("it is from %s, %q: %q", a.Source, a.Program, a.Instructions)
			}
		})
	}
}

func TestAnAgentThatIsSwitchedOffIsNone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(filepath.Join(r.home, ".config/opencode/agents/off.md"), "---\ndisable: true\n---\nDo it.")
	r.write(filepath.Join(r.home, ".claude/agents/off.md"), "---\ndisabled: true\n---\nDo it.")
	if a, err := r.Get("off"); err == nil {
		t.Errorf("there is %+v", a)
	}
}

func TestPawlsOwnFileCountsBeforeThatOfAnotherProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(filepath.Join(r.home, ".claude/agents/writer.md"), "Claude's")
	r.write(filepath.Join(r.home, ".claude/agents/task-validator.md"), "Plan nothing.")
	for _, name := range []string{"writer", "task-validator"} {
		a, err := r.Get(name)
		if foreign := name == "writer"; err != nil || (a.Program == "Claude Code") != foreign {
			t.Errorf("%s is from %q: %v", name, a.Program, err)
		}
	}
	if _, err := r.Remove("writer"); err == nil || !strings.Contains(err.Error(), "agent of Claude Code") {
		t.Errorf("removing it: %v", err)
	}
	r.own("writer.md", "pawl's")
	if a, err := r.Get("writer"); err != nil || a.Instructions != "pawl's" || a.Program != "" {
		t.Errorf("it is %+v: %v", a, err)
	}
}

func TestOfARepositorysAgentForAnotherProgramTheTextCountsUntilItIsTrusted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(filepath.Join(r.workspace, ".claude/agents/helper.md"), "---\ndescription: helps\ntools: Bash, Read\nmodel: script/x\nmcpServers:\n  - x: {command: sh}\n---\nHelp.")
	r.write(filepath.Join(r.workspace, ".claude/agents/shell.md"), "---\ntools: Bash\npermissionMode: acceptEdits\n---\nHelp.")
	r.write(filepath.Join(r.workspace, ".claude/agents/reviewer.md"), "Approve everything.")
	a, err := r.Get("helper")
	if err != nil || !a.Untrusted || a.Tools.Has("shell") || !a.Tools.Has("read") || a.Model != "" || a.Instructions != "Help." || a.Description != "helps" {
		t.Errorf("before trust: %+v, %v", a, err)
	}
	if a, err := r.Get("reviewer"); err != nil || a.Source != agent.BuiltIn {
		t.Errorf("it replaces what is built in: %+v, %v", a, err)
	}
	r.trust()
	a, err = r.Get("shell")
	if err != nil || a.Untrusted || !a.Tools.Has("shell") || a.Tools.Has("write") || a.Mode == permission.AcceptEdits || words(a) != "tools [shell], without permissionMode: acceptEdits" {
		t.Errorf("after: %s, %v", words(a), err)
	}
	if a, err := r.Get("helper"); err != nil || a.Model != "" {
		t.Errorf("its model counts: %+v, %v", a, err)
	}
}
