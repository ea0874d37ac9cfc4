package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/cli/console"
	"pawl/forms"
	"pawl/internal/visible"
	"pawl/report"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

func runsShowCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a run as a transcript: messages, calls, decisions, outcomes",
		Long: `Shows a run as a transcript, with the first and the last lines of what commands printed. With --follow it then shows what is new, each message and call when
it is complete, while a process drives the run.`,
		Example: "  pawl runs show last\n  pawl runs show 20261120-2130 --results\n  pawl runs show last --follow\n  pawl runs show last --diff\n  pawl runs show last --plan",
	}
	results := cmd.Flags().Bool("results", false, "also show the results of calls")
	follow := cmd.Flags().BoolP("follow", "f", false, "show what is new while a process drives the run")
	diff := cmd.Flags().Bool("diff", false, "show what its edits and commands changed, as a unified diff")
	plan := cmd.Flags().Bool("plan", false, "show the steps of a run in controller mode: what each was for, why, and its calls")
	asJSON := command.JSONFlag(cmd)
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		switch {
		case *plan && (*diff || *follow || *results):
			return command.Usage("--plan shows no transcript: give it without --diff, --follow and --results")
		case *plan:
			return showPlan(ctx, inv, ws, id, *asJSON)
		case *diff && (*follow || *results):
			return command.Usage("--diff shows no transcript: give it without --follow and --results")
		case *diff:
			return showDiff(ctx, inv, ws, id, *asJSON)
		}
		if *asJSON && *follow {
			return command.Usage("--json and --follow: one object has no end to follow; use `pawl runs log %s --follow --json`", id)
		}
		if *asJSON {
			return showJSON(ctx, inv, ws, id, *results)
		}
		t := transcript{results: *results, child: func(id run.ID) string { return childTranscript(ctx, ws, id, *results) }}
		var p view.Projection
		show := func(items []view.Item) error {
			for _, item := range items {
				t.item(item)
			}
			_, err := t.out.WriteTo(inv.Stdout)
			return err
		}
		for u, err := range updates(ctx, ws, id, *follow) {
			if err != nil {
				return errors.Join(show(p.Open()), err) // a damaged log is shown up to the damage
			}
			items := slices.DeleteFunc(p.Update(u), func(i view.Item) bool { return !i.Final || i.Gone })
			if err := show(items); err != nil {
				return err
			}
		}
		if err := show(p.Open()); err != nil {
			return err
		}
		y, err := report.WhyOf(ctx, ws, id)
		if err != nil {
			return err
		}
		return errors.Join(tellOpen(y, inv.Stdout, "— "), tellByHand(ws, y.State, inv.Stdout))
	})
}

// tellByHand prints the command that opens the conversation of an external agent in its own program.
func tellByHand(ws *app.Workspace, s run.State, out io.Writer) error {
	k, _, _ := ws.External(s.Config.Model)
	byHand := k.ByHand(s.Conversation, s.Created.Workspace)
	if byHand == "" {
		return nil
	}
	_, err := fmt.Fprintf(out, "— to go on in %s itself: %s\n", k.Title, command.Visible(byHand))
	return err
}

// showDiff prints what a run has changed, from before the first to after the last change of a file.
func showDiff(ctx context.Context, inv *command.Invocation, ws *app.Workspace, id run.ID, asJSON bool) error {
	form, err := report.Diff(ctx, ws, id)
	switch {
	case err != nil:
		return err
	case asJSON:
		return inv.Encode(form)
	case len(form.Files) == 0:
		fmt.Fprintf(inv.Stderr, "run %s changed no files\n", id)
		return nil
	}
	var out bytes.Buffer
	for _, f := range form.Files {
		before, after := "a/"+visible.Line(f.Path), "b/"+visible.Line(f.Path)
		fmt.Fprintf(&out, "diff --git %s %s\n", before, after)
		switch f.Action {
		case "created":
			before = "/dev/null"
		case "deleted":
			after = "/dev/null"
		}
		if was, is, changed := strings.Cut(f.Mode, " to "); changed {
			fmt.Fprintf(&out, "old mode %s\nnew mode %s\n", was, is)
		}
		if f.Problem != "" {
			fmt.Fprintf(&out, "# not shown: %s\n", command.Visible(f.Problem))
			continue
		}
		if f.Diff == "" {
			continue
		}
		fmt.Fprintf(&out, "--- %s\n+++ %s\n%s\n", before, after, strings.TrimRight(command.Visible(f.Diff), "\n"))
	}
	_, err = out.WriteTo(inv.Stdout)
	return err
}

// showPlan prints the steps of a run in controller mode.
func showPlan(ctx context.Context, inv *command.Invocation, ws *app.Workspace, id run.ID, asJSON bool) error {
	events, _, damage := ws.Load(ctx, id)
	form := forms.PlanOf(id, events)
	switch {
	case asJSON:
		return errors.Join(inv.Encode(form), damage)
	case len(form.Steps) == 0:
		fmt.Fprintf(inv.Stderr, "run %s has no steps of controller mode; `pawl runs show %s` shows what it did\n", id, id)
		return damage
	}
	var out bytes.Buffer
	for i, s := range form.Steps {
		if i == 0 || form.Steps[i-1].Turn != s.Turn {
			fmt.Fprintf(&out, "turn %d\n", s.Turn)
		}
		fmt.Fprintf(&out, "%3d. %s\n", s.Step, command.Visible(s.Description))
		if s.Thought != "" {
			fmt.Fprintln(&out, command.Prefixed(command.Visible(s.Thought), "     "))
		}
		for _, c := range s.Shown {
			fmt.Fprintf(&out, "     %s · %s\n", report.CallLine(c), command.Visible(string(c.ID)))
		}
	}
	_, err := out.WriteTo(inv.Stdout)
	return errors.Join(err, damage)
}

// showJSON prints a run as one object. A damaged log is printed up to the damage; the error
// follows.
func showJSON(ctx context.Context, inv *command.Invocation, ws *app.Workspace, id run.ID, results bool) error {
	events, s, damage := ws.Load(ctx, id)
	if len(events) == 0 {
		return damage
	}
	f, err := forms.ShowRun(ctx, ws, events, s, results, 0)
	if err != nil {
		return err
	}
	return errors.Join(inv.Encode(f), damage)
}

// tellOpen prints what a run is doing whose turn is open.
func tellOpen(y report.Why, w io.Writer, prefix string) error {
	if !y.State.Turn.Open() {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s%s\n", prefix, command.Visible(report.WhyFormOf(y).Text))
	return err
}

// A transcript is a run as a person saw it, in plain text.
type transcript struct {
	out     bytes.Buffer
	results bool
	child   func(run.ID) string // the transcript of a child run
}

// childTranscript returns a child run as its parent's transcript shows it.
func childTranscript(ctx context.Context, ws *app.Workspace, id run.ID, results bool) string {
	events, _, err := ws.Load(ctx, id)
	t := transcript{results: results, child: func(id run.ID) string { return childTranscript(ctx, ws, id, results) }}
	for _, i := range view.Items(events) {
		t.item(i)
	}
	if err != nil && len(events) > 0 { // a call that never began has no run
		t.say("· %v", err)
	}
	return t.out.String()
}

func (t *transcript) say(format string, args ...any) { fmt.Fprintf(&t.out, format+"\n", args...) }

func (t *transcript) item(i view.Item) {
	switch i.Kind {
	case view.KindRun:
		as := ""
		if i.Run.Agent != "" {
			as = i.Run.Agent + " · "
		}
		t.say("run %s · %s · %s%s · %s", i.Run.ID, command.Stamp(i.At), as, i.Run.Model, command.Visible(i.Run.Workspace))
		if i.Run.ForkedFrom != "" {
			t.say("forked from %s at event %d", i.Run.ForkedFrom, i.Run.ForkedAt)
		}
	case view.KindMessage:
		how := report.MessageWords(*i.Message)
		if how != "" {
			how = "(" + how + ") "
		}
		t.say("\n%s", command.Prefixed(how+command.Visible(i.Text), "> "))
	case view.KindText, view.KindAccount:
		t.say("\n%s", command.Said(i.Text))
	case view.KindThinking:
		t.say("  · thinking: %s", command.OneLine(i.Text, command.MaxTitle))
	case view.KindCall:
		line := report.CallLine(i.Call)
		if !i.Call.Observed {
			line += " · " + command.Visible(string(i.Call.ID))
		}
		t.say("  %s", line)
		if whole := wholeQuestion(i.Call); whole != "" {
			t.say("%s", command.Prefixed(command.Visible(whole), "    "))
		}
		switch {
		case t.results && i.Call.Result != "":
			t.say("%s", command.Prefixed(command.Visible(i.Call.Result), "    "))
		case i.Final:
			t.out.WriteString(strings.TrimPrefix(console.OutputBelow(i.Call, "    ")+"\n", "\n"))
		}
		if i.Call.Child != "" && i.Call.Attempt > 0 {
			if child := strings.TrimSpace(t.child(i.Call.Child)); child != "" {
				t.say("%s", command.Prefixed(child, "    "))
			}
		}
	case view.KindSubmission:
		t.say("· result submitted: %s", view.SubmittedWords(i.Text))
	case view.KindEnd:
		e := i.End
		t.say("— %s · %s", i.Text, console.SpentWords(e.Steps, e.Duration, e.Usage))
	case view.KindNote:
		t.say("· %s", noteLine(i))
	}
}

// wholeQuestion is the question of a call and the answers that it offers; empty for any other
// call, and for a question that the title has all of.
func wholeQuestion(c *view.Call) string {
	if !c.Question {
		return ""
	}
	q := runlog.QuestionOf(run.CallState{Call: run.Call{ID: c.ID, Arguments: c.Arguments}})
	if q.Text == c.Subject && len(q.Options) == 0 {
		return ""
	}
	for _, o := range q.Options {
		q.Text += "\n- " + o
	}
	return q.Text
}

// noteLine is a note in a line. A reminder says what the model was told.
func noteLine(i view.Item) string {
	if i.Note.Kind == view.NoteReminder {
		return "pawl to the model: " + command.OneLine(i.Note.Detail, command.MaxTitle)
	}
	return i.Text
}
