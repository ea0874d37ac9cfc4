package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"pawl/instructions"
	"pawl/internal/text"
	"pawl/store"
)

// nearest returns the workspace whose runs are meant in w: w itself if it has runs, else
// that of the nearest folder above it in the same repository that has some, else w.
func (w *Workspace) nearest() *Workspace {
	if n, err := w.runs(1); n > 0 || err != nil { // what uses w says what is wrong
		return w
	}
	root := w.repository()
	for dir := w.Dir; dir != root && dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		above := w.at(dir)
		if n, err := above.runs(1); n == 0 && err == nil {
			above.Close() // it was only read
			continue
		}
		w.Close() // it was only read
		w.opt.Notice(fmt.Sprintf("the runs of %s; this folder has none of its own", dir))
		return above
	}
	return w
}

// at returns the workspace of another folder, with the options of w.
func (w *Workspace) at(dir string) *Workspace {
	opt := w.opt
	opt.Dir, opt.Nearest = dir, false
	return open(dir, opt)
}

// runs returns how many root runs the workspace has, counted up to limit (0: all).
func (w *Workspace) runs(limit int) (int, error) {
	st, err := w.reading()
	if errors.Is(err, store.ErrNoRuns) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	runs, err := st.Runs(context.Background(), limit)
	return len(runs), err
}

// repository returns the root of the repository that the workspace is in, or its folder.
func (w *Workspace) repository() string {
	return instructions.Root(w.Dir, w.home())
}

// runsAbove says which folder above the workspace has runs, and how to list them; empty if
// none has.
func (w *Workspace) runsAbove() string {
	for dir := filepath.Dir(w.Dir); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		above := w.at(dir)
		n, err := above.runs(0)
		above.Close() // it was only read
		if n > 0 && err == nil {
			return fmt.Sprintf("%s in %s: `pawl -C %s runs list`", text.Plural(int64(n), "run"), dir, text.ShellWord(dir))
		}
	}
	return ""
}
