package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/approval"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/render"
	"pawl/request"
	"pawl/run"
	"pawl/runlog"
	"pawl/tui/editor"
)

// A dialog asks the person whether calls may run, one after the other. What stores a rule has a second
// step, which shows the rule.
type dialog struct {
	guard
	calls   []approval.Approval
	fits    bool // all that matters was in the lines that were drawn last
	printed bool // all of the call was printed, with d
	body    drawnBody
	storing *storing // the second step; nil: the first one is shown
}

// A storing is the second step of an answer that stores rules: where they hold is chosen with a number or the
// arrows, and Enter stores them. No letter is a key of it.
type storing struct {
	guard
	answer  run.Answer
	rules   permission.Rules // as they would be stored, but for their scope
	fits    bool
	printed bool
	edit    *ruleEdit // nil: the rule is not being edited
}

// inScope are the options of the second step: where the rules hold, and to edit them.
func inScope() (all []option) {
	for i, scope := range render.Scopes {
		all = append(all, option{key: strconv.Itoa(i + 1), label: render.ScopeWords(scope), word: render.ScopeWords(scope)})
	}
	return append(all, option{key: strconv.Itoa(len(all) + 1), label: "edit the rule", word: "edit"})
}

// A ruleEdit is a rule as the person edits it.
type ruleEdit struct {
	text     editor.Editor
	wrong    string
	row, col int // of the cursor, in the lines of the dialog
}

// A drawnBody is the body of a call in lines of a width.
type drawnBody struct {
	lines []string
	width int // 0: not drawn yet
}

func (d *dialog) editing() (row, col int) {
	if d.storing == nil || d.storing.edit == nil {
		return -1, 0
	}
	return d.storing.edit.row, d.storing.edit.col
}

// loadApprovals returns what finds out which calls of the conversation with number n wait.
func loadApprovals(n int) effect {
	return later(func(ctx context.Context, b *backend) error {
		c, at := b.current()
		if at != n {
			return nil
		}
		b.loading.Lock() // what is found out last is told last
		defer b.loading.Unlock()
		calls, err := c.Approvals()
		if err != nil {
			return err
		}
		questions, err := c.Questions()
		if err != nil {
			return err
		}
		b.post(approvals{n, calls, questions})
		return nil
	})
}

// askAbout shows the calls that wait.
func (m *model) askAbout(a approvals) {
	// They were loaded a moment ago: some may have been answered since.
	calls := slices.DeleteFunc(a.calls, func(c approval.Approval) bool {
		now, ok := m.state.Turn.Call(c.Call.ID)
		return m.sent[callOf{run: c.Run, call: c.Call.ID}] || c.Run == m.id && ok && now.Status != run.CallIsInspected
	})
	m.askBelow(a.questions)
	if len(calls) == 0 {
		m.askNoMore()
		return
	}
	if m.ask == nil {
		if m.question != nil {
			m.question.leaves(m)
		}
		m.ask = &dialog{}
		m.notify("approve " + render.CallTitle(calls[0].Call.Tool, ""))
	}
	same := len(m.ask.calls) > 0 && ofCall(m.ask.calls[0]) == ofCall(calls[0]) && m.ask.calls[0].Digest == calls[0].Digest
	m.ask.calls = calls
	if !same {
		m.intoInput(m.ask)
		m.ask.begin()
	}
}

func ofCall(a approval.Approval) callOf { return callOf{run: a.Run, call: a.Call.ID} }

func ofQuestion(q runlog.Question) callOf { return callOf{q.Run, q.Call, q.Text} }

// askBelow shows the first question that runs below the conversation wait with, or that none waits now.
func (m *model) askBelow(open []runlog.Question) {
	open = slices.DeleteFunc(open, func(q runlog.Question) bool { return m.sent[ofQuestion(q)] })
	switch q := m.asked(); {
	case len(open) > 0 && (q == nil || ofQuestion(*q) != ofQuestion(open[0])):
		m.showQuestion(open[0])
	case len(open) == 0 && q != nil && q.Run != "":
		m.answered()
	}
}

// askNoMore closes the dialog: there is nothing to decide.
func (m *model) askNoMore() {
	if m.ask != nil {
		m.intoInput(m.ask)
		m.closeDialog()
	}
}

// closeDialog takes the dialog from the screen. A question that it has hidden comes up.
func (m *model) closeDialog() {
	m.ask = nil
	if m.question != nil {
		m.question.comesUp(m)
	}
}

// begin begins to ask about the first call.
func (d *dialog) begin() {
	*d = dialog{calls: d.calls}
}

// drop takes in that a call was decided.
func (d *dialog) drop(m *model, id callOf) {
	first := ofCall(d.calls[0]) == id
	d.calls = slices.DeleteFunc(d.calls, func(c approval.Approval) bool { return ofCall(c) == id })
	if first {
		m.intoInput(d)
		d.begin()
	}
	if len(d.calls) == 0 {
		m.closeDialog()
	}
}

// dropOwn takes in that no call of the conversation itself waits.
func (m *model) dropOwn() {
	if m.ask == nil {
		return
	}
	for _, c := range slices.Clone(m.ask.calls) {
		if c.Run == m.id && m.ask != nil {
			m.ask.drop(m, ofCall(c))
		}
	}
}

func (d *dialog) step() (g *guard, whole bool) {
	if s := d.storing; s != nil {
		return &s.guard, s.fits || s.printed
	}
	return &d.guard, d.fits || d.printed
}

func (d *dialog) text() string {
	g, _ := d.step()
	d.storing = nil
	return g.release()
}

// keys returns the options of the step that is shown, by their keys, and how many of them are listed.
func (d *dialog) keys() (all []string, listed int) {
	if d.storing != nil {
		for _, o := range inScope() {
			all = append(all, o.key)
		}
		return all, len(all)
	}
	for _, c := range render.Choices(d.calls[0]) {
		all = append(all, c.Key)
	}
	return append(all, "d"), len(all)
}

func (d *dialog) has(text string) bool {
	all, _ := d.keys()
	return slices.Contains(all, text)
}

func (d *dialog) key(m *model, name, text string) ([]effect, bool) {
	s := d.storing
	g, _ := d.step()
	switch {
	case s != nil && s.edit != nil:
		return d.editKey(name, text), true
	case s != nil && (name == "ctrl+c" || g.held == "" && (name == "esc" || name == "backspace")):
		d.storing = nil
		return nil, true
	case s == nil && name == "esc" && g.held == "" && !g.drawn.IsZero():
		return d.answer(m, run.Wait, nil), true // to stop needs no care
	case name == "up" && len(m.pendingWords()) > 0 && s == nil && g.held == "":
		d.release()
		return nil, false // the last of them is taken back
	}
	all, listed := d.keys()
	switch answer, taken := m.choose(d, name, text, all, listed); {
	case answer == 0:
		if text != "" && !taken {
			m.intoInput(d)
		}
		return nil, taken
	case s != nil:
		return d.store(m), true
	default:
		return d.perform(m), true
	}
}

func (d *dialog) chosen() string {
	g, _ := d.step()
	switch choice, ok := d.choice(); {
	case g.held == "":
		return ""
	case d.storing != nil && g.picked > len(render.Scopes):
		return "edit"
	case d.storing != nil:
		return "store"
	case !ok:
		return "show all"
	default:
		return choice.Word
	}
}

// choice returns what is chosen in the first step; ok is false for d, which answers nothing, and for nothing.
func (d *dialog) choice() (c render.Choice, ok bool) {
	choices := render.Choices(d.calls[0])
	if d.picked == 0 || d.picked > len(choices) {
		return c, false
	}
	return choices[d.picked-1], true
}

// perform does what is chosen in the first step.
func (d *dialog) perform(m *model) []effect {
	choice, ok := d.choice()
	d.release()
	switch {
	case !ok:
		d.printed, m.typed = true, m.now // the person has to read what is printed
		m.print(d.everything(m)...)
		return nil
	case needsAll(choice) && !d.readable(m):
		m.hint = notWhole
		return nil
	case !choice.Stores():
		return d.answer(m, choice.Answer, nil)
	}
	rules, err := d.calls[0].Rules(choice.Answer, render.Scopes[0], nil)
	if err != nil {
		m.hint = err.Error()
		return nil
	}
	d.storing = &storing{guard: guard{opened: true}, answer: choice.Answer, rules: rules}
	return nil
}

// needsAll reports whether a choice is taken only for a call that was shown whole.
func needsAll(c render.Choice) bool { return c.Answer != run.Deny && c.Answer != run.Wait }

const notWhole = "this call is not shown whole: d shows all of it"

// refuses reports whether what was chosen needs more of the call than was shown.
func (d *dialog) refuses(m *model) bool {
	choice, ok := d.choice()
	return ok && d.held != "" && d.storing == nil && needsAll(choice) && !d.readable(m)
}

// store does what is chosen in the second step.
func (d *dialog) store(m *model) []effect {
	s := d.storing
	switch {
	case s.picked > len(render.Scopes):
		s.edit = &ruleEdit{}
		s.edit.text.SetText(s.rules[0].String())
		return nil
	case !s.fits && !s.printed:
		s.printed = true
		m.print(append([]string{""}, d.ruleLines(m, m.width)...)...)
		m.hint = "the whole rule is printed above: read it, then press enter"
		return nil
	case !s.readable(m):
		m.hint = "nothing was stored yet: read the rule, then press enter"
		return nil
	}
	rules, err := d.calls[0].Rules(s.answer, render.Scopes[s.picked-1], s.rules)
	if err != nil { // unreachable: there are rules
		m.hint = err.Error()
		return nil
	}
	return d.answer(m, s.answer, rules)
}

// answer decides on the first call.
func (d *dialog) answer(m *model, answer run.Answer, rules permission.Rules) []effect {
	call := d.calls[0]
	m.sent[ofCall(call)] = true
	d.text() // it was the answer
	m.printDecision(answer, rules)
	decision := request.Decide{Call: call.Call.ID, Answer: answer, Rules: rules, Digest: call.Digest}
	d.drop(m, ofCall(call))
	if answer == run.Wait {
		m.closeDialog()
		m.hint = "say what to do differently"
	}
	// In order: what the person types next comes after it.
	return []effect{inOrder(func(ctx context.Context, b *backend) error {
		c, n := b.current()
		if c == nil {
			return nil
		}
		err := c.Decide(ctx, call.Run, decision)
		if err != nil { // it may wait still, with another digest
			b.post(undecided{n, ofCall(call)})
		}
		return err
	})}
}

func (d *dialog) editKey(name, text string) []effect {
	s := d.storing
	switch name {
	case "esc", "ctrl+c":
		s.edit, s.guard = nil, guard{opened: true}
	case "enter":
		r, err := permission.ParseRule(strings.TrimSpace(s.edit.text.Text()))
		if err == nil && d.liftsSandbox() {
			if r.Sandbox = d.calls[0].Request.Sandbox; !r.Exact() && r.Sandbox.Hosts() == nil {
				err = errors.New("a rule " + strings.TrimPrefix(render.RuleText(permission.Rule{Sandbox: r.Sandbox}), " ") + " names one command, without *")
			}
		}
		if err == nil {
			_, err = d.calls[0].Rules(s.answer, render.Scopes[0], permission.Rules{r})
		}
		if err != nil {
			s.edit.wrong = err.Error()
			return nil
		}
		s.rules, s.edit, s.guard = permission.Rules{r}, nil, guard{opened: true}
	default:
		s.edit.wrong = ""
		s.edit.text.Key(keyOf(name, text))
	}
	return nil
}

// liftsSandbox reports whether what is allowed would not run in the sandbox.
func (d *dialog) liftsSandbox() bool {
	return d.storing.answer == run.Always && d.calls[0].Request.Sandbox != run.Confined
}

// everything returns all that there is to see of the first call.
func (d *dialog) everything(m *model) []string {
	return slices.Concat([]string{""}, m.ApprovalHead(d.calls[0], len(d.calls), m.width), m.ApprovalBody(d.calls[0], 0, m.width))
}

func (d *dialog) lines(m *model, width, height int) []string {
	if d.body.width != width {
		d.body = drawnBody{m.ApprovalBody(d.calls[0], 0, width), width}
	}
	head := m.ApprovalHead(d.calls[0], len(d.calls), width)
	call := slices.Concat(head, d.body.lines)
	if d.storing != nil {
		return d.storingLines(m, call, len(head), width, height)
	}
	var answers []string
	keys := m.keyLines("     ", width-1, "a key or the arrows, then enter", "d: show all")
	for _, rules := range []bool{true, false} { // the second step shows the rules
		if answers = append(m.optionLines(&d.guard, d.options(m, rules), width), keys...); len(call)+len(answers) <= height {
			break
		}
	}
	if len(call)+len(answers) > height {
		answers = m.shortOptions(&d.guard, d.options(m, false), width, "d show all")
	}
	d.fits = len(call)+len(answers) <= height
	if len(call)+len(answers)+2 <= height-roomAround { // what is asked stands apart from what was done, and the answers from it
		return slices.Concat([]string{""}, call, []string{""}, answers)
	}
	return append(m.cutCall(call, len(head), width, height-len(answers), d.printed), answers...)
}

// cutCall returns the lines of a call in at most n lines: its beginning, whose first lines say what
// matters, and the end of its command.
func (m *model) cutCall(call []string, head, width, n int, printed bool) []string {
	if len(call) <= n {
		return call
	}
	if n <= 0 {
		return nil
	}
	end := min(n/3, len(call)-head)
	words := fmt.Sprintf("%s %d more lines: d shows all", m.Glyph(render.GlyphCut), len(call)-n+1)
	if printed {
		words = fmt.Sprintf("%s %d more lines, printed above", m.Glyph(render.GlyphCut), len(call)-n+1)
	}
	mark := "  " + m.Paint(render.Warning, m.Clip(words, width-2))
	return slices.Concat(call[:n-1-end], []string{mark}, call[len(call)-end:])
}

// options returns the answers, and if wanted the rules that they would store.
func (d *dialog) options(m *model, rules bool) (all []option) {
	for _, c := range render.Choices(d.calls[0]) {
		o := option{key: c.Key, label: c.Label, word: c.Word}
		if c.Stores() && rules {
			if !m.Words { // the rules stand below each other
				o.label += strings.Repeat(" ", len("Always allow")-len(c.Label))
			}
			rules, _ := d.calls[0].Rules(c.Answer, render.Scopes[0], nil)
			o.more = []render.Span{{Text: "  " + render.RuleTexts(rules), Paint: render.Accent}, {Text: " " + render.ScopeWords(render.Scopes[0]), Paint: render.Faint}}
		}
		all = append(all, o)
	}
	return all
}

// ruleLines returns what the second step would store.
func (d *dialog) ruleLines(m *model, width int) []string {
	s := d.storing
	lines := []string{"  " + m.Paint(render.Bold, render.Label(s.answer)) + ":"}
	for _, r := range s.rules {
		lines = append(lines, render.Hang("    ", m.Wrap(render.RuleSpans(r), width-4, true))...)
	}
	return lines
}

// storingLines returns the second step: the rule, where it can hold, and above it as much of the call as
// there is room for.
func (d *dialog) storingLines(m *model, call []string, head, width, height int) []string {
	s := d.storing
	var step []string
	if s.edit != nil {
		text, _, col := s.edit.text.View(width-8, 1)
		s.edit.col = 4 + col
		step = []string{"  " + m.Paint(render.Bold, render.Label(s.answer)) + ":", "    " + m.Paint(render.Accent, text[0])}
		if s.edit.wrong != "" {
			step = append(step, render.Hang("    ", m.Wrap([]render.Span{{Text: visible.Escape(s.edit.wrong), Paint: render.Bad}}, width-4, true))...)
		}
		step = append(step, m.keyLines("    ", width, "enter: use this rule", "esc: back")...)
	} else {
		rule := d.ruleLines(m, width)
		step = slices.Concat(rule, m.optionLines(&s.guard, inScope(), width), m.keyLines("     ", width-1, "a number or the arrows, then enter", "esc: back"))
		if len(call)+len(step) > height {
			step = append(rule, m.shortOptions(&s.guard, inScope(), width, "esc back")...)
		}
	}
	s.fits = len(step) <= height
	rest := m.cutCall(call, head, width, height-len(step), d.printed)
	if len(rest)+len(step)+2 <= height-roomAround {
		rest = slices.Concat([]string{""}, rest, []string{""})
	}
	if s.edit != nil {
		s.edit.row = len(rest) + 1 // below its label
	}
	all := append(rest, step...)
	return all[:min(len(all), height)]
}

// roomAround is how many lines of a window a dialog leaves free before it is drawn with blank lines.
const roomAround = 3

// printDecision prints what the person has decided.
func (m *model) printDecision(answer run.Answer, rules permission.Rules) {
	words := "always allowed"
	if answer == run.Never {
		words = "never allowed"
	}
	for _, r := range rules {
		words += m.Dot() + "stored: " + string(r.Effect) + " " + render.RuleText(r) + " " + render.ScopeWords(r.Scope)
	}
	if len(rules) > 0 {
		words += m.Dot() + "remove it with /permissions"
		m.print(render.Hang("  ", m.Wrap([]render.Span{{Text: words, Paint: render.Faint}}, m.width-2, false))...)
	}
}
