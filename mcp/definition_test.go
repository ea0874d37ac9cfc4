package mcp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestServersOfOtherAgentsFilesAreRead(t *testing.T) {
	t.Parallel()
	got, err := ParseFile([]byte("\xef\xbb\xbf"+`{"mcpServers":{
		"web":{"type":"http","url":"https://example.com/mcp","headers":{"A":"b"}},
		"old":{"type":"sse","url":"https://example.com/sse"},
		"files":{"command":"npx","args":["-y","x"],"env":{"K":"${V}"},"timeout":5000}}}`), "f.json")
	want := []Definition{
		{Name: "files", Source: "f.json", Command: "npx", Args: []string{"-y", "x"}, Env: map[string]string{"K": "${V}"}, CallTimeout: 5e9},
		{Name: "old", Source: "f.json", URL: "https://example.com/sse", SSE: true},
		{Name: "web", Source: "f.json", URL: "https://example.com/mcp", Headers: map[string]string{"A": "b"}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestDefinitionsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`:                      "f.json is not JSON",
		`{"mcpServers":{"a":{}}}`: "server a has neither command nor url",
		`{"mcpServers":{"a":{"command":"x","url":"http://x"}}}`:    "both command and url",
		`{"mcpServers":{"a b":{"command":"x"}}}`:                   `"a b" cannot be the name of a server`,
		`{"mcpServers":{"a__b":{"command":"x"}}}`:                  `"a__b" cannot be the name of a server`,
		`{"mcpServers":{"a_":{"command":"x"}}}`:                    `"a_" cannot be the name of a server`,
		`{"mcpServers":{"a":{"url":"ftp://x"}}}`:                   "it has to begin with https:// or http://",
		`{"mcpServers":{"a":{"type":"ws","url":"wss://x"}}}`:       `its type is "ws"`,
		`{"mcpServers":{"a":{"command":["x"]}}}`:                   `server "a": json: cannot unmarshal array`,
		`{"mcpServers":{"a":{"url":"http://x","args":["y"]}}}`:     "are for servers with a command",
		`{"mcpServers":{"a":{"command":"x","headers":{"A":"b"}}}}`: "are for servers with a url",
		`{"mcpServers":{"a":{"command":"x","tools":["["]}}}`:       `"[" is not a pattern of names`,
		`{"mcpServers":{"a":{"command":"x","sandbox":false}}}`:     `server "a": "sandbox" is no key of servers in JSON`,
		`{"mcpServers":{"a":{"command":"x","network":false}}}`:     "it counts in a table [mcp.NAME] of your own config.toml alone",
		`{"mcpServers":{"a":{"command":"x","timeout":-1}}}`:        "a time limit is negative",
	} {
		if _, err := ParseFile([]byte(text), "f.json"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestVariablesOfDefinitionsAreReplaced(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"KEY": "k", "EMPTY": ""}
	getenv := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	d := Definition{Name: "a", Command: "x", Args: []string{"${KEY}", "${NONE:-d}", "${EMPTY}", "$KEY"}, Env: map[string]string{"A": "x${KEY}y"}}
	got, err := d.Expand(getenv)
	if diff := cmp.Diff([]string{"k", "d", "", "$KEY"}, got.Args); err != nil || diff != "" || got.Env["A"] != "xky" {
		t.Errorf("%v %v, -want +got:\n%s", err, got.Env, diff)
	}
	if d.Env["A"] != "x${KEY}y" || d.Args[0] != "${KEY}" {
		t.Error("the definition itself was changed")
	}
	d.URL = "${A}${B}"
	if _, err := d.Expand(getenv); err == nil || !strings.Contains(err.Error(), "it needs the variable A, B, which is not set") {
		t.Error(err)
	}
}
