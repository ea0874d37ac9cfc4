package owngit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/owngit"
	"pawl/internal/proc/proctest"
)

// Configurations that make git run a program, tried with the arguments of every call that
// pawl makes in a repository of others.
func TestNoConfigurationMakesGitRunAProgram(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_EXTERNAL_DIFF", "false")
	t.Setenv("GIT_CONFIG_PARAMETERS", "'core.fsmonitor'='false'")
	dir, other := t.TempDir(), t.TempDir()
	ran := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil")
	write := func(path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	proctest.Program(t, evil, "#!/bin/sh\necho \"$0 $*\" >>"+ran+"\nexit 1\n")
	safe := owngit.Call{Program: program, Dir: dir, Own: true, Env: []string{"HOME=" + t.TempDir()}}
	must := func(c owngit.Call, args ...string) {
		t.Helper()
		if out, err := c.Command(t.Context(), args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	commit := []string{"-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "x"}
	write(filepath.Join(other, "b"), "b\n")
	for _, c := range []owngit.Call{safe, {Program: program, Dir: other, Own: true, Env: safe.Env}} {
		must(c, "init", "-q")
		write(filepath.Join(c.Dir, "a.txt"), "one\n")
		write(filepath.Join(c.Dir, ".gitattributes"), "* filter=evil diff=evil merge=evil\n")
		must(c, "add", ".")
		must(c, commit...)
	}
	write(filepath.Join(dir, "a.txt"), "two, and longer\n")
	for _, hook := range []string{"pre-commit", "post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-auto-gc", "post-merge"} {
		proctest.Program(t, filepath.Join(dir, ".git", "hooks", hook), "#!/bin/sh\n"+evil+"\n")
	}
	config, err := os.ReadFile(filepath.Join(dir, ".git", "config"))
	if err != nil {
		t.Fatal(err)
	}
	for _, settings := range []string{
		"[core]\nfsmonitor = EVIL\n", "[core]\nhooksPath = .git/hooks\n", "[core]\nsshCommand = EVIL\n[url \"ssh://x/\"]\ninsteadOf = /\n", "[core]\npager = EVIL\n[pager]\ndiff = EVIL\nlog = EVIL\n",
		"[core]\neditor = EVIL\naskPass = EVIL\nalternateRefsCommand = EVIL\ngitProxy = EVIL\n[url \"git://x/\"]\ninsteadOf = /\n",
		"[protocol \"ext\"]\nallow = always\n[url \"ext::EVIL \"]\ninsteadOf = /\n", "[protocol]\nallow = always\n[url \"ext::EVIL \"]\ninsteadOf = /\n", "[protocol \"ext\"]\nallow = user\n[url \"ext::EVIL \"]\ninsteadOf = /\n",
		"[url \"http://127.0.0.1:1/\"]\ninsteadOf = /\n[credential]\nhelper = !EVIL\n[protocol \"http\"]\nallow = always\n",
		"[diff]\nexternal = EVIL\n[diff \"evil\"]\ncommand = EVIL\ntextconv = EVIL\n", "[merge \"evil\"]\ndriver = EVIL\n",
		"[filter \"evil\"]\nclean = EVIL\nsmudge = EVIL\nrequired = true\n", "[filter \"evil\"]\nprocess = EVIL\n",
		"[alias]\ndiff = !EVIL\nfetch = !EVIL\nrev-parse = !EVIL\n", "[gpg]\nprogram = EVIL\n[commit]\ngpgSign = true\n[log]\nshowSignature = true\n", "[uploadpack]\npackObjectsHook = EVIL\n",
		"[gc]\nauto = 1\nrecentObjectsHook = EVIL\n[maintenance]\nauto = true\n", "[interactive]\ndiffFilter = EVIL\n", "[submodule]\nrecurse = true\n[submodule \"x\"]\nupdate = !EVIL\n", "[trace2]\neventTarget = EVIL\n",
		"[include]\npath = more\n",
	} {
		write(filepath.Join(dir, ".git", "more"), "[core]\nfsmonitor = "+evil+"\n")
		write(filepath.Join(dir, ".git", "config"), string(config)+strings.ReplaceAll(settings, "EVIL", evil))
		call := owngit.Call{Program: program, Dir: dir, Env: safe.Env}
		list, _ := call.Command(t.Context(), owngit.ListFilters...).Output()
		call.Env = append(slices.Clip(call.Env), owngit.WithoutFilters(string(list))...)
		for _, args := range [][]string{
			{"rev-parse", "--is-bare-repository"}, {"config", "user.name"}, {"symbolic-ref", "--quiet", "HEAD"}, {"ls-tree", "-r", "HEAD"}, {"ls-files", "--others", "--exclude-standard"}, {"ls-files", "--deleted"},
			{"diff-files", "--name-status"}, {"diff-index", "--name-only", "HEAD"}, {"status", "--porcelain"}, {"diff", "--no-ext-diff", "--no-textconv", "HEAD", "--"}, {"cat-file", "blob", "HEAD:a.txt"},
			{"update-ref", "refs/pawl/x", "HEAD"}, {"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", other, "+HEAD:refs/pawl/other"}, {"update-ref", "-d", "refs/pawl/x"},
		} {
			out, err := call.Command(t.Context(), args...).CombinedOutput()
			if said, readErr := os.ReadFile(ran); readErr == nil {
				t.Errorf("%q\ngit %q runs %s (%v, %s)", settings, args, said, err, out)
				if err := os.Remove(ran); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// A git that is called in another way than by this package would obey what this one does not.
func TestPawlCallsGitInNoOtherWay(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "internal/owngit/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(f.Sel.Name, "Command") {
				if x, ok := f.X.(*ast.Ident); ok && x.Name == "exec" {
					for _, a := range call.Args {
						switch a := a.(type) {
						case *ast.BasicLit:
							if a.Value == `"git"` {
								t.Errorf("%s calls git by itself", path)
							}
						case *ast.Ident:
							if strings.HasPrefix(a.Name, "git") {
								t.Errorf("%s calls git by itself", path)
							}
						}
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
