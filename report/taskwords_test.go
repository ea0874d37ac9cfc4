package report

import (
	"reflect"
	"testing"
	"time"

	"pawl/task"
)

// What watches a task, and its history, have a sentence for each type of event.
func TestEveryEventOfATaskHasWords(t *testing.T) {
	t.Parallel()
	for name, p := range task.EventTypes() {
		v := reflect.New(reflect.TypeOf(p)).Elem()
		fill(v)
		if words := TaskWords(task.Event{Payload: v.Interface().(task.Payload)}); words == "" {
			t.Errorf("%s has no words", name)
		}
	}
}

func TestTheHistorySaysWhoWorkedAndWhatWasCutOff(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]task.Payload{
		"run r was told assignment 2, with codex/default":                  task.AgentPrompted{Number: 2, Model: "codex/default"},
		"run r was told assignment 2":                                      task.AgentPrompted{Number: 2}, // by an older pawl
		"run r was started by a call of run p, with opencode/m":            task.AgentHandoffStarted{Parent: "p", Model: "opencode/m"},
		"goes on: its process ended without a word after 12:00:05 (run r)": task.Interrupted{Cause: task.Lost, Since: time.Date(2026, 11, 29, 12, 0, 5, 0, time.Local)},
	} {
		if got := TaskWords(task.Event{Run: "r", Payload: p}); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

func TestTheHistorySaysWhatWasEdited(t *testing.T) {
	t.Parallel()
	words, priority, labels, after := "Fix the totals", 3, []string{}, []task.ID{"t-1", "t-2"}
	isolation, start := task.Clone, true
	e := task.Edited{Description: &words, Plan: &task.Plan{}, Labels: &labels, Priority: &priority, DependsOn: &after,
		Budget: &task.Budget{Cost: 1.5, Tokens: 2000}, Isolation: &isolation, Start: &start}
	want := "edited by ann: now Fix the totals; the plan; labels none; priority 3; depends on t-1, t-2; budget $1.50, 2,000 tokens; isolation clone; it starts by itself"
	if got := TaskWords(task.Event{By: "ann", Payload: e}); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// A message that is passed to an agent whose turn ends before it reads it was never delivered.
func TestTheHistorySaysOneTruthOfAMessage(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]task.Payload{
		"the message was passed to the agent":                                              task.MessageDelivered{ID: "m"},
		"the agent reads the message when its turn has ended":                              task.MessageDelivered{ID: "m", AtTurnEnd: true},
		"the agent did not read the message, because its turn ended first: send it again":  task.MessageReturned{ID: "m"},
		"the turn ended before the agent read the message: it is told with the next words": task.MessageReturned{ID: "m", Waits: true},
	} {
		if got := TaskWords(task.Event{Payload: p}); got != want {
			t.Errorf("%T: %q", p, got)
		}
	}
}
