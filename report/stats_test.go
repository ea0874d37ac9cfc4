package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
	"pawl/view"
)

// told makes events of facts, an hour apart, the first at noon.
func told(facts ...run.Payload) []run.Event {
	var events []run.Event
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i, f := range facts {
		events = append(events, run.Event{Seq: int64(i + 1), At: at.Add(time.Duration(i) * time.Hour), Payload: f})
	}
	return events
}

func TestStatsCountWhatHappenedOnce(t *testing.T) {
	t.Parallel()
	created := run.Created{Run: "a"}
	step := run.RequestStarted{Purpose: run.ForStep, Attempt: 1, Model: "p/m"}
	retry := run.RequestStarted{Purpose: run.ForStep, Attempt: 2, Model: "p/m"}
	priced := run.Usage{Input: 10, Output: 5, Cost: 0.5, Priced: true}
	past := []run.Payload{
		created, run.Prompted{}, step, run.RequestFailed{}, retry, run.Replied{Usage: priced},
		run.CallInspected{Call: "c1", Tool: "shell"}, run.CallDecided{Call: "c1", Decision: run.Decision{Answer: run.Deny, Rule: "shell(rm *)", Source: "user"}},
		step, run.Replied{Usage: run.Usage{Input: 1}}, run.Told{Reason: run.TellOutput}, run.Told{Reason: run.TellPromised}, run.Ended{End: run.LoopStopped, Reason: "same_call"},
	}
	forked := append([]run.Payload{run.Created{Run: "b", ForkedFrom: "a", ForkedAt: int64(len(past))}}, past[1:]...)
	forked = append(forked,
		run.Prompted{}, step, run.Replied{Usage: priced, Cached: true}, run.CallInspected{Call: "c2", Tool: "edit"},
		run.Interrupted{Cause: run.ByWait, Call: "c2", By: "ann"}, run.Ended{End: run.EndInterrupted, Reason: "wait"},
		run.Prompted{}, step)

	count := func(after time.Time, runs ...[]run.Payload) Stats {
		tally := newTally(after)
		for _, facts := range runs {
			r := tally.begin()
			for _, e := range told(facts...) {
				r.event(e)
			}
			r.end("killed")
		}
		return tally.stats()
	}
	cost := 0.5
	got := count(time.Time{}, past, forked)
	want := Stats{
		Runs: 2, Turns: 3, Steps: 4, Calls: 2, Reminders: 1, Nudges: 1, Loops: 1,
		Ends:         map[string]int{"loop_stopped": 1, "interrupted": 1, "killed": 1},
		Reasons:      map[string]int{"same_call": 1, "wait": 1},
		StepsPerTurn: Spread{Mean: 1.33, P95: 2}, StepsPerRun: Spread{Mean: 2, P95: 2},
		Outcomes: map[string]int{"refused": 1}, Answers: map[string]int{"deny": 1, "wait": 1},
		Decisions:  []DecisionCount{{"edit", run.Wait, "", "person", 1}, {"shell", run.Deny, "shell(rm *)", "user", 1}},
		Denials:    []DecisionCount{{"edit", run.Wait, "", "person", 1}, {"shell", run.Deny, "shell(rm *)", "user", 1}},
		Interrupts: map[string]int{"wait": 1},
		Models:     []ModelCount{{Model: "p/m", Requests: 2, Usage: view.Usage{Input: 11, Output: 5}}},
		Cost:       cost, Unpriced: 1,
		Days: []DayCount{{Day: "2026-11-20", Reminders: 1, Cost: cost}, {Day: "2026-11-21", Turns: 2, Failed: 2}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	// The tool of a call is known although it was named before the time asked about.
	late := count(told(past...)[7].At, past)
	if late.Runs != 1 || late.Calls != 0 || late.Decisions[0].Tool != "shell" || late.Unpriced != 1 || late.Cost != 0 {
		t.Errorf("after the refusal: %+v", late)
	}
	if none := count(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), past); none.Runs != 0 || none.StepsPerRun != (Spread{}) {
		t.Errorf("of no run: %+v", none)
	}
}

func TestThe95thPercentileIsAFigureThatWasThere(t *testing.T) {
	t.Parallel()
	var hundred []int
	for i := range 100 {
		hundred = append(hundred, 100-i)
	}
	for _, c := range []struct {
		figures []int
		want    Spread
	}{
		{nil, Spread{}}, {[]int{7}, Spread{7, 7}}, {[]int{1, 9}, Spread{5, 9}}, {hundred, Spread{50.5, 95}},
	} {
		if got := spreadOf(c.figures); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.figures, got, c.want)
		}
	}
}
