package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/cli/commandline"
	"pawl/cli/manual"
	"pawl/cli/permissions"
	"pawl/run"
)

func runsCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "runs",
		Short: "List, show, resume, fork, stop and undo runs",
		Long: `Works with the runs of this folder, or in a folder without runs with those of the nearest
folder above it in the same repository. An ID may be shortened to a unique prefix; last is
the run used last.`,
		Example: `  pawl runs list
  pawl runs show last
  pawl runs why last`,
	})
	cmd.AddGroup(manual.RunsGroups...)
	command.Grouped(cmd, inv, "look", runsListCommand, runsShowCommand, runsLogCommand, runsWhyCommand, runsExportCommand)
	command.Grouped(cmd, inv, "change", runsResumeCommand, permissions.DecideCommand, runsSetCommand, runsForkCommand, runsImportCommand, runsStopCommand, runsUndoCommand)
	command.Grouped(cmd, inv, "repair", runsVerifyCommand, runsRecoverCommand, runsRmCommand, runsPruneCommand)
	return cmd
}

// oneRun gives cmd the form of a subcommand with one run as its argument: it opens the
// workspace, finds the run and calls do.
func oneRun(inv *command.Invocation, cmd *cobra.Command, do func(ctx context.Context, ws *app.Workspace, id run.ID) error) *cobra.Command {
	cmd.Args = exactlyOne
	return command.InWorkspace(cmd, inv.OpenRunsPlain, func(ctx context.Context, ws *app.Workspace, args []string) error {
		id, err := findOne(ctx, ws, args[0])
		if err != nil {
			return err
		}
		return do(ctx, ws, id)
	})
}

// findOne returns the run that an argument names.
func findOne(ctx context.Context, ws *app.Workspace, which string) (run.ID, error) {
	sum, err := ws.Find(ctx, which)
	if err != nil && commandline.CallID().MatchString(which) {
		return "", command.Usage("%w; %s is a call: pawl outputs show %s", err, which, which)
	}
	return sum.ID, err
}

func exactlyOne(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one run: an id, a prefix of one, or last", cmd.CommandPath())
	}
	return nil
}
