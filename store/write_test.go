package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"pawl/run"
)

// otherWriter holds the write lock as another process would.
func otherWriter(t *testing.T, s *fileStore) *fileLock {
	t.Helper()
	lock, err := openLock(filepath.Join(s.dir, "write.lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	return lock
}

// untilQueued waits until n writes wait in the queue of s.
func untilQueued(s *fileStore, n int) {
	for {
		s.mu.Lock()
		have := len(s.queue)
		s.mu.Unlock()
		if have == n {
			return
		}
		runtime.Gosched()
	}
}

func newRun(id run.ID) []run.Event {
	return []run.Event{{At: testTime, Payload: run.Created{Run: id}}}
}

func TestWritesThatWaitShareATransactionAndKeepTheirOwnErrors(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	lock := otherWriter(t, s)

	gone, cancel := context.WithCancel(t.Context())
	calls := map[string]func() error{
		"new run a":          func() error { return s.Append(t.Context(), "a", 0, newRun("a")) },
		"new run b":          func() error { return s.Append(t.Context(), "b", 0, newRun("b")) },
		"conflict":           func() error { return s.Append(t.Context(), "r", 1, newRun("r")) },
		"row for no run":     func() error { return s.Put(t.Context(), "nobody", Row{Key: "k", Kind: "say"}) },
		"row that is not in": func() error { return s.Append(t.Context(), "r", 5, newRun("r"), Taken{ID: 99}) },
		"given up":           func() error { return s.Append(gone, "c", 0, newRun("c")) },
	}
	want := map[string]error{
		"conflict": ErrConflict, "row for no run": ErrNotFound, "row that is not in": ErrTaken, "given up": context.Canceled,
	}
	got := map[string]error{}
	var mu sync.Mutex
	var all, first sync.WaitGroup
	start := func(wait *sync.WaitGroup, name string) {
		wait.Go(func() {
			err := calls[name]()
			mu.Lock()
			defer mu.Unlock()
			got[name] = err
		})
	}
	for name := range calls {
		if name != "given up" {
			start(&all, name)
		}
	}
	untilQueued(s, len(calls)-1)
	start(&first, "given up") // behind others, which stay in the queue
	untilQueued(s, len(calls))
	cancel()
	first.Wait() // it returns although the lock is held by another
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	all.Wait()

	for name := range calls {
		if !errors.Is(got[name], want[name]) {
			t.Errorf("%s: got error %v, want %v", name, got[name], want[name])
		}
	}
	if err := got["conflict"]; err.Error() != "append r #2: another process has written to this run: it has 5 events" {
		t.Errorf("the conflict says %q", err)
	}
	for id, want := range map[run.ID]error{"a": nil, "b": nil, "c": ErrNotFound} {
		if _, err := s.Run(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("run %s: got error %v, want %v", id, err, want)
		}
	}
}

func TestOneWriteThatFailsDoesNotFailThoseBesideIt(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	const limit = 100_000 // bytes in a row
	if _, err := sqlite.Limit(s.writer.conn, sqlite3.SQLITE_LIMIT_LENGTH, limit); err != nil {
		t.Fatal(err)
	}
	lock := otherWriter(t, s)
	var wait sync.WaitGroup
	errs := make([]error, 5)
	for i := range errs {
		wait.Go(func() {
			e := newRun("x")
			if i == 2 {
				e[0].Payload = run.Synthesized{Text: strings.Repeat("x", limit+1)}
			}
			errs[i] = s.Append(t.Context(), run.ID(fmt.Sprint("x", i)), 0, e)
		})
	}
	untilQueued(s, len(errs))
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	for i, err := range errs {
		if (err != nil) != (i == 2) {
			t.Errorf("append %d: %v", i, err)
		}
		if _, err := s.Run(t.Context(), run.ID(fmt.Sprint("x", i))); errors.Is(err, ErrNotFound) != (i == 2) {
			t.Errorf("run %d: %v", i, err)
		}
	}
}

func TestAContextThatEndsTooLateIsNoError(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	for n := range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		err := s.write(ctx, func(w *writer) error {
			cancel() // the caller sees it while the transaction has its job
			runtime.Gosched()
			return w.append("r", int64(5+n), mustEncode(t, int64(5+n)), nil, nil, "")
		})
		if err != nil {
			t.Fatalf("write %d: %v, although it is durable", n, err)
		}
	}
	if sum, err := s.Run(t.Context(), "r"); err != nil || sum.Seq != 55 {
		t.Errorf("the log ends at %d, error %v; want 55, nil", sum.Seq, err)
	}
}

func mustEncode(t *testing.T, after int64) []eventRow {
	t.Helper()
	rows, err := encodeRows("r", after, []run.Event{{At: testTime, Payload: run.Synthesized{}}})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestALeaderLeavesOutWhoseContextHasEnded(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	j := &job{ctx: ctx, done: make(chan struct{}), do: func(*writer) error {
		t.Error("it was performed")
		return nil
	}}
	s.queue = append(s.queue, j)
	s.turn <- struct{}{}
	s.writeQueue()
	if <-j.done; !errors.Is(j.err, context.Canceled) {
		t.Errorf("got error %v, want %v", j.err, context.Canceled)
	}
}

// That a commit survives the loss of power no test here can show; that SQLite is told
// to sync it, this one does.
func TestCommitsAreSynced(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "mmap_size": "0"} {
		var got string
		if err := s.writer.conn.QueryRowContext(background, `PRAGMA `+pragma).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
}

func TestCloseAnswersWritesThatStillWait(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	s.turn <- struct{}{} // a leader is at work
	errs := make(chan error)
	go func() { errs <- s.Append(t.Context(), "x", 0, newRun("x")) }()
	untilQueued(s, 1)
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-s.turn // it has done
	// Either the write got the turn before Close did, or it is told.
	if err := <-errs; err != nil && !errors.Is(err, ErrClosed) {
		t.Errorf("got error %v, want nil or ErrClosed", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
