package view

import (
	"slices"
	"strconv"
	"strings"

	"pawl/run"
)

// An answer is the answer that streams. Its items are named by the event that started the
// request, and counted by kind, so that the finished message finds those that its deltas
// have made.
type answer struct {
	seq              int64 // of the request; 0: not known
	purpose          run.Purpose
	thinkings, texts int
	calls            int
	last             Kind            // of the piece that streams
	object           strings.Builder // in controller mode
	reported         string          // the last text of an external agent
	done             bool            // the answer is complete: deltas that come late do not count
}

func (a *answer) id(kind Kind, n int) string {
	return string(kind) + "-" + strconv.FormatInt(a.seq, 10) + "-" + strconv.Itoa(n)
}

// purpose returns what the request is for, also where its start was not seen.
func (p *Projection) purpose() run.Purpose {
	switch {
	case p.answer.purpose != "":
		return p.answer.purpose
	case p.external:
		return run.ForAgent
	}
	return run.ForStep
}

func (p *Projection) requestStarted(f run.RequestStarted) {
	p.dropAnswer()
	if f.Purpose == run.ForSynthesis {
		p.endCarried()
	}
	p.answer = answer{seq: p.event.Seq, purpose: f.Purpose}
	p.messages(Steering, Delivered)
	if f.Purpose == run.ForSummary {
		e := p.piece("compacting-"+strconv.FormatInt(p.event.Seq, 10), KindNote)
		e.item.Text, e.item.Note = "compacting the context", &Note{Kind: NoteCompacted}
	}
}

func (p *Projection) requestFailed(f run.RequestFailed) {
	p.endAnswer()
	p.note(1, failureWords(f), Note{Kind: NoteFailed, Detail: f.Reason, Error: f.Kind, Attempt: p.turn.Failures, Wait: f.RetryAfter})
}

// delta adds a piece of the answer that streams.
func (p *Projection) delta(d Delta) {
	a := &p.answer
	if a.done || p.purpose() == run.ForSummary {
		return // a summary is not for the person
	}
	if d.Thinking != "" {
		p.stream(KindThinking, d.Thinking)
	}
	switch {
	case d.Text == "":
	case p.purpose() == run.ForSynthesis:
		p.stream(KindAccount, d.Text)
	case p.control == run.Controller && p.purpose() == run.ForStep:
		p.streamObject(d.Text)
	default:
		p.stream(KindText, d.Text)
	}
	if d.Tool != "" {
		a.calls++
		a.last = KindCall
		id, itemID := p.streamedCall()
		e := p.entry(itemID, KindCall)
		e.streamed = true
		e.item.Call = &Call{ID: id, Tool: d.Tool, State: Streaming}
	}
	if d.Arguments != "" && a.last == KindCall {
		_, itemID := p.streamedCall()
		e := p.entries[itemID]
		if e == nil {
			return
		}
		p.touch(e)
		e.text.WriteString(d.Arguments)
		c := e.call()
		c.Arguments = e.text.String()
		if len(c.Arguments)-len(d.Arguments) < maxArguments {
			c.Subject = Subject(c.Tool, c.Arguments)
		}
	}
}

// streamedCall returns the id that the call that streams will have, if that is known, and
// the id of its item.
func (p *Projection) streamedCall() (call run.CallID, item string) {
	if p.nextCall > 0 && !p.external {
		call = run.CallID("c_" + strconv.Itoa(p.nextCall+p.answer.calls-1))
		return call, string(call)
	}
	return "", p.answer.id(KindCall, p.answer.calls)
}

// stream adds text to the last piece of the answer, or begins the next.
func (p *Projection) stream(kind Kind, text string) {
	a := &p.answer
	if a.last != kind {
		a.last = kind
		switch kind {
		case KindThinking:
			a.thinkings++
		case KindText:
			a.texts++
		}
	}
	var e *entry
	switch {
	case kind == KindAccount:
		e = p.piece("account-"+strconv.FormatInt(a.seq, 10), kind)
	case kind == KindThinking:
		e = p.piece(a.id(kind, a.thinkings), kind)
	default:
		e = p.textPiece(a.texts)
	}
	if e.text.Len() == 0 {
		e.text.WriteString(e.base)
	}
	e.text.WriteString(text)
	e.item.Text = e.text.String()
}

// piece returns the item of a piece of the answer that streams.
func (p *Projection) piece(id string, kind Kind) *entry {
	known := p.entries[id] != nil
	e := p.entry(id, kind)
	e.streamed = e.streamed || !known
	return e
}

// textPiece returns the n-th text of the answer: the first may continue the text of the
// answer before.
func (p *Projection) textPiece(n int) *entry {
	if n == 1 && p.carried != nil {
		p.touch(p.carried)
		return p.carried
	}
	return p.piece(p.answer.id(KindText, n), KindText)
}

// streamObject adds to the answer of controller mode, and shows what can be read of it.
func (p *Projection) streamObject(text string) {
	a := &p.answer
	a.object.WriteString(text)
	if a.object.Len() > maxObject {
		return
	}
	if action, ok := streamedAction(a.object.String()); ok {
		p.action(action, func(e *entry, text string) {
			if e.item.Text != text {
				e.item.Text = text
				p.touch(e)
			}
		})
	}
}

// action calls show with the items of an action of controller mode and their texts.
func (p *Projection) action(a run.Action, show func(*entry, string)) {
	one := func(id string, kind Kind, step bool, text string) {
		if strings.TrimSpace(text) == "" {
			return
		}
		e := p.entries[id]
		if e == nil {
			e = p.piece(id, kind)
		}
		e.item.Step = step
		show(e, text)
	}
	one(p.answer.id(KindThinking, 0), KindThinking, false, plain([]byte(a.Thinking), "\n"))
	one(p.answer.id(KindText, 1), KindText, true, a.Description)
	words := a.Message
	if a.Reason != "" {
		words = strings.TrimSpace(a.Reason + "\n\n" + a.Message)
	}
	one(p.answer.id(KindText, 2), KindText, false, words)
}

// endAnswer removes what has streamed, for good.
func (p *Projection) endAnswer() {
	p.dropAnswer()
	p.answer.done = true
}

// dropAnswer removes what has streamed.
func (p *Projection) dropAnswer() {
	p.dropStreamed()
	if e := p.carried; e != nil && e.text.Len() > 0 {
		e.text.Reset()
		e.item.Text = e.base
		p.touch(e)
	}
	p.answer = answer{seq: p.answer.seq, purpose: p.answer.purpose, reported: p.answer.reported, done: p.answer.done}
}

func (p *Projection) dropStreamed() {
	for _, e := range slices.Clone(p.open) {
		if e.streamed {
			p.drop(e)
		}
	}
}

// endCarried makes a text final that could have been continued.
func (p *Projection) endCarried() {
	if e := p.carried; e != nil {
		p.carried = nil
		e.item.Text, e.item.Answer = e.base, true
		p.finish(e)
	}
}

func (p *Projection) replied(f run.Replied) {
	p.answer.done = true
	text := run.PlainText(f.Parts)
	switch p.purpose() {
	case run.ForSummary:
		p.number(f.Parts)
		p.dropAnswer()
	case run.ForSynthesis:
		if p.number(f.Parts) > 0 || strings.TrimSpace(text) == "" {
			p.dropAnswer() // the account is made from the log
			break
		}
		e := p.entry("account-"+strconv.FormatInt(p.answer.seq, 10), KindAccount)
		e.item.Text, e.streamed = text, false
		p.finish(e)
		p.dropAnswer()
	case run.ForAgent:
		p.report(f.Parts, true)
	default:
		unfinished := p.number(f.Parts) == 0 && f.Action == nil && (f.Stop == run.StopMaxTokens || f.Stop == run.StopPause)
		p.answered(f.Parts, f.Action, unfinished, false)
	}
	if f.Action != nil && f.Action.Problem != "" {
		p.note(1, "the answer cannot be used: "+OneLine(f.Action.Problem, MaxLine), Note{Kind: NoteUnusable, Detail: f.Action.Feedback})
	}
	if f.Unfit != "" {
		p.note(2, "the answer is not the result: "+OneLine(f.Unfit, MaxLine), Note{Kind: NoteUnfit, Detail: f.Unfit})
	}
}

// partial shows what is kept of an answer that an interrupt has cut.
func (p *Projection) partial(parts []run.Part) {
	p.answer.done = true
	if len(parts) == 0 || p.purpose() != run.ForStep {
		p.number(parts)
		p.dropAnswer()
		p.endCarried()
		return
	}
	var action *run.Action
	if p.control == run.Controller {
		if a, ok := streamedAction(run.PlainText(parts)); ok {
			action = &a
		}
	}
	p.number(parts)
	p.answered(parts, action, false, true)
	p.endCarried()
}

// A group are neighbouring parts of a message that are one item.
type group struct {
	kind Kind
	text string
	cut  bool
	call *run.Call
}

// groups returns the parts of a message as they stream: deltas do not say where one text
// ends and the next begins, unless something else stands between them.
func groups(parts []run.Part) []group {
	var all []group
	for _, part := range parts {
		g := group{text: part.Text, cut: part.Cut}
		switch {
		case part.Type == run.CallPart && part.Call != nil:
			all = append(all, group{kind: KindCall, call: part.Call})
			continue
		case part.Type == run.TextPart && part.Text != "":
			g.kind = KindText
		case part.Type == run.ThinkingPart && part.Text != "":
			g.kind = KindThinking
		default:
			continue
		}
		if n := len(all); n > 0 && all[n-1].kind == g.kind {
			all[n-1].text += "\n" + g.text
			all[n-1].cut = all[n-1].cut || g.cut
			continue
		}
		all = append(all, g)
	}
	return all
}

// answered shows the message of a step. Unfinished says that the next answer continues its
// text, cut that an interrupt has ended it.
func (p *Projection) answered(parts []run.Part, action *run.Action, unfinished, cut bool) {
	a := &p.answer
	a.thinkings, a.texts, a.calls = 0, 0, 0
	all := groups(parts)
	final := !slices.ContainsFunc(all, func(g group) bool { return g.kind == KindCall }) // no call follows
	var last *entry                                                                      // text
	end := func() {
		if last != nil {
			if p.carried == last {
				p.carried = nil
			}
			last.item.Answer = final
			p.finish(last)
		}
	}
	acted := action == nil
	act := func() {
		if !acted {
			acted = true
			p.endCarried()
			p.action(*action, func(e *entry, text string) {
				e.item.Text, e.streamed, e.item.Cut = text, false, cut
				e.item.Answer = final && e.item.Kind == KindText && !e.item.Step
				p.finish(e)
			})
		}
	}
	for _, g := range all {
		switch g.kind {
		case KindThinking:
			a.thinkings++
			e := p.piece(a.id(KindThinking, a.thinkings), KindThinking)
			e.item.Text, e.streamed = g.text, false
			p.finish(e)
		case KindText:
			a.texts++
			continued := a.texts == 1 && p.carried != nil
			if action != nil || strings.TrimSpace(g.text) == "" && !continued {
				continue
			}
			end()
			last = p.textPiece(a.texts)
			last.item.Text, last.item.Cut, last.streamed = last.base+g.text, g.cut, false
		case KindCall:
			act()
			p.named(*g.call)
		}
	}
	act()
	switch {
	case unfinished && last != nil:
		p.carried = last
		last.base = last.item.Text
		last.text.Reset()
	case unfinished:
	case last != nil:
		end()
	default:
		p.endCarried()
	}
	p.dropStreamed()
}

// report shows what an external agent has reported.
func (p *Projection) report(parts []run.Part, last bool) {
	p.dropAnswer()
	for i, g := range groups(parts) {
		switch g.kind {
		case KindCall:
			p.observedCall(i, *g.call)
			continue
		case KindText:
			if g.text == p.answer.reported || strings.TrimSpace(g.text) == "" {
				continue // the last message of a turn may have been reported before
			}
			p.answer.reported = g.text
		}
		e := p.entry(string(g.kind)+"-"+strconv.FormatInt(p.event.Seq, 10)+"-"+strconv.Itoa(i+1), g.kind)
		e.item.Text, e.item.Answer = g.text, last && g.kind == KindText
		p.finish(e)
	}
}

// number counts the calls of a message and returns their number.
func (p *Projection) number(parts []run.Part) int {
	n := 0
	for _, part := range parts {
		if part.Type == run.CallPart {
			n++
		}
	}
	if p.nextCall > 0 {
		p.nextCall += n
	}
	return n
}
