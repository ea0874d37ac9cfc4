package tui

import (
	"slices"
	"strings"
	"time"

	"pawl/internal/visible"
	"pawl/render"
)

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
	asks     bool // a pane that asks takes keys
	shown    shown
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

// size takes in the size of the terminal.
func (m *model) size(width, height int) {
	m.width, m.height = max(width, leastWidth), max(height, leastHeight)
}

// animates reports whether what is shown depends on the time.
func (m *model) animates() bool {
	return m.works() || m.awaits || m.running > 0 || m.armed.key != "" || m.settling() ||
		m.now.Sub(m.resizedAt) < 2*time.Second // the cursor comes back to its place
}

// frame returns what is to be drawn now.
func (m *model) frame() (f frame) {
	m.flush()
	f = frame{above: m.lines, row: -1, width: m.width, height: m.height, reflows: m.reflows, clear: m.clean,
		works: m.works() || m.awaits, asks: m.takesKeys(), attached: m.attached, pending: len(m.pendingWords()), input: m.input.editor.Text()}
	m.lines, m.clean = nil, false
	if m.left {
		return f
	}
	if m.Words {
		return m.plain(f)
	}
	defer m.showsStep(&f)
	m.transcript.Began = m.began
	input := m.input.lines(m)
	foot := m.foot(true, max(1, m.height/3))
	below := len(input.lines) + len(foot)
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
	if rest := min(room-len(middle), max(3, m.height/2-below-1)); rest > 1 && (m.works() || m.ask != nil || m.asked() != nil || m.awaits) {
		live = m.transcript.Live(m.width, rest+1, m.now)
		live = live[max(0, len(live)-rest+1):]
	}
	if m.showsTodo() && m.front() == nil {
		free := min(room, m.height/2-below) - len(live) // see above
		if m.showTo == always {
			free = room - len(live)
		}
		if free > 1 {
			middle = append([]string{""}, m.todoLines(min(max(3, m.height/4), free-1))...)
		}
	}
	above := len(live)
	live = append(live, middle...)
	if rest := room - len(live); rest > 0 {
		live = append(live, "")
	}
	if input.row >= 0 {
		f.row, f.col = len(live)+input.row, input.col
	}
	f.live = slices.Concat(live, input.lines, m.foot(above == 0, len(foot)-1))
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

// settling reports whether the keys of a pane begin to count with time alone.
func (m *model) settling() bool {
	p, ok := m.asks()
	if !ok {
		return false
	}
	g, _ := p.step()
	return g.settling(m)
}

// showsStep notes which step a frame shows.
func (m *model) showsStep(f *frame) {
	if p, ok := m.asks(); ok {
		f.shown.guard, f.shown.whole = p.step()
	}
}

// front returns the pane that has the keys.
func (m *model) front() pane {
	_, types := m.pane.(*secret) // what is half typed goes nowhere else
	switch {
	case types:
		return m.pane
	case m.ask != nil:
		return m.ask
	case m.pane != nil:
		return m.pane
	case m.question != nil:
		return m.question
	case m.input.menu != nil:
		return m.input.menu
	}
	return nil
}

// put opens a pane. Behind a dialog it would take keys unseen.
func (m *model) put(p pane) {
	if m.ask != nil {
		m.hint = "answer first"
		return
	}
	m.pane = p
}

// The least size that is drawn for; on a smaller terminal lines are cut.
const leastWidth, leastHeight = 20, 6

// print prints lines above the live part. They are safe to print.
func (m *model) print(lines ...string) {
	if m.transcript.InBlock() {
		m.held = append(m.held, lines...)
		return
	}
	m.lines = append(m.lines, lines...)
}

// say prints a sentence for the person.
func (m *model) say(text string) {
	m.print(render.Hang("  ", m.Wrap([]render.Span{{Text: visible.Escape(strings.ReplaceAll(text, "\n", " ")), Paint: render.Faint}}, m.width-2, false))...)
}

// flush moves the lines that the transcript has finished to those that are printed, so that
// what is printed next comes after them.
func (m *model) flush() {
	m.lines = append(m.lines, m.transcript.Above(m.width)...)
	if m.left || !m.transcript.InBlock() {
		m.lines, m.held = append(m.lines, m.held...), nil
	}
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
