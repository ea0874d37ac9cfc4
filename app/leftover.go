package app

import (
	"context"

	"pawl/external"
	"pawl/run"
)

// leftAgents returns the runs of which an external agent is at work though no process drives
// them: their pawl was killed.
func (w *Workspace) leftAgents(ctx context.Context) ([]run.ID, error) {
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

// EndLeftAgents ends the external agents of runs that no process drives, with all processes that they
// started, so that they do not work beside others in the same folder. It returns the runs.
func (w *Workspace) EndLeftAgents(ctx context.Context) ([]run.ID, error) {
	left, err := w.leftAgents(ctx)
	for _, id := range left {
		external.End(w.externalState(), id)
	}
	return left, err
}
