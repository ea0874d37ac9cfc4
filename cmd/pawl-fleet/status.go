package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/fleet"
)

func fleetCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "fleet",
		Short: "See the workers of a shared database and what they hold",
		Args:  cobra.NoArgs,
	})
	cmd.AddCommand(statusCommand(inv), fleetDoctorCommand(inv))
	return cmd
}

func statusCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "List workers and the tasks that have something to be done",
		Example: "  pawl-fleet fleet status --store postgres://pawl@db/pawl --temporal temporal:7233",
		Args:    cobra.NoArgs,
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, openShared(inv), func(ctx context.Context, ws *app.Workspace, _ []string) error {
		c, err := dial(ctx, inv.Env, ws)
		if err != nil {
			return err
		}
		defer c.Close()
		s, err := fleet.Look(ctx, ws, c)
		if err != nil {
			return err
		}
		if *asJSON {
			return inv.Print(true, s, "")
		}
		t := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "WORKER\tQUEUE\tSEEN")
		for _, w := range s.Workers {
			fmt.Fprintf(t, "%s\t%s\t%s ago\n", command.Visible(w.Name), command.Visible(w.Queue), time.Since(w.Seen).Round(time.Second))
		}
		fmt.Fprintln(t, "\nTASK\tQUEUE\tSTATUS\tHELD BY\tTITLE")
		for _, k := range s.Tasks {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", k.ID, command.Visible(k.Queue), k.Status, command.Visible(k.By), command.Visible(k.Title))
		}
		if s.Watcher == "" {
			fmt.Fprintln(t, "\nNobody tells Temporal of new tasks: start a worker, or pawl-fleet serve --temporal.")
		}
		for _, q := range s.Unattended() {
			fmt.Fprintf(t, "\nNo worker takes tasks of the queue %s.\n", command.Visible(q))
		}
		return t.Flush()
	})
}
