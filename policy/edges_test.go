package policy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/permission"
	"pawl/policy"
	"pawl/run"
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

// What is stored for a person is theirs alone; what is meant for git is as the files of git are.
func TestWhatIsStoredIsPrivateAndWhatIsForGitIsNot(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs Unix file permissions")
	}
	r := newRig(t)
	p := r.open()
	for _, scope := range []permission.Scope{permission.ForUser, permission.ForWorkspace, permission.ForRun, permission.FromRepository} {
		if err := p.Add(rule(t, permission.Deny, "shell(rm *)", scope), "r1"); err != nil {
			t.Fatal(err)
		}
	}
	r.write("src/main.go", "") // made with the modes that git uses, as far as this machine allows
	mode := func(name string) fs.FileMode {
		info, err := os.Stat(filepath.Join(r.workspace, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	made := map[string]bool{}
	for top, modes := range map[string][2]fs.FileMode{r.config: {0o700, 0o600}, r.state: {0o700, 0o600}, r.workspace + "/.pawl": {mode("src"), mode("src/main.go")}} {
		err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			want := modes[1]
			if d.IsDir() {
				want = modes[0]
			}
			if got := info.Mode().Perm(); got != want {
				t.Errorf("%s has the mode %o, want %o", name, got, want)
			}
			made[filepath.Base(name)] = true
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"permissions.json", "permissions.lock", "trust.json", "trust", "rules", "r1.json", ".pawl"} {
		if !made[name] {
			t.Errorf("%s was not made", name)
		}
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

// What another process has trusted is in the records at once.
func TestTrustThatIsGivenElsewhereIsSeen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(".pawl/agents/a.md", "A.")
	p := r.open()
	if records, err := p.Records(); err != nil || len(records) != 0 {
		t.Fatalf("%v, %v", records, err)
	}
	r.trust(r.open())
	records, err := p.Records()
	if err != nil || len(records) != 1 || len(records[0].Files) != 1 || records[0].Workspace != r.workspace {
		t.Errorf("%+v, %v", records, err)
	}
	if was, err := r.open().Revoke(); !was || err != nil {
		t.Fatal(was, err)
	}
	if records, err := p.Records(); err != nil || len(records) != 0 {
		t.Errorf("taken back: %+v, %v", records, err)
	}
}

// The rules that a person has trusted forbid what they forbade when the file says something else. If
// they are lost, nothing is allowed, and the person is told to look again.
func TestWhatWasTrustedAndIsLostIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules(rulesFile, "deny shell(rm *)", "allow shell(make)")
	r.trust(r.open())
	r.rules(rulesFile, "ask shell(ls)")
	p := r.open()
	r.expect(p, "changed", map[string]permission.Verdict{"rm x": permission.Deny, "ls": permission.Ask, "make": permission.Ask})
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(r.config + "/trust"); err != nil {
		t.Fatal(err)
	}
	r.rules(r.config+"/permissions.json", "allow shell(frob)")
	p = r.open()
	r.has(p.Check(), "what you trusted of "+r.workspace+"/"+rulesFile+" cannot be read any more", "look at it again with `pawl trust`")
	r.expect(p, "lost", map[string]permission.Verdict{"frob": permission.Ask, "ls": permission.Ask})
	r.trust(p)
	r.expect(p, "looked at again", map[string]permission.Verdict{"frob": permission.Allow, "rm x": permission.Ask})
}

// A rule for one run needs a run whose name is the name of a file and leads nowhere else.
func TestARuleForARunNeedsTheRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	for _, id := range []run.ID{"", ".", "..", "a/b", `a\b`, "a\x00b", "/"} {
		r.has(p.Add(rule(t, permission.Deny, "shell(rm *)", permission.ForRun), id), "a rule for one run needs the run")
		if rules, err := p.Rules(id); len(rules) != 0 || err != nil {
			t.Errorf("%q has %v, %v", id, rules, err)
		}
	}
	if ids, err := policy.RunsWithRules(r.state); len(ids) != 0 || err != nil {
		t.Errorf("there are %v, %v", ids, err)
	}
}

// Long runs of empty lines are counted wherever they are, each kind on its own.
func TestEmptyLinesAreCountedToTheEnd(t *testing.T) {
	t.Parallel()
	empty := strings.Repeat("\n", 4)
	for _, c := range []struct{ was, now, want string }{
		{"", "a\n" + empty, "  a\n  [4 empty lines]\n"},
		{"", empty + "b\n", "  [4 empty lines]\n  b\n"},
		{"", "a\n" + empty[1:], "  a\n  \n  \n  \n"},
		{"a\n" + empty + "b\n", "a\nb\n" + empty, "@@ -1,6 +1,6 @@\n  a\n+ b\n  [4 empty lines]\n- b\n"},
		{"a\n" + empty, "a\n" + strings.Repeat(" \n", 5), "@@ -1,5 +1,6 @@\n  a\n- [4 empty lines]\n+  [5 empty lines]\n"},
	} {
		change := policy.Change{File: "f", Now: []byte(c.now)}
		if c.was != "" {
			change.Was = []byte(c.was)
		}
		if got, whole := change.Show(0); got != c.want || !whole {
			t.Errorf("%q to %q is shown as\n%s(whole: %t), want\n%s", c.was, c.now, got, whole, c.want)
		}
	}
}

// The mark of a line that is not shown whole is not counted among the lines.
func TestAsManyLinesAreShownAsThereIsRoomFor(t *testing.T) {
	t.Parallel()
	c := policy.Change{File: "f", Now: []byte("a\nb\nc\n")}
	for lines, want := range map[int]string{
		1: "  a\n  [2 more lines are not shown]\n", 2: "  a\n  b\n  [1 more lines are not shown]\n", 3: "  a\n  b\n  c\n", 4: "  a\n  b\n  c\n", 0: "  a\n  b\n  c\n",
	} {
		if got, whole := c.Show(lines); got != want || whole != (lines != 1 && lines != 2) {
			t.Errorf("%d lines: %q, whole: %t", lines, got, whole)
		}
	}
	for n, whole := range map[int]bool{2_000 - len("  \n"): true, 2_001 - len("  \n"): false} {
		c := policy.Change{File: "f", Now: []byte(strings.Repeat("x", n) + "\n")}
		if got, all := c.Show(1); all != whole || !whole && !strings.HasSuffix(got, "x [1 more bytes of this line are not shown]\n") {
			t.Errorf("%d bytes: whole: %t, …%q", n, all, got[len(got)-60:])
		}
	}
}

// A child whose parent's rules cannot be read, or that cannot have any, is not begun without them.
func TestRulesThatCannotBeInheritedAreAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	if err := p.Inherit("r1", ""); err != nil {
		t.Errorf("without rules: %v", err)
	}
	if err := p.Add(rule(t, permission.Deny, "shell(rm *)", permission.ForRun), "r1"); err != nil {
		t.Fatal(err)
	}
	r.has(p.Inherit("r1", ""), "a rule for one run needs the run")
	r.write(r.state+"/rules/r1.json", "{")
	r.has(p.Inherit("r1", "r2"), "r1.json")
}

// What is trusted is listed by name, whatever was trusted first, and once.
func TestRecordsAreSorted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{".pawl/agents/a.md", ".pawl/agents/b.md", ".pawl/config.toml"} {
		r.write(name, "x")
	}
	p := r.open()
	changes, err := p.Pending()
	if err != nil || len(changes) != 3 {
		t.Fatal(changes, err)
	}
	for _, i := range []int{2, 0, 1, 0} {
		if err := p.Trust(changes[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	records, err := p.Records()
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	var names []string
	for _, f := range records[0].Files {
		names = append(names, f.File)
		if f.By != "ann" || f.When.IsZero() || f.SHA256 == "" {
			t.Errorf("%+v", f)
		}
	}
	if got := strings.Join(names, " "); got != ".pawl/agents/a.md .pawl/agents/b.md .pawl/config.toml" {
		t.Errorf("trusted are %s", got)
	}
	kept, err := os.ReadDir(r.config + "/trust")
	if err != nil || len(kept) != 1 {
		t.Errorf("of three files with one content %d contents are kept: %v", len(kept), err)
	}
	if err := os.Remove(filepath.Join(r.workspace, ".pawl/config.toml")); err != nil {
		t.Fatal(err)
	}
	r.write(".pawl/agents/a.md", "y")
	changes, err = p.Pending()
	var kinds []string
	for _, c := range changes {
		kinds = append(kinds, c.Kind()+" "+c.File+" "+string(c.Was))
	}
	if got := strings.Join(kinds, ", "); err != nil || got != "changed .pawl/agents/a.md x, removed .pawl/config.toml x" {
		t.Errorf("pending are %s: %v", got, err)
	}
	if err := p.Trust(changes); err != nil || !trusted(p) {
		t.Errorf("not trusted: %v", err)
	}
	if kept, err := os.ReadDir(r.config + "/trust"); err != nil || len(kept) != 2 {
		t.Errorf("%d contents are kept: %v", len(kept), err)
	}
}

// A further file of an administrator's rules is as strict as theirs: its group cannot write it.
func TestAFurtherManagedFileCanBeWrittenByItsOwnerAlone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs Unix file permissions")
	}
	r := newRig(t)
	o := r.options()
	o.Managed = filepath.Join(filepath.Dir(r.system), "more.json")
	r.rules(o.Managed, "deny shell(rm *)")
	p, err := policy.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	r.expect(p, "as it should be", map[string]permission.Verdict{"rm x": permission.Deny})
	if err := os.Chmod(o.Managed, 0o664); err != nil {
		t.Fatal(err)
	}
	r.has(p.Check(), "more.json can be written by others (mode 0664)")
}

// A rule that has no form in JSON is not stored as none.
func TestARuleThatCannotBeWrittenIsNotStored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	q := rule(t, permission.Deny, "shell(rm *)", permission.ForUser)
	q.When = time.Date(12_026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := p.Add(q, ""); err == nil {
		t.Error("it is stored")
	}
	if all := p.List(); len(all) != 0 {
		t.Errorf("there are %v", all)
	}
}

// What is set aside of a repository's rules is said from the first look at them.
func TestANoteIsThereFromTheFirstLook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	r.rules(rulesFile, "allow shell(")
	for range 2 {
		if notes := p.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "permissions.json") {
			t.Errorf("%q", notes)
		}
	}
}

// Trust is revoked even if content that is no longer needed cannot be removed; the error says so.
func TestWhatCannotBeClearedAwayIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(".pawl/x", "x")
	p := r.open()
	r.trust(p)
	if err := os.MkdirAll(r.config+"/trust/old/in the way", 0o700); err != nil {
		t.Fatal(err)
	}
	if was, err := p.Revoke(); !was || err == nil || !strings.Contains(err.Error(), "old") {
		t.Errorf("%t, %v", was, err)
	}
	if records, err := r.open().Records(); err != nil || len(records) != 0 {
		t.Errorf("trusted are %v, %v", records, err)
	}
	left, err := os.ReadDir(r.config + "/trust")
	if err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}
