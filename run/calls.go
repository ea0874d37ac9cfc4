package run

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// change returns the turn's call for writing.
func (t *Turn) change(id CallID) (*CallState, error) {
	i := t.find(id)
	if !t.Open() || i < 0 {
		return nil, refuse("call %q is not one of the last message", id)
	}
	return t.own(i), nil
}

// own returns call i for writing. It is copied first unless this value owns it, so that
// the state before the event is unchanged.
func (t *Turn) own(i int) *CallState {
	if t.owned == ownsAll {
		return t.Calls[i]
	}
	t.ownSlice()
	c := *t.Calls[i]
	t.Calls[i] = &c
	return &c
}

func (t *Turn) ownSlice() {
	if t.owned == ownsNothing {
		t.Calls, t.owned = slices.Clone(t.Calls), ownsCalls
	}
}

func (s *State) applyCallReceived(p CallReceived) error {
	t := &s.Turn
	switch {
	case !s.Created.External || t.Phase != Requesting:
		return refuse("a call from outside while no external turn is under way")
	case number(p.Call.ID) != s.calls+1:
		return refuse("call %s is not numbered on from c_%d", p.Call.ID, s.calls+1)
	case p.Key != "" && t.Received(p.Key) != "":
		return refuse("call %s repeats the request %s", p.Call.ID, p.Key)
	}
	s.name(p.Call)
	t.Calls[len(t.Calls)-1].External = p.Key
	t.Request.observed, t.Request.worked = true, true
	return nil
}

// Received returns the id of the call that an external agent's request made in this
// turn; empty if there is none with that key.
func (t *Turn) Received(key string) CallID {
	for i := range t.Calls {
		if t.Calls[i].External == key {
			return t.Calls[i].ID
		}
	}
	return ""
}

// name adds a call of a message to the turn.
func (s *State) name(c Call) {
	t := &s.Turn
	s.calls++
	t.Asked++
	t.ownSlice()
	named := &CallState{Call: c, Status: CallNamed}
	t.Calls = append(t.Calls, named)
	t.count(named, 1)
}

func (s *State) applyCallInspected(p CallInspected) error {
	t := &s.Turn
	c, err := t.change(p.Call)
	switch {
	case err != nil:
		return err
	case c.Status != CallNamed:
		return refuse("call %s was inspected already", p.Call)
	case p.Class != Reads && p.Class != Writes && p.Class != Resumable:
		return refuse("call %s has no class", p.Call)
	}
	c.Class, c.Priority, c.Key, c.Polls, c.Submits = p.Class, p.Priority, p.Key, p.Polls, p.Submits
	c.Question, c.Problem = p.Question && p.Problem == "", p.Problem
	c.Late = p.Late && s.Created.External
	t.advance(c, CallIsInspected)
	return nil
}

func (s *State) applyCallDecided(e Event, p CallDecided) error {
	t := &s.Turn
	i := t.find(p.Call)
	if i < 0 || !t.Open() && !t.keeps(t.Calls[i]) {
		return refuse("call %q is not one of the last message", p.Call)
	}
	c := t.own(i)
	switch {
	case c.Status != CallIsInspected && (c.Status != CallAllowed || p.Decision.Allows()) || c.Question || c.Problem != "":
		return refuse("call %s does not wait for a decision", p.Call)
	case t.Phase == Interrupting:
		return refuse("call %s decided after the interrupt", p.Call)
	case !p.Decision.Allows() && p.Content == "":
		return refuse("call %s refused without a word", p.Call)
	case t.Hooking(p.Call):
		return refuse("call %s decided while hooks look at it", p.Call)
	}
	c.Decision = p.Decision
	t.countJudged(p.Decision)
	if p.Decision.Allows() {
		if i := slices.Index(s.late, c.Key); i >= 0 {
			s.late = slices.Delete(slices.Clone(s.late), i, i+1)
		}
		t.advance(c, CallAllowed)
		return nil
	}
	s.settle(e, c, CallSettled{Call: p.Call, Outcome: Refused, Content: []Part{Text(p.Content)}, IsError: true})
	return nil
}

func (s *State) applyApprovalInvalidated(p ApprovalInvalidated) error {
	t := &s.Turn
	c, err := t.change(p.Call)
	switch {
	case err != nil:
		return err
	case c.Status != CallAllowed || t.Phase == Interrupting:
		return refuse("call %s is not one that may start", p.Call)
	case p.Reason == "":
		return refuse("an approval invalidated without a reason")
	}
	c.Decision = Decision{}
	t.advance(c, CallIsInspected)
	return nil
}

func (s *State) applyCallStarted(e Event, p CallStarted) error {
	t := &s.Turn
	c, err := t.change(p.Call)
	switch {
	case err != nil:
		return err
	case t.Phase == Interrupting:
		return refuse("call %s started after the interrupt", p.Call)
	case s.submitted():
		return refuse("call %s started after the result was submitted", p.Call)
	case c.Status != CallAllowed:
		return refuse("call %s started while it is %s", p.Call, c.Status)
	case p.Attempt != c.Attempt+1:
		return refuse("call %s started as attempt %d after %d", p.Call, p.Attempt, c.Attempt)
	case t.running >= s.Config.parallel() || !t.mayStart(t.find(p.Call)):
		return refuse("call %s started before its turn", p.Call)
	}
	c.Attempt, c.startedAt = p.Attempt, e.At
	if c.Reserved == (Limits{}) {
		c.Reserved = p.Reserved
	}
	t.advance(c, CallRunning)
	return nil
}

func (s *State) applyCallDetached(p CallDetached) error {
	t := &s.Turn
	c, err := t.change(p.Call)
	switch {
	case err != nil:
		return err
	case c.Status != CallRunning || t.Phase == Interrupting:
		return refuse("call %s is detached while it does not run", p.Call)
	case c.Handle != "" || p.Handle == "":
		return refuse("call %s is detached without a handle, or was already", p.Call)
	}
	c.Handle = p.Handle
	return nil
}

func (s *State) applyCallAsked(p CallAsked) error {
	t := &s.Turn
	c, err := t.change(p.Call)
	switch {
	case err != nil:
		return err
	case c.Status != CallRunning || t.Phase == Interrupting:
		return refuse("call %s asks while it does not run", p.Call)
	case c.Asks.Question != "" || p.Question == "":
		return refuse("call %s asks nothing, or waits for an answer", p.Call)
	}
	t.ask(c, p)
	return nil
}

func (s *State) applyCallAnswered(p CallAnswered) error {
	c, err := s.Turn.change(p.Call)
	switch {
	case err != nil:
		return err
	case c.Asks.Question == "":
		return refuse("call %s waits for no answer", p.Call)
	}
	s.Turn.ask(c, CallAsked{})
	return nil
}

// ask sets what a call asks, and keeps the turn's counts.
func (t *Turn) ask(c *CallState, p CallAsked) {
	t.count(c, -1)
	c.Asks = p
	t.count(c, 1)
}

func (s *State) applyCallSettled(e Event, p CallSettled) error {
	c, err := s.Turn.change(p.Call)
	switch {
	case err != nil:
		return err
	case c.Status == CallDone:
		return refuse("call %s has its result", p.Call)
	case p.Outcome == "":
		return refuse("call %s settled without an outcome", p.Call)
	case c.Status != CallRunning && p.Outcome != Invalid && p.Outcome != NotRun && p.Outcome != Refused && !(p.Outcome == Unknown && c.Handle != ""):
		return refuse("call %s settled as %s without having started", p.Call, p.Outcome)
	}
	s.settle(e, c, p)
	return nil
}

// settle records the result of a call, which must be owned by this value.
func (s *State) settle(e Event, c *CallState, p CallSettled) {
	t := &s.Turn
	if c.Status != CallRunning {
		c.startedAt = e.At
	}
	t.ask(c, CallAsked{})
	t.advance(c, CallDone)
	c.Outcome, c.settledAt = p.Outcome, e.At
	c.Result = Result{Call: p.Call, Content: p.Content, IsError: p.IsError, ExitCode: p.ExitCode, Delivery: p.Delivery, Kept: p.Kept}
	if i := p.Instructions; i.Text != "" {
		c.Result.Content = append(slices.Clip(c.Result.Content), Part{Type: TextPart, Text: instructionsNote + i.Text, Attached: keptName})
		s.Instructed = append(slices.Clip(s.Instructed), i.Files...)
	}
	if c.changed {
		c.Result.Content = append(slices.Clip(c.Result.Content), Text(changedNote+shorten(c.Arguments, 2000)))
	}
	c.change, c.resultKey, c.jobRuns = p.Change, p.Key, p.JobRuns
	s.Tools.merge(p.Tools)
	line := Line{Call: c.ID, Tool: c.Tool, Args: shorten(c.Arguments, 80), Subject: subject(c.Arguments), Outcome: p.Outcome,
		Failed: !Succeeded(p.IsError, p.ExitCode), ExitCode: p.ExitCode, Delivery: p.Delivery, Found: singleLine(PlainText(p.Content), 160)}
	switch {
	case p.Outcome == Refused:
		line.Found = singleLine(c.Decision.Reason, 160)
	case c.Late && p.Outcome == OK:
		line.Found = "allowed" // the result is for the program
	}
	for _, file := range p.Files {
		line.Files = append(line.Files, file.Path)
	}
	t.Account = append(t.Account, line)
	if c.Late && (c.Left || t.agentAway()) && p.Outcome != NotRun { // else no one has answered
		s.decidedLate(c)
	}
	if t.open > 0 || s.Created.External { // the loop guard does not judge the steps of an external agent
		return
	}
	s.settleStep()
	if t.Phase != Interrupting {
		t.Phase = Ready
	}
	s.window.compactions = 0
	t.settledStep()
}

// instructionsNote precedes [Instructions] in a result.
const instructionsNote = "[Not part of the result: instructions of the project for what this call touched. They hold from here on.]\n\n"

// changedNote precedes, in the result of a call, the arguments that hooks have given it.
const changedNote = "[Not part of the result: a hook of the person changed what the call was given to:]\n"

// merge applies a change of the tools' state.
func (to *ToolState) merge(change *ToolState) {
	if change == nil {
		return
	}
	to.Dir = cmp.Or(change.Dir, to.Dir)
	to.Jobs = max(to.Jobs, change.Jobs)
	to.Seen = append(to.Seen, change.Seen...)
}

// mayStart reports whether call i may start now. Writers run alone, in the order asked.
// Other calls may run concurrently and overtake a call that waits for a decision, but
// not a writer.
func (t *Turn) mayStart(i int) bool {
	writer := t.Calls[i].Class == Writes
	for _, o := range t.Calls[t.first:max(t.first, i)] {
		if o.Status != CallDone && (writer || o.Class == Writes || o.Status == CallNamed) {
			return false
		}
	}
	return true
}

// shorten cuts s to at most n bytes, at a character boundary, and marks the cut.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
