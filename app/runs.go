package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"pawl/config"
	"pawl/inbox"
	"pawl/internal/build"
	"pawl/output"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
	"pawl/tool"
	"pawl/tool/changes"
	"pawl/worker"
)

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
	looked, err := w.reading()
	if err != nil {
		return "", err
	}
	if sum, err := looked.Run(ctx, id); err == nil && sum.Damage == store.ChangedSummary {
		return "", &store.ChainError{Run: id, What: sum.Damage} // it would take over what somebody else has allowed
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
	forked, err := fork(events[:at], runlog.NewID(now), change, permission.Mode(wished.Mode), now)
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
	return modelChange(nil, model, run.Auto, ps), nil
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
		case <-time.After(inbox.Poll):
		case <-ctx.Done():
			return "", stopped, context.Cause(ctx)
		case <-deadline.C:
			return "", stopped, &inbox.NotTakenError{What: fmt.Sprintf("run %s has not stopped: process %d was told to and has not answered for %s; the request stays in the inbox: see `pawl runs why %s`",
				id, owner.PID, stopPatience, id)}
		}
	}
}

// stopHere ends the open turn of a run that no process drives, by driving it with a
// context that is cancelled already.
func (w *Workspace) stopHere(ctx context.Context, id run.ID, cause run.Cause, by string) error {
	d, err := w.driver()
	if err != nil {
		return err
	}
	r, err := w.open(ctx, d, id)
	if err != nil {
		return err
	}
	stopped, stop := context.WithCancelCause(ctx)
	stop(worker.Stop{Interrupted: run.Interrupted{Cause: cause, By: by}})
	_, err = r.Run(stopped) // nothing starts: the interrupt is recorded first
	return errors.Join(err, r.Close())
}

// Undo restores the files that a run's edits and commands changed after event to (0: all of them) to
// what they were before. No process may drive the run meanwhile. The report has what was
// restored and what was not, because it was changed since or is not covered. If dry, nothing is restored.
func (w *Workspace) Undo(ctx context.Context, id run.ID, to int64, dry bool) (tool.UndoReport, error) {
	st, err := w.writing()
	if err != nil {
		return tool.UndoReport{}, err
	}
	lease, err := st.Own(ctx, id, "")
	if err != nil {
		return tool.UndoReport{}, owned(err)
	}
	report, err := w.undo(ctx, id, to, dry)
	return report, errors.Join(err, lease.Release())
}

func (w *Workspace) undo(ctx context.Context, id run.ID, to int64, dry bool) (tool.UndoReport, error) {
	events, s, err := w.Load(ctx, id)
	if err != nil {
		return tool.UndoReport{}, err
	}
	if err := w.checkFolder(s); err != nil {
		return tool.UndoReport{}, err
	}
	if to < 0 || to > s.Seq {
		return tool.UndoReport{}, config.Errorf("run %s has the events 1 to %d, and none with number %d", id, s.Seq, to)
	}
	env := w.toolEnvOf(s)
	// Changes that a fork has copied belong to the run that it was forked from.
	changed := changes.By(w.State, id, events, max(to, s.Created.ForkedAt), true)
	report := tool.UndoReport{}
	if dry {
		report = tool.PlanUndo(env, changed.Files)
	} else if len(changed.Files) > 0 {
		report, err = tool.Undo(env, changed.Files)
	}
	if err != nil {
		return report, err
	}
	report.Skipped = append(report.Skipped, changed.Left...)
	report.Uncovered = changed.Uncovered
	return report, nil
}

// toolEnvOf returns where a run's changes of files are.
func (w *Workspace) toolEnvOf(s run.State) tool.Env {
	return tool.Env{Workspace: s.Created.Workspace, Dirs: s.Config.Dirs, StateDir: w.State, Run: s.Created.Run, Session: &tool.Session{}}
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
	words := fmt.Sprintf("run %s is working in %s; wait for it, or stop it with `pawl runs stop %s`", e.Run, e.By(), e.Run)
	if e.Left > 0 {
		words += fmt.Sprintf("; if that process was killed, the run can be continued in %s", max(time.Second, e.Left.Round(time.Second)))
	}
	return words
}

func (e *workingError) Unwrap() error { return e.OwnedError }

// Salvage copies what can be read of the workspace's database into a new one beside it;
// see [store.Salvage].
func (w *Workspace) Salvage(ctx context.Context, out string) ([]store.Salvaged, error) {
	if address := w.env.Get(config.StoreVariable); address != "" {
		return nil, config.Errorf("the runs of this folder are in %s, and only a database on this machine can be recovered: restore that one from its backup", address)
	}
	key, err := w.env.LogKey(true)
	if err != nil {
		return nil, err
	}
	runs, err := store.Salvage(ctx, w.State, out, store.Options{Version: build.Version(), Key: key})
	return runs, runlog.NoRuns(err)
}

// Outputs returns the stored outputs of the workspace's runs.
func (w *Workspace) Outputs() *output.Store {
	st, err := w.reading()
	if err != nil {
		return w.outputs()
	}
	return w.outputsIn(st).With(worker.Logs(st))
}
