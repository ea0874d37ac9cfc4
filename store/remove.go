package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/inside"
	"pawl/run"
)

// A NeededError means that a run was not removed because another run needs it.
type NeededError struct {
	Run run.ID
	// Parent is the run that has started it as a child, and is removed together with it.
	Parent run.ID
	// Forks were forked from it, or from a run below it, and use its outputs.
	Forks []run.ID
	// Task is a task whose agent it is; the task is not finished.
	Task string
}

func (e *NeededError) Error() string {
	if e.Parent != "" {
		return fmt.Sprintf("run %s is a child of run %s and can only be removed with it", e.Run, e.Parent)
	}
	if e.Task != "" {
		return fmt.Sprintf("run %s is needed by task %s, which is not finished", e.Run, e.Task)
	}
	return fmt.Sprintf("run %s is needed by its forks: remove these first: %s", e.Run, joinIDs(e.Forks))
}

func joinIDs(ids []run.ID) string {
	var names []string
	for _, id := range ids {
		names = append(names, string(id))
	}
	return strings.Join(names, ", ")
}

// Remove implements [Database].
func (s *fileStore) Remove(ctx context.Context, id run.ID) (removed []run.ID, err error) {
	removed, err = s.remove(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("remove run %s: %w", id, err)
	}
	return removed, nil
}

func (s *fileStore) remove(ctx context.Context, id run.ID) (removed []run.ID, err error) {
	if s.writer == nil {
		return nil, ErrForReading
	}
	if removed, err = s.Removable(ctx, id); err != nil {
		return nil, err
	}
	var leases []*lease
	defer func() {
		for _, l := range leases {
			err = errors.Join(err, l.Release())
		}
	}()
	for _, id := range removed {
		l, err := s.own(id, "")
		if err != nil {
			return nil, err
		}
		leases = append(leases, l)
	}
	// The marks go first: a mark without a run would mean that the run was lost.
	var marks []mark
	for i, l := range leases {
		m, ok := readMark(l.lock.file, s.id)
		if !ok {
			continue
		}
		m.run = removed[i]
		marks = append(marks, m)
	}
	err = s.write(ctx, func(w *writer) error { return w.remove(id, removed, len(marks) > 0) })
	if errors.Is(err, ErrNotFound) { // the lock files are those that were just made
		for _, id := range removed {
			err = errors.Join(err, inside.Remove(s.dir, lockPath(s.dir, id)))
		}
		return nil, err
	}
	if err != nil {
		for _, m := range marks {
			if _, gone := s.head(m.run); gone == nil {
				setMark(s.dir, m)
			}
		}
		return nil, err
	}
	for _, id := range removed {
		if rerr := inside.Remove(s.dir, lockPath(s.dir, id)); rerr != nil {
			err = errors.Join(err, fileError(lockPath(s.dir, id), rerr)) // Tidy tries again
		}
	}
	return removed, err
}

// Removable returns the runs that Remove would remove, or the error that it would return now.
// It changes nothing.
func (s *Tables) Removable(ctx context.Context, id run.ID) ([]run.ID, error) {
	h, err := s.lookup(ctx, id)
	if err != nil {
		return nil, err
	}
	if h.Parent != "" {
		if _, err := s.head(h.Parent); err == nil {
			return nil, &NeededError{Run: id, Parent: h.Parent}
		}
	}
	all, err := s.below(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		all = []run.ID{id} // lost: only its mark is there
	}
	var needed NeededError
	for _, one := range all {
		owner, owned, err := s.base.Owner(ctx, one)
		if err != nil {
			return nil, err
		} else if owned {
			return nil, &OwnedError{Run: one, PID: owner.PID, Socket: owner.Socket}
		}
		forks, err := s.forks(ctx, one)
		if err != nil {
			return nil, err
		}
		needed.addForks(forks, all)
		task, err := s.neededBy(ctx, one)
		if err != nil {
			return nil, err
		} else if task != "" {
			return nil, &NeededError{Run: one, Task: task}
		}
	}
	if len(needed.Forks) > 0 {
		needed.Run = id
		return nil, &needed
	}
	return all, nil
}

const neededByQuery = `SELECT id FROM tasks WHERE run = ? AND run != ''`

// neededBy returns the task that has the run as its agent; "" for none.
func (s *Tables) neededBy(ctx context.Context, id run.ID) (task string, err error) {
	err = s.db().QueryRowContext(ctx, neededByQuery, string(id)).Scan(&task)
	if err == sql.ErrNoRows {
		return "", nil
	}
	return task, s.fault(err)
}

// addForks adds the forks that are not removed too.
func (e *NeededError) addForks(forks, removed []run.ID) {
	for _, fork := range forks {
		if !slices.Contains(removed, fork) {
			e.Forks = append(e.Forks, fork)
		}
	}
}

// remove deletes the runs, which this process owns: id and those below it. marked says that
// one of them has a mark: then the rows of id may be lost.
func (w *writer) remove(id run.ID, all []run.ID, marked bool) error {
	if err := CheckRemoval(w, id, all, marked); err != nil {
		return err
	}
	for _, id := range all {
		clearMark(w.dir, id)
		if err := RemoveRun(w, id); err != nil {
			return err
		}
	}
	return nil
}

// belowQuery selects a run, if there is one, and the runs below it.
const belowQuery = `WITH RECURSIVE below(id) AS (SELECT id FROM runs WHERE id = ? UNION SELECT runs.id FROM runs JOIN below ` +
	`ON runs.parent = below.id WHERE runs.parent != '') SELECT id FROM below`

func (s *Tables) below(ctx context.Context, id run.ID) ([]run.ID, error) {
	return s.ids(ctx, belowQuery, string(id))
}
