package output

import (
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/run"
)

// events are logs in memory: the events of runs, and the runs of conversations.
type events struct {
	of   map[run.ID][]run.Event
	runs map[run.ID][]run.ID
	bad  map[run.ID]bool // cannot be read to their end
}

func (l events) Events(id run.ID) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		for _, e := range l.of[id] {
			if !yield(e, nil) {
				return
			}
		}
		if l.bad[id] {
			yield(run.Event{}, errors.New("damaged"))
		}
	}
}

func (l events) RunsOf(conversation run.ID) ([]run.ID, error) { return l.runs[conversation], nil }

// called returns the events of a run with one call and its result.
func called(created run.Created, text string, delivery Delivery) []run.Event {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var all []run.Event
	for i, p := range []run.Payload{
		created,
		run.Prompted{Parts: []run.Part{run.Text("go")}},
		run.RequestStarted{Purpose: run.ForStep, Attempt: 1},
		run.Replied{Stop: run.StopToolUse, Parts: []run.Part{{Type: run.CallPart, Call: &run.Call{ID: "c_1", Tool: "shell", Arguments: `{}`}}}},
		run.CallInspected{Call: "c_1", Class: run.Reads},
		run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Allow}},
		run.CallStarted{Call: "c_1", Attempt: 1},
		run.CallSettled{Call: "c_1", Outcome: run.OK, Content: []run.Part{run.Text(text)}, Delivery: string(delivery)},
	} {
		all = append(all, run.Event{Seq: int64(i + 1), At: at.Add(time.Duration(i) * time.Second), Payload: p})
	}
	return all
}

func TestAResultInTheLogIsAnOutput(t *testing.T) {
	t.Parallel()
	child := called(run.Created{Run: "child", Parent: "root", Root: "root"}, "no JSON", Inlined)
	s := NewStore(t.TempDir()).With(events{
		of: map[run.ID][]run.Event{
			"root":   called(run.Created{Run: "root"}, `{"users":[1,2,3]}`, Inlined),
			"child":  child,
			"stored": called(run.Created{Run: "stored"}, "an envelope", Stored),
			"other":  called(run.Created{Run: "other"}, "another conversation", Inlined),
		},
		runs: map[run.ID][]run.ID{"root": {"root", "child", "stored"}},
		bad:  map[run.ID]bool{"child": true},
	})
	scope := Scope{Conversation: "root", Run: "root"}
	o, err := s.Find(scope, "c_1")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(o.Reader())
	if err != nil || string(text) != `{"users":[1,2,3]}` || o.Describe() != "json: object with 1 key, 17 B" {
		t.Errorf("%q, %v: %s", text, err, o.Describe())
	}
	if o.Tool != "shell" || o.Message != "m_2" || o.Run != "root" || !o.Success || !o.Inline || o.Created.Second() != 7 {
		t.Errorf("%+v", o.Meta)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	if o, err := s.Find(scope, "child/c_1"); err != nil || o.Meta.Format != Text {
		t.Errorf("of a child: %+v, %v", o, err)
	}
	list, err := s.List(scope, ListArgs{SortBy: "size"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, l := range list.Outputs {
		ids = append(ids, l.ID)
	}
	if !slices.Equal(ids, []string{"child/c_1", "c_1"}) {
		t.Errorf("listed %q", ids)
	}
	if _, err := s.Find(Scope{Conversation: "gone", Run: "gone"}, "c_1"); err == nil || !strings.Contains(err.Error(), "there is no stored output") {
		t.Error(err)
	}
}

// The text of a result is looked at only where it is shown: a run may have thousands.
func TestAListDescribesOnlyItsPage(t *testing.T) {
	t.Parallel()
	one := func(id run.ID) []run.Event { return called(run.Created{Run: id}, `{"users":[1,2,3]}`, Inlined) }
	s := NewStore(t.TempDir()).With(events{of: map[run.ID][]run.Event{"a": one("a"), "b": one("b")}, runs: map[run.ID][]run.ID{"a": {"a", "b"}}})
	scope := Scope{Conversation: "a", Run: "a"}
	all, err := s.in(scope)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, m := range all {
		if m.Bytes() != 17 || m.Summary != nil {
			t.Errorf("described before it is chosen: %+v", m)
		}
	}
	list, err := s.List(scope, ListArgs{Limit: 1})
	if err != nil || list.Total != 2 || len(list.Outputs) != 1 || list.Outputs[0].Summary != "json: object with 1 key, 17 B" {
		t.Errorf("%+v, %v", list, err)
	}
}

// An earlier release wrote a file beside the log: it is listed and found once.
func TestAResultThatIsAFileTooIsOneOutput(t *testing.T) {
	t.Parallel()
	s := NewStore(t.TempDir()).With(events{of: map[run.ID][]run.Event{"r": called(run.Created{Run: "r"}, "in the log", Inlined)}, runs: map[run.ID][]run.ID{"r": {"r"}}})
	w, err := s.Create(Key{"r", "r", "c_1"}, "shell", "m_2")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte("in a file")) // Commit returns the error
	o, err := w.Commit(true)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	scope := Scope{Conversation: "r", Run: "r"}
	if list, err := s.List(scope, ListArgs{}); err != nil || list.Total != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	found, err := s.Find(scope, "c_1")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	if text, err := io.ReadAll(found.Reader()); err != nil || string(text) != "in a file" {
		t.Errorf("%q, %v", text, err)
	}
}

// A fork has copied the events of the other run; their results stay that run's.
func TestAForkAsksForTheResultsOfTheOtherRun(t *testing.T) {
	t.Parallel()
	past := called(run.Created{Run: "a"}, "the past", Inlined)
	copied := called(run.Created{Run: "b", ForkedFrom: "a", ForkedAt: int64(len(past))}, "the past", Inlined)
	s := NewStore(t.TempDir()).With(events{of: map[run.ID][]run.Event{"a": past, "b": copied}, runs: map[run.ID][]run.ID{"a": {"a"}, "b": {"b"}}})
	scope := Scope{Conversation: "b", Run: "b", Also: []Past{{Conversation: "a", Run: "a"}}}
	list, err := s.List(scope, ListArgs{})
	if err != nil || list.Total != 1 || list.Outputs[0].ID != "c_1" || list.Outputs[0].Conversation != "a" {
		t.Errorf("%+v, %v", list, err)
	}
	if o, err := s.Find(scope, "c_1"); err != nil || o.Run != "a" {
		t.Errorf("%+v, %v", o, err)
	}
}
