package policy_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pawl/permission"
	"pawl/policy"
)

// Whatever is in a file of rules: if something about it is wrong, nothing is allowed.
func FuzzAFileThatIsNotUnderstoodAllowsNothing(f *testing.F) {
	for _, seed := range []string{
		`{"rules": [{"rule": "shell(make)", "effect": "allow"}]}`,
		`{"rules": [{"rule": "shell(make)", "effect": "allow"}, {"rule": "shell(rm *)", "effect": "deyn"}]}`,
		`{"rules": [{"rule": "shell(make)", "effect": "allow", "Effect": "deny"}]}`,
		`{"rules": [{"rule": "edit(a/**)", "effect": "allow", "not": ["a/b"]}]}`,
		`{"rules": [}`, ``, `[]`, "{\"rules\": [\n\n 3]}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		r := newRig(t)
		r.write(r.config+"/permissions.json", content)
		p := r.open()
		err := p.Check()
		if err == nil {
			return
		}
		rules, _ := p.Rules("")
		for _, rule := range rules {
			if rule.Effect == permission.Allow {
				t.Errorf("%s is allowed, although: %v", rule, err)
			}
		}
		if v := verdict(p, "ls"); v == permission.Allow {
			t.Errorf("a command is allowed, although: %v", err)
		}
	})
}

// Whatever is shown can be seen: no character of it is invisible, moves the cursor or
// turns the text around.
func FuzzWhatIsShownCanBeSeen(f *testing.F) {
	for _, seed := range []string{"plain", "a\u202eb\x1b[2J", "\xff\xfe", strings.Repeat(" ", 200), "\U000e0041\ufe0f\u3164"} {
		f.Add(seed, seed+"\nx")
	}
	f.Fuzz(func(t *testing.T, was, now string) {
		texts := []string{policy.Visible(now)}
		for _, c := range []policy.Change{{Now: []byte(now)}, {Was: []byte(was), Now: []byte(now)}, {Problem: now}} {
			text, _ := c.Show(20)
			texts = append(texts, text)
		}
		for _, text := range texts {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && c != '\t' && !unicode.IsPrint(c) }) {
				t.Errorf("%q is shown as %q", now, text)
			}
		}
	})
}
