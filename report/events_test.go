package report

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"pawl/run"
	"pawl/store"
	"pawl/view"
)

// TestEveryEventIsHandledWhereverEventsAreRead decodes an event of each documented type, so that a
// new one is not forgotten in one of the places that read logs.
func TestEveryEventIsHandledWhereverEventsAreRead(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	types := regexp.MustCompile("(?m)^### `([a-z_]+)`$").FindAllStringSubmatch(string(page), -1)
	if len(types) < 20 {
		t.Fatalf("docs/events.md names %d types of events", len(types))
	}
	for _, m := range types {
		e, err := store.Decode(1, time.Now(), m[1], 1, []byte("{}"))
		if err != nil {
			t.Errorf("docs/events.md: %v", err)
			continue
		}
		name := reflect.TypeOf(e.Payload).String()
		if words := new(EventWords).Of(e); words == m[1] || words == "" && m[1] != "turn_ended" {
			t.Errorf("%s: EventWords says %q", name, words)
		}
		for _, item := range new(view.Projection).Update(view.Update{Event: &e}) {
			if item.Text == name {
				t.Errorf("%s: view does not show it", name)
			}
		}
		v := reflect.New(reflect.TypeOf(e.Payload)).Elem()
		if usage := v.FieldByName("Usage"); usage.IsValid() {
			usage.Set(reflect.ValueOf(run.Usage{Output: 1}))
			if run.Spent(v.Interface().(run.Payload)).Output != 1 {
				t.Errorf("%s: its usage is not counted", name)
			}
		}
	}
}

// What an event is about is said in words, not by an id, when an event before it has had the words.
func TestAnEventSaysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	call := run.Call{ID: "c_1", Tool: "shell", Arguments: `{"command":"ls"}`}
	for _, c := range []struct {
		before, last run.Payload
		want         string
	}{
		{run.Said{ID: "m-1", Parts: []run.Part{run.Text("Be quick.")}}, run.Withdrawn{ID: "m-1"}, "message taken back: Be quick."},
		{run.Replied{Parts: []run.Part{{Type: run.CallPart, Call: &call}}}, run.CallStarted{Call: "c_1"}, "c_1 shell ls: started"},
		{run.Observed{Parts: []run.Part{{Type: run.CallPart, Call: &call}}}, run.CallStarted{Call: "c_1"}, "c_1 shell ls: started"},
		{run.Interrupted{Partial: []run.Part{{Type: run.CallPart, Call: &call}}}, run.CallSettled{Call: "c_1", Outcome: run.NotRun}, "c_1 shell ls: "},
		{run.CallReceived{Call: call}, run.Prompted{Answers: "c_1", Parts: []run.Part{run.Text("yes")}}, "answer to c_1 shell ls: yes"},
	} {
		why := Why{Last: run.Event{Payload: c.last}}
		why.words.Remember(c.before)
		if got := WhyFormOf(why).Last.Text; !strings.HasPrefix(got, c.want) {
			t.Errorf("%T after %T: %q, want %q", c.last, c.before, got, c.want)
		}
	}
}
