package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/run"
)

// A Projection turns the updates of one run into items. It keeps the items that are not
// final, so its size does not grow with the run. The zero value is a projection of a run
// from its first event; see [From] for one that follows a run from its present state.
//
// It is not safe for concurrent use.
type Projection struct {
	run      run.ID
	control  string
	external bool
	forkedAt int64
	seeded   int64     // events up to this one are part of the state that From was given
	event    run.Event // being applied; its Payload is nil while an update is live
	diff     string    // of the update being applied
	turn     turn
	last     *End // of the turn that ended last; nil: none was seen
	nextCall int  // number of the call that the next message begins with; 0: not known
	notices  int

	open    []*entry // items that are not final, in the order in which they appeared
	entries map[string]*entry
	touched []*entry // by the update being applied
	// calls of the last message that were settled in the state that From was given.
	calls    map[run.CallID]run.Call
	observed map[run.CallID]*entry // calls of an external agent, by its own ids
	answer   answer
	carried  *entry // a text that the next answer continues; nil: none
}

// An entry is an item that is not final, and what the projection has to know of it.
type entry struct {
	item      Item
	streamed  bool            // made from live updates of the answer that streams
	text      strings.Builder // of a streamed item
	base      string          // of a carried text: what earlier answers said of it
	inspected bool            // of a call that can run
	detached  bool            // of a call that goes on without pawl
	before    CallState       // of a waiting call: its state when it does not wait
}

// From returns a projection that continues from a state: the calls and messages that are
// open in it are known, and the open turn's totals are those of the state. Items of text
// that began before have other IDs than in a projection from the first event; calls that an
// external agent has reported before are not known.
func From(s run.State) *Projection {
	p := &Projection{run: s.Created.Run, control: s.Config.Control, external: s.Created.External, forkedAt: s.Created.ForkedAt,
		seeded: s.Seq, nextCall: s.NextCall(), turn: turnOf(s)}
	p.event = run.Event{Seq: s.Seq, At: s.At}
	p.answer.purpose, p.answer.done = s.Turn.Request.Purpose, s.Turn.Phase != run.Requesting
	if text := s.Unfinished(); text != "" {
		p.carried = p.entry("text-0-1", KindText)
		p.carried.base, p.carried.item.Text = text, text
	}
	for _, c := range s.Turn.Calls {
		if c.Status == run.CallDone {
			p.know(c.Call)
			continue
		}
		e := p.named(c.Call)
		call := e.call()
		call.inspect(run.CallInspected{Class: c.Class, Question: c.Question, Submits: c.Submits})
		call.Decision, call.Attempt = c.Decision, c.Attempt
		e.inspected, e.detached = c.Status != run.CallNamed && c.Problem == "", c.Handle != ""
		switch {
		case c.Status == run.CallAllowed:
			call.State = Allowed
		case c.Status == run.CallRunning:
			call.State, call.Started = Running, s.At
		case c.Question && e.inspected:
			call.State, e.before = Waiting, Asked
		}
		call.Child = p.child(call)
	}
	words := func(all []run.Words, kind MessageKind) {
		for _, w := range all {
			if w.ID != "" { // else it is pawl's own
				p.message("said-"+w.ID, Message{Kind: kind, State: Pending, Words: w.ID, AtEnd: p.external}, w.Parts)
			}
		}
	}
	words(s.Turn.Words, Steering)
	words(s.Queue, Queued)
	p.touched, p.event = nil, run.Event{}
	return p
}

// know remembers a call that has no item, for events that name it.
func (p *Projection) know(c run.Call) {
	if p.calls == nil {
		p.calls = map[run.CallID]run.Call{}
	}
	p.calls[c.ID] = c
}

// Items returns the items of a log: the final ones in the order in which they became so,
// then those that are not final.
func Items(events []run.Event) []Item {
	var p Projection
	var items []Item
	for i := range events {
		for _, item := range p.Update(Update{Event: &events[i]}) {
			if item.Final {
				items = append(items, item)
			}
		}
	}
	return append(items, p.Open()...)
}

// Open returns the items that are not final, in the order in which they appeared.
func (p *Projection) Open() []Item {
	items := make([]Item, len(p.open))
	for i, e := range p.open {
		items[i] = e.item
	}
	return items
}

// Update returns the items that u adds or changes, in order. Events must come in the order
// of the log; live updates that were missed are made up for by the events that follow.
func (p *Projection) Update(u Update) []Item {
	p.touched = p.touched[:0]
	switch {
	case u.Event != nil:
		p.diff = u.Diff
		p.apply(*u.Event)
		p.diff = ""
	case u.Delta != nil:
		p.delta(*u.Delta)
	case u.Drop:
		p.dropAnswer()
	case u.Progress != nil:
		p.progress(*u.Progress)
	case u.Stopping != nil && !p.turn.interrupted():
		if e := p.entry(p.interruptID(), KindNote); e.item.Note == nil {
			e.item.Text = "stopping"
			e.item.Note = &Note{Kind: NoteInterrupted, Cause: u.Stopping.Cause}
		}
	case u.Waiting != nil:
		p.waiting(u.Waiting)
	case u.Notice != "":
		p.notices++
		e := p.entry(fmt.Sprintf("notice-%d", p.notices), KindNote)
		e.item.Text, e.item.Note = OneLine(u.Notice, 4*MaxLine), &Note{Kind: NoteNotice}
		p.finish(e)
	}
	if len(p.touched) == 0 {
		return nil
	}
	items := make([]Item, len(p.touched))
	for i, e := range p.touched {
		items[i] = e.item
	}
	clear(p.touched) // final items are not kept
	return items
}

// entry returns the item of that ID, which is not final, or adds it.
func (p *Projection) entry(id string, kind Kind) *entry {
	e := p.entries[id]
	if e == nil {
		if p.entries == nil {
			p.entries = map[string]*entry{}
		}
		e = &entry{item: Item{ID: id, Kind: kind, Turn: p.turn.N}}
		p.entries[id] = e
		p.open = append(p.open, e)
	}
	p.touch(e)
	return e
}

// touch returns e with the update being applied.
func (p *Projection) touch(e *entry) {
	if p.event.Payload != nil {
		e.item.Seq, e.item.At = p.event.Seq, p.event.At
		e.item.Inherited = p.event.Seq <= p.forkedAt
	}
	if !slices.Contains(p.touched, e) {
		p.touched = append(p.touched, e)
	}
}

// finish makes e final.
func (p *Projection) finish(e *entry) {
	p.touch(e)
	e.item.Final = true
	p.remove(e)
}

// drop removes e, which is not part of what the person reads.
func (p *Projection) drop(e *entry) {
	p.touch(e)
	e.item.Gone = true
	p.remove(e)
}

func (p *Projection) remove(e *entry) {
	delete(p.entries, e.item.ID)
	p.open = slices.DeleteFunc(p.open, func(o *entry) bool { return o == e })
}

// each calls f for each item of a kind that is not final; f may finish it.
func (p *Projection) each(kind Kind, f func(*entry)) {
	for _, e := range slices.Clone(p.open) {
		if e.item.Kind == kind {
			f(e)
		}
	}
}

// note adds a note, which is final. n is its number among those of the event.
func (p *Projection) note(n int, text string, note Note) {
	id := "note-" + strconv.FormatInt(p.event.Seq, 10)
	if n > 1 {
		id += "-" + strconv.Itoa(n)
	}
	e := p.entry(id, KindNote)
	e.item.Text, e.item.Note = text, &note
	p.finish(e)
}

func (p *Projection) interruptID() string { return "interrupt-" + strconv.Itoa(p.turn.N) }

// apply applies an event.
func (p *Projection) apply(e run.Event) {
	p.event = e
	first := p.turn.Interrupt
	if !p.known() {
		p.turn.Add(e.Payload)
	}
	p.dispatch(e, first)
	p.event = run.Event{}
}

// known reports whether the totals of the event are part of the state that From was given.
func (p *Projection) known() bool { return p.event.Seq != 0 && p.event.Seq <= p.seeded }

func (p *Projection) dispatch(e run.Event, first run.Interrupted) {
	switch f := e.Payload.(type) {
	case run.Created:
		p.created(f)
	case run.Configured:
		if f.Change.Control != nil {
			p.control = *f.Change.Control
		}
		p.note(1, ChangeWords(f.Change), Note{Kind: NoteConfigured, Change: f.Change})
	case run.Prompted:
		p.prompted(f)
	case run.Said:
		p.said(f)
	case run.Withdrawn:
		if e := p.entries["said-"+f.ID]; e != nil {
			p.settleMessage(e, Withdrawn)
		}
	case run.RequestStarted:
		p.requestStarted(f)
	case run.RequestFailed:
		p.requestFailed(f)
	case run.Replied:
		p.replied(f)
	case run.Observed:
		p.observe(f)
	case run.CallReceived:
		p.named(f.Call)
	case run.CallInspected:
		p.inspected(f)
	case run.CallDecided:
		p.decided(f)
	case run.ApprovalInvalidated:
		p.invalidated(f)
	case run.CallStarted:
		p.started(f)
	case run.CallDetached:
		p.called(f.Call).detached = true
	case run.CallAsked:
		e := p.called(f.Call)
		p.note(1, e.item.Call.Title()+" · asks: "+OneLine(f.Question, MaxLine), Note{Kind: NoteAsked, Call: f.Call, Detail: f.Question})
	case run.CallAnswered:
		if len(f.Parts) > 0 {
			p.message("answer-"+strconv.FormatInt(p.event.Seq, 10), Message{Kind: Answer, State: Delivered, Call: f.Call}, f.Parts)
		}
	case run.CallSettled:
		p.settled(f)
		if files := f.Instructions.Files; len(files) > 0 {
			p.note(1, "instructions from "+OneLine(strings.Join(files, ", "), MaxLine), Note{Kind: NoteInstructions, Call: f.Call, Detail: f.Instructions.Text})
		}
	case run.HookStarted: // they are shown when they have said something
	case run.HookSettled:
		if f.Arguments != "" {
			c := p.called(f.Call).call()
			c.Arguments, c.Subject = f.Arguments, Subject(c.Tool, f.Arguments)
			if was, ok := p.calls[f.Call]; ok {
				was.Arguments = f.Arguments
				p.calls[f.Call] = was
			}
		}
		about := ""
		switch e := p.entries[string(f.Call)]; {
		case e != nil:
			about = e.item.Call.Title() + " · "
		case f.Call != "": // the call has its result
			about = string(f.Call) + " · "
		}
		if f.Says == run.HookDenies && (f.Point == run.PreToolUse || f.Point == run.PermissionRequest) {
			f.Says = run.HookPasses // the call says that it was refused, and why
		}
		lines := HookWords(f)
		if f.Says == run.HookDenies && f.Point == run.JudgeModel {
			lines = nil // so does it then
		}
		for i, line := range lines {
			p.note(i+1, about+line, Note{Kind: NoteHook, Call: f.Call})
		}
	case run.Resumed:
		p.resumed(f)
	case run.Told:
		p.told(f)
	case run.Submitted:
		e := p.entry("submission-"+strconv.FormatInt(p.event.Seq, 10), KindSubmission)
		e.item.Text = f.Value
		p.finish(e)
	case run.Interrupted:
		p.interrupted(f, first)
	case run.Compacted:
		text := fmt.Sprintf("context compacted, about %d tokens freed", f.Freed)
		p.note(1, text, Note{Kind: NoteCompacted, Detail: f.Summary, Freed: f.Freed})
	case run.Synthesized:
		p.giveBack()
		e := p.entry("account-"+strconv.FormatInt(p.event.Seq, 10), KindAccount)
		e.item.Text = f.Text
		p.finish(e)
	case run.Ended:
		p.ended(f)
	default: // unreachable: a test shows every type of event
		p.note(1, fmt.Sprintf("%T", f), Note{Kind: NoteNotice})
	}
}

func (p *Projection) created(f run.Created) {
	p.run, p.control, p.external, p.forkedAt = f.Run, f.Config.Control, f.External, f.ForkedAt
	p.nextCall = 1
	e := p.entry("run", KindRun)
	e.item.Run = &Run{ID: f.Run, Agent: f.Agent, Model: f.Config.Model, Mode: f.Config.Mode, Workspace: f.Workspace, Version: f.Version, External: f.External,
		Parent: f.Parent, ParentCall: f.ParentCall, ForkedFrom: f.ForkedFrom, ForkedAt: f.ForkedAt}
	e.item.Inherited = false
	p.finish(e)
	e.item.Inherited = false
}

func (p *Projection) resumed(f run.Resumed) {
	p.endAnswer()
	for i, id := range f.Calls {
		e := p.called(id)
		c := e.call()
		c.State, c.Tail = Allowed, ""
		if c.Child == "" { // a sub-agent shows itself, and each answer to it resumes what waits for it
			again := "running it again"
			if e.detached {
				again = "asking what came of it"
			}
			p.note(i+1, c.Title()+" · was running when pawl ended; "+again, Note{Kind: NoteResumed, Call: id})
		}
	}
	if f.Request {
		p.endObserved(run.Unknown)
		p.note(len(f.Calls)+1, "a request was under way when pawl ended; sending it again", Note{Kind: NoteResumed})
	}
}

func (p *Projection) told(f run.Told) {
	text := "the model is told to continue (" + string(f.Reason) + ")"
	switch f.Reason {
	case run.TellRepeated:
		text = "the model is told that the call " + string(f.Call) + " repeats itself"
	case run.TellMode:
		return // the mode itself is shown
	case run.TellOutput:
		text = fmt.Sprintf("no valid result yet; the model is asked again (%d)", p.turn.Reminders)
	}
	p.note(1, text, Note{Kind: NoteReminder, Detail: f.Text, Call: f.Call, Tell: f.Reason})
}
