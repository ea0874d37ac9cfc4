package worker

import (
	"context"
	"errors"
	"fmt"

	"pawl/run"
	"pawl/store"
	"pawl/view"
)

// below are the runs that parked calls wait for, and those below them, as the owner of the run on top
// follows them. The zero value knows none.
type below struct {
	ids   []run.ID       // nil: not read since a call was parked
	heard map[int64]bool // rows of their inboxes for which the calls were unparked
}

// Below returns the runs that running calls of a run in state s have started, and those below them, as
// their logs are now: those that wait for a person are among them. A run that has not begun is not.
func Below(ctx context.Context, st store.Store, s run.State) ([]run.State, error) {
	if s.Created.Depth >= run.MaxDepth {
		return nil, nil
	}
	var all []run.State
	for _, c := range s.Turn.Calls {
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

// belowIDs returns the runs below the run while calls of it are parked.
func (d *Runner) belowIDs() []run.ID {
	if !d.core.Parked() {
		d.below.ids = nil
		return nil
	}
	if d.below.ids == nil {
		all, err := Below(context.Background(), d.w.Store, d.core.State)
		if err != nil {
			d.w.debug("runs below", "run", d.id, "error", err)
			return nil
		}
		d.below.ids = []run.ID{}
		for _, s := range all {
			d.below.ids = append(d.below.ids, s.Created.Run)
		}
	}
	return d.below.ids
}

// heardBelow reports whether something has come into the inbox of a run below since it was asked last.
func (d *Runner) heardBelow() bool {
	for _, id := range d.belowIDs() {
		rows, err := d.w.Store.Inbox(context.Background(), id)
		if err != nil {
			d.w.debug("inbox", "run", id, "error", err)
		}
		for _, r := range rows {
			if d.below.heard[r.ID] {
				continue // it is not for the run as it is now, or another process drives the run
			}
			if d.below.heard == nil {
				d.below.heard = map[int64]bool{}
			}
			d.below.heard[r.ID] = true
			return true
		}
	}
	return false
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

// DriverOf returns the process that takes what is put into the inbox of a run: the one that drives it, or
// the nearest run above that waits for it. driven is false if there is none.
func DriverOf(ctx context.Context, s store.Store, id run.ID) (o store.Owner, driven bool, err error) {
	for range run.MaxDepth + 1 {
		o, driven, err = s.Owner(ctx, id)
		if err != nil || driven {
			return o, driven, err
		}
		sum, err := s.Run(ctx, id)
		if errors.Is(err, store.ErrNotFound) || err == nil && sum.Parent == "" {
			return o, false, nil
		}
		if err != nil {
			return o, false, err
		}
		id = sum.Parent
	}
	return o, false, nil
}
