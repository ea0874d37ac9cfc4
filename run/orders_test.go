package run

import (
	"fmt"
	"testing"
	"time"
)

// TestAllOrdersOfASmallScope goes through every order of events that a message
// with a read and an edit can see together with an interrupt, a crash and a
// steering message, each at most once: breadth first, equal states merged. From
// every state the run must come to an end that keeps the guarantees.
func TestAllOrdersOfASmallScope(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	start := node{}
	for _, f := range []Fact{
		Created{Run: "r"}, Prompted{Parts: []Part{Text("go")}}, RequestStarted{Purpose: ForStep, Attempt: 1},
		Replied{Stop: StopToolUse, Parts: []Part{
			{Type: CallPart, Call: &Call{ID: "c_1", Tool: "read", Arguments: "{}"}},
			{Type: CallPart, Call: &Call{ID: "c_2", Tool: "edit", Arguments: "{}"}},
		}},
	} {
		start = start.with(t, at, f)
	}
	seen := map[string]bool{}
	queue := []node{start}
	transitions, ends := 0, 0
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		next := n.next()
		if len(next) == 0 {
			ends++
			if n.s.Turn.Open || len(n.s.Next()) > 0 {
				t.Fatalf("stuck after %s", n.path())
			}
			if err := checkLog(n.log, nil); err != nil {
				t.Fatalf("%v after %s", err, n.path())
			}
			continue
		}
		for _, step := range next {
			transitions++
			m := n
			m.s = n.s.Clone() // one state goes on in many ways
			m.log = append([]Event(nil), n.log...)
			m.used |= step.uses
			for _, f := range step.facts {
				m = m.with(t, at, f)
			}
			key := fmt.Sprint(m.used, dump(m.s))
			if !seen[key] {
				seen[key] = true
				queue = append(queue, m)
			}
		}
	}
	t.Logf("%d states, %d transitions, %d ends", len(seen), transitions, ends)
	if len(seen) < 500 {
		t.Errorf("only %d states: the scope has shrunk", len(seen))
	}
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
)

type choice struct {
	facts []Fact
	uses  int
}

func (n node) with(t *testing.T, at time.Time, f Fact) node {
	e := Event{At: at, Fact: f}
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
		s += fmt.Sprintf("\n  %T %+v", e.Fact, e.Fact)
	}
	return s
}

// next returns what can happen now.
func (n node) next() []choice {
	var out []choice
	for _, c := range n.s.Next() {
		switch c := c.(type) {
		case Record:
			return []choice{{facts: []Fact{c.Fact}}} // a worker records these at once
		case Ask:
			out = append(out, choice{facts: []Fact{asked(c.Call)}})
		case Decide:
			out = append(out, choice{facts: []Fact{CallAllowed{Call: c.Call.ID}}}, choice{facts: []Fact{CallRefused{Call: c.Call.ID, Content: "no"}}})
			if n.used&usedInterrupt == 0 {
				out = append(out, choice{[]Fact{Interrupted{Cause: ByWait, Call: c.Call.ID}}, usedInterrupt})
			}
		case Perform:
			if c.Call.Status != CallRuns {
				out = append(out, choice{facts: []Fact{CallStarted{Call: c.Call.ID, Attempt: c.Attempt}}})
			}
		case Request:
			if !n.s.Turn.Request.Open {
				out = append(out, choice{facts: []Fact{RequestStarted{Purpose: c.Purpose, Attempt: c.Attempt, End: c.End}}})
			} else {
				out = append(out, choice{facts: []Fact{Replied{Stop: StopEndTurn, Parts: []Part{Text("done")}}}},
					choice{facts: []Fact{RequestFailed{Kind: ErrAuth}}})
			}
		}
	}
	for _, c := range n.s.Turn.Calls {
		if c.Status == CallRuns {
			out = append(out, choice{facts: []Fact{CallSettled{Call: c.ID, Outcome: OK, Content: []Part{Text("ok")}}}})
		}
	}
	if !n.s.Turn.Open {
		return out
	}
	if n.used&usedInterrupt == 0 {
		out = append(out, choice{[]Fact{Interrupted{Cause: ByPerson}}, usedInterrupt})
	}
	if n.used&usedSteer == 0 {
		out = append(out, choice{[]Fact{Steered{ID: "s", Parts: []Part{Text("and")}}}, usedSteer})
	}
	if lost := n.s.Lost(); n.used&usedCrash == 0 && len(lost) > 0 {
		c := choice{uses: usedCrash}
		for _, e := range lost {
			c.facts = append(c.facts, e.Fact)
		}
		out = append(out, c)
	}
	return out
}

// FuzzEventOrders applies events in any order: no panic, and a refusal changes
// nothing.
func FuzzEventOrders(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{0, 1, 2, 3, 12, 4, 5, 14, 6, 7, 2, 9})
	facts := []Fact{
		Prompted{Parts: []Part{Text("go")}},
		RequestStarted{Purpose: ForStep, Attempt: 1},
		Replied{Stop: StopToolUse, Parts: []Part{{Type: CallPart, Call: &Call{ID: "c_1", Tool: "read", Arguments: "{}"}}, {Type: CallPart, Call: &Call{ID: "c_2", Tool: "edit", Arguments: "{}"}}}},
		CallAsked{Call: "c_1", Class: Reads}, CallAsked{Call: "c_2", Class: Writes},
		CallAllowed{Call: "c_1"}, CallAllowed{Call: "c_2"}, CallStarted{Call: "c_1", Attempt: 1}, CallStarted{Call: "c_2", Attempt: 1},
		CallSettled{Call: "c_1", Outcome: OK, Content: []Part{Text("ok")}}, CallSettled{Call: "c_2", Outcome: OK, Content: []Part{Text("ok")}},
		CallRefused{Call: "c_2", Content: "no"}, CallLost{Call: "c_1"}, CallNoted{Call: "c_1", Text: "note"},
		Interrupted{Cause: ByPerson}, Interrupted{Cause: ByWait, Call: "c_2"},
		RequestFailed{Kind: ErrOverloaded, RetryAt: time.Unix(1, 0)}, RequestFailed{Kind: ErrTooLong}, RequestLost{},
		Replied{Stop: StopEndTurn, Parts: []Part{Text("done")}}, Replied{Stop: StopMaxTokens, Parts: []Part{Text("half")}}, Replied{},
		Steered{ID: "s", Parts: []Part{Text("s")}}, Queued{ID: "q", Parts: []Part{Text("q")}}, Withdrawn{ID: "q"},
		Nudged{Reason: NudgeEmpty, Text: "go on"}, Synthesized{Text: "account", End: Ended{End: LimitReached}},
		Ended{End: Completed}, Ended{End: Asked}, Prompted{Continue: true}, QuestionAnswered{Call: "c_1", Text: "yes"},
		Compacted{Stage: 1, Calls: []CallID{"c_1"}}, Compacted{Stage: 2, Through: "m_3", Summary: "s"},
		CallAsked{Call: "c_1", Class: Reattaches, Ask: true}, Configured{Config{Window: 100}}, Configured{Config{StepByStep: true}},
		RequestStarted{Purpose: ForSummary, Attempt: 1}, RequestStarted{Purpose: ForSynthesis, Attempt: 1, End: Ended{End: LoopStopped}},
	}
	f.Fuzz(func(t *testing.T, order []byte) {
		s, err := State{}.Apply(Event{Fact: Created{Run: "r"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range order {
			f := facts[int(b)%len(facts)]
			before := s.Clone()
			next, err := s.Apply(Event{At: time.Unix(2, 0), Fact: f})
			if err != nil && dump(s) != dump(before) {
				t.Fatalf("a refused %T changed the state", f)
			}
			s = next
			if owed := s.Next(); s.Turn.Open && len(owed) == 0 && s.Turn.running() == 0 {
				t.Fatalf("nothing is owed and nothing runs after %T: %s", f, dump(s))
			}
			s.Lost()
		}
	})
}
