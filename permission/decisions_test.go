package permission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pawl/internal/golden"
	"pawl/permission"
	"pawl/run"
)

// What a person reads of each command of the corpora: what becomes of it without rules, why, what
// kind of call it is, and the rules that are offered to them for always.
func TestWhatAPersonReadsOfEachCommand(t *testing.T) {
	t.Parallel()
	_, commands := attacks(t)
	for _, line := range lines(t, "edges.txt") {
		commands = append(commands, strings.ReplaceAll(line, "<LF>", "\n"))
	}
	for _, line := range lines(t, "evasions.txt") {
		_, command, _ := strings.Cut(line, "\t")
		commands = append(commands, command)
	}
	var b strings.Builder
	for _, command := range slices.Concat(everyday(t), commands) {
		c := permission.Classify(command)
		d := ask(nil, command, "/work")
		fmt.Fprintf(&b, "%s\n\t%s, %s: %s\n", strings.ReplaceAll(command, "\n", "\n\t| "), d.Verdict, c.Class, d.Reason)
		if d.Verdict == permission.Allow {
			continue
		}
		p := permission.Rules(nil).Propose(permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: c.Class}, permission.Default, nil)
		switch {
		case len(p.Rules) == 0:
			fmt.Fprintf(&b, "\tnever: %s\n", p.Reason)
		case p.Exact:
			fmt.Fprintf(&b, "\tonly: %s\n", strings.Join(texts(p.Rules), ", "))
		default:
			fmt.Fprintf(&b, "\talways: %s\n", strings.Join(texts(p.Rules), ", "))
		}
	}
	golden.Compare(t, "decisions.golden", []byte(b.String()))
}

// What becomes of a call in each mode, by the sandbox that there is and the one that it asks for.
func TestWhatTheSandboxMeansInEachMode(t *testing.T) {
	t.Parallel()
	allowed := rules(t, permission.Allow, "make *")
	wide := rules(t, permission.Allow, "make *")
	wide[0].Sandbox = run.Unconfined
	var b strings.Builder
	for _, mode := range []permission.Mode{permission.Plan, permission.Default, permission.AcceptEdits, permission.Bypass} {
		for _, sandbox := range []string{"none", "one", "one that enforces reading"} {
			for _, wanted := range []run.Confinement{run.Confined, run.ReadOnly, run.WithNetwork, run.Unconfined, "deep"} {
				for _, command := range []string{"ls", "git status", "make", "make && ls", "mkdir a", "rm a", "frob", "echo $x", "cat /etc/hosts", "ls > a"} {
					r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandbox: wanted,
						Sandboxed: sandbox != "none", EnforcesReadOnly: strings.Contains(sandbox, "enforces"), Root: command == "frob"}
					fmt.Fprintf(&b, "%s, sandbox %s, asks for %q: %s:", mode, sandbox, wanted, command)
					var last string
					for i, rs := range []permission.Rules{nil, allowed, wide} {
						if i > 0 && !strings.HasPrefix(command, "make") {
							break
						}
						d := rs.Decide(r, mode)
						text := fmt.Sprintf(" %s in %q, %s: %s", d.Verdict, d.Sandbox, d.Source, d.Reason)
						if text != last {
							fmt.Fprintf(&b, "%s;", text)
						}
						last = text
					}
					b.WriteByte('\n')
				}
			}
		}
	}
	golden.Compare(t, "sandboxes.golden", []byte(b.String()))
}
