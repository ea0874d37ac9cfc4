package tui

import (
	"fmt"
	"slices"
	"time"

	"pawl/render"
)

// A guard keeps what a person types for something else from being an answer. A pane that asks has
// one for each step. The keys of the pane count
//
//   - after the step has been drawn and has stood for some time since,
//   - when the person has typed nothing else for some time, and the input is empty,
//   - one at a time: a key chooses, and Enter answers. With another key all of them become text, in
//     the order they were typed and however slowly they followed. So a word is never an answer.
//
// Keys that arrive together, as a slow line or a program sends them, and pastes are text.
type guard struct {
	drawn  time.Time // when the step was first drawn; zero: not yet
	whole  time.Time // since when all of it is, or was for as long as it takes to read it
	opened bool      // by an answer of the person: its keys choose at once, and answer as in any step
	picked int       // what was chosen of the step, from 1; 0: nothing
	held   string    // the key that has chosen it, if that was a character
}

const (
	// standing is how long a step has to stand on the screen: no one reads and answers faster.
	standing = 700 * time.Millisecond
	// held is the least time between two Enters that were both pressed: a key that is held down comes more often.
	held = 150 * time.Millisecond
	// calm is how long the person must not have typed anything else.
	calm = 1200 * time.Millisecond
)

// shown is a step that was drawn.
type shown struct {
	*guard
	whole bool // all of it
}

// see takes in that the step was drawn.
func (g *guard) see(now time.Time, whole bool) {
	if g.drawn.IsZero() {
		g.drawn = now
	}
	switch read := !g.whole.IsZero() && now.Sub(g.whole) >= standing; {
	case whole && g.whole.IsZero():
		g.whole = now
	case !whole && !read: // a flash is not read
		g.whole = time.Time{}
	}
}

// ready reports whether keys answer now.
func (g *guard) ready(m *model) bool { return stood(m, g.drawn) && m.calm() }

// takes reports whether the key that was just pressed may choose or answer.
func (g *guard) takes(m *model) bool {
	return !m.together && m.calm() && (g.opened || stood(m, g.drawn))
}

// calm reports whether the person has typed nothing else for some time, and the input is empty.
func (m *model) calm() bool {
	return m.now.Sub(m.typed) >= calm && m.input.editor.Empty() && !m.input.editor.Searching()
}

// readable reports whether the person has had the time to read all of the step.
func (g *guard) readable(m *model) bool { return stood(m, g.whole) }

func stood(m *model, since time.Time) bool {
	return !since.IsZero() && m.now.Sub(since) >= standing
}

// settling reports whether the keys begin to count with time alone.
func (g *guard) settling(m *model) bool {
	return !g.drawn.IsZero() && m.input.editor.Empty() && !g.ready(m)
}

// release forgets what was chosen. It returns the character that has.
func (g *guard) release() (held string) {
	held, g.picked, g.held = g.held, 0, ""
	return held
}

// choose does what a key does to the choice of a pane that asks among options, each with its key, of which the
// first listed can be chosen with the arrows too. It returns the one that Enter answers with, from 1; 0: none.
func (m *model) choose(p asking, name, text string, options []string, listed int) (answer int, taken bool) {
	g, _ := p.step()
	if !m.input.editor.Empty() {
		g.release() // words have come, and keys are for them
	}
	if g.held != "" {
		switch name {
		case "enter":
			if !m.together {
				return g.picked, true
			}
			m.intoInput(p)
			return 0, false
		case "esc", "backspace": // it is taken back
			g.release()
			return 0, true
		case "ctrl+c", "ctrl+d":
			g.release()
		case "up", "down":
			g.held = ""
		default:
			m.intoInput(p)
			return 0, false
		}
	}
	if !g.takes(m) {
		if name == "enter" && m.together && m.input.editor.Empty() {
			m.hint = "enter came together with other keys: press it again"
		}
		return 0, false
	}
	switch i := slices.Index(options, name); {
	case i >= 0:
		g.picked, g.held = i+1, name
	case name == "down":
		g.picked = min(g.picked, listed)%listed + 1
	case name == "up":
		g.picked = (max(g.picked, 1)+listed-2)%listed + 1
	case name == "enter" && g.picked == 0: // it sends nothing either: the input is empty
		m.hint = "enter alone answers nothing: choose an answer first"
	case name == "enter":
		return g.picked, true
	default:
		return 0, false
	}
	return 0, true
}

// An option is one way to answer, as it is drawn.
type option struct {
	key, label, word string // word: of the label, where there is room for one
	more             []render.Span
}

// optionLines returns the options of a step, one below the other.
func (m *model) optionLines(g *guard, options []option, width int) (lines []string) {
	for i, o := range options {
		mark, key, label := "  ", render.Bold, render.Plain
		if !g.ready(m) {
			key = render.Faint
		}
		if i+1 == g.picked {
			mark, label = m.Paint(render.Accent, m.Glyph(render.GlyphSelected))+" ", render.Bold
		}
		spans := append([]render.Span{{Text: o.label, Paint: label}}, o.more...)
		lines = append(lines, render.Hang(mark+m.Paint(key, fmt.Sprintf("%-3s", o.key)), m.Wrap(spans, width-5, true))...)
	}
	return lines
}

// shortOptions is optionLines in few lines, for a small terminal.
func (m *model) shortOptions(g *guard, options []option, width int, hint string) []string {
	var spans []render.Span
	for i, o := range options {
		words, p := o.key+" "+o.word, render.Plain
		if i+1 == g.picked {
			words, p = m.Glyph(render.GlyphSelected)+words, render.Bold
		}
		spans = append(spans, render.Span{Text: words, Paint: p}, render.Span{Text: m.Dot(), Paint: render.Faint})
	}
	spans = append(spans, render.Span{Text: hint, Paint: render.Plain})
	return render.Hang("  ", m.Wrap(spans, width-2, true))
}

// An asking pane asks the person for something that was not asked for by a key.
type asking interface {
	pane
	// step returns what guards the step that is shown, and whether the lines that were drawn last
	// were all of it.
	step() (g *guard, whole bool)
	// chosen says what Enter does with the character that was pressed; "": nothing.
	chosen() string
	// text returns the character that was taken and is text if more is typed, and goes back to the
	// first step.
	text() string
	// has reports whether a text is one of the keys that answer.
	has(text string) bool
}

// asks returns the pane that asks, if it has the keys.
func (m *model) asks() (asking, bool) {
	p, ok := m.front().(asking)
	return p, ok
}

// takesKeys reports whether letters go to a pane that asks.
func (m *model) takesKeys() bool {
	if p, ok := m.asks(); ok {
		g, _ := p.step()
		return g.ready(m)
	}
	return false
}

// chosen says what Enter does with the character that was pressed; "": none was.
func (m *model) chosen() string {
	if p, ok := m.asks(); ok {
		return p.chosen()
	}
	return ""
}

// intoInput makes the character that a pane has taken text of the input: more of it follows.
func (m *model) intoInput(p asking) {
	if text := p.text(); text != "" {
		empty := m.input.editor.Empty()
		m.input.editor.Insert(text)
		if empty { // until more of it follows
			m.stray = stray{key: text}
		}
	}
}

// A stray is the input, if that was meant for a pane that asks: a key that was pressed just before the pane came
// up, or too soon after, or words that were begun as an answer, and the pane has gone before Enter. It is a
// message only if Enter is pressed once more, when the person can have read so.
type stray struct {
	key   string    // the input; empty: there is none
	words bool      // of an answer: what is typed after them belongs to them
	of    callOf    // the question that words were begun for
	told  time.Time // when the person was told; zero: not yet
}

// noticeStray finds out whether the input is a stray.
func (m *model) noticeStray() {
	switch text := m.input.editor.Text(); {
	case m.stray.words && text != "":
		m.stray.key = text
	case m.stray.key != "" && m.stray.key != text:
		m.stray = stray{}
	}
	if p, ok := m.asks(); ok && m.stray.key == "" && m.now.Sub(m.typed) < calm {
		if text := m.input.editor.Text(); len(text) == 1 && p.has(text) {
			m.stray.key = text
		}
	}
}

// strayAsked reports whether words for one question stand in the input while another waits for an answer. They are no
// message then: the run would take it for the answer.
func (m *model) strayAsked() bool { return m.stray.words && m.ask == nil && m.asked() != nil }

// tooSoon begins what is said of a second Enter that came before the person can have read what it does.
const tooSoon = "too soon, nothing was sent: "

// holdsStray reports whether the input is a stray that the person cannot know of yet, and tells them.
func (m *model) holdsStray() bool {
	key := m.stray.key
	if key == "" || stood(m, m.stray.told) && !m.together && !m.repeats && !m.strayAsked() {
		return false
	}
	p := m.front()
	q, asks := p.(*question)
	_, decides := p.(*dialog)
	switch {
	case m.strayAsked():
		m.hint = "this was typed for another question: empty the input to answer this one"
		return true
	case m.stray.words:
		m.hint = "nothing asks for this answer any more: enter again sends it as a message"
	case asks && q.has(key):
		m.hint = "keys did not answer yet: enter again answers " + key
	case asks:
		m.hint = fmt.Sprintf("a question has come up: enter again answers it with %q", key)
	case decides:
		m.hint = fmt.Sprintf("keys did not answer yet: empty the input and press %s again; enter again sends %q as a message", key, key)
	default:
		m.hint = fmt.Sprintf("what %s was meant for was answered elsewhere: enter again sends %q as a message", key, key)
	}
	if m.stray.told.IsZero() {
		m.stray.told = m.now
	} else if !stood(m, m.stray.told) || m.repeats {
		m.hint = tooSoon + m.hint
	}
	if asks {
		q.before, q.told = false, m.stray.told
	}
	return true
}
