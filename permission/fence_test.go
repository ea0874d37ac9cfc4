package permission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
)

// What deny rules say of files is a fence for commands: what is asked about or allowed is not.
func TestDenyRulesForFilesAreAFence(t *testing.T) {
	t.Parallel()
	all := rules(t, permission.Deny, "read(.env)", "read(./keys/**)", "read(**/*.pem)", "edit(secret/**)", "write(docs/*.md)", "read(/etc/app.conf)",
		"read(**)", "edit(.)", "read", "shell(rm *)", "fetch(*)", "list(x)", "edit(../up)")
	all = append(all, rules(t, permission.Ask, "read(asked)")...)
	all = append(all, rules(t, permission.Allow, "edit(allowed)")...)
	hidden, fixed := all.Fenced("/w", "/more/lib")
	want := [][]string{
		{"/w/.env", "/more/lib/.env", "/w/keys", "/more/lib/keys", "/w/**/*.pem", "/more/lib/**/*.pem", "/etc/app.conf"},
		{"/w/secret", "/more/lib/secret", "/w/docs/*.md", "/more/lib/docs/*.md"},
	}
	if diff := cmp.Diff(want, [][]string{hidden, fixed}); diff != "" {
		t.Error(diff)
	}
}
