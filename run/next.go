package run

import (
	"cmp"
	"fmt"
	"slices"
)

// Next returns the commands owed now. It depends on s alone, so a driver that has
// just replayed a log asks the same question as one that never stopped. A command
// that is in flight and no longer returned must be cancelled.
func (s State) Next() []Command {
	t := &s.Turn
	switch {
	case s.Created.Run == "":
		return nil
	case !t.Open:
		if len(t.Interrupt.Then) > 0 && t.Interrupt.personal() && !t.unsettled() {
			return []Command{Record{Prompted{Parts: t.Interrupt.Then}}}
		}
		if t.End.End == Completed && len(s.Queue) > 0 {
			return []Command{Record{Prompted{Parts: s.Queue[0].Parts, Queued: s.Queue[0].ID}}}
		}
		return nil
	case t.Interrupt.Cause != "":
		return s.nextInterrupted()
	case s.Created.External:
		return s.nextExternal()
	case t.Request.Open:
		return []Command{s.request(t.Request.Purpose, t.Request.Attempt)}
	case t.unsettled():
		return s.nextCalls()
	}
	return []Command{s.nextAtRest()}
}

// nextInterrupted owes nothing to the world: calls that were not started get
// their answer, those that were are their worker's to settle.
func (s State) nextInterrupted() []Command {
	t := &s.Turn
	var owed []Command
	for i := range t.Calls {
		c := &t.Calls[i]
		if c.Status == CallDone || c.Status == CallRuns {
			continue
		}
		f := CallSettled{Call: c.ID, Outcome: NotRun, IsError: true, Content: []Part{Text(cutRequest(t.Interrupt))}}
		if t.Interrupt.Cause == ByWait && t.Interrupt.Call == c.ID {
			f.Outcome, f.Content = Refused, []Part{Text(RefusedByWait)}
		}
		owed = append(owed, Record{f})
	}
	if len(owed) > 0 || t.running() > 0 {
		return owed
	}
	if t.ending.End != "" {
		return []Command{s.ending(t.ending)}
	}
	return []Command{s.ending(t.Interrupt.end(s))}
}

// nextCalls owes what the open calls of the last message need.
func (s State) nextCalls() []Command {
	t := &s.Turn
	var owed, starts []Command
	blocked := t.blocked(s)
	for i := range t.Calls {
		c := &t.Calls[i]
		switch c.Status {
		case CallNamed:
			if problem := blocked(i); problem != "" {
				owed = append(owed, Record{CallAsked{Call: c.ID, Tool: c.Tool, Class: Reads, Problem: problem}})
			} else {
				owed = append(owed, Ask{c.Call})
			}
		case CallIsAsked:
			switch {
			case c.Problem != "":
				owed = append(owed, Record{CallSettled{Call: c.ID, Outcome: Invalid, IsError: true,
					Content: []Part{Text(c.Problem)}, Key: ResultKey([]Part{Text(c.Problem)}, true)}})
			case !c.Question:
				owed = append(owed, Decide{*c})
			}
		case CallMay:
			if c.Attempt >= maxDeaths {
				owed = append(owed, Record{CallSettled{Call: c.ID, Outcome: NotRun, IsError: true,
					Content: []Part{Text("The process died three times while this ran; it was given up.")}}})
			} else if t.mayStart(i) {
				starts = append(starts, Perform{*c, c.Attempt + 1})
			}
		case CallRuns:
			owed = append(owed, Perform{*c, c.Attempt})
		}
	}
	slices.SortStableFunc(starts, func(a, b Command) int {
		return cmp.Compare(b.(Perform).Call.Priority, a.(Perform).Call.Priority)
	})
	starts = starts[:min(len(starts), max(0, s.Config.parallel()-t.running()))]
	owed = append(owed, starts...)
	if len(owed) == 0 {
		// All that is left is questions, and what stands behind them.
		return []Command{Record{Ended{End: Asked, Reason: "question", Detail: "answer the question to go on"}}}
	}
	return owed
}

// blocked returns why the i-th call of the last message cannot run, whatever its
// tool says: it came broken, the answer was refused, or the turn has spent a limit.
func (t *Turn) blocked(s State) func(i int) string {
	first := t.Asked - len(t.Calls)
	return func(i int) string {
		c := &t.Calls[i]
		spent, over := s.overspent()
		calls := s.Config.Limits.calls()
		switch {
		case terminal(t.reply.stop):
			return "The call was not run: the answer was stopped (" + string(t.reply.stop) + ")."
		case c.Fault == FaultCut:
			return "The call was cut off at the output limit before its arguments were complete, and was not run. Send it again with smaller input, in several calls if need be."
		case c.Fault == FaultNotJSON:
			return "The arguments are not a JSON object; the call was not run. What came: " + shorten(c.Raw, 300) + "\nSend the call again with one JSON object that fits the tool's schema."
		case c.Fault == FaultEmpty:
			return "The call names no tool, and was not run."
		case c.Fault != NoFault:
			return "The call was not run (" + string(c.Fault) + ")."
		case over:
			return "The call was not run: " + spent.Detail + "."
		case calls > 0 && first+i >= calls:
			return fmt.Sprintf("The call was not run: this turn's limit of %d calls is reached.", calls)
		}
		return ""
	}
}

// nextAtRest decides what follows when no call is open and no request under way.
func (s State) nextAtRest() Command {
	t := &s.Turn
	for i := range t.Calls {
		if t.Calls[i].note != "" {
			return Record{CallNoted{t.Calls[i].ID, t.Calls[i].note}}
		}
	}
	if s.Turn.ending.End == "" && s.handing.submission.Value != "" && s.Config.Output.Schema != "" {
		return s.ending(Ended{End: Completed}) // it is handed in: no further request is owed
	}
	if end, over := s.due(); over {
		return s.ending(end)
	}
	if s.Config.Control == Auto && s.malformed >= maxMalformed {
		c := s.Config
		c.Control = Controller
		return Record{Configured{c}}
	}
	if t.after == afterReply {
		if c := s.afterReply(); c != nil {
			return c
		}
	}
	if c := s.compaction(); c != nil {
		return c
	}
	return s.request(ForStep, t.Request.Attempt+1)
}

// afterReply answers a message without calls; nil means that the model is to be
// asked again.
func (s State) afterReply() Command {
	t := &s.Turn
	switch {
	case len(t.Words) > 0: // steering: the turn goes on
		return nil
	case t.reply.stop == StopMaxTokens:
		return Record{Nudged{NudgeCut, CutText}}
	case t.reply.stop == StopPause, t.empties == 1:
		return nil
	case t.empties == 2:
		return Record{Nudged{NudgeEmpty, EmptyText}}
	case s.owesOutput():
		return s.reminder()
	case t.chosen.Kind != "":
		end, _ := t.finished()
		return s.ending(end)
	case s.promised():
		return Record{Nudged{NudgePromised, PromisedText}}
	}
	return s.ending(Ended{End: Completed})
}

// promised reports whether the last answer promises work that it did not do, and
// the model is to be told so.
func (s *State) promised() bool {
	t := &s.Turn
	return t.reply.promises && t.reply.stop == StopEndTurn && !s.Config.NoNudge && len(t.Account) > 0 && t.nudges < maxNudges
}

// due returns the end that the turn has come to by itself, if it has.
func (s State) due() (Ended, bool) {
	t := &s.Turn
	finished := t.after == afterReply && len(t.Words) == 0
	if t.ending.End != "" {
		return t.ending, true
	}
	if t.failure.End != "" {
		return t.failure, true
	}
	if t.after == afterReply || len(t.Calls) > 0 {
		switch t.reply.stop {
		case StopFiltered, StopRefusal:
			return Ended{End: EndRefused, Reason: string(t.reply.stop), Detail: "the provider stopped the answer; say it differently"}, true
		case StopGuardrail:
			return Ended{End: GuardrailStopped, Reason: string(t.reply.stop), Detail: "a guardrail of the provider stopped the answer"}, true
		}
	}
	if end, ok := t.finished(); ok && end.End == GuardrailStopped {
		return end, true
	}
	if t.guard.loop != "" {
		return Ended{End: LoopStopped, Reason: t.guard.loop, Detail: loopDetail[t.guard.loop]}, true
	}
	for i := range t.Calls {
		if c := &t.Calls[i]; c.Attempt >= maxDeaths && c.Outcome == NotRun {
			return crashing("call " + string(c.ID) + " (" + c.Tool + ") ran"), true
		}
	}
	if t.empties > 2 {
		return Ended{End: EndFailed, Reason: "empty_answer", Detail: "the model answered with nothing three times in a row; go on, or try another model"}, true
	}
	if t.cuts > maxCuts {
		return Ended{End: LimitReached, Reason: "max_tokens", Detail: "the answer was cut at the output limit three times in a row; ask for less at once"}, true
	}
	if finished && t.reply.stop != StopMaxTokens && t.reply.stop != StopPause && t.empties == 0 {
		switch {
		case s.owesOutput() && s.handing.reminders >= maxReminders:
			return s.outputMissing(), true
		case !s.owesOutput() && !s.promised():
			return Ended{}, false // it ends by itself: no limit takes that away
		}
	}
	return s.spent()
}

// maxCuts is how many answers in a row may end at the output limit and be
// continued.
const maxCuts = 2

// maxNudges is how often in a row an answer that promises work is answered.
const maxNudges = 2

// spent returns the limit that keeps the next request from being made.
func (s *State) spent() (Ended, bool) {
	t, l := &s.Turn, s.Config.Limits
	limit := func(reason, format string, args ...any) (Ended, bool) {
		return Ended{End: LimitReached, Reason: reason, Detail: fmt.Sprintf(format, args...)}, true
	}
	if end, over := s.overspent(); over {
		return end, over
	}
	if t.stepDone && s.Config.StepByStep {
		return limit("single_step", "one step was done, as configured; continue to take the next")
	}
	if n := l.calls(); n > 0 && t.Asked > n {
		return limit("max_calls", "this turn's limit of %d calls is reached", n)
	}
	if n := l.steps(); n > 0 && t.Steps >= n && t.Request.Attempt == 0 {
		return limit("max_steps", "this turn's limit of %d steps is reached", n)
	}
	return Ended{}, false
}

// overspent returns the limit of tokens or money that the turn has passed.
func (s *State) overspent() (Ended, bool) {
	u, l := s.Turn.Usage, s.Config.Limits
	if n := l.tokens(); n > 0 && u.Total() >= n {
		return Ended{End: LimitReached, Reason: "max_tokens_total", Detail: fmt.Sprintf("this turn's limit of %d tokens is reached", n)}, true
	}
	if n := l.cost(); n > 0 && u.Cost >= n {
		return Ended{End: LimitReached, Reason: "max_cost", Detail: fmt.Sprintf("this turn's limit of $%.2f is reached", n)}, true
	}
	return Ended{}, false
}

// ending owes what stands between here and the end: the account of a turn that
// ended early, then the end.
func (s State) ending(end Ended) Command {
	t := &s.Turn
	if t.synth != synthDone && len(t.Account) > 0 {
		switch byModel := modelAccounts(end); {
		case byModel && t.synth == synthNone:
			r := s.request(ForSynthesis, t.Request.Attempt+1)
			r.End = end
			return r
		case byModel, end.End == LimitReached, end.End == EndInterrupted, end.End == EndFailed:
			return Record{Synthesized{t.deterministicAccount(), end}}
		}
	}
	return Record{end}
}

// request owes a model request.
func (s State) request(p Purpose, attempt int) Request {
	step := s.Turn.Steps
	if p == ForStep && s.Turn.Request.Attempt == 0 {
		step++ // the one that is about to begin
	}
	return Request{Turn: s.Turn.N, Step: step, Purpose: p, Attempt: attempt, NotBefore: s.Turn.Request.RetryAt}
}
