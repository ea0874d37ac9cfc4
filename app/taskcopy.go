package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl/config"
	"pawl/gitcopy"
	"pawl/sandbox"
	"pawl/store"
	"pawl/task"
)

// maxUncommitted bounds how many files a task names that are not in its copy.
const maxUncommitted = 20

func (w *Workspace) copies() string { return filepath.Join(w.State, "copies") }

// copyOf returns the copy of a task, which need not exist.
func (w *Workspace) copyOf(id task.ID) gitcopy.Copy {
	return gitcopy.Copy{Dir: filepath.Join(w.copies(), string(id)), Repository: w.Dir}
}

// copyAt returns the copy of a task that a folder is in.
func (w *Workspace) copyAt(dir string) (gitcopy.Copy, bool) {
	for _, copies := range []string{w.copies(), resolve(w.copies())} {
		if rest, ok := strings.CutPrefix(dir, copies+string(filepath.Separator)); ok {
			name, _, _ := strings.Cut(rest, string(filepath.Separator))
			return w.copyOf(task.ID(name)), true
		}
	}
	return gitcopy.Copy{}, false
}

// resolve returns a path with its links followed, if it is there.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// isolated returns the task with its copy made, if an agent is to work on it in one. A task
// keeps the copy that it has: a retry, a resume and a start after reopen continue in it.
func (w *Workspace) isolated(ctx context.Context, s task.State, by, agent string) (task.State, error) {
	if s.Copy == nil && s.Isolation != task.Clone {
		if a, err := w.taskAgent(ctx, agent, task.Worker); err != nil || !a.Clone {
			return s, err
		}
	}
	id := s.Created.Task
	c := w.copyOf(id)
	if s.Copy != nil && c.Exists() {
		return s, nil
	}
	if s.Copy != nil {
		return s, noCopy("the copy of task %s is gone from %s, and what was not merged with it: `pawl task discard %[1]s` gives it up, and the next start makes another", id, s.Copy.Dir)
	}
	m, err := c.Make(ctx)
	if errors.As(err, new(*gitcopy.UnsuitableError)) {
		return s, &task.InputError{What: "isolation: " + err.Error(), Fields: map[string]string{"isolation": err.Error()}}
	} else if err != nil {
		return s, err
	}
	made := task.CopyMade{Dir: resolve(m.Folder), Branch: m.Branch, Base: m.Base, From: m.From, Notes: m.Notes,
		Uncommitted: m.Changed[:min(len(m.Changed), maxUncommitted)], UncommittedCount: len(m.Changed)}
	return w.DoTask(ctx, id, by, task.RecordCopy{CopyMade: made})
}

// A NoCopyError says that a task has no copy of the repository, or has lost it. It is a
// [*config.Error]. Its code is NO_COPY.
type NoCopyError struct{ error }

// Code is NO_COPY.
func (e *NoCopyError) Code() string { return "NO_COPY" }

func (e *NoCopyError) Unwrap() error { return e.error }

func noCopy(format string, args ...any) error { return &NoCopyError{config.Errorf(format, args...)} }

// copyOfTask returns a task that has a copy, and the copy.
func (w *Workspace) copyOfTask(ctx context.Context, id task.ID) (task.State, gitcopy.Copy, error) {
	s, err := w.LoadTask(ctx, id)
	if err != nil {
		return s, gitcopy.Copy{}, err
	}
	c := w.copyOf(id)
	if s.Copy == nil {
		return s, c, noCopyOf(s)
	}
	if !c.Exists() {
		return s, c, noCopy("the copy of task %s is gone from %s; `pawl task discard %[1]s` gives it up", id, s.Copy.Dir)
	}
	return s, c, nil
}

func noCopyOf(s task.State) error {
	return noCopy("task %s has no copy of the repository: its agents work in %s (a copy is made at the start of a task with `--isolation clone`)", s.Created.Task, s.Created.Workspace)
}

// TaskDiff returns what was changed in the copy of a task since it was made, committed or not.
func (w *Workspace) TaskDiff(ctx context.Context, id task.ID) (TaskDiffForm, error) {
	s, c, err := w.copyOfTask(ctx, id)
	if err != nil {
		return TaskDiffForm{}, err
	}
	d, err := c.Diff(ctx)
	return TaskDiffForm{id, s.Copy.Branch, s.Copy.Base, d.Commits, append([]gitcopy.File{}, d.Files...), d.Patch}, err
}

// MergeTask commits what is left in the copy of a task and fetches its branch into the
// person's repository, whose files are not changed. The task must not be at work.
func (w *Workspace) MergeTask(ctx context.Context, id task.ID, by string) (TaskMergeForm, error) {
	s, c, err := w.copyOfTask(ctx, id)
	if err != nil {
		return TaskMergeForm{}, err
	}
	if s.Owes() {
		return TaskMergeForm{}, &task.TransitionError{Task: id, From: s.Status.Name(), On: "merge", Why: fmt.Sprintf("an agent is at work in the copy: `pawl task pause %s` or `pawl task complete %[1]s` first", id)}
	}
	lease, err := w.ownAtRest(ctx, id) // none starts meanwhile
	if err != nil {
		return TaskMergeForm{}, err
	}
	defer lease.Release()
	m, err := c.Merge(ctx, s.Title())
	f := TaskMergeForm{id, m.Branch, m.Commit, m.Into, errors.Is(err, gitcopy.ErrNothing), m.Contained, append([]string{}, m.Changed...), append([]string{}, m.Conflicts...)}
	if err != nil {
		if f.Unchanged {
			err = nil
		}
		return f, err
	}
	_, err = w.DoTask(ctx, id, by, task.RecordMerge{CopyMerged: task.CopyMerged{Branch: m.Branch, Commit: m.Commit}})
	return f, err
}

// DiscardTask removes the copy of a task, with what was not merged.
func (w *Workspace) DiscardTask(ctx context.Context, id task.ID, by string) (task.State, error) {
	before, err := w.LoadTask(ctx, id)
	if err == nil && before.Copy == nil {
		err = noCopyOf(before)
	}
	if err == nil {
		_, err = before.Do(by, task.Discard{}) // before it is waited for
	}
	if err != nil {
		return before, err
	}
	lease, err := w.ownAtRest(ctx, id)
	if err != nil {
		return before, err
	}
	defer lease.Release()
	s, err := w.DoTask(ctx, id, by, task.Discard{})
	if err != nil {
		return s, err
	}
	return s, w.removeCopy(ctx, id, before.Copy.Dir)
}

// removeCopy removes the copy of a task, in which runs worked in dir.
func (w *Workspace) removeCopy(ctx context.Context, id task.ID, dir string) error {
	w.mu.Lock()
	s := w.settings
	w.mu.Unlock()
	if s != nil {
		w.closeSandboxes(s, func(f folderSandbox) bool { return f.dir == dir })
	}
	return errors.Join(w.copyOf(id).Discard(ctx), sandbox.Forget(w.env.StateDir(), dir))
}

// tidyCopies removes the copies of tasks that are not there any more.
func (w *Workspace) tidyCopies(ctx context.Context) error {
	if _, err := os.Stat(w.copies()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return gitcopy.Tidy(ctx, w.copies(), w.Dir, time.Hour, time.Now(), func(name string) bool {
		s, err := w.LoadTask(ctx, task.ID(name))
		return !errors.Is(err, store.ErrNoTask) && (err != nil || s.Copy != nil || s.Owes())
	})
}

// A TaskDiffForm is what was changed in the copy of a task since it was made, as JSON.
type TaskDiffForm struct {
	Task    task.ID        `json:"task"`
	Branch  string         `json:"branch"`
	Base    string         `json:"base"` // the commit that the copy was made from
	Commits int            `json:"commits"`
	Files   []gitcopy.File `json:"files"`
	Patch   string         `json:"patch,omitempty"` // as git diff prints it
}

// A TaskMergeForm is what came of the merge of a copy, as JSON.
type TaskMergeForm struct {
	Task        task.ID  `json:"task"`
	Branch      string   `json:"branch"` // in the person's repository now, unless the copy is unchanged
	Commit      string   `json:"commit"`
	Into        string   `json:"into,omitempty"` // the branch that is checked out there; left out: none
	Unchanged   bool     `json:"unchanged"`      // nothing was changed in the copy, so there is nothing to merge
	Contained   bool     `json:"contained"`      // what is checked out has all of it already
	Uncommitted []string `json:"uncommitted"`    // files of the person's with changes that are not committed
	Conflicts   []string `json:"conflicts"`      // files in which the branch conflicts with what is checked out
}
