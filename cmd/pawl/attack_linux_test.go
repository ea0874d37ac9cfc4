package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pawl/sandbox"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pawl": main, "attack-calls": calls, "attack-results": results})
}

// calls prints a script for a model that calls a tool with each of its arguments: a call in
// JSON, or a shell command.
func calls() {
	encode := json.NewEncoder(os.Stdout)
	for _, a := range os.Args[1:] {
		call := json.RawMessage(a)
		if !strings.HasPrefix(a, "{") {
			call, _ = json.Marshal(map[string]any{"tool": "shell", "args": map[string]any{"command": a, "timeout_seconds": 20}})
		}
		if err := encode.Encode(map[string]any{"text": "s", "calls": []json.RawMessage{call}}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	fmt.Println(`{"text":"Done.","repeat":true}`)
}

// results prints what came of the calls of a log.
func results() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		var e struct {
			Type string
			Data struct{ Content json.RawMessage }
		}
		if json.Unmarshal(line, &e) == nil && (e.Type == "call_settled" || e.Type == "call_refused") {
			var parts []struct{ Text string }
			var text string
			if json.Unmarshal(e.Data.Content, &parts) != nil {
				json.Unmarshal(e.Data.Content, &text)
			}
			for _, p := range parts {
				text += p.Text + " "
			}
			fmt.Println(text)
		}
		if err != nil {
			if err != io.EOF {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
}

// prelude has the functions of testdata/holes.sh: each attack has a folder B of its own with
// a home, a workspace, configuration and state; go runs pawl in it, with a script as its
// model, and want exits with 0 if the attack worked.
const prelude = `
fresh(){ mkdir -p $B/{home,ws,cfg/pawl,state,cache,run,out}; chmod 700 $B/run
 export HOME=$B/home XDG_CONFIG_HOME=$B/cfg XDG_STATE_HOME=$B/state XDG_CACHE_HOME=$B/cache XDG_RUNTIME_DIR=$B/run PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin
 printf '[user]\n\tname=x\n\temail=x@y\n[safe]\n\tdirectory=*\n' > $HOME/.gitconfig; cd $B/ws; }
repo(){ git init -q . 2>/dev/null; echo x > a; git add a; git commit -qm a; echo SECRET=canary-1234 > .env; mkdir -p docs; echo doc > docs/d.txt; }
script(){ $CALLS "$@" > $B/s.jsonl; }
go(){ local a="$1"; shift; script "$@"; eval "$P run --model script/$B/s.jsonl -p x $a" </dev/null >$B/o 2>$B/e; echo "run: $?" >&2; OUT=$($P runs log last --json 2>/dev/null | $RESULTS); }
X(){ cat > x.sh; chmod +x x.sh; }
want(){ printf '%s\n' "$OUT" >&2; if eval "$1"; then exit 0; else exit 42; fi; }
flag='ls FLAG >/dev/null 2>&1'; can='grep -q canary <<<"$OUT"'; outflag='ls $B/out/FLAG >/dev/null 2>&1'
`

// inBash runs a script behind the prelude, and returns its exit code and what it printed.
func inBash(t *testing.T, script string) (code int, printed string) {
	t.Helper()
	for _, program := range []string{"bash", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s", program)
		}
	}
	if !sandbox.Probe().Abilities.Tree {
		t.Skip("needs namespaces for users, mounts and processes (`pawl doctor` says what is missing)")
	}
	dir, err := os.MkdirTemp("", "pawl") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		exec.Command("chmod", "-R", "u+rwX", dir).Run() // a module cache is read-only
		os.RemoveAll(dir)
	})
	env := []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "B=" + dir}
	for variable, program := range map[string]string{"P": "pawl", "CALLS": "attack-calls", "RESULTS": "attack-results"} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, variable+"="+path)
	}
	cmd := exec.Command("bash", "-c", prelude+script)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// holesBy are programs that attacks need to be set up; the others are attacks on them.
var holesBy = map[string]string{"H46": "/usr/bin/python3", "H52": "python3", "H53": "python3", "H60": "python3", "H72": "sqlite3"}

// TestNoneOfThe58HolesIsOpen runs every attack of the first list on the real program.
func TestNoneOfThe58HolesIsOpen(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/holes.sh")
	if err != nil {
		t.Fatal(err)
	}
	holes := strings.Split(string(text), "\n### ")[1:]
	if len(holes) != 58 {
		t.Fatalf("there are %d attacks", len(holes))
	}
	for _, hole := range holes {
		heading, script, _ := strings.Cut(hole, "\n")
		id, title, _ := strings.Cut(heading, " ")
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(holesBy[id]); holesBy[id] != "" && err != nil {
				t.Skipf("needs %s", holesBy[id])
			}
			if id == "H60" && os.Geteuid() != 0 {
				t.Skip("needs root, for a network of its own")
			}
			code, printed := inBash(t, script)
			open := code == 0
			if id == "H51" { // a decision is about a command, not about the files that it names; SECURITY.md says so
				open = !open
			}
			if open || code != 0 && code != 42 {
				t.Errorf("%s: %s: exit code %d\n%s", id, title, code, printed)
			}
		})
	}
}

// TestTheHolesAreThe58 counts the cases, so that none is lost by an edit.
func TestTheHolesAreThe58(t *testing.T) {
	t.Parallel()
	holes, err := os.ReadFile("testdata/holes.sh")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^### (H\d+[a-d]?) `).FindAllStringSubmatch(string(holes), -1) {
		ids[m[1]] = true
	}
	if len(ids) != 58 {
		t.Errorf("there are %d different holes", len(ids))
	}
}

// The attacks with the trick taken out are everyday work, and run without a question.
func TestThe27ControlsRunUnasked(t *testing.T) {
	t.Parallel()
	controls := []struct {
		needs   string // a program
		args    string // of pawl run
		command string
		want    string // in the result
	}{
		{"", "", "echo a # a comment\necho b", "a\nb"},
		{"", "", "cat <<EOF\nhello\nEOF", "hello"},
		{"", "", `echo "${x:-y}"`, "y"},
		{"", "", `echo "of $(cat a)"`, "of x"},
		{"", "", "[ -f a ] && echo yes", "yes"},
		{"", "", "cat a; echo $#", "x\n0"},
		{"", "", "ls docs/*.txt", "docs/d.txt"},
		{"", "", "git grep -n x", "a:1:x"},
		{"", "", "printf '%s\\n' text; ls", "text\nMakefile"},
		{"", "", "git show HEAD", "+x"},
		{"", "", "git status", "docs/"},
		{"", "", "git diff --stat HEAD", "(no output)"},
		{"", "", "git show HEAD:a", "x"},
		{"", "", "git ls-files | wc -l", "1"},
		{"", "", "wc -l a", "1 a"},
		{"gzip", "", "zcat t.gz", "zipped"},
		{"", "", "grep -rn doc docs", "docs/d.txt:1:doc"},
		{"", "", "grep -rh . .", "doc"},
		{"rg", "", "rg doc docs", "doc"},
		{"jq", "", "jq .k data.json", "17"},
		{"", "--allow 'shell(git *)'", "git add a docs && git commit -qm b && git log --oneline | wc -l", "2"},
		{"", "--allow 'shell(git *)'", "git clone -q . cl && cat cl/a", "x"},
		{"/usr/local/go/bin/go", "--allow 'shell(go test *)'", "go test ./...", "no test files"},
		{"npm", "--allow 'shell(npm run *)'", "npm run e", "of npm"},
		{"make", "--allow 'shell(make *)'", "make x", "of make"},
		{"", "--mode bypass --deny 'shell(rm *)'", "touch keep && ls keep", "keep"},
		{"", "--deny 'read(docs/**)'", `{"tool":"search","args":{"pattern":"x","path":"a"}}`, "1: x"},
	}
	if len(controls) != 27 {
		t.Errorf("there are %d", len(controls))
	}
	for i, c := range controls {
		t.Run(fmt.Sprintf("C%02d", i+1), func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.needs); c.needs != "" && err != nil {
				t.Skipf("needs %s", c.needs)
			}
			quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
			code, printed := inBash(t, `fresh; repo; echo zipped | gzip > t.gz; echo '{"k":17}' > data.json; printf 'x:\n\t@echo of make\n' > Makefile
echo '{"name":"x","version":"1.0.0","scripts":{"e":"echo of npm"}}' > package.json
export GOFLAGS=-mod=mod GOTOOLCHAIN=local; printf 'module m\n\ngo 1.20\n' > go.mod; printf 'package m\n' > m.go
go `+quoted(c.args)+" "+quoted(c.command)+"; want false")
			if _, result, ran := strings.Cut(printed, "run: 0\n"); code != 42 || !ran || !strings.Contains(result, c.want) {
				t.Errorf("%s: %q is not in\n%s", c.command, c.want, printed)
			}
		})
	}
}
