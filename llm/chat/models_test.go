package chat

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/run"
)

func TestModelsAreListedHoweverTheyCome(t *testing.T) {
	t.Parallel()
	want := []string{"a", "b"}
	for name, body := range map[string]string{
		"OpenAI":    `{"object":"list","data":[{"id":"b"},{"id":"a"}]}`,
		"llama.cpp": `{"models":[{"name":"a"},{"name":"b"}],"data":[{"id":"a"}]}`,
		"Together":  `[{"id":"b"},{"id":"a"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer sk-secret" {
					t.Errorf("asked for %s with %v", r.URL, r.Header)
				}
				io.WriteString(w, body)
			})
			got, err := New(Options{BaseURL: url, Key: "sk-secret"}).Models(t.Context())
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	empty := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"object":"list","data":[]}`) })
	if got, err := New(Options{BaseURL: empty}).Models(t.Context()); len(got) != 0 || err != nil {
		t.Errorf("a server without models: %v, %v", got, err)
	}
}

func TestAServerWithoutModelsSaysWhy(t *testing.T) {
	t.Parallel()
	const nobody = "http://127.0.0.1:1" // no server has it; a port that was just closed may be given to another test
	for _, c := range []struct {
		name, url string
		kind      run.ErrorKind
		words     string
	}{
		{"nobody listens", nobody, run.ErrUnreachable, "cannot reach " + nobody + ": connection refused (is a server running there?)"},
		{"a web page", serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") }), run.ErrInvalid, "not a list of models"},
		{"another API", serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"ok":true}`) }), run.ErrInvalid, "not a list of models"},
		{"a wrong key", serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			io.WriteString(w, `{"error":{"message":"bad key sk-secret"}}`)
		}), run.ErrAuth, "bad key [key]"},
		{"an address that is none", "localhost:80", run.ErrInvalid, "base URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := New(Options{BaseURL: c.url, Key: "sk-secret"}).Models(t.Context())
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.words) {
				t.Errorf("got %v, want %s with %q", err, c.kind, c.words)
			}
		})
	}
}

func TestADialectIsFoundByNameOrAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, address, want string
		local               bool
	}{
		{"", "https://api.openai.com", "openai", false},
		{"", "https://My-Res.openai.azure.com/openai/v1", "azure", false},
		{"", "https://openrouter.ai/api/v1", "openrouter", false},
		{"", "https://evil-openrouter.ai", "", false},
		{"", "https://openai.azure.com", "", false},
		{"", "http://127.0.0.1:11434", "ollama", true},
		{"", "http://[::1]:1234/v1", "lmstudio", true},
		{"", "http://localhost:8080", "llamacpp", true},
		{"", "http://localhost:9999", "", true},
		{"", "http://10.0.0.7:11434", "", false},
		{"Groq", "https://proxy.example/v1", "groq", false},
		{"whoever", "https://api.deepseek.com", "deepseek", false},
		{"", "://", "", false},
	} {
		if d := Find(c.name, c.address); d.Name != c.want || d.Local != c.local {
			t.Errorf("%q at %q: %q, local %v; want %q, %v", c.name, c.address, d.Name, d.Local, c.want, c.local)
		}
	}
}

func TestPresetsFindThemselves(t *testing.T) {
	t.Parallel()
	for _, p := range presets {
		d := Find(p.names[0], "")
		if d.BaseURL == "" {
			continue
		}
		if byAddress := Find("", d.BaseURL); byAddress != d {
			t.Errorf("%s by its address is %+v", d.Name, byAddress)
		}
		if got := address(d.BaseURL, d); got != d.BaseURL {
			t.Errorf("%s: the address %s becomes %s", d.Name, d.BaseURL, got)
		}
	}
}
