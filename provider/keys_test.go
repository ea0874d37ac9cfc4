package provider

import (
	"os"
	"strings"
	"testing"

	"pawl/config"
)

func environment(vars map[string]string) config.Env {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func TestAStoredKeyIsUsedUntilTheEnvironmentHasOne(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "HOME": t.TempDir()}
	ps, err := Load(environment(vars))
	if err != nil {
		t.Fatal(err)
	}
	if model, _ := ps.Preferred(); model != "" {
		t.Fatalf("without a key the model is %s", model)
	}
	path, err := ps.StoreKey("anthropic", " sk-stored \n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ps.StoreKey("openai", "sk-other"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of keys has mode %v (%v)", info.Mode(), err)
	}
	again, err := Load(environment(vars))
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*Providers{"the process that stored it": ps, "another": again} {
		if model, from := p.Preferred(); !strings.HasPrefix(model, "anthropic/") || !strings.Contains(from, path) {
			t.Errorf("%s has model %q from %q", name, model, from)
		}
	}
	vars["ANTHROPIC_API_KEY"] = "sk-environment"
	known, _ := again.Provider("anthropic")
	if s := again.Site(known); s.Key != "sk-environment" || s.KeyFrom != "ANTHROPIC_API_KEY" {
		t.Errorf("with a variable the key is %q from %q", s.Key, s.KeyFrom)
	}
}

func TestKeysThatOthersCanReadOrThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	env := environment(map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "HOME": t.TempDir()})
	ps, err := Load(env)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", " ", "two words", "line\nbreak", "sk-\x1b[31m"} {
		if _, err := ps.StoreKey("anthropic", key); err == nil {
			t.Errorf("%q was stored", key)
		}
	}
	if _, err := ps.StoreKey("nobody", "sk-1"); err == nil {
		t.Error("a key of an unknown provider was stored")
	}
	path, err := ps.StoreKey("anthropic", "sk-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(env); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v", err)
	}
}
