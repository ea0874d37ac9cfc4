package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"pawl/run"
)

// Live reports whether a run exists, and whether it may still be continued by itself: it,
// a run of its conversation, or a fork of one of these, has an owner, an open turn or a
// question that waits for a person. A damaged run counts as live, because a person has to
// decide about it.
func (s *Tables) Live(ctx context.Context, id run.ID) (exists, live bool, err error) {
	live, err = s.live(ctx, id, map[run.ID]bool{})
	if errors.Is(err, ErrNotFound) {
		return false, false, nil
	}
	return true, live, err
}

// live is Live, for a run that exists. Conversations that were asked for are in seen.
func (s *Tables) live(ctx context.Context, id run.ID, seen map[run.ID]bool) (bool, error) {
	h, err := s.lookup(ctx, id)
	if err != nil || seen[h.Root] {
		return false, err
	}
	seen[h.Root] = true
	all, err := s.Conversation(ctx, h.Root)
	if err != nil {
		return false, err
	}
	for _, sum := range append(all, h.Summary) {
		if live, err := s.inUse(ctx, sum); live || err != nil {
			return live, err
		}
		forks, err := s.forks(ctx, sum.ID)
		if err != nil {
			return false, err
		}
		for _, fork := range forks {
			if live, err := s.live(ctx, fork, seen); live || err != nil && !errors.Is(err, ErrNotFound) {
				return live, err
			}
		}
	}
	return false, nil
}

// inUse reports whether one run is live by itself.
func (s *Tables) inUse(ctx context.Context, sum Summary) (bool, error) {
	if sum.End == "" || sum.End == run.Asked || sum.Damage != "" {
		return true, nil
	}
	_, owned, err := s.base.Owner(ctx, sum.ID)
	return owned, err
}

const forksQuery = `SELECT id FROM runs WHERE forked = ? AND forked != '' ORDER BY id`

func (s *Tables) forks(ctx context.Context, id run.ID) ([]run.ID, error) {
	return s.ids(ctx, forksQuery, string(id))
}

// Owned returns the runs that have an owner now.
func (s *fileStore) Owned(ctx context.Context) (owned []run.ID, err error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	ids, err := s.marked()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if CheckID(id) != nil {
			continue // not one of ours
		}
		_, has, err := s.Owner(ctx, id)
		if err != nil {
			return nil, err
		}
		if has {
			owned = append(owned, id)
		}
	}
	return owned, nil
}

// Prune removes the conversations that were last appended to longer than olderThan before
// now, and returns their runs. It keeps those that are live (see [Tables.Live]) or have
// forks that are kept. olderThan 0 or less removes nothing. If dry, nothing is removed, and
// the result is what would be. What cannot be removed is in the error, and the rest is
// removed all the same.
func (s *Tables) Prune(ctx context.Context, olderThan time.Duration, now time.Time, dry bool) (removed []run.ID, err error) {
	if olderThan <= 0 {
		return nil, nil
	}
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	// A run is younger than those it was forked from: so forks come first.
	roots, err := s.ids(ctx, `SELECT id FROM runs WHERE updated <= ? AND parent NOT IN (SELECT id FROM runs) ORDER BY created DESC, id`,
		toNano(now.Add(-olderThan)))
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, root := range roots {
		all, err := s.prunable(ctx, root, now.Add(-olderThan), removed)
		if err == nil && len(all) > 0 && !dry {
			all, err = s.base.Remove(ctx, root)
			if errors.As(err, new(*OwnedError)) || errors.As(err, new(*NeededError)) {
				continue // since
			}
		}
		if errors.Is(err, ErrNotFound) {
			continue // another process has removed it since
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		removed = append(removed, all...)
	}
	return removed, errors.Join(problems...)
}

// prunable returns a run and those below it if none was used after the time, is in use, or
// has a fork that is not in gone.
func (s *Tables) prunable(ctx context.Context, root run.ID, since time.Time, gone []run.ID) ([]run.ID, error) {
	all, err := s.below(ctx, root)
	if err != nil {
		return nil, err
	}
	for _, id := range all {
		h, err := s.lookup(ctx, id)
		if err != nil {
			return nil, err
		}
		if used, err := s.inUse(ctx, h.Summary); used || err != nil || h.Updated.After(since) {
			return nil, err
		}
		if task, err := s.neededBy(ctx, id); task != "" || err != nil {
			return nil, err
		}
		forks, err := s.forks(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, fork := range forks {
			if !slices.Contains(gone, fork) && !slices.Contains(all, fork) {
				return nil, nil
			}
		}
	}
	return all, nil
}
