package instructions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"pawl/internal/golden"

	"github.com/rogpeppe/go-internal/txtar"
)

// Each file in testdata/draft is a repository: its comment says what it shows, and
// want/AGENTS.md is the draft. UPDATE=1 go test rewrites that.
func TestDrafts(t *testing.T) {
	t.Parallel()
	stories, err := filepath.Glob("testdata/draft/*.txtar")
	if err != nil || len(stories) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	const wanted = "want/AGENTS.md"
	for _, story := range stories {
		name := strings.TrimSuffix(filepath.Base(story), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(story)
			if err != nil {
				t.Fatal(err)
			}
			repository := fstest.MapFS{}
			files := archive.Files[:0]
			for _, f := range archive.Files {
				if f.Name == wanted {
					continue
				}
				files = append(files, f)
				repository[f.Name] = &fstest.MapFile{Data: f.Data}
			}
			got := draft(repository, name)
			if again := draft(repository, name); again != got {
				t.Error("the same files have two drafts")
			}
			archive.Files = append(files, txtar.File{Name: wanted, Data: []byte(got)})
			golden.File(t, story, txtar.Format(archive))
		})
	}
}

func TestNothingIsDraftedOfNothing(t *testing.T) {
	t.Parallel()
	if got, err := Draft(t.TempDir()); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Draft(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a folder that is not there has a draft")
	}
}

func TestADraftOfALargeRepositoryIsShort(t *testing.T) {
	t.Parallel()
	repository := fstest.MapFS{
		"README.md":    {Data: []byte("# Large\n\n" + strings.Repeat("many words ", 1000))},
		"CONTRIBUTING": {Data: []byte("x")},
		"DESIGN.md":    {Data: []byte("x")},
	}
	var makefile, scripts strings.Builder
	for n := range 100 {
		fmt.Fprintf(&makefile, "t%d:\n\techo %d\n", n, n)
		fmt.Fprintf(&scripts, `"s%d": "x",`, n)
	}
	for _, name := range []string{"CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".cursorrules", ".windsurfrules"} {
		repository[name] = &fstest.MapFile{Data: []byte("x")}
	}
	repository["Makefile"] = &fstest.MapFile{Data: []byte(makefile.String())}
	repository["package.json"] = &fstest.MapFile{Data: []byte(`{"scripts": {` + scripts.String() + `"z": "x"}}`)}
	got := draft(repository, "large")
	for _, want := range []string{"\n- 179 more commands\n", "@CLAUDE.md\n", "`CONTRIBUTING`\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := strings.Count(got, "\n"); n > 45 || n < 35 {
		t.Errorf("%d lines:\n%s", n, got)
	}
}

func TestAFolderWithALineEndInItsNameIsNotInADraft(t *testing.T) {
	t.Parallel()
	repository := fstest.MapFS{"a\n## Commands/go.mod": {}, "b\u202e/go.mod": {}, "c`/Cargo.toml": {}}
	want := "# x\n\n## Commands\n\n- Build: `cargo build` in `` c`/ ``\n- Test: `cargo test` in `` c`/ ``\n"
	if got := draft(repository, "x"); got != want {
		t.Errorf("%q", got)
	}
}

// What takes time in proportion to the square of a file would take minutes here.
func TestADraftOfLongFilesEnds(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{".PHONY: a\\\n", "`", "<!--", "["} {
		content := []byte(strings.Repeat(unit, maxFile/len(unit)))
		repository := fstest.MapFS{"README.md": {Data: content}, "Makefile": {Data: content}, "justfile": {Data: content}, "CLAUDE.md": {Data: content}}
		if got := draft(repository, "long"); got == "" {
			t.Errorf("%q has no draft", unit)
		}
	}
}

func FuzzDraft(f *testing.F) {
	stories, err := filepath.Glob("testdata/draft/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, story := range stories {
		archive, err := txtar.ParseFile(story)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(string(file.Data))
		}
	}
	names := []string{"README.md", "Makefile", "justfile", "Taskfile.yml", "package.json", "pyproject.toml", "Cargo.toml", "CLAUDE.md"}
	f.Fuzz(func(t *testing.T, content string) {
		repository := fstest.MapFS{}
		for _, name := range names {
			repository[name] = &fstest.MapFile{Data: []byte(content)}
		}
		got := draft(repository, "fuzz")
		if strings.Count(got, "\n") > 45 || !strings.HasPrefix(got, "# ") || !utf8.ValidString(got) {
			t.Errorf("%q", got)
		}
		for _, imported := range findImports(got) {
			if imported != "CLAUDE.md" {
				t.Errorf("imports %q:\n%s", imported, got)
			}
		}
		for line := range strings.Lines(got) {
			if len(line) > 2000 {
				t.Errorf("a line of %d bytes: %q", len(line), line)
			}
		}
	})
}

func ExampleDraft() {
	dir, err := os.MkdirTemp("", "pawl-draft")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, content := range map[string]string{
		"README.md": "# cart\n\nThe shopping cart of the shop.\n",
		"go.mod":    "module example.org/cart\n",
		"main.go":   "package main\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			panic(err)
		}
	}
	text, err := Draft(dir)
	if err != nil {
		panic(err)
	}
	fmt.Print(text)
	// Output:
	// # cart
	//
	// The shopping cart of the shop.
	//
	// ## Commands
	//
	// - Build: `go build ./...`
	// - Test: `go test ./...` (one test: go test ./PACKAGE -run NAME)
	// - Lint: `go vet ./...`
}
