package app_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/run"
	"pawl/store"
)

// A disk that becomes full while outputs are stored, or while events are written, leaves nothing of the run; when there is
// room, the same import succeeds.
func TestAnImportOntoAFullDiskCanBeRepeated(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root: a small file system is mounted")
	}
	for name, c := range map[string]struct {
		stored []byte
		words  string
	}{
		"outputs": {random(6 << 20), "x"},
		"events":  {random(10), strings.Repeat("much is said ", 500_000)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, "")
			ws := p.open(nil)
			p.leave(ws, run.Created{Run: "z"}, []byte("z"), ended)
			p.leave(ws, run.Created{Run: "a", System: c.words}, c.stored, ended)
			archive := exported(t, ws)
			other := p.elsewhere()
			state := other.env["PAWL_STATE_DIR"]
			ok(t, os.Mkdir(state, 0o700))
			if err := unix.Mount("tmpfs", state, "tmpfs", 0, "size=4m,mode=0700"); err != nil {
				t.Skipf("needs to mount: %v", err)
			}
			defer unix.Unmount(state, unix.MNT_DETACH)
			to := other.open(nil)
			states, err := imported(t, to, archive)
			if !errors.Is(err, store.ErrDiskFull) || !strings.Contains(err.Error(), "import run a: ") || states["run z"] != "added" {
				t.Errorf("%v, %v", states, err)
			}
			nothing(t, to, "a")
			ok(t, unix.Mount("", state, "", unix.MS_REMOUNT, "size=64m"))
			states, err = imported(t, to, archive)
			if err != nil || states["run z"] != "there" || states["run a"] != "added" || !whole(t, to, "a", c.stored) || !whole(t, to, "z", []byte("z")) {
				t.Errorf("%v, %v", states, err)
			}
			ok(t, to.Close())
		})
	}
}
