package app

import (
	"testing"

	"pawl/permission"
	"pawl/sandbox"
)

func TestBypassAsRootNeedsASandboxOrAWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		mode    permission.Mode
		root    bool
		sandbox *sandbox.Policy
		refused bool
	}{
		{"as root without a sandbox", permission.Bypass, true, nil, true},
		{"as root in a sandbox", permission.Bypass, true, &sandbox.Policy{}, false},
		{"as a person", permission.Bypass, false, nil, false},
		{"another mode", permission.Default, true, nil, false},
	} {
		if err := mayBypass(c.mode, c.root, c.sandbox); (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
