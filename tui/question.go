package tui

import (
	"fmt"
	"strconv"
	"strings"

	"pawl/app"
	"pawl/render"
)

// A question is answered in the input, or by choosing one of the answers that it offers.
type question struct {
	guard
	app.Question
	selected int // of Options; -1: none
	fits     bool
	printed  bool // all of it was printed
	before   bool // there were words in the input when it came up, which are no answer to it
	// choose does what an option means; nil: it is the answer to the agent's question.
	choose func(m *model, option int) []effect
}

func newQuestion(q app.Question) *question { return &question{Question: q, selected: -1} }

// asked returns the question of the agent that waits for an answer; nil: none does.
func (m *model) asked() *app.Question {
	if m.question == nil || m.question.choose != nil {
		return nil
	}
	return &m.question.Question
}

// comesUp takes in that the question comes up, for the first time or from behind a dialog.
func (q *question) comesUp(m *model) {
	q.guard, q.selected, q.before = guard{}, -1, !m.input.editor.Empty()
	if m.stray.words { // they are for a question again, as it says
		m.stray = stray{}
	}
}

// leaves takes in that the question goes from the screen. What was typed as its answer is a stray then, unless it
// was sent.
func (q *question) leaves(m *model) {
	m.intoInput(q)
	text := strings.TrimSpace(m.input.editor.Text())
	if text == "" || q.before || m.ask != nil || m.awaits || m.stray.key != "" || isCommand(text) || strings.HasPrefix(text, "!") {
		return
	}
	m.stray = stray{key: m.input.editor.Text(), words: true}
}

func (q *question) step() (g *guard, whole bool) { return &q.guard, q.fits }

func (q *question) text() string { return q.release() }

func (q *question) chosen() string {
	if q.held == "" {
		return ""
	}
	return "answer " + q.held
}

// perform answers with the option of a number.
func (q *question) perform(m *model, number string) []effect {
	i, err := strconv.Atoi(number)
	if err != nil || i < 1 || i > len(q.Options) { // unreachable: only such are held
		return nil
	}
	if q.choose != nil {
		m.question = nil
		return q.choose(m, i-1)
	}
	return m.send(q.Options[i-1])
}

// option returns the number of the option that a text is; "": of none.
func (q *question) option(text string) string {
	if i, err := strconv.Atoi(text); err != nil || i < 1 || i > len(q.Options) || strconv.Itoa(i) != text {
		return ""
	}
	return text
}

func (q *question) has(text string) bool { return q.option(text) != "" }

func (q *question) key(m *model, name, text string) ([]effect, bool) {
	if q.held != "" {
		switch {
		case name == "enter" && !m.together:
			return q.perform(m, q.release()), true
		case text != "":
			m.intoInput(q)
			return nil, false
		}
		q.release()
		if name == "esc" || name == "backspace" {
			return nil, true
		}
	}
	n := len(q.Options)
	if m.input.editor.Empty() {
		q.before = false
	}
	if name == "esc" && q.choose != nil && m.input.editor.Empty() {
		m.question = nil
		return nil, true
	}
	if n == 0 || !q.takes(m) {
		return nil, false
	}
	if _, err := strconv.Atoi(name); (err == nil || name == "up" || name == "down" || name == "enter") && q.printWhole(m) {
		return nil, true
	}
	if q.option(name) != "" {
		q.held = name
		q.selected = -1
		return nil, true
	}
	switch name {
	case "down":
		q.selected = (q.selected + 1) % n
	case "up":
		q.selected = (max(q.selected, 0) + n - 1) % n
	case "enter":
		if q.selected < 0 {
			m.hint = "enter alone answers nothing: type an answer, or choose one"
			return nil, true
		}
		return q.perform(m, strconv.Itoa(q.selected+1)), true
	default:
		return nil, false
	}
	return nil, true
}

// printWhole prints a question that does not fit on the screen, the first time that it is about to be
// answered, and reports whether it did.
func (q *question) printWhole(m *model) bool {
	if q.fits || q.printed {
		return false
	}
	q.printed = true
	m.flush()
	m.print(m.QuestionLines(q.Question, m.width)...)
	m.hint = "the whole question is printed above: answer it now"
	return true
}

// holdsBack reports whether what was typed is not sent as the answer yet: the question was not seen whole,
// or it came up when words that were meant for the agent at work stood in the input.
func (q *question) holdsBack(m *model) bool {
	switch {
	case q.choose != nil:
		return false
	case q.printWhole(m):
		return true
	case q.before:
		q.before = false
		m.hint = "a question has come up: enter again sends this as the answer"
		return true
	}
	return false
}

// enters says what Enter does with the words in the input.
func (q *question) enters(m *model) string {
	switch {
	case !q.fits && !q.printed:
		return "enter: print the whole question"
	case q.before:
		return "enter twice: answer the question"
	case q.has(strings.TrimSpace(m.input.editor.Text())):
		return "enter: answer " + strings.TrimSpace(m.input.editor.Text())
	}
	return "enter: answer the question"
}

func (q *question) lines(m *model, width, height int) []string {
	only := q.Question
	only.Options = nil
	lines := m.QuestionLines(only, width)
	var options []string
	for i, o := range q.Options {
		mark, paint := "  ", render.Plain
		number := strconv.Itoa(i + 1)
		if i == q.selected || number == q.held {
			mark, paint = m.Paint(render.Accent, m.Glyph(render.GlyphSelected))+" ", render.Bold
		}
		options = append(options, render.Hang(mark+m.Paint(render.Bold, fmt.Sprintf("%-3s", number)), m.Wrap([]render.Span{{Text: oneLine(o), Paint: paint}}, width-5, true))...)
	}
	hint := "type an answer"
	if len(q.Options) > 0 {
		hint += ", or choose with a number or the arrows, then enter"
	}
	options = append(options, m.keyLines("  ", width, hint)...)
	q.fits = len(lines)+len(options) <= height
	if room := max(1, height-len(options)); len(lines) > room {
		lines = append(lines[:room-1], "  "+m.Paint(render.Faint, m.Glyph(render.GlyphCut)))
	}
	lines = append(lines, options...)
	return lines[:min(len(lines), height)]
}
