package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"pawl/run"
	"pawl/store"
	"pawl/view"
	"pawl/worker"
)

// maxDeltas is how many deltas and pieces of command output may wait to be printed before
// more are dropped: they are for people who watch, and a slow reader must not fill the
// memory. Events are never dropped.
const maxDeltas = 10_000

// A printer shows a run: progress on standard error, the result on standard output.
// It prints on a goroutine of its own, because updates come from the worker, which must
// not wait for a pipe that is not read.
type printer struct {
	output string
	stdout io.Writer
	stderr io.Writer

	mu     sync.Mutex
	queue  []func()
	deltas int // in the queue
	ended  bool
	more   chan struct{}
	start  func() // begins to print
	done   chan struct{}

	// What follows belongs to the printing goroutine once it has started.
	view *view.Projection
	lost error // of writing to standard output; read it after close
}

func newPrinter(inv *invocation, output string) *printer {
	p := &printer{output: output, stdout: inv.Stdout, stderr: inv.Stderr,
		more: make(chan struct{}, 1), done: make(chan struct{}), view: new(view.Projection)}
	p.start = sync.OnceFunc(func() { go p.print() })
	return p
}

// close prints what is left. Nothing may be shown afterwards.
func (p *printer) close() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.start()
	p.wake()
	<-p.done
}

func (p *printer) wake() {
	select {
	case p.more <- struct{}{}:
	default:
	}
}

func (p *printer) enqueue(f func(), delta bool) {
	p.mu.Lock()
	drop := delta && p.deltas >= maxDeltas
	if !drop {
		p.queue = append(p.queue, f)
	}
	if delta && !drop {
		p.deltas++
	}
	p.mu.Unlock()
	p.wake()
}

func (p *printer) print() {
	defer close(p.done)
	for range p.more {
		p.mu.Lock()
		queue, ended := p.queue, p.ended
		p.queue, p.deltas = nil, 0
		p.mu.Unlock()
		for _, f := range queue {
			f()
		}
		if ended {
			return
		}
	}
}

// begin prints which run it is, and starts printing: what the worker showed while it opened
// the run comes after this.
func (p *printer) begin(s run.State, again bool) {
	p.view = view.From(s)
	verb := "run"
	if again {
		verb = "resuming run"
	}
	fmt.Fprintf(p.stderr, "%s %s · %s\n", verb, s.Created.Run, s.Config.Model)
	p.start()
}

// watch takes what the worker shows; see [worker.Worker.Create].
func (p *printer) watch(v worker.View) {
	u := updateOf(v)
	p.enqueue(func() { p.update(u) }, u.Delta != nil || u.Progress != nil)
}

// updateOf returns what a worker shows as an update of the view.
func updateOf(v worker.View) view.Update {
	u := view.Update{Drop: v.Drop, Stopping: v.Stopping, Notice: v.Notice}
	if v.Event != nil {
		e := *v.Event
		u.Event = &e
	}
	if d := v.Delta; d != nil {
		u.Delta = &view.Delta{Text: d.Text, Thinking: d.Thinking, Tool: d.Call, Arguments: d.Input}
	}
	if v.Progress != nil {
		u.Progress = &view.Progress{Call: v.Progress.Call, Text: v.Progress.Text}
	}
	return u
}

func (p *printer) update(u view.Update) {
	if p.output == "stream-json" {
		p.stream(u)
	}
	for _, item := range p.view.Update(u) {
		if line := progressLine(item); line != "" {
			fmt.Fprintln(p.stderr, line)
		}
	}
}

// stream prints an update as a line of JSON.
func (p *printer) stream(u view.Update) {
	switch {
	case u.Event != nil:
		if f, err := formOf(*u.Event); err == nil {
			p.line(f)
		}
	case u.Delta != nil && (u.Delta.Text != "" || u.Delta.Thinking != ""):
		p.line(deltaForm{Type: "delta", Text: u.Delta.Text, Thinking: u.Delta.Thinking})
	case u.Drop:
		p.line(deltaForm{Type: "drop"})
	}
}

// A deltaForm is a piece of an answer as it arrives; type drop says that the answer will be
// requested again.
type deltaForm struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
}

// An eventForm is an event as a line of JSON.
type eventForm struct {
	Seq     int64           `json:"seq"`
	At      time.Time       `json:"at"`
	Type    string          `json:"type"`
	Version int             `json:"version"`
	Data    json.RawMessage `json:"data"`
}

func formOf(e run.Event) (eventForm, error) {
	typ, version, data, err := store.Encode(e)
	return eventForm{e.Seq, e.At, typ, version, data}, err
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
	p.enqueue(func() {
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
			fmt.Fprintf(p.stderr, "question: %s\n", visible(r.Question.Question))
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
	}, false)
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
