package cli

import (
	"bytes"
	"strings"
	"testing"

	"pawl/cli/command"
	"pawl/cli/permissions"
	"pawl/permission"
	"pawl/policy"
	"pawl/provider"
)

// What a server calls its models and a repository says of its rules is shown in one line each.
func TestTheWordsOfOthersMakeNoLineOfTheirOwn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	inv := &command.Invocation{Process: command.Process{Stdout: &out}}
	if err := printModelList(inv, []provider.Model{{Name: "evil/m\r\nanthropic/x  can be used\x1b[2J"}, {Name: "evil/n"}}, false); err != nil {
		t.Fatal(err)
	}
	if err := printModels(inv, provider.Overview{Models: []provider.Model{{Name: "evil/m\nforged"}}}); err != nil {
		t.Fatal(err)
	}
	out.WriteString(permissions.RuleWords(policy.Listed{Rule: permission.Rule{Effect: permission.Deny, Tool: "read", Why: "because\n  1  allow  shell"}}))
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "anthropic") || strings.HasPrefix(line, "forged") || strings.HasPrefix(line, "  1") || strings.Contains(line, "\x1b") {
			t.Errorf("there is the line %q", line)
		}
	}
}
