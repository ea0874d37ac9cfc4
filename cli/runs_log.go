package cli

import (
	"context"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/report"
	"pawl/run"
	"pawl/store"
	"pawl/view"
)

func runsLogCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log ID",
		Short: "Print every event of a run, one a line",
		Long: `Prints every event of a run. With --follow it then prints new ones as they come, while a process
drives the run. With --json a line is one JSON object with all of the event, and with --follow
also lines that are not events: deltas, progress, notices (docs/stream-json.md).`,
		Example: "  pawl runs log last\n  pawl runs log last --follow --json | jq .type",
	}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line (docs/stream-json.md)")
	follow := cmd.Flags().BoolP("follow", "f", false, "print new events while a process drives the run")
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		var lines forms.Lines
		var words report.EventWords
		for u, err := range updates(ctx, ws, id, *follow) {
			switch {
			case err != nil:
				return err
			case *asJSON && u.Below == "":
				err = inv.Encode(lines.Line(u))
			case u.Event != nil:
				e := *u.Event
				_, err = fmt.Fprintf(inv.Stdout, "%5d  %s  %-16s %s\n", e.Seq, e.At.Local().Format("15:04:05.000"), store.Type(e.Payload), words.Of(e))
			}
			if err != nil {
				return err
			}
		}
		if *asJSON {
			return nil
		}
		y, err := report.WhyOf(ctx, ws, id)
		if err != nil {
			return err
		}
		return tellOpen(y, inv.Stderr, "")
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
