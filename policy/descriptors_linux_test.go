package policy_test

import (
	"os"
	"runtime/debug"
	"testing"

	"pawl/permission"
)

// A process that decides for days keeps no file open. Not parallel: other tests open files.
func TestNoFileIsLeftOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes what was forgotten
	r := newRig(t)
	r.write(".pawl/config.toml", "model = \"x\"\n")
	r.write(".pawl/agents/a.md", "A.")
	r.rules(rulesFile, "deny shell(rm *)")
	r.rules(r.system, "deny shell(mv *)")
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skipf("needs /proc to count open files: %v", err)
		}
		return len(entries)
	}
	p := r.open()
	r.trust(p)
	before := open()
	r.open()
	r.trust(p)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	for _, scope := range []permission.Scope{permission.ForUser, permission.ForWorkspace, permission.ForRun, permission.FromRepository} {
		must(p.Add(rule(t, permission.Deny, "shell(rm *)", scope), "r1"))
	}
	must(p.ReplaceFile(".pawl/agents/b.md", []byte("B.")))
	must(p.Check())
	trusted(p)
	p.List()
	p.Notes()
	p.WorkspaceConfig()
	p.TrustedFiles(".pawl/agents")
	_, err := p.ConfigFiles(".pawl/agents")
	must(err)
	_, err = p.Unreviewed(r.workspace, r.workspace, []string{".pawl"})
	must(err)
	_, err = p.TrustForThisRun()
	must(err)
	_, err = p.Revoke()
	must(err)
	if after := open(); after != before {
		t.Errorf("%d files are open, and before there were %d", after, before)
	}
}
