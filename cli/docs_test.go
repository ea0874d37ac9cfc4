package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"pawl/agent"
	"pawl/config"
	"pawl/llm/script"
	"pawl/permission"
)

// generated is the line of a page of docs after which a test writes it.
const generated = "<!-- What follows is written by UPDATE=1 go test ./cli -run Page -->\n"

// comparePage compares the generated part of a page with what it has to be.
func comparePage(t *testing.T, name, want string) {
	t.Helper()
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, have, ok := strings.Cut(string(page), generated)
	if !ok {
		t.Fatalf("%s has no line %s", name, generated)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(name, []byte(before+generated+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(have, want); diff != "" {
		t.Errorf("%s is not what the program has; UPDATE=1 writes it (-page +program)\n%s", name, diff)
	}
}

func TestThePageOfSettingsHasEverySetting(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, k := range config.Keys() {
		flag := "`--" + k.Flag() + "`"
		if k.Short != "" {
			flag = "`-" + k.Short + "`, " + flag
		}
		fmt.Fprintf(&b, "\n### `%s`\n\n%s · `%s` · ", k.Name, flag, k.Env())
		switch {
		case k.List:
			b.WriteString("a list")
		case k.Default != "":
			fmt.Fprintf(&b, "default `%s`", k.Default)
		default:
			b.WriteString("no default")
		}
		help := strings.TrimSuffix(k.Help, "; repeatable")
		fmt.Fprintf(&b, "\n\n%s", fill(strings.ToUpper(help[:1])+help[1:]+".", "", 100))
	}
	comparePage(t, "../docs/settings.md", b.String())
}

func TestThePageOfCommandsHasEveryCommandAndFlag(t *testing.T) {
	t.Parallel()
	var settings []string
	for _, k := range config.Keys() {
		settings = append(settings, k.Flag())
	}
	var b strings.Builder
	everyCommand(t, func(c *cobra.Command) {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n```\n%s", c.CommandPath(), fill(c.Short+".", "", 100), fill(synopsis(c), "", 100))
		var flags []entry
		all := true
		for _, f := range flagsOf(c) {
			all = all && c.Flags().Lookup("max-steps") != nil
			if !all || !strings.Contains(" "+strings.Join(settings, " ")+" ", " "+f.flag+" ") {
				flags = append(flags, f)
			}
		}
		if len(flags) > 0 {
			b.WriteString("\n")
			writeTerms(&b, flags)
		}
		b.WriteString("```\n")
		if c.Flags().Lookup("max-steps") != nil {
			b.WriteString("\nIt also has the flags of all settings ([settings.md](settings.md)).\n")
		}
	})
	comparePage(t, "../docs/commands.md", b.String())
}

// Each file of examples is one that pawl reads.
func TestTheExamplesAreRead(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.CopyFS(home+"/pawl", os.DirFS("../examples")); err != nil {
		t.Fatal(err)
	}
	env := config.Env(func(name string) (string, bool) {
		if name == "XDG_CONFIG_HOME" {
			return home, true
		}
		return "", false
	})
	c, err := config.Load(config.Sources{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	set := 0
	c.All(func(_ config.Key, values []config.Value) {
		if len(values) > 0 && strings.HasPrefix(values[0].Source, config.FromUser) {
			set++
		}
	})
	if set < 5 {
		t.Errorf("config.toml sets %d settings", set)
	}
	for _, effect := range []string{"allow", "ask", "deny"} {
		for _, v := range c.Values(effect) {
			if _, err := permission.ParseRule(v.Text); err != nil {
				t.Error(err)
			}
		}
	}
	rules, err := os.ReadFile("../examples/permissions.json")
	if err != nil {
		t.Fatal(err)
	}
	if loaded, err := permission.Load(bytes.NewReader(rules), permission.ForUser, "permissions.json"); err != nil || len(loaded) < 3 {
		t.Errorf("permissions.json: %d rules, %v", len(loaded), err)
	}
	replies, err := os.Open("../examples/script.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer replies.Close()
	if s, err := script.Parse(replies); err != nil || len(s) < 2 {
		t.Errorf("script.jsonl: %d replies, %v", len(s), err)
	}
	agents, err := os.ReadDir("../examples/agents")
	if err != nil || len(agents) == 0 {
		t.Fatal(err)
	}
	for _, file := range agents {
		content, err := os.ReadFile("../examples/agents/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Parse(file.Name(), content); err != nil {
			t.Errorf("agents/%s: %v", file.Name(), err)
		}
	}
}
