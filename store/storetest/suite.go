package storetest

import (
	"errors"
	"fmt"
	"reflect"
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
		{"ASummaryKeepsWhatIsNoText", testOddBytes},
		{"RunsListsTheRunThatWasUsedLastFirst", testRuns},
		{"ARunKnowsItsChildrenAndItsConversation", testChildren},
		{"WhatPeopleHaveSaidIsFound", testSaid},
		{"ATasksEventsComeBackInOrder", testTask},
		{"TheFeedHasTheEventsOfAllTasks", testTaskFeed},
		{"ARunAndItsTaskAreOneTransaction", testWithTask},
		{"OfFiftySubmissionsOneIsAccepted", testOneSubmission},
		{"TasksAreListedByStatusLabelAndAgent", testTaskList},
		{"AnIntactLogVerifies", testVerify},
		{"ARunIsRemovedWithThoseBelowUnlessItIsNeeded", testRemove},
		{"OldConversationsArePruned", testPrune},
		{"WhatMovesIsTheSameThere", testMove},
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

func inboxes(t *testing.T, st store.Store) []run.ID {
	t.Helper()
	ids, err := st.Inboxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// taking takes rows without an answer.
func taking(ids ...int64) (taken []store.Taken) {
	for _, id := range ids {
		taken = append(taken, store.Taken{ID: id})
	}
	return taken
}

// load reads all events of a run after the number.
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

// numbered is what a store makes of events appended after the number.
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
