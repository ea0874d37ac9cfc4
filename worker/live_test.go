package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
	"pawl/run"
	"pawl/store"
	"pawl/tool"
	"pawl/view"
)

// What is remembered of an answer is few deltas, and all of it.
func TestDeltasOfOneKindAreJoined(t *testing.T) {
	t.Parallel()
	var l live
	for _, d := range []view.Delta{
		{Thinking: "H"}, {Thinking: "m."}, {Text: "I "}, {Text: "look."}, {Thinking: "Now"}, {Tool: "read"}, {Arguments: `{"a"`}, {Arguments: `:1}`},
		{Tool: "edit", Arguments: "{"}, {Arguments: "}"}, {Text: "Done."}, {Arguments: "?"},
	} {
		l.add(view.Update{Delta: &d})
	}
	want := []view.Delta{
		{Thinking: "Hm."}, {Text: "I look."}, {Thinking: "Now"}, {Tool: "read", Arguments: `{"a":1}`}, {Tool: "edit", Arguments: "{}"}, {Text: "Done."}, {Arguments: "?"},
	}
	if diff := cmp.Diff(want, l.answer); diff != "" {
		t.Errorf("the answer is (-want +got)\n%s", diff)
	}
	// A long one is remembered in pieces, whatever it is of.
	for name, d := range map[string]view.Delta{"text": {Text: "x"}, "thinking": {Thinking: "x"}, "arguments": {Arguments: "x"}} {
		l.answer = nil
		if name == "arguments" {
			l.add(view.Update{Delta: &view.Delta{Arguments: "x", Tool: "read"}})
		}
		for range 4<<10 + 10 - len(l.answer) {
			l.add(view.Update{Delta: &d})
		}
		length := func(d view.Delta) int { return len(d.Text) + len(d.Thinking) + len(d.Arguments) }
		if len(l.answer) < 2 || length(l.answer[0]) != 4<<10 || length(l.answer[1]) == 0 {
			t.Errorf("long %s are %d deltas, the first of %d bytes", name, len(l.answer), length(l.answer[0]))
		}
	}
}

func TestWhatIsLiveIsShownToWhoComesLater(t *testing.T) {
	t.Parallel()
	var l live
	add := func(u view.Update) { l.add(u) }
	event := func(p run.Payload) view.Update { return view.Update{Event: &run.Event{Seq: l.seq + 1, Payload: p}} }
	says := func() string {
		var all []string
		for _, u := range l.updates() {
			switch {
			case u.Delta != nil:
				all = append(all, "says "+u.Delta.Text)
			case u.Progress != nil:
				all = append(all, fmt.Sprintf("%s printed %s", u.Progress.Call, u.Progress.Text))
			case u.Waiting != nil:
				all = append(all, fmt.Sprint("waits ", u.Waiting))
			case u.Stopping != nil:
				all = append(all, "stops")
			}
		}
		return strings.Join(all, ", ")
	}
	wants := func(want string) {
		t.Helper()
		if got := says(); got != want {
			t.Errorf("live is %q, want %q", got, want)
		}
	}
	wants("")
	add(view.Update{Delta: &view.Delta{Text: "a"}})
	add(view.Update{Drop: true})
	wants("")
	add(view.Update{Delta: &view.Delta{Text: "b"}})
	add(view.Update{Notice: "by the way"})
	add(view.Update{Progress: &view.Progress{Call: "c_1", Text: "1"}})
	add(view.Update{Progress: &view.Progress{Call: "c_2", Text: "2"}})
	add(view.Update{Progress: &view.Progress{Call: "c_1", Text: "3"}})
	add(view.Update{Waiting: []run.CallID{"c_3"}})
	wants("says b, c_1 printed 3, c_2 printed 2, waits [c_3]")
	add(event(run.Replied{}))
	wants("c_1 printed 3, c_2 printed 2, waits [c_3]")
	add(event(run.CallSettled{Call: "c_1"}))
	wants("c_2 printed 2, waits [c_3]")
	add(view.Update{Waiting: []run.CallID{}})
	add(view.Update{Delta: &view.Delta{Text: "c"}})
	add(event(run.RequestFailed{}))
	add(view.Update{Stopping: &run.Interrupted{}})
	wants("c_2 printed 2, stops")
	add(event(run.Interrupted{}))
	wants("c_2 printed 2")
	add(view.Update{Delta: &view.Delta{Text: "d"}})
	add(view.Update{Stopping: &run.Interrupted{}})
	add(event(run.Ended{}))
	wants("")
	if l.seq != 5 || l.n != 12 {
		t.Errorf("%d events and %d live updates were shown", l.seq, l.n)
	}
}

// A slow follower misses what is live, and no event.
func TestASlowFollowerGetsEveryEvent(t *testing.T) {
	t.Parallel()
	var f feed
	q := f.subscribe()
	for n := range maxDeltas + 5 {
		f.show(view.Update{Event: &run.Event{Seq: int64(n + 1)}})
		f.show(view.Update{Delta: &view.Delta{Text: "x"}})
	}
	f.show(view.Update{Progress: &view.Progress{Call: "c_1"}})
	f.show(view.Update{Notice: "n"})
	items, ended := q.take()
	events, deltas, rest := 0, 0, 0
	for _, u := range items {
		switch {
		case u.Event != nil:
			events++
		case u.Delta != nil:
			deltas++
		default:
			rest++
		}
	}
	if events != maxDeltas+5 || deltas != maxDeltas || rest != 1 || ended {
		t.Errorf("%d events, %d deltas and %d others, ended: %t", events, deltas, rest, ended)
	}
	f.show(view.Update{Delta: &view.Delta{Text: "y"}})
	if items, _ := q.take(); len(items) != 1 {
		t.Errorf("when it was read there is room for %d", len(items))
	}
	f.unsubscribe(q)
	f.show(view.Update{Delta: &view.Delta{Text: "z"}})
	if items, _ := q.take(); len(items) != 0 {
		t.Errorf("after it left it gets %+v", items)
	}
	last := f.subscribe()
	f.close()
	if _, ended := last.take(); !ended {
		t.Error("a follower is not told of the end")
	}
	if items, ended := f.subscribe().take(); !ended || len(items) != 0 {
		t.Errorf("who follows after the end gets %+v", items)
	}
}

func TestFollowersStopWhenTheyWantOrMust(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text":"Yes."}`)
	d := r.create()
	r.run(d, prompt("Go."))
	all := len(logged[run.Payload](t, r))
	for _, most := range []int{1, 3} {
		n := 0
		for u, err := range Follow(t.Context(), r.mem.Other(), "r", 0) {
			if err != nil || u.Event == nil || u.Event.Seq != int64(n+1) {
				t.Fatalf("%+v, %v", u, err)
			}
			if n++; n == most {
				break
			}
		}
		if n != most {
			t.Errorf("%d of %d events", n, most)
		}
	}
	n := 0
	for u, err := range Follow(t.Context(), r.mem.Other(), "r", 2) {
		if n++; err != nil || u.Event.Seq != int64(n+2) {
			t.Fatalf("%+v, %v", u, err)
		}
	}
	if n != all-2 {
		t.Errorf("after the second there are %d of %d events", n, all)
	}
	for u, err := range Follow(t.Context(), r.mem.Other(), "other", 0) {
		t.Errorf("of a run that is not there: %+v, %v", u, err)
	}
}

func TestWhatTheModelIsToldOfACallThatMayNotRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title, reason, want string
	}{
		{"run make", "a rule denies it", "Not allowed: run make was not run: a rule denies it."},
		{"", "a rule denies it.", "Not allowed: This was not run: a rule denies it."},
	} {
		if got := refusal(tool.Intent{Title: c.title}, permission.Decision{Verdict: permission.Deny, Reason: c.reason}); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestARunThatIsNotThereOrCannotBeMadeHasNoOwner(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	for what, err := range map[string]error{
		"opened": func() error { _, err := r.w.Open(t.Context(), "gone", nil); return err }(),
		"made wrong": func() error {
			_, err := r.w.Create(t.Context(), run.Created{Run: "r", Workspace: "/w", Config: run.Config{Parallel: -1}}, nil)
			return err
		}(),
		"made no run": func() error { _, err := r.w.Create(t.Context(), run.Created{Workspace: "/w"}, nil); return err }(),
	} {
		if err == nil {
			t.Errorf("%s: there is no error", what)
		}
	}
	for _, id := range []run.ID{"gone", "r"} {
		if _, owned, err := r.mem.Owner(t.Context(), id); owned || err != nil {
			t.Errorf("%s is owned: %v", id, err)
		}
	}
	if _, err := r.w.Open(t.Context(), "gone", nil); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a run that is not there: %v", err)
	}
}

// What an owner shows comes to a follower in its order and once, with the events before it.
func TestAFollowerSeesWhatAnOwnerShowsInItsOrder(t *testing.T) {
	t.Parallel()
	r, d := afterATurn(t)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	var seen []string
	f := &follower{store: r.mem, id: "r", last: 1, yield: func(u view.Update, err error) bool {
		switch {
		case err != nil:
			t.Error(err)
		case u.Event != nil:
			seen = append(seen, fmt.Sprint("event ", u.Event.Seq))
		case u.Delta != nil:
			seen = append(seen, u.Delta.Text)
		case u.Progress != nil:
			seen = append(seen, u.Progress.Text)
		default:
			seen = append(seen, fmt.Sprintf("%s%s%v%t%v", u.Notice, u.Below, u.Waiting, u.Drop, u.Stopping != nil))
		}
		return len(seen) < 100
	}}
	for _, c := range []struct {
		of   string
		line line
		want string
	}{
		{"an event", line{Seq: 2}, "event 2"},
		{"the same again", line{Seq: 2}, ""},
		{"an answer after an event", line{Seq: 3, N: 1, Delta: &view.Delta{Text: "I "}}, "event 3, I "},
		{"what the greeting has too", line{Seq: 3, N: 1, Delta: &view.Delta{Text: "I "}}, ""},
		{"a greeting, which has many of one number", line{Seq: 3, N: 1, Greeting: true, Progress: &view.Progress{Text: "half"}}, "half"},
		{"what comes next", line{Seq: 3, N: 2, Progress: &view.Progress{Text: "all"}}, "all"},
		{"an answer that has ended", line{Seq: 2, N: 3, Delta: &view.Delta{Text: "late"}}, ""},
		{"a notice, which has no number", line{Seq: 3, Notice: "slow"}, "slow[]falsefalse"},
		{"a run below", line{Seq: 3, Below: "b"}, "b[]falsefalse"},
		{"what waits", line{Seq: 3, N: 4, Waiting: []run.CallID{}}, "[]falsefalse"},
		{"an answer that is dropped", line{Seq: 3, N: 5, Drop: true}, "[]truefalse"},
		{"a stop", line{Seq: 3, N: 6, Stopping: &run.Interrupted{}}, "[]falsetrue"},
	} {
		seen = nil
		if !f.line(t.Context(), c.line) {
			t.Errorf("%s ends it", c.of)
		}
		if got := strings.Join(seen, ", "); got != c.want {
			t.Errorf("of %s it sees %q, want %q", c.of, got, c.want)
		}
	}
	f.yield = func(view.Update, error) bool { return false }
	for _, l := range []line{{Seq: 4}, {Seq: 3, Notice: "enough"}} {
		if f.line(t.Context(), l) {
			t.Errorf("it goes on after %+v, although nobody wants more", l)
		}
	}
}

// What the greeting has too is counted in the lines of other processes, and nothing else.
func TestOnlyWhatIsRememberedIsCounted(t *testing.T) {
	t.Parallel()
	var l live
	for _, c := range []struct {
		update view.Update
		n, seq int64
	}{
		{view.Update{Delta: &view.Delta{Text: "a"}}, 1, 0},
		{view.Update{Event: &run.Event{Seq: 7, Payload: run.Replied{}}}, 0, 7},
		{view.Update{Progress: &view.Progress{Call: "c_1"}}, 2, 7},
		{view.Update{Notice: "slow"}, 0, 7},
		{view.Update{Below: "b"}, 0, 7},
		{view.Update{Waiting: []run.CallID{"c_1"}}, 3, 7},
		{view.Update{Drop: true}, 4, 7},
		{view.Update{Stopping: &run.Interrupted{}}, 5, 7},
	} {
		l.add(c.update)
		for _, greeting := range []bool{false, true} {
			var got line
			if err := json.Unmarshal(l.line(c.update, greeting), &got); err != nil {
				t.Fatal(err)
			}
			if got.N != c.n || got.Seq != c.seq || got.Greeting != greeting {
				t.Errorf("%+v is line %+v, want number %d after event %d", c.update, got, c.n, c.seq)
			}
		}
	}
}
