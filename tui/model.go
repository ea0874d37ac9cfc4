package tui

import (
	"cmp"
	"context"
	"slices"
	"time"

	"pawl/app"
	"pawl/approval"
	"pawl/instructions"
	"pawl/internal/screen"
	"pawl/internal/text"
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
	n          int    // its number; see backend
	id         run.ID // empty: none yet
	attached   bool   // another process drives it
	state      run.State
	transcript *render.Transcript
	children   map[run.ID]*child // runs that calls have started and that work
	prompts    []prompt          // of the person, oldest first
	awaits     bool              // a prompt was handed in and its event has not come yet
	stopping   bool              // an interrupt was handed in and its event has not come yet
	began      time.Time         // of the turn
	driven     bool              // a process works on the turn, as far as is known
	wish       app.Task          // model and mode of the next run, as the person has chosen
	chosenMode string            // the mode that the person has chosen last in this terminal; "": none
	model      modelKnown        // that a new run would have
	branch     string

	own       []instructions.Command // commands that people have written
	listed    bool                   // they are known
	early     []func() []effect      // what was typed before and may be one of them
	untrusted []string               // folders with commands that are not
	input     input
	pane      pane      // that the person has opened; nil: none
	question  *question // of the agent, or what becomes of a plan; nil: nothing is asked
	ask       *dialog
	sent      map[callOf]bool // calls that were answered here
	wrote     map[string]bool // messages that were written here and did not come back
	showTo    visibility      // the list of tasks
	todo      *view.Call      // that has set the list of tasks
	context   []run.Part      // what commands of the person have printed, for the next prompt
	running   int             // commands of the person

	lines []string  // finished lines that were not drawn yet
	held  []string  // those that wait until the agent has written its code or table to the end
	hint  string    // a sentence for the person, until the next key
	armed armed     // a key that does something if it is pressed again
	typed time.Time // when the person last pressed a key that no pane took
	stray stray     // the input, if that is a key for a pane that asks
	left  bool      // the program ends

	together bool      // the key that was pressed last came with others: no person types so
	repeats  bool      // it is an Enter that is held down
	entered  time.Time // when it came, if it is Enter

	opens    bool // a run whose history is shown is about to be open
	composes bool // the person writes with an input method
	spoken   spoken

	terminated bool // not the person has ended it
}

// A visibility says whether the list of tasks is shown.
type visibility int

const (
	whileOpen visibility = iota // while the agent works on it
	always
	never
)

// A child is the transcript of a run below the conversation.
type child struct {
	*render.Transcript
	last  int64 // the event that was taken in last
	open  map[run.CallID]view.Call
	ended bool // its turn, for good or with a question
}

// works reports whether the run does something; asks says that it waits for the person. One
// that waits for a run below does nothing itself.
func (c *child) works(asks bool) bool {
	for _, call := range c.open {
		if call.State == view.Running && call.Child == "" {
			return true
		}
		asks = asks || call.State == view.Running
	}
	return !asks && !c.ended
}

// A prompt is one of the person, and the event before it.
type prompt struct {
	text  string // as it is shown
	parts []run.Part
	after int64
	turn  int
}

func newModel(o Options) *model {
	m := &model{Options: o, Style: o.Style, chosenMode: o.Chosen, width: 80, height: 24, focus: true, sent: map[callOf]bool{}, wrote: map[string]bool{}, children: map[run.ID]*child{}, reflows: screen.Reflows(o.Getenv), composes: composesIn(o.Getenv)}
	m.transcript = m.newTranscript()
	m.wish.Agent = o.Agent
	return m
}

func (m *model) newTranscript() *render.Transcript {
	t := render.NewTranscript(m.Style, &view.Projection{})
	t.Expands = "ctrl+o"
	t.Answers, t.Streams, t.Echo, t.Present = true, true, true, true
	return t
}

// update takes in a message: what the terminal says here, what runs say in follow, what was looked for in found.
func (m *model) update(msg message, now time.Time) []effect {
	m.now = now
	defer m.noticeStray()
	switch msg := msg.(type) {
	case nil:
		return m.begin()
	case pressed:
		m.together = msg.Together
		m.repeats = msg.Name == "enter" && now.Sub(m.entered) < held
		if m.entered = (time.Time{}); msg.Name == "enter" {
			m.entered = now
		}
		return m.key(msg.Name, msg.Text)
	case shown:
		msg.see(now, msg.whole)
	case tick:
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
	case resumed:
		m.typed = now // in another program; what follows must not count as an answer
	case panicked:
		panic(msg.text)
	case leaving:
		m.left = true
	default:
		return m.follow(msg)
	}
	return nil
}

// follow takes in what is said of runs; news of one that was left does not count.
func (m *model) follow(msg message) []effect {
	switch msg := msg.(type) {
	case opened:
		return m.open(msg)
	case history:
		m.tell(msg)
	case news:
		if msg.n == m.n {
			return m.take(msg)
		}
	case childNews:
		if msg.n == m.n {
			m.takeChild(msg)
		}
	case configured:
		if msg.n == m.n {
			m.state.Config = msg.config
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
	case undecided:
		if msg.n == m.n {
			delete(m.sent, msg.call)
			return []effect{loadApprovals(m.n)}
		}
	case unanswered:
		if m.comesBack(msg); msg.n == m.n {
			return []effect{loadApprovals(m.n)}
		}
	case withdrawn:
		m.giveBack(msg.parts)
	default:
		return m.found(msg)
	}
	return nil
}

// found takes in what a command or a choice of the person has led to, and what is known of the workspace.
func (m *model) found(msg message) []effect {
	switch msg := msg.(type) {
	case failed:
		m.awaits = false
		return m.fail(msg.err)
	case notice:
		m.say(msg.text)
	case printed:
		m.print(msg.lines...)
	case picked:
		if !msg.first || m.id == "" && m.Resume == "" && !m.Pick && m.pane == nil {
			m.put(msg.picker)
		}
	case viewed:
		m.view(msg)
	case searchable:
		msg.menu.Also(msg.texts)
	case inserted:
		m.input.editor.SetText(msg.text, msg.images...)
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
	case branchKnown:
		m.branch = msg.name
	case commandsKnown:
		m.own, m.untrusted, m.listed = msg.commands, msg.untrusted, true
		m.complete()
		var effects []effect
		for _, do := range m.early {
			effects = append(effects, do()...)
		}
		m.early = nil
		return effects
	case filesKnown:
		m.input.files = msg.names
		m.complete()
	case shellEnded:
		m.shellEnded(msg)
	}
	return nil
}

// works reports whether the agent is at work: not when it waits for the person.
func (m *model) works() bool {
	return m.state.Turn.Open() && m.ask == nil && m.asked() == nil && m.driven
}

// worksBeside reports whether something is at work while the person is asked: a command, or a sub-agent.
func (m *model) worksBeside() bool {
	if !m.driven || !m.state.Turn.Open() {
		return false
	}
	for _, c := range m.state.Turn.Calls {
		if c.Status == run.CallRunning && !c.StartsChild() {
			return true
		}
	}
	for id, c := range m.children {
		asks := m.ask != nil && slices.ContainsFunc(m.ask.calls, func(a approval.Approval) bool { return a.Run == id })
		if c.works(asks || m.asked() != nil && m.asked().Run == id) {
			return true
		}
	}
	return false
}

// begin returns what is done first.
func (m *model) begin() []effect {
	m.print(m.header()...)
	effects := []effect{
		later(func(ctx context.Context, b *backend) error {
			name, err := b.ws.Model(ctx)
			b.post(modelKnown{name, err})
			return nil
		}),
		later(func(_ context.Context, b *backend) error {
			b.post(branchKnown{branchOf(b.ws.Dir)})
			return nil
		}),
		later(func(ctx context.Context, b *backend) error {
			b.findCommands()
			return nil
		}),
	}
	switch {
	case m.Pick:
		effects = append(effects, pickRun(app.Task{}))
	case m.Resume != "":
		effects = append(effects, inOrder(func(ctx context.Context, b *backend) error {
			return b.resume(ctx, m.Resume, app.Task{Mode: m.chosenMode}, true)
		}))
	}
	if m.Prompt != "" {
		effects = append(effects, m.send(m.Prompt)...)
	}
	return effects
}

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

// kept returns how a run is resumed in the course of a terminal: what the command line said was for
// the run that it began with, and a mode that the person has chosen since is not widened.
func (m *model) kept() app.Task { return app.Task{Keeps: true, Mode: m.chosenMode} }

// pendingWords are the person's messages that were not delivered yet, oldest first.
func (m *model) pendingWords() []run.Words {
	return slices.Concat(m.state.Turn.Pending(), m.state.Queue)
}
