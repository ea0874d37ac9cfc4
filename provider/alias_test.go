package provider

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// providersWith returns the providers of the built-in table and of a file of the user's, with
// variables. No server on this machine answers but those that a variable names.
func providersWith(t *testing.T, file string, env map[string]string) *Providers {
	t.Helper()
	home := t.TempDir()
	if file != "" {
		dir := filepath.Join(home, ".config", "pawl")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "models.toml"), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]string{"HOME": home, "OLLAMA_HOST": "127.0.0.1:1", "LM_STUDIO_API_BASE": "http://127.0.0.1:1",
		"LLAMACPP_BASE_URL": "http://127.0.0.1:1", "VLLM_BASE_URL": "http://127.0.0.1:1"}
	for name, v := range env {
		all[name] = v
	}
	ps, err := Load(func(name string) (string, bool) { v, ok := all[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	return ps
}

func TestAFamilyIsItsNewestModelOfAProviderThatCanBeUsed(t *testing.T) {
	t.Parallel()
	const file = `
[providers.house]
wire = "chat"
base_url = "http://house.example/v1"
[models."house/flash-9"]
window = 1000
[models."house/opus-2"]
window = 1000
[models."house/opus-10"]
window = 1000
[models."house/opus-70b"]
window = 1000
[models."house/opus-3-20261101"]
window = 1000
`
	for _, test := range []struct {
		file string
		env  map[string]string
		want map[string]string
	}{
		{"", nil, map[string]string{ // without keys the first provider that has the family
			"sonnet": "anthropic/claude-sonnet-5-5", "opus": "anthropic/claude-opus-5-5", "haiku": "anthropic/claude-haiku-5-5",
			"Opus": "anthropic/claude-opus-5-5", "claude-opus": "anthropic/claude-opus-5-5", "fable": "anthropic/claude-fable-5-1",
			"claude": "anthropic/claude-sonnet-5-5", "anthropic": "anthropic/claude-sonnet-5-5",
			"gpt": "openai/gpt-6.1-sol", "openai": "openai/gpt-6.1-sol", "terra": "openai/gpt-6.1-terra", "luna": "openai/gpt-6-luna",
			"gemini": "gemini/gemini-3.8-flash", "flash": "gemini/gemini-3.8-flash", "flash-lite": "gemini/gemini-3.5-flash-lite",
			"grok": "xai/grok-4.7",
		}},
		{"", map[string]string{"DEEPSEEK_API_KEY": "x"}, map[string]string{"flash": "deepseek/deepseek-flash", "opus": "anthropic/claude-opus-5-5"}},
		{"", map[string]string{"DEEPSEEK_API_KEY": "x", "GEMINI_API_KEY": "x"}, map[string]string{"flash": "gemini/gemini-3.8-flash"}},
		{file, nil, map[string]string{"flash": "house/flash-9", "opus": "house/opus-10", "sonnet": "anthropic/claude-sonnet-5-5"}},
		{file, map[string]string{"ANTHROPIC_API_KEY": "x"}, map[string]string{"opus": "anthropic/claude-opus-5-5"}},
	} {
		ps := providersWith(t, test.file, test.env)
		for given, want := range test.want {
			if got, err := ps.Resolve(t.Context(), given); got != want || err != nil {
				t.Errorf("%s with %v: %s, %v; want %s", given, test.env, got, err, want)
			}
		}
	}
}

func TestAModelWithoutItsProviderIsFound(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"object":"list","data":[{"id":"qwen3:8b"},{"id":"llama4:latest"}]}`))
	}))
	defer server.Close()
	const file = `
[providers.house]
wire = "chat"
base_url = "http://house.example/v1"
key_env = ["HOUSE_KEY"]
[models."house/gpt-6.1-sol"]
window = 1000
`
	ollama := map[string]string{"OLLAMA_HOST": server.URL}
	for _, test := range []struct {
		file  string
		env   map[string]string
		given string
		want  string // or a part of the error
	}{
		{"", nil, "claude-sonnet-5-5", "anthropic/claude-sonnet-5-5"},
		{"", nil, "claude-sonnet-5-5-20261101", "anthropic/claude-sonnet-5-5-20261101"},
		{"", nil, "house/model", "house/model"},
		{"", nil, "", ""},
		{"", ollama, "qwen3:8b", "ollama/qwen3:8b"},
		{"", ollama, "llama4", "ollama/llama4:latest"},
		{"", map[string]string{"OLLAMA_HOST": server.URL, "VLLM_BASE_URL": server.URL}, "qwen3:8b", `is on several servers: say ollama/qwen3:8b or vllm/qwen3:8b`},
		{"", nil, "qwen3:8b", `unknown model "qwen3:8b", and no server on this machine has it: use PROVIDER/NAME`},
		{"", nil, "claude-sonet-5-5", `did you mean "anthropic/claude-sonnet-5-5"?`},
		{"", nil, "sonnet-4-5", `did you mean "anthropic/claude-sonnet-4-5"?`},
		{"", nil, "gpt-5.6", "is one of several: say openai/gpt-5.6-luna or openai/gpt-5.6-sol or openai/gpt-5.6-terra"},
		{"", nil, "elephant", "`pawl models` lists them"},
		{file, map[string]string{"HOUSE_KEY": "x"}, "gpt-6.1-sol", "house/gpt-6.1-sol"},
		{file, nil, "gpt-6.1-sol", "is one of several providers: say openai/gpt-6.1-sol or house/gpt-6.1-sol"},
	} {
		got, err := providersWith(t, test.file, test.env).Resolve(t.Context(), test.given)
		if err != nil && !strings.Contains(err.Error(), test.want) || err == nil && got != test.want {
			t.Errorf("%q with %v: %q, %v; want %s", test.given, test.env, got, err, test.want)
		}
	}
}

func TestAnAddressThatIsNoURLIsSaidBeforeARun(t *testing.T) {
	t.Parallel()
	for address, right := range map[string]bool{
		"notaurl": false, "localhost:8080": false, "ftp://x": false, "https://": false, "http://127.0.0.1:1/v1": true, "https://me:secret@host": true,
	} {
		ps := providersWith(t, "", map[string]string{"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": address})
		err := ps.Check("anthropic/claude-sonnet-5-5", t.TempDir())
		if (err == nil) != right || err != nil && !strings.Contains(err.Error(), "ANTHROPIC_BASE_URL") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
