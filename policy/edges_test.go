package policy_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pawl/permission"
	"pawl/policy"
)

func TestAWorkspaceThatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.workspace += "/missing"
	if _, err := policy.Open(r.options()); err == nil || !strings.Contains(err.Error(), "the workspace cannot be opened") {
		t.Errorf("got %v", err)
	}
}

// What is to be reviewed is in the order of the names, whatever kind of file each is.
func TestWhatIsPendingIsSorted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{".mcp.json", ".pawl/agents/a.md", ".pawl/config.toml"} {
		r.write(name, "{}")
	}
	changes, err := r.open().Pending()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range changes {
		names = append(names, c.File)
	}
	if len(names) != 3 || !slices.IsSorted(names) {
		t.Errorf("%q", names)
	}
}

// 8 MB of configuration can be looked through, and no byte more.
func TestTheConfigurationOfAWorkspaceIsBoundedInAll(t *testing.T) {
	t.Parallel()
	const megabyte = 1 << 20
	r := newRig(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		r.write(".pawl/agents/"+name+".md", strings.Repeat("x", megabyte))
	}
	problem := func() string {
		t.Helper()
		changes, err := r.open().Pending()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if strings.Contains(c.Problem, "which nobody can look through") {
				return c.Problem
			}
		}
		return ""
	}
	if got := problem(); got != "" {
		t.Errorf("8 MB: %s", got)
	}
	r.write(".pawl/agents/i.md", "x")
	if got := problem(); got == "" {
		t.Error("8 MB and a byte are taken")
	}
}

// The folder of stored rules is the person's alone.
func TestTheFolderOfStoredRulesIsPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs permissions of files")
	}
	r := newRig(t)
	if err := r.open().AddRules("", permission.Rules{{Effect: permission.Deny, Tool: "shell", Pattern: "rm *", Scope: permission.ForWorkspace}}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(r.state)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("its mode is %o", got)
	}
}

// A rule of a file that became unreadable is listed with the reason why it does not count.
func TestARuleOfAFileThatCannotBeReadIsListedAsIdle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := filepath.Join(r.config, "permissions.json")
	r.rules(file, "deny shell(rm *)")
	p := r.open()
	if all := p.List(); len(all) != 1 || all[0].Idle != "" {
		t.Fatalf("%+v", all)
	}
	r.write(file, "{")
	all := p.List()
	if len(all) != 1 || !strings.Contains(all[0].Idle, "cannot be read") {
		t.Errorf("%+v", all)
	}
}

// A file of another user than the person and root has no rules, whoever the person is.
func TestAFileOfAnotherUserIsRefusedForRootToo(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, which can give files to others")
	}
	r := newRig(t)
	file := filepath.Join(r.config, "permissions.json")
	r.rules(file, "allow shell(make)")
	if err := os.Chown(file, 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := r.open().Check(); err == nil {
		t.Error("the rules of user 1 count")
	}
}

func TestALongIndentationIsShownAndALongerOneCounted(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{40: strings.Repeat(" ", 40) + "x", 41: "[41 blanks]x"} {
		if got := policy.Visible(strings.Repeat(" ", n) + "x"); got != want {
			t.Errorf("%d blanks: %q", n, got)
		}
	}
}
