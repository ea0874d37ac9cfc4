package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The names in an index are those that git has put there, whatever form it has.
func TestAnIndexIsReadAsGitReadsIt(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	var many strings.Builder
	for i := range 25_000 {
		fmt.Fprintf(&many, "100644 %040x\tf%05d/x\n", i+1, i)
	}
	for name, c := range map[string]struct {
		hash   int
		init   string
		script string
	}{
		"version 2":  {20, "", "git add a b sub " + strings.Repeat("n", 200)},
		"version 3":  {20, "", "git add a; git add -N b; git add sub; git update-index --skip-worktree sub/a"},
		"version 4":  {20, "", "git update-index --index-version 4; git add -A; git rm -q --cached a"},
		"split":      {20, "", "git add -A; git update-index --split-index; git rm -q --cached a"},
		"sha256":     {32, "--object-format=sha256", "git add -A"},
		"empty":      {20, "", "git read-tree --empty"},
		"in blocks":  {20, "", "git config index.threads 2; git update-index --index-info < ../many"},
		"in both":    {20, "", "git config index.threads 2; git update-index --index-version 4; git update-index --index-info < ../many"},
		"a conflict": {20, "", "git config user.name x; git config user.email x@example.org; git add a; git commit -qm 1; git checkout -qb s; echo 1 > a; git commit -qam 2; git checkout -q -; echo 2 > a; git commit -qam 3; git merge s; true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			dir := filepath.Join(top, "r")
			if err := os.WriteFile(filepath.Join(top, "many"), []byte(many.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			sh := func(dir, script string) string {
				cmd := exec.Command("sh", "-c", script)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+top, "GIT_CONFIG_NOSYSTEM=1")
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%s: %v", script, err)
				}
				return string(out)
			}
			sh(top, "git init -q "+c.init+" r; cd r; mkdir sub; for f in a b sub/a sub/b "+strings.Repeat("n", 200)+"; do echo $f > $f; done")
			sh(dir, c.script)
			want := strings.Split(strings.TrimSuffix(sh(dir, "git ls-files -z"), "\x00"), "\x00")
			slices.Sort(want)
			want = slices.DeleteFunc(slices.Compact(want), func(s string) bool { return s == "" })
			var got []string
			entries, err := os.ReadDir(filepath.Join(dir, ".git"))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range indexesIn(filepath.Join(dir, ".git"), entries) {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				names, err := indexNames(text, c.hash)
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				got = append(got, names...)
				if strings.HasPrefix(name, "in b") != strings.Contains(string(text), "IEOT") {
					t.Errorf("%s has a table of blocks, or none", path)
				}
				for i := range min(len(text), 300) {
					if len(text) > 5000 {
						break // it takes too long
					}
					indexNames(text[:len(text)-i], c.hash)
					broken := slices.Clone(text)
					broken[i] ^= 0xff
					indexNames(broken, c.hash)
				}
			}
			slices.Sort(got)
			got = slices.DeleteFunc(slices.Compact(got), func(s string) bool { return s == "" })
			if name == "split" { // the shared one has what was removed
				got = slices.DeleteFunc(got, func(s string) bool { return s == "a" })
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d names, want %d: %.200q, want %.200q", len(got), len(want), got, want)
			}
			if slices.ContainsFunc(got, leavesWork) {
				t.Error("a name is taken for one that leads elsewhere")
			}
		})
	}
}

// A table of blocks may not lead git to other entries than those that follow each other.
func TestATableOfBlocksLeadsToTheEntriesThatFollowEachOther(t *testing.T) {
	t.Parallel()
	entry := func(name string) string {
		e := strings.Repeat("\x00", 60) + string([]byte{0, byte(len(name))}) + name
		return e + strings.Repeat("\x00", 8-len(e)%8)
	}
	a, b := entry("a"), entry("b")
	number := func(n int) string { return string([]byte{0, 0, 0, byte(n)}) }
	table := func(blocks ...int) string {
		s := "IEOT" + number(4+4*len(blocks)) + number(1)
		for _, n := range blocks {
			s += number(n)
		}
		return s
	}
	end := func(at int) string { return "EOIE" + number(24) + number(at) + strings.Repeat("\x00", 20) }
	whole := 12 + len(a) + len(b)
	for name, c := range map[string]struct {
		extensions string
		fine       bool
	}{
		"none":                        {"", true},
		"a table":                     {table(12, 1, 12+len(a), 1) + end(whole), true},
		"into the middle":             {table(12, 1, 20+len(a), 1) + end(whole), false},
		"one twice":                   {table(12, 1, 12, 1) + end(whole), false},
		"more than there are":         {table(12, 1, 12+len(a), 2) + end(whole), false},
		"an end elsewhere":            {table(12, 1, 12+len(a), 1) + end(whole-8), false},
		"an end in another extension": {"XXXX" + number(32) + end(12), false},
		"cut":                         {"XXXX" + number(32), false},
	} {
		text := "DIRC" + number(2) + number(2) + a + b + c.extensions + strings.Repeat("\x00", 20)
		if names, err := indexNames([]byte(text), 20); (err == nil) != c.fine || c.fine && !slices.Equal(names, []string{"a", "b"}) {
			t.Errorf("%s: %q, %v", name, names, err)
		}
	}
	for name, leaves := range map[string]bool{"a": false, "a/b": false, "sub/": false, ".gitignore": false, "a/.github/x": false, "..a": false, "/a": true, "../a": true, "a/../b": true, "a//b": true, ".git": true, "a/.GIT/x": true, ".g\u200cit/x": true, "./a": true} {
		if leavesWork(name) != leaves {
			t.Errorf("%q: %v", name, !leaves)
		}
	}
}
