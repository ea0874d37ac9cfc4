package permission

import (
	"strings"
	"testing"

	"pawl/run"
)

func TestRulesForToolsOfServers(t *testing.T) {
	t.Parallel()
	call := func(tool string, arguments map[string]string) Request {
		return Request{Tool: tool, Class: run.Writes, Arguments: arguments}
	}
	issue := call("mcp__hub__create_issue", map[string]string{"owner": "acme", "repo": "x/y z", "n": "3"})
	for _, c := range []struct {
		allow, deny string
		call        Request
		mode        Mode
		want        Verdict
	}{
		{"", "", issue, Default, Ask},
		{"", "", issue, AcceptEdits, Ask},
		{"", "", issue, Plan, Deny},
		{"", "", issue, Bypass, Allow},
		{"mcp__hub__create_issue", "", issue, Default, Allow},
		{"mcp__hub__create", "", issue, Default, Ask},
		{"mcp__hub__*", "", issue, Default, Allow},
		{"mcp__hu__*", "", issue, Default, Ask},
		{"mcp__hub__*", "", call("mcp__hubs__x", nil), Default, Ask},
		{"mcp__hub__*", "", call("mcp__hub2__create_issue", nil), Default, Ask},
		{"mcp__hub__create_issue(owner=acme)", "", issue, Default, Allow},
		{"mcp__hub__create_issue(owner=acme n=3)", "", issue, Default, Allow},
		{"mcp__hub__create_issue(owner=acm)", "", issue, Default, Ask},
		{"mcp__hub__create_issue(owner=*)", "", issue, Default, Allow},
		{"mcp__hub__create_issue(repo=x/*)", "", issue, Default, Allow},
		{"mcp__hub__create_issue(repo='x/y z')", "", issue, Default, Allow},
		{"mcp__hub__create_issue(repo=y/*)", "", issue, Default, Ask},
		{"mcp__hub__create_issue(owner=acme missing=*)", "", issue, Default, Ask},
		{"mcp__hub__*(owner=acme)", "", issue, Default, Allow},
		{"mcp__hub__*", "mcp__hub__create_issue(repo=x/*)", issue, Default, Deny},
		{"mcp__hub__*", "mcp__hub__create_issue(repo=x/*)", issue, Bypass, Deny},
		{"mcp__hub__create_issue", "mcp__hub__*", issue, Bypass, Deny},
		{"shell(*)", "", issue, Default, Ask},
		{"mcp__hub__create_issue(owner=acme)", "", call("mcp__hub__create_issue", map[string]string{"owner": "acme", "Owner": "evil"}), Default, Ask},
		{"mcp__hub__create_issue(owner=acme)", "", call("mcp__hub__create_issue", map[string]string{"Owner": "acme"}), Default, Ask},
		{"mcp__hub__*", "mcp__hub__create_issue(owner=evil)", call("mcp__hub__create_issue", map[string]string{"Owner": "evil"}), Default, Deny},
		{"mcp__hub__*", "mcp__hub__create_issue(task=evil)", call("mcp__hub__create_issue", map[string]string{"task": "x", "tas\u212a": "evil"}), Bypass, Deny},
	} {
		var rules Rules
		for effect, text := range map[Verdict]string{Allow: c.allow, Deny: c.deny} {
			if text == "" {
				continue
			}
			r, err := ParseTyped(text, []string{"shell"})
			if err != nil {
				t.Fatal(err)
			}
			r.Effect = effect
			rules = append(rules, r)
		}
		if d := rules.Decide(c.call, c.mode); d.Verdict != c.want {
			t.Errorf("%s: allow %q deny %q, %v: %s (%s), want %s", c.mode, c.allow, c.deny, c.call.Arguments, d.Verdict, d.Reason, c.want)
		}
	}
	for text, want := range map[string]string{
		"mcp__hub":              "name a tool of a server",
		"mcp__*":                "name a tool of a server",
		"mcp__hub__get_*":       "name a tool of a server",
		"mcp__*__x":             "name a tool of a server",
		"mcp__hub__x(acme)":     `"acme" is no argument with its value`,
		"mcp__hub__x(=acme)":    "is no argument with its value",
		"mcp__hub__x(o*=acme)":  `"o*=acme" is no argument with its value`,
		"mcp__hub__x(owner='a)": "is not closed",
	} {
		if _, err := ParseTyped(text, []string{"shell"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
