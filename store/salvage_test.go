package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
)

// manyRuns makes a closed store with runs of several pages each, with waiting and
// taken rows, and a child run.
func manyRuns(t *testing.T) (dir string, ids []run.ID) {
	t.Helper()
	s := openTest(t, t.TempDir(), Options{Version: "0.8.0"})
	for n := range 6 {
		id := run.ID(fmt.Sprint("r", n))
		created := run.Created{Run: id, Config: run.Config{Model: "m"}}
		if n > 0 && n%4 == 0 {
			created.Parent = "r0"
		}
		events := []run.Event{{At: testTime, Payload: created}, {At: testTime, Payload: run.Prompted{Parts: []run.Part{run.Text(fmt.Sprint("task ", n))}}}}
		for i := range 20 {
			events = append(events, run.Event{At: testTime, Payload: run.Synthesized{Text: strings.Repeat(fmt.Sprint(id, " ", i, " "), 10+50*(i%5))}})
		}
		if err := s.Append(t.Context(), id, 0, events); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"taken", "waits"} {
			if err := s.Put(t.Context(), id, Row{Key: key, Kind: "say", Payload: key, At: testTime}); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := s.Inbox(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), id, 22, []run.Event{{At: testTime, Payload: run.Said{Delivery: run.Steer, ID: "taken"}}}, Taken{rows[0].ID, "yes"}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.dir, ids
}

// salvaged salvages the store in dir and puts the new database in the place of the old.
func salvaged(t *testing.T, dir string) (*fileStore, map[run.ID]Salvaged) {
	t.Helper()
	out := filepath.Join(dir, "recovered.db")
	all, err := Salvage(t.Context(), dir, out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range sideFiles {
		if err := os.Remove(filepath.Join(dir, "pawl.db"+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.Rename(out, filepath.Join(dir, "pawl.db")); err != nil {
		t.Fatal(err)
	}
	byRun := map[run.ID]Salvaged{}
	for _, s := range all {
		byRun[s.Run] = s
	}
	return openTest(t, dir, Options{Version: "0.9.0"}), byRun
}

func TestAStoreThatIsIntactIsSavedAsItIs(t *testing.T) {
	t.Parallel()
	dir, ids := manyRuns(t)
	was := openTest(t, backup(t, &fileStore{dir: dir}), Options{})
	s, report := salvaged(t, dir)
	for _, id := range ids {
		if d := cmp.Diff(Salvaged{Run: id, Title: "task " + string(id[1:]), Kept: 23, Written: 23}, report[id]); d != "" {
			t.Errorf("run %s (-want +got):\n%s", id, d)
		}
		a, errA := was.Run(t.Context(), id)
		b, errB := s.Run(t.Context(), id)
		if d := cmp.Diff(a, b); d != "" || errA != nil || errB != nil {
			t.Errorf("its summary, errors %v, %v (-want +got):\n%s", errA, errB, d)
		}
		if d := cmp.Diff(load(t, was, id), load(t, s, id)); d != "" {
			t.Errorf("its events (-want +got):\n%s", d)
		}
		rowsA, errA := was.Inbox(t.Context(), id)
		rowsB, errB := s.Inbox(t.Context(), id)
		if d := cmp.Diff(rowsA, rowsB); d != "" || len(rowsB) != 1 || errA != nil || errB != nil {
			t.Errorf("its inbox, errors %v, %v (-want +got):\n%s", errA, errB, d)
		}
		if answer, taken, err := s.Answer(t.Context(), id, "taken"); answer != "yes" || !taken || err != nil {
			t.Errorf("its answer: %q, %v, %v", answer, taken, err)
		}
		if err := s.Append(t.Context(), id, 23, newRun(id)); err != nil {
			t.Errorf("it does not continue: %v", err)
		}
	}
	if d := cmp.Diff(listed(t, was, 0), "r5 r3 r2 r1 r0"); d != "" {
		t.Errorf("the order (-want +got):\n%s", d)
	}
}

// Whatever page is damaged, what is kept is what was written, and one damaged page of
// events costs the runs that are on it.
func TestOneDamagedPageCostsTheRunsThatAreOnIt(t *testing.T) {
	t.Parallel()
	dir, ids := manyRuns(t)
	was := openTest(t, backup(t, &fileStore{dir: dir}), Options{})
	events := map[run.ID][]run.Event{}
	for _, id := range ids {
		events[id] = load(t, was, id)
	}
	content, err := os.ReadFile(filepath.Join(dir, "pawl.db"))
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for n := 1; n < len(content)/page; n++ {
		damaged := backup(t, &fileStore{dir: dir})
		broken := append([]byte{}, content...)
		copy(broken[n*page:(n+1)*page], strings.Repeat("garbage!", page/8))
		if err := os.WriteFile(filepath.Join(damaged, "pawl.db"), broken, 0o600); err != nil {
			t.Fatal(err)
		}
		s, report := salvaged(t, damaged)
		short := 0
		for _, id := range ids {
			r := report[id]
			got, err := reading(s, id, 0)
			if r.Run != id || int64(len(got)) != r.Kept || r.Kept > 23 || r.Written != 23 || (r.Kept < 23) != (r.Lost != "" && !strings.Contains(r.Lost, "inbox")) {
				t.Fatalf("page %d: run %s: %+v, and %d events are read", n, id, r, len(got))
			}
			i := 0
			for e, err := range s.Events(t.Context(), id, 0) {
				if err != nil {
					break
				}
				if d := cmp.Diff(events[id][i], e); d != "" {
					t.Fatalf("page %d: run %s (-want +got):\n%s", n, id, d)
				}
				i++
			}
			if r.Kept == 23 {
				if err != nil {
					t.Fatalf("page %d: run %s is whole, and cannot be read: %v", n, id, err)
				}
				continue
			}
			short++
			// It is read up to there and does not continue by itself.
			if err := s.Append(t.Context(), id, r.Kept, newRun(id)); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("page %d: run %s has lost its end and continues: %v", n, id, err)
			}
		}
		const interior = 2 // sqlite.org/fileformat.html, "B-tree Pages": the way to other pages
		if short > 2 && content[n*page] != interior {
			t.Errorf("page %d cost %d runs, want at most 2", n, short)
		}
	}
}

func TestOneDamagedEventCostsWhatIsAfterIt(t *testing.T) {
	t.Parallel()
	dir, _ := manyRuns(t)
	s := openTest(t, dir, Options{})
	tamper(t, s, `UPDATE events SET data = replace(data, 'r1 7', 'r1 8') WHERE run = 'r1' AND seq = 10;
		UPDATE runs SET title = 'forged' WHERE id = 'r2';
		DELETE FROM runs WHERE id = 'r3';
		DELETE FROM events WHERE run = 'r5' AND seq > 20`)
	// A database without a mark knows from its own row how far the log had got.
	if err := errors.Join(os.Remove(lockPath(dir, "r5")), s.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "pawl.db"))
	if err != nil {
		t.Fatal(err)
	}
	copied := backup(t, &fileStore{dir: dir})
	if _, err := Salvage(t.Context(), dir, filepath.Join(dir, "recovered.db"), Options{}); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "pawl.db"))
	if err != nil || string(before) != string(after) {
		t.Errorf("the old database was changed, error %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "recover-*")); err != nil || len(left) > 0 {
		t.Errorf("it has left %v, %v", left, err)
	}

	s, report := salvaged(t, copied)
	for id, want := range map[run.ID]Salvaged{
		"r0": {Kept: 23, Written: 23},
		"r1": {Kept: 9, Written: 23, Lost: "event 10 " + changedEvent},
		"r2": {Kept: 23, Written: 23},
		"r3": {Kept: 23, Written: 23},
		"r5": {Kept: 20, Written: 23, Lost: "event 21 " + lostEnd(20, 23)},
	} {
		want.Run, want.Title = id, "task "+string(id[1:])
		if d := cmp.Diff(want, report[id]); d != "" {
			t.Errorf("run %s (-want +got):\n%s", id, d)
		}
		sum, err := s.Run(t.Context(), id)
		if err != nil || sum.Title != want.Title || (sum.Damage != "") != (want.Lost != "") {
			t.Errorf("run %s: %+v, %v", id, sum, err)
		}
		if err := s.Verify(t.Context(), id); (err != nil) != (want.Lost != "") {
			t.Errorf("run %s: Verify: %v", id, err)
		}
	}
}

func TestSalvageSaysWhatStopsIt(t *testing.T) {
	t.Parallel()
	salvage := func(dir string, opt Options) error {
		_, err := Salvage(context.Background(), dir, filepath.Join(dir, "recovered.db"), opt)
		return err
	}
	if err := salvage(t.TempDir(), Options{}); !errors.Is(err, ErrNoRuns) {
		t.Errorf("a folder without a store: %v, want ErrNoRuns", err)
	}

	dir, _ := manyRuns(t)
	if err := os.WriteFile(filepath.Join(dir, "recovered.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := salvage(dir, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there: %v, want fs.ErrExist", err)
	}

	dir, _ = manyRuns(t)
	if err := os.WriteFile(filepath.Join(dir, "pawl.db"), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := salvage(dir, Options{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a file that is no database: %v, want ErrCorrupt", err)
	}

	dir, _ = manyRuns(t)
	lock, err := openLock(filepath.Join(dir, "write.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	unlock, err := lock.AcquireWithin(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if err := salvage(dir, Options{patience: time.Microsecond}); !errors.As(err, new(*LockedError)) {
		t.Errorf("another process writes: %v, want a LockedError", err)
	}
}
