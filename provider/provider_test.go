package provider

import (
	"strings"
	"testing"

	"pawl/llm/chat"
	"pawl/llm/models"
)

func builtIn(t *testing.T) *Providers {
	t.Helper()
	table, err := models.Load("")
	if err != nil {
		t.Fatal(err)
	}
	return &Providers{Table: table, env: func(string) (string, bool) { return "", false }}
}

func TestAnAddressOfOllamaIsCompleted(t *testing.T) {
	t.Parallel()
	const usual = "http://127.0.0.1:11434/v1"
	for in, want := range map[string]string{
		"":                       "",
		usual:                    usual,
		"0.0.0.0":                "http://127.0.0.1:11434",
		"0.0.0.0:8000":           "http://127.0.0.1:8000",
		":8000":                  "http://127.0.0.1:8000",
		"[::]:11434":             "http://127.0.0.1:11434",
		"[::1]":                  "http://[::1]:11434",
		"gpu.example":            "http://gpu.example:11434",
		"http://gpu.example/":    "http://gpu.example:11434/",
		"https://gpu.example/v1": "https://gpu.example/v1",
	} {
		if got := localAddress(in, usual); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestTheFirstVariableThatIsSetCounts(t *testing.T) {
	t.Parallel()
	set := map[string]string{"GOOGLE_API_KEY": "second", "GEMINI_BASE_URL": "http://second"}
	ps := builtIn(t)
	ps.env = func(name string) (string, bool) { v, ok := set[name]; return v, ok }
	p, _ := ps.Provider("gemini")
	if s := ps.Site(p); s.Key != "second" || s.KeyFrom != "GOOGLE_API_KEY" || s.Address != "http://second" {
		t.Errorf("%+v", s)
	}
	set["GEMINI_API_KEY"], set["GOOGLE_GEMINI_BASE_URL"] = "first", "http://first"
	if s := ps.Site(p); s.Key != "first" || s.KeyFrom != "GEMINI_API_KEY" || s.Address != "http://first" || s.AddressFrom != "environment GOOGLE_GEMINI_BASE_URL" {
		t.Errorf("%+v", s)
	}
}

func TestASlipInAModelsNameIsSeenAndAnotherSizeIsNone(t *testing.T) {
	t.Parallel()
	table := builtIn(t)
	for model, want := range map[string]string{
		"anthropic/claude-sonet-5-5":  "anthropic/claude-sonnet-5-5",
		"openai/gpt-6-lunar":          "openai/gpt-6-luna",
		"openai/gpt-6.1-sol":          "", // known
		"openai/gpt-7-luna":           "", // new, perhaps
		"anthropic/claude-sonnet-5-6": "",
		"ollama/gpt-6-lunar":          "", // another provider's
	} {
		if got := table.similar(model); got != want {
			t.Errorf("%s is like %q, want %q", model, got, want)
		}
	}
	if _, ok := table.Lookup(exampleModel); !ok {
		t.Errorf("the example %s is no model", exampleModel)
	}
}

func TestEveryProviderOfTheTableCanBeConnected(t *testing.T) {
	t.Parallel()
	for _, p := range builtIn(t).Providers() {
		if p.Wire == "script" {
			continue
		}
		s := Site{Provider: p, Address: p.BaseURL, Key: "key"}
		if s.Address == "" {
			s.Address = "https://name.openai.azure.com"
		}
		made, err := s.connect(0)
		if err != nil || made.Wire() != p.Wire {
			t.Errorf("%s: %v, %v", p.Name, made, err)
		}
	}
	s := Site{Provider: models.Provider{Name: "house", Wire: chat.Wire, Dialect: "Bavarian", Source: "models.toml"}, Address: "http://x"}
	if _, err := s.connect(0); err == nil || !strings.Contains(err.Error(), `models.toml: provider house: unknown dialect "Bavarian"`) {
		t.Errorf("a dialect that nobody speaks: %v", err)
	}
}

func TestModelsThatCannotTalkAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"text-embedding-3-small": true, "all-minilm:latest": true, "bge-m3": true, "whisper-1": true, "gpt-image-2.5-flare": true,
		"gemini-3.8-flash-tts": true, "veo-3.1-generate-001": true,
		"qwen3-coder": false, "gpt-6.1-sol": false, "llama-4-maverick": false,
	} {
		if got := speechless(name); got != want {
			t.Errorf("%s cannot talk: %t, want %t", name, got, want)
		}
	}
}
