package app

import (
	"context"
	"fmt"
	"time"

	"pawl/run"
	"pawl/store"
	"pawl/task"
	"pawl/view"
)

// A Why says where a run stands and what it waits for.
type Why struct {
	Run   run.ID
	State run.State
	Last  run.Event
	Owed  []string     // what the run owes now, a phrase each; questions to the person too
	Owner *store.Owner // the process that drives it; nil: none
	Task  *task.State  // that continues it; nil: it belongs to none

	under []run.State // the runs below it
	waits bool        // it can only continue when a person has decided or answered something
	words EventWords  // of the events before the last one
}

// Why says where a run stands: its last event, what it owes, who drives it.
func (w *Workspace) Why(ctx context.Context, id run.ID) (Why, error) {
	events, s, err := w.Load(ctx, id)
	if err != nil {
		return Why{}, err
	}
	y := Why{Run: id, State: s, Last: events[len(events)-1], Owed: []string{}}
	for _, e := range events {
		y.words.Remember(e.Payload)
	}
	for _, c := range s.Next() {
		y.Owed = append(y.Owed, owedWords(c))
	}
	for _, q := range s.Questions() {
		y.Owed = append(y.Owed, "an answer: "+QuestionOf(q.Call).Text)
	}
	below, err := w.below(s)
	if err != nil {
		return y, err
	}
	for _, of := range below {
		for _, c := range Undecided(of) {
			y.Owed = append(y.Owed, fmt.Sprintf("a decision, for the sub-agent %s: may this run? %s", agentOf(of), view.Title(c.Call.Tool, c.Call.Arguments)))
		}
		if !of.Turn.Open() {
			for _, q := range of.Questions() {
				y.Owed = append(y.Owed, fmt.Sprintf("an answer, for the sub-agent %s: %s", agentOf(of), QuestionOf(q.Call).Text))
			}
		}
	}
	y.under, y.waits = below, waitsAmong(s, below)
	owner, owned, err := w.Owner(ctx, id)
	if owned {
		y.Owner = &owner
	}
	if err != nil {
		return y, err
	}
	y.Task, err = w.taskOf(ctx, id)
	return y, err
}

// owedWords describes a command.
func owedWords(c run.Command) string {
	switch c := c.(type) {
	case run.Derive:
		if end, ok := c.Payload.(run.Ended); ok {
			return "the end of the turn: " + string(end.End)
		}
		return "an event that follows from the log: " + store.Type(c.Payload)
	case run.Inspect:
		return "an inspection of the call " + view.Title(c.Call.Tool, c.Call.Arguments)
	case run.Decide:
		return "a decision: may this run? " + view.Title(c.Call.Tool, c.Call.Arguments)
	case run.Perform:
		if c.Call.Status == run.CallRunning {
			return "the end of a call that has started: " + view.Title(c.Call.Tool, c.Call.Arguments)
		}
		return "the call " + view.Title(c.Call.Tool, c.Call.Arguments)
	case run.Request:
		text := fmt.Sprintf("a model request (%s, attempt %d)", c.Purpose, c.Attempt)
		if c.Wait > 0 {
			text += fmt.Sprintf(", %s after the last one failed", c.Wait.Round(100*time.Millisecond))
		}
		return text
	case run.ExternalTurn:
		return fmt.Sprintf("a turn of the external agent (attempt %d)", c.Attempt)
	}
	return c.Key()
}
