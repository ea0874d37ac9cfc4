// Package runlog reads the runs of a folder from their logs: which there are, what each is
// doing and what it waits for, and what is new in it while it is followed. It drives no run
// and writes nothing.
package runlog

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"pawl/config"
	"pawl/internal/build"
	"pawl/internal/stable"
	"pawl/metrics"
	"pawl/run"
	"pawl/store"
	"pawl/task"
	"pawl/tasklog"
)

// A Reader reads the runs of one folder. Its methods write nothing and take no lock. They may
// be called from any goroutine.
type Reader struct {
	open      func() (store.Database, error)
	elsewhere func() string
}

// NewReader returns a reader of the log that open opens, with [store.ErrNoRuns] where none was made
// yet. elsewhere says where there are runs, to a person who looks for one where there is none; "": nowhere.
func NewReader(open func() (store.Database, error), elsewhere func() string) Reader {
	return Reader{open, elsewhere}
}

// Elsewhere says where there are runs, to a person who looks for one where there is none; "": nowhere.
func (r Reader) Elsewhere() string { return r.elsewhere() }

// ErrNoRun says that there is no run in the workspace yet.
var ErrNoRun = config.Errorf("there is no run in this folder yet: start one with `pawl run \"…\"`")

// NoRuns makes the error of a folder without runs one that says what to do.
func NoRuns(err error) error {
	if errors.Is(err, store.ErrNoRuns) {
		return ErrNoRun
	}
	return err
}

// A Run is a run in a list.
type Run struct {
	store.Summary
	Condition Condition
	Owner     *store.Owner // the process that drives its open turn; nil: none
}

// Runs returns the runs of the workspace, the one used last first, at most limit (0: all).
func (r Reader) Runs(ctx context.Context, limit int) ([]Run, error) {
	st, err := r.open()
	if errors.Is(err, store.ErrNoRuns) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return Of(ctx, st, limit)
}

// All returns the runs of all folders, the one used last first.
func All(ctx context.Context, env config.Env) ([]Run, error) {
	var all []Run
	err := EachStore(env, func(st store.Store) error {
		runs, err := Of(ctx, st, 0)
		all = append(all, runs...)
		return err
	})
	stable.Sort(all, func(a, b Run) int { return b.Updated.Compare(a.Updated) })
	return all, err
}

// EachStore calls do with the runs of each folder that has some.
func EachStore(env config.Env, do func(store.Store) error) error {
	dirs, err := filepath.Glob(filepath.Join(env.StateDir(), "workspaces", "*"))
	if err != nil {
		return err
	}
	key, err := env.LogKey(false)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		st, err := store.Open(dir, store.Options{Version: build.Version(), Key: key, ReadOnly: true})
		if errors.Is(err, store.ErrNoRuns) {
			continue
		} else if err == nil {
			err = errors.Join(do(st), st.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// Of returns the runs of a store, the one used last first, at most limit (0: all).
func Of(ctx context.Context, st store.Store, limit int) ([]Run, error) {
	all, err := st.Runs(ctx, limit)
	if err != nil {
		return nil, err
	}
	runs := make([]Run, len(all))
	for i, s := range all {
		runs[i].Summary = s
		if s.Damage != "" {
			continue
		}
		if runs[i].Condition, runs[i].Owner, err = condition(ctx, st, s); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// Said returns what people have said to the agent of a run, oldest first.
func (r Reader) Said(ctx context.Context, id run.ID) ([]string, error) {
	st, err := r.open()
	if err != nil {
		return nil, NoRuns(err)
	}
	return st.Said(ctx, id)
}

// Run returns the run with an id; the error is [store.ErrNotFound] if there is none.
func (r Reader) Run(ctx context.Context, id run.ID) (Run, error) {
	st, err := r.open()
	if err != nil {
		return Run{}, NoRuns(err)
	}
	found := Run{}
	if found.Summary, err = st.Run(ctx, id); err != nil || found.Damage != "" {
		return found, err
	}
	found.Condition, found.Owner, err = condition(ctx, st, found.Summary)
	return found, err
}

// Events yields a run's events after number after; see [store.Store.Events]. It writes
// nothing and takes no lock.
func (r Reader) Events(ctx context.Context, id run.ID, after int64) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		st, err := r.open()
		if err != nil {
			yield(run.Event{}, NoRuns(err))
			return
		}
		for e, err := range st.Events(ctx, id, after) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// Load returns a run's events and the state after them. With an error it returns what
// could be read before it.
func (r Reader) Load(ctx context.Context, id run.ID) ([]run.Event, run.State, error) {
	var events []run.Event
	var state run.State
	for e, err := range r.Events(ctx, id, 0) {
		if err != nil {
			return events, state, err
		}
		next, err := state.Apply(e)
		if err != nil {
			return events, state, fmt.Errorf("run %s: event %d does not follow from those before it: %w; see `pawl runs verify %s`", id, e.Seq, err, id)
		}
		events, state = append(events, e), next
	}
	return events, state, nil
}

// Owner returns the process that drives a run, if there is one.
func (r Reader) Owner(ctx context.Context, id run.ID) (store.Owner, bool, error) {
	st, err := r.open()
	if err != nil {
		return store.Owner{}, false, NoRuns(err)
	}
	return st.Owner(ctx, id)
}

// Verify checks the hash chain of a run's log and that each event follows from those
// before it, and returns the number of events.
func (r Reader) Verify(ctx context.Context, id run.ID) (int64, error) {
	st, err := r.open()
	if err != nil {
		return 0, NoRuns(err)
	}
	if err := st.Verify(ctx, id); err != nil {
		return 0, err
	}
	_, s, err := r.Load(ctx, id)
	return s.Seq, err
}

// runAlphabet has no characters that are taken for each other.
const runAlphabet = "abcdefghjkmnpqrstuvwxyz23456789"

// NewID returns an id for a run, such as 20261120-2130-k3f9xy: sorted by name they are
// sorted by time, and the end is enough to tell two of one minute apart.
func NewID(now time.Time) run.ID {
	var b [6]byte
	rand.Read(b[:]) // never fails (crypto/rand since Go 1.24)
	for i := range b {
		b[i] = runAlphabet[int(b[i])%len(runAlphabet)]
	}
	return run.ID(now.Local().Format("20060102-1504-") + string(b[:]))
}

// IDOf returns the id of the run for something that was made elsewhere at a time: always the same one.
func IDOf(made time.Time, what string) run.ID {
	sum := sha256.Sum256([]byte(what))
	b := sum[:6]
	for i := range b {
		b[i] = runAlphabet[int(b[i])%len(runAlphabet)]
	}
	return run.ID(made.UTC().Format("20060102-1504-") + string(b))
}

// Gauges returns how many runs and tasks are in each state.
func (r Reader) Gauges(ctx context.Context) ([]metrics.Gauge, error) {
	runs := metrics.Gauge{Name: "pawl_runs", Help: "Runs by state.", Label: "state", Values: map[string]float64{}}
	for _, c := range []Condition{New, Working, Waiting, Killed, Ended} {
		runs.Values[string(c)] = 0
	}
	all, err := r.Runs(ctx, 0)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.Damage != "" {
			r.Condition = "damaged"
		}
		runs.Values[string(r.Condition)]++
	}
	tasks := metrics.Gauge{Name: "pawl_tasks", Help: "Tasks by status.", Label: "status", Values: map[string]float64{}}
	st, err := r.open()
	if errors.Is(err, store.ErrNoRuns) {
		return []metrics.Gauge{runs, tasks}, nil
	} else if err != nil {
		return nil, err
	}
	counts, err := st.TaskCounts(ctx)
	for status, n := range counts {
		tasks.Values[status] = float64(n)
	}
	return []metrics.Gauge{runs, tasks}, err
}

// TaskOf returns the task that a run belongs to; nil: none.
func (r Reader) TaskOf(ctx context.Context, id run.ID) (*task.State, error) {
	st, err := r.open()
	if err != nil {
		return nil, NoRuns(err)
	}
	of, err := st.TaskOf(ctx, id)
	if err != nil || of == "" {
		return nil, err
	}
	l, err := tasklog.Load(ctx, st, task.ID(of))
	if errors.Is(err, store.ErrNoTask) {
		return nil, nil // it was removed since
	}
	return &l.State, err
}
