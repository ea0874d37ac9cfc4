package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/mcp"
)

// What the same server looks like in the files of four agents.
func TestServersOfOtherAgentsAreRead(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".claude.json", `{"numStartups":7,"mcpServers":{"files":{"command":"npx","args":["-y","server-files","."],"env":{"KEY":"${KEY}"},"timeout":2000},
		"web":{"type":"sse","url":"https://a.example/sse","headers":{"X":"1"}},"a b":{"command":"x"}},
		"projects":{"/work/here":{"mcpServers":{"here":{"type":"stdio","command":"h"}}},"/work/there":{"mcpServers":{"there":{"command":"t"}}}}}`)
	write(".codex/config.toml", "model = \"x\"\n[mcp_servers.gh]\ncommand = \"gh-server\"\nargs = [\"stdio\"]\nenv_vars = [\"TOKEN\"]\ndisabled_tools = [\"delete\"]\nstartup_timeout_sec = 3\ntool_timeout_sec = 4.5\n"+
		"[mcp_servers.docs]\nurl = \"https://d.example/mcp\"\nbearer_token_env_var = \"DOCS\"\nenabled = false\n")
	write(".config/opencode/opencode.jsonc", "{\n  // servers\n  \"mcp\": {\"local\": {\"type\": \"local\", \"command\": [\"npx\", \"server\"], \"environment\": {\"A\": \"{env:A}\"}, \"timeout\": 5000},\n"+
		"  \"far\": {\"type\": \"remote\", \"url\": \"https://f.example/mcp\", \"oauth\": {\"clientId\": \"id\"}}}}")
	write(".gemini/settings.json", `{"mcpServers":{"old":{"url":"http://127.0.0.1:1/sse"},"new":{"httpUrl":"https://n.example/mcp","headers":{"Authorization":"Bearer $TOKEN"},"excludeTools":["x"]},"odd":{"command":7}}}`)
	env := Env(func(name string) (string, bool) {
		if name == "HOME" {
			return home, true
		}
		return "", false
	})
	all, notes := env.ForeignServers("/work/here")
	if len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
	got := map[string]mcp.Definition{}
	why := map[string]string{}
	for _, s := range all {
		name := s.Name
		s.Name, s.Source = "", ""
		if s.Why != "" {
			why[name] = s.Why
			continue
		}
		if len(s.Env) == 0 {
			s.Env = nil
		}
		if len(s.Headers) == 0 {
			s.Headers = nil
		}
		got[name] = s.Definition
	}
	want := map[string]mcp.Definition{
		"files": {Command: "npx", Args: []string{"-y", "server-files", "${PAWL_WORKSPACE}"}, Env: map[string]string{"KEY": "${KEY}"}, CallTimeout: 2 * time.Second},
		"here":  {Command: "h"},
		"web":   {URL: "https://a.example/sse", SSE: true, Headers: map[string]string{"X": "1"}},
		"gh":    {Command: "gh-server", Args: []string{"stdio"}, Env: map[string]string{"TOKEN": "${TOKEN}"}, Hidden: []string{"delete"}, StartTimeout: 3 * time.Second, CallTimeout: 4500 * time.Millisecond},
		"local": {Command: "npx", Args: []string{"server"}, Env: map[string]string{"A": "${A}"}, StartTimeout: 5 * time.Second},
		"far":   {URL: "https://f.example/mcp", ClientID: "id"},
		"old":   {URL: "http://127.0.0.1:1/sse", SSE: true},
		"new":   {URL: "https://n.example/mcp", Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}, Hidden: []string{"x"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"a b", "docs", "odd"} {
		if why[name] == "" {
			t.Errorf("%s is taken", name)
		}
	}
	if some, _ := env.ForeignServers("", "codex"); len(some) != 2 {
		t.Errorf("of Codex alone %d", len(some))
	}
	write(".claude.json", "{")
	if _, notes := env.ForeignServers("", "claude"); len(notes) != 1 {
		t.Errorf("of a file that is not JSON: %q", notes)
	}
}
