package judge

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/tool"
)

func TestAProgramThatPathFindsInTheWorkspaceIsLocal(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	workspace, outside, links := filepath.Join(base, "ws"), filepath.Join(base, "bin"), filepath.Join(base, "links")
	for file, mode := range map[string]os.FileMode{"ws/wc": 0o755, "ws/.venv/bin/pip": 0o755, "ws/data": 0o644, "bin/wc": 0o755, "bin/data": 0o755, "bin/git": 0o755} {
		file = filepath.Join(base, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(workspace, ".venv/bin"), links); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, name string
		want       bool
	}{
		{outside, "wc", false},
		{workspace + ":" + outside, "wc", true},
		{outside + ":" + workspace, "wc", false},
		{workspace + ":" + outside, "git", false},
		{workspace + ":" + outside, "data", false}, // the first one is not executable
		{":" + outside, "git", true},               // an empty entry is the current directory
		{"./bin:" + outside, "git", true},
		{outside + ":.", "git", false},
		{workspace + "/.venv/bin:" + outside, "pip", true},
		{links + ":" + outside, "pip", true},
		{outside, "nosuch", false},
	} {
		if got := isLocal([]string{workspace}, c.name, c.path); got != c.want {
			t.Errorf("PATH %s: %s is local: %t, want %t", c.path, c.name, got, c.want)
		}
	}
}

// What bash has itself it does not look for.
func TestABuiltinIsNotFoundInTheWorkspace(t *testing.T) {
	t.Setenv("PATH", ".")
	for _, name := range strings.Fields("[ : break cd command continue echo exit export false printf pwd return test true type") {
		if local := localPrograms(tool.Env{Workspace: t.TempDir()}, name); len(local) > 0 {
			t.Errorf("%s: local are %q", name, local)
		}
	}
	if local := localPrograms(tool.Env{Workspace: t.TempDir()}, "echo x; make test"); !slices.Equal(local, []string{"make"}) {
		t.Errorf("local are %q", local)
	}
}

// A decision to run read-only is not widened by a rule that is made before the call starts.
