package proctest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pawl/internal/proc/proctest"
)

func TestAProgramIsRunWhileOthersAreForked(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs sh")
	}
	// A large environment: what takes a child long between the fork and its own program.
	long := append(os.Environ(), "LONG="+strings.Repeat("x", 100<<10))
	done := make(chan struct{})
	var forks sync.WaitGroup
	for range 4 {
		forks.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				cmd := exec.Command(sh, "-c", ":")
				cmd.Env = long
				if err := cmd.Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	defer forks.Wait()
	defer close(done)
	dir, content := t.TempDir(), "#!/bin/sh\nexit 0\n"+strings.Repeat("# more\n", 1<<18)
	for i := range 30 {
		program := proctest.Program(t, filepath.Join(dir, "bin", fmt.Sprint(i)), content)
		if err := exec.Command(program).Run(); err != nil {
			t.Fatal(err)
		}
	}
}
