package storetest

import (
	"testing"
	"time"

	"pawl/run"
	"pawl/store"
)

func testInbox(t *testing.T, st store.Store, reopen func() store.Store) {
	begin(t, st, "r")
	begin(t, st, "another")
	other := reopen()
	zone := time.FixedZone("elsewhere", 3*3600)
	put(t, st, "r", store.Row{Key: "b", Kind: "say", Payload: "first", At: start.In(zone)})
	put(t, other, "r", store.Row{Key: "a", Kind: "say", Payload: "second", At: start})
	put(t, other, "r", store.Row{Key: "b", Kind: "say", Payload: "a repeat", At: start})
	put(t, st, "another", store.Row{Key: "b", Kind: "say", Payload: "not a repeat", At: start})

	rows := inbox(t, st, "r")
	diff(t, "rows seen by the other process", inbox(t, other, "r"), rows)
	for i := range rows {
		if rows[i].ID <= 0 || i > 0 && rows[i].ID <= rows[i-1].ID {
			t.Errorf("row %d has id %d, want ids that rise", i, rows[i].ID)
		}
		rows[i].ID = 0
	}
	diff(t, "rows", rows, []store.Row{
		{Key: "b", Kind: "say", Payload: "first", At: start},
		{Key: "a", Kind: "say", Payload: "second", At: start},
	})
	diff(t, "rows of the other run", len(inbox(t, st, "another")), 1)

	diff(t, "runs with rows", inboxes(t, other), []run.ID{"another", "r"})

	before := time.Now()
	put(t, st, "r", store.Row{Key: "now", Kind: "interrupt"})
	if got := inbox(t, st, "r")[2].At; got.Before(before.Round(0)) || got.After(time.Now()) {
		t.Errorf("a row without a time got %v, want the present", got)
	}
	wantErr(t, "a row without a key", st.Put(t.Context(), "r", store.Row{Kind: "say"}), store.ErrNoKey)
}

func testTake(t *testing.T, st store.Store, reopen func() store.Store) {
	begin(t, st, "r")
	row := store.Row{Key: "a", Kind: "say", Payload: "left", At: start}
	put(t, reopen(), "r", row)
	put(t, st, "r", store.Row{Key: "b", Kind: "say", Payload: "right", At: start})
	rows := inbox(t, st, "r")

	if err := st.Append(t.Context(), "r", 1, []run.Event{noted(1)}, taking(rows[0].ID)...); err != nil {
		t.Fatal(err)
	}
	diff(t, "rows that wait", inbox(t, st, "r"), rows[1:])
	diff(t, "runs with rows that wait", inboxes(t, st), []run.ID{"r"})
	wantErr(t, "taking a row twice", st.Append(t.Context(), "r", 2, []run.Event{noted(2)}, taking(rows[0].ID)...), store.ErrTaken)
	put(t, reopen(), "r", row)
	diff(t, "rows after a repeat of one that was taken", inbox(t, st, "r"), rows[1:])
}

func testAnswer(t *testing.T, st store.Store, reopen func() store.Store) {
	begin(t, st, "r")
	begin(t, st, "another")
	ctx := t.Context()
	ask := func(key string) store.Taken {
		put(t, reopen(), "r", store.Row{Key: key, Kind: "of a newer pawl", Payload: "do it", At: start})
		rows := inbox(t, st, "r")
		diff(t, "the row of an unknown kind", rows[len(rows)-1].Kind, "of a newer pawl")
		return store.Taken{ID: rows[len(rows)-1].ID}
	}
	want := func(what, key, answer string, taken bool) {
		t.Helper()
		gotAnswer, gotTaken, err := reopen().Answer(ctx, "r", key)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, what, []any{gotAnswer, gotTaken}, []any{answer, taken})
	}
	a, b := ask("a"), ask("b")
	want("a row that waits", "a", "", false)

	a.Answer = `{"ok":true}`
	wantErr(t, "a stale number", st.Append(ctx, "r", 0, []run.Event{noted(1)}, a), store.ErrConflict)
	want("a row that waits after a failed append", "a", "", false)
	if err := st.Append(ctx, "r", 1, []run.Event{noted(1)}, a, b); err != nil {
		t.Fatal(err)
	}
	want("a row that was taken", "a", `{"ok":true}`, true)
	want("a row that was taken without an answer", "b", "", true)

	put(t, st, "r", store.Row{Key: "a", Kind: "say", Payload: "do it again", At: start})
	want("a row that was repeated", "a", `{"ok":true}`, true)
	diff(t, "rows that wait", len(inbox(t, st, "r")), 0)

	for name, id := range map[string]run.ID{"another run": "another", "no run": "nothing"} {
		_, _, err := st.Answer(ctx, id, "a")
		wantErr(t, name, err, store.ErrNoRow)
	}
	_, _, err := st.Answer(ctx, "r", "c")
	wantErr(t, "another key", err, store.ErrNoRow)
}
