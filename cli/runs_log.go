package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/run"
	"pawl/view"
)

func runsLogCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log ID",
		Short: "Print every event of a run, one a line",
		Long: `Prints every event of a run. With --follow it then prints new ones as they come, while a process
drives the run; with --json also what is no event: deltas, progress, notices (docs/stream-json.md).`,
		Example: "  pawl runs log last\n  pawl runs log last --follow --json | jq .type",
	}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line, with everything")
	follow := cmd.Flags().BoolP("follow", "f", false, "print new events while a process drives the run")
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		out := json.NewEncoder(inv.Stdout)
		for u, err := range updates(ctx, ws, id, *follow) {
			if err != nil {
				return err
			}
			switch line, err := app.Line(u); {
			case err != nil:
				return err
			case *asJSON:
				if err := out.Encode(line); err != nil {
					return err
				}
			case u.Event != nil:
				f := line.(app.EventLine)
				if _, err := fmt.Fprintf(inv.Stdout, "%5d  %s  %-18s %s\n", f.Seq, f.At.Local().Format("15:04:05.000"), f.Type, eventLine(*u.Event, f)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// updates yields the events of a run, and with follow what is new while a process drives
// it.
func updates(ctx context.Context, ws *app.Workspace, id run.ID, follow bool) iter.Seq2[view.Update, error] {
	if follow {
		return ws.Follow(ctx, id, 0)
	}
	return func(yield func(view.Update, error) bool) {
		for e, err := range ws.Events(ctx, id, 0) {
			if !yield(view.Update{Event: &e}, err) {
				return
			}
		}
	}
}

// eventLine summarizes an event in one line.
func eventLine(e run.Event, f app.EventLine) string {
	switch v := e.Payload.(type) {
	case run.Created: // its data begins with a long system prompt
		as := ""
		if v.Agent != "" {
			as = " as " + v.Agent
		}
		return oneLine(fmt.Sprintf("%s%s %s %s", v.Run, as, v.Config.Model, v.Workspace), maxTitle)
	case run.Replied:
		text := run.PlainText(v.Parts)
		for _, p := range v.Parts {
			if p.Type == run.CallPart && p.Call != nil {
				text += fmt.Sprintf(" [%s %s]", p.Call.ID, view.Title(p.Call.Tool, p.Call.Arguments))
			}
		}
		return oneLine(fmt.Sprintf("%s: %s", v.Stop, text), maxTitle)
	case run.CallSettled:
		return oneLine(fmt.Sprintf("%s %s: %s", v.Call, v.Outcome, run.PlainText(v.Content)), maxTitle)
	case run.CallDecided:
		if v.Decision.Allows() {
			break
		}
		// The reason is what the log is read for.
		return oneLine(fmt.Sprintf("%s %s: %s", v.Call, view.DecisionWords(v.Decision), v.Decision.Reason), 4*maxTitle)
	case run.Prompted:
		return oneLine(run.PlainText(v.Parts), maxTitle)
	}
	return oneLine(string(f.Data), maxTitle)
}
