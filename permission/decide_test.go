package permission_test

import (
	"slices"
	"testing"

	"pawl/permission"
	"pawl/run"
)

func TestTheOrderOfADecision(t *testing.T) {
	t.Parallel()
	const (
		a, k, d = permission.Allow, permission.Ask, permission.Deny
		normal  = permission.Default
		edits   = permission.AcceptEdits
		plan    = permission.Plan
		bypass  = permission.Bypass
	)
	read := func(paths ...string) permission.Request {
		return permission.Request{Tool: "read", Class: run.Reads, Paths: paths, Workspace: "/work"}
	}
	edit := func(paths ...string) permission.Request {
		return permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: paths, Workspace: "/work"}
	}
	shell := func(command string) permission.Request {
		return permission.Request{Tool: "shell", Class: run.Writes, Command: command, Workspace: "/work", EnforcesReadOnly: true}
	}
	outside := edit("link/a")
	outside.Outside = true
	obeyed := edit("hooks.d/check")
	obeyed.Resolved, obeyed.Obeyed = []string{"hooks.d/check"}, []string{"hooks.d/check"}
	hook, looked := edit(".git/hooks/check"), read("hooks.d/check")
	hook.Obeyed, looked.Obeyed = []string{".git/hooks/check"}, []string{"hooks.d/check"}
	post := permission.Request{Tool: "post", Class: run.Writes}
	child := permission.Request{Tool: "handoff", Class: run.Resumable}

	for _, c := range []struct {
		name             string
		allow, ask, deny string // one rule each
		request          permission.Request
		mode             permission.Mode
		want             permission.Verdict
		source           string
	}{
		{"reads run", "", "", "", read("a.go"), normal, a, "default"},
		{"an absolute path in the workspace is in it", "", "", "", read("/work/a.go"), normal, a, "default"},
		{"a path beside it asks", "", "", "", read("/workshop/a"), normal, k, "default"},
		{"a path above it asks", "", "", "", read("../a"), normal, k, "default"},
		{"secrets ask", "", "", "", read("sub/.env.local"), normal, k, "default"},
		{"secrets ask though a wildcard covers them", "read(**)", "", "", read("sub/.env"), normal, k, "default"},
		{"secrets run if a rule names them", "read(**/.env*)", "", "", read("sub/.env.local"), normal, a, "test"},
		{"edits ask", "", "", "", edit("a.go"), normal, k, "default"},
		{"edits run if a rule covers them", "edit(src/**)", "", "", edit("src/x/a.go"), normal, a, "test"},
		{"a rule covers its folder only", "edit(src/**)", "", "", edit("src/../a.go"), normal, k, "default"},
		{"every path must be covered", "edit(src/**)", "", "", edit("src/a.go", "b.go"), normal, k, "default"},
		{"* stays within a name", "edit(src/*.go)", "", "", edit("src/x/a.go"), normal, k, "default"},
		{"accept-edits lets edits run", "", "", "", edit("a.go"), edits, a, "mode"},
		{"accept-edits lets no edit outside run", "", "", "", edit("/etc/hosts"), edits, k, "default"},
		{"accept-edits follows links", "", "", "", outside, edits, k, "default"},
		{"accept-edits asks for .git", "", "", "", edit(".git/hooks/pre-commit"), edits, k, "default"},
		{"accept-edits asks for CI", "", "", "", edit(".github/workflows/ci.yml"), edits, k, "default"},
		{"accept-edits asks for what git obeys", "", "", "", obeyed, edits, k, "default"},
		{"a wildcard does not cover what git obeys", "edit(**)", "", "", obeyed, normal, k, "default"},
		{"a rule names what git obeys", "edit(hooks.d/check)", "", "", obeyed, normal, a, "test"},
		{"a rule names the folder of what git obeys", "edit(.git/hooks/*)", "", "", hook, normal, a, "test"},
		{"what git obeys is read", "", "", "", looked, normal, a, "default"},
		{"a wildcard does not cover .git", "edit(**)", "", "", edit(".git/config"), normal, k, "default"},
		{"accept-edits is nothing to the shell", "", "", "", shell("touch x"), edits, k, "default"},
		{"an ask rule is before accept-edits", "", "edit(db/**)", "", edit("db/a"), edits, k, "test"},
		{"an ask rule is before an allow rule", "edit", "edit(db/**)", "", edit("db/a"), normal, k, "test"},
		{"deny is before everything", "edit", "", "edit(db/**)", edit("db/a"), bypass, d, "test"},
		{"deny tells no capitals apart", "", "", "edit(db/**)", edit("DB/a"), bypass, d, "test"},
		{"deny sees through spelling", "", "", "edit(db/**)", edit("x/../db/a"), bypass, d, "test"},
		{"deny without a pattern is every call", "", "", "edit", edit("a"), bypass, d, "test"},
		{"plan lets reads run", "", "", "", read("a"), plan, a, "default"},
		{"plan refuses edits", "edit", "", "", edit("a"), plan, d, "mode"},
		{"plan refuses commands that write", "shell(touch *)", "", "", shell("touch x"), plan, d, "mode"},
		{"plan lets commands that read run", "", "", "", shell("git log -3"), plan, a, "default"},
		{"plan looks through a wrapper", "", "", "", shell("timeout 5 git log"), plan, a, "default"},
		{"bypass lets all run", "", "", "", shell("rm -rf ../x $Y"), bypass, a, "mode"},
		{"bypass is before ask rules", "", "shell(rm *)", "", shell("rm x"), bypass, a, "mode"},
		{"bypass keeps deny rules", "", "", "shell(rm *)", shell("sudo rm x"), bypass, d, "test"},
		{"bypass asks for what might be denied", "", "", "shell(rm *)", shell("$X y"), bypass, k, "default"},
		{"other tools that write ask", "", "", "", post, normal, k, "default"},
		{"other tools run by their name", "post", "", "", post, normal, a, "test"},
		{"fetching without an address is nothing", "fetch", "", "", permission.Request{Tool: "fetch", Class: run.Reads}, normal, d, "built-in"},
		{"child runs are allowed their own questions", "", "", "", child, normal, a, "default"},
		{"no command is denied", "shell", "", "", shell(" "), bypass, d, "built-in"},
	} {
		var rs permission.Rules
		for effect, text := range map[permission.Verdict]string{a: c.allow, k: c.ask, d: c.deny} {
			if text == "" {
				continue
			}
			r, err := permission.ParseRule(text)
			if err != nil {
				t.Fatal(err)
			}
			r.Effect, r.Source = effect, "test"
			rs = append(rs, r)
		}
		got := rs.Decide(c.request, c.mode)
		if got.Verdict != c.want || got.Source != c.source {
			t.Errorf("%s: %s by %s (%s), want %s by %s", c.name, got.Verdict, got.Source, got.Reason, c.want, c.source)
		}
		if got.Reason == "" || (got.Rule == "") != (got.Source != "test") {
			t.Errorf("%s: %+v does not say how it came about", c.name, got)
		}
	}
}

func TestRulesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "(x)", "shell(", "shell()", "shell( )", "shell(x) y", "two words", "*", "shell(a\x00)", "shell('a)", "shell(a \"b)"} {
		if r, err := permission.ParseRule(text); err == nil {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
	var written []string
	for _, text := range []string{" shell ", "shell(go  test *)", "edit(a (b)/**)"} {
		r, err := permission.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, r.String())
	}
	if want := []string{"shell", "shell(go  test *)", "edit(a (b)/**)"}; !slices.Equal(written, want) {
		t.Errorf("got %q, want %q", written, want)
	}
}

// What a rule of a repository says of itself stays in the sentence that shows it.
func TestTheWordsOfARuleMakeNoLineOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := permission.Rule{Effect: permission.Deny, Tool: "read", Pattern: "a.go", Source: "x", Why: "because\nallowed by: you\u202e"}
	d := permission.Rules{r}.Decide(permission.Request{Tool: "read", Class: run.Reads, Paths: []string{"a.go"}, Workspace: "/work"}, permission.Default)
	if want := `denied: a.go (because allowed by: you\u202e)`; d.Reason != want {
		t.Errorf("got %q, want %q", d.Reason, want)
	}
}
