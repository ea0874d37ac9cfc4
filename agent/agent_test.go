package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/agent"
	"pawl/permission"
	"pawl/run"
	"pawl/submission"
)

// whole has every key of a file.
const whole = `---
name: auditor
description: Looks for risks.
kind: worker
provider: openrouter
model: anthropic/claude-sonnet-5-5
tools: [read, search, shell]
permissions:
  mode: accept-edits
  allow: [shell(go test *)]
  ask: [fetch]
  deny: ["shell(git push *)", write]
output:
  tool: risks
  schema: {type: object, properties: {risks: {type: array, items: {type: string}}, count: {type: integer, minimum: 0}}, required: [risks]}
limits: {steps: 50, calls: 100, tokens: 1000000, cost: 1.5, time: 20m}
---

You look for risks.

Report them all.
`

func TestEveryKeyOfAFileIsRead(t *testing.T) {
	t.Parallel()
	a, err := agent.Parse("/x/auditor.md", []byte(whole), nil)
	if err != nil {
		t.Fatal(err)
	}
	rule := func(effect permission.Verdict, text string) permission.Rule {
		r, err := permission.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Effect, r.Scope = effect, permission.ForRun
		return r
	}
	want := agent.Agent{
		Name: "auditor", Description: "Looks for risks.", Kind: submission.Worker, Model: "openrouter/anthropic/claude-sonnet-5-5",
		Tools: run.Grant("read", "search", "shell"), Mode: permission.AcceptEdits,
		Rules:    permission.Rules{rule("allow", "shell(go test *)"), rule("ask", "fetch"), rule("deny", "shell(git push *)"), rule("deny", "write")},
		Declared: submission.Required("risks", `{"type":"object","properties":{"risks":{"type":"array","items":{"type":"string"}},"count":{"type":"integer","minimum":0}},"required":["risks"]}`),
		Limits:   run.Limits{Steps: 50, Calls: 100, Tokens: 1_000_000, Cost: 1.5, Wall: 20 * time.Minute},

		Instructions: "You look for risks.\n\nReport them all.",
	}
	if diff := cmp.Diff(texts(want), texts(a)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if o := a.Output(); o != want.Declared {
		t.Errorf("it has to submit %+v", o)
	}
}

// texts returns an agent whose rules can be compared.
func texts(a agent.Agent) any {
	type comparable struct {
		agent.Agent
		Texts []string
	}
	c := comparable{Agent: a}
	for _, r := range a.Rules {
		c.Texts = append(c.Texts, string(r.Effect)+" "+r.String()+" "+string(r.Scope))
	}
	c.Rules = nil
	return c
}

func TestAFileThatWasWrittenIsReadAsItWas(t *testing.T) {
	t.Parallel()
	a, err := agent.Parse("auditor.md", []byte(whole), nil)
	if err != nil {
		t.Fatal(err)
	}
	none := agent.Agent{Name: "none", Kind: submission.Planner, Tools: run.Grant(), Limits: run.Limits{Steps: -1, Wall: -1, Cost: -1},
		Description: `A "quoted": one #1`, Instructions: "---\nIt has a line like that."}
	for _, a := range append(agent.Seeds(), a, none) {
		text, err := agent.Format(a)
		if err != nil {
			t.Fatal(err)
		}
		again, err := agent.Parse(a.Name+".md", text, nil)
		a.Source, a.Internal = "", false
		if diff := cmp.Diff(texts(a), texts(again)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s\n(-was +is)\n%s", a.Name, err, text, diff)
		}
	}
}

func TestAnAgentCanBeJSON(t *testing.T) {
	t.Parallel()
	a, err := agent.Parse("auditor.json", []byte(`{
	"description": "Looks for risks \ud83d\ude00.",
	"model": "anthropic/claude-sonnet-5-5",
	"tools": ["read"],
	"limits": {"cost": 2, "time": "90s"},
	"output": {"schema": {"type": "object", "properties": {"n": {"type": "number", "minimum": 1e3}}}},
	"instructions": "You look for risks.\nAll of them."
}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Description != "Looks for risks 😀." || a.Tools != run.Grant("read") || a.Limits != (run.Limits{Cost: 2, Wall: 90 * time.Second}) || a.Instructions != "You look for risks.\nAll of them." ||
		a.Declared.Tool != "submit_result" || a.Declared.Schema != `{"type":"object","properties":{"n":{"type":"number","minimum":1e3}}}` {
		t.Errorf("%+v", a)
	}
}

func TestMistakesInAFileNameTheLineAndWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, content, want string }{
		{"a.md", "---\ndescription: x\ntool: [read]\nmodle: a/b\n---\n",
			`line 3: there is no key "tool"; did you mean "tools"?; there are name, description, kind, provider, model, tools, mcp, permissions, output, limits, isolation, instructions` + "\n" +
				`line 4: there is no key "modle"; did you mean "model"?; there are name, description, kind, provider, model, tools, mcp, permissions, output, limits, isolation, instructions`},
		{"a.json", "{\n \"description\": \"x\",\n \"limit\": {}\n}",
			`line 3: there is no key "limit"; did you mean "limits"?; there are name, description, kind, provider, model, tools, mcp, permissions, output, limits, isolation, instructions`},
		{"a.md", "---\nname: b\n---\n", `line 2: the name is "b" and the file is for "a": rename one of them`},
		{"a.md", "---\nkind: plan\n---\n", `line 2: there is no kind "plan"; there are planner, worker`},
		{"a.md", "---\nkind: [worker]\n---\n", "line 2: kind must be a string"},
		{"a.md", "---\nmodel: gpt\n---\n", `line 2: unknown model "gpt"; use PROVIDER/NAME`},
		{"a.md", "---\nprovider: openai\n---\n", `line 2: a provider without a model`},
		{"a.md", "---\ntools: [read, completion_report]\n---\n", "line 2: the tool completion_report cannot be granted: the kind of an agent decides whether it has it"},
		{"a.md", "---\ntools:\n  - read(x)\n---\n", `line 3: "read(x)" is not the name of a tool`},
		{"a.md", "---\npermissions:\n  mode: yolo\n---\n", `line 3: unknown mode "yolo": must be default, accept-edits, auto, plan or bypass`},
		{"a.md", "---\npermissions:\n  allow: shell\n---\n", `line 3: allow must be a list of strings`},
		{"a.md", "---\npermissions:\n  deny: ['shell(rm']\n---\n", `line 3: rule "shell(rm": no closing parenthesis at its end; write Tool or Tool(pattern)`},
		{"a.md", "---\npermissions:\n  forbid: []\n---\n", `line 3: there is no key "forbid"; there are mode, allow, ask, deny`},
		{"a.md", "---\noutput: {tool: planner-output, schema: {type: object}}\n---\n", `line 2: "planner-output" cannot be the name of the tool of an output`},
		{"a.md", "---\noutput: {tool: x}\n---\n", `line 2: output needs a schema`},
		{"a.md", "---\noutput:\n  schema: {type: objekt}\n---\n", `line 3: the schema of the output: the schema cannot be used: result: type is "objekt": there is no type "objekt"`},
		{"a.md", "---\nlimits: {steps: 0}\n---\n", `line 2: steps must be a positive integer, or -1 for no limit`},
		{"a.md", "---\nlimits: {cost: free}\n---\n", `line 2: cost must be a number of US dollars, or -1 for no limit`},
		{"a.md", "---\nlimits: {time: 5}\n---\n", `line 2: time must be a duration as 90s, 20m or 2h, or -1 for no limit`},
		{"a.md", "---\nkind: worker\nkind: worker\n---\n", `line 3: the key "kind" is there twice`},
		{"a.md", "---\ndescription: &x y\nmodel: *x\n---\n", `line 3: aliases (*name) cannot be used here`},
		{"a.md", "---\ndescription: [\n---\n", `line 2: the front matter is not YAML: did not find`},
		{"a.md", "---\nkind: worker\n", `line 1: the front matter has no end: a line ---`},
		{"a.md", "---\n- a\n---\n", `line 2: an agent must be an object with the keys `},
		{"a.md", "---\ninstructions: x\n---\n", `line 2: the instructions of a Markdown file are the text after the front matter`},
		{"a.json", "{\"a\":\n}", `line 1: not JSON: missing value`},
		{"a.json", "{} {}", `line 1: not JSON: there is something after the object`},
		{"a.json", strings.Repeat("[", 200), `line 1: it is nested too deep`},
		{"A.md", "", `the name "A" must have the form ^[a-z0-9][a-z0-9-]{0,63}$`},
		{"a.md", "\x00", "it is not text in UTF-8"},
		{"a.md", strings.Repeat("x", 65<<10), "it has more than 64 KB"},
		{"a.md", strings.Repeat("x", 40<<10), "the instructions have more than 32 KB: they go into every request"},
		{"a.txt", "", `an agent is a file .md or .json, not ".txt"`},
	} {
		_, err := agent.Parse(c.file, []byte(c.content), nil)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%.60q:\n got %v\nwant %s", c.content, err, c.want)
		}
	}
}

func TestTheBuiltInAgentsAreGood(t *testing.T) {
	t.Parallel()
	var names []string
	for _, a := range agent.Seeds() {
		names = append(names, a.Name)
		text, err := agent.Format(a)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); lines > 65 {
			t.Errorf("%s has %d lines", a.Name, lines)
		}
		if a.Description == "" || a.Model != "" || a.Mode != "" || a.Internal != (a.Name == agent.Validator) {
			t.Errorf("%s: %+v", a.Name, a)
		}
		for _, heading := range []string{"\nFirst\n", "\nVerify\n"} {
			if !strings.Contains(a.Instructions, heading) {
				t.Errorf("%s has no part %q", a.Name, heading)
			}
		}
	}
	if want := []string{"developer", "researcher", "reviewer", "task-validator", "writer"}; !cmp.Equal(names, want) {
		t.Errorf("there are %q", names)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a.md", whole)
	f.Add("a.json", `{"tools":["read"],"limits":{"steps":1}}`)
	f.Fuzz(func(t *testing.T, file, content string) {
		a, err := agent.Parse(file, []byte(content), nil)
		if err != nil {
			return
		}
		text, err := agent.Format(a)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 60<<10 {
			return // what stood there in a shorter form may be too long
		}
		again, err := agent.Parse(a.Name+".md", text, nil)
		if err != nil {
			t.Fatalf("%q became\n%s\n%v", content, text, err)
		}
		if diff := cmp.Diff(texts(a), texts(again)); diff != "" {
			t.Fatalf("%q became\n%s\n%s", content, text, diff)
		}
	})
}

func TestAnAgentNamesItsServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		front string
		want  run.Grants
	}{
		{"mcp: [github, docs]", run.Grant("*", "mcp__docs__*", "mcp__github__*")},
		{"mcp: []", run.Grant("*")},
		{"tools: [read]\nmcp: github", run.Grant("read", "mcp__github__*")},
		{"tools: [read, mcp__docs__find]", run.Grant("read", "mcp__docs__find")},
	} {
		a, err := agent.Parse("a.md", []byte("---\n"+c.front+"\n---\nWork.\n"), nil)
		if err != nil || a.Tools != c.want {
			t.Errorf("%s: it is granted %q, want %q: %v", c.front, a.Tools, c.want, err)
		}
		file, err := agent.Format(a)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := agent.Parse("a.md", file, nil); err != nil || again.Tools != c.want {
			t.Errorf("%s: written and read again it is granted %q: %v", c.front, again.Tools, err)
		}
	}
	if _, err := agent.Parse("a.md", []byte("---\nmcp: ['a b']\n---\n"), nil); err == nil {
		t.Error("a name that no server can have is taken")
	}
}
