package app

import (
	"testing"

	"pawl/mcp"
	"pawl/permission"
	"pawl/sandbox"
)

func TestBypassAsRootNeedsASandboxOrAWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		mode    permission.Mode
		root    bool
		sandbox *sandbox.Policy
		refused bool
	}{
		{"as root without a sandbox", permission.Bypass, true, nil, true},
		{"as root in a sandbox", permission.Bypass, true, &sandbox.Policy{}, false},
		{"as a person", permission.Bypass, false, nil, false},
		{"another mode", permission.Default, true, nil, false},
	} {
		if err := mayBypass(c.mode, c.root, c.sandbox); (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAServerOfARepositoryNeedsTheSandbox(t *testing.T) {
	t.Parallel()
	for file, content := range map[string]string{".mcp.json": `{"mcpServers":{"it":{"command":"sh"}}}`, "own.json": `{"mcpServers":{"it":{"command":"sh"}}}`} {
		found, err := mcp.ParseFile([]byte(content), file)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range found {
			if err := mayBeUnconfined(d); (err != nil) != (file == ".mcp.json") {
				t.Errorf("of %s: %v", file, err)
			}
		}
	}
}
