package report

import (
	"context"
	"encoding/json"
	"slices"

	"pawl/app"
	"pawl/permission"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

// A Replay says how recorded calls would be decided now.
type Replay struct {
	Runs    int            // that were read
	Calls   int            // that were decided again
	Changed []Otherwise    // those that would be decided differently
	Ways    map[string]int // "was → now": how many
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

// Redecide decides the calls of runs again, by rules, or by those in force if rules is nil.
// Without runs it takes all, the oldest first. Of a call that was decided on several times
// the first decision counts: the later ones knew more than the rules.
func Redecide(ctx context.Context, w *app.Workspace, which []string, rules permission.Rules) (Replay, error) {
	r := Replay{Ways: map[string]int{}}
	p, err := w.Policy()
	if err != nil {
		return r, err
	}
	request, err := w.Requests(run.State{})
	if err != nil {
		return r, err
	}
	ids, err := named(ctx, w, which)
	if err != nil {
		return r, err
	}
	r.Runs = len(ids)
	for _, id := range ids {
		inForce := rules
		if rules == nil {
			if inForce, err = p.Rules(id); err != nil {
				return r, err
			}
		}
		if err := r.run(ctx, w, id, inForce, request); err != nil {
			return r, err
		}
	}
	return r, nil
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

func (r *Replay) run(ctx context.Context, w *app.Workspace, id run.ID, rules permission.Rules, request func(string, run.Class, string) permission.Request) error {
	calls, asked, mode, copied := map[run.CallID]run.Call{}, map[run.CallID]run.CallInspected{}, permission.Default, int64(0)
	names := app.ToolNames()
	judge := func(call run.CallID, d run.Decision) {
		f, ok := asked[call]
		if !ok {
			return
		}
		delete(asked, call)
		c := calls[call]
		if !slices.Contains(names, f.Tool) || d.Source == "inspection" || f.Problem != "" {
			return // no rule was asked: it could not run, or was the result handed in
		}
		r.Calls++
		now := rules.Decide(request(f.Tool, f.Class, c.Arguments), mode)
		was, is := howDecided(d), howNow(now.Verdict)
		if was == is || was == refusedWord && now.Verdict == permission.Ask {
			return // without a person an ask is a refusal: it would come out the same
		}
		r.Ways[was+" → "+is]++
		r.Changed = append(r.Changed, Otherwise{Run: id, Call: call, Tool: f.Tool, Input: view.InputOf(c.Arguments), Arguments: c.Arguments, Was: was, Now: is,
			Then: d, Rule: now.Rule, Source: now.Source, Reason: now.Reason})
	}
	for e, err := range w.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		for _, c := range view.CallsOf(e.Payload) {
			calls[c.ID] = c
		}
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
			judge(f.Call, f.Decision)
		}
	}
	return nil
}

const refusedWord = "refused"

// howDecided says how a call was decided on.
func howDecided(d run.Decision) string {
	switch {
	case d.Source == "person":
		return "asked"
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
		return "asked"
	}
	return refusedWord
}
