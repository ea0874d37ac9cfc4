package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
	"pawl/store"
)

// Run is the suite that every store passes. open makes an empty store for one test;
// reopen gives the same data as another process sees it, beside st or after it was
// closed.
func Run(t *testing.T, open func(t *testing.T) (st store.Store, reopen func() store.Store)) {
	tests := []struct {
		name string
		test func(t *testing.T, st store.Store, reopen func() store.Store)
	}{
		{"AppendedEventsComeBackInOrder", testOrder},
		{"EventsBeginAfterANumber", testAfter},
		{"AppendConflictsWhenSomeoneElseHasAppended", testConflict},
		{"OfTwoWritersOneWins", testTwoWriters},
		{"EventsAndTakenRowsAreOneTransaction", testAtomic},
		{"AnEventMayBeBig", testBig},
		{"TheCallerMayAppendWhileItReads", testAppendWhileReading},
		{"ManyRunsAreAppendedToAtOnce", testConcurrent},
		{"AppendWithoutEventsChecksAndTakes", testNoEvents},
		{"TheInboxKeepsOrderAndIgnoresRepeats", testInbox},
		{"ARowIsTakenOnce", testTake},
		{"ARepeatedRequestGetsTheAnswerOfTheFirst", testAnswer},
		{"ARunHasOneOwner", testOwn},
		{"AskingForTheOwnerTakesNothing", testOwner},
		{"TheSummaryFollowsTheFacts", testSummary},
		{"RunsListsTheRunThatWasUsedLastFirst", testRuns},
		{"ARunKnowsItsChildrenAndItsConversation", testChildren},
		{"AnIntactLogVerifies", testVerify},
		{"WhatIsNotThereIsNotFound", testNotFound},
		{"IdsThatAreNotFileNamesAreRefused", testIDs},
		{"AnEndedContextWritesNothing", testContext},
		{"AClosedStoreSaysSo", testClosed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			st, reopen := open(t)
			test.test(t, st, reopen)
		})
	}
}

// start is the time of every test: it has nanoseconds, which stores must keep.
var start = time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)

func at(n int, p run.Payload) run.Event {
	return run.Event{At: start.Add(time.Duration(n) * time.Second), Payload: p}
}

func created(id run.ID) run.Event {
	return at(0, run.Created{Run: id, Workspace: "/work", Config: run.Config{Model: "script/one"}})
}

func prompted(text string) run.Event {
	return at(1, run.Prompted{Parts: []run.Part{run.Text(text)}})
}

func noted(n int) run.Event {
	return at(n, run.Told{Reason: run.TellRepeated, Call: "c_1", Text: fmt.Sprint("note ", n)})
}

// begin makes a run of one event.
func begin(t *testing.T, st store.Store, id run.ID) {
	t.Helper()
	appendTo(t, st, id, 0, created(id))
}

func appendTo(t *testing.T, st store.Store, id run.ID, after int64, events ...run.Event) {
	t.Helper()
	if err := st.Append(t.Context(), id, after, events); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, st store.Store, id run.ID, row store.Row) {
	t.Helper()
	if err := st.Put(t.Context(), id, row); err != nil {
		t.Fatal(err)
	}
}

func inbox(t *testing.T, st store.Store, id run.ID) []store.Row {
	t.Helper()
	rows, err := st.Inbox(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// taking takes rows without an answer.
func taking(ids ...int64) (taken []store.Taken) {
	for _, id := range ids {
		taken = append(taken, store.Taken{ID: id})
	}
	return taken
}

// load reads all events of a run behind after.
func load(t *testing.T, st store.Store, id run.ID, after int64) []run.Event {
	t.Helper()
	var events []run.Event
	for e, err := range st.Events(t.Context(), id, after) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// numbered is what a store makes of events appended behind after.
func numbered(after int64, events ...run.Event) []run.Event {
	out := make([]run.Event, len(events))
	for i, e := range events {
		e.Seq, e.At = after+int64(i)+1, e.At.Round(0).UTC()
		out[i] = e
	}
	return out
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return // cmp takes a minute for the big events
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v, want %v", what, got, want)
	}
}

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
	wantErr(t, "behind a number that was used", st.Append(ctx, "r", 1, []run.Event{noted(2)}), store.ErrConflict)
	wantErr(t, "a run that exists, as new", st.Append(ctx, "r", 0, []run.Event{created("r")}), store.ErrConflict)
	wantErr(t, "behind a number that is not there", st.Append(ctx, "r", 3, []run.Event{noted(2)}), store.ErrConflict)
	wantErr(t, "a new run, as existing", st.Append(ctx, "new", 1, []run.Event{noted(2)}), store.ErrConflict)
	diff(t, "events", load(t, st, "r", 0), numbered(0, created("r"), noted(1)))

	appendTo(t, st, "r", 2, noted(2)) // who has read again goes on
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
	put(t, st, "r", store.Row{Key: "a", Kind: store.Steer, Payload: "left", At: start})
	put(t, st, "another", store.Row{Key: "a", Kind: store.Steer, Payload: "right", At: start})
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
					if err := appendBehindLast(t.Context(), st, name(i), noted(n), noted(n)); err != nil {
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

// appendBehindLast appends behind whatever is last, however often somebody else is first.
func appendBehindLast(ctx context.Context, st store.Store, id run.ID, events ...run.Event) error {
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
	put(t, st, "r", store.Row{Key: "a", Kind: store.Withdraw, At: start})
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

func testInbox(t *testing.T, st store.Store, reopen func() store.Store) {
	begin(t, st, "r")
	begin(t, st, "another")
	other := reopen()
	zone := time.FixedZone("elsewhere", 3*3600)
	put(t, st, "r", store.Row{Key: "b", Kind: store.Prompt, Payload: "first", At: start.In(zone)})
	put(t, other, "r", store.Row{Key: "a", Kind: store.Steer, Payload: "second", At: start})
	put(t, other, "r", store.Row{Key: "b", Kind: store.Queue, Payload: "a repeat", At: start})
	put(t, st, "another", store.Row{Key: "b", Kind: store.Queue, Payload: "not a repeat", At: start})

	rows := inbox(t, st, "r")
	diff(t, "rows seen by the other process", inbox(t, other, "r"), rows)
	for i := range rows {
		if rows[i].ID <= 0 || i > 0 && rows[i].ID <= rows[i-1].ID {
			t.Errorf("row %d has id %d, want ids that rise", i, rows[i].ID)
		}
		rows[i].ID = 0
	}
	diff(t, "rows", rows, []store.Row{
		{Key: "b", Kind: store.Prompt, Payload: "first", At: start},
		{Key: "a", Kind: store.Steer, Payload: "second", At: start},
	})
	diff(t, "rows of the other run", len(inbox(t, st, "another")), 1)

	before := time.Now()
	put(t, st, "r", store.Row{Key: "now", Kind: store.Interrupt})
	if got := inbox(t, st, "r")[2].At; got.Before(before.Round(0)) || got.After(time.Now()) {
		t.Errorf("a row without a time got %v, want the present", got)
	}
	wantErr(t, "a row without a key", st.Put(t.Context(), "r", store.Row{Kind: store.Prompt}), store.ErrNoKey)
}

func testTake(t *testing.T, st store.Store, reopen func() store.Store) {
	begin(t, st, "r")
	row := store.Row{Key: "a", Kind: store.Steer, Payload: "left", At: start}
	put(t, reopen(), "r", row)
	put(t, st, "r", store.Row{Key: "b", Kind: store.Steer, Payload: "right", At: start})
	rows := inbox(t, st, "r")

	if err := st.Append(t.Context(), "r", 1, []run.Event{noted(1)}, taking(rows[0].ID)...); err != nil {
		t.Fatal(err)
	}
	diff(t, "rows that wait", inbox(t, st, "r"), rows[1:])
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
		diff(t, "the row of an unknown kind", rows[len(rows)-1].Kind, store.Kind("of a newer pawl"))
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

	put(t, st, "r", store.Row{Key: "a", Kind: store.Prompt, Payload: "do it again", At: start})
	want("a row that was repeated", "a", `{"ok":true}`, true)
	diff(t, "rows that wait", len(inbox(t, st, "r")), 0)

	for name, id := range map[string]run.ID{"another run": "another", "no run": "nothing"} {
		_, _, err := st.Answer(ctx, id, "a")
		wantErr(t, name, err, store.ErrNoRow)
	}
	_, _, err := st.Answer(ctx, "r", "c")
	wantErr(t, "another key", err, store.ErrNoRow)
}

func testOwn(t *testing.T, st store.Store, reopen func() store.Store) {
	ctx := t.Context()
	lease, err := st.Own(ctx, "r", "/run/one.sock")
	if err != nil {
		t.Fatal(err)
	}
	for name, st := range map[string]store.Store{"the same store": st, "another store": reopen()} {
		_, err := st.Own(ctx, "r", "/run/two.sock")
		owned, ok := errors.AsType[*store.OwnedError](err)
		if !ok {
			t.Fatalf("%s: got error %v, want an OwnedError", name, err)
		}
		diff(t, name+": the owner", []any{owned.Run, owned.Socket, owned.PID > 0}, []any{run.ID("r"), "/run/one.sock", true})
	}
	another, err := st.Own(ctx, "another", "")
	if err != nil {
		t.Errorf("another run: %v", err)
	} else if err := another.Release(); err != nil {
		t.Error(err)
	}

	for range 2 {
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	}
	next, err := reopen().Own(ctx, "r", "/run/three.sock")
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if err := lease.Release(); err != nil { // the old lease has nothing left to give up
		t.Error(err)
	}
	if _, err := st.Own(ctx, "r", ""); err == nil {
		t.Error("an old lease, released again, freed the run of its new owner")
	}
	if err := next.Release(); err != nil {
		t.Error(err)
	}
}

func testOwner(t *testing.T, st store.Store, reopen func() store.Store) {
	ctx, other := t.Context(), reopen()
	owner := func(what string, want bool) {
		t.Helper()
		for _, st := range []store.Store{st, other} {
			got, owned, err := st.Owner(ctx, "r")
			if err != nil {
				t.Fatal(err)
			}
			diff(t, what, []any{owned, got.Socket, got.PID > 0}, []any{want, map[bool]string{true: "/run/r.sock"}[want], want})
		}
	}
	owner("a run that never had an owner", false)
	lease, err := st.Own(ctx, "r", "/run/r.sock")
	if err != nil {
		t.Fatal(err)
	}
	owner("a run with an owner", true)
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	owner("a run that was released", false)
	_, _, err = st.Owner(ctx, "../r")
	wantErr(t, "an id that is no file name", err, store.ErrBadID)

	// One asks all the time; another that takes the run is never refused for it.
	done := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		defer close(done)
		for range 2000 {
			if _, _, err := other.Owner(ctx, "r"); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for taken := 0; ; taken++ {
		select {
		case <-done:
			asking.Wait()
			return
		default:
		}
		lease, err := st.Own(ctx, "r", "")
		if err != nil {
			t.Fatalf("refused after %d leases: %v", taken, err)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

func testSummary(t *testing.T, st store.Store, reopen func() store.Store) {
	step := run.RequestStarted{Purpose: run.ForStep, Attempt: 1, Model: "one"}
	retry := step
	retry.Attempt = 2
	two := "script/two"
	events := []run.Event{
		at(0, run.Created{Run: "r", Workspace: "/work", Config: run.Config{Model: "script/one"}}),
		at(1, run.Prompted{Parts: []run.Part{run.Text("\n  fix the build\nand the tests")}}),
		at(2, step),
		at(3, run.RequestFailed{Kind: run.ErrOverloaded, RetryAfter: time.Second}),
		at(4, retry),
		at(5, run.Replied{Usage: run.Usage{Input: 10, CacheRead: 20, CacheWrite: 30, Output: 40, Cost: 0.5, Priced: true}}),
		at(6, run.RequestStarted{Purpose: run.ForSummary, Attempt: 1}),
		at(7, run.Replied{Usage: run.Usage{Input: 1, Cost: 0.25, Priced: true}}),
		at(8, run.Replied{Usage: run.Usage{Input: 1000, Cost: 9, Priced: true}, Cached: true}),
		at(9, run.Observed{Parts: []run.Part{run.Text("nothing was spent for this")}}),
		at(9, run.Configured{Change: run.ConfigChange{Model: &two}}),
		at(10, run.Ended{End: run.LimitReached, Reason: "max_steps"}),
	}
	want := store.Summary{
		ID: "r", Root: "r", Workspace: "/work", Model: "script/two", Title: "fix the build",
		Created: start, Updated: start.Add(10 * time.Second), Seq: 12, End: run.LimitReached, Reason: "max_steps", Turns: 1, Steps: 1,
		Usage: run.Usage{Input: 11, CacheRead: 20, CacheWrite: 30, Output: 40, Cost: 0.75, Priced: true},
	}
	appendTo(t, st, "r", 0, events[:4]...)
	appendTo(t, st, "r", 4, events[4:]...)
	summary := func(what string, want store.Summary) {
		t.Helper()
		got, err := reopen().Run(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		diff(t, what, got, want)
	}
	summary("summary at the end of a turn", want)

	appendTo(t, st, "r", 12, at(20, run.Prompted{Continue: true}), at(21, step))
	want.Updated, want.Seq, want.End, want.Reason, want.Turns, want.Steps = start.Add(21*time.Second), 14, "", "", 2, 2
	summary("summary in the next turn", want)
}

func testRuns(t *testing.T, st store.Store, reopen func() store.Store) {
	for i, id := range []run.ID{"c", "a", "b"} {
		e := created(id)
		e.At = start.Add(time.Duration(-i) * time.Hour) // the clock was put back
		appendTo(t, st, id, 0, e)
	}
	child := run.Created{Run: "child", Parent: "a", ParentCall: "c_1"}
	appendTo(t, st, "child", 0, run.Event{At: start.Add(9 * time.Hour), Payload: child})
	begin(t, st, "d")

	list := func(limit int) (ids []run.ID) {
		t.Helper()
		all, err := reopen().Runs(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range all {
			ids = append(ids, sum.ID)
		}
		return ids
	}
	diff(t, "all runs", list(0), []run.ID{"d", "b", "a", "c"})
	diff(t, "two runs", list(2), []run.ID{"d", "b"})
	appendTo(t, reopen(), "c", 1, noted(1))
	diff(t, "after an append to the oldest", list(0), []run.ID{"c", "d", "b", "a"})
	put(t, st, "a", store.Row{Key: "a", Kind: store.Prompt})
	diff(t, "after a row for another, which nobody took", list(1), []run.ID{"c"})
	if sum, err := st.Run(t.Context(), "child"); err != nil || sum.Parent != "a" {
		t.Errorf("the child run: parent %q, error %v; want a, nil", sum.Parent, err)
	}
}

func testChildren(t *testing.T, st store.Store, reopen func() store.Store) {
	for i, c := range []run.Created{
		{Run: "root"}, {Run: "other"}, {Run: "b", Parent: "root"}, {Run: "a", Parent: "root"},
		{Run: "deep", Parent: "b"}, {Run: "orphan", Parent: "elsewhere"},
	} {
		appendTo(t, st, c.Run, 0, at(i, c), noted(i))
	}
	appendTo(t, reopen(), "deep", 2, noted(9)) // the root stays what it was

	ids := func(list func(context.Context, run.ID) ([]store.Summary, error), id run.ID) (ids []run.ID) {
		t.Helper()
		all, err := list(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range all {
			ids = append(ids, sum.ID)
		}
		return ids
	}
	other := reopen()
	diff(t, "children of the root", ids(other.Children, "root"), []run.ID{"b", "a"})
	diff(t, "children of b", ids(other.Children, "b"), []run.ID{"deep"})
	diff(t, "children of a", ids(other.Children, "a"), []run.ID(nil))
	diff(t, "children of a run of another store", ids(other.Children, "elsewhere"), []run.ID{"orphan"})
	diff(t, "the conversation", ids(other.Conversation, "root"), []run.ID{"root", "b", "a", "deep"})
	diff(t, "a conversation of one", ids(other.Conversation, "other"), []run.ID{"other"})
	diff(t, "a conversation by a run that is not its root", ids(other.Conversation, "b"), []run.ID(nil))
	for id, root := range map[run.ID]run.ID{"root": "root", "a": "root", "deep": "root", "orphan": "elsewhere"} {
		sum, err := other.Run(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "the root of "+string(id), sum.Root, root)
	}
}

func testVerify(t *testing.T, st store.Store, reopen func() store.Store) {
	begin(t, st, "r")
	begin(t, st, "another")
	appendTo(t, st, "r", 1, noted(1), noted(2))
	appendTo(t, reopen(), "r", 3, noted(3))
	for _, id := range []run.ID{"r", "another"} {
		if err := st.Verify(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

func testNotFound(t *testing.T, st store.Store, _ func() store.Store) {
	ctx := t.Context()
	_, err := st.Run(ctx, "r")
	wantErr(t, "Run", err, store.ErrNotFound)
	wantErr(t, "Verify", st.Verify(ctx, "r"), store.ErrNotFound)
	wantErr(t, "Put", st.Put(ctx, "r", store.Row{Key: "a", Kind: store.Prompt}), store.ErrNotFound)
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
	wantErr(t, "Put", st.Put(ctx, "r", store.Row{Key: "a", Kind: store.Prompt}), context.Canceled)
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
	wantErr(t, "Put", st.Put(ctx, "r", store.Row{Key: "a", Kind: store.Prompt}), store.ErrClosed)
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
