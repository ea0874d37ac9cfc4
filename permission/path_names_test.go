package permission_test

import (
	"strings"
	"testing"

	"pawl/permission"
	"pawl/run"
)

// Names that hold secrets and names of what programs obey by themselves: CI, hooks of git, start-up
// files, what is loaded on entering a folder, other agents, deployment. No wildcard covers them and
// mode accept-edits does not; everything else is edited without a question.
func TestWhatANameMeansForReadingAndChanging(t *testing.T) {
	t.Parallel()
	wide := rules(t, permission.Allow, "edit(**)", "edit(sub/**)", "read(**)")
	for _, line := range lines(t, "names.txt") {
		kind, names, _ := strings.Cut(line, ": ")
		reads, changes := permission.Allow, permission.Ask
		switch kind {
		case "secret":
			reads = permission.Ask
		case "ordinary":
			changes = permission.Allow
		}
		for name := range strings.FieldsSeq(names) {
			for _, at := range []string{name, "sub/" + name, strings.ToUpper(name)} {
				for _, c := range []struct {
					request permission.Request
					want    permission.Verdict
				}{
					{permission.Request{Tool: "read", Class: run.Reads, Paths: []string{at}}, reads},
					{permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{at}}, changes},
					{permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"link"}, Resolved: []string{at}}, changes},
				} {
					c.request.Workspace = "/work"
					if d := wide.Decide(c.request, permission.AcceptEdits); d.Verdict != c.want {
						t.Errorf("%s of %s, which is %s: %s (%s)", c.request.Tool, at, kind, d.Verdict, d.Reason)
					}
				}
				if strings.HasPrefix(at, "#") {
					continue
				}
				r := permission.Request{Tool: "shell", Class: run.Writes, Command: "echo x > " + at, Workspace: "/work", EnforcesReadOnly: true}
				if d := wide.Decide(r, permission.AcceptEdits); kind != "ordinary" && d.Verdict != permission.Ask {
					t.Errorf("shell writes %s, which is %s: %s (%s)", at, kind, d.Verdict, d.Reason)
				}
			}
		}
	}
}
