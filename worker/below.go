package worker

import (
	"context"
	"errors"
	"fmt"

	"pawl/run"
	"pawl/store"
	"pawl/view"
)

// below are the runs that parked calls wait for, and those below them, as they were when the last call
// was parked. The zero value knows none.
type below struct {
	runs  []belowRun     // nil: not read since a call was parked
	heard map[int64]bool // rows of their inboxes for which the calls were unparked
}

// A belowRun is what would tell that something has happened to a run below.
type belowRun struct {
	id      run.ID
	seq     int64
	seen    int64  // what who shows the run above was told of
	driven  bool   // by another process
	version string // of its rules
}

// Below returns the runs that running calls of a run in state s have started, and those below them, as
// their logs are now: those that wait for a person are among them. A run that has not begun is not.
func Below(ctx context.Context, st store.Store, s run.State) ([]run.State, error) {
	return startedBy(ctx, st, s, s.Turn.Calls)
}

// startedBy is Below of some calls of the run.
func startedBy(ctx context.Context, st store.Store, s run.State, calls []*run.CallState) ([]run.State, error) {
	if s.Created.Depth >= run.MaxDepth {
		return nil, nil
	}
	var all []run.State
	for _, c := range calls {
		if c.Status != run.CallRunning || c.Class != run.Resumable {
			continue
		}
		child, err := run.ReplaySeq(st.Events(ctx, run.ChildID(s.Created.Run, c.ID), 0))
		if errors.Is(err, store.ErrNotFound) || err == nil && child.Created.Run == "" {
			continue // it has not begun, or the call starts none
		}
		if err != nil {
			return nil, fmt.Errorf("the run that call %s has started: %w", c.ID, err)
		}
		all = append(all, child)
		more, err := Below(ctx, st, child)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// readBelow reads which runs parked calls wait for, if that is not known.
func (r *Runner) readBelow() error {
	parked := r.core.Parked()
	if len(parked) == 0 {
		r.below.runs = nil
		return nil
	}
	if r.below.runs != nil {
		return nil
	}
	states, err := startedBy(r.life, r.w.Store, r.core.State, parked)
	if err != nil {
		return err
	}
	runs := []belowRun{}
	for _, s := range states {
		id := s.Created.Run
		_, driven, err := r.w.Store.Owner(r.life, id)
		if err != nil {
			return err
		}
		runs = append(runs, belowRun{id, s.Seq, s.Seq, driven, r.w.Authorizer.Versions(id)[0]})
	}
	r.below.runs = runs
	return nil
}

// heardBelow reports whether something has happened to a run below because of which a parked call may
// go on: something is in its inbox, its rules have changed, or another process has driven it and left it.
func (r *Runner) heardBelow() bool {
	err := r.readBelow()
	for i := range r.below.runs {
		heard, e := r.heard(&r.below.runs[i])
		if heard {
			return true
		}
		err = errors.Join(err, e)
	}
	if err != nil {
		r.w.debug("runs below", "run", r.id, "error", err)
	}
	return false
}

func (r *Runner) heard(child *belowRun) (bool, error) {
	rows, err := r.w.Store.Inbox(r.life, child.id)
	for _, row := range rows {
		if r.below.heard[row.ID] {
			continue // it is not for the run as it is now, or another process drives the run
		}
		if r.below.heard == nil {
			r.below.heard = map[int64]bool{}
		}
		r.below.heard[row.ID] = true
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if r.w.Authorizer.Versions(child.id)[0] != child.version {
		return true, nil
	}
	now, err := r.w.Store.Run(r.life, child.id)
	if err == nil && now.Seq != child.seen { // another process continues it, so a question may be settled
		child.seen = now.Seq
		r.feed.show(view.Update{Below: child.id})
	}
	if err != nil || now.Seq == child.seq && !child.driven {
		return false, err
	}
	_, driven, err := r.w.Store.Owner(r.life, child.id)
	return err == nil && !driven, err
}

// showBelow shows what a person has to know of an update of the child run id: its events are in its own
// log.
func (r *Runner) showBelow(id run.ID, u view.Update) {
	asked := false
	if u.Event != nil {
		switch e := u.Event.Payload.(type) {
		case run.Ended:
			asked = e.End == run.Asked
		case run.CallAsked, run.CallAnswered:
			asked = true
		}
	}
	switch {
	case u.Notice != "":
		r.feed.show(view.Update{Notice: fmt.Sprintf("%s: %s", id, u.Notice)})
	case u.Waiting != nil, asked:
		r.feed.show(view.Update{Below: id})
	case u.Below != "":
		r.feed.show(view.Update{Below: u.Below})
	}
}
