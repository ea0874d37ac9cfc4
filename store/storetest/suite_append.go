package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/run"
	"pawl/store"
)

func testOrder(t *testing.T, st store.Store, reopen func() store.Store) {
	zone := time.FixedZone("elsewhere", 3*3600)
	all := []run.Event{created("r"), prompted("do it")}
	for n := range 3000 { // more than any store reads at once
		e := noted(n)
		e.At = e.At.In(zone)
		all = append(all, e)
	}
	appendTo(t, st, "r", 0, all[:2]...)
	appendTo(t, st, "r", 2, all[2])
	appendTo(t, st, "r", 3, all[3:]...)

	want := numbered(0, all...)
	diff(t, "events", load(t, st, "r", 0), want)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	diff(t, "events after the store was closed", load(t, reopen(), "r", 0), want)
}

func testAfter(t *testing.T, st store.Store, _ func() store.Store) {
	begin(t, st, "r")
	appendTo(t, st, "r", 1, noted(1), noted(2), noted(3))
	diff(t, "events after 2", load(t, st, "r", 2), numbered(2, noted(2), noted(3)))
	diff(t, "events after the last", load(t, st, "r", 4), []run.Event(nil))
	diff(t, "events after more than there are", load(t, st, "r", 99), []run.Event(nil))

	var first []run.Event
	for e, err := range st.Events(t.Context(), "r", 0) {
		if err != nil {
			t.Fatal(err)
		}
		first = append(first, e)
		break
	}
	diff(t, "events until the caller breaks off", first, numbered(0, created("r")))
}

func testConflict(t *testing.T, st store.Store, reopen func() store.Store) {
	begin(t, st, "r")
	other := reopen()
	appendTo(t, other, "r", 1, noted(1))

	ctx := t.Context()
	wantErr(t, "after a number that was used", st.Append(ctx, "r", 1, []run.Event{noted(2)}), store.ErrConflict)
	wantErr(t, "a run that exists, as new", st.Append(ctx, "r", 0, []run.Event{created("r")}), store.ErrConflict)
	wantErr(t, "after a number that is not there", st.Append(ctx, "r", 3, []run.Event{noted(2)}), store.ErrConflict)
	wantErr(t, "a new run, as existing", st.Append(ctx, "new", 1, []run.Event{noted(2)}), store.ErrConflict)
	diff(t, "events", load(t, st, "r", 0), numbered(0, created("r"), noted(1)))

	appendTo(t, st, "r", 2, noted(2)) // a writer that has read again continues
}

func testTwoWriters(t *testing.T, st store.Store, reopen func() store.Store) {
	begin(t, st, "r")
	writers := []store.Store{st, reopen(), st, reopen()}
	for round := range int64(20) {
		errs := make([]error, len(writers))
		var wait sync.WaitGroup
		for i, w := range writers {
			wait.Go(func() { errs[i] = w.Append(t.Context(), "r", 1+round, []run.Event{noted(i)}) })
		}
		wait.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				wantErr(t, "the others", err, store.ErrConflict)
			}
		}
		if won != 1 {
			t.Fatalf("round %d: %d of %d writers won, want 1", round, won, len(writers))
		}
	}
	if n := len(load(t, st, "r", 0)); n != 21 {
		t.Errorf("the log has %d events, want 21", n)
	}
}

func testAtomic(t *testing.T, st store.Store, _ func() store.Store) {
	begin(t, st, "r")
	begin(t, st, "another")
	put(t, st, "r", store.Row{Key: "a", Kind: "say", Payload: "left", At: start})
	put(t, st, "another", store.Row{Key: "a", Kind: "say", Payload: "right", At: start})
	mine, theirs := inbox(t, st, "r")[0].ID, inbox(t, st, "another")[0].ID

	ctx := t.Context()
	events := []run.Event{noted(1), noted(2)}
	wantErr(t, "taking a row of another run", st.Append(ctx, "r", 1, events, taking(mine, theirs)...), store.ErrTaken)
	wantErr(t, "a stale number", st.Append(ctx, "r", 0, events, taking(mine)...), store.ErrConflict)
	if err := st.Append(ctx, "r", 1, []run.Event{noted(1), {At: start}}, taking(mine)...); err == nil {
		t.Error("an event without a fact was appended")
	}
	if n := len(load(t, st, "r", 0)); n != 1 {
		t.Errorf("after three refusals the log has %d events, want 1", n)
	}
	if n := len(inbox(t, st, "r")); n != 1 {
		t.Errorf("after three refusals %d rows wait, want 1", n)
	}

	if err := st.Append(ctx, "r", 1, events, taking(mine)...); err != nil {
		t.Fatal(err)
	}
	diff(t, "events", load(t, st, "r", 1), numbered(1, events...))
	diff(t, "rows that wait", len(inbox(t, st, "r")), 0)
	diff(t, "rows of the other run", len(inbox(t, st, "another")), 1)
}

func testBig(t *testing.T, st store.Store, reopen func() store.Store) {
	begin(t, st, "r")
	big := at(1, run.CallSettled{Call: "c_1", Outcome: run.OK, Content: []run.Part{
		run.Text(strings.Repeat("a line with <, \" and é\n", 1<<20/24)),
		{Type: run.ImagePart, Image: &run.Image{MediaType: "image/png", Data: []byte(strings.Repeat("\x00\xff", 1<<19))}},
	}})
	events := []run.Event{big, noted(2), big, noted(3)}
	appendTo(t, st, "r", 1, events...)
	diff(t, "events", load(t, reopen(), "r", 1), numbered(1, events...))
}

func testAppendWhileReading(t *testing.T, st store.Store, _ func() store.Store) {
	begin(t, st, "r")
	appendTo(t, st, "r", 1, noted(1), noted(2))
	seq := int64(3)
	var seen int
	for _, err := range st.Events(t.Context(), "r", 0) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		appendTo(t, st, "r", seq, noted(int(seq)))
		seq++
		if n := len(load(t, st, "r", 0)); int64(n) != seq {
			t.Fatalf("inside the loop %d events are seen, want %d", n, seq)
		}
	}
	if seen != 3 {
		t.Errorf("the loop saw %d events, want the 3 there were when it began", seen)
	}
}

func testConcurrent(t *testing.T, st store.Store, reopen func() store.Store) {
	const runs, writers, each = 8, 3, 10
	stores := []store.Store{st, reopen()}
	name := func(i int) run.ID { return run.ID(fmt.Sprint("r", i)) }
	var wait sync.WaitGroup
	for i := range runs {
		begin(t, st, name(i))
		for w := range writers {
			st := stores[w%len(stores)]
			wait.Go(func() {
				for n := range each {
					if err := appendAfterLast(t.Context(), st, name(i), noted(n), noted(n)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	wait.Wait()
	for i := range runs {
		sum, err := st.Run(t.Context(), name(i))
		if err != nil {
			t.Fatal(err)
		}
		want := int64(1 + 2*writers*each)
		diff(t, "last number", sum.Seq, want)
		diff(t, "events", int64(len(load(t, st, name(i), 0))), want)
		if err := st.Verify(t.Context(), name(i)); err != nil {
			t.Error(err)
		}
	}
}

// appendAfterLast appends after whatever is last, however often another writer is first.
func appendAfterLast(ctx context.Context, st store.Store, id run.ID, events ...run.Event) error {
	for {
		sum, err := st.Run(ctx, id)
		if err != nil {
			return err
		}
		err = st.Append(ctx, id, sum.Seq, events)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

func testNoEvents(t *testing.T, st store.Store, _ func() store.Store) {
	begin(t, st, "r")
	put(t, st, "r", store.Row{Key: "a", Kind: "withdraw", At: start})
	row := inbox(t, st, "r")[0].ID
	wantErr(t, "a stale number", st.Append(t.Context(), "r", 0, nil, taking(row)...), store.ErrConflict)
	if err := st.Append(t.Context(), "r", 1, nil, taking(row)...); err != nil {
		t.Errorf("an owner that refuses a row takes it without an event: %v", err)
	}
	diff(t, "rows that wait", len(inbox(t, st, "r")), 0)
	diff(t, "events", len(load(t, st, "r", 0)), 1)
	if err := st.Append(t.Context(), "nothing", 0, nil); err != nil {
		t.Error(err)
	}
	_, err := st.Run(t.Context(), "nothing")
	wantErr(t, "a run that nothing was appended to", err, store.ErrNotFound)
}
