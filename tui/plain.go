package tui

import (
	"fmt"
	"strings"

	"pawl/render"
)

// For a screen reader everything is a line that is written once: what has finished, and each
// state when it begins. Only the line that the person types is drawn again. See
// [render.Style.Spoken].

// A spoken remembers what was written.
type spoken struct {
	states map[string]bool // of the run
	status string
	hint   string
	todo   string
	works  bool
	of     any             // the pane that lines are of
	lines  map[string]bool // of it
}

// plain completes a frame for a screen reader: its finished lines, and the input.
func (m *model) plain(f frame) frame {
	f.above = append(f.above, m.newStates()...)
	if m.typesInPane() {
		f.live = []string{m.paneText()}
		f.row, f.col = 0, render.Cells(f.live[0])
	} else if _, asks := m.front().(*question); m.front() == nil || m.input.menu != nil || asks || !m.input.editor.Empty() {
		if !m.input.editor.Empty() || m.input.editor.Searching() || !f.works {
			input := m.input.lines(m)
			f.live, f.row, f.col = input.lines, input.row, input.col
		}
	}
	if f.row < 0 { // the cursor is not hidden: a screen reader looks for it
		f.row, f.col = len(f.live), 0
	}
	f.bell = m.takeBell()
	m.showsStep(&f)
	return f
}

// newStates returns the lines that say what has changed since the last frame.
func (m *model) newStates() []string {
	s := &m.spoken
	var lines []string
	if status := m.currentModel() + m.Dot() + "mode " + m.mode(); m.currentModel() != "" && status != s.status {
		s.status = status
		lines = append(lines, "status: "+status)
	}
	if works := m.state.Turn.Open() && m.driven || m.awaits; works != s.works {
		if s.works = works; works {
			lines = append(lines, "working, esc interrupts")
		}
	}
	states := map[string]bool{}
	for _, line := range m.transcript.States() {
		if states[line] = true; !s.states[line] {
			lines = append(lines, line)
		}
	}
	s.states = states
	hint := m.hint
	if hint == "" && (m.armed.key != "" || m.stopping || m.stray.words && !stood(m, m.stray.told)) {
		hint = m.keysNow()
	}
	if hint != s.hint && hint != "" {
		lines = append(lines, oneLine(hint))
	}
	s.hint = hint
	if m.showTo == always && m.todo != nil { // what changes in it is written where it does
		todo, _, _ := m.TodoLines(m.todo, m.width-1)
		if all := strings.Join(todo, "\n"); all != s.todo {
			s.todo = all
			lines = append(lines, todo...)
		}
	} else {
		s.todo = ""
	}
	return append(lines, m.newPaneLines()...)
}

// newPaneLines returns the lines of the pane that were not written yet. Of a list of which
// another entry is selected it is that entry.
func (m *model) newPaneLines() []string {
	s, p := &m.spoken, m.front()
	var of any
	switch p := p.(type) {
	case *dialog:
		of = p.calls[0].Call.ID
	case *completion:
		of = "completion"
	case nil:
		s.of, s.lines = nil, nil
		return nil
	default:
		of = p
	}
	known := of == s.of
	if !known {
		s.of, s.lines = of, map[string]bool{}
	}
	_, completes := p.(*completion)
	now := map[string]bool{}
	var lines []string
	for _, line := range p.lines(m, max(m.width, 200), 200) {
		now[line] = true
		selected := strings.Contains(line, m.Glyph(render.GlyphSelected))
		switch _, asks := p.(*dialog); {
		case line == "", s.lines[line], m.typesInPane() && known && !selected:
		case completes && !selected, known && !asks && !selected:
		default:
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	s.lines = now
	return lines
}

// typesInPane reports whether what the person types goes to a pane.
func (m *model) typesInPane() bool {
	switch p := m.front().(type) {
	case *dialog:
		return p.storing != nil && p.storing.edit != nil
	case *secret, *picker:
		return true
	}
	return false
}

// paneText returns what was typed there.
func (m *model) paneText() string {
	switch p := m.front().(type) {
	case *dialog:
		label := strings.ToLower(render.Label(p.storing.answer)) + ": "
		text, _, _ := p.storing.edit.text.View(m.width-len(label)-1, 1)
		return label + strings.Join(text, " ")
	case *secret:
		return fmt.Sprintf("key: %d characters", len(p.text))
	case *picker:
		text, _, _ := p.query.View(m.width-10, 1)
		return "search: " + strings.Join(text, " ")
	}
	return ""
}
