package console

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
	"pawl/approval"
	"pawl/cli/command"
	"pawl/internal/plainjson"
	"pawl/internal/text"
	visibility "pawl/internal/visible"
	"pawl/render"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

// A Printer shows a run: progress on standard error, the result on standard output.
type Printer struct {
	Output  string
	Stdout  io.Writer
	Stderr  io.Writer
	View    *view.Projection
	Lost    error    // of writing to standard output
	unread  func()   // called when nothing reads standard output any more; nil: nothing follows from it
	Display *display // of a terminal; nil: progress is plain lines

	progress Progress // as plain lines
	children map[run.ID]*child

	mu    sync.Mutex
	seq   int64         // of the last event that was shown
	Moved chan struct{} // closed when seq changes
}

// NewPrinter returns a printer for a run from state s on, and prints which run it is. The
// caller must call close.
func NewPrinter(inv *command.Invocation, output string, s run.State, resumed bool) *Printer {
	verb := "run"
	if resumed {
		verb = "resuming run"
	}
	as := ""
	if s.Created.Agent != "" {
		as = " · " + s.Created.Agent
	}
	fmt.Fprintf(inv.Stderr, "%s %s%s · %s\n", verb, s.Created.Run, as, s.Config.Model)
	p := &Printer{Output: output, Stdout: inv.Stdout, Stderr: inv.Stderr, View: view.From(s), Moved: make(chan struct{})}
	p.Display = newRunDisplay(inv, output, p.View)
	if p.Display != nil {
		p.Stderr = p.Display
		p.Display.start()
	}
	return p
}

// close ends what is drawn on a terminal.
func (p *Printer) close() {
	if p.Display != nil {
		p.Display.close()
	}
}

// Show takes in what is new of the run.
func (p *Printer) Show(u view.Update) {
	if p.Display != nil {
		p.childrenOf(p.Display.update(u))
	} else {
		items := p.View.Update(u)
		for _, item := range items {
			if line := p.progress.Line(item); line != "" {
				fmt.Fprintln(p.Stderr, line)
			}
		}
		p.childrenOf(items)
	}
	if u.Event != nil {
		p.Shown(u.Event.Seq)
	}
}

// Shown says that the events up to seq were shown.
func (p *Printer) Shown(seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq = seq
	close(p.Moved)
	p.Moved = make(chan struct{})
}

// Await waits until the events up to seq were shown.
func (p *Printer) Await(seq int64) {
	for {
		p.mu.Lock()
		reached, moved := p.seq >= seq, p.Moved
		p.mu.Unlock()
		if reached {
			return
		}
		<-moved
	}
}

// prompt prints lines and then ask, which has no line end. Nothing else is printed on a
// terminal until resume.
func (p *Printer) prompt(lines []string, ask string) {
	if p.Display != nil {
		p.Display.prompt(lines, ask)
		return
	}
	text := strings.Join(append(lines[:len(lines):len(lines)], ask), "\n")
	if h, ok := p.Stderr.(*HeldWriter); ok {
		h.prompt(text)
		return
	}
	fmt.Fprint(p.Stderr, text)
}

// Resume ends a prompt. newline says that the cursor is still in its line.
func (p *Printer) Resume(newline bool) {
	end := ""
	if newline {
		end = "\n"
	}
	if h, ok := p.Stderr.(*HeldWriter); ok {
		h.resume(end)
	} else if p.Display != nil {
		p.Display.resume(newline)
	} else {
		fmt.Fprint(p.Stderr, end)
	}
}

// Stream prints a line of --output stream-json.
func (p *Printer) Stream(line any, err error) {
	if err != nil {
		fmt.Fprintf(p.Stderr, "pawl: %v\n", err)
		return
	}
	p.Line(line)
}

// Line prints one JSON object on a line of standard output.
func (p *Printer) Line(v any) {
	b, err := plainjson.Line(v)
	if err != nil {
		fmt.Fprintf(p.Stderr, "pawl: %v\n", err) // unreachable: everything here can be encoded
		return
	}
	p.out(b)
}

// out writes to standard output and keeps the first error: a result that could not be
// written was not delivered.
func (p *Printer) out(b []byte) {
	if _, err := p.Stdout.Write(b); err != nil {
		if p.Lost == nil {
			p.Lost = err
		}
		if p.unread != nil && errors.Is(err, syscall.EPIPE) {
			p.unread()
		}
	}
}

// maxOutputLine bounds a line that a command has printed, in characters.
const maxOutputLine = 200

// A Progress says of the items of a run what a person is told on standard error. The zero value has
// told nothing.
type Progress struct {
	started map[run.CallID]int // the attempts of commands that were told
}

// Line is what is told of an item: one line for what happened, with the first and the last lines
// of what a command has printed; none for what stands on standard output or was typed by the
// person. A command, and a run that a call starts, is told when it starts too: it can take long.
func (p *Progress) Line(i view.Item) string {
	switch {
	case i.Kind == view.KindCall && i.Call.State == view.Running && i.Call.Attempt > p.started[i.Call.ID] && (render.Command(i.Call) != "" || i.Call.Child != ""):
		if p.started == nil {
			p.started = map[run.CallID]int{}
		}
		p.started[i.Call.ID] = i.Call.Attempt
		return "  " + i.Call.Title() + " · started"
	case !i.Final:
	case i.Kind == view.KindText && !i.Answer:
		return command.Said(command.OneLine(i.Text, command.MaxTitle))
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
		b.WriteString(" · " + command.Visible(string(c.ID)))
	}
	b.WriteString(OutputBelow(c, "    "))
	return b.String()
}

// countWords says how many lines of a file were added and removed.
func countWords(f view.File) string { return fmt.Sprintf("+%d -%d", f.Added, f.Removed) }

// OutputBelow returns the first and the last lines of what a command has printed, each after a line end;
// empty for a call that runs none. What did not run, or is told whole as the reason, has none.
func OutputBelow(c *view.Call, indent string) string {
	if c.Outcome == run.Refused || c.Outcome == run.NotRun || c.Outcome == run.Cut || c.IsError && !strings.Contains(strings.TrimSpace(c.Result), "\n") {
		return ""
	}
	var b strings.Builder
	for _, l := range (render.Style{}).OutputLines(c) {
		b.WriteString("\n" + indent + strings.TrimRight(text.Clip(l, maxOutputLine), " "))
	}
	return b.String()
}

// Result prints how the turn came out, with the calls that were refused in it and what a person can do next.
func (p *Printer) Result(s run.State, denials []approval.Denial, next string) {
	p.close()
	r := resultOf(s, denials, p.View.Files())
	switch {
	case p.Output != "text":
		p.Line(r)
	case s.Config.Output.Schema != "":
		if v := s.Submission().Value; v != "" {
			p.out(append(visibility.JSON([]byte(v)), '\n'))
		}
	case p.Display != nil && p.Display.showed(r.Text, len(s.Turn.End.Jobs) > 0):
	case r.Text != "":
		p.out([]byte(command.Visible(r.Text) + "\n"))
	}
	if p.Display != nil {
		p.Display.summary(s, r, denials, next)
	} else {
		p.summary(s, r, denials, next)
	}
	for _, w := range s.Returned {
		fmt.Fprintf(p.Stderr, "not delivered: %s\n", command.OneLine(run.PlainText(w.Parts), command.MaxTitle))
	}
	p.close()
}

// summary prints the end of a turn as plain lines.
func (p *Printer) summary(s run.State, r Result, denials []approval.Denial, next string) {
	if r.Question != nil {
		fmt.Fprintf(p.Stderr, "question: %s\n", command.Visible(r.Question.Text))
		for _, o := range r.Question.Options {
			fmt.Fprintf(p.Stderr, "  - %s\n", command.Visible(o))
		}
	}
	line := ended(s) + " · " + SpentWords(r.Steps, time.Duration(r.Duration)*time.Millisecond, s.Turn.Usage)
	if words := deniedWords(denials); words != "" {
		line += " · " + words
	}
	fmt.Fprintln(p.Stderr, line)
	if next != "" {
		fmt.Fprintln(p.Stderr, command.Visible(next))
	}
}

// SpentWords says what a turn took.
func SpentWords(steps int, took time.Duration, u run.Usage) string {
	words := command.Plural(steps, "step")
	if took >= time.Second {
		words += " · " + render.Clock(took)
	}
	return words + " · " + render.ShortCount(u.Total()) + " tokens · " + view.Money(u)
}

// maxNamed is how many flags or commands are named that would allow refused calls.
const maxNamed = 3

// deniedWords counts the calls that were refused and names the flags and commands that would allow them.
func deniedWords(denials []approval.Denial) string {
	if len(denials) == 0 {
		return ""
	}
	words := command.Plural(len(denials), "call") + " refused"
	name := func(how, separator string, of func(approval.Denial) string) {
		var all []string
		for _, d := range denials {
			if one := of(d); one != "" && !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
		if len(all) == 0 {
			return
		}
		named := how + " " + command.Visible(strings.Join(all[:min(len(all), maxNamed)], separator))
		if more := len(all) - maxNamed; more > 0 {
			named += fmt.Sprintf(", and %d more", more)
		}
		words += " (" + named + ")"
	}
	name("allow with", " ", func(d approval.Denial) string { return d.Flag })
	name("store a rule with", ", ", func(d approval.Denial) string { return d.Add })
	name("remove the rule with", ", ", func(d approval.Denial) string { return d.Remove })
	return words
}

// ended says in words how the last turn of a run at rest ended, or what it waits for.
func ended(s run.State) string {
	if s.Turn.Open() && !runlog.NeedsApproval(s) {
		return runlog.WaitsBelow
	}
	return runlog.ConditionWords(s, nil)
}

// StopUnread makes p stop a run whose standard output nothing reads any more, as after
// `| head -1`, unless another process follows the run. watch begins to look for it, which is
// no use before the turn has begun; stopped reports whether the run was stopped.
func StopUnread(inv *command.Invocation, p *Printer, s *app.Session) (watch func(), stopped func() bool) {
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
