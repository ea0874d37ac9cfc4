package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pawl/config"
	"pawl/external"
	"pawl/internal/text"
	"pawl/output"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
	"pawl/task"
	"pawl/worker/retention"
)

// kept returns what is kept of this workspace, to be looked at.
func (w *Workspace) kept() (retention.State, error) {
	st, err := w.reading()
	return w.keptIn(st), runlog.NoRuns(err)
}

// keptForRemoval is kept, opened for writing unless dry.
func (w *Workspace) keptForRemoval(dry bool) (retention.State, error) {
	// Where there is nothing to remove no database is made for it.
	if k, err := w.kept(); err != nil || dry {
		return k, err
	}
	st, err := w.writing()
	if errors.Is(err, store.ErrDiskFull) && w.outputs().ReleaseReserve() {
		st, err = w.writing()
	}
	return w.keptIn(st), err
}

func (w *Workspace) keptIn(st store.Database) retention.State {
	return retention.State{Store: st, Outputs: w.outputsIn(st), Dir: w.State, Workspace: w.Dir, StateDir: w.env.StateDir()}
}

// Usage returns how many bytes on the disk what is kept of this workspace takes, by part.
func (w *Workspace) Usage(ctx context.Context) (retention.Usage, error) {
	k, err := w.kept()
	if errors.Is(err, runlog.ErrNoRun) {
		return retention.Usage{}, nil
	} else if err != nil {
		return retention.Usage{}, err
	}
	return k.Usage(ctx)
}

// Remove removes a run with everything it left: its log, outputs, journal of edits and
// rules, and the runs below it. The error is a [*store.OwnedError] if a process drives it
// and a [*store.NeededError] if another run needs it. With dry it only says what it would
// remove.
func (w *Workspace) Remove(ctx context.Context, id run.ID, dry bool) (retention.Removed, error) {
	k, err := w.keptForRemoval(dry)
	if err != nil {
		return retention.Removed{}, err
	}
	removed, err := k.Remove(ctx, id, dry)
	if errors.Is(err, store.ErrDiskFull) && w.outputs().ReleaseReserve() {
		removed, err = k.Remove(ctx, id, dry)
	}
	return removed, owned(err)
}

// Prune removes the runs that were last used before now minus age, but for those that are
// driven, have an open turn, wait for an answer, or are needed by such a run. Age 0 removes
// no run, only what a removal has left that was killed. With dry it only says what it would
// remove.
func (w *Workspace) Prune(ctx context.Context, age time.Duration, dry bool) (retention.Removed, error) {
	k, err := w.keptForRemoval(dry)
	if errors.Is(err, runlog.ErrNoRun) {
		return retention.Removed{}, nil
	} else if err != nil {
		return retention.Removed{}, err
	}
	removed, err := k.Prune(ctx, age, time.Now(), dry)
	if errors.Is(err, store.ErrDiskFull) && w.outputs().ReleaseReserve() {
		removed, err = k.Prune(ctx, age, time.Now(), dry)
	}
	if err == nil && !dry {
		err = errors.Join(w.tidyCopies(ctx), w.tidyAttachments(ctx), external.RemoveLocks(w.externalState()))
	}
	return removed, err
}

// tidyAttachments removes the files of tasks that are not there any more: of those whose removal
// was cut short.
func (w *Workspace) tidyAttachments(ctx context.Context) error {
	folders, err := os.ReadDir(w.attachments())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	st, serr := w.reading()
	if serr != nil {
		return errors.Join(err, serr)
	}
	for _, f := range folders {
		// A task that is imported is owned and has its files, until it is in the log: the order of these two questions matters.
		_, owned, oerr := st.Owner(ctx, store.TaskLease(f.Name()))
		if _, terr := st.Task(ctx, f.Name()); errors.Is(terr, store.ErrNoTask) && !owned && oerr == nil {
			err = errors.Join(err, w.tasks(st).RemoveFolder(task.ID(f.Name())))
		}
	}
	return err
}

// PruneOutputs removes stored outputs until what is left is within quota, the oldest
// first; never those that a run may still refer to, because its turn is open or it waits
// for an answer. With dry it only says what it would remove.
func (w *Workspace) PruneOutputs(ctx context.Context, quota output.Quota, dry bool) (output.Pruned, error) {
	// Files can be removed also where the disk is too full to open the log for writing.
	k, err := w.keptForRemoval(dry || w.env.Get(config.StoreVariable) == "")
	if err != nil {
		return output.Pruned{}, err
	}
	return k.Outputs.Prune(quota, k.LiveOutputs(ctx), dry)
}

// tidyEvery is how often Tidy looks for runs that are too old, and tempAge how old what
// commands have left in their /tmp is then: a resumed run may use it.
const (
	tidyEvery = 24 * time.Hour
	tempAge   = time.Hour
)

// Tidy applies the limits of what is stored, as a face does after it has driven a run, and
// returns what a person should know of what was removed, a sentence each. What goes wrong
// is in the log for diagnostics: it is no failure of the run.
func (w *Workspace) Tidy(ctx context.Context) []string {
	c, err := w.Config()
	if err != nil {
		return nil // no run was driven with it
	}
	var removed []string
	if quota := c.OutputQuota(); w.Outputs().Exceeds(quota) {
		pruned, err := w.PruneOutputs(ctx, quota, false)
		if err != nil {
			w.logger().Warn("outputs were not pruned", "error", err)
		}
		if n := len(pruned.Removed); n > 0 {
			removed = append(removed, fmt.Sprintf("%s of earlier runs removed, %s: outputs_max_size is %s, outputs_max_age %s",
				text.Plural(int64(n), "stored output"), text.Size(pruned.Freed), c.Get("outputs_max_size"), c.Get("outputs_max_age")))
		}
	}
	if !w.due(time.Now()) {
		return removed
	}
	w.outputs().TakeReserve()
	age, _ := config.ParseLimit(c.Get("runs_max_age"), config.ParseAge) // checked by Load
	pruned, err := w.Prune(ctx, age, false)
	if err != nil {
		w.logger().Warn("runs were not pruned", "error", err)
	}
	if n := len(pruned.Runs); n > 0 {
		removed = append(removed, fmt.Sprintf("%s removed, %s: runs_max_age is %s", text.Plural(int64(n), "old run"), text.Size(pruned.Freed.Total()), c.Get("runs_max_age")))
	}
	if k, err := w.kept(); err == nil {
		if _, err := k.Tidy(ctx, tempAge, time.Now()); err != nil {
			w.logger().Warn("temporary files were not removed", "error", err)
		}
	}
	return removed
}

// due reports whether it is time to look for what is too old, and says that it is being
// done.
func (w *Workspace) due(now time.Time) bool {
	mark := filepath.Join(w.State, "tidied")
	if info, err := os.Stat(mark); err == nil && now.Sub(info.ModTime()) < tidyEvery && now.After(info.ModTime().Add(-tidyEvery)) {
		return false
	}
	// Two processes that do it at once do no harm.
	return os.WriteFile(mark, nil, 0o600) == nil && os.Chtimes(mark, now, now) == nil
}
