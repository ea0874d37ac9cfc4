package tool_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/permission"
	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

// These tests go by the ids of the project's list of security cases. Those of paths
// are about the tools on files; what the rules say of the same paths is in package
// permission.

// A fort is a workspace with a secret beside it.
type fort struct {
	tool.Env
	secret string // absolute path of a file outside
	made   string // absolute path outside where nothing is
}

const theSecret = "the secret\n"

func newFort(t *testing.T, files map[string]string) fort {
	t.Helper()
	f := fort{Env: tooltest.NewEnv(t, files)}
	out := filepath.Join(filepath.Dir(f.Workspace), "out")
	f.secret, f.made = filepath.Join(out, "secret"), filepath.Join(out, "made")
	for _, dir := range []string{out, f.Workspace + "-evil"} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "secret"), []byte(theSecret), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// attempts are one call of every tool on files, for a path.
func attempts(path string) map[tool.Tool]map[string]any {
	return map[tool.Tool]map[string]any{
		tool.Read():   {"path": path},
		tool.Write():  {"path": path, "content": "overwritten"},
		tool.Edit():   {"path": path, "edits": []any{map[string]any{"old": "secret", "new": "overwritten"}}},
		tool.List():   {"path": path},
		tool.Glob():   {"path": path, "pattern": "*"},
		tool.Search(): {"path": path, "pattern": "secret"},
	}
}

// attempt is the call of a tool among attempts.
func attempt(tl tool.Tool, path string) map[string]any {
	for other, args := range attempts(path) {
		if other.Spec().Name == tl.Spec().Name {
			return args
		}
	}
	panic("there is no attempt with " + tl.Spec().Name)
}

// refuses makes sure that every tool refuses a path with a sentence.
func (f fort) refuses(t *testing.T, id, path, because string) {
	t.Helper()
	for tl, args := range attempts(path) {
		r := call(t, f.Env, tl, args)
		got := run.PlainText(r.Content)
		if !r.IsError || !strings.Contains(got, because) || strings.Contains(got, strings.TrimSpace(theSecret)) {
			t.Errorf("%s: %s %.60q: %q, want an error with %q", id, tl.Spec().Name, path, got, because)
		}
	}
	f.stands(t, id)
}

// stands makes sure that outside everything is as it was.
func (f fort) stands(t *testing.T, id string) {
	t.Helper()
	for _, path := range []string{f.secret, f.Workspace + "-evil/secret"} {
		if b, err := os.ReadFile(path); err != nil || string(b) != theSecret {
			t.Errorf("%s: %s is %q, %v", id, path, b, err)
		}
	}
	if _, err := os.Lstat(f.made); !os.IsNotExist(err) {
		t.Errorf("%s: %s was made (%v)", id, f.made, err)
	}
}

func TestNoPathLeadsAToolOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	f := newFort(t, map[string]string{"a/f": "x"})
	link(t, f.Env, "/etc", "etc")
	link(t, f.Env, filepath.Dir(f.secret), "dir")
	link(t, f.Env, f.secret, "file")
	link(t, f.Env, f.made, "dangling")
	link(t, f.Env, "dir/made", "chain")
	link(t, f.Env, "/proc/self/environ", "environ")
	const outside, kernel = "is outside the workspace", "the kernel's own files"
	for _, c := range []struct{ id, path, because string }{
		{"sec001", "../../etc/passwd", outside},
		{"sec001", "../out/secret", outside},
		{"sec001", "a/../../out/secret", outside},
		{"sec002", f.Workspace + "/../out/secret", outside},
		{"sec002", "/etc/passwd", outside},
		{"sec003", f.Workspace + "-evil/secret", outside},
		{"sec003", "../workspace-evil/secret", outside},
		{"sec004", "etc/passwd", outside},
		{"sec004", "dir/secret", outside},
		{"sec004", "a/../dir/secret", outside},
		{"sec005", "file", outside},
		{"sec005", "dir/made", outside},
		{"sec006", "dangling", outside},
		{"sec006", "chain", outside},
		{"sec010", "a/f\x00.txt", "control character"},
		{"sec010", "a/f\n", "control character"},
		{"sec010", "a\r/f", "control character"},
		{"sec012", "/proc/self/environ", kernel},
		{"sec012", "/proc/self/root" + f.secret, ""}, // outside, or the kernel's where /proc is no more than a name
		{"sec012", "/proc/self/cwd/../out/secret", ""},
		{"sec012", "/dev/fd/0", "devices"},
		{"sec012", "/dev/stdin", "devices"},
		{"sec012", "environ", kernel},
	} {
		f.refuses(t, c.id, c.path, c.because)
	}
}

// sec007: between look and call, a folder on the way becomes a link out. The race
// itself is run in TestAFolderSwappedForALinkWhileToolsRunDoesNotHelpEither.
func TestAParentSwappedAfterItWasCheckedLeadsNowhere(t *testing.T) {
	t.Parallel()
	f := newFort(t, map[string]string{"d/secret": "inside\n"})
	for tl, args := range attempts("d/secret") {
		if name := tl.Spec().Name; name == "list" || name == "glob" {
			continue // they take folders
		}
		if _, err := tl.Inspect(f.Env, tooltest.Args(args)); err != nil {
			t.Fatalf("sec007: before the swap: %v", err)
		}
	}
	if err := os.Rename(filepath.Join(f.Workspace, "d"), filepath.Join(f.Workspace, "was")); err != nil {
		t.Fatal(err)
	}
	link(t, f.Env, filepath.Dir(f.secret), "d")
	f.refuses(t, "sec007", "d/secret", "is outside the workspace")
}

// sec008: a hard link to a file outside is a file like any other, so it can be
// read. It cannot be written through, although write and edit do not refuse it:
// they put a new file in its place, and the other name keeps its content. A
// refusal would be in the way where hard links are ordinary, in what package
// managers install and in clones on one disk, and would protect no more.
func TestNothingIsWrittenThroughAHardLink(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]map[string]any{
		"edit":  {"path": "mine", "edits": []any{map[string]any{"old": "secret", "new": "change"}}},
		"write": {"path": "mine", "content": "the change\n"},
	} {
		f := newFort(t, nil)
		if err := os.Link(f.secret, filepath.Join(f.Workspace, "mine")); err != nil {
			t.Skipf("the file system has no hard links: %v", err)
		}
		call(t, f.Env, tool.Read(), map[string]any{"path": "mine"}) // write wants to know what it replaces
		tl := map[string]tool.Tool{"edit": tool.Edit(), "write": tool.Write()}[name]
		r := call(t, f.Env, tl, args)
		if b, _ := os.ReadFile(filepath.Join(f.Workspace, "mine")); r.IsError || string(b) != "the change\n" {
			t.Errorf("sec008: %s: %q; mine is %q", name, run.PlainText(r.Content), b)
		}
		f.stands(t, "sec008")
		// Taking it back does not go through the link either.
		if _, err := tool.Undo(f.Env, r.Files); err != nil {
			t.Errorf("sec008: %s cannot be undone: %v", name, err)
		}
		if b, _ := os.ReadFile(filepath.Join(f.Workspace, "mine")); string(b) != theSecret {
			t.Errorf("sec008: after undo mine is %q", b)
		}
		f.stands(t, "sec008")
	}
}

// sec009: where a path leads is one text for all its spellings, and it is what the
// rules are asked about. Capitals are folded by the rules themselves.
func TestEverySpellingOfADeniedFileIsDenied(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"secret.env": "x", "a/f": "x"})
	link(t, env, "secret.env", "alias")
	link(t, env, "..", "a/up")
	for _, path := range []string{"secret.env", "./secret.env", "a/../secret.env", ".//secret.env", env.Workspace + "/secret.env", "../workspace/secret.env", "alias", "a/up/secret.env", "SECRET.ENV", "Secret.Env"} {
		var rules permission.Rules
		for _, text := range []string{"read(secret.env)", "write(secret.env)", "edit(secret.env)"} {
			rule, err := permission.ParseRule(text)
			if err != nil {
				t.Fatal(err)
			}
			rule.Effect = permission.Deny
			rules = append(rules, rule)
		}
		rel, outside, err := tool.Resolve(env, path)
		if err != nil {
			t.Fatal(err)
		}
		for name, class := range map[string]run.Class{"read": run.Reads, "write": run.Writes, "edit": run.Writes} {
			r := permission.Request{Tool: name, Class: class, Edits: class == run.Writes, Workspace: env.Workspace, Paths: []string{path}, Resolved: []string{rel}, Outside: outside}
			if d := rules.Decide(r, permission.Bypass); d.Verdict != permission.Deny {
				t.Errorf("sec009: %s %s: %s (%s)", name, path, d.Verdict, d.Reason)
			}
		}
	}
	for _, path := range []string{"secret.env/", "./secret.env//"} {
		if r := call(t, env, tool.Read(), map[string]any{"path": path}); !r.IsError {
			t.Errorf("sec009: %s was read: %q", path, run.PlainText(r.Content))
		}
	}
}

// sec010: a name that some disk takes for another one is not made.
func TestNoFileIsMadeWhoseNameEndsInABlankOrADot(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{"a.go": "x", "old.": "text\n", "dir./f": "text\n"})
	for _, path := range []string{"a.go ", "a.go.", "new ", "b./f", "b /c/f", "a.go ."} {
		for _, err := range []error{lookError(env, tool.Write(), path), runError(t, env, tool.Write(), path)} {
			if err == nil || !strings.Contains(err.Error(), "ends in a blank or a dot") {
				t.Errorf("sec010: write %q: %v", path, err)
			}
		}
		if r := call(t, env, tool.Read(), map[string]any{"path": path}); !r.IsError {
			t.Errorf("sec010: read %q: %q", path, run.PlainText(r.Content))
		}
	}
	if names := inWorkspace(t, env); !slices.Equal(names, []string{"a.go", "dir.", "old."}) {
		t.Errorf("sec010: there are %q", names)
	}
	// What has such a name is worked on: a repository may bring it.
	for _, path := range []string{"old.", "dir./f"} {
		if r := call(t, env, tool.Edit(), map[string]any{"path": path, "edits": []any{map[string]any{"old": "text", "new": "more"}}}); r.IsError {
			t.Errorf("sec010: edit %q: %q", path, run.PlainText(r.Content))
		}
	}
	if err := runError(t, env, tool.Write(), "dir./new"); err != nil {
		t.Errorf("sec010: a file in a folder that is there: %v", err)
	}
}

func lookError(env tool.Env, tl tool.Tool, path string) error {
	_, err := tl.Inspect(env, tooltest.Args(attempt(tl, path)))
	return err
}

// runError returns what a call says when it fails.
func runError(t *testing.T, env tool.Env, tl tool.Tool, path string) error {
	t.Helper()
	r := call(t, env, tl, attempt(tl, path))
	if !r.IsError {
		return nil
	}
	return errors.New(run.PlainText(r.Content))
}

// inWorkspace returns the names in the workspace.
func inWorkspace(t *testing.T, env tool.Env) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(env.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// sec011, sec013: what means something to a shell or to a program's options means
// nothing to a tool on files: none of them starts a program.
func TestWhatAShellWouldExpandIsALiteralName(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, c := range []struct{ id, path string }{
		{"sec011", "~"}, {"sec011", "~/x"}, {"sec011", "~root/x"}, {"sec011", "$HOME/x"}, {"sec011", "${HOME}"}, {"sec011", "%USERPROFILE%"}, {"sec011", "`id`"}, {"sec011", "$(id)"},
		{"sec013", "-rf"}, {"sec013", "--output=x"}, {"sec013", "-"}, {"sec013", "--"}, {"sec013", "-d/-e"},
	} {
		env := tooltest.NewEnv(t, nil)
		if err := runError(t, env, tool.Write(), c.path); err != nil {
			t.Errorf("%s: %v", c.id, err)
			continue
		}
		if b, err := os.ReadFile(filepath.Join(env.Workspace, c.path)); err != nil || string(b) != "overwritten" {
			t.Errorf("%s: %s holds %q, %v", c.id, c.path, b, err)
		}
		for tl, args := range map[tool.Tool]map[string]any{tool.Read(): {"path": c.path}, tool.Search(): {"path": c.path, "pattern": "overwritten"}} {
			if got := run.PlainText(call(t, env, tl, args).Content); !strings.Contains(got, "overwritten") {
				t.Errorf("%s: %s %s: %q", c.id, tl.Spec().Name, c.path, got)
			}
		}
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("sec011: the home has %v, %v", left, err)
	}
	// A pattern with a dash in front is text to look for.
	env := tooltest.NewEnv(t, map[string]string{"f": "rm -rf x\n"})
	if got := run.PlainText(call(t, env, tool.Search(), map[string]any{"pattern": "-rf"}).Content); !strings.Contains(got, "1: rm -rf x") {
		t.Errorf("sec013: %q", got)
	}
}

// sec014: an archive names files outside. Extracting it is a command's work, and the
// sandbox is what keeps it inside; unconfined, the same command does leave.
func TestAnArchiveIsNotExtractedOutside(t *testing.T) {
	t.Parallel()
	env := confinedEnv(t)
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip("needs tar")
	}
	out := filepath.Join(filepath.Dir(env.Workspace), "out")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "../out/up"},
		{Name: out + "/absolute"},
		{Name: "way", Typeflag: tar.TypeSymlink, Linkname: "../out"},
		{Name: "way/linked"},
		{Name: "inside"},
	} {
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tooltest.WriteFile(t, env, "slip.tar", b.String())
	const extract = "tar -xPf slip.tar" // -P: tar itself is not to be careful
	for _, level := range []run.Confinement{run.Confined, run.WithNetwork} {
		text := at(t, env, level, extract+"; test -e inside && echo extracted; rm -f inside way")
		if left, err := os.ReadDir(out); err != nil || len(left) > 0 || !strings.Contains(text, "extracted") {
			t.Errorf("sec014: level %q: outside there are %v, %v; %q", level, left, err, text)
		}
	}
	at(t, env, run.Unconfined, extract)
	if left, _ := os.ReadDir(out); len(left) != 3 {
		t.Errorf("sec014: without a sandbox %v are made outside: the archive shows nothing", left)
	}
}

// sec015: a .git file of a worktree or a submodule names a folder outside. The tools
// on files do not go there, and take no rules from it.
func TestAGitFileThatNamesAFolderOutsideOpensNothing(t *testing.T) {
	t.Parallel()
	f := newFort(t, map[string]string{"sub/seen.go": "package secret\n", "worktree/seen.go": "package secret\n"})
	out := filepath.Dir(f.secret)
	for path, text := range map[string]string{"info/exclude": "*.go\n", "config": "[core]\n\texcludesFile = " + f.secret + "\n", "HEAD": "ref: refs/heads/main\n"} {
		path = filepath.Join(out, ".git", path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".git", "sub/.git", "worktree/.git"} {
		tooltest.WriteFile(t, f.Env, name, "gitdir: "+out+"/.git\n")
	}
	for _, path := range []string{"../out/.git/config", out + "/.git/hooks/pre-commit", "sub/../../out/secret"} {
		f.refuses(t, "sec015", path, "is outside the workspace")
	}
	for _, path := range []string{".git/hooks/pre-commit", "sub/.git/config", "sub/.git"} {
		for _, tl := range []tool.Tool{tool.Write(), tool.Edit()} {
			if r := call(t, f.Env, tl, attempt(tl, path)); !r.IsError {
				t.Errorf("sec015: %s %s: %q", tl.Spec().Name, path, run.PlainText(r.Content))
			}
		}
	}
	if got := run.PlainText(call(t, f.Env, tool.Search(), map[string]any{"pattern": "package secret"}).Content); !strings.Contains(got, "sub/seen.go") || !strings.Contains(got, "worktree/seen.go") {
		t.Errorf("sec015: a folder outside decides what is searched: %q", got)
	}
}

// sec016: the file that a change is written to first has a name nobody can guess,
// and is never wider than what it replaces.
func TestTheNameOfATemporaryFileCannotBeGuessed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 20 {
		env := tooltest.NewEnv(t, map[string]string{"f": "before"})
		chmod(t, env, "f", 0o600)
		c := tool.Call{Run: "r_1", ID: "c_1"}
		if err := tool.ChangeAndDie(env, c, "f", []byte("after"), tool.KilledBeforeRename); err != nil {
			t.Fatal(err)
		}
		names := slices.DeleteFunc(inWorkspace(t, env), func(name string) bool { return name == "f" })
		if len(names) != 1 || seen[names[0]] || len(names[0]) < len(".pawl-")+20 {
			t.Fatalf("sec016: the temporary files are %q, those before %v", names, seen)
		}
		seen[names[0]] = true
		info, err := os.Lstat(filepath.Join(env.Workspace, names[0]))
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("sec016: %s has mode %v, %v", names[0], info.Mode(), err)
		}
	}
}

// sec017, sec018: what decides what runs later is refused by the tools (.git), or is
// told to the rules by the name it leads to, through links and in every spelling.
func TestWhatDecidesWhatRunsLaterIsSeenThroughLinks(t *testing.T) {
	t.Parallel()
	env := tooltest.NewEnv(t, map[string]string{".git/HEAD": "", ".pawl/config.toml": "", ".vscode/x": "", "a/f": ""})
	link(t, env, ".git", "repo")
	link(t, env, ".pawl", "own")
	link(t, env, ".vscode/tasks.json", "notes.json")
	link(t, env, "package.json", "p")
	link(t, env, ".envrc", "e")
	for _, path := range []string{".git/hooks/pre-commit", ".git/config", ".GIT/config", "repo/hooks/pre-commit", "a/../.git/config", "a/.git/config"} {
		for _, err := range []error{lookError(env, tool.Write(), path), runError(t, env, tool.Write(), path), lookError(env, tool.Edit(), path)} {
			if err == nil || !strings.Contains(err.Error(), "folder .git") {
				t.Errorf("sec018: %s: %v", path, err)
			}
		}
	}
	for _, c := range []struct{ id, path string }{
		{"sec017", ".pawl/permissions.json"}, {"sec017", "own/config.toml"}, {"sec017", "own/hooks/start.sh"}, {"sec017", "a/../.pawl/config.toml"}, {"sec017", ".mcp.json"},
		{"sec018", ".envrc"}, {"sec018", "e"}, {"sec018", ".vscode/tasks.json"}, {"sec018", "notes.json"}, {"sec018", "package.json"}, {"sec018", "p"}, {"sec018", "a/package.json"},
	} {
		in, err := tool.Write().Inspect(env, tooltest.Args(attempt(tool.Write(), c.path)))
		if err != nil {
			t.Fatalf("%s: %v", c.id, err)
		}
		rel, outside, err := tool.Resolve(env, c.path)
		if err != nil {
			t.Fatal(err)
		}
		edit, err := permission.ParseRule("write(**)")
		if err != nil {
			t.Fatal(err)
		}
		edit.Effect = permission.Allow
		r := permission.Request{Tool: "write", Class: in.Class, Edits: true, Workspace: env.Workspace, Paths: in.Paths, Resolved: []string{rel}, Outside: outside}
		if d := (permission.Rules{edit}).Decide(r, permission.AcceptEdits); d.Verdict != permission.Ask {
			t.Errorf("%s: writing %s: %s (%s)", c.id, c.path, d.Verdict, d.Reason)
		}
	}
}
