package llm_test

import (
	"testing"

	"pawl/llm"
	"pawl/run"
)

// What is called through another tool is the call that it names; what names none stays a call of that tool.
func TestCallsThroughAToolAreThoseThatTheyName(t *testing.T) {
	t.Parallel()
	n := llm.NewNames([]string{"mcp_call", "mcp__a__x.y", "shell"}).Through("mcp_call", []string{"mcp__a__x.y"})
	for _, c := range []struct{ name, tool, args, wantTool, wantArgs string }{
		{"arguments in a string", "mcp_call", `{"tool":"mcp__a__x_y","arguments":"{\"n\":1.50}"}`, "mcp__a__x.y", `{"n":1.50}`},
		{"an object", "mcp_call", `{"tool":"mcp__a__x_y","arguments":{"n": 1.50}}`, "mcp__a__x.y", `{"n": 1.50}`},
		{"none", "mcp_call", `{"tool":"mcp__a__x_y"}`, "mcp__a__x.y", `{}`},
		{"an empty string", "mcp_call", `{"tool":"mcp__a__x_y","arguments":" "}`, "mcp__a__x.y", `{}`},
		{"null", "mcp_call", `{"tool":"mcp__a__x_y","arguments":null}`, "mcp_call", `{"tool":"mcp__a__x_y","arguments":null}`},
		{"a tool that is told", "mcp_call", `{"tool":"shell","arguments":"{}"}`, "shell", `{}`},
		{"itself", "mcp_call", `{"tool":"mcp_call","arguments":"{}"}`, "mcp_call", `{}`},
		{"directly", "mcp__a__x_y", `{"n":1}`, "mcp__a__x.y", `{"n":1}`},
		{"no object in the string", "mcp_call", `{"tool":"mcp__a__x_y","arguments":"[1]"}`, "mcp_call", `{"tool":"mcp__a__x_y","arguments":"[1]"}`},
		{"half an object", "mcp_call", `{"tool":"mcp__a__x_y","arguments":"{\"n\":"}`, "mcp_call", `{"tool":"mcp__a__x_y","arguments":"{\"n\":"}`},
		{"no tool", "mcp_call", `{"arguments":"{}"}`, "mcp_call", `{"arguments":"{}"}`},
		{"no object", "mcp_call", `7`, "mcp_call", `7`},
	} {
		if got := n.Call(run.Call{ID: "c_1", Tool: c.tool, Arguments: c.args}); got != (run.Call{ID: "c_1", Tool: c.wantTool, Arguments: c.wantArgs}) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
