package instructions

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
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
			repository, want := fstest.MapFS{}, ""
			files := archive.Files[:0]
			for _, f := range archive.Files {
				if f.Name == wanted {
					want = string(f.Data)
					continue
				}
				files = append(files, f)
				repository[f.Name] = &fstest.MapFile{Data: f.Data}
			}
			got := draft(repository, name)
			if n := strings.Count(got, "\n"); n > maxLines {
				t.Errorf("%d lines", n)
			}
			if again := draft(repository, name); again != got {
				t.Error("the same files have two drafts")
			}
			if os.Getenv("UPDATE") != "" {
				archive.Files = append(files, txtar.File{Name: wanted, Data: []byte(got)})
				if err := os.WriteFile(story, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
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

func TestADraftOfALargeRepositoryHasAtMostSixtyLines(t *testing.T) {
	t.Parallel()
	repository := fstest.MapFS{
		"README.md":      {Data: []byte("# Large\n\n" + strings.Repeat("many words ", 1000))},
		"CONTRIBUTING":   {Data: []byte("x")},
		"DESIGN.md":      {Data: []byte("x")},
		".gitattributes": {Data: []byte("*.pb.go linguist-generated\n")},
	}
	var makefile, ci, editor, scripts strings.Builder
	for n := range 100 {
		fmt.Fprintf(&makefile, "t%d:\n\techo %d\n", n, n)
		fmt.Fprintf(&ci, "      - run: go test ./p%d\n", n)
		fmt.Fprintf(&editor, "[*.%d]\nindent_size = 2\n", n)
		fmt.Fprintf(&scripts, `"s%d": "x",`, n)
		repository[fmt.Sprintf("folder%d/README.md", n)] = &fstest.MapFile{Data: []byte("Text of four words.\n")}
	}
	for _, name := range []string{"CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".cursorrules", ".windsurfrules", ".prettierrc", ".commitlintrc"} {
		repository[name] = &fstest.MapFile{Data: []byte("x")}
	}
	repository["Makefile"] = &fstest.MapFile{Data: []byte(makefile.String())}
	repository[".editorconfig"] = &fstest.MapFile{Data: []byte(editor.String())}
	repository[".github/workflows/ci.yml"] = &fstest.MapFile{Data: []byte(ci.String())}
	repository["package.json"] = &fstest.MapFile{Data: []byte(`{"scripts": {` + scripts.String() + `"z": "x"}}`)}
	got := draft(repository, "large")
	for _, want := range []string{"\n- 187 more commands\n", "\n- 96 more commands\n", "more folders\n", "@CLAUDE.md\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := strings.Count(got, "\n"); n > maxLines || n < maxLines-8 {
		t.Errorf("%d lines:\n%s", n, got)
	}
}

func TestAFolderWithALineEndInItsNameIsNotInADraft(t *testing.T) {
	t.Parallel()
	repository := fstest.MapFS{"a\n## Commands/x.go": {}, "b\u202e/x.go": {}, "c/x.go": {}}
	want := "# x\n\nLanguages: Go (1 file).\n\n## Layout\n\n- `c/`: 1 file of Go\n"
	if got := draft(repository, "x"); got != want {
		t.Errorf("%q", got)
	}
}

// What takes time in proportion to the square of a file would take minutes here.
func TestADraftOfLongFilesEnds(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{".PHONY: a\\\n", "`", "<!--", "["} {
		content := []byte(strings.Repeat(unit, maxFile/len(unit)))
		repository := fstest.MapFS{"README.md": {Data: content}, "Makefile": {Data: content}, "justfile": {Data: content}, ".gitlab-ci.yml": {Data: content}, "CLAUDE.md": {Data: content}}
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
	names := []string{"README.md", "Makefile", "justfile", "Taskfile.yml", "package.json", "pyproject.toml", "Cargo.toml", ".editorconfig",
		".gitattributes", ".gitlab-ci.yml", "CLAUDE.md", "a/doc.go", "b/__init__.py", "c/README.md", "d/lib.rs"}
	f.Fuzz(func(t *testing.T, content string) {
		repository := fstest.MapFS{}
		for _, name := range names {
			repository[name] = &fstest.MapFile{Data: []byte(content)}
		}
		got := draft(repository, "fuzz")
		if strings.Count(got, "\n") > maxLines || !strings.HasPrefix(got, "# ") || !utf8.ValidString(got) {
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
	// Languages: Go (1 file).
	//
	// ## Commands
	//
	// - Build: `go build ./...`
	// - Test: `go test ./...` (one test: go test ./PACKAGE -run NAME)
	// - Lint: `go vet ./...`
}

func TestThePackageCommentIsReadFromWhateverPrecedesThePackageClause(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"// Package a is one.\npackage a\nfunc {":                                "Package a is one.\n",
		"// Copyright.\n\n// Package a\n// is two.\npackage a":                   "Package a\nis two.\n",
		"//go:build linux\n\n/*\nPackage a is three.\n*/\npackage a // not this": "Package a is three.\n",
		"// Package a is not directly above.\n\npackage a":                       "",
		"/* beside */ package a":                                                 "",
		"// no Go at all":                                                        "",
		"":                                                                       "",
		"\xef\xbb\xbf// Package a has a mark.\r\npackage a\r\n":                  "Package a has a mark.\n",
		"// Package a\n//go:generate x\npackage a":                               "Package a\n",
		"\x00#!? @ // Package a\npackage a":                                      "",
	} {
		got := packageComment([]byte(src))
		if file, _ := parser.ParseFile(token.NewFileSet(), "", src, parser.PackageClauseOnly|parser.ParseComments); file != nil && got != file.Doc.Text() {
			t.Errorf("%q: %q, and go/parser says %q", src, got, file.Doc.Text())
		}
		if got != want {
			t.Errorf("%q: %q, want %q", src, got, want)
		}
	}
}
