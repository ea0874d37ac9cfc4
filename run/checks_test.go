package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A ledger checks what every log must have while it is replayed: each call is
// inspected, allowed, started and settled in that order and settled once; nothing
// starts after an interrupt or a submission; no call that writes starts twice; the
// history is one that a provider accepts at every request. The errors name the
// guarantee of ARCHITECTURE.md.
type ledger struct {
	s           State
	calls       []callRecord // by number
	interrupted bool
	submitted   bool // in this turn
	submissions []int
	checked     int // messages of s that need no further look
	said        []Words
	then        bool   // words that were said with an interrupt wait
	thenParts   []Part // these
	hooks       map[string]bool
	shown       []string // to the hooks of UserPromptSubmit that ran last
	unscreened  []string // these, while none have let them pass
	refused     []string // words that hooks refused
}

type callRecord struct {
	detached                 bool // it could be asked for its outcome
	class                    Class
	allowed                  bool
	judged                   HookAnswer
	starts, settled, effects int
}

func (l *ledger) call(id CallID) *callRecord {
	n := number(id)
	if n >= len(l.calls) {
		l.calls = append(l.calls, make([]callRecord, n+1-len(l.calls))...)
	}
	return &l.calls[n]
}

func (l *ledger) add(e Event) error {
	switch p := e.Payload.(type) {
	case Submitted:
		if slices.Contains(l.submissions, p.Assignment) {
			return fmt.Errorf("guarantee 5: assignment %d has two results", p.Assignment)
		}
		l.submissions = append(l.submissions, p.Assignment)
		l.submitted = true
	case CallInspected:
		l.call(p.Call).class = p.Class
	case CallDecided:
		c := l.call(p.Call)
		if p.Decision.Source == ByModel && c.judged != map[bool]HookAnswer{true: HookAllows, false: HookDenies}[p.Decision.Allows()] {
			return fmt.Errorf("guarantee 6: %s was decided by a model that has said %q", p.Call, c.judged)
		}
		if c.allowed = p.Decision.Allows(); !c.allowed {
			c.settled++
		}
	case CallDetached:
		l.call(p.Call).detached = true
	case ApprovalInvalidated:
		l.call(p.Call).allowed = false
	case CallStarted:
		c := l.call(p.Call)
		c.starts++
		switch {
		case l.interrupted:
			return fmt.Errorf("guarantee 4: %s started after the interrupt", p.Call)
		case l.submitted:
			return fmt.Errorf("guarantee 5: %s started after the submission", p.Call)
		case !c.allowed:
			return fmt.Errorf("guarantee 6: %s started without an allowing decision", p.Call)
		case c.class == Writes && c.starts > 1 && !c.detached:
			return fmt.Errorf("guarantee 2: %s writes and was started twice", p.Call)
		case c.class == Reads && c.starts > maxDeaths:
			return fmt.Errorf("guarantee 2: %s was started %d times", p.Call, c.starts)
		}
		left := l.s.Left(e.At).Steps
		for _, o := range l.s.Turn.Calls {
			if o.Status != CallDone {
				left -= o.Reserved.Steps
			}
		}
		if p.Reserved.Steps > max(0, left) {
			return fmt.Errorf("%d steps are reserved for %s, and %d are left", p.Reserved.Steps, p.Call, left)
		}
	case CallSettled:
		l.call(p.Call).settled++
	case HookStarted:
		key := fmt.Sprint(p.Point, p.Call)
		switch {
		case l.interrupted && p.Point != SessionEnd:
			return errors.New("guarantee 4: hooks started after the interrupt")
		case p.Call != "" && l.hooks[key]:
			return fmt.Errorf("guarantee 2: the hooks of %s ran twice", key)
		case l.hooks == nil:
			l.hooks = map[string]bool{}
		}
		if l.hooks[key] = true; p.Point == UserPromptSubmit {
			parts, _ := l.s.Unscreened()
			l.shown = nil
			for _, part := range parts {
				l.shown = append(l.shown, part.Text)
			}
			l.unscreened = l.shown
		}
	case HookSettled:
		if p.Point == JudgeModel {
			l.call(p.Call).judged = p.Says
		}
		if p.Point == UserPromptSubmit && l.s.Turn.Phase != Interrupting {
			if l.unscreened = nil; p.Says == HookDenies {
				l.refused = append(l.refused, l.shown...)
			}
		}
	case RequestStarted:
		if l.interrupted {
			return errors.New("guarantee 4: a request started after the interrupt")
		}
	case Interrupted:
		l.interrupted = true
	case Prompted:
		l.interrupted, l.submitted = false, false
		if p.Answers != "" {
			l.call(p.Answers).settled++
		}
	case Compacted:
		l.checked = 0
	case Ended:
		if p.End == "" || p.Reason == "" && p.End != Completed {
			return fmt.Errorf("guarantee 1: ended without a reason: %+v", p)
		}
		if p.End == Completed && l.s.owesOutput() {
			return errors.New("guarantee 5: completed without the result that it owes")
		}
	}
	if err := l.s.apply(e); err != nil {
		return fmt.Errorf("guarantee 10: the log does not replay: %w", err)
	}
	if err := l.words(e); err != nil {
		return err
	}
	if _, ok := e.Payload.(RequestStarted); ok {
		return l.history()
	}
	return nil
}

// words follows what was said: it waits, is delivered, came back or was withdrawn.
func (l *ledger) words(e Event) error {
	switch p := e.Payload.(type) {
	case Said:
		l.said = append(l.said, Words{ID: p.ID, Parts: p.Parts})
	case Withdrawn:
		l.said = slices.DeleteFunc(l.said, func(w Words) bool { return w.ID == p.ID })
	case Interrupted:
		l.then = l.then || len(p.Then) > 0
	case Prompted:
		l.then = l.then && !slices.EqualFunc(p.Parts, l.thenParts, func(a, b Part) bool { return a.Text == b.Text })
	}
	if l.then && len(l.s.Turn.Interrupt.Then) == 0 && !slices.ContainsFunc(l.s.Returned, func(w Words) bool { return strings.HasPrefix(w.ID, "then_") }) {
		return errors.New("the words of an interrupt are lost")
	}
	l.thenParts = l.s.Turn.Interrupt.Then
	l.then = len(l.thenParts) > 0
	for i := 0; i < len(l.said); i++ {
		w := l.said[i]
		switch {
		case indexWords(l.s.Queue, w.ID) >= 0 || indexWords(l.s.Turn.Words, w.ID) >= 0:
			continue
		case indexWords(l.s.Returned, w.ID) >= 0, l.delivered(w):
			l.said = slices.Delete(l.said, i, i+1)
			i--
		default:
			return fmt.Errorf("message %s is lost", w.ID)
		}
	}
	return nil
}

// delivered reports whether one of the latest messages has the words.
func (l *ledger) delivered(w Words) bool {
	for _, m := range l.s.Messages[max(0, len(l.s.Messages)-3):] {
		for _, p := range m.Parts {
			if m.Role == User && p.Type == TextPart && p.Text == w.Parts[0].Text {
				return true
			}
		}
	}
	return false
}

// history holds the messages since the last look against what providers demand.
func (l *ledger) history() error {
	for _, m := range l.s.Messages {
		for _, p := range m.Parts {
			if m.Role == User && slices.Contains(slices.Concat(l.refused, l.unscreened), p.Text) && strings.ContainsAny(p.Text, "0123456789") {
				return fmt.Errorf("words that a hook refused, or has not let pass, go out: %q", p.Text)
			}
		}
	}
	from := max(0, min(l.checked, len(l.s.Messages))-1) // its results may have come since
	l.checked = len(l.s.Messages)
	return checkHistory(l.s.Messages[from:])
}

// atRest reports whether no turn is open and nothing is owed but decisions on calls that an interrupt has kept.
func atRest(s State) bool {
	return !s.Turn.Open() && !slices.ContainsFunc(s.Next(), func(c Command) bool { _, decide := c.(Decide); return !decide })
}

// end checks the log of a run at rest.
func (l *ledger) end() error {
	switch {
	case !atRest(l.s):
		return errors.New("guarantee 1: at rest something is owed")
	case l.s.Turn.End.End == "":
		return errors.New("guarantee 1: it does not say why it ended")
	}
	for n, c := range l.calls {
		if c.class == Writes && c.effects > 1 {
			return fmt.Errorf("guarantee 2: the effect of c_%d happened %d times", n, c.effects)
		}
		if c.effects > c.starts && c.class != Resumable || c.effects > 0 && c.starts == 0 {
			return fmt.Errorf("guarantee 2: c_%d had %d effects and was started %d times", n, c.effects, c.starts)
		}
		open, _ := l.s.Turn.Call(CallID("c_" + itoa(n)))
		if c.class != "" && c.settled != 1 && (c.settled != 0 || !open.Question && l.s.Turn.End.End != Asked && !l.s.Turn.keeps(&open)) {
			return fmt.Errorf("guarantee 3: c_%d has %d results", n, c.settled)
		}
	}
	if l.s.Turn.End.End == Asked {
		return nil // the calls of the last message are open
	}
	return checkHistory(l.s.Messages)
}

// checkLog checks a finished log.
func checkLog(log []Event) error {
	var l ledger
	for _, e := range log {
		if err := l.add(e); err != nil {
			return fmt.Errorf("event %d: %w", l.s.Seq+1, err)
		}
	}
	return l.end()
}

// checkHistory holds messages against what providers demand.
func checkHistory(messages []Message) error {
	if len(messages) > 0 && messages[0].Role != User && messages[0].ID == "m_1" {
		return errors.New("guarantee 3: the first message is not the user's")
	}
	for i, m := range messages {
		if len(m.Parts) == 0 {
			return fmt.Errorf("guarantee 3: message %s is empty", m.ID)
		}
		n := 0
		for _, p := range m.Parts {
			if p.Type != CallPart {
				continue
			}
			if i+1 == len(messages) {
				return fmt.Errorf("guarantee 3: the calls of %s have no results", m.ID)
			}
			if parts := messages[i+1].Parts; n >= len(parts) || parts[n].Type != ResultPart || parts[n].Result.Call != p.Call.ID {
				return fmt.Errorf("guarantee 3: call %s is not answered in its place", p.Call.ID)
			}
			n++
		}
		if i == 0 {
			continue
		}
		before := countCalls(messages[i-1].Parts)
		for j, p := range m.Parts {
			if p.Type == ResultPart && j >= before {
				return fmt.Errorf("guarantee 3: message %s answers a call that the one before did not make", m.ID)
			}
		}
	}
	return nil
}
