package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/run"
	"pawl/sandbox"
)

// In whichever temporary folder of the system a workspace is, commands find it, those that only read too.
func TestAWorkspaceIsThereWhereverItIs(t *testing.T) {
	t.Parallel()
	for _, parent := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		t.Run(parent, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.needsTree(t)
			s.needsReadOnly(t)
			top, err := os.MkdirTemp(parent, "pawl-place-")
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { os.RemoveAll(top) })
			s.workspace = filepath.Join(top, "work")
			s.write(t, filepath.Join(s.workspace, "here"), "yes")
			if s.policy, err = sandbox.For(s.workspace, s.options()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.policy.Close)
			for _, level := range []run.Confinement{run.Confined, run.ReadOnly} {
				if r := s.run(t, level, "sh", "-c", "cat here; echo x >$TMPDIR/x && cat $TMPDIR/x"); r.status.Code != 0 || r.printed != "yesx\n" {
					t.Errorf("%q: %+v %q", level, r.status, r.printed)
				}
			}
		})
	}
}

// A copy that commands could not see, because the state folder that it is in is hidden in a folder that they see, is
// refused with what to do, and not found missing by each command.
func TestACopyThatWouldBeHiddenIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	top := filepath.Join(filepath.Dir(s.home), "programs")
	s.env = append([]string{"PATH=" + top + ":" + s.getenv("PATH")}, s.env...)
	o := s.options()
	o.StateDir, o.Copy = filepath.Join(top, "state"), true
	s.workspace = filepath.Join(o.StateDir, "copies", "work")
	s.write(t, filepath.Join(s.workspace, "here"), "yes")
	if _, err := sandbox.For(s.workspace, o); err == nil || !strings.Contains(err.Error(), "PAWL_STATE_DIR") {
		t.Errorf("the copy is taken: %v", err)
	}
}
