package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/config"
	"pawl/forms"
	"pawl/internal/text"
	"pawl/run"
	"pawl/worker/retention"
)

func runsRmCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rm ID",
		Short: "Remove a run with everything it left",
		Long: `Removes a run: its log, its stored outputs, undo data, its rules, and the runs below it.
A run that a process drives, or that another run needs, is not removed. This cannot be undone.`,
		Example: "  pawl runs rm 20261120-2130 --dry-run\n  pawl runs rm 20261120-2130",
	}
	dry := cmd.Flags().Bool("dry-run", false, "print what would be removed, and remove nothing")
	asJSON := command.JSONFlag(cmd)
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		if !*dry {
			if err := inv.AsPerson("remove runs"); err != nil {
				return err
			}
		}
		removed, err := ws.Remove(ctx, id, *dry)
		if err != nil {
			return err
		}
		return printRemoved(inv, removed, *dry, *asJSON)
	})
}

func runsPruneCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove old runs with everything they left",
		Long: `Removes the runs of this folder that were last used longer ago than --older-than, as runs rm
does. Without the flag the setting runs_max_age counts, which pawl run applies too, once a day.
A run stays if it is working, waiting or killed, or if such a run needs it.`,
		Example: "  pawl runs prune --older-than 30d --dry-run\n  pawl runs prune",
		Args:    cobra.NoArgs,
	}
	age := cmd.Flags().String("older-than", "", "remove what was last used longer ago than this `age`, such as 30d or 12h")
	dry := cmd.Flags().Bool("dry-run", false, "print what would be removed, and remove nothing")
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, _ []string) error {
		if *age == "" {
			c, err := ws.Config()
			if err != nil {
				return err
			}
			*age = c.Get("runs_max_age")
		}
		limit, err := config.ParseLimit(*age, config.ParseAge)
		if err != nil {
			return command.Usage("--older-than: %w", err)
		}
		if !*dry {
			if err := inv.AsPerson("remove runs"); err != nil {
				return err
			}
		}
		removed, err := ws.Prune(ctx, limit, *dry)
		if err != nil {
			return err
		}
		return printRemoved(inv, removed, *dry, *asJSON)
	})
}

func printRemoved(inv *command.Invocation, r retention.Removed, dry, asJSON bool) error {
	if asJSON {
		return inv.Encode(forms.RemovedFormOf(r, dry))
	}
	verb := "removed"
	if dry {
		verb = "would be removed"
	}
	for _, id := range r.Runs {
		fmt.Fprintln(inv.Stdout, id)
	}
	_, err := fmt.Fprintf(inv.Stdout, "%s %s, %s\n", command.Plural(len(r.Runs), "run"), verb, text.Size(r.Freed.Total()))
	return err
}
