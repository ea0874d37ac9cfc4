package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"pawl/output"
	"pawl/run"
	"pawl/store"
	"pawl/task"
)

// Imported is what became of a unit of an archive.
type Imported struct {
	*Found
	State string // new, and not imported yet; added; there, as it is in the archive; left
	Why   error  // it is left
}

// Import imports units that [Scan] has found: of each unit all, or nothing. With look it imports nothing and says what it
// would do. check returns why a unit is to be left; nil: none is. After an error, what is in all was dealt with, and the import
// can be repeated: what is there is not imported again.
func (p Place) Import(ctx context.Context, units []*Found, check func(*Found) error, look bool) (all []Imported, err error) {
	for _, u := range units {
		i := Imported{Found: u, Why: u.Wrong}
		if i.Why == nil && check != nil {
			i.Why = check(u)
		}
		if i.Why == nil {
			i.State, i.Why = p.unit(ctx, u, look)
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

// lacking returns what of a unit is not here. The error says what is here instead.
func (p Place) lacking(ctx context.Context, u *Found) (runs []store.Moved, t *store.TaskAppend, err error) {
	for _, r := range u.Runs {
		seq, hash, err := int64(0), []byte(nil), store.ErrNotFound
		if p.Store != nil {
			seq, hash, err = p.Store.End(ctx, r.Run)
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
	if p.Store != nil {
		for e, err := range p.Store.TaskEvents(ctx, t.Task, 0) {
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

// unit imports a unit, and returns the state that it has then; with look the one that it has now.
func (p Place) unit(ctx context.Context, u *Found, look bool) (state string, err error) {
	runs, t, err := p.lacking(ctx, u)
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
		lease, err := p.Store.Own(ctx, id, "")
		if o, driven := errors.AsType[*store.OwnedError](err); driven && t != nil && id == store.TaskLease(t.Task) {
			err = fmt.Errorf("task %s is worked on by %s: import it when that has ended", t.Task, o.By())
		}
		if err != nil {
			return "", err
		}
		defer lease.Release() // it ends by itself
	}
	err = p.files(ctx, u, runs, t != nil && len(t.Events) > 0)
	if errors.As(err, new(syscall.Errno)) {
		err = store.FileFault(p.State, err)
	}
	if err == nil {
		err = p.Store.Import(ctx, runs, t)
	}
	if err == nil {
		if t != nil {
			p.Tasks.Changed(u.Unit.Task)
		}
		return "added", nil
	}
	for _, m := range runs { // what a sweep removes, if this cannot
		if _, _, gone := p.Store.End(ctx, m.Run); errors.Is(gone, store.ErrNotFound) {
			_ = p.Outputs.Remove(m.Root, m.Run)
		}
	}
	if t != nil {
		if _, gone := p.Store.Task(ctx, t.Task); errors.Is(gone, store.ErrNoTask) {
			for _, a := range u.Card.Attachments {
				_ = p.Tasks.RemoveFile(ctx, u.Unit.Task, a.ID)
			}
		}
	}
	return "", err
}

// files stores the outputs of runs, and the files of the task if its log is imported too. They are durable when it returns: only
// then are the events that refer to them.
func (p Place) files(ctx context.Context, u *Found, runs []store.Moved, files bool) error {
	var of store.Moved
	var to *output.Writer
	var meta output.Meta
	var file *task.Attachment
	var content []byte
	end := func() error {
		defer func() { to, file, content = nil, nil, nil }()
		if file != nil {
			return p.Tasks.PutFile(ctx, u.Unit.Task, *file, content)
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
			to, err = p.Outputs.Restore(meta)
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
