package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pawl/run"
)

// withTask makes a store with a run and a task that has it as its agent.
func withTask(t *testing.T) *fileStore {
	t.Helper()
	s := withRun(t, Options{})
	events := []TaskEvent{{At: testTime, Type: "task_created", Version: 1, Data: "{}"}, {At: testTime, Type: "agent_started", Version: 1, Run: "r", Data: `{"n":1}`}}
	err := s.AppendTask(t.Context(), TaskAppend{Task: "t1", Events: events, Row: TaskRow{Status: "waiting", Run: "r", Labels: []string{"l"}}, Runs: []run.ID{"r"},
		Submission: &Submission{Run: "r", Tool: "x", Assignment: 1, Value: "{}", At: testTime}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheRunOfAnUnfinishedTaskIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := withTask(t)
	_, err := s.Remove(t.Context(), "r")
	if needed, ok := errors.AsType[*NeededError](err); !ok || needed.Task != "t1" {
		t.Errorf("removed: %v", err)
	}
	if err := s.AppendTask(t.Context(), TaskAppend{Task: "t1", After: 2, Events: []TaskEvent{{At: testTime, Type: "done", Version: 1, Data: "{}"}}, Row: TaskRow{Status: "failed"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Remove(t.Context(), "r"); err != nil {
		t.Error(err)
	}
	if _, ok, err := s.Submitted(t.Context(), "r", "x", 1); ok || err != nil {
		t.Errorf("its submission is left: %v", err)
	}
}

// A task is driven by one process at a time, whoever drives the run of that name.
func TestATaskIsOwnedLikeARun(t *testing.T) {
	t.Parallel()
	s := withTask(t)
	for _, id := range []run.ID{"t1", TaskLease("t1"), TaskLease("t2")} {
		lease, err := s.Own(t.Context(), id, "")
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		defer lease.Release()
	}
	if _, err := s.Own(t.Context(), TaskLease("t1"), ""); !isOwned(err) {
		t.Errorf("a second driver: %v", err)
	}
}

func isOwned(err error) bool {
	_, ok := errors.AsType[*OwnedError](err)
	return ok
}

func TestATaskEventThatWasChangedIsNotRead(t *testing.T) {
	t.Parallel()
	s := withTask(t)
	tamper(t, s, `UPDATE task_events SET data = '{"n":2}' WHERE seq = 2`)
	n := 0
	for e, err := range s.TaskEvents(t.Context(), "t1", 0) {
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Error(err)
			}
			n = -n
		} else if n++; e.Seq == 2 {
			t.Error("it is read")
		}
	}
	if n != -1 {
		t.Errorf("got %d events and an error, want 1", n)
	}
}

func TestTasksAreSalvaged(t *testing.T) {
	t.Parallel()
	s := withTask(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ = salvaged(t, s.dir)
	rows, _, err := s.Tasks(t.Context(), TaskQuery{Label: "l"})
	if err != nil || len(rows) != 1 || rows[0].Seq != 2 {
		t.Errorf("%+v, %v", rows, err)
	}
	if events, err := s.taskEvents(t.Context(), "t1", 0, 2); len(events) != 2 || err != nil {
		t.Errorf("%+v, %v", events, err)
	}
	if _, ok, err := s.Submitted(t.Context(), "r", "x", 1); !ok || err != nil {
		t.Errorf("its submission: %t, %v", ok, err)
	}
	if task, err := s.TaskOf(t.Context(), "r"); task != "t1" || err != nil {
		t.Errorf("its run is of %q, %v", task, err)
	}
}

// A process that dies between the commit and its answer leaves one submission; the same
// process that comes back sees it.
func TestASubmissionIsThereAfterAKill(t *testing.T) {
	t.Parallel()
	s := withTask(t)
	copied := backup(t, s) // what is on the disk at this moment, as a kill leaves it
	again := openTest(t, copied, Options{})
	for i := range 3 {
		err := again.AppendTask(t.Context(), TaskAppend{Task: "t1", After: 2, Events: []TaskEvent{{At: testTime, Type: "x", Version: 1, Data: fmt.Sprint(i)}},
			Submission: &Submission{Run: "r", Tool: "x", Assignment: 1, Value: "{}", At: testTime}})
		if !errors.Is(err, ErrSubmitted) {
			t.Errorf("submitted again: %v", err)
		}
	}
}

// Reading a page costs the page: the events after it are not touched, so that damage there is not met.
func TestAPageOfATasksEventsReadsNoMoreThanThat(t *testing.T) {
	t.Parallel()
	s := withTask(t)
	const n = 3 * taskPage
	for seq := int64(2); seq < n; seq++ {
		if err := s.AppendTask(t.Context(), TaskAppend{Task: "t1", After: seq, Events: []TaskEvent{{Type: "x", Version: 1, Data: "{}"}}, Row: TaskRow{Summary: "{}"}}); err != nil {
			t.Fatal(err)
		}
	}
	tamper(t, s, fmt.Sprintf(`UPDATE task_events SET data = '{"a":1}' WHERE seq = %d`, n-1))
	read := func(after, limit int64) (last int64, failed error) {
		for e, err := range s.TaskEvents(t.Context(), "t1", after) {
			if failed = err; err != nil {
				break
			}
			if last = e.Seq; last == after+limit {
				break
			}
		}
		return last, failed
	}
	for _, after := range []int64{0, 1, taskPage - 1, taskPage} {
		if last, err := read(after, taskPage); last != after+taskPage || err != nil {
			t.Errorf("a page after event %d ends with %d, %v", after, last, err)
		}
	}
	if last, err := read(0, n); last != n-2 || err == nil {
		t.Errorf("all events end with %d, %v", last, err)
	}
}

func TestATaskWhoseLastEventsAreGoneIsDamaged(t *testing.T) {
	t.Parallel()
	s := withTask(t)
	tamper(t, s, `DELETE FROM task_events WHERE seq = 2`)
	var read int
	var failed error
	for _, err := range s.TaskEvents(t.Context(), "t1", 0) {
		if failed = err; err == nil {
			read++
		}
	}
	if read != 1 || !errors.Is(failed, ErrCorrupt) || !strings.Contains(failed.Error(), "event 2 is missing") {
		t.Errorf("%d events, then %v", read, failed)
	}
}

func TestAPageOfTasksBeginsOnlyAtOneThatWasNamed(t *testing.T) {
	t.Parallel()
	s := withTask(t)
	for _, from := range []string{"1", "x.1.t1", "1.x.t1", "1.99999999999999999999.t1"} {
		if rows, _, err := s.Tasks(t.Context(), TaskQuery{From: from}); !errors.Is(err, errBadPage) {
			t.Errorf("%q: %+v, %v", from, rows, err)
		}
	}
}

// Old logs are checked with it.
func TestTheHashOfATasksEventIsWhatItAlwaysWas(t *testing.T) {
	t.Parallel()
	e := TaskEvent{Seq: 2, At: testTime, Type: "agent_started", Version: 1, Run: "r", By: "ann", Data: `{"n":1}`}
	const want = "60b91e87cdc45645f5ff5c15406f6d937ec10ae98ba1b1a4c92ffde6765cae69"
	if got := fmt.Sprintf("%x", taskHash(noHash, "t1", e)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNoColumnOfATasksEventIsChangedUnnoticed(t *testing.T) {
	t.Parallel()
	s := withTask(t)
	for column, value := range map[string]string{"at": "at + 1", "type": "'x'", "version": "2", "run": "'x'", "by": "'x'", "data": "'{}'", "hash": "zeroblob(32)"} {
		tamper(t, s, "CREATE TABLE IF NOT EXISTS kept AS SELECT * FROM task_events")
		tamper(t, s, "UPDATE task_events SET "+column+" = "+value+" WHERE seq = 2")
		var last error
		for _, err := range s.TaskEvents(t.Context(), "t1", 0) {
			last = err
		}
		if !errors.Is(last, ErrCorrupt) || !strings.Contains(last.Error(), "event 2 "+changedEvent) {
			t.Errorf("%s was changed: %v", column, last)
		}
		tamper(t, s, "REPLACE INTO task_events SELECT * FROM kept")
	}
	for _, err := range s.TaskEvents(t.Context(), "t1", 0) {
		if err != nil {
			t.Errorf("changed back: %v", err)
		}
	}
}

func TestTasksAreTurnedOverOneByOne(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{})
	for _, id := range []string{"t1", "t2", "t3"} {
		if err := s.AppendTask(t.Context(), TaskAppend{Task: id, Events: []TaskEvent{{At: testTime, Type: "x", Version: 1, Data: "{}"}}}); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]string{0: "[[t3 t2 t1]]", 1: "[[t3] [t2] [t1]]", 2: "[[t3 t2] [t1]]", 3: "[[t3 t2 t1]]"} {
		var pages [][]string
		for from, more := "", true; more && len(pages) < 4; more = from != "" {
			rows, next, err := s.Tasks(t.Context(), TaskQuery{From: from, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			var page []string
			for _, row := range rows {
				page = append(page, row.ID)
			}
			pages, from = append(pages, page), next
		}
		if got := fmt.Sprint(pages); got != want {
			t.Errorf("pages of %d: %s, want %s", limit, got, want)
		}
	}
}
