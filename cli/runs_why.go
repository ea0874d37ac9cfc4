package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/report"
	"pawl/run"
)

func runsWhyCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "why ID",
		Short:   "Show the state of a run: what it waits for and what to do next",
		Example: "  pawl runs why last",
	}
	asJSON := command.JSONFlag(cmd)
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		y, err := report.WhyOf(ctx, ws, id)
		if err != nil {
			return err
		}
		w := report.WhyFormOf(y)
		if *asJSON {
			return inv.Encode(w)
		}
		fmt.Fprintf(inv.Stdout, "run      %s\nstate    %s\nlast     %s (event %d, %s)\n", id, command.Visible(w.Text), command.Visible(w.Last.Text), w.Last.Seq, command.Stamp(w.Last.At))
		for _, o := range w.Owed {
			fmt.Fprintf(inv.Stdout, "pending  %s\n", command.OneLine(o, 2*command.MaxTitle))
		}
		if len(w.Owed) == 0 {
			fmt.Fprintln(inv.Stdout, "pending  nothing")
		}
		if w.Next != "" {
			fmt.Fprintf(inv.Stdout, "next     %s\n", command.Visible(w.Next))
		}
		return nil
	})
}
