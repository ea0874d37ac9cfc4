package tool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

const program = "package main\n\nfunc main() {\n\tprintln(\"a\")\n\tprintln(\"b\")\n}\n"

func TestEdit(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tool.Edit(),
		tooltest.Case{Name: "a text that is there once is replaced", Files: map[string]string{"m.go": program},
			Args:  `{"path":"m.go","edits":[{"old":"println(\"a\")","new":"print(\"A\")"}]}`,
			Check: holds("m.go", strings.Replace(program, `println("a")`, `print("A")`, 1)),
			Want:  []string{"Edited m.go: 1 line added, 1 line removed.\n@@ -2,5 +2,5 @@\n \n func main() {\n-\tprintln(\"a\")\n+\tprint(\"A\")\n \tprintln(\"b\")\n }"}},
		tooltest.Case{Name: "edits are applied in order", Files: map[string]string{"f": "one\n"},
			Args:  `{"path":"f","edits":[{"old":"one","new":"two"},{"old":"two","new":"three"}]}`,
			Check: holds("f", "three\n")},
		tooltest.Case{Name: "all or nothing", Files: map[string]string{"f": "one\ntwo\n"},
			Args:  `{"path":"f","edits":[{"old":"one","new":"1"},{"old":"three","new":"3"}]}`,
			Wrong: true, Want: []string{"edit 2 of 2 of f does not fit: old was not found", "Nothing was changed."}, Check: holds("f", "one\ntwo\n")},
		tooltest.Case{Name: "an edit that an earlier one took away is told", Files: map[string]string{"f": "one\ntwo\n"},
			Args:  `{"path":"f","edits":[{"old":"one","new":"1"},{"old":"one\ntwo","new":"3"}]}`,
			Wrong: true, Want: []string{"It was there before the edits before it"}},
		tooltest.Case{Name: "a text that is there twice names the lines", Files: map[string]string{"f": "x\ny\nx\n"},
			Args:  `{"path":"f","edits":[{"old":"x","new":"z"}]}`,
			Wrong: true, Want: []string{"old occurs 2 times, at lines 1, 3."}},
		tooltest.Case{Name: "overlapping occurrences are two", Files: map[string]string{"f": "aaa\n"},
			Args:  `{"path":"f","edits":[{"old":"aa","new":"b"}]}`,
			Wrong: true, Want: []string{"old occurs 2 times"}},
		tooltest.Case{Name: "all replaces all", Files: map[string]string{"f": "x\ny\nx\n"},
			Args:  `{"path":"f","edits":[{"old":"x","new":"z","all":true}]}`,
			Check: holds("f", "z\ny\nz\n")},
		tooltest.Case{Name: "CRLF, mark and final line end are kept", Files: map[string]string{"f": "\ufeffone\r\ntwo\r\nthree\r\n"},
			Args:  `{"path":"f","edits":[{"old":"one\ntwo\n","new":"1\n2\n2b\n"},{"old":"three\n","new":"3"}]}`,
			Check: holds("f", "\ufeff1\r\n2\r\n2b\r\n3\r\n")},
		tooltest.Case{Name: "of mixed line ends only the touched lines count", Files: map[string]string{"f": "a\r\nb\nc\r\nd\n"},
			Args:  `{"path":"f","edits":[{"old":"b\n","new":"B\nB\n"},{"old":"c\n","new":"C\nC\n"}]}`,
			Check: holds("f", "a\r\nB\nB\nC\r\nC\r\nd\n")},
		tooltest.Case{Name: "a file without a final line end stays without", Files: map[string]string{"f": "a\nb"},
			Args:  `{"path":"f","edits":[{"old":"b","new":"c"}]}`,
			Check: holds("f", "a\nc")},
		tooltest.Case{Name: "everything may go", Files: map[string]string{"f": "a\n"},
			Args:  `{"path":"f","edits":[{"old":"a\n","new":""}]}`,
			Check: holds("f", "")},
		tooltest.Case{Name: "blanks that differ are pointed out", Files: map[string]string{"m.go": program},
			Args:  `{"path":"m.go","edits":[{"old":"    println(\"a\")\n    println(\"b\")","new":"x"}]}`,
			Wrong: true, Want: []string{"But for blanks it is at line 4 (the file has tabs where old has spaces):\n     4\t\tprintln(\"a\")\n     5\t\tprintln(\"b\")"}},
		tooltest.Case{Name: "copied line numbers are pointed out", Files: map[string]string{"m.go": program},
			Args:  `{"path":"m.go","edits":[{"old":"     1\tpackage main\n     2\t\n","new":"x"}]}`,
			Wrong: true, Want: []string{"line numbers of read"}},
		tooltest.Case{Name: "doubled escapes are pointed out", Files: map[string]string{"m.go": program},
			Args:  `{"path":"m.go","edits":[{"old":"println(\\\"a\\\")","new":"x"}]}`,
			Wrong: true, Want: []string{"doubled escapes"}},
		tooltest.Case{Name: "similar lines are shown", Files: map[string]string{"m.go": program},
			Args:  `{"path":"m.go","edits":[{"old":"printline(\"b\")","new":"x"}]}`,
			Wrong: true, Want: []string{"The lines most like its own:", "     5\t\tprintln(\"b\")"}},
		tooltest.Case{Name: "nothing like it is said", Files: map[string]string{"m.go": program},
			Args:  `{"path":"m.go","edits":[{"old":"zzzzzzzz","new":"x"}]}`,
			Wrong: true, Want: []string{"nor any line like it"}},
		tooltest.Case{Name: "old and new the same", Files: map[string]string{"f": "a\n"},
			Args: `{"path":"f","edits":[{"old":"a","new":"a"}]}`, Wrong: true, Want: []string{"old and new are the same"}},
		tooltest.Case{Name: "an empty old", Files: map[string]string{"f": "a\n"},
			Args: `{"path":"f","edits":[{"old":"","new":"a"}]}`, Wrong: true, Want: []string{"old is empty"}},
		tooltest.Case{Name: "edits that undo each other", Files: map[string]string{"f": "a\n"},
			Args: `{"path":"f","edits":[{"old":"a","new":"b"},{"old":"b","new":"a"}]}`, Wrong: true, Want: []string{"leave f as it is"}},
		tooltest.Case{Name: "no edits", Files: map[string]string{"f": "a\n"}, Args: `{"path":"f","edits":[]}`, Wrong: true, Want: []string{"edits is empty"}},
		tooltest.Case{Name: "a missing file is for write", Args: `{"path":"f","edits":[{"old":"a","new":"b"}]}`, Wrong: true, Want: []string{"f does not exist", "use write"}},
		tooltest.Case{Name: "a folder", Files: map[string]string{"d/f": ""}, Args: `{"path":"d","edits":[{"old":"a","new":"b"}]}`, Wrong: true, Want: []string{"it is a folder"}},
		tooltest.Case{Name: "a binary file", Files: map[string]string{"f": "a\x00b"}, Args: `{"path":"f","edits":[{"old":"a","new":"b"}]}`, Wrong: true, Want: []string{"edit changes text only"}},
		tooltest.Case{Name: "the repository's own folder", Files: map[string]string{"x/.GIT/config": "a"}, Args: `{"path":"x/.GIT/config","edits":[{"old":"a","new":"b"}]}`, Wrong: true,
			Want: []string{"x/.GIT/config is in the repository's own folder .git"}},
		tooltest.Case{Name: "the configuration of a bare repository", Files: map[string]string{"x/HEAD": "ref: refs/heads/m", "x/objects/a": "", "x/refs/a": "", "x/config": "a"},
			Args: `{"path":"x/config","edits":[{"old":"a","new":"b"}]}`, Wrong: true, Want: []string{"a repository that git obeys"}},
		tooltest.Case{Name: "a protected file", Files: map[string]string{"f": "a"}, Args: `{"path":"f","edits":[{"old":"a","new":"b"}]}`, Wrong: true,
			Setup: func(t *testing.T, env tool.Env) { chmod(t, env, "f", 0o444) },
			Want:  []string{"f is read-only (mode 0444)"}},
		tooltest.Case{Name: "the mode is kept", Files: map[string]string{"f": "a\n"}, Args: `{"path":"f","edits":[{"old":"a","new":"b"}]}`,
			Setup: func(t *testing.T, env tool.Env) { chmod(t, env, "f", 0o750) },
			Check: func(t *testing.T, env tool.Env, _ tool.Result) { hasMode(t, env, "f", 0o750) }},
		tooltest.Case{Name: "a link in the workspace stays one", Files: map[string]string{"real": "a\n"}, Args: `{"path":"l","edits":[{"old":"a","new":"b"}]}`,
			Setup: func(t *testing.T, env tool.Env) { link(t, env, "real", "l") },
			Check: func(t *testing.T, env tool.Env, r tool.Result) {
				holds("real", "b\n")(t, env, r)
				if target, err := os.Readlink(filepath.Join(env.Workspace, "l")); target != "real" {
					t.Errorf("the link leads to %q, %v", target, err)
				}
				if r.Files[0].Path != "real" {
					t.Errorf("the change is of %s, want real", r.Files[0].Path)
				}
			}},
		tooltest.Case{Name: "a hard link keeps the old content under its other name", Files: map[string]string{"f": "a\n"}, Args: `{"path":"f","edits":[{"old":"a","new":"b"}]}`,
			Setup: func(t *testing.T, env tool.Env) {
				if err := os.Link(filepath.Join(env.Workspace, "f"), filepath.Join(env.StateDir, "outside")); err != nil {
					t.Skipf("the file system has no hard links: %v", err)
				}
			},
			Check: func(t *testing.T, env tool.Env, _ tool.Result) {
				if b, err := os.ReadFile(filepath.Join(env.StateDir, "outside")); string(b) != "a\n" {
					t.Errorf("the file outside has %q, %v", b, err)
				}
			}},
	)
}

func TestAnEditOfAFileThatChangedSinceItWasReadSaysWhatChanged(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"m.go": program})
	call(t, env, tool.Read(), map[string]any{"path": "m.go"})
	changed := strings.Replace(program, "\tprintln(\"b\")\n", "\tprintln(\"B\")\n\tprintln(\"c\")\n", 1)
	tooltest.WriteFile(t, env, "m.go", changed)

	edit := map[string]any{"path": "m.go", "edits": []any{map[string]any{"old": `"a"`, "new": `"A"`}}}
	r := call(t, env, tool.Edit(), edit)
	for _, want := range []string{"Nothing was changed: m.go changed since it was last read", "it had 58 bytes", "now it has 72",
		"From line 5 on, 2 lines have replaced 1 line:\n     5\t\tprintln(\"B\")\n     6\t\tprintln(\"c\")\nRead it again"} {
		if got := run.PlainText(r.Content); !r.IsError || !strings.Contains(got, want) {
			t.Errorf("the result lacks %q:\n%s", want, got)
		}
	}
	holds("m.go", changed)(t, env, r)

	call(t, env, tool.Read(), map[string]any{"path": "m.go"})
	if r := call(t, env, tool.Edit(), edit); r.IsError {
		t.Errorf("after reading it again: %s", run.PlainText(r.Content))
	}
	// What the tools themselves wrote counts as read.
	edit["edits"] = []any{map[string]any{"old": `"A"`, "new": `"Ä"`}}
	if r := call(t, env, tool.Edit(), edit); r.IsError {
		t.Errorf("after an edit of its own: %s", run.PlainText(r.Content))
	}
}

func TestAFileThatWasOnlyTouchedHasNotChanged(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"f": "a\n"})
	call(t, env, tool.Read(), map[string]any{"path": "f"})
	tooltest.WriteFile(t, env, "f", "a\n")
	if r := call(t, env, tool.Edit(), map[string]any{"path": "f", "edits": []any{map[string]any{"old": "a", "new": "b"}}}); r.IsError {
		t.Error(run.PlainText(r.Content))
	}
}

func TestEditsOfRunsThatShareAWorkspaceAreNotLost(t *testing.T) {
	t.Parallel()
	const runs = 8
	content, want := "", ""
	for i := range runs {
		content += fmt.Sprintf("todo%d\n", i)
		want += fmt.Sprintf("done%d\n", i)
	}
	env := tooltest.NewEnv(t, map[string]string{"f": content})
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			mine := env
			mine.Session = &tool.Session{}
			c := tool.Call{Run: run.ID(fmt.Sprintf("r_%d", i)), ID: "c_1", Args: tooltest.Args(map[string]any{
				"path": "f", "edits": []any{map[string]any{"old": fmt.Sprintf("todo%d", i), "new": fmt.Sprintf("done%d", i)}}})}
			if r, err := tool.Edit().Run(t.Context(), mine, c); err != nil || r.IsError {
				t.Errorf("%v %s", err, run.PlainText(r.Content))
			}
		})
	}
	all.Wait()
	holds("f", want)(t, env, tool.Result{})
}

// holds checks a file's whole content.
func holds(name, want string) func(*testing.T, tool.Env, tool.Result) {
	return func(t *testing.T, env tool.Env, _ tool.Result) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(env.Workspace, name))
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		left, _ := filepath.Glob(filepath.Join(env.Workspace, ".pawl-*"))
		if len(left) > 0 {
			t.Errorf("temporary files are left: %v", left)
		}
	}
}

func chmod(t *testing.T, env tool.Env, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(filepath.Join(env.Workspace, name), mode); err != nil {
		t.Fatal(err)
	}
}

func hasMode(t *testing.T, env tool.Env, name string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(filepath.Join(env.Workspace, name))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("the mode of %s is %04o, want %04o", name, got, want)
	}
}
