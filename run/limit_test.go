package run

import (
	"strings"
	"testing"
	"time"
)

// The end of a turn of an external agent has when the limit of its provider ends, if the run waits for that. The
// sentence says it in any case.
func TestTheEndOfATurnHasWhenTheLimitEnds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, waits := range []bool{false, true} {
		s := State{}
		for _, p := range []Payload{
			Created{Run: "r", External: true}, Configured{ConfigChange{WaitForLimit: &waits}}, Prompted{Parts: []Part{Text("go")}},
			RequestStarted{Purpose: ForAgent, Attempt: 1}, RequestFailed{Kind: ErrRateLimited, Reason: "a limit was reached", Asked: 3 * time.Hour},
		} {
			var err error
			if s, err = s.Apply(Event{At: at, Payload: p}); err != nil {
				t.Fatal(err)
			}
		}
		end, ok := s.Next()[0].(Derive).Payload.(Ended)
		want := time.Time{}
		if waits {
			want = at.Add(3 * time.Hour)
		}
		if !ok || !end.LimitEnds.Equal(want) || !strings.HasSuffix(end.Detail, "continue after 2026-11-20 15:00:00 UTC") {
			t.Errorf("waits %t: it ends %+v", waits, end)
		}
	}
}
