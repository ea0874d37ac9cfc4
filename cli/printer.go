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
	"time"

	"pawl/app"
	"pawl/internal/text"
	visibility "pawl/internal/visible"
	"pawl/render"
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

	progress progress // as plain lines
	children map[run.ID]*child

	mu    sync.Mutex
	seq   int64         // of the last event that was shown
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
		p.childrenOf(p.display.update(u))
	} else {
		items := p.view.Update(u)
		for _, item := range items {
			if line := p.progress.line(item); line != "" {
				fmt.Fprintln(p.stderr, line)
			}
		}
		p.childrenOf(items)
	}
	if u.Event != nil {
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
// terminal until resume.
func (p *printer) prompt(lines []string, ask string) {
	if p.display != nil {
		p.display.prompt(lines, ask)
		return
	}
	text := strings.Join(append(lines[:len(lines):len(lines)], ask), "\n")
	if h, ok := p.stderr.(*heldWriter); ok {
		h.prompt(text)
		return
	}
	fmt.Fprint(p.stderr, text)
}

// resume ends a prompt. newline says that the cursor is still in its line.
func (p *printer) resume(newline bool) {
	end := ""
	if newline {
		end = "\n"
	}
	if h, ok := p.stderr.(*heldWriter); ok {
		h.resume(end)
	} else if p.display != nil {
		p.display.resume(newline)
	} else {
		fmt.Fprint(p.stderr, end)
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

// maxOutputLine bounds a line that a command has printed, in characters.
const maxOutputLine = 200

// A progress says of the items of a run what a person is told on standard error. The zero value has
// told nothing.
type progress struct {
	started map[run.CallID]int // the attempts of commands that were told
}

// line is what is told of an item: one line for what happened, with the first and the last lines
// of what a command has printed; none for what stands on standard output or was typed by the
// person. A command, and a run that a call starts, is told when it starts too: it can take long.
func (p *progress) line(i view.Item) string {
	switch {
	case i.Kind == view.KindCall && i.Call.State == view.Running && i.Call.Attempt > p.started[i.Call.ID] && (render.Command(i.Call) != "" || i.Call.Child != ""):
		if p.started == nil {
			p.started = map[run.CallID]int{}
		}
		p.started[i.Call.ID] = i.Call.Attempt
		return "  " + i.Call.Title() + " · started"
	case !i.Final:
	case i.Kind == view.KindText && !i.Answer:
		return oneLine(i.Text, maxTitle)
	case i.Kind == view.KindCall && i.Call.Outcome != run.Answered:
		delete(p.started, i.Call.ID)
		return endedCall(i.Call)
	case i.Kind == view.KindNote && i.Note.Cause == run.ByPolicy: // the end says it
	case i.Kind == view.KindNote && i.Note.Kind == view.NoteInterrupted:
		return i.Text
	case i.Kind == view.KindNote && i.Note.Kind == view.NoteFailed && i.Note.Wait == 0: // the end says it
	case i.Kind == view.KindNote && i.Note.Tell == run.TellRepeated: // it stands in the result of the call
	case i.Kind == view.KindNote:
		return "  " + i.Text
	}
	return ""
}

// endedCall says how a call came out: why if it is an error, the lines that it has added and removed,
// how long it took and its id, then what a command has printed.
func endedCall(c *view.Call) string {
	var b strings.Builder
	b.WriteString("  " + c.Title() + " · " + c.OutcomeWords())
	if c.IsError && c.Outcome != run.NotRun {
		b.WriteString(": " + c.Reason())
	}
	for _, f := range c.Files {
		if f.Counted {
			b.WriteString(" · " + countWords(f))
		}
	}
	if c.Duration >= 100*time.Millisecond {
		b.WriteString(" · " + render.Took(c.Duration))
	}
	if !c.Observed {
		b.WriteString(" · " + visible(string(c.ID)))
	}
	b.WriteString(outputBelow(c, "    "))
	return b.String()
}

// countWords says how many lines of a file were added and removed.
func countWords(f view.File) string { return fmt.Sprintf("+%d -%d", f.Added, f.Removed) }

// outputBelow returns the first and the last lines of what a command has printed, each after a line end;
// empty for a call that runs none. What did not run, or is told whole as the reason, has none.
func outputBelow(c *view.Call, indent string) string {
	if c.Outcome == run.Refused || c.Outcome == run.NotRun || c.Outcome == run.Cut || c.IsError && !strings.Contains(strings.TrimSpace(c.Result), "\n") {
		return ""
	}
	var b strings.Builder
	for _, l := range (render.Style{}).OutputLines(c) {
		b.WriteString("\n" + indent + strings.TrimRight(text.Clip(l, maxOutputLine), " "))
	}
	return b.String()
}

// result prints how the turn came out, with the calls that were refused in it and what a person can do next.
func (p *printer) result(s run.State, denials []app.Denial, next string) {
	p.close()
	r := resultOf(s, denials, p.view.Files())
	switch {
	case p.output != "text":
		p.line(r)
	case s.Config.Output.Schema != "":
		if v := s.Submission().Value; v != "" {
			p.out(append(visibility.JSON([]byte(v)), '\n'))
		}
	case p.display != nil && p.display.showed(r.Text, len(s.Turn.End.Jobs) > 0):
	case r.Text != "":
		p.out([]byte(visible(r.Text) + "\n"))
	}
	if p.display != nil {
		p.display.summary(s, r, denials, next)
	} else {
		p.summary(s, r, denials, next)
	}
	for _, w := range s.Returned {
		fmt.Fprintf(p.stderr, "not delivered: %s\n", oneLine(run.PlainText(w.Parts), maxTitle))
	}
	p.close()
}

// summary prints the end of a turn as plain lines.
func (p *printer) summary(s run.State, r result, denials []app.Denial, next string) {
	if r.Question != nil {
		fmt.Fprintf(p.stderr, "question: %s\n", visible(r.Question.Text))
		for _, o := range r.Question.Options {
			fmt.Fprintf(p.stderr, "  - %s\n", visible(o))
		}
	}
	line := ended(s) + " · " + plural(r.Steps, "step")
	if r.Duration >= 1000 {
		line += " · " + render.Clock(time.Duration(r.Duration)*time.Millisecond)
	}
	line += " · " + render.ShortCount(s.Turn.Usage.Total()) + " tokens · " + view.Money(s.Turn.Usage)
	if words := deniedWords(denials); words != "" {
		line += " · " + words
	}
	fmt.Fprintln(p.stderr, line)
	if next != "" {
		fmt.Fprintln(p.stderr, visible(next))
	}
}

// maxFlags is how many flags are named that would allow refused calls.
const maxFlags = 3

// deniedWords counts the calls that were refused and names the flags that would allow them.
func deniedWords(denials []app.Denial) string {
	if len(denials) == 0 {
		return ""
	}
	var flags, removes []string
	for _, d := range denials {
		if d.Flag != "" && !slices.Contains(flags, d.Flag) {
			flags = append(flags, d.Flag)
		}
		if d.Remove != "" && !slices.Contains(removes, d.Remove) {
			removes = append(removes, d.Remove)
		}
	}
	words := plural(len(denials), "call") + " refused"
	switch more := len(flags) - maxFlags; {
	case more > 0:
		words += fmt.Sprintf(" (allow with %s, and %d more)", visible(strings.Join(flags[:maxFlags], " ")), more)
	case len(flags) > 0:
		words += " (allow with " + visible(strings.Join(flags, " ")) + ")"
	}
	if len(removes) > 0 {
		words += " (remove the rule with " + visible(strings.Join(removes[:min(len(removes), maxFlags)], ", ")) + ")"
	}
	return words
}

// ended says in words how the last turn of a run at rest ended, or what it waits for.
func ended(s run.State) string {
	if s.Turn.Open() && !app.NeedsApproval(s) {
		return app.WaitsBelow
	}
	return app.ConditionWords(s, nil)
}

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
			wait := awaitClosed(f)
			go func() { // ends with the process, if no reader goes away
				if wait() {
					p.unread()
				}
			}()
		}
	}, done.Load
}
