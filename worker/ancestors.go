package worker

import (
	"context"
	"errors"
	"fmt"

	"pawl/permission"
	"pawl/run"
	"pawl/store"
)

// An ancestor is a run above a child run, as far as its log was read.
type ancestor struct {
	id, parent run.ID
	seq        int64
	config     run.Config
	rules      string // the version of its rules that were inherited
}

// mode returns the mode in which calls of the run are decided now: its own, or that of the
// strictest run above it. What was forbidden above since the run began it inherits first.
func (r *Runner) mode(s run.State) (permission.Mode, error) {
	r.above.Lock()
	defer r.above.Unlock()
	mode := permission.Mode(s.Config.Mode)
	for i, id := 0, s.Created.Parent; id != "" && i <= run.MaxDepth; i++ {
		if i == len(r.ancestors) {
			r.ancestors = append(r.ancestors, ancestor{id: id})
		}
		a := &r.ancestors[i]
		for e, err := range r.w.Store.Events(context.Background(), a.id, a.seq) {
			if errors.Is(err, store.ErrNotFound) {
				return mode, nil // it is gone, and nothing of it can change any more
			} else if err != nil {
				return mode, fmt.Errorf("the mode of run %s, which started this one, cannot be read: %w", a.id, err)
			}
			switch p := e.Payload.(type) {
			case run.Created:
				a.config, a.parent = p.Config, p.Parent
			case run.Configured:
				a.config = p.Change.Apply(a.config)
			}
			a.seq = e.Seq
		}
		if v := r.w.Authorizer.Versions(a.id)[0]; v != a.rules {
			if err := r.w.Authorizer.Inherit(a.id, r.id); err != nil {
				return mode, fmt.Errorf("the rules of run %s, which started this one, cannot be stored: %w", a.id, err)
			}
			a.rules = v
		}
		if a.seq > 0 {
			mode = permission.Stricter(mode, permission.Mode(a.config.Mode))
		}
		id = a.parent
	}
	return mode, nil
}
