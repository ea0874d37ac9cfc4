package app

import (
	"context"
	"errors"
	"fmt"

	"pawl/approval"
	"pawl/config"
	"pawl/inbox"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
	"pawl/worker"
)

// approvals returns the calls of a state that wait for a person, and those of the runs below it.
func (w *Workspace) approvals(d *worker.Worker, s run.State) ([]approval.Approval, error) {
	below, err := w.Below(s)
	if err != nil {
		return nil, err
	}
	var all []approval.Approval
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
			for i, p := range e.Parts {
				if p.Verdict == permission.Ask && j.Intent.Hint != "" {
					e.Parts[i].Reason += "; " + j.Intent.Hint
				}
			}
			answered, err := w.Stored(context.Background(), of.Created.Run, c.ID)
			if err != nil {
				return nil, err
			}
			all = append(all, approval.Approval{
				Run: of.Created.Run, Agent: agent, Call: c.Call, Intent: j.Intent, Request: j.Request, Digest: j.Digest(),
				Explanation: e, Proposal: j.Propose(), Change: approval.ChangeOf(c.Call, j.Request), Answered: answered,
			})
		}
	}
	return all, nil
}

// Approvals returns the calls of a run that wait for a person, and those of the runs below it,
// whichever process drives it.
func (w *Workspace) Approvals(ctx context.Context, id run.ID) ([]approval.Approval, error) {
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

// Decide answers a call of a run that any process may drive: the answer goes into the
// inbox of the run, and its owner takes it, or that of the run above which waits for it. taken is
// false if no process drives them: the
// answer counts when it is resumed. An error says that another answer was first, or that
// this one had no effect.
func (w *Workspace) Decide(ctx context.Context, id run.ID, d request.Decide) (taken bool, err error) {
	if d.By == "" {
		d.By = config.Person()
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
