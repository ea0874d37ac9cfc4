package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"pawl/run"
	"pawl/store"
	"pawl/view"
)

// A printer shows a run: progress on standard error, the result on standard output.
type printer struct {
	output    string
	stdout    io.Writer
	stderr    io.Writer
	calls     map[run.CallID]run.Call
	reminders int   // told so far
	lost      error // of writing to standard output
}

func newPrinter(inv *invocation, output string) *printer {
	return &printer{output: output, stdout: inv.Stdout, stderr: inv.Stderr, calls: map[run.CallID]run.Call{}}
}

// begin says which run it is.
func (p *printer) begin(s run.State, again bool) {
	for _, c := range s.Turn.Calls {
		p.calls[c.ID] = c.Call
	}
	verb := "run"
	if again {
		verb = "resuming run"
	}
	fmt.Fprintf(p.stderr, "%s %s · %s\n", verb, s.Created.Run, s.Config.Model)
}

// show takes in what is new of the run.
func (p *printer) show(u view.Update) {
	switch {
	case u.Event != nil:
		p.event(*u.Event)
	case u.Delta != nil && p.output == "stream-json" && (u.Delta.Text != "" || u.Delta.Thinking != ""):
		p.line(deltaForm{Type: "delta", Text: u.Delta.Text, Thinking: u.Delta.Thinking})
	case u.Notice != "":
		fmt.Fprintf(p.stderr, "  %s\n", visible(u.Notice))
	case u.Drop && p.output == "stream-json":
		p.line(deltaForm{Type: "drop"})
	}
}

// A deltaForm is a piece of an answer as it arrives; type drop says that the answer
// under way will be asked for again.
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

// out writes to standard output and keeps the first error: a result that nobody
// got is not one.
func (p *printer) out(b []byte) {
	if _, err := p.stdout.Write(b); err != nil && p.lost == nil {
		p.lost = err
	}
}

func (p *printer) event(e run.Event) {
	if p.output == "stream-json" {
		if f, err := formOf(e); err == nil {
			p.line(f)
		}
	}
	for _, line := range p.progress(e) {
		fmt.Fprintln(p.stderr, line)
	}
}

// progress is what a person is told of an event: few lines, none for most.
func (p *printer) progress(e run.Event) []string {
	switch f := e.Payload.(type) {
	case run.Replied:
		calls := false
		for _, part := range f.Parts {
			if part.Type == run.CallPart && part.Call != nil {
				p.calls[part.Call.ID] = *part.Call
				calls = true
			}
		}
		switch text := run.PlainText(f.Parts); {
		case f.Action != nil && f.Action.Problem != "":
			return []string{"  the answer cannot be used: " + oneLine(f.Action.Problem, maxTitle)}
		case f.Action != nil && f.Action.Description != "":
			return []string{oneLine(f.Action.Description, maxTitle)}
		case f.Unfit != "":
			return []string{"  the answer is not the result: " + oneLine(f.Unfit, maxTitle)}
		case calls && text != "" && !isObject(text): // without calls it is the answer; an object is told by its step
			return []string{oneLine(text, maxTitle)}
		}
	case run.CallReceived:
		p.calls[f.Call.ID] = f.Call
	case run.CallSettled:
		return []string{p.settled(f.Call, f.Outcome, f.IsError, run.PlainText(f.Content))}
	case run.CallDecided:
		if !f.Decision.Allows() {
			return []string{p.settled(f.Call, run.Refused, true, cmp.Or(f.Decision.Reason, f.Content))}
		}
	case run.Resumed:
		var lines []string
		for _, id := range f.Calls {
			lines = append(lines, p.title(id)+" · was under way when the process ended; runs again")
		}
		if f.Request {
			lines = append(lines, "  a request was under way when the process ended; it is sent again")
		}
		return lines
	case run.ApprovalInvalidated:
		return []string{p.title(f.Call) + " · needs approval again: " + oneLine(f.Reason, maxTitle)}
	case run.RequestFailed:
		if f.RetryAfter > 0 {
			return []string{fmt.Sprintf("  %s; retrying in %s", oneLine(f.Reason, maxTitle), f.RetryAfter.Round(100*time.Millisecond))}
		}
	case run.Told:
		switch f.Reason {
		case run.TellRepeated:
		case run.TellOutput:
			p.reminders++
			return []string{fmt.Sprintf("  the model is reminded of its result (%d)", p.reminders)}
		default:
			return []string{"  the model is told to continue (" + string(f.Reason) + ")"}
		}
	case run.Configured:
		if control := f.Change.Control; control != nil && *control == run.Controller {
			return []string{"  the model is asked for one object a step from here on (control " + *control + ")"}
		}
	case run.Compacted:
		return []string{fmt.Sprintf("  the context was compacted: %d tokens less", f.Freed)}
	case run.Interrupted:
		if text := f.Shown(); text != "" {
			return []string{text}
		}
		return []string{"interrupted: " + string(f.Cause)}
	}
	return nil
}

func (p *printer) title(id run.CallID) string {
	c := p.calls[id]
	return "  " + callTitle(c.Tool, c.Arguments)
}

// settled is the line of a call. What went wrong is told, what went right is not.
func (p *printer) settled(id run.CallID, o run.Outcome, isError bool, text string) string {
	line := p.title(id) + " · " + cameOut(p.calls[id].Tool, o, text)
	if isError && o != run.NotRun {
		return line + ": " + oneLine(text, maxTitle)
	}
	return line
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
	fmt.Fprintf(p.stderr, "%s · %s · %d tokens · %s\n", ended(s), plural(r.Steps, "step"), s.Turn.Usage.Total(), money(s.Turn.Usage))
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
		return waits(s)
	}
	if s.Turn.N == 0 {
		return "not begun"
	}
	text := endWords[s.Turn.End.End]
	if s.Turn.End.Detail != "" && s.Turn.End.End != run.Completed {
		text += ": " + visible(s.Turn.End.Detail)
	}
	return text
}
