package config

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"
)

// H53: folders of the same name whose paths have the same 32 bits of hash are two
// workspaces, with rules of their own.
func TestWorkspacesAreToldApartByMoreThan32Bits(t *testing.T) {
	t.Parallel()
	env := Env(func(string) (string, bool) { return "/state", true })
	seen := map[[4]byte]string{}
	for i := 0; ; i++ {
		workspace := fmt.Sprintf("/work/%d/app", i)
		sum := sha256.Sum256([]byte(workspace))
		other, ok := seen[[4]byte(sum[:4])]
		if !ok {
			seen[[4]byte(sum[:4])] = workspace
			continue
		}
		x, y := env.WorkspaceState(workspace), env.WorkspaceState(other)
		if x == y {
			t.Errorf("%s and %s share %s", workspace, other, x)
		}
		if base := filepath.Base(x); len(base) != len("app-")+32 {
			t.Errorf("the name %s does not have 128 bits of hash", base)
		}
		return
	}
}
