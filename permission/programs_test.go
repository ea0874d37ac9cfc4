package permission_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/golden"
	"pawl/permission"
)

// What the tables say of each program: what becomes of a command without a rule, whether a rule with
// a wildcard covers it, whether a rule that denies another program finds that one in it, and the rule
// that is proposed where nothing keeps it to reading.
func TestWhatTheTablesSayOfEachProgram(t *testing.T) {
	t.Parallel()
	deny := rules(t, permission.Deny, "ls *")
	var b strings.Builder
	for _, command := range lines(t, "programs.txt") {
		program, _, _ := strings.Cut(command, " ")
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandboxed: true, EnforcesReadOnly: true}
		wide := rules(t, permission.Allow, filepath.Base(program)+" *")
		fmt.Fprintf(&b, "%s: %s, %s; allowed %s *: %s; denied ls: %s; always: %s\n", command, permission.Rules(nil).Decide(r, permission.Default).Verdict, r.Class,
			program, wide.Decide(r, permission.Default).Verdict, deny.Decide(r, permission.Bypass).Verdict,
			strings.Join(texts(permission.Rules(nil).Propose(permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: r.Class}, permission.Default, nil).Rules), ", "))
	}
	golden.Compare(t, "programs.golden", []byte(b.String()))
}
