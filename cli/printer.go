package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	visibility "pawl/internal/visible"

	"pawl/app"
	"pawl/run"
	"pawl/view"
)

// A printer shows a run: progress on standard error, the result on standard output.
type printer struct {
	output  string
	stdout  io.Writer
	stderr  io.Writer
	view    *view.Projection
	lost    error    // of writing to standard output
	unread  func()   // called when nothing reads standard output any more; nil: nothing follows from it
	display *display // of a terminal; nil: progress is plain lines

	mu    sync.Mutex
	seq   int64         // of the last event that was shown
	made  string        // the account of the turn, if it was made from the log
	moved chan struct{} // closed when seq changes
}

// newPrinter returns a printer for a run from state s on, and prints which run it is. The
// caller must call close.
func newPrinter(inv *invocation, output string, s run.State, resumed bool) *printer {
	verb := "run"
	if resumed {
		verb = "resuming run"
	}
	as := ""
	if s.Created.Agent != "" {
		as = " · " + s.Created.Agent
	}
	fmt.Fprintf(inv.Stderr, "%s %s%s · %s\n", verb, s.Created.Run, as, s.Config.Model)
	p := &printer{output: output, stdout: inv.Stdout, stderr: inv.Stderr, view: view.From(s), moved: make(chan struct{})}
	p.display = inv.display(output, p.view)
	if p.display != nil {
		p.stderr = p.display
		p.display.start()
	}
	return p
}

// close ends what is drawn on a terminal.
func (p *printer) close() {
	if p.display != nil {
		p.display.close()
	}
}

// show takes in what is new of the run.
func (p *printer) show(u view.Update) {
	if p.display != nil {
		p.display.update(u)
	} else {
		for _, item := range p.view.Update(u) {
			if line := progressLine(item); line != "" {
				fmt.Fprintln(p.stderr, line)
			}
		}
	}
	if u.Event != nil {
		if account, ok := u.Event.Payload.(run.Synthesized); ok {
			p.made = account.Text
		}
		p.shown(u.Event.Seq)
	}
}

// shown says that the events up to seq were shown.
func (p *printer) shown(seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq = seq
	close(p.moved)
	p.moved = make(chan struct{})
}

// await waits until the events up to seq were shown.
func (p *printer) await(seq int64) {
	for {
		p.mu.Lock()
		reached, moved := p.seq >= seq, p.moved
		p.mu.Unlock()
		if reached {
			return
		}
		<-moved
	}
}

// prompt prints lines and then ask, which has no line end. Nothing else is printed on a
// terminal that is drawn on until resume.
func (p *printer) prompt(lines []string, ask string) {
	if p.display != nil {
		p.display.prompt(lines, ask)
		return
	}
	for _, l := range lines {
		fmt.Fprintln(p.stderr, l)
	}
	fmt.Fprint(p.stderr, ask)
}

// resume ends a prompt. newline says that the cursor is still in its line.
func (p *printer) resume(newline bool) {
	switch {
	case p.display != nil:
		p.display.resume(newline)
	case newline:
		fmt.Fprintln(p.stderr)
	}
}

// stream prints a line of --output stream-json.
func (p *printer) stream(line any, err error) {
	if err != nil {
		fmt.Fprintf(p.stderr, "pawl: %v\n", err)
		return
	}
	p.line(line)
}

// line prints one JSON object on a line of standard output.
func (p *printer) line(v any) {
	b, err := jsonLine(v)
	if err != nil {
		fmt.Fprintf(p.stderr, "pawl: %v\n", err) // unreachable: everything here can be encoded
		return
	}
	p.out(b)
}

// out writes to standard output and keeps the first error: a result that could not be
// written was not delivered.
func (p *printer) out(b []byte) {
	if _, err := p.stdout.Write(b); err != nil {
		if p.lost == nil {
			p.lost = err
		}
		if p.unread != nil && errors.Is(err, syscall.EPIPE) {
			p.unread()
		}
	}
}

// Bounds of what is printed of a command that has failed.
const (
	maxTail     = 10  // lines
	maxTailLine = 200 // characters of a line
)

// lastLines returns the last lines that a command which failed has printed, each after a line
// end; empty for every other call.
func lastLines(c *view.Call) string {
	if !c.Exited || c.ExitCode == 0 {
		return ""
	}
	lines := strings.FieldsFunc(strings.TrimSpace(c.Result), func(r rune) bool { return r == '\n' })
	if len(lines) > 0 {
		lines = lines[:len(lines)-1] // the exit code
	}
	var b strings.Builder
	if cut := len(lines) - maxTail; cut > 0 {
		fmt.Fprintf(&b, "\n    … %s before", plural(cut, "line"))
		lines = lines[cut:]
	}
	for _, l := range lines {
		b.WriteString("\n    " + view.OneLine(l, maxTailLine))
	}
	return b.String()
}

// progressLine is what a person is told of an item on standard error: one line for what
// happened, with the end of what a command has printed that failed; none for what stands on
// standard output or was typed by the person.
func progressLine(i view.Item) string {
	switch {
	case !i.Final:
	case i.Kind == view.KindText && !i.Answer:
		return oneLine(i.Text, maxTitle)
	case i.Kind == view.KindCall && i.Call.Outcome != run.Answered:
		line := "  " + i.Call.Title() + " · " + i.Call.OutcomeWords()
		if i.Call.IsError && i.Call.Outcome != run.NotRun {
			line += ": " + i.Call.Reason()
		}
		return line + lastLines(i.Call)
	case i.Kind == view.KindNote && i.Note.Kind == view.NoteInterrupted:
		return i.Text
	case i.Kind == view.KindNote && i.Note.Kind == view.NoteFailed && i.Note.Wait == 0: // the end says it
	case i.Kind == view.KindNote && i.Note.Tell == run.TellRepeated: // it stands in the result of the call
	case i.Kind == view.KindNote:
		return "  " + i.Text
	}
	return ""
}

// result prints how the turn came out, with the calls that were refused in it.
func (p *printer) result(s run.State, denials []app.Denial) {
	p.close()
	took, files := p.view.Turn()
	r := resultOf(s, denials, took, files)
	switch {
	case p.output != "text":
		p.line(r)
	case s.Config.Output.Schema != "":
		if v := s.Submission().Value; v != "" {
			p.out(append(visibility.JSON([]byte(v)), '\n'))
		}
	case p.display != nil && p.display.showed(r.Text, len(s.Turn.End.Jobs) > 0):
	case p.made != "" && strings.HasPrefix(r.Text, p.made): // it is no result, and the model did not say it
		fmt.Fprintln(p.stderr, visible(r.Text))
	case r.Text != "":
		p.out([]byte(visible(r.Text) + "\n"))
	}
	if p.display != nil {
		p.display.summary(s, r, denials)
	} else {
		p.summary(s, r, denials)
	}
	for _, w := range s.Returned {
		fmt.Fprintf(p.stderr, "not delivered: %s\n", oneLine(run.PlainText(w.Parts), maxTitle))
	}
	p.close()
}

// summary prints the end of a turn as plain lines.
func (p *printer) summary(s run.State, r result, denials []app.Denial) {
	if r.Question != nil {
		fmt.Fprintf(p.stderr, "question: %s\n", visible(r.Question.Text))
		for _, o := range r.Question.Options {
			fmt.Fprintf(p.stderr, "  - %s\n", visible(o))
		}
	}
	line := fmt.Sprintf("%s · %s · %d tokens · %s", ended(s), plural(r.Steps, "step"), s.Turn.Usage.Total(), view.Money(s.Turn.Usage))
	if words := deniedWords(denials); words != "" {
		line += " · " + words
	}
	fmt.Fprintln(p.stderr, line)
	if text := app.NextCommand(s); text != "" {
		fmt.Fprintln(p.stderr, text)
	}
}

// maxFlags is how many flags are named that would allow refused calls.
const maxFlags = 3

// deniedWords counts the calls that were refused and names the flags that would allow them.
func deniedWords(denials []app.Denial) string {
	if len(denials) == 0 {
		return ""
	}
	var flags []string
	for _, d := range denials {
		if d.Flag != "" && !slices.Contains(flags, d.Flag) {
			flags = append(flags, d.Flag)
		}
	}
	words := plural(len(denials), "call") + " refused"
	switch more := len(flags) - maxFlags; {
	case more > 0:
		words += fmt.Sprintf(" (allow with %s, and %d more)", visible(strings.Join(flags[:maxFlags], " ")), more)
	case len(flags) > 0:
		words += " (allow with " + visible(strings.Join(flags, " ")) + ")"
	}
	return words
}

// ended says in words how the run's last turn ended, or what it waits for.
func ended(s run.State) string { return app.ConditionWords(s, nil) }

// stopUnread makes p stop a run whose standard output nothing reads any more, as after
// `| head -1`, unless another process follows the run. watch begins to look for it, which is
// no use before the turn has begun; stopped reports whether the run was stopped.
func (inv *invocation) stopUnread(p *printer, s *app.Session) (watch func(), stopped func() bool) {
	var done atomic.Bool
	p.unread = func() {
		if s.Viewers() == 0 && s.Interrupt(run.Interrupted{Cause: run.ByShutdown}) {
			done.Store(true)
		}
	}
	return func() {
		if f, ok := inv.Stdout.(*os.File); ok {
			go func() { // ends with the process, if no reader goes away
				if awaitClosed(f) {
					p.unread()
				}
			}()
		}
	}, done.Load
}
