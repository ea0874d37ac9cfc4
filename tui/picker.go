package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/app"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/render"
	"pawl/run"
	"pawl/runlog"
	"pawl/tui/editor"
	"pawl/view"
)

// A picker lets the person choose one of several entries, found by typing.
type picker struct {
	title   string
	menu    *editor.Menu // its values are func(*model) []effect
	query   editor.Editor
	col     int       // of the cursor in the first line
	durable bool      // what is chosen cannot be taken back with a key, so no letter is a search
	drawn   time.Time // first; zero: not yet
	used    bool      // the person has pressed a key for it since they typed other words
	noPaste string    // why nothing can be pasted; empty: it is searched for
}

// An entry is one thing to choose.
type entry struct {
	text string // on one line, safe to print
	more string // the same
	do   func(m *model) []effect
}

func newPicker(title string, entries []entry) *picker {
	items := make([]editor.Item, len(entries))
	for i, e := range entries {
		items[i] = editor.Item{Text: e.text, Detail: e.more, Value: e.do}
	}
	return &picker{title: title, menu: editor.NewMenu(items)}
}

// newDurable returns a picker for a choice that no key takes back.
func newDurable(title string, entries []entry) *picker {
	p := newPicker(title, entries)
	p.durable = true
	return p
}

// hasKeys reports whether keys are for the picker, and not for words in the input that were begun before it came up.
func (p *picker) hasKeys(m *model) bool { return p.used || m.input.editor.Empty() }

// ofTerminal reports whether a key is for the terminal, whatever pane has the keys.
func ofTerminal(name string) bool { return name == "ctrl+z" || name == "ctrl+l" }

// takesText reports whether text is a search.
func (p *picker) takesText(m *model) bool { return !p.durable && p.hasKeys(m) }

func (p *picker) key(m *model, name, text string) ([]effect, bool) {
	if name == "tab" {
		name = "down"
	}
	switch k := keyOf(name, text); {
	case ofTerminal(name):
		return nil, false
	case name == "esc" || name == "ctrl+c":
		m.pane = nil
		if p.menu.Len() == 0 { // it was no search
			m.input.editor.Insert(p.query.Text())
		}
	case name == "enter" && !p.hasKeys(m):
		m.hint = "choose with the arrows; esc closes the list, then enter sends what you have typed"
	case name == "enter" && (!stood(m, p.drawn) || m.together || m.repeats):
		m.hint = "nothing was chosen yet: read what is shown, then press enter again"
	case name == "enter":
		item, ok := p.menu.Selected()
		if !ok {
			m.hint = "nothing matches: esc closes the list and keeps what you have typed"
			break
		}
		m.pane = nil
		return item.Value.(func(*model) []effect)(m), true
	case p.menu.Key(k):
		p.used = true
	case !p.takesText(m):
		p.used = false
		return nil, false
	default:
		p.used = true
		p.query.Key(k)
		p.menu.Filter(p.query.Text())
	}
	return nil, true
}

func (p *picker) lines(m *model, width, height int) []string {
	if p.drawn.IsZero() {
		p.drawn = m.now
	}
	head, query := m.Clip(" "+m.Paint(render.Bold, p.title), width), ""
	p.col = render.Cells(head) + 1
	if p.query.Text() != "" {
		head = m.Clip(" "+m.Paint(render.Bold, p.title)+m.Paint(render.Faint, m.Dot()+"search: "), max(1, width-leastQuery))
		rows, _, col := p.query.View(width-render.Cells(head), 1)
		query, p.col = rows[0], render.Cells(head)+col
	}
	lines := []string{head + query}
	what := []string{"type to search", "enter: select", "esc: close"}
	if p.durable {
		what[0] = "up, down"
	}
	keys := m.keyLines(" ", width, what...)
	lines = append(lines, m.menuLines(p.menu, width, max(1, height-1-len(keys)))...)
	return append(lines, keys...)
}

// leastQuery is how many columns of what is searched for are seen at least.
const leastQuery = 10

func (p *picker) editing() (row, col int) { return 0, p.col }

// menuLines draws a menu. The selected entry is marked, not coloured alone.
func (m *model) menuLines(menu *editor.Menu, width, rows int) []string {
	menu.ASCII = m.ASCII
	lines, selected := menu.View(width-3, rows)
	for i, l := range lines {
		if i == selected {
			lines[i] = " " + m.Paint(render.Accent, m.Glyph(render.GlyphSelected)) + " " + m.Paint(render.Bold, l)
		} else {
			lines[i] = "   " + l
		}
	}
	if len(lines) == 0 {
		lines = append(lines, m.Paint(render.Faint, "   no match"))
	}
	return lines
}

// pickRun returns what lets the person choose a run to resume, with t as for [app.Workspace.Resume].
func pickRun(t app.Task) effect {
	return later(func(ctx context.Context, b *backend) error {
		runs, err := b.ws.Runs(ctx, maxRuns)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			return runlog.ErrNoRun
		}
		now := time.Now()
		var entries []entry
		var said []string // by run: what is searched beside its line
		for _, r := range runs {
			words := fmt.Sprintf("%-12s %-13s %s", ago(now.Sub(r.Updated)), runState(r), view.OneLine(r.Title, view.MaxLine))
			entries = append(entries, entry{text: words, more: money(r.Usage), do: func(m *model) []effect {
				return []effect{inOrder(func(ctx context.Context, b *backend) error { return b.resume(ctx, string(r.ID), t, true) })}
			}})
		}
		p := newPicker("Resume a run", entries)
		b.post(picked{picker: p})
		for _, r := range runs {
			prompts, err := b.ws.Said(ctx, r.ID)
			if err != nil { // it is found by its line
				prompts = nil
			}
			words := strings.Join(append([]string{string(r.ID), r.Workspace}, prompts...), "\n")
			said = append(said, words[:min(len(words), maxSearched)])
		}
		b.post(searchable{p, said})
		return nil
	})
}

// maxSearched bounds what is searched of a run, in bytes.
const maxSearched = 32 << 10

// maxRuns is how many runs can be chosen from.
const maxRuns = 500

// runState says in a word how a run stands.
func runState(r runlog.Run) string {
	switch {
	case r.Damage != "":
		return "damaged"
	case r.Condition == runlog.Ended:
		return strings.ReplaceAll(string(r.End), "_", " ")
	}
	return string(r.Condition)
}

// ago says how long something is past, roughly.
func ago(t time.Duration) string {
	switch {
	case t < time.Minute:
		return "just now"
	case t < time.Hour:
		return fmt.Sprintf("%d min ago", int(t.Minutes()))
	case t < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(t.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(t.Hours()/24))
}

func money(u run.Usage) string {
	if !u.Priced {
		return ""
	}
	return fmt.Sprintf("$%.2f", u.Cost)
}

// pickModel returns what lets the person choose a model.
func pickModel() effect {
	return later(func(ctx context.Context, b *backend) error {
		ps, err := b.ws.Models()
		if err != nil {
			return err
		}
		var entries, missing []entry
		for _, known := range ps.Models() {
			p, _, err := ps.Find(known.Name)
			if err != nil {
				continue
			}
			e := entry{text: visible.Escape(known.Name), more: render.ShortCount(known.Window) + " tokens", do: func(m *model) []effect { return m.setModel(known.Name) }}
			if why := ps.Site(p).Missing(); why != "" {
				e.more = why
				missing = append(missing, e)
				continue
			}
			entries = append(entries, e)
		}
		b.post(picked{picker: newPicker("Choose a model", append(entries, missing...))})
		return nil
	})
}

// pickMode lets the person choose a permission mode.
func (m *model) pickMode() []effect {
	more := map[string]string{
		string(permission.Default): "reading needs no question, everything else asks", string(permission.AcceptEdits): "edits in the folder need no question either",
		string(permission.Plan): "reads only, and ends with a plan", string(permission.Auto): "as accept-edits; a model answers in your place what a rule could allow",
		string(permission.Bypass): "everything runs except what a deny rule covers",
	}
	var entries []entry
	for _, mode := range allModes {
		entries = append(entries, entry{text: mode, more: more[mode], do: func(m *model) []effect { return m.setMode(mode) }})
	}
	p := newPicker("Permission mode", entries)
	for range slices.Index(allModes, m.mode()) {
		p.menu.Key(keyOf("down", ""))
	}
	m.put(p)
	return nil
}

// pickPrompt lets the person go back to an earlier prompt.
func (m *model) pickPrompt() []effect {
	if len(m.prompts) == 0 || m.attached {
		m.hint = "there is no earlier prompt to go back to"
		if m.attached {
			m.hint = "another process drives this run: go back in that terminal"
		}
		return nil
	}
	var entries []entry
	for i := len(m.prompts) - 1; i >= 0; i-- {
		p := m.prompts[i]
		entries = append(entries, entry{text: view.OneLine(p.text, view.MaxLine), more: fmt.Sprintf("prompt %d", i+1), do: func(m *model) []effect {
			m.pane = newDurable("Go back to: "+view.OneLine(p.text, 60), []entry{
				{text: "Conversation and files", more: "files are restored to what they were then", do: func(m *model) []effect { return m.rewind(p, true, true) }},
				{text: "Conversation only", more: "files stay as they are", do: func(m *model) []effect { return m.rewind(p, true, false) }},
				{text: "Files only", more: "the conversation continues", do: func(m *model) []effect { return m.rewind(p, false, true) }},
			})
			return nil
		}})
	}
	m.put(newPicker("Go back to an earlier prompt", entries))
	return nil
}

// planQuestion asks what becomes of a plan.
func planQuestion() *question {
	carryOut := func(mode permission.Mode) func(m *model) []effect {
		return func(m *model) []effect {
			effects := m.setMode(string(mode))
			return append(effects, m.send("Carry out the plan.")...)
		}
	}
	q := &question{Question: runlog.Question{Text: "Carry out this plan? Or say what should be different.",
		Options: []string{"Yes, and ask before each write", "Yes, and edit files without asking"}}}
	q.choose = func(m *model, option int) []effect {
		return []func(*model) []effect{carryOut(permission.Default), carryOut(permission.AcceptEdits)}[option](m)
	}
	return q
}
