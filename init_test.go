package pawl_test

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What the packages may take to initialize, before main: every command waits for it.
const (
	maxInit    = 20 * time.Millisecond // all packages together
	maxInitOne = 5 * time.Millisecond  // any one package
)

// What the packages may allocate until main. Unlike times this is the same on every machine
// and under every load. Tables and expressions that a command does not use are for their first
// user: see package lazy and sync.OnceValue.
const (
	maxInitBytes    = 704 << 10 // all packages together: 671 KB, most of them of modules
	maxInitBytesOwn = 192 << 10 // the packages of pawl: 174 KB
)

// initRuns bounds the tries: on a machine that is busy with other tests one start
// says little, and the best of several says what the packages cost.
const initRuns = 40

func TestPackagesInitializeInTwentyMilliseconds(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("this test builds cmd/pawl and needs the go command in PATH")
	}
	pawl := filepath.Join(t.TempDir(), "pawl")
	if runtime.GOOS == "windows" {
		pawl += ".exe"
	}
	if out, err := exec.Command(goTool, "build", "-o", pawl, "./cmd/pawl").CombinedOutput(); err != nil {
		t.Fatalf("build ./cmd/pawl: %v\n%s", err, out)
	}
	best := map[string]time.Duration{}
	var total time.Duration
	for n := range initRuns {
		inits := initTrace(t, pawl)
		sum := time.Duration(0)
		bytes, bytesOwn := 0, 0
		for name, i := range inits {
			sum += i.took
			if before, ok := best[name]; !ok || i.took < before {
				best[name] = i.took
			}
			bytes += i.bytes
			if strings.HasPrefix(name, "pawl/") {
				bytesOwn += i.bytes
			}
		}
		if n == 0 {
			t.Logf("%d bytes are allocated before main, %d of them by pawl's packages", bytes, bytesOwn)
			if bytes > maxInitBytes || bytesOwn > maxInitBytesOwn {
				t.Errorf("packages allocate %d bytes before main, those of pawl %d; they may %d and %d", bytes, bytesOwn, maxInitBytes, maxInitBytesOwn)
			}
		}
		if n == 0 || sum < total {
			total = sum
		}
		if total <= maxInit && len(over(best)) == 0 {
			t.Logf("%d packages, %v in all (start %d)", len(best), total, n+1)
			return
		}
	}
	if total > maxInit {
		t.Errorf("packages initialize in %v at best, more than %v", total, maxInit)
	}
	for name, took := range over(best) {
		t.Errorf("package %s initializes in %v at best, more than %v", name, took, maxInitOne)
	}
}

// over returns the packages that took longer than one may.
func over(best map[string]time.Duration) map[string]time.Duration {
	slow := map[string]time.Duration{}
	for name, took := range best {
		if took > maxInitOne {
			slow[name] = took
		}
	}
	return slow
}

// An initialization is what a package did before main.
type initialization struct {
	took  time.Duration
	bytes int // allocated
}

// initTrace starts pawl once and returns what each package took to initialize.
func initTrace(t *testing.T, pawl string) map[string]initialization {
	t.Helper()
	cmd := exec.Command(pawl, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("pawl version: %v\n%s", err, trace.Bytes())
	}
	inits := parseInitTrace(trace.String())
	if len(inits) < 10 {
		t.Fatalf("the init trace names %d packages only; has its form changed?\n%s", len(inits), trace.Bytes())
	}
	return inits
}

// parseInitTrace reads the lines that GODEBUG=inittrace=1 prints; package runtime,
// "Environment Variables", pkg.go.dev/runtime, read 2026-11-20:
//
//	init NAME @1.2 ms, 0.1 ms clock, 0 bytes, 0 allocs
func parseInitTrace(trace string) map[string]initialization {
	inits := map[string]initialization{}
	lines := bufio.NewScanner(strings.NewReader(trace))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 9 || f[0] != "init" || f[6] != "clock," || f[8] != "bytes," {
			continue
		}
		took, err := time.ParseDuration(f[4] + f[5])
		bytes, errBytes := strconv.Atoi(f[7])
		if err == nil && errBytes == nil {
			i := inits[f[1]]
			inits[f[1]] = initialization{i.took + took, i.bytes + bytes}
		}
	}
	return inits
}

func TestTheInitTraceIsRead(t *testing.T) {
	t.Parallel()
	got := parseInitTrace("init internal/bytealg @0.008 ms, 0 ms clock, 0 bytes, 0 allocs\nsomething else\n" +
		"init example.org/slow @1.2 ms, 7.5 ms clock, 16 bytes, 1 allocs\n")
	if len(got) != 2 || got["example.org/slow"] != (initialization{7500 * time.Microsecond, 16}) {
		t.Errorf("got %v", got)
	}
}

// Expressions of packages are compiled by their first user, and not while the program
// starts. One that is not valid would then be noticed by that user.
func TestExpressionsOfPackagesAreValidAndNotCompiledAtTheStart(t *testing.T) {
	t.Parallel()
	valid := 0
	for _, files := range sources(t) {
		for _, file := range files {
			for _, decl := range file.syntax.Decls {
				d, ok := decl.(*ast.GenDecl)
				if !ok {
					continue
				}
				ast.Inspect(d, func(n ast.Node) bool {
					call, ok := n.(*ast.CallExpr)
					if !ok || len(call.Args) != 1 {
						return true
					}
					switch types.ExprString(call.Fun) {
					case "regexp.MustCompile":
						t.Errorf("%s compiles an expression while the program starts: use lazy.Regexp", file.path)
					case "lazy.Regexp":
						expr, ok := constantString(call.Args[0])
						if !ok {
							break // made by a function; its package's tests use it
						}
						if _, err := regexp.Compile(expr); err != nil {
							t.Errorf("%s: %v", file.path, err)
						}
						valid++
					}
					return true
				})
			}
		}
	}
	if valid < 40 {
		t.Errorf("only %d expressions were found", valid)
	}
}

// constantString returns the value of an expression of string literals.
func constantString(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		x, okX := constantString(e.X)
		y, okY := constantString(e.Y)
		return x + y, okX && okY && e.Op == token.ADD
	}
	return "", false
}
