package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/run"
)

// An id that could not be the name of a lock is that of no task.
func TestAnIDThatNoTaskHas(t *testing.T) {
	t.Parallel()
	s := withTask(t)
	for _, id := range []string{"", "../x", "T1", fmt.Sprintf("%061d", 1)} {
		if _, err := s.Task(t.Context(), id); !errors.Is(err, ErrNoTask) {
			t.Errorf("Task %q: %v", id, err)
		}
		if err := s.AppendWithTask(t.Context(), "r", 5, newRun("r"), TaskAppend{Task: id}); !errors.Is(err, ErrNoTask) {
			t.Errorf("AppendWithTask %q: %v", id, err)
		}
	}
	if sum, err := s.Run(t.Context(), "r"); err != nil || sum.Seq != 5 {
		t.Errorf("number %d, %v; want 5", sum.Seq, err)
	}
}

// A log is read from any number on, if the event before is there; whose end is another than the
// summary says is read to its end and then refused.
func TestALogThatLacksAnEventIsNotReadFromThereOn(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	if seen, err := reading(s, "r", 2); !slices.Equal(seen, []int64{3, 4, 5}) || err != nil {
		t.Errorf("events %v, %v", seen, err)
	}
	tamper(t, s, `DELETE FROM events WHERE seq = 2`)
	for after, want := range map[int64]int64{0: 2, 1: 2, 2: 2} {
		seen, err := reading(s, "r", after)
		if bad, ok := errors.AsType[*ChainError](err); !ok || bad.Seq != want || bad.What != "is missing" {
			t.Errorf("after %d: events %v, %v", after, seen, err)
		}
	}
	task := withTask(t)
	tamper(t, task, `DELETE FROM task_events WHERE seq = 1`)
	for _, err := range task.TaskEvents(t.Context(), "t1", 0) {
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("of a task without its first event: %v", err)
		}
	}
}

func TestALogWithAnotherEndThanItsSummarySaysIsRefused(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	clearMark(s.dir, "r")
	err := s.write(t.Context(), func(w *writer) error {
		h, err := w.head("r")
		h.hash = noHash
		return errors.Join(err, w.setHead(h))
	})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := reading(s, "r", 0)
	if bad, ok := errors.AsType[*ChainError](err); len(seen) != 5 || !ok || bad.Seq != 5 || bad.What != changedEnd {
		t.Errorf("events %v, %v", seen, err)
	}
}

// An event of a known type that does not have its form, though the chain holds.
func TestAnEventWithoutItsFormIsNamedWithItsRun(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	err := s.write(t.Context(), func(w *writer) error {
		return w.append("r", 5, []eventRow{{run.Event{Seq: 6, At: testTime}, "prompted", 1, []byte("7")}}, nil, nil, "")
	})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := reading(s, "r", 0)
	if len(seen) != 5 {
		t.Errorf("events %v are read, want 5", seen)
	}
	wantFault(t, err, ErrCorrupt, s.path)
}

// leaving is a context whose caller leaves after it was asked some times.
type leaving struct {
	context.Context
	left *int
}

func (l leaving) Err() error {
	if *l.left--; *l.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestReadingEndsWhenItsCallerLeaves(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	left := 3 // the look-up, and two events
	var seen []int64
	var last error
	for e, err := range s.Events(leaving{t.Context(), &left}, "r", 0) {
		if last = err; err == nil {
			seen = append(seen, e.Seq)
		}
	}
	if !slices.Equal(seen, []int64{1, 2}) || !errors.Is(last, context.Canceled) {
		t.Errorf("events %v, %v", seen, last)
	}
}

// What another process does between the look at what may be removed and the removal.
func TestARunThatIsNeededSinceIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := withTask(t)
	family(t, s, run.Created{Run: "p"}, testTime, run.Completed)
	family(t, s, run.Created{Run: "c", Parent: "p"}, testTime, run.Completed)
	for id, is := range map[run.ID]func(error) bool{
		"gone": func(err error) bool { return errors.Is(err, ErrNotFound) },
		"p":    func(err error) bool { return errors.Is(err, ErrConflict) },
		"r": func(err error) bool {
			needed, ok := errors.AsType[*NeededError](err)
			return ok && needed.Task == "t1" && needed.Run == "r"
		},
	} {
		if err := s.write(t.Context(), func(w *writer) error { return w.remove(id, []run.ID{id}, false) }); !is(err) {
			t.Errorf("%s: %v", id, err)
		}
	}
	wantLeft(t, "nothing was removed", s, "c", "p", "r")
	// A lock file that no append has marked is no reason to keep a run.
	clearMark(s.dir, "p")
	if removed, err := s.Remove(t.Context(), "p"); err != nil || !slices.Equal(removed, []run.ID{"p", "c"}) {
		t.Errorf("removed %v, %v", removed, err)
	}
}

func TestPruneKeepsTheRunOfAnUnfinishedTask(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{})
	family(t, s, run.Created{Run: "r"}, testTime, run.Completed)
	append := func(after int64, agent run.ID) {
		t.Helper()
		events := []TaskEvent{{At: testTime, Type: "x", Version: 1, Data: "{}"}}
		if err := s.AppendTask(t.Context(), TaskAppend{Task: "t1", After: after, Events: events, Row: TaskRow{Run: agent}}); err != nil {
			t.Fatal(err)
		}
	}
	prune := func() []run.ID {
		t.Helper()
		removed, err := s.Prune(t.Context(), time.Hour, testTime.Add(24*time.Hour), false)
		if err != nil {
			t.Fatal(err)
		}
		return removed
	}
	append(0, "r")
	if removed := prune(); len(removed) > 0 {
		t.Errorf("while the task needs it: %v", removed)
	}
	append(1, "")
	if removed := prune(); !slices.Equal(removed, []run.ID{"r"}) {
		t.Errorf("when the task has ended: %v", removed)
	}
}

// Without the lock folder no run has an owner, and its runs can still be read.
func TestAStoreWithoutLocksHasItsRuns(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	if err := os.RemoveAll(filepath.Join(s.dir, "locks")); err != nil {
		t.Fatal(err)
	}
	if runs, err := s.Runs(t.Context(), 0); err != nil || len(runs) != 1 {
		t.Errorf("runs %v, %v", runs, err)
	}
	if owned, err := s.Owned(t.Context()); err != nil || len(owned) != 0 {
		t.Errorf("owned %v, %v", owned, err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "locks"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if owned, err := s.Owned(t.Context()); err == nil {
		t.Errorf("with a file in the place of the folder %v are owned", owned)
	}
	if _, err := s.Own(t.Context(), "r", ""); err == nil {
		t.Error("with a file in the place of the folder a run is owned")
	}
	if freed, err := s.Tidy(t.Context(), 0, time.Now()); err == nil {
		t.Errorf("with a file in the place of the folder %d bytes are freed", freed)
	}
	if _, err := openTest(t, s.dir, Options{ReadOnly: true}).Tidy(t.Context(), 0, time.Now()); !errors.Is(err, ErrForReading) {
		t.Errorf("a reader tidies: %v", err)
	}
}

// A database without tables is one that another process is about to create.
func TestADatabaseThatIsBeingCreatedHasNoRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := openDB(filepath.Join(dir, File), url.Values{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE one (x)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrNoRuns) {
		t.Errorf("opened: %v", err)
	}
	s := withRun(t, Options{})
	if err := s.writer.create(); err != nil { // as of a process that was second
		t.Errorf("created again: %v", err)
	}
	if err := s.Verify(t.Context(), "r"); err != nil {
		t.Error(err)
	}
}

func TestAFolderThatCannotBeMadeIsSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, opt := range []Options{{}, {ReadOnly: true}} {
		if _, err := Open(filepath.Join(file, "a", "b"), opt); !errors.Is(err, ErrReadOnly) {
			t.Errorf("below a file, %+v: %v", opt, err)
		}
	}
	long := filepath.Join(dir, strings.Repeat("x", 300))
	if _, err := Open(long, Options{}); err == nil || !strings.Contains(err.Error(), "mkdir "+long) {
		t.Errorf("with a name that is too long: %v", err)
	}
	if _, err := Salvage(t.Context(), dir, filepath.Join(dir, "gone", "out"), Options{}); err == nil {
		t.Error("a store is saved in a folder that is not there")
	}
}

// A mark in the lock file of what is no run names no run that was lost.
func TestAMarkOfNoRunIsNotSalvaged(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	setMark(s.dir, mark{"Not ours", s.id, 1, 1, noHash})
	setMark(s.dir, mark{"lost", s.id, 1, 1, noHash})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, all := salvaged(t, s.dir)
	if len(all) != 2 || all["r"].Kept != 5 || all["lost"].Lost != "event 1 "+lostEnd(0, 1) {
		t.Errorf("salvaged: %+v", all)
	}
}

// What is put in the place of a database that is being read is not what was opened.
func TestAReaderOfADatabaseThatWasReplacedGoesOnWithItsOwn(t *testing.T) {
	t.Parallel()
	s, other := withRun(t, Options{}), openTest(t, t.TempDir(), Options{})
	if err := errors.Join(other.Append(t.Context(), "other", 0, newRun("other")), other.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	garbage := filepath.Join(other.dir, "garbage")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	reader := openTest(t, s.dir, Options{ReadOnly: true})
	for _, with := range []string{other.path, garbage} {
		if err := os.Rename(with, s.path); err != nil {
			t.Fatal(err)
		}
		if sum, err := reader.Run(t.Context(), "r"); err != nil || sum.Seq != 5 {
			t.Errorf("replaced by %s: number %d, %v; want 5", filepath.Base(with), sum.Seq, err)
		}
		if _, err := reader.Run(t.Context(), "other"); !errors.Is(err, ErrNotFound) {
			t.Errorf("replaced by %s: the run of another database: %v", filepath.Base(with), err)
		}
	}
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	if sum, err := reader.Run(t.Context(), "r"); err != nil || sum.Seq != 5 {
		t.Errorf("removed: number %d, %v; want 5", sum.Seq, err)
	}
}

// A caller that never gives up is its own leader.
func TestAWriteOfACallerThatNeverLeaves(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	if err := s.Append(context.WithoutCancel(t.Context()), "r", 5, newRun("r")); err != nil {
		t.Error(err)
	}
	if sum, err := s.Run(t.Context(), "r"); err != nil || sum.Seq != 6 {
		t.Errorf("number %d, %v; want 6", sum.Seq, err)
	}
}

// A caller that waits for its turn to write stops waiting when its context ends or the store is closed.
func TestWaitingForATurnEndsWithItsCallerAndTheStore(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	never := func(*writer) error { return errors.New("it was done") }
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s.turn <- struct{}{}
	if err := s.whileLocked(gone, never); !errors.Is(err, context.Canceled) {
		t.Errorf("its caller has left: %v", err)
	}
	<-s.turn
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.whileLocked(t.Context(), never); !errors.Is(err, ErrClosed) {
		t.Errorf("the store is closed: %v", err)
	}
}

func TestAWriteThatWaitsForItsTurnEndsWithItsCallerAndTheStore(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	never := func(*writer) error { return errors.New("it was done") }
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s.turn <- struct{}{}
	if err := s.write(gone, never); !errors.Is(err, context.Canceled) {
		t.Errorf("its caller has left: %v", err)
	}
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	if err := s.write(t.Context(), never); !errors.Is(err, ErrClosed) {
		t.Errorf("the store is closed: %v", err)
	}
	<-s.turn
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestAWriteThatWaitsForAnotherProcessEndsWithTheStore(t *testing.T) {
	t.Parallel()
	waits := make(chan struct{})
	s := withRun(t, Options{patience: time.Millisecond, Waiting: func(*LockedError) { close(waits) }})
	other, err := openLock(s.writer.lock.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	written, closed := make(chan error, 1), make(chan error, 1)
	go func() { written <- s.Append(background, "r", 5, newRun("r")) }()
	<-waits
	go func() { closed <- s.Close() }()
	if err := <-written; !errors.Is(err, ErrClosed) {
		t.Errorf("the store is closed: %v", err)
	}
	if err := errors.Join(other.Unlock(), other.Close(), <-closed); err != nil {
		t.Error(err)
	}
}

// A commit waits for the disk itself, macOS's too; no file is mapped into memory, and what only reads
// cannot write. The values are those of sqlite.org/pragma.html.
func TestTheConnectionsAreDurableAndSafe(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	both := map[string]string{"journal_mode": "wal", "busy_timeout": "10000", "mmap_size": "0", "temp_store": "2"}
	for name, want := range both {
		var reads string
		if err := s.reader.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&reads); err != nil || reads != want {
			t.Errorf("who reads has %s=%s, want %s: %v", name, reads, want, err)
		}
	}
	var only string
	if err := s.reader.QueryRowContext(t.Context(), "PRAGMA query_only").Scan(&only); err != nil || only != "1" {
		t.Errorf("who reads has query_only=%s: %v", only, err)
	}
	maps.Copy(both, map[string]string{"synchronous": "2", "fullfsync": "1", "checkpoint_fullfsync": "1"})
	for name, want := range both {
		var writes string
		if err := s.writer.conn.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&writes); err != nil || writes != want {
			t.Errorf("who writes has %s=%s, want %s: %v", name, writes, want, err)
		}
	}
}

// Only what a person has said is searched.
func TestOnlyWhatAPersonSaysIsSearched(t *testing.T) {
	t.Parallel()
	parts := []run.Part{run.Text("look")}
	for want, p := range map[string]run.Payload{"[look]": run.Prompted{Parts: parts}, "[]": run.Synthesized{Text: "look"}} {
		if got := fmt.Sprint(SaidIn(run.Event{Payload: p})); got != want {
			t.Errorf("%T: %s, want %s", p, got, want)
		}
	}
}

// A folder in the place of a lock file is not a lock, and is not removed.
func TestAFolderInPlaceOfALockIsSaid(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	path := lockPath(s.dir, "x")
	if err := os.MkdirAll(filepath.Join(path, "in it"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Own(t.Context(), "x", ""); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("it is owned: %v", err)
	}
	if _, err := s.Tidy(t.Context(), 0, time.Now().Add(time.Hour)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("it is tidied: %v", err)
	}
	if _, err := os.Stat(filepath.Join(path, "in it")); err != nil {
		t.Error(err)
	}
}

func TestSayingsThatCannotBeReadAreAnError(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{})
	family(t, s, run.Created{Run: "r"}, testTime, run.Completed)
	if said, err := s.Said(t.Context(), "r"); err != nil || !slices.Equal(said, []string{"do it"}) {
		t.Errorf("said %q, %v", said, err)
	}
	tamper(t, s, `UPDATE events SET version = 'x'`)
	if said, err := s.Said(t.Context(), "r"); err == nil {
		t.Errorf("said %q", said)
	}
}

// A process that has signed the lock but no longer holds it is not reported as the holder.
func TestOnlyWhoHoldsTheLockHasTheDatabase(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	holder := func() int {
		t.Helper()
		locked, ok := errors.AsType[*LockedError](s.lockedError())
		if !ok || locked.Path != s.path {
			t.Fatalf("got %+v", locked)
		}
		return locked.PID
	}
	lock, err := openLock(filepath.Join(s.dir, "write.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	unlock, err := lock.AcquireWithin(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if pid := holder(); pid != os.Getpid() {
		t.Errorf("while it is held: process %d, want %d", pid, os.Getpid())
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if pid := holder(); pid != 0 {
		t.Errorf("when it is free: process %d, want none", pid)
	}
	if err := os.Remove(filepath.Join(s.dir, "write.lock")); err != nil {
		t.Fatal(err)
	}
	if pid := holder(); pid != 0 {
		t.Errorf("when it is gone: process %d, want none", pid)
	}
}

func TestTheRunThatWasUsedLastIsListedFirst(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	family(t, s, run.Created{Run: "later"}, testTime, run.Completed)
	if runs, err := s.Runs(t.Context(), 1); err != nil || len(runs) != 1 || runs[0].ID != "later" {
		t.Errorf("the last run: %+v, %v", runs, err)
	}
}

// Whose owner cannot be told is no reason to say that nobody drives anything.
func TestALockThatCannotBeReadIsSaid(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	path := lockPath(s.dir, "r")
	if err := errors.Join(os.Remove(path), os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), path)); err != nil {
		t.Fatal(err)
	}
	if owned, err := s.Owned(t.Context()); err == nil {
		t.Errorf("with a link in the place of a lock %v are owned", owned)
	}
}

// A run without a mark gets none from a removal that failed.
func TestARemovalThatFailsMakesNoMark(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{})
	family(t, s, run.Created{Run: "p"}, testTime, run.Completed)
	family(t, s, run.Created{Run: "c", Parent: "p"}, testTime, run.Completed)
	clearMark(s.dir, "c")
	tamper(t, s, `CREATE TRIGGER t BEFORE DELETE ON events BEGIN SELECT raise(FAIL, 'no'); END`)
	if removed, err := s.Remove(t.Context(), "p"); err == nil {
		t.Fatalf("%v were removed", removed)
	}
	for id, want := range map[run.ID]bool{"p": true, "c": false} {
		if m, ok := markAt(lockPath(s.dir, id), s.id); ok != want {
			t.Errorf("the mark of %s is %+v, %v", id, m, ok)
		}
	}
}

// The mark of a run that has lost its last event keeps what is known of that event.
func TestTheMarkOfARunThatWasSavedKnowsWhatItLost(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	h, err := s.head("r")
	if err != nil {
		t.Fatal(err)
	}
	tamper(t, s, `DELETE FROM events WHERE seq = 5`)
	clearMark(s.dir, "r")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, all := salvaged(t, s.dir)
	if m, ok := markAt(lockPath(s.dir, "r"), s.id); all["r"].Kept != 4 || !ok || m.seq != 5 || string(m.hash) != string(h.hash) {
		t.Errorf("saved %+v; its mark is %+v, %v", all["r"], m, ok)
	}
}
