package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"pawl/archive"
	"pawl/internal/build"
	"pawl/internal/visible"
	"pawl/output"
	"pawl/policy"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
	"pawl/task"
	"pawl/tasklog"
)

// Export writes runs and tasks as an archive, for the store of another machine: with a run its conversation, the runs that it was
// forked from and its task, and with a task its runs. With all it writes everything of the workspace. What cannot be read is
// left out and is in the error. notes are what a person should know, a sentence each.
func (w *Workspace) Export(ctx context.Context, out io.Writer, runs []run.ID, tasks []task.ID, all bool) (notes []string, err error) {
	st, err := w.reading()
	if err != nil {
		return nil, runlog.NoRuns(err)
	}
	if all {
		sums, err := st.Runs(ctx, 0)
		if err != nil {
			return nil, err
		}
		rows, _, err := st.Tasks(ctx, store.TaskQuery{})
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
	to, err := archive.NewWriter(out, build.Version(), time.Now())
	if err != nil {
		return nil, err
	}
	e := &export{w: w, st: st, outputs: w.outputsIn(st), to: to, seen: map[string]bool{}}
	e.rules, _ = policy.RunsWithRules(w.State) // they are not moved in any case
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
	w       *Workspace
	st      store.Database
	outputs *output.Store
	to      *archive.Writer
	seen    map[string]bool // units
	rules   []run.ID        // runs with rules of their own
	notes   []string
	left    []error // why something is left out
	failed  error   // the archive cannot be written to its end
}

func (e *export) run(ctx context.Context, id run.ID) {
	sum, err := e.st.Run(ctx, id)
	if err != nil {
		e.left = append(e.left, err)
		return
	}
	of, err := e.st.TaskOf(ctx, id)
	if err != nil {
		e.left = append(e.left, err)
	} else if of != "" {
		e.task(ctx, of)
	} else {
		e.unit(ctx, archive.Unit{Run: sum.Root}, sum.Root)
	}
}

func (e *export) task(ctx context.Context, id string) {
	runs, err := e.st.TaskRuns(ctx, id)
	var roots []run.ID
	for _, id := range runs {
		var sum store.Summary
		if err == nil {
			sum, err = e.st.Run(ctx, id)
		}
		if !slices.Contains(roots, sum.Root) {
			roots = append(roots, sum.Root)
		}
	}
	if err != nil {
		e.left = append(e.left, err)
		return
	}
	e.unit(ctx, archive.Unit{Task: task.ID(id)}, roots...)
}

// unit writes a unit, unless it was written.
func (e *export) unit(ctx context.Context, u archive.Unit, roots ...run.ID) {
	key := fmt.Sprint(u)
	if e.seen[key] || e.failed != nil {
		return
	}
	e.seen[key] = true
	moved, err := e.st.Unit(ctx, string(u.Task), roots...)
	if err == nil && u.Task != "" {
		_, err = tasklog.Load(ctx, e.st, u.Task)
	}
	for _, m := range moved.Runs {
		if err == nil {
			err = e.st.Verify(ctx, m.Run)
		}
		if sum, serr := e.st.Run(ctx, m.Run); serr == nil && sum.Forked != "" { // it is there if the run is: see Remove
			e.run(ctx, sum.Forked)
		}
		if owner, owned, oerr := e.st.Owner(ctx, m.Run); oerr == nil && owned {
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

func (e *export) write(ctx context.Context, u archive.Unit, moved store.Unit) error {
	err := e.to.Put(archive.Line{Unit: &u})
	if u.Task != "" && err == nil {
		err = e.writeTask(ctx, u.Task, moved)
	}
	for _, m := range moved.Runs {
		if err == nil {
			err = e.to.Put(archive.Line{Run: &m})
		}
		for r, rerr := range m.Events {
			if err = errors.Join(err, rerr); err == nil {
				err = e.to.Put(archive.Line{Event: &r})
			}
			if err != nil {
				return err
			}
		}
		for _, r := range m.Inbox {
			err = errors.Join(err, e.to.Put(archive.Line{Inbox: &r}))
		}
		for _, s := range m.Submissions {
			err = errors.Join(err, e.to.Put(archive.Line{Submission: &s}))
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
		if err := e.to.Put(archive.Line{TaskEvent: &archive.TaskEvent{TaskEvent: ev, Hash: hash}}); err != nil {
			return err
		}
	}
	s, _, err := tasklog.Import(id, events)
	if err != nil {
		return err
	}
	for _, a := range s.Attachments {
		content, err := e.w.TaskFile(ctx, id, a)
		if err == nil {
			err = e.to.Put(archive.Line{File: &a})
		}
		for part := range slices.Chunk(content, archive.PartSize) {
			err = errors.Join(err, e.to.Put(archive.Line{Part: part}))
		}
		if err != nil {
			return fmt.Errorf("the file %s of task %s: %w", visible.Quote(a.Name), id, err)
		}
	}
	return nil
}

func (e *export) writeOutputs(ctx context.Context, m store.Moved) error {
	stored, err := e.outputs.Stored(m.Root, m.Run)
	if err != nil {
		return err
	}
	for _, meta := range stored {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		o, err := e.outputs.Open(output.Key{Conversation: m.Root, Run: m.Run, Call: meta.ID})
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
		err = e.to.Put(archive.Line{Output: archive.OutputOf(o.Meta)})
		for part, perr := range o.Parts() {
			if err = errors.Join(err, perr); err == nil {
				err = e.to.Put(archive.Line{Part: part})
			}
		}
		if err = errors.Join(err, o.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Imported is what became of a unit of an archive.
type Imported struct {
	*archive.Found
	State string // new, and not imported yet; added; there, as it is in the archive; left
	Why   error  // it is left
}

// ImportArchive imports what an archive has: of each unit all, or nothing. With look it imports nothing and says what it
// would do. Runs that work in other folders are left, unless elsewhere. After an error, what is in all was dealt with, and the import can be
// repeated: what is there is not imported again.
func (w *Workspace) ImportArchive(ctx context.Context, file io.ReaderAt, size int64, elsewhere, look bool) (all []Imported, err error) {
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
	for _, u := range units {
		i := Imported{Found: u, Why: u.Wrong}
		if i.Why == nil && !elsewhere {
			i.Why = w.checkFolders(u)
		}
		if i.Why == nil {
			i.State, i.Why = w.importUnit(ctx, st, u, look)
		}
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		if _, ofStore := errors.AsType[*store.FileError](i.Why); ofStore && u.Wrong == nil { // such as a full disk
			return all, fmt.Errorf("import %s: %w", u.Name(), i.Why)
		}
		if i.Why != nil {
			i.State = "left"
		}
		all = append(all, i)
	}
	return all, nil
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

// lacking returns what of a unit is not here. The error says what is here instead.
func lacking(ctx context.Context, st store.Database, u *archive.Found) (runs []store.Moved, t *store.TaskAppend, err error) {
	for _, r := range u.Runs {
		seq, hash, err := int64(0), []byte(nil), store.ErrNotFound
		if st != nil {
			seq, hash, err = st.End(ctx, r.Run)
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			runs = append(runs, r.Moved)
		case err != nil:
			return nil, nil, err
		case seq != r.Seq || !bytes.Equal(hash, r.Hash):
			return nil, nil, fmt.Errorf("run %s is here with other events: %d, and %d in the archive; `pawl runs rm %[1]s` removes it", r.Run, seq, r.Seq)
		}
	}
	if u.Unit.Task == "" {
		return runs, nil, nil
	}
	t = &u.Task
	var hash []byte
	seq := int64(0)
	if st != nil {
		for e, err := range st.TaskEvents(ctx, t.Task, 0) {
			switch {
			case errors.Is(err, store.ErrNoTask):
				return runs, t, nil
			case err != nil:
				return nil, nil, err
			}
			seq, hash = e.Seq, store.TaskHash(hash, t.Task, e)
		}
	}
	switch {
	case seq == 0:
		return runs, t, nil
	case !bytes.Equal(hash, u.Hash):
		return nil, nil, fmt.Errorf("task %s is here with other events: %d, and %d in the archive; `pawl task rm %[1]s` removes it", t.Task, seq, len(t.Events))
	case len(runs) == 0:
		return nil, nil, nil
	}
	return runs, &store.TaskAppend{Task: t.Task, After: seq, Runs: t.Runs}, nil // runs of it were removed here
}

func (w *Workspace) importUnit(ctx context.Context, st store.Database, u *archive.Found, look bool) (state string, err error) {
	runs, t, err := lacking(ctx, st, u)
	switch {
	case err != nil:
		return "", err
	case len(runs) == 0 && t == nil:
		return "there", nil
	case look:
		return "new", nil
	}
	ids := make([]run.ID, 0, len(runs)+1)
	for _, m := range runs {
		ids = append(ids, m.Run)
	}
	if t != nil {
		ids = append(ids, store.TaskLease(t.Task))
	}
	for _, id := range ids { // a sweep leaves what an owned run has alone
		lease, err := st.Own(ctx, id, "")
		if o, driven := errors.AsType[*store.OwnedError](err); driven && t != nil && id == store.TaskLease(t.Task) {
			err = fmt.Errorf("task %s is worked on by %s: import it when that has ended", t.Task, o.By())
		}
		if err != nil {
			return "", owned(err)
		}
		defer lease.Release() // it ends by itself
	}
	outputs := w.outputsIn(st)
	err = w.importFiles(ctx, outputs, u, runs, t != nil && len(t.Events) > 0)
	if errors.As(err, new(syscall.Errno)) {
		err = store.FileFault(w.State, err)
	}
	if err == nil {
		err = st.Import(ctx, runs, t)
	}
	if err == nil {
		if t != nil {
			w.taskChanged(u.Unit.Task)
		}
		return "added", nil
	}
	for _, m := range runs { // what a sweep removes, if this cannot
		if _, _, gone := st.End(ctx, m.Run); errors.Is(gone, store.ErrNotFound) {
			_ = outputs.Remove(m.Root, m.Run)
		}
	}
	if t != nil {
		if _, gone := st.Task(ctx, t.Task); errors.Is(gone, store.ErrNoTask) {
			for _, a := range u.Card.Attachments {
				_ = w.DropTaskFile(ctx, u.Unit.Task, a.ID)
			}
		}
	}
	return "", err
}

// importFiles stores the outputs of runs, and the files of the task if its log is imported too. They are durable when it returns: only
// then are the events that refer to them.
func (w *Workspace) importFiles(ctx context.Context, outputs *output.Store, u *archive.Found, runs []store.Moved, files bool) error {
	var of store.Moved
	var to *output.Writer
	var meta output.Meta
	var file *task.Attachment
	var content []byte
	end := func() error {
		defer func() { to, file, content = nil, nil, nil }()
		if file != nil {
			return w.KeepTaskFile(ctx, u.Unit.Task, *file, content)
		}
		if to == nil {
			return nil
		}
		o, err := to.Commit(meta.Success)
		if err != nil {
			return err
		}
		return o.Close()
	}
	defer func() {
		if to != nil {
			to.Abort()
		}
	}()
	for l, err := range u.Lines() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && l.Part == nil {
			err = end()
		}
		if err != nil {
			return err
		}
		switch {
		case l.Run != nil:
			of = *l.Run
		case l.File != nil && files:
			file = l.File
		case l.Output != nil && slices.ContainsFunc(runs, func(m store.Moved) bool { return m.Run == of.Run }):
			meta = l.Output.Meta(of)
			to, err = outputs.Restore(meta)
		case l.Part != nil && file != nil:
			content = append(content, l.Part...)
		case l.Part != nil && to != nil:
			err = to.WritePart(l.Part)
		}
		if err != nil {
			return err
		}
	}
	return end()
}
