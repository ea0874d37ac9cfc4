//go:build unix

package retention_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/run"
	"pawl/sandbox"
	"pawl/worker/retention"
)

// A folder of the state folder that is a link to a folder elsewhere: nothing is removed,
// written or locked there, by removing a run, pruning, or tidying.
func TestNothingIsRemovedThroughALinkInTheStateFolder(t *testing.T) {
	t.Parallel()
	// found returns the names of the folders and locks below the state folder, apart from those
	// that the person chooses: of the workspace's state.
	found := func(t *testing.T, s retention.State) (names []string) {
		err := filepath.WalkDir(s.StateDir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && (d.IsDir() || strings.HasSuffix(path, ".lock")) && path != s.Dir && path != s.StateDir && path != filepath.Dir(s.Dir) && d.Name() != "write.lock" {
				rel, err := filepath.Rel(s.StateDir, path)
				if err != nil {
					return err
				}
				names = append(names, rel)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	begin := func(t *testing.T) retention.State {
		s := newState(t)
		leave(t, s, run.Created{Run: "r1", Workspace: s.Workspace}, now.Add(-10*day), run.Completed)
		leave(t, s, run.Created{Run: "r2", Workspace: s.Workspace}, now.Add(-9*day), run.Completed)
		for _, left := range []string{"external/runs/gone/x", "rules/gone.json", "outputs/gone/gone/c.out", "journal/gone/c.json", "locks/gone.lock", "recover-1/x", "blobs/.new-1", "blobs/" + strings.Repeat("a", 64)} {
			write(t, filepath.Join(s.Dir, left))
		}
		p, err := sandbox.For(s.Workspace, sandbox.Options{StateDir: s.StateDir, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		write(t, filepath.Join(p.Temp, "old/x"))
		return s
	}
	names := found(t, begin(t))
	if len(names) < 18 {
		t.Fatalf("too little is there to be replaced: %q", names)
	}
	planted := 0
	for _, name := range names {
		s := begin(t)
		elsewhere := filepath.Join(t.TempDir(), "elsewhere")
		if err := os.Rename(filepath.Join(s.StateDir, name), elsewhere); err != nil {
			continue // a name of this time only, of a random file
		}
		planted++
		if err := os.Symlink(elsewhere, filepath.Join(s.StateDir, name)); err != nil {
			t.Fatal(err)
		}
		before := picture(t, elsewhere)
		// What of it fails does not matter here.
		s.Remove(t.Context(), "r1", false)
		s.Prune(t.Context(), day, now, false)
		s.Tidy(t.Context(), time.Nanosecond, time.Now().Add(10*day))
		s.Outputs.PruneRuns(func(run.ID) bool { return false }, false)
		sandbox.Forget(s.StateDir, s.Workspace)
		if l, err := s.Store.Own(t.Context(), "r2", "socket"); err == nil {
			l.Release()
		}
		s.Store.Append(t.Context(), "r3", 0, []run.Event{{At: now, Payload: run.Created{Run: "r3", Workspace: s.Workspace}}})
		if after := picture(t, elsewhere); after != before {
			t.Errorf("%s is a link: what it leads to was\n%sis\n%s", name, before, after)
		}
	}
	if planted < 18 {
		t.Errorf("%d links were planted", planted)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, now.Add(-20*day), now.Add(-20*day)); err != nil {
		t.Fatal(err)
	}
}

// picture returns what is at a path and below it.
func picture(t *testing.T, at string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		b.WriteString(path)
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.WriteString(" " + string(text))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
