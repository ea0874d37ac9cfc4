package tui

import (
	"strconv"

	"pawl/app"
	"pawl/render"
)

// A question of the agent is answered in the input, or by choosing one of the answers that it
// offers. It was printed; this is the part that is alive.
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
		m.pane = nil
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
		m.pane = nil
		return m.send(q.Options[q.selected]), true
	}
	return nil, false
}

func (q *question) lines(m *model, width, height int) []string {
	if len(q.Options) == 0 {
		return []string{m.Paint(render.Warning, m.Clip(m.Glyph(render.GlyphQuestion)+" type an answer", width))}
	}
	var lines []string
	for i, o := range q.Options {
		mark, paint := "  ", render.Plain
		if i == q.selected {
			mark, paint = m.Glyph(render.GlyphPerson)+" ", render.Bold
		}
		lines = append(lines, m.Clip(mark+m.Paint(render.Bold, strconv.Itoa(i+1))+"  "+m.Paint(paint, oneLine(o)), width))
	}
	lines = append(lines, m.Paint(render.Faint, m.Clip("  a number answers, or type your own words", width)))
	return lines[:min(len(lines), height)]
}
