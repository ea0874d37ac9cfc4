package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/render"
	"pawl/runlog"
)

// A question is answered in the input, or by choosing one of the answers that it offers.
type question struct {
	guard
	runlog.Question
	fits    bool
	printed bool      // all of it was printed
	before  bool      // the words in the input were begun before it can have been read: they are no answer to it
	told    time.Time // when the person was told that Enter sends the words in the input; zero: they were not held
	// choose does what an option means; nil: it is the answer to the agent's question.
	choose func(m *model, option int) []effect
}

// asked returns the question of the agent that waits for an answer; nil: none does.
func (m *model) asked() *runlog.Question {
	if m.question == nil || m.question.choose != nil {
		return nil
	}
	return &m.question.Question
}

// comesUp takes in that the question comes up, for the first time or from behind a dialog.
func (q *question) comesUp(m *model) {
	q.guard, q.before, q.told = guard{}, true, time.Time{}
	if m.stray.words && m.stray.of == ofQuestion(q.Question) { // they are for a question again, as it says
		m.stray = stray{}
	}
}

// leaves takes in that the question goes from the screen. What was typed as its answer is a stray then, unless it
// was sent.
func (q *question) leaves(m *model) {
	m.intoInput(q)
	text := strings.TrimSpace(m.input.editor.Text())
	if text == "" || q.before && q.choose == nil || m.ask != nil || m.awaits || m.stray.words || runs(text) {
		return
	}
	m.stray = stray{key: m.input.editor.Text(), words: true, of: ofQuestion(q.Question)}
}

// begins takes in that words may begin, if the input is empty.
func (q *question) begins(m *model) {
	if m.input.editor.Empty() {
		q.before, q.told = !q.readable(m), time.Time{}
	}
}

func (q *question) step() (g *guard, whole bool) { return &q.guard, q.fits || q.printed }

func (q *question) text() string { return q.release() }

func (q *question) chosen() string {
	if q.held == "" {
		return ""
	}
	return "answer " + q.held
}

// perform answers with an option, from 1.
func (q *question) perform(m *model, option int) []effect {
	q.release()
	if q.choose != nil {
		m.question = nil
		return q.choose(m, option-1)
	}
	return m.send(q.Options[option-1])
}

// numbers are the keys of the options.
func (q *question) numbers() []string {
	all := make([]string, len(q.Options))
	for i := range all {
		all[i] = strconv.Itoa(i + 1)
	}
	return all
}

func (q *question) has(text string) bool { return slices.Contains(q.numbers(), text) }

func (q *question) key(m *model, name, text string) ([]effect, bool) {
	q.begins(m)
	if name == "esc" && q.held == "" && q.choose != nil && m.input.editor.Empty() {
		m.question = nil
		return nil, true
	}
	if len(q.Options) == 0 {
		return nil, false
	}
	if q.held == "" && q.takes(m) && (q.has(name) || name == "up" || name == "down" || name == "enter") && q.printWhole(m) {
		return nil, true
	}
	answer, taken := m.choose(q, name, text, q.numbers(), len(q.Options))
	if answer == 0 {
		return nil, taken
	}
	return q.perform(m, answer), true
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
// or words that were meant for the agent at work were begun before it can have been read. Of a choice, only the
// number of an option is an answer.
func (q *question) holdsBack(m *model) bool {
	switch {
	case q.choose != nil && !q.has(strings.TrimSpace(m.input.editor.Text())):
		return false
	case q.printWhole(m):
		q.before, q.told = false, m.now
		return true
	case q.before:
		q.before, q.told = false, m.now
		m.hint = comeUp
		return true
	case q.settles(m), !q.told.IsZero() && m.repeats:
		m.hint = tooSoon + comeUp
		return true
	}
	return false
}

const comeUp = "a question has come up: enter again sends this as the answer"

// settles reports whether the person cannot have read yet that Enter sends the words in the input.
func (q *question) settles(m *model) bool { return !q.told.IsZero() && !stood(m, q.told) }

// enters says what Enter does with the words in the input.
func (q *question) enters(m *model) string {
	switch {
	case !q.fits && !q.printed:
		return "enter: print the whole question"
	case q.before, q.settles(m):
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
	var options []option
	for i, key := range q.numbers() {
		options = append(options, option{key: key, label: oneLine(q.Options[i])})
	}
	hint := "type an answer"
	if len(q.Options) > 0 {
		hint += ", or choose with a number or the arrows, then enter"
	}
	answers := append(m.optionLines(&q.guard, options, width), m.keyLines("  ", width, hint)...)
	q.fits = len(lines)+len(answers) <= height
	if room := max(1, height-len(answers)); len(lines) > room {
		lines = append(lines[:room-1], "  "+m.Paint(render.Faint, m.Glyph(render.GlyphCut)))
	}
	lines = append(lines, answers...)
	return lines[:min(len(lines), height)]
}
