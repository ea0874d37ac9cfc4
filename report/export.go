package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"

	"pawl/internal/plainjson"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/llm/script"
	"pawl/output"
	"pawl/run"
	"pawl/view"
)

// ExportFormats are the formats in which a run can be exported.
var ExportFormats = []string{"json", "markdown", "html", "script"}

// Export writes a run with these events in a format but json; see [ExportFormOf].
func Export(w io.Writer, format string, events []run.Event) error {
	switch format {
	case "markdown":
		return exportMarkdown(w, events)
	case "html":
		return exportHTML(w, events)
	}
	return exportScript(w, events)
}

// exportMarkdown writes the conversation. Results are folded: they are long.
func exportMarkdown(w io.Writer, events []run.Event) error {
	var b strings.Builder
	section := func(who, text string) { fmt.Fprintf(&b, "\n## %s\n\n%s\n", who, visible.Escape(text)) }
	for _, i := range view.Items(events) {
		switch i.Kind {
		case view.KindRun:
			fmt.Fprintf(&b, "# Run %s\n\n%s · %s\n", i.Run.ID, i.Run.Model, i.At.Format("2006-01-02 15:04 MST"))
		case view.KindMessage:
			section(speaker(*i.Message), i.Text)
		case view.KindText:
			section("Assistant", i.Text)
		case view.KindThinking:
			fmt.Fprintf(&b, "\n<details><summary>Thinking</summary>\n\n%s\n\n</details>\n", fenced("", visible.Escape(i.Text)))
		case view.KindAccount:
			section("Account", i.Text)
		case view.KindCall:
			fmt.Fprintf(&b, "\n<details><summary>%s</summary>\n\n%s\n\n%s\n\n</details>\n",
				html.EscapeString(CallLine(i.Call)), fenced("json", visible.Escape(i.Call.Arguments)), fenced("", visible.Escape(i.Call.Result)))
		case view.KindSubmission:
			fmt.Fprintf(&b, "\nResult:\n\n%s\n", fenced("json", visible.Escape(i.Text)))
		case view.KindNote, view.KindEnd:
			fmt.Fprintf(&b, "\n*%s*\n", html.EscapeString(i.Text))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// speaker is the heading of a message.
func speaker(m view.Message) string {
	if how := MessageWords(m); how != "" {
		return "User, " + how
	}
	return "User"
}

// pageHead is the beginning of a page up to its title.
//
//go:embed export.html
var pageHead string

// exportHTML writes the conversation as one page that needs nothing else: no scripts, no
// fonts, no requests. Everything that a person, a model or a tool wrote is escaped.
func exportHTML(w io.Writer, events []run.Event) error {
	var b strings.Builder
	esc := func(s string) string { return html.EscapeString(visible.Escape(s)) }
	section := func(i view.Item, head string) {
		fmt.Fprintf(&b, "<section class=%q><h2>%s</h2>\n<div class=\"text\">%s</div></section>\n", i.Kind, esc(head), esc(i.Text))
	}
	folded := func(class, line string, texts ...string) {
		fmt.Fprintf(&b, "<details class=%q><summary>%s</summary>\n", class, esc(line))
		for _, text := range texts {
			if text != "" {
				fmt.Fprintf(&b, "<pre>%s</pre>\n", esc(text))
			}
		}
		b.WriteString("</details>\n")
	}
	b.WriteString(pageHead)
	for _, i := range view.Items(events) {
		switch i.Kind {
		case view.KindRun:
			title := esc("Run " + string(i.Run.ID))
			fmt.Fprintf(&b, "<title>%s</title>\n</head>\n<body>\n<h1>%s</h1>\n<p class=\"about\">%s</p>\n", title, title,
				esc(i.Run.Model+" · "+i.At.Format("2006-01-02 15:04 MST")+" · "+i.Run.Workspace))
		case view.KindMessage:
			section(i, speaker(*i.Message))
		case view.KindText:
			section(i, "Assistant")
		case view.KindAccount:
			section(i, "Account")
		case view.KindSubmission:
			section(i, "Result")
		case view.KindThinking:
			folded("thinking", "Thinking", i.Text)
		case view.KindCall:
			class := "call"
			if i.Call.IsError {
				class = "call failed"
			}
			folded(class, CallLine(i.Call), i.Call.Arguments, i.Call.Result)
		case view.KindNote, view.KindEnd:
			fmt.Fprintf(&b, "<p class=%q>%s</p>\n", i.Kind, esc(i.Text))
		}
	}
	b.WriteString("</body>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// fenced puts text into a code block that nothing in it can end.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

// exportScript writes the model's answers in order, so that the scripted model gives
// the same ones. The results of calls follow as comments: a replay runs the real tools.
func exportScript(w io.Writer, events []run.Event) error {
	var b strings.Builder
	noTools := false
	purpose := run.ForStep
	for _, e := range events {
		var reply *script.Reply
		switch f := e.Payload.(type) {
		case run.Created:
			fmt.Fprintf(&b, "# run %s, %s, by pawl %s\n", f.Run, f.Config.Model, f.Version)
		case run.Prompted:
			what := "prompt"
			if f.Answers != "" {
				what = "answer to " + string(f.Answers)
			}
			comment(&b, what, run.PlainText(f.Parts))
		case run.Said:
			comment(&b, string(f.Delivery), run.PlainText(f.Parts))
		case run.RequestStarted:
			purpose = f.Purpose
		case run.Replied:
			r := replyOf(f.Parts)
			r.Stop = f.Stop
			u := f.Usage
			r.Usage = &script.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
			reply = &r
		case run.Interrupted:
			if len(f.Partial) > 0 {
				r := replyOf(f.Partial)
				r.Hang = true
				reply = &r
			}
		case run.RequestFailed:
			reply = failureOf(f)
		case run.CallDecided:
			if !f.Decision.Allows() {
				comment(&b, fmt.Sprintf("result of %s, %s", f.Call, run.Refused), f.Content)
			}
		case run.CallAnswered:
			comment(&b, "answer to "+string(f.Call), run.PlainText(f.Parts))
		case run.CallSettled:
			comment(&b, fmt.Sprintf("result of %s, %s", f.Call, f.Outcome), run.PlainText(f.Content))
		case run.Ended:
			comment(&b, "end", strings.TrimSpace(string(f.End)+" "+f.Reason))
		}
		if reply == nil {
			continue
		}
		if purpose != run.ForStep { // a synthesis or a summary, which offers no tools
			reply.When = &script.When{Tools: &noTools}
		}
		line, err := plainjson.Line(reply)
		if err != nil {
			return err
		}
		b.Write(line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// comment writes a line that the script ignores. The text is quoted, so that it is one
// line.
func comment(b *strings.Builder, what, text string) {
	quoted, err := plainjson.Line(text)
	if err == nil { // a string can always be encoded
		fmt.Fprintf(b, "# %s: %s", what, quoted)
	}
}

// replyOf returns the reply that has these parts. A script does not keep the order of
// parts: it is thinking, text, calls.
func replyOf(parts []run.Part) script.Reply {
	r := script.Reply{Text: run.PlainText(parts)}
	for _, p := range parts {
		switch {
		case p.Type == run.ThinkingPart:
			r.Thinking += p.Text
		case p.Type == run.CallPart && p.Call != nil:
			c := script.Call{ID: p.Call.ProviderID, Tool: p.Call.Tool}
			if p.Call.Fault == run.NoFault {
				c.Args = json.RawMessage(p.Call.Arguments)
			} else {
				raw := p.Call.Raw
				c.RawArgs = &raw
			}
			r.Calls = append(r.Calls, c)
		}
	}
	return r
}

// failureOf returns the reply that fails a request the same way; nil if a script cannot
// express it.
func failureOf(f run.RequestFailed) *script.Reply {
	status := map[run.ErrorKind]int{
		run.ErrOverloaded: 529, run.ErrUnreachable: 529, run.ErrRateLimited: 429, run.ErrAuth: 401, run.ErrRefused: 403,
		run.ErrTooLong: 413, run.ErrInvalid: 400,
	}
	switch f.Kind {
	case run.ErrBrokenStream:
		return &script.Reply{Text: "(cut)", Cut: "text"}
	case run.ErrTimeout:
		return &script.Reply{Hang: true}
	}
	if status[f.Kind] == 0 {
		return nil
	}
	return &script.Reply{Error: &script.Error{Status: status[f.Kind], Message: f.Reason}}
}

// MessageWords says what kind of message it is and what became of it; empty for a prompt.
func MessageWords(m view.Message) string {
	switch {
	case m.State == view.Withdrawn:
		return "withdrawn"
	case m.State == view.Returned:
		return "not delivered"
	case m.Kind == view.Steering:
		return "while it works"
	case m.Kind == view.Queued, m.Words != "":
		return "for later"
	case m.Kind == view.Prompt:
		return ""
	}
	return string(m.Kind) // continue, answer
}

// CallLine is a call in a line: its title, outcome, stored output, decision and error.
func CallLine(c *view.Call) string {
	line := c.Title() + " · " + string(c.State)
	if c.State == view.Settled {
		line = c.Title() + " · " + c.OutcomeWords()
	}
	if output.Delivery(c.Delivery).IsStored() {
		line += " · " + text.Size(c.Size) + " stored"
	}
	for _, f := range c.Files {
		if f.Counted {
			line += fmt.Sprintf(" · +%d -%d", f.Added, f.Removed)
		}
	}
	if c.Decision.Answer != "" {
		line += " · " + view.DecisionWords(c.Decision)
	}
	if c.IsError && c.Outcome != run.NotRun {
		line += ": " + c.Reason()
	}
	return line
}
