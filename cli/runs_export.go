package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/llm/script"
	"pawl/run"
)

func runsExportCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Print a whole run as JSON, as Markdown, or as a script that replays it",
		Long: `Prints a whole run.
  json      {"run", "events": [{"seq", "at", "type", "version", "data"}]}
  markdown  the conversation
  script    the model's answers in the format of the scripted model, with the
            results of its calls as comments: pawl run --model script/FILE
            replays it`,
		Example: `  pawl runs export last --format markdown > run.md
  pawl runs export last --format script > bug.jsonl
  pawl run --model script/bug.jsonl -p "the same again"`,
	}
	format := cmd.Flags().String("format", "json", "json, markdown, script")
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		if err := oneOf("json, markdown, script")(*format); err != nil {
			return usage("--format: %w", err)
		}
		events, _, err := ws.Load(ctx, id)
		if len(events) == 0 {
			return err
		}
		// A damaged log is exported up to the damage; the error follows.
		switch *format {
		case "markdown":
			return errors.Join(exportMarkdown(inv.Stdout, events), err)
		case "script":
			return errors.Join(exportScript(inv.Stdout, events), err)
		}
		return errors.Join(exportJSON(inv.Stdout, id, events), err)
	})
}

func exportJSON(w io.Writer, id run.ID, events []run.Event) error {
	forms := make([]eventForm, len(events))
	for i, e := range events {
		var err error
		if forms[i], err = formOf(e); err != nil {
			return err
		}
	}
	return json.NewEncoder(w).Encode(map[string]any{"run": id, "events": forms})
}

// exportMarkdown writes the conversation. Results are folded: they are long.
func exportMarkdown(w io.Writer, events []run.Event) error {
	var b strings.Builder
	calls := map[run.CallID]run.Call{}
	decided := map[run.CallID]run.Decision{}
	section := func(who, text string) { fmt.Fprintf(&b, "\n## %s\n\n%s\n", who, visible(text)) }
	settled := func(id run.CallID, o run.Outcome, text string) {
		c := calls[id]
		fmt.Fprintf(&b, "\n<details><summary>%s · %s", htmlText(callTitle(c.Tool, c.Arguments)), cameOut(c.Tool, o, text))
		if d, ok := decided[id]; ok {
			fmt.Fprintf(&b, " · %s", htmlText(decisionWords(d)))
		}
		fmt.Fprintf(&b, "</summary>\n\n%s\n\n%s\n\n</details>\n", fenced("json", c.Arguments), fenced("", visible(text)))
	}
	reply := func(parts []run.Part) {
		if text := run.PlainText(parts); text != "" {
			section("Assistant", text)
		}
		for _, p := range parts {
			if p.Type == run.CallPart && p.Call != nil {
				calls[p.Call.ID] = *p.Call
			}
		}
	}
	for _, e := range events {
		switch f := e.Payload.(type) {
		case run.Created:
			fmt.Fprintf(&b, "# Run %s\n\n%s · %s\n", f.Run, f.Config.Model, e.At.Format("2006-01-02 15:04 MST"))
		case run.Prompted:
			if text := run.PlainText(f.Parts); text != "" {
				section("User", text)
			}
		case run.Said:
			when := "while it works"
			if f.Delivery == run.Queue {
				when = "for later"
			}
			section("User, "+when, run.PlainText(f.Parts))
		case run.Replied:
			reply(f.Parts)
		case run.Interrupted:
			reply(f.Partial)
			fmt.Fprintf(&b, "\n*Interrupted (%s).*\n", f.Cause)
		case run.CallDecided:
			decided[f.Call] = f.Decision
			if !f.Decision.Allows() {
				settled(f.Call, run.Refused, f.Content)
			}
		case run.CallSettled:
			settled(f.Call, f.Outcome, run.PlainText(f.Content))
		case run.Synthesized:
			section("Account", f.Text)
		case run.Ended:
			text := endWords[f.End]
			if f.Detail != "" {
				text += ": " + f.Detail
			}
			fmt.Fprintf(&b, "\n*%s*\n", text)
		}
	}
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

func htmlText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
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
		line, err := json.Marshal(reply)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// comment writes a line that the script ignores. The text is quoted, so that it is one
// line.
func comment(b *strings.Builder, what, text string) {
	quoted, err := json.Marshal(text)
	if err == nil { // a string can always be encoded
		fmt.Fprintf(b, "# %s: %s\n", what, quoted)
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
