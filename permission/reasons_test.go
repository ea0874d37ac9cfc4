package permission_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
	"pawl/run"
)

// Rare reasons, with the words that a person reads.
func TestReasonsThatFewCallsMeet(t *testing.T) {
	t.Parallel()
	const a, k, d = permission.Allow, permission.Ask, permission.Deny
	shell := func(command string) permission.Request {
		return permission.Request{Tool: "shell", Command: command, Class: permission.Classify(command).Class, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true}
	}
	with := func(r permission.Request, change func(*permission.Request)) permission.Request {
		change(&r)
		return r
	}
	own := func(r *permission.Request) { r.Own = []string{"/work/.state"} }
	todo := permission.Request{Tool: "todo", Class: run.Resumable, Workspace: "/work"}
	many := strings.Repeat(" x", 201)
	for _, c := range []struct {
		allow, ask, deny string
		mode             permission.Mode
		request          permission.Request
		want             permission.Verdict
		reason           string
	}{
		// A rule for every call of a tool.
		{ask: "todo", request: todo, want: k, reason: "a rule asks: every call of todo"},
		{ask: "shell", request: shell("ls"), want: k, reason: "every command"},
		{deny: "shell", request: shell("ls"), want: d, reason: "every command"},
		// An address beside a command or a file is judged too.
		{request: with(shell("ls"), func(r *permission.Request) { r.URL = "file:///x" }), want: d, reason: "file: is not fetched"},
		{allow: "fetch(*)", request: with(fetching("https://example.com/"), func(r *permission.Request) { r.Paths = []string{"/etc/passwd"} }), want: k, reason: "outside the workspace"},
		{mode: permission.Plan, request: with(fetching("https://example.com/"), func(r *permission.Request) { r.Class = run.Writes }), want: d, reason: "only reading is allowed"},
		{allow: "fetch(*)", request: fetching("http://16909060/"), want: k, reason: "16909060 is another spelling of 1.2.3.4"},
		{allow: "fetch(*)", request: fetching(`https://example.com/?\`), want: k, reason: "it has a backslash"},
		// A path that is none.
		{request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"a\xff"}, Workspace: "/work"}, want: d, reason: "not valid UTF-8"},
		{request: shell("cat a\xff"), want: k, reason: "invalid UTF-8"},
		// Without a workspace nothing with an absolute path is in it.
		{request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"a"}}, want: a, reason: "it reads, in the workspace"},
		{request: permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"/work/a"}}, want: k, reason: "/work/a is outside the workspace"},
		// What belongs to pawl itself may be read after a question, and is written by nothing.
		{request: with(shell("cat < .state/x"), own), want: k, reason: "it reads .state/x, which belongs to pawl itself"},
		{request: with(shell("echo a > .state/x"), own), want: d, reason: "writes into what belongs to pawl itself"},
		{allow: "shell(touch *)", request: with(shell("touch link"), func(r *permission.Request) { own(r); r.Paths, r.Resolved = []string{"link"}, []string{".state/x"} }), want: d, reason: "it leads to .state/x"},
		{allow: "shell(rm *)", request: with(shell("rm -rf src"), own), want: a, reason: "it covers"},
		{allow: "shell(rm *)", request: with(shell("rm -rf ."), own), want: d, reason: "deletes or moves everything below ."},
		{allow: "edit(**)", request: permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"a"}, Workspace: "/state/copies/w", Own: []string{"/state"}}, want: a, reason: "it covers a"},
		{allow: "edit(/state/**)", request: permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"/state/b"}, Workspace: "/state/copies/w", Own: []string{"/state"}}, want: d, reason: "/state/b belongs to pawl itself"},
		{allow: "shell(touch *)", request: with(shell("touch ?"), func(r *permission.Request) { r.Paths = []string{"/etc/x"} }), want: k, reason: "only known when it runs"},
		{allow: "shell(touch *)", request: with(shell("touch a"), func(r *permission.Request) { r.Paths = []string{"/etc/x"} }), want: k, reason: "it touches /etc/x, outside the workspace"},
		// What a program may run of its words.
		{allow: "shell(frob *)", ask: "shell(rm *)", request: shell("frob 'rm x'"), want: k, reason: "a rule asks: `frob 'rm x'` may run `rm x`"},
		// Rules for files find a name within a word. Very many words may lead to another folder, where
		// a name may be that of any file.
		{allow: "shell(sed *)", deny: "edit(src/a)", request: shell("sed -i wsrc/a b"), want: k, reason: "might deny"},
		{allow: "shell(frob *)", deny: "edit", request: shell("frob 's/x/a/'"), want: a, reason: "it covers"},
		{allow: "shell(make *)", deny: "edit(src/a)", request: shell("make" + many + " a"), want: k, reason: "might deny"},
		{allow: "shell(make *)", deny: "edit(src/a)", request: shell("make x a"), want: a, reason: "it covers"},
		{allow: "shell(grep *)", deny: "read(src/a)", request: shell("grep -C 3 a b"), want: a, reason: "it covers"}, // no folder
		{allow: "shell(tar *)", deny: "read(src/a)", request: shell("tar -c -f x -T b"), want: k, reason: "the rule read(src/a) might deny `tar -c -f x -T b`: what the list of its files"},
		{allow: "shell(git add *)", deny: "read(src/a)", request: shell("git --no-pager add -A"), want: k, reason: "every changed file"},
		{deny: "read(src/a)", request: shell("git --no-pager"), want: a, reason: "it reads"},
		// The sandbox.
		{request: with(shell("ls"), func(r *permission.Request) { r.Sandbox = run.ReadOnly }), want: a, reason: "it reads"},
	} {
		var rs permission.Rules
		for effect, text := range map[permission.Verdict]string{a: c.allow, k: c.ask, d: c.deny} {
			if text != "" {
				rs = append(rs, hosts(t, effect, text)...)
			}
		}
		if c.mode == "" {
			c.mode = permission.Default
		}
		if got := rs.Decide(c.request, c.mode); got.Verdict != c.want || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("allow %q ask %q deny %q: %.80q %v %s: %s (%s), want %s (%s)", c.allow, c.ask, c.deny, c.request.Command, c.request.Paths, c.request.URL, got.Verdict, got.Reason, c.want, c.reason)
		}
	}
}

// A rule whose file has no name is told by how far it reaches.
func TestADecisionNamesWhereItsRuleCameFrom(t *testing.T) {
	t.Parallel()
	for want, rule := range map[string]permission.Rule{
		"user":   {Effect: permission.Allow, Tool: "shell", Pattern: "make", Scope: permission.ForUser},
		"p.json": {Effect: permission.Allow, Tool: "shell", Pattern: "make", Scope: permission.ForUser, Source: "p.json"},
	} {
		if d := ask(permission.Rules{rule}, "make", "/work"); d.Verdict != permission.Allow || d.Source != want {
			t.Errorf("%s by %q, want %q", d.Verdict, d.Source, want)
		}
	}
}

// Rules that cannot be read do not count as empty.
func TestRulesThatCannotBeReadAreNotEmpty(t *testing.T) {
	t.Parallel()
	broken := iotest.ErrReader(errors.New("the disk is broken"))
	if rs, err := permission.Load(broken, permission.ForUser, "p.json"); len(rs) > 0 || err == nil || err.Error() != "read the rules of p.json: the disk is broken" {
		t.Errorf("rules: %v, %v", rs, err)
	}
}

// The reason says when a deny rule was stored, because the person may have forgotten it.
func TestADenialNamesTheDayOfItsRule(t *testing.T) {
	t.Parallel()
	deny := rules(t, permission.Deny, "rm *")
	deny[0].When, deny[0].Why = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), "it was\nan accident"
	if got, want := ask(deny, "rm x", "/work").Reason, "denied by the rule `shell(rm *)` of 20 Nov 2026: it names `rm x` (it was an accident)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Up to the bounds against commands that are made to exhaust their reader, all is read.
func TestBoundsOfWhatIsRead(t *testing.T) {
	t.Parallel()
	const complex = "too complex"
	repeat := strings.Repeat
	for _, c := range []struct{ what, most, more, says string }{
		{"bytes", "echo " + repeat("a", 32<<10-5), "echo " + repeat("a", 32<<10-4), "too long"},
		{"commands", repeat("ls\n", 500), repeat("ls\n", 501), complex},
		{"words", "echo" + repeat(" a", 1499), "echo" + repeat(" a", 1500), complex},
		{"scripts", repeat("bash -c ls\n", 49), repeat("bash -c ls\n", 50), complex},
		{"turns of a loop", "for f in" + repeat(" a", 16) + "; do cat $f; done", "for f in" + repeat(" a", 17) + "; do cat $f; done", "stands for is only known when it runs"},
	} {
		allow := rules(t, permission.Allow, "bash -c ls")
		request := permission.Request{Tool: "shell", Class: run.Reads, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true}
		request.Command = c.most
		if d := allow.Decide(request, permission.Default); d.Verdict != permission.Allow {
			t.Errorf("the most %s: %s (%s)", c.what, d.Verdict, d.Reason)
		}
		request.Command = c.more
		if d := allow.Decide(request, permission.Default); d.Verdict != permission.Ask || !strings.Contains(d.Reason, c.says) {
			t.Errorf("more %s: %s (%s)", c.what, d.Verdict, d.Reason)
		}
	}
}

// What a person reads of a long command is cut after a whole character.
func TestALongCommandIsCutInItsReason(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		strings.Repeat("a", 120):             "`" + strings.Repeat("a", 120) + "`",
		strings.Repeat("a", 121):             "`" + strings.Repeat("a", 120) + "…`",
		"b " + strings.Repeat("é", 60):       "`b " + strings.Repeat("é", 59) + "…`",
		"b" + strings.Repeat(" ", 500) + "c": "`b c`",
	} {
		if d := ask(nil, command, "/work"); !strings.Contains(d.Reason, want) {
			t.Errorf("%s: does not have %s", d.Reason, want)
		}
	}
}

// A model whose call was refused is told of eight things that would run, those like it first.
func TestARefusedCallIsToldOfFewOthers(t *testing.T) {
	t.Parallel()
	rs := rules(t, permission.Allow, "a1", "a2", "a3", "a4", "a5", "a6", "a7", "make test")
	request := permission.Request{Tool: "shell", Command: "ls && make all", Class: run.Writes, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true}
	want := []string{"`ls` on its own", "what the rule shell(make test) covers"}
	for _, a := range []string{"a1", "a2", "a3", "a4", "a5", "a6"} {
		want = append(want, "what the rule shell("+a+") covers")
	}
	if diff := cmp.Diff(want, rs.Explain(request, permission.Default).Allowed); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
