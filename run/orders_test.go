package run

import (
	"fmt"
	"testing"
	"time"
)

// TestAllOrdersOfASmallScope goes through every order of events that a message with
// two calls, or an external turn, can see together with an interrupt, a crash and a
// steering message, each at most once: breadth first, equal states merged. From every
// state the run must come to an end that keeps the guarantees.
func TestAllOrdersOfASmallScope(t *testing.T) {
	t.Parallel()
	words := []Part{Text("go")}
	native := func(c Config, tools ...string) []Payload {
		f := Replied{Stop: StopToolUse}
		for i, tool := range tools {
			f.Parts = append(f.Parts, Part{Type: CallPart, Call: &Call{ID: CallID("c_" + itoa(i+1)), Tool: tool, Arguments: "{}"}})
		}
		return []Payload{Created{Run: "r", Config: c}, Prompted{Parts: words}, RequestStarted{Purpose: ForStep, Attempt: 1}, f}
	}
	output := Config{Output: Output{Tool: "submit", Schema: "{}"}}
	external := []Payload{Created{Run: "r", External: true, Config: output}, Prompted{Parts: words}, RequestStarted{Purpose: ForAgent, Attempt: 1}}
	for _, scope := range []struct {
		name    string
		start   []Payload
		without int // disturbances that are left out
		states  int // at least
	}{
		{"a read and an edit", native(Config{}, "read", "edit"), 0, 2000},
		{"a child run and a submission", native(output, "agent", "submit"), usedFailure, 2000},
		{"a question and a command", native(Config{Limits: Limits{Steps: 2}}, "ask", "shell"), 0, 800},
		{"an external turn with a command", append(external, CallReceived{Call: Call{ID: "c_1", Tool: "shell", Arguments: "{}"}}), usedFailure, 1500},
		{"an external turn with a question", append(external, CallReceived{Call: Call{ID: "c_1", Tool: "ask", Arguments: "{}"}}), 0, 1500},
		{"an external turn with a submission", append(external, CallReceived{Call: Call{ID: "c_1", Tool: "submit", Arguments: "{}"}}), usedFailure, 1500},
	} {
		t.Run(scope.name, func(t *testing.T) {
			t.Parallel()
			states, transitions, ends := search(t, scope.start, scope.without)
			t.Logf("%d states, %d transitions, %d ends", states, transitions, ends)
			if states < scope.states {
				t.Errorf("only %d states: the scope has shrunk", states)
			}
		})
	}
}

func search(t *testing.T, events []Payload, without int) (states, transitions, ends int) {
	at := time.Unix(1_800_000_000, 0)
	start := node{used: without}
	for _, p := range events {
		start = start.with(t, at, p)
	}
	seen := map[string]bool{}
	queue := []node{start}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		next := n.next()
		if len(next) == 0 {
			ends++
			if err := checkLog(n.log); err != nil {
				t.Fatalf("%v after %s", err, n.path())
			}
			continue
		}
		for _, step := range next {
			transitions++
			m := n
			m.s = n.s.Clone() // a state has several successors
			m.log = append([]Event(nil), n.log...)
			m.used |= step.uses
			for _, p := range step.payloads {
				m = m.with(t, at, p)
			}
			key := fmt.Sprint(m.used, dump(m.s))
			if !seen[key] {
				seen[key] = true
				queue = append(queue, m)
			}
		}
	}
	return len(seen), transitions, ends
}

// A node is a state in the search and the log that led there first.
type node struct {
	s    State
	log  []Event
	used int // which disturbances have happened
}

const (
	usedInterrupt = 1 << iota
	usedCrash
	usedSteer
	usedAnswer
	usedFailure
)

type choice struct {
	payloads []Payload
	uses     int
}

func one(p Payload) choice { return choice{payloads: []Payload{p}} }

func (n node) with(t *testing.T, at time.Time, p Payload) node {
	e := Event{At: at, Payload: p}
	s, err := n.s.Apply(e)
	if err != nil {
		t.Fatalf("%v, after %s", err, n.path())
	}
	n.s, n.log = s, append(n.log, e)
	return n
}

func (n node) path() string {
	s := ""
	for _, e := range n.log {
		s += fmt.Sprintf("\n  %T %+v", e.Payload, e.Payload)
	}
	return s
}

// next returns what can happen now.
func (n node) next() []choice {
	var out []choice
	requesting := n.s.Turn.Phase == Requesting
	for _, c := range n.s.Next() {
		switch c := c.(type) {
		case Derive:
			return []choice{one(c.Payload)} // these are recorded at once
		case Inspect:
			out = append(out, one(inspected(c.Call)))
		case Decide:
			out = append(out, one(CallDecided{Call: c.Call.ID, Decision: Decision{Answer: Allow}}), one(CallDecided{Call: c.Call.ID, Decision: Decision{Answer: Deny}, Content: "no"}))
			if n.used&usedInterrupt == 0 {
				out = append(out, choice{[]Payload{Interrupted{Cause: ByWait, Call: c.Call.ID}}, usedInterrupt})
			}
		case Perform:
			if c.Call.Status == CallRunning {
				continue
			}
			started := CallStarted{Call: c.Call.ID, Attempt: c.Attempt}
			if !c.Call.Submits {
				out = append(out, one(started))
				continue
			}
			settled := CallSettled{Call: c.Call.ID, Outcome: OK, Content: []Part{Text("ok")}}
			out = append(out, choice{payloads: []Payload{started, Submitted{Assignment: n.s.Assignment(), Call: c.Call.ID, Value: "1"}, settled}},
				choice{payloads: []Payload{started, settled}})
		case Request:
			if !requesting {
				out = append(out, one(RequestStarted{Purpose: c.Purpose, Attempt: c.Attempt, End: c.End}))
				continue
			}
			out = append(out, one(Replied{Stop: StopEndTurn, Parts: []Part{Text("done")}}), one(RequestFailed{Kind: ErrAuth}))
			if n.used&usedFailure == 0 {
				out = append(out, choice{[]Payload{RequestFailed{Kind: ErrOverloaded, RetryAfter: time.Second}}, usedFailure})
			}
		case ExternalTurn:
			if !requesting {
				out = append(out, one(RequestStarted{Purpose: ForAgent, Attempt: c.Attempt}))
				continue
			}
			out = append(out, one(Replied{Parts: []Part{Text("done")}}), one(RequestFailed{Kind: ErrBrokenStream}))
			if n.used&usedFailure == 0 {
				out = append(out, choice{[]Payload{Observed{Conversation: "v"}}, usedFailure})
			}
		}
	}
	for _, c := range n.s.Turn.Calls {
		if c.Status == CallRunning {
			out = append(out, one(CallSettled{Call: c.ID, Outcome: OK, Content: []Part{Text("ok")}}))
		}
	}
	if q := n.s.Questions(); !n.s.Turn.Open() && len(q) > 0 && n.used&usedAnswer == 0 {
		return append(out, choice{[]Payload{Prompted{Answers: q[0].ID, Parts: []Part{Text("yes")}}}, usedAnswer})
	}
	if !n.s.Turn.Open() {
		return out
	}
	if n.used&usedInterrupt == 0 {
		out = append(out, choice{[]Payload{Interrupted{Cause: ByPerson}}, usedInterrupt})
	}
	if n.used&usedSteer == 0 {
		out = append(out, choice{[]Payload{Said{ID: "s", Delivery: Steer, Parts: []Part{Text("and")}}}, usedSteer})
	}
	if n.used&usedCrash == 0 {
		out = append(out, choice{n.s.Recover(), usedCrash})
	}
	return out
}

// FuzzEventOrders applies events in any order: no panic, and a refusal changes
// nothing.
func FuzzEventOrders(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{0, 1, 2, 3, 12, 4, 5, 14, 6, 7, 2, 9})
	f.Add([]byte{255, 0, 1, 2, 3, 4, 5, 6, 7, 8})
	words := []Part{Text("go")}
	allow := func(id CallID) CallDecided {
		return CallDecided{Call: id, Decision: Decision{Answer: Allow}}
	}
	window, parallel := int64(100), 1
	payloads := []Payload{
		Prompted{Parts: words},
		RequestStarted{Purpose: ForStep, Attempt: 1},
		Replied{Stop: StopToolUse, Parts: []Part{{Type: CallPart, Call: &Call{ID: "c_1", Tool: "read", Arguments: "{}"}}, {Type: CallPart, Call: &Call{ID: "c_2", Tool: "edit", Arguments: "{}"}}}},
		CallInspected{Call: "c_1", Class: Reads}, CallInspected{Call: "c_2", Class: Writes},
		allow("c_1"), allow("c_2"), CallStarted{Call: "c_1", Attempt: 1}, CallStarted{Call: "c_2", Attempt: 1},
		CallSettled{Call: "c_1", Outcome: OK, Content: words, Tools: &ToolState{Dir: "a", Jobs: 1}}, CallSettled{Call: "c_2", Outcome: OK, Content: words},
		CallDecided{Call: "c_2", Content: "no"}, Resumed{Calls: []CallID{"c_1"}}, Told{Reason: TellRepeated, Call: "c_1", Text: "note"},
		Interrupted{Cause: ByPerson}, Interrupted{Cause: ByWait, Call: "c_2", Then: words}, Interrupted{Turn: 1, Cause: ByPerson, Partial: words},
		RequestFailed{Kind: ErrOverloaded, RetryAfter: time.Second}, RequestFailed{Kind: ErrTooLong}, Resumed{Request: true}, Resumed{},
		Replied{Stop: StopEndTurn, Parts: words, Promises: true}, Replied{Stop: StopMaxTokens, Parts: words}, Replied{},
		Replied{Parts: words, Action: &Action{Kind: StepRespond, InPlan: true, Message: "m"}}, Replied{Parts: words, Action: &Action{Problem: "p", Feedback: "f"}},
		Said{ID: "s", Delivery: Steer, Parts: words}, Said{ID: "q", Delivery: Queue, Parts: words}, Withdrawn{ID: "q"}, Withdrawn{ID: "s"},
		Told{Reason: TellEmpty, Text: "continue"}, Told{Reason: TellOutput, Text: "hand it in"}, Synthesized{Text: "account", End: Ended{End: LimitReached}},
		Ended{End: Completed}, Ended{End: Asked}, Prompted{Continue: true}, Prompted{Answers: "c_1", Parts: words}, Prompted{Parts: words, Queued: "q"},
		Compacted{Stage: 1, Calls: []CallID{"c_1"}}, Compacted{Stage: 2, Through: "m_3", Summary: "s"},
		CallInspected{Call: "c_1", Class: Resumable, Question: true}, CallInspected{Call: "c_1", Class: Resumable, Submits: true}, CallInspected{Call: "c_2", Class: Reads, Problem: "none"},
		Configured{ConfigChange{Window: &window}}, Configured{ConfigChange{Parallel: &parallel, Output: &Output{Schema: "{}"}}},
		RequestStarted{Purpose: ForSummary, Attempt: 1}, RequestStarted{Purpose: ForSynthesis, Attempt: 1, End: Ended{End: LoopStopped}},
		Submitted{Assignment: 1, Value: "1"}, Submitted{Assignment: 1, Call: "c_1", Value: "1"}, ApprovalInvalidated{Call: "c_1", Reason: "changed"},
		RequestStarted{Purpose: ForAgent, Attempt: 1}, RequestStarted{Purpose: ForAgent, Attempt: 2}, Observed{Conversation: "v"},
		CallReceived{Call: Call{ID: "c_1", Tool: "read"}, Key: "k"}, CallReceived{Call: Call{ID: "c_2", Tool: "read"}},
	}
	f.Fuzz(func(t *testing.T, order []byte) {
		var s State
		external := len(order) > 0 && order[0] == 255
		if err := s.apply(Event{Payload: Created{Run: "r", External: external}}); err != nil {
			t.Fatal(err)
		}
		for _, b := range order {
			p := payloads[int(b)%len(payloads)]
			before := dump(s)
			if err := s.apply(Event{At: time.Unix(2, 0), Payload: p}); err != nil && dump(s) != before {
				t.Fatalf("a refused %T changed the state", p)
			}
			if owed := s.Next(); s.Turn.Open() && len(owed) == 0 && s.Turn.running == 0 {
				t.Fatalf("nothing is owed and nothing runs after %T: %s", p, dump(s))
			}
			for _, c := range s.Next() {
				if d, ok := c.(Derive); ok {
					if _, err := s.Clone().Apply(Event{Payload: d.Payload}); err != nil {
						t.Fatalf("after %T %T is owed and refused: %v", p, d.Payload, err)
					}
					break // the others follow from the state after it
				}
			}
			s.Recover()
		}
	})
}
