package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
)

// openTest opens a store in dir until the test ends.
func openTest(t *testing.T, dir string, opt Options) *fileStore {
	t.Helper()
	s, err := openFile(dir, opt)
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
func withRun(t *testing.T, opt Options) *fileStore {
	t.Helper()
	s := openTest(t, t.TempDir(), opt)
	events := []run.Event{{At: testTime, Payload: run.Created{Run: "r", Version: "0.0.1"}}}
	for _, text := range []string{"one", "two", "three", "four"} {
		events = append(events, run.Event{At: testTime, Payload: run.Synthesized{Text: text}})
	}
	if err := s.Append(t.Context(), "r", 0, events); err != nil {
		t.Fatal(err)
	}
	return s
}

// tamper changes the database as somebody with the sqlite3 command would.
func tamper(t *testing.T, s *fileStore, query string) {
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

// reading returns the numbers of the events that are yielded, and the error at the end.
func reading(s *fileStore, id run.ID, after int64) (seen []int64, last error) {
	for e, err := range s.Events(background, id, after) {
		if last = err; err == nil {
			seen = append(seen, e.Seq)
		}
	}
	return seen, last
}

func TestALogThatWasChangedIsReadUpToTheChangeAndNoFurther(t *testing.T) {
	t.Parallel()
	const summary = 0
	for name, c := range map[string]struct {
		query string
		bad   int64 // the event named
		seen  int   // events before the error
	}{
		"a text was changed":        {`UPDATE events SET data = replace(data, 'two', 'six') WHERE seq = 3`, 3, 2},
		"a time was changed":        {`UPDATE events SET at = at + 1 WHERE seq = 2`, 2, 1},
		"a type was changed":        {`UPDATE events SET type = 'nudged' WHERE seq = 4`, 4, 3},
		"a version was changed":     {`UPDATE events SET version = 2 WHERE seq = 4`, 4, 3},
		"a hash was changed":        {`UPDATE events SET hash = zeroblob(32) WHERE seq = 2`, 2, 1},
		"data that is no JSON":      {`UPDATE events SET data = '{' WHERE seq = 2`, 2, 1},
		"the first was removed":     {`DELETE FROM events WHERE seq = 1`, 1, 0},
		"one was removed":           {`DELETE FROM events WHERE seq = 3`, 3, 2},
		"the last was removed":      {`DELETE FROM events WHERE seq = 5`, 5, 4},
		"the last two were removed": {`DELETE FROM events WHERE seq > 3`, 4, 3},
		"the text and the hash were changed": {
			`UPDATE events SET data = replace(data, 'four', 'five'), hash = zeroblob(32) WHERE seq = 5; UPDATE runs SET hash = zeroblob(32)`, 5, 4},
		"the summary was put back": {`UPDATE runs SET seq = 4, hash = (SELECT hash FROM events WHERE seq = 4)`, summary, 5},
		"the end was cut off": {
			`DELETE FROM events WHERE seq > 3; UPDATE runs SET seq = 3, hash = (SELECT hash FROM events WHERE seq = 3)`, 4, 3},
		"the cost was changed":        {`UPDATE runs SET cost = 0.01`, summary, 5},
		"the title was changed":       {`UPDATE runs SET title = 'forged'`, summary, 5},
		"the end was changed":         {`UPDATE runs SET ended = 'completed'`, summary, 5},
		"the writer was changed":      {`UPDATE runs SET writer = 'forged'`, summary, 5},
		"it was moved to this run":    {`UPDATE events SET run = 'x'; UPDATE events SET run = 'r' WHERE seq > 1; UPDATE events SET seq = seq - 1 WHERE run = 'r'`, 1, 0},
		"everything was made another": {`UPDATE events SET run = 's'; UPDATE runs SET id = 's'`, 1, 0},
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
			seen, err := reading(s, id, 0)
			for what, err := range map[string]error{"Verify": s.Verify(t.Context(), id), "Events": err} {
				got, ok := errors.AsType[*ChainError](err)
				if !ok || got.Run != id || got.Seq != c.bad || !errors.Is(err, ErrCorrupt) {
					t.Errorf("%s: got %v, want the error at event %d", what, err, c.bad)
				}
			}
			if len(seen) != c.seen {
				t.Errorf("the events %v were read, want the first %d", seen, c.seen)
			}
		})
	}
}

func TestVerifySeesEventsThatNoAppendHasWritten(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	tamper(t, s, `INSERT INTO events SELECT run, 6, at, type, version, data, hash FROM events WHERE seq = 5`)
	got, ok := errors.AsType[*ChainError](s.Verify(t.Context(), "r"))
	if !ok || got.Seq != 6 {
		t.Errorf("got %v, want the error at event 6", got)
	}
	if seen, err := reading(s, "r", 0); len(seen) != 5 || err != nil {
		t.Errorf("got the events %v and %v, want the 5 that were appended", seen, err)
	}
}

// A change is found wherever it lies: at the edges of what is read and checked together too.
func TestAChangeIsFoundAnywhereInALongLog(t *testing.T) {
	t.Parallel()
	const total = batchEvents + 2*chunkEvents + 10
	s := openTest(t, t.TempDir(), Options{})
	events := newRun("r")
	for n := range total - 1 {
		events = append(events, run.Event{At: testTime, Payload: run.Synthesized{Text: fmt.Sprint("text ", n)}})
	}
	if err := s.Append(t.Context(), "r", 0, events); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []int{1, 2, chunkEvents, chunkEvents + 1, batchEvents, batchEvents + 1, batchEvents + chunkEvents + 1, total} {
		where := fmt.Sprintf(` WHERE run = 'r' AND seq = %d`, bad)
		tamper(t, s, `UPDATE events SET at = at + 1`+where)
		seen, err := reading(s, "r", 0)
		got, ok := errors.AsType[*ChainError](err)
		if !ok || got.Seq != int64(bad) || len(seen) != bad-1 {
			t.Errorf("event %d was changed: %d were read, then %v", bad, len(seen), err)
		}
		if bad > 2 { // who follows the log meets it too
			if seen, err := reading(s, "r", int64(bad-2)); len(seen) != 1 || err == nil {
				t.Errorf("event %d was changed: after %d, %v were read, then %v", bad, bad-2, seen, err)
			}
		}
		tamper(t, s, `UPDATE events SET at = at - 1`+where)
	}
	if seen, err := reading(s, "r", 0); len(seen) != total || err != nil {
		t.Errorf("put right again: %d events, %v; want %d", len(seen), err, total)
	}
}

func TestARunWhoseSummaryWasChangedDoesNotGoOn(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	if err := s.Append(t.Context(), "intact", 0, newRun("intact")); err != nil {
		t.Fatal(err)
	}
	tamper(t, s, `UPDATE runs SET title = 'forged' WHERE id = 'r'`)
	if err := s.Append(t.Context(), "r", 5, newRun("r")); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Append: got error %v, want ErrCorrupt", err)
	}
	all, err := s.Runs(t.Context(), 0)
	if err != nil || len(all) != 2 {
		t.Fatalf("Runs: %d, %v; want both", len(all), err)
	}
	for _, sum := range all { // one that is damaged does not hide the others
		if (sum.Damage != "") != (sum.ID == "r") {
			t.Errorf("run %s: damage %q", sum.ID, sum.Damage)
		}
	}
}

// What a summary has in it comes back as it was, whatever that is: its seal must
// never be wrong without a reason.
func TestEverySummaryKeepsItsSeal(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{Version: "1\xff2"})
	for i, text := range []string{"", "a\x00b", "\xff\xfe", "\U0001F600", strings.Repeat("é", 200), "'; --"} {
		id := run.ID(fmt.Sprint("r", i))
		err := s.Append(t.Context(), id, 0, []run.Event{
			{Payload: run.Created{Run: id, Parent: run.ID(text), Workspace: text, Config: run.Config{Model: text}}},
			{At: time.Unix(-1<<40, 5), Payload: run.Prompted{Parts: []run.Part{run.Text(text)}}},
			{At: time.Unix(1<<33, 5), Payload: run.Replied{Usage: run.Usage{Input: -1, Output: 1 << 62, Cost: 0.1 + float64(i)/3, Priced: i%2 == 0}}},
			{Payload: run.Ended{End: run.End(text), Reason: text}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if sum, err := s.Run(t.Context(), id); err != nil || sum.Damage != "" {
			t.Errorf("%q: damage %q, error %v", text, sum.Damage, err)
		}
		if err := s.Verify(t.Context(), id); err != nil {
			t.Errorf("%q: %v", text, err)
		}
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

// So is the seal: if it came out differently, every run of every store would look changed.
func TestTheSealIsWhatItAlwaysWas(t *testing.T) {
	t.Parallel()
	h := head{Summary: Summary{ID: "r", Parent: "p", Root: "o", Forked: "f", Workspace: "/w", Model: "m", Title: "t", Name: "n",
		Created: testTime, Updated: testTime, Seq: 1, End: run.Completed, Reason: "why", Turns: 2},
		hash: []byte{3}, writer: "0.1.0", used: 4}
	h.Steps = 5
	h.Usage = run.Usage{Input: 6, CacheRead: 7, CacheWrite: 8, Output: 9, Cost: 10}
	for priced, want := range map[bool]string{
		false: "9d29749a6b7dc3e781ddbe9b582334e7e3b19922ffcc05c6cba51f8ae337edc8",
		true:  "57daa015c299556b1bda77a775132ab2ff9c767f63dc364849af7cb963931a6a",
	} {
		h.Usage.Priced = priced
		if got := hex.EncodeToString(h.sum(nil)); got != want {
			t.Errorf("priced %t: got %s, want %s", priced, got, want)
		}
	}
}

func TestAnUnreadableEventEndsTheReadingAndNamesItsWriter(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{Version: "0.9.0"})
	rows, err := encodeRows("r", 0, newRun("r"))
	if err != nil {
		t.Fatal(err)
	}
	unknown := run.Event{Seq: 2, At: testTime}
	rows = append(rows, eventRow{unknown, "teleported", 3, []byte("{}")})
	if err := s.write(t.Context(), func(w *writer) error { return w.append("r", 0, rows, nil, nil, "0.9.0") }); err != nil {
		t.Fatal(err)
	}
	seen, last := reading(s, "r", 0)
	want := &UnreadableError{Run: "r", Seq: 2, Type: "teleported", Version: 3, Writer: "0.9.0"}
	got, ok := errors.AsType[*UnreadableError](last)
	if !ok {
		t.Fatalf("got error %v, want %v", last, want)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(seen) != 1 {
		t.Errorf("the events %v were read before it, want the first", seen)
	}
	if err := s.Verify(t.Context(), "r"); err != nil {
		t.Errorf("Verify: %v, want none: the chain is intact", err)
	}
}
