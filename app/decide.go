package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/config"
	"pawl/inbox"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/runlog"
	"pawl/tool"
	"pawl/view"
	"pawl/worker"
)

// An Approval is a call that waits for a person, with everything the person has to see to
// decide.
type Approval struct {
	Run   run.ID // that makes the call: the one that was asked for, or one below it
	Agent string // of a run below: its agent, or its id if it has none
	Call  run.Call
	// What it would do when this was read, and the digest of that, which goes into the decision.
	Intent      tool.Intent
	Request     permission.Request
	Digest      string
	Explanation permission.Explanation // part by part, with the rule that decides each
	Proposal    permission.Proposal    // what Always and Never would store
	Change      string                 // of a file, as the lines of a diff, uncut; empty: none is known
	// Answered is the answer that waits for a process to take it; nil: none was given.
	Answered *request.Decide
}

// Dir returns the folder that the command of the call would run in; empty: that is the workspace.
func (a Approval) Dir() string {
	if r := a.Request; r.Command != "" && r.Dir != r.Workspace {
		return r.Dir
	}
	return ""
}

// approvals returns the calls of a state that wait for a person, and those of the runs below it.
func (w *Workspace) approvals(d *worker.Worker, s run.State) ([]Approval, error) {
	below, err := w.Below(s)
	if err != nil {
		return nil, err
	}
	var all []Approval
	for _, of := range append([]run.State{s}, below...) {
		agent := ""
		if of.Created.Run != s.Created.Run {
			agent = runlog.AgentOf(of)
		}
		for _, c := range runlog.Undecided(of) {
			j, err := d.Judge(of, c)
			if err != nil {
				return nil, err
			}
			e, err := j.Explain()
			if err != nil {
				return nil, err
			}
			answered, err := w.Stored(context.Background(), of.Created.Run, c.ID)
			if err != nil {
				return nil, err
			}
			all = append(all, Approval{of.Created.Run, agent, c.Call, j.Intent, j.Request, j.Digest(), e, j.Propose(), ChangeOf(c.Call, j.Request), answered})
		}
	}
	return all, nil
}

// Approvals returns the calls of a run that wait for a person, and those of the runs below it,
// whichever process drives it.
func (w *Workspace) Approvals(ctx context.Context, id run.ID) ([]Approval, error) {
	d, err := w.previewer()
	if err != nil {
		return nil, err
	}
	_, s, err := w.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	return w.approvals(d, s)
}

// StoredScopes are the scopes in which a person can store rules.
var StoredScopes = []string{string(permission.ForUser), string(permission.ForWorkspace), string(permission.FromRepository), string(permission.ForRun)}

// Rules returns what an answer to a, always or never, stores in a scope: the rules given, which have to
// cover a part of the call, or else those that are proposed.
func (a Approval) Rules(answer run.Answer, scope permission.Scope, given permission.Rules) (permission.Rules, error) {
	effect := permission.Allow
	if answer == run.Never {
		effect = permission.Deny
	}
	rules := given
	if len(rules) == 0 {
		if rules = a.Proposal.Rules; effect == permission.Deny {
			rules = a.Proposal.Deny
		}
	}
	if len(rules) == 0 {
		return nil, config.Errorf("no rule can be proposed: %s; allow the call once, or give a rule", a.Proposal.Reason)
	}
	stored := make(permission.Rules, len(rules))
	for i, r := range rules {
		r.Effect, r.Scope = effect, scope
		if effect == permission.Deny {
			r.Sandbox = run.Confined // only an allow rule can lift it
		}
		stored[i] = r
	}
	decides := func(p permission.Part) bool { return p.Rule != "" }
	if len(given) > 0 && !slices.ContainsFunc(stored.Explain(a.Request, permission.Default).Parts, decides) {
		return nil, config.Errorf("the rule %s does not cover any part of this call", stored[0])
	}
	return stored, nil
}

// Is reports whether the digest that a person was shown, or its beginning, is that of the
// call as it is now.
func (a Approval) Is(shown string) bool { return strings.HasPrefix(a.Digest, shown) }

// Decide answers a call of a run that any process may drive: the answer goes into the
// inbox of the run, and its owner takes it, or that of the run above which waits for it. taken is
// false if no process drives them: the
// answer counts when it is resumed. An error says that another answer was first, or that
// this one had no effect.
func (w *Workspace) Decide(ctx context.Context, id run.ID, d request.Decide) (taken bool, err error) {
	if d.By == "" {
		d.By = Person()
	}
	events, _, err := w.Load(ctx, id)
	if err != nil {
		return false, err
	}
	// All answers to the call have the same key: the store keeps the first row with it,
	// and the sender of a second one finds the other's.
	key := fmt.Sprintf("decide-%s-%d", d.Call, askedSince(events, d.Call))
	taken, err = w.hand(ctx, id, key, d)
	refused, _ := errors.AsType[*inbox.RefusedError](err)
	switch {
	case err != nil && refused == nil:
		return false, err
	case taken:
		return true, w.hadEffect(ctx, id, d, refused)
	}
	return false, w.isFirst(ctx, id, d)
}

// isFirst returns an [*request.AnsweredError] if the answer that waits in the inbox for the call of d is not d.
func (w *Workspace) isFirst(ctx context.Context, id run.ID, d request.Decide) error {
	was, err := w.Stored(ctx, id, d.Call)
	if err != nil || was == nil {
		return err
	}
	_, there, err1 := request.Encode(*was)
	_, mine, err2 := request.Encode(d)
	if err := errors.Join(err1, err2); err != nil || there == mine {
		return err
	}
	return &request.AnsweredError{Call: d.Call, Was: *was}
}

// hadEffect returns why an answer that was taken is not the decision on its call; refused is what its
// sender was told.
func (w *Workspace) hadEffect(ctx context.Context, id run.ID, mine request.Decide, refused *inbox.RefusedError) error {
	events, _, err := w.Load(ctx, id)
	if err != nil {
		return err
	}
	was, ok := view.DecisionOn(events, mine.Call)
	switch {
	case !ok && refused != nil:
		return refused
	case !ok:
		return fmt.Errorf("the answer was taken but had no effect: see `pawl runs decide %s`", id)
	case was.Source != "person" || was.By != mine.By || was.Answer != mine.Answer:
		return &request.DecidedError{Call: mine.Call, Was: was}
	}
	return nil
}

// askedSince returns the number of the event since which a call needs approval: one whose
// approval was invalidated can be answered again.
func askedSince(events []run.Event, id run.CallID) int64 {
	var seq int64
	for _, e := range events {
		switch f := e.Payload.(type) {
		case run.CallInspected:
			if f.Call == id {
				seq = e.Seq
			}
		case run.ApprovalInvalidated:
			if f.Call == id {
				seq = e.Seq
			}
		}
	}
	return seq
}
