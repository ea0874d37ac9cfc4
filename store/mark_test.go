package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
)

// backup copies a store's files as they are now, but for the -shm file, which SQLite
// makes anew: as a machine leaves them that has lost its power.
func backup(t *testing.T, s *fileStore) (dir string) {
	t.Helper()
	dir = t.TempDir()
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		name, rerr := filepath.Rel(s.dir, path)
		switch to := filepath.Join(dir, name); {
		case err != nil || rerr != nil:
			return errors.Join(err, rerr)
		case d.IsDir():
			return os.MkdirAll(to, 0o700)
		case strings.HasSuffix(name, "-shm"):
			return nil
		default:
			content, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(to, content, 0o600))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// listed returns what Runs says: the ids in its order, those that are lost in brackets.
func listed(t *testing.T, s *fileStore, limit int) (ids string) {
	t.Helper()
	all, err := s.Runs(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range all {
		if sum.Damage != "" {
			ids += "[" + string(sum.ID) + "] "
		} else {
			ids += string(sum.ID) + " "
		}
	}
	return strings.TrimSpace(ids)
}

func TestADamagedWALDoesNotTakeEventsBackInSilence(t *testing.T) {
	t.Parallel()
	whole := withRun(t, Options{})
	if err := whole.Append(t.Context(), "old", 0, newRun("old")); err != nil {
		t.Fatal(err)
	}
	if _, err := whole.writer.conn.ExecContext(background, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		t.Fatal(err)
	}
	for seq := range int64(20) {
		if err := whole.Append(t.Context(), "r", 5+seq, []run.Event{{At: testTime, Payload: run.Synthesized{Text: "more"}}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := whole.Append(t.Context(), "new", int64(len(load(t, whole, "new"))), newRun("new")); err != nil {
			t.Fatal(err)
		}
	}
	const written = 25
	for name, c := range map[string]struct {
		damage func(wal string) error
		end    int64  // of the log of r
		list   string // what Runs says of all
	}{
		"nothing": {func(string) error { return nil }, written, "new r old"},
		"one byte is flipped": {func(wal string) error {
			content, err := os.ReadFile(wal)
			content[len(content)/2] ^= 1
			return errors.Join(err, os.WriteFile(wal, content, 0o600))
		}, 0, "[new] r old"},
		"it is cut": {func(wal string) error {
			info, err := os.Stat(wal)
			return errors.Join(err, os.Truncate(wal, info.Size()/2))
		}, 0, "[new] r old"},
		"it is emptied": {func(wal string) error { return os.Truncate(wal, 0) }, 5, "[new] old r"},
		"it is zeroed": {func(wal string) error {
			info, err := os.Stat(wal)
			return errors.Join(err, os.WriteFile(wal, make([]byte, info.Size()), 0o600))
		}, 5, "[new] old r"},
		"it is deleted": {func(wal string) error { return os.Remove(wal) }, 5, "[new] old r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := backup(t, whole)
			if err := c.damage(filepath.Join(dir, "pawl.db-wal")); err != nil {
				t.Fatal(err)
			}
			s := openTest(t, dir, Options{})
			seen, err := reading(s, "r", 0)
			end := int64(len(seen))
			if c.end != 0 && end != c.end || end > written {
				t.Errorf("%d events were read, want %d", end, c.end)
			}
			if d := cmp.Diff(c.list, listed(t, s, 0)); d != "" {
				t.Errorf("the list of runs (-want +got):\n%s", d)
			}
			if _, err := reading(s, "old", 0); err != nil {
				t.Errorf("a run that has lost nothing: %v", err)
			}
			if end == written {
				if err != nil {
					t.Error(err)
				}
				return
			}
			want := &ChainError{Run: "r", Seq: end + 1, What: lostEnd(end, written)}
			tail := func() error { _, err := reading(s, "r", end); return err }
			for what, err := range map[string]error{
				"Events": err, "Events of the end": tail(), "Verify": s.Verify(t.Context(), "r"), "Append": s.Append(t.Context(), "r", end, newRun("r")),
			} {
				got, _ := errors.AsType[*ChainError](err)
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s (-want +got):\n%s", what, d)
				}
			}
			if sum, err := s.Run(t.Context(), "r"); err != nil || sum.Damage == "" {
				t.Errorf("Run: damage %q, error %v", sum.Damage, err)
			}

			// The run whose log is lost as a whole is not forgotten, nor begun anew.
			if sum, err := s.Run(t.Context(), "new"); err != nil || sum.Damage == "" {
				t.Errorf("the lost run: damage %q, error %v", sum.Damage, err)
			}
			if err := s.Append(t.Context(), "new", 0, newRun("new")); !errors.Is(err, ErrCorrupt) {
				t.Errorf("Append to the lost run: %v, want ErrCorrupt", err)
			}
			// What is made now is newer than the lost run, and what was before is older.
			if err := s.Append(t.Context(), "next", 0, newRun("next")); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff("next [new]", listed(t, s, 2)); d != "" {
				t.Errorf("the last two runs (-want +got):\n%s", d)
			}
		})
	}
}

func TestAMarkSaysNothingAboutAnotherDatabase(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	before := backup(t, s)
	if err := s.Append(t.Context(), "r", 5, newRun("r")); err != nil {
		t.Fatal(err)
	}
	after := backup(t, s)

	// The database of before, with the lock files of now: it has lost an event.
	if err := os.RemoveAll(filepath.Join(before, "locks")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(after, "locks"), filepath.Join(before, "locks")); err != nil {
		t.Fatal(err)
	}
	restored := openTest(t, before, Options{})
	if _, err := reading(restored, "r", 0); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an old copy of the database: %v, want ErrCorrupt", err)
	}

	// A new database, and then the lock files of the other one.
	if err := restored.Close(); err != nil {
		t.Fatal(err)
	}
	locks, kept := filepath.Join(before, "locks"), filepath.Join(before, "kept")
	if err := errors.Join(os.Remove(filepath.Join(before, "pawl.db")), os.Rename(locks, kept)); err != nil {
		t.Fatal(err)
	}
	anew := openTest(t, before, Options{})
	if err := errors.Join(os.Remove(locks), os.Rename(kept, locks)); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, anew, 0); got != "" {
		t.Errorf("the new database has the runs %s", got)
	}
	if err := anew.Append(t.Context(), "r", 0, newRun("r")); err != nil {
		t.Error(err)
	}

	// Without its lock file a run has no mark, and continues.
	if err := os.RemoveAll(filepath.Join(before, "locks")); err != nil {
		t.Fatal(err)
	}
	if err := anew.Append(t.Context(), "r", 1, newRun("r")); err != nil {
		t.Error(err)
	}
}

func TestAMarkThatIsBehindOrTornClaimsNothing(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	path := lockPath(s.dir, "r")
	behind, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), "r", 5, newRun("r")); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string) {
		t.Helper()
		if sum, err := s.Run(t.Context(), "r"); err != nil || sum.Damage != "" || sum.Seq != 6 {
			t.Errorf("%s: number %d, damage %q, error %v", what, sum.Seq, sum.Damage, err)
		}
		if err := s.Verify(t.Context(), "r"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	write := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(behind) // killed after the commit and before the mark
	check("a mark one append behind")
	for _, n := range []int{0, 1, 50, markSize - 2, markSize - 1} {
		write(good[:n])
		check("a mark that was cut")
		write(append(append([]byte{}, good[:n]...), behind[n:]...))
		check("a mark that was half overwritten")
		write(append(make([]byte, n), good[n:]...))
		check("a mark of which a part is zero")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check("no mark")
	if err := s.Append(t.Context(), "r", 6, newRun("r")); err != nil {
		t.Fatal(err)
	}
	if m, ok := markAt(path, s.id); !ok || m.seq != 7 {
		t.Errorf("the next append left the mark %+v", m)
	}
}

// Who computes every hash again leaves a log that is intact by itself; the mark is in
// another file.
func TestALogThatWasWrittenAnewDoesNotHaveItsMark(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]int{"as long": 5, "shorter": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withRun(t, Options{})
			forged := newRun("r")
			for len(forged) < cut {
				forged = append(forged, run.Event{At: testTime, Payload: run.Synthesized{Text: "forged"}})
			}
			before := backup(t, s)
			tamper(t, s, `DELETE FROM events; DELETE FROM runs`)
			if err := os.Remove(lockPath(s.dir, "r")); err != nil {
				t.Fatal(err)
			}
			if err := s.Append(t.Context(), "r", 0, forged); err != nil {
				t.Fatal(err)
			}
			if err := s.Verify(t.Context(), "r"); err != nil {
				t.Fatalf("without a mark: %v", err)
			}
			if err := os.Rename(lockPath(before, "r"), lockPath(s.dir, "r")); err != nil {
				t.Fatal(err)
			}
			if err := s.Verify(t.Context(), "r"); !errors.Is(err, ErrCorrupt) {
				t.Errorf("Verify: %v, want ErrCorrupt", err)
			}
			if err := s.Append(t.Context(), "r", int64(cut), newRun("r")); !errors.Is(err, ErrCorrupt) {
				t.Errorf("Append: %v, want ErrCorrupt", err)
			}
		})
	}
}

func load(t *testing.T, s *fileStore, id run.ID) (events []run.Event) {
	t.Helper()
	for e, err := range s.Events(t.Context(), id, 0) {
		if errors.Is(err, ErrNotFound) {
			return nil
		} else if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}
