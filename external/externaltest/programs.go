package externaltest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pawl/external"
)

// Program returns the path of a real program, and skips the test where it is not installed.
func Program(t testing.TB, kind string) string {
	t.Helper()
	k, _, _ := external.Split(kind)
	path, err := k.Find(os.Getenv("PATH"))
	if err != nil {
		t.Skipf("needs %s: %s", k.Program, k.Install)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("needs node, which the program is written for")
	}
	return path
}

// Env returns variables with which real programs work with a model of this package alone: a
// home of their own, no login, no updates and no telemetry.
func (m *Model) Env(t testing.TB, kinds ...string) []string {
	t.Helper()
	// Codex warns of a home in the folder for temporary files, and works.
	home := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8", "TERM=dumb",
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_DATA_HOME=" + filepath.Join(home, ".data"),
		"XDG_STATE_HOME=" + filepath.Join(home, ".state"), "XDG_CACHE_HOME=" + filepath.Join(home, ".cache")}
	write := func(name, content string) {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range kinds {
		switch kind {
		case "claude-code":
			env = append(env, "IS_SANDBOX=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
				"ANTHROPIC_BASE_URL="+m.URL, "ANTHROPIC_API_KEY=dummy")
		case "codex":
			write(".codex/config.toml", `model="mock-model"
model_provider="mock"
[analytics]
enabled=false
[model_providers.mock]
name="mock"
base_url="`+m.URL+`/v1"
env_key="CODEX_API_KEY"
wire_api="responses"
request_max_retries=1
stream_max_retries=1
supports_websockets=false
`)
			env = append(env, "CODEX_API_KEY=dummy", "CODEX_HOME="+filepath.Join(home, ".codex"))
		case "opencode":
			config, err := json.Marshal(map[string]any{"model": "mock/m", "small_model": "mock/m", "provider": map[string]any{"mock": map[string]any{
				"npm": "@ai-sdk/openai-compatible", "options": map[string]any{"baseURL": m.URL + "/v1", "apiKey": "x"},
				"models": map[string]any{"m": map[string]any{"tool_call": true, "limit": map[string]any{"context": 100000, "output": 4000}}}}}})
			if err != nil {
				t.Fatal(err)
			}
			env = append(env, "OPENCODE_CONFIG_CONTENT="+string(config), "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1")
		case "gemini-cli":
			write(".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false}}`)
			env = append(env, "GEMINI_CLI_HOME="+home, "GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL="+m.URL, "CI=1")
		default:
			t.Fatalf("there is no program %q", kind)
		}
	}
	return env
}
