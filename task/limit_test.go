package task

import (
	"strings"
	"testing"
	"time"

	"pawl/run"
)

// limited is the end of a turn at a limit of the provider that ends at a time; zero: the run does not wait for it.
func limited(id run.ID, until time.Time) End {
	return End{Run: id, Begun: true, End: run.Ended{End: run.EndFailed, Reason: string(run.ErrRateLimited), Detail: "a limit was reached; continue after 15:00", LimitEnds: until}}
}

func TestATaskWaitsForALimitAndContinuesByItself(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	ends := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	begin := func() {
		k.working()
		k.must("", limited("w", ends))
	}
	begin()
	k.wantStatus(Waiting)
	if st := k.s.Status; !st.Until.Equal(ends) || st.Reason != "rate_limited" || !strings.HasSuffix(st.Detail, "continue after 15:00, which the task does by itself") {
		t.Errorf("it waits as %+v", st)
	}
	if sum := k.s.Summary(); !sum.Until.Equal(ends) || sum.WaitsFor != "" || len(k.s.Next()) != 0 {
		t.Errorf("no person is waited for, and nothing is owed: %+v, %q", sum, k.keys())
	}
	before := k.s.Seq
	if k.must("", Proceed{From: Waiting, Now: ends.Add(-time.Nanosecond)}); k.s.Seq != before {
		t.Error("it continues before the limit has ended")
	}
	k.must("anna", Say{ID: "m1", Text: "Be quick."})
	k.must("", Proceed{From: Waiting, Now: ends})
	k.wantStatus(Active)
	if c := k.start(); c.Run != "w" || c.New || c.Number != 2 || c.Input != "Be quick." {
		t.Errorf("it continues with %+v", c)
	}
	if !k.s.Status.Until.IsZero() {
		t.Errorf("it still waits: %+v", k.s.Status)
	}
	if before = k.s.Seq; k.try("", Proceed{From: Waiting, Now: ends}) != nil || k.s.Seq != before {
		t.Error("it continues twice")
	}
}

func TestATaskThatWaitsForALimitIsCancelledOrResumed(t *testing.T) {
	t.Parallel()
	ends := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	for what, act := range map[StatusName]Action{Failed: Move{On: OnCancel}, Active: Resume{}} {
		k := newCard(t, Created{})
		k.working()
		k.must("", limited("w", ends))
		k.must("anna", act)
		k.wantStatus(what)
		if before := k.s.Seq; k.try("", Proceed{From: Waiting, Now: ends}) != nil || k.s.Seq != before {
			t.Errorf("%s: the end of the limit still counts", what)
		}
	}
}

// A run that does not wait for limits fails at one, and so does one that has waited too often in a row. What a
// person can do is to continue in the same conversation, or to begin anew.
func TestATaskFailsAtALimitThatIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	k := newCard(t, Created{})
	k.working()
	for n := 2; n <= maxLimitWaits+1; n++ {
		k.must("", limited("w", at))
		k.must("", Proceed{From: Waiting, Now: at})
		k.must("", Note{"w", AgentPrompted{n, n, ""}})
		k.wantStatus(Active)
	}
	k.must("", limited("w", at))
	k.wantStatus(Failed)
	if id := string(k.s.Created.Task); !strings.HasSuffix(k.s.Status.Detail, "continue after 15:00") || k.s.Advice() != "pawl task say "+id+" \"…\"" ||
		k.s.NextStep(false) != "continue in the same conversation with `"+k.s.Advice()+"`, or begin anew with `pawl task retry "+id+"`" {
		t.Errorf("it has failed with %q; next: %s", k.s.Status.Detail, k.s.NextStep(false))
	}

	k = newCard(t, Created{Budget: Budget{Cost: 1}})
	k.working()
	end := limited("w", at)
	end.Usage = run.Usage{Output: 1, Cost: 1, Priced: true}
	k.must("", end)
	k.wantStatus(Failed)
}
