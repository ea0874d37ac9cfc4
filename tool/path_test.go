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

func TestResolveSaysWhereAPathLeads(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"a/b/f": "x", "real/deep/f": "x", "~": "x"})
	out := filepath.Dir(env.Workspace)
	twin := env.Workspace + "-evil"
	if err := os.Mkdir(twin, 0o777); err != nil {
		t.Fatal(err)
	}
	link(t, env, "real/deep", "in")
	link(t, env, filepath.Join(env.Workspace, "real"), "absolute")
	link(t, env, "/etc", "etc")
	link(t, env, "../state", "up")
	link(t, env, "not/yet", "dangling")
	link(t, env, "/nowhere/at/all", "escape")
	link(t, env, "loop", "loop")
	for _, c := range []struct {
		path, rel string
		outside   bool
		err       string
	}{
		{path: "a/b/f", rel: "a/b/f"},
		{path: ".", rel: "."},
		{path: "./a//b/./f", rel: "a/b/f"},
		{path: "a/b/", rel: "a/b"},
		{path: "new/file", rel: "new/file"},
		{path: "new/../other", rel: "other"},
		{path: env.Workspace, rel: "."},
		{path: env.Workspace + "/a", rel: "a"},
		{path: "../workspace/a", rel: "a"}, // out and in again
		{path: "in/f", rel: "real/deep/f"},
		{path: "in/../g", rel: "real/g"}, // as the kernel goes, not as it is written
		{path: "absolute/deep/f", rel: "real/deep/f"},
		{path: "dangling", rel: "not/yet"},
		{path: "~", rel: "~"},
		{path: "$HOME/x", rel: "$HOME/x"},
		{path: "-rf", rel: "-rf"},
		{path: "..", rel: out, outside: true},
		{path: "../../../../../../../etc/passwd", rel: "/etc/passwd", outside: true},
		{path: env.Workspace + "/../state/x", rel: env.StateDir + "/x", outside: true},
		{path: twin + "/secret", rel: twin + "/secret", outside: true},
		{path: "etc/passwd", rel: "/etc/passwd", outside: true},
		{path: "up/journal", rel: env.StateDir + "/journal", outside: true},
		{path: "escape", rel: "/nowhere/at/all", outside: true},
		{path: "loop", err: "lead in a circle"},
		{path: "a/b/f/g", err: "is a file, not a folder"},
		{path: "a/b/f/", err: "is a file, not a folder"},
		{path: "", err: "the path is empty"},
		{path: "a\x00b", err: "control character"},
		{path: "a\nb", err: "control character"},
		{path: "a\x1b[2Jb", err: "control character"},
		{path: "a\xffb", err: "not valid UTF-8"},
		{path: strings.Repeat("a/", 3000), err: "the limit is 4096"},
		{path: "/proc/self/environ", err: "the kernel's own files"},
		{path: "/dev/fd/0", err: "devices"},
	} {
		rel, outside, err := tool.Resolve(env, c.path)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("Resolve(%.60q) = %v, want an error with %q", c.path, err, c.err)
			}
		case err != nil || rel != c.rel || outside != c.outside:
			t.Errorf("Resolve(%q) = %q, %v, %v; want %q, %v", c.path, rel, outside, err, c.rel, c.outside)
		}
	}
}

func TestNoToolLeavesTheWorkspace(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"f": "x"})
	secret := filepath.Join(filepath.Dir(env.Workspace), "secret")
	if err := os.WriteFile(secret, []byte("the secret\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(filepath.Dir(env.Workspace), "made")
	link(t, env, secret, "file")
	link(t, env, filepath.Dir(secret), "dir")
	link(t, env, made, "dangling")
	for _, path := range []string{secret, "../secret", "file", "dir/secret", "dangling", "dir", "..", "/"} {
		for _, tl := range []tool.Tool{tool.Read(), tool.Write(), tool.Edit(), tool.List(), tool.Glob(), tool.Search()} {
			args := map[string]any{"path": path, "content": "x", "pattern": "secret", "edits": []any{map[string]any{"old": "secret", "new": "x"}}}
			r := call(t, env, tl, args)
			got := run.PlainText(r.Content)
			if !r.IsError || !strings.Contains(got, "is outside the workspace") || !strings.Contains(got, env.Workspace) {
				t.Errorf("%s %s: %q", tl.Spec().Name, path, got)
			}
			if _, err := tl.Inspect(env, tooltest.Args(args)); err == nil {
				t.Errorf("%s %s: Look has nothing against it, so a person would be asked in vain", tl.Spec().Name, path)
			}
		}
	}
	if b, err := os.ReadFile(secret); string(b) != "the secret\n" {
		t.Errorf("the secret is %q, %v", b, err)
	}
	if _, err := os.Lstat(made); err == nil {
		t.Error("a file was made outside, through a link that led nowhere")
	}
	// What goes through folders passes links by.
	for _, tl := range []tool.Tool{tool.Search(), tool.Glob()} {
		r := call(t, env, tl, map[string]any{"pattern": "secret"})
		if got := run.PlainText(r.Content); strings.Contains(got, "the secret") || strings.Contains(got, "dir/secret") {
			t.Errorf("%s: %q", tl.Spec().Name, got)
		}
	}
}

func TestAFolderSwappedForALinkBetweenLookAndRunDoesNotHelp(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"d/f": "inside\n"})
	out := filepath.Join(filepath.Dir(env.Workspace), "out")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "f"), []byte("outside\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	args := map[string]any{"path": "d/f", "content": "x", "edits": []any{map[string]any{"old": "side", "new": "x"}}}
	for _, tl := range []tool.Tool{tool.Read(), tool.Write(), tool.Edit()} {
		if _, err := tl.Inspect(env, tooltest.Args(args)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(env.Workspace, "d"), filepath.Join(env.Workspace, "was")); err != nil {
		t.Fatal(err)
	}
	link(t, env, out, "d")
	for _, tl := range []tool.Tool{tool.Read(), tool.Write(), tool.Edit()} {
		r := call(t, env, tl, args)
		if got := run.PlainText(r.Content); !r.IsError || strings.Contains(got, "outside\n") {
			t.Errorf("%s: %q", tl.Spec().Name, got)
		}
	}
	if b, _ := os.ReadFile(filepath.Join(out, "f")); string(b) != "outside\n" {
		t.Errorf("the file outside is %q", b)
	}
}

// A stranger swaps a folder for a link out of the workspace as fast as it can
// while the tools write and read below it.
func TestAFolderSwappedForALinkWhileToolsRunDoesNotHelpEither(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"d/f": "inside\n"})
	out := filepath.Join(filepath.Dir(env.Workspace), "out")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "f"), []byte("outside\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	link(t, env, out, "evil")
	d, evil, aside := filepath.Join(env.Workspace, "d"), filepath.Join(env.Workspace, "evil"), filepath.Join(env.Workspace, "aside")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Rename(d, aside)
			os.Rename(evil, d)
			os.Rename(d, evil)
			os.Rename(aside, d)
		}
	}()
	for range 300 {
		r := call(t, env, tool.Read(), map[string]any{"path": "d/f"})
		if got := run.PlainText(r.Content); strings.Contains(got, "outside\n") {
			t.Fatalf("read left the workspace: %q", got)
		}
		call(t, env, tool.Write(), map[string]any{"path": "d/f", "content": "inside\n"})
		call(t, env, tool.Write(), map[string]any{"path": "d/new/g", "content": "x"})
	}
	close(stop)
	<-stopped
	names, err := os.ReadDir(out)
	if err != nil || len(names) != 1 {
		t.Errorf("the folder outside has %v, %v", names, err)
	}
	if b, _ := os.ReadFile(filepath.Join(out, "f")); string(b) != "outside\n" {
		t.Errorf("the file outside is %q", b)
	}
}

func FuzzResolveNeverYieldsAPathOutside(f *testing.F) {
	for _, s := range []string{"a", "../x", "in/../..", "etc/x", "//", "a/./..//b", "up/..", "/", "loop", "in/f/..", "dangling/../../x"} {
		f.Add(s)
	}
	env := tooltest.NewEnv(f, map[string]string{"real/deep/f": "x"})
	for name, target := range map[string]string{"in": "real/deep", "etc": "/etc", "up": "../state", "loop": "loop", "dangling": "../gone/x"} {
		if err := os.Symlink(target, filepath.Join(env.Workspace, name)); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, path string) {
		rel, outside, err := tool.Resolve(env, path)
		if err != nil {
			return
		}
		if outside {
			if r, err := filepath.Rel(env.Workspace, rel); err != nil || filepath.IsLocal(r) {
				t.Fatalf("%q leads to %q, which is not outside", path, rel)
			}
			return
		}
		if !filepath.IsLocal(rel) || filepath.Clean(rel) != rel {
			t.Fatalf("%q leads to %q, which is no clean local path", path, rel)
		}
		// What exists of it has no link in it: it is what it says it is.
		full := filepath.Join(env.Workspace, rel)
		if real, err := filepath.EvalSymlinks(full); err == nil && real != full {
			t.Fatalf("%q leads to %q, which leads on to %q", path, rel, real)
		}
	})
}
