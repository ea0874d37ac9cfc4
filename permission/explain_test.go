package permission_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
)

func TestAnExplanationShowsEveryPart(t *testing.T) {
	t.Parallel()
	rs := append(rules(t, permission.Allow, "git log *", "go test *"), rules(t, permission.Deny, "rm *")...)
	r := permission.Request{Tool: "shell", Command: "git log | sh; go test ./x > out", Workspace: "/work"}
	e := rs.Explain(r, permission.Default)
	if diff := cmp.Diff(rs.Decide(r, permission.Default), e.Decision); diff != "" {
		t.Errorf("Decide is not its summary (-decide +explain)\n%s", diff)
	}
	var parts []string
	for _, p := range e.Parts {
		parts = append(parts, string(p.Kind)+" "+p.Text+": "+string(p.Verdict)+" "+p.Rule)
	}
	want := []string{"form : ask ", "redirect > out: ask ", "command git log: allow shell(git log *)", "command sh: ask ", "command go test ./x: allow shell(go test *)"}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	text := e.String()
	for _, want := range []string{
		"ask: cannot check this command: a shell that reads its script from standard input\n",
		"allow command `git log`\n        it covers `git log`; rule shell(git log *) [test]",
		"deny rules: decided nothing", "allow rules: command `git log`: allow", "the tool's own default: form: ask, redirect `> out`: ask, command `sh`: ask",
		"runs without approval: `git log` on its own", "runs without approval: what the rule shell(go test *) covers",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not say %q:\n%s", want, text)
		}
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Decision struct{ Verdict, Reason string }
		Parts    []struct{ Kind, Text, Verdict, Rule, Source, Reason string }
		Steps    []struct{ Name string }
	}
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if read.Decision.Verdict != "ask" || len(read.Parts) != 5 || read.Parts[2].Rule != "shell(git log *)" || len(read.Steps) != 6 {
		t.Errorf("as JSON it is %s", data)
	}
}

// What an ask rule takes back from an allow rule is not said to run.
func TestARuleThatAsksIsExplained(t *testing.T) {
	t.Parallel()
	rs := slices.Concat(rules(t, permission.Allow, "ls *", "cat *"), rules(t, permission.Ask, "ls *"))
	text := rs.Explain(permission.Request{Tool: "shell", Command: "ls -l", Workspace: "/work"}, permission.Default).String()
	if !strings.HasPrefix(text, "ask: a rule asks: `ls -l`\n") || !strings.Contains(text, "what the rule shell(cat *) covers") || strings.Contains(text, "what the rule shell(ls *) covers") {
		t.Errorf("it is explained as\n%s", text)
	}
}

func TestWhatAPersonIsShownHidesNothing(t *testing.T) {
	t.Parallel()
	r := permission.Request{Tool: "shell", Command: "echo a\u202eb" + strings.Repeat(" ", 2000) + "; make", Workspace: "/work"}
	text := permission.Rules(nil).Explain(r, permission.Default).String()
	if strings.Contains(text, "\u202e") || !strings.Contains(text, `\u202e`) || strings.Contains(text, "    ;") || !strings.Contains(text, "command `make`") {
		t.Errorf("it reads:\n%s", text)
	}
}

// What asks without any rule is shown as the tool's own default.
func TestAnExplanationSaysWhichStepAsks(t *testing.T) {
	t.Parallel()
	for _, r := range []permission.Request{
		{Tool: "shell", Command: "git status", Runs: "core.fsmonitor"},
		{Tool: "shell", Command: "ls", LocalPrograms: []string{"ls"}},
		{Tool: "shell", Command: "frob"},
		{Tool: "shell", Command: "cat /etc/hosts"},
	} {
		r.Workspace, r.Sandboxed, r.EnforcesReadOnly = "/work", true, true
		for _, s := range permission.Rules(nil).Explain(r, permission.Default).Steps {
			if asks := s.Name == "the tool's own default"; (len(s.Parts) == 1) != asks {
				t.Errorf("%s, %s: %v", r.Command, s.Name, s.Parts)
			}
		}
	}
}
