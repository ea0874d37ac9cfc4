package request

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
	"pawl/run"
)

// all is one request of each kind, with everything that it can say, and its row.
var all = map[string]Request{
	`{"id":"m1","delivery":"steer","parts":[{"type":"text","text":"use tabs"}]}`: Say{ID: "m1", Delivery: run.Steer, Parts: words("use tabs")},
	`{"turn":3}`: Continue{Turn: 3},
	`{"call":"c_1","parts":[{"type":"text","text":"blue"}]}`: Answer{Call: "c_1", Parts: words("blue")},
	`{"id":"m2"}`: Withdraw{ID: "m2"},
	`{"change":{"mode":"plan","limits":{"steps":7}}}`:                                                   Configure{run.ConfigChange{Mode: new("plan"), Limits: run.Limits{Steps: 7}}},
	`{"call":"c_2","answer":"never","by":"ann","text":"b is generated","rules":[RULE],"digest":"ab12"}`: Decide{"c_2", run.Never, "ann", "b is generated", permission.Rules{{Effect: permission.Deny, Tool: "edit"}}, "ab12"},
	`{"turn":4,"by":"ann","then":[{"type":"text","text":"not so"}]}`:                                    Interrupt{Turn: 4, By: "ann", Then: words("not so")},
	`{"cause":"paused"}`:                         Interrupt{Cause: run.ByPause},
	`{"key":"k","tool":"read","arguments":"{}"}`: Call{"k", "read", "{}"},
}

func words(text string) []run.Part { return []run.Part{run.Text(text)} }

// A row is read as the request that was written, and its form stays.
func TestARowIsTheRequest(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	for want, r := range all {
		kind, payload, err := Encode(r)
		if d, ok := r.(Decide); ok {
			b, _ := json.Marshal(d.Rules[0])
			want = strings.Replace(want, "RULE", string(b), 1)
		}
		if err != nil || payload != want {
			t.Errorf("%T is written as %s, %v; want %s", r, payload, err, want)
		}
		got, err := Decode(kind, payload)
		if _, again, _ := Encode(got); err != nil || reflect.TypeOf(got) != reflect.TypeOf(r) || again != payload {
			t.Errorf("%s is read as %T %+v, %v", payload, got, got, err)
		}
		kinds[kind] = true
	}
	if len(kinds) != len(decoders) {
		t.Errorf("%d kinds are written, and %d can be read", len(kinds), len(decoders))
	}
}

func TestARowThatIsNoneIsNotGuessed(t *testing.T) {
	t.Parallel()
	if _, err := Decode("teleport", `{}`); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), `"teleport"`) {
		t.Errorf("a kind of a newer version: %v", err)
	}
	for kind := range decoders {
		if r, err := Decode(string(kind), `{"`); err == nil || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), string(kind)) {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
	}
	if _, _, err := Encode(Decide{Rules: permission.Rules{{Effect: "perhaps"}}}); err != nil {
		t.Errorf("what a rule says is checked where it is stored: %v", err)
	}
}

// atWork is a run with an open turn; asked is one whose turn has ended with a question.
func atWork(t *testing.T) run.State {
	return replay(t, run.Created{Run: "r"}, run.Prompted{Parts: words("go")})
}

func asked(t *testing.T) run.State {
	call := run.Call{ID: "c_1", Tool: "ask", Arguments: `{"question":"red or blue?"}`}
	return replay(t, run.Created{Run: "r"}, run.Prompted{Parts: words("go")},
		run.RequestStarted{Purpose: run.ForStep, Attempt: 1},
		run.Replied{Stop: run.StopToolUse, Parts: []run.Part{{Type: run.CallPart, Call: &call}}},
		run.CallInspected{Call: "c_1", Tool: "ask", Class: run.Reads, Key: "k", Question: true},
		run.Ended{End: run.Asked})
}

func replay(t *testing.T, payloads ...run.Payload) run.State {
	t.Helper()
	var s run.State
	for _, p := range payloads {
		var err error
		if s, err = s.Apply(run.Event{At: time.Unix(1, 0), Payload: p}); err != nil {
			t.Fatalf("%T: %v", p, err)
		}
	}
	return s
}

// A world in which every tool is read, bad configurations are refused, and so is every answer but one.
type aWorld struct{}

func (aWorld) CheckConfig(_ run.State, c run.ConfigChange) error {
	if c.Mode != nil && *c.Mode == "bold" {
		return errors.New("bold is no mode")
	}
	return nil
}

func (aWorld) Decided(_ run.State, d Decide) ([]run.Payload, error) {
	if d.Call != "c_1" {
		return nil, errors.New("it does not need approval")
	}
	return []run.Payload{run.Interrupted{Cause: run.ByWait, Call: d.Call}}, nil
}

func (aWorld) Picked(_ run.CallState, answer []run.Part) []run.Part {
	if run.PlainText(answer) == "1" {
		return words("red")
	}
	return answer
}

func (aWorld) ToolNamed(run.State, string) string { return "read" }

func TestWhatARequestMeansInAState(t *testing.T) {
	t.Parallel()
	over := replay(t, run.Created{Run: "r"}, run.Prompted{Parts: words("go")}, run.Interrupted{Turn: 1, Cause: run.ByPerson}, run.Ended{End: run.EndInterrupted})
	saidMore := replay(t, run.Created{Run: "r"}, run.Prompted{Parts: words("go")}, run.Said{ID: "m", Delivery: run.Queue, Parts: words("more")})
	for _, c := range []struct {
		what    string
		state   run.State
		request Request
		want    run.Payload // nil: none
		err     string
	}{
		{"words to an open turn", atWork(t), Say{"m", run.Steer, words("more")}, run.Said{ID: "m", Delivery: run.Steer, Parts: words("more")}, ""},
		{"words after a turn", over, Say{"m", run.Steer, words("more")}, run.Prompted{Parts: words("more")}, ""},
		{"words to a question", asked(t), Say{"m", run.Steer, words("blue")}, run.Prompted{Parts: words("blue"), Answers: "c_1"}, ""},
		{"the number of an option to a question", asked(t), Say{"m", run.Steer, words("1")}, run.Prompted{Parts: words("red"), Answers: "c_1"}, ""},
		{"a number that answers nothing", over, Say{"m", run.Steer, words("1")}, run.Prompted{Parts: words("1")}, ""},
		{"an answer by its number", asked(t), Answer{"c_1", words("1")}, run.Prompted{Parts: words("red"), Answers: "c_1"}, ""},
		{"an answer", asked(t), Answer{"c_1", words("blue")}, run.Prompted{Parts: words("blue"), Answers: "c_1"}, ""},
		{"to continue an open turn", atWork(t), Continue{Turn: 1}, nil, ""},
		{"to continue a turn that has ended since", over, Continue{Turn: 1}, nil, ""},
		{"to continue after a turn", over, Continue{}, run.Prompted{Continue: true}, ""},
		{"to continue with a question", asked(t), Continue{}, nil, "waits for the answer"},
		{"an answer that comes too late", over, Answer{"c_1", words("blue")}, nil, "answered already"},
		{"to withdraw words", saidMore, Withdraw{"m"}, run.Withdrawn{ID: "m"}, ""},
		{"to withdraw words that were delivered", atWork(t), Withdraw{"m"}, nil, "delivered or taken back already"},
		{"to interrupt the turn", atWork(t), Interrupt{Turn: 1, By: "ann"}, run.Interrupted{Turn: 1, Cause: run.ByPerson, By: "ann"}, ""},
		{"to interrupt whatever is open", atWork(t), Interrupt{Then: words("not so")}, run.Interrupted{Turn: 1, Cause: run.ByPerson, Then: words("not so")}, ""},
		{"to interrupt it for a pause", atWork(t), Interrupt{Cause: run.ByPause}, run.Interrupted{Turn: 1, Cause: run.ByPause}, ""},
		{"to interrupt another turn", atWork(t), Interrupt{Turn: 2}, nil, "has ended"},
		{"to interrupt nothing", over, Interrupt{}, nil, "has ended"},
		{"a configuration", over, Configure{run.ConfigChange{Mode: new("plan")}}, run.Configured{Change: run.ConfigChange{Mode: new("plan")}}, ""},
		{"a configuration that cannot be", over, Configure{run.ConfigChange{Mode: new("bold")}}, nil, "bold is no mode"},
		{"an answer to a call", atWork(t), Decide{Call: "c_1"}, run.Interrupted{Cause: run.ByWait, Call: "c_1"}, ""},
		{"an answer to no call", atWork(t), Decide{Call: "c_9"}, nil, "does not need approval"},
		{"a call", atWork(t), Call{"k", "Read", "{}"}, run.CallReceived{Key: "k", Call: run.Call{ID: "c_1", Tool: "read", Arguments: "{}"}}, ""},
	} {
		got, err := c.request.Events(c.state, aWorld{})
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.what, err, c.err)
		}
		var want []run.Payload
		if c.want != nil {
			want = []run.Payload{c.want}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s means %+v, want %+v", c.what, got, want)
		}
	}
}

// Requests that are handed in together are recorded together: each in the state after the one before.
func TestRequestsAreAllMeantOrNone(t *testing.T) {
	t.Parallel()
	s := replay(t, run.Created{Run: "r"})
	plan := Configure{run.ConfigChange{Mode: new("plan")}}
	got, err := All(s, aWorld{}, plan, Say{ID: "m", Parts: words("go")}, Say{ID: "n", Delivery: run.Steer, Parts: words("on")}, Interrupt{Turn: 1})
	want := []run.Payload{run.Configured{Change: plan.Change}, run.Prompted{Parts: words("go")}, run.Said{ID: "n", Delivery: run.Steer, Parts: words("on")},
		run.Interrupted{Turn: 1, Cause: run.ByPerson}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for what, last := range map[string]Request{"one that means nothing": Interrupt{Turn: 7}, "one that cannot follow": Withdraw{ID: "never said"}} {
		if got, err := All(s, aWorld{}, plan, last); err == nil || got != nil {
			t.Errorf("%s leaves %+v, %v", what, got, err)
		}
	}
}

// What says something to the agent waits while a turn is being interrupted; the rest does not.
// Decisions, changes of the configuration and calls come before what the next process drives the run for.
func TestWhatBeginsATurnAndWhatComesBefore(t *testing.T) {
	t.Parallel()
	for _, r := range all {
		begins, settles := false, false
		switch r.(type) {
		case Say, Answer, Continue:
			begins = true
		case Decide, Configure, Call:
			settles = true
		}
		if r.Begins() != begins || r.Settles() != settles {
			t.Errorf("%T begins a turn: %v; comes before what a run is driven for: %v", r, r.Begins(), r.Settles())
		}
	}
}
