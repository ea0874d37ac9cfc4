package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pawl/external"
	"pawl/internal/build"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
)

// Kept returns the conversations that people had in programs in this folder, and the errors of those that cannot be read.
// Those of runs of pawl are not among them.
func (w *Workspace) Kept(ctx context.Context) (all []external.Kept, err error) {
	for _, k := range external.Kinds {
		of, wrong := k.Keeps(w.env.Get, w.Dir)
		all, err = append(all, of...), errors.Join(err, wrong)
	}
	if len(all) == 0 {
		return nil, err
	}
	runs, wrong := w.Runs(ctx, 0)
	err = errors.Join(err, wrong)
	own := map[string]run.ID{} // the run of a conversation
	for _, r := range runs {
		if !external.Is(r.Model) {
			continue
		}
		events, _, wrong := w.Load(ctx, r.ID)
		err = errors.Join(err, wrong)
		for _, e := range events {
			if o, ok := e.Payload.(run.Observed); ok && o.Conversation != "" {
				own[o.Conversation] = r.ID
			}
		}
	}
	return slices.DeleteFunc(all, func(c external.Kept) bool { id, ok := own[c.ID]; return ok && id != runOf(c) }), err
}

// runOf returns the id of the run that a conversation becomes.
func runOf(c external.Kept) run.ID { return runlog.IDOf(c.Began, c.Kind.Name+" "+c.ID) }

// A KeptRun is the run of a conversation of a program.
type KeptRun struct {
	ID    run.ID
	Turns int // of the conversation
	New   int // of these, not in the run yet
}

// Import makes a run of a conversation that a program keeps, or appends to its run the turns that are new. The run can be
// continued in the same conversation. With look it changes nothing. After an error the run is as it was.
func (w *Workspace) Import(ctx context.Context, c external.Kept, look bool) (r KeptRun, err error) {
	turns, err := c.Turns()
	if err != nil {
		return r, err
	}
	r = KeptRun{ID: runOf(c), Turns: len(turns)}
	_, s, err := w.Load(ctx, r.ID)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, runlog.ErrNoRun):
	case err != nil:
		return r, err
	case s.Turn.Open():
		return r, nil // a turn is open here
	}
	r.New = max(0, len(turns)-s.Turn.N)
	if r.New == 0 || look {
		return r, nil
	}
	seq := s.Seq
	events, err := keptEvents(s, r.ID, w.Dir, c, turns[len(turns)-r.New:])
	if err != nil {
		return r, fmt.Errorf("%s: %w", c.File, err)
	}
	st, err := w.writing()
	if err != nil {
		return r, err
	}
	lease, err := st.Own(ctx, r.ID, "")
	if err != nil {
		return r, err
	}
	return r, errors.Join(st.Append(ctx, r.ID, seq, events), lease.Release())
}

// keptEvents returns the events of turns of a conversation that follow s, the state of its run; the zero state is that of
// no run.
func keptEvents(s run.State, id run.ID, dir string, c external.Kept, turns []external.KeptTurn) (events []run.Event, err error) {
	model := c.Kind.Name + "/" + external.DefaultModel
	add := func(at time.Time, p run.Payload) {
		e := run.Event{At: at.UTC(), Payload: p}
		if err == nil {
			s, err = s.Apply(e)
		}
		events = append(events, e)
	}
	if s.Created.Run == "" {
		add(turns[0].Began, run.Created{Run: id, Workspace: dir, External: true, Config: run.Config{Model: model}, Version: build.Version()})
	}
	for _, t := range turns {
		add(t.Began, run.Prompted{Parts: []run.Part{run.TextOf(t.Words, run.NotTyped)}})
		add(t.Began, run.RequestStarted{Purpose: run.ForAgent, Attempt: 1, Model: model})
		add(t.Began, run.Observed{Conversation: c.ID})
		for _, o := range t.Observed {
			add(t.Ended, o)
		}
		var said []run.Part
		if t.Answer != "" {
			said = []run.Part{run.Text(t.Answer)}
		}
		add(t.Ended, run.Replied{Parts: said, Stop: run.StopEndTurn})
		add(t.Ended, run.Ended{End: run.Completed})
	}
	return events, err
}
