package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/app"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/render"
	"pawl/run"
	"pawl/tui/editor"
	"pawl/worker"
)

// A dialog asks the person whether calls may run, one after the other.
type dialog struct {
	calls []app.Approval
	files map[string]string // that calls would change, as they are now
	shown time.Time         // when the first of calls was first shown
	scope int               // of rules, in scopes
	rule  *ruleEdit         // the rule that is being edited; nil: none
}

// A ruleEdit is a rule as the person edits it before it is stored.
type ruleEdit struct {
	answer   run.Answer // always or never
	text     editor.Editor
	wrong    string
	row, col int // of the cursor, in the lines of the dialog
}

func (d *dialog) editing() (row, col int) {
	if d.rule == nil {
		return -1, 0
	}
	return d.rule.row, d.rule.col
}

// calmBefore is how long the person must not have typed before a key answers a dialog: what
// was typed for the input when the dialog came up is no answer.
const calmBefore = 600 * time.Millisecond

// scopes are where a rule can be stored, the usual one first.
var scopes = []permission.Scope{permission.ForWorkspace, permission.ForRun, permission.ForUser}

var scopeWords = map[permission.Scope]string{
	permission.ForWorkspace: "in this folder", permission.ForRun: "in this run", permission.ForUser: "everywhere",
}

// loadApprovals returns what finds out which calls of the conversation with number n wait.
func loadApprovals(n int) effect {
	return later(func(ctx context.Context, d *desk) error {
		c, at := d.current()
		if at != n {
			return nil
		}
		calls, err := c.Approvals()
		if err != nil {
			return err
		}
		files := map[string]string{}
		for _, a := range calls {
			r := a.Preview.Request
			if a.Call.Tool != "write" && a.Call.Tool != "edit" || len(r.Resolved) != len(r.Paths) {
				continue
			}
			for i, path := range r.Paths {
				at := r.Resolved[i]
				if !filepath.IsAbs(at) {
					at = filepath.Join(r.Workspace, at)
				}
				if content, err := readBounded(at); err == nil {
					files[path] = content
				}
			}
		}
		d.post(approvals{n, calls, files})
		return nil
	})
}

// readBounded returns a file that a change can be compared with; one that does not exist is
// empty.
func readBounded(path string) (string, error) {
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > render.MaxCompared:
		return "", fmt.Errorf("%s is not a file that can be compared", path)
	}
	content, err := os.ReadFile(path)
	return string(content), err
}

// askAbout shows the calls that wait.
func (m *model) askAbout(a approvals) {
	// They were loaded a moment ago: some may have been answered since.
	calls := slices.DeleteFunc(a.calls, func(c app.Approval) bool {
		now, ok := m.state.Turn.Call(c.Call.ID)
		return m.sent[c.Call.ID] || ok && now.Status != run.CallIsInspected
	})
	if len(calls) == 0 {
		m.ask = nil
		return
	}
	if m.ask == nil {
		m.ask = &dialog{}
		m.notify("approve " + render.CallTitle(calls[0].Call.Tool, ""))
	}
	if len(m.ask.calls) == 0 || m.ask.calls[0].Call.ID != calls[0].Call.ID {
		m.ask.shown, m.ask.rule, m.ask.scope = m.now, nil, 0
	}
	m.ask.calls, m.ask.files = calls, a.files
}

// drop takes in that a call was decided.
func (d *dialog) drop(m *model, id run.CallID) {
	first := d.calls[0].Call.ID == id
	d.calls = slices.DeleteFunc(d.calls, func(c app.Approval) bool { return c.Call.ID == id })
	if len(d.calls) == 0 {
		m.ask = nil
	} else if first {
		d.shown, d.rule, d.scope = m.now, nil, 0
	}
}

// ready reports whether keys answer: the dialog was seen, and the person has stopped to type
// for the input.
func (d *dialog) ready(m *model) bool {
	if m.typed.Before(d.shown.Add(-calmBefore)) {
		return true
	}
	return m.now.Sub(m.typed) >= calmBefore
}

func (d *dialog) key(m *model, name, text string) ([]effect, bool) {
	if d.rule != nil {
		return d.editKey(m, name, text), true
	}
	if !d.ready(m) {
		return nil, false
	}
	switch name {
	case "y", "1":
		return d.answer(m, run.Allow, nil), true
	case "a", "2":
		return d.store(m, run.Always, nil), true
	case "w", "3", "esc":
		return d.answer(m, run.Wait, nil), true
	case "n", "4":
		return d.store(m, run.Never, nil), true
	case "x", "5":
		return d.answer(m, run.Deny, nil), true
	case "s":
		d.scope = (d.scope + 1) % len(scopes)
		return nil, true
	case "e":
		d.edit(run.Always)
		return nil, true
	case "E", "shift+e":
		d.edit(run.Never)
		return nil, true
	case "d":
		m.print(d.describe(m, 0, m.width)...)
		return nil, true
	}
	return nil, false
}

// answer decides on the first call.
func (d *dialog) answer(m *model, answer run.Answer, rules permission.Rules) []effect {
	call := d.calls[0]
	m.sent[call.Call.ID] = true
	m.printDecision(call, answer, rules)
	decision := worker.Decision{Call: call.Call.ID, Answer: answer, Rules: rules, Digest: call.Preview.Digest}
	d.drop(m, call.Call.ID)
	if answer == run.Wait {
		m.ask = nil
		m.hint = "say what to do differently"
	}
	// In order: what the person types next comes after it.
	return []effect{inOrder(func(ctx context.Context, desk *desk) error {
		c, n := desk.current()
		if c == nil {
			return nil
		}
		err := c.Decide(ctx, decision)
		if err != nil { // it may wait still, with another digest
			desk.post(undecided{n, decision.Call})
		}
		return err
	})}
}

// store decides on the first call with rules that are stored: those given, or those proposed.
func (d *dialog) store(m *model, answer run.Answer, given permission.Rules) []effect {
	rules, err := d.calls[0].Rules(answer, scopes[d.scope], given)
	if err != nil {
		m.hint = err.Error()
		return nil
	}
	return d.answer(m, answer, rules)
}

// edit begins to edit the rule that an answer would store.
func (d *dialog) edit(answer run.Answer) {
	e := &ruleEdit{answer: answer}
	if rules, err := d.calls[0].Rules(answer, scopes[d.scope], nil); err == nil {
		e.text.SetText(rules[0].String())
	}
	d.rule = e
}

func (d *dialog) editKey(m *model, name, text string) []effect {
	switch name {
	case "esc", "ctrl+c":
		d.rule = nil
	case "enter":
		r, err := permission.ParseRule(strings.TrimSpace(d.rule.text.Text()))
		if err != nil {
			d.rule.wrong = err.Error()
			return nil
		}
		if d.rule.answer == run.Always {
			if proposed, err := d.calls[0].Rules(run.Always, scopes[d.scope], nil); err == nil {
				r.Sandbox = proposed[0].Sandbox
			}
		}
		return d.store(m, d.rule.answer, permission.Rules{r})
	default:
		d.rule.wrong = ""
		d.rule.text.Key(keyOf(name, text))
	}
	return nil
}

// describe returns what the person has to see of the first call.
func (d *dialog) describe(m *model, fold, width int) []string {
	before := func(path string) (string, error) {
		content, ok := d.files[path]
		if !ok {
			return "", fmt.Errorf("%s was not read", path)
		}
		return content, nil
	}
	lines := m.ApprovalLines(d.calls[0], len(d.calls), fold, width, before)
	if dir := d.calls[0].Preview.Request.Dir; dir != "" && dir != m.Dir {
		lines = append(lines, "  "+m.Paint(render.Faint, m.Clip("in "+visible.Escape(dir), width-2)))
	}
	return lines
}

func (d *dialog) lines(m *model, width, height int) []string {
	var choices []string
	say := func(key, label, rule, where string) {
		p := render.Bold
		if !d.ready(m) {
			p = render.Faint
		}
		line := []render.Span{{Text: label, Paint: render.Plain}}
		if rule != "" {
			if !m.Words { // the rules stand below each other
				line[0].Text += strings.Repeat(" ", len("Always allow")-len(label))
			}
			line = append(line, render.Span{Text: "  " + rule, Paint: render.Accent}, render.Span{Text: " " + where, Paint: render.Faint})
		}
		choices = append(choices, render.Hang("  "+m.Paint(p, key)+"  ", m.Wrap(line, width-5, true))...)
	}
	where := scopeWords[scopes[d.scope]]
	if d.rule == nil {
		say("y", "Allow this time", "", "")
		say("a", "Always allow", d.stored(run.Always), where)
		say("w", "Wait and tell the agent what to do differently", "", "")
		say("n", "Never allow", d.stored(run.Never), where)
		choices = append(choices, "     "+m.Paint(render.Faint, m.Clip("x deny once"+m.Dot()+"e edit always"+m.Dot()+"E edit never"+m.Dot()+"s where"+m.Dot()+"d show all", width-6)))
	} else {
		label := "Always allow"
		if d.rule.answer == run.Never {
			label = "Never allow"
		}
		text, _, col := d.rule.text.View(width-8, 1)
		d.rule.col = 4 + col
		choices = append(choices, "  "+m.Paint(render.Bold, label)+" "+where+":", "    "+m.Paint(render.Accent, text[0]))
		if d.rule.wrong != "" {
			choices = append(choices, render.Hang("    ", m.Wrap([]render.Span{{Text: visible.Escape(d.rule.wrong), Paint: render.Bad}}, width-4, true))...)
		}
		choices = append(choices, "    "+m.Paint(render.Faint, m.Clip("enter: store"+m.Dot()+"esc: back", width-4)))
	}
	if d.rule == nil && height-len(choices) < leastDescribed { // on a small terminal what is decided on goes first
		words := strings.Join([]string{"y allow", "a always", "w wait", "n never", "x deny", "d show all"}, m.Dot())
		choices = render.Hang("  ", m.Wrap([]render.Span{{Text: words, Paint: render.Bold}}, width-2, true))
	}
	room := max(2, height-len(choices))
	lines := d.describe(m, max(3, room-4), width)
	if len(lines) > room {
		lines = append(lines[:room-1], "  "+m.Paint(render.Faint, fmt.Sprintf("%s %d more lines: d shows all", m.Glyph(render.GlyphCut), len(lines)-room+1)))
	}
	for i := range lines {
		lines[i] = m.Clip(lines[i], width)
	}
	if len(lines)+len(choices)+2 <= height-roomAround { // what is asked stands apart from what was done, and the answers from it
		lines = append(append([]string{""}, lines...), "")
	}
	if d.rule != nil {
		d.rule.row = len(lines) + 1 // below its label
	}
	return append(lines, choices...)
}

// roomAround is how many lines of a window a dialog leaves free before it is drawn with blank lines.
const roomAround = 3

// leastDescribed is how many lines of a call are shown before its answers are written out.
const leastDescribed = 6

// stored says which rules an answer would store.
func (d *dialog) stored(answer run.Answer) string {
	rules, err := d.calls[0].Rules(answer, scopes[d.scope], nil)
	if err != nil {
		return "(no rule can be stored)"
	}
	var words []string
	for _, r := range rules {
		words = append(words, visible.Escape(r.String()))
	}
	return strings.Join(words, ", ")
}

// printDecision prints what the person has decided.
func (m *model) printDecision(a app.Approval, answer run.Answer, rules permission.Rules) {
	words := map[run.Answer]string{run.Allow: "allowed", run.Always: "always allowed", run.Wait: "stopped", run.Never: "never allowed", run.Deny: "denied"}[answer]
	for _, r := range rules {
		words += m.Dot() + "stored: " + string(r.Effect) + " " + visible.Escape(r.String()) + " " + scopeWords[r.Scope]
	}
	if len(rules) > 0 {
		words += m.Dot() + "take it back with /permissions"
		m.print(render.Hang("  ", m.Wrap([]render.Span{{Text: words, Paint: render.Faint}}, m.width-2, false))...)
	}
}
