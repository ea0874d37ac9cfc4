package permission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
	"pawl/run"
)

func TestWhatMayWriteIsNotClassedAsReading(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"", "   ", "ls |", "echo 'unclosed", "ls\x00",
		"touch x", "go test ./...", "go vet ./...", "go env -w GOFLAGS=-x", "go env GOFLAGS=-x", "go list -export ./...",
		"ls > x", "ls >> x", "ls &> x", "ls >& x", "ls <> x", "> x", "cat < /dev/tcp/host/80",
		"sort -o x y", "sort --outp=x y", "sort -ox y", "uniq a b", "sed -i s/a/b/ f", "sed 's/a/b/w x' f", "sed -n 'w x' f", "sed 'r /etc/passwd' f",
		"sed -e p -e 'e id' f", "sed --in-place=x p f", "sed -f x f", "sed '1!{e id\n}' f", "sed 's/[/]/w x/' f",
		"find . -delete", "find . -exec cat {} +", "find . -fprint x", "find . -fls x", "find -files0-from x",
		"awk 'BEGIN{system(\"id\")}'", "awk '{print > \"x\"}' f", "awk -f x f", "awk -i inplace 1 f", "awk '{print | \"sh\"}' f",
		"rg --pre x y", "rg -z y", "rg --pre=x y", "rg --hostname-bin=x y", "strings @list", "strings -n 8 @list", "strings -- @list", "for f in @list; do strings $f; done", "xzcat -f --files=list", "xzcat --files0 < list", "fd -x rm", "fd foo -X rm",
		"git commit -m x", "git branch new", "git branch -D x", "git tag v1", "git remote add a b", "git config user.name x",
		"git -c core.pager=x log", "git --exec-path=x status", "git diff --ext-diff", "git diff --outp=x", "git log --output x", "git grep -Ox y", "git grep --open=x y",
		"git stash", "git reflog expire --all", "git bisect run x", "git unknown-alias", "git show --textconv",
		"date -s now", "date 010100002030", "hostname x", "arch -x86_64 sh", "date -I 010100002030", "tree -o x", "file -C -m x", "xxd -r a b", "xxd a b", "base64 -o x y", "jq . f > f",
		"PATH=. ls", "LD_PRELOAD=./x.so ls", "IFS=x; ls", "GIT_EXTERNAL_DIFF=x git diff", "x=1 ls", "export X=1", "declare X=1",
		"$X", "`x`", "$(echo ls)", "${x:-ls} y", "l{s,x}", "$'ls'", "l?", "~/x",
		"eval ls", ". ./x", "source x", "sh -c ls", "bash x", "env ls", "xargs ls", "timeout 5 touch x", "nohup ls", "sudo ls", "exec ls",
		"f() { ls; }", "ls() { rm x; }; ls", "coproc ls", "trap 'rm x' EXIT", "alias ls=rm",
		"echo $(touch x)", "cat <(touch x)", "cat <<EOF\n$(touch x)\nEOF", "echo \"`touch x`\"", "[[ -v a[$(touch x)] ]]", "echo $((a[$(touch x)]))",
		"echo ${x:=y}", "echo ${x@P}", "echo ${a[$(touch x)]}", "printf -v x y", "test -v 'a[$(touch x)]'", "((x=1))", "let x=1", "[ 'a[$(x)]' -eq 1 ]",
		"for f in a; do rm $f; done", "if rm x; then ls; fi", "while rm x; do ls; done", "case x in y) rm x;; esac", "( rm x )", "{ rm x; }",
		"./ls", "/tmp/ls", "../ls", "LS", "sort $X", "find . $X", "git diff $X", "sort *.txt",
		"ls\u200b", "ｌｓ", "tee x", "select x in a; do ls; done",
	} {
		if c := permission.Classify(command); c.Class != run.Writes {
			t.Errorf("%q is classed as %s", command, c.Class)
		}
		if d := ask(nil, command, "/work"); d.Verdict == permission.Allow {
			t.Errorf("%q is allowed: %s", command, d.Reason)
		}
	}
}

func TestReadingInACompoundIsReading(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"(cd src && ls)", "{ ls; pwd; }", "for f in a b; do cat $f; done", "if test -f x; then cat x; fi",
		"while true; do sleep 1; done", "echo $(git rev-parse HEAD)", "cat <(ls)", "x=$(pwd); echo $x", "[[ -f x ]] && cat x",
		"cat $FILE", "case $x in a) ls;; esac", "cat <<EOF\n$HOME\nEOF",
	} {
		if c := permission.Classify(command); c.Class != run.Reads {
			t.Errorf("%q is classed as %s, want reads", command, c.Class)
		}
	}
}

func TestWhatSpendsItsTimeWaitingIsSeen(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"sleep 5":                              true,
		"sleep 4":                              false,
		"sleep 0.1m":                           true,
		"sleep 2 3":                            true,
		"make && sleep 30 && cat log":          true,
		"wait":                                 true,
		"inotifywait a":                        true,
		"watch ls":                             true,
		"tail -F log":                          true,
		"tail --follow=name log":               true,
		"sleep 1h":                             true,
		"sleep 1d":                             true,
		"sleep 4s":                             false,
		"sleep 5s":                             true,
		"until curl -s x; do sleep 1; done":    true,
		"tail -f log":                          true,
		"tail -n 5 log":                        false,
		"ls":                                   false,
		"echo sleep 30":                        false,
		"sleep NaN":                            false,
		"sleep 99999999999999999999999999999d": true,
	} {
		if got := permission.Classify(command).Waits; got != want {
			t.Errorf("%s: waits is %v, want %v", command, got, want)
		}
	}
}

func TestClassifyNamesProgramsAndFiles(t *testing.T) {
	t.Parallel()
	got := permission.Classify(`cd sub && cat ../a "b c" && grep -f pat.txt /x/y *.go < in | sort; ls`)
	want := permission.Classification{
		Class:    run.Reads,
		Programs: []string{"cd", "cat", "grep", "sort", "ls"},
		Paths:    []string{"sub", "sub/../a", "a", "sub/b c", "sub/pat.txt", "/x/y", "sub/in"},
		Patterns: []string{"sub/*.go"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPathsAreJudgedFromTheFolderTheyAreUsedIn(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]permission.Verdict{
		"cat /work/a":                  permission.Allow,
		"cat /work/../etc/passwd":      permission.Ask,
		"cat /workshop/a":              permission.Ask,
		"cat a/../../x":                permission.Ask,
		"cd sub && cat ../a":           permission.Allow,
		"cd sub && cd ../.. && ls":     permission.Ask,
		"cd sub; cat ../a":             permission.Ask, // the cd may have failed
		"cd .. && ls":                  permission.Ask,
		"cd && ls":                     permission.Ask,
		"cd - && ls":                   permission.Ask,
		"cd /etc && cat passwd":        permission.Ask,
		"ls | cd sub | cat x":          permission.Allow,
		"cat ~/.ssh/id_rsa":            permission.Ask,
		"cat file:///etc/passwd":       permission.Ask,
		"grep -f/etc/shadow x":         permission.Ask,
		"grep --file=/etc/shadow x":    permission.Ask,
		"grep -f /etc/shadow x":        permission.Ask,
		"grep --fil /etc/shadow x":     permission.Ask,
		"grep --regex=x /etc/shadow":   permission.Ask,
		"grep -e x /etc/shadow":        permission.Ask,
		"head -qn 1 /etc/shadow":       permission.Ask,
		"ls -la/etc":                   permission.Ask,
		"diff --to-file=/etc/shadow .": permission.Ask,
		"wc --files0-from=/etc/x":      permission.Ask,
		"date -r /etc/shadow":          permission.Ask,
		"cat .env":                     permission.Ask,
		"cat config/.env.local":        permission.Ask,
		"cat *.pem":                    permission.Ask,
		"cat < .env":                   permission.Ask,
		"grep KEY .ENV":                permission.Ask,
		"git show HEAD:.env":           permission.Ask,
		"cat .en*":                     permission.Ask,
		"cat e*":                       permission.Ask,
		"ls ../*.go":                   permission.Ask,
		"sort < /dev/null":             permission.Allow,
		"cat /dev/sda":                 permission.Ask,
	} {
		if got := ask(nil, command, "/work"); got.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", command, got.Verdict, got.Reason, want)
		}
	}
	in := permission.Request{Tool: "shell", Command: "cat ../a", Workspace: "/work", Dir: "/work/sub", EnforcesReadOnly: true}
	if got := permission.Rules(nil).Decide(in, permission.Default); got.Verdict != permission.Allow {
		t.Errorf("cat ../a in a folder of the workspace: %s (%s)", got.Verdict, got.Reason)
	}
}

func TestRulesOfTheShellMatchWords(t *testing.T) {
	t.Parallel()
	const a, k, d = permission.Allow, permission.Ask, permission.Deny
	for _, c := range []struct {
		allow, ask, deny string // rules, separated by semicolons
		command          string
		want             permission.Verdict
	}{
		{allow: "go test *", command: "go test ./...", want: a},
		{allow: "go test *", command: "go test", want: a},
		{allow: "go test *", command: "cd pkg && go test -run 'TestX$' ./... 2>&1 | tail -20", want: a},
		{allow: "go test *", command: "time go test ./...", want: a},
		{allow: "go test *", command: "go test ./... | sh", want: k},
		{allow: "go test *", command: "go test -exec=sudo ./...", want: k},
		{allow: "go test *", command: "go test --exec sudo ./...", want: k},
		{allow: "go test -exec sudo *", command: "go test -exec sudo ./...", want: a},
		{allow: "go test *", command: "GOFLAGS=-exec=x go test", want: k},
		{allow: "go test *", command: "timeout 60 go test ./...", want: a},
		{allow: "go test *", command: "timeout 60 make", want: k},
		{allow: "go test *;timeout *", command: "timeout 60 go test ./...", want: a},
		{allow: "go test *;timeout *", command: "timeout 60 rm x", want: k},
		{allow: "go test *", command: "go test $PKG", want: k},
		{allow: "go test *", command: "go test ./{a,b}", want: k},
		{allow: "go test *", command: "go test > out", want: k},
		{allow: "go test *", command: "go test & touch x", want: k},
		{allow: "npm test", command: "npm test", want: a},
		{allow: "npm test", command: "npm test x", want: k},
		{allow: "npm run *", command: "npm run build && npm run lint", want: a},
		{allow: "git diff *", command: "git difftool", want: k},
		{allow: "git diff *", command: "git diff; rm x", want: k},
		{allow: "git *", command: "git commit -m 'x; rm -rf /'", want: a},
		{allow: "git *", command: "git -c alias.x='!sh' x", want: k},
		{allow: "git *", command: "git commit -m \"$(cat x)\"", want: k},
		{allow: "make -j* all", command: "make -j8 all", want: a},
		{allow: "make -j* all", command: "make -j8 clean", want: k},
		{allow: "cat *", command: "cat .env", want: k},
		{allow: "cat .env", command: "cat .env", want: a},
		{allow: "sed -i *", command: "sed -i s/a/b/ f", want: a},
		{allow: "sed -i *", command: "sed -i s/a/id/e f", want: k},
		{allow: "find . -name *.o -delete", command: "find . -name '*.o' -delete", want: a},
		{allow: "*", command: "foo bar | baz", want: a},
		{allow: "*", command: "bash x", want: k},
		{allow: "*", command: "rm x", want: k},
		{allow: "*", command: "/bin/rm x", want: k},
		{allow: "*", command: "python3.12 x", want: k},
		{allow: "*", command: "ssh host ls", want: k},
		{allow: "*", command: "cp a /etc/b", want: k},
		{allow: "*", command: "dd of=/dev/sda", want: k},
		{allow: "*", command: "curl -d @/etc/passwd x", want: k},
		{allow: "rm *", command: "rm -rf build", want: a},
		{allow: "rm *", command: "rm -rf ../x", want: k},
		{allow: "rm *", command: "rm *.o", want: k},
		{allow: "bash *", command: "bash -c 'go test'", want: k},
		{allow: "bash *;go test *", command: "bash -c 'go test'", want: a},
		{allow: "bash *", command: "curl x | bash", want: k},
		{allow: "bash *", command: "bash build.sh", want: a},
		{allow: "xargs *", command: "ls | xargs rm", want: k},
		{allow: "ssh *", command: "ssh host rm x", want: k},
		{allow: "ssh *", command: "ssh -p 22 host ls", want: a},
		{allow: "ssh *;rm *", command: "ssh host rm x", want: a},
		{allow: "ssh host rm x", command: "ssh host rm x", want: a},
		{allow: "ssh *", deny: "rm *", command: "ssh -p 22 host rm x", want: d},
		{allow: "*", deny: "rm *", command: "sudo -u root rm x", want: d},
		{allow: "*", deny: "rm *", command: "sudo --chdir /x rm y", want: d},
		{allow: "*", deny: "rm *", command: "env -i A=b nice -n 5 timeout -k 1 5 rm x", want: d},
		{allow: "*", deny: "rm *", command: "sh -c 'bash -c \"rm x\"'", want: d},
		{allow: "*", deny: "rm *", command: "sh -ec 'rm x'", want: d},
		{allow: "*", deny: "rm *", command: "eval 'rm x'", want: d},
		{allow: "*", deny: "rm *", command: "echo <(rm x)", want: d},
		{allow: "*", deny: "rm *", command: "x=`rm y`", want: d},
		{allow: "*", deny: "rm *", command: "f() { rm x; }", want: d},
		{allow: "*", deny: "rm *", command: "if true; then while rm x; do :; done; fi", want: d},
		{allow: "*", deny: "rm *", command: "cat <<E\n$(rm x)\nE", want: d},
		{allow: "*", deny: "rm *", command: "find . -name x -exec sh -c 'rm {}' ';'", want: d},
		{allow: "*", deny: "rm *", command: "env -S 'rm x'", want: d},
		{allow: "*", deny: "rm *", command: "RM x", want: d},
		{allow: "*", deny: "rm *", command: "r\\m x", want: d},
		{allow: "*", deny: "rm *", command: "rm x; (", want: d}, // the rest does not parse
		{allow: "*", deny: "rm *", command: "trap 'rm x' EXIT", want: d},
		{allow: "*", deny: "rm *", command: "xargs grep rm", want: k}, // rm is not a command here
		{allow: "*", deny: "rm *", command: "git rm x", want: a},
		{allow: "cat *", deny: "cat secret.go", command: "cat *.go", want: k},
		{allow: "*", deny: "*", command: "ls", want: d},
		{allow: "git *", ask: "git push *", command: "ls && git push", want: k},
		{deny: "git push --force *", command: "git push --force", want: d},
	} {
		split := func(s string) []string {
			return slices.DeleteFunc(strings.Split(s, ";"), func(s string) bool { return s == "" })
		}
		rs := slices.Concat(rules(t, a, split(c.allow)...), rules(t, k, split(c.ask)...), rules(t, d, split(c.deny)...))
		got := ask(rs, c.command, "/work")
		if got.Verdict != c.want {
			t.Errorf("allow %q, ask %q, deny %q: %q is %s (%s), want %s", c.allow, c.ask, c.deny, c.command, got.Verdict, got.Reason, c.want)
		}
		if got.Reason == "" || got.Source == "" {
			t.Errorf("%q: a decision without a reason or a source: %+v", c.command, got)
		}
	}
}

func TestAnAskSaysWhichPartIsNotCovered(t *testing.T) {
	t.Parallel()
	rs := rules(t, permission.Allow, "go test *")
	got := ask(rs, "go test ./... && git log -1 && make install", "/work")
	want := permission.Decision{Verdict: permission.Ask, Source: "default", Reason: "no rule covers `make install`"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got = ask(rs, "go test ./... && ls", "/work")
	want = permission.Decision{Verdict: permission.Allow, Rule: "shell(go test *)", Source: "test", Reason: "it covers `go test ./...`"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What is nested deeply, or made to multiply, ends in a question and soon.
func TestCommandsMadeToExhaustTheReaderAsk(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"parentheses":   strings.Repeat("(", 4_000) + "ls" + strings.Repeat(")", 4_000),
		"substitutions": strings.Repeat("$(", 3_000) + "ls" + strings.Repeat(")", 3_000),
		"wrappers":      strings.Repeat("xargs --x ", 1_000) + "ls",
		"ssh":           strings.Repeat("ssh -x ", 500) + "ls",
		"evals":         strings.Repeat("eval ", 10_000) + "ls",
		"cds":           strings.Repeat("cd a; ", 10_000) + "ls",
		"length":        "echo " + strings.Repeat("x", 1_000_000),
		"braces":        "echo " + strings.Repeat("{a,b}", 10_000),
		"parts":         strings.Repeat("ls;", 3_000),
	} {
		if d := ask(rules(t, permission.Allow, "*"), command, "/work"); d.Verdict == permission.Allow {
			t.Errorf("%s: allowed: %s", name, d.Reason)
		}
	}
	// A word counts once for each folder that it may be in, and so does a redirection.
	for _, command := range []string{
		"cat " + strings.Repeat("a ", 2_000), "cat " + strings.Repeat("<a ", 2_000),
		"cd a; cd b; cd c; cd d; cat " + strings.Repeat("x ", 200), "cd a; cd b; cd c; cd d; cat " + strings.Repeat("<x ", 200),
	} {
		e := permission.Rules(nil).Explain(permission.Request{Tool: "shell", Command: command, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true}, permission.Default)
		if e.Decision.Verdict != permission.Ask || !strings.Contains(e.String(), "too complex") {
			t.Errorf("%.40s…: %s", command, e.String())
		}
	}
	// What people and models write is far from the bounds.
	for _, command := range []string{
		"cat > notes.md <<'E'\n" + strings.Repeat("A line of a file that a model writes.\n", 800) + "E",
		"cd sub && gofmt -l " + strings.Repeat("some/file.go ", 700),
	} {
		d := permission.Rules(rules(t, permission.Allow, "gofmt *")).Decide(permission.Request{Tool: "shell", Command: command, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true}, permission.AcceptEdits)
		if d.Verdict != permission.Allow {
			t.Errorf("%.40s…: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	rs := slices.Concat(rules(b, permission.Allow, "go test *", "git *", "npm run *", "make *"), rules(b, permission.Deny, "rm *", "curl *"))
	r := permission.Request{Tool: "shell", Workspace: "/work", Command: `cd pkg && go test -run 'TestX$' ./... 2>&1 | tail -20 && git log --oneline -5 | grep -v merge`}
	if d := rs.Decide(r, permission.Default); d.Verdict != permission.Allow {
		b.Fatal(d)
	}
	b.ReportAllocs()
	for b.Loop() {
		rs.Decide(r, permission.Default)
	}
}

// As many texts of shell are read as a person could look through, and so deep; beyond that it asks.
func TestTheBoundsOfACommand(t *testing.T) {
	t.Parallel()
	allow := rules(t, permission.Allow, "sh -c ls")
	for n, want := range map[int]permission.Verdict{49: permission.Allow, 50: permission.Ask} {
		if d := ask(allow, strings.TrimSuffix(strings.Repeat("sh -c ls; ", n), "; "), "/work"); d.Verdict != want {
			t.Errorf("%d texts: %s (%s), want %s", n, d.Verdict, d.Reason, want)
		}
	}
	// What may run another command is no deeper for what stands before it.
	limited := append(rules(t, permission.Deny, "rm *"), rules(t, permission.Allow, "timeout -x *", "sudo *")...)
	before := strings.Repeat("timeout -x sudo ls; ", 12)
	for command, want := range map[string]permission.Verdict{"ls": permission.Allow, "timeout -x sudo rm x": permission.Deny} {
		if d := ask(limited, before+command, "/work"); d.Verdict != want {
			t.Errorf("%s at the end: %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}
