//go:build unix

package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pawl/run"
	"pawl/store"
	"pawl/store/postgres"
	"pawl/store/postgres/pgtest"
	"pawl/store/socket"
	"pawl/store/storetest"
)

// open opens the store at an address until the test ends.
func open(t testing.TB, address string, opt postgres.Options) *postgres.Store {
	t.Helper()
	opt.Version = "0.1.0"
	st, err := postgres.Open(t.Context(), address, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func TestPostgreSQLPassesTheSuite(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	storetest.Run(t, func(t *testing.T) (store.Store, func() store.Store) {
		address := server.Address(t)
		return open(t, address, postgres.Options{}), func() store.Store { return open(t, address, postgres.Options{}) }
	})
}

var start = time.Date(2026, 11, 27, 12, 0, 0, 123456789, time.UTC)

// begin makes a run of one event.
func begin(t testing.TB, st store.Store, id run.ID) {
	t.Helper()
	if err := st.Append(t.Context(), id, 0, []run.Event{{At: start, Payload: run.Created{Run: id, Workspace: "/work"}}}); err != nil {
		t.Fatal(err)
	}
}

func note(text string) []run.Event {
	return []run.Event{{At: start, Payload: run.Told{Reason: run.TellRepeated, Call: "c_1", Text: text}}}
}

// texts returns those of the notes of a run, and checks its chain.
func texts(t testing.TB, st store.Store, id run.ID) (all []string) {
	t.Helper()
	for e, err := range st.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if told, ok := e.Payload.(run.Told); ok {
			all = append(all, told.Text)
		}
	}
	if err := st.Verify(t.Context(), id); err != nil {
		t.Error(err)
	}
	return all
}

// execute changes the database behind the back of the store.
func execute(t testing.TB, address, query string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

func TestManyProcessesMakeTheTablesOnce(t *testing.T) {
	t.Parallel()
	address := pgtest.Shared(t).Address(t)
	if _, err := postgres.Open(t.Context(), address, postgres.Options{ReadOnly: true}); !errors.Is(err, store.ErrNoRuns) {
		t.Errorf("a database without tables, opened for reading: %v", err)
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			st, err := postgres.Open(t.Context(), address, postgres.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer st.Close()
			if err := st.Append(t.Context(), run.ID(fmt.Sprint("r", i)), 0, []run.Event{{At: start, Payload: run.Created{}}}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	looking := open(t, address, postgres.Options{ReadOnly: true})
	if all, err := looking.Runs(t.Context(), 0); len(all) != 8 || err != nil {
		t.Errorf("there are %d runs, %v; want 8", len(all), err)
	}
	if err := looking.Append(t.Context(), "r1", 1, note("a")); !errors.Is(err, store.ErrForReading) {
		t.Errorf("a store that was opened for reading appends: %v", err)
	}
	execute(t, address, `UPDATE pawl_version SET version = version + 1`)
	if _, err := postgres.Open(t.Context(), address, postgres.Options{}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("tables of a newer pawl: %v", err)
	}
}

func TestARowThatWasChangedIsNotContinued(t *testing.T) {
	t.Parallel()
	address := pgtest.Shared(t).Address(t)
	st := open(t, address, postgres.Options{})
	for _, id := range []run.ID{"event", "summary", "end"} {
		begin(t, st, id)
		if err := st.Append(t.Context(), id, 1, append(note("one"), note("two")...)); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, address, `UPDATE events SET data = replace(data, 'one', 'eno') WHERE run = 'event' AND seq = 2; `+
		`UPDATE runs SET title = 'other' WHERE id = 'summary'; DELETE FROM events WHERE run = 'end' AND seq = 3`)
	for id, want := range map[run.ID]string{
		"event": "event 2 does not have the content", "summary": "its summary was changed", "end": "event 3 is missing",
	} {
		if err := st.Verify(t.Context(), id); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("run %s verifies with %v, want %q", id, err, want)
		} else if strings.Contains(err.Error(), "pawl.db") || strings.Contains(err.Error(), "pawl runs recover") {
			t.Errorf("what is said of a database server is for a file: %v", err)
		}
	}
	if err := st.Append(t.Context(), "summary", 3, note("three")); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a run with a changed summary was appended to: %v", err)
	}
}

func TestARowWakesTheOwnerInAnotherProcess(t *testing.T) {
	t.Parallel()
	address := pgtest.Shared(t).Address(t)
	st, other := open(t, address, postgres.Options{}), open(t, address, postgres.Options{})
	begin(t, st, "r")
	l, err := socket.Listen(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lease, err := st.Own(t.Context(), "r", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	for n := 0; ; n++ { // those before the store listens wake no one
		if err := other.Put(t.Context(), "r", store.Row{Key: fmt.Sprint(n), Kind: "say"}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-l.Wake():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestWhoHasNotTheLeaseAppendsNothing(t *testing.T) {
	t.Parallel()
	address := pgtest.Shared(t).Address(t)
	st, other := open(t, address, postgres.Options{}), open(t, address, postgres.Options{})
	begin(t, st, "r")
	lease, err := st.Own(t.Context(), "r", "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = other.Own(t.Context(), "r", "")
	if owned, ok := errors.AsType[*store.OwnedError](err); !ok || owned.Left <= 0 || owned.Left > postgres.DefaultLease {
		t.Errorf("another process is not told for how long the lease lasts: %v", err)
	}
	if err := other.Append(t.Context(), "r", 1, note("theirs")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a process without the lease: %v", err)
	}
	if err := st.Append(t.Context(), "r", 1, note("mine")); err != nil {
		t.Errorf("the owner: %v", err)
	}
	// As an administrator ends a lease, or another process has taken it over.
	execute(t, address, `UPDATE leases SET until = clock_timestamp()`)
	if err := st.Append(t.Context(), "r", 2, note("late")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the owner after the end of the lease: %v", err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(texts(t, other, "r"), " "); got != "mine" {
		t.Errorf("the log has %q", got)
	}
}
