package board

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"pawl/internal/stable"
	"pawl/store"
	"pawl/task"
)

// A backlog is the tasks that owe something, or start by themselves now, and that no one here drives.
// All are read once; after that only those that have changed, so that a change costs the same however
// many there are.
type backlog struct {
	board Board
	only  []task.ID // empty: all tasks

	begun    bool
	position int64 // up to which the changes of all tasks were read
	owing    map[task.ID]task.Summary
	held     map[task.ID]task.Summary // that start by themselves when others are completed
	limited  map[task.ID]task.Summary // that continue by themselves when a limit of a provider has ended
}

// read brings the backlog up to date, at the time now, and returns the tasks that have changed. Those that are
// driven are not read; ended are no more, and may owe something although they have not changed. After an error the
// next call reads all tasks again.
func (b *backlog) read(ctx context.Context, now time.Time, ended []task.ID, driven func(task.ID) bool) (changed []task.ID, err error) {
	defer b.due(now)
	defer func() { b.begun = err == nil }()
	if !b.begun {
		return nil, b.begin(ctx)
	}
	changed, b.position, err = b.board.Changed(ctx, b.position)
	if err != nil {
		return nil, err
	}
	some := slices.Concat(ended, changed)
	for id, sum := range b.held {
		if slices.ContainsFunc(sum.DependsOn, func(on task.ID) bool { return slices.Contains(changed, on) }) {
			some = append(some, id)
		}
	}
	for _, id := range some {
		if driven(id) || b.not(id) {
			continue
		}
		delete(b.owing, id)
		delete(b.held, id)
		delete(b.limited, id)
		sum, err := b.board.Summary(ctx, id)
		if err == nil {
			err = b.put(ctx, sum)
		}
		if err != nil && !errors.Is(err, store.ErrNoTask) {
			return nil, err
		}
	}
	return changed, nil
}

// due takes up the tasks whose limits have ended.
func (b *backlog) due(now time.Time) {
	for id, sum := range b.limited {
		if !now.Before(sum.Until) {
			b.owing[id] = sum
			delete(b.limited, id)
		}
	}
}

// put takes a task up, if it owes something or starts by itself.
func (b *backlog) put(ctx context.Context, sum task.Summary) error {
	if !sum.Owes && sum.Starts {
		unfinished, err := b.board.Unfinished(ctx, sum.DependsOn)
		if err != nil {
			return err
		}
		if len(unfinished) > 0 {
			b.held[sum.ID] = sum
			return nil
		}
	}
	switch {
	case sum.Owes || sum.Starts:
		b.owing[sum.ID] = sum
	case !sum.Until.IsZero():
		b.limited[sum.ID] = sum
	}
	return nil
}

// begin reads all tasks that owe something or start by themselves.
func (b *backlog) begin(ctx context.Context) (err error) {
	if b.position, err = b.board.FeedEnd(ctx); err != nil { // before: what happens meanwhile is read again
		return err
	}
	b.owing, b.held, b.limited = map[task.ID]task.Summary{}, map[task.ID]task.Summary{}, map[task.ID]task.Summary{}
	var all []task.Summary
	for _, id := range b.only {
		sum, err := b.board.Summary(ctx, id)
		if err != nil && !errors.Is(err, store.ErrNoTask) {
			return err
		}
		all = append(all, sum)
	}
	if len(b.only) == 0 {
		for _, q := range []Query{{Owes: true}, {Status: []string{string(task.Pending), string(task.Planned), string(task.Waiting)}}} {
			some, _, err := b.board.List(ctx, q)
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
	}
	for _, sum := range all {
		if err := b.put(ctx, sum); err != nil {
			return err
		}
	}
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
