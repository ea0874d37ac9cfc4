package view

import (
	"slices"
	"strconv"
	"strings"

	"pawl/run"
)

// A turn is the open turn of a projection, or the last one.
type turn struct {
	run.TurnSummary
	files   []File
	refused []Refusal
}

// turnOf returns the turn of a state.
func turnOf(s run.State) turn {
	t := turn{TurnSummary: s.Turn.TurnSummary}
	if !t.Ongoing() {
		return t
	}
	for _, l := range s.Turn.Account {
		if l.Outcome == run.Refused {
			t.refused = append(t.refused, Refusal{Call: l.Call, Tool: l.Tool, Title: Title(l.Tool, strings.TrimSuffix(l.Args, "…")), Reason: OneLine(l.Found, MaxLine)})
		}
		for _, path := range l.Files {
			t.change(File{Path: path, Partial: true})
		}
	}
	return t
}

// interrupted reports whether the turn is open and was interrupted.
func (t *turn) interrupted() bool { return t.Ongoing() && t.Interrupt.Cause != "" }

// change counts a changed file.
func (t *turn) change(f File) {
	i := slices.IndexFunc(t.files, func(o File) bool { return o.Path == f.Path })
	if i < 0 {
		t.files = append(t.files, f)
		return
	}
	known := &t.files[i]
	known.After = f.After
	known.Added, known.Removed, known.Counted = known.Added+f.Added, known.Removed+f.Removed, known.Counted && f.Counted
}

func (p *Projection) prompted(f run.Prompted) {
	p.endCarried()
	p.each(KindNote, p.drop)
	m := Message{Kind: Prompt, State: Delivered, Words: f.Queued, Call: f.Answers, By: f.By}
	switch {
	case f.Answers != "":
		m.Kind = Answer
	case len(f.Parts) == 0:
		m.Kind = Continue
	}
	if e := p.entries["said-"+f.Queued]; f.Queued != "" && e != nil {
		p.drop(e) // it is the prompt now
	}
	if f.Answers != "" { // the question stands before its answer
		p.settle(p.called(f.Answers), run.CallSettled{Call: f.Answers, Outcome: run.Answered, Content: f.Parts})
	}
	p.message("prompt-"+strconv.Itoa(p.turn.N), m, f.Parts)
}

func (p *Projection) said(f run.Said) {
	m := Message{Kind: Steering, State: Pending, Words: f.ID, AtEnd: p.external}
	switch {
	case p.turn.interrupted():
		m.State = Returned
	case f.Delivery == run.Queue:
		m.Kind = Queued
	}
	p.message("said-"+f.ID, m, f.Parts)
}

// message adds a message, which is final unless it is pending.
func (p *Projection) message(id string, m Message, parts []run.Part) {
	for _, part := range parts {
		if part.Type == run.ImagePart {
			m.Images++
		}
	}
	e := p.entry(id, KindMessage)
	e.item.Message, e.item.Text = &m, run.ShownText(parts)
	if m.State != Pending {
		p.finish(e)
	}
}

// settleMessage says what became of a message that was pending.
func (p *Projection) settleMessage(e *entry, state MessageState) {
	m := *e.item.Message
	m.State = state
	e.item.Message = &m
	p.finish(e)
}

// messages settles the pending messages of a kind.
func (p *Projection) messages(kind MessageKind, state MessageState) {
	p.each(KindMessage, func(e *entry) {
		if e.item.Message.Kind == kind {
			p.settleMessage(e, state)
		}
	})
}

// giveBack returns what was not delivered to the person: the turn ends early.
func (p *Projection) giveBack() {
	p.messages(Steering, Returned)
	p.messages(Queued, Returned)
}

// interrupted shows an interrupt of a turn; first is the one before it, if there was one.
func (p *Projection) interrupted(f, first run.Interrupted) {
	if first.Cause != "" { // it takes back what the person said with the first
		p.message("then-"+strconv.Itoa(p.turn.N), Message{Kind: Prompt, State: Returned}, append(slices.Clip(first.Then), f.Then...))
		return
	}
	p.partial(f.Partial)
	e := p.entry(p.interruptID(), KindNote)
	e.item.Text = InterruptWords(f)
	e.item.Note = &Note{Kind: NoteInterrupted, Cause: f.Cause, Call: f.Call}
	p.finish(e)
	p.giveBack()
}

// Files returns the files that were changed in the turn that is open, or that ended last.
func (p *Projection) Files() []File {
	if !p.turn.Ongoing() && p.last != nil {
		return p.last.Files
	}
	return slices.Clone(p.turn.files)
}

// endObserved ends the calls that an external agent had reported when it ended. One that no one had allowed yet has
// not begun.
func (p *Projection) endObserved(outcome run.Outcome) {
	waiting := map[string]bool{} // by their titles
	p.each(KindCall, func(e *entry) {
		if c := e.item.Call; !c.Observed && c.Attempt == 0 {
			waiting[c.Subject] = true
		}
	})
	p.each(KindCall, func(e *entry) {
		c := e.item.Call
		if !c.Observed {
			return
		}
		f := run.CallSettled{Call: c.ID, Outcome: outcome}
		if waiting[c.Title()] {
			f.Outcome = run.NotRun
			e.call().State = Asked // so it took no time
		}
		p.settle(e, f)
	})
	p.observed = nil
}

func (p *Projection) ended(f run.Ended) {
	p.endAnswer()
	p.endCarried()
	p.each(KindNote, p.drop) // an interrupt that came too late
	outcome := run.Unknown   // a result was not reported
	if p.turn.Interrupt.Cause != "" {
		outcome = run.Cut
	}
	p.endObserved(outcome)
	p.each(KindCall, func(e *entry) {
		if !p.external && f.End != run.Asked { // else the log says later how it came out
			p.settle(e, run.CallSettled{Call: e.item.Call.ID, Outcome: outcome})
		}
	})
	switch f.End {
	case run.Asked:
	case run.Completed:
		p.messages(Steering, Returned) // a submission has ended the turn
	default:
		p.giveBack()
	}
	t := &p.turn
	e := p.entry("end-"+strconv.Itoa(t.N), KindEnd)
	e.item.Text = EndLine(f)
	e.item.End = &End{End: f.End, Reason: f.Reason, Detail: f.Detail, Duration: f.Driven, Steps: t.Steps, Usage: t.Usage, Refused: t.refused,
		Files: slices.DeleteFunc(t.files, func(f File) bool { return f.Before == f.After && !f.Partial })}
	p.last = e.item.End
	p.finish(e)
	t.files, t.refused = nil, nil
	if f.End != run.Asked {
		p.calls = nil
	}
}
