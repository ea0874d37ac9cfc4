package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pawl/run"
	"pawl/store"
)

func testNotFound(t *testing.T, st store.Store, _ func() store.Store) {
	ctx := t.Context()
	_, err := st.Run(ctx, "r")
	wantErr(t, "Run", err, store.ErrNotFound)
	wantErr(t, "Verify", st.Verify(ctx, "r"), store.ErrNotFound)
	wantErr(t, "Put", st.Put(ctx, "r", store.Row{Key: "a", Kind: "say"}), store.ErrNotFound)
	for _, err := range st.Events(ctx, "r", 0) {
		wantErr(t, "Events", err, store.ErrNotFound)
	}
	diff(t, "Inbox", len(inbox(t, st, "r")), 0)
	all, err := st.Runs(ctx, 0)
	if err != nil || len(all) != 0 {
		t.Errorf("Runs of an empty store: %v, %v; want none", all, err)
	}
}

func testIDs(t *testing.T, st store.Store, _ func() store.Store) {
	ctx := t.Context()
	for _, id := range []run.ID{"", "..", "a/b", "A", "a b", "é", "a.lock", run.ID(strings.Repeat("a", 81)), "a\x00"} {
		_, err := st.Own(ctx, id, "")
		wantErr(t, fmt.Sprintf("Own %q", id), err, store.ErrBadID)
		wantErr(t, fmt.Sprintf("Append %q", id), st.Append(ctx, id, 0, []run.Event{created(id)}), store.ErrBadID)
	}
	begin(t, st, run.ID(strings.Repeat("a", 80)))
	begin(t, st, "0_a-z")
}

// reads calls every method that only reads, and returns their errors.
func reads(ctx context.Context, st store.Store) map[string]error {
	errs := map[string]error{"Verify": st.Verify(ctx, "r")}
	_, errs["Run"] = st.Run(ctx, "r")
	_, errs["Runs"] = st.Runs(ctx, 0)
	_, errs["Children"] = st.Children(ctx, "r")
	_, errs["Conversation"] = st.Conversation(ctx, "r")
	_, errs["Said"] = st.Said(ctx, "r")
	_, errs["Inbox"] = st.Inbox(ctx, "r")
	_, _, errs["Owner"] = st.Owner(ctx, "r")
	_, _, errs["Answer"] = st.Answer(ctx, "r", "a")
	for _, errs["Events"] = range st.Events(ctx, "r", 0) {
	}
	return errs
}

func testContext(t *testing.T, st store.Store, _ func() store.Store) {
	begin(t, st, "r")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, "Append", st.Append(ctx, "r", 1, []run.Event{noted(1)}), context.Canceled)
	wantErr(t, "Put", st.Put(ctx, "r", store.Row{Key: "a", Kind: "say"}), context.Canceled)
	_, err := st.Own(ctx, "r", "")
	wantErr(t, "Own", err, context.Canceled)
	for name, err := range reads(ctx, st) {
		wantErr(t, name, err, context.Canceled)
	}
	diff(t, "events", len(load(t, st, "r", 0)), 1)
	diff(t, "rows that wait", len(inbox(t, st, "r")), 0)
	if lease, err := st.Own(t.Context(), "r", ""); err != nil {
		t.Error(err)
	} else if err := lease.Release(); err != nil {
		t.Error(err)
	}
}

func testClosed(t *testing.T, st store.Store, reopen func() store.Store) {
	begin(t, st, "r")
	lease, err := st.Own(t.Context(), "r", "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	wantErr(t, "Append", st.Append(ctx, "r", 1, []run.Event{noted(1)}), store.ErrClosed)
	wantErr(t, "Put", st.Put(ctx, "r", store.Row{Key: "a", Kind: "say"}), store.ErrClosed)
	for name, err := range reads(ctx, st) {
		wantErr(t, name, err, store.ErrClosed)
	}
	if _, err := reopen().Own(ctx, "r", ""); err == nil {
		t.Error("a lease ended with its store, want it to last until it is released")
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}
