package external

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the hooks of the programs ask about, in the words of Claude Code.
func TestWhatAHookAsksAbout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"AGENTS.md", "a/AGENTS.md", "a/b/CLAUDE.md"} {
		if err := os.Symlink("/gone", filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for file, content := range map[string]string{"a/GEMINI.md": "Mail a@b.example, see @b/x.md and @nowhere", "a/b/x.md": "@../.env @./x.md", "a/.env": "", "a/b/AGENTS.md": "plain"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ kind, asked, want string }{
		{"claude-code", `"Bash","tool_input":{"command":"ls"},"tool_use_id":"u"`, `Bash {"command":"ls"} u`},
		{"claude-code", `"mcp__pawl__ask","tool_input":{}`, "-"},
		{"claude-code", `"TaskCreate","tool_input":{}`, "-"},
		{"claude-code", `"CronCreate","tool_input":{"durable":true}`, `CronCreate {"durable":true}`},
		{"codex", `"Bash","tool_input":{"command":"ls"},"cwd":"/w"`, `Bash {"command":"ls"}  /w`},
		{"codex", `"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Add File: a\n+*** Add File: no\n *** Update File: b \n*** Move to: c\n*** Delete File: d\n"}`, `"file_paths":["a","b","c","d"]`},
		{"codex", `"apply_patch","tool_input":{"command":"x","patch":"*** Add File: a","file_paths":["b"]}`, `Edit {"file_paths":null,"patch":"x"}`},
		{"codex", `"view_image","tool_input":{"path":"a.png","file_path":"b"}`, `Read {"file_path":"a.png"}`},
		{"codex", `"mcp__other__do","tool_input":{}`, "mcp__other__do {}"},
		{"codex", `"spawn_agent","tool_input":{}`, "-"},
		{"codex", `"multi_agent_v1wait_agent","tool_input":{"targets":["x"]}`, "-"},
		{"codex", `"mcp__pawl__ask","tool_input":{}`, "-"},
		{"codex", `"new_tool","tool_input":{"x":1}`, `new_tool {"x":1}`},
		{"gemini-cli", `"run_shell_command","tool_input":{"command":"ls","dir_path":"sub"},"cwd":"/w"`, `Bash {"command":"ls"}  /w/sub`},
		{"gemini-cli", `"run_shell_command","tool_input":{"command":"ls","dir_path":"/etc","cwd":"/w"},"cwd":"/w"`, `Bash {"command":"ls"}  /etc`},
		{"gemini-cli", `"run_shell_command","tool_input":{"command":"ls","dir_path":1},"cwd":"/w"`, "error: the input of run_shell_command: json"},
		{"gemini-cli", `"list_directory","tool_input":{"dir_path":"/etc","path":"."}`, `LS {"path":"/etc"}`},
		{"gemini-cli", `"web_fetch","tool_input":{"prompt":"read https://a.example/x please","url":"http://b"}`, `WebFetch {"url":"https://a.example/x"}`},
		{"gemini-cli", `"web_fetch","tool_input":{"prompt":"https://a.example https://b.example"}`, "error: the input of web_fetch: it names 2 addresses"},
		{"gemini-cli", `"web_fetch","tool_input":{"prompt":["https://a.example"]}`, "error: the input of web_fetch: json"},
		{"gemini-cli", `"mcp_x_y","tool_input":{},"mcp_context":{"server_name":"x","tool_name":"y"}`, "mcp__x__y {}"},
		{"gemini-cli", `"mcp_pawl_ask","tool_input":{}`, "-"},
		{"gemini-cli", `"mcp_pawl_ask","tool_input":{},"mcp_context":{"server_name":"pawl","tool_name":"ask"}`, "-"},
		{"gemini-cli", `"mcp_pawl_x_do","tool_input":{},"mcp_context":{"server_name":"pawl_x","tool_name":"do"}`, "mcp__pawl_x__do {}"},
		{"opencode", `"edit","tool_input":{"filePath":"a","file_path":"b"}`, `Edit {"file_path":"a"}`},
		{"opencode", `"grep","tool_input":{"pattern":"x","include":"*.go","glob":"*"}`, `Grep {"glob":"*.go","pattern":"x"}`},
		{"opencode", `"read","tool_input":{"filePath":"DIR/a/b/c.go"},"cwd":"DIR"`, `"file_paths":["DIR/a/b/CLAUDE.md","DIR/a/AGENTS.md","DIR/AGENTS.md"]`},
		{"opencode", `"read","tool_input":{"filePath":"b/c.go"},"cwd":"DIR/a"`, `"file_paths":["DIR/a/b/CLAUDE.md","DIR/a/AGENTS.md"]`},
		{"opencode", `"read","tool_input":{"filePath":"x"},"cwd":"DIR"`, `"file_paths":["DIR/AGENTS.md"]`},
		{"opencode", `"write","tool_input":{"filePath":"a/x"},"cwd":"DIR"`, `Write {"file_path":"a/x"}`},
		{"gemini-cli", `"read_file","tool_input":{"file_path":"a/c.go"},"cwd":"DIR"`, `"file_paths":["DIR/a/b/x.md","DIR/a/.env"]`},
		{"gemini-cli", `"write_file","tool_input":{"file_path":"a/c.go"},"cwd":"DIR"`, `"file_paths":["DIR/a/b/x.md","DIR/a/.env"]`},
		{"gemini-cli", `"list_directory","tool_input":{"dir_path":"a"},"cwd":"DIR"`, `LS {"file_paths":["DIR/a/b/x.md","DIR/a/.env"],"path":"a"}`},
		{"gemini-cli", `"read_file","tool_input":{"file_path":"x"},"cwd":"DIR"`, `Read {"file_path":"x"}`},
		{"opencode", `"read","tool_input":{"filePath":7}`, "error: the input of read: json"},
		{"opencode", `"edit","tool_input":[]`, "error: the input of edit: json"},
		{"opencode", `"edit"`, "Edit {}"},
		{"opencode", `"edit","tool_input":7`, "error: the input of edit: json"},
		{"opencode", `"x_y","tool_input":{},"mcp_context":{"server_name":"x","tool_name":"y"}`, "mcp__x__y {}"},
		{"opencode", `"pawl_ask","tool_input":{}`, "-"},
		{"opencode", `"","tool_input":{}`, "error: the input of the hook names no tool_name"},
	} {
		k, _, _ := Split(c.kind)
		c.want = strings.ReplaceAll(c.want, "DIR", dir)
		a, ok, err := k.Asked([]byte(`{"tool_name":` + strings.ReplaceAll(c.asked, "DIR", dir) + `}`))
		got := strings.TrimSpace(strings.Join([]string{a.Tool, string(a.Input), a.ID, a.Dir}, " "))
		switch {
		case err != nil:
			got = "error: " + err.Error()
		case !ok:
			got = "-"
		}
		if got != c.want && (len(c.want) < 9 || !strings.Contains(got, c.want)) {
			t.Errorf("%s, %s: %s, not %s", c.kind, c.asked, got, c.want)
		}
	}
}
