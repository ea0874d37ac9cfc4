package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

// withDir returns an environment with a further folder.
func withDir(t *testing.T, files map[string]string) (env tool.Env, dir string) {
	t.Helper()
	env = tooltest.NewEnv(t, map[string]string{"main.go": "package main\n"})
	dir = filepath.Join(filepath.Dir(env.Workspace), "further")
	for name, content := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env.Dirs = []string{dir}
	return env, dir
}

func use(t *testing.T, env tool.Env, which tool.Tool, id run.CallID, args map[string]any) tool.Result {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := which.Run(t.Context(), env, tool.Call{Run: env.Run, ID: id, Args: raw})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestToolsWorkInAFurtherFolderByAbsolutePaths(t *testing.T) {
	t.Parallel()
	env, dir := withDir(t, map[string]string{"src/a.go": "package a\n", ".gitignore": "out/\n", "out/b.go": "package a\n"})
	if got := run.PlainText(use(t, env, tool.Read(), "c_1", map[string]any{"path": dir + "/src/a.go"}).Content); !strings.Contains(got, "package a") {
		t.Error(got)
	}
	for which, args := range map[tool.Tool]map[string]any{
		tool.List(): {"path": dir}, tool.Glob(): {"pattern": "*.go", "path": dir}, tool.Search(): {"pattern": "package", "path": dir},
	} {
		got := run.PlainText(use(t, env, which, "c_2", args).Content)
		if !strings.Contains(got, "a.go") || strings.Contains(got, "b.go") || strings.Contains(got, "main.go") {
			t.Errorf("%s: %s", which.Spec().Name, got)
		}
	}
	edit := use(t, env, tool.Edit(), "c_3", map[string]any{"path": dir + "/src/a.go", "edits": []map[string]any{{"old": "package a", "new": "package b"}}})
	write := use(t, env, tool.Write(), "c_4", map[string]any{"path": dir + "/new/c.go", "content": "package c\n"})
	if edit.IsError || write.IsError || len(edit.Files) != 1 || edit.Files[0].Path != dir+"/src/a.go" {
		t.Fatalf("%+v\n%+v", edit, write)
	}
	// What was changed there is put back like everything else.
	report, err := tool.Undo(env, append(edit.Files, write.Files...))
	if err != nil || len(report.Skipped) != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	if now, err := os.ReadFile(dir + "/src/a.go"); err != nil || string(now) != "package a\n" {
		t.Errorf("%q, %v", now, err)
	}
	if _, err := os.Lstat(dir + "/new/c.go"); err == nil {
		t.Error("the new file is still there")
	}
}

func TestAFurtherFolderIsNotLeft(t *testing.T) {
	t.Parallel()
	env, dir := withDir(t, map[string]string{"a.go": "package a\n"})
	outside := filepath.Join(filepath.Dir(dir), "outside")
	if err := os.MkdirAll(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(outside+"/secret", []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{dir + "/away": outside, dir + "/file": outside + "/secret", env.Workspace + "/across": dir, dir + "/back": env.Workspace} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir + "/away/secret", dir + "/file", dir + "/../outside/secret", dir + "x/secret", outside + "/secret"} {
		for which, args := range map[tool.Tool]map[string]any{
			tool.Read(): {"path": path}, tool.Write(): {"path": path, "content": "x"}, tool.Search(): {"pattern": "secret", "path": path},
		} {
			if r := use(t, env, which, "c_1", args); !r.IsError || !strings.Contains(run.PlainText(r.Content), "outside the workspace") {
				t.Errorf("%s %s: %+v", which.Spec().Name, path, r)
			}
		}
	}
	if now, err := os.ReadFile(outside + "/secret"); err != nil || string(now) != "secret\n" {
		t.Errorf("%q, %v", now, err)
	}
	// From one to the other a link leads inside.
	for path, want := range map[string]string{"across/a.go": dir + "/a.go", dir + "/back/main.go": "main.go"} {
		if rel, outside, err := tool.Resolve(env, path); rel != want || outside || err != nil {
			t.Errorf("%s leads to %q, outside: %t, %v", path, rel, outside, err)
		}
		if r := use(t, env, tool.Read(), "c_2", map[string]any{"path": path}); r.IsError {
			t.Errorf("%s: %+v", path, r)
		}
	}
	// Without the folder nothing of it is inside.
	env.Dirs = nil
	if _, outside, err := tool.Resolve(env, "across/a.go"); !outside || err != nil {
		t.Errorf("outside: %t, %v", outside, err)
	}
}
