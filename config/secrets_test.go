package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/tool"
)

func TestSecretsAreReadFromThePersonsFile(t *testing.T) {
	t.Parallel()
	env, file := newHome(t, "mode = \"plan\"\n\n[secrets.npm]\nhost = \"Registry.npmjs.org\"\nenv = \"NPM_TOKEN\"\n\n[secrets.lab]\nhost = \"gitlab.example.com:8443\"\nenv = \"LAB\"\nfile = \"lab-token\"\nheader = \"PRIVATE-TOKEN\"\n")
	c, err := Load(Sources{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	want := []tool.Secret{
		{Name: "lab", Host: "gitlab.example.com:8443", Env: "LAB", File: filepath.Join(filepath.Dir(file), "lab-token"), Header: "PRIVATE-TOKEN"},
		{Name: "npm", Host: "registry.npmjs.org", Env: "NPM_TOKEN", Header: "Authorization"},
	}
	if diff := cmp.Diff(want, c.Secrets); diff != "" || c.Get("mode") != "plan" {
		t.Errorf("mode %q, -want +got:\n%s", c.Get("mode"), diff)
	}
}

func TestASecretThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for table, want := range map[string]string{
		"":                                      "host", // needs one
		"host = 5\nenv = \"A\"":                 "line 2",
		"host = \"*.example.com\"\nenv = \"A\"": "for one host",
		"host = \"npm\"\nenv = \"A\"":           "for one host, and npm stands for several",
		"host = \"https://example.com\"\nenv = \"A\"":                "without a scheme",
		"host = \"a@example.com\"\nenv = \"A\"":                      "not a host",
		"host = \"example.com\"":                                     "env \"\": name the variable",
		"host = \"example.com\"\nenv = \"A B\"":                      "name the variable",
		"host = \"example.com\"\nenv = \"PAWL_STORE\"":               "name the variable",
		"host = \"example.com\"\nenv = \"A\"\nheader = \"A: b\"":     "not the name of a header",
		"host = \"example.com\"\nenv = \"A\"\nfile = \"/etc/x\"":     "which no command sees",
		"host = \"example.com\"\nenv = \"A\"\nfile = \"../x\"":       "which no command sees",
		"host = \"example.com\"\nenv = \"A\"\nvalue = \"x\"":         "the value itself stands in no setting",
		"host = \"example.com\"\nenv = \"A\"\nheaders = \"x\"":       "did you mean",
		"host = \"example.com\"\nenv = \"A\"\n\n[secrets.\"A B\"]\n": "is no name of a secret",
	} {
		env, _ := newHome(t, "[secrets.npm]\n"+table+"\n")
		if _, err := Load(Sources{Env: env}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", table, err, want)
		}
	}
	env, _ := newHome(t, "secrets = [\"npm\"]\n")
	if _, err := Load(Sources{Env: env}); err == nil {
		t.Error("a list was taken")
	}
}
