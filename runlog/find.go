package runlog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pawl/config"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/output"
	"pawl/run"
	"pawl/store"
	"pawl/worker"
)

// Find returns the run named by which: an id, a unique prefix of one, its name, or last.
func (r Reader) Find(ctx context.Context, which string) (store.Summary, error) {
	st, err := r.open()
	if err != nil {
		return store.Summary{}, r.noRun(err)
	}
	sum, err := find(ctx, st, which)
	return sum, r.noRun(err)
}

func find(ctx context.Context, s store.Store, which string) (store.Summary, error) {
	if which == "last" {
		newest, err := s.Runs(ctx, 1)
		if err == nil && len(newest) == 0 {
			err = ErrNoRun
		}
		if err != nil {
			return store.Summary{}, err
		}
		return newest[0], nil
	}
	if store.CheckID(run.ID(which)) == nil {
		sum, err := s.Run(ctx, run.ID(which)) // also child runs, which Runs does not list
		if !errors.Is(err, store.ErrNotFound) {
			return sum, err
		}
	}
	all, err := s.Runs(ctx, 0)
	if err != nil {
		return store.Summary{}, err
	}
	var fit, named []store.Summary
	var ids []string
	for _, sum := range all {
		ids = append(ids, string(sum.ID))
		if which != "" && sum.Name == which {
			named = append(named, sum)
		}
		if which != "" && strings.HasPrefix(string(sum.ID), which) {
			fit = append(fit, sum)
		}
	}
	if len(named) > 0 {
		fit = named
	}
	const most = 3
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		var some []string
		for _, sum := range fit[:min(len(fit), most)] {
			some = append(some, string(sum.ID))
		}
		return store.Summary{}, config.Errorf("%s matches %d runs, among them %s: use a longer prefix, or rename one with `pawl runs set ID --name`", visible.Quote(which), len(fit), strings.Join(some, ", "))
	case len(all) == 0:
		return store.Summary{}, ErrNoRun
	}
	if near := text.Typo(which, ids); near != "" {
		return store.Summary{}, config.Errorf("there is no run %s; did you mean %s?", visible.Quote(which), near)
	}
	return store.Summary{}, config.Errorf("there is no run %s; the newest are %s", visible.Quote(which), strings.Join(ids[:min(len(ids), most)], ", "))
}

// Scope returns the outputs that a run can query: those of its conversation, and of the runs
// that it was forked from.
func (r Reader) Scope(ctx context.Context, which string) (output.Scope, error) {
	st, err := r.open()
	if err != nil {
		return output.Scope{}, NoRuns(err)
	}
	sum, err := find(ctx, st, which)
	if err != nil {
		return output.Scope{}, err
	}
	scope := output.Scope{Run: sum.ID}
	for e, err := range st.Events(ctx, sum.ID, 0) { // the first says whether it is a fork
		if c, ok := e.Payload.(run.Created); err == nil && ok {
			scope.Also = worker.Past(ctx, st, c, nil)
		}
		break
	}
	for sum.Parent != "" {
		parent, err := st.Run(ctx, sum.Parent)
		if err != nil {
			return scope, fmt.Errorf("the run above %s: %w", sum.ID, err)
		}
		sum = parent
	}
	scope.Conversation = sum.ID
	return scope, nil
}

// noRun makes the error of a folder without runs one that says what to do: to start a run,
// or where the nearest ones are.
func (r Reader) noRun(err error) error {
	if !errors.Is(err, store.ErrNoRuns) && !errors.Is(err, ErrNoRun) {
		return err
	}
	if hint := r.elsewhere(); hint != "" {
		return fmt.Errorf("%w; %s", ErrNoRun, hint)
	}
	return ErrNoRun
}
