package external

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"pawl/run"
)

// An agent that is stopped while a person is asked about a call does not make the call: the signals that end it reach its
// hook too, and of a hook that ends by a signal the programs take no notice.
func TestAHookThatIsStoppedSaysNo(t *testing.T) {
	t.Parallel()
	for _, signals := range []string{"kill -INT $PPID", "kill -TERM $PPID", "kill -HUP $PPID", "kill -INT $PPID $$", "kill -TERM $PPID; kill -INT $$", "kill -KILL $$"} {
		turn := Turn{State: filepath.Join(t.TempDir(), "state"), Run: run.ID("r"), Server: Server{Hook: []string{"sh", "-c", "trap - INT TERM; " + signals + "; exit 1"}}}
		err := exec.CommandContext(t.Context(), "sh", "-c", turn.hookCommand()).Run()
		exit, is := errors.AsType[*exec.ExitError](err)
		if !is || exit.ExitCode() != 2 {
			t.Errorf("%s: the hook ends with %v, want exit code 2", signals, err)
		}
	}
}
