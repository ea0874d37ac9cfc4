package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASettingIsChangedAndTheRestOfTheFileStays(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := Env(func(name string) (string, bool) { return home, name == "XDG_CONFIG_HOME" })
	file := filepath.Join(home, "pawl", "config.toml")
	for i, step := range []struct {
		file   string // before; "": as it is
		key    string
		values []string
		want   string // after, or a part of the error
		wrong  bool
	}{
		{key: "model", values: []string{"sonnet"}, want: "model = 'sonnet'\n"},
		{file: "# mine\nmodel = \"a#b\" # the best\nmax_steps = 5", key: "model", values: []string{"opus"}, want: "# mine\nmodel = 'opus' # the best\nmax_steps = 5"},
		{key: "max-steps", values: []string{"9"}, want: "# mine\nmodel = 'opus' # the best\nmax_steps = 9\n"},
		{key: "effort", values: []string{"high"}, want: "# mine\nmodel = 'opus' # the best\nmax_steps = 9\neffort = 'high'\n"},
		{key: "model", want: "# mine\nmax_steps = 9\neffort = 'high'\n"},
		{file: "allow = [\n  \"read\", # all\n]\nmode = \"plan\"\n", key: "allow", values: []string{"shell(go test *)", "edit"}, want: "allow = ['shell(go test *)', 'edit']\nmode = \"plan\"\n"},
		{key: "compact_at", values: []string{"0.5"}, want: "allow = ['shell(go test *)', 'edit']\nmode = \"plan\"\ncompact_at = 0.5\n"},
		{file: "mode = \"plan\"\n[mcp.a]\ncommand = \"x\"\n", key: "effort", values: []string{"high"}, want: "mode = \"plan\"\neffort = 'high'\n\n[mcp.a]\ncommand = \"x\"\n"},
		{file: "[mcp.a]\ncommand = \"x\"", key: "mode", values: []string{"plan"}, want: "mode = 'plan'\n\n[mcp.a]\ncommand = \"x\""},
		{key: "mode", values: []string{"plam"}, want: `did you mean "plan"`, wrong: true},
		{key: "mode", values: []string{"plan", "bypass"}, want: "must be one value", wrong: true},
		{file: "model = \n", key: "mode", values: []string{"plan"}, want: "line 1", wrong: true},
	} {
		if step.file != "" {
			if err := os.WriteFile(file, []byte(step.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := os.ReadFile(file)
		k, err := LookupKey(step.key)
		if err != nil {
			t.Fatal(err)
		}
		_, err = env.SetInUserFile(k, step.values...)
		after, _ := os.ReadFile(file)
		switch {
		case step.wrong && (err == nil || !strings.Contains(err.Error(), step.want) || string(after) != string(before)):
			t.Errorf("step %d: %v, want %q; the file is\n%s", i, err, step.want, after)
		case !step.wrong && (err != nil || string(after) != step.want):
			t.Errorf("step %d: %v\n%s\nwant\n%s", i, err, after, step.want)
		}
	}
	if _, err := LookupKey("modle"); err == nil || !strings.Contains(err.Error(), `did you mean "model"?`) {
		t.Errorf("modle: %v", err)
	}
}
