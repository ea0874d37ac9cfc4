package tool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

func TestRead(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := 1; i <= 5000; i++ {
		fmt.Fprintf(&many, "line %d\n", i)
	}
	tooltest.Run(t, tool.Read(),
		tooltest.Case{Name: "lines are numbered", Files: map[string]string{"a/main.go": "package main\n\n\tx\n"}, Args: `{"path":"a/main.go"}`,
			Check: text("     1\tpackage main\n     2\t\n     3\t\tx\n")},
		tooltest.Case{Name: "a last line without an end is a line", Files: map[string]string{"a": "x\ny"}, Args: `{"path":"a"}`,
			Check: text("     1\tx\n     2\ty\n")},
		tooltest.Case{Name: "a range says what is left", Files: map[string]string{"a": many.String()}, Args: `{"path":"a","offset":10,"limit":2}`,
			Check: text("    10\tline 10\n    11\tline 11\n[lines 10 to 11 of 5,000; continue with offset 12]\n")},
		tooltest.Case{Name: "a long file stops after 2,000 lines", Files: map[string]string{"a": strings.Repeat("x\n", 5000)}, Args: `{"path":"a","limit":100000}`,
			Want: []string{"  2000\tx\n[lines 1 to 2000 of 5,000; continue with offset 2001]"}},
		tooltest.Case{Name: "wide lines fill the result earlier", Files: map[string]string{"a": strings.Repeat(strings.Repeat("é", 1000)+"\n", 100)}, Args: `{"path":"a"}`,
			Want: []string{"[lines 1 to 32 of 100; continue with offset 33]"}},
		tooltest.Case{Name: "a very long line is cut with a mark", Files: map[string]string{"a": strings.Repeat("x", 300_000) + "\nend\n"}, Args: `{"path":"a"}`,
			Want: []string{"xxx… [cut: this line has 300,001 bytes]\n     2\tend\n"}},
		tooltest.Case{Name: "an offset behind the end is an error", Files: map[string]string{"a": "1\n2\n"}, Args: `{"path":"a","offset":3}`, Wrong: true,
			Want: []string{"a has 2 lines: there is none at offset 3."}},
		tooltest.Case{Name: "a negative offset is an error", Files: map[string]string{"a": "1\n"}, Args: `{"path":"a","offset":-5}`, Wrong: true, Want: []string{"offset is -5: it must be at least 1"}},
		tooltest.Case{Name: "an empty file says so", Files: map[string]string{"a": ""}, Args: `{"path":"a"}`, Want: []string{"a is empty"}},
		tooltest.Case{Name: "line ends and a byte order mark are told, not shown", Files: map[string]string{"a": "\ufeffx\r\ny\r\n"}, Args: `{"path":"a"}`,
			Check: text("     1\tx\n     2\ty\n[its lines end with \\r\\n; edit keeps that by itself]\n[it begins with a byte order mark; edit keeps it]\n")},
		tooltest.Case{Name: "bytes that are no UTF-8 are told", Files: map[string]string{"a": "caf\xe9\n"}, Args: `{"path":"a"}`, Want: []string{"caf\uFFFD\n", "not all UTF-8"}},
		tooltest.Case{Name: "a folder is for list", Files: map[string]string{"d/a": "x"}, Args: `{"path":"d"}`, Wrong: true, Want: []string{"d cannot be read: it is a folder: use list"}},
		tooltest.Case{Name: "a program is refused with what it is", Files: map[string]string{"a": "\x7fELF\x02\x01\x01\x00"}, Args: `{"path":"a"}`, Wrong: true, Want: []string{"a program or library (ELF)"}},
		tooltest.Case{Name: "text has no pages", Files: map[string]string{"a": "x\n"}, Args: `{"path":"a","pages":"2"}`, Wrong: true, Want: []string{"a has no pages: it is text"}},
		tooltest.Case{Name: "pages that are none are wrong", Files: map[string]string{"a": "x\n"}, Args: `{"path":"a","pages":"7-3"}`, Wrong: true, Want: []string{`pages is "7-3": give a number or a range, such as 3, 3-7 or 3-`}},
		tooltest.Case{Name: "UTF-16 is refused with a way out", Files: map[string]string{"a": "\xff\xfex\x00"}, Args: `{"path":"a"}`, Wrong: true, Want: []string{"text in UTF-16", "iconv"}},
		tooltest.Case{Name: "a missing file names its neighbour", Files: map[string]string{"src/server.go": "x"}, Args: `{"path":"src/sever.go"}`, Wrong: true,
			Want: []string{"src/sever.go does not exist. Did you mean src/server.go?"}},
		tooltest.Case{Name: "a missing file names its like elsewhere", Files: map[string]string{"internal/deep/server.go": "x"}, Args: `{"path":"server.go"}`, Wrong: true,
			Want: []string{"Did you mean internal/deep/server.go?"}},
		tooltest.Case{Name: "a named pipe is refused and not waited for", Args: `{"path":"p"}`, Wrong: true, Want: []string{"p cannot be read: it is a named pipe"},
			Setup: func(t *testing.T, env tool.Env) {
				if err := syscall.Mkfifo(filepath.Join(env.Workspace, "p"), 0o666); err != nil {
					t.Fatal(err)
				}
			}},
		tooltest.Case{Name: "a link in the workspace is followed", Files: map[string]string{"real/a": "here\n"}, Args: `{"path":"l/a"}`, Want: []string{"here"},
			Setup: func(t *testing.T, env tool.Env) { link(t, env, filepath.Join(env.Workspace, "real"), "l") }},
		tooltest.Case{Name: "a tilde is a name", Files: map[string]string{"~/a": "mine\n"}, Args: `{"path":"~/a"}`, Want: []string{"mine"}},
	)
}

func TestALargeTextIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"big": strings.Repeat(strings.Repeat("x", 1023)+"\n", 33<<10)})
	r := call(t, env, tool.Read(), map[string]any{"path": "big", "offset": 3, "limit": 1})
	if got := run.PlainText(r.Content); !strings.Contains(got, "[lines 3 to 3; the file has 34.6 MB in all: continue with offset 4, or use search]") {
		t.Errorf("got %q", got)
	}
	r = call(t, env, tool.Write(), map[string]any{"path": "big", "content": ""})
	if got := run.PlainText(r.Content); !r.IsError || !strings.Contains(got, "too large for this tool") {
		t.Errorf("got %q", got)
	}
}

// text checks the whole text of a result.
func text(want string) func(*testing.T, tool.Env, tool.Result) {
	return func(t *testing.T, _ tool.Env, r tool.Result) {
		t.Helper()
		if got := run.PlainText(r.Content); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	}
}

var calls = make(chan int, 1)

func init() { calls <- 0 }

// call makes a call with an id of its own.
func call(t *testing.T, env tool.Env, tl tool.Tool, args any) tool.Result {
	t.Helper()
	n := <-calls + 1
	calls <- n
	c := tool.Call{Run: env.Run, ID: run.CallID(fmt.Sprintf("c_%d", n)), Args: tooltest.Args(args)}
	r, err := tl.Run(context.WithoutCancel(t.Context()), env, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// link makes a link in the workspace.
func link(t *testing.T, env tool.Env, target, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(env.Workspace, name)); err != nil {
		t.Fatal(err)
	}
}
