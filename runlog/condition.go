package runlog

import (
	"context"
	"fmt"

	"pawl/inbox"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/view"
	"pawl/worker"
)

// Below returns the runs below one in state s; see [worker.Below].
func (r Reader) Below(s run.State) ([]run.State, error) {
	if !s.Turn.Open() {
		return nil, nil
	}
	st, err := r.open()
	if err != nil { // nothing is written yet
		return nil, nil
	}
	return worker.Below(context.Background(), st, s)
}

// Undecided returns the calls that need a decision.
func Undecided(s run.State) []run.CallState {
	var calls []run.CallState
	for _, c := range s.Next() {
		if c, ok := c.(run.Decide); ok {
			calls = append(calls, c.Call)
		}
	}
	return calls
}

// A Condition says what a run is doing now.
type Condition string

const (
	New     Condition = "new"     // it has had no turn
	Working Condition = "working" // its turn is open, and a process drives it
	Waiting Condition = "waiting" // for a person: an approval, or the answer to a question
	Killed  Condition = "killed"  // its turn is open, and no process drives it
	Ended   Condition = "ended"   // its turn has ended; see its end
)

// ConditionOf returns the condition of a run in state s that a process drives, or does not.
func ConditionOf(s run.State, driven bool) Condition {
	switch {
	case s.Turn.N == 0:
		return New
	case !driven && Asks(s):
		return Killed
	case NeedsApproval(s), !s.Turn.Open() && len(s.Questions()) > 0:
		return Waiting
	case !s.Turn.Open():
		return Ended
	case driven:
		return Working
	}
	return Killed
}

// Asks reports whether a call asks while it runs: the question is gone with the process that runs it.
func Asks(s run.State) bool { return s.Turn.Open() && len(s.Answerable()) > 0 }

// Condition is [ConditionOf], and takes the runs below into account: a run that only waits for runs that wait
// for a person is waiting too.
func (r Reader) Condition(s run.State, driven bool) Condition {
	if below, err := r.Below(s); err == nil && WaitsAmong(s, below) && (driven || !Asks(s)) {
		return Waiting
	}
	return ConditionOf(s, driven)
}

// NeedsApproval reports whether the turn is open and can only continue with a person's
// decision.
func NeedsApproval(s run.State) bool { return WaitsAmong(s, nil) }

// WaitsForPerson reports whether a run in state s, with an open turn, can only continue when a person has
// decided or answered something in it or in the runs below it.
func WaitsForPerson(ctx context.Context, st store.Store, s run.State) bool {
	if !s.Turn.Open() {
		return false
	}
	below, err := worker.Below(ctx, st, s)
	return err == nil && WaitsAmong(s, below)
}

// WaitsAmong is WaitsForPerson, given the runs below s and those below them.
func WaitsAmong(s run.State, below []run.State) bool {
	waits := map[run.CallID]bool{}
	for _, child := range below {
		if child.Created.Parent == s.Created.Run {
			waits[child.Created.ParentCall] = WaitsAmong(child, below) || !child.Turn.Open() && len(child.Questions()) > 0
		}
	}
	owed := s.Next()
	for _, c := range owed {
		switch c := c.(type) {
		case run.Decide:
		case run.Perform:
			if !waits[c.Call.ID] && c.Call.Asks.Question == "" {
				return false
			}
		default:
			return false
		}
	}
	return s.Turn.Open() && len(owed) > 0
}

// WaitsBelow is what is said of a run that waits for a person because a run below it does.
const WaitsBelow = "waiting: a run that it has started needs a decision or an answer"

// ConditionWords says in one line what a run in state s is doing, and how its turn ended.
// owner is the process that drives it; nil: none.
func ConditionWords(s run.State, owner *store.Owner) string {
	c := ConditionOf(s, owner != nil)
	switch c {
	case New:
		return "new, without a turn"
	case Working:
		return fmt.Sprintf("%s (process %d)", c, owner.PID)
	case Killed:
		return "killed: its turn is open, and no process works on it"
	case Waiting:
		if s.Turn.Open() {
			return "waiting: " + view.WaitWords(s)
		}
		return "waiting for an answer"
	}
	return view.EndLine(s.Turn.End)
}

// condition returns the condition of a run from its summary. The log is read only while a
// turn is open.
func condition(ctx context.Context, st store.Store, s store.Summary) (Condition, *store.Owner, error) {
	switch {
	case s.Turns == 0:
		return New, nil, nil
	case s.End == run.Asked:
		return Waiting, nil, nil
	case s.End != "":
		return Ended, nil, nil // its owner, if any, does nothing for it
	}
	owner, driven, err := st.Owner(ctx, s.ID)
	if err != nil {
		return "", nil, err
	}
	var state run.State
	for e, err := range st.Events(ctx, s.ID, 0) {
		if err != nil {
			break // as far as its log can be read
		}
		if state, err = state.Apply(e); err != nil {
			break
		}
	}
	c := Killed
	if driven {
		c = Working
	}
	if WaitsForPerson(ctx, st, state) && (driven || !Asks(state)) {
		c = Waiting
	}
	if !driven {
		return c, nil, nil
	}
	return c, &owner, nil
}

// LeftAbove returns the run above one in state s if it waits for that run, whose turn has ended, and no
// process drives it; otherwise "".
func (r Reader) LeftAbove(ctx context.Context, s run.State) (run.ID, error) {
	id := s.Created.Parent
	if id == "" || s.Turn.Open() || len(s.Questions()) > 0 {
		return "", nil
	}
	_, above, err := r.Load(ctx, id)
	if err != nil || !above.Turn.Open() {
		return "", err
	}
	if call, ok := above.Turn.Call(s.Created.ParentCall); !ok || call.Status != run.CallRunning {
		return "", nil
	}
	st, err := r.open()
	if err != nil {
		return "", err
	}
	if _, driven, err := inbox.Driver(ctx, st, id); err != nil || driven {
		return "", err
	}
	return id, nil
}

// Stored returns the answer to a call of a run that waits in its inbox until a process drives the run; nil: there is
// none.
func (r Reader) Stored(ctx context.Context, id run.ID, call run.CallID) (*request.Decide, error) {
	st, err := r.open()
	if err != nil {
		return nil, err
	}
	rows, err := st.Inbox(ctx, id)
	for _, row := range rows {
		r, err := request.Decode(row.Kind, row.Payload)
		if d, ok := r.(request.Decide); err == nil && ok && d.Call == call {
			return &d, nil
		}
	}
	return nil, err
}
