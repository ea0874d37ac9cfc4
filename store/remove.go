package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/diskuse"
	"pawl/run"
)

// A NeededError means that a run was not removed because another run needs it.
type NeededError struct {
	Run run.ID
	// Parent is the run that has started it as a child, and is removed together with it.
	Parent run.ID
	// Forks were forked from it, or from a run below it, and use its outputs.
	Forks []run.ID
}

func (e *NeededError) Error() string {
	if e.Parent != "" {
		return fmt.Sprintf("run %s is a child of run %s and can only be removed with it", e.Run, e.Parent)
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

// Remove deletes a run and the runs below it: logs, inboxes, summaries and lock files. It
// returns the runs that were removed, the given one first. When it returns without an
// error, this is durable; the room in the database is used for other runs until
// [SQLite.Compact] gives it back.
//
// The run may be unfinished, but must not be in use: if one of the runs has an owner, the
// error is an [*OwnedError] that names the run; for a run that has forks, or a parent, it
// is a [*NeededError]; if there is no such run, ErrNotFound. After these nothing was
// removed. A process that is killed while it removes a run has removed all of it or none;
// it may leave lock files, which [SQLite.Tidy] removes.
func (s *SQLite) Remove(ctx context.Context, id run.ID) (removed []run.ID, err error) {
	removed, err = s.remove(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("remove run %s: %w", id, err)
	}
	return removed, nil
}

func (s *SQLite) remove(ctx context.Context, id run.ID) (removed []run.ID, err error) {
	if s.writer == nil {
		return nil, errForReading
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
	err = s.write(ctx, func(w *writer) error { return w.remove(id, removed) })
	if err != nil {
		for _, m := range marks {
			if _, gone := s.head(m.run); gone == nil {
				setMark(s.dir, m)
			}
		}
		return nil, err
	}
	for _, id := range removed {
		if rerr := os.Remove(lockPath(s.dir, id)); rerr != nil {
			err = errors.Join(err, fileError(lockPath(s.dir, id), rerr)) // Tidy tries again
		}
	}
	return removed, err
}

// Removable returns the runs that Remove would remove, or the error that it would return now.
// It changes nothing.
func (s *SQLite) Removable(ctx context.Context, id run.ID) ([]run.ID, error) {
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
		owner, owned, err := s.Owner(ctx, one)
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
	}
	if len(needed.Forks) > 0 {
		needed.Run = id
		return nil, &needed
	}
	return all, nil
}

// addForks adds the forks that are not removed too.
func (e *NeededError) addForks(forks, removed []run.ID) {
	for _, fork := range forks {
		if !slices.Contains(removed, fork) {
			e.Forks = append(e.Forks, fork)
		}
	}
}

// remove deletes the runs, which this process owns: id and those below it.
func (w *writer) remove(id run.ID, all []run.ID) error {
	now, err := w.ids(belowQuery, string(id))
	if err != nil {
		return err
	}
	for _, child := range now {
		if !slices.Contains(all, child) {
			return rejection{fmt.Errorf("%w: it has started run %s", ErrConflict, child)}
		}
	}
	needed := &NeededError{Run: id}
	for _, id := range all {
		forks, err := w.ids(forksQuery, string(id))
		if err != nil {
			return err
		}
		needed.addForks(forks, all)
	}
	if len(needed.Forks) > 0 {
		return rejection{needed}
	}
	for _, id := range all {
		clearMark(w.dir, id)
		for _, query := range []string{`DELETE FROM events WHERE run = ?`, `DELETE FROM inbox WHERE run = ?`, `DELETE FROM runs WHERE id = ?`} {
			if _, err := w.exec(query, string(id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// belowQuery selects a run, if there is one, and the runs below it.
const belowQuery = `WITH RECURSIVE below(id) AS (SELECT id FROM runs WHERE id = ?1 UNION SELECT runs.id FROM runs JOIN below ` +
	`ON runs.parent = below.id WHERE runs.parent != '') SELECT id FROM below`

func (s *SQLite) below(ctx context.Context, id run.ID) ([]run.ID, error) {
	return s.ids(ctx, belowQuery, string(id))
}

// ids returns the ids that the query selects.
func (w *writer) ids(query string, args ...any) (ids []run.ID, err error) {
	rows, err := w.conn.QueryContext(background, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id run.ID
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Live reports whether a run exists, and whether it may still be continued by itself: it,
// a run of its conversation, or a fork of one of these, has an owner, an open turn or a
// question that waits for a person. A damaged run counts as live, because a person has to
// decide about it.
func (s *SQLite) Live(ctx context.Context, id run.ID) (exists, live bool, err error) {
	live, err = s.live(ctx, id, map[run.ID]bool{})
	if errors.Is(err, ErrNotFound) {
		return false, false, nil
	}
	return true, live, err
}

// live is Live, for a run that exists. Conversations that were asked for are in seen.
func (s *SQLite) live(ctx context.Context, id run.ID, seen map[run.ID]bool) (bool, error) {
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
func (s *SQLite) inUse(ctx context.Context, sum Summary) (bool, error) {
	if sum.End == "" || sum.End == run.Asked || sum.Damage != "" {
		return true, nil
	}
	_, owned, err := s.Owner(ctx, sum.ID)
	return owned, err
}

const forksQuery = `SELECT id FROM runs WHERE forked = ? AND forked != '' ORDER BY id`

func (s *SQLite) forks(ctx context.Context, id run.ID) ([]run.ID, error) {
	return s.ids(ctx, forksQuery, string(id))
}

// Owned returns the runs that have an owner now.
func (s *SQLite) Owned(ctx context.Context) (owned []run.ID, err error) {
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
// now, and returns their runs. It keeps those that are live (see [SQLite.Live]) or have
// forks that are kept. olderThan 0 or less removes nothing. If dry, nothing is removed, and
// the result is what would be. What cannot be removed is in the error, and the rest is
// removed all the same.
func (s *SQLite) Prune(ctx context.Context, olderThan time.Duration, now time.Time, dry bool) (removed []run.ID, err error) {
	if olderThan <= 0 {
		return nil, nil
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
			all, err = s.Remove(ctx, root)
			if errors.As(err, new(*OwnedError)) || errors.As(err, new(*NeededError)) || errors.Is(err, ErrNotFound) {
				continue // since
			}
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
func (s *SQLite) prunable(ctx context.Context, root run.ID, since time.Time, gone []run.ID) ([]run.ID, error) {
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

// Usage is how many bytes a part of the store occupies.
type Usage struct {
	Log   int64 // of runs: their events and inbox rows; of the store: the database files
	Free  int64 // of the store: in the database files, unused
	Locks int64 // lock files
}

// UsageOf returns what runs occupy: what removing them would free.
func (s *SQLite) UsageOf(ctx context.Context, ids ...run.ID) (u Usage, err error) {
	// Beside its data a row has a hash of 32 bytes, numbers and the id of the run.
	const eventSize = `SELECT ifnull(sum(octet_length(data) + octet_length(type) + octet_length(run) + 50), 0) FROM events WHERE run = ?`
	const inboxSize = `SELECT ifnull(sum(octet_length(payload) + octet_length(key) + octet_length(run) + 30), 0) FROM inbox WHERE run = ?`
	const summarySize = 500
	for _, id := range ids {
		if err := s.check(ctx, id); err != nil {
			return u, err
		}
		for _, query := range []string{eventSize, inboxSize} {
			var bytes int64
			if err := s.db().QueryRowContext(ctx, query, string(id)).Scan(&bytes); err != nil {
				return u, s.fault(err)
			}
			u.Log += bytes
		}
		u.Log += summarySize
		u.Locks += diskuse.File(lockPath(s.dir, id))
	}
	return u, nil
}

// Usage returns what the store occupies.
func (s *SQLite) Usage(ctx context.Context) (u Usage, err error) {
	if err := s.check(ctx, anyRun); err != nil {
		return u, err
	}
	var free, size int64
	err = s.db().QueryRowContext(ctx, `SELECT freelist_count, page_size FROM pragma_freelist_count, pragma_page_size`).Scan(&free, &size)
	if err != nil {
		return u, s.fault(err)
	}
	u.Free = free * size
	for _, suffix := range sideFiles {
		u.Log += diskuse.File(s.path + suffix)
	}
	u.Locks = diskuse.Tree(filepath.Join(s.dir, "locks")) + diskuse.File(filepath.Join(s.dir, "write.lock"))
	return u, nil
}

// compactPages is how many pages one transaction of Compact gives back: it holds up the
// writes of other processes for some milliseconds.
const compactPages = 2000

// Compact gives the room of removed runs back to the file system. Other processes may read
// and write meanwhile; the file becomes shorter when no process reads an older state. It
// does nothing to a database created by a pawl without Remove: there the room is used for
// new runs.
func (s *SQLite) Compact(ctx context.Context) error {
	for {
		var before, after int64
		err := s.write(ctx, func(w *writer) error {
			if err := w.row(`SELECT freelist_count FROM pragma_freelist_count`, nil, &before); err != nil {
				return err
			}
			rows, err := w.conn.QueryContext(background, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, compactPages))
			if err != nil {
				return err
			}
			for rows.Next() { // each step is a page
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				return err
			}
			return w.row(`SELECT freelist_count FROM pragma_freelist_count`, nil, &after)
		})
		if err != nil {
			return fmt.Errorf("compact: %w", err)
		}
		if after == 0 || after == before {
			break
		}
	}
	err := s.whileLocked(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(background, `PRAGMA wal_checkpoint(PASSIVE)`)
		return err
	})
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	return nil
}

// Tidy removes what killed processes have left and no run needs: lock files without a run,
// and the folders of a recovery. It removes only what is older than age, and returns how
// many bytes that has freed.
func (s *SQLite) Tidy(ctx context.Context, age time.Duration, now time.Time) (freed int64, err error) {
	if s.writer == nil {
		return 0, errForReading
	}
	marked, err := s.marked()
	if err != nil {
		return 0, err
	}
	var problems []error
	for _, id := range marked {
		if CheckID(id) != nil {
			continue // not one of ours
		}
		if _, err := s.lookup(ctx, id); !errors.Is(err, ErrNotFound) {
			if ctx.Err() != nil {
				return freed, ctx.Err()
			}
			continue
		}
		size, err := removeLock(lockPath(s.dir, id), age, now)
		freed += size
		problems = append(problems, err)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, recoverPattern))
	problems = append(problems, err)
	for _, dir := range left {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || now.Sub(info.ModTime()) <= age {
			continue
		}
		size := diskuse.Tree(dir)
		if err := os.RemoveAll(dir); err != nil {
			problems = append(problems, fileError(dir, err))
			continue
		}
		freed += size
	}
	return freed, errors.Join(problems...)
}

// removeLock removes a lock file that is older than age and that no process has locked. It
// is removed while it is locked: see [SQLite.own].
func removeLock(path string, age time.Duration, now time.Time) (freed int64, err error) {
	info, err := os.Stat(path)
	if err != nil || now.Sub(info.ModTime()) <= age {
		return 0, nil // it was removed, or is new
	}
	lock, err := openLock(path)
	if err != nil {
		return 0, fileError(path, err)
	}
	got, err := lock.TryLock()
	if got && isAt(lock.file, path) {
		if err = os.Remove(path); err == nil {
			freed = diskuse.Of(info)
		}
	}
	return freed, errors.Join(fileError(path, err), lock.Close())
}
