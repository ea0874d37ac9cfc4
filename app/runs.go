package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"pawl/config"
	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/output"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/tool"
	"pawl/view"
	"pawl/worker"
)

// runAlphabet has no characters that are taken for each other.
const runAlphabet = "abcdefghjkmnpqrstuvwxyz23456789"

// NewRunID returns an id for a run, such as 20261120-2130-k3f9xy: sorted by name they are
// sorted by time, and the end is enough to tell two of one minute apart.
func NewRunID(now time.Time) run.ID {
	var b [6]byte
	rand.Read(b[:]) // never fails (crypto/rand since Go 1.24)
	for i := range b {
		b[i] = runAlphabet[int(b[i])%len(runAlphabet)]
	}
	return run.ID(now.Local().Format("20060102-1504-") + string(b[:]))
}

// ErrNoRun says that there is no run in the workspace yet.
var ErrNoRun = config.Errorf("there is no run in this folder yet: start one with `pawl run \"…\"`")

// noRuns makes the error of a folder without runs one that says what to do.
func noRuns(err error) error {
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
func (w *Workspace) Runs(ctx context.Context, limit int) ([]Run, error) {
	st, err := w.reading()
	if errors.Is(err, store.ErrNoRuns) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return RunsOf(ctx, st, limit)
}

// AllRuns returns the runs of all folders, the one used last first.
func AllRuns(ctx context.Context, env config.Env) ([]Run, error) {
	var all []Run
	err := EachStore(env, func(st store.Store) error {
		runs, err := RunsOf(ctx, st, 0)
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
	for _, dir := range dirs {
		st, err := store.Open(dir, store.Options{Version: Version(), ReadOnly: true})
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

// RunsOf returns the runs of a store, the one used last first, at most limit (0: all).
func RunsOf(ctx context.Context, st store.Store, limit int) ([]Run, error) {
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
func (w *Workspace) Said(ctx context.Context, id run.ID) ([]string, error) {
	st, err := w.reading()
	if err != nil {
		return nil, noRuns(err)
	}
	return st.Said(ctx, id)
}

// Run returns the run with an id; the error is [store.ErrNotFound] if there is none.
func (w *Workspace) Run(ctx context.Context, id run.ID) (Run, error) {
	st, err := w.reading()
	if err != nil {
		return Run{}, noRuns(err)
	}
	r := Run{}
	if r.Summary, err = st.Run(ctx, id); err != nil || r.Damage != "" {
		return r, err
	}
	r.Condition, r.Owner, err = condition(ctx, st, r.Summary)
	return r, err
}

// Find returns the run named by which: an id, a unique prefix of one, its name, or last.
func (w *Workspace) Find(ctx context.Context, which string) (store.Summary, error) {
	st, err := w.reading()
	if err != nil {
		return store.Summary{}, w.noRun(err)
	}
	sum, err := find(ctx, st, which)
	return sum, w.noRun(err)
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

// Events yields a run's events after number after; see [store.Store.Events]. It writes
// nothing and takes no lock.
func (w *Workspace) Events(ctx context.Context, id run.ID, after int64) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		st, err := w.reading()
		if err != nil {
			yield(run.Event{}, noRuns(err))
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
func (w *Workspace) Load(ctx context.Context, id run.ID) ([]run.Event, run.State, error) {
	var events []run.Event
	var state run.State
	for e, err := range w.Events(ctx, id, 0) {
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
func (w *Workspace) Owner(ctx context.Context, id run.ID) (store.Owner, bool, error) {
	st, err := w.reading()
	if err != nil {
		return store.Owner{}, false, noRuns(err)
	}
	return st.Owner(ctx, id)
}

// Verify checks the hash chain of a run's log and that each event follows from those
// before it, and returns the number of events.
func (w *Workspace) Verify(ctx context.Context, id run.ID) (int64, error) {
	st, err := w.reading()
	if err != nil {
		return 0, noRuns(err)
	}
	if err := st.Verify(ctx, id); err != nil {
		return 0, err
	}
	_, s, err := w.Load(ctx, id)
	return s.Seq, err
}

// Follow yields a run's events after number after and then, while a process drives the run,
// what is new as it happens; see [worker.Follow]. A run that this process drives is better
// followed by [Session.Follow].
func (w *Workspace) Follow(ctx context.Context, id run.ID, after int64) iter.Seq2[view.Update, error] {
	st, err := w.reading()
	if err != nil {
		return func(yield func(view.Update, error) bool) { yield(view.Update{}, noRuns(err)) }
	}
	return worker.Follow(ctx, st, id, after)
}

// FollowChild yields the updates of a child run after event number after, and waits for one that
// has not begun. It ends when ctx is done: a child that waits for a person may be driven again.
func (w *Workspace) FollowChild(ctx context.Context, id run.ID, after int64) iter.Seq[view.Update] {
	return func(yield func(view.Update) bool) {
		for ctx.Err() == nil {
			for u, err := range w.Follow(ctx, id, after) {
				if err != nil {
					break // it may not be there yet; what it does is in its log
				}
				if u.Event != nil {
					after = u.Event.Seq
				}
				if !yield(u) {
					return
				}
			}
			select {
			case <-time.After(pollChild):
			case <-ctx.Done():
			}
		}
	}
}

// pollChild is how often a child run is looked for that has not begun.
const pollChild = 100 * time.Millisecond

// Fork copies a run up to event at (0: all) into a new run, with another model if that is
// not "". Files are not copied: the new run works in the folder as it is now.
func (w *Workspace) Fork(ctx context.Context, id run.ID, at int64, model string) (run.ID, error) {
	var change *run.ConfigChange
	if model != "" {
		to, err := w.ModelChange(ctx, model)
		if err != nil {
			return "", err
		}
		change = &to
	}
	events, s, err := w.Load(ctx, id)
	if err != nil && (at < 1 || at > s.Seq) { // events before the damage can be copied, if at names one
		return "", err
	}
	if at == 0 {
		at = s.Seq
	}
	if at < 1 || at > s.Seq {
		return "", config.Errorf("run %s has the events 1 to %d, and none with number %d", id, s.Seq, at)
	}
	st, err := w.writing()
	if err != nil {
		return "", err
	}
	now := time.Now().UTC()
	wished, _, err := waiting(ctx, st, s)
	if err != nil {
		return "", err
	}
	forked, err := fork(events[:at], NewRunID(now), change, permission.Mode(wished.Mode), now)
	if err != nil {
		return "", err
	}
	to := forked[0].Payload.(run.Created).Run
	p, err := w.openPolicy() // without the settings, which may be broken
	if err != nil {
		return "", err
	}
	lease, err := st.Own(ctx, to, "") // a sweep leaves the rules of a run alone that is owned
	if err != nil {
		return "", err
	}
	err = p.Inherit(s.Created.Run, to) // what was forbidden to the run is forbidden to the fork
	if err == nil {
		err = st.Append(ctx, to, 0, forked)
	}
	return to, errors.Join(err, lease.Release())
}

// fork returns the events of a new run with the same past, and with change if it is not
// nil. It is in no wider mode than mode, that of its original now. Operations that were in flight
// are settled as lost.
func fork(past []run.Event, to run.ID, change *run.ConfigChange, mode permission.Mode, now time.Time) ([]run.Event, error) {
	events := append([]run.Event{}, past...)
	c := events[0].Payload.(run.Created) // Apply accepts no other first event
	c.ForkedFrom, c.ForkedAt, c.Run = c.Run, int64(len(past)), to
	c.Parent, c.ParentCall, c.AgentID, c.Root, c.Depth = "", "", "", "", 0 // no parent call waits for its result
	events[0].Payload, events[0].At = c, now                               // it was created now
	s, err := run.Replay(events)
	if err != nil {
		return nil, err
	}
	more := s.Recover()
	if s.Config.Name != "" {
		none := ""
		more = append(more, run.Configured{Change: run.ConfigChange{Name: &none}}) // a name is of one run
	}
	if change != nil {
		more = append(more, run.Configured{Change: *change})
	}
	if m := string(permission.Stricter(permission.Mode(s.Config.Mode), mode)); m != cmp.Or(s.Config.Mode, string(permission.Default)) {
		more = append(more, run.Configured{Change: run.ConfigChange{Mode: &m}})
	}
	for _, p := range more {
		e := run.Event{At: now, Payload: p}
		if s, err = s.Apply(e); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// ModelChange returns the change of a run to another model, or what is missing before that
// model can be used. The model is named as for [provider.Providers.Resolve].
func (w *Workspace) ModelChange(ctx context.Context, model string) (run.ConfigChange, error) {
	ps, err := w.Models()
	if err != nil {
		return run.ConfigChange{}, err
	}
	if model, err = ps.Resolve(ctx, model); err != nil {
		return run.ConfigChange{}, err
	}
	if err := ps.Check(model, w.Dir); err != nil {
		return run.ConfigChange{}, err
	}
	return modelChange(model, run.Auto, ps), nil
}

// Set changes the configuration of a run from its next step on, whichever process drives it. It returns when
// that process has taken the change; without one the change waits in the run's inbox.
func (w *Workspace) Set(ctx context.Context, id run.ID, c run.ConfigChange) error {
	_, err := w.hand(ctx, id, "set-"+rand.Text(), request.Configure{Change: c})
	return err
}

// Rename changes what a person calls a run; "": nothing. If a process drives the run, that
// one records it; else it is in the log when Rename returns.
func (w *Workspace) Rename(ctx context.Context, id run.ID, name string) error {
	change := run.ConfigChange{Name: &name}
	st, err := w.writing()
	if err != nil {
		return err
	}
	lease, err := st.Own(ctx, id, "")
	if _, driven := errors.AsType[*store.OwnedError](err); driven {
		return w.Set(ctx, id, change)
	} else if err != nil {
		return err
	}
	_, s, err := w.Load(ctx, id)
	if err == nil && s.Config.Name != name {
		e := run.Event{Seq: s.Seq + 1, At: time.Now().UTC(), Payload: run.Configured{Change: change}}
		if _, err = s.Apply(e); err == nil {
			err = st.Append(ctx, id, s.Seq, []run.Event{e})
		}
	}
	return errors.Join(err, lease.Release())
}

// stopPatience is how long Stop waits for the turn to end. The owner abandons operations
// that do not stop within a second, so a longer wait has another cause.
const stopPatience = 10 * time.Second

// pollInbox is how often the store is read while another process is to act.
const pollInbox = 50 * time.Millisecond

// Stop interrupts the turn of a run and waits until it has ended. If another process drives the run, that one
// is told; a turn that was left open by a process that was killed is ended here. By then an external agent of
// the run has ended as well. cause says why, and by who stops the run. stopped is false if no turn was open.
func (w *Workspace) Stop(ctx context.Context, id run.ID, cause run.Cause, by string) (end run.End, stopped bool, err error) {
	_, s, err := w.Load(ctx, id)
	if err != nil || s.Turn.N == 0 {
		return "", false, err
	}
	st, err := w.writing()
	if err != nil {
		return "", false, err
	}
	deadline := time.NewTimer(stopPatience)
	defer deadline.Stop()
	for {
		sum, err := st.Run(ctx, id)
		if err == nil && sum.End != "" && stopped && s.Created.External {
			err = w.agentEnds(ctx, id)
		}
		if err != nil || sum.End != "" {
			return sum.End, stopped, err
		}
		owner, owned, err := st.Owner(ctx, id)
		if err != nil {
			return "", stopped, err
		}
		if !owned {
			err := w.stopHere(ctx, id, cause, by)
			if _, raced := errors.AsType[*store.OwnedError](err); err != nil && !raced {
				return "", stopped, err
			}
			stopped = stopped || err == nil
			continue
		}
		if !stopped {
			if err := w.put(ctx, id, "stop-"+rand.Text(), request.Interrupt{Turn: s.Turn.N, Cause: cause, By: by}); err != nil {
				return "", false, err
			}
			stopped = true
		}
		select {
		case <-time.After(pollInbox):
		case <-ctx.Done():
			return "", stopped, context.Cause(ctx)
		case <-deadline.C:
			return "", stopped, &NotTakenError{fmt.Sprintf("run %s has not stopped: process %d was told to and has not answered for %s; the request stays in the inbox: see `pawl runs why %s`",
				id, owner.PID, stopPatience, id)}
		}
	}
}

// A NotTakenError says that the process which drives a run has not taken a request in time.
type NotTakenError struct{ What string }

func (e *NotTakenError) Error() string { return e.What }

// stopHere ends the open turn of a run that no process drives, by driving it with a
// context that is cancelled already.
func (w *Workspace) stopHere(ctx context.Context, id run.ID, cause run.Cause, by string) error {
	d, err := w.driver()
	if err != nil {
		return err
	}
	r, err := d.Open(ctx, id, nil)
	if err != nil {
		return err
	}
	stopped, stop := context.WithCancelCause(ctx)
	stop(worker.Stop{Interrupted: run.Interrupted{Cause: cause, By: by}})
	_, err = r.Run(stopped) // nothing starts: the interrupt is recorded first
	return errors.Join(err, r.Close())
}

// Undo restores the files that a run's edits changed after event to (0: all of them) to
// their content before. No process may drive the run meanwhile. The report has what was
// restored and what was not, because it was changed since.
func (w *Workspace) Undo(ctx context.Context, id run.ID, to int64) (tool.UndoReport, error) {
	st, err := w.writing()
	if err != nil {
		return tool.UndoReport{}, err
	}
	lease, err := st.Own(ctx, id, "")
	if err != nil {
		return tool.UndoReport{}, owned(err)
	}
	report, err := w.undo(ctx, id, to)
	return report, errors.Join(err, lease.Release())
}

func (w *Workspace) undo(ctx context.Context, id run.ID, to int64) (tool.UndoReport, error) {
	events, s, err := w.Load(ctx, id)
	if err != nil {
		return tool.UndoReport{}, err
	}
	if to < 0 || to > s.Seq {
		return tool.UndoReport{}, config.Errorf("run %s has the events 1 to %d, and none with number %d", id, s.Seq, to)
	}
	var changes []run.FileChange
	// Edits that a fork has copied belong to the run that it was forked from.
	to = max(to, s.Created.ForkedAt)
	for _, e := range events {
		if f, ok := e.Payload.(run.CallSettled); ok && e.Seq > to {
			changes = append(changes, f.Files...)
		}
	}
	if len(changes) == 0 {
		return tool.UndoReport{}, nil
	}
	return tool.Undo(tool.Env{Workspace: s.Created.Workspace, Dirs: s.Config.Dirs, StateDir: w.State, Run: id, Session: &tool.Session{}}, changes)
}

// owned adds to an [*store.OwnedError] what the user can do.
func owned(err error) error {
	if o, ok := errors.AsType[*store.OwnedError](err); ok {
		return &workingError{o}
	}
	return err
}

// A workingError is an [*store.OwnedError] in the words that a list of runs has for it, with
// what the user can do.
type workingError struct{ *store.OwnedError }

func (e *workingError) Error() string {
	process := "another process"
	if e.PID != 0 {
		process = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("run %s is working in %s; wait for it, or stop it with `pawl runs stop %s`", e.Run, process, e.Run)
}

func (e *workingError) Unwrap() error { return e.OwnedError }

// Salvage copies what can be read of the workspace's database into a new one beside it;
// see [store.Salvage].
func (w *Workspace) Salvage(ctx context.Context, out string) ([]store.Salvaged, error) {
	runs, err := store.Salvage(ctx, w.State, out, store.Options{Version: Version()})
	return runs, noRuns(err)
}

// Outputs returns the stored outputs of the workspace's runs.
func (w *Workspace) Outputs() *output.Store {
	st, err := w.reading()
	if err != nil {
		return w.outputs()
	}
	return w.outputs().With(worker.Logs(st))
}

// Scope returns the outputs that a run can query: those of its conversation, and of the runs
// that it was forked from.
func (w *Workspace) Scope(ctx context.Context, which string) (output.Scope, error) {
	st, err := w.reading()
	if err != nil {
		return output.Scope{}, noRuns(err)
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
