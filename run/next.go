package run

import (
	"cmp"
	"fmt"
	"strconv"

	"pawl/internal/stable"
)

// Next returns the commands owed now. They depend on s alone, so a driver that has just
// replayed a log gets the same ones as a driver that never stopped. A command that is in
// flight and no longer returned must be cancelled.
func (s State) Next() []Command {
	owed := s.next()
	for _, h := range s.aside {
		owed = append(owed, h.Hook)
	}
	return owed
}

// next is Next without the hooks that nothing waits for.
func (s *State) next() []Command {
	t := &s.Turn
	switch {
	case s.Created.Run == "":
		return nil
	case t.Phase == Idle:
		return s.nextIdle()
	case t.Phase == Interrupting:
		return s.nextInterrupted()
	case s.Created.External:
		return s.nextExternal()
	case t.Phase == Requesting:
		r := s.request(t.Request.Purpose)
		r.Attempt = t.Request.Attempt
		return []Command{r}
	case t.Phase == Calling:
		return s.nextCalls()
	case t.Hooking(""):
		return t.hooksOwed()
	}
	return []Command{s.nextAtRest()}
}

// nextIdle begins the next turn with a message that waits for it, if any. Calls that the interrupt of
// the last one has kept wait for their decisions.
func (s State) nextIdle() []Command {
	t := &s.Turn
	switch {
	case len(t.Interrupt.Then) > 0 && t.open == t.kept():
		return []Command{Derive{Prompted{Parts: t.Interrupt.Then}}}
	case t.End.End == Completed && len(s.Queue) > 0:
		return []Command{Derive{Prompted{Parts: s.Queue[0].Parts, Queued: s.Queue[0].ID}}}
	}
	var owed []Command
	for _, c := range t.Calls {
		if c.Status == CallIsInspected && t.keeps(c) {
			owed = append(owed, Decide{*c})
		}
	}
	return owed
}

// nextInterrupted settles the calls that were not started. Running calls are settled by
// the worker.
func (s State) nextInterrupted() []Command {
	t := &s.Turn
	var owed []Command
	for _, c := range t.Calls {
		if c.Status == CallDone || c.Status == CallRunning || t.keeps(c) {
			continue
		}
		if c.Handle != "" { // a process before this one had started it
			owed = append(owed, Derive{unknown(c.ID, t.Interrupt.CutText(unknownText))})
			continue
		}
		p := CallSettled{Call: c.ID, Outcome: NotRun, IsError: true, Content: []Part{Text(t.Interrupt.NotRunText())}}
		if t.Interrupt.Cause == ByWait && t.Interrupt.Call == c.ID {
			p.Outcome, p.Content = Refused, []Part{Text(RefusedByWait)}
		}
		owed = append(owed, Derive{p})
	}
	if len(owed) > 0 || t.running > 0 || t.Hooking("") { // those are cancelled
		return owed
	}
	return []Command{s.finish(t.ending)}
}

// nextCalls returns the commands for the open calls of the last message.
func (s State) nextCalls() []Command {
	t := &s.Turn
	var owed []Command
	var ready []*CallState // that may start
	why := func(int) string { return "" }
	if t.named > 0 {
		why = s.blocked()
	}
	room := max(0, s.Config.parallel()-t.running)
	submitted := s.submitted()
	left := t.named + t.inspected + t.running     // calls not looked at yet that may need a command
	var before struct{ open, named, writer bool } // what the calls before this one are
	for _, h := range t.hooks {
		if c, _ := t.Call(h.Call); !h.done {
			owed = append(owed, h.Hook)
			before.writer = before.writer || c.Status == CallDone // what is done after it is not done beside it
		}
	}
	before.open = before.writer
	for i := t.first; i < len(t.Calls); i++ {
		if left == 0 && !submitted && (before.writer || len(ready) >= room && t.urgent == 0) {
			break // no later call needs a command
		}
		c := t.Calls[i]
		switch c.Status {
		case CallDone:
			continue
		case CallNamed:
			left--
			if problem := why(i); problem != "" {
				owed = append(owed, Derive{CallInspected{Call: c.ID, Tool: c.Tool, Class: Reads, Problem: problem}})
			} else {
				owed = append(owed, Inspect{c.Call})
			}
			before.named = true
		case CallIsInspected:
			left--
			refusal := t.refusal(c.ID)
			switch {
			case c.Problem != "":
				owed = append(owed, Derive{settledAs(c.ID, Invalid, c.Problem)})
			case submitted:
				owed = append(owed, Derive{settledAs(c.ID, NotRun, notAfterResult)})
			case t.Hooking(c.ID):
			case t.halt.End != "":
				owed = append(owed, Derive{settledAs(c.ID, NotRun, notAfterHook)})
			case refusal != nil:
				owed = append(owed, Derive{refusal})
			case !c.Question:
				owed = append(owed, Decide{*c})
			}
		case CallAllowed:
			switch {
			case submitted:
				owed = append(owed, Derive{settledAs(c.ID, NotRun, notAfterResult)})
			case t.halt.End != "":
				owed = append(owed, Derive{settledAs(c.ID, NotRun, notAfterHook)})
			case t.Hooking(c.ID): // it submits a report
			case c.Class == Writes && !before.open, c.Class != Writes && !before.writer && !before.named:
				ready = append(ready, c)
			}
		case CallRunning:
			left--
			owed = append(owed, Perform{*c, c.Attempt})
		}
		before.open = true
		before.writer = before.writer || c.Class == Writes
	}
	if t.urgent > 0 {
		stable.Sort(ready, func(a, b *CallState) int { return cmp.Compare(b.Priority, a.Priority) })
	}
	for _, c := range ready[:min(len(ready), room)] {
		owed = append(owed, Perform{*c, c.Attempt + 1})
	}
	if len(owed) == 0 {
		// Only questions are open, and calls that wait for their answers.
		return []Command{Derive{Ended{End: Asked, Reason: "question", Detail: "answer the question to continue"}}}
	}
	return owed
}

const (
	notAfterHook  = "The call was not run: a hook of the person has stopped the turn."
	refusedByHook = "Not allowed: a hook of the person refused this call: "
	// What a model refuses is no rule: the person has not been asked.
	refusedByModel = "Not allowed: in permission mode auto another model judges what would need the person's approval, and it refused this call. " +
		"Do it another way, or say what you would need and why. It says: "
)

const notAfterResult = "The call was not run: the result had been submitted before it, and no further work is needed."

func settledAs(id CallID, o Outcome, text string) CallSettled {
	return CallSettled{Call: id, Outcome: o, IsError: true, Content: []Part{Text(text)}}
}

// blocked returns a function that returns why the i-th call of the last message cannot
// run, regardless of its tool; empty if it can.
func (s State) blocked() func(int) string {
	t := &s.Turn
	first := t.Asked - len(t.Calls)
	spent := s.overspent()
	calls := s.Config.Limits.InForce().Calls
	return func(i int) string {
		c := t.Calls[i]
		switch {
		case terminal(t.reply.stop):
			return "The call was not run: the answer was stopped (" + string(t.reply.stop) + ")."
		case c.Fault == FaultCut:
			return "The call was cut off at the output limit before its arguments were complete, and was not run. Send it again with smaller input, in several calls if need be."
		case c.Fault == FaultNotJSON:
			return "The arguments are not a JSON object; the call was not run. Received: " + shorten(c.Raw, 300) + "\nSend the call again with one JSON object that fits the tool's schema."
		case c.Fault == FaultEmpty:
			return "The call names no tool, and was not run."
		case c.Fault != NoFault:
			return "The call was not run (" + string(c.Fault) + ")."
		case spent.End != "":
			return "The call was not run: " + spent.Detail + "."
		case calls >= 0 && first+i >= calls:
			return fmt.Sprintf("The call was not run: the call limit (%d) is reached.", calls)
		}
		return ""
	}
}

// nextAtRest returns what follows when no call is open and no request is in flight.
func (s State) nextAtRest() Command {
	t := &s.Turn
	for _, c := range t.Calls {
		if c.note != "" {
			return Derive{Told{Reason: TellRepeated, Call: c.ID, Text: c.note}}
		}
	}
	switch {
	case t.Phase == Ending:
		return s.finish(t.ending)
	case s.submitted():
		return s.finish(Ended{End: Completed}) // no further request is owed
	}
	if end := s.stopped(); end.End != "" {
		return s.finish(end)
	}
	if t.unavailable != "" && s.hasFallback() {
		return Derive{Configured{s.fallback()}}
	}
	if s.Config.Control == Auto && s.malformed >= maxMalformed {
		control := Controller
		return Derive{Configured{ConfigChange{Control: &control}}}
	}
	if t.Phase == Spoken && len(t.Words) == 0 { // with words waiting the turn continues
		end, told := s.conclude()
		switch over := s.spent(); {
		case end.End != "":
			return s.finish(end)
		case over.End != "":
			return s.finish(over)
		case told.Text != "":
			return Derive{told}
		}
	}
	if over := s.spent(); over.End != "" {
		return s.finish(over)
	}
	if c := s.compaction(); c != nil {
		return c
	}
	if note := s.modeNote(); note != "" {
		return Derive{Told{Reason: TellMode, Text: note}}
	}
	return s.request(ForStep)
}

// modeNote returns what the model has to be told of the permission mode before the next
// request; empty if nothing. It is told in a message, and not in the system prompt, so that
// the beginning of requests stays the same when the mode changes.
func (s *State) modeNote() string {
	switch plan := s.Config.Mode == PlanMode; {
	case plan && !s.planMode:
		return PlanText
	case !plan && s.planMode:
		return fmt.Sprintf(planEndedText, cmp.Or(s.Config.Mode, "default"))
	}
	return ""
}

// stopped returns the end that the last answer or the loop guard forces; the zero Ended
// if there is none.
func (s *State) stopped() Ended {
	t := &s.Turn
	if t.Phase == Spoken || len(t.Calls) > 0 {
		switch t.reply.stop {
		case StopFiltered, StopRefusal:
			return Ended{End: EndRefused, Reason: string(t.reply.stop), Detail: "the provider stopped the answer; rephrase the request"}
		case StopGuardrail:
			return Ended{End: GuardrailStopped, Reason: string(t.reply.stop), Detail: "a guardrail of the provider stopped the answer"}
		}
	}
	if t.halt.End != "" {
		return t.halt
	}
	if t.guard.loop != "" {
		return Ended{End: LoopStopped, Reason: t.guard.loop, Detail: loopDetail[t.guard.loop]}
	}
	if t.action.Kind == StepGuardrail {
		detail := t.action.Reason
		if t.action.Message != "" {
			detail += ". " + t.action.Message
		}
		return Ended{End: GuardrailStopped, Reason: "guardrail_stop", Detail: detail}
	}
	return Ended{}
}

// How many answers in a row may be cut at the output limit, promise work without doing
// it, be empty, and be no action in controller mode, before the turn ends.
const (
	maxCut      = 2
	maxPromised = 2
	maxEmpty    = 2
	maxUnusable = 2
)

// conclude returns what follows an answer without a call: the end of the turn, a message
// to the model, or, if both are zero, another request.
func (s *State) conclude() (Ended, Told) {
	t := &s.Turn
	switch {
	case t.streaks[cut] > maxCut:
		return Ended{End: LimitReached, Reason: "max_tokens", Detail: "the answer was cut at the output limit three times in a row; ask for less at once"}, Told{}
	case t.reply.stop == StopMaxTokens:
		return Ended{}, Told{Reason: TellCut, Text: CutText}
	case t.streaks[empty] > maxEmpty:
		return Ended{End: EndFailed, Reason: "empty_answer", Detail: "the model answered with nothing three times in a row; continue, or try another model"}, Told{}
	case t.streaks[empty] == maxEmpty:
		return Ended{}, Told{Reason: TellEmpty, Text: EmptyText}
	case t.reply.stop == StopPause, t.streaks[empty] > 0:
		return Ended{}, Told{}
	case s.owesOutput():
		return s.remind()
	case t.action.Kind == "" && t.reply.promises && !s.Config.NoNudge && s.Config.Mode != PlanMode && len(t.Account) > 0 && t.streaks[promised] < maxPromised:
		return Ended{}, Told{Reason: TellPromised, Text: PromisedText}
	}
	return Ended{End: Completed}, Told{}
}

// Messages of pawl's own to the model.
const (
	CutText      = "Your answer was cut off at the output limit. Continue exactly where it stopped, without repeating anything."
	EmptyText    = "Your last answer had neither text nor a tool call. Call a tool to continue the task, or say that you are done and summarize the result."
	PromisedText = "You said what you would do next and did not do it. Do it now by calling a tool, or, if you are done, say so."

	PlanText = "The permission mode is plan: files can be read, and nothing can be changed. Find out what the task needs. Then end with a plan: " +
		"the steps in order, which files each step changes, how each is tested, and what is uncertain. Do not change anything, and do not ask for permission to."
	planEndedText = "The permission mode is now %s: the plan mode has ended and changes are possible. Unless the person asks for something else, carry out your plan."
)

// spent returns the limit that prevents the next request; the zero Ended if none does.
func (s *State) spent() Ended {
	t, l := &s.Turn, s.Config.Limits.InForce()
	if end := s.overspent(); end.End != "" {
		return end
	}
	if l.Calls >= 0 && t.Asked > l.Calls {
		return limit("max_calls", "the call limit (%d) is reached", l.Calls)
	}
	if l.Steps >= 0 && t.Steps >= l.Steps && t.attempt(ForStep) == 1 {
		return limit("max_steps", "the step limit (%d) is reached", l.Steps)
	}
	return Ended{}
}

// overspent returns the limit of tokens or cost that the turn has reached.
func (s *State) overspent() Ended {
	u, l := s.Turn.Usage, s.Config.Limits.InForce()
	if l.Tokens >= 0 && u.Total() >= l.Tokens {
		return limit("max_tokens_total", "the token limit (%d) is reached", l.Tokens)
	}
	if l.Cost >= 0 && u.Cost >= l.Cost {
		return limit("max_cost", "the cost limit (%s) is reached", dollars(l.Cost))
	}
	return Ended{}
}

// dollars says an amount with cents, and with all its digits if it is less than one.
func dollars(amount float64) string {
	if amount < 0.01 {
		return "$" + strconv.FormatFloat(amount, 'f', -1, 64)
	}
	return fmt.Sprintf("$%.2f", amount)
}

func limit(reason, format string, args ...any) Ended {
	return Ended{End: LimitReached, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// finish returns the next command towards the end: the account, for a turn that ends
// early, and then the end.
func (s State) finish(end Ended) Command {
	t := &s.Turn
	if t.account != accountDone && len(t.Account) > 0 {
		switch byModel := modelAccounts(end); {
		case byModel && t.account == "" && !s.Created.External:
			r := s.request(ForSynthesis)
			r.End = end
			return r
		case byModel, end.End == LimitReached, end.End == EndInterrupted, end.End == EndFailed:
			return Derive{Synthesized{t.deterministicAccount(), end}}
		}
	}
	return Derive{end}
}

// request returns a model request, or the next attempt of the one that failed.
func (s State) request(p Purpose) Request {
	t := &s.Turn
	r := Request{Turn: t.N, Step: t.Steps, Purpose: p, Attempt: t.attempt(p)}
	switch {
	case r.Attempt > 1:
		r.Wait = t.Request.Wait
	case p == ForStep:
		r.Step++ // the one that is about to begin
	}
	return r
}
