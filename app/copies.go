package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl/config"
	"pawl/gitcopy"
	"pawl/internal/inside"
	"pawl/sandbox"
	"pawl/store"
	"pawl/task"
	"pawl/tasklog"
)

func (w *Workspace) copies() string { return filepath.Join(w.State, "copies") }

// Copy returns the copy of a task, which need not exist.
func (w *Workspace) Copy(id task.ID) gitcopy.Copy {
	return gitcopy.Copy{Dir: filepath.Join(w.copies(), string(id)), Repository: w.Dir, Remote: w.Repository()}
}

// Repository returns the address of the git repository that the machines of a shared database work on, each in copies of
// it; empty: they share a folder, or there is one machine.
func (w *Workspace) Repository() string { return w.env.Get(config.RepositoryVariable) }

// saveCopy saves the copy of a task that a run works in for other machines.
func (w *Workspace) saveCopy(ctx context.Context, dir string) error {
	if c, ok := w.copyAt(dir); ok {
		return c.Save(ctx)
	}
	return nil
}

// copyAt returns the copy of a task that a folder is in.
func (w *Workspace) copyAt(dir string) (gitcopy.Copy, bool) {
	for _, copies := range []string{w.copies(), inside.Real(w.copies())} {
		if rest, ok := strings.CutPrefix(dir, copies+string(filepath.Separator)); ok {
			name, _, _ := strings.Cut(rest, string(filepath.Separator))
			return w.Copy(task.ID(name)), true
		}
	}
	return gitcopy.Copy{}, false
}

// RemoveCopy removes the copy of a task, in which runs worked in dir.
func (w *Workspace) RemoveCopy(ctx context.Context, id task.ID, dir string) error {
	w.mu.Lock()
	s := w.settings
	w.mu.Unlock()
	if s != nil {
		w.closeSandboxes(s, func(f folderSandbox) bool { return f.dir == dir })
	}
	return errors.Join(w.Copy(id).Discard(ctx), sandbox.Forget(w.env.StateDir(), dir))
}

// tidyCopies removes the copies of tasks that are not there any more.
func (w *Workspace) tidyCopies(ctx context.Context) error {
	if _, err := os.Stat(w.copies()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	st, err := w.reading()
	if err != nil {
		return err
	}
	return gitcopy.Tidy(ctx, w.copies(), w.Dir, time.Hour, time.Now(), func(name string) bool {
		l, err := tasklog.Load(ctx, st, task.ID(name))
		return !errors.Is(err, store.ErrNoTask) && (err != nil || l.State.Copy != nil || l.State.Owes())
	})
}
