package run

import (
	"fmt"
	"slices"
	"strings"
)

func (s *State) applyRequestStarted(e Event, f RequestStarted) error {
	t := &s.Turn
	switch {
	case !t.Open || s.Created.External:
		return refuse("a request while no turn of our own is open")
	case t.Request.Open:
		return refuse("a request while one is under way")
	case t.Interrupt.Cause != "":
		return refuse("a request after the interrupt")
	case t.unsettled():
		return refuse("a request while calls are open")
	case f.Attempt != t.Request.Attempt+1:
		return refuse("attempt %d of a request after %d", f.Attempt, t.Request.Attempt)
	}
	if f.Attempt == 1 && f.Purpose == ForStep {
		t.Steps++
	}
	if f.Purpose == ForSynthesis {
		t.ending = f.End
	}
	t.stepDone = false
	t.after = afterWords
	s.flush()
	t.Request.Purpose, t.Request.Open, t.Request.Attempt = f.Purpose, true, f.Attempt
	t.Request.started = e.At
	return nil
}

// flush makes what waits for the model a message: results in the order asked,
// then words.
func (s *State) flush() {
	t := &s.Turn
	parts := make([]Part, 0, len(t.Calls)+len(t.Words))
	for i := range t.Calls {
		if s.Created.External {
			break // the agent has had them, by its own wire
		}
		result := t.Calls[i].Result // not a pointer into the calls, which would keep all of them
		parts = append(parts, Part{Type: ResultPart, Result: &result})
	}
	for _, w := range t.Words {
		parts = append(parts, w.Parts...)
	}
	if len(parts) > 0 {
		s.say(User, parts)
	}
	t.Calls, t.Words = nil, nil
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

func (s *State) applyRequestFailed(e Event, f RequestFailed) error {
	t := &s.Turn
	if !t.Open || !t.Request.Open || s.Created.External {
		return refuse("a request failed that was not under way")
	}
	t.guard.model += e.At.Sub(t.Request.started)
	t.Request.Open = false
	t.Request.Failures++
	again := !f.RetryAt.IsZero() && t.Request.Failures <= MaxRetries
	switch {
	case again:
		t.Request.RetryAt = f.RetryAt
	case t.Request.Purpose == ForSynthesis:
		t.synth = synthFailed
		t.Request = InFlight{}
	case t.Request.Purpose == ForSummary:
		s.window.summaryFailed = true
		t.Request = InFlight{}
	case f.Kind == ErrTooLong && !s.window.tooLong:
		s.window.refused() // compaction is owed, once
		t.Request = InFlight{}
		t.Steps-- // the step begins again
	default:
		t.failure = Ended{End: EndFailed, Reason: string(f.Kind), Detail: f.Reason}
		if f.Kind == ErrRefused {
			t.failure.End = EndRefused
		}
		if f.Kind == ErrTooLong {
			t.failure = Ended{End: LimitReached, Reason: "context_full",
				Detail: "the conversation does not fit the model's window even after compaction; go on with a model that has a larger one, or start a new run"}
		}
	}
	return nil
}

// MaxRetries is how often a request is repeated after failures that may pass.
const MaxRetries = 3

// maxDeaths is how many processes may die at the same command before the turn
// is given up.
const maxDeaths = 3

func (s *State) applyRequestLost(e Event) error {
	t := &s.Turn
	if !t.Open || !t.Request.Open {
		return refuse("a request was lost that was not under way")
	}
	t.Request.Open = false
	t.Request.Deaths++
	t.Request.RetryAt = e.At
	if t.Request.Deaths < maxDeaths {
		return nil
	}
	switch t.Request.Purpose {
	case ForSynthesis:
		t.synth = synthFailed
	case ForSummary:
		s.window.summaryFailed = true
	default:
		t.failure = crashing("a model request was under way")
	}
	t.Request = InFlight{}
	return nil
}

func crashing(when string) Ended {
	return Ended{End: EndFailed, Reason: "crashing",
		Detail: fmt.Sprintf("the process died %d times while %s; look at the log of pawl before going on", maxDeaths, when)}
}

func (s *State) applyReplied(e Event, f Replied) error {
	t := &s.Turn
	if !t.Open || !t.Request.Open || s.Created.External {
		return refuse("an answer that nobody waits for")
	}
	if err := s.numbered(f.Parts); err != nil {
		return err
	}
	purpose := t.Request.Purpose
	t.guard.model += e.At.Sub(t.Request.started)
	t.Request = InFlight{}
	t.Usage, s.Usage = t.Usage.Add(f.Usage), s.Usage.Add(f.Usage)

	switch purpose {
	case ForSynthesis:
		if text := PlainText(f.Parts); strings.TrimSpace(text) != "" {
			s.synthesis(text)
		} else {
			t.synth = synthFailed
		}
		s.calls += countCalls(f.Parts) // whatever it asked for, nothing runs any more
		return nil
	case ForSummary:
		s.calls += countCalls(f.Parts)
		if text := strings.TrimSpace(PlainText(f.Parts)); text != "" {
			t.reply.summary = text
			t.after = afterSummary
		} else {
			s.window.summaryFailed = true
		}
		return nil
	}
	s.window.measured(f.Usage)
	s.replied(f)
	return nil
}

// numbered checks that the calls of a message are numbered on.
func (s *State) numbered(parts []Part) error {
	n := s.calls
	for _, p := range parts {
		if p.Type != CallPart {
			continue
		}
		n++
		if p.Call == nil || p.Call.ID != CallID("c_"+itoa(n)) {
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

// replied takes in the finished message of a step.
func (s *State) replied(f Replied) {
	t := &s.Turn
	text := strings.TrimSpace(PlainText(f.Parts))
	calls := countCalls(f.Parts)
	previous := t.reply.hash
	t.reply = reply{stop: f.Stop, calls: calls > 0, text: text != "", raw: s.Config.Controlled()}
	t.chosen = StepChosen{}
	if calls == 0 && text != "" {
		t.reply.hash = digest(text)
		t.reply.promises = Promises(text)
	}
	empty := calls == 0 && (text == "" || f.Stop == StopToolUse) && !terminal(f.Stop) &&
		f.Stop != StopMaxTokens && f.Stop != StopPause
	if empty {
		t.empties++
	} else {
		t.empties = 0
	}
	if f.Stop == StopMaxTokens {
		t.cuts++
	} else {
		t.cuts = 0
	}
	if text != "" || calls > 0 || f.Stop == StopPause {
		// An answer that is to be repeated as if it had not been is not kept.
		if !empty || t.empties > 1 {
			s.say(Assistant, f.Parts)
		}
	}
	t.Calls = nil
	s.name(f.Parts)
	for i := range t.Calls {
		if f := t.Calls[i].Fault; s.Config.Control == Auto && (f == FaultNotJSON || f == FaultEmpty) {
			s.malformed++
		}
	}
	if calls > 0 {
		t.after = afterWords
		return
	}
	t.after = afterReply
	if t.reply.hash != "" && t.reply.hash == previous {
		t.guard.fruitless()
	} else if t.reply.text {
		t.guard.barren = 0
	}
}

// name makes the calls of a message known.
func (s *State) name(parts []Part) {
	t := &s.Turn
	for _, p := range parts {
		if p.Type != CallPart {
			continue
		}
		s.calls++
		t.Asked++
		t.Calls = append(t.Calls, CallState{Call: *p.Call, Status: CallNamed})
	}
}

func terminal(r StopReason) bool {
	return r == StopFiltered || r == StopRefusal || r == StopGuardrail
}

func (s *State) applyNudged(f Nudged) error {
	t := &s.Turn
	switch {
	case !t.Open || t.Request.Open || t.Interrupt.Cause != "" || t.unsettled() || t.after != afterReply:
		return refuse("nudged while the model has not spoken last")
	case f.Text == "":
		return refuse("nudged without words")
	}
	if f.Reason == NudgePromised {
		t.nudges++
	}
	t.Words = append(slices.Clip(t.Words), Words{Parts: []Part{Text(f.Text)}, own: true})
	t.after = afterWords
	return nil
}
