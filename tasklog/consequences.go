package tasklog

import (
	"cmp"
	"errors"
	"strings"

	"pawl/internal/text"
	"pawl/run"
	"pawl/store"
	"pawl/task"
	"pawl/tool"
)

// errRefused says that the task does not take what was about to be appended.
var errRefused = errors.New("the task does not take it")

// along finds what events that are about to be appended to the log of a run mean for its task.
type along struct {
	*RunTask
	*batch
	run   run.ID
	s     run.State // before the events
	after run.State
	calls map[run.CallID]called // that are among the events
}

// called is what a task keeps of a call of its run.
type called struct {
	tool string
	key  string // of the request that it came with from outside
}

// all adds to the batch what others do to the task together with the events, and what these mean. The error
// is errRefused if the task does not take it.
func (a *along) all(batches []*task.Batch, events []run.Event) error {
	for _, b := range batches {
		for _, action := range b.Actions {
			if p, ok := action.(task.Prompt); ok {
				p.Turn = a.s.Turn.N + 1
				action = p
			}
			if b.Refused = a.do("", action); b.Refused != nil {
				return errRefused
			}
		}
	}
	for i, e := range events {
		if err := a.event(e, events[i+1:]); err != nil {
			return err
		}
	}
	return nil
}

// event adds what one event means; later are those after it.
func (a *along) event(e run.Event, later []run.Event) error {
	switch p := e.Payload.(type) {
	case run.Prompted:
		return a.child(run.PlainText(p.Parts))
	case run.Replied:
		for _, part := range p.Parts {
			if part.Call != nil {
				a.calls[part.Call.ID] = called{tool: part.Call.Tool}
			}
		}
	case run.CallReceived:
		a.calls[p.Call.ID] = called{p.Call.Tool, p.Key}
	case run.CallSettled:
		return a.note("", task.ToolExecuted{Call: p.Call, Tool: a.called(p.Call).tool, Outcome: p.Outcome, IsError: p.IsError})
	case run.CallDecided:
		for _, q := range a.state.Permissions {
			if q.Run == a.run && q.Call == p.Call {
				return a.note(p.Decision.By, task.PermissionDecided{Call: p.Call, Answer: p.Decision.Answer})
			}
		}
	case run.Told:
		if r, ok := a.state.Run(a.run); ok && p.Reason == run.TellOutput && r.Kind != "" {
			return a.note("", task.OutputReminderSent{Tool: a.s.Config.Output.Tool, Number: r.Reminders + 1})
		}
	case run.Interrupted:
		return a.note(p.By, task.Interrupted{Cause: p.Cause})
	case run.Submitted:
		return a.submit(p)
	case run.Ended:
		for _, e := range later {
			if _, ok := e.Payload.(run.Prompted); ok {
				return nil // it continues with what the person has said
			}
		}
		return a.end(p)
	}
	return nil
}

func (a *along) note(by string, fact task.Payload) error {
	return a.do(by, task.Note{Run: a.run, Fact: fact})
}

// called returns what is known of a call.
func (a *along) called(id run.CallID) called {
	if c, ok := a.s.Turn.Call(id); ok {
		return called{c.Tool, c.External}
	}
	return a.calls[id]
}

// child lists a child run that begins, or is continued.
func (a *along) child(words string) error {
	c := a.s.Created
	if c.Parent == "" {
		return nil
	}
	if r, ok := a.state.Run(a.run); ok && !r.Ended {
		return nil
	}
	return a.note("", task.AgentHandoffStarted{Parent: c.Parent, Call: c.ParentCall, Agent: c.Agent, Input: clip(words)})
}

// maxKept bounds what the log of a task keeps of words that the log of the run has, in characters.
const maxKept = 8 << 10

func clip(s string) string { return text.Clip(s, maxKept) }

// submit submits a result for the task, which judges it.
func (a *along) submit(p run.Submitted) error {
	r, ok := a.state.Run(a.run)
	if !ok || r.Kind == "" {
		return nil // of a child run: it is the result of its parent's call
	}
	submits := func(o task.Output) error {
		return a.do(r.Agent, task.Submit{Run: a.run, Submission: task.Submission{Assignment: p.Assignment, Call: p.Call}, Output: o})
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
		sub := a.result(p.Call, r.Kind, p.Value)
		if sub.err == nil {
			sub.err = submits(sub.output)
		}
		if sub.err != nil {
			return errRefused
		}
	}
	a.Submission = &store.Submission{Run: a.run, Tool: r.Kind.Tool(), Assignment: p.Assignment, Task: a.Task, Call: p.Call, Key: a.called(p.Call).key, Value: p.Value, At: a.now}
	return nil
}

// end ends the turn of the run for the task.
func (a *along) end(p run.Ended) error {
	for _, w := range a.after.Returned {
		if err := a.do("", task.MessageReturned{ID: w.ID}); err != nil {
			return err
		}
	}
	r, ok := a.state.Run(a.run)
	if !ok {
		return nil
	}
	end := EndOf(a.run, r.Prompted, a.after, p)
	if r.Kind != "" {
		return a.do("", end)
	}
	value := a.after.Submission().Value
	return a.note("", task.AgentHandoffCompleted{
		End: end.End, Submitted: value != "", Output: clip(cmp.Or(value, a.after.Answer())), Usage: a.after.Usage})
}

// EndOf returns what the end of the last turn of a run, which leaves it in s, is for its task. number is
// that of the task's assignment.
func EndOf(id run.ID, number int, s run.State, end run.Ended) task.End {
	end.Driven = 0 // a fact of the run alone
	e := task.End{Run: id, Number: number, Begun: true, End: end, Said: s.Said(), Usage: s.Usage, Steps: s.Turn.Steps}
	if q := s.Questions(); end.End == run.Asked && len(q) > 0 { // who answers has to know what
		question, options := tool.Asked(q[0].Call)
		e.Question = task.QuestionAsked{Question: clip(question), Options: options}
		if e.End.Detail = e.Question.Question; len(options) > 0 {
			e.End.Detail = clip(question + " (" + strings.Join(options, ", ") + ")")
		}
	}
	return e
}
