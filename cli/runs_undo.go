package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/run"
)

func runsUndoCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "undo ID",
		Short: "Restore the files that a run changed",
		Long: `Restores the files that a run's edits and writes changed to their content before the run,
or after the event given with --to. A file that was changed since is skipped and named.
What shell commands did is not undone. The log does not change.`,
		Example: "  pawl runs undo last\n  pawl runs undo last --to 24",
	}
	to := cmd.Flags().Int64("to", 0, "undo only what was done after this `event`")
	asJSON := command.JSONFlag(cmd)
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		report, err := ws.Undo(ctx, id, *to)
		if err != nil {
			return err
		}
		if *asJSON {
			if err := inv.Encode(forms.UndoFormOf(id, report)); err != nil {
				return err
			}
			if len(report.Skipped) > 0 {
				return command.Exit{Code: command.ExitFailed}
			}
			return nil
		}
		if len(report.Changes) == 0 && len(report.Skipped) == 0 {
			_, err := fmt.Fprintf(inv.Stdout, "run %s changed no files\n", id)
			return err
		}
		for _, c := range report.Changes {
			fmt.Fprintf(inv.Stdout, "%s: %s\n", command.Visible(c.Path), forms.UndoneWords(c))
		}
		for _, sk := range report.Skipped {
			fmt.Fprintf(inv.Stderr, "not undone: %s\n", command.Visible(sk.Reason))
		}
		if len(report.Skipped) > 0 {
			return command.Exit{Code: command.ExitFailed}
		}
		return nil
	})
}
