package instructions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"

	"pawl/internal/lazy"
	"pawl/internal/text"
)

var readmes = []string{"README.md", "readme.md", "Readme.md", "README.rst", "README.txt", "README"}

// about returns the title of the README and its first paragraph, or the description of the
// package if there is none.
func (s *survey) about() (title, about string) {
	title, about = s.readme(".")
	about = cmp.Or(about, s.manifestDescription("."))
	return shorten(title, maxClip), shorten(about, 2*maxClip)
}

var (
	image = lazy.Regexp(`!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])`)
	link  = lazy.Regexp(`\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])`)
	tag   = lazy.Regexp(`<[^>]*>`)
)

// readme returns the first heading and the first paragraph of a folder's README. Badges,
// pictures, lists, tables, quotes and code are not paragraphs, nor is a line of three words.
func (s *survey) readme(dir string) (title, paragraph string) {
	fence := false
	var words []string
	for _, line := range append(s.lines(s.first(dir, readmes...)), "") {
		line = strings.TrimSpace(line)
		marks := strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
		if marks {
			fence = !fence
		}
		plain := strings.TrimSpace(tag().ReplaceAllString(link().ReplaceAllString(image().ReplaceAllString(line, ""), "$1"), ""))
		if !marks && !fence && plain != "" && !notParagraph().MatchString(plain) {
			words = append(words, strings.Fields(plain)...)
			continue
		}
		if len(words) > 3 {
			break
		}
		if title == "" {
			title = strings.Join(words, " ")
		}
		words = nil
		if heading, ok := strings.CutPrefix(plain, "# "); ok && title == "" && !fence {
			title = strings.TrimSpace(heading)
		}
	}
	return title, strings.Join(words, " ")
}

// notParagraph is a heading, a quote, a table, a list item, a line under a heading, a badge.
var notParagraph = lazy.Regexp(`^(?:#|>|\||[-*+]\s|\d+[.)]\s|[-=~*_]{3,}$|\[|:)`)

// layoutLines describes the folders of the root.
func (s *survey) layoutLines() []string {
	var lines []string
	for _, dir := range s.folders {
		if strings.Contains(dir, "/") {
			continue
		}
		line := "- " + code(dir+"/")
		if what := s.describe(dir); what != "" {
			line += ": " + what
		} else if below := s.below(dir); below != "" {
			line += ": " + below
		} else if files := s.inFolder[dir]; len(files) > 0 {
			language := byCount(files)[0]
			line += fmt.Sprintf(": %s of %s", text.Plural(int64(files[language]), "file"), language)
		} else {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// below names the folders in a folder.
func (s *survey) below(dir string) string {
	const most = 8
	var names []string
	for _, name := range s.folders {
		if path.Dir(name) == dir {
			names = append(names, code(path.Base(name)))
		}
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// describe returns what a folder says of itself, in one sentence, or "".
func (s *survey) describe(dir string) string {
	_, paragraph := s.readme(dir)
	for _, what := range []string{s.goDoc(dir), s.manifestDescription(dir), paragraph, s.pythonDoc(dir), s.rustDoc(dir)} {
		if what = firstSentence(what); what != "" {
			return shorten(what, maxClip)
		}
	}
	return ""
}

// firstSentence returns the beginning of a text up to the first full stop that ends a
// sentence, and not an initial, without it.
func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for i := range len(s) {
		if s[i] == '.' && (i < 2 || s[i-2] != ' ') && (i+1 == len(s) || s[i+1] == ' ' && (i+2 < len(s) && s[i+2] >= 'A' && s[i+2] <= 'Z')) {
			return s[:i]
		}
	}
	return s
}

// goFiles returns the Go files of a folder that are not tests, doc.go first.
func (s *survey) goFiles(dir string) []string {
	names := []string{path.Join(dir, "doc.go")}
	for name := range s.files {
		if path.Dir(name) == dir && path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
	}
	slices.Sort(names[1:])
	return names
}

// goDoc returns the first paragraph of the package comment of a folder, without "Package
// NAME".
func (s *survey) goDoc(dir string) string {
	for _, name := range s.goFiles(dir) {
		paragraph, _, _ := strings.Cut(packageComment([]byte(s.read(name))), "\n\n")
		if fields := strings.Fields(paragraph); len(fields) > 2 && fields[0] == "Package" {
			if fields[2] == "is" {
				fields = fields[1:]
			}
			return strings.Join(fields[2:], " ")
		} else if len(fields) > 2 && path.Base(dir) == fields[0] {
			return strings.Join(fields, " ")
		}
	}
	return ""
}

// packageComment returns the comment that ends on the line above the package clause. Only
// what stands before the clause is read, so what follows may be anything.
func packageComment(src []byte) string {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, src, nil, scanner.ScanComments)
	doc, end := &ast.CommentGroup{}, 0 // the group read last, and its last line
	for {
		pos, tok, text := s.Scan()
		line := file.Line(pos)
		switch {
		case tok == token.PACKAGE && line == end+1:
			return doc.Text()
		case tok != token.COMMENT:
			return ""
		case line > end+1:
			doc.List = nil
		}
		doc.List = append(doc.List, &ast.Comment{Text: text})
		end = line + strings.Count(text, "\n")
	}
}

var description = lazy.Regexp(`(?m)^description\s*=\s*"([^"\n]*)"`)

// manifestDescription returns the description in a folder's package.json, Cargo.toml or
// pyproject.toml.
func (s *survey) manifestDescription(dir string) string {
	var manifest struct {
		Description string `json:"description"`
	}
	if json.Unmarshal([]byte(s.read(path.Join(dir, "package.json"))), &manifest) == nil && manifest.Description != "" {
		return manifest.Description
	}
	for _, name := range []string{"Cargo.toml", "pyproject.toml"} {
		if m := description().FindStringSubmatch(s.read(path.Join(dir, name))); m != nil {
			return m[1]
		}
	}
	return ""
}

// pythonDoc returns the first line of the docstring of a package.
func (s *survey) pythonDoc(dir string) string {
	for _, quote := range []string{`"""`, `'''`} {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(s.read(path.Join(dir, "__init__.py"))), quote); ok {
			doc, _, _ := strings.Cut(rest, quote)
			paragraph, _, _ := strings.Cut(strings.TrimSpace(doc), "\n\n")
			return paragraph
		}
	}
	return ""
}

// rustDoc returns the first paragraph of the documentation of a crate.
func (s *survey) rustDoc(dir string) string {
	var doc []string
	for _, line := range s.lines(s.first(dir, "lib.rs", "main.rs", "mod.rs", "src/lib.rs", "src/main.rs")) {
		rest, ok := strings.CutPrefix(line, "//!")
		if rest = strings.TrimSpace(rest); !ok || rest == "" && len(doc) > 0 {
			break
		}
		if rest != "" && !strings.HasPrefix(rest, "#") {
			doc = append(doc, rest)
		}
	}
	return strings.Join(doc, " ")
}
