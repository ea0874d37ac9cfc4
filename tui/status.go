package tui

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pawl/forms"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/render"
	"pawl/run"
	"pawl/tool"
	"pawl/view"
)

// header says which pawl this is and what it works on.
func (m *model) header() []string {
	return m.keyLines(" ", m.width-1, "pawl "+m.Version, m.folder(), "/help for keys and commands")
}

// keyLines returns what keys do, and what stands beside it, in lines of at most width columns. Nothing is cut.
func (m *model) keyLines(indent string, width int, parts ...string) []string {
	const blank = "\u00a0" // at which no line is broken
	width -= len(indent)
	for i, p := range parts {
		if render.Cells(p) <= width {
			parts[i] = strings.ReplaceAll(p, " ", blank)
		}
	}
	lines := m.Wrap([]render.Span{{Text: strings.Join(parts, m.Dot()), Paint: render.Faint}}, width, true)
	for i, l := range lines {
		lines[i] = indent + strings.ReplaceAll(l, blank, " ")
	}
	return lines
}

// folder returns the workspace as people write it, with the branch of its repository.
func (m *model) folder() string {
	dir := m.Dir
	if rest, ok := strings.CutPrefix(dir, m.Home); ok && m.Home != "" && (rest == "" || rest[0] == filepath.Separator) {
		dir = "~" + rest
	}
	dir = visible.Escape(dir)
	if m.branch != "" {
		dir += " (" + visible.Escape(m.branch) + ")"
	}
	return dir
}

// knowsKeys is after how many different prompts a person is not told the keys any more.
const knowsKeys = 20

// foot returns the lines below the input: what keys do now, in at most n lines, and the status. While the
// agent works they say how long it has; quiet says that nothing else shows that it does.
func (m *model) foot(quiet bool, n int) []string {
	hint := m.hint
	if hint == "" {
		hint = m.keysNow()
		if (m.works() || m.awaits) && m.armed.key == "" && !m.stopping {
			words := m.Glyph(render.GlyphRunning) + " " + render.Clock(m.now.Sub(m.began))
			if quiet {
				words += m.Dot() + "waiting for the model"
			}
			hint = strings.TrimSuffix(words+m.Dot()+hint, m.Dot()) // a pane says what keys do
		}
	}
	lines := m.keyLines("  ", m.width-1, strings.Split(view.OneLine(hint, 4*view.MaxLine), m.Dot())...)
	return append(lines[:min(len(lines), n)], m.Clip("  "+m.status(m.width-3), m.width-1))
}

// keysNow says what keys do at this moment.
func (m *model) keysNow() string {
	join := func(parts ...string) string { return strings.Join(parts, m.Dot()) }
	switch {
	case m.armed.key != "":
		return m.armed.words
	case m.strayAsked():
		return join("typed for another question", "empty the input to answer this one")
	case m.stray.words && !stood(m, m.stray.told):
		return join("typed as an answer", "enter twice: send as a message")
	case m.stray.key != "" && !stood(m, m.stray.told) && m.ask != nil:
		return join("keys did not answer yet", "empty the input and press "+m.stray.key+" again")
	case m.stray.key != "" && !stood(m, m.stray.told):
		return join("enter twice: send "+strconv.Quote(m.stray.key), "shift+enter: new line")
	case (m.ask != nil || m.asked() != nil) && runs(m.input.editor.Text()):
		return "enter: run the command"
	case m.ask != nil && !m.input.editor.Empty():
		return join("enter: send as a message", "empty the input to answer")
	case m.ask != nil && m.ask.refuses(m):
		return notWhole
	case m.chosen() != "":
		return join("enter: "+m.chosen(), "esc: take it back")
	case m.typesInPane():
		return ""
	case m.ask != nil && !m.takesKeys():
		return "in a moment keys answer"
	case m.ask != nil && m.ask.storing == nil && !m.ask.fits && !m.ask.printed:
		return "d shows all of it, then answer"
	case m.ask != nil && m.ask.storing == nil:
		return "press a key, then enter, to answer"
	case m.ask == nil && m.asked() != nil && !m.input.editor.Empty():
		return m.question.enters(m)
	case m.ask != nil, m.pane != nil, m.question != nil:
		return ""
	case m.stopping:
		return "stopping"
	case m.works() && !m.input.editor.Empty() && m.state.Created.External:
		return join("enter: send, read when the agent is done", "esc: interrupt")
	case m.works() && !m.input.editor.Empty():
		return join("enter: send with the next results", "tab: queue", "esc: interrupt")
	case m.works() && len(m.pendingWords()) > 0:
		return join("esc: interrupt", "up: take the last message back")
	case m.works():
		return join("esc: interrupt", "type to steer")
	case m.input.editor.Empty():
		if m.input.editor.History != nil && m.input.editor.History.Len() >= knowsKeys {
			return "? keys"
		}
		return join("enter: send", "shift+tab: mode", "@ file", "/ command", "! shell", "? keys")
	}
	return join("enter: send", "shift+enter: new line")
}

// status is the line at the bottom: model, mode, folder, context, tokens, cost. What does not
// fit is left out, the least important first.
func (m *model) status(width int) string {
	type part struct {
		text  string
		paint render.Paint
		rank  int // the higher, the sooner it is left out
	}
	var parts []part
	add := func(rank int, p render.Paint, text string) {
		if text != "" {
			parts = append(parts, part{text, p, rank})
		}
	}
	_, name, _ := strings.Cut(m.currentModel(), "/")
	add(1, render.Plain, visible.Escape(cmp.Or(name, m.currentModel(), "no model")))
	mode := render.Faint
	if now := permission.Mode(m.mode()); permission.Stricter(now, permission.Default) != now { // more runs without a question
		mode = render.Warning
	}
	add(0, mode, "mode "+m.mode())
	if used, limit := m.state.Context(); limit > 0 && m.id != "" {
		p := render.Faint
		if 100*used/limit >= 70 {
			p = render.Warning
		}
		add(2, p, fmt.Sprintf("%d%% of context", min(100, 100*used/limit)))
	}
	if u := m.state.Usage; u.Total() > 0 {
		add(4, render.Faint, render.ShortCount(u.Total())+" tokens")
		if u.Priced {
			add(3, render.Faint, fmt.Sprintf("$%.3f", u.Cost))
		}
	}
	if done, all := m.todoCount(); all > 0 {
		add(2, render.Faint, fmt.Sprintf("%d of %d done", done, all))
	}
	add(5, render.Faint, m.folder())
	for {
		var line []string
		cells, worst := 0, -1
		for i, p := range parts {
			line = append(line, m.Paint(p.paint, p.text))
			cells += render.Cells(p.text) + render.Cells(m.Dot())
			if worst < 0 || p.rank > parts[worst].rank {
				worst = i
			}
		}
		if cells <= width+render.Cells(m.Dot()) || len(parts) == 1 {
			return strings.Join(line, m.Paint(render.Faint, m.Dot()))
		}
		parts = append(parts[:worst], parts[worst+1:]...)
	}
}

// nextWords says what the person can do after a turn that has not simply completed.
func nextWords(s run.State) string {
	switch s.Turn.End.End {
	case run.LimitReached, run.LoopStopped:
		return "say what to do next, or /continue"
	case run.EndFailed:
		return "/continue tries again; /model chooses another model"
	}
	return ""
}

// quietTurn is how long a turn is during which a person may have looked elsewhere.
const quietTurn = 10 * time.Second

// notify rings the bell and sends a notification if the terminal does not have the focus.
func (m *model) notify(text string) {
	if !m.focus {
		m.input.bell = "\a\x1b]9;pawl: " + strings.ReplaceAll(view.OneLine(text, 80), ";", ",") + "\a"
	}
}

func (m *model) takeBell() string {
	bell := m.input.bell
	m.input.bell = ""
	return bell
}

// branchOf returns the branch of the repository that dir is in; "": none. It reads files and
// runs no program.
func branchOf(dir string) string {
	for {
		git := filepath.Join(dir, ".git")
		if info, err := os.Lstat(git); err == nil {
			if !info.IsDir() {
				return ""
			}
			head, err := os.ReadFile(filepath.Join(git, "HEAD"))
			if err != nil || len(head) > 1024 {
				return ""
			}
			name := strings.TrimSpace(string(head))
			if ref, ok := strings.CutPrefix(name, "ref: refs/heads/"); ok {
				return ref
			}
			return name[:min(len(name), 8)]
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// todoCount returns how many items of the list of tasks are done, and how many there are.
func (m *model) todoCount() (done, all int) {
	if m.todo == nil {
		return 0, 0
	}
	_, done, all = m.TodoLines(m.todo, m.width)
	return done, all
}

// showsTodo reports whether the list of tasks stands above the input.
func (m *model) showsTodo() bool {
	done, all := m.todoCount()
	return all > 0 && (m.showTo == always || m.showTo == whileOpen && done < all && (m.works() || m.awaits))
}

// todoLines returns at most n lines of the list of tasks: those that are open, after what was done last.
func (m *model) todoLines(n int) []string {
	lines, done, _ := m.TodoLines(m.todo, m.width-1)
	from := max(0, min(done-1, len(lines)-n))
	return lines[from:min(len(lines), from+n)]
}

// toggleTodo shows the list of tasks, or hides it.
func (m *model) toggleTodo(string) []effect {
	switch {
	case m.todo == nil:
		m.hint = "there is no list of tasks; the agent makes one for longer work"
	case m.showsTodo():
		m.showTo = never
	default:
		m.showTo = always
	}
	return nil
}

// undoWords says what undoing did.
func undoWords(r tool.UndoReport) []string {
	var lines []string
	for _, c := range r.Changes {
		lines = append(lines, visible.Line(c.Path)+": "+forms.UndoneWords(c))
	}
	for _, s := range r.Skipped {
		lines = append(lines, "not undone: "+visible.Line(s.Reason))
	}
	if len(lines) == 0 {
		lines = append(lines, "no files were changed")
	}
	return append(lines, r.Uncovered...)
}

// writeNew writes a file in dir that does not exist yet, and returns its path.
func writeNew(dir, name, content string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(content)
	if e := f.Close(); err == nil {
		err = e
	}
	return name, err
}

// editorCommand returns the person's editor for a file. As with git, VISUAL and EDITOR are command
// lines of the shell, to which the file is added.
func editorCommand(ctx context.Context, env func(string) string, file string) (name string, cmd *exec.Cmd) {
	name = cmp.Or(env("VISUAL"), env("EDITOR"), "vi")
	cmd = exec.CommandContext(ctx, "sh", "-c", name+` "$@"`, name, file)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it may keep what was written
	cmd.WaitDelay = time.Second
	return name, cmd
}
