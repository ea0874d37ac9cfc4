package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/internal/visible"
	"pawl/run"
)

func runsUndoCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "undo ID",
		Short: "Restore the files that a run changed",
		Long: `Restores the files that a run's edits, writes and shell commands changed to what they were
before the run, or after the event given with --to: contents, modes, links, files and folders
that were made, removed or renamed. A file that was changed since is skipped and named, and so
is what is not covered: .git, what git ignores, what is outside the workspace, files above 33 MB.
The log does not change.`,
		Example: "  pawl runs undo last --dry-run\n  pawl runs undo last\n  pawl runs undo last --to 24",
	}
	to := cmd.Flags().Int64("to", 0, "undo only what was done after this `event`")
	dry := cmd.Flags().Bool("dry-run", false, "print what would be restored, and restore nothing")
	asJSON := command.JSONFlag(cmd)
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		report, err := ws.Undo(ctx, id, *to, *dry)
		if err != nil {
			return err
		}
		if *asJSON {
			if err := inv.Encode(forms.UndoFormOf(id, report, *dry)); err != nil {
				return err
			}
			if len(report.Skipped) > 0 {
				return command.Exit{Code: command.ExitFailed}
			}
			return nil
		}
		if len(report.Changes) == 0 && len(report.Skipped) == 0 {
			if _, err := fmt.Fprintf(inv.Stdout, "run %s changed no files\n", id); err != nil {
				return err
			}
		}
		for _, c := range report.Changes {
			fmt.Fprintf(inv.Stdout, "%s: %s\n", visible.Line(c.Path), would(*dry, forms.UndoneWords(c)))
		}
		for _, u := range report.Uncovered {
			fmt.Fprintln(inv.Stderr, command.Visible(u))
		}
		for _, sk := range report.Skipped {
			fmt.Fprintf(inv.Stderr, "not undone: %s\n", visible.Line(sk.Reason))
		}
		if len(report.Skipped) > 0 {
			return command.Exit{Code: command.ExitFailed}
		}
		return nil
	})
}

func would(dry bool, words string) string {
	if dry {
		return "would be " + words
	}
	return words
}
