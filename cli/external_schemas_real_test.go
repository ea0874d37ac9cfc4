//go:build unix

package cli

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pawl/app"
	"pawl/external/externaltest"
	"pawl/submission"
)

// toolName is what the providers take as the name of a tool.
var toolName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// refused returns why a provider would refuse the schema of a tool, and with it the whole request; empty: it would not.
func refused(kind string, schema any) string {
	root, ok := schema.(map[string]any)
	if !ok {
		return "it is no object"
	}
	if kind, _ := root["type"].(string); !strings.EqualFold(kind, "object") {
		return "its type is not object"
	}
	for _, union := range []string{"oneOf", "allOf", "anyOf", "enum", "not"} {
		if root[union] != nil && (kind != "gemini-cli" || union != "anyOf") { // Gemini takes that one
			return union + " stands at the top"
		}
	}
	b, err := json.Marshal(schema)
	if err != nil {
		return err.Error()
	}
	all := []string{`"$dynamicRef":`, `"$recursiveRef":`}
	if kind == "gemini-cli" {
		all = append(all, `"oneOf":`, `"allOf":`, `"patternProperties":`, `"if":`)
	}
	for _, word := range all {
		if strings.Contains(string(b), word) {
			return "it has " + word
		}
	}
	return ""
}

// The first request to the model of each program offers all tools that pawl has for it, with schemas that its provider takes: of an
// agent with all of pawl's tools and a result of its own, which is a union, of a planner and of a worker. So it is where a program
// leaves tools of servers to a search: Claude Code if it is told to, Codex for all models of OpenAI, which beside gpt-5.5 write scripts
// that call the tools.
func TestRealAgentsAreOfferedEveryTool(t *testing.T) {
	t.Parallel()
	if refused("codex", map[string]any{"type": "object", "oneOf": []any{}}) == "" || refused("gemini-cli", map[string]any{"type": "string"}) == "" {
		t.Error("all schemas are taken")
	}
	offered := func(t *testing.T, program string, env ...string) {
		kind, _, _ := strings.Cut(program, "/")
		s := newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
			switch {
			case len(r.Results) > 0:
				return externaltest.Reply{Text: "Done."}
			case strings.Contains(r.Words, "Carry out this task"):
				return reports(kind, "complete", "Looked.")
			case strings.Contains(r.Words, "Plan this task"):
				return calls(kind, "planner_output", planArgs)
			}
			return calls(kind, "choice", `{"kind":"one","n":7}`)
		})
		s.env = append(s.env, env...)
		all := slices.DeleteFunc(app.ToolNames(), func(name string) bool { return name == "memory" || name == "skill" }) // which are off here
		s.agent(t, "task-validator", program, "kind: planner")
		s.agent(t, "builder", program)
		s.agent(t, "chooser", program, "tools: ["+strings.Join(all, ", ")+`]
output:
  tool: choice
  schema:
    type: object
    oneOf:
      - {type: object, properties: {kind: {const: one}, n: {type: integer}}, required: [kind, n], additionalProperties: false}
      - {type: object, properties: {kind: {const: none}, why: {type: string}}, required: [kind, why], additionalProperties: false}`)
		s.must(t, []string{"run", "--agent", "chooser", "-p", "choose"}, `{"kind":"one","n":7}`)
		s.must(t, []string{"task", "add", "Look around"})
		s.must(t, []string{"task", "plan", "last"}, "Look.")
		s.must(t, []string{"task", "start", "last"}, "Looked.")
		common := []string{"ask", "handoff", "agent", "tool_outputs.read"}
		for role, want := range map[string][]string{
			"choose": append(slices.Clone(all), "choice"), "Plan this task": {"planner-output"}, "Carry out this task": append(common, "completion-report"),
		} {
			found := false
			for _, r := range s.model.Requests() {
				if len(r.Tools) == 0 || !strings.Contains(r.Words, role) {
					continue
				}
				found = true
				var missing []string
				for _, name := range want {
					if name = s.kind.ToolName(strings.ReplaceAll(submission.Wire(name), ".", "_")); !slices.Contains(r.Tools, name) {
						missing = append(missing, name)
					}
				}
				if len(missing) > 0 {
					t.Errorf("%s: there are no %q; there are %q", role, missing, r.Tools)
				}
				for i, name := range r.Tools {
					if own := strings.HasPrefix(name, s.kind.ToolName("")); !own {
						continue
					}
					if why := refused(kind, r.Schemas[i]); why != "" || !toolName.MatchString(name) {
						t.Errorf("%s: the provider refuses %s: %s: %v", role, name, why, r.Schemas[i])
					}
				}
				break
			}
			if !found {
				t.Errorf("nothing was asked as %q", role)
			}
		}
	}
	withEach(t, func(t *testing.T, kind string) { offered(t, kind) })
	for name, env := range map[string][]string{"claude-code/claude-sonnet-4-5": {"ENABLE_TOOL_SEARCH=true"}, "codex/gpt-5.5": nil, "codex/gpt-6-sol": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			offered(t, name, env...)
		})
	}
}
