package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tool.Write(),
		tooltest.Case{Name: "a file is made with its folders", Args: `{"path":"a/b/c.txt","content":"x\ny\n"}`,
			Want: []string{"Made a/b/c.txt: 2 lines, 4 B."},
			Check: func(t *testing.T, env tool.Env, r tool.Result) {
				holds("a/b/c.txt", "x\ny\n")(t, env, r)
				if len(r.Files) != 1 || r.Files[0].Path != "a/b/c.txt" || r.Files[0].Before != "" || r.Change != run.Changed {
					t.Errorf("the change is %+v %+v", r.Change, r.Files)
				}
			}},
		tooltest.Case{Name: "a file that was not read is not replaced", Files: map[string]string{"f": "old\n"}, Args: `{"path":"f","content":"new"}`, Wrong: true,
			Want: []string{"f exists (4 B) and was not read in this session", "read it first"}},
		tooltest.Case{Name: "the same content is no change", Files: map[string]string{"f": "same"}, Args: `{"path":"f","content":"same"}`,
			Want: []string{"exactly this content already"},
			Check: func(t *testing.T, _ tool.Env, r tool.Result) {
				if r.Change != run.NoChange || r.Files != nil {
					t.Errorf("%+v", r)
				}
			}},
		tooltest.Case{Name: "a folder is no file", Files: map[string]string{"d/f": ""}, Args: `{"path":"d","content":""}`, Wrong: true, Want: []string{"it is a folder"}},
		tooltest.Case{Name: "a path that ends in a slash", Args: `{"path":"d/","content":""}`, Wrong: true, Want: []string{"names a folder"}},
		tooltest.Case{Name: "a file is no folder", Files: map[string]string{"f": "x"}, Args: `{"path":"f/g","content":""}`, Wrong: true, Want: []string{"f is a file, not a folder"}},
		tooltest.Case{Name: "what makes a folder a repository", Files: map[string]string{"x/HEAD": "ref: refs/heads/m", "x/objects/a": "", "x/refs/a": ""},
			Args: `{"path":"x/config","content":"[core]\nfsmonitor = evil"}`, Wrong: true, Want: []string{"x/config makes ", "a repository that git obeys"}},
		tooltest.Case{Name: "git's hooks", Args: `{"path":".git/hooks/pre-commit","content":"rm -rf /"}`, Wrong: true, Want: []string{"git commands"}},
		tooltest.Case{Name: "git's hooks through a link", Files: map[string]string{".git/hooks/x": ""}, Args: `{"path":"docs/pre-commit","content":"x"}`, Wrong: true, Want: []string{".git/hooks/pre-commit"},
			Setup: func(t *testing.T, env tool.Env) { link(t, env, ".git/hooks", "docs") }},
		tooltest.Case{Name: "a link that leads nowhere yet is written through", Args: `{"path":"l","content":"x"}`,
			Setup: func(t *testing.T, env tool.Env) { link(t, env, "later/f", "l") },
			Check: holds("later/f", "x")},
		tooltest.Case{Name: "a device is no file", Args: `{"path":"/dev/null","content":"x"}`, Wrong: true, Want: []string{"/dev, which holds devices"}},
		tooltest.Case{Name: "a name that is too long", Args: `{"path":"` + strings.Repeat("n", 300) + `","content":"x"}`, Wrong: true, Want: []string{"too long"}},
	)
}

func TestAFileThatWasReadIsReplaced(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"run.sh": "#!/bin/sh\necho a\n"})
	chmod(t, env, "run.sh", 0o755)
	call(t, env, tool.Read(), map[string]any{"path": "run.sh"})
	r := call(t, env, tool.Write(), map[string]any{"path": "run.sh", "content": "#!/bin/sh\necho b\necho c\n"})
	text("Replaced run.sh: 2 lines added, 1 line removed; it has 3 lines, 24 B.")(t, env, r)
	hasMode(t, env, "run.sh", 0o755)

	tooltest.WriteFile(t, env, "run.sh", "somebody's\n")
	r = call(t, env, tool.Write(), map[string]any{"path": "run.sh", "content": "x"})
	if got := run.PlainText(r.Content); !r.IsError || !strings.Contains(got, "From line 1 on, 1 line has replaced 3 lines:\n     1\tsomebody's") {
		t.Errorf("got %q", got)
	}
	holds("run.sh", "somebody's\n")(t, env, r)
}

func TestAStateFolderThatCannotBeWrittenStopsTheChangeWithASentence(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"f": "a\n"})
	if err := os.Remove(env.StateDir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(env.StateDir, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	r := call(t, env, tool.Edit(), map[string]any{"path": "f", "edits": []any{map[string]any{"old": "a", "new": "b"}}})
	got := run.PlainText(r.Content)
	if want := "cannot be journaled in " + env.StateDir + ": a part of the path is a file, not a folder; nothing was changed"; !r.IsError || !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	holds("f", "a\n")(t, env, r)
}

func TestAWorkspaceThatIsGoneIsSaid(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, nil)
	if err := os.RemoveAll(env.Workspace); err != nil {
		t.Fatal(err)
	}
	for _, tl := range []tool.Tool{tool.Read(), tool.Write(), tool.List(), tool.Search(), tool.Glob()} {
		r := call(t, env, tl, map[string]any{"path": "f", "content": "x", "pattern": "x"})
		if got := run.PlainText(r.Content); !r.IsError || !strings.Contains(got, "does not exist") {
			t.Errorf("%s: %q", tl.Spec().Name, got)
		}
	}
	if _, err := os.Stat(filepath.Dir(env.Workspace)); err != nil {
		t.Fatal(err)
	}
}
