package report

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"pawl/app"
	"pawl/config"
	"pawl/internal/stable"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
	"pawl/view"
)

// Stats are figures over runs.
type Stats struct {
	Since        *time.Time      `json:"since,omitempty"`
	Runs         int             `json:"runs"`
	Turns        int             `json:"turns"`
	Ends         map[string]int  `json:"ends"` // of turns; the condition of those that are open
	Reasons      map[string]int  `json:"reasons"`
	Steps        int             `json:"steps"`
	StepsPerTurn Spread          `json:"steps_per_turn"`
	StepsPerRun  Spread          `json:"steps_per_run"`
	Calls        int             `json:"calls"`
	Outcomes     map[string]int  `json:"outcomes"`
	Answers      map[string]int  `json:"answers"`
	Decisions    []DecisionCount `json:"decisions"` // the most frequent first
	Denials      []DecisionCount `json:"denials"`   // those of Decisions that refused
	Interrupts   map[string]int  `json:"interrupts"`
	Reminders    int             `json:"reminders"`
	Nudges       int             `json:"nudges"`
	Loops        int             `json:"loops"`
	Models       []ModelCount    `json:"models"`
	Cost         float64         `json:"cost"`     // US dollars, of what has a price
	Unpriced     int             `json:"unpriced"` // answers without one
	Days         []DayCount      `json:"days"`     // on which one of these happened, in order
}

// A DayCount is what happened on a day.
type DayCount struct {
	Day       string  `json:"day"` // in UTC, as 2026-11-27
	Turns     int     `json:"turns"`
	Failed    int     `json:"failed"` // of the turns: those that did not end completed
	Reminders int     `json:"reminders"`
	Driven    int64   `json:"driven_ms"` // for which turns were driven that ended, waiting for a person left out
	Cost      float64 `json:"cost"`      // US dollars
}

// A Spread is how a figure is spread: its mean, and what 95 of 100 do not exceed.
type Spread struct {
	Mean float64 `json:"mean"`
	P95  int     `json:"p95"`
}

type DecisionCount struct {
	Tool   string     `json:"tool"`
	Answer run.Answer `json:"answer"`
	Rule   string     `json:"rule,omitempty"`
	Source string     `json:"source,omitempty"`
	Count  int        `json:"count"`
}

type ModelCount struct {
	Model    string     `json:"model"`
	Requests int        `json:"requests"` // that were answered
	Usage    view.Usage `json:"usage"`
}

// A tally counts what happened in runs after a point in time.
type tally struct {
	after      time.Time
	runs       int
	out        Stats
	perTurn    []int
	perRun     []int
	decisions  map[DecisionCount]int
	models     map[string]*modelTally
	days       map[string]*DayCount
	incomplete []error // why not all of a run could be read
}

type modelTally struct {
	requests, unpriced int
	usage              run.Usage
}

func newTally(after time.Time) *tally {
	t := &tally{after: after, decisions: map[DecisionCount]int{}, models: map[string]*modelTally{}, days: map[string]*DayCount{}}
	for _, m := range []*map[string]int{&t.out.Ends, &t.out.Reasons, &t.out.Outcomes, &t.out.Answers, &t.out.Interrupts} {
		*m = map[string]int{}
	}
	return t
}

// A runTally counts one run.
type runTally struct {
	*tally
	copied  int64 // events up to this one are another run's
	counted bool  // something of it was in the time
	tools   map[run.CallID]string
	model   string // of the request under way
	run     run.Tally
	turn    run.TurnSummary // of the events in the time
}

func (t *tally) begin() *runTally { return &runTally{tally: t, tools: map[run.CallID]string{}} }

// end ends the count of a run. open is what a turn of it that has no end counts as.
func (r *runTally) end(open string) {
	if !r.counted {
		return
	}
	r.runs++
	r.out.Steps += r.run.Steps
	r.perRun = append(r.perRun, r.run.Steps)
	if r.turn.Ongoing() {
		r.endTurn(open)
	}
}

// endTurn counts the end of a turn.
func (r *runTally) endTurn(end string) {
	r.out.Ends[end]++
	r.out.Turns++
	r.perTurn = append(r.perTurn, r.turn.Steps)
}

func (r *runTally) event(e run.Event) {
	switch f := e.Payload.(type) { // what has to be known whenever it was
	case run.Created:
		if f.ForkedFrom != "" {
			r.copied = f.ForkedAt
		}
	case run.CallInspected:
		r.tools[f.Call] = f.Tool
	case run.RequestStarted:
		r.model = f.Model
	}
	if e.Seq <= r.copied || e.At.Before(r.after) {
		return
	}
	r.counted = true
	r.run.Add(e.Payload)
	r.turn.Add(e.Payload)
	day := r.day(e.At)
	if _, child := e.Payload.(run.CallSettled); !child { // a child run is counted itself
		spent := run.Spent(e.Payload)
		day.Cost = view.Dollars(day.Cost + spent.Cost)
		model := cmp.Or(r.model, "external")
		if f, hook := e.Payload.(run.HookSettled); hook && len(f.Runs) > 0 {
			model = f.Runs[0].Hook // that judged a call
		}
		r.spend(model, spent)
	}
	switch f := e.Payload.(type) {
	case run.CallInspected:
		r.out.Calls++
	case run.CallDecided:
		r.decision(f.Call, f.Decision)
		if !f.Decision.Allows() {
			r.out.Outcomes[string(run.Refused)]++
		}
	case run.CallSettled:
		r.out.Outcomes[string(f.Outcome)]++
	case run.Interrupted:
		r.out.Interrupts[string(f.Cause)]++
		if f.Cause == run.ByWait && f.Call != "" {
			r.decision(f.Call, run.Decision{Answer: run.Wait, Source: "person"})
		}
	case run.Told:
		if f.Reason == run.TellOutput {
			r.out.Reminders++
			day.Reminders++
		} else if f.Reason != run.TellRepeated {
			r.out.Nudges++
		}
	case run.Ended:
		if f.Reason != "" {
			r.out.Reasons[f.Reason]++
		}
		if f.End == run.LoopStopped {
			r.out.Loops++
		}
		day.Turns++
		day.Driven += f.Driven.Milliseconds()
		if f.End != run.Completed {
			day.Failed++
		}
		r.endTurn(string(f.End))
	}
}

func (r *runTally) decision(call run.CallID, d run.Decision) {
	r.out.Answers[string(d.Answer)]++
	r.decisions[DecisionCount{Tool: r.tools[call], Answer: d.Answer, Rule: d.Rule, Source: d.Source}]++
}

// day returns the count of the day of a time.
func (t *tally) day(at time.Time) *DayCount {
	name := at.UTC().Format(time.DateOnly)
	if t.days[name] == nil {
		t.days[name] = &DayCount{Day: name}
	}
	return t.days[name]
}

func (t *tally) spend(model string, u run.Usage) {
	if u.Total() == 0 && u.Cost == 0 {
		return
	}
	m := t.models[model]
	if m == nil {
		m = &modelTally{}
		t.models[model] = m
	}
	m.requests++
	if !u.Priced {
		m.unpriced++
	}
	m.usage = m.usage.Add(u)
}

// stats returns the figures so far.
func (t *tally) stats() Stats {
	s := t.out
	s.Runs, s.StepsPerTurn, s.StepsPerRun = t.runs, spreadOf(t.perTurn), spreadOf(t.perRun)
	if !t.after.IsZero() {
		s.Since = &t.after
	}
	s.Decisions, s.Denials, s.Models, s.Days = []DecisionCount{}, []DecisionCount{}, []ModelCount{}, []DayCount{}
	for d, n := range t.decisions {
		d.Count = n
		s.Decisions = append(s.Decisions, d)
	}
	stable.Sort(s.Decisions, func(a, b DecisionCount) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Tool, b.Tool), strings.Compare(string(a.Answer), string(b.Answer)), strings.Compare(a.Rule+a.Source, b.Rule+b.Source))
	})
	for _, d := range s.Decisions {
		if d.Answer != run.Allow && d.Answer != run.Always {
			s.Denials = append(s.Denials, d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.models)) {
		m := t.models[name]
		s.Models = append(s.Models, ModelCount{Model: name, Requests: m.requests, Usage: view.UsageOf(m.usage)})
		s.Cost = view.Dollars(s.Cost + m.usage.Cost)
		s.Unpriced += m.unpriced
	}
	for _, name := range slices.Sorted(maps.Keys(t.days)) {
		if d := *t.days[name]; d != (DayCount{Day: name}) {
			s.Days = append(s.Days, d)
		}
	}
	return s
}

// spreadOf returns how figures are spread; the 95th percentile is by nearest rank.
func spreadOf(figures []int) Spread {
	if len(figures) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(figures))
	sum := 0
	for _, n := range sorted {
		sum += n
	}
	rank := (95*len(sorted) + 99) / 100
	return Spread{Mean: math.Round(100*float64(sum)/float64(len(sorted))) / 100, P95: sorted[rank-1]}
}

// Count counts over the runs of a workspace what happened after a point in time. Runs of
// which not all could be read are named in incomplete.
func Count(ctx context.Context, w *app.Workspace, after time.Time) (_ Stats, incomplete []error, err error) {
	t := newTally(after)
	runs, err := w.Runs(ctx, 0)
	if err == nil {
		err = t.count(ctx, runs, w.Events)
	}
	return t.stats(), t.incomplete, err
}

// CountAll is [Count] over the runs of all workspaces.
func CountAll(ctx context.Context, env config.Env, after time.Time) (_ Stats, incomplete []error, err error) {
	t := newTally(after)
	err = runlog.EachStore(env, func(st store.Store) error {
		runs, err := runlog.Of(ctx, st, 0)
		if err == nil {
			err = t.count(ctx, runs, st.Events)
		}
		return err
	})
	if err != nil {
		return Stats{}, nil, err
	}
	return t.stats(), t.incomplete, nil
}

// count counts runs, whose events are read with events.
func (t *tally) count(ctx context.Context, runs []runlog.Run, events func(context.Context, run.ID, int64) iter.Seq2[run.Event, error]) error {
	for _, sum := range runs {
		if sum.Updated.Before(t.after) {
			continue
		}
		r := t.begin()
		for e, err := range events(ctx, sum.ID, 0) {
			if errors.Is(err, store.ErrCorrupt) || errors.As(err, new(*store.UnreadableError)) {
				t.incomplete = append(t.incomplete, err) // what is before that counts
				break
			} else if err != nil {
				return err
			}
			r.event(e)
		}
		r.end(cmp.Or(string(sum.End), string(sum.Condition), string(runlog.Killed))) // an end, if its log can be read in part only
	}
	return nil
}
