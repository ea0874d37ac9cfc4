package run

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// ErrOrder is the refusal of an event that cannot follow: too late, twice, or
// out of order. Nothing has changed; an effect that was about to follow from the
// event must not happen.
var ErrOrder = errors.New("run: event out of order")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOrder, fmt.Sprintf(format, args...))
}

// Apply returns the state after e, or s itself and an error that is [ErrOrder] if
// e cannot follow s.
func (s State) Apply(e Event) (State, error) {
	if e.Seq != 0 && e.Seq != s.Seq+1 {
		return s, refuse("event %d after %d", e.Seq, s.Seq)
	}
	next := s
	if err := next.apply(e); err != nil {
		return s, err
	}
	next.Seq++
	next.At = e.At
	return next, nil
}

// Replay returns the state after events, starting from nothing.
func Replay(events []Event) (State, error) {
	return ReplaySeq(func(yield func(Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	})
}

// ReplaySeq is [Replay] of events as they are read. It stops at the first error,
// of reading or of an event that cannot follow, and returns the state before it.
func ReplaySeq(events iter.Seq2[Event, error]) (State, error) {
	var s State
	s.Turn.own = true // nobody else has this state: what Apply would copy first is written in place
	for e, err := range events {
		if err == nil && e.Seq != 0 && e.Seq != s.Seq+1 {
			err = refuse("event %d after %d", e.Seq, s.Seq)
		}
		if err == nil {
			err = s.apply(e)
		}
		if err != nil {
			s.Turn.own = false
			return s, fmt.Errorf("event %d: %w", s.Seq+1, err)
		}
		s.Seq++
		s.At = e.At
	}
	s.Turn.own = false
	return s, nil
}

func (s *State) apply(e Event) error {
	if _, ok := e.Fact.(Created); !ok && s.Created.Run == "" {
		return refuse("%T before the run was created", e.Fact)
	}
	switch f := e.Fact.(type) {
	case Created:
		return s.applyCreated(f)
	case Configured:
		s.Config = f.Config
		return nil
	case Prompted:
		return s.applyPrompted(e, f)
	case QuestionAnswered:
		return s.applyQuestionAnswered(e, f)
	case Steered:
		return s.applySteered(f)
	case Queued:
		return s.applyQueued(f)
	case Withdrawn:
		return s.applyWithdrawn(f)
	case RequestStarted:
		return s.applyRequestStarted(e, f)
	case RequestFailed:
		return s.applyRequestFailed(e, f)
	case RequestLost:
		return s.applyRequestLost(e)
	case Replied:
		return s.applyReplied(e, f)
	case CallReceived:
		return s.applyCallReceived(f)
	case CallAsked:
		return s.applyCallAsked(f)
	case CallAllowed:
		return s.applyCallAllowed(f)
	case CallRefused:
		return s.applyCallRefused(e, f)
	case CallStarted:
		return s.applyCallStarted(e, f)
	case CallLost:
		return s.applyCallLost(f)
	case CallSettled:
		return s.applyCallSettled(e, f)
	case CallNoted:
		return s.applyCallNoted(f)
	case Nudged:
		return s.applyNudged(f)
	case Interrupted:
		return s.applyInterrupted(f)
	case Compacted:
		return s.applyCompacted(f)
	case Synthesized:
		return s.applySynthesized(f)
	case Ended:
		return s.applyEnded(f)
	case DriveStarted:
		return s.applyDriveStarted(e, f)
	case Observed:
		return s.applyObserved(f)
	case DriveEnded:
		return s.applyDriveEnded(f)
	}
	return refuse("unknown fact %T", e.Fact)
}

func (s *State) applyCreated(f Created) error {
	switch {
	case s.Created.Run != "":
		return refuse("the run was created already")
	case f.Run == "":
		return refuse("a run without an id")
	}
	s.Created = f
	s.Config = f.Config
	return nil
}

// open begins a turn.
func (s *State) open(e Event) {
	s.Turn = Turn{N: s.Turn.N + 1, Open: true, Started: e.At, after: afterWords, own: s.Turn.own}
	s.Turn.Usage.Priced = true
	if s.Turn.N == 1 {
		s.Usage.Priced = true // of nothing, all prices are known
	}
	s.window.tooLong = false
}

func (s *State) applyPrompted(e Event, f Prompted) error {
	switch {
	case s.Turn.Open:
		return refuse("prompted in the middle of a turn")
	case s.Turn.unsettled():
		return refuse("prompted while a question is open")
	case len(f.Parts) == 0 && !f.Continue:
		return refuse("prompted without words")
	case f.Continue && s.Turn.N == 0:
		return refuse("nothing to continue")
	}
	if i := indexWords(s.Queue, f.Queued); f.Queued != "" {
		if i < 0 {
			return refuse("queued message %q is not there", f.Queued)
		}
		s.Queue = slices.Delete(slices.Clone(s.Queue), i, i+1)
	}
	parts := f.Parts
	if len(parts) == 0 {
		parts = []Part{Text(ContinueText)}
	}
	s.open(e)
	s.Returned = nil
	s.Turn.prompt = s.say(User, parts)
	if s.task == "" {
		s.task = s.Turn.prompt
	}
	return nil
}

// ContinueText is what the model is told when the person says no more than
// "go on".
const ContinueText = "Continue where you stopped."

func (s *State) applyQuestionAnswered(e Event, f QuestionAnswered) error {
	if s.Turn.Open {
		return refuse("answered in the middle of a turn")
	}
	i := s.Turn.find(f.Call)
	if i < 0 || !s.Turn.Calls[i].Question || s.Turn.Calls[i].Status == CallDone {
		return refuse("call %s is no open question", f.Call)
	}
	calls, words := slices.Clone(s.Turn.Calls), s.Turn.Words
	s.open(e)
	s.Turn.Calls, s.Turn.Words = calls, words
	s.Turn.prompt = s.lastID() // the message that asked
	s.settle(e, i, CallSettled{Call: f.Call, Outcome: Answered, Content: []Part{Text(f.Text)}})
	return nil
}

func (s *State) applySteered(f Steered) error {
	if err := s.fresh(f.ID, f.Parts); err != nil {
		return err
	}
	if !s.Turn.Open {
		return refuse("steered while no turn is open")
	}
	if s.Turn.Interrupt.Cause != "" {
		s.Returned = append(s.Returned, Words{ID: f.ID, Parts: f.Parts})
		return nil
	}
	s.Turn.Words = append(slices.Clip(s.Turn.Words), Words{ID: f.ID, Parts: f.Parts})
	return nil
}

func (s *State) applyQueued(f Queued) error {
	if err := s.fresh(f.ID, f.Parts); err != nil {
		return err
	}
	if !s.Turn.Open {
		return refuse("queued while no turn is open")
	}
	if s.Turn.Interrupt.Cause != "" {
		s.Returned = append(s.Returned, Words{ID: f.ID, Parts: f.Parts})
		return nil
	}
	s.Queue = append(slices.Clip(s.Queue), Words{ID: f.ID, Parts: f.Parts})
	return nil
}

// fresh checks something said while the agent works.
func (s *State) fresh(id string, parts []Part) error {
	switch {
	case id == "" || len(parts) == 0:
		return refuse("words without an id or without words")
	case indexWords(s.Queue, id) >= 0 || indexWords(s.Turn.Words, id) >= 0 || indexWords(s.Returned, id) >= 0:
		return refuse("message %q is there already", id)
	}
	return nil
}

func (s *State) applyWithdrawn(f Withdrawn) error {
	if f.ID == "" {
		return refuse("withdrawn without an id")
	}
	if i := indexWords(s.Queue, f.ID); i >= 0 {
		s.Queue = slices.Delete(slices.Clone(s.Queue), i, i+1)
		return nil
	}
	if i := indexWords(s.Turn.Words, f.ID); i >= 0 && s.Turn.Open {
		s.Turn.Words = slices.Delete(slices.Clone(s.Turn.Words), i, i+1)
		return nil
	}
	return refuse("message %q does not wait to be delivered", f.ID)
}

func indexWords(words []Words, id string) int {
	return slices.IndexFunc(words, func(w Words) bool { return w.ID == id })
}

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
		s.window.tooLong = true // compaction is owed, once
		t.Request = InFlight{}
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
	t.reply = reply{stop: f.Stop, calls: calls > 0, text: text != ""}
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

func (s *State) applyInterrupted(f Interrupted) error {
	t := &s.Turn
	switch {
	case !t.Open:
		return refuse("interrupted while no turn is open")
	case t.Interrupt.Cause != "":
		return refuse("interrupted already")
	case f.Cause == "":
		return refuse("an interrupt without a cause")
	case len(f.Partial) > 0 && !t.Request.Open:
		return refuse("a partial answer without a request")
	}
	if err := s.numbered(f.Partial); err != nil {
		return err
	}
	if f.Cause == ByWait {
		i := t.find(f.Call)
		if i < 0 || t.Calls[i].Status != CallIsAsked {
			return refuse("call %s does not wait for a decision", f.Call)
		}
	}
	if t.Request.Open && t.Request.Purpose == ForStep && meaningful(f.Partial) {
		s.say(Assistant, f.Partial)
		t.Calls = nil
		s.name(f.Partial)
	} else {
		s.calls += countCalls(f.Partial)
	}
	t.Request = InFlight{}
	f.Partial = nil
	t.Interrupt = f
	// What was said meanwhile goes back to the input, visible, and is never
	// delivered by itself.
	for _, w := range t.Words {
		if !w.own {
			s.Returned = append(slices.Clip(s.Returned), w)
		}
	}
	s.Returned = append(slices.Clip(s.Returned), s.Queue...)
	t.Words, s.Queue = nil, nil
	if len(t.Calls) == 0 || !t.unsettled() {
		t.Words = append(slices.Clip(t.Words), Words{Parts: []Part{Text(cutRequest(f))}, own: true})
	}
	return nil
}

// meaningful reports whether a partial answer is worth a message: thinking alone
// is not one that a provider takes back.
func meaningful(parts []Part) bool {
	for _, p := range parts {
		if p.Type == CallPart || p.Type == TextPart && strings.TrimSpace(p.Text) != "" {
			return true
		}
	}
	return false
}

func (s *State) applySynthesized(f Synthesized) error {
	t := &s.Turn
	if !t.Open || t.Request.Open || t.unsettled() || t.synth == synthDone || f.Text == "" {
		return refuse("a synthesis where none is owed")
	}
	t.ending = f.End
	s.synthesis(f.Text)
	return nil
}

func (s *State) applyEnded(f Ended) error {
	t := &s.Turn
	switch {
	case !t.Open:
		return refuse("ended while no turn is open")
	case t.Request.Open:
		return refuse("ended while a request is under way")
	case f.End == "":
		return refuse("an end without a name")
	case f.End == Asked && (len(s.questions()) == 0 || t.running() > 0):
		return refuse("ended asked without an open question at rest")
	case f.End != Asked && t.unsettled():
		return refuse("ended while calls are open")
	}
	if f.End != Asked {
		s.flush()
	}
	t.Open = false
	t.End = f
	return nil
}
