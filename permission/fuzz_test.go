package permission_test

import (
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pawl/permission"
	"pawl/run"
)

// appended must never make a decision weaker, whatever stood before.
var appended = []string{"; frobnicate", " && frobnicate", " | frobnicate", "\nfrobnicate", " > f", " & frobnicate", " || frobnicate", " $(frobnicate)"}

// seeds are the commands that fuzzing starts from, and that are tried as plain tests.
func seeds(f *testing.F) []string {
	_, commands := attacks(f)
	commands = slices.Concat(commands, everyday(f), []string{
		"rm x", "sudo rm x", "go test ./... | sh", "echo $(rm x)", "cat <<E\nrm x\nE", "xargs --x rm", "ssh a b rm", "find . -exec rm {} +",
		"bash -c 'rm x'", "rm x &", "rm x;", "for f in a b; do rm $f; done", "{rm,x}", "((", "$((", "<<", "a=(", "[[ x", "case x in", "f() {", "\\", "'", "\"", "`", "#",
	})
	for _, line := range lines(f, "evasions.txt") {
		_, command, _ := strings.Cut(line, "\t")
		commands = append(commands, command)
	}
	return commands
}

func FuzzAddingAPartNeverMakesACommandMoreAllowed(f *testing.F) {
	for i, c := range seeds(f) {
		if i%4 == 0 || !testing.Short() {
			f.Add(c)
		}
	}
	rs := slices.Concat(rules(f, permission.Allow, "go test *", "echo *", "git *", "frob *", "timeout *", "bash *"),
		rules(f, permission.Ask, "git push *"), rules(f, permission.Deny, "rm *"))
	f.Fuzz(func(t *testing.T, command string) {
		if strings.TrimSpace(command) == "" {
			return // it is no command yet
		}
		for _, mode := range []permission.Mode{permission.Default, permission.Plan, permission.Bypass, permission.AcceptEdits} {
			sandboxed, enforced := len(command)%2 == 0, len(command)%3 != 0
			decide := func(command string) permission.Decision {
				return rs.Decide(permission.Request{Tool: "shell", Command: command, Workspace: "/work",
					Class: permission.Classify(command).Class, Sandboxed: sandboxed, EnforcesReadOnly: enforced}, mode)
			}
			before := decide(command)
			if (mode == permission.Bypass || mode == permission.AcceptEdits) && (strings.Contains(before.Reason, "not valid shell") || strings.Contains(before.Reason, "no command in it") || strings.HasSuffix(command, `\`)) {
				continue // with a part behind it is another command
			}
			// Put to the last word a substitution makes it another one, which bypass and
			// accept-edits may see differently.
			if after := decide(command + "$(frobnicate)"); mode == permission.Default && before.Verdict != permission.Allow && after.Verdict == permission.Allow {
				t.Errorf("%s: %q is %s, with a substitution behind it allow (%s)", mode, command, before.Verdict, after.Reason)
			}
			for _, more := range appended {
				after := decide(command + more)
				// A command that became no shell at all does not run.
				if strictness[after.Verdict] < strictness[before.Verdict] && !strings.Contains(after.Reason, "not valid shell") {
					t.Errorf("%s: %q is %s (%s), %q is %s (%s)", mode, command, before.Verdict, before.Reason, command+more, after.Verdict, after.Reason)
				}
			}
		}
	})
}

// No command makes anything panic; Decide is Explain's summary; what is classed as
// reading is what plan mode lets through; a proposal allows what it is for.
func FuzzTheFacesOfADecisionAgree(f *testing.F) {
	for _, c := range seeds(f) {
		f.Add(c)
	}
	rs := slices.Concat(rules(f, permission.Allow, "go test *", "make *"), rules(f, permission.Deny, "rm *"))
	f.Fuzz(func(t *testing.T, command string) {
		c := permission.Classify(command)
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: c.Class, Paths: c.Paths, EnforcesReadOnly: true}
		d := rs.Decide(r, permission.Default)
		e := rs.Explain(r, permission.Default)
		if !reflect.DeepEqual(d, e.Decision) || d.Reason == "" || d.Source == "" {
			t.Errorf("%q: it is %+v and explained as %+v", command, d, e.Decision)
		}
		for _, p := range e.Parts {
			if strictness[p.Verdict] > strictness[d.Verdict] {
				t.Errorf("%q is %s, and a part of it %s", command, d.Verdict, p.Verdict)
			}
		}
		_ = e.String()
		if d := permission.Rules(nil).Decide(r, permission.Plan); d.Verdict == permission.Allow && (c.Class != run.Reads || d.Sandbox != run.ReadOnly) {
			t.Errorf("%q writes and runs in plan mode, in %q: %s", command, d.Sandbox, d.Reason)
		}
		p := rs.Propose(r, permission.Default, nil)
		if d := p.Deny.Decide(r, permission.Default); d.Verdict != permission.Deny {
			t.Errorf("%q is %s by what never would store: %q", command, d.Verdict, texts(p.Deny))
		}
		if len(p.Rules) > 0 && slices.Concat(rs, p.Rules).Decide(r, permission.Default).Verdict != permission.Allow {
			t.Errorf("%q is not allowed by the rules proposed: %q", command, texts(p.Rules))
		}
	})
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"shell", "shell(go test *)", "edit(src/**)", "shell(", "()", "a(b)c", "shell(a 'b c' \\* \"d\\\"\")", "fetch(*.example.com:80)", "fetch([::1])"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := permission.ParseRule(text)
		if err != nil {
			return
		}
		again, err := permission.ParseRule(r.String())
		if err != nil || again.String() != r.String() {
			t.Errorf("%q reads as %q, which reads as %q, %v", text, r, again, err)
		}
	})
}

// A rule of the web never covers an address whose host, as Go's own client reads
// it, is another one.
func FuzzAnAddressIsNotTakenForAnother(f *testing.F) {
	for _, s := range []string{"https://example.com/", "http://example.com@x/", "http://EXAMPLE.com.:443/", "http://[::1]/", "http://x\\@example.com", "http://example.com#@x", "http://0x7f.1", "http://a%2eexample.com/"} {
		f.Add(s)
	}
	named := rules(f, permission.Allow, "fetch(example.com)", "fetch(*.example.com)")
	f.Fuzz(func(t *testing.T, address string) {
		d := named.Decide(fetching(address), permission.Default)
		if d.Verdict != permission.Allow {
			return
		}
		if got := strings.TrimSuffix(hostname(address), "."); got != "example.com" && !strings.HasSuffix(got, ".example.com") {
			t.Errorf("%q leads to %q and is allowed by %s", address, got, d.Rule)
		}
	})
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{`{"rules":[]}`, `{"rules":[{"rule":"shell(ls *)","effect":"allow","matches":["ls x"]}]}`, `{"rules":[{"rule":"fetch","effect":"deny","when":"x"}]}`, `[`, `{"rules":[{"rule":"x(","effect":"ask"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file string) {
		rs, err := permission.Load(strings.NewReader(file), permission.FromRepository, "x")
		for _, r := range rs {
			if r.Effect == permission.Allow && r.Tool == "shell" && (r.Pattern == "" || r.Sandbox == run.Unconfined) {
				t.Errorf("a repository allows everything: %+v (%v)", r, err)
			}
		}
	})
}

func hostname(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}
