package pawl_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// These tests keep the documents true where a program can tell.

func TestTestsThatDocumentsNameExist(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	goFiles(t, func(name string) {
		if !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "storetest") && !strings.Contains(name, "llmtest") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				have[f.Name.Name] = true
			}
		}
	})
	named := regexp.MustCompile(`\b(Test|Fuzz|Benchmark)[A-Z]\w*\b`)
	count := 0
	for _, doc := range documents(t) {
		for _, name := range named.FindAllString(read(t, doc), -1) {
			count++
			if !have[name] {
				t.Errorf("%s names %s, and there is no such test", doc, name)
			}
		}
	}
	if count == 0 {
		t.Error("no document names a test; ARCHITECTURE.md should")
	}
}

// Stories are named behind their test, as in `TestTraces` (`crash*`, `nudge`).
func TestStoriesThatArchitectureNamesExist(t *testing.T) {
	t.Parallel()
	doc := read(t, "ARCHITECTURE.md")
	for test, files := range map[string]string{
		"TestTraces":  "run/testdata/%.trace",
		"TestScripts": "cli/testdata/script/%.txtar",
	} {
		named := regexp.MustCompile("`"+test+"`\\s+\\(([^)]*)\\)").FindAllStringSubmatch(doc, -1)
		if len(named) == 0 {
			t.Errorf("ARCHITECTURE.md names no story of %s", test)
		}
		for _, m := range named {
			for name := range strings.SplitSeq(m[1], ",") {
				name = strings.Trim(strings.TrimSpace(name), "`")
				if found, err := filepath.Glob(strings.Replace(files, "%", name, 1)); err != nil || len(found) == 0 {
					t.Errorf("ARCHITECTURE.md names the story %s of %s, and there is none", name, test)
				}
			}
		}
	}
}

func TestLinksBetweenDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	for _, doc := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, doc), -1) {
			if target := path.Join(path.Dir(doc), m[1]); !exists(target) {
				t.Errorf("%s links to %s, which is not there", doc, m[1])
			}
		}
	}
}

// Every module that is imported has its row in the table of ARCHITECTURE.md, with
// the packages that use it; tests apart, whose modules need a row and no more.
func TestEveryDependencyHasItsReason(t *testing.T) {
	t.Parallel()
	rows := map[string]string{}
	for line := range strings.Lines(read(t, "ARCHITECTURE.md")) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			rows[strings.Trim(strings.TrimSpace(cells[1]), "`")] = cells[2]
		}
	}
	var modules []string
	for _, m := range regexp.MustCompile(`(?m)^\s+(\S+\.\S+/\S+) v`).FindAllStringSubmatch(read(t, "go.mod"), -1) {
		modules = append(modules, m[1])
	}
	seen := map[string]bool{}
	goFiles(t, func(name string) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range imports(file) {
			if host, _, _ := strings.Cut(imported, "/"); !strings.Contains(host, ".") {
				continue // ours, or of the standard library
			}
			module := ""
			for _, m := range modules {
				if (imported == m || strings.HasPrefix(imported, m+"/")) && len(m) > len(module) {
					module = m
				}
			}
			usedBy, ok := rows[module]
			seen[module] = true
			switch test := strings.HasSuffix(name, "_test.go"); {
			case module == "":
				t.Errorf("%s imports %s, which go.mod does not know", name, imported)
			case !ok:
				t.Errorf("%s imports %s: its module has no row in ARCHITECTURE.md's table of dependencies", name, imported)
			case !test && !strings.Contains(usedBy, "`"+path.Dir(name)+"`"):
				t.Errorf("%s imports %s: ARCHITECTURE.md does not say that %s uses it", name, imported, path.Dir(name))
			}
		}
	})
	for module := range rows {
		if slices.Contains(modules, module) && !seen[module] {
			t.Errorf("ARCHITECTURE.md has a row for %s, which nothing imports", module)
		}
	}
}

// docs/events.md is a reference: it has every type that package store writes, and
// every key.
func TestEveryEventOnDiskIsDescribed(t *testing.T) {
	t.Parallel()
	doc := read(t, "docs/events.md")
	files, err := filepath.Glob("run/*.go")
	if err != nil {
		t.Fatal(err)
	}
	types, keys := 0, 0
	for _, name := range append(files, "store/codec.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr: // of[run.Created]("run_created")
				index, ok := n.Fun.(*ast.IndexExpr)
				if f, isName := (*ast.Ident)(nil), false; ok {
					f, isName = index.X.(*ast.Ident)
					ok = isName && f.Name == "of"
				}
				if typ, isText := text(n.Args); ok && isText {
					types++
					if !strings.Contains(doc, "\n### `"+typ+"`") {
						t.Errorf("docs/events.md has no heading for the event %s", typ)
					}
				}
			case *ast.Field:
				if n.Tag == nil {
					break
				}
				tag, err := strconv.Unquote(n.Tag.Value)
				if err != nil {
					t.Fatal(err)
				}
				key, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
				if key == "" || key == "-" {
					break
				}
				keys++
				if !strings.Contains(doc, "`"+key+"`") {
					t.Errorf("docs/events.md does not describe the key %s (%s)", key, name)
				}
			}
			return true
		})
	}
	if types < 20 || keys < 50 {
		t.Errorf("found %d types and %d keys only: this test does not understand the code any more", types, keys)
	}
}

// text returns the first of some expressions when it is a string literal that is
// not empty.
func text(exprs []ast.Expr) (string, bool) {
	if len(exprs) == 0 {
		return "", false
	}
	lit, ok := exprs[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil && s != ""
}

// documents are the files for people: at the root, and below docs.
func documents(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir("docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".md") {
			docs = append(docs, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Each entry of the lists of SECURITY.md promises something: it names a test of that, and
// stories that are there. What is not promised stands outside of the lists.
func TestEveryPromiseOfSecurityNamesItsTest(t *testing.T) {
	t.Parallel()
	promises := regexp.MustCompile(`(?m)^- (?:.+\n)(?:  .+\n)*`).FindAllString(read(t, "SECURITY.md"), -1)
	if len(promises) < 35 {
		t.Errorf("SECURITY.md has %d entries", len(promises))
	}
	test := regexp.MustCompile("`(Test|Fuzz)\\w+`")
	stories := regexp.MustCompile("`TestScripts` \\(`(\\w+)`\\)|`TestScripts`, `(\\w+)`")
	for _, p := range promises {
		if !test.MatchString(p) {
			t.Errorf("SECURITY.md names no test for: %s", p)
		}
		for _, m := range stories.FindAllStringSubmatch(p, -1) {
			if name := m[1] + m[2]; !exists("cli/testdata/script/" + name + ".txtar") {
				t.Errorf("SECURITY.md names the story %s, which is not there", name)
			}
		}
	}
	for _, heading := range []string{"## Decisions", "## Commands", "## Agents", "## The server", "## Configuration"} {
		_, section, found := strings.Cut(read(t, "SECURITY.md"), heading)
		section, _, _ = strings.Cut(section, "\n## ")
		section, _, _ = strings.Cut(section, "\n**")
		_, section, _ = strings.Cut(section, "\n")
		for line := range strings.Lines(section) {
			if line != "\n" && !strings.HasPrefix(line, "- ") && !strings.HasPrefix(line, "  ") {
				t.Errorf("SECURITY.md, %s: a promise outside of a list: %s", heading, line)
			}
		}
		if !found {
			t.Errorf("SECURITY.md has no %s", heading)
		}
	}
}
