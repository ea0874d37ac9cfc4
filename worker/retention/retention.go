// Package retention says what the runs of a workspace leave on the disk, how much room that
// takes, and removes it.
//
// What belongs to a run is its log, its stored outputs, the journal of its edits with the
// contents that only it refers to, its rules, and what its external agent was given. All of it is removed together: the log
// first, in one transaction, so that a run is there as a whole or not at all, and then the
// rest, which [State.Prune] removes too if the process is killed in between.
package retention

import (
	"context"
	"errors"
	"os"
	"time"

	"pawl/external"
	"pawl/internal/inside"
	"pawl/output"
	"pawl/policy"
	"pawl/run"
	"pawl/sandbox"
	"pawl/store"
	"pawl/tool/journal"
)

// A State is what is kept of a workspace.
type State struct {
	Store   store.Database
	Outputs *output.Store
	Dir     string // the workspace's state folder, with the database

	// Workspace and StateDir, pawl's state folder, name the folder with the temporary files
	// of commands.
	Workspace string
	StateDir  string
}

func (s State) journal() journal.Journal { return journal.In(s.Dir) }

// Usage is how many bytes on the disk each part occupies.
type Usage struct {
	Log      int64 `json:"log"`      // of runs, an estimate; of everything, the database with Free
	Free     int64 `json:"free"`     // of everything: in the database, for new runs
	Outputs  int64 `json:"outputs"`  // results of tools
	Journal  int64 `json:"journal"`  // of edits, one entry per call
	Contents int64 `json:"contents"` // that edits have replaced; of runs, those no other run refers to
	Locks    int64 `json:"locks"`
	Temp     int64 `json:"temp"` // of everything: temporary files of commands
}

// Total returns the sum of all parts.
func (u Usage) Total() int64 {
	return u.Log + u.Outputs + u.Journal + u.Contents + u.Locks + u.Temp // Free is a part of Log
}

// Usage returns what the whole workspace occupies.
func (s State) Usage(ctx context.Context) (Usage, error) {
	logs, err := s.Store.Usage(ctx)
	edits := s.journal().Usage()
	return Usage{
		Log: logs.Log, Free: logs.Free, Locks: logs.Locks,
		Outputs: s.Outputs.Usage(), Journal: edits.Entries, Contents: edits.Contents,
		Temp: sandbox.TempUsage(s.StateDir, s.Workspace),
	}, err
}

// UsageOf returns what runs occupy: what removing all of them would free.
func (s State) UsageOf(ctx context.Context, ids ...run.ID) (Usage, error) {
	var u Usage
	logs, err := s.Store.UsageOf(ctx, ids...)
	if err != nil {
		return u, err
	}
	edits, err := s.journal().UsageOf(ctx, ids...)
	if err != nil {
		return u, err
	}
	u = Usage{Log: logs.Log, Locks: logs.Locks, Journal: edits.Entries, Contents: edits.Contents}
	for _, id := range ids {
		sum, err := s.Store.Run(ctx, id)
		if err == nil {
			u.Outputs += s.Outputs.UsageOf(sum.Root, id)
		} else if !errors.Is(err, store.ErrNotFound) {
			return u, err
		}
	}
	return u, nil
}

// Removed is what Remove or Prune has removed, or would remove.
type Removed struct {
	Runs  []run.ID
	Freed Usage
}

// Remove removes a run, and the runs below it, with all that belongs to them. The errors
// are those of [store.Database].Remove: an [*store.OwnedError], an [*store.NeededError] and
// [store.ErrNotFound], after which nothing was removed. After another error, Runs that are
// not empty are removed, and Prune removes what is left of them. If dry, nothing is
// removed.
func (s State) Remove(ctx context.Context, id run.ID, dry bool) (r Removed, err error) {
	all, err := s.Store.Removable(ctx, id)
	if err != nil {
		return r, err
	}
	if r.Freed, err = s.UsageOf(ctx, all...); err != nil {
		return r, err
	}
	if r.Runs = all; dry {
		return r, nil
	}
	roots, err := s.roots(ctx, all)
	if err == nil {
		r.Runs, err = s.Store.Remove(ctx, id)
	}
	if err != nil {
		return Removed{}, err
	}
	err = s.removeRest(r.Runs, roots)
	_, serr := s.journal().Sweep(ctx, time.Now())
	return r, errors.Join(err, serr, s.Store.Compact(ctx))
}

// roots returns the root runs of runs, which their outputs are stored under; not of those
// that another process has removed.
func (s State) roots(ctx context.Context, ids []run.ID) (map[run.ID]run.ID, error) {
	roots := map[run.ID]run.ID{}
	for _, id := range ids {
		sum, err := s.Store.Run(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		roots[id] = sum.Root
	}
	return roots, nil
}

// removeRest removes what belongs to runs that are not in the store any more.
func (s State) removeRest(ids []run.ID, roots map[run.ID]run.ID) error {
	var problems []error
	for _, id := range ids {
		agent := external.Folder(external.State(s.Dir), id)
		if _, err := os.Stat(agent); err == nil { // it had an external one, which a killed pawl may have left
			external.End(external.State(s.Dir), id)
		}
		problems = append(problems, s.Outputs.Remove(roots[id], id), s.journal().Remove(id), policy.RemoveRun(s.Dir, id), inside.RemoveAll(s.Dir, agent))
	}
	return errors.Join(problems...)
}

// Prune removes the conversations that were last used longer than olderThan before now,
// except those that are live (see [store.Tables.Live]), and what is left of runs that were
// removed. olderThan 0 or less removes no conversation. If dry, nothing is removed. What
// cannot be removed is in the error, and the rest is removed all the same.
func (s State) Prune(ctx context.Context, olderThan time.Duration, now time.Time, dry bool) (r Removed, err error) {
	old, err := s.Store.Prune(ctx, olderThan, now, true)
	if err != nil {
		return r, err
	}
	gone, err := s.journal().Gone(s.exists(ctx))
	if err != nil {
		return r, err
	}
	if r.Freed, err = s.UsageOf(ctx, append(gone, old...)...); err != nil {
		return r, err
	}
	left, err := s.Outputs.PruneRuns(s.exists(ctx), true)
	for _, o := range left {
		r.Freed.Outputs += o.Freed
	}
	if r.Runs = old; dry || err != nil {
		return r, err
	}
	roots, err := s.roots(ctx, old)
	if err != nil {
		return r, err
	}
	var problems []error
	r.Runs, err = s.Store.Prune(ctx, olderThan, now, false)
	problems = append(problems, err, s.removeRest(r.Runs, roots))
	_, err = s.Outputs.PruneRuns(s.exists(ctx), false)
	problems = append(problems, err)
	for _, id := range gone {
		problems = append(problems, s.journal().Remove(id))
	}
	_, err = s.journal().Sweep(ctx, now)
	problems = append(problems, err)
	rules, err := policy.RunsWithRules(s.Dir)
	problems = append(problems, err)
	for _, id := range rules {
		if !s.exists(ctx)(id) { // a run that begins is owned before it has rules, until it is in the log
			problems = append(problems, policy.RemoveRun(s.Dir, id))
		}
	}
	turns, err := external.Folders(external.State(s.Dir))
	problems = append(problems, err)
	for _, id := range turns {
		if !s.exists(ctx)(id) {
			problems = append(problems, inside.RemoveAll(s.Dir, external.Folder(external.State(s.Dir), id)))
		}
	}
	if len(r.Runs) > 0 {
		problems = append(problems, s.Store.Compact(ctx))
	}
	return r, errors.Join(problems...)
}

// exists returns what reports whether there is a run; if that is unknown, there is. One that is imported is owned, and has its outputs
// before it is in the log.
func (s State) exists(ctx context.Context) func(run.ID) bool {
	return func(id run.ID) bool {
		_, err := s.Store.Run(ctx, id)
		if !errors.Is(err, store.ErrNotFound) {
			return true
		}
		if _, owned, err := s.Store.Owner(ctx, id); owned || err != nil {
			return true
		}
		_, err = s.Store.Run(ctx, id) // it was released when it was in the log
		return !errors.Is(err, store.ErrNotFound)
	}
}

// LiveOutputs returns what [output.Store.Prune] asks about an output: whether a run may
// still refer to it.
func (s State) LiveOutputs(ctx context.Context) func(output.Meta) bool {
	known := map[run.ID]bool{}
	return func(m output.Meta) bool {
		live, ok := known[m.Run]
		if !ok {
			_, l, err := s.Store.Live(ctx, m.Run)
			live = l || err != nil
			known[m.Run] = live
		}
		return live
	}
}

// Tidy removes what no run needs and is older than age: lock files without a run, folders of
// a recovery, and, if no run of the workspace has an owner, the temporary files of
// commands. Sockets of killed processes are [socket.Tidy]'s. It returns how many
// bytes that has freed.
func (s State) Tidy(ctx context.Context, age time.Duration, now time.Time) (freed int64, err error) {
	freed, err = s.Store.Tidy(ctx, age, now)
	owned, oerr := s.Store.Owned(ctx)
	if oerr == nil && len(owned) == 0 {
		var temp int64
		temp, oerr = sandbox.TidyTemp(ctx, s.StateDir, s.Workspace, age, now)
		freed += temp
	}
	return freed, errors.Join(err, oerr)
}
