package pawl_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// layers says which packages of ours each package may import, tests apart. Arrows
// go down the levels only; on one level there are none, except to a parent. A
// name ending in /... stands for everything below it. A package that is not here
// fails the test: it has to be given its place first.
var layers = map[string][]string{
	// Level 0: pure. See pureImports and impure for what else is forbidden.
	"run":        {},
	"controller": {},
	"permission": {"run"},
	"schema":     {}, // and validates with a library: see pureImports

	// Level 1: the world. Each knows level 0; none knows another.
	"llm":             {"run"},
	"llm/anthropic":   {"llm", "llm/wire", "run", "schema"},
	"llm/cache":       {"llm", "run"},
	"llm/chat":        {"llm", "llm/wire", "run", "schema"},
	"llm/gemini":      {"llm", "llm/wire", "run", "schema"},
	"llm/llmtest":     {"llm", "llm/script", "llm/wire", "run"}, // the suite plays scripts over HTTP
	"llm/models":      {"run"},
	"llm/responses":   {"llm", "llm/wire", "run", "schema"},
	"llm/script":      {"llm", "run"},
	"llm/wire":        {"llm", "run"},
	"output":          {"internal/...", "output/jsonpath", "run"},
	"output/jsonpath": {"internal/..."},
	"policy":          {"permission", "run"},
	"sandbox":         {"internal/...", "run"},
	"store":           {"run"},
	"store/...":       {"store", "run"},
	// tool asks permission for nothing but the class of a shell command, which is
	// read from the same syntax tree as the rules.
	"tool":     {"internal/...", "output", "permission", "run", "sandbox", "schema"},
	"tool/...": {"internal/...", "output", "permission", "run", "sandbox", "schema", "tool"},

	// Level 2: carrying things forward.
	"worker": {"controller", "llm", "output", "permission", "run", "sandbox", "store", "tool", "tool/outputs"},

	// Level 4: wiring. (Level 3, the other faces, has no package yet.)
	"cmd/pawl":     {"..."},
	"cmd/pawl/...": {"..."},
	"bench":        {"..."},
	"bench/...":    {"..."},

	// True helpers with two users or more; they know nothing of ours.
	"internal/...": {"internal/..."},
}

// pureImports are the packages beyond ours that level 0 may import. It is a list of
// what is allowed and not of what is forbidden, so that a new one has to be argued
// for: nothing here reads a clock, a file, the network, the environment or dice, or
// starts a goroutine. (time is here for its types; see impure.)
var pureImports = []string{
	"bytes", "cmp", "crypto/sha256", "embed", "encoding/base64", "encoding/hex", "encoding/json", "errors", "fmt",
	"io", "iter", "maps", "math", "net/netip", "net/url", "path", "regexp", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf8",

	"mvdan.cc/sh/v3/syntax", // text to tree and back
}

// level0 are the packages that pureImports and impure hold for.
var level0 = []string{"run", "permission", "controller"}

func TestPackagesImportOnlyWhatTheirLevelMay(t *testing.T) {
	t.Parallel()
	packages := sources(t)
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		row, ok := rowOf(dir)
		if !ok {
			t.Errorf("package %s has no row in layers: give it its level", dir)
			continue
		}
		for _, file := range packages[dir] {
			for _, imported := range imports(file.syntax) {
				switch ours, ok := strings.CutPrefix(imported, "pawl/"); {
				case ok && !covers(row, ours):
					t.Errorf("%s imports %s: %s may import of ours only %v", file.path, imported, dir, row)
				case !ok && slices.Contains(level0, dir) && !slices.Contains(pureImports, imported):
					t.Errorf("%s imports %s: %s is pure and may not, or it belongs into pureImports", file.path, imported, dir)
				}
			}
		}
	}
	for dir := range layers {
		if !strings.HasSuffix(dir, "...") && dir != "bench" && packages[dir] == nil {
			t.Errorf("layers has a row for %s, and there is no such package", dir)
		}
	}
}

func TestTheCoreHasNoClockNoGoroutineAndPrintsNothing(t *testing.T) {
	t.Parallel()
	packages := sources(t)
	for _, dir := range level0 {
		if len(packages[dir]) == 0 {
			t.Errorf("package %s has no files", dir)
		}
		for _, file := range packages[dir] {
			for _, what := range impure(file.syntax) {
				t.Errorf("%s: %s", file.path, what)
			}
		}
	}
}

func TestWhatIsImpureIsSeen(t *testing.T) {
	t.Parallel()
	const src = `package p

import (
	"fmt"
	clock "time"
)

func f(then clock.Time) string {
	go f(clock.Now())
	clock.Sleep(clock.Since(then))
	<-clock.After(clock.Second)
	fmt.Println(then.Local())
	return fmt.Sprint(then.Sub(then))
}
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a go statement", "time.Now", "time.Sleep", "time.Since", "time.After", "fmt.Println"}
	if diff := cmp.Diff(want, impure(file)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestARowCoversWhatItNamesAndNoMore(t *testing.T) {
	t.Parallel()
	row := []string{"run", "internal/..."}
	for _, ours := range []string{"run", "internal/proc"} {
		if !covers(row, ours) {
			t.Errorf("%v does not cover %s", row, ours)
		}
	}
	for _, ours := range []string{"store", "runner", "run/x", "internal"} {
		if covers(row, ours) {
			t.Errorf("%v covers %s", row, ours)
		}
	}
}

// outside are the functions of allowed packages that reach the world, by import path.
var outside = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// impure returns what in a file of level 0 reaches the world, in the order of the file.
func impure(file *ast.File) []string {
	names := map[string]string{} // as the file calls it: import path
	for _, spec := range file.Imports {
		p := importPath(spec)
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = p
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, "a go statement")
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if p := ""; ok {
				p = names[x.Name]
				if slices.Contains(outside[p], n.Sel.Name) {
					found = append(found, p+"."+n.Sel.Name)
				}
			}
		}
		return true
	})
	return found
}

// rowOf returns the row of layers for a package: its own, else that of the nearest
// folder above it with a row for everything below.
func rowOf(dir string) ([]string, bool) {
	if row, ok := layers[dir]; ok {
		return row, true
	}
	for up := path.Dir(dir); up != "."; up = path.Dir(up) {
		if row, ok := layers[up+"/..."]; ok {
			return row, true
		}
	}
	return nil, false
}

// covers reports whether a row allows the import of a package of ours.
func covers(row []string, ours string) bool {
	return slices.ContainsFunc(row, func(name string) bool {
		below, all := strings.CutSuffix(name, "...")
		return name == ours || all && strings.HasPrefix(ours, below)
	})
}

// A source is one Go file, tests apart.
type source struct {
	path   string
	syntax *ast.File
}

// sources parses every package of the module, by its folder. It reads the folders
// itself and does not ask the go tool, which sees the files of one platform only.
func sources(t *testing.T) map[string][]source {
	t.Helper()
	packages := map[string][]source{}
	goFiles(t, func(name string) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(name)
		packages[dir] = append(packages[dir], source{name, file})
	})
	if len(packages) == 0 {
		t.Fatal("no packages found")
	}
	return packages
}

// goFiles calls visit with the path of each Go file of the module.
func goFiles(t *testing.T, visit func(name string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		base := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata"):
			return fs.SkipDir // as the go tool does
		case d.IsDir() && name != "." && exists(filepath.Join(name, "go.mod")):
			return fs.SkipDir // another module
		case !d.IsDir() && strings.HasSuffix(base, ".go"):
			visit(filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func imports(file *ast.File) []string {
	var paths []string
	for _, spec := range file.Imports {
		paths = append(paths, importPath(spec))
	}
	return paths
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(fmt.Sprintf("import %s: %v", spec.Path.Value, err)) // unreachable: it was parsed
	}
	return p
}
