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
func (d *Runner) readBelow() error {
	parked := d.core.Parked()
	if len(parked) == 0 {
		d.below.runs = nil
		return nil
	}
	if d.below.runs != nil {
		return nil
	}
	states, err := startedBy(d.life, d.w.Store, d.core.State, parked)
	if err != nil {
		return err
	}
	runs := []belowRun{}
	for _, s := range states {
		id := s.Created.Run
		_, driven, err := d.w.Store.Owner(d.life, id)
		if err != nil {
			return err
		}
		runs = append(runs, belowRun{id, s.Seq, s.Seq, driven, d.w.Authorizer.Versions(id)[0]})
	}
	d.below.runs = runs
	return nil
}

// heardBelow reports whether something has happened to a run below because of which a parked call may
// go on: something is in its inbox, its rules have changed, or another process has driven it and left it.
func (d *Runner) heardBelow() bool {
	err := d.readBelow()
	for i := range d.below.runs {
		heard, e := d.heard(&d.below.runs[i])
		if heard {
			return true
		}
		err = errors.Join(err, e)
	}
	if err != nil {
		d.w.debug("runs below", "run", d.id, "error", err)
	}
	return false
}

func (d *Runner) heard(r *belowRun) (bool, error) {
	rows, err := d.w.Store.Inbox(d.life, r.id)
	for _, row := range rows {
		if d.below.heard[row.ID] {
			continue // it is not for the run as it is now, or another process drives the run
		}
		if d.below.heard == nil {
			d.below.heard = map[int64]bool{}
		}
		d.below.heard[row.ID] = true
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if d.w.Authorizer.Versions(r.id)[0] != r.version {
		return true, nil
	}
	now, err := d.w.Store.Run(d.life, r.id)
	if err == nil && now.Seq != r.seen { // another process continues it, so a question may be settled
		r.seen = now.Seq
		d.feed.show(view.Update{Below: r.id})
	}
	if err != nil || now.Seq == r.seq && !r.driven {
		return false, err
	}
	_, driven, err := d.w.Store.Owner(d.life, r.id)
	return err == nil && !driven, err
}

// showBelow shows what a person has to know of an update of the child run id: its events are in its own
// log.
func (d *Runner) showBelow(id run.ID, u view.Update) {
	asked := false
	if u.Event != nil {
		e, ok := u.Event.Payload.(run.Ended)
		asked = ok && e.End == run.Asked
	}
	switch {
	case u.Notice != "":
		d.feed.show(view.Update{Notice: fmt.Sprintf("%s: %s", id, u.Notice)})
	case u.Waiting != nil, asked:
		d.feed.show(view.Update{Below: id})
	case u.Below != "":
		d.feed.show(view.Update{Below: u.Below})
	}
}
