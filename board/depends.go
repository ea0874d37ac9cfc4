package board

import (
	"context"
	"errors"
	"slices"

	"pawl/config"
	"pawl/store"
	"pawl/task"
)

// Unfinished returns those of some tasks that are not completed. One that was removed is not waited for.
func (b Board) Unfinished(ctx context.Context, on []task.ID) (unfinished []task.ID, err error) {
	for _, id := range on {
		sum, err := b.Summary(ctx, id)
		if err != nil && !errors.Is(err, store.ErrNoTask) {
			return nil, err
		}
		if err == nil && sum.Status != task.Completed {
			unfinished = append(unfinished, id)
		}
	}
	return unfinished, nil
}

// heldBack returns an edit of a task that starts by itself so that it does not any more, if the edit takes away a
// dependency that is not completed and does not say whether it starts.
func (b Board) heldBack(ctx context.Context, id task.ID, e task.Edited) (task.Edited, error) {
	if e.DependsOn == nil || e.Start != nil {
		return e, nil
	}
	s, err := b.Load(ctx, id)
	if err != nil || !s.Starts() {
		return e, err
	}
	gone := slices.DeleteFunc(slices.Clone(s.DependsOn), func(on task.ID) bool { return slices.Contains(*e.DependsOn, on) })
	unfinished, err := b.Unfinished(ctx, gone)
	if err == nil && len(unfinished) > 0 {
		e.Start = new(false)
	}
	return e, err
}

// holdDependents makes the tasks that start by themselves after a task ones that do not, and returns them.
func (b Board) holdDependents(ctx context.Context, id task.ID) (held []task.ID, err error) {
	all, _, err := b.List(ctx, Query{Status: []string{string(task.Pending), string(task.Planned)}})
	for _, sum := range all {
		if !sum.Starts || !slices.Contains(sum.DependsOn, id) {
			continue
		}
		_, err := b.Do(ctx, sum.ID, config.Person(), task.Edited{Start: new(false)})
		if errors.Is(err, store.ErrNoTask) {
			continue
		}
		if err != nil {
			return held, err
		}
		held = append(held, sum.ID)
	}
	return held, err
}
