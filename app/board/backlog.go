package board

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"pawl/app"
	"pawl/internal/stable"
	"pawl/store"
	"pawl/task"
)

// A backlog is the tasks that owe something and that no one here drives. All are read once;
// after that only those that have changed, so that a change costs the same however many there
// are.
type backlog struct {
	ws   *app.Workspace
	only []task.ID // empty: all tasks

	begun    bool
	position int64 // up to which the changes of all tasks were read
	owing    map[task.ID]task.Summary
}

// read brings the backlog up to date and returns the tasks that have changed. Those that are
// driven are not read; ended are no more, and may owe something although they have not changed.
func (b *backlog) read(ctx context.Context, ended []task.ID, driven func(task.ID) bool) (changed []task.ID, err error) {
	if !b.begun {
		return nil, b.begin(ctx)
	}
	changed, b.position, err = b.ws.ChangedTasks(ctx, b.position)
	if err != nil {
		return nil, err
	}
	changed = slices.DeleteFunc(changed, b.not)
	for _, id := range slices.Concat(ended, changed) {
		if driven(id) {
			continue
		}
		sum, err := b.ws.TaskSummary(ctx, id)
		switch {
		case errors.Is(err, store.ErrNoTask):
			delete(b.owing, id)
		case err != nil:
			return nil, err
		case sum.Owes:
			b.owing[id] = sum
		default:
			delete(b.owing, id)
		}
	}
	return changed, nil
}

// begin reads all tasks that owe something.
func (b *backlog) begin(ctx context.Context) (err error) {
	if b.position, err = b.ws.TaskFeedEnd(ctx); err != nil { // before: what happens meanwhile is read again
		return err
	}
	all, _, err := b.ws.Tasks(ctx, app.TaskQuery{Owes: true})
	if err != nil {
		return err
	}
	b.owing = map[task.ID]task.Summary{}
	for _, sum := range all {
		if !b.not(sum.ID) {
			b.owing[sum.ID] = sum
		}
	}
	b.begun = true
	return nil
}

// not reports whether a task is none of those that are driven.
func (b *backlog) not(id task.ID) bool { return len(b.only) > 0 && !slices.Contains(b.only, id) }

// sorted returns the tasks, those with a higher priority first, then those that have waited
// longest.
func (b *backlog) sorted() []task.Summary {
	all := slices.Collect(maps.Values(b.owing))
	stable.Sort(all, func(x, y task.Summary) int {
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), x.Updated.Compare(y.Updated), cmp.Compare(x.ID, y.ID))
	})
	return all
}
