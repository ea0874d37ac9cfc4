package permission

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What is judged is what the parser read, and what runs is what bash reads. This test
// compares the two: generated commands, hostile ones above all, run under bash with
// stubs for programs, and each command that a stub reports must be one that was judged,
// word by word, as must each file that a redirection makes. Commands that are not
// judged, because they ask whatever the rules are, do not count.
//
// PAWL_DIFFERENTIAL_COUNT says how many judged commands, PAWL_DIFFERENTIAL_SEED where to
// begin; .ci/fuzz runs 100,000.
func TestWhatBashRunsIsWhatWasJudged(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	if out, err := exec.Command(bash, "-c", "echo ${BASH_VERSINFO[0]}").Output(); err != nil || len(out) < 2 || out[0] < '4' {
		t.Skip("needs bash 4 or newer, which reports commands that it does not find")
	}
	number := func(name string, otherwise uint64) uint64 {
		n, err := strconv.ParseUint(os.Getenv(name), 10, 64)
		if os.Getenv(name) == "" {
			return otherwise
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	want, seed := int(number("PAWL_DIFFERENTIAL_COUNT", 250)), number("PAWL_DIFFERENTIAL_SEED", 1)
	g := &generator{rand.New(rand.NewPCG(seed, 0))}
	const batch = 250
	judged, generated, executed, failures := 0, 0, 0, 0
	for judged < want && failures < 20 {
		var commands []string
		var scripts []*script
		for len(commands) < min(batch, want-judged) {
			c := g.command()
			generated++
			if s := read(c); len(s.faults)+len(s.unknown) == 0 {
				commands, scripts = append(commands, c), append(scripts, s)
			}
		}
		judged += len(commands)
		for i, ran := range runStubbed(t, bash, commands) {
			executed += len(ran.commands)
			if what := ran.unjudged(scripts[i]); what != "" {
				failures++
				t.Errorf("%q: bash runs %s, which was not judged: %s", commands[i], what, describe(scripts[i]))
			}
		}
	}
	t.Logf("seed %d: %d generated, %d judged, which ran %d commands", seed, generated, judged, executed)
	if executed < judged/4 {
		t.Errorf("%d commands ran of %d that were judged: the generator makes too few that do anything", executed, judged)
	}
}

// Known differences between bash and the parser, by the ids of the findings: none may
// be judged.
func TestWhatBashReadsDifferentlyIsNotJudged(t *testing.T) {
	t.Parallel()
	for id, command := range map[string]string{
		"H01":                                    "echo a # \\\ntouch FLAG",
		"H02":                                    "cat <<EOF\nE\\\nOF\ntouch FLAG\nEOF",
		"H03":                                    `echo "${x:-'$(touch FLAG)'}"`,
		"H03b":                                   "cat <<E\n${x:-'$(touch FLAG)'}\nE",
		"H04":                                    "echo \"$(cat <<E\nzq\nEtouch FLAG)\nE\n)\"",
		"H05":                                    "$(echo touch FLAG X)[",
		"a quoted [":                             `"$x"[ a`,
		"extglob":                                "[[ a == @($(touch FLAG)) ]]",
		"a translated text":                      "echo $\"a\nb\"",
		"a backslash at the end":                 `echo a\`,
		"a carriage return":                      "ls\r",
		"a line continued in a word":             "cat .e$\\\n\"nv\"",
		"a line continued after $":               "echo $\\\n(touch FLAG)",
		"a comment behind a continued line":      "echo \\\n# a",
		"old arithmetic":                         "echo $[a]",
		"a substitution that may be arithmetic":  "echo $((touch FLAG) | cat)",
		"a comment in a substitution":            "echo $(ls # )\n)",
		"nested backquotes":                      "echo `echo \\`touch FLAG\\``",
		"an assignment to no name":               "!=h[o",
		"an array":                               "a=(b c)",
		"an element":                             "a[1 2]=b ls",
		"a subscript with blanks":                "a[ 1 ]=b",
		"the end of the options of time":         "ls && time -- -xls",
		"the options of a pipeline's time":       "time -- time ls | touch FLAG",
		"the end of all options of time":         "time -p -- touch FLAG",
		"an alias":                               "alias ls=touch\nls FLAG",
		"a shell option":                         "shopt -s extglob\nls",
		"a keyword assignment":                   "set -k\nls PATH=x",
		"a variable changed in a loop":           "for f in ls; do $f x; f=touch; done",
		"a variable changed in a loop in a loop": "for f in ls; do while c; do $f x; for f in touch; do :; done; done; done",
		"a variable read in a loop":              "for f in ls; do $f x; read f; done",
		"a variable opened in a loop":            "for f in ls; do $f x; : {f}>a; done",
	} {
		if s := read(command); len(s.unknown) == 0 {
			t.Errorf("%s: %q is judged: %s", id, command, describe(s))
		}
	}
	// What is dynamic is not taken for what it looks like.
	for id, command := range map[string]string{
		"H06": "cat .e$!nv", "H07": "cat ./{1}a,.env}", "braces": "cat {a..c}", "a tilde in an argument": "ls x=~", "a tilde after a colon": "ls a:~/b", "an empty variable": "for f in ''; do ls $f x; done",
	} {
		s := read(command)
		if len(s.unknown) > 0 || !slices.ContainsFunc(s.parts, func(p *simpleCommand) bool {
			return slices.ContainsFunc(p.words[1:], func(w word) bool { return w.kind == dynamic })
		}) {
			t.Errorf("%s: %q has no word that is not known: %s", id, command, describe(s))
		}
	}
	// And what people and models write every day is judged.
	for _, command := range []string{
		"go test \\\n  -run X \\\n  ./...", "cat <<'EOF' > a.sh\ngo test \\\n  ./...\nEOF", "cat <<'EOF' > a\nit's \\ `x` $(y)\nEOF", "git stash show stash@{0}", "git show HEAD~1:a.go", "find . -name '*.go' # all", "# first\nls", "[ -f a ] && echo yes",
		"for f in a.go b.go; do wc -l \"$f\"; done", "[[ -f a && $x == y* ]]", "case $x in a|b) ls;; *) pwd;; esac", "echo \"${HOME:-none}\"", "x=$(git rev-parse HEAD)", "echo `date`", "(cd sub && ls)", "set -euo pipefail\nls", "ls 2>&1 | tee x", "echo \"a\\nb\"",
		"awk '{print $1}' f | sort | uniq -c", "find . \\( -name a -o -name b \\)", "cat <<EOF\nhello $USER\nEOF",
	} {
		if s := read(command); len(s.unknown) > 0 {
			t.Errorf("%q is not judged: %s", command, s.unknown[0])
		}
	}
}

// A generator makes commands out of ordinary ones and of what is read differently.
type generator struct{ *rand.Rand }

var (
	ordinary = []string{
		"ls a", "cat a b.go", "echo x", "rm FLAG", "touch FLAG", "git log -1", "grep -n x *.go", "wc -l a", "printf %s x", "cd d && ls", "ls | wc -l", "ls; rm x", "true && ls || rm y", "! ls a",
		"echo \"a $x b\"", "echo 'a b'", "for f in a b; do cat $f; done", "for f in ls rm; do \"$f\" x; done", "if true; then ls; else rm x; fi", "(cd d; ls)", "{ ls; rm a; }", "echo $(ls a)", "echo `ls a`", "cat <(ls a)",
		"cat <<E\nrm x\n$y\nE", "cat <<'E'\nrm $(ls)\nE", "cat <<'E'\nrm \\\n  x\nE", "cat <<-E\n\tx\n\tE", "cat <<< \"x y\"", "ls > o1", "ls 2>&1", "ls >& o2", "ls &> o3", "ls >> o1 2> o2", "cat < a", "case a in a) ls;; b|c) rm x;; esac",
		"[ -f a ] && ls", "[[ -f a ]] && ls", "[[ a == a* ]] || rm x", "test a = b || ls", "echo ${x:-y}", "echo \"${x:-y z}\"", "echo ${#x}", "echo ${x%.go}", "echo $? $#", "x=1; ls", "echo a # b", "# c\nls", "timeout 5 ls a", "ls \\\n a",
		"time ls", "ls & rm x", "echo a{1,2}b", "echo a\\ b", "ls -- -x", "echo *.go", "echo \"$(echo \"a b\")\"", "ls |& rm x", "echo \\\"a", "git show HEAD@{1}", "echo 'a'\\''b'",
	}
	hostile = []string{
		"\"", "'", "\\", "\n", "\\\n", " \\\n", "$", "$(", ")", "(", "`", "${x:-", "${x:-'", "${", "}", "{", ",", "..", "{a,", "{1..2}", "{1}", "[", "]", "[ ", " ]", "#", " #", "# \\\n", ";", "&&", " || ", "|", "&", "!", "! ", "$!", "$?", "$#", "$$", "$\"", "$'", "~", "=", "x=", " x=~", "x=(", "a[",
		"*", "?", "@(", "+(", "!(", "*(", "<(", ">(", "[[ ", " ]]", " =~ ", "==", "case a in ", "a)", ";;", " esac", "for f in a rm; do ", "; do ", "; done", "if true; then ", "; fi", "{ ", "; }", "> o4", ">", "2>", ">&", "&>", "<", "<<<", "<<E\n", "\nE\n", "\nE", "<<'E'\n", "<<\"E\"\n", "<<\\E\n", "<<-E\n", "\n\tE\n", "<<E$x\n", "E\\\nE",
		"\t", " ", "  ", "rm x", "touch FLAG", "$(touch FLAG)", "`rm y`", "'$(rm z)'", "\"$(rm z)\"", ".e", "nv", "$x", "${x}", "\"$x\"", "\"\"", "''", "$'\\x72m'", "$'a\\'b'", "\\'", "\\\"", "\\$", "\\`", "\\\\", "-n", "x y", "f", "$f", "%s", "function f", "f() ", "time ", "time -p ", "time -- ", "coproc ", "select f in a; do ", "|&", ";&", "((", "))", "$((", "$[", "é", "\u00a0", "\u200b", "=~", "!=", "&>>", ">|", "<>", "2>&1", "{v}> o5", "1", "9",
		"then", "else ", "elif false; then ", "in ", "do", "done", "fi", "esac", " }", "set -- a", "exit 0", "$*", "\"$@\"", "${x#a}", "${x/a/b}", "${x^}", "${!x}", "${x@Q}", "${#x}", "${x:=rm}", "${x:1}", "\r", "\v", "\f", "$\\\n", "\\\n#",
	}
)

func (g *generator) of(list []string) string { return list[g.IntN(len(list))] }

func (g *generator) command() string {
	if g.IntN(8) == 0 { // nothing but pieces
		var b strings.Builder
		for range 3 + g.IntN(10) {
			b.WriteString(g.of(hostile))
			if g.IntN(3) == 0 {
				b.WriteByte(' ')
			}
		}
		return b.String()
	}
	c := g.of(ordinary)
	for range g.IntN(3) {
		c += g.of([]string{"; ", "\n", " && ", " | ", " || ", " "}) + g.of(ordinary)
	}
	if g.IntN(4) == 0 {
		c = g.of([]string{"echo \"$(%s)\"", "echo $(%s)", "(%s)", "{ %s\n}", "if %s; then ls; fi", "for f in a b; do %s; done", "cat <(%s)", "echo `%s`", "case a in a) %s;; esac", "\"%s\"", "echo \"%s\""})
		c = strings.Replace(c, "%s", g.of(ordinary), 1)
	}
	for range g.IntN(5) {
		at := g.IntN(len(c) + 1)
		switch g.IntN(6) {
		case 0: // take something out
			c = c[:at] + c[min(len(c), at+1+g.IntN(3)):]
		case 1: // move something
			end := min(len(c), at+1+g.IntN(6))
			cut, rest := c[at:end], c[:at]+c[end:]
			at = g.IntN(len(rest) + 1)
			c = rest[:at] + cut + rest[at:]
		default:
			c = c[:at] + g.of(hostile) + c[at:]
		}
	}
	return c
}

// stubs is what bash runs instead of programs: what it does not find it reports, and so
// do functions in the place of its own commands. Nothing is found, for PATH leads
// nowhere; what redirections make stays in a directory that is removed. There are no
// while loops, which might not end.
const stubs = `
exec 8<"$1"
__r() { builtin printf '%s\0' "$#" "${@//$__n/$__s}" >&239; } # in one write: bash flushes at a line end
__n=$'\n' __s=$'\1'
command_not_found_handle() { __r "$@"; builtin return 0; }
echo() { __r echo "$@"; builtin echo "$@"; }
printf() { __r printf "$@"; builtin printf "$@"; }
test() { __r test "$@"; builtin test "$@"; }
[() { __r [ "$@"; builtin [ "$@"; }
cd() { __r cd "$@"; builtin return 0; }
true() { __r true "$@"; }
false() { __r false "$@"; builtin return 1; }
PATH=/nonexistent
__i=0
while IFS= builtin read -r -d '' __c <&8; do
	( ulimit -t 2; builtin cd "$__i" && exec 8<&- 239>>"../$__i.log" && eval "set --; $__c"; wait ) </dev/null >/dev/null 2>&1
	__i=$((__i + 1))
done
`

// A stubbed is what one command did.
type stubbed struct {
	commands [][]string
	files    []string // those that it made
}

// runStubbed runs commands under bash, each in a directory of its own.
func runStubbed(t *testing.T, bash string, commands []string) []stubbed {
	t.Helper()
	base, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	input := filepath.Join(base, "in")
	for i := range commands {
		dir := filepath.Join(base, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range there {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(input, []byte(strings.Join(commands, "\x00")+"\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", stubs, "bash", input)
	cmd.Dir, cmd.Env = base, []string{"HOME=" + base, "LC_ALL=C.UTF-8"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("bash: %v: %s", err, out)
	}
	all := make([]stubbed, len(commands))
	for i := range all {
		dir := filepath.Join(base, strconv.Itoa(i))
		data, err := os.ReadFile(dir + ".log")
		if err != nil {
			t.Fatalf("%q: %v", commands[i], err)
		}
		fields := strings.Split(strings.ReplaceAll(string(data), "\x01", "\n"), "\x00")
		for len(fields) > 1 {
			n, err := strconv.Atoi(fields[0])
			if err != nil || n >= len(fields) {
				t.Fatalf("%q: the log is torn at %q", commands[i], fields)
			}
			all[i].commands = append(all[i].commands, fields[1:1+n])
			fields = fields[1+n:]
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !slices.Contains(there, e.Name()) {
				all[i].files = append(all[i].files, e.Name())
			}
		}
	}
	return all
}

// there are the files that commands find.
var there = []string{"a", "b.go", "c.go", ".env"}

// unjudged returns a command that ran, or a file that was made, and is not among what
// was judged; empty if there is none.
func (r stubbed) unjudged(s *script) string {
	for _, argv := range r.commands {
		if !slices.ContainsFunc(s.parts, func(p *simpleCommand) bool { return !p.speculative && matchesArgs(p.words, argv) }) {
			return fmt.Sprintf("%q", argv)
		}
	}
	for _, f := range r.files {
		if !slices.ContainsFunc(s.redirects, func(rd redirect) bool {
			return rd.writes && (len(rd.places) == 0 || slices.ContainsFunc(rd.places, func(p string) bool { return filepath.Base(p) == f }))
		}) {
			return fmt.Sprintf("a redirection to %q", f)
		}
	}
	return ""
}

// matchesArgs reports whether a program may be given these arguments for these words.
func matchesArgs(words []word, argv []string) bool {
	switch {
	case len(words) == 0:
		return len(argv) == 0
	case words[0].kind == static:
		return len(argv) > 0 && argv[0] == words[0].text && matchesArgs(words[1:], argv[1:])
	}
	for n := 0; n <= len(argv); n++ {
		if words[0].kind == pattern && slices.ContainsFunc(argv[:n], func(a string) bool {
			ok, _ := filepath.Match(words[0].text, a)
			return !ok && a != words[0].text
		}) {
			return false
		}
		if (n > 0 || words[0].kind == dynamic) && matchesArgs(words[1:], argv[n:]) {
			return true
		}
	}
	return false
}

// describe shows what was judged.
func describe(s *script) string {
	var b bytes.Buffer
	for _, p := range s.parts {
		if !p.speculative {
			fmt.Fprintf(&b, "%+v ", p.words)
		}
	}
	for _, rd := range s.redirects {
		fmt.Fprintf(&b, "%+v ", rd)
	}
	return b.String()
}
