package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"pawl/internal/build"
	"pawl/internal/visible"
	"pawl/output"
	"pawl/policy"
	"pawl/run"
	"pawl/store"
	"pawl/task"
	"pawl/tasklog"
)

// A Place is where the runs and tasks of a workspace are, with what belongs to them.
type Place struct {
	Store   store.Database // nil: none was made yet, which is enough to say what would be imported
	Tasks   *tasklog.Tasks
	Outputs *output.Store
	State   string // the workspace's state folder
}

// Export writes runs and tasks as an archive, for the store of another machine: with a run its conversation, the runs that it was
// forked from and its task, and with a task its runs. With all it writes everything of the place. What cannot be read is
// left out and is in the error. notes are what a person should know, a sentence each.
func (p Place) Export(ctx context.Context, out io.Writer, runs []run.ID, tasks []task.ID, all bool) (notes []string, err error) {
	if all {
		sums, err := p.Store.Runs(ctx, 0)
		if err != nil {
			return nil, err
		}
		rows, _, err := p.Store.Tasks(ctx, store.TaskQuery{})
		if err != nil {
			return nil, err
		}
		for _, sum := range slices.Backward(sums) { // the one used last is imported last, and is used last there
			runs = append(runs, sum.ID)
		}
		for _, row := range slices.Backward(rows) {
			tasks = append(tasks, task.ID(row.ID))
		}
	}
	to, err := NewWriter(out, build.Version(), time.Now())
	if err != nil {
		return nil, err
	}
	e := &export{Place: p, to: to, seen: map[string]bool{}}
	e.rules, _ = policy.RunsWithRules(p.State) // they are not moved in any case
	for _, id := range runs {
		e.run(ctx, id)
	}
	for _, id := range tasks {
		e.task(ctx, string(id))
	}
	if e.failed != nil {
		return e.notes, e.failed // without an end: it is no archive
	}
	return e.notes, errors.Join(append(e.left, to.Close())...)
}

// An export is an archive that is being written.
type export struct {
	Place
	to     *Writer
	seen   map[string]bool // units
	rules  []run.ID        // runs with rules of their own
	notes  []string
	left   []error // why something is left out
	failed error   // the archive cannot be written to its end
}

func (e *export) run(ctx context.Context, id run.ID) {
	sum, err := e.Store.Run(ctx, id)
	if err != nil {
		e.left = append(e.left, err)
		return
	}
	of, err := e.Store.TaskOf(ctx, id)
	if err != nil {
		e.left = append(e.left, err)
	} else if of != "" {
		e.task(ctx, of)
	} else {
		e.unit(ctx, Unit{Run: sum.Root}, sum.Root)
	}
}

func (e *export) task(ctx context.Context, id string) {
	runs, err := e.Store.TaskRuns(ctx, id)
	var roots []run.ID
	for _, id := range runs {
		var sum store.Summary
		if err == nil {
			sum, err = e.Store.Run(ctx, id)
		}
		if !slices.Contains(roots, sum.Root) {
			roots = append(roots, sum.Root)
		}
	}
	if err != nil {
		e.left = append(e.left, err)
		return
	}
	e.unit(ctx, Unit{Task: task.ID(id)}, roots...)
}

// unit writes a unit, unless it was written.
func (e *export) unit(ctx context.Context, u Unit, roots ...run.ID) {
	key := fmt.Sprint(u)
	if e.seen[key] || e.failed != nil {
		return
	}
	e.seen[key] = true
	moved, err := e.Store.Unit(ctx, string(u.Task), roots...)
	if err == nil && u.Task != "" {
		_, err = tasklog.Load(ctx, e.Store, u.Task)
	}
	for _, m := range moved.Runs {
		if err == nil {
			err = e.Store.Verify(ctx, m.Run)
		}
		if sum, serr := e.Store.Run(ctx, m.Run); serr == nil && sum.Forked != "" { // it is there if the run is: see Remove
			e.run(ctx, sum.Forked)
		}
		if owner, owned, oerr := e.Store.Owner(ctx, m.Run); oerr == nil && owned {
			by := store.OwnedError{PID: owner.PID, Host: owner.Host}
			e.notes = append(e.notes, fmt.Sprintf("run %s is working in %s: the archive has it as it is now", m.Run, by.By()))
		}
		if slices.Contains(e.rules, m.Run) {
			e.notes = append(e.notes, fmt.Sprintf("run %s has rules of its own, which are not moved: what they deny is not denied elsewhere", m.Run))
		}
	}
	if err != nil {
		e.left = append(e.left, err)
	} else if err := e.write(ctx, u, moved); err != nil {
		e.failed = err
	}
}

func (e *export) write(ctx context.Context, u Unit, moved store.Unit) error {
	err := e.to.Put(Line{Unit: &u})
	if u.Task != "" && err == nil {
		err = e.writeTask(ctx, u.Task, moved)
	}
	for _, m := range moved.Runs {
		if err == nil {
			err = e.to.Put(Line{Run: &m})
		}
		for r, rerr := range m.Events {
			if err = errors.Join(err, rerr); err == nil {
				err = e.to.Put(Line{Event: &r})
			}
			if err != nil {
				return err
			}
		}
		for _, r := range m.Inbox {
			err = errors.Join(err, e.to.Put(Line{Inbox: &r}))
		}
		for _, s := range m.Submissions {
			err = errors.Join(err, e.to.Put(Line{Submission: &s}))
		}
		if err == nil {
			err = e.writeOutputs(ctx, m)
		}
	}
	return err
}

func (e *export) writeTask(ctx context.Context, id task.ID, moved store.Unit) error {
	var hash []byte
	var events []store.TaskEvent
	for ev, err := range moved.TaskEvents {
		if err != nil {
			return err
		}
		hash, events = store.TaskHash(hash, string(id), ev), append(events, ev)
		if err := e.to.Put(Line{TaskEvent: &TaskEvent{TaskEvent: ev, Hash: hash}}); err != nil {
			return err
		}
	}
	s, _, err := tasklog.Import(id, events)
	if err != nil {
		return err
	}
	for _, a := range s.Attachments {
		content, err := e.Tasks.File(ctx, id, a)
		if err == nil {
			err = e.to.Put(Line{File: &a})
		}
		for part := range slices.Chunk(content, PartSize) {
			err = errors.Join(err, e.to.Put(Line{Part: part}))
		}
		if err != nil {
			return fmt.Errorf("the file %s of task %s: %w", visible.Quote(a.Name), id, err)
		}
	}
	return nil
}

func (e *export) writeOutputs(ctx context.Context, m store.Moved) error {
	stored, err := e.Outputs.Stored(m.Root, m.Run)
	if err != nil {
		return err
	}
	for _, meta := range stored {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		o, err := e.Outputs.Open(output.Key{Conversation: m.Root, Run: m.Run, Call: meta.ID})
		if err == nil {
			_, err = io.Copy(io.Discard, o.Reader()) // a damaged one would keep the run from being imported
			if err != nil {
				err = errors.Join(err, o.Close())
			}
		}
		if err != nil {
			e.left = append(e.left, fmt.Errorf("output %s of run %s: %w", meta.ID, m.Run, err))
			continue
		}
		err = e.to.Put(Line{Output: OutputOf(o.Meta)})
		for part, perr := range o.Parts() {
			if err = errors.Join(err, perr); err == nil {
				err = e.to.Put(Line{Part: part})
			}
		}
		if err = errors.Join(err, o.Close()); err != nil {
			return err
		}
	}
	return nil
}
