package console

import (
	"os"
	"os/signal"
	"strings"

	"pawl/approval"
	"pawl/cli/command"
	"pawl/config"
	"pawl/internal/screen"
	"pawl/render"
	"pawl/run"
	"pawl/view"
)

// newRunDisplay returns what draws on standard error; nil if that is no terminal, or one that
// can only print. Where colours are forced without a terminal, nothing is drawn again.
func newRunDisplay(inv *command.Invocation, output string, p *view.Projection) *display {
	getenv := config.Env(inv.Env).Get
	f, ok := command.TerminalFile(inv.Stderr)
	_, stdoutToo := command.TerminalFile(inv.Stdout)
	t := render.NewTranscript(render.StyleOf(getenv), p)
	t.Answers = stdoutToo && output == "text"
	switch {
	case inv.ScreenReader:
	case ok && !render.Dumb(getenv) && !(stdoutToo && output == "stream-json"): // whose lines would stand in the live part
		t.Streams = true
		d := newDisplay(f, command.SizeOf(f), t)
		d.screen = screen.New(f, screen.Reflows(getenv))
		return d
	case !ok && render.ForcesColor(getenv):
		return newDisplay(inv.Stderr, func() (int, int) { return command.UsualWidth, command.UsualHeight }, t)
	}
	return nil
}

// Showing makes p what everything of inv is printed with, until the function that it returns
// is called.
func Showing(inv *command.Invocation, p *Printer) func() {
	stderr := inv.Stderr
	if p.Display == nil {
		return p.close
	}
	inv.Stderr = p.Stderr
	erase := p.Display.erase
	inv.Leaving.Store(&erase)
	continued := make(chan os.Signal, 1)
	notifyContinued(continued)
	go func() {
		for range continued {
			p.Display.forget()
		}
	}()
	return func() {
		p.close()
		inv.Leaving.Store(nil)
		signal.Stop(continued)
		close(continued)
		inv.Stderr = stderr
	}
}

// showed reports whether the answer was printed as it came. With jobs it is followed by a
// list of them, which the summary has.
func (d *display) showed(answer string, jobs bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := strings.TrimSpace(d.shown.Text())
	answer = strings.TrimSpace(answer)
	return d.shown.Answers && text != "" && (answer == text || jobs && strings.HasPrefix(answer, text))
}

// summary prints the end of a turn.
func (d *display) summary(s run.State, r Result, denials []approval.Denial, next string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := render.End{Words: ended(s), Next: next, Undo: "pawl runs undo " + string(s.Created.Run), Denials: denials, State: s}
	if !d.asked {
		end.Question = r.Question
	}
	d.shown.PrintEnd(end)
}
