package tui

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"pawl/approval"
	"pawl/render"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

// open takes in that a conversation is open.
func (m *model) open(o opened) []effect {
	m.opens = false
	if m.n != 0 && m.id == o.id { // the same run, driven by another process than before
		ours := !m.attached // and it has stopped for an error, which is told
		m.n, m.attached, m.driven, m.state = o.n, o.attached, o.attached, o.state
		m.state.Config = o.config
		if !ours {
			m.tellUnfinished()
		}
		return m.waiting(o.n, o.state)
	}
	m.n, m.id, m.attached, m.driven, m.state = o.n, o.id, o.attached, o.attached, o.state
	if m.state.Config = o.config; o.config.Mode != o.state.Config.Mode { // a flag has chosen it
		m.chosenMode = o.config.Mode
	}
	if o.attached {
		m.say(fmt.Sprintf("run %s is driven by another process: what you type goes there", o.id))
	}
	m.tellUnfinished()
	if m.driven || !o.state.Turn.Open() { // else who asked while a call ran has ended, and takes no answer
		m.askQuestion(o.state)
	}
	return m.waiting(o.n, o.state)
}

// tellUnfinished says how a turn is resumed whose process has ended.
func (m *model) tellUnfinished() {
	switch turn := m.state.Turn; {
	case m.driven:
	case turn.Open() && len(runlog.Undecided(m.state)) == 0:
		m.flush()
		for _, c := range turn.Calls {
			if c.Status != run.CallRunning {
				continue
			}
			words := "was running when pawl ended: "
			if c.StartsChild() {
				words = "was waiting for its sub-agent when pawl ended: "
			}
			m.say(words + render.CallTitle(c.Call.Tool, view.Subject(c.Call.Tool, c.Call.Arguments)))
		}
		m.say("this turn was interrupted when pawl ended: /continue resumes it")
	case turn.End.End == run.EndInterrupted && turn.Interrupt.Cause == run.ByShutdown:
		m.say("the turn was interrupted: /continue resumes it, or say what to do next")
	}
}

// waiting returns what finds out what a run in a state waits for.
func (m *model) waiting(n int, s run.State) []effect {
	if !s.Turn.Open() {
		return nil
	}
	return []effect{loadApprovals(n)}
}

// tell takes in what a resumed run's log has, and shows the end of it.
func (m *model) tell(h history) {
	m.transcript = m.newTranscript()
	m.prompts, m.ask, m.n, m.id, m.opens = nil, nil, 0, "", true
	m.answered()
	clear(m.sent)
	clear(m.children)
	for _, u := range h.updates {
		m.note(*u.Event)
		m.see(m.transcript, m.transcript.Update(u))
	}
	lines := m.transcript.Above(m.width)
	m.transcript.Tally() // of turns that have ended: their lines are not those of the next one
	if !h.tell {
		return
	}
	if cut := len(lines) - maxHistory; cut > 0 {
		m.say(fmt.Sprintf("%d earlier lines are not shown: see `pawl runs show last`", cut))
		lines = lines[cut:]
	}
	m.print(lines...)
}

// maxHistory is how many lines of a resumed run are shown.
const maxHistory = 300

// note remembers the prompts of a run.
func (m *model) note(e run.Event) {
	p, ok := e.Payload.(run.Prompted)
	if ok {
		m.began = e.At
	}
	if ok && !p.Continue && p.Answers == "" {
		m.composes = m.composes || strings.ContainsFunc(typed(p.Parts), isComposed)
		m.prompts = append(m.prompts, prompt{run.ShownText(p.Parts), p.Parts, e.Seq - 1, len(m.prompts) + 1})
	}
}

// see remembers what keys can ask for of the items of a transcript, and the runs that calls have
// started.
func (m *model) see(t *render.Transcript, items []view.Item) {
	for _, i := range items {
		if i.Kind != view.KindCall {
			continue
		}
		id := i.Call.Child
		if !i.Final {
			if id != "" && i.Call.State == view.Running && m.children[id] == nil {
				m.children[id] = &child{Transcript: t.Child(i.Call), open: map[run.CallID]view.Call{}}
			}
			continue
		}
		delete(m.children, id)
		if _, _, all := m.TodoLines(i.Call, m.width); all > 0 {
			m.todo = i.Call
		}
	}
}

// takeChild takes in news of a run below. What was shown before another process took the conversation
// over comes again.
func (m *model) takeChild(n childNews) {
	c := m.children[n.id]
	if c == nil || n.Event != nil && n.Event.Seq <= c.last {
		return
	}
	if n.Event != nil {
		c.last = n.Event.Seq
	}
	if decided, ok := payload[run.CallDecided](n.Update); ok && m.ask != nil {
		m.ask.drop(m, callOf{run: n.id, call: decided.Call})
	}
	if n.Event != nil {
		_, c.ended = n.Event.Payload.(run.Ended)
	}
	items := c.Update(n.Update)
	for _, i := range items {
		switch {
		case i.Kind != view.KindCall:
		case i.Final || i.Gone:
			delete(c.open, i.Call.ID)
		default:
			c.open[i.Call.ID] = *i.Call
		}
	}
	m.see(c.Transcript, items)
}

// take takes in news of the run.
func (m *model) take(n news) []effect {
	if q := m.asked(); q != nil && n.Event != nil && answers(n.Event.Payload) {
		m.flush()
		if !m.Words && !m.question.printed { // else it was written when it was asked
			m.print(m.QuestionLines(*q, m.width)...) // above the answer
		}
		m.answered()
	}
	m.see(m.transcript, m.transcript.Update(n.Update))
	return m.react(n)
}

// react does what follows from news of the run.
func (m *model) react(n news) []effect {
	if n.Waiting != nil || n.Below != "" {
		if n.Waiting != nil && len(n.Waiting) == 0 {
			m.dropOwn()
		}
		return []effect{loadApprovals(n.n)}
	}
	if n.Notice != "" {
		m.say(n.Notice)
	}
	if n.Stopping != nil {
		m.stopping = true
	}
	if n.Event == nil {
		return nil
	}
	m.state, m.driven = n.state, true
	m.note(*n.Event)
	switch f := n.Event.Payload.(type) {
	case run.Prompted:
		if m.question != nil && m.question.choose != nil {
			m.answered() // the person has said what to do with the plan
		}
		m.awaits = false
	case run.Said:
		m.awaits = false
	case run.CallAsked:
		m.askQuestion(m.state)
	case run.CallAnswered, run.CallSettled, run.Resumed:
		m.awaits = m.awaits && m.asked() != nil
		m.stillAsked()
	case run.CallDecided:
		if m.ask != nil {
			m.ask.drop(m, callOf{run: m.id, call: f.Call})
		}
	case run.Ended:
		m.askNoMore()
		m.askBelow(nil)
		m.stopping, m.awaits = false, false
		m.askQuestion(m.state)
		return m.ended(f)
	}
	return nil
}

// answers reports whether an event is the answer to a question of the agent.
func answers(p run.Payload) bool {
	switch f := p.(type) {
	case run.Prompted:
		return f.Answers != ""
	case run.CallAnswered:
		return len(f.Parts) > 0
	}
	return false
}

// askQuestion shows the question that a run in a state waits with, if there is one.
func (m *model) askQuestion(s run.State) {
	if open := s.Answerable(); len(open) > 0 {
		m.showQuestion(runlog.QuestionOf(open[0]))
	}
}

// stillAsked takes a question of a call that runs from the screen if it waits no more.
func (m *model) stillAsked() {
	q := m.asked()
	if q == nil || q.Run != "" || slices.ContainsFunc(m.state.Questions(), func(c run.CallState) bool { return ofQuestion(runlog.QuestionOf(c)) == ofQuestion(*q) }) {
		return
	}
	m.answered()
	m.askQuestion(m.state)
}

// showQuestion shows a question that waits for an answer.
func (m *model) showQuestion(q runlog.Question) {
	m.answered()
	m.question = &question{Question: q}
	m.question.comesUp(m)
	m.notify("answer a question")
}

// answered takes in that no question waits any more.
func (m *model) answered() {
	if q := m.question; q != nil {
		m.question = nil
		q.leaves(m)
	}
}

// ended takes in that a turn has ended.
func (m *model) ended(e run.Ended) []effect {
	if m.now.Sub(m.began) > quietTurn {
		m.notify(view.EndLine(e))
	}
	return []effect{later(func(context.Context, *backend) error {
		debug.FreeOSMemory() // the requests of a long turn leave more garbage than there is to keep
		return nil
	})}
}

// printEnd prints how a turn has ended.
func (m *model) printEnd(f finished) {
	denials := slices.DeleteFunc(f.denials, func(d approval.Denial) bool { return m.sent[callOf{run: m.id, call: d.Call}] }) // the person knows
	end := render.End{Words: view.EndLine(f.state.Turn.End), Denials: denials, State: f.state, Undo: "/undo"}
	if len(f.state.Questions()) > 0 { // the end is told when it has been answered
		return
	}
	end.Next = nextWords(f.state)
	m.flush()
	m.transcript.PrintEnd(end)
	m.flush()
	for _, w := range f.state.Returned {
		m.say("not delivered: " + view.OneLine(typed(w.Parts), view.MaxLine))
		if m.wrote[w.ID] {
			delete(m.wrote, w.ID)
			m.giveBack(w.Parts)
		}
	}
	if f.state.Config.Mode == run.PlanMode && f.state.Turn.End.End == run.Completed && m.question == nil {
		m.question = planQuestion()
		m.question.comesUp(m)
	}
}

// takeOver takes in that the process that drove the run does so no more: this one does.
func (m *model) takeOver() []effect {
	id := m.id
	return []effect{inOrder(func(ctx context.Context, b *backend) error { return b.takeOver(ctx, id) })}
}
