package external

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pawl/run"
)

// An agent that is stopped while a person is asked about a call does not make the call: the signals that end it reach its
// hook too, and the programs take no notice of a hook that ends by a signal, nor of one that says no without a word.
func TestAHookThatIsStoppedSaysNo(t *testing.T) {
	t.Parallel()
	for _, signals := range []string{"kill -INT $PPID", "kill -TERM $PPID", "kill -HUP $PPID", "kill -INT $PPID $$", "kill -TERM $PPID; kill -INT $$", "exit 130"} {
		turn := Turn{State: filepath.Join(t.TempDir(), "state"), Run: run.ID("r"), Server: Server{Hook: []string{"sh", "-c", "trap - INT TERM; " + signals + "; echo no >&2; exit 1"}}}
		if err := os.MkdirAll(filepath.Dir(turn.hooked()), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := exec.CommandContext(t.Context(), "sh", "-c", turn.hookCommand()).Output()
		exit, is := errors.AsType[*exec.ExitError](err)
		if !is || exit.ExitCode() != 2 || len(exit.Stderr) == 0 {
			t.Errorf("%s: the hook ends with %v and says %q, want exit code 2 and why", signals, err, exit.Stderr)
		}
	}
}
