package app

import (
	"context"
	"sync"

	"pawl/permission"
	"pawl/run"
	"pawl/view"
)

// maxHistory is how many of the newest runs are searched for what was allowed before: what
// somebody meant a year ago is not what they mean.
const maxHistory = 20

// A history knows the calls that a person or a rule allowed in the newest runs of a workspace, those of the runs
// at work too. It reads what the logs have gained since it was asked last.
type history struct {
	w *Workspace

	mu   sync.Mutex
	runs map[run.ID]*pastRun
}

// A pastRun is what is known of a run.
type pastRun struct {
	seq     int64                   // of the last event that was read
	calls   map[run.CallID]run.Call // that are not decided
	allowed []permission.Allowed
}

// allowed returns the calls. What cannot be read is left out: it would only widen what is proposed.
func (h *history) allowed() (all []permission.Allowed) {
	ctx := context.Background()
	s, err := h.w.reading()
	if err != nil {
		return nil
	}
	newest, err := s.Runs(ctx, maxHistory)
	if err != nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.runs
	h.runs = make(map[run.ID]*pastRun, len(newest))
	for _, sum := range newest {
		r := before[sum.ID]
		if r == nil {
			r = &pastRun{calls: map[run.CallID]run.Call{}}
		}
		if h.runs[sum.ID] = r; r.seq < sum.Seq {
			for e, err := range s.Events(ctx, sum.ID, r.seq) {
				if err != nil {
					break
				}
				r.add(e)
			}
		}
		all = append(all, r.allowed...)
	}
	return all
}

func (r *pastRun) add(e run.Event) {
	r.seq = e.Seq
	view.Remember(r.calls, e.Payload)
	f, ok := e.Payload.(run.CallDecided)
	if !ok {
		return
	}
	c, known := r.calls[f.Call]
	delete(r.calls, f.Call)
	// What a mode or the sandbox lets run was wanted by the agent, and is no word of a person's.
	if known && f.Decision.Allows() && (f.Decision.Source == "person" || f.Decision.Rule != "") {
		args := readArgs(c.Arguments)
		a := permission.Allowed{Tool: c.Tool, Command: args.Command, URL: args.URL}
		if args.Path != "" {
			a.Paths = []string{args.Path}
		}
		r.allowed = append(r.allowed, a)
	}
}
