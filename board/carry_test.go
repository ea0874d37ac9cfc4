package board_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pawl/board"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/task"
)

// calls watches the tasks of a place, as one more process, and returns what is called out.
func (p *place) calls() <-chan board.Call {
	p.t.Helper()
	ws := p.open()
	ctx, cancel := context.WithCancel(context.Background())
	calls, done := make(chan board.Call, 100), make(chan struct{})
	go func() {
		defer close(done)
		board.Of(ws).Watch(ctx, func(_ context.Context, c board.Call) error {
			calls <- c
			return nil
		})
	}()
	p.t.Cleanup(func() { cancel(); <-done })
	return calls
}

// A task whose run waits for a person is let go of; after the answer another process carries it on.
func TestACarriedTaskIsLetGoWhileItWaitsForAPerson(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]string{
		"the worker": `{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"echo once >> left"}}]}`,
		"its sub-agent": `{"when":{"first":"write left"},"calls":[{"tool":"shell","args":{"command":"echo once >> left"}}]}
{"when":{"first":"write left"},"text":"Written."}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"agent","args":{"prompt":"write left"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, plan+work+`
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}
`)
			calls := p.calls()
			ws := p.open()
			id := add(t, ws, "write it")
			_, err := board.Of(ws).Do(t.Context(), id, "anna", task.Edited{Start: new(true)})
			ok(t, err)
			var s task.State
			for s.WaitsFor() != "permission" {
				if c := <-calls; c.ID != id || c.Answered {
					t.Fatalf("called out: %+v", c)
				}
				rest, err := board.NewDriver(p.open(), board.Options{}).Carry(t.Context(), id)
				ok(t, err)
				s, err = board.Of(ws).Load(t.Context(), id)
				ok(t, err)
				if rest.Parked != (s.WaitsFor() == "permission") || rest.Seq != s.Seq {
					t.Fatalf("it was left as %+v, and is %+v, waiting for %q", rest, s.Status, s.WaitsFor())
				}
			}
			ask := s.Permissions[0]
			for _, owned := range []run.ID{ask.Run, s.Chain[1].ID, store.TaskLease(string(id))} {
				if o, driven, err := ws.Owner(t.Context(), owned); driven || err != nil {
					t.Errorf("%s is held by %+v while it waits (%v)", owned, o, err)
				}
			}
			_, err = p.open().Decide(t.Context(), ask.Run, request.Decide{Call: ask.Call, Answer: run.Allow, By: "ben"})
			ok(t, err)
			for c := range calls {
				if c.Answered {
					break // the others are about what happened while it was carried
				}
			}
			for s.Status.Name != task.Completed {
				rest, err := board.NewDriver(p.open(), board.Options{}).Carry(t.Context(), id)
				ok(t, err)
				s, err = board.Of(ws).Load(t.Context(), id)
				ok(t, err)
				if rest.Parked {
					t.Fatalf("it was left again: %+v", s.Status)
				}
			}
			if b, err := os.ReadFile(filepath.Join(p.dir, "left")); string(b) != "once\n" {
				t.Errorf("the call left %q (%v)", b, err)
			}
		})
	}
}

// Of two that carry one task at once, each of its steps is made by one.
func TestATaskIsCarriedByOneAtATime(t *testing.T) {
	t.Parallel()
	p := newPlace(t, plan+report)
	ws := p.open()
	id := add(t, ws, "count")
	_, err := board.Of(ws).Do(t.Context(), id, "anna", task.Edited{Start: new(true)})
	ok(t, err)
	both := make(chan error)
	for range 2 {
		go func() {
			_, err := board.NewDriver(p.open(), board.Options{}).Carry(t.Context(), id)
			both <- err
		}()
	}
	ok(t, errors.Join(<-both, <-both))
	s, err := board.Of(ws).Load(t.Context(), id)
	ok(t, err)
	if s.Status.Name != task.Completed || len(s.Chain) != 2 || slices.ContainsFunc(s.Chain, func(r task.Run) bool { return len(r.Assignments) != 1 }) {
		t.Errorf("it is %+v with the runs %+v", s.Status, s.Chain)
	}
	if _, err := board.NewDriver(ws, board.Options{}).Carry(t.Context(), "t-nosuch"); !errors.Is(err, store.ErrNoTask) {
		t.Errorf("a task that is not there: %v", err)
	}
}
