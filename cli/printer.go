package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"pawl/run"
	"pawl/view"
)

// A printer shows a run: progress on standard error, the result on standard output.
type printer struct {
	output string
	stdout io.Writer
	stderr io.Writer
	view   *view.Projection
	lost   error // of writing to standard output
}

// newPrinter returns a printer for a run from state s on, and prints which run it is.
func newPrinter(inv *invocation, output string, s run.State, resumed bool) *printer {
	verb := "run"
	if resumed {
		verb = "resuming run"
	}
	fmt.Fprintf(inv.Stderr, "%s %s · %s\n", verb, s.Created.Run, s.Config.Model)
	return &printer{output: output, stdout: inv.Stdout, stderr: inv.Stderr, view: view.From(s)}
}

// show takes in what is new of the run.
func (p *printer) show(u view.Update) {
	for _, item := range p.view.Update(u) {
		if line := progressLine(item); line != "" {
			fmt.Fprintln(p.stderr, line)
		}
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
	b, err := json.Marshal(v)
	if err != nil {
		fmt.Fprintf(p.stderr, "pawl: %v\n", err) // unreachable: everything here can be encoded
		return
	}
	p.out(append(b, '\n'))
}

// out writes to standard output and keeps the first error: a result that could not be
// written was not delivered.
func (p *printer) out(b []byte) {
	if _, err := p.stdout.Write(b); err != nil && p.lost == nil {
		p.lost = err
	}
}

// progressLine is what a person is told of an item on standard error: one line for what
// happened, none for what stands on standard output or was typed by the person.
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
		return line
	case i.Kind == view.KindNote && i.Note.Kind == view.NoteInterrupted:
		return i.Text
	case i.Kind == view.KindNote && i.Note.Kind == view.NoteFailed && i.Note.Wait == 0: // the end says it
	case i.Kind == view.KindNote && i.Note.Tell == run.TellRepeated: // it stands in the result of the call
	case i.Kind == view.KindNote:
		return "  " + i.Text
	}
	return ""
}

// result prints how the turn came out.
func (p *printer) result(s run.State) {
	r := resultOf(s)
	switch {
	case p.output != "text":
		p.line(r)
	case s.Config.Output.Schema != "":
		if v := s.Submission().Value; v != "" {
			p.out([]byte(v + "\n"))
		}
	case r.Text != "":
		p.out([]byte(visible(r.Text) + "\n"))
	}
	if r.Question != nil {
		fmt.Fprintf(p.stderr, "question: %s\n", visible(r.Question.Text))
		for _, o := range r.Question.Options {
			fmt.Fprintf(p.stderr, "  - %s\n", visible(o))
		}
	}
	fmt.Fprintf(p.stderr, "%s · %s · %d tokens · %s\n", ended(s), plural(r.Steps, "step"), s.Turn.Usage.Total(), view.Money(s.Turn.Usage))
	if text := next(s); text != "" {
		fmt.Fprintln(p.stderr, text)
	}
	for _, w := range s.Returned {
		fmt.Fprintf(p.stderr, "not delivered: %s\n", oneLine(run.PlainText(w.Parts), maxTitle))
	}
}

// ended says in words how the run's last turn ended.
func ended(s run.State) string {
	if s.Turn.Open() {
		if owesWork(s) {
			return "not finished"
		}
		return view.WaitWords(s)
	}
	if s.Turn.N == 0 {
		return "not begun"
	}
	return view.EndLine(s.Turn.End)
}
