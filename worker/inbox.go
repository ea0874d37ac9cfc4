package worker

import (
	"context"
	"encoding/json"
	"slices"

	"pawl/permission"
	"pawl/run"
	"pawl/store"
)

// A Change is the payload of an inbox row of kind configure; what is empty stays.
type Change struct {
	Mode  string `json:"mode,omitempty"`
	Model string `json:"model,omitempty"`
	// Window is how many tokens fit Model's context; 0: nobody knows.
	Window int64 `json:"window,omitempty"`
}

// inbox reads what others want of the run, as events, with the rows to be taken
// along with them. A row that cannot be read or makes no sense now is taken and
// refused: it must not come back for ever. only, if there is any, says which kinds are
// read; the others stay.
func (d *Driver) inbox(only ...store.Kind) ([]run.Event, []int64) {
	if d.created != nil {
		return nil, nil // the run is not on disk yet: nobody can know it
	}
	rows, err := d.w.Store.Inbox(context.Background(), d.id)
	if err != nil {
		d.w.debug("inbox", "run", d.id, "error", err)
		return nil, nil
	}
	var events []run.Event
	var took []int64
	open := d.state.Turn.Open
	given := map[run.CallID]bool{} // the first answer wins, also among those that come together
	for _, row := range rows {
		if len(only) > 0 && !slices.Contains(only, row.Kind) {
			continue
		}
		words := row.Kind == store.Prompt || row.Kind == store.Steer || row.Kind == store.Queue
		if words && !d.state.Turn.Open && open {
			break // the words before them open the turn: what they mean is told once it is open
		}
		took = append(took, row.ID)
		for _, f := range d.wants(row, given) {
			if f, ok := f.(run.Interrupted); ok {
				if open { // at rest there is nothing to stop
					d.Interrupt(f)
				}
				continue
			}
			events = append(events, run.Event{At: d.w.now(), Fact: f})
			open = open || words
		}
	}
	return events, took
}

// wants returns the facts that an inbox row asks for.
func (d *Driver) wants(row store.Row, given map[run.CallID]bool) []run.Fact {
	words := []run.Part{run.Text(row.Payload)}
	switch row.Kind {
	case store.Prompt, store.Steer, store.Queue:
		switch {
		case !d.state.Turn.Open:
			return []run.Fact{Words(d.state, row.Payload)}
		case row.Kind == store.Steer:
			return []run.Fact{run.Steered{ID: row.Key, Parts: words}}
		}
		return []run.Fact{run.Queued{ID: row.Key, Parts: words}}
	case store.Interrupt:
		return []run.Fact{run.Interrupted{Cause: run.ByPerson, By: row.Payload}}
	case store.Withdraw:
		return []run.Fact{run.Withdrawn{ID: row.Payload}}
	case store.Decide:
		var a Decision
		if json.Unmarshal([]byte(row.Payload), &a) == nil && !given[a.Call] {
			facts := d.personDecided(a)
			given[a.Call] = facts != nil
			return facts
		}
	case store.Configure:
		var c Change
		if json.Unmarshal([]byte(row.Payload), &c) == nil && (c.Mode == "" || permission.CheckMode(permission.Mode(c.Mode), permission.ForUser) == nil) {
			return []run.Fact{run.Configured{Config: c.apply(d.state.Config)}}
		}
	}
	return nil
}

func (c Change) apply(to run.Config) run.Config {
	if c.Mode != "" {
		to.Mode = c.Mode
	}
	if c.Model != "" {
		to.Model, to.Window = c.Model, c.Window
	}
	return to
}

// Words returns the fact that something said to a run at rest becomes: the answer
// to its open question, or a new prompt.
func Words(s run.State, text string) run.Fact {
	if q := s.Questions(); len(q) > 0 && !s.Turn.Open {
		return run.QuestionAnswered{Call: q[0].ID, Text: text}
	}
	return run.Prompted{Parts: []run.Part{run.Text(text)}}
}
