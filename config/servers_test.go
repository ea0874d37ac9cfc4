package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/mcp"
)

// newHome returns a home with a configuration file, and its environment.
func newHome(t *testing.T, content string) (env Env, file string) {
	t.Helper()
	home := t.TempDir()
	file = filepath.Join(home, "pawl", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(name string) (string, bool) {
		return map[string]string{"XDG_CONFIG_HOME": home}[name], name == "XDG_CONFIG_HOME"
	}, file
}

func TestServersAreAddedReadAndRemoved(t *testing.T) {
	t.Parallel()
	before := "# mine\nmode = \"plan\"\n"
	env, file := newHome(t, before)
	all := []mcp.Definition{
		{Name: "a-b", Source: file, URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer ${T}"}, Tools: []string{"get_*"}, Required: true},
		{Name: "files", Source: file, Command: "npx", Args: []string{"-y", `it's "quoted"`}, Env: map[string]string{"A": "1", "B C": "x=y"}, Dir: "sub",
			Hidden: []string{"rm"}, Closed: true, StartTimeout: time.Minute, CallTimeout: time.Hour},
		{Name: "free", Source: file, Command: "x", Unconfined: true},
	}
	for _, d := range all {
		if _, err := env.AddServer(d); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(Sources{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, c.Servers); diff != "" || c.Get("mode") != "plan" {
		t.Errorf("mode %q, -want +got:\n%s", c.Get("mode"), diff)
	}
	if _, err := env.AddServer(all[1]); err == nil || !strings.Contains(err.Error(), "has a server files already") {
		t.Errorf("added twice: %v", err)
	}
	if _, err := env.AddServer(mcp.Definition{Name: "x y", Command: "x"}); err == nil {
		t.Error("a name that cannot be was added")
	}
	for _, d := range all {
		if _, was, err := env.RemoveServer(d.Name); err != nil || !was {
			t.Errorf("%s was removed: %v, %v", d.Name, was, err)
		}
	}
	if _, was, err := env.RemoveServer("files"); was || err != nil {
		t.Errorf("removed twice: %v, %v", was, err)
	}
	if after, err := os.ReadFile(file); err != nil || strings.TrimRight(string(after), "\n") != strings.TrimRight(before, "\n") {
		t.Errorf("left is %q, %v", after, err)
	}
}

func TestTablesOfServersThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"mcp = 1":                    "unknown key",
		"[mcp]\na = 1":               "mcp.a must be a table",
		"[mcp.a]\ncomand = \"x\"":    `mcp.a: unknown key "comand"; did you mean "command"?`,
		"[mcp.a]\nhttpUrl = \"x\"":   `unknown key "httpUrl": use url`,
		"[mcp.a]\ncommand = [\"x\"]": "config.toml",
		"[mcp.a]\n":                  "server a has neither command nor url",
		"[mcp.a]\ncommand = \"x\"\nstart_timeout = \"never\"":        "mcp.a.start_timeout",
		"[mcp.a]\ncommand = \"x\"\nsandbox = false\nnetwork = false": "without the sandbox nothing closes its network",
	} {
		env, _ := newHome(t, content)
		if _, err := Load(Sources{Env: env}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}

// Of two servers with one name the first counts: what was given for the run, before the person's
// own.
func TestOfTwoServersOfOneNameTheFirstCounts(t *testing.T) {
	t.Parallel()
	env, file := newHome(t, "[mcp.a]\ncommand = \"mine\"\n[mcp.off]\ncommand = \"x\"\nenabled = false\n")
	given := filepath.Join(t.TempDir(), "given.json")
	if err := os.WriteFile(given, []byte(`{"mcpServers":{"a":{"command":"given"},"b":{"command":"other"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Sources{Env: env, Given: map[string][]string{"mcp_config": {given}}})
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, d := range c.Servers {
		commands = append(commands, d.Name+" "+d.Command)
	}
	if want := []string{"a given", "b other"}; !slices.Equal(commands, want) {
		t.Errorf("there are %q, want %q", commands, want)
	}
	if want := "the MCP server a of " + file + " does not count: " + given + " has one of that name"; !slices.Contains(c.Notes, want) {
		t.Errorf("notes %q", c.Notes)
	}
	inline := ` {"mcpServers":{"b":{"command":"inline","args":["x,y"]}}}` // as Claude Code takes it
	if c, err = Load(Sources{Env: env, Given: map[string][]string{"mcp_config": {inline, given}}}); err != nil || len(c.Servers) != 2 || c.Servers[1].String() != "inline x,y" || c.Servers[1].Source != "--mcp-config" {
		t.Errorf("JSON itself gives %+v, %v", c, err)
	}
	if _, err := Load(Sources{Env: env, Given: map[string][]string{"mcp_config": {`{"mcpServers":`}}}); err == nil || !strings.Contains(err.Error(), "--mcp-config is not JSON") {
		t.Errorf("half of it: %v", err)
	}
	if _, err := Load(Sources{Env: env, Given: map[string][]string{"mcp_config": {`{"servers":{}}`}}}); err == nil || !strings.Contains(err.Error(), "has no") {
		t.Errorf("the form of another program: %v", err)
	}
	if _, err := Load(Sources{Env: env, Given: map[string][]string{"mcp_config": {given + "x"}}}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a file that is not there: %v", err)
	}
}
