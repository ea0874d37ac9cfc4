package board

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"pawl/config"
	"pawl/gitcopy"
	"pawl/internal/inside"
	"pawl/internal/visible"
	"pawl/task"
)

// maxUncommitted bounds how many files a task names that are not in its copy.
const maxUncommitted = 20

// isolated returns the task with its copy made, if an agent is to work on it in one. A task
// keeps the copy that it has: a retry, a resume and a start after reopen continue in it.
func (b Board) isolated(ctx context.Context, s task.State, by, agent string) (task.State, error) {
	if b.ws.Repository() != "" {
		return s, nil // who drives it makes it, see ready
	}
	if s.Copy == nil && s.Isolation != task.Clone && s.Created.Revision == "" {
		if a, err := b.ws.TaskAgent(ctx, agent, task.Worker); err != nil || !a.Clone {
			return s, err
		}
	}
	id := s.Created.Task
	c := b.ws.Copy(id)
	c.Revision = s.Created.Revision
	if s.Copy != nil && c.Exists() {
		return s, nil
	}
	if s.Copy != nil {
		return s, noCopy("the copy of task %s is gone from %s, and what was not merged with it: `pawl task discard %[1]s` gives it up, and the next start makes another", id, s.Copy.Dir)
	}
	m, err := c.Make(ctx)
	if err == nil {
		return b.copied(ctx, id, by, m)
	}
	return s, unsuitable(err)
}

// unsuitable makes an error that there can be no copy one of the task's isolation.
func unsuitable(err error) error {
	if errors.As(err, new(*gitcopy.UnsuitableError)) {
		return &task.InputError{What: "isolation: " + err.Error(), Fields: map[string]string{"isolation": err.Error()}}
	}
	return err
}

// copied records that a task has a copy.
func (b Board) copied(ctx context.Context, id task.ID, by string, m gitcopy.Made) (task.State, error) {
	made := task.CopyMade{Dir: inside.Real(m.Folder), Branch: m.Branch, Base: m.Base, From: m.From, Notes: m.Notes,
		Uncommitted: m.Changed[:min(len(m.Changed), maxUncommitted)], UncommittedCount: len(m.Changed)}
	return b.Do(ctx, id, by, made)
}

// ready makes the folder of a task what its last run has left, for the process that drives the task and has its lease. With a
// shared repository that is a copy, which it takes from the machine that drove the task before.
func (b Board) ready(ctx context.Context, s task.State) error {
	id := s.Created.Task
	c := b.ws.Copy(id)
	c.Revision = s.Created.Revision
	if c.Remote == "" || s.Copy == nil && task.Final(s.Status.Name) {
		return nil
	}
	if err := c.Update(ctx); err != nil {
		return err
	}
	if s.Copy == nil { // it is saved before it is recorded: a task that has a copy has one on every machine
		m, err := c.Make(ctx)
		if err == nil {
			err = c.Take(ctx)
		}
		if err == nil {
			s, err = b.copied(ctx, id, "", m)
		}
		if err != nil {
			return unsuitable(err)
		}
	}
	if !c.Exists() {
		return noCopy("nothing is saved of the copy of task %s in %s any more: `pawl task discard %[1]s` gives it up, and the next start makes another", id, visible.Escape(c.Remote))
	}
	if dir := inside.Real(c.Dir); s.Copy.Dir != dir && !strings.HasPrefix(s.Copy.Dir, dir+string(filepath.Separator)) {
		return &FolderError{id, s.Copy.Dir, dir}
	}
	return c.Take(ctx)
}

// A NoCopyError says that a task has no copy of the repository, or has lost it. It is a
// [*config.Error]. Its code is NO_COPY.
type NoCopyError struct{ error }

// Code is NO_COPY.
func (e *NoCopyError) Code() string { return "NO_COPY" }

func (e *NoCopyError) Unwrap() error { return e.error }

func noCopy(format string, args ...any) error { return &NoCopyError{config.Errorf(format, args...)} }

// loadWithCopy returns a task that has a copy.
func (b Board) loadWithCopy(ctx context.Context, id task.ID) (task.State, error) {
	s, err := b.Load(ctx, id)
	if err == nil && s.Copy == nil {
		err = noCopyOf(s)
	}
	return s, err
}

// copyOfTask returns a task that has a copy, and the copy with what was saved last.
func (b Board) copyOfTask(ctx context.Context, id task.ID) (task.State, gitcopy.Copy, error) {
	c := b.ws.Copy(id)
	s, err := b.loadWithCopy(ctx, id)
	if err != nil {
		return s, c, err
	}
	if err := c.Update(ctx); err != nil {
		return s, c, err
	}
	return s, c, gone(s, c)
}

// gone returns an error if a task has a copy that is not there.
func gone(s task.State, c gitcopy.Copy) error {
	if c.Exists() {
		return nil
	}
	return noCopy("the copy of task %s is gone from %s; `pawl task discard %[1]s` gives it up", s.Created.Task, s.Copy.Dir)
}

func noCopyOf(s task.State) error {
	return noCopy("task %s has no copy of the repository: its agents work in %s (a copy is made at the start of a task with `--isolation clone`)", s.Created.Task, s.Created.Workspace)
}

// Diff returns what was changed in the copy of a task, committed or not: since it was made, or since it had the tree
// since, if that is not empty.
func (b Board) Diff(ctx context.Context, id task.ID, since string) (TaskDiffForm, error) {
	s, c, err := b.copyOfTask(ctx, id)
	if err != nil {
		return TaskDiffForm{}, err
	}
	d, err := c.Diff(ctx, since)
	return TaskDiffForm{id, s.Copy.Branch, s.Copy.Base, d.Commits, d.Tree, append([]gitcopy.File{}, d.Files...), d.Patch}, err
}

// MergePreview returns what a merge of the copy of a task would meet now. Nothing is changed.
func (b Board) MergePreview(ctx context.Context, id task.ID) (TaskMergePreviewForm, error) {
	_, c, err := b.copyOfTask(ctx, id)
	if err != nil {
		return TaskMergePreviewForm{}, err
	}
	m, err := c.Meets(ctx)
	f := TaskMergePreviewForm{id, m.Into, m.Head, errors.Is(err, gitcopy.ErrNothing), m.Contained, append([]string{}, m.Changed...), append([]string{}, m.Conflicts...), m.Known, m.Tree}
	if f.Unchanged {
		f.Known, err = true, nil
	}
	return f, err
}

// Merge commits what is left in the copy of a task and fetches its branch into the
// person's repository, whose files are not changed. The task must not be at work. If seen is not
// empty, the copy must still have that tree, which [Board.Diff] and [Board.MergePreview] have.
func (b Board) Merge(ctx context.Context, id task.ID, by, seen string) (TaskMergeForm, error) {
	s, err := b.loadWithCopy(ctx, id)
	if err != nil {
		return TaskMergeForm{}, err
	}
	if s.Owes() {
		return TaskMergeForm{}, &task.TransitionError{Task: id, From: s.Status.Name, On: "merge", Why: fmt.Sprintf("an agent is at work in the copy: `pawl task pause %s` or `pawl task complete %[1]s` first", id)}
	}
	lease, err := b.ownAtRest(ctx, id) // none starts meanwhile
	if err != nil {
		return TaskMergeForm{}, err
	}
	defer lease.Release()
	s, c, err := b.copyOfTask(ctx, id) // only now: its worker may have saved it until it released the task
	if err != nil {
		return TaskMergeForm{}, err
	}
	m, err := c.Merge(ctx, s.Title(), seen)
	f := TaskMergeForm{id, m.Branch, m.Commit, m.Into, m.Head, errors.Is(err, gitcopy.ErrNothing), m.Contained, append([]string{}, m.Changed...), append([]string{}, m.Conflicts...), m.Known}
	if err != nil {
		if f.Unchanged {
			err = nil
		}
		return f, err
	}
	_, err = b.Do(ctx, id, by, task.CopyMerged{Branch: m.Branch, Commit: m.Commit})
	return f, err
}

// Discard removes the copy of a task, with what was not merged.
func (b Board) Discard(ctx context.Context, id task.ID, by string) (task.State, error) {
	before, err := b.loadWithCopy(ctx, id)
	if err == nil {
		_, err = before.Do(by, task.CopyDiscarded{}) // before it is waited for
	}
	if err != nil {
		return before, err
	}
	lease, err := b.ownAtRest(ctx, id)
	if err != nil {
		return before, err
	}
	defer lease.Release()
	s, err := b.Do(ctx, id, by, task.CopyDiscarded{})
	if err != nil {
		return s, err
	}
	return s, b.ws.RemoveCopy(ctx, id, before.Copy.Dir)
}

// A TaskDiffForm is what was changed in the copy of a task, as JSON.
type TaskDiffForm struct {
	Task    task.ID        `json:"task"`
	Branch  string         `json:"branch"`
	Base    string         `json:"base"`    // the commit that the copy was made from
	Commits int            `json:"commits"` // since then
	Tree    string         `json:"tree"`    // what was looked at: a later diff can begin with it
	Files   []gitcopy.File `json:"files"`
	Patch   string         `json:"patch,omitempty"` // as git diff prints it
}

// A TaskMergePreviewForm is what a merge of a copy would meet, as JSON.
type TaskMergePreviewForm struct {
	Task        task.ID  `json:"task"`
	Into        string   `json:"into,omitempty"` // the branch that is checked out in the person's repository; left out: none
	Head        string   `json:"head,omitempty"` // the commit that is checked out there
	Unchanged   bool     `json:"unchanged"`      // nothing was changed in the copy, so there is nothing to merge
	Contained   bool     `json:"contained"`      // what is checked out has all of it already
	Uncommitted []string `json:"uncommitted"`    // files of the person's with changes that are not committed
	Conflicts   []string `json:"conflicts"`      // files in which the branch conflicts with what is checked out
	Known       bool     `json:"known"`          // conflicts has all of them; before git 2.38 it is not known
	Tree        string   `json:"tree,omitempty"` // what would be merged: a merge can be of this alone
}

// A TaskMergeForm is what came of the merge of a copy, as JSON.
type TaskMergeForm struct {
	Task        task.ID  `json:"task"`
	Branch      string   `json:"branch"` // in the person's repository now, unless the copy is unchanged
	Commit      string   `json:"commit"`
	Into        string   `json:"into,omitempty"` // the branch that is checked out there; left out: none
	Head        string   `json:"head,omitempty"` // the commit that is checked out there; the copy has it too
	Unchanged   bool     `json:"unchanged"`      // nothing was changed in the copy, so there is nothing to merge
	Contained   bool     `json:"contained"`      // what is checked out has all of it already
	Uncommitted []string `json:"uncommitted"`    // files of the person's with changes that are not committed
	Conflicts   []string `json:"conflicts"`      // files in which the branch conflicts with what is checked out
	Known       bool     `json:"known"`          // conflicts has all of them; before git 2.38 it is not known
}
