package instructions_test

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pawl/instructions"
)

// later returns what reads the instructions that a run in a folder of the repository needs later.
func (p *place) later(folder string) *instructions.Later {
	o := p.options(folder)
	o.Foreign = func(folder string) bool { return strings.HasPrefix(folder, "ignored") }
	return instructions.NewLater(o, "A prompt.\n\n"+instructions.Load(o).Text, nil)
}

// gives checks what a run in a folder of the repository is given that touches some files: names in base, in order.
func (p *place) gives(l *instructions.Later, folder, touched string, want ...string) (text string) {
	p.t.Helper()
	text, files := l.For(strings.Fields(touched))
	for i, file := range files {
		if below, ok := strings.CutPrefix(file, p.base+"/"); ok {
			files[i] = below
		} else if !strings.HasPrefix(file, "/") {
			files[i] = path.Join("repo", folder, file)
		}
	}
	if fmt.Sprint(files) != fmt.Sprint(want) {
		p.t.Errorf("touching %s gives %v, want %v", touched, files, want)
	}
	if (text == "") != (len(want) == 0) || len(text) > instructions.MaxBytes {
		p.t.Errorf("touching %s gives %d bytes", touched, len(text))
	}
	return text
}

func TestInstructionsOfAFolderAreGivenWhenAFileBelowItIsTouched(t *testing.T) {
	p := newPlace(t)
	p.write("repo/AGENTS.md", "of the root")
	p.write("repo/sub/AGENTS.md", "of sub, see @style.md")
	p.write("repo/sub/CLAUDE.md", "not beside an AGENTS.md")
	p.write("repo/sub/style.md", "tabs")
	p.write("repo/sub/deep/er/CLAUDE.md", "of er")
	p.write("repo/other/GEMINI.md", "of other")
	p.write("repo/ignored/AGENTS.md", "of what was downloaded")
	p.write("repo/.git/AGENTS.md", "of git")
	l := p.later("")
	p.gives(l, "", "main.go")
	text := p.gives(l, "", "sub/deep/er/a.go", "repo/sub/AGENTS.md", "repo/sub/style.md", "repo/sub/deep/er/CLAUDE.md")
	for _, want := range []string{"of sub", "tabs", "of er"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	p.gives(l, "", "sub/b.go sub/deep/er/c.go sub")
	p.gives(l, "", "ignored/x/a.go .git/config ../outside/secret.md /etc/passwd nowhere/a.go")
	p.gives(l, "", filepath.Join(p.repo, "other"), "repo/other/GEMINI.md")
}

func TestARunIsNotGivenWhatItHas(t *testing.T) {
	p := newPlace(t)
	p.write("repo/AGENTS.md", "@sub/AGENTS.md")
	given := p.write("repo/sub/AGENTS.md", "imported at the start")
	p.write("repo/sub/deep/AGENTS.md", "more")
	p.gives(p.later(""), "", "sub/a.go")
	p.gives(p.later("sub"), "sub", "a.go")
	p.gives(p.later("sub"), "sub", "deep/a.go", "repo/sub/deep/AGENTS.md")
	after := instructions.NewLater(p.options(""), "A prompt that mentions "+given+".", []string{"sub/AGENTS.md"})
	p.gives(after, "", "sub/a.go")
	p.gives(instructions.NewLater(p.options(""), "A prompt that mentions "+given+".", nil), "", "sub/a.go", "repo/sub/AGENTS.md")
}

func TestRulesThatNamePathsAreGivenForThese(t *testing.T) {
	p := newPlace(t)
	p.write("repo/AGENTS.md", "of the root")
	p.write("repo/.claude/rules/all.md", "for all files")
	p.write("repo/.claude/rules/web/ts.md", "---\npaths:\n  - \"src/**/*.{ts,tsx}\"\n  - lib/**/*.ts\n---\nstrict types")
	p.write("repo/.pawl/rules/go.md", "---\npaths: **/*.go, 'go.mod'\n---\nsmall functions")
	p.write("repo/.pawl/rules/notes.txt", "not a rule")
	p.write("repo/.pawl/rules/bad.md", "---\npaths: \"src/[a\"\n---\nnever")
	p.write("repo/sub/.claude/rules/md.md", "---\npaths: \"*.md\"\n---\nshort lines")
	p.write("repo/sub/.claude/rules/sub.md", "of sub")
	p.write("home/.claude/rules/sql.md", "---\npaths: \"**/*.sql\"\n---\nupper case")
	p.write("home/.claude/rules/own.md", "mine")
	p.files(p.load(""), "home/.claude/rules/own.md: 4 bytes", "home/.claude/rules/sql.md: for files that match **/*.sql",
		"repo/AGENTS.md: 11 bytes", "repo/.claude/rules/all.md: 13 bytes",
		"repo/.claude/rules/web/ts.md: for files that match src/**/*.{ts,tsx}, lib/**/*.ts",
		"repo/.pawl/rules/bad.md: its pattern \"src/[a\" is not one: a [ or { is not closed, or a \\ stands at the end",
		"repo/.pawl/rules/go.md: for files that match **/*.go, go.mod")
	l := p.later("")
	p.gives(l, "", "README.md src/a.js")
	text := p.gives(l, "", "src/b/c.tsx", "repo/.claude/rules/web/ts.md")
	if !strings.Contains(text, "strict types") || strings.Contains(text, "paths:") || !strings.Contains(text, "for files that match src/**/*.{ts,tsx}, lib/**/*.ts\n") {
		t.Errorf("the rule reads %s", text)
	}
	p.gives(l, "", "lib/a.ts")
	p.gives(l, "", "go.mod", "repo/.pawl/rules/go.md")
	p.gives(l, "", "db/a.sql", "home/.claude/rules/sql.md")
	p.gives(l, "", "sub/a.md", "repo/sub/.claude/rules/md.md", "repo/sub/.claude/rules/sub.md")
}

func TestLaterInstructionsHaveARoomOfTheirOwn(t *testing.T) {
	p := newPlace(t)
	const many = 40
	for i := range many {
		p.write(fmt.Sprintf("repo/d%d/AGENTS.md", i), strings.Repeat("a line\n", 2000))
	}
	l, total := p.later(""), 0
	for i := range many {
		text, _ := l.For([]string{fmt.Sprintf("d%d/a.go", i)})
		total += len(text)
	}
	if total > instructions.MaxBytes || total < instructions.MaxBytes*9/10 {
		t.Errorf("%d bytes were given", total)
	}
}

func TestAFolderOfManyRulesIsReadToALimit(t *testing.T) {
	p := newPlace(t)
	for i := range 210 {
		p.write(fmt.Sprintf("repo/.claude/rules/%03d.md", i), "---\npaths: \"*.go\"\n---\nx")
	}
	p.link(p.base, "repo/.claude/rules/up")
	got := p.load("")
	last := got.Files[len(got.Files)-1]
	if len(got.Files) != 201 || !strings.HasPrefix(last.Skipped, "more than 200 rules") {
		t.Errorf("%d files, the last %s: %s", len(got.Files), last.Path, last.Skipped)
	}
}
