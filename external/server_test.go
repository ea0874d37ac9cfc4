package external

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A program waits for the server with pawl's tools before it asks its model: an agent that is not
// offered the tool of its result cannot submit.
func TestProgramsWaitForTheServerWithTheirTools(t *testing.T) {
	t.Parallel()
	for _, resume := range []bool{false, true} {
		turn := Turn{Run: "r", Workspace: t.TempDir(), State: t.TempDir(), Model: DefaultModel, Mode: "default",
			Server: Server{Command: []string{"/bin/pawl", "mcp"}, Tools: []string{"planner_output"}}}
		inv, err := claude{}.invoke(turn, "c", resume)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(inv.args, "--mcp-config")
		if at < 0 {
			t.Fatalf("the command line is %q", inv.args)
		}
		if b, err := os.ReadFile(inv.args[at+1]); err != nil || !strings.Contains(string(b), `"alwaysLoad":true`) || !slices.Contains(inv.env, "MCP_CONNECT_TIMEOUT_MS=60000") {
			t.Errorf("resume %t: Claude Code is given %s, %v, and %q", resume, b, err, inv.env)
		}
		if inv, err = (codex{}).invoke(turn, "c", resume); err != nil || !slices.Contains(inv.args, "mcp_servers.pawl.required=true") {
			t.Errorf("resume %t: the command line of Codex is %q, %v", resume, inv.args, err)
		}
	}
}

// Without that server a turn of Claude Code has failed, whatever it has done instead.
func TestClaudeCodeWithoutPawlsToolsHasFailed(t *testing.T) {
	t.Parallel()
	got := play("claude-code", []byte(`{"type":"system","subtype":"init","session_id":"c","mcp_servers":[{"name":"pawl","status":"failed"}]}
{"type":"assistant","session_id":"c","message":{"content":[{"type":"text","text":"Done."}]}}
{"type":"result","subtype":"success","session_id":"c","result":"Done.","stop_reason":"end_turn"}
`))
	if !strings.Contains(got, "failed invalid: the server with pawl's tools could not be used: failed\n") {
		t.Errorf("the stream says %s", got)
	}
}
