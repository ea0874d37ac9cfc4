package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/controller"
	"pawl/internal/text"
	"pawl/output"
	"pawl/run"
)

func runsShowCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show a run as a transcript: messages, calls, decisions, outcomes",
		Example: "  pawl runs show last\n  pawl runs show 20261120-2130 --results",
	}
	results := cmd.Flags().Bool("results", false, "also show the results of calls")
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		events, _, err := ws.Load(ctx, id)
		t := transcript{results: *results}
		for _, e := range events {
			t.event(e)
		}
		if _, werr := inv.Stdout.Write(t.out.Bytes()); werr != nil {
			return werr
		}
		return err
	})
}

// A transcript is a run as a person saw it, in plain text.
type transcript struct {
	out     bytes.Buffer
	results bool

	calls   map[run.CallID]run.Call
	decided map[run.CallID]run.Decision
}

func (t *transcript) say(format string, args ...any) { fmt.Fprintf(&t.out, format+"\n", args...) }

func (t *transcript) event(e run.Event) {
	if t.calls == nil {
		t.calls, t.decided = map[run.CallID]run.Call{}, map[run.CallID]run.Decision{}
	}
	switch f := e.Payload.(type) {
	case run.Created:
		t.say("run %s · %s · %s · %s", f.Run, stamp(e.At), f.Config.Model, visible(f.Workspace))
		if f.ForkedFrom != "" {
			t.say("forked from %s at event %d", f.ForkedFrom, f.ForkedAt)
		}
	case run.Configured:
		t.say("· %s", visible(changeWords(f.Change)))
	case run.Prompted:
		text := run.PlainText(f.Parts)
		if text == "" {
			text = "(continue)"
		}
		t.person("", text)
	case run.Said:
		how := "(while it works) "
		if f.Delivery == run.Queue {
			how = "(for later) "
		}
		t.person(how, run.PlainText(f.Parts))
	case run.Replied:
		t.reply(f.Parts)
		t.action(f.Action)
		if f.Unfit != "" {
			t.say("· the answer is not the result: %s", oneLine(f.Unfit, maxTitle))
		}
	case run.CallReceived:
		t.calls[f.Call.ID] = f.Call
	case run.CallDecided:
		t.decided[f.Call] = f.Decision
		if !f.Decision.Allows() {
			t.call(f.Call, run.Refused, f.Content, "")
		}
	case run.ApprovalInvalidated:
		t.say("· %s needs a new decision: %s", f.Call, oneLine(f.Reason, maxTitle))
	case run.CallSettled:
		t.call(f.Call, f.Outcome, run.PlainText(f.Content), storedWords(f))
	case run.Told:
		t.say("· pawl to the model: %s", oneLine(f.Text, maxTitle))
	case run.Submitted:
		t.say("· handed in: %s", oneLine(f.Value, maxTitle))
	case run.RequestFailed:
		t.say("· the request failed: %s", oneLine(f.Reason, maxTitle))
	case run.Resumed:
		if f.Request {
			t.say("· the process ended during a request")
		}
	case run.Compacted:
		t.say("· the context was compacted by %d tokens", f.Freed)
	case run.Interrupted:
		t.reply(f.Partial)
		if text := f.Shown(); text != "" {
			t.say("%s", text)
		}
	case run.Synthesized:
		t.say("\n%s", visible(f.Text))
	case run.Ended:
		text := endWords[f.End]
		if f.Detail != "" {
			text += ": " + f.Detail
		}
		t.say("— %s", visible(text))
	}
}

func (t *transcript) person(how, text string) {
	t.say("\n%s", prefixed(how+visible(text), "> "))
}

func (t *transcript) reply(parts []run.Part) {
	for _, p := range parts {
		switch {
		case p.Type == run.TextPart && isObject(p.Text): // shown by its action
		case p.Type == run.TextPart && p.Text != "":
			t.say("\n%s", visible(p.Text))
		case p.Type == run.CallPart && p.Call != nil:
			t.calls[p.Call.ID] = *p.Call
		}
	}
}

// isObject reports whether an answer is a controller object.
func isObject(text string) bool {
	_, _, err := controller.Parse(text)
	return err == nil
}

// action writes the action of an answer in controller mode, its thinking in one line.
func (t *transcript) action(f *run.Action) {
	if f == nil {
		return
	}
	if f.Problem != "" {
		t.say("· the answer cannot be used: %s", oneLine(f.Problem, maxTitle))
	}
	if f.Description != "" {
		t.say("\n%s", visible(f.Description))
	}
	if f.Thinking != "" {
		t.say("  · thinking: %s", oneLine(f.Thinking, maxTitle))
	}
	for _, text := range []string{f.Reason, f.Message} {
		if text != "" {
			t.say("\n%s", visible(text))
		}
	}
}

// storedWords says how much of a result is stored where the model has only a part.
func storedWords(f run.CallSettled) string {
	if d := output.Delivery(f.Delivery); d != output.Stored && d != output.Forced {
		return ""
	}
	return " · " + text.Size(f.Size) + " stored"
}

// call writes a settled call: its title, outcome, stored output and decision.
func (t *transcript) call(id run.CallID, o run.Outcome, text, stored string) {
	c := t.calls[id]
	line := fmt.Sprintf("  %s · %s", callTitle(c.Tool, c.Arguments), cameOut(c.Tool, o, text)) + stored
	if d, ok := t.decided[id]; ok {
		line += " · " + decisionWords(d)
	}
	t.say("%s", line)
	if t.results && text != "" {
		t.say("%s", prefixed(visible(text), "    "))
	}
}

// decisionWords describes a decision and who or what made it.
func decisionWords(d run.Decision) string {
	verb := "refused by "
	if d.Answer == run.Allow || d.Answer == run.Always {
		verb = "allowed by "
	}
	who := d.Source
	switch {
	case d.By != "":
		who = d.By
	case d.Rule != "":
		who = "the rule " + visible(d.Rule) + " (" + d.Source + ")"
	}
	return verb + who
}

// changeWords lists the fields of a configuration that were changed.
func changeWords(c run.ConfigChange) string {
	var words []string
	add := func(name string, v any) { words = append(words, fmt.Sprintf("%s %v", name, v)) }
	if c.Model != nil {
		add("model", *c.Model)
	}
	if c.Mode != nil {
		add("mode", *c.Mode)
	}
	if c.Control != nil {
		add("control", *c.Control)
	}
	if c.Window != nil {
		add("window", *c.Window)
	}
	if c.Parallel != nil {
		add("parallel", *c.Parallel)
	}
	if c.Output != nil {
		words = append(words, "another result")
	}
	if c.Limits != (run.Limits{}) || c.NoNudge != nil || c.CompactAt != nil {
		words = append(words, "other limits")
	}
	return "configured: " + strings.Join(words, ", ")
}
