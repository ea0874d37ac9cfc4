package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/agent"
	"pawl/permission"
	"pawl/policy"
	"pawl/run"
	"pawl/submission"
)

// A rig is a workspace and a user's folder with agents in both.
type rig struct {
	t               *testing.T
	workspace, user string
	home            string
	policy          *policy.Policy
	*agent.Roster
}

func newRig(t *testing.T) *rig {
	t.Helper()
	home := t.TempDir()
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, workspace: filepath.Join(real, "work"), user: filepath.Join(real, "config", "agents"), home: real}
	if err := os.MkdirAll(r.workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	r.policy, err = policy.Open(policy.Options{Workspace: r.workspace, ConfigDir: filepath.Join(real, "config"), StateDir: filepath.Join(real, "state"), System: filepath.Join(real, "none")})
	if err != nil {
		t.Fatal(err)
	}
	r.Roster = agent.New(agent.Options{
		User: r.user, Home: r.home, Policy: r.policy, Workspace: r.workspace,
		Tools: func() []string {
			return []string{"read", "list", "glob", "search", "fetch", "todo", "ask", "shell", "shell_output", "shell_stop", "write", "edit", "agent"}
		},
		Model: func(_ context.Context, model string) error {
			if model != "" && model != "good/model" {
				return fmt.Errorf("no key for %s", model)
			}
			return nil
		},
		Family: func(word string) string {
			if word == "sonnet" {
				return "good/model"
			}
			return ""
		},
	})
	return r
}

func (r *rig) write(path, content string) string {
	r.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.workspace, agent.Folder, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

func (r *rig) own(name, content string) string {
	return r.write(filepath.Join(r.user, name), content)
}

func (r *rig) trust() {
	r.t.Helper()
	changes, err := r.policy.Pending()
	if err == nil {
		err = r.policy.Trust(changes)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) get(name string) agent.Agent {
	r.t.Helper()
	a, err := r.Get(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

const greedy = `---
description: Helps.
kind: planner
model: good/model
tools: [read, shell, write]
permissions: {mode: accept-edits, allow: [shell(make *)], deny: [fetch]}
limits: {cost: 1000}
output: {schema: {type: object, properties: {n: {type: integer}}}}
---
Read everything.
`

func TestBeforeTrustOnlyTheTextOfAWorkspacesAgentCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := r.write("helper.md", greedy)
	r.write("developer.md", "Obey me.")
	a := r.get("helper")
	if a.Description != "Helps." || a.Kind != submission.Planner || a.Instructions != "Read everything." || a.Declared.Schema == "" || !a.Untrusted || a.Path != file {
		t.Errorf("its text does not count: %+v", a)
	}
	if a.Model != "" || a.Mode != "" || a.Rules != nil || a.Limits != (run.Limits{}) || a.Tools.Has("shell") || a.Tools.Has("write") || !a.Tools.Has("read") {
		t.Errorf("more than its text counts: %+v", a)
	}
	if d := r.get("developer"); d.Source != agent.BuiltIn || strings.Contains(d.Instructions, "Obey") {
		t.Errorf("a file that no one trusts replaces a built-in agent: %+v", d)
	}
	r.trust()
	a = r.get("helper")
	if a.Model != "good/model" || a.Mode != permission.AcceptEdits || len(a.Rules) != 2 || a.Limits.Cost != 1000 || a.Tools != run.Grant("read", "shell", "write") || a.Untrusted {
		t.Errorf("trusted: %+v", a)
	}
	if d := r.get("developer"); d.Source != agent.FromWorkspace || d.Instructions != "Obey me." {
		t.Errorf("a trusted file does not replace a built-in agent: %+v", d)
	}
	r.write("helper.md", strings.Replace(greedy, "1000", "2000", 1))
	if a = r.get("helper"); !a.Untrusted || a.Model != "" {
		t.Errorf("changed since: %+v", a)
	}
}

func TestWhatAWorkspaceNeverGrants(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("bypass.md", "---\npermissions: {mode: bypass}\n---\n")
	r.write("script.md", "---\nmodel: script/evil.jsonl\n---\n")
	r.write("all.md", "---\npermissions: {allow: [shell]}\n---\n")
	r.trust()
	for name, want := range map[string]string{
		"bypass": "mode bypass is never taken from a repository", "script": "a workspace cannot bring its own model", "all": "a repository cannot allow every command",
	} {
		a := r.get(name)
		if ok, why := r.Valid(t.Context(), a); ok || !strings.Contains(why, want) || a.Mode != "" || a.Model != "" || a.Rules != nil {
			t.Errorf("%s: %+v, %s", name, a, why)
		}
	}
	r.own("bypass.md", "---\npermissions: {mode: bypass}\n---\n")
	if a := r.get("bypass"); a.Mode != permission.Bypass || a.Source != agent.FromUser {
		t.Errorf("the user's own: %+v", a)
	}
}

func TestTheUsersAgentsComeFirstAndABrokenOneMakesNoRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("developer.md", "Of the workspace.")
	r.trust()
	r.own("developer.md", "Of the user.")
	r.own("writer.md", "---\nmodle: x\n---\n")
	r.own("README.md", "What is here.")
	r.own("notes.txt", "x")
	r.own("twice.md", "One.")
	r.own("twice.json", `{"instructions":"Two."}`)
	if a := r.get("developer"); a.Instructions != "Of the user." || a.Source != agent.FromUser {
		t.Errorf("%+v", a)
	}
	for name, want := range map[string]string{"writer": `line 2: there is no key "modle"`, "twice": "there are two files for it: "} {
		a := r.get(name)
		if ok, why := r.Valid(t.Context(), a); ok || !strings.HasPrefix(why, want) || a.Source != agent.FromUser {
			t.Errorf("%s: %+v: %s", name, a, why)
		}
	}
	all, err := r.All()
	var names []string
	for _, a := range all {
		names = append(names, a.Name)
	}
	if want := []string{"developer", "researcher", "reviewer", "task-validator", "twice", "writer"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
	_, err = r.Get("resercher")
	missing, ok := errors.AsType[*agent.NotFoundError](err)
	if !ok || err.Error() != `there is no agent "resercher"; did you mean "researcher"?; there are developer, researcher, reviewer, twice, writer` || missing.Name != "resercher" {
		t.Errorf("%v", err)
	}
}

func TestAnAgentThatCannotRunSaysWhy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.own("a.md", "---\ntools: [read, serch]\n---\n")
	r.own("b.md", "---\nmodel: bad/model\n---\n")
	r.own("c.md", "---\npermissions: {deny: [shel]}\n---\n")
	r.own("d.md", "---\nmodel: good/model\npermissions: {allow: [mcp__x__y]}\n---\n")
	for name, want := range map[string]string{
		"a": `there is no tool "serch"; did you mean "search"?`, "b": "no key for bad/model",
		"c": `permissions: the rule shel is for a tool that does not exist; did you mean "shell"?`, "d": "", "developer": "", "task-validator": "",
	} {
		if ok, why := r.Valid(t.Context(), r.get(name)); ok != (want == "") || why != want {
			t.Errorf("%s: %t, %s", name, ok, why)
		}
	}
}

func TestOfAnInternalAgentTheTextCanBeReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.get(agent.Validator)
	r.own("task-validator.md", "---\nkind: planner\nmodel: good/model\n---\nPlan in Latin.")
	a := r.get(agent.Validator)
	if a.Instructions != "Plan in Latin." || a.Model != "good/model" || a.Tools != before.Tools || a.Kind != before.Kind || a.Output() != before.Output() || !a.Internal || a.Description != before.Description {
		t.Errorf("%+v", a)
	}
	for _, front := range []string{"kind: worker", "kind: planner\ntools: [shell]", "kind: planner\noutput: {schema: {type: object}}", "kind: planner\npermissions: {mode: bypass}"} {
		file := "---\n" + front + "\n---\nPlan in Latin."
		r.own("task-validator.md", file)
		if ok, why := r.Valid(t.Context(), r.get(agent.Validator)); ok || !strings.HasPrefix(why, "task-validator is internal") {
			t.Errorf("%s: %s", front, why)
		}
		if _, err := r.SaveFile("task-validator.md", []byte(file), agent.FromUser); err == nil || !strings.HasPrefix(err.Error(), "task-validator is internal") {
			t.Errorf("%s: %v", front, err)
		}
	}
	if _, err := r.Remove("task-validator"); err != nil {
		t.Error(err)
	}
	if _, err := r.Remove("task-validator"); err == nil || !strings.Contains(err.Error(), "is built in and cannot be removed") {
		t.Errorf("%v", err)
	}
}

func TestAgentsAreCreatedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, to := range []agent.Source{agent.FromUser, agent.FromWorkspace} {
		a := agent.Agent{Name: "helper", Description: "Helps.", Kind: submission.Worker, Tools: run.Grant("read"), Instructions: "Help."}
		file, err := r.Save(a, to)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.get("helper"); got.Source != to || got.Path != file || got.Instructions != "Help." || got.Untrusted {
			t.Errorf("created: %+v", got)
		}
		mode := map[agent.Source]fs.FileMode{agent.FromUser: 0o600, agent.FromWorkspace: 0o644}[to]
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", file, info, err)
		}
		a.Instructions = "Help more."
		if _, err := r.Save(a, to); err != nil {
			t.Fatal(err)
		}
		if got := r.get("helper"); got.Instructions != "Help more." {
			t.Errorf("changed: %+v", got)
		}
		if _, err := r.SaveFile("helper.json", []byte("{}"), to); err == nil || !strings.Contains(err.Error(), "edit or remove that") {
			t.Errorf("the same agent in two files: %v", err)
		}
		if removed, err := r.Remove("helper"); err != nil || removed != file {
			t.Errorf("%s, %v", removed, err)
		}
		if _, err := r.Get("helper"); err == nil {
			t.Error("it is still there")
		}
	}
	if _, err := r.SaveFile("x.md", []byte("---\nmodle: x\n---\n"), agent.FromUser); err == nil || !strings.Contains(err.Error(), "x.md: line 2:") {
		t.Errorf("%v", err)
	}
	if _, err := r.SaveFile("../x.md", nil, agent.FromUser); err == nil {
		t.Error("a file outside of the folder was written")
	}
	// What no one has trusted is not trusted by changing it.
	r.write("strange.md", "Strange.")
	if _, err := r.Save(agent.Agent{Name: "strange", Kind: submission.Worker, Instructions: "x"}, agent.FromWorkspace); err == nil || !strings.Contains(err.Error(), "is not trusted as it is") {
		t.Errorf("%v", err)
	}
}

func TestFilesThatAreNoneOfTheUsersAreNotRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	outside := r.write(filepath.Join(r.workspace, "..", "outside.md"), "Outside.")
	file := r.own("open.md", "Open.")
	if err := errors.Join(os.Chmod(file, 0o666), os.Symlink(outside, filepath.Join(r.user, "link.md")), os.MkdirAll(filepath.Join(r.workspace, agent.Folder), 0o700),
		os.Symlink(outside, filepath.Join(r.workspace, agent.Folder, "here.md"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"open": "every user can write it", "link": "path escapes from parent", "here": "a link and no file"} {
		if a := r.get(name); !strings.Contains(a.Problem, want) || a.Instructions != "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
