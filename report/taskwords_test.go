package report

import (
	"reflect"
	"testing"

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
