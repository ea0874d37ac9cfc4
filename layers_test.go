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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The levels are those of the table in ARCHITECTURE.md: a package imports packages of
// ours from lower levels only, or from its own family (llm and everything below it). One
// that is not named has the level of the nearest package above it; a pure package is
// marked with an asterisk. See pureImports and impure for what pure means.

// levels reads the table.
func levels(t *testing.T) (level map[string]int, pure []string) {
	t.Helper()
	level = map[string]int{}
	row := regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]*) \|`)
	name := regexp.MustCompile("`([a-z/-]+)`(\\*?)")
	for _, m := range row.FindAllStringSubmatch(read(t, "ARCHITECTURE.md"), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range name.FindAllStringSubmatch(m[2], -1) {
			if _, twice := level[p[1]]; twice {
				t.Errorf("ARCHITECTURE.md gives %s two levels", p[1])
			}
			level[p[1]] = n
			if p[2] != "" {
				pure = append(pure, p[1])
			}
		}
	}
	if len(level) == 0 || len(pure) == 0 {
		t.Fatal("ARCHITECTURE.md has no table of levels")
	}
	return level, pure
}

// levelOf returns the level of a package: its own, else that of the nearest one above.
func levelOf(level map[string]int, dir string) (int, bool) {
	for ; dir != "."; dir = path.Dir(dir) {
		if n, ok := level[dir]; ok {
			return n, true
		}
	}
	return 0, false
}

// family returns the first element of a package's path.
func family(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// pureImports are the packages beyond ours that pure packages may import. It is a list
// of what is allowed and not of what is forbidden, so that a new one has to be argued
// for: nothing here reads a clock, a file, the network, the environment or random
// numbers, or starts a goroutine. (time is here for its types; see impure.)
var pureImports = []string{
	"bytes", "cmp", "crypto/sha256", "embed", "encoding/base64", "encoding/hex", "encoding/json", "errors", "fmt",
	"io", "iter", "maps", "math", "net/netip", "net/url", "path", "regexp", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf8",

	"github.com/charmbracelet/x/ansi",             // how wide text is, styles
	"github.com/go-json-experiment/json/jsontext", // token by token
	"mvdan.cc/sh/v3/syntax",                       // text to tree and back
}

func TestPackagesImportLowerLevelsOnly(t *testing.T) {
	t.Parallel()
	level, pure := levels(t)
	packages := sources(t)
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		own, ok := levelOf(level, dir)
		if !ok && dir != "bench" {
			t.Errorf("package %s has no level in ARCHITECTURE.md", dir)
		}
		for _, file := range packages[dir] {
			for _, imported := range imports(file.syntax) {
				ours, isOurs := strings.CutPrefix(imported, "pawl/")
				other, _ := levelOf(level, ours)
				switch {
				case isOurs && dir != "bench" && other >= own && family(ours) != family(dir):
					t.Errorf("%s (level %d) imports %s (level %d)", file.path, own, ours, other)
				case !isOurs && slices.Contains(pure, dir) && !slices.Contains(pureImports, imported):
					t.Errorf("%s imports %s: %s is pure and may not, or it belongs into pureImports", file.path, imported, dir)
				}
			}
		}
	}
	for dir := range level {
		below := func(name string) bool { return strings.HasPrefix(name, dir+"/") }
		if packages[dir] == nil && !slices.ContainsFunc(slices.Collect(maps.Keys(packages)), below) {
			t.Errorf("ARCHITECTURE.md gives %s a level, and there is no such package", dir)
		}
	}
}

func TestPurePackagesHaveNoClockNoGoroutineAndPrintNothing(t *testing.T) {
	t.Parallel()
	_, pure := levels(t)
	packages := sources(t)
	for _, dir := range pure {
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

// outside are the functions of allowed packages that reach the world, by import path.
var outside = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// impure returns what in a pure file reaches the world, in the order of the file.
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
