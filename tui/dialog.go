package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/app"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/render"
	"pawl/request"
	"pawl/run"
	"pawl/tui/editor"
)

// A dialog asks the person whether calls may run, one after the other. What stores a rule has a second
// step, which shows the rule.
type dialog struct {
	guard
	calls   []app.Approval
	files   map[string]string // that calls would change, as they are now
	picked  int               // the answer that was chosen with the arrows, of the possible ones; -1: none
	fits    bool              // all that matters was in the lines that were drawn last
	printed bool              // all of the call was printed, with d
	body    drawnBody
	storing *storing // the second step; nil: the first one is shown
}

// A storing is the second step of an answer that stores rules: Enter alone stores them.
type storing struct {
	guard
	answer  run.Answer
	rules   permission.Rules // as they would be stored, but for their scope
	scope   int              // of the rules, in render.Scopes
	spent   bool             // a letter was pressed in it
	fits    bool
	printed bool
	edit    *ruleEdit // nil: the rule is not being edited
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
	return later(func(ctx context.Context, d *desk) error {
		c, at := d.current()
		if at != n {
			return nil
		}
		d.loading.Lock() // what is found out last is told last
		defer d.loading.Unlock()
		calls, err := c.Approvals()
		if err != nil {
			return err
		}
		questions, err := c.Questions()
		if err != nil {
			return err
		}
		files := map[string]string{}
		for _, a := range calls {
			r := a.Request
			if !r.Edits || len(r.Resolved) != len(r.Paths) {
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
		d.post(approvals{n, calls, files, questions})
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
		return m.sent[callOf{c.Run, c.Call.ID}] || c.Run == m.id && ok && now.Status != run.CallIsInspected
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
	m.ask.calls, m.ask.files = calls, a.files
	if !same {
		m.intoInput(m.ask)
		m.ask.begin()
	}
}

func ofCall(a app.Approval) callOf { return callOf{a.Run, a.Call.ID} }

func ofQuestion(q app.Question) callOf { return callOf{q.Run, q.Call} }

// askBelow shows the first question that runs below the conversation wait with, or that none waits now.
func (m *model) askBelow(open []app.Question) {
	open = slices.DeleteFunc(open, func(q app.Question) bool { return m.sent[ofQuestion(q)] })
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
	*d = dialog{calls: d.calls, files: d.files, picked: -1}
}

// drop takes in that a call was decided.
func (d *dialog) drop(m *model, id callOf) {
	first := ofCall(d.calls[0]) == id
	d.calls = slices.DeleteFunc(d.calls, func(c app.Approval) bool { return ofCall(c) == id })
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
	d.storing = nil
	return d.release()
}

func (d *dialog) has(text string) bool {
	_, ok := render.ChoiceOf(text, render.Choices(d.calls[0]))
	return ok || text == "d"
}

func (d *dialog) key(m *model, name, text string) ([]effect, bool) {
	if s := d.storing; s != nil {
		if s.edit != nil {
			return d.editKey(name, text), true
		}
		return d.storingKey(m, name, text)
	}
	choices := render.Choices(d.calls[0])
	before := d.held
	switch _, answers := render.ChoiceOf(name, choices); {
	case before == "", before == "d" && answers && len(name) == 1 && d.takes(m):
	case name == "enter" && !m.together:
		return d.perform(m, d.letter()), true
	case text != "" || name == "enter":
		m.intoInput(d)
		return nil, false
	default:
		d.release()
		if name == "esc" || name == "backspace" {
			return nil, true // the letter is taken back
		}
	}
	if name == "esc" && !d.drawn.IsZero() {
		return d.answer(m, run.Wait, nil), true // to stop needs no care
	}
	if !d.takes(m) {
		return nil, false
	}
	switch name {
	case "down":
		d.picked = (d.picked + 1) % len(choices)
		return nil, true
	case "up":
		if len(m.pendingWords()) > 0 {
			return nil, false // the last of them is taken back
		}
		d.picked = (max(d.picked, 0) + len(choices) - 1) % len(choices)
		return nil, true
	case "enter":
		if d.picked < 0 { // it sends nothing either: the input is empty
			m.hint = "enter alone answers nothing: press the key of an answer"
			return nil, true
		}
		return d.perform(m, choices[d.picked].Key), true
	case "d":
		d.printed, d.held, m.typed = true, "d", m.now // what is printed is to be read first
		m.print(d.everything(m)...)
		return nil, true
	}
	i := slices.IndexFunc(choices, func(c render.Choice) bool { return c.Key == name })
	if i < 0 {
		return nil, false
	}
	d.held, d.picked = before+name, -1
	if choices[i].Stores() && d.readable(m) {
		effects := d.perform(m, name)
		d.held, d.storing.spent = before+name, before != ""
		return effects, true
	}
	return nil, true
}

func (d *dialog) chosen() string {
	if d.storing != nil {
		return map[string]string{"e": "edit", "y": "store"}[d.letter()]
	}
	c, _ := render.ChoiceOf(d.letter(), render.Choices(d.calls[0]))
	return c.Word
}

// perform answers with the choice that has a key.
func (d *dialog) perform(m *model, key string) []effect {
	d.release()
	choice, ok := render.ChoiceOf(key, render.Choices(d.calls[0]))
	if !ok { // d, which has done its work
		return nil
	}
	if needsAll(choice) && !d.readable(m) {
		m.hint = notWhole
		return nil
	}
	if !choice.Stores() {
		return d.answer(m, choice.Answer, nil)
	}
	rules, err := d.calls[0].Rules(choice.Answer, render.Scopes[0], nil)
	if err != nil {
		m.hint = err.Error()
		return nil
	}
	d.storing = &storing{answer: choice.Answer, rules: rules}
	return nil
}

// needsAll reports whether a choice is taken only for a call that was shown whole.
func needsAll(c render.Choice) bool { return c.Answer != run.Deny && c.Answer != run.Wait }

const notWhole = "this call is not shown whole: d shows all of it"

// refuses reports whether the letter that was pressed needs more of the call than was shown.
func (d *dialog) refuses(m *model) bool {
	choice, ok := render.ChoiceOf(d.letter(), render.Choices(d.calls[0]))
	return ok && d.storing == nil && needsAll(choice) && !d.readable(m)
}

// storingKey is a key in the second step, which takes one letter.
func (d *dialog) storingKey(m *model, name, text string) ([]effect, bool) {
	s := d.storing
	rescope := func(by int) {
		s.scope = (s.scope + by + len(render.Scopes)) % len(render.Scopes)
		s.guard = guard{} // it has to be read again
	}
	if text != "" {
		if s.spent || !s.takes(m) || !slices.Contains([]string{"d", "e", "s", "y"}, name) {
			m.intoInput(d)
			return nil, false
		}
		d.held, s.spent = d.held+name, true
		switch name {
		case "d":
			s.printed, m.typed = true, m.now
			m.print(append(d.everything(m), d.ruleLines(m, m.width)...)...)
		case "s":
			rescope(1)
		}
		return nil, true
	}
	chosen := d.chosen()
	switch {
	case name == "enter" && !m.input.editor.Empty():
		return nil, false
	case name == "enter" && m.together:
		m.hint = "nothing was stored: enter came together with other keys"
		return nil, true
	case name == "enter" && chosen == "edit":
		s.edit = &ruleEdit{}
		s.edit.text.SetText(s.rules[0].String())
	case name == "enter" && !s.fits && !s.printed:
		m.hint = "the rule is not shown whole: d shows all of it"
	case name == "enter" && !(s.readable(m) && s.ready(m)):
		m.hint = "nothing was stored yet: read the rule, then press enter"
	case name == "enter":
		rules, err := d.calls[0].Rules(s.answer, render.Scopes[s.scope], s.rules)
		if err != nil { // unreachable: there are rules
			m.hint = err.Error()
			return nil, true
		}
		return d.answer(m, s.answer, rules), true
	case name == "esc", name == "ctrl+c", name == "backspace":
		if chosen == "" {
			d.storing = nil
		}
	case name == "tab", name == "right":
		rescope(1)
	case name == "left":
		rescope(-1)
	default:
		return nil, false
	}
	d.held, s.spent = "", false // no word goes on after such a key
	return nil, true
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
	return []effect{inOrder(func(ctx context.Context, desk *desk) error {
		c, n := desk.current()
		if c == nil {
			return nil
		}
		err := c.Decide(ctx, call.Run, decision)
		if err != nil { // it may wait still, with another digest
			desk.post(undecided{n, ofCall(call)})
		}
		return err
	})}
}

func (d *dialog) editKey(name, text string) []effect {
	s := d.storing
	switch name {
	case "esc", "ctrl+c":
		s.edit, s.guard = nil, guard{}
	case "enter":
		r, err := permission.ParseRule(strings.TrimSpace(s.edit.text.Text()))
		if err == nil && d.liftsSandbox() {
			if r.Sandbox = d.calls[0].Request.Sandbox; !r.Exact() {
				err = errors.New("a rule " + strings.TrimPrefix(render.RuleText(permission.Rule{Sandbox: r.Sandbox}), " ") + " names one command, without *")
			}
		}
		if err == nil {
			_, err = d.calls[0].Rules(s.answer, render.Scopes[s.scope], permission.Rules{r})
		}
		if err != nil {
			s.edit.wrong = err.Error()
			return nil
		}
		s.rules, s.edit, s.guard = permission.Rules{r}, nil, guard{}
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
	return slices.Concat([]string{""}, m.ApprovalHead(d.calls[0], len(d.calls), m.width), m.ApprovalBody(d.calls[0], 0, m.width, d.read))
}

// read returns a file that the first call would change.
func (d *dialog) read(path string) (string, error) {
	content, ok := d.files[path]
	if !ok {
		return "", fmt.Errorf("%s was not read", path)
	}
	return content, nil
}

func (d *dialog) lines(m *model, width, height int) []string {
	if d.body.width != width {
		d.body = drawnBody{m.ApprovalBody(d.calls[0], 0, width, d.read), width}
	}
	head := m.ApprovalHead(d.calls[0], len(d.calls), width)
	call := slices.Concat(head, d.body.lines)
	if d.storing != nil {
		return d.storingLines(m, call, len(head), width, height)
	}
	answers := d.choiceLines(m, width, true)
	if len(call)+len(answers) > height {
		answers = d.choiceLines(m, width, false) // the second step shows the rules
	}
	if len(call)+len(answers) > height {
		answers = d.shortChoices(m, width)
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
	end := min(n/3, max(0, n-1-head))
	words := fmt.Sprintf("%s %d more lines: d shows all", m.Glyph(render.GlyphCut), len(call)-n+1)
	if printed {
		words = fmt.Sprintf("%s %d more lines, printed above", m.Glyph(render.GlyphCut), len(call)-n+1)
	}
	mark := "  " + m.Paint(render.Warning, m.Clip(words, width-2))
	return slices.Concat(call[:n-1-end], []string{mark}, call[len(call)-end:])
}

// choiceLines returns the answers, one below the other, and if wanted the rules that they would store.
func (d *dialog) choiceLines(m *model, width int, rules bool) []string {
	var lines []string
	for i, c := range render.Choices(d.calls[0]) {
		mark, key, label := "  ", render.Bold, render.Plain
		if !d.ready(m) {
			key = render.Faint
		}
		spans := []render.Span{{Text: c.Label}}
		if i == d.picked || c.Key == d.letter() {
			mark, label = m.Paint(render.Accent, m.Glyph(render.GlyphSelected))+" ", render.Bold
		}
		spans[0].Paint = label
		if c.Stores() && rules {
			if !m.Words { // the rules stand below each other
				spans[0].Text += strings.Repeat(" ", len("Always allow")-len(c.Label))
			}
			rules, _ := d.calls[0].Rules(c.Answer, render.Scopes[0], nil)
			spans = append(spans, render.Span{Text: "  " + render.RuleTexts(rules), Paint: render.Accent}, render.Span{Text: " " + render.ScopeWords(render.Scopes[0]), Paint: render.Faint})
		}
		lines = append(lines, render.Hang(mark+m.Paint(key, c.Key)+"  ", m.Wrap(spans, width-5, true))...)
	}
	return append(lines, m.keyLines("     ", width-1, "a key or the arrows, then enter", "d: show all")...)
}

// shortChoices returns the answers in few lines, for a small terminal.
func (d *dialog) shortChoices(m *model, width int) []string {
	var spans []render.Span
	for i, c := range render.Choices(d.calls[0]) {
		words, p := c.Key+" "+c.Word, render.Plain
		if i == d.picked || c.Key == d.letter() {
			words, p = m.Glyph(render.GlyphSelected)+words, render.Bold
		}
		spans = append(spans, render.Span{Text: words, Paint: p}, render.Span{Text: m.Dot(), Paint: render.Faint})
	}
	spans = append(spans, render.Span{Text: "d show all", Paint: render.Plain})
	return render.Hang("  ", m.Wrap(spans, width-2, true))
}

// ruleLines returns what the second step would store.
func (d *dialog) ruleLines(m *model, width int) []string {
	s := d.storing
	lines := []string{"  " + m.Paint(render.Bold, render.Label(s.answer)) + ", " + render.ScopeWords(render.Scopes[s.scope]) + ":"}
	for _, r := range s.rules {
		paint := render.Accent
		if r.Sandbox != run.Confined {
			paint = render.Warning
		}
		lines = append(lines, render.Hang("    ", m.Wrap([]render.Span{{Text: render.RuleText(r), Paint: paint}}, width-4, true))...)
	}
	return lines
}

// storingLines returns the second step: the rule, where it holds, and above it as much of the call as
// there is room for.
func (d *dialog) storingLines(m *model, call []string, head, width, height int) []string {
	s := d.storing
	var step []string
	if s.edit != nil {
		text, _, col := s.edit.text.View(width-8, 1)
		s.edit.col = 4 + col
		step = []string{"  " + m.Paint(render.Bold, render.Label(s.answer)) + ", " + render.ScopeWords(render.Scopes[s.scope]) + ":", "    " + m.Paint(render.Accent, text[0])}
		if s.edit.wrong != "" {
			step = append(step, render.Hang("    ", m.Wrap([]render.Span{{Text: visible.Escape(s.edit.wrong), Paint: render.Bad}}, width-4, true))...)
		}
		step = append(step, m.keyLines("    ", width, "enter: use this rule", "esc: back")...)
	} else {
		step = d.ruleLines(m, width)
		keys := render.Faint
		if s.readable(m) {
			keys = render.Plain
		}
		parts := []string{"enter: store", "s: where", "e: edit", "d: show all", "esc: back"}
		if s.spent {
			parts = []string{"enter: store", "tab: where", "esc: back"}
		}
		words := strings.Join(parts, m.Dot())
		step = append(step, render.Hang("    ", m.Wrap([]render.Span{{Text: words, Paint: keys}}, width-4, false))...)
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
