package tui

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"pawl/app"
	"pawl/internal/screen"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/render"
	"pawl/run"
	"pawl/tui/keys"
	"pawl/view"
)

// A model is what the terminal shows and what a key would do: plain state, changed by messages
// alone. It works with nothing outside: what is to be done is returned as effects.
type model struct {
	Options
	render.Style
	width, height int
	now           time.Time
	focus         bool // the terminal's window has it, as far as is known
	reflows       bool // see frame
	clean         bool // the next frame clears the screen
	resizedAt     time.Time

	// Of the conversation that is open.
	n          int    // its number; see desk
	id         run.ID // empty: none yet
	attached   bool   // another process drives it
	state      run.State
	transcript *render.Transcript
	children   map[run.ID]*render.Transcript // of runs that calls have started and that work
	prompts    []prompt                      // of the person, oldest first
	awaits     bool                          // a prompt was handed in and its event has not come yet
	stopping   bool                          // an interrupt was handed in and its event has not come yet
	began      time.Time                     // of the turn
	driven     bool                          // a process works on the turn, as far as is known
	wish       app.Task                      // model and mode of the next run, as the person has chosen
	model      modelKnown                    // that a new run would have
	branch     string

	own       []app.PromptCommand // commands that people have written
	untrusted []string            // folders with commands that are not
	input     input
	pane      pane // takes keys before the input; nil: none
	ask       *dialog
	asked     *app.Question       // of the agent, that waits for an answer
	sent      map[run.CallID]bool // calls that were answered here
	wrote     map[string]bool     // messages that were written here and did not come back
	showTo    bool                // the list of tasks
	lastCall  *view.Item          // a call that has ended
	todo      *view.Call          // that has set the list of tasks
	context   []run.Part          // what commands of the person have printed, for the next prompt
	running   int                 // commands of the person

	lines []string // finished lines that were not drawn yet
	hint  string   // a sentence for the person, until the next key
	armed armed    // a key that does something if it is pressed again
	typed time.Time
	left  bool // the program ends

	opens    bool // a run whose history is shown is about to be open
	composes bool // the person writes with an input method
	spoken   spoken

	terminated bool // not the person has ended it
}

// A prompt is one of the person, and the event before it.
type prompt struct {
	text  string
	after int64
	turn  int
}

// A frame is what the terminal shows next: finished lines, which are printed once, and the live
// part below them with the cursor.
type frame struct {
	above    []string
	live     []string
	row, col int // of the cursor in live; row -1: it is hidden
	bell     string
	width    int // of the terminal
	height   int
	reflows  bool // the terminal breaks lines anew when it becomes narrower
	clear    bool // what is on the screen goes first
	works    bool // the agent is at work or about to be
	asks     bool // a dialog takes keys
	attached bool // another process drives the run
	pending  int  // messages that were not delivered yet
	input    string
}

// A pane takes the keys while it is open. It is drawn above the input.
type pane interface {
	// key does what a key means. It reports whether it means anything; else the input has it.
	key(m *model, name, text string) (effects []effect, taken bool)
	// lines returns the pane, at most height lines of at most width columns.
	lines(m *model, width, height int) []string
}

// A typist is a pane that text is typed in.
type typist interface {
	// editing returns the place of the cursor in the lines that were drawn last; row -1: there is none.
	editing() (row, col int)
}

func newModel(o Options) *model {
	m := &model{Options: o, Style: o.Style, width: 80, height: 24, focus: true, sent: map[run.CallID]bool{}, wrote: map[string]bool{}, children: map[run.ID]*render.Transcript{}, reflows: screen.Reflows(o.Getenv), composes: composesIn(o.Getenv)}
	m.transcript = m.newTranscript()
	m.wish.Agent = o.Agent
	return m
}

func (m *model) newTranscript() *render.Transcript {
	t := render.NewTranscript(m.Style, &view.Projection{})
	t.Answers, t.Streams, t.Echo, t.Present = true, true, true, true
	return t
}

// update takes in a message.
func (m *model) update(msg message, now time.Time) []effect {
	m.now = now
	switch msg := msg.(type) {
	case nil:
		return m.begin()
	case pressed:
		return m.key(msg.Name, msg.Text)
	case pasted:
		effects := m.paste(msg.text)
		if msg.dropped > 0 {
			m.hint = "the paste was too long: its last " + text.Size(int64(msg.dropped)) + " were dropped; use @ to name a file instead"
		}
		return effects
	case resized:
		m.resizedAt = now
		m.size(msg.width, msg.height)
	case replied:
		if msg.Kind == keys.Version {
			m.reflows = screen.ReflowsVersion(msg.Text)
		}
	case focused:
		m.focus = msg.yes
	case stopped:
		m.terminated = true
		return m.leave()
	case opened:
		return m.open(msg)
	case history:
		m.tell(msg)
	case news:
		if msg.n == m.n {
			return m.take(msg)
		}
	case childNews:
		if t := m.children[msg.id]; msg.n == m.n && t != nil {
			return m.see(t, t.Update(msg.Update))
		}
	case unfollowed:
		if msg.n == m.n {
			return m.takeOver()
		}
	case approvals:
		if msg.n == m.n {
			m.askAbout(msg)
		}
	case finished:
		if msg.n == m.n {
			m.printEnd(msg)
		}
	case failed:
		m.awaits = false
		return m.fail(msg.err)
	case notice:
		m.say(msg.text)
	case printed:
		m.print(msg.lines...)
	case picked:
		if !msg.first || m.id == "" && m.Resume == "" && !m.Pick && m.pane == nil {
			m.pane = msg.picker
		}
	case searchable:
		msg.menu.Also(msg.texts)
	case inserted:
		m.input.editor.SetText(msg.text)
	case pictured:
		if msg.parts == nil {
			m.input.editor.Paste(msg.text)
		} else {
			m.input.editor.InsertImage(msg.parts)
		}
	case modelKnown:
		m.model = msg
		if msg.err != nil && m.id == "" && m.pane == nil {
			return m.welcome()
		}
	case modelChosen:
		m.wish.Model = msg.name
		m.model = modelKnown{name: msg.name}
	case undecided:
		if msg.n == m.n {
			delete(m.sent, msg.call)
			return []effect{loadApprovals(m.n)}
		}
	case branchKnown:
		m.branch = msg.name
	case commandsKnown:
		m.own, m.untrusted = msg.commands, msg.untrusted
		m.complete()
	case filesKnown:
		m.input.files = msg.names
		m.complete()
	case shellEnded:
		m.shellEnded(msg)
	case panicked:
		panic(msg.text)
	case leaving:
		m.left = true
	}
	return nil
}

// size takes in the size of the terminal.
func (m *model) size(width, height int) {
	m.width, m.height = max(width, leastWidth), max(height, leastHeight)
}

// animates reports whether what is shown depends on the time.
func (m *model) animates() bool {
	return m.works() || m.awaits || m.running > 0 || m.armed.key != "" || m.ask != nil && !m.ask.ready(m) ||
		m.now.Sub(m.resizedAt) < 2*time.Second // the cursor comes back to its place
}

// works reports whether the agent is at work: not when it waits for the person.
func (m *model) works() bool {
	return m.state.Turn.Open() && m.ask == nil && m.driven
}

// print prints lines above the live part. They are safe to print.
func (m *model) print(lines ...string) { m.lines = append(m.lines, lines...) }

// say prints a sentence for the person.
func (m *model) say(text string) {
	m.print(render.Hang("  ", m.Wrap([]render.Span{{Text: visible.Escape(strings.ReplaceAll(text, "\n", " ")), Paint: render.Faint}}, m.width-2, false))...)
}

// begin returns what is done first.
func (m *model) begin() []effect {
	m.print(m.header())
	effects := []effect{
		later(func(ctx context.Context, d *desk) error {
			name, err := d.ws.Model(ctx)
			d.post(modelKnown{name, err})
			return nil
		}),
		later(func(_ context.Context, d *desk) error {
			d.post(branchKnown{branchOf(d.ws.Dir)})
			return nil
		}),
		later(func(ctx context.Context, d *desk) error {
			d.findCommands()
			return nil
		}),
	}
	switch {
	case m.Pick:
		effects = append(effects, pickRun())
	case m.Resume != "":
		effects = append(effects, inOrder(func(ctx context.Context, d *desk) error { return d.resume(ctx, m.Resume, true) }))
	}
	if m.Prompt != "" {
		effects = append(effects, m.send(m.Prompt)...)
	}
	return effects
}

// open takes in that a conversation is open.
func (m *model) open(o opened) []effect {
	m.opens = false
	if m.n != 0 && m.id == o.id { // the same run, driven by another process than before
		ours := !m.attached // and it has stopped for an error, which is told
		m.n, m.attached, m.driven, m.state = o.n, o.attached, o.attached, o.state
		if !ours {
			m.tellUnfinished()
		}
		return m.waiting(o.n, o.state)
	}
	m.n, m.id, m.attached, m.driven, m.state = o.n, o.id, o.attached, o.attached, o.state
	if o.attached {
		m.say(fmt.Sprintf("run %s is driven by another process: what you type goes there", o.id))
	}
	m.tellUnfinished()
	m.askQuestion(o.state)
	return m.waiting(o.n, o.state)
}

// tellUnfinished says how a turn is resumed whose process has ended.
func (m *model) tellUnfinished() {
	switch turn := m.state.Turn; {
	case m.driven:
	case turn.Open() && len(app.Undecided(m.state)) == 0:
		m.flush()
		for _, c := range turn.Calls {
			if c.Status == run.CallRunning {
				m.say("was running when its process ended: " + render.CallTitle(c.Call.Tool, view.Subject(c.Call.Tool, c.Call.Arguments)))
			}
		}
		m.say("the turn was not finished, because its process ended: /continue resumes it")
	case turn.End.End == run.EndInterrupted && turn.Interrupt.Cause == run.ByShutdown:
		m.say("the turn was interrupted: /continue resumes it, or say what to do next")
	}
}

// waiting returns what finds out what a run in a state waits for.
func (m *model) waiting(n int, s run.State) []effect {
	if len(app.Undecided(s)) == 0 {
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
		m.see(m.transcript, m.transcript.Update(u)) // what it has started has ended, or is followed with the next news of it
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
		m.prompts = append(m.prompts, prompt{run.ShownText(p.Parts), e.Seq - 1, len(m.prompts) + 1})
	}
}

// see remembers what keys can ask for of the items of a transcript, and follows the runs that
// calls have started.
func (m *model) see(t *render.Transcript, items []view.Item) []effect {
	var effects []effect
	for _, i := range items {
		if i.Kind != view.KindCall {
			continue
		}
		if child := i.Call.Child; child != "" && !i.Final && i.Call.State == view.Running && m.children[child] == nil {
			m.children[child] = t.Child(i.Call)
			effects = append(effects, followChild(m.n, child))
		}
		if !i.Final {
			continue
		}
		if child := i.Call.Child; m.children[child] != nil {
			delete(m.children, child)
			effects = append(effects, later(func(_ context.Context, d *desk) error { d.unfollow(child); return nil }))
		}
		m.lastCall = &i
		if _, _, all := m.TodoLines(i.Call, m.width); all > 0 {
			m.todo = i.Call
		}
	}
	return effects
}

// followChild returns what follows a run that a call of the conversation with number n has started.
func followChild(n int, id run.ID) effect {
	return later(func(ctx context.Context, d *desk) error {
		ctx = d.follow(ctx, id)
		for after := int64(0); ctx.Err() == nil; {
			for u, err := range d.ws.Follow(ctx, id, after) {
				if err != nil {
					break // it may not be there yet; what it does is in its log
				}
				if u.Event != nil {
					after = u.Event.Seq
				}
				d.post(childNews{n, id, d.ws.WithDiff(u)})
			}
			select {
			case <-time.After(pollChild):
			case <-ctx.Done():
			}
		}
		return nil
	})
}

// pollChild is how often a child run is looked for that has not begun.
const pollChild = 100 * time.Millisecond

// take takes in news of the run.
func (m *model) take(n news) []effect {
	if n.Event != nil && m.asked != nil && answers(n.Event.Payload) {
		m.flush()
		if !m.Words { // there it was written when it was asked
			m.print(m.QuestionLines(*m.asked, m.width)...) // above the answer
		}
		m.answered()
	}
	effects := m.see(m.transcript, m.transcript.Update(n.Update))
	return append(effects, m.react(n)...)
}

// react does what follows from news of the run.
func (m *model) react(n news) []effect {
	if n.Waiting != nil {
		if len(n.Waiting) == 0 {
			m.ask = nil
			return nil
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
		m.awaits = false
	case run.Said:
		m.awaits = false
	case run.CallDecided:
		if m.ask != nil {
			m.ask.drop(m, f.Call)
		}
	case run.Ended:
		m.stopping, m.awaits, m.ask = false, false, nil
		return m.ended(f)
	}
	return nil
}

// answers reports whether an event is the answer to a question of the agent.
func answers(p run.Payload) bool {
	prompt, ok := p.(run.Prompted)
	return ok && prompt.Answers != ""
}

// askQuestion shows the question that a run in a state waits with, if there is one.
func (m *model) askQuestion(s run.State) bool {
	open := s.Questions()
	if len(open) == 0 {
		return false
	}
	q := app.QuestionOf(open[0].Call)
	m.asked, m.pane = &q, newQuestion(q)
	m.notify("answer a question")
	return true
}

// answered takes in that no question waits any more.
func (m *model) answered() {
	m.asked = nil
	if _, ok := m.pane.(*question); ok {
		m.pane = nil
	}
}

// ended takes in that a turn has ended.
func (m *model) ended(e run.Ended) []effect {
	if m.now.Sub(m.began) > quietTurn {
		m.notify(view.EndLine(e))
	}
	return []effect{later(func(context.Context, *desk) error {
		debug.FreeOSMemory() // the requests of a long turn leave more garbage than there is to keep
		return nil
	})}
}

// printEnd prints how a turn has ended.
func (m *model) printEnd(f finished) {
	denials := slices.DeleteFunc(f.denials, func(d app.Denial) bool { return m.sent[d.Call] }) // the person knows
	end := render.End{Words: endWords(f.state), Denials: denials, State: f.state, Undo: "put the files back with /undo"}
	if m.askQuestion(f.state) { // the end is told when it has been answered
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
			m.restore(w.Parts)
			m.input.editor.SetText(strings.TrimLeft(m.input.editor.Text()+"\n"+typed(w.Parts), "\n"))
		}
	}
	if f.state.Config.Mode == run.PlanMode && f.state.Turn.End.End == run.Completed && m.pane == nil {
		m.pane = planPicker()
	}
}

// flush moves the lines that the transcript has finished to those that are printed, so that
// what is printed next comes after them.
func (m *model) flush() { m.lines = append(m.lines, m.transcript.Above(m.width)...) }

// takeOver takes in that the process that drove the run does so no more: this one does.
func (m *model) takeOver() []effect {
	id := m.id
	return []effect{inOrder(func(ctx context.Context, d *desk) error { return d.takeOver(ctx, id) })}
}

// fail tells of an error.
func (m *model) fail(err error) []effect {
	m.flush()
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		words := strings.TrimLeft(line, " ")
		indent := strings.Repeat(" ", min(len(line)-len(words), m.width/2))
		lines = append(lines, render.Hang(indent, m.Wrap([]render.Span{{Text: visible.Escape(words), Paint: render.Plain}}, m.width-2-len(indent), false))...)
	}
	m.print(render.Hang(m.Paint(render.Bad, m.Glyph(render.GlyphFailed))+" ", lines)...)
	return nil
}

// frame returns what is to be drawn now.
func (m *model) frame() frame {
	m.flush()
	f := frame{above: m.lines, row: -1, width: m.width, height: m.height, reflows: m.reflows, clear: m.clean,
		works: m.works() || m.awaits, asks: m.ask != nil && m.ask.ready(m), attached: m.attached, pending: len(m.pendingWords()), input: m.input.editor.Text()}
	m.lines, m.clean = nil, false
	if m.left {
		return f
	}
	if m.Words {
		return m.plain(f)
	}
	m.transcript.Began = m.began
	input := m.input.lines(m)
	below := len(input.lines) + footLines
	room := max(1, m.height-1-below)
	var middle []string
	gap := 0 // before the pane
	if p := m.front(); p != nil {
		middle = p.lines(m, m.width-1, room)
		middle = middle[:min(len(middle), room)]
		if m.ask == nil && len(middle)+roomAround <= room { // it stands apart from what was done; a dialog does so itself
			gap = 1
			middle = append([]string{""}, middle...)
		}
	}
	var live []string
	// What is drawn of the run by itself takes half of the window: if that becomes half as
	// wide while a frame is on its way, no row of it scrolls off.
	if rest := min(room-len(middle), max(3, m.height/2-below-1)); rest > 1 && (m.works() || m.ask != nil || m.awaits) {
		live = m.transcript.Live(m.width, rest+1, m.now)
		live = live[max(0, len(live)-rest+1):]
	}
	if m.showTo && m.todo != nil && m.front() == nil {
		middle, _, _ = m.TodoLines(m.todo, m.width-1)
		middle = middle[:min(len(middle), max(0, room-len(live)))]
	}
	above := len(live)
	live = append(live, middle...)
	if rest := room - len(live); rest > 0 {
		live = append(live, "")
	}
	if input.row >= 0 {
		f.row, f.col = len(live)+input.row, input.col
	}
	f.live = slices.Concat(live, input.lines, m.foot(above == 0))
	if p, ok := m.front().(typist); ok {
		if row, col := p.editing(); row >= 0 && gap+row < len(middle) {
			f.row, f.col = above+gap+row, min(col, m.width-1)
		}
	}
	if f.row >= 0 && m.parks() {
		f.live[f.row] = m.caret(f.live[f.row], f.col)
		f.row = -1
	}
	f.bell = m.takeBell()
	return f
}

// front returns the pane that has the keys.
func (m *model) front() pane {
	switch {
	case m.ask != nil:
		return m.ask
	case m.pane != nil:
		return m.pane
	case m.input.menu != nil:
		return m.input.menu
	}
	return nil
}

// The least size that is drawn for; on a smaller terminal lines are cut.
const leastWidth, leastHeight = 20, 6

// currentModel returns the model that works, or would.
func (m *model) currentModel() string {
	return cmp.Or(m.state.Config.Model, m.wish.Model, m.model.name)
}

// mode returns the permission mode of the run, or of the next one.
func (m *model) mode() string {
	if m.id != "" {
		return cmp.Or(m.state.Config.Mode, modes[0])
	}
	return cmp.Or(m.wish.Mode, m.Mode, modes[0])
}

// pendingWords are the person's messages that were not delivered yet, oldest first.
func (m *model) pendingWords() []run.Words {
	return slices.Concat(m.state.Turn.Pending(), m.state.Queue)
}
