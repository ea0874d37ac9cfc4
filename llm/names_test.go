package llm_test

import (
	"regexp"
	"strings"
	"testing"

	"pawl/llm"
)

func TestEveryToolHasANameOfItsOwnThatEveryProviderAccepts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 30)
	tools := []string{"read", "tool_outputs.stats", "tool_outputs_stats", "a b", "a.b", "a/b", "", "9lives", "-x", "ü", long + "1", long + "2"}
	n := llm.NewNames(tools)
	fits := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
	seen := map[string]string{}
	for _, tool := range tools {
		w := n.Wire(tool)
		if !fits.MatchString(w) {
			t.Errorf("%q is called %q, which a provider refuses", tool, w)
		}
		if other, taken := seen[w]; taken {
			t.Errorf("%q and %q are both called %q", tool, other, w)
		}
		seen[w] = tool
		if back := n.Tool(w); back != tool {
			t.Errorf("%q is called %q, which is taken for %q", tool, w, back)
		}
	}
	for tool, want := range map[string]string{"read": "read", "tool_outputs_stats": "tool_outputs_stats", "never heard of": "never heard of"} {
		if got := n.Wire(tool); got != want {
			t.Errorf("%q is called %q, want %q", tool, got, want)
		}
	}
	if got := llm.NewNames([]string{"tool_outputs.stats"}).Wire("tool_outputs.stats"); got != "tool_outputs_stats" {
		t.Errorf("a dot becomes %q", got)
	}
}
