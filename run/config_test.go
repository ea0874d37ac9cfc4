package run

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

// Two changes that name different fields both count, in any order, and a limit that
// was given is not replaced by an older wish that names something else.
func TestAChangeKeepsWhatItDoesNotName(t *testing.T) {
	t.Parallel()
	base := Config{Model: "a/x", Mode: "default", Limits: Limits{Cost: 50, Steps: 9}, Parallel: 3}
	model := ConfigChange{Model: ptr("b/y")}
	mode := ConfigChange{Mode: ptr("plan")}
	cost := ConfigChange{Limits: Limits{Cost: 3}}
	want := Config{Model: "b/y", Mode: "plan", Limits: Limits{Cost: 3, Steps: 9}, Parallel: 3}
	for _, order := range [][]ConfigChange{{model, mode, cost}, {cost, mode, model}, {mode, cost, model}} {
		s := State{}
		payloads := []Payload{Created{Run: "r", Config: base}}
		for _, c := range order {
			payloads = append(payloads, Configured{c})
		}
		for _, p := range payloads {
			if err := s.apply(Event{Payload: p}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, s.Config); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
	all := ConfigChange{
		Model: ptr("m"), Mode: ptr("plan"), Limits: Limits{Steps: 1, Calls: 2, Wall: 3, Tokens: 4, Cost: 5}, Window: ptr(int64(6)),
		Parallel: ptr(7), NoNudge: ptr(true), Output: &Output{Schema: "{}"}, Control: ptr(Auto), CompactAt: ptr(0.5),
		Retry: ptr(time.Minute), Effort: ptr("high"), Fallback: &Fallback{Model: "f", Window: 8, Control: Native}, Name: ptr("n"), AddDirs: []string{"/d"}, Tools: ptr(Grant("read")),
	}
	wantAll := Config{
		Model: "m", Mode: "plan", Limits: all.Limits, Window: 6, Parallel: 7, NoNudge: true, Output: Output{Schema: "{}"}, Control: Auto, CompactAt: 0.5,
		Retry: time.Minute, Effort: "high", Fallback: *all.Fallback, Name: "n", Dirs: []string{"/d"}, Tools: Grant("read"),
	}
	if diff := cmp.Diff(wantAll, all.Apply(Config{})); diff != "" {
		t.Errorf("a change of everything: -want +got\n%s", diff)
	}
}

func TestAConfigThatIsNotValidIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config Config
		change ConfigChange
		says   string
	}{
		{Config{Parallel: -1}, ConfigChange{Parallel: ptr(-1)}, "parallel is -1"},
		{Config{CompactAt: -0.1}, ConfigChange{CompactAt: ptr(-0.1)}, "compact_at is -0.1"},
		{Config{CompactAt: 1.5}, ConfigChange{CompactAt: ptr(1.5)}, "compact_at is 1.5"},
		{Config{Window: -5}, ConfigChange{Window: ptr(int64(-5))}, "window is -5"},
		{Config{Control: "magic"}, ConfigChange{Control: ptr("magic")}, `control is "magic"`},
		{Config{Output: Output{Tool: "submit"}}, ConfigChange{Output: &Output{Tool: "submit"}}, "no schema"},
		{Config{Output: Output{Schema: "{}", ByTool: true}}, ConfigChange{Output: &Output{Schema: "{}", ByTool: true}}, "names none"},
		{Config{Dirs: []string{"d"}}, ConfigChange{AddDirs: []string{"d"}}, "absolute"},
		{Config{Dirs: []string{"/"}}, ConfigChange{AddDirs: []string{"/"}}, "not the root"},
		{Config{Name: "last"}, ConfigChange{Name: ptr("last")}, "most recent"},
		{Config{Name: "a\nb"}, ConfigChange{Name: ptr("a\nb")}, "one line"},
		{Config{Name: strings.Repeat("n", 81)}, ConfigChange{Name: ptr(strings.Repeat("n", 81))}, "80 characters"},
		{Config{Limits: Limits{Cost: math.NaN()}}, ConfigChange{Limits: Limits{Cost: math.NaN()}}, "not a number"},
	} {
		var s State
		if err := s.apply(Event{Payload: Created{Run: "r", Config: c.config}}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("created with %+v: %v", c.config, err)
		}
		if err := s.apply(Event{Payload: Created{Run: "r"}}); err != nil {
			t.Fatal(err)
		}
		if err := s.apply(Event{Payload: Configured{c.change}}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("configured with %+v: %v", c.change, err)
		}
		if !reflect.DeepEqual(s.Config, Config{}) {
			t.Errorf("a refused change left %+v", s.Config)
		}
	}
}

// Time counts for a turn while it is driven: not between a death and the next process,
// and not while it waits for a person, whoever asks and however late.
func TestTheLimitOfTimeCountsWhatWasDriven(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	var s State
	after := func(d time.Duration, p Payload) {
		t.Helper()
		at = at.Add(d)
		if err := s.apply(Event{At: at, Payload: p}); err != nil {
			t.Fatalf("%T: %v", p, err)
		}
	}
	left := func(want time.Duration) {
		t.Helper()
		if got := s.Left(at).Wall; got != want {
			t.Errorf("%s left, want %s", got, want)
		}
		if d := s.Deadline(); !d.IsZero() && !d.Equal(at.Add(want)) {
			t.Errorf("the deadline is in %s, want %s", d.Sub(at), want)
		}
	}
	after(0, Created{Run: "r", Config: Config{Limits: Limits{Wall: time.Hour}}})
	after(0, Prompted{Parts: []Part{Text("go")}})
	after(0, RequestStarted{Purpose: ForStep, Attempt: 1})
	after(5*time.Minute, calls("read"))
	left(55 * time.Minute)
	after(0, CallInspected{Call: "c_1", Class: Reads})
	if !s.Deadline().IsZero() {
		t.Error("a turn that waits for a person has a deadline")
	}
	if got := s.Left(at.Add(30 * 24 * time.Hour)).Wall; got != 55*time.Minute {
		t.Errorf("%s left after a month of waiting for a person", got)
	}
	after(30*24*time.Hour, CallDecided{Call: "c_1", Decision: Decision{Answer: Allow}})
	left(55 * time.Minute)
	after(0, CallStarted{Call: "c_1", Attempt: 1})
	after(10*time.Minute, Said{ID: "s", Delivery: Steer, Parts: []Part{Text("and?")}})
	left(45 * time.Minute)
	after(24*time.Hour, Resumed{Calls: []CallID{"c_1"}}) // the process died, and another took it up a day later
	left(45 * time.Minute)
	after(0, CallStarted{Call: "c_1", Attempt: 2})
	after(-3*time.Hour, settledOK("c_1")) // the clock was set back
	left(45 * time.Minute)
	after(44*time.Minute, RequestStarted{Purpose: ForStep, Attempt: 1})
	left(time.Minute)
	if got := s.Left(at.Add(time.Hour)).Wall; got != 0 {
		t.Errorf("%s left when it is spent", got)
	}
	after(0, answer("done"))
	after(0, Ended{End: Completed})
	if !s.Deadline().IsZero() {
		t.Error("a turn that has ended has a deadline")
	}
	after(0, Prompted{Parts: []Part{Text("more")}})
	left(time.Hour) // each turn has its own
}

// withAgents returns a driver whose turn has asked for n child runs, under limits of which
// a step and 100 tokens are used.
func withAgents(t *testing.T, c Config, n int) *driven {
	d := drive(t, c)
	d.w = children{}
	d.prompt("go")
	f := calls(slices.Repeat([]string{"agent"}, n)...)
	f.Usage = Usage{Input: 100, Cost: 1}
	d.end("request/1.1/step/1", f)
	return d
}

func TestAChildRunIsGivenHalfOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	d := withAgents(t, Config{Limits: Limits{Steps: 17, Calls: -1, Wall: time.Hour, Tokens: 1100, Cost: 4}}, 1)
	for _, c := range []struct{ wanted, want Limits }{
		{Limits{}, Limits{Steps: 8, Calls: -1, Wall: 30 * time.Minute, Tokens: 500, Cost: 1.5}},
		{Limits{Tokens: 100, Cost: 10, Calls: 7}, Limits{Steps: 8, Calls: 7, Wall: 30 * time.Minute, Tokens: 100, Cost: 1.5}},
	} {
		if got, err := d.r.State.Reserved("c_1", c.wanted); err != nil || got != c.want {
			t.Errorf("wanted %+v, reserved %+v, %v; want %+v", c.wanted, got, err, c.want)
		}
	}
	if got, err := withAgents(t, Config{Limits: Limits{Steps: 2}}, 1).r.State.Reserved("c_1", Limits{}); err == nil {
		t.Errorf("reserved %+v of one step", got)
	}
}

// However many children run at once, what they may use together is never more than what is
// left, and what one returns another may be given.
func TestReservationsSumToAtMostWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{1, 2, 8} {
		d := withAgents(t, Config{Parallel: parallel, Limits: Limits{Steps: 91, Calls: 98, Tokens: 9100, Cost: 10}}, 8)
		for len(d.r.State.Turn.Calls) > 0 {
			var sum Limits
			var running CallID
			for _, c := range d.r.State.Turn.Calls {
				if c.Status != CallRunning {
					continue
				}
				r, err := d.r.State.Reserved(c.ID, Limits{})
				if err != nil {
					t.Fatal(err)
				}
				if running = c.ID; parallel == 8 && (r.Steps != 10 || r.Tokens != 1000 || r.Cost != 1) {
					t.Errorf("of 8 children and their parent %s is given %+v", c.ID, r)
				}
				sum.Steps, sum.Calls, sum.Tokens, sum.Cost = sum.Steps+r.Steps, sum.Calls+r.Calls, sum.Tokens+r.Tokens, sum.Cost+r.Cost
			}
			if running == "" {
				break
			}
			if left := d.r.State.Left(d.now); sum.Steps >= left.Steps || sum.Calls >= left.Calls || sum.Tokens >= left.Tokens || sum.Cost >= left.Cost {
				t.Errorf("%d at once: reserved %+v of %+v", parallel, sum, left)
			}
			// It uses all that it was given.
			r, _ := d.r.State.Reserved(running, Limits{})
			done := settledOK(running)
			done.Usage = Usage{Input: r.Tokens, Cost: r.Cost, Priced: true}
			d.end("perform/"+string(running)+"/1", done)
		}
	}
}

// An external agent makes its calls one by one: how many will follow is not known.
func TestReservationsOfCallsThatArriveOneByOneSumToAtMostWhatIsLeft(t *testing.T) {
	t.Parallel()
	d := &driven{t: t, r: NewRunner(State{}), now: time.Unix(1_800_000_000, 0), w: children{}}
	d.step(Input{Given: []Payload{Created{Run: "r", External: true, Config: Config{Limits: Limits{Steps: 101, Tokens: 1000}}}}})
	d.prompt("go")
	for n := 1; n <= 6; n++ {
		d.want(CallReceived{Call: Call{ID: CallID("c_" + itoa(n)), Tool: "agent", Arguments: "{}"}})
	}
	var steps int
	var tokens int64
	for _, c := range d.r.State.Turn.Calls {
		r, err := d.r.State.Reserved(c.ID, Limits{})
		if err != nil || c.Status != CallRunning {
			t.Fatalf("%s is %s with %+v, %v", c.ID, c.Status, r, err)
		}
		steps, tokens = steps+r.Steps, tokens+r.Tokens
	}
	if left := d.r.State.Left(d.now); steps >= left.Steps || tokens >= left.Tokens {
		t.Errorf("reserved %d steps and %d tokens of %+v", steps, tokens, left)
	}
}

// A child that is resumed after a restart keeps what it was given, and another is not given
// the same.
func TestAReservationSurvivesARestart(t *testing.T) {
	t.Parallel()
	d := withAgents(t, Config{Parallel: 1, Limits: Limits{Steps: 31}}, 2)
	first, err := d.r.State.Reserved("c_1", Limits{})
	if err != nil || first.Steps != 10 {
		t.Fatalf("reserved %+v, %v", first, err)
	}
	d.r = NewRunner(d.r.State)
	d.step(Input{Given: d.r.State.Recover()})
	if again, err := d.r.State.Reserved("c_1", Limits{}); err != nil || again != first {
		t.Errorf("after the restart %+v is reserved, %v; before it %+v", again, err, first)
	}
}

func TestUsageIsPricedWhenAllOfItIs(t *testing.T) {
	t.Parallel()
	priced, unpriced := Usage{Input: 1, Cost: 0.5, Priced: true}, Usage{Output: 2}
	for _, c := range []struct{ a, b, want Usage }{
		{Usage{}, priced, priced},
		{priced, Usage{}, priced},
		{priced, priced, Usage{Input: 2, Cost: 1, Priced: true}},
		{priced, unpriced, Usage{Input: 1, Output: 2, Cost: 0.5}},
	} {
		if got := c.a.Add(c.b); got != c.want {
			t.Errorf("%+v + %+v = %+v, want %+v", c.a, c.b, got, c.want)
		}
	}
	if got := (Usage{Input: 1, CacheRead: 2, CacheWrite: 4, Output: 8}).Total(); got != 15 {
		t.Errorf("total %d", got)
	}
}

// What failed, interrupted and child requests cost counts for the turn and the run.
func TestEveryRequestIsPaidFor(t *testing.T) {
	t.Parallel()
	cost := func(c float64) Usage { return Usage{Input: 10, Cost: c, Priced: true} }
	d := drive(t, Config{Limits: Limits{Cost: 10}})
	d.prompt("go")
	d.end("request/1.1/step/1", RequestFailed{Kind: ErrBrokenStream, Usage: cost(1), Asked: time.Second})
	d.now = d.now.Add(time.Second)
	d.step(Input{})
	f := calls("agent")
	f.Usage = cost(2)
	d.end("request/1.1/step/2", f)
	d.end("perform/c_1/1", CallSettled{Call: "c_1", Outcome: OK, Content: []Part{Text("ok")}, Usage: cost(3)})
	d.w = costly{}
	d.gate.Close(Interrupted{Cause: ByPerson})
	d.step(Input{})
	if got := d.r.State.Turn.Usage.Cost; got != 10 {
		t.Errorf("the turn cost $%g, want $10", got)
	}
	if d.r.State.Usage != d.r.State.Turn.Usage || !d.r.State.Usage.Priced {
		t.Errorf("the run cost %+v, the turn %+v", d.r.State.Usage, d.r.State.Turn.Usage)
	}
}

type costly struct{ allowing }

func (costly) Partial(int) ([]Part, Usage) { return nil, Usage{Input: 10, Cost: 4, Priced: true} }
