package cli

import (
	"strings"
	"testing"
)

// What a foreign flag is translated to is a command line that pawl understands.
func TestForeignFlagsAreTranslatedToFlagsThatExist(t *testing.T) {
	t.Parallel()
	root := (&invocation{Process: Process{Env: func(string) (string, bool) { return "", false }}}).root()
	runs, _, err := root.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	runs.InheritedFlags()
	for name, f := range foreignFlags {
		if f.ours == nil {
			if f.remark == "" {
				t.Errorf("%s is left out and nothing says why", name)
			}
			continue
		}
		values := []string{"x"}
		if f.values == sandboxPolicy || f.values == sandboxOrSession {
			values = []string{"read-only", "workspace-write", "danger-full-access", "ses_1"}
		}
		for _, v := range values {
			for _, a := range f.ours(v) {
				if a != redirect && strings.HasPrefix(a, "-") && !isOwnFlag(runs, a) {
					t.Errorf("%s %s is translated to %s, which pawl run does not have", name, v, a)
				}
			}
		}
	}
	for name, verb := range foreignVerbs {
		if verb.ours == "" && verb.remark == "" {
			t.Errorf("nothing is said of %s", name)
		}
		if verb.ours != "" {
			if cmd, _, err := root.Find(strings.Fields(verb.ours)); err != nil || cmd == root {
				t.Errorf("%s is translated to %q, which is no command: %v", name, verb.ours, err)
			}
		}
	}
}
