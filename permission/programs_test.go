package permission_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/golden"
	"pawl/permission"
)

// A tabled is a program of the table, with its facts as they are written.
type tabled struct{ name, facts string }

// is reports whether the program has one of facts.
func (p tabled) is(facts ...string) bool {
	return slices.ContainsFunc(facts, func(fact string) bool { return strings.Contains(", "+p.facts+",", ", "+fact+",") })
}

// table returns the programs of the table, in its order.
func table(t *testing.T) (all []tabled) {
	t.Helper()
	text, err := os.ReadFile("programs.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\n    ", " ")) {
		names, facts, _ := strings.Cut(strings.TrimSpace(line), " = ")
		if strings.HasPrefix(line, "#") || strings.Contains(names, "/") {
			continue
		}
		for name := range strings.FieldsSeq(names) {
			all = append(all, tabled{name, facts})
		}
	}
	if len(all) < 500 {
		t.Fatalf("the table has %d programs", len(all))
	}
	return all
}

// A rule for a program that runs others is one for that program: what it runs needs a rule of its own, and
// so does an option that the table does not know: it may run or write something, or take the next word.
func TestARuleForAWrapperIsNoneForWhatItRuns(t *testing.T) {
	t.Parallel()
	decide := func(command string, m permission.Mode, allow ...string) permission.Decision {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true}
		return permission.Rules(rules(t, permission.Allow, allow...)).Decide(r, m)
	}
	for _, p := range table(t) {
		forms := []string{"% --foo ls touch FLAG", "% --foo='touch FLAG' ls", "% --foo=FLAG ls", "% --foo 'touch FLAG' ls", "% -Z ls touch FLAG", "% -Z'touch FLAG' ls", "% -Z 'touch FLAG' ls"}
		switch text := p.is("texts", "joins"); {
		case text:
			forms = append(forms, "% ls 'touch FLAG'", "% 'touch FLAG'", "% ls 'a; touch FLAG'", "% ls '$(touch FLAG)'", "% ls\\;touch FLAG", "% -c 'touch FLAG'", "% ls -c 'touch FLAG'", "% -c'touch FLAG' ls", "% --command 'touch FLAG' ls", "% ls --command='touch FLAG'", "% --exec='touch FLAG' ls", "% --shell=./x ls")
		case p.is("wraps"):
			forms = append(forms, "% touch FLAG", "% ./x", "% 'touch FLAG'")
		case p.is("wraps 1"):
			forms = append(forms, "% a touch FLAG", "% a ./x")
		default:
			continue
		}
		if p.is("guessed") {
			forms = append(forms, "% stat touch FLAG")
		}
		for _, form := range forms {
			command := strings.ReplaceAll(form, "%", p.name)
			for _, m := range []permission.Mode{permission.Default, permission.AcceptEdits, permission.Plan} {
				if d := decide(command, m, p.name+" *"); d.Verdict == permission.Allow {
					t.Errorf("%s in mode %s: %s", command, m, d.Reason)
				}
			}
		}
	}
	for command, allow := range map[string][]string{
		"hyperfine -w 3 'ls -l' 'go test ./...'":  {"hyperfine *", "go test *"},
		"hyperfine --warmup 3 --runs=5 ls":        {"hyperfine *"},
		"hyperfine --prepare='touch FLAG' ls":     {"hyperfine --prepare='touch FLAG' *"},
		"hyperfine --export-json out.json 'make'": {"hyperfine --export-json out.json 'make'"},
		"hyperfine 'touch FLAG'":                  {"hyperfine 'touch FLAG'"},
		"concurrently 'npm run a' 'npm run b'":    {"concurrently *", "npm run *"},
		"watch -n 5 --color go test ./...":        {"watch *", "go test *"},
		"watch 'touch FLAG'":                      {"watch 'touch FLAG'"},
		"parallel -j4 gzip ::: a b":               {"parallel *", "gzip *"},
		"ssh -p 22 host ls -l":                    {"ssh *"},
		"ssh -n host make":                        {"ssh *", "make *"},
		"script -qec 'go test ./...' log":         {"script *", "go test *"},
		"flock -w 5 lock -c 'go test ./...'":      {"flock *", "go test *"},
		"su bob -c 'go test ./...'":               {"su *", "go test *"},
		"sudo --user bob -E go test ./...":        {"sudo *", "go test *"},
		"timeout --signal=KILL 60 go test ./...":  {"go test *"},
		"nice -10 go test ./...":                  {"go test *"},
		"find . -name '*.go' | xargs -0 grep x":   {"xargs *"},
		"ls | xargs --no-run-if-empty rm -f":      {"xargs *", "rm *"},
		"ls | xargs git add --":                   {"xargs *", "git *"},
		"tmux -V":                                 {"tmux *"},
		"perf stat go test ./...":                 {"perf stat go test ./..."},
		"strace -o trace ls":                      {"strace -o *"},
	} {
		if d := decide(command, permission.Default, allow...); d.Verdict != permission.Allow {
			t.Errorf("%s where %q are allowed: %s (%s)", command, allow, d.Verdict, d.Reason)
		}
	}
	for command, allow := range map[string][]string{
		"echo -delete | xargs find .":                   {"xargs *", "find *"},
		"echo --pre=./x | xargs rg a":                   {"xargs *", "rg *"},
		"echo touch FLAG | xargs env":                   {"xargs *", "env *"},
		"echo 'a; touch FLAG' | xargs -I% sh -c 'ls %'": {"xargs *", "sh *"},
		"echo '1e touch FLAG' | xargs sed -e":           {"xargs *", "sed *"},
		"parallel ls ::: 'a; touch FLAG'":               {"parallel *"},
		"npx ls":                                        {"npx *"},
		"npx --package=./x cat a":                       {"npx *"},
		"pipenv run ls":                                 {"pipenv *"},
		"poetry run timeout 5 ls":                       {"poetry run *"},
		"time --output=FLAG ls":                         {"time *"},
		"env time --output=FLAG ls":                     {"env *", "time *"},
		"strace -o '|touch FLAG' ls":                    {"strace *"},
		"su --comm='touch FLAG'":                        {"su *"},
		"su -s ./x -c ls":                               {"su *"},
		"script ls":                                     {"script *"},
		"env --unset ls touch FLAG":                     {"env *"},
		"sudo --prompt ls touch FLAG":                   {"sudo *"},
		"entr tee ls":                                   {"entr *"},
		"watchexec find ls -delete":                     {"watchexec *"},
		"gmake --eval='$(shell touch FLAG)'":            {"gmake *"},
	} {
		if d := decide(command, permission.Default, allow...); d.Verdict != permission.Ask {
			t.Errorf("%s where %q are allowed: %s (%s)", command, allow, d.Verdict, d.Reason)
		}
	}
}

// What the tables say of each program: what becomes of a command without a rule, whether a rule with
// a wildcard covers it, whether a rule that denies another program finds that one in it, and the rule
// that is proposed where nothing keeps it to reading.
func TestWhatTheTablesSayOfEachProgram(t *testing.T) {
	t.Parallel()
	deny := rules(t, permission.Deny, "ls *")
	var b strings.Builder
	commands, listed := lines(t, "programs.txt"), map[string]bool{}
	for _, command := range commands {
		program, _, _ := strings.Cut(command, " ")
		listed[program] = true
	}
	for _, p := range table(t) {
		if !listed[p.name] {
			commands = append(commands, p.name+" a")
		}
	}
	for _, command := range commands {
		program, _, _ := strings.Cut(command, " ")
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true}
		wide := rules(t, permission.Allow, filepath.Base(program)+" *")
		fmt.Fprintf(&b, "%s: %s, %s; allowed %s *: %s; denied ls: %s; always: %s\n", command, permission.Rules(nil).Decide(r, permission.Default).Verdict, r.Class,
			program, wide.Decide(r, permission.Default).Verdict, deny.Decide(r, permission.Bypass).Verdict,
			strings.Join(texts(permission.Rules(nil).Propose(permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: r.Class}, permission.Default, nil).Rules), ", "))
	}
	golden.Compare(t, "programs.golden", []byte(b.String()))
}

// Each option that the table calls a hazard needs a rule that spells it: an option that is written wrong in the table, or
// in a form that is not read, is found here and needs no example of its own.
func TestEachHazardOfTheTableNeedsARuleOfItsOwn(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, p := range table(t) {
		var options []string
		for fact := range strings.SplitSeq(p.facts, ", ") {
			switch kind, words, _ := strings.Cut(strings.TrimSpace(fact), " "); kind {
			case "short":
				for _, letter := range words {
					options = append(options, "-"+string(letter))
				}
			case "long":
				options = append(options, strings.Fields(words)...)
			case "single":
				for word := range strings.FieldsSeq(words) {
					options = append(options, "-"+word, "--"+word)
				}
			}
		}
		allow := rules(t, permission.Allow, p.name+" *")
		for _, option := range options {
			tried++
			command := p.name + " " + option + " a"
			r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true}
			if d := allow.Decide(r, permission.Default); d.Verdict == permission.Allow {
				t.Errorf("%s runs where %s * is allowed, and permission/programs.txt says that %s is a hazard: %s", command, p.name, option, d.Reason)
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d options were tried", tried)
	}
}
