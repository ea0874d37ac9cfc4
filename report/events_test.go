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

// counted says of each type of event which of the places that count events take it into account: the
// summary of a turn, the summary of a run in lists, the statistics.
var counted = map[string]string{
	"run_created":          "turn list",
	"run_configured":       "turn list",
	"prompted":             "turn list stats",
	"said":                 "",
	"withdrawn":            "",
	"request_started":      "turn list stats",
	"request_failed":       "turn list stats",
	"replied":              "turn list stats",
	"observed":             "turn list stats",
	"resumed":              "",
	"call_received":        "",
	"call_inspected":       "stats",
	"call_decided":         "stats",
	"approval_invalidated": "",
	"call_started":         "",
	"call_detached":        "",
	"call_asked":           "",
	"call_answered":        "",
	"call_settled":         "turn list stats",
	"told":                 "turn stats",
	"submitted":            "",
	"interrupted":          "turn list stats",
	"compacted":            "",
	"synthesized":          "",
	"turn_ended":           "turn list stats",
	"hook_started":         "",
	"hook_settled":         "turn list stats",
}

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
			t.Errorf("%s: EventWords says %q: it needs a case in sentence (report/eventwords.go)", name, words)
		}
		for _, item := range new(view.Projection).Update(view.Update{Event: &e}) {
			if item.Text == name {
				t.Errorf("%s: view does not show it: it needs a case in dispatch (view/projection.go), which may leave it out", name)
			}
		}
		v := reflect.New(reflect.TypeOf(e.Payload)).Elem()
		fill(v)
		got := counters(v.Interface().(run.Payload))
		switch want, known := counted[m[1]]; {
		case !known:
			t.Errorf("%s: the table counted in report/events_test.go has no line for it. If it is counted where it should be, add\n\t%q: %q,", name, m[1], got)
		case got != want:
			t.Errorf("%s: it is counted in %q, and the table counted in report/events_test.go says %q", name, got, want)
		}
		v.SetZero()
		if usage := v.FieldByName("Usage"); usage.IsValid() {
			usage.Set(reflect.ValueOf(run.Usage{Output: 1}))
			if run.Spent(v.Interface().(run.Payload)).Output != 1 {
				t.Errorf("%s: its usage is not counted", name)
			}
		}
	}
}

// counters names the places that take an event into account.
func counters(p run.Payload) string {
	var names []string
	e := run.Event{Seq: 1, At: time.Unix(1, 0), Payload: p}
	var turn run.TurnSummary
	if turn.Add(p); !reflect.DeepEqual(turn, run.TurnSummary{}) {
		names = append(names, "turn")
	}
	var list store.Summary
	if list.Add(e); !reflect.DeepEqual(list, store.Summary{Seq: e.Seq, Updated: e.At}) {
		names = append(names, "list")
	}
	stats := func(events ...run.Event) Stats {
		r := newTally(time.Time{}).begin()
		for _, e := range events {
			r.event(e)
		}
		r.counted = true
		r.end("open")
		return r.stats()
	}
	if !reflect.DeepEqual(stats(e), stats()) {
		names = append(names, "stats")
	}
	return strings.Join(names, " ")
}

// fill sets every field of a payload, but for what a copy of an event, a cached answer or a repeated step says.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
		switch v.Type() {
		case reflect.TypeFor[run.Purpose]():
			v.SetString(string(run.ForStep))
		case reflect.TypeFor[run.TellReason]():
			v.SetString(string(run.TellOutput))
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(v.Field(i))
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
