package report

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"pawl/app"
	"pawl/internal/stable"
	"pawl/judge"
	"pawl/permission"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

// A Replay says how recorded calls would be decided now.
type Replay struct {
	Runs    int            // that were read
	Calls   int            // that were decided again
	Asked   int            // of these, how many a person was asked about
	Asks    int            // and how many would be asked about now
	Changed []Otherwise    // those that would be decided differently
	Ways    map[string]int // "was → now": how many
	// Questions are what would be asked now, by the rules that would answer it; the most frequent first.
	Questions []Question
}

// A Question is what would be asked now and the same rules would answer for good.
type Question struct {
	Rules     permission.Rules // none: no rule can
	Why       string           // there is none
	Calls     int
	Tool      string // of the newest of these calls
	Arguments string
}

// A Trial says what calls are decided again by.
type Trial struct {
	Rules permission.Rules // nil: those in force for each run
	Mode  permission.Mode  // "": that in which each call was decided
	Last  int              // of so many calls, those made last; 0: of all
}

// An Otherwise is a call that would be decided differently.
type Otherwise struct {
	Run       run.ID          `json:"run"`
	Call      run.CallID      `json:"call"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input"`
	Arguments string          `json:"-"`
	Was       string          `json:"was"` // allowed, asked, refused
	Now       string          `json:"now"`
	Then      run.Decision    `json:"-"`              // what was decided
	Rule      string          `json:"rule,omitempty"` // that decides now
	Source    string          `json:"source,omitempty"`
	Reason    string          `json:"reason,omitempty"`
}

// Redecide decides the calls of runs again. Without runs it takes all. Of a call that was decided on several times the
// first decision counts: the later ones knew more than the rules. It takes time in proportion to the calls.
func Redecide(ctx context.Context, w *app.Workspace, which []string, by Trial) (Replay, error) {
	r := Replay{Ways: map[string]int{}}
	p, err := w.Policy()
	if err != nil {
		return r, err
	}
	judged, err := w.Judgements(run.State{})
	if err != nil {
		return r, err
	}
	ids, err := named(ctx, w, which)
	if err != nil {
		return r, err
	}
	var runs [][]recorded // the newest first
	for _, id := range slices.Backward(ids) {
		if by.Last > 0 && r.Calls >= by.Last {
			break
		}
		calls, err := recordedCalls(ctx, w, id)
		if err != nil {
			return r, err
		}
		if over := r.Calls + len(calls) - by.Last; by.Last > 0 && over > 0 {
			calls = calls[over:]
		}
		r.Calls += len(calls)
		runs = append(runs, calls)
	}
	r.Runs = len(runs)
	questions := map[string]*Question{}
	for _, calls := range slices.Backward(runs) {
		rules := by.Rules
		if rules == nil && len(calls) > 0 {
			if rules, err = p.Rules(calls[0].run); err != nil {
				return r, err
			}
		}
		for _, c := range calls {
			if by.Mode != "" {
				c.mode = by.Mode
			}
			r.add(c, judged(judge.Fixed(rules), c.run, c.mode, c.tool, c.class, c.call.Arguments), questions)
		}
	}
	for _, key := range stable.Sorted(maps.Keys(questions), func(x, y string) int {
		return cmp.Or(questions[y].Calls-questions[x].Calls, strings.Compare(x, y))
	}) {
		r.Questions = append(r.Questions, *questions[key])
	}
	return r, nil
}

// add takes in what a call was and would be.
func (r *Replay) add(c recorded, j *judge.Judgement, questions map[string]*Question) {
	now := j.Decision()
	was, is := howDecided(c.decision), howNow(now.Verdict)
	if was == askedWord {
		r.Asked++
	}
	if is == askedWord {
		r.Asks++
		p := j.Propose()
		var key strings.Builder
		for _, rule := range p.Rules {
			key.WriteString(rule.String() + "\x00" + string(rule.Sandbox) + "\x00")
		}
		if len(p.Rules) == 0 {
			key.WriteString("\x00" + c.tool + "\x00" + j.Request.Command)
		}
		q := questions[key.String()]
		if q == nil {
			q = &Question{Rules: p.Rules, Why: p.Reason}
			questions[key.String()] = q
		}
		q.Calls++
		q.Tool, q.Arguments = c.tool, c.call.Arguments
	}
	if was == is || was == refusedWord && is == askedWord {
		return // without a person an ask is a refusal: it would come out the same
	}
	r.Ways[was+" → "+is]++
	r.Changed = append(r.Changed, Otherwise{Run: c.run, Call: c.call.ID, Tool: c.tool, Input: view.InputOf(c.call.Arguments), Arguments: c.call.Arguments, Was: was, Now: is,
		Then: c.decision, Rule: now.Rule, Source: now.Source, Reason: now.Reason})
}

// named returns the runs that arguments mean; without any, all, the oldest first.
func named(ctx context.Context, w *app.Workspace, which []string) ([]run.ID, error) {
	var ids []run.ID
	for _, name := range which {
		sum, err := w.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, sum.ID)
	}
	if len(which) > 0 {
		return ids, nil
	}
	all, err := w.Runs(ctx, 0)
	if err == nil && len(all) == 0 {
		err = runlog.ErrNoRun
	}
	for _, sum := range slices.Backward(all) {
		ids = append(ids, sum.ID)
	}
	return ids, err
}

// A recorded is a call on which rules were asked.
type recorded struct {
	run      run.ID
	call     run.Call
	tool     string
	class    run.Class
	mode     permission.Mode
	decision run.Decision
}

func recordedCalls(ctx context.Context, w *app.Workspace, id run.ID) (all []recorded, _ error) {
	calls, asked, mode, copied := map[run.CallID]run.Call{}, map[run.CallID]run.CallInspected{}, permission.Default, int64(0)
	names := app.ToolNames()
	for e, err := range w.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		view.Remember(calls, e.Payload)
		switch f := e.Payload.(type) {
		case run.Created:
			mode = permission.ModeOf(f.Config.Mode)
			if f.ForkedFrom != "" {
				copied = f.ForkedAt // these are the other run's, and counted there
			}
		case run.Configured:
			if f.Change.Mode != nil {
				mode = permission.Mode(*f.Change.Mode)
			}
		case run.CallInspected:
			if e.Seq > copied && !f.Question {
				asked[f.Call] = f
			}
		case run.CallDecided:
			in, ok := asked[f.Call]
			delete(asked, f.Call)
			if !ok || !slices.Contains(names, in.Tool) || f.Decision.Source == "inspection" || in.Problem != "" {
				continue // no rule was asked: it could not run, or was the result handed in
			}
			all = append(all, recorded{id, calls[f.Call], in.Tool, in.Class, mode, f.Decision})
		}
	}
	return all, nil
}

const (
	refusedWord = "refused"
	askedWord   = "asked"
)

// howDecided says how a call was decided on.
func howDecided(d run.Decision) string {
	switch {
	case d.Source == "person", d.Source == run.ByModel: // the rules asked
		return askedWord
	case d.Allows():
		return "allowed"
	}
	return refusedWord
}

func howNow(v permission.Verdict) string {
	switch v {
	case permission.Allow:
		return "allowed"
	case permission.Ask:
		return askedWord
	}
	return refusedWord
}
