package store

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
)

// openTest opens a store in dir until the test ends.
func openTest(t *testing.T, dir string, opt Options) *SQLite {
	t.Helper()
	s, err := Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// withRun opens a new store with a run r of five events.
func withRun(t *testing.T, opt Options) *SQLite {
	t.Helper()
	s := openTest(t, t.TempDir(), opt)
	events := []run.Event{{At: testTime, Fact: run.Created{Run: "r", Version: "0.0.1"}}}
	for _, text := range []string{"one", "two", "three", "four"} {
		events = append(events, run.Event{At: testTime, Fact: run.Synthesized{Text: text}})
	}
	if err := s.Append(t.Context(), "r", 0, events); err != nil {
		t.Fatal(err)
	}
	return s
}

// tamper changes the database as somebody with the sqlite3 command would.
func tamper(t *testing.T, s *SQLite, query string) {
	t.Helper()
	db, err := openDB(s.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyNamesTheFirstBadEvent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		query string
		bad   int64
	}{
		"a text was changed":          {`UPDATE events SET data = replace(data, 'two', 'six') WHERE seq = 3`, 3},
		"a time was changed":          {`UPDATE events SET at = at + 1 WHERE seq = 2`, 2},
		"a type was changed":          {`UPDATE events SET type = 'nudged' WHERE seq = 4`, 4},
		"a version was changed":       {`UPDATE events SET version = 2 WHERE seq = 4`, 4},
		"a hash was changed":          {`UPDATE events SET hash = zeroblob(32) WHERE seq = 2`, 2},
		"the first was removed":       {`DELETE FROM events WHERE seq = 1`, 1},
		"one was removed":             {`DELETE FROM events WHERE seq = 3`, 3},
		"the last was removed":        {`DELETE FROM events WHERE seq = 5`, 5},
		"the last two were removed":   {`DELETE FROM events WHERE seq > 3`, 4},
		"the summary was put back":    {`UPDATE runs SET seq = 4, hash = (SELECT hash FROM events WHERE seq = 4)`, 5},
		"the end was cut off":         {`DELETE FROM events WHERE seq > 3; UPDATE runs SET seq = 3`, 3},
		"one was put behind":          {`INSERT INTO events SELECT run, 6, at, type, version, data, hash FROM events WHERE seq = 5`, 6},
		"it was moved to this run":    {`UPDATE events SET run = 'x'; UPDATE events SET run = 'r' WHERE seq > 1; UPDATE events SET seq = seq - 1 WHERE run = 'r'`, 1},
		"everything was made another": {`UPDATE events SET run = 's'; UPDATE runs SET id = 's'`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withRun(t, Options{})
			if err := s.Verify(t.Context(), "r"); err != nil {
				t.Fatalf("before: %v", err)
			}
			tamper(t, s, c.query)
			id := run.ID("r")
			if _, err := s.Run(t.Context(), id); err != nil {
				id = "s"
			}
			got, ok := errors.AsType[*ChainError](s.Verify(t.Context(), id))
			if !ok || got.Run != id || got.Seq != c.bad {
				t.Errorf("got %v, want the error at event %d", got, c.bad)
			}
		})
	}
}

// The hash is a promise to old logs: it must never come out differently.
func TestTheHashIsWhatItAlwaysWas(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	var sum string
	if err := s.reader.QueryRow(`SELECT lower(hex(hash)) FROM runs WHERE id = 'r'`).Scan(&sum); err != nil {
		t.Fatal(err)
	}
	const want = "3de88d7e1260b3cc1f65057515418c3dd810b24936fd3be3316816d019cea18f"
	if sum != want {
		t.Errorf("got %s, want %s", sum, want)
	}
}

func TestAnUnreadableEventEndsTheReadingAndNamesItsWriter(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{Version: "0.9.0"})
	tamper(t, s, `UPDATE events SET type = 'teleported', version = 3 WHERE seq = 4`)
	var seen int
	var last error
	for _, err := range s.Events(t.Context(), "r", 0) {
		if last = err; err == nil {
			seen++
		}
	}
	want := &UnreadableError{Run: "r", Seq: 4, Type: "teleported", Version: 3, Writer: "0.9.0"}
	got, ok := errors.AsType[*UnreadableError](last)
	if !ok {
		t.Fatalf("got error %v, want %v", last, want)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if seen != 3 {
		t.Errorf("%d events were read before it, want 3", seen)
	}
}

func TestALogWithAHoleIsCorrupt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		query string
		seen  int
	}{
		"in the middle":        {`DELETE FROM events WHERE seq = 3`, 2},
		"at the end":           {`DELETE FROM events WHERE seq = 5`, 4},
		"data that is no JSON": {`UPDATE events SET data = '{' WHERE seq = 2`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withRun(t, Options{})
			tamper(t, s, c.query)
			var seen int
			var last error
			for _, err := range s.Events(t.Context(), "r", 0) {
				if last = err; err == nil {
					seen++
				}
			}
			if !errors.Is(last, ErrCorrupt) || seen != c.seen {
				t.Errorf("%d events, then %v; want %d, then ErrCorrupt", seen, last, c.seen)
			}
		})
	}
}
