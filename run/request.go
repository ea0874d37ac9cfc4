package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/digest"
)

func (s *State) applyRequestStarted(e Event, p RequestStarted) error {
	t := &s.Turn
	switch {
	case s.Created.External != (p.Purpose == ForAgent):
		return refuse("a request for %s of this kind of run", p.Purpose)
	case t.Phase == Idle || t.Phase == Interrupting:
		return refuse("a request while no turn is at work")
	case t.Phase == Requesting:
		return refuse("a request while one is under way")
	case t.open > 0:
		return refuse("a request while calls are open")
	case t.Hooking(""):
		return refuse("a request while hooks run")
	case p.Attempt != t.attempt(p.Purpose):
		return refuse("attempt %d of a request after %d", p.Attempt, t.attempt(p.Purpose)-1)
	}
	if p.Purpose != t.Request.Purpose {
		t.Request = Operation{}
	}
	if p.Purpose == ForSynthesis {
		t.ending = p.End
	}
	s.flush()
	s.undelivered = nil
	t.Phase = Requesting
	t.Request.Purpose, t.Request.Attempt, t.Request.started = p.Purpose, p.Attempt, e.At
	t.Request.Wait, t.Request.Reason = 0, ""
	t.Request.observed, t.Request.worked = false, false
	t.unavailable = ""
	return nil
}

// attempt returns the number of the next attempt of a request for that purpose.
func (t *Turn) attempt(p Purpose) int {
	if p != t.Request.Purpose {
		return 1
	}
	return t.Request.Attempt + 1
}

// flush adds what waits for the model to the context as one message: results in the order
// of the calls, then words.
func (s *State) flush() {
	t := &s.Turn
	parts := make([]Part, 0, len(t.Calls)+len(t.Words))
	for i := range t.Calls {
		if s.Created.External {
			break // the agent received its results directly
		}
		result := t.Calls[i].Result // copied: a pointer would keep the whole call alive
		parts = append(parts, Part{Type: ResultPart, Result: &result})
	}
	for _, w := range t.Words {
		parts = append(parts, w.Parts...)
	}
	if len(parts) > 0 {
		s.say(User, parts)
	}
	if t.Words = nil; t.open == 0 { // else an interrupt has kept calls
		t.forget()
	}
}

// say adds a message to the context and returns its id.
func (s *State) say(r Role, parts []Part) string {
	s.messages++
	id := "m_" + itoa(s.messages)
	s.Messages = append(s.Messages, Message{ID: id, Role: r, Parts: parts})
	s.window.grow(parts)
	return id
}

func (s *State) lastID() string {
	if len(s.Messages) == 0 {
		return ""
	}
	return s.Messages[len(s.Messages)-1].ID
}

// How many processes may die during an operation before it is abandoned: maxDeaths of them
// after part of its answer had arrived, and maxEarlyDeaths at all. A process that was
// killed before anything had come of the operation says little about the operation.
const (
	maxDeaths      = 3
	maxEarlyDeaths = 20
)

func (s *State) applyRequestFailed(e Event, p RequestFailed) error {
	t := &s.Turn
	if t.Phase != Requesting {
		return refuse("a request failed that was not under way")
	}
	if p.Again && !s.again(p) {
		return refuse("a step that does not begin again")
	}
	if p.Reminder && (!s.owesOutput() || t.Reminders == 0 || t.Request.Purpose != ForStep && t.Request.Purpose != ForAgent) {
		return refuse("the time of a reminder is over where none was given")
	}
	t.guard.model += max(0, e.At.Sub(t.Request.started))
	if t.Request.observed { // an external agent that says how its turn ended has its message
		s.heard = s.messages
	}
	if p.Reminder { // it counts as an answer without the result
		t.Request, t.reply, t.Phase = Operation{}, reply{}, Spoken
		t.streaks[empty], t.streaks[cut] = 0, 0
		return nil
	}
	if t.Failures == 0 {
		t.Request.failing = s.Driven(e.At)
	}
	if p.Kind.broken() {
		t.Request.broken++
	}
	if p.RetryAfter > 0 && t.Request.Purpose != ForAgent {
		s.retry(e, p)
		return nil
	}
	switch {
	case s.failAside(t.Request.Purpose):
	case s.again(p):
		if p.Kind == ErrTooLong {
			s.window.refused() // Next owes a compaction, once
		} else {
			t.unavailable = s.unavailable(e, p)
		}
		t.Phase = Ready
	case p.Kind == ErrTooLong:
		t.fail(Ended{End: LimitReached, Reason: "context_full",
			Detail: "the conversation does not fit the model's window even after compaction; continue with a model that has a larger one, or start a new run"})
	case p.Kind == ErrRefused:
		t.fail(Ended{End: EndRefused, Reason: string(p.Kind), Detail: p.Reason})
	default:
		t.fail(s.gaveUp(e, p))
	}
	t.Request = Operation{}
	return nil
}

// failAside applies the failure of a request for an account or a summary, which does not
// end the turn. It returns false for any other request.
func (s *State) failAside(p Purpose) bool {
	switch p {
	case ForSynthesis:
		s.Turn.account = accountFailed
		s.Turn.Phase = Ending
	case ForSummary:
		s.window.summaryFailed = true
		s.Turn.Phase = Ready
	default:
		return false
	}
	return true
}

// fail sets how the turn will end.
func (t *Turn) fail(end Ended) { t.ending, t.Phase = end, Ending }

// resting is the phase between two attempts of a request.
func (t *Turn) resting() Phase {
	if t.Request.Purpose == ForSynthesis {
		return Ending
	}
	return Ready
}

func (s *State) applyResumed(p Resumed) error {
	t := &s.Turn
	switch {
	case !t.Open():
		return refuse("resumed while no turn is open")
	case p.Request && t.Phase != Requesting:
		return refuse("a request was lost that was not under way")
	}
	for _, id := range p.Calls {
		if c, ok := t.Call(id); !ok || c.Status != CallRunning || c.Class == Writes && c.Handle == "" || t.Phase == Interrupting {
			return refuse("call %s does not run, or must not run again", id)
		}
	}
	for _, id := range p.Calls {
		c := t.own(t.find(id))
		t.ask(c, CallAsked{}) // nobody waits for the answer any more
		t.advance(c, CallAllowed)
	}
	if i := slices.IndexFunc(t.hooks, func(h hookState) bool { return !h.done && t.asksAgain(h) }); i >= 0 {
		t.hooks = slices.Clone(t.hooks)
		t.hooks[i].deaths++
	}
	if !p.Request {
		return nil
	}
	t.Request.Deaths++
	if t.Request.observed {
		t.Request.lateDeaths++
	}
	t.Phase = t.resting()
	if t.Request.Purpose == ForAgent {
		t.Phase = Ready
		s.stopAgent()
		t.tell(agentCutText)
	}
	if t.Request.lateDeaths < maxDeaths && t.Request.Deaths < maxEarlyDeaths {
		return nil
	}
	if !s.failAside(t.Request.Purpose) {
		t.fail(Ended{End: EndFailed, Reason: "crashing", Detail: fmt.Sprintf(
			"the process ended %d times during the same request; find the cause before continuing (pawl's own messages are in log/ of its state folder)", t.Request.Deaths)})
	}
	t.Request = Operation{}
	return nil
}

func (s *State) applyReplied(e Event, p Replied) error {
	t := &s.Turn
	if t.Phase != Requesting {
		return refuse("an answer without a request")
	}
	if err := s.numbered(p.Parts); err != nil {
		return err
	}
	calls := countCalls(p.Parts)
	purpose := t.Request.Purpose
	switch a := p.Action; {
	case purpose == ForAgent && calls > 0:
		return refuse("calls in the last words of an external agent")
	case a == nil || purpose != ForStep:
	case (a.Kind == "") == (a.Problem == ""), a.Problem != "" && (a.Feedback == "" || calls > 0):
		return refuse("an action that says neither what to do nor what is wrong")
	case a.Problem == "" && (a.Kind == StepTool || a.Kind == StepAsk) != (calls > 0):
		return refuse("an action of kind %s with %d calls", a.Kind, calls)
	}
	t.guard.model += max(0, e.At.Sub(t.Request.started))
	t.Request = Operation{}
	text := PlainText(p.Parts)
	blank := strings.TrimSpace(text) == ""
	switch purpose {
	case ForSynthesis:
		t.Phase = Ending
		s.calls += calls // its calls do not run
		if blank || calls > 0 {
			t.account = accountFailed // an answer with calls is not an account
		} else {
			s.synthesis(text)
		}
	case ForSummary:
		s.calls += calls
		if t.Phase = Summarized; blank {
			t.Phase, s.window.summaryFailed = Ready, true
		}
		t.reply.summary = strings.TrimSpace(text)
	case ForAgent:
		s.agentReplied(p, text)
	default:
		s.window.measured(p.Usage)
		s.replied(p, text, calls)
	}
	return nil
}

// numbered checks that the calls of a message have the next numbers.
func (s *State) numbered(parts []Part) error {
	n := s.calls
	for _, p := range parts {
		if p.Type != CallPart {
			continue
		}
		n++
		if p.Call == nil || number(p.Call.ID) != n {
			return refuse("the message's calls are not numbered on from c_%d", s.calls+1)
		}
	}
	return nil
}

func countCalls(parts []Part) int {
	n := 0
	for _, p := range parts {
		if p.Type == CallPart {
			n++
		}
	}
	return n
}

// replied applies the finished message of a step.
func (s *State) replied(p Replied, text string, calls int) {
	t := &s.Turn
	blank := strings.TrimSpace(text) == ""
	previous := t.reply.hash
	switch {
	case p.Action != nil:
		t.text = cmp.Or(p.Action.Message, t.text)
	case t.reply.unfinished:
		t.text += text
	case !blank:
		t.text = text
	}
	t.reply = reply{stop: p.Stop, promises: p.Promises}
	t.reply.unfinished = calls == 0 && p.Action == nil && (p.Stop == StopMaxTokens || p.Stop == StopPause)
	if calls == 0 && !blank && p.Action == nil {
		t.reply.hash = digest.Of(strings.TrimSpace(text))
	}
	nothing := calls == 0 && (blank || p.Stop == StopToolUse) && !terminal(p.Stop) &&
		p.Stop != StopMaxTokens && p.Stop != StopPause
	t.streak(empty, nothing)
	t.streak(cut, p.Stop == StopMaxTokens && p.Action == nil)
	// The first of several empty answers is not kept: the request is repeated as it was.
	if (!blank || calls > 0 || len(p.Parts) > 0 && p.Stop == StopPause) && !(nothing && t.streaks[empty] == 1) {
		s.say(Assistant, p.Parts)
	}
	t.forget()
	for _, part := range p.Parts {
		if part.Type != CallPart {
			continue
		}
		s.name(*part.Call)
		if f := part.Call.Fault; s.Config.Control == Auto && (f == FaultNotJSON || f == FaultEmpty) {
			s.malformed++
		}
	}
	if t.Phase = Spoken; calls > 0 {
		t.Phase = Calling
	}
	s.acted(p.Action)
	switch {
	case calls > 0:
	case t.reply.hash != "" && t.reply.hash == previous:
		t.fruitless()
	case !blank:
		t.streaks[fruitless] = 0
	}
	s.assignment.problem = p.Unfit
}

// streak counts consecutive answers of a kind.
func (t *Turn) streak(k streak, again bool) {
	if again {
		t.streaks[k]++
	} else {
		t.streaks[k] = 0
	}
}

func terminal(r StopReason) bool {
	return r == StopFiltered || r == StopRefusal || r == StopGuardrail
}
