//go:build unix

package external

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// OpenCode says that in its log alone, which may be long.
func TestOpenCodeWithoutPawlsToolsHasFailed(t *testing.T) {
	t.Parallel()
	const unavailable = `timestamp=2026-11-26T13:17:21.682Z level=WARN run=80b6c37d message="server unavailable" key=%s type=local status=failed`
	for server, want := range map[string]string{
		ServerName:     "failed invalid OpenCode: the server with pawl's tools could not be used",
		"pawl-browser": "replied Done.",
	} {
		turn := scripted(t, "opencode/default", fmt.Sprintf(`
			echo '{"type":"text","sessionID":"o1","part":{"text":"Done."}}'
			echo '{"type":"step_finish","sessionID":"o1","part":{"reason":"stop"}}'
			echo '`+unavailable+`' >&2
			head -c %d /dev/zero | tr '\0' '\n' >&2`, server, 2*maxStderr))
		if got := told(turn.Events(t.Context())); got != "conversation o1\n"+want+"\n" {
			t.Errorf("without the server %s: %s", server, got)
		}
	}
}

// Gemini CLI says that in its log alone. The log is removed, and one that the person has asked for is theirs.
func TestGeminiWithoutPawlsToolsHasFailed(t *testing.T) {
	t.Parallel()
	const failed, replied = "failed invalid Gemini CLI: the server with pawl's tools could not be used", "replied Done."
	for _, c := range []struct{ server, theirs, want string }{
		{ServerName, "", failed}, {"pawl-browser", "", replied}, {ServerName, filepath.Join(t.TempDir(), "theirs"), replied},
	} {
		turn := scripted(t, "gemini-cli/default", fmt.Sprintf(`
			echo "Error during discovery for MCP server '%s': spawn ENOENT" >>$GEMINI_DEBUG_LOG_FILE
			echo '{"type":"init","session_id":"'$(echo "$*" | sed 's/.*--session-id //')'"}'
			echo '{"type":"message","role":"assistant","content":"Done."}'
			echo '{"type":"result","status":"success"}'`, c.server))
		turn.Server = Server{Command: []string{"/bin/pawl"}}
		if c.theirs != "" {
			turn.Env = append(turn.Env, "GEMINI_DEBUG_LOG_FILE="+c.theirs)
		}
		if got := told(turn.Events(t.Context())); !strings.HasSuffix(got, "\n"+c.want+"\n") {
			t.Errorf("%+v: %s", c, got)
		}
		if _, err := os.Stat(filepath.Join(turn.folder(), "gemini.log")); err == nil {
			t.Errorf("%+v: the log is left", c)
		}
	}
}

// What is passed over of a stream: the result of a call that was not seen. A step that was begun and
// cut is no end of a turn, though the one before it was.
func TestStreamsAreReadInOrder(t *testing.T) {
	t.Parallel()
	got := play("claude-code", []byte(`{"type":"user","session_id":"c","message":{"content":[{"type":"tool_result","tool_use_id":"t_1","content":"of an earlier turn"}]}}`))
	if strings.Contains(got, "of an earlier turn") {
		t.Errorf("the stream says %s", got)
	}
	const finished = `{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}` + "\n"
	if got := play("opencode", []byte(finished)); !strings.Contains(got, "done true") {
		t.Errorf("a finished turn: %s", got)
	}
	if got := play("opencode", []byte(finished+`{"type":"step_start","sessionID":"s","part":{}}`)); !strings.Contains(got, "done false") {
		t.Errorf("a turn that was cut: %s", got)
	}
}

func TestWhatProgramsPrintOfTheirErrorsIsOneLineOfWords(t *testing.T) {
	t.Parallel()
	got := lastLines("Reading additional input from stdin...\n\n\x1b[31mError: no key\x1b[0m\r\n    at main (a.js:1)\ntimestamp=2026-11-26T13:17:21.500Z level=WARN message=x\n")
	if got != "Error: no key" {
		t.Errorf("it is %q", got)
	}
}

// A hook that cannot be started is a denial: exit code 2 and a reason keep a tool from being used.
func TestAHookThatFailsIsADenial(t *testing.T) {
	t.Parallel()
	if got := string((Turn{Server: Server{Hook: []string{"/bin/pawl", "hook"}}}).hookSettings()); !strings.Contains(got, `hooked'; '/bin/pawl' 'hook' || { [ $? = 1 ] || echo 'pawl: the call is not allowed: the hook was stopped before there was an answer' \u003e\u00262; exit 2; }"`) {
		t.Errorf("the settings are %s", got)
	}
}

func TestConversationsHaveUUIDs(t *testing.T) {
	t.Parallel()
	for range 100 {
		if id := newConversation(); !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) || id == newConversation() {
			t.Errorf("%s is no UUID of version 4, or is not new", id)
		}
	}
}

// Plugins of Claude Code that are on and name commands as servers, in each place and form of both.
func TestWhichPluginsHaveServers(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write := func(path, content string) {
		path = filepath.Join(home, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(strings.ReplaceAll(content, "HOME", home)), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	claude, _, _ := Split("claude-code")
	if got := claude.PluginServers(env); got != nil {
		t.Errorf("without plugins: %q", got)
	}
	write(".claude/settings.json", `{"enabledPlugins":{"file@m":true,"manifest@m":true,"named@m":true,"off@m":false,"remote@m":true,"gone@m":true,"old@m":true}}`)
	write(".claude/plugins/installed_plugins.json", `{"version":2,"plugins":{"file@m":[{"installPath":"HOME/file"}],"manifest@m":[{"installPath":"HOME/manifest"}],
		"named@m":[{"installPath":"HOME/named"}],"off@m":[{"installPath":"HOME/file"}],"remote@m":[{"installPath":"HOME/remote"}],"gone@m":[{"installPath":"HOME/gone"}],
		"old@m":{"installPath":"HOME/file"},"new@m":[{"installPath":"HOME/file"}]}}`)
	write("file/.mcp.json", `{"s":{"command":"npx","args":["x"]}}`)
	write("manifest/.claude-plugin/plugin.json", `{"mcpServers":{"s":{"command":"npx"}}}`)
	write("named/.claude-plugin/plugin.json", `{"mcpServers":"./servers.json"}`)
	write("named/servers.json", `{"mcpServers":{"s":{"command":"npx"}}}`)
	write("remote/.mcp.json", `{"mcpServers":{"s":{"type":"http","url":"https://example.com"}}}`)
	if got, want := claude.PluginServers(env), []string{"file@m", "manifest@m", "named@m", "old@m"}; !slices.Equal(got, want) {
		t.Errorf("they are %q, want %q", got, want)
	}
	codex, _, _ := Split("codex")
	if got := codex.PluginServers(env); got != nil {
		t.Errorf("of another program: %q", got)
	}
}
