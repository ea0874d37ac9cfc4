package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"pawl/archive"
	"pawl/internal/visible"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
	"pawl/task"
)

// Export writes runs and tasks of the workspace as an archive, with all everything; see [archive.Place.Export].
func (w *Workspace) Export(ctx context.Context, out io.Writer, runs []run.ID, tasks []task.ID, all bool) (notes []string, err error) {
	st, err := w.reading()
	if err != nil {
		return nil, runlog.NoRuns(err)
	}
	return w.archived(st).Export(ctx, out, runs, tasks, all)
}

func (w *Workspace) archived(st store.Database) archive.Place {
	return archive.Place{Store: st, Tasks: w.tasks(st), Outputs: w.outputsIn(st), State: w.State}
}

// ImportArchive imports what an archive has; see [archive.Place.Import]. Runs that work in other folders are left, unless
// elsewhere.
func (w *Workspace) ImportArchive(ctx context.Context, file io.ReaderAt, size int64, elsewhere, look bool) ([]archive.Imported, error) {
	units, _, err := archive.Scan(ctx, file, size)
	if err != nil {
		return nil, err
	}
	open := w.writing
	if look {
		open = w.reading
	}
	st, err := open()
	if err != nil && !(look && errors.Is(err, store.ErrNoRuns)) {
		return nil, err
	}
	check := w.checkFolders
	if elsewhere {
		check = nil
	}
	all, err := w.archived(st).Import(ctx, units, check, look)
	for i := range all {
		all[i].Why = owned(all[i].Why)
	}
	return all, err
}

// checkFolders returns an error if a run works neither in the workspace nor in a copy of it.
func (w *Workspace) checkFolders(u *archive.Found) error {
	for _, r := range u.Runs {
		if _, ok := w.copyAt(filepath.Clean(r.Summary.Workspace)); r.Summary.Workspace != w.Dir && !ok {
			how := "import it in that folder, or with --any-folder in this one"
			if u.Card.Copy != nil {
				how = "that is the copy which its task has on another machine; --any-folder imports it to be read"
			}
			return fmt.Errorf("run %s works in %s: %s", r.Run, visible.Quote(r.Summary.Workspace), how)
		}
	}
	return nil
}
