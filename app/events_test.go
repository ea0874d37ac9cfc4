package app

import (
	"os"
	"reflect"
	"regexp"
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
