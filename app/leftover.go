package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"pawl/external"
	"pawl/inbox"
	"pawl/run"
	"pawl/store"
)

// LeftAgents returns the runs of which an external agent is at work though no process drives
// them: their pawl was killed.
func (w *Workspace) LeftAgents(ctx context.Context) ([]run.ID, error) {
	var left []run.ID
	for _, id := range external.AtWork(w.externalState()) {
		_, driven, err := w.Owner(ctx, id)
		if err != nil {
			return left, err
		}
		if !driven {
			left = append(left, id)
		}
	}
	return left, nil
}

// AgentMemory returns how much memory the external agents at work take, by their runs, in bytes; 0 where that is not known.
func (w *Workspace) AgentMemory() map[run.ID]int64 { return external.Memory(w.externalState()) }

// agentPatience is how long a stopped agent may take to end: its driver sends SIGINT, SIGTERM and SIGKILL, with
// [external.DefaultPatience] between them.
const agentPatience = 2*external.DefaultPatience + 5*time.Second

// agentEnds returns when the external agent of a run whose turn was stopped has ended: the end of the turn is in
// the log before. One that no process drives is ended here.
func (w *Workspace) agentEnds(ctx context.Context, id run.ID) error {
	patience := time.After(agentPatience)
	for slices.Contains(external.AtWork(w.externalState()), id) {
		if _, driven, err := w.Owner(ctx, id); err == nil && !driven {
			external.End(w.externalState(), id)
			continue
		}
		select {
		case <-time.After(inbox.Poll):
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-patience:
			return &inbox.NotTakenError{What: fmt.Sprintf("the turn of run %s has ended, but processes of its agent have not after %s: see `pawl doctor`", id, agentPatience)}
		}
	}
	return nil
}

// EndLeftAgents ends the external agents of runs that no process drives, with all processes that they
// started, so that they do not work beside others in the same folder. It returns the runs.
func (w *Workspace) EndLeftAgents(ctx context.Context) ([]run.ID, error) {
	left, err := w.LeftAgents(ctx)
	for _, id := range left {
		external.End(w.externalState(), id)
	}
	return left, err
}

// SetServed notes that servers drive a run, until it is at rest: when the one that does has ended, the next one finds it
// with [Workspace.LeftRuns].
func (w *Workspace) SetServed(ctx context.Context, id run.ID, served bool) error {
	st, err := w.writing()
	if err != nil {
		return err
	}
	host := ""
	if served {
		if host, err = os.Hostname(); err != nil {
			return err
		}
	}
	return st.SetServed(ctx, id, host)
}

// LeftRuns returns the runs that a server has to continue here: one drove them, and no process does now. What a run works
// in has to be here: with a shared repository the folder of a server is its machine's own. The error is of runs of which
// that is not known; the others are returned with it.
func (w *Workspace) LeftRuns(ctx context.Context) ([]run.ID, error) {
	st, err := w.reading()
	if err != nil {
		return nil, err
	}
	served, err := st.Served(ctx)
	if err != nil || len(served) == 0 {
		return nil, err
	}
	here, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	var left []run.ID
	var problems []error
	for id, host := range served {
		if host != here && w.Repository() != "" {
			continue
		}
		if is, err := w.isLeft(ctx, st, id); err != nil {
			problems = append(problems, err) // of this one
		} else if is {
			left = append(left, id)
		}
	}
	return left, errors.Join(problems...)
}

// isLeft reports whether no process drives a run that servers drive, and it works here.
func (w *Workspace) isLeft(ctx context.Context, st store.Database, id run.ID) (bool, error) {
	_, driven, err := w.Owner(ctx, id)
	if driven || err != nil {
		return false, err
	}
	sum, err := st.Run(ctx, id)
	if errors.Is(err, store.ErrNotFound) { // its server was killed before its first event
		err = w.SetServed(ctx, id, false)
	}
	return sum.Workspace == w.Dir, err
}
