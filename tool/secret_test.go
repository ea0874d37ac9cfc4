package tool_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/tool"
	"pawl/tool/tooltest"
)

func TestSearchPassesOverSecretsUnlessOneIsNamed(t *testing.T) {
	t.Parallel()
	tree := map[string]string{".env": "needle", "a/server.key": "needle", "a/b.go": "needle", "secrets/token": "needle", ".env.example": "needle"}
	tooltest.Run(t, tool.Search(),
		tooltest.Case{Name: "in the workspace", Args: `{"pattern":"needle"}`, Files: tree,
			Check: text("a/b.go\n  1: needle\n[2 files may hold secrets, not searched: name one in path if you need it]\n")},
		tooltest.Case{Name: "with a glob", Args: `{"pattern":"needle","glob":".env*"}`, Files: tree, Check: text(".env.example\n  1: needle\n[1 file may hold secrets, not searched: name one in path if you need it]\n")},
		tooltest.Case{Name: "named", Args: `{"pattern":"needle","path":".env"}`, Files: tree, Check: text(".env\n  1: needle\n")},
		tooltest.Case{Name: "a folder, named", Args: `{"pattern":"needle","path":"secrets"}`, Files: tree, Check: text("secrets/token\n  1: needle\n")},
	)
}

func TestACommandThatGoesThroughFoldersIsLookedAtWithTheSecretsInThem(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{
		".env": "", "a.go": "", "src/server.key": "", "src/b.go": "", "secrets/token": "", "node_modules/x/test.pem": "", ".git/id_rsa": "",
	})
	link(t, env, "/etc", "out")
	for command, want := range map[string][]string{
		"grep x a.go":   {"a.go"},
		"grep -r x":     {".", ".env", "out", "secrets/token", "src/server.key"},
		"grep -r x src": {"src", "src/server.key"},
		"grep -r --exclude=.env --exclude-dir='s*' x": {".", ".env", "out", "secrets/token", "src/server.key"}, // what it leaves out is not certain
		"grep -r --include='*.go' x .":                {".", "out"},
		"rg x":                                        {".", ".env", "out", "secrets/token", "src/server.key"}, // a .ignore with !.env
		"diff -r . src":                               {".", ".env", "out", "secrets/token", "src", "src/server.key", "src/server.key"},
	} {
		in, err := tool.Shell().Inspect(env, tooltest.Args(map[string]any{"command": command}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range slices.Concat(in.Paths, in.Below) {
			rel, err := filepath.Rel(env.Workspace, p)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}

func TestGitIsLookedAtWithWhatTheRepositoryMakesItRun(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{
		".git/HEAD": "", ".git/objects/x": "", ".git/refs/x": "", ".git/config": "",
		"bare/HEAD": "", "bare/objects/x": "", "bare/refs/x": "", "bare/config": "[core]\n\tfsmonitor = evil\n",
	})
	for command, runs := range map[string]bool{"git status": false, "ls bare": false, "git -C bare status": true, "cd bare && git log": true, "cd bare; go list": true} {
		in, err := tool.Shell().Inspect(env, tooltest.Args(map[string]any{"command": command}))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(in.Runs, "core.fsmonitor") != runs {
			t.Errorf("%s: %q", command, in.Runs)
		}
	}
}

func TestTheHooksThatGitWouldRunAreNamed(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{
		".git/HEAD": "", ".git/objects/x": "", ".git/refs/x": "", ".git/config": "", ".git/hooks/pre-commit.sample": "",
		"sub/.git/HEAD": "", "sub/.git/objects/x": "", "sub/.git/refs/x": "", "sub/.git/config": "", "sub/.git/hooks/pre-commit": "",
		"bare/HEAD": "", "bare/objects/x": "", "bare/refs/x": "", "bare/config": "[core]\n\thooksPath = .husky\n",
	})
	for command, hooks := range map[string]string{"git commit -m x": "", "ls sub": "", "git -C sub commit -m x": "pre-commit", "cd bare && git commit": ".husky"} {
		in, err := tool.Shell().Inspect(env, tooltest.Args(map[string]any{"command": command}))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(in.Hooks, hooks) || (hooks == "") != (in.Hooks == "") {
			t.Errorf("%s: %q", command, in.Hooks)
		}
	}
}

func TestARepositoryWhoseFolderIsAPipeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tool.List(), tooltest.Case{Name: "list", Files: map[string]string{"a": ""}, Args: `{}`,
		Setup: func(t *testing.T, env tool.Env) {
			if err := syscall.Mkfifo(filepath.Join(env.Workspace, ".git"), 0o600); err != nil {
				t.Skipf("needs named pipes: %v", err)
			}
		},
		Check: text(".:\na  0 B\n")})
}

func TestNoVariableThatIsCalledAsAKeyReachesACommand(t *testing.T) {
	env := shellEnv(t)
	for _, name := range []string{"HOUSE_KEY", "DEPLOY_KEY", "OPENAI_APIKEY", "NPM_AUTH", "HTTP_AUTHORIZATION", "SESSION_COOKIE", "GH_PAT", "DB_PASSWORD", "my_secret_thing"} {
		t.Setenv(name, "canary")
	}
	if text, _ := invoke(t, t.Context(), env, tool.Shell(), map[string]any{"command": "env"}); strings.Contains(text, "canary") {
		t.Errorf("the environment is\n%s", text)
	}
}

func TestOnlyWhatWasAllowedIsOpened(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"d/f": "one", "e/f": "two"})
	link(t, env, "e", "l")
	env.Leads = []string{"d/f"}
	if got, r := invoke(t, t.Context(), env, tool.Read(), map[string]any{"path": "d/f"}); r.IsError || !strings.Contains(got, "one") {
		t.Errorf("as allowed: %q", got)
	}
	for _, path := range []string{"l/f", "e/f", "d"} {
		if got, r := invoke(t, t.Context(), env, tool.Read(), map[string]any{"path": path}); !r.IsError || strings.Contains(got, "two") || !strings.Contains(got, "what was allowed was d/f") {
			t.Errorf("%s: %q", path, got)
		}
	}
	if _, err := os.Stat(filepath.Join(env.Workspace, "e/f")); err != nil {
		t.Error(err)
	}
}
