package tui

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"pawl/app"
	"pawl/config"
	"pawl/internal/visible"
	"pawl/render"
	"pawl/run"
	"pawl/runlog"
	"pawl/tool/tree"
	"pawl/tui/editor"
	"pawl/tui/keys"
	"pawl/view"
)

// An input is where the person types.
type input struct {
	editor editor.Editor
	menu   *completion // nil: nothing is completed
	files  []string    // of the workspace
	asked  bool        // for the files
	bell   string      // for the next frame
}

// An inputView is the input as it is drawn.
type inputView struct {
	lines    []string
	row, col int // of the cursor; row -1: it is elsewhere
}

func (in *input) lines(m *model) inputView {
	prompt := m.Paint(render.Accent, m.Glyph(render.GlyphPerson)) + " "
	rows, row, col := in.editor.View(m.width-1-render.Cells(prompt), max(1, m.height/3))
	v := inputView{row: row, col: col + 2}
	if row == 0 {
		v.col = col + render.Cells(prompt)
	}
	for i, l := range rows {
		mark := "  "
		if i == 0 {
			mark = prompt
		}
		if strings.HasPrefix(rows[0], "!") {
			l = m.Paint(render.Accent, l)
		}
		v.lines = append(v.lines, mark+l)
	}
	if in.editor.Searching() {
		line, at := in.editor.SearchView(m.width - 3)
		v.lines = append(v.lines, "  "+m.Paint(render.Faint, line))
		v.row, v.col = len(v.lines)-1, at+2
	}
	if m.ask != nil && m.takesKeys() || m.typesInPane() {
		v.row = -1 // the keys go there
	}
	return v
}

// parks reports whether the terminal's cursor is hidden, and drawn as a character. While frames are
// drawn that no key has caused, the window can be resized when one is on its way, and only
// a hidden cursor leaves nothing of it then; see package screen. For input methods the cursor is
// the terminal's own, because what is being composed is shown at it.
func (m *model) parks() bool {
	return !m.composes && !m.Words && (m.state.Turn.Open() && m.driven || m.awaits || m.running > 0)
}

// caret draws the cursor at a column of a line.
func (m *model) caret(line string, col int) string {
	before, at, after := ansi.Cut(line, 0, col), ansi.Strip(ansi.Cut(line, col, col+1)), ""
	if !m.Color {
		return before + "_" + ansi.Cut(line, col, render.Cells(line))
	}
	if at == "" && col < render.Cells(line) { // a wide character
		at = ansi.Strip(ansi.Cut(line, col, col+2))
	}
	after = ansi.Cut(line, col+render.Cells(at), max(col+render.Cells(at), render.Cells(line)))
	return before + ansi.NewStyle().Reverse(true).Styled(cmp.Or(at, " ")) + after
}

func keyOf(name, text string) keys.Key { return keys.Key{Name: name, Text: text} }

// An armed key does something if it is pressed again soon.
type armed struct {
	key   string
	words string
	until time.Time
}

// armedFor is how long a key stays armed.
const armedFor = 1500 * time.Millisecond

// again arms a key, or reports that it was armed.
func (m *model) again(key, words string) bool {
	if m.armed.key == key && m.now.Before(m.armed.until) {
		m.armed = armed{}
		return true
	}
	m.armed = armed{key, words, m.now.Add(armedFor)}
	return false
}

// bindings are the keys beyond those of the editor.
var bindings = [][2]string{
	{"enter", "send; while the agent works: delivered with the next results, to an external agent when it is done"},
	{"tab", "complete; while the agent works: queue for when it is done"},
	{"shift+enter, ctrl+j", "new line"},
	{"esc", "interrupt; twice when idle: go back to an earlier prompt"},
	{"up", "earlier prompts; take back a message that waits"},
	{"ctrl+c", "interrupt, or clear the input; twice: leave"},
	{"shift+tab", "change the permission mode"},
	{"ctrl+r", "search earlier prompts"},
	{"ctrl+t", "show or hide the list of tasks"},
	{"ctrl+o", "show a call with all of its result; again: the call before"},
	{"ctrl+g", "write in your editor"},
	{"ctrl+l", "draw the screen again"},
	{"ctrl+z", "suspend"},
	{"ctrl+d", "leave, if the input is empty"},
	{"@", "name a file"},
	{"!", "run a command yourself; the agent sees its output"},
}

// key does what a key means.
func (m *model) key(name, text string) []effect {
	m.hint = ""
	if m.armed.key != name {
		m.armed = armed{}
	}
	m.composes = m.composes || strings.ContainsFunc(text, isComposed)
	if p := m.front(); p != nil {
		if effects, taken := p.key(m, name, text); taken {
			if _, asks := p.(asking); !asks { // a dialog that comes up was not meant
				m.typed = m.now
			}
			return effects
		}
	}
	m.typed = m.now
	if m.input.editor.Searching() {
		return m.edit(name, text)
	}
	empty := m.input.editor.Empty()
	switch name {
	case "esc":
		return m.escape()
	case "ctrl+c":
		return m.controlC()
	case "ctrl+d":
		if empty {
			return m.leave()
		}
	case "shift+tab":
		if m.ask != nil { // on the way to a stricter mode is one that would allow the call
			m.hint = answerFirst
			return nil
		}
		return m.nextMode()
	case "tab":
		if m.state.Turn.Open() && !empty {
			return m.queue()
		}
	case "up":
		if words := m.pendingWords(); empty && len(words) > 0 {
			return m.takeBack(words[len(words)-1])
		}
	case "ctrl+t":
		return m.toggleTodo("")
	case "ctrl+o":
		return m.viewCalls("")
	case "ctrl+g":
		return m.externalEditor()
	case "ctrl+z":
		return m.suspend()
	case "ctrl+l":
		m.clean = true
		return nil
	case "?":
		if empty {
			return m.help("")
		}
	}
	return m.edit(name, text)
}

// composesIn reports whether people write the language of a locale with an input method.
func composesIn(getenv func(name string) string) bool {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	language, _, _ := strings.Cut(strings.ReplaceAll(locale, ".", "_"), "_")
	return slices.Contains([]string{"ja", "ko", "vi", "yue", "zh"}, language)
}

// isComposed reports whether a character is typed with an input method.
func isComposed(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// edit hands a key to the editor.
func (m *model) edit(name, text string) []effect {
	if m.input.editor.Key(keyOf(name, text)) == editor.Submit {
		return m.submit()
	}
	m.complete()
	return m.wantFiles()
}

// paste takes in pasted text.
func (m *model) paste(text string) []effect {
	p, picks := m.front().(*picker)
	picks = picks && p.takesText(m)
	m.typed, m.hint = m.now, ""
	if picks && p.noPaste != "" {
		m.hint = p.noPaste
		return nil
	}
	if picks {
		p.used = true
		p.query.Paste(view.OneLine(text, 200))
		p.menu.Filter(p.query.Text())
		return nil
	}
	if m.ask != nil && m.ask.storing != nil && m.ask.storing.edit != nil {
		m.ask.storing.edit.text.Paste(view.OneLine(text, 1000))
		return nil
	}
	if p, ok := m.asks(); ok {
		m.intoInput(p)
		if q, ok := p.(*question); ok {
			q.begins(m)
		}
	}
	if s, ok := m.pane.(*secret); ok {
		s.text += strings.TrimSpace(text)
		return nil
	}
	if path, ok := picturePath(text); ok {
		return []effect{inOrder(func(ctx context.Context, b *backend) error {
			parts, err := b.ws.Picture(ctx, path)
			if err != nil {
				b.post(pictured{text: text})
				return nil // it is text like any other
			}
			b.post(pictured{text: text, parts: parts})
			return nil
		})}
	}
	m.input.editor.Paste(text)
	m.complete()
	return m.wantFiles()
}

// picturePath returns the path of a picture that a text consists of, as terminals paste a file
// that is dropped onto them: plain, in quotes, or with escaped blanks.
func picturePath(text string) (path string, ok bool) {
	path = strings.TrimSpace(text)
	if len(path) > 4096 || strings.Contains(path, "\n") {
		return "", false
	}
	path = strings.TrimPrefix(path, "file://")
	if unquoted := strings.Trim(path, `'"`); unquoted != path {
		path = unquoted
	} else {
		path = strings.ReplaceAll(path, `\ `, " ")
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return path, true
	}
	return "", false
}

// escape interrupts what runs, or goes back to an earlier prompt.
func (m *model) escape() []effect {
	switch {
	case m.running > 0:
		return []effect{later(func(_ context.Context, b *backend) error { b.stopShell(); return nil })}
	case m.state.Turn.Open() || m.awaits:
		return m.interrupt()
	case !m.input.editor.Empty():
		if m.again("esc", "esc again clears the input") {
			m.input.editor.SetText("")
		}
	case m.again("esc", "esc again goes back to an earlier prompt"):
		return m.pickPrompt()
	}
	return nil
}

// interrupt stops the turn.
func (m *model) interrupt() []effect {
	m.stopping = m.state.Turn.Open()
	return []effect{later(func(_ context.Context, b *backend) error {
		if c, _ := b.current(); c != nil {
			c.Interrupt(run.Interrupted{Cause: run.ByPerson, By: config.Person()})
		}
		return nil
	})}
}

func (m *model) controlC() []effect {
	if m.again("ctrl+c", "ctrl+c again leaves") {
		return m.leave()
	}
	switch {
	case !m.input.editor.Empty():
		m.input.editor.SetText("")
		m.input.menu = nil
	case m.state.Turn.Open() || m.awaits || m.running > 0:
		return m.escape()
	}
	return nil
}

// leave ends the program: a turn that is driven here is interrupted as by a shutdown.
func (m *model) leave() []effect {
	m.hint = "leaving"
	return []effect{later(func(_ context.Context, b *backend) error {
		b.stopShell()
		err := b.leave(app.ForExit)
		b.post(leaving{})
		return err
	})}
}

// submit sends what was typed.
func (m *model) submit() []effect {
	if strings.TrimSpace(m.input.editor.Text()) == "" && len(m.input.editor.Draft().Images()) == 0 {
		return nil
	}
	if m.holdsStray() {
		return nil
	}
	if m.question != nil && m.ask == nil && !runs(m.input.editor.Text()) && m.question.holdsBack(m) {
		return nil
	}
	draft, err := m.input.editor.Take()
	m.input.menu = nil
	if err != nil {
		m.hint = err.Error()
	}
	text := strings.TrimSpace(draft.Text())
	if m.question != nil && m.ask == nil && len(draft.Images()) == 0 && m.question.has(text) {
		return m.question.perform(m, slices.Index(m.question.numbers(), text)+1)
	}
	switch {
	case isCommand(text):
		return m.command(text, draft.Images()...)
	case runs(text):
		return m.shell(strings.TrimSpace(text[1:]))
	}
	return m.send(text, draft.Images()...)
}

// isCommand reports whether a text is a command and not said to the agent: /mode, but not a path.
func isCommand(text string) bool {
	return strings.HasPrefix(text, "/") && !strings.ContainsAny(strings.Fields(text)[0][1:], "/")
}

// runs reports whether a text is a command, of the terminal or of the shell.
func runs(text string) bool {
	text = strings.TrimSpace(text)
	return isCommand(text) || len(text) > 1 && text[0] == '!'
}

// pictures returns what the images of a draft consist of.
func pictures(images []editor.Image) []run.Part {
	var parts []run.Part
	for _, i := range images {
		if p, ok := i.Payload.([]run.Part); ok {
			parts = append(parts, p...)
		}
	}
	return parts
}

// imagesOf returns the images that a message has where its words have their labels. What is mentioned in it stands before them.
func imagesOf(parts []run.Part) (images []editor.Image) {
	var all [][]run.Part
	for i, p := range parts {
		if p.Type == run.ImagePart && p.Attached != "" && i > 0 && parts[i-1].Attached == p.Attached { // as a picture is attached
			all = append(all, parts[i-1:i+1])
		}
	}
	labels := editor.ImageLabels(typed(parts))
	n := min(len(all), len(labels))
	for i, p := range all[len(all)-n:] {
		images = append(images, editor.Image{Label: labels[i], Payload: p})
	}
	return images
}

// send says something to the agent: it begins a turn, or is delivered with the next results.
func (m *model) send(text string, images ...editor.Image) []effect {
	if m.id == "" && !m.opens && m.model.err != nil && m.wish.Model == "" { // the person chooses one first
		m.input.editor.SetText(text, images...)
		return m.welcome()
	}
	if q := m.asked(); q != nil && m.ask == nil { // behind a dialog it is not on the screen
		return m.reply(*q, text, images)
	}
	m.awaits = true
	if !m.state.Turn.Open() {
		m.began = m.now
	}
	wish, id := m.wish, m.newMessage()
	ran, more := m.context, pictures(images)
	m.context = nil
	return []effect{inOrder(func(ctx context.Context, b *backend) error {
		c, _ := b.current()
		if c == nil {
			var err error
			if wish.Typed, err = b.ws.Typed(ctx, text); err == nil {
				c, err = b.start(ctx, wish)
			}
			if err != nil {
				b.post(withdrawn{slices.Concat(ran, []run.Part{run.Text(text)}, more)})
				return err
			}
		}
		return b.say(ctx, c, id, run.Steer, text, ran, more)
	})}
}

// say says something in a conversation as message id. What cannot be sent comes back into the input.
func (b *backend) say(ctx context.Context, c conversation, id string, delivery run.Delivery, text string, ran, more []run.Part) error {
	parts, err := b.parts(ctx, text, ran, more)
	if err == nil {
		err = c.Say(ctx, id, delivery, parts...)
	}
	if err != nil {
		b.post(withdrawn{slices.Concat(ran, []run.Part{run.Text(text)}, more)})
	}
	return err
}

// reply answers a question of the agent or of a run below it, and no other: if that was answered elsewhere, the words
// come back.
func (m *model) reply(q runlog.Question, text string, images []editor.Image) []effect {
	m.sent[ofQuestion(q)] = true
	var ran []run.Part
	if q.Run == "" { // its event shows it
		m.awaits, m.began = true, m.now
		ran, m.context = m.context, nil
	} else {
		m.flush()
		lines := m.QuestionLines(q, m.width)
		if m.question != nil && m.question.printed {
			lines = nil
		}
		m.print(append(lines, render.Hang("  ", m.Wrap([]render.Span{{Text: text}}, m.width-2, false))...)...)
		m.answered()
	}
	id, more := m.id, pictures(images)
	return []effect{inOrder(func(ctx context.Context, b *backend) error {
		c, n := b.current()
		parts, err := b.parts(ctx, text, ran, more)
		if c == nil || c.ID() != id {
			err = fmt.Errorf("run %s was left before it had your answer", id)
		}
		if err == nil {
			err = c.Answer(ctx, q, parts...)
		}
		if err != nil {
			b.post(unanswered{n, ofQuestion(q), slices.Concat(ran, []run.Part{run.Text(text)}, more)})
			return err
		}
		return loadApprovals(n).do(ctx, b) // another question may wait behind it
	})}
}

// comesBack puts an answer that was not taken into the input. If its question waits no more it is a stray.
func (m *model) comesBack(u unanswered) {
	delete(m.sent, u.question)
	m.awaits = m.awaits && u.question.run != ""
	m.giveBack(u.parts)
	if q := m.asked(); q == nil || m.ask != nil || ofQuestion(*q) != u.question {
		m.stray = stray{key: m.input.editor.Text(), words: true, of: u.question}
	}
}

// queue says something that is delivered when the turn has ended.
func (m *model) queue() []effect {
	if m.holdsStray() {
		return nil
	}
	draft, err := m.input.editor.Take()
	if err != nil {
		m.hint = err.Error()
	}
	text := strings.TrimSpace(draft.Text())
	id, more := m.newMessage(), pictures(draft.Images())
	return []effect{inOrder(func(ctx context.Context, b *backend) error {
		c, _ := b.current()
		if c == nil {
			return nil
		}
		return b.say(ctx, c, id, run.Queue, text, nil, more)
	})}
}

// newMessage returns the id of a message that the person has written here: if it is not delivered,
// it comes back into this input, and not into that of another terminal that shows the run.
func (m *model) newMessage() (id string) {
	id = rand.Text()
	m.wrote[id] = true
	return id
}

// takeBack takes a message back that waits to be delivered, into the input.
func (m *model) takeBack(w run.Words) []effect {
	return []effect{inOrder(func(ctx context.Context, b *backend) error {
		c, _ := b.current()
		if c == nil {
			return nil
		}
		err := c.Withdraw(ctx, w.ID)
		switch {
		case errors.Is(err, run.ErrOrder):
			b.post(notice{"the message was delivered before it was taken back"})
			return nil
		case err == nil:
			b.post(withdrawn{w.Parts})
		}
		return err
	})}
}

// giveBack puts a message that was not delivered into the input.
func (m *model) giveBack(parts []run.Part) {
	m.restore(parts)
	m.input.editor.Append(typed(parts), imagesOf(parts)...)
}

// typed returns what the person has typed of a message, without what was attached to it.
func typed(parts []run.Part) string {
	return run.PlainText(slices.DeleteFunc(slices.Clone(parts), func(p run.Part) bool { return p.Attached != "" }))
}

// maxDetails is how many lines of details are printed.
const maxDetails = 400

// A completion offers what a word could be.
type completion struct {
	menu *editor.Menu // its values are the text that stands for an item
	word editor.Word
	sure string // the value that can alone be meant and needs nothing more; may be empty
}

// complete finds out what the word at the cursor could be.
func (m *model) complete() {
	m.input.menu = nil
	w, ok := m.input.editor.Word()
	if !ok {
		return
	}
	if strings.HasPrefix(w.Text, "/") {
		m.completeCommand(w)
		return
	}
	query := strings.Trim(w.Text[1:], `"`)
	files := m.input.files
	found := editor.Match(query, files)
	if len(found) == 0 {
		return
	}
	items := make([]editor.Item, 0, maxCompletions)
	for _, i := range found[:min(len(found), maxCompletions)] {
		text := "@" + files[i] + " "
		if strings.ContainsAny(files[i], " \t") {
			text = `@"` + files[i] + `" `
		}
		items = append(items, editor.Item{Text: visible.Escape(files[i]), Value: text})
	}
	m.input.menu = &completion{menu: editor.NewMenu(items), word: w}
}

const maxCompletions = 50

func (m *model) completeCommand(w editor.Word) {
	var names, helps, args, shown []string
	for _, c := range commands() {
		names, helps, args, shown = append(names, c.name), append(helps, c.help), append(args, c.args), append(shown, c.args)
	}
	for _, c := range m.own {
		names, helps = append(names, c.Name), append(helps, view.OneLine(c.Description, view.MaxLine))
		args, shown = append(args, c.Takes()), append(shown, oneLine(c.Arguments))
	}
	found := editor.Match(w.Text[1:], names)
	if len(found) == 0 {
		return
	}
	var items []editor.Item
	var begin []int // of found, those whose names begin so
	for _, i := range found {
		items = append(items, editor.Item{Text: strings.TrimSpace("/" + visible.Escape(names[i]) + " " + shown[i]), Detail: helps[i], Value: "/" + names[i] + " "})
		if strings.HasPrefix(names[i], w.Text[1:]) {
			begin = append(begin, i)
		}
	}
	m.input.menu = &completion{menu: editor.NewMenu(items), word: w}
	if len(begin) == 0 && len(found) == 1 {
		begin = found
	}
	if len(begin) == 1 && args[begin[0]] == "" {
		m.input.menu.sure = "/" + names[begin[0]] + " "
	}
}

func (c *completion) key(m *model, name, text string) ([]effect, bool) {
	switch {
	case name == "esc":
		m.input.menu = nil
	case name == "tab" || name == "enter":
		item, ok := c.menu.Selected()
		m.input.menu = nil
		if !ok {
			return nil, false
		}
		word, whole := item.Value.(string), m.input.editor.Text()
		m.input.editor.Complete(c.word, word)
		// A command that was typed to its end, or that can alone be meant, is carried out at once.
		if whole = strings.TrimSpace(whole); name == "enter" && strings.HasPrefix(word, "/") && (whole == strings.TrimSpace(word) || word == c.sure && whole == c.word.Text) {
			return m.submit(), true
		}
	default:
		return nil, c.menu.Key(keyOf(name, text))
	}
	return nil, true
}

func (c *completion) lines(m *model, width, height int) []string {
	return m.menuLines(c.menu, width, min(height, 8))
}

// wantFiles asks for the files of the workspace when they are first needed.
func (m *model) wantFiles() []effect {
	w, ok := m.input.editor.Word()
	if !ok || !strings.HasPrefix(w.Text, "@") || m.input.asked {
		return nil
	}
	m.input.asked = true
	return []effect{later(func(ctx context.Context, b *backend) error {
		names, err := tree.Files(ctx, b.ws.Dir, maxFiles)
		b.post(filesKnown{append(names, b.ws.Resources()...)})
		return err
	})}
}

// maxFiles is how many files of the workspace are offered.
const maxFiles = 50_000

func oneLine(text string) string { return view.OneLine(text, 4*view.MaxLine) }
