package permission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
	"pawl/permission/network"
	"pawl/run"
)

func texts(rs permission.Rules) []string {
	var s []string
	for _, r := range rs {
		s = append(s, r.String())
	}
	return s
}

func TestAlwaysProposesWhatAPersonWouldMean(t *testing.T) {
	t.Parallel()
	before := func(commands ...string) []permission.Allowed {
		var h []permission.Allowed
		for _, c := range commands {
			h = append(h, permission.Allowed{Tool: "shell", Command: c})
		}
		return h
	}
	for _, c := range []struct {
		command string
		history []permission.Allowed
		want    []string
		exact   bool
	}{
		{command: "go test ./...", want: []string{"shell(go test *)"}},
		{command: "cd pkg && go test -run 'X$' . 2>&1 | tail -5", want: []string{"shell(go test *)"}},
		{command: "go test ./... && go build ./... && git commit -m 'x; y'", want: []string{"shell(go test *)", "shell(go build *)", "shell(git commit *)"}},
		{command: "go test ./... | tee log", want: []string{"shell(go test *)", "shell(tee log)"}, exact: true},
		{command: "go test ./... > out/log.txt", want: []string{"write(out/log.txt)", "shell(go test *)"}},
		{command: "timeout 60 go test ./...", want: []string{"shell(go test *)"}},
		{command: "go test -exec=sudo ./...", want: []string{"shell(go test -exec=sudo ./...)"}, exact: true},
		{command: "npm run build", want: []string{"shell(npm run build *)"}},
		{command: "npm test", want: []string{"shell(npm test *)"}},
		{command: "mkdir -p a/b", want: []string{"shell(mkdir *)"}},
		{command: "git push origin main", want: []string{"shell(git push origin main)"}, exact: true},
		// Never over a wrapper, an interpreter or a deleting command.
		{command: "rm -rf build", want: []string{"shell(rm -rf build)"}, exact: true},
		{command: "sudo apt update", want: []string{"shell(sudo apt update)"}, exact: true},
		{command: "bash -c 'make; rm x'", want: []string{"shell(bash -c 'make; rm x')"}, exact: true},
		{command: "python3 scripts/x.py --n 3", want: []string{"shell(python3 scripts/x.py --n 3)"}, exact: true},
		{command: "make install", want: []string{"shell(make install)"}, exact: true},
		{command: "find . -name '*.o' -delete", want: []string{"shell(find . -name '*.o' -delete)"}, exact: true},
		{command: "cat .env", want: []string{"shell(cat .env)"}, exact: true},
		{command: "cat /etc/hosts", want: []string{"shell(cat /etc/hosts)"}, exact: true},
		{command: "frob a", want: []string{"shell(frob a)"}, exact: true},
		// All of a server of the workspace's own, asked for in this way; any other address is this one.
		{command: "curl -s -d 'a=1 b' http://localhost:3000/api/items | jq .", want: []string{"shell(curl -s -d 'a=1 b' http://localhost:3000/*)"}},
		{command: "curl 127.0.0.1:8080/", want: []string{"shell(curl 127.0.0.1:8080/*)"}},
		{command: "curl localhost:3000", want: []string{"shell(curl localhost:3000)"}, exact: true},
		{command: "curl localhost:3000/a localhost:4000/b", want: []string{"shell(curl localhost:3000/a localhost:4000/b)"}, exact: true},
		{command: "curl http://localhost@example.com/x", want: []string{"shell(curl http://localhost@example.com/x)"}, exact: true},
		{command: "curl http://example.com/localhost:3000/x", want: []string{"shell(curl http://example.com/localhost:3000/x)"}, exact: true},
		{command: "wget http://localhost:3000/x", want: []string{"shell(wget http://localhost:3000/x)"}, exact: true}, // writes a file of that name
		// What was allowed again and again shows what is meant.
		{command: "frob up a", history: before("frob up b", "frob up c --x"), want: []string{"shell(frob up *)"}},
		{command: "frob up a", history: before("frob up b", "frob up b"), want: []string{"shell(frob up a)"}, exact: true},
		{command: "frob up a", history: append(before("frob up b"), permission.Allowed{Tool: "other", Command: "frob up c"}, permission.Allowed{Tool: "shell"}), want: []string{"shell(frob up a)"}, exact: true},
		{command: "rm a/x", history: before("rm a/y", "rm a/z", "rm a/v"), want: []string{"shell(rm a/x)"}, exact: true},
		// A module of Python that is a program is one; what it is given is as hazardous as for that.
		{command: "python -m pytest tests/x.py -k y", want: []string{"shell(python -m pytest *)"}},
		{command: "python3.12 -m mypy src", want: []string{"shell(python3.12 -m mypy *)"}},
		{command: "python -m pytest -p evil", want: []string{"shell(python -m pytest -p evil)"}, exact: true},
		{command: "python3 -m mypy --config-file x src", want: []string{"shell(python3 -m mypy --config-file x src)"}, exact: true},
		{command: "python3 -m http.server", want: []string{"shell(python3 -m http.server)"}, exact: true},
		{command: "ruby -m pytest x", want: []string{"shell(ruby -m pytest x)"}, exact: true},
		// Three targets of make, or three scripts, and all are meant; what a variable or an option makes of one is not.
		{command: "make test", history: before("make lint"), want: []string{"shell(make test)"}, exact: true},
		{command: "make test", history: before("make lint", "make test", "make test V=1"), want: []string{"shell(make test)"}, exact: true},
		{command: "make test", history: before("make lint", "cd a && make vet -j4"), want: []string{"shell(make *)"}},
		{command: "make test SHELL=./x", history: before("make lint", "make vet"), want: []string{"shell(make test SHELL=./x)"}, exact: true},
		{command: "make -f x", history: before("make lint", "make vet"), want: []string{"shell(make -f x)"}, exact: true},
		{command: "make test", history: before("make -j4", "make CC=x", "$(make a)", "make $X", "echo make b"), want: []string{"shell(make test)"}, exact: true},
		{command: "npm run test:unit -- -t x", history: before("npm run lint", "npm run build"), want: []string{"shell(npm run *)"}},
		{command: "npm run test:unit", history: before("npm run lint", "pnpm run build", "npm test"), want: []string{"shell(npm run test:unit *)"}},
		{command: "npm run a --script-shell=x", history: before("npm run lint", "npm run build"), want: []string{"shell(npm run a --script-shell=x)"}, exact: true},
		{command: "yarn run a", history: before("yarn run b", "yarn run c"), want: []string{"shell(yarn run a *)"}},
		{command: "sudo make test", history: before("make lint", "make vet"), want: []string{"shell(sudo make test)"}, exact: true},
		// What a program is given by variables is in the text, so the text is what is allowed.
		{command: "X=1 make", want: []string{"shell('X=1 make')"}, exact: true},
		{command: "NODE_ENV=test CI= npm test | tail", want: []string{"shell('NODE_ENV=test CI= npm test | tail')"}, exact: true},
		{command: "X=$Y make"}, {command: "X=$(cat x) make"}, {command: "X+=1 make"}, {command: "PATH=. make"}, {command: "GIT_DIR=x git log"}, {command: "X=1 make $Y"},
		{command: "X=1; make"}, {command: "CDPATH=/etc cd x && cat y"}, {command: "HOME=/etc make"}, {command: "X=1 eval make"}, {command: "ls | X=1 xargs make"}, {command: "X=1 cat /etc/shadow"}, {command: "X=1 cat .env"}, {command: "X=1 make > y"}, {command: "echo $(X=1 make)"}, {command: "PYTHONPATH=. make"},
		// No rule can speak of what is not known, or of what its input decides.
		{command: "xargs rm"}, {command: "go test $X"}, {command: "curl x | sh"}, {command: "eval ls"}, {command: "rm *.go"}, {command: "ls | ("},
		{command: "cat x | python3"}, {command: ""}, {command: "echo $(make)"},
	} {
		r := permission.Request{Tool: "shell", Command: c.command, Workspace: "/work"}
		p := permission.Rules(nil).Propose(r, permission.Default, c.history)
		if diff := cmp.Diff(c.want, texts(p.Rules)); diff != "" || p.Exact != c.exact {
			t.Errorf("%s: exact %v, want %v (-want +got)\n%s", c.command, p.Exact, c.exact, diff)
		}
	}
}

// The text that a rule spells out runs where nothing else is said of what it may touch, and no other text does.
func TestACommandWithVariablesRunsByARuleForItsTextAlone(t *testing.T) {
	t.Parallel()
	allow := rules(t, permission.Allow, "'FOO=1 go test ./...'")
	for _, c := range []struct {
		command string
		limits  permission.Rules
		want    permission.Verdict
	}{
		{"FOO=1 go test ./...", nil, permission.Allow},
		{" FOO=1 go test ./...\n", nil, permission.Allow},
		{"FOO=2 go test ./...", nil, permission.Ask},
		{"FOO=1 go test ./... -exec=x", nil, permission.Ask},
		{"FOO=1 go test ./...; make", nil, permission.Ask},
		{"FOO=1 go test ./...", rules(t, permission.Deny, "read(conf/x)"), permission.Ask},
		{"FOO=1 go test ./...", rules(t, permission.Ask, "edit(conf/**)"), permission.Ask},
		{"FOO=1 go test ./...", rules(t, permission.Deny, "rm *"), permission.Ask},
		{"FOO=1 go test ./...", rules(t, permission.Deny, "go *"), permission.Deny},
	} {
		rs := append(c.limits, allow...)
		if d := ask(rs, c.command, "/work"); d.Verdict != c.want {
			t.Errorf("%q under %q: %s (%s), want %s", c.command, texts(c.limits), d.Verdict, d.Reason, c.want)
		}
		r := permission.Request{Tool: "shell", Command: c.command, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true, Sandbox: run.Unconfined}
		if d := rs.Decide(r, permission.Default); d.Verdict == permission.Allow {
			t.Errorf("%q runs outside of the sandbox by a rule that lifts none of it", c.command)
		}
	}
}

// What runs first may put a link where a redirection then writes: without a sandbox the text alone does not say where.
func TestARuleForTheTextCoversNoRedirectionThatALinkMayLeadAway(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]permission.Verdict{
		"X=1 make; echo y > out": permission.Ask,
		"X=1 make > out":         permission.Allow, // opened before make runs
		"X=1 make 2>/dev/null":   permission.Allow,
	} {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work"}
		if d := rules(t, permission.Allow, "'"+command+"'").Decide(r, permission.AcceptEdits); d.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

func TestAlwaysProposesAFileThenItsFolderAndAHost(t *testing.T) {
	t.Parallel()
	edit := func(path string) permission.Request {
		return permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{path}, Workspace: "/work"}
	}
	history := []permission.Allowed{{Tool: "edit", Paths: []string{"src/a.go"}}, {Tool: "edit", Paths: []string{"/work/src/b.go"}}, {Tool: "write", Paths: []string{"src/c.go"}}}
	outside, odd := edit("/etc/hosts"), edit("src/[x].go")
	for _, c := range []struct {
		request permission.Request
		history []permission.Allowed
		want    []string
	}{
		{edit("src/c.go"), nil, []string{"edit(src/c.go)"}},
		{edit("src/c.go"), history[:1], []string{"edit(src/c.go)"}},
		{edit("src/c.go"), history, []string{"edit(src/*)"}},
		{edit("src/a.go"), history, []string{"edit(src/a.go)"}},
		{edit("lib/c.go"), history, []string{"edit(lib/c.go)"}},
		{edit("src/.env"), history, []string{"edit(src/.env)"}},
		{edit(".git/config"), nil, []string{"edit(.git/config)"}},
		{outside, nil, []string{"edit(/etc/hosts)"}},
		{odd, nil, []string{`edit(src/\[x].go)`}},
		{edit("/proc/self/mem"), nil, nil},
		{fetching("https://docs.python.org/3/"), nil, []string{"fetch(docs.python.org)"}},
		{fetching("http://localhost:3000/x"), nil, []string{"fetch(localhost:3000)"}},
		{fetching("http://[::1]:3000/"), nil, []string{"fetch([::1]:3000)"}},
		{fetching("https://a@b.example/"), nil, nil},
		{fetching("file:///etc/passwd"), nil, nil},
		{permission.Request{Tool: "mcp__x__y", Class: run.Writes}, nil, []string{"mcp__x__y"}},
	} {
		p := permission.Rules(nil).Propose(c.request, permission.Default, c.history)
		if diff := cmp.Diff(c.want, texts(p.Rules)); diff != "" {
			t.Errorf("%v %s (-want +got)\n%s", c.request.Paths, c.request.URL, diff)
		}
	}
}

// No proposal opens what hands out the keys of the machine, however it is spelled.
func TestNoProposalOpensACloudsMetadata(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"169.254.169.254", "169.254.169.254:80", "0xA9FEA9FE", "2852039166", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "[fe80::1]",
		"169.254.42.42", "metadata.google.internal", "Metadata.Google.Internal.", "169-254-169-254.nip.io", "100.100.100.200", "[fd00:a9fe:a9fe::1]", "[fd00:42::42]"} {
		requests := []permission.Request{fetching("http://" + host + "/latest/"), byHost("curl http://" + host + "/latest/")}
		for _, command := range []string{"curl " + host + "/latest/", "curl http://" + host + "/latest/", "wget -qO- x@" + host} {
			r := contained(command)
			r.Sandbox = run.WithNetwork
			requests = append(requests, r)
			r.Sandbox = run.ToHosts(strings.ToLower(host))
			requests = append(requests, r)
		}
		for _, r := range requests {
			if r.URL == "" && r.Sandbox == run.Confined {
				continue // it reaches no network
			}
			if p := permission.Rules(nil).Propose(r, permission.Default, nil); len(p.Rules) > 0 || p.Reason == "" || len(p.Deny) == 0 {
				t.Errorf("%s%s with %q: %+v", r.Command, r.URL, r.Sandbox, p)
			}
		}
		if network.Proposable(host) {
			t.Errorf("%s may be proposed", host)
		}
	}
	for _, host := range []string{"example.com", "localhost:3000", "10.0.0.1:8080", "[fd00::1]:80", "5", ""} {
		if !network.Proposable(host) {
			t.Errorf("%s may not be proposed", host)
		}
	}
}

// What a proposal promises: it makes this call allowed, parses as it is written, and
// what is put behind the call is not allowed by it.
func TestAProposalAllowsThisCallAndNothingBehindIt(t *testing.T) {
	t.Parallel()
	_, commands := attacks(t)
	commands = append(commands, everyday(t)...)
	proposed := 0
	for _, command := range commands {
		checkProposal(t, command, &proposed)
	}
	t.Logf("%d of %d commands have a proposal", proposed, len(commands))
	if proposed < 100 {
		t.Error("that is too few to mean anything")
	}
}

func checkProposal(t *testing.T, command string, proposed *int) {
	t.Helper()
	r := permission.Request{Tool: "shell", Command: command, Workspace: "/work"}
	p := permission.Rules(nil).Propose(r, permission.Default, nil)
	if len(p.Rules) == 0 {
		return
	}
	*proposed++
	var again permission.Rules
	for _, rule := range p.Rules {
		read, err := permission.ParseRule(rule.String())
		if err != nil {
			t.Errorf("%q: %v", command, err)
			return
		}
		read.Effect = permission.Allow
		again = append(again, read)
	}
	if d := again.Decide(r, permission.Default); d.Verdict != permission.Allow {
		t.Errorf("%q: with %q it is %s (%s)", command, texts(p.Rules), d.Verdict, d.Reason)
	}
	for _, more := range []string{"; frobnicate", " && frobnicate", " | frobnicate", " $(frobnicate)", " > frobnicated", "\nfrobnicate", " & frobnicate", " || frobnicate"} {
		if strings.Contains(command, "<<") || strings.Contains(command, "#") || strings.HasSuffix(command, "\\") {
			continue // what is put behind it belongs to a text in it
		}
		r.Command = command + more
		if d := again.Decide(r, permission.Default); d.Verdict == permission.Allow {
			t.Errorf("%q: with %q it is allowed (%s)", r.Command, texts(p.Rules), d.Reason)
		}
	}
}

// What Never proposes denies the call that was shown, and no other.
func TestNeverProposesExactlyWhatWasAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		want    string
		free    []string // other commands, that it does not deny
	}{
		{"npm install left-pad", "shell(npm install left-pad)", []string{"npm install", "npm install right-pad", "npm install left-pad right-pad", "npm run build"}},
		{"go test ./...", "shell(go test ./...)", []string{"go test ./cart", "go test", "go test -run X ./..."}},
		{"git commit -m 'x; y'", "shell(git commit -m 'x; y')", []string{"git commit -m x", "git commit"}},
		{"ls", "shell(ls)", []string{"ls -l"}},
		{"echo '*'", "shell(echo '*')", []string{"echo a", "echo a b"}},
		{`python3 -c "print('a b')"`, `shell(python3 -c "print('a b')")`, []string{"python3 -c x"}},
		{"timeout 60 go test ./...", "shell(timeout 60 go test ./...)", []string{"go test ./...", "timeout 61 go test ./..."}},
		// What is more than one simple command is denied as a whole: a rule for one of its
		// parts would deny more than was shown.
		{"cd pkg && npm install left-pad", "shell('cd pkg && npm install left-pad')", []string{"npm install left-pad", "cd pkg", "cd pkg && npm install"}},
		{"go test ./... 2>&1 | tail -5", "shell('go test ./... 2>&1 | tail -5')", []string{"go test ./...", "go test ./... | tail -5"}},
		{"go test ./... > log", "shell('go test ./... > log')", []string{"go test ./...", "go test ./... > other"}},
		{"go vet && git commit -am 'a b'", `shell("go vet && git commit -am 'a b'")`, []string{"go vet", "git commit -am 'a b'"}},
		{`echo 'a' > "b" && x`, `shell("echo 'a' > \"b\" && x")`, []string{"echo a > b"}},
		{`a 'b' | c \\d`, `shell("a 'b' | c \\\\d")`, []string{"a b"}},
		{"X=1 make", "shell('X=1 make')", []string{"make", "X=2 make"}},
		{"rm *.go", "shell('rm *.go')", []string{"rm a.go"}},
		{"rm $X", "shell('rm $X')", []string{"rm x", "rm $Y"}},
		{"sleep 9 &", "shell('sleep 9 &')", []string{"sleep 9"}},
		{"curl x | sh", "shell('curl x | sh')", []string{"curl x", "sh a"}},
		{"for f in *; do\n  rm \"$f\"\ndone", "shell('for f in *; do\n  rm \"$f\"\ndone')", []string{"rm a"}},
	} {
		r := permission.Request{Tool: "shell", Command: c.command, Workspace: "/work"}
		deny := permission.Rules(nil).Propose(r, permission.Default, nil).Deny
		if diff := cmp.Diff([]string{c.want}, texts(deny)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.command, diff)
		}
		if d := deny.Decide(r, permission.Default); d.Verdict != permission.Deny {
			t.Errorf("%s: with %q it is %s (%s)", c.command, texts(deny), d.Verdict, d.Reason)
		}
		for _, other := range c.free {
			r.Command = other
			if d := deny.Decide(r, permission.Default); d.Verdict == permission.Deny {
				t.Errorf("%s: %q is denied too (%s)", c.command, other, d.Reason)
			}
		}
	}
	history := []permission.Allowed{{Tool: "edit", Paths: []string{"src/a.go"}}, {Tool: "edit", Paths: []string{"src/b.go"}}, {Tool: "edit", Paths: []string{"src/d.go"}}}
	for _, c := range []struct {
		request permission.Request
		want    []string
	}{
		{permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"src/c.go"}, Workspace: "/work"}, []string{"edit(src/c.go)"}},
		{fetching("https://docs.python.org/3/"), []string{"fetch(docs.python.org)"}},
		{permission.Request{Tool: "mcp__x__y", Class: run.Writes}, []string{"mcp__x__y"}},
	} {
		deny := permission.Rules(nil).Propose(c.request, permission.Default, history).Deny
		if diff := cmp.Diff(c.want, texts(deny)); diff != "" {
			t.Errorf("%v %s (-want +got)\n%s", c.request.Paths, c.request.URL, diff)
		}
		if d := deny.Decide(c.request, permission.Default); d.Verdict != permission.Deny {
			t.Errorf("with %q it is %s (%s)", texts(deny), d.Verdict, d.Reason)
		}
	}
}

// Every command that people and attackers write can be denied by what Never proposes.
func TestWhatNeverProposesDeniesTheCall(t *testing.T) {
	t.Parallel()
	_, commands := attacks(t)
	for _, command := range append(commands, everyday(t)...) {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work"}
		deny := permission.Rules(nil).Propose(r, permission.Default, nil).Deny
		if d := deny.Decide(r, permission.Default); d.Verdict != permission.Deny {
			t.Errorf("%q: with %q it is %s (%s)", command, texts(deny), d.Verdict, d.Reason)
		}
		for _, rule := range deny {
			if _, err := permission.ParseRule(rule.String()); err != nil {
				t.Errorf("%q: %v", command, err)
			}
		}
	}
}
