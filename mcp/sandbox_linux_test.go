package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/proc"
	"pawl/internal/proc/proctest"
	"pawl/run"
	"pawl/sandbox"
	"pawl/tool"
)

func TestAServerRunsInTheSandbox(t *testing.T) {
	t.Parallel()
	if !sandbox.Probe().Confines() {
		t.Skip("needs a sandbox")
	}
	workspace, secret := real(t, t.TempDir()), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := local(t, "good", "good")
	self, err := os.ReadFile(d.Command)
	if err != nil {
		t.Fatal(err)
	}
	d.Command = "./server" // where the sandbox lets it be read
	proctest.Program(t, filepath.Join(workspace, "server"), string(self))
	policy, err := sandbox.For(workspace, sandbox.Options{StateDir: t.TempDir(), Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(policy.Close)
	s := play(t, Options{Workspace: workspace, Confine: func(_ Definition, _ string, c proc.Command) (proc.Command, *sandbox.Session, error) {
		return policy.Start(c, run.WithNetwork, sandbox.Fence{})
	}}, d)
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, seen := range map[string]bool{secret: false, filepath.Join(workspace, "server"): true} {
		if _, text := s.call(t.Context(), "mcp__good__look", fmt.Sprintf(`{"path":%q}`, path), tool.Call{}); text != fmt.Sprint(seen) {
			t.Errorf("it sees %s: %s; told %q", path, text, s.told)
		}
	}
	const place = "/usr/pawl-test"
	if _, text := s.call(t.Context(), "mcp__good__write", fmt.Sprintf(`{"path":%q}`, place), tool.Call{}); !strings.Contains(text, "read-only") ||
		!strings.Contains(text, "[the sandbox probably refused this") || !strings.Contains(text, "sandbox = false)]") || strings.Contains(text, "repeat the call") {
		t.Errorf("of a file outside it says %q", text)
	}
	links := s.Get("good").live()
	s.Close()
	for _, l := range links {
		if l.process.ended() == "" {
			t.Error("a server has outlived its servers")
		}
	}
}
