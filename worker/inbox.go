package worker

import (
	"context"
	"encoding/json"

	"pawl/run"
	"pawl/store"
)

// Decision is the payload of an inbox row of kind decide.
type Decision struct {
	Call   run.CallID `json:"call"`
	Answer run.Answer `json:"answer"`
	Text   string     `json:"text,omitempty"`
	By     string     `json:"by,omitempty"`
}

// inbox reads what others want of the run, as events, with the rows to be taken
// along with them. A row that cannot be read or makes no sense now is taken and
// refused: it must not come back for ever.
func (d *Driver) inbox() ([]run.Event, []int64) {
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
	for _, row := range rows {
		words := row.Kind == store.Prompt || row.Kind == store.Steer || row.Kind == store.Queue
		if words && !d.state.Turn.Open && open {
			break // the words before them open the turn: what they mean is told once it is open
		}
		took = append(took, row.ID)
		switch f := d.wants(row).(type) {
		case nil:
		case run.Interrupted:
			if open { // at rest there is nothing to stop
				d.Interrupt(f)
			}
		default:
			events = append(events, run.Event{At: d.w.now(), Fact: f})
			open = open || words
		}
	}
	return events, took
}

// wants returns the fact that an inbox row asks for; nil if there is none.
func (d *Driver) wants(row store.Row) run.Fact {
	words := []run.Part{run.Text(row.Payload)}
	switch row.Kind {
	case store.Prompt:
		if !d.state.Turn.Open {
			return Words(d.state, row.Payload)
		}
		return run.Queued{ID: row.Key, Parts: words}
	case store.Steer:
		if !d.state.Turn.Open {
			return Words(d.state, row.Payload)
		}
		return run.Steered{ID: row.Key, Parts: words}
	case store.Queue:
		if !d.state.Turn.Open {
			return Words(d.state, row.Payload)
		}
		return run.Queued{ID: row.Key, Parts: words}
	case store.Interrupt:
		return run.Interrupted{Cause: run.ByPerson, By: row.Payload}
	case store.Withdraw:
		return run.Withdrawn{ID: row.Payload}
	case store.Decide:
		var a Decision
		if json.Unmarshal([]byte(row.Payload), &a) == nil {
			return d.decided(a)
		}
	}
	return nil
}

// decided returns the fact of a person's decision; nil for a call that waits for
// none: the first answer wins.
func (d *Driver) decided(a Decision) run.Fact {
	if !waits(d.state, a.Call) {
		return nil
	}
	decision := run.Decision{Answer: a.Answer, Source: "person", By: a.By}
	switch a.Answer {
	case run.Allow, run.Always:
		return run.CallAllowed{Call: a.Call, Decision: decision}
	case run.Never, run.Deny:
		text := "The user does not allow this, now or later. Do it another way, or finish and say what you would need."
		if a.Text != "" {
			text += " They say: " + a.Text
		}
		return run.CallRefused{Call: a.Call, Decision: decision, Content: text}
	case run.Wait:
		return run.Interrupted{Cause: run.ByWait, Call: a.Call, By: a.By}
	}
	return nil
}

// Words returns the fact that something said to a run at rest becomes: the answer
// to its open question, or a new prompt.
func Words(s run.State, text string) run.Fact {
	if q := s.Questions(); len(q) > 0 && !s.Turn.Open {
		return run.QuestionAnswered{Call: q[0].ID, Text: text}
	}
	return run.Prompted{Parts: []run.Part{run.Text(text)}}
}
