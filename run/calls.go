package run

import (
	"slices"
)

// change returns the turn's call for writing: its calls are copied first, so that
// the state before the event keeps its own.
func (t *Turn) change(id CallID) (*CallState, error) {
	i := t.find(id)
	if !t.Open || i < 0 {
		return nil, refuse("call %q is not one of the last message", id)
	}
	if !t.own {
		t.Calls = slices.Clone(t.Calls)
	}
	return &t.Calls[i], nil
}

func (s *State) applyCallAsked(f CallAsked) error {
	c, err := s.Turn.change(f.Call)
	switch {
	case err != nil:
		return err
	case c.Status != CallNamed:
		return refuse("call %s was asked already", f.Call)
	case f.Class != Reads && f.Class != Writes && f.Class != Reattaches:
		return refuse("call %s has no class", f.Call)
	}
	c.Status = CallIsAsked
	c.Class, c.Priority, c.Key, c.Waits = f.Class, f.Priority, f.Key, f.Waits
	c.Question, c.Problem = f.Ask && f.Problem == "", f.Problem
	return nil
}

func (s *State) applyCallAllowed(f CallAllowed) error {
	c, err := s.Turn.change(f.Call)
	switch {
	case err != nil:
		return err
	case c.Status != CallIsAsked || c.Question || c.Problem != "":
		return refuse("call %s does not wait for a decision", f.Call)
	case s.Turn.Interrupt.Cause != "":
		return refuse("call %s allowed after the interrupt", f.Call)
	}
	c.Status, c.Decision = CallMay, f.Decision
	return nil
}

func (s *State) applyDecisionVoided(f DecisionVoided) error {
	c, err := s.Turn.change(f.Call)
	switch {
	case err != nil:
		return err
	case c.Status != CallMay || s.Turn.Interrupt.Cause != "":
		return refuse("call %s is not one that may start", f.Call)
	case f.Reason == "":
		return refuse("a decision voided without a word")
	}
	c.Status, c.Decision = CallIsAsked, Decision{}
	return nil
}

func (s *State) applyCallRefused(e Event, f CallRefused) error {
	c, err := s.Turn.change(f.Call)
	switch {
	case err != nil:
		return err
	case c.Status != CallIsAsked && c.Status != CallMay || c.Question || c.Problem != "":
		return refuse("call %s does not wait for a decision", f.Call)
	case s.Turn.Interrupt.Cause != "":
		return refuse("call %s refused after the interrupt", f.Call)
	case f.Content == "":
		return refuse("call %s refused without a word", f.Call)
	}
	c.Decision = f.Decision
	s.settle(e, s.Turn.find(f.Call), CallSettled{Call: f.Call, Outcome: Refused, Content: []Part{Text(f.Content)}, IsError: true})
	return nil
}

func (s *State) applyCallStarted(e Event, f CallStarted) error {
	t := &s.Turn
	i := t.find(f.Call)
	c, err := t.change(f.Call)
	switch {
	case err != nil:
		return err
	case t.Interrupt.Cause != "":
		return refuse("call %s started after the interrupt", f.Call)
	case c.Status != CallMay:
		return refuse("call %s started while it is %s", f.Call, c.Status)
	case f.Attempt != c.Attempt+1:
		return refuse("call %s started as attempt %d after %d", f.Call, f.Attempt, c.Attempt)
	case !t.mayStart(i) || t.running() >= s.Config.parallel():
		return refuse("call %s started before its turn", f.Call)
	}
	c.Status, c.Attempt, c.startedAt = CallRuns, f.Attempt, e.At
	return nil
}

func (s *State) applyCallLost(f CallLost) error {
	c, err := s.Turn.change(f.Call)
	switch {
	case err != nil:
		return err
	case c.Status != CallRuns || c.Class == Writes || s.Turn.Interrupt.Cause != "":
		return refuse("call %s was lost while it is %s", f.Call, c.Status)
	}
	c.Status = CallMay
	return nil
}

func (s *State) applyCallSettled(e Event, f CallSettled) error {
	t := &s.Turn
	i := t.find(f.Call)
	c, err := t.change(f.Call)
	switch {
	case err != nil:
		return err
	case c.Status == CallDone:
		return refuse("call %s has its result", f.Call)
	case f.Outcome == "":
		return refuse("call %s settled without an outcome", f.Call)
	case c.Status != CallRuns && f.Outcome != Invalid && f.Outcome != NotRun && f.Outcome != Refused:
		return refuse("call %s settled as %s without having started", f.Call, f.Outcome)
	}
	s.settle(e, i, f)
	return nil
}

// settle gives the call its one result. The turn's calls are the caller's own copy.
func (s *State) settle(e Event, i int, f CallSettled) {
	t := &s.Turn
	c := &t.Calls[i]
	if c.Status != CallRuns {
		c.startedAt = e.At
	}
	c.Status, c.Outcome, c.settledAt = CallDone, f.Outcome, e.At
	c.Result = Result{Call: f.Call, Content: f.Content, IsError: f.IsError, Delivery: f.Delivery}
	c.change, c.resultKey, c.jobRuns = f.Change, f.Key, f.JobRuns
	line := Line{Call: c.ID, Tool: c.Tool, Args: shorten(c.Arguments, 80), Outcome: f.Outcome, IsError: f.IsError, Delivery: f.Delivery}
	for _, file := range f.Files {
		line.Files = append(line.Files, file.Path)
	}
	t.Account = append(t.Account, line)
	if t.unsettled() {
		return
	}
	if s.Created.External {
		return // its steps are not ours to judge
	}
	s.settleStep()
	t.after = afterWords
	t.stepDone = true
	s.window.compactions = 0
	t.settledStep()
}

func (s *State) applyCallNoted(f CallNoted) error {
	c, err := s.Turn.change(f.Call)
	switch {
	case err != nil:
		return err
	case c.Status != CallDone || f.Text == "":
		return refuse("call %s cannot be noted", f.Call)
	}
	c.note = ""
	c.Result.Content = append(slices.Clip(c.Result.Content), Text(f.Text))
	return nil
}

// running counts the calls that have started and not settled.
func (t *Turn) running() int {
	n := 0
	for i := range t.Calls {
		if t.Calls[i].Status == CallRuns {
			n++
		}
	}
	return n
}

// mayStart reports whether the order of calls lets call i start now. Writers run
// alone and in the order asked; everything else may run beside its like and may
// pass what still waits for a decision, but never a writer that stands before it.
func (t *Turn) mayStart(i int) bool {
	writer := t.Calls[i].Class == Writes
	for j := range t.Calls {
		if j == i {
			continue
		}
		o := &t.Calls[j]
		if o.Status == CallDone {
			continue
		}
		if j < i && (writer || o.Class == Writes || o.Status == CallNamed) {
			return false
		}
		if o.Status == CallRuns && (writer || o.Class == Writes) {
			return false
		}
	}
	return true
}

// shorten cuts s at n bytes, at the start of a character, with a mark.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
