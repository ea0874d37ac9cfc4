package tui

import (
	"fmt"
	"strconv"

	"pawl/app"
	"pawl/render"
)

// A question of the agent is answered in the input, or by choosing one of the answers that it
// offers. It is printed above its answer.
type question struct {
	app.Question
	selected int // of Options; -1: none
}

func newQuestion(q app.Question) *question { return &question{Question: q, selected: -1} }

func (q *question) key(m *model, name, _ string) ([]effect, bool) {
	if !m.input.editor.Empty() {
		return nil, false // the person writes an answer
	}
	n := len(q.Options)
	if i, err := strconv.Atoi(name); err == nil && i >= 1 && i <= n {
		return m.send(q.Options[i-1]), true
	}
	switch {
	case name == "down" && n > 0:
		q.selected = (q.selected + 1) % n
		return nil, true
	case name == "up" && n > 0:
		q.selected = (q.selected + n + n) % (n + 1)
		if q.selected == n {
			q.selected = n - 1
		}
		return nil, true
	case name == "enter" && q.selected >= 0:
		return m.send(q.Options[q.selected]), true
	}
	return nil, false
}

func (q *question) lines(m *model, width, height int) []string {
	only := q.Question
	only.Options = nil
	lines := m.QuestionLines(only, width)
	var options []string
	for i, o := range q.Options {
		mark, paint := "  ", render.Plain
		if i == q.selected {
			mark, paint = m.Paint(render.Accent, m.Glyph(render.GlyphSelected))+" ", render.Bold
		}
		number := fmt.Sprintf("%d  ", i+1)
		options = append(options, render.Hang(mark+m.Paint(render.Bold, number), m.Wrap([]render.Span{{Text: oneLine(o), Paint: paint}}, width-5, true))...)
	}
	hint := "  type an answer"
	if len(q.Options) > 0 {
		hint = "  press a number, or type your own answer"
	}
	options = append(options, m.Paint(render.Faint, m.Clip(hint, width)))
	if room := max(1, height-len(options)); len(lines) > room {
		lines = append(lines[:room-1], "  "+m.Paint(render.Faint, m.Glyph(render.GlyphCut)))
	}
	lines = append(lines, options...)
	return lines[:min(len(lines), height)]
}
