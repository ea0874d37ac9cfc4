package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
)

// family appends a run that has ended, with its parent or the run it was forked from, at a
// time.
func family(t *testing.T, s *fileStore, c run.Created, at time.Time, end run.End) {
	t.Helper()
	events := []run.Event{
		{At: at, Payload: c},
		{At: at, Payload: run.Prompted{Parts: []run.Part{run.Text("do it")}}},
	}
	if end != "" {
		events = append(events, run.Event{At: at, Payload: run.Ended{End: end}})
	}
	if err := s.Append(t.Context(), c.Run, 0, events); err != nil {
		t.Fatal(err)
	}
}

// left returns what there is of runs: in the tables, and lock files.
func left(t *testing.T, s *fileStore) map[string][]run.ID {
	t.Helper()
	all := map[string][]run.ID{}
	for what, query := range map[string]string{
		"runs": `SELECT id FROM runs ORDER BY id`, "events": `SELECT DISTINCT run FROM events ORDER BY run`, "inbox": `SELECT DISTINCT run FROM inbox ORDER BY run`,
	} {
		ids, err := s.ids(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		all[what] = ids
	}
	locks, err := s.marked()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(locks)
	all["locks"] = locks
	return all
}

func wantLeft(t *testing.T, what string, s *fileStore, ids ...run.ID) {
	t.Helper()
	for part, got := range left(t, s) {
		if part == "inbox" {
			continue
		}
		if d := cmp.Diff(ids, got); d != "" {
			t.Errorf("%s: %s (-want +got):\n%s", what, part, d)
		}
	}
}

func TestARemovedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	family(t, s, run.Created{Run: "kept"}, testTime, run.Completed)
	family(t, s, run.Created{Run: "child", Parent: "r"}, testTime, run.Completed)
	family(t, s, run.Created{Run: "below", Parent: "child"}, testTime, "")
	for _, id := range []run.ID{"r", "kept", "child"} {
		if err := s.Put(t.Context(), id, Row{Key: "a", Kind: "say"}); err != nil {
			t.Fatal(err)
		}
	}
	used, err := s.UsageOf(t.Context(), "r", "child", "below")
	if err != nil || used.Log < 1000 || used.Locks == 0 {
		t.Errorf("the run occupies %+v, %v", used, err)
	}
	removed, err := s.Remove(t.Context(), "r")
	if d := cmp.Diff([]run.ID{"r", "child", "below"}, removed); d != "" || err != nil {
		t.Errorf("removed (-want +got):\n%s%v", d, err)
	}
	wantLeft(t, "after", s, "kept")
	if got := left(t, s)["inbox"]; !slices.Equal(got, []run.ID{"kept"}) {
		t.Errorf("inbox rows of %v are left", got)
	}
	if _, err := s.Remove(t.Context(), "r"); !errors.Is(err, ErrNotFound) {
		t.Errorf("again: got error %v, want ErrNotFound", err)
	}
	if would, err := s.Removable(t.Context(), "r"); !errors.Is(err, ErrNotFound) {
		t.Errorf("again it would remove %v, %v", would, err)
	}
	if all, err := s.Runs(t.Context(), 0); err != nil || len(all) != 1 || all[0].Damage != "" {
		t.Errorf("the list has %+v, %v", all, err)
	}
	// The id may be used again, and other runs continue.
	for _, id := range []run.ID{"r", "kept"} {
		sum, _ := s.Run(t.Context(), id)
		if err := s.Append(t.Context(), id, sum.Seq, newRun(id)); err != nil {
			t.Errorf("run %s: %v", id, err)
		}
		if err := s.Verify(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	r := openTest(t, s.dir, Options{ReadOnly: true})
	if _, err := r.Remove(t.Context(), "r"); !errors.Is(err, ErrForReading) {
		t.Errorf("a store opened for reading: got error %v", err)
	}
}

// A process that is killed when it has removed a run leaves its lock file, but no run that is lost.
func TestARunWhoseRemovalWasCutShortIsNotLost(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	if err := s.write(t.Context(), func(w *writer) error { return w.remove("r", []run.ID{"r"}, true) }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(lockPath(s.dir, "r")); err != nil {
		t.Error(err)
	}
	if all, err := s.Runs(t.Context(), 0); len(all) != 0 || err != nil {
		t.Errorf("there are %+v, %v", all, err)
	}
}

func TestARunThatIsNeededIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{})
	for _, c := range []run.Created{
		{Run: "root"}, {Run: "child", Parent: "root"}, {Run: "fork", ForkedFrom: "root", ForkedAt: 1}, {Run: "of-child", ForkedFrom: "child", ForkedAt: 1},
	} {
		family(t, s, c, testTime, run.Completed)
	}
	refused := func(id run.ID, want *NeededError) {
		t.Helper()
		_, err := s.Remove(t.Context(), id)
		_, would := s.Removable(t.Context(), id)
		inside := s.write(t.Context(), func(w *writer) error { return w.remove(id, []run.ID{"root", "child"}, true) }) // a fork that was created after Removable
		for _, err := range []error{err, would, inside} {
			got, ok := errors.AsType[*NeededError](err)
			if want.Parent != "" && err == inside {
				continue // that does not change
			}
			if d := cmp.Diff(want, got); !ok || d != "" {
				t.Errorf("remove %s: got error %v (-want +got):\n%s", id, err, d)
			}
		}
		if sum, err := s.Run(t.Context(), id); err != nil || sum.Damage != "" {
			t.Errorf("after the refusal: %+v, %v", sum, err)
		}
	}
	refused("root", &NeededError{Run: "root", Forks: []run.ID{"fork", "of-child"}})
	refused("child", &NeededError{Run: "child", Parent: "root"})
	if got := (&NeededError{Run: "root", Forks: []run.ID{"a", "b"}}).Error(); !strings.Contains(got, "remove these first: a, b") {
		t.Errorf("it says %q", got)
	}

	lease, err := s.Own(t.Context(), "child", "/run/x.sock")
	if err != nil {
		t.Fatal(err)
	}
	for _, fork := range []run.ID{"fork", "of-child"} {
		if _, err := s.Remove(t.Context(), fork); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Remove(t.Context(), "root")
	if owned, ok := errors.AsType[*OwnedError](err); !ok || owned.Run != "child" || owned.PID != os.Getpid() {
		t.Errorf("with a child that is owned: got error %v", err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	wantLeft(t, "after the refusals", s, "child", "root")
	lease, err = s.Own(t.Context(), "root", "") // the refusals have released theirs
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if would, err := s.Removable(t.Context(), "root"); err != nil || !slices.Equal(would, []run.ID{"root", "child"}) {
		t.Errorf("it would remove %v, %v", would, err)
	}
	if _, err := s.Remove(t.Context(), "root"); err != nil {
		t.Error(err)
	}
	wantLeft(t, "in the end", s)
}

func TestARunWhoseLogIsLostCanBeRemoved(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	tamper(t, s, `DELETE FROM events`)
	tamper(t, s, `DELETE FROM runs`)
	if sum, err := s.Run(t.Context(), "r"); err != nil || sum.Damage == "" {
		t.Fatalf("the run: %+v, %v; want it damaged", sum, err)
	}
	if exists, live, err := s.Live(t.Context(), "r"); !exists || !live || err != nil {
		t.Errorf("it exists: %v, is live: %v, %v; want it left to a person", exists, live, err)
	}
	if _, err := s.Remove(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	wantLeft(t, "after", s)
	if all, err := s.Runs(t.Context(), 0); err != nil || len(all) != 0 {
		t.Errorf("the list has %+v, %v", all, err)
	}
}

func TestARemovalThatFailsLeavesTheRunWhole(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	tamper(t, s, `CREATE TRIGGER t BEFORE DELETE ON runs BEGIN SELECT raise(FAIL, 'no'); END`)
	if _, err := s.Remove(t.Context(), "r"); err == nil {
		t.Fatal("it was removed")
	}
	if m, ok := markAt(lockPath(s.dir, "r"), s.id); !ok || m.seq != 5 {
		t.Errorf("its mark is %+v, %v", m, ok)
	}
	if err := s.Verify(t.Context(), "r"); err != nil {
		t.Error(err)
	}
	tamper(t, s, `DROP TRIGGER t`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Remove(ctx, "r"); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	if err := s.Append(t.Context(), "r", 5, newRun("r")); err != nil {
		t.Error(err)
	}
}

// A process that has opened the lock file before the run was removed, and locks it after.
func TestALockOfARemovedRunIsNoLease(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	other := openTest(t, s.dir, Options{})
	for range 20 {
		begun := make(chan error)
		go func() {
			l, err := other.Own(t.Context(), "r", "")
			if err == nil {
				if !isAt(l.(*lease).lock.file, lockPath(s.dir, "r")) {
					err = errors.New("the lease is of a file that was removed")
				}
				err = errors.Join(err, l.Release())
			}
			if errors.As(err, new(*OwnedError)) {
				err = nil
			}
			begun <- err
		}()
		if _, err := s.Remove(t.Context(), "r"); err != nil && !errors.As(err, new(*OwnedError)) && !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		if err := <-begun; err != nil {
			t.Error(err)
		}
		if sum, err := s.Run(t.Context(), "r"); errors.Is(err, ErrNotFound) {
			if err := s.Append(t.Context(), "r", 0, newRun("r")); err != nil {
				t.Fatal(err)
			}
		} else if err != nil || sum.Damage != "" {
			t.Errorf("%+v, %v", sum, err)
		}
	}
}

func TestPruneRemovesOldConversationsThatAreNotLive(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := testTime.Add(100 * day)
	s := openTest(t, t.TempDir(), Options{})
	old := now.Add(-40 * day)
	for _, c := range []struct {
		run.Created
		at  time.Time
		end run.End
	}{
		{run.Created{Run: "old"}, old, run.Completed},
		{run.Created{Run: "old-child", Parent: "old"}, old, run.Completed},
		{run.Created{Run: "orphan", Parent: "elsewhere"}, old, run.EndFailed},
		{run.Created{Run: "open"}, old, ""},
		{run.Created{Run: "asks"}, old, run.Asked},
		{run.Created{Run: "owned"}, old, run.Completed},
		{run.Created{Run: "young"}, now.Add(-day), run.Completed},
		{run.Created{Run: "young-below"}, old, run.Completed},
		{run.Created{Run: "young-child", Parent: "young-below"}, now.Add(-day), run.Completed},
		{run.Created{Run: "forked"}, old, run.Completed},
		{run.Created{Run: "fork", ForkedFrom: "forked", ForkedAt: 1}, old.Add(day), run.Completed},
		{run.Created{Run: "needed"}, old, run.Completed},
		{run.Created{Run: "ended-fork", ForkedFrom: "needed", ForkedAt: 1}, old, run.Completed}, // before the one that is live
		{run.Created{Run: "needs", ForkedFrom: "needed", ForkedAt: 1}, old, ""},
	} {
		family(t, s, c.Created, c.at, c.end)
	}
	lease, err := s.Own(t.Context(), "owned", "")
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	for id, want := range map[run.ID][2]bool{
		"old": {true, false}, "old-child": {true, false}, "open": {true, true}, "asks": {true, true}, "owned": {true, true},
		"needed": {true, true}, "forked": {true, false}, "never": {false, false},
	} {
		if exists, live, err := s.Live(t.Context(), id); err != nil || [2]bool{exists, live} != want {
			t.Errorf("run %s: exists %v, live %v, %v; want %v", id, exists, live, err, want)
		}
	}
	all := left(t, s)["runs"]
	if removed, err := s.Prune(t.Context(), 0, now, false); len(removed) != 0 || err != nil {
		t.Errorf("without an age it removed %v, %v", removed, err)
	}
	want := []run.ID{"ended-fork", "fork", "forked", "old", "old-child", "orphan"}
	for _, dry := range []bool{true, false} {
		removed, err := s.Prune(t.Context(), 30*day, now, dry)
		slices.Sort(removed)
		if d := cmp.Diff(want, removed); d != "" || err != nil {
			t.Errorf("dry %v (-want +got):\n%s%v", dry, d, err)
		}
		if dry {
			wantLeft(t, "after a dry run", s, all...)
		}
	}
	wantLeft(t, "after", s, slices.DeleteFunc(all, func(id run.ID) bool { return slices.Contains(want, id) })...)
}

func TestCompactGivesRoomBack(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	big := strings.Repeat("a line of the output\n", 50_000)
	for i := range 20 {
		if err := s.Append(t.Context(), "big", int64(i), []run.Event{{At: testTime, Payload: run.Synthesized{Text: big}}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Remove(t.Context(), "big"); err != nil {
		t.Fatal(err)
	}
	before, err := s.Usage(t.Context())
	if err != nil || before.Free < 20<<20 {
		t.Fatalf("before: %+v, %v; want 20 MB free", before, err)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, s.dir, Options{})
	after, err := s.Usage(t.Context())
	if err != nil || after.Free != 0 || after.Log > 1<<20 {
		t.Errorf("after: %+v, %v", after, err)
	}
	if err := s.Verify(t.Context(), "r"); err != nil {
		t.Error(err)
	}
}

func TestTidyRemovesWhatKilledProcessesLeft(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	for _, id := range []run.ID{"stale", "young", "held"} { // as after a Remove that was killed, or Own without an Append
		if err := os.WriteFile(lockPath(s.dir, id), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := openLock(lockPath(s.dir, "held"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if got, err := lock.TryLock(); !got || err != nil {
		t.Fatal(got, err)
	}
	salvage := filepath.Join(s.dir, "recover-123")
	if err := os.MkdirAll(filepath.Join(salvage, "old"), 0o700); err != nil {
		t.Fatal(err)
	}
	kept := []string{filepath.Join(s.dir, "recover-now"), filepath.Join(s.dir, "recover-notes.txt"), filepath.Join(s.dir, "locks", "Not ours.lock")}
	if err := os.Mkdir(kept[0], 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range kept[1:] {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now().Add(-2 * time.Hour)
	for _, path := range []string{salvage, kept[1], kept[2], lockPath(s.dir, "stale"), lockPath(s.dir, "held"), lockPath(s.dir, "r")} {
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Tidy(t.Context(), time.Hour, time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := left(t, s)["locks"]; !slices.Equal(got, []run.ID{"Not ours", "held", "r", "young"}) {
		t.Errorf("lock files of %v are left", got)
	}
	if _, err := os.Stat(salvage); err == nil {
		t.Error("the folder of the recovery is left")
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("it is not ours or new, and removed: %v", err)
		}
	}
	if err := s.Append(t.Context(), "r", 5, newRun("r")); err != nil {
		t.Error(err)
	}
}
