package board_test

import (
	"sync/atomic"
	"testing"
	"time"

	"pawl/board"
	"pawl/run"
	"pawl/task"
)

// A task that waits for a limit of a provider is continued by the driver whose clock has come to the end of the limit:
// one that was started meanwhile too, of all tasks or of this one.
func TestADriverContinuesATaskWhenItsLimitHasEnded(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"when":{"first":"Plan this task","contains":"Continue where you stopped"},"repeat":true,"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"],"assignedAgent":"developer"}}]}
{"when":{"first":"Plan this task"},"text":"I think about it","hang":true}
`)
	ws := p.open()
	stop := p.drives(ws, board.Options{})
	id := add(t, ws, "Count the files.")
	_, err := board.Of(ws).Plan(t.Context(), id, "anna")
	ok(t, err)
	s := until(t, ws, id, "at work", func(s task.State) bool { return len(s.Chain) == 1 && s.Chain[0].Prompted == 1 })
	stop()
	ends := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	_, err = board.Of(ws).Do(t.Context(), id, "", task.End{Run: s.Chain[0].ID, Begun: true, End: run.Ended{End: run.EndFailed, Reason: string(run.ErrRateLimited), Detail: "a limit was reached", LimitEnds: ends}})
	ok(t, err)

	var now atomic.Pointer[time.Time]
	set := func(at time.Time) { now.Store(&at) }
	set(ends.Add(-time.Minute))
	clock := func() time.Time { return *now.Load() }
	driving := make(chan struct{})
	p.drives(ws, board.Options{Now: clock, Driving: func() { close(driving) }})
	<-driving
	other := add(t, ws, "Count the folders.") // what is done before this one is planned is done before the limit has ended
	_, err = board.Of(ws).Plan(t.Context(), other, "anna")
	ok(t, err)
	until(t, ws, other, "at work", func(s task.State) bool { return len(s.Chain) == 1 && s.Chain[0].Prompted == 1 })
	s, err = board.Of(ws).Load(t.Context(), id)
	ok(t, err)
	if rests, err := board.Of(ws).Rests(t.Context(), s, clock()); err != nil || !rests || s.Status.Name != task.Waiting {
		t.Errorf("before the limit has ended it is %+v, at rest %t, %v", s.Status, rests, err)
	}
	set(ends)
	s = wait(t, ws, id, task.Planned)
	if len(s.Chain) != 1 || len(s.Chain[0].Assignments) != 2 || s.Chain[0].Assignments[1].Reason != "limit_over" {
		t.Errorf("it was continued as %+v", s.Chain)
	}
}
