package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pawl/internal/lazy"
	"pawl/run"
)

// call returns the call of e for writing: a copy, because the one before was returned.
func (e *entry) call() *Call {
	c := *e.item.Call
	e.item.Call = &c
	return &c
}

// state returns the state of the call of e, whether or not it waits for a person.
func (e *entry) state() CallState {
	if e.item.Call.State == Waiting {
		return e.before
	}
	return e.item.Call.State
}

// named adds the call of a message, or finishes the one that has streamed.
func (p *Projection) named(c run.Call) *entry {
	e := p.entry(string(c.ID), KindCall)
	e.streamed = false
	e.text.Reset()
	e.item.Call = &Call{ID: c.ID, Tool: c.Tool, Arguments: c.Arguments, Subject: Subject(c.Tool, c.Arguments), Fault: c.Fault, State: Asked}
	if n, err := strconv.Atoi(strings.TrimPrefix(string(c.ID), "c_")); err == nil {
		p.nextCall = max(p.nextCall, n+1)
	}
	return e
}

// called returns the item of a call that an event names. A call that was never seen is
// shown by its id.
func (p *Projection) called(id run.CallID) *entry {
	if e := p.entries[string(id)]; e != nil && e.item.Call != nil {
		p.touch(e)
		return e
	}
	if c, ok := p.calls[id]; ok {
		return p.named(c)
	}
	return p.named(run.Call{ID: id, Tool: string(id)})
}

func (p *Projection) inspected(f run.CallInspected) {
	e := p.called(f.Call)
	c := e.call()
	c.inspect(f)
	c.Child = p.child(c)
	e.inspected = f.Problem == ""
	if c.Question && e.inspected {
		e.before, c.State = c.State, Waiting
	}
}

func (c *Call) inspect(f run.CallInspected) {
	c.Tool = cmp.Or(f.Tool, c.Tool)
	c.Class, c.Question, c.Submits = f.Class, f.Question, f.Submits
	if c.Submits {
		c.Subject = "" // the result is an item of its own
	}
}

// child returns the child run of a call. Calls are resumable because they start a run of
// their own, unless they ask or submit something.
func (p *Projection) child(c *Call) run.ID {
	if c.Class != run.Resumable || c.Question || c.Submits {
		return ""
	}
	return run.ChildID(p.run, c.ID)
}

func (p *Projection) decided(f run.CallDecided) {
	e := p.called(f.Call)
	c := e.call()
	c.Decision = f.Decision
	if c.State = Allowed; f.Decision.Allows() {
		return
	}
	p.settle(e, run.CallSettled{Call: f.Call, Outcome: run.Refused, Content: []run.Part{run.Text(f.Content)}, IsError: true})
}

func (p *Projection) invalidated(f run.ApprovalInvalidated) {
	c := p.called(f.Call).call()
	c.State, c.Decision = Asked, run.Decision{}
	p.note(1, c.Title()+" · needs approval again: "+OneLine(f.Reason, MaxLine), Note{Kind: NoteApproval, Call: f.Call, Detail: f.Reason})
}

func (p *Projection) started(f run.CallStarted) {
	c := p.called(f.Call).call()
	c.State, c.Attempt, c.Started, c.Tail = Running, f.Attempt, p.event.At, ""
}

func (p *Projection) settled(f run.CallSettled) {
	p.settle(p.called(f.Call), f)
}

// settle ends a call.
func (p *Projection) settle(e *entry, f run.CallSettled) {
	state, c := e.state(), e.call()
	if state == Running {
		c.Duration = max(0, p.event.At.Sub(c.Started))
	}
	c.State, c.Tail = Settled, ""
	c.Outcome, c.IsError, c.ExitCode, c.Delivery, c.Size = f.Outcome, f.IsError, f.ExitCode, f.Delivery, f.Size
	c.Result, c.Diff = run.PlainText(f.Content), cmp.Or(c.Diff, p.diff)
	for _, part := range f.Content {
		if part.Type == run.ImagePart {
			c.Images++
		}
	}
	for _, change := range f.Files {
		file := File{Path: change.Path, Before: change.Before, After: change.After, Added: change.Added, Removed: change.Removed, Counted: change.Added+change.Removed > 0}
		if len(f.Files) == 1 && !file.Counted {
			file.Added, file.Removed, file.Counted = changedLines(c.Result)
		}
		c.Files = append(c.Files, file)
		if !p.known() {
			p.turn.change(file)
		}
	}
	if c.Outcome == run.Refused && !p.known() {
		p.turn.refused = append(p.turn.refused, Refusal{Call: c.ID, Tool: c.Tool, Title: c.Title(), Reason: c.Reason()})
	}
	p.finish(e)
}

// Reason says in one line why a call was refused or what its error is.
func (c *Call) Reason() string {
	if c.Outcome == run.Refused && c.Decision.Reason != "" {
		return OneLine(c.Decision.Reason, MaxLine)
	}
	if c.Outcome == run.Refused && strings.HasPrefix(c.Result, run.RefusedByWait) {
		return "the turn was stopped to say what to do instead"
	}
	if head, rest, ok := strings.Cut(c.Result, "]\n\n"); ok && c.Outcome == run.Cut && strings.HasPrefix(head, "[") {
		return OneLine(rest, MaxLine) // without the heading for the model
	}
	return OneLine(c.Result, MaxLine)
}

// lineCounts are the counts in the first line of the results of edit and write. The log has
// them nowhere else: their [run.FileChange] has hashes only.
var lineCounts = lazy.Regexp(`^(?:Edited|Replaced) .*: (\d+) lines? added, (\d+) lines? removed[.;]|^Made .*: (\d+) lines?,`)

// changedLines returns how many lines a call has added and removed, from its result.
func changedLines(result string) (added, removed int, ok bool) {
	first, _, _ := strings.Cut(result, "\n")
	m := lineCounts().FindStringSubmatch(first)
	if m == nil {
		return 0, 0, false
	}
	added, _ = strconv.Atoi(m[1] + m[3])
	removed, _ = strconv.Atoi(m[2])
	return added, removed, true
}

// progress sets the tail of a running call.
func (p *Projection) progress(u Progress) {
	e := p.entries[string(u.Call)]
	if e == nil || e.item.Call == nil || e.state() != Running {
		return // it has settled
	}
	p.touch(e)
	tail := u.Text[max(0, len(u.Text)-MaxTail):]
	for tail != "" && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	e.call().Tail = tail
}

// waiting marks the calls that wait for a person, and no others.
func (p *Projection) waiting(ids []run.CallID) {
	p.each(KindCall, func(e *entry) {
		c := e.item.Call
		switch waits := slices.Contains(ids, c.ID); {
		case waits && c.State != Waiting:
			p.touch(e)
			e.before = c.State
			e.call().State = Waiting
		case !waits && c.State == Waiting && !c.Question:
			p.touch(e)
			e.call().State = e.before
		}
	})
}

// observe shows what an external agent has reported.
func (p *Projection) observe(f run.Observed) {
	for i, notice := range f.Notices {
		p.note(i+1, OneLine(notice, 4*MaxLine), Note{Kind: NoteNotice})
	}
	p.report(f.Parts, false)
	for _, part := range f.Parts {
		if part.Type != run.ResultPart || part.Result == nil {
			continue
		}
		if e := p.observed[part.Result.Call]; e != nil {
			delete(p.observed, part.Result.Call)
			outcome := run.OK
			if part.Result.IsError {
				outcome = run.Failed
			}
			e.call().Diff = part.Result.Diff
			p.settle(e, run.CallSettled{Call: part.Result.Call, Outcome: outcome, Content: part.Result.Content, IsError: part.Result.IsError,
				ExitCode: part.Result.ExitCode, Files: part.Result.Files})
		}
	}
}

// observedCall adds a call that an external agent has made with a tool of its own.
func (p *Projection) observedCall(i int, c run.Call) {
	e := p.entry(fmt.Sprintf("call-%d-%d", p.event.Seq, i+1), KindCall)
	e.item.Call = &Call{ID: c.ID, Tool: c.Tool, Arguments: c.Arguments, Subject: Subject(c.Tool, c.Arguments), Fault: c.Fault,
		Observed: true, State: Running, Started: p.event.At}
	if p.observed == nil {
		p.observed = map[run.CallID]*entry{}
	}
	p.observed[run.CallID(cmp.Or(string(c.ID), c.ProviderID))] = e
}
