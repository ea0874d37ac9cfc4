package tasklog

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"pawl/internal/text"
	"pawl/run"
	"pawl/store"
	"pawl/task"
	"pawl/tool"
)

// errRefused says that the task does not take what was about to be appended.
var errRefused = errors.New("the task does not take it")

// consequences finds what events that are about to be appended to the log of a run mean for its task.
type consequences struct {
	*RunTask
	*batch
	run   run.ID
	s     run.State // before the events
	after run.State
	calls map[run.CallID]called // that are among the events
}

// called is what a task keeps of a call of its run.
type called struct {
	tool, args string
	key        string // of the request that it came with from outside
}

// all adds to the batch what others do to the task together with the events, and what these mean. The error
// is errRefused if the task does not take it.
func (c *consequences) all(batches []*task.Batch, events []run.Event) error {
	for _, b := range batches {
		for _, action := range b.Actions {
			if n, ok := action.(task.Note); ok {
				if p, ok := n.Fact.(task.AgentPrompted); ok {
					p.Turn, p.Model = c.s.Turn.N+1, c.after.Config.Model
					action = task.Note{Run: n.Run, Fact: p}
				}
			}
			if b.Refused = c.do("", action); b.Refused != nil {
				return errRefused
			}
		}
	}
	for i, e := range events {
		if err := c.event(e, events[i+1:]); err != nil {
			return err
		}
	}
	return c.read()
}

// read adds which messages an external agent has been told, that were for it when its turn has ended.
func (c *consequences) read() error {
	if c.state.Status.Run != c.run {
		return nil
	}
	for _, m := range c.state.Messages {
		waits := func(w run.Words) bool { return w.ID == m.ID }
		if !m.AtTurnEnd || slices.ContainsFunc(slices.Concat(c.after.Turn.Words, c.after.Queue, c.after.Returned), waits) {
			continue
		}
		if err := c.do("", task.MessageDelivered{ID: m.ID}); err != nil {
			return err
		}
	}
	return nil
}

// event adds what one event means; later are those after it.
func (c *consequences) event(e run.Event, later []run.Event) error {
	switch p := e.Payload.(type) {
	case run.Prompted:
		return c.child(run.PlainText(p.Parts))
	case run.Replied:
		for _, part := range p.Parts {
			if part.Call != nil {
				c.calls[part.Call.ID] = called{tool: part.Call.Tool, args: part.Call.Arguments}
			}
		}
	case run.CallReceived:
		c.calls[p.Call.ID] = called{p.Call.Tool, p.Call.Arguments, p.Key}
	case run.HookSettled:
		if p.Arguments != "" {
			made := c.called(p.Call)
			made.args = p.Arguments
			c.calls[p.Call] = made
		}
	case run.CallSettled:
		made := c.called(p.Call)
		if made.tool == c.s.Config.Output.Tool {
			made.args = "" // the result is an event of its own
		}
		return c.note("", task.ToolExecuted{Call: p.Call, Tool: made.tool, Arguments: clip(made.args), Outcome: p.Outcome, IsError: p.IsError})
	case run.CallDecided:
		for _, q := range c.state.Permissions {
			if q.Run == c.run && q.Call == p.Call {
				return c.note(p.Decision.By, task.PermissionDecided{Call: p.Call, Answer: p.Decision.Answer})
			}
		}
	case run.Told:
		if r, ok := c.state.Run(c.run); ok && p.Reason == run.TellOutput && r.Kind != "" {
			return c.note("", task.OutputReminderSent{Tool: c.s.Config.Output.Tool, Number: r.Reminders + 1})
		}
	case run.Resumed:
		// A call that starts a child run is not cut off: where something was under way, the child says so.
		if p.Request || slices.ContainsFunc(c.s.Turn.Calls, func(call *run.CallState) bool { return call.Status == run.CallRunning && !call.StartsChild() }) {
			return c.note("", task.Interrupted{Cause: task.Lost, Since: c.s.At})
		}
	case run.Interrupted:
		return c.note(p.By, task.Interrupted{Cause: p.Cause})
	case run.Submitted:
		return c.submit(p)
	case run.Ended:
		for _, e := range later {
			if _, ok := e.Payload.(run.Prompted); ok {
				return nil // it continues with what the person has said
			}
		}
		return c.end(p)
	}
	return nil
}

func (c *consequences) note(by string, fact task.Payload) error {
	return c.do(by, task.Note{Run: c.run, Fact: fact})
}

// called returns what is known of a call.
func (c *consequences) called(id run.CallID) called {
	if made, ok := c.s.Turn.Call(id); ok {
		return called{made.Tool, made.Arguments, made.External}
	}
	return c.calls[id]
}

// child lists a child run that begins, or is continued.
func (c *consequences) child(words string) error {
	created := c.s.Created
	if created.Parent == "" {
		return nil
	}
	if r, ok := c.state.Run(c.run); ok && !r.Ended {
		return nil
	}
	return c.note("", task.AgentHandoffStarted{Parent: created.Parent, Call: created.ParentCall, Agent: created.Agent, Model: c.after.Config.Model, Input: clip(words)})
}

// maxKept bounds what the log of a task keeps of words that the log of the run has, in characters.
const maxKept = 8 << 10

func clip(s string) string { return text.Clip(s, maxKept) }

// submit submits a result for the task, which judges it.
func (c *consequences) submit(p run.Submitted) error {
	r, ok := c.state.Run(c.run)
	if !ok || r.Kind == "" {
		return nil // of a child run: it is the result of its parent's call
	}
	submits := func(o task.Output) error {
		return c.do(r.Agent, task.Submit{Run: c.run, Submission: task.Submission{Assignment: p.Assignment, Call: p.Call}, Output: o})
	}
	if p.Call == "" { // an answer by schema, which is accepted without asking the task
		o, err := task.ParseOutput(r.Kind, p.Value)
		if err == nil {
			err = submits(o)
		}
		if err != nil {
			return err
		}
	} else {
		sub := c.result(p.Call, r.Kind, p.Value)
		if sub.err == nil {
			sub.err = submits(sub.output)
		}
		if sub.err != nil {
			return errRefused
		}
	}
	c.Submission = &store.Submission{Run: c.run, Tool: r.Kind.Tool(), Assignment: p.Assignment, Task: c.Task, Call: p.Call, Key: c.called(p.Call).key, Value: p.Value, At: c.now}
	return nil
}

// end ends the turn of the run for the task.
func (c *consequences) end(p run.Ended) error {
	r, ok := c.state.Run(c.run)
	if !ok {
		return nil
	}
	end := EndOf(c.run, r.Prompted, c.after, p)
	if r.Kind != "" {
		err := c.do("", end)
		now := c.state.Status.Run
		for _, w := range c.after.Returned {
			var fate task.Action = task.MessageReturned{ID: w.ID}
			if now != "" && now != c.run { // the agent that has the task now is told what was said before
				fate = task.MessageDelivered{ID: w.ID}
			}
			err = cmp.Or(err, c.do("", fate))
		}
		return err
	}
	value := c.after.Submission().Value
	return c.note("", task.AgentHandoffCompleted{
		End: end.End, Submitted: value != "", Output: clip(cmp.Or(value, c.after.Answer())), Usage: c.after.Usage})
}

// EndOf returns what the end of the last turn of a run, which leaves it in s, is for its task. number is
// that of the task's assignment.
func EndOf(id run.ID, number int, s run.State, end run.Ended) task.End {
	end.Driven = 0 // a fact of the run alone
	e := task.End{Run: id, Number: number, Begun: true, End: end, Said: s.Said(), Usage: s.Usage, Steps: s.Turn.Steps}
	if q := s.Questions(); end.End == run.Asked && len(q) > 0 { // who answers has to know what
		question, options := tool.Asked(q[0])
		e.Question = task.QuestionAsked{Question: clip(question), Options: options}
		if e.End.Detail = e.Question.Question; len(options) > 0 {
			e.End.Detail = clip(question + " (" + strings.Join(options, ", ") + ")")
		}
	}
	return e
}
