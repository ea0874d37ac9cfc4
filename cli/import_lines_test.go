package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// On a narrow terminal nothing of what becomes of a rule, or of why it is left, is cut.
func TestWhyAnImportLeavesSomethingIsNotCut(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"FROM", "KIND", "NAME", "BECOMES", ""}, {"claude-code", "rule", "Read(./.env)", "deny read(**/.env)", "new"},
		{"claude-code", "setting", "defaultMode = plan", "", "left: a mode is chosen with --mode"}}
	want := []string{"claude-code  rule  Read(./.env)", "    deny read(**/.env)", "    new",
		"claude-code  setting  defaultMode = plan", "    left: a mode is chosen with --mode"}
	if diff := cmp.Diff(want, broughtLines(rows, 80)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, width := range []int{0, 120} {
		if got := broughtLines(rows, width); len(got) != len(rows) {
			t.Errorf("in %d columns it is no table: %q", width, got)
		}
	}
}
