package report

import (
	"strings"
	"testing"
)

func TestWhatIsWrongIsSaidFirst(t *testing.T) {
	t.Parallel()
	checks := []Check{
		{Topic: "files", Name: "a", State: Absent}, {Topic: "files", Name: "b", State: Good},
		{Topic: "none", Name: "c", State: Absent},
		{Topic: "agents", Name: "d", State: Absent}, {Topic: "agents", Name: "e", State: Bad}, {Topic: "agents", Name: "f", State: Unasked},
		{Topic: "rest", Name: "g", State: Good},
	}
	sortChecks(checks)
	var names []string
	for _, c := range checks {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "e f d b a g c" {
		t.Errorf("the order is %s", got)
	}
}
