package permission_test

import (
	"regexp"
	"strings"
	"testing"

	"pawl/permission"
)

// all returns the texts of 1 to n of the characters.
func all(chars string, n int) []string {
	texts, last := []string{}, []string{""}
	for range n {
		var longer []string
		for _, t := range last {
			for _, c := range chars {
				longer = append(longer, t+string(c))
			}
		}
		texts, last = append(texts, longer...), longer
	}
	return texts
}

// A * within a word stands for any characters of that word, a word * for any words: as a regular
// expression has it, for every short pattern and command.
func TestStarsStandForWhatARegularExpressionSays(t *testing.T) {
	t.Parallel()
	for _, pattern := range all("ab*", 4) {
		for _, apart := range []bool{false, true} {
			separate := func(s string) string {
				if apart {
					return strings.Join(strings.Split(s, ""), " ")
				}
				return s
			}
			any := "."
			if apart {
				any = "(.( |$))"
			}
			want := regexp.MustCompile("^" + strings.NewReplacer("a", "a( |$)?", "b", "b( |$)?", "*", any+"*").Replace(pattern) + "$")
			rule := rules(t, permission.Deny, "frob "+separate(pattern))[0]
			for _, words := range all("ab", 4) {
				command := "frob " + separate(words)
				d := permission.Rules{rule}.Decide(permission.Request{Tool: "shell", Command: command, Workspace: "/work"}, permission.Bypass)
				if matches := want.MatchString(separate(words)); (d.Verdict == permission.Deny) != matches {
					t.Errorf("deny shell(%s), %s: %s, want a match: %t", rule.Pattern, command, d.Verdict, matches)
				}
			}
		}
	}
}

// What is quoted in a rule, or follows a backslash, stands for itself.
func TestQuotesOfARuleAreThoseOfTheShell(t *testing.T) {
	t.Parallel()
	for pattern, commands := range map[string]struct{ matches, not string }{
		`frob 'a b'`:       {`frob "a b"`, "frob a b"},
		`frob "a b"`:       {`frob 'a b'`, "frob a b"},
		`frob a\ b`:        {`frob 'a b'`, "frob a b"},
		`frob '*'`:         {`frob '*'`, "frob a"},
		`frob \*`:          {`frob '*'`, "frob a"},
		`frob "\""`:        {`frob '"'`, `frob '\"'`},
		`frob "a\\b"`:      {`frob 'a\b'`, `frob 'a\\b'`},
		`frob '\a'`:        {`frob '\a'`, "frob a"},
		`frob ''`:          {`frob ""`, "frob"},
		"frob\ta\n  b\r":   {"frob a b", "frob a"},
		`frob a'b'"c"d\e*`: {"frob abcdef", "frob abcd"},
		`frob \`:           {`frob '\'`, "frob"},
	} {
		allow := rules(t, permission.Allow, pattern)
		for command, want := range map[string]permission.Verdict{commands.matches: permission.Allow, commands.not: permission.Ask} {
			if d := ask(allow, command, "/work"); d.Verdict != want {
				t.Errorf("allow shell(%s), %s: %s (%s), want %s", pattern, command, d.Verdict, d.Reason, want)
			}
		}
	}
}

// A quote that is not closed makes no rule, whatever a backslash in it keeps from closing it.
func TestARuleWithAnOpenQuoteIsRefused(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{`frob '`, `frob "`, `frob 'a"`, `frob "a'`, `frob "a\"`, `frob "a\`, `frob 'a\`, `frob "a\\\"`} {
		if r, err := permission.ParseRule("shell(" + pattern + ")"); err == nil || !strings.Contains(err.Error(), "is not closed") {
			t.Errorf("%s: %q, %v", pattern, r.Pattern, err)
		}
	}
}

// The host that a program looks up may stand in a rule by its domain, if a single owner can have that domain:
// not a top-level one.
func TestARuleSpellsAHostByItsDomain(t *testing.T) {
	t.Parallel()
	for pattern, hosts := range map[string]struct{ covers, not string }{
		"ping *.example.com":  {"a.example.com", "example.com"},
		"ping a.example.com":  {"a.example.com", "b.example.com"},
		"ping *":              {"localhost", "a.example.com"},
		"ping *.com":          {"", "example.com"},
		"ping *.*.com":        {"", "a.b.com"},
		"ping -c 1 *.b.c.org": {"-c 1 a.b.c.org", "-c 1 ab.c.org"},
	} {
		allow := rules(t, permission.Allow, pattern)
		for host, want := range map[string]permission.Verdict{hosts.covers: permission.Allow, hosts.not: permission.Ask} {
			if host == "" { // there is none
				continue
			}
			if d := ask(allow, "ping "+host, "/work"); d.Verdict != want {
				t.Errorf("allow shell(%s), ping %s: %s (%s), want %s", pattern, host, d.Verdict, d.Reason, want)
			}
		}
	}
}

// A rule that was made by hand, with a quote that is not closed, speaks of no command.
func TestARuleThatCannotBeReadMatchesNothing(t *testing.T) {
	t.Parallel()
	for _, effect := range []permission.Verdict{permission.Allow, permission.Deny} {
		rs := permission.Rules{{Effect: effect, Tool: "shell", Pattern: "make 'a"}}
		if d := ask(rs, "make a", "/work"); d.Verdict != permission.Ask || d.Rule != "" {
			t.Errorf("%s: %s by %q (%s)", effect, d.Verdict, d.Rule, d.Reason)
		}
	}
}

// A path rule holds for the paths that its pattern says, and asks for a folder in which there may be
// one of them: as a regular expression has it, for every short pattern and path.
func TestPathsOfARuleAreWhatARegularExpressionSays(t *testing.T) {
	t.Parallel()
	segments := strings.NewReplacer("s", "*", "d", "**")
	for _, short := range all("absd", 3) {
		names := strings.Split(segments.Replace(strings.Join(strings.Split(short, ""), "/")), "/")
		expression := ""
		for _, name := range names {
			expression += map[string]string{"a": "a/", "b": "b/", "*": "[^/]+/", "**": "([^/]+/)*"}[name]
		}
		want := regexp.MustCompile("^" + expression + "$")
		rule, err := permission.ParseRule("edit(" + strings.Join(names, "/") + ")")
		if err != nil {
			t.Fatal(err)
		}
		rule.Effect = permission.Deny
		for _, at := range all("ab", 3) {
			verdict := permission.Allow
			for _, below := range append(all("abc", 3), "") {
				if want.MatchString(strings.Join(strings.Split(at+below, ""), "/") + "/") {
					verdict = permission.Ask
				}
			}
			name := strings.Join(strings.Split(at, ""), "/")
			matches := want.MatchString(name + "/")
			if matches {
				verdict = permission.Deny
			}
			r := permission.Request{Tool: "shell", Command: "rm " + name, Workspace: "/work", Sandboxed: true}
			if d := (permission.Rules{rule}).Decide(r, permission.Bypass); d.Verdict != verdict {
				t.Errorf("deny %s, %s: %s (%s), want %s", rule, r.Command, d.Verdict, d.Reason, verdict)
			}
			r = permission.Request{Tool: "edit", Paths: []string{name}, Workspace: "/work"}
			if d := (permission.Rules{rule}).Decide(r, permission.Bypass); (d.Verdict == permission.Deny) != matches {
				t.Errorf("deny %s, edit of %s: %s (%s)", rule, name, d.Verdict, d.Reason)
			}
		}
	}
}
